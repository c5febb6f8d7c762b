"""The static side: source and settings files to findings, without importing what it reads.

`scan.scan` is the whole program. It runs the passes below in this order, each a folder whose own page says what goes
in, what comes out, and works one example. An import contract holds the order: a pass knows those above it alone.

1. `sources`: paths to files, and files to what they hold.
2. `environment`: text to the environment variables that it sets.
3. `python`: text to modules, functions, kernels and expressions.
4. `project`: modules to launches with their kernels; what an answer depends on; caches and workers.
5. `variability`: expressions to how often their values change.
6. `rules`: a project to findings, and findings to fixes.
7. `suppression`: findings to those that are reported.
8. `fix`: findings to edited files. It scans again after each round of edits, and so stands above `scan`.

`environment` comes before `python` because a module carries what its file sets.
"""
