"""Waiting for triton: told once, when it is whole, and at once where it is."""

import importlib
import sys

import pytest

from triton_doctor.runtime import import_wait


@pytest.fixture
def awaited(monkeypatch, tmp_path):
    """A module that stands for triton: whose name the wait is for, and which can be imported."""
    monkeypatch.setattr(import_wait, "WAITED_FOR", "awaited_module")
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    before = list(sys.meta_path)
    yield tmp_path / "awaited_module.py"
    sys.modules.pop("awaited_module", None)
    assert sys.meta_path == before


def test_called_once_and_after_the_module_is_whole(awaited):
    awaited.write_text("x = 1\ny = 2\n")
    seen = []
    import_wait.when_triton_arrives(lambda: seen.append(vars(sys.modules["awaited_module"])["y"]))
    module = importlib.import_module("awaited_module")

    assert seen == [2]
    assert "exec_module" not in vars(module.__loader__)


def test_called_at_once_where_it_is_imported(awaited):
    awaited.write_text("")
    importlib.import_module("awaited_module")
    seen = []
    import_wait.when_triton_arrives(lambda: seen.append(1))

    assert seen == [1]


def test_import_that_fails_is_waited_for_again(awaited):
    awaited.write_text("1 / 0\n")
    seen = []
    leave = import_wait.when_triton_arrives(lambda: seen.append(1))
    with pytest.raises(ZeroDivisionError):
        importlib.import_module("awaited_module")
    assert seen == []

    leave()


def test_module_that_is_not_installed_stays_missing(awaited):
    leave = import_wait.when_triton_arrives(lambda: None)
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("awaited_module")

    leave()
