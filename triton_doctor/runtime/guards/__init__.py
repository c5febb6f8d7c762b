"""Saying at the launch itself that a kernel compiled when it should not have, and why."""
