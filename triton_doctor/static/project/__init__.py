"""Modules to a project: names resolved, launches linked to kernels, and the dependencies of every result.

In: the files of a scan. Out: a `Project` for each file with kernels or settings, which has these and all launches of
the kernels in any file; then a `FileResult` with what the rules find in it.

- A **query** asks one module one question about a word, such as which calls of a name it contains. Its answer is
  compared after an edit, so that other edits of the module do not matter.
- The **dependencies** of a result are the files it read and the queries it made. `modules[path]` reads a module,
  `modules.query` queries one, `modules.search` queries all modules that may name a definition. Each records the
  dependency, so no caller has to.
- The **text pattern** of a query matches every module with a non-empty answer; a test compares the two.

Example: with `from kernels import copy` in `a.py`, the launch `copy[(1,)](x)` is linked to the kernel `copy` of
`kernels.py`. From then on, the result of `kernels.py` depends on `a.py`.

Each folder is a step with a page of its own. A contract holds their order, here in reading order:

- `limits`: how far everything is followed, and how queries that lead to themselves end.
- `database/`: which files are read and when; dependencies.
- `names/`: names to definitions across files.
- `project`: the input of the rules.
- `launches/`: launches to kernels, and arguments to parameters.
- `calls/`: the call graph, reachability, and what surrounds a kernel.
- `cache/`: results of the last scan.
- `analysis/`: runs the rules on each file, in workers if there are many.
"""
