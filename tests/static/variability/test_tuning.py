"""A constexpr in the autotune key is one finding, whichever rules, comments and recordings it meets."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from inline_snapshot import snapshot

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Outcome

    Doctor = Callable[..., Outcome]
    Write = Callable[[str, str | bytes], Path]

# That each start tunes again is another rule.
OTHERS = ("--ignore", "TRD304")
KERNEL = """\
import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({{"BLOCK": 64}}), triton.Config({{"BLOCK": 128}})], key={key})
@triton.jit
def double(x_ptr, n_rows{of_rows}, n_cols{of_cols}, width, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    for start in range(0, width, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + (n_rows - 1 - row) * width + at, mask=at < n_cols)
        tl.store(x_ptr + row * width + at, 2 * x, mask=at < n_cols)


def launch(x, lengths):
    n_rows = x.shape[0]
    double[(n_rows,)](x, n_rows, len(lengths), 512)  {comment}
"""


def source(*, key: str = '["n_rows"]', of_rows: str = ": tl.constexpr", of_cols: str = "", comment: str = "") -> str:
    return KERNEL.format(key=key, of_rows=of_rows, of_cols=of_cols, comment=comment)


def found(doctor: Doctor, *options: str) -> list[tuple[str, str, str, list[str]]]:
    document = json.loads(doctor("check", *OTHERS, "--output-format", "json", "--no-cache", *options, "a.py").out)
    return [
        (one["code"], one["parameter"], one["severity"], one["autotune_keys"])
        for one in document["findings"]
        if one["code"] != "TRD208"
    ]


def test_constexpr_in_the_key_is_one_finding(doctor: Doctor, write: Write) -> None:
    write("a.py", source())

    assert found(doctor) == [("TRD201", "n_rows", "warning", ["n_rows"])]


def test_message_names_every_name_of_the_key_that_changes(doctor: Doctor, write: Write) -> None:
    write("a.py", source(key='["n_rows", "n_cols", "width"]', of_cols=": tl.constexpr"))

    outcome = doctor("check", *OTHERS, "--output-format", "concise", "a.py")

    told = [line.partition("TRD201 ")[2] for line in outcome.out.splitlines() if "TRD201" in line]
    assert "\n".join(told).replace(", and", ",\nand") == snapshot("""\
`n_rows` recompiles `double` for each value of `x.shape[0]`,
and autotunes all 2 configs again: `n_rows` is in the autotune key; `n_cols` in the key changes too
`n_cols` recompiles `double` for each value of `len(lengths)`,
and autotunes all 2 configs again: `n_cols` is in the autotune key; `n_rows` in the key changes too\
""")


def test_plain_argument_in_the_key_stays_a_finding_of_its_own(doctor: Doctor, write: Write) -> None:
    write("a.py", source(key='["n_rows", "n_cols"]'))

    assert found(doctor) == [
        ("TRD201", "n_rows", "warning", ["n_rows", "n_cols"]),
        ("TRD301", "n_cols", "warning", ["n_rows", "n_cols"]),
    ]


@pytest.mark.parametrize("options", [("--select", "TRD301"), ("--ignore", "TRD201")], ids=" ".join)
def test_tuning_is_reported_where_the_rule_of_the_constexpr_is_off(
    doctor: Doctor, write: Write, options: tuple[str, ...]
) -> None:
    write("a.py", source())

    assert found(doctor, *options) == [("TRD301", "n_rows", "warning", ["n_rows"])]


def test_one_config_is_never_tuned(doctor: Doctor, write: Write) -> None:
    write("a.py", source().replace(', triton.Config({"BLOCK": 128})', ""))

    assert found(doctor) == [("TRD201", "n_rows", "warning", [])]


@pytest.mark.parametrize(
    ("comment", "left"),
    [
        pytest.param("# triton-doctor: ignore[TRD201]", [], id="of the constexpr: it silences the whole finding"),
        pytest.param("# triton-doctor: ignore[TRD301]", ["TRD201"], id="of the tuning: it recompiles all the same"),
        pytest.param("# triton-doctor: ignore[TRD201, TRD301]", [], id="of both"),
    ],
)
def test_comments_about_either_rule_are_in_use(doctor: Doctor, write: Write, comment: str, left: list[str]) -> None:
    write("a.py", source(comment=comment))

    assert [code for code, *_ in found(doctor)] == left


def test_comments_that_the_tool_adds_silence_all_of_it(doctor: Doctor, write: Write) -> None:
    write("a.py", source(key='["n_rows", "n_cols"]'))
    doctor("check", *OTHERS, "--add-ignore=measured", "a.py")

    assert found(doctor) == []


def test_baseline_knows_the_one_finding(doctor: Doctor, write: Write) -> None:
    write("a.py", source())
    doctor("check", *OTHERS, "--write-baseline", "a.py")

    assert found(doctor, "--baseline", "triton-doctor-baseline.json") == []


ONE = '[triton.Config({"BLOCK": 64})]'
TWO = '[triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 128})]'


@pytest.mark.parametrize(
    ("before", "configs", "is_tuned"),
    [
        ("", ONE, False),
        ("", '[triton.Config({"BLOCK": b}, num_stages=s) for b in [64] for s in [8]]', False),
        ("", '[triton.Config({"BLOCK": b}) for b in [64, 128]]', True),
        (f"CONFIGS = {ONE}", "CONFIGS", False),
        (f"CONFIGS = {TWO}", "CONFIGS", True),
        (f"CONFIGS = {ONE}\nCONFIGS.append(CONFIGS[0])", "CONFIGS", True),
        (f"def configs():\n    return {ONE}", "configs()", False),
        (f"def configs():\n    return {TWO}", "configs()", True),
        ("import os", f'{ONE} if os.environ.get("FAST") else {TWO}', True),
        ("import os", f'{ONE} if os.environ.get("FAST") else {ONE}', False),
        ("from elsewhere import configs", "configs()", True),
    ],
)
def test_one_config_is_never_tuned_wherever_it_is_written(
    doctor: Doctor, write: Write, before: str, configs: str, is_tuned: bool
) -> None:
    text = source(of_rows="").replace(TWO, configs).replace("@triton.autotune", f"{before}\n\n\n@triton.autotune")
    write("a.py", text)

    assert found(doctor) == [("TRD301", "n_rows", "warning", ["n_rows"])] * is_tuned


def test_pruned_configs_are_not_all_tuned(doctor: Doctor, write: Write) -> None:
    write("a.py", source(of_rows="").replace(", key=", ', prune_configs_by={"top_k": 1}, key='))

    outcome = doctor("check", *OTHERS, "--output-format", "concise", "a.py")

    assert "`double` autotunes its configs again for each value of `x.shape[0]`" in outcome.out
