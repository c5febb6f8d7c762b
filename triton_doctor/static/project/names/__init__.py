"""Names to definitions across files: imports, re-exports, attributes of modules, autograd functions.

In: a name and the module that uses it. Out: the function, class, kernel or module that it refers to, or None.

Example: in a file with `from ops import copy`, where `ops/__init__.py` imports it from `ops/kernels.py`, the name
`copy` is resolved to the kernel `copy` of `ops/kernels.py`.

Files, in reading order:

- `resolver`: names to definitions. Names bound to `apply` of an autograd function.
- `name_occurrences`, `unscanned`: whether a fix accounts for each occurrence of a kernel's name, also outside the scan.
"""
