"""`explain` tells what decides a kernel's variants."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from triton_doctor.static.project.database.database import Database

SEED = Path(__file__).parents[2] / "fixtures" / "seeds" / "ragged_attention_mask.py"


def test_each_parameter_is_told_with_its_kind_its_use_and_its_way(doctor: Callable) -> None:
    outcome = doctor("explain", "ragged_mask_kernel", str(SEED), "--output-format", "json")

    (kernel,) = json.loads(outcome.out)["kernels"]
    told = {one["parameter"]: one for one in kernel["parameters"]}
    assert outcome.status == 0
    assert kernel["unbounded"] == ["stride_mask_qo", "bs", "max_kv_len_per_req"]
    assert kernel["variants"] is None
    assert told["bs"]["variability"] == "per_call"
    assert told["bs"]["use"] == "read"
    assert told["bs"]["trail"][-1]["text"] == "`bs` is a constexpr of `ragged_mask_kernel`"
    assert told["BLOCK"] | {"trail": []} == {
        "parameter": "BLOCK",
        "role": "constexpr",
        "variability": "fixed",
        "bound": 1,
        "use": "compile_time",
        "in_autotune_key": False,
        "given": "128",
        "variants": 1,
        "trail": [],
        "hints": [],
        "findings": [],
    }
    assert told["bs"]["findings"] == [{"code": "TRD201", "severity": "warning"}]


WHY = """\
import triton
import triton.language as tl


@triton.jit
def kernel(out, rows: tl.constexpr, width: tl.constexpr, m: tl.constexpr):
    tl.store(out, rows + width + m)


def launch(out, x, m):
    rows, width = x.shape
    kernel[(1,)](out, rows, width, m)
"""


def test_explain_why_lists_the_hints_on_each_parameter_and_what_is_missing(
    doctor: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    Path("why.py").write_text(WHY, encoding="utf-8")

    lines = doctor("explain", "--why", "kernel", "why.py").out.partition("hints: ")[2].partition("\n\n")[0]

    assert lines == snapshot("""\
what suggests how often a value changes
  rows: 3 for the data, 2 needed (per call)
    data 1, axis named for a length: its name spells out a batch, a length or rows (why.py:6, why.py:11)
    data 1, first axis: the first axis of a tensor is often the batch (why.py:10)
    data 1, name: its name speaks of batch, sequence, tokens or rows (why.py:6, why.py:11)
  width: 0 for the data, 6 needed; 2 for the model (per model)
    model 1, last axis: the last axis of a tensor is often the features (why.py:10)
    model 1, name: its name speaks of heads, channels, hidden sizes or settings (why.py:6, why.py:11)
  m: 1 for the data, 2 needed (unknown)
    data 1, name: its name speaks of batch, sequence, tokens or rows (why.py:10)\
""")


def test_explain_lists_the_nearest_hints_of_what_is_undecided_and_the_ways_to_decide_it(
    doctor: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    Path("why.py").write_text(WHY, encoding="utf-8")

    lines = doctor("explain", "kernel", "why.py").out.partition("unknown: ")[2].splitlines()

    assert [line.strip() for line in lines if line] == [
        "1 constexpr that could not be followed: `m`",
        "`m` may change with the data: its name speaks of batch, sequence, tokens or rows",
        "give `check --recording` a recording of `run` or `run --dry`, or set the name `per-call` or `fixed`",
    ]


def test_check_counts_what_is_undecided_and_lists_it_when_asked_with_and_without_the_cache(
    doctor: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    Path("why.py").write_text(WHY, encoding="utf-8")

    cold = doctor("check", "--show", "undecided", "why.py").out
    warm = doctor("check", "--show", "undecided", "why.py").out
    counted = json.loads(doctor("check", "--output-format", "json", "why.py").out)["summary"]["constexprs_undecided"]

    listed = cold.partition("undecided constexprs:\n")[2].splitlines()[:2]
    assert counted == 1
    assert "1 launch; 1 constexpr may or may not change (`--show undecided`)\n" in cold
    assert [line.strip() for line in listed] == [
        "why.py:12: `m` of `why.kernel` may change with the data: its name speaks of batch, sequence, tokens or rows",
        "give `check --recording` a recording of `run` or `run --dry`, or set the name `per-call` or `fixed`",
    ]
    assert warm == cold
    assert "undecided constexprs" not in doctor("check", "why.py").out


def test_constexpr_that_one_launch_fixes_and_another_leaves_open_is_undecided(
    doctor: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    Path("why.py").write_text(f"{WHY}\n\ndef launch_one(out):\n    kernel[(1,)](out, 1, 64, 1)\n", encoding="utf-8")

    (explained,) = json.loads(doctor("explain", "kernel", "why.py", "--output-format", "json").out)["kernels"]

    assert {one["parameter"]: (one["variability"], one["given"]) for one in explained["parameters"]} == {
        "rows": ("per_call", "x.shape[0]"),
        "width": ("per_model", "x.shape[1]"),
        "m": ("unknown", "m"),
        "out": ("unknown", "out"),
    }
    assert "`m` of `why.kernel`" in doctor("check", "--show", "undecided", "why.py").out


def test_declared_constexpr_is_undecided_no_more(
    doctor: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("why.py").write_text(WHY, encoding="utf-8")
    Path("pyproject.toml").write_text('[tool.triton-doctor]\nfixed = ["m"]\n', encoding="utf-8")

    assert "undecided" not in doctor("check", "why.py").out


def test_check_why_lists_the_hints_that_decided_below_the_finding(
    doctor: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("why.py").write_text(WHY, encoding="utf-8")

    out = doctor("check", "--why", "--show", "info", "why.py").out

    assert [line.partition("why: ")[2] for line in out.splitlines() if " why: " in line] == snapshot(
        [
            "3 for the data, 2 needed",
            "data 1, axis named for a length: its name spells out a batch, a length or rows (why.py:6, why.py:11)",
            "data 1, first axis: the first axis of a tensor is often the batch (why.py:10)",
            "data 1, name: its name speaks of batch, sequence, tokens or rows (why.py:6, why.py:11)",
        ]
    )


def test_check_why_goes_with_the_form_full_alone(doctor: Callable) -> None:
    outcome = doctor("check", "--why", "--output-format", "json", str(SEED))

    assert outcome.status == 2
    assert "--why" in outcome.err


@pytest.mark.parametrize("width", [80, 40])
def test_text_marks_the_parameters_that_are_findings(
    doctor: Callable, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.chdir(SEED.parent)
    monkeypatch.setenv("COLUMNS", str(width))

    text = doctor("explain", "ragged_mask*", SEED.name).out

    shown = {
        80: snapshot("""\
ragged_mask_kernel at ragged_attention_mask.py:18
launched at ragged_attention_mask.py:43

constexprs: each new value compiles a variant
> stride_mask_qo      per call  TRD201  read          mask.stride(1)
> bs                  per call  TRD201  read          len(kv_lens)
> max_kv_len_per_req  per call  TRD201  read          max(kv_lens)
  BLOCK               fixed             compile time  128

arguments: a variant for each type; of integers for 1, multiples of 16 and
others
  mask_ptr        unknown   torch.empty((bs, DRAFT_TOKENS, max_kv_len_per_req...
  kv_lens_ptr     unknown   torch.tensor(kv_lens, dtype=torch.int32, device='...
  stride_mask_bs  per call  mask.stride(0)

stride_mask_qo  TRD201 (warning)
  ragged_attention_mask.py:37: `kv_lens` is an argument of `build_mask`
  ragged_attention_mask.py:40: `max_kv_len_per_req` is `max(kv_lens)`
  ragged_attention_mask.py:47
    `stride_mask_qo` is `mask.stride(1)` at the launch
  ragged_attention_mask.py:22
    `stride_mask_qo` is a constexpr of `ragged_mask_kernel`

bs  TRD201 (warning)
  ragged_attention_mask.py:37: the length of `kv_lens`
  ragged_attention_mask.py:39: `bs` is `len(kv_lens)`
  ragged_attention_mask.py:23: `bs` is a constexpr of `ragged_mask_kernel`

max_kv_len_per_req  TRD201 (warning)
  ragged_attention_mask.py:37: `kv_lens` is an argument of `build_mask`
  ragged_attention_mask.py:40: `max_kv_len_per_req` is `max(kv_lens)`
  ragged_attention_mask.py:24
    `max_kv_len_per_req` is a constexpr of `ragged_mask_kernel`

variants: one for each value of `stride_mask_qo`, `bs`, `max_kv_len_per_req`,
          times those of the other parameters

"""),
        40: snapshot("""\
ragged_mask_kernel at ragged_attention_mask.py:18
launched at ragged_attention_mask.py:43

constexprs: each new value compiles a
variant
> stride_mask_qo      per call  TRD201
> bs                  per call  TRD201
> max_kv_len_per_req  per call  TRD201
  BLOCK               fixed

arguments: a variant for each type; of
integers for 1, multiples of 16 and
others
  mask_ptr        unknown   torch.emp...
  kv_lens_ptr     unknown   torch.ten...
  stride_mask_bs  per call  mask.stri...

stride_mask_qo  TRD201 (warning)
  ragged_attention_mask.py:37
    `kv_lens` is an argument of
    `build_mask`
  ragged_attention_mask.py:40
    `max_kv_len_per_req` is
    `max(kv_lens)`
  ragged_attention_mask.py:47
    `stride_mask_qo` is `mask.stride(1)`
    at the launch
  ragged_attention_mask.py:22
    `stride_mask_qo` is a constexpr of
    `ragged_mask_kernel`

bs  TRD201 (warning)
  ragged_attention_mask.py:37
    the length of `kv_lens`
  ragged_attention_mask.py:39
    `bs` is `len(kv_lens)`
  ragged_attention_mask.py:23
    `bs` is a constexpr of
    `ragged_mask_kernel`

max_kv_len_per_req  TRD201 (warning)
  ragged_attention_mask.py:37
    `kv_lens` is an argument of
    `build_mask`
  ragged_attention_mask.py:40
    `max_kv_len_per_req` is
    `max(kv_lens)`
  ragged_attention_mask.py:24
    `max_kv_len_per_req` is a constexpr
    of `ragged_mask_kernel`

variants: one for each value of
          `stride_mask_qo`, `bs`,
          `max_kv_len_per_req`, times
          those of the other parameters

"""),
    }
    assert text == shown[width]


def test_parameter_whose_finding_is_silenced_is_not_marked(doctor: Callable, write: Callable) -> None:
    write("a.py", SEED.read_text(encoding="utf-8") + "\n# triton-doctor: ignore-file[TRD201]\n")

    (kernel,) = json.loads(doctor("explain", "ragged_mask_kernel", "--output-format", "json").out)["kernels"]

    assert [one["parameter"] for one in kernel["parameters"] if one["findings"]] == []


KERNEL = """\
import triton
import triton.language as tl


@triton.jit
def scale(x_ptr, n: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, 16), n)


{more}
"""


@pytest.mark.parametrize(
    ("more", "launcher"),
    [
        pytest.param("", "from kernels import scale\n\ndef f(x):\n    scale[(1,)](x, len(x))", id="its name"),
        pytest.param("", "from kernels import scale as s\n\ndef f(x):\n    s[(1,)](x, len(x))", id="another name"),
        pytest.param(
            'TABLE = {"scale": scale}',
            'from kernels import TABLE\n\ndef f(x):\n    TABLE["scale"][(1,)](x, len(x))',
            id="a table",
        ),
        pytest.param(
            "class Holder:\n    kernel = scale",
            "from kernels import Holder\n\ndef f(x):\n    Holder.kernel[(1,)](x, len(x))",
            id="a class attribute",
        ),
        pytest.param(
            "def choose():\n    return scale",
            "from kernels import choose\n\ndef f(x):\n    choose()[(1,)](x, len(x))",
            id="what a function returns",
        ),
        pytest.param(
            "from launcher import launch\n\ndef f(x):\n    launch(scale, x)",
            "def launch(kernel, x):\n    kernel[(1,)](x, len(x))",
            id="what a function is handed",
        ),
    ],
)
def test_launch_is_found_whether_or_not_check_ran_before(
    doctor: Callable, write: Callable, more: str, launcher: str
) -> None:
    write("pyproject.toml", "")
    write("kernels.py", KERNEL.format(more=more))
    write("launcher.py", launcher)

    cold = doctor("explain", "scale", "--output-format", "json").out
    every = doctor("explain", "scal[e]", "--output-format", "json").out
    doctor("check")
    warm = doctor("explain", "scale", "--output-format", "json").out

    assert cold == every == warm


def test_only_files_that_may_launch_the_kernel_are_read(
    doctor: Callable, write: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("pyproject.toml", "")
    write("kernels.py", KERNEL.format(more=""))
    write("launcher.py", "from kernels import scale\n\ndef f(x):\n    scale[(1,)](x, len(x))")
    for number in range(5):
        write(f"other{number}.py", KERNEL.replace("scale", f"other{number}").format(more=""))
    read = []
    whole = Database.module
    monkeypatch.setattr(Database, "module", lambda self, path: read.append(path) or whole(self, path))

    doctor("explain", "scale")

    assert set(read) == {"kernels.py", "launcher.py"}


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("ragged_mask_kernle", "did you mean `ragged_mask_kernel`?"),
        ("RAGGED_mask_kernel", "did you mean `ragged_mask_kernel`?"),
        ("Mask", "did you mean `ragged_mask_kernel`?"),
        ("zzz", "1 kernel was read, `ragged_mask_kernel`; name one, or a glob in quotes"),
    ],
)
def test_unknown_kernel_is_told_with_what_there_is(doctor: Callable, name: str, hint: str) -> None:
    outcome = doctor("explain", name, str(SEED))

    assert outcome.status == 2
    assert hint in outcome.err


def test_values_that_launches_give_are_variants_each(doctor: Callable, write: Callable) -> None:
    write("pyproject.toml", "")
    write("kernels.py", KERNEL.format(more=""))
    launches = "".join(f"    scale[(1,)](x, {n})\n" for n in (4, 4, 8))
    write("launcher.py", f"from kernels import scale\n\ndef f(x):\n{launches}")

    (kernel,) = json.loads(doctor("explain", "scale", "--output-format", "json").out)["kernels"]
    (constexpr,) = [one for one in kernel["parameters"] if one["role"] == "constexpr"]

    assert (constexpr["given"], constexpr["variants"], kernel["variants"]) == ("4, 8", 2, 2)


def test_kernels_are_listed_where_none_is_named(doctor: Callable, write: Callable) -> None:
    write("kernels.py", "import triton\n\n\n@triton.jit\ndef k(x):\n    pass\n")

    assert doctor("explain").out == "kernels.py:5: k\n"
