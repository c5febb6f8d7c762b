"""Dockerfiles, workflows, shell scripts and other settings files, to EnvironmentFile."""

from __future__ import annotations

import re

from triton_doctor.finding import Span
from triton_doctor.regular_files import TooLargeError
from triton_doctor.static.environment.read_python import hides_gpus, may_set
from triton_doctor.static.environment.setting import EnvironmentFile, EnvSetting, mark_explained
from triton_doctor.static.environment.settings_files.dockerfile import read_dockerfile, read_stages
from triton_doctor.static.environment.settings_files.images import find_missing_compiler, may_lack_compiler
from triton_doctor.static.environment.settings_files.shared_folders import mark_shared
from triton_doctor.static.sources.files import settings_kind
from triton_doctor.variables import INTERPRET

# Larger files are not written by hand, and some readers take a second for each MB.
_LARGEST_BYTES = 1 << 20

_RUNNER = re.compile(r"(?m)^[ \t-]*runs-on:[ \t]*([^\s#][^\n#]*?)[ \t]*(?:#.*)?$")
_HOSTED = re.compile(r"[\"']?(?:ubuntu|macos|windows)-(?:latest|[\d.]+)(?:-arm|-large|-xlarge|-intel)?[\"']?")
# `"$@"` as a command of the script itself, not the end of a longer one; inside a function it means something else.
_RUNS_WHAT_IS_GIVEN = re.compile(r"(?m)(?<!\\\n)^(?:eval[ \t]+)?\"?\$(?:[1@*]|\{[1@*]\})\"?(?=[\s;|&>]|$)")
_READS_DUMPS = re.compile(
    r"(?m)^[^#\n]*\b(?:grep|sed|awk)\b[^\n]*(?:IR Dump|amdgcn|triton_gpu|[vs]gpr|spill|\bttg|ttir|llvm|ptx|mlir)",
    re.IGNORECASE,
)
# The toolchain of a C++ build, and anything that may start Python or name what runs in it.
_BUILDS_CPP = re.compile(r"\b(?:cmake|ctest|mpicxx|g\+\+|nvcc\w*|CXX)\b|_CXX\b", re.IGNORECASE)
# sm_121, compute_100a, TORCH_CUDA_ARCH_LIST="9.0 12.0+PTX"
_NAMES_BLACKWELL = re.compile(r"\b(?:sm|compute)_1[0-2]\d|ARCH_LIST\b.*\b1[0-2]\.\d", re.IGNORECASE)
_NAMES_PYTHON = re.compile(
    r"\bpython[\d.]*[ \t]+(?!/)\S|\$\{?PYTHON|\.(?:py|ipynb)\b|torch|triton|pytest|\bpip3?\b|\bconda|\bvenv|\buv\b"
    r"|accelerate|deepspeed|vllm|sglang|jupyter",
    re.IGNORECASE,
)


def read_settings(path: str, data: bytes) -> EnvironmentFile | None:
    """Return the settings of the file at `path`, a path as findings spell it; None if it cannot have any.

    It can have none if it is no settings file, names no variable of interest, or is binary. A file that does not parse
    has no settings. Raises TooLargeError for files larger than people write, RecursionError for deep nesting, and the
    other errors of `ast.parse` for the Python of a notebook.
    """
    kind = settings_kind(path)
    if kind is None or b"\0" in data[:8192] or not may_matter(data):
        return None
    if len(data) > _LARGEST_BYTES:
        raise TooLargeError(path, _LARGEST_BYTES)
    text = data.decode("utf-8-sig", "replace").replace("\r\n", "\n")
    settings = mark_shared(kind, mark_explained(_read(kind, text), text), text)
    missing_compiler = None
    if kind == "dockerfile" and may_lack_compiler(data):
        missing_compiler = find_missing_compiler(read_stages(text))
    return EnvironmentFile(
        path=path,
        kind=kind,
        settings=settings,
        for_tests=kind == "toml" and bool(settings) and _only_for_tests(text, settings),
        names_blackwell=_NAMES_BLACKWELL.search(text) is not None,
        cpu_only=hides_gpus(settings) or "download.pytorch.org/whl/cpu" in text or _runs_on_hosted_cpus(text),
        runs_programs=kind == "shell" and _runs_what_is_given(path, text),
        reads_dumps=kind == "shell" and _READS_DUMPS.search(text) is not None,
        missing_compiler=missing_compiler,
        builds_cpp=kind == "shell" and _BUILDS_CPP.search(text) is not None and not _NAMES_PYTHON.search(text),
    )


def may_matter(data: bytes) -> bool:
    """Return whether a settings file that holds `data` may set a variable, or be an image without a C compiler."""
    return may_set(data) or may_lack_compiler(data)


def _read(kind: str, text: str) -> tuple[EnvSetting, ...]:
    # Import readers on demand: PyYAML alone costs as much as all the others.
    match kind:
        case "dockerfile":
            return read_dockerfile(text)
        case "yaml":
            from triton_doctor.static.environment.settings_files.yaml import read_yaml

            return read_yaml(text)
        case "dotenv":
            from triton_doctor.static.environment.settings_files.shell_printed import read_assignments

            return tuple(read_assignments(text, 1, "a file of variables"))
        case "shell":
            from triton_doctor.static.environment.settings_files.shell import read_shell

            return read_shell(re.sub(r"(?m)^#SBATCH ", " sbatch ", text))
        case "toml":
            from triton_doctor.static.environment.settings_files.toml import read_toml

            return read_toml(text)
        case _:
            return read_unparsed(text)


def _runs_what_is_given(path: str, text: str) -> bool:
    """Return whether a shell script runs a command given by its user; not for the entry point of an image."""
    return "entry" not in path.rpartition("/")[2] and _RUNS_WHAT_IS_GIVEN.search(text) is not None


def _runs_on_hosted_cpus(text: str) -> bool:
    """Return whether every job of a GitHub workflow runs on a standard GitHub runner, which has no GPU."""
    runners = _RUNNER.findall(text)
    return bool(runners) and all(_HOSTED.fullmatch(runner) for runner in runners)


def _only_for_tests(text: str, settings: tuple[EnvSetting, ...]) -> bool:
    """Return whether all settings are in the test runner's section of pyproject.toml."""
    lines = text.split("\n")
    for setting in settings:
        above = reversed(lines[: setting.span.line])
        section = next((line for line in above if line.startswith("[")), "")
        if not re.match(r"\[tool\.(?:pytest|tox)", section):
            return False
    return True


# `X=1`, `X := "1"`, `X: 1`, `"X", "1"`, `setx X 1`, `Env:X -Value 1`. A comparison has another operator: `X == 1`.
_GIVES = re.compile(
    rf"(?<!\w){INTERPRET}[\"'}}]*(?:[ \t]*(?:[:?+]?=(?!=)|[:,])[ \t]*|[ \t]+(?:-Value[ \t]+)?)"
    r"[\"']?(?P<value>\w+)(?![\w=])",
    re.IGNORECASE,
)
_BEGINS_COMMENT = re.compile(r"\s*(?:#|//|/?\*|;|::|@?rem\b|<!--)|[^\"']*\s(?:#|//|/\*)\s", re.IGNORECASE)


def read_unparsed(text: str) -> tuple[EnvSetting, ...]:
    """Return where a line of `text`, outside of a comment, gives the variable of interpreter mode a value."""
    return tuple(
        EnvSetting(
            variable=INTERPRET,
            value=match["value"],
            span=Span(number, match.start() + 1, number, match.end() + 1),
            how="a text search",
        )
        for number, line in enumerate(text.split("\n"), 1)
        for match in _GIVES.finditer(line)
        if _BEGINS_COMMENT.match(line[: match.start()]) is None
    )
