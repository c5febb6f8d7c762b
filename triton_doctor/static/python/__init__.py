"""Python text to the intermediate representation: modules, functions, kernels and expressions.

In: the bytes of one file. Out: a `Module`, plain values that hold no syntax tree.

- An **expression** (`ir.Expr`) keeps the part of Python's syntax that decides how often a value changes. Everything
  else is `Opaque`.
- A **kernel** is a function that Triton compiles. The **uses** of its parameters say what its body does with each.
- A **function** runs on the host. Its contents are bindings, calls, stores and launches.
- An **outline** is a text with functions reduced to headers; contents and uses are then parsed on first access.
- A **launch** is `kernel[grid](arguments)`.
- The **order** of an event in its function, and the **branch arms** around it, determine the bindings that reach it:
  `reaching_definitions`.

Example: in a module that holds

    def run(x):
        copy[(1,)](x, n=x.numel())

the function `run` has one `Launch` whose kernel is `Name("copy")`, whose grid is `TupleExpr((Const(1),))`, and whose
argument `n` is `Call(Attr(Name("x"), "numel"), (), ())`.

Files, in reading order:

- `ir`: expressions. `module`, `function`: everything else that a file is read into.
- `parse`: the pass: text to `Module`. `outline`, `pieces`: what keeps it fast and small.
- `functions`, `function_body`, `conditions`, `bounds`: host functions, their statements, and the tests
  in them.
- `lower`, `imports`, `printing`: expressions from syntax, full names, and back to text.
- `reaching_definitions`: the assignments in force at an event.
- `kernels`, `decorators`: which functions are kernels, also by a later statement, and what their decorators say.
- `kernel_body`, `kernel_branches`, `compile_time_needs`, `nodes`: the uses of parameters.
- `plain_parameters`, `unrolled_loops`: further uses, computed only for fixes and remedies.
- `remarks`: annotations, comments and docstrings. `formatting`: text without layout.
- `occurrences`: every place where a text has a name, and what it is there.
- `clocks`: calls that measure time.
- `unreadable`: files that do not parse, TRD900.
"""
