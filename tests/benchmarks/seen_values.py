"""Truths of corpus/truth as values: how each constexpr and each autotune key of a library was seen to vary.

The first packages have their truth by kernel, all else by operator. A parameter varies as it does in the operator where
it varies most: two operators that differ in a flag do not make the flag vary.
"""

from __future__ import annotations

import importlib
import json
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from tests.benchmarks.packages import CORPUS, FLAG_GEMS, LIGER, Package, fetch
from tests.benchmarks.truths import variation
from tests.gpu.observe_operators import find_source

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path
    from types import ModuleType

# path, kernel, parameter
Key: TypeAlias = tuple[str, str, str]

TRUTH = CORPUS / "truth"
# Nobody had read the values of these before they were first judged: fixtures/recordings/README.md has what came of it.
LATER_PACKAGES = (
    Package("adasplash", "0.2.2"),
    Package("conch-triton-kernels", "1.3"),
    Package("lightning-attn", "0.0.5"),
    Package("lmdeploy", "0.18.0"),
    Package("mamba-ssm", "2.3.2.post1"),
    Package("mlstm-kernels", "2.0.6"),
    Package("torchao", "0.18.0"),
    Package("trinix", "0.1.4"),
)
PACKAGES = {package.name: package for package in (LIGER, FLAG_GEMS, *LATER_PACKAGES)}
_ORDER = ("fixed", "few", "per_call")


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """How one constexpr, or one value of an autotune key, was seen to vary; `values` are some of those it took."""

    key: Key
    how: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """What was seen of one library, whose files lie in `folder`. Kernels that no file has are left out."""

    library: str
    folder: Path
    constexprs: tuple[Seen, ...]
    tuning: tuple[Seen, ...]


def library_names(folder: str) -> list[str]:
    """The libraries with a truth in a folder of corpus/truth, by the names of their drivers."""
    return sorted(path.stem for path in (TRUTH / folder).glob("*.json"))


def read_truth(library: str, folder: str = "repositories") -> Truth:
    """The truth of a package, or of a library with a driver, in a folder of corpus/truth.

    Raises SystemExit where a repository is not in the cache folder.
    """
    return _read_package(PACKAGES[library]) if library in PACKAGES else _read_operators(library, folder)


def _read_package(package: Package) -> Truth:
    truth = _read_json(TRUTH / f"{package.name}-{package.version}.json")
    folder = fetch(package)
    return Truth(
        library=package.name,
        folder=folder,
        constexprs=tuple(
            Seen(
                key=(kernel["path"], qualified.rpartition(":")[2], parameter),
                how=watched["seen"],
                values=tuple(watched["values"]),
            )
            for qualified, kernel in truth["kernels"].items()
            if "path" in kernel and (folder / kernel["path"]).is_file()
            for parameter, watched in kernel["constexpr"].items()
        ),
        tuning=tuple(
            Seen(key=(f"{module.replace('.', '/')}.py", kernel, name), how=watched["seen"], values=())
            for qualified, tuned in truth.get("autotune", {}).items()
            for module, _, kernel in [qualified.partition(":")]
            for name, watched in tuned["key"].items()
        ),
    )


def _read_operators(library: str, folder: str) -> Truth:
    driver = importlib.import_module(f"fixtures.corpus.drivers.{library}")
    checkout = find_source(driver)
    operators = _read_json(TRUTH / folder / f"{library}.json")["operators"].values()
    constexprs = ((name, kernel["constexpr"]) for one in operators for name, kernel in one["kernels"].items())
    keys = (item for one in operators for item in one.get("tuning_keys", {}).items())
    return Truth(
        library=library,
        folder=checkout,
        constexprs=tuple(_most_varied(constexprs, driver, checkout)),
        tuning=tuple(_most_varied(keys, driver, checkout)),
    )


def _most_varied(
    observed: Iterable[tuple[str, Mapping[str, list[str]]]], driver: ModuleType, checkout: Path
) -> Iterable[Seen]:
    """Each parameter as it varies in the operator where it varies most."""
    values: dict[Key, list[list[str]]] = defaultdict(list)
    for qualified, parameters in observed:
        module, _, kernel = qualified.partition(":")
        path = _find_module(module, driver, checkout)
        if path is not None:
            for parameter, taken in parameters.items():
                values[path, kernel, parameter].append(taken)
    for key, taken_by_operator in values.items():
        most = max(taken_by_operator, key=lambda taken: (_ORDER.index(variation(taken)), len(taken)))
        yield Seen(key=key, how=variation(most), values=tuple(most))


def _find_module(module: str, driver: ModuleType, checkout: Path) -> str | None:
    """The path of `module` within the checkout; None where another library has it."""
    for folder in getattr(driver, "FOLDERS", (".",)):
        for suffix in (".py", "/__init__.py"):
            path = checkout / folder / f"{module.replace('.', '/')}{suffix}"
            if path.is_file():
                return path.resolve().relative_to(checkout.resolve()).as_posix()
    return None


def _read_json(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content
