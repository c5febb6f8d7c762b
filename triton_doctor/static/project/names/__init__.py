"""Names to definitions, across files: imports, re-exports, attributes of modules, functions behind autograd names.

In: a name and the module that says it. Out: the function, class, kernel or assignment that it stands for, or None.

Example: in a file with `from ops import copy`, where `ops/__init__.py` imports it from `ops/kernels.py`, the name
`copy` is resolved to the kernel `copy` of `ops/kernels.py`.
"""
