"""The static side, a compiler front end with an abstract interpreter: source and settings files to findings.

In: paths. Out: a `Scan` with its findings. Nothing that is read is imported or executed. `scan.scan` is the whole
program; it runs the passes below in order. Each is a folder, and its own page says what goes in and what comes out,
defines its terms, works one example, and lists its files in reading order. An import contract holds the order: a pass
imports only from passes above it in this list.

1. `sources`: paths to files, and files to their bytes.
2. `python`: text to an intermediate representation: modules, functions, kernels, expressions.
3. `environment`: text to the environment variables that it sets.
4. `project`: modules to a project: names resolved, launches linked to kernels; dependencies, caches, workers.
5. `variability`: expressions to abstract values: how often each can change, and why.
6. `rules`: a project to findings, and findings to fixes.
7. `suppression`: findings to those that are reported.
8. `scan.py`: the passes in order.
9. `fix`: findings to edited files. It scans again after each round of edits, and so comes after `scan`.

Example: for

    def run(x):
        copy[(1,)](x, n=x.numel())

with a kernel `copy(x_ptr, n: tl.constexpr)`, `python` makes a `Launch` with the argument `n`, `project` links it to the
kernel `copy`, `variability` finds that `x.numel()` follows the data (PER_CALL), and the rule TRD201 reports it.
"""
