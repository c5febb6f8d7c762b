"""A database to the result of a scan: files summarized, parts of the project made, each part judged by the rules.

In: the database, the settings and the scan cache. Out: a **scan result**: the **summary** of each file (its kernels,
what it sets, which kernels its launches start) and its **file result** (the findings, with their dependencies).

Example: for `kernels.py`, the **part** of the project is its kernels and the launches of them in all files; the rules
look at that part alone, so that its findings depend only on what it reads. Workers take parts where there are many.
"""
