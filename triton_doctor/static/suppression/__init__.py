"""Findings to those that are reported: directives, baselines, and the comments that silence a finding.

In: the findings of the rules, and the directives of the files. Out: the findings that stay, and a TRD901 for each
directive that silences nothing.

- A directive **silences** a code on a line, in a range, or in a file.
- A **fingerprint** of a finding stays when lines move and code is formatted.
- A **baseline** is a file of the fingerprints that a project knows and lives with.

Example: with a TRD201 at line 9 and `# triton-doctor: ignore[TRD201, TRD202]` at its end, `suppress` drops the
TRD201, and yields a TRD901 about `TRD202`, with the fix that deletes it from the comment.
"""
