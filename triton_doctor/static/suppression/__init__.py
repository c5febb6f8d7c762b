"""Findings to those that are reported: directives, baselines, and the comments that silence a finding.

In: the findings of the rules, and the directives of the files. Out: the findings that stay, and a TRD901 for each
directive that silences nothing.

- A directive **silences** a code on a line, in a range, or in a file.
- A **fingerprint** of a finding is stable when lines move and code is formatted.
- A **baseline** is a file with the fingerprints of known findings.

Example: with a TRD201 at line 9 and `# triton-doctor: ignore[TRD201, TRD202]` at its end, `suppress` drops the TRD201,
and yields a TRD901 about `TRD202`, with the fix that deletes it from the comment.

Files, in reading order:

- `suppress`: applies directives; findings of the files that the user named.
- `baseline`: compares with a baseline; fingerprints.
- `add_ignore`: writes directives into files.
- `own_variables`: TRD104 for variables that the project itself reads.
"""
