"""What authors write beside tensors: shapes in comments, docstrings, asserts and patterns, and names of axes and sizes.

In: a function and its remarks. Out: a `ShapeNote` for a parameter or an assigned tensor, the names of axes, and hints.

- A **note** is a shape that an author wrote. Its axes have meanings: data (True), model (False), unknown (None).
- The **names of axes** are what a shape is unpacked into, or what its axes are assigned to.

Example: `q,  # (B, H, T, D)` in a header makes the note with the axes "B", "H", "T", "D" for `q`. "B" and "T" follow
the data, "H" and "D" the model.

Files, in reading order:

- `written_shapes`: text such as `(B, T, 2 * D)` to a `ShapeNote`.
- `shape_notes`: notes of a function, its asserts and patterns included, and the values that they add to.
- `kernel_notes`: notes at a kernel's parameters.
- `axis_meanings`: meanings of axis names, by binding, legend or letter.
- `axis_names`: names and number of axes.
- `named_sizes`: hints from the name of a size, and from allocations.
"""
