"""Expressions to abstract values: how often a value can change while a program runs, and the path that shows it.

In: an expression at a `ProgramPoint`. Out: a `Value`; for a number an `AbstractNumber` with its `Variability`.

- **Variability** is a lattice: FIXED < FEW < PER_MODEL < LOGARITHMIC < PER_CALL. UNKNOWN means undecided.
- The **interpreter** is abstract. It follows an expression back through assignments, calls, attributes and callers.
- A **frame** is a function with the arguments of one call; without a call, arguments are symbolic values that callers
  may resolve.
- A **dim** is one axis of a tensor. Its **origin** is an argument, or another value that cannot be followed.
- A **branch test** is the condition of an `if`. Code in an arm that literals or callers close does not count.
- A **hint** is evidence that a dim follows the data, or the model. Hints are collected along the way, and
  `AbstractNumber.decide` weighs them at the end.
- A **trail** is the path of a value from its source, one note for each step.

Example: at the launch

    def run(x):
        copy[(1,)](x, n=x.numel())

`x.numel()` is an `AbstractNumber` of UNKNOWN variability: the product of all dims of `x`, with hints toward the data.
`decide` returns PER_CALL. Its trail is "the number of elements of `x`". `x.shape[-1] // 2` is PER_MODEL: the last axis.

Each folder has a page of its own. A contract holds their order: a folder imports only from those above it in this list,
which is also the reading order.

1. `hints/`: the table of hints, and the words in names that they rest on.
2. `values/`: the lattice, and numbers, tensors and other abstract values.
3. `models/`: what operations make of values: indexing, `len`, lists, calls of Python, torch and Triton.
4. `notes/`: shapes that authors write, and names that they give to axes and sizes.
5. `interpreter/`: expressions, names, calls, attributes, objects, tests and callers.
6. `queries/`: what rules query: parameters of kernels, configs, timed regions, and whether a program runs the code.
"""
