"""Observe libraries' operators on a GPU: `python -m tests.gpu.observe_operators OUT LIBRARY...`.

corpus/drivers has the libraries. OUT/LIBRARY.json has, for each operator, how many shapes it ran at, its kernels'
variants and the values of their constexprs. Each operator runs in a process of its own, so that one that fails or takes
too long costs only itself. tests/benchmarks/dry.py observes the same operators without a GPU.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import importlib.util
import json
import subprocess
import sys
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias

from tests.benchmarks.packages import CACHE, fetch

if TYPE_CHECKING:
    from collections.abc import Container, Iterator
    from contextlib import AbstractContextManager

    from triton_doctor import Recording

# What an operator did, as it is written.
Observed: TypeAlias = dict[str, Any]

# The fewest with which a kernel is tuned: one config leaves no key.
CONFIGS_KEPT = 2


def skip_initializers(packages: tuple[str, ...]) -> None:
    """From here on `packages` are importable though what they do when imported needs more than is here."""
    for name in packages:
        spec = importlib.util.find_spec(name) if "." not in name else None
        parent, _, last = name.rpartition(".")
        found = [str(Path(path) / last) for path in sys.modules[parent].__path__] if parent else None
        made = ModuleType(name)
        made.__path__ = found or list(spec.submodule_search_locations)
        sys.modules[name] = made


def stand_in(packages: tuple[str, ...]) -> None:
    """From here on `packages` are importable with any name in them, where they are not here: no kernel needs them."""
    for name in packages:
        if importlib.util.find_spec(name) is None:
            made = ModuleType(name)
            made.__path__ = []
            made.__getattr__ = _make_class
            sys.modules[name] = made
            parent, _, last = name.rpartition(".")
            if parent:
                setattr(sys.modules[parent], last, made)


def _make_class(name: str) -> type:
    """A class for a name in a module that stands in; such a module has no file and no documentation."""
    if name.startswith("__"):
        raise AttributeError(name)
    return type(name, (), {"__new__": _as_it_is, "__class_getitem__": classmethod(lambda cls, _: cls)})


def _as_it_is(cls: type, *given: object, **named: object) -> object:
    """What a decorator makes of a class that nothing is done to."""
    return given[0] if given else lambda made: made


def tune(configs_kept: int) -> None:
    """From here on `@triton.autotune` keeps the first configs of each kernel."""
    import triton

    original = triton.autotune

    def cut(configs: list[triton.Config], *rest: object, **named: object) -> object:
        return original(configs[:configs_kept], *rest, **named)

    triton.autotune = cut


def tensors_to_differentiate(result: object) -> Iterator[object]:
    """What of an operator's result wants a gradient: the first that does."""
    import torch

    many = result if isinstance(result, tuple | list) else (result,)
    wanted = [x for x in many if isinstance(x, torch.Tensor) and x.requires_grad and x.is_floating_point()]
    yield from wanted[:1]


def import_driver(library: str) -> ModuleType:
    """Import the operators of `library`, and make the library importable. Once in a process."""
    driver = importlib.import_module(f"fixtures.corpus.drivers.{library}")
    if hasattr(driver, "REPOSITORY") or hasattr(driver, "PACKAGE"):
        checkout = find_source(driver)
        sys.path[:0] = [str(checkout / folder) for folder in getattr(driver, "FOLDERS", (".",))]
    skip_initializers(getattr(driver, "BARE", ()))
    stand_in(getattr(driver, "UNUSED", ()))
    return driver


def find_source(driver: ModuleType) -> Path:
    """The folder with the package or repository of `driver`, in the cache folder.

    A package is fetched where it is not there. Raises SystemExit where a repository is not.
    """
    if hasattr(driver, "PACKAGE"):
        return fetch(driver.PACKAGE)
    checkout = CACHE / "checkouts" / driver.REPOSITORY.partition("/")[2]
    if not checkout.is_dir():
        raise SystemExit(f"check out {driver.REPOSITORY} at {driver.COMMIT} into {checkout}")
    return checkout


def shapes_of(driver: ModuleType, operator: str) -> tuple[tuple[int, int], ...]:
    """The batches and lengths at which `operator` is called."""
    tensors = importlib.import_module("fixtures.corpus.drivers.tensors")
    shapes: tuple[tuple[int, int], ...] = getattr(driver, "SHAPES", tensors.ANY)
    return getattr(driver, "SHAPES_OF", {}).get(operator, shapes)


def describe_shape(shape: tuple[int, int]) -> str:
    """`batch`x`length`."""
    return f"{shape[0]}x{shape[1]}"


def observe(
    library: str,
    operator: str,
    watching: AbstractContextManager[Recording],
    configs_kept: int,
    without: Container[str] = (),
) -> Observed:
    """Run one operator at its shapes, forward and backward, `without` some. A failing shape does not end the rest."""
    import torch

    tune(configs_kept)
    failures = {}
    with watching as recording:
        driver = import_driver(library)
        shapes = [shape for shape in shapes_of(driver, operator) if describe_shape(shape) not in without]
        began = time.process_time()
        for batch, length in shapes:
            try:
                for output in tensors_to_differentiate(driver.OPERATORS[operator](batch, length)):
                    torch.autograd.backward(output.float().sum())
                torch.cuda.synchronize()
            except Exception as error:
                failures[describe_shape((batch, length))] = (
                    f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
                )
        cpu_s = time.process_time() - began
    observed = {"shapes": len(shapes), "cpu_ms": round(1000 * cpu_s / len(shapes), 1), "failures": failures}
    return (
        observed
        | {"kernels": kernels_of(recording), "tunings": tunings_of(recording)}
        | {"tuning_keys": tuning_keys_of(recording)}
    )


def kernels_of(recording: Recording) -> dict[str, Any]:
    """How many variants each kernel of `recording` had, and which values its constexprs took.

    `keys` has one for each variant. Some are equal: Triton tells an integer that is 1 from others even where it does
    not specialize on it, and a recording does not.
    """
    keys: dict[str, list[tuple[object, ...]]] = defaultdict(list)
    values: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for event in recording.compiles:
        name = f"{event.kernel.module}:{event.kernel.name}"
        keys[name].append((event.key.signature, event.key.constants, event.key.attributes, event.key.options))
        declared = {parameter for parameter, kind in event.key.signature if kind == "constexpr"}
        for parameter, value in event.key.constants:
            if parameter in declared:
                values[name][parameter].add(str(value))
    return {
        name: {
            "variants": len(keys[name]),
            "keys": sorted(hashlib.sha256(repr(key).encode()).hexdigest()[:12] for key in keys[name]),
            "constexpr": {parameter: sorted(seen) for parameter, seen in values[name].items()},
        }
        for name in sorted(keys)
    }


def tunings_of(recording: Recording) -> dict[str, int]:
    """How many keys each tuned kernel of `recording` was tuned for."""
    keys: dict[str, set[object]] = defaultdict(set)
    for event in recording.tunings:
        keys[f"{event.kernel.module}:{event.kernel.name}"].add(event.key)
    return {name: len(seen) for name, seen in sorted(keys.items())}


def tuning_keys_of(recording: Recording) -> dict[str, dict[str, list[str]]]:
    """Which values each argument in an autotune key of `recording` took.

    The types of tensors are no arguments, nor are parts without a name, as of a tuner that makes one text of its key.
    """
    values: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for event in recording.tunings:
        for name, value in event.key:
            if name.startswith(("dtype ", "part ")):
                continue
            values[f"{event.kernel.module}:{event.kernel.name}"][name].add(str(value))
    return {
        kernel: {name: sorted(seen) for name, seen in sorted(names.items())} for kernel, names in sorted(values.items())
    }


def observe_what_runs(library: str, operator: str, out: Path, seconds: float) -> Observed:
    """Observe one operator at the shapes that it runs at; `left_out` are the others, and why.

    A shape that fails leaves variants behind, and one that ends the device takes those after it along: where some
    failed, the others are observed once more, in another process.
    """
    observed = observe_apart(library, operator, out, seconds)
    failures: dict[str, str] = observed.get("failures", {})
    if not failures or len(failures) == observed["shapes"]:
        return observed
    return observe_apart(library, operator, out, seconds, tuple(failures)) | {"left_out": failures}


def observe_apart(library: str, operator: str, out: Path, seconds: float, without: tuple[str, ...] = ()) -> Observed:
    """Observe one operator in a process of its own, for at most `seconds`."""
    file = out / f"{library}.{operator}.json"
    command = [sys.executable, "-W", "ignore", "-m", "tests.gpu.observe_operators", str(file), library]
    command += ["--operator", operator, "--without", *without]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return {"ended": f"out of time after {seconds:.0f} s"}
    if done.returncode:
        return {"ended": done.stderr.strip()[-300:]}
    observed: Observed = json.loads(file.read_text(encoding="utf-8"))
    file.unlink()
    return observed


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("libraries", nargs="+")
    parser.add_argument("--operator", help="observe this one alone, in this process")
    parser.add_argument("--without", nargs="*", default=(), help="shapes that are left out")
    parser.add_argument("--jobs", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=120, help="for one operator")
    chosen = parser.parse_args()
    if chosen.operator:
        from triton_doctor import record

        observed = observe(chosen.libraries[0], chosen.operator, record(), CONFIGS_KEPT, chosen.without)
        chosen.out.write_text(json.dumps(observed), encoding="utf-8")
        return
    chosen.out.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(chosen.jobs) as pool:
        going = {
            library: {
                operator: pool.submit(observe_what_runs, library, operator, chosen.out, chosen.seconds)
                for operator in importlib.import_module(f"fixtures.corpus.drivers.{library}").OPERATORS
            }
            for library in chosen.libraries
        }
        for library, operators in going.items():
            observed = {operator: one.result() for operator, one in operators.items()}
            (chosen.out / f"{library}.json").write_text(json.dumps(observed), encoding="utf-8")
            for operator, one in observed.items():
                failures = one.get("failures", {})
                said = one.get("ended") or f"{one['shapes'] - len(failures)} of {one['shapes']} shapes"
                print(f"{library} {operator}: {said} {next(iter(failures.items()), '')}", flush=True)


if __name__ == "__main__":
    main()
