"""What rules query: the parameters of kernels with their values, and facts about kernels, configs and launches.

In: a project. Out: for each kernel its `Parameter`s, each with its sources, worst source and use; and the answers to
further queries, one file each.

- A **source** is one way in which a parameter gets its value: an argument of a launch, or a heuristic.
- The **use** of a parameter is `compile_time`, `read` or `unread`.
- An **idle reason** says why no program runs a launch; then a finding about it is information only.

Example: for `copy[(1,)](x, n=x.numel())`, `parameters(project)` has a `Parameter` for `n` whose worst source is that
launch, with the kind PER_CALL and the use `read`.

Files, in reading order:

- `parameters`: the main query. `parameter_uses`: arguments by parameter, and their use.
- `kernel_hints`: hints from kernels and grids; the shared `Interpreter`.
- `description`: values in words, and all of a kernel.
- `derived_parameters`, `companions`: parameters that follow from others or vary with them, and the words for it.
- `configs`: autotune keys and configs.
- `idle_code`: code that no program runs, and kernels created inside functions.
- `timed_regions`: code that a clock measures, and settings that turn Triton's interpreter on.
- `queries`: integers, literals, and ends of ranges.
"""
