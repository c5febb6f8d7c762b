"""The table of variables against the sources of four Tritons, and what is asked of it."""

from __future__ import annotations

import mmap
import os
import re
import struct
import subprocess
import sys
from functools import cache
from typing import TYPE_CHECKING

import pytest

from tests.tritons import triton_folder
from triton_doctor.errors import DoctorError
from triton_doctor.variables import (
    Version,
    looks_like_triton,
    meant,
    newest_version,
    parse_version,
    turns_interpreter_on,
    variables,
    variables_by_knob,
)

if TYPE_CHECKING:
    from pathlib import Path

RELEASES = ["3.2.0", "3.4.0", "3.6.0", "3.9.0"]
READ_IN_PYTHON = re.compile(
    r"(?:environ(?:\.get|\.setdefault|\.pop)?\s*[(\[]\s*|getenv\(\s*|env_\w+(?:\[[^\]]*\])?\(\s*)[\"']([A-Za-z][\w-]*)[\"']"
)
TOOL = re.compile(r"env_nvidia_tool\([\"']([\w-]+)[\"']\)|_path_to_binary\([\"']([\w-]+)[\"']\)")
KNOB = re.compile(r"^    (\w+)(?::[^=\n]+)? = env_\w+(?:\[[^\]]*\])?\(\s*[\"']([\w-]+)[\"']", re.MULTILINE)
# What Triton reads beside its own variables: the system's, and pytest's in its own tests.
NOT_ITS_OWN = {"PATH", "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"}
NOT_ITS_OWN |= {"PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT"}
# Words of the libraries in the form of a variable: a limit that Python is told, and a header's guard.
NO_VARIABLES = {"TRITON_MAX_TENSOR_NUMEL", "TRITON_DH"}


@cache
def names_in_python(folder: Path) -> set[str]:
    names = set[str]()
    for path in (folder / "triton").rglob("*.py"):
        text = path.read_text(encoding="utf-8", errors="replace")
        names |= {name for name in READ_IN_PYTHON.findall(text) if name.isupper()}
        for tool in (one or other for one, other in TOOL.findall(text)):
            names.add(f"TRITON_{tool.upper().replace('-', '_')}_PATH")
        # 3.2 spells two of them as a lookup of a list (backends/nvidia/driver.py, runtime/build.py).
        names |= set(re.findall(r"[\"'](TRITON_[A-Z0-9_]+)[\"']", text))
    return names - NOT_ITS_OWN - NO_VARIABLES


def is_library(path: Path) -> bool:
    """Whether `path` is a library, not the line of text that `tests.tritons.quicken` leaves under its name."""
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


def read_constants(library: Path) -> bytes:
    """The section .rodata of a 64-bit ELF file, where its texts stand: a tenth of it."""
    with library.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        (table,) = struct.unpack_from("<Q", content, 0x28)
        size, count, of_names = struct.unpack_from("<3H", content, 0x3A)
        # Of each section: where its name stands, its offset, its size.
        sections = [struct.unpack_from("<I20x2Q", content, table + size * number) for number in range(count)]
        names = sections[of_names][1]
        for name, begin, length in sections:
            if content[names + name : names + name + 8] == b".rodata\0":
                return content[begin : begin + length]
    raise AssertionError(f"{library} has no .rodata")


@cache
def names_in_libraries(folder: Path) -> set[str]:
    """The names of the table, and all in the form of Triton's, that stand in the shared libraries."""
    words = set[bytes]()
    for library in (folder / "triton" / "_C").glob("*.so"):
        if is_library(library):
            words |= set(re.findall(rb"[A-Z][A-Z0-9_x]{7,}+(?![A-Za-z])", read_constants(library)))
    assert words
    names = {word.decode() for word in words}
    names = {name for name in names if name in variables() or name.startswith("TRITON_")}
    return names - NO_VARIABLES


@pytest.mark.parametrize("release", RELEASES)
def test_every_variable_of_the_table_stands_in_the_sources_of_its_versions(release: str) -> None:
    folder = triton_folder(release)
    version = parse_version(release)

    found = names_in_python(folder) | names_in_libraries(folder)

    table = {variable.name for variable in variables().values() if variable.reader == "triton"}
    told = {name for name in table if variables()[name].read_by(version)}
    assert told - found == set()


@pytest.mark.parametrize("release", RELEASES)
def test_every_variable_that_the_sources_read_stands_in_the_table(release: str) -> None:
    folder = triton_folder(release)
    version = parse_version(release)

    found = names_in_python(folder) | {name for name in names_in_libraries(folder) if name.startswith("TRITON_")}

    missing = {name for name in found if name not in variables() or not variables()[name].read_by(version)}
    assert missing == set()


@pytest.mark.parametrize("release", ["3.4.0", "3.6.0", "3.9.0"])
def test_every_knob_leads_to_its_variable(release: str) -> None:
    text = (triton_folder(release) / "triton" / "knobs.py").read_text(encoding="utf-8")
    found = {}
    for name, body in re.findall(r"^class (\w+)_knobs\(base_knobs\):\n(.*?)(?=^\S)", text, re.MULTILINE | re.DOTALL):
        for knob, variable in KNOB.findall(body):
            spelled = variable if variable.isupper() else f"TRITON_{variable.upper().replace('-', '_')}_PATH"
            found[f"{name}.{knob}"] = spelled

    table = {knob: variable.name for knob, variable in variables_by_knob().items()}
    assert len(found) > 30
    assert {knob: name for knob, name in found.items() if table.get(knob) != name} == {}


WORDS = ["1", "0", "true", "True", "yes", "on", "y", "off", "no", "2", ""]
ASK = """
import os, sys
from triton import knobs
for word in sys.argv[1:]:
    os.environ["TRITON_INTERPRET"] = word
    print(knobs.runtime.interpret)
"""


@pytest.mark.parametrize("release", RELEASES[1:])
def test_interpreter_mode_takes_the_words_that_triton_takes(release: str) -> None:
    path = os.pathsep.join([str(triton_folder(release)), *sys.path])
    environment = os.environ | {"PYTHONPATH": path}

    asked = subprocess.run(
        [sys.executable, "-c", ASK, *WORDS], env=environment, capture_output=True, text=True, check=True
    )

    told = [str(turns_interpreter_on(word, parse_version(release))) for word in WORDS]
    assert dict(zip(WORDS, asked.stdout.split(), strict=True)) == dict(zip(WORDS, told, strict=True))


def test_interpreter_mode_took_only_1_before_there_were_knobs() -> None:
    source = (triton_folder("3.2.0") / "triton" / "runtime" / "jit.py").read_text(encoding="utf-8")

    assert 'os.getenv("TRITON_INTERPRET", "0") == "1"' in source
    assert [word for word in WORDS if turns_interpreter_on(word, parse_version("3.2"))] == ["1"]


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("TRITON_INTERPT", "TRITON_INTERPRET"),
        ("TRITON_INTERPRETER", "TRITON_INTERPRET"),
        ("TRITON_INTREPRET", "TRITON_INTERPRET"),
        ("TRITION_INTERPRET", "TRITON_INTERPRET"),
        ("TRITONINTERPRET", "TRITON_INTERPRET"),
        ("triton_interpret", "TRITON_INTERPRET"),
        ("TRITON_CACHEDIR", "TRITON_CACHE_DIR"),
        ("TRITON_CACHE_DIRS", "TRITON_CACHE_DIR"),
        ("TRITON_ALWAYS_RECOMPILE", "TRITON_ALWAYS_COMPILE"),
        ("TRITON_PRINT_AUTOTUNE", "TRITON_PRINT_AUTOTUNING"),
    ],
)
def test_slip_leads_to_the_name_that_was_meant(name: str, known: str) -> None:
    assert looks_like_triton(name)
    assert meant(name) == (known, True)


@pytest.mark.parametrize(
    "name",
    ["TRITON_HOST", "TRITON_VERSION", "TRITON_SERVER_URL", "TRITON_CUDA_PATH", "TRITON_CACHE", "TRITON_INTERPRET_MODE"],
)
def test_name_of_its_own_is_no_slip(name: str) -> None:
    assert (meant(name) or ("", False))[1] is False


@pytest.mark.parametrize("name", ["TRAINING_DIR", "TRITON", "TORCH_HOME", "TRUST_REMOTE_CODE", "NITRO_MODE"])
def test_name_of_another_program_is_not_taken_for_tritons(name: str) -> None:
    assert not looks_like_triton(name)


@pytest.mark.parametrize(
    ("name", "value", "harmful"),
    [
        ("TRITON_DEBUG", "1", True),
        ("TRITON_DEBUG", "0", False),
        ("TRITON_DEBUG", "", False),
        ("MLIR_ENABLE_DUMP", "matmul_kernel", True),
        ("TRITON_REPRODUCER_PATH", "/tmp/x", True),
        ("TRITON_REPRODUCER_PATH", "", False),
        ("PTXAS_OPTIONS", "-v", False),
        ("PTXAS_OPTIONS", "-v -O0", True),
        ("PTXAS_OPTIONS", "--opt-level=3", False),
        ("TORCHINDUCTOR_FX_GRAPH_CACHE", "0", True),
        ("TORCHINDUCTOR_FX_GRAPH_CACHE", "1", False),
        ("TRITON_CACHE_DIR", "/tmp", False),
    ],
)
def test_harm_depends_on_the_value(name: str, value: str, harmful: bool) -> None:
    assert variables()[name].harmful(value) is harmful


@pytest.mark.parametrize(
    ("text", "version"), [("3.6", (3, 6)), ("3.6.0", (3, 6)), ("v3.4.1+git", (3, 4)), ("9.0", None)]
)
def test_version_is_read_by_its_release_line(text: str, version: tuple[int, int] | None) -> None:
    assert parse_version(text) == (Version(*version) if version else newest_version())


@pytest.mark.parametrize("text", ["", "three", "3", "3.x"])
def test_what_is_no_version_is_refused(text: str) -> None:
    with pytest.raises(DoctorError, match="is no version of triton"):
        parse_version(text)
