"""Expressions to abstract values: how often a value can change while a program runs, and the path that shows it.

In: an expression at a `ProgramPoint`. Out: a `Value`; of a number, an `AbstractNumber` with its `Variability`.

- **Variability** goes from FIXED over FEW, PER_MODEL and LOGARITHMIC to PER_CALL. UNKNOWN is no decision.
- The **interpreter** follows an expression back through assignments, calls, attributes and callers.
- A **dim** is one axis of a tensor whose **origin** is an argument, or another value out of sight.
- A **branch test** is the condition of an `if`. Where literals decide it, what stands in the other arm does not count.
- A **hint** says that a dim follows the data, or the model. Hints are collected; `AbstractNumber.decide` weighs them.
- A **trace** is the path of a value, one note a step.
- A **query** reads what else a value carries: whether it is an integer for certain, which literals it may be.

`models` has what is known of calls out of the project. `parameters` gives each parameter of a kernel with its sources.

Example: at the launch

    def run(x):
        copy[(1,)](x, n=x.numel())

`x.numel()` is an `AbstractNumber` of UNKNOWN variability, the product of all dims of `x`, with hints toward the data.
It decides for PER_CALL. Its trace is "the number of elements of `x`". `x.shape[-1] // 2` is PER_MODEL: the last axis.
"""
