"""Sweeps of a whole project: entries that reach a launch are found, called dry with arguments made up, and varied."""
