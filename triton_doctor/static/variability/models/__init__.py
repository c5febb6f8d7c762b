"""Operations to their results: indexing, lengths, lists, and calls of functions outside the project.

In: the values of the operands, or a call and its program point. Out: the value of the result; None or a symbolic value
if the operation is not modelled.

- A **model** says what a foreign function does to sizes. It knows functions by their names.
- **Contents** are what the items of a tensor are, if the host filled them.

Example: `torch.zeros((64, n))` is a `Tensor` with the axes 64 and `n`; `.sum(dim=1)` of it has the axis 64.

Files, in reading order:

- `python`: the entry: dispatches calls to Python, Triton and torch; options of launches and configs.
- `torch`: allocation and views. `torch_results`: computed results. `torch_arguments`: arguments.
- `patterns`: einops. `sequences`: lists that are built up, sums and products, calls with several results.
- `indexing`: `value[key]` and unpacking. `lengths`: `len` and slices.
- `host_tensors`: tensors filled by the host. `origins`: values that are not followed.
"""
