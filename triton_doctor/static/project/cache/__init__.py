"""The results of a scan to what the next one reuses: in memory, or in signed files in the project's folder.

In: a `ScanResult`, with the summary and findings of each file and their dependencies. Out: those of its results that
are still valid, if settings and version are the same. A file with a wrong signature counts as missing, since anybody
may have written it.

Example: after an edit of `a.py`, the cache provides the findings of all files whose dependencies do not include `a.py`.
If the edit only adds or removes plain comments and empty lines between statements, all findings stay valid and move to
their new lines.

Files, in reading order:

- `scan_cache`: what is kept, and what an edit invalidates.
- `results`: results of files to the report on the files that the user named.
- `folder`, `format`, `key`: files on disk, their bytes, and the key that signs them.
- `scan_memory`: the same in memory, for editors.
"""
