"""Paths to files: which are read, what kind each is, and what they hold."""
