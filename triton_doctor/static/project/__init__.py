"""Modules to a project: names resolved, launches linked to kernels, and what each answer depends on.

In: the files of a scan. Out: a `Project` for each file with kernels or settings: these, and all launches of the
kernels wherever they stand; then a `FileResult`, what the rules find in it. Each folder is a step, with a page of its
own; a contract holds their order: `analysis` > `cache`, `calls` > `launches` > `project` > `names` > `database`.

A **query** asks one module one thing, such as who calls a name. Its answer is compared after an edit, so that other
edits of the module do not matter. `modules[path]` reads a module, `modules.query` asks one, `modules.search` asks all
that may name a definition: each records the dependency, so that no caller has to. A query states the text that a
module has if it has something to say, its sign; a test holds the two together.

Example: with `from kernels import copy` in `a.py`, the launch `copy[(1,)](x)` is linked to the kernel `copy` of
`kernels.py`. The result of `kernels.py` depends on `a.py` from then on.
"""
