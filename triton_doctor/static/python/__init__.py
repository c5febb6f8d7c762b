"""Python text to the intermediate representation: modules, functions, kernels and expressions.

In: the bytes of one file. Out: a `Module`, plain values that hold no syntax tree; of a file that may set environment
variables a `Trace` too.

- An **expression** (`ir.Expr`) keeps what of Python's syntax decides how often a value changes. The rest is `Opaque`.
- A **kernel** is a function that Triton compiles. What its body does with each parameter are its **uses**.
- A **function** runs on the host. Its bindings, calls and launches, as the uses of a kernel, are read when they are
  first asked for where the file is read as an **outline**: the text without the bodies of functions.
- A **launch** is `kernel[grid](arguments)`.
- The **order** of an event in its function, and the **branch arms** around it, say which bindings it can see:
  `reaching_definitions`.
- A **step** is one evaluation or assignment of a program, with all conditions, loops and `with` blocks around it. A
  `Trace` has those of the whole file, and the place of every expression in them.

Example: in a module that holds

    def run(x):
        copy[(1,)](x, n=x.numel())

the function `run` has one `Launch` whose kernel is `Name("copy")`, whose grid is `TupleExpr((Const(1),))`, and whose
argument `n` is `Call(Attr(Name("x"), "numel"), (), ())`.
"""
