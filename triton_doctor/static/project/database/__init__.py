"""Files to modules: what a scan reads, when it reads it, and the dependencies of a result.

In: the files of a scan and their bytes. Out: modules, each parsed on first access.

- The **database** holds all files. Each is searched as bytes, and parsed only if it can matter.
- The **role** of a file is why it is read: it may hold kernels, launches, callers or settings, or nothing of interest.
- The **import index** tells which files may name a definition.
- **Tracked modules** are the database as one analysis sees it. What it reads or queries becomes one of its
  **dependencies**, which the next scan compares with what changed.

Example: reading `modules["kernels.py"]` for the findings of `a.py` makes them depend on the digest of `kernels.py`.

Files, in reading order:

- `database`: all files of a scan.
- `roles`: facts found by text search. `import_index`: who may name what.
- `dependencies`: queries, dependencies and changes. `tracked_modules`: records dependencies.
- `kernel_mentions`: files that may launch a kernel.
"""
