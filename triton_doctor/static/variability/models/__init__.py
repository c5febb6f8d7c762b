"""Operations to their results: indexing, lengths, lists, and calls of functions outside the project.

In: the values of the operands, or a call and its program point. Out: the value of the result; None or a symbolic value
if the operation is not modelled.

- A **model** says what a foreign function does to sizes. It knows functions by their names.
- **Contents** are what the items of a tensor are, if the host filled them.

Example: `torch.zeros((64, n))` is a `Tensor` with the axes 64 and `n`; `.sum(dim=1)` of it has the axis 64.

Files, in reading order:

- `python`: the entry: dispatches calls to Python, Triton and torch.
- `torch`: allocation and views. `torch_results`, `torch_products`: computed results. `torch_arguments`: arguments.
- `patterns`: einops. `items`: sums and products over items. `several`: calls with several results.
- `triton`: options of launches and configs.
- `indexing`, `tensor_indexing`, `slices`: `value[key]` and unpacking.
- `lengths`, `lists`: `len`, and lists that are built up.
- `host_tensors`: tensors filled by the host. `origins`: values that are not followed.
"""
