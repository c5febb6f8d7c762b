"""Stand-ins for packages that are not installed: decorators that keep what they decorate, bases that do nothing."""

from __future__ import annotations

import ast
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from triton_doctor.explore.child.running_source import statements_at

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from types import FrameType, ModuleType

# Their absence decides what code does, or what is read off them is a test's own.
NEVER = frozenset({"pytest", "torch", "triton", "numpy", "triton_doctor"})
MOST_PACKAGES = 8
HANDLED = frozenset({"ImportError", "ModuleNotFoundError", "Exception", "BaseException"})


class StandIn:
    """Anything of a package that is missing. Calling it with a function or class gives that back, as a decorator."""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def __init_subclass__(cls, **_: Any) -> None:
        pass

    def __class_getitem__(cls, _: Any) -> Any:
        return cls

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Decorate, or return a stand-in."""
        return _decorate(self, args, kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return StandIn()

    def __iter__(self) -> Any:
        return iter(())

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        pass


class StandInClass(type):
    """The class of names of a missing package: a base class, a decorator, a factory of decorators or a namespace."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        """Decorate, make a factory of decorators, or construct an object of a class that is derived from a stand-in."""
        if "__stand_in__" not in vars(cls):
            return super().__call__(*args, **kwargs)
        return _decorate(StandIn(), args, kwargs)

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return make_class(name, cls.__module__)


def make_class(name: str, module: str) -> Any:
    """Return a stand-in for the name of a missing package."""
    return StandInClass(
        name, (), {"__stand_in__": True, "__module__": module, "__class_getitem__": classmethod(lambda cls, _: cls)}
    )


def _decorate(made: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the function or class that a call was given alone, as a decorator does, else another stand-in."""
    is_decorator = len(args) == 1 and not kwargs and (callable(args[0]) and not isinstance(args[0], StandIn))
    return args[0] if is_decorator else made


class StandInModule(types.ModuleType):
    """A module of a missing package: each name of it is a class."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        made = make_class(name, self.__name__)
        setattr(self, name, made)
        return made


class StandIns(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Last on the path: finds what nobody has. `names` are the packages that were asked for."""

    def __init__(self, own: Collection[str], is_inside: Callable[[str], bool]) -> None:
        self._own, self._is_inside = frozenset(own), is_inside
        self._found: dict[str, None] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """Return the packages that are missing."""
        return tuple(self._found)

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> Any:
        """Return a spec for a module that is missing, unless the import is one that may fail."""
        top = name.partition(".")[0]
        if top in self._own or top in NEVER or top in sys.stdlib_module_names:
            return None
        if top in sys.modules and not isinstance(sys.modules[top], StandInModule):
            return None
        importer = _importer(sys._getframe(1))
        if importer is None or not self._is_inside(importer.f_code.co_filename):
            return None
        beside = Path(importer.f_code.co_filename).parent / f"{name}.py"
        if beside.is_file():
            # As if the importing file were run as a script.
            return importlib.util.spec_from_file_location(name, beside)
        if may_fail(importer):
            return None
        self._found[top] = None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        """Return the stand-in."""
        return StandInModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing."""


def _importer(frame: FrameType | None) -> FrameType | None:
    """Return the frame that has the import statement."""
    while frame is not None and "importlib" in frame.f_code.co_filename:
        frame = frame.f_back
    return frame


def may_fail(frame: FrameType) -> bool:
    """Return whether an import at the line of `frame` is in a `try` that handles its failure."""
    for statement in statements_at(frame.f_code.co_filename, frame.f_lineno):
        if isinstance(statement, ast.Try) and frame.f_lineno <= (statement.body[-1].end_lineno or 0):
            for handler in statement.handlers:
                names = (
                    {"BaseException"}
                    if handler.type is None
                    else {ast.unparse(node) for node in ast.walk(handler.type)}
                )
                if names & HANDLED:
                    return True
    return False


def install(own: Collection[str], is_inside: Callable[[str], bool]) -> StandIns:
    """Let imports by files of the project find stand-ins for what is missing, except modules named in `own`.

    torch.jit.script returns what it is given: it cannot compile stand-ins, and fakes need nothing compiled.
    """
    torch.jit.script = _return_unscripted
    finder = StandIns(own, is_inside)
    sys.meta_path.append(finder)
    return finder


def _return_unscripted(scripted: Any, *_: Any, **__: Any) -> Any:
    return scripted


def load(name: str) -> ModuleType:
    """Import a module of the project. A package above it whose initializer raises becomes a bare one."""
    for _ in range(MOST_PACKAGES):
        try:
            return importlib.import_module(name)
        except Exception:
            if not _make_bare(name):
                raise
    return importlib.import_module(name)


def _make_bare(name: str) -> bool:
    """Make the outermost package of `name` that cannot be imported a bare one. Return whether there is one."""
    parts = name.split(".")
    for length in range(1, len(parts)):
        package = ".".join(parts[:length])
        if package in sys.modules:
            continue
        parent, _, last = package.rpartition(".")
        folders = sys.modules[parent].__path__ if parent else sys.path
        found = [str(Path(folder) / last) for folder in folders if (Path(folder) / last).is_dir()]
        if not found:
            return False
        bare = types.ModuleType(package)
        bare.__path__ = found
        sys.modules[package] = bare
        if parent:
            setattr(sys.modules[parent], last, bare)
        return True
    return False
