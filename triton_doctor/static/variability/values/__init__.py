"""Abstract values: the lattice of variability, numbers with their bounds and hints, and tensors by their axes.

In: values. Out: values, by arithmetic and by the rules of views. Nothing here looks at a program.

- An **abstract number** carries its variability, bounds, hints, and its spelling as a product of dims.
- `join` unites alternatives and operands; `decide` weighs the hints, only at the end.
- A **symbolic value** is known by its origin only. Callers may resolve it later.

Example: for `x` of unknown rank, `x.shape[0] * x.shape[-1]` is the `DimProduct` of two dims. Divided by `x.shape[0]`,
one cancels, and the quotient has the hints of the last axis alone.

Files, in reading order:

- `lattice`: variability and abstract numbers, with the steps on their way.
- `arithmetic`: operators on numbers. `dims`: products of axes that cancel.
- `values`: tensors, tuples, tables, objects, symbolic values, and the point where they are evaluated.
- `tensors`: sizes and strides of axes. `views`: reshape, permute and other views.
"""
