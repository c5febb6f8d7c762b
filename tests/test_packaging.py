"""What an install carries: each way of installing finds the rule pages, and the wheel holds the package and no more."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

from triton_doctor.rulebook import page_paths

ROOT = Path(__file__).parent.parent
SERVICES = "triton_doctor.runtime.launch.startup.services"
MOST_BYTES = 2_000_000
OFFLINE = ["--no-index", "--no-deps", "--no-build-isolation", "--disable-pip-version-check", "--quiet"]
# Without `site`, the only triton_doctor is that of the folder given, whatever this environment has installed.
PROGRAM = """
import site, sys
target, libraries = sys.argv[1:]
site.addsitedir(target)
sys.path += [target, libraries]
from triton_doctor.cli import main
from triton_doctor.rulebook import page_paths
assert main(["rule", "TRD900", "--output-format", "json"]) == 0
print(next(iter(page_paths().values())).parent)
"""


def pip(*arguments: str | Path) -> None:
    subprocess.run([sys.executable, "-m", "pip", *map(str, arguments)], check=True)


def folder_of_pages(target: Path) -> Path:
    """Where the triton_doctor that is installed in `target` finds its rule pages."""
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", PROGRAM, target, sysconfig.get_path("purelib")],
        cwd=target,
        capture_output=True,
        text=True,
        check=True,
    )
    return Path(done.stdout.splitlines()[-1])


def modules_of_a_start(target: Path, variables: dict[str, str]) -> list[str]:
    """Which modules of ours a Python has imported at its start that reads the `.pth` files of `target`."""
    said = "import json, site, sys; site.addsitedir(sys.argv[1]); print(json.dumps(list(sys.modules)))"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")} | variables
    command = [sys.executable, "-S", "-c", said, target]
    done = subprocess.run(command, cwd=target, env=environment, capture_output=True, text=True, check=True)
    names: list[str] = json.loads(done.stdout)
    return [name for name in names if name.startswith("triton_doctor")]


# One worker of pytest-xdist makes what this fixture makes.
pytestmark = pytest.mark.xdist_group("packaging")


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sdist")
    build = [sys.executable, "-m", "build", "--sdist", "--no-isolation", "--outdir", folder, ROOT]
    subprocess.run(build, check=True, capture_output=True)
    return next(folder.iterdir())


def test_plain_install_finds_the_pages(tmp_path: Path) -> None:
    pip("install", *OFFLINE, "--target", tmp_path, ROOT)

    assert folder_of_pages(tmp_path) == tmp_path / "triton_doctor" / "_rules"
    assert modules_of_a_start(tmp_path, {}) == []
    assert SERVICES in modules_of_a_start(tmp_path, {"TRITON_DOCTOR": "live"})


def test_editable_install_finds_the_pages(tmp_path: Path) -> None:
    pip("install", *OFFLINE, "--target", tmp_path, "--editable", ROOT)

    assert folder_of_pages(tmp_path) == ROOT / "rules"
    assert SERVICES in modules_of_a_start(tmp_path, {"TRITON_DOCTOR": "live"})


def test_wheel_made_from_the_sdist_finds_the_pages(tmp_path: Path, sdist: Path) -> None:
    pip("install", *OFFLINE, "--target", tmp_path, sdist)

    assert folder_of_pages(tmp_path) == tmp_path / "triton_doctor" / "_rules"


def test_wheel_holds_the_package_and_the_pages(tmp_path: Path) -> None:
    pip("wheel", *OFFLINE, "--wheel-dir", tmp_path, ROOT)

    with zipfile.ZipFile(next(tmp_path.iterdir())) as wheel:
        held = {name for name in wheel.namelist() if ".dist-info/" not in name}
    files = (path for path in (ROOT / "triton_doctor").rglob("*") if path.is_file())
    # The `.pth` lies beside the package, where Python reads it.
    package = (path for path in files if path.suffix not in (".pyc", ".pth"))
    assert held == {
        *(path.relative_to(ROOT).as_posix() for path in package),
        *(f"triton_doctor/_rules/{path.name}" for path in page_paths().values()),
        "triton_doctor.pth",
    }


def test_sdist_holds_what_the_wheel_is_made_from(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}

    pages = {f"rules/{path.name}" for path in page_paths().values()}
    assert pages | {"pyproject.toml", "README.md", "LICENSE", "hatch_build.py", "triton_doctor/py.typed"} <= names
    assert {name.partition("/")[0] for name in names} <= {
        *("triton_doctor", "rules", "README.md", "CHANGELOG.md", "LICENSE"),
        *("pyproject.toml", "hatch_build.py", "PKG-INFO", ".gitignore"),
    }


def test_release_is_small_and_an_index_takes_it(tmp_path: Path) -> None:
    addresses = {"PROJECT_REPOSITORY": "https://host.example/doctor", "PROJECT_DOCUMENTATION": "https://docs.example/"}
    build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", tmp_path, ROOT]
    subprocess.run(build, env=os.environ | addresses, check=True, capture_output=True)
    files = sorted(tmp_path.iterdir())

    done = subprocess.run(
        [sys.executable, "-m", "twine", "check", "--strict", *files], capture_output=True, text=True, check=False
    )

    assert [path.suffix for path in files] == [".whl", ".gz"]
    assert all(path.stat().st_size < MOST_BYTES for path in files)
    assert done.returncode == 0, done.stdout
    with zipfile.ZipFile(files[0]) as wheel:
        metadata = wheel.read(next(name for name in wheel.namelist() if name.endswith("METADATA"))).decode()
    assert "Project-URL: Documentation, https://docs.example/\n" in metadata


def test_oldest_dependencies_that_are_declared_do_the_same(tmp_path: Path) -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    oldest = [re.sub(r">=([\d.]+).*", r"==\1", one) for one in declared]
    libraries, seeds = tmp_path / "libraries", tmp_path / "seeds"
    shutil.copytree(ROOT / "fixtures" / "seeds", seeds)
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--only-binary=:all:"]
    done = subprocess.run([*install, "--target", libraries, *oldest], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"their wheels cannot be had here: {done.stderr.strip().splitlines()[-1:]}")

    def doctor(*arguments: str, path: list[Path]) -> str:
        environment = os.environ | {"COLUMNS": "200", "PYTHONPATH": os.pathsep.join(map(str, path))}
        command = [sys.executable, "-m", "triton_doctor", *arguments]
        return subprocess.run(command, cwd=seeds, env=environment, capture_output=True, text=True, check=True).stdout

    def letters(*arguments: str, path: list[Path]) -> list[str]:
        return sorted("".join(re.findall(r"\w+", doctor(*arguments, path=path))))

    old = [libraries, ROOT]
    check = ["check", "--no-cache", "--exit-zero", "--output-format"]
    # Letters alone: Rich 13 centers the headings of a page, and breaks long lines and the words of tables elsewhere.
    for command in (
        [*check, "sarif"],
        [*check, "full"],
        ["rule", "TRD401"],  # Rich 13 crops words of code in the table of TRD201
        ["report", str(ROOT / "fixtures/recordings")],
    ):
        assert letters(*command, path=old) == letters(*command, path=[ROOT])
    for verb in ("check", "run", "prewarm"):
        now, then = (doctor(verb, "--help", path=path).split() for path in ([ROOT], old))
        assert {word for word in now if word.startswith("--")} <= {*then}
