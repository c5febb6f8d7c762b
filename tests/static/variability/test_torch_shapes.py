"""What the analysis says of views, parts and results of tensors, against what torch itself gives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from triton_doctor.scan_caches import emptying_scan_caches
from triton_doctor.settings import Settings
from triton_doctor.static.project.analysis.parts import whole_project
from triton_doctor.static.project.database.database import Database
from triton_doctor.static.sources.files import find_files
from triton_doctor.static.variability.queries.parameters import parameters
from triton_doctor.static.variability.values.lattice import AbstractNumber, Variability

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

torch = pytest.importorskip("torch")

# Each is an expression, or statements before one, of `x` with the axes (4, n, 64) and `w` with (64, 32).
FORMS = """
x.transpose(1, -1)
x.transpose(dim0=1, dim1=2)
torch.transpose(x, -2, -1)
w.t()
x.mT
x.movedim(-1, 0)
x.movedim((0, 1), (1, 2))
x.permute(dims=(2, 0, 1))
x.flatten(0, -2)
x.flatten(start_dim=1)
x.ravel()
x.unflatten(2, (4, -1))
x.unflatten(1, (-1, 2))
x.unsqueeze(-1).squeeze(-1)
x.unsqueeze(dim=1)
x.unsqueeze(1).squeeze()
x[..., :32]
x[..., -8:]
x[:2, ..., 1:]
x[..., 0, :]
x[:, None].expand(4, 7, n, 64)[..., 0]
x[0]
x[:, -1:]
x[:, :-1]
x.expand(4, -1, 64)
x.repeat(1, 2, 1)
x.repeat_interleave(2, dim=1)
x.chunk(2, dim=-1)[0]
a, b = x.split([16, 48], dim=-1); b
a, b, c, d = x.unbind(0); c
torch.stack([x, x], dim=1)
torch.cat((x, x[..., :8]), -1)
F.pad(x, (0, 1))
F.pad(x, (0, 0, 0, 5))
x.reshape(-1, 64)
x.view(-1, x.shape[-1])
x.view(x.shape[:-1] + (8, 8))
x.view(4, n, 8, 8).transpose(1, 2).reshape(32, n, 8)
x.transpose(1, 2).contiguous()
torch.empty_like(x.permute(1, 0, 2))
torch.zeros_like(x.transpose(0, 2))
torch.ones_like(x.transpose(1, 2).contiguous())
torch.empty_like(torch.empty_like(x.movedim(0, 1)))
torch.empty_like(x.transpose(1, 2)[0])
torch.empty_like(x).transpose(0, 1)
torch.empty_like(x[:, :5])
x.narrow(1, 0, 5)
x.select(1, 0)
x.sum(dim=1)
x.mean(-1, keepdim=True)
x.max(dim=-1).values
values, _ = x.topk(5); values
x @ w
torch.bmm(x, x.transpose(1, 2))
torch.einsum("bnd,de->bne", x, w)
F.linear(x, torch.empty(96, 64))
x / x.sum(-1, keepdim=True)
x.new_zeros(x.shape[:-1])
torch.empty((*x.shape[:-1], 7))
math.prod(x.shape[:-1])
x.shape[:-1].numel()
reduce(mul, x.shape[:-1], 1)
reduce(lambda a, b: a * b, x.shape[2:])
x[..., 0].numel()
x.numel() // x.shape[-1]
x.shape[x.ndim - 2]
dim = -2; x.size(dim)
dim = -2; dim = dim % x.ndim; x.shape[dim]
dim = 2; math.prod(x.shape[:dim])
*lead, d = x.shape; math.prod(lead)
first, *rest = x.shape; rest[0]
size = torch.Size(x.shape[:-1]); size.numel()
(n + 63) // 64
""".strip().splitlines()
HEAD = "import math\nfrom functools import reduce\nfrom operator import mul\n"
HEAD += "import torch\nimport torch.nn.functional as F\n"
KERNEL = "import triton\nimport triton.language as tl\n"


class Size(NamedTuple):
    """An axis, a stride or a number that a form gives for two lengths."""

    spelled: str
    seen: tuple[int, int]


def spell_function(number: int, form: str) -> str:
    *before, last = form.split("; ")
    made = ["n = len(requests)", "x = torch.empty(4, n, 64, device=DEVICE)", "w = torch.empty(64, 32, device=DEVICE)"]
    body = "".join(f"    {line}\n" for line in [*made, *before, f"y = {last}"])
    return f"def form_{number}(requests):\n{body}"


def run_form(number: int, form: str, length: int) -> Any:
    with torch.device("meta"):
        names: dict[str, Any] = {"DEVICE": "meta"}
        exec(f"{HEAD}{spell_function(number, form)}    return y\n", names)
        return names[f"form_{number}"]([0] * length)


def sizes_of(number: int, form: str) -> Iterator[Size]:
    one, other = (run_form(number, form, length) for length in (48, 80))
    if isinstance(one, torch.Tensor):
        for axis in range(one.dim()):
            yield Size(f"y.shape[{axis}]", (one.shape[axis], other.shape[axis]))
            yield Size(f"y.stride({axis})", (one.stride(axis), other.stride(axis)))
    else:
        yield Size("y", (one, other))


def is_right(number: AbstractNumber, size: Size) -> bool:
    one, other = size.seen
    decided = number.decide()
    if one == other and size.spelled.startswith("y.stride"):
        return decided is Variability.FIXED or (one == 0 and decided is Variability.UNKNOWN)
    return decided is (Variability.FIXED if one == other else Variability.PER_CALL)


@emptying_scan_caches()
def evaluate(folder: Path) -> dict[str, AbstractNumber]:
    settings = Settings(root=folder)
    files = list(find_files([folder], settings, cwd=folder))
    found = parameters(whole_project(Database(files), settings, folder))
    return {one.kernel.name: source.number for one in found for source in one.sources}


def test_sizes_and_strides_change_where_those_of_torch_do(tmp_path: Path) -> None:
    expected: dict[str, tuple[str, Size]] = {}
    text = HEAD + KERNEL
    for number, form in enumerate(FORMS):
        launches = ""
        for at, size in enumerate(sizes_of(number, form)):
            name = f"kernel_{number}_{at}"
            expected[name] = (form, size)
            text += f"@triton.jit\ndef {name}(out, SIZE: tl.constexpr):\n    tl.store(out, SIZE)\n"
            launches += f"    {name}[(1,)](None, {size.spelled})\n"
        text += spell_function(number, form).replace(", device=DEVICE", "") + launches
    (tmp_path / "forms.py").write_text(text, encoding="utf-8")

    found = evaluate(tmp_path)

    wrong = {
        f"{form}: {size.spelled} {size.seen}": found[name].decide().name
        for name, (form, size) in expected.items()
        if not is_right(found[name], size)
    }
    assert wrong == {}
