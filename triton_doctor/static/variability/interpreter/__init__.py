"""The abstract interpreter: expressions to values, through names, calls, attributes, objects, tests and callers.

In: an expression at a `ProgramPoint`. Out: its `Value`, with the trail from its source.

- A **frame** holds the arguments of one call of a function, and caches the values of its names and expressions.
- An argument without a call is a symbolic value. **Callers** resolve it if the function does not decide it itself.
- A **bound** from a test, `assert n <= 32`, holds for the points that the test reaches.

Example: in `def run(x): n = x.shape[0]; copy[(1,)](x, n)`, the name `n` has one reaching definition, whose value is
axis 0 of the argument `x`. It has hints only, so callers of `run` are followed: with `run(torch.empty(8, 64))` it is 8.

Files, in reading order:

- `interpreter`: the dispatch on expressions.
- `scopes`: names. `arguments`: parameters, `ctx` and gradients. `displays`: literals, tuples, operators.
- `caller_arguments`: what callers pass, and which callers reach a branch.
- `axes`, `layouts`, `shared_axes`: axes and strides, through callers and checks.
- `guards`: bounds by tests.
- `branch_tests`, `known_literals`: branches that literals, a call or all callers close; whether a name is None.
- `attributes`: attributes of objects. `objects`: objects by their constructor arguments.
"""
