"""Files to modules: what a scan reads, when it reads it, and what an answer depends on.

In: the listing of a scan and the bytes of its files. Out: modules, each parsed when somebody asks for it.

- The **database** holds all files: each is searched as bytes, and parsed where it can matter.
- The **role** of a file is why it is read: it may hold kernels, launches, callers or settings, or nothing of interest.
- The **import index** tells which files may name what a file defines.
- **Tracked modules** are the database as one analysis sees it: what it reads or asks becomes one of its
  **dependencies**, which the next scan compares with what changed.

Example: reading `modules["kernels.py"]` for the findings of `a.py` makes the digest of `kernels.py` a dependency of
them.
"""
