"""Findings to those that are reported: comments, baselines, and the comments that are added."""
