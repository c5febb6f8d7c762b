"""A database to the result of a scan: files summarized, parts of the project built, rules run on each part.

In: the database, the settings and the scan cache. Out: a `ScanResult`, which has the **summary** of each file (its
kernels, the variables it sets, the kernels that its launches start) and its **file result** (findings with their
dependencies).

Example: for `kernels.py`, the **part** of the project is its kernels and the launches of them in all files. The rules
see only that part, so that its findings depend only on what it reads.

Files, in reading order:

- `summaries`: the summary of each file.
- `parts`: projects: whole, or about one file.
- `file_analysis`: one file to its result.
- `workers`: the analysis in several processes.
- `unresolved`: launches without kernel, with the reason.
"""
