"""Scripts that try their own kernels: which they are, who imports them, and the setting that turns it off."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.static.project.cached_project import KERNEL, found
from triton_doctor.finding import Severity
from triton_doctor.settings import Settings
from triton_doctor.static.project.cache.store import CacheStore
from triton_doctor.static.scan import scan
from triton_doctor.static.sources.files import find_files

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

LAUNCH = KERNEL + "\ndef launch(x):\n    kernel[(1,)](x, x.numel())\n    return x\n"
MAIN = 'if __name__ == "__main__":\n    '
TRIAL = f"{LAUNCH}\n{MAIN}torch.testing.assert_close(launch(ones), ones)\n"


def severity(folder: Path, settings: Settings) -> Severity:
    """That of the one constexpr that varies."""
    files = list(find_files([folder], settings, cwd=folder))
    (found,) = (one.severity for one in scan(files, settings, cwd=folder).findings if one.code == "TRD201")
    return found


@pytest.mark.parametrize(
    ("tries", "told"),
    [
        pytest.param(f"{MAIN}assert torch.allclose(launch(ones), ones)\n", Severity.INFO, id="compares"),
        pytest.param(f"{MAIN}print(launch(ones))\n", Severity.WARNING, id="only runs"),
        pytest.param(
            "def test_launch():\n    assert torch.allclose(launch(x), x)\n", Severity.WARNING, id="is not run"
        ),
        pytest.param(
            "def test_launch(x):\n    assert torch.allclose(launch(x), x)\n\ntest_launch(ones)\n",
            Severity.INFO,
            id="runs its test when it is imported",
        ),
        pytest.param(
            f"def bench(x):\n    t = time.time()\n    launch(x)\n    print(time.time() - t)\n\n{MAIN}bench(ones)\n",
            Severity.INFO,
            id="a benchmark looks at the clock",
        ),
        pytest.param(
            f"def serve(x):\n    t = time.time()\n    launch(x)\n    print(time.time() - t)\n\n{MAIN}serve(ones)\n",
            Severity.WARNING,
            id="a server looks at the clock",
        ),
    ],
)
def test_script_that_compares_or_times_its_kernels_when_it_runs_is_a_demonstration(
    tmp_path: Path, write: Callable[[str, str], Path], tries: str, told: Severity
) -> None:
    write("program.py", KERNEL)
    write("add.py", f"import time\nimport torch\n{LAUNCH}\n{tries}")

    assert severity(tmp_path, Settings(root=tmp_path)) is told


@pytest.mark.parametrize(
    ("path", "text", "told"),
    [
        pytest.param("app.py", "from kernels.add import launch\nlaunch(x)\n", Severity.WARNING, id="a function"),
        pytest.param(
            "app.py", "def f(x):\n    from kernels import add\n    add.launch(x)\n", Severity.WARNING, id="the module"
        ),
        pytest.param("app.py", "import kernels.add\n", Severity.WARNING, id="the module by its full name"),
        pytest.param("kernels/__init__.py", "from .add import (\n    launch,\n)\n", Severity.WARNING, id="handed on"),
        pytest.param("kernels/__init__.py", "from .add import *\n", Severity.WARNING, id="all of it handed on"),
        pytest.param("tests/test_add.py", "from kernels.add import launch\n", Severity.INFO, id="by a test"),
        pytest.param("benchmarks/all.py", "from kernels.add import launch\n", Severity.INFO, id="by a benchmark"),
        pytest.param("app.py", "from operator import add\n", Severity.INFO, id="another of that name"),
        pytest.param(
            "kernels/app.py",
            "import kernels\nfrom sums.add import launch\n",
            Severity.INFO,
            id="another of that name, beside the package",
        ),
        pytest.param("app.py", "launch = 'kernels.add'\n", Severity.INFO, id="no import"),
    ],
)
def test_script_that_a_program_imports_is_no_demonstration(
    tmp_path: Path, write: Callable[[str, str], Path], path: str, text: str, told: Severity
) -> None:
    write("program.py", KERNEL)
    write("kernels/add.py", TRIAL)
    write(path, text)

    assert severity(tmp_path, Settings(root=tmp_path)) is told


def test_setting_of_demonstrations_takes_the_place_of_looking_for_them(
    tmp_path: Path, write: Callable[[str, str], Path]
) -> None:
    write("program.py", KERNEL)
    write("add.py", TRIAL)

    assert severity(tmp_path, Settings(root=tmp_path, demonstrations=())) is Severity.WARNING


@pytest.mark.parametrize(
    ("path", "text", "told"),
    [
        pytest.param("more.py", f"{KERNEL}\n{MAIN}assert torch.allclose(x, x)\n", Severity.WARNING, id="another trial"),
        pytest.param("tests/test_more.py", KERNEL, Severity.WARNING, id="a test"),
        pytest.param("tutorials/more.py", KERNEL, Severity.WARNING, id="a tutorial"),
        pytest.param("program.py", KERNEL, Severity.INFO, id="a program"),
    ],
)
def test_scripts_that_try_all_kernels_of_a_project_are_what_it_publishes(
    tmp_path: Path, write: Callable[[str, str], Path], path: str, text: str, told: Severity
) -> None:
    write("add.py", TRIAL)
    write(path, text)

    assert severity(tmp_path, Settings(root=tmp_path)) is told


def test_program_that_comes_to_a_project_of_trials_makes_them_demonstrations(
    tmp_path: Path, write: Callable[[str, str], Path]
) -> None:
    cache = CacheStore(tmp_path, ["."], Settings(root=tmp_path))
    write("add.py", TRIAL)
    before = [one.severity for one in found(tmp_path, cache)[0]]
    write("program.py", KERNEL)

    after = [one.severity for one in found(tmp_path, cache)[0]]

    assert (before, after) == ([Severity.WARNING], [Severity.INFO])


@pytest.mark.parametrize(
    ("name", "told"),
    [
        pytest.param("triton_tutorials", Severity.INFO, id="a tutorial"),
        pytest.param("2by4-pretrain", Severity.WARNING, id="a number leads it, which only forbids to import it"),
        pytest.param("kernels", Severity.WARNING, id="neither"),
    ],
)
def test_project_whose_own_folder_is_called_a_tutorial_is_a_demonstration(
    tmp_path: Path, write: Callable[[str, str], Path], name: str, told: Severity
) -> None:
    write(f"{name}/add.py", LAUNCH)

    assert severity(tmp_path / name, Settings(root=tmp_path / name)) is told
