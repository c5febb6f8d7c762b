"""The results of a scan to what the next one reuses: in memory, or in a database in the user's cache folder.

In: a `ScanResult`, with the summary and findings of each file and their dependencies. Out: those of its results that
are still valid, if settings and version are the same. A database that is damaged, locked or unreadable counts as
missing.

Example: after an edit of `a.py`, the cache provides the findings of all files whose dependencies do not include `a.py`.

Files, in reading order:

- `scan_cache`: what is kept, and what an edit invalidates.
- `results`: results of files to the report on the files that the user named.
- `store`, `format`: the database on disk, and the bytes of a row.
- `scan_memory`: the same in memory, for editors.
"""
