"""Fixes to verdicts: each kernel that one changes is compiled before and after, on a target without a GPU."""
