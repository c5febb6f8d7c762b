"""The call graph, and what is known around functions and kernels.

In: a project. Out: the callers of a function anywhere in the project; whether a program may run it, or only tests and
examples; and whether code that Triton calls may look up a kernel's parameter by name.

- A **caller** is a call together with the function that contains it.
- A function is **reachable** if something other than tests, benchmarks and examples may run it.
- A **trial** is a script that only compares or times its own kernels.

Example: a function that only `if __name__ == "__main__"` of its own file calls, in a file that nothing imports, is part
of a trial, so that a finding in it is information only.

Files, in reading order:

- `call_graph`: callers of a function, through the next four:
- `called_names`: calls by name. `stored_functions`: calls through a variable. `operators`: calls as a torch operator.
- `mentions`: all uses of a name in a module.
- `reachability`: whether a program may run a function.
- `trials`: code that only tries its own kernels.
- `surroundings`: a kernel's launches, and whether it is public.
- `parameter_lookups`: parameters that hooks, grids and decorators may look up by name.
"""
