"""Verifies fixes: compiles each changed kernel before and after, on a target without a GPU."""
