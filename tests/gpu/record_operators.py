"""Record libraries' operators, each in a process of its own: `python -m tests.gpu.record_operators OUT LIBRARY...`.

corpus/drivers has the libraries. OUT/LIBRARY/OPERATOR.jsonl is the recording of one. An operator that fails or
takes too long costs only itself. Tuning is cut to one config; an operator of which no shape ran is tried with four.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

# The slowest first.
LIBRARIES = ("mlstm_kernels", "adasplash", "mamba_ssm", "torchao", "lmdeploy", "lightning_attn", "trinix", "conch")


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
    return given[0] if given else lambda one: one


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


def record_one(out: Path, library: str, operator: str, configs_kept: int) -> int:
    """Run one operator at all its shapes; how many of them went through."""
    import torch

    from triton_doctor import record

    tune(configs_kept)
    module = importlib.import_module(f"fixtures.corpus.drivers.{library}")
    skip_initializers(getattr(module, "BARE", ()))
    stand_in(getattr(module, "UNUSED", ()))
    tensors = importlib.import_module("fixtures.corpus.drivers.tensors")
    shapes = getattr(module, "SHAPES_OF", {}).get(operator, getattr(module, "SHAPES", tensors.ANY))
    done, failed = 0, ""
    with record(out / library / f"{operator}.jsonl") as recording:
        for batch, length in shapes:
            try:
                for output in tensors_to_differentiate(module.OPERATORS[operator](batch, length)):
                    torch.autograd.backward(output.float().sum())
                torch.cuda.synchronize()
                done += 1
            except Exception as error:  # one failing shape must not end the rest
                failed = f"{batch}x{length}: {type(error).__name__}: {' '.join(str(error).split())[:160]}"
    print(f"{library} {operator}: {done} of {len(shapes)} shapes, {len(recording.compiled)} compiled; {failed}")
    return done


def run_one(out: Path, library: str, operator: str, seconds: float) -> str:
    """What a process of its own says of one operator."""
    started = time.monotonic()
    said = []
    for configs_kept in (1, 4):
        left = seconds - (time.monotonic() - started)
        command = [sys.executable, "-W", "ignore", "-m", "tests.gpu.record_operators", str(out), library]
        command += ["--operator", operator, "--configs", str(configs_kept)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=max(left, 1), check=False)
        except subprocess.TimeoutExpired:
            return "\n".join([*said, f"{library} {operator}: out of time, with {configs_kept} configs"])
        said.append(done.stdout.strip() or f"{library} {operator}: {done.stderr.strip()[-300:]}")
        if done.returncode == 0:
            break
    return "\n".join(said)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("libraries", nargs="*", default=LIBRARIES)
    parser.add_argument("--operator")
    parser.add_argument("--configs", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=14)
    parser.add_argument("--seconds", type=float, default=150, help="for one operator")
    chosen = parser.parse_args()
    if chosen.operator:
        (chosen.out / chosen.libraries[0]).mkdir(parents=True, exist_ok=True)
        sys.exit(record_one(chosen.out, chosen.libraries[0], chosen.operator, chosen.configs) == 0)
    with ThreadPoolExecutor(chosen.jobs) as pool:
        going = [
            pool.submit(run_one, chosen.out, library, operator, chosen.seconds)
            for library in chosen.libraries
            for operator in importlib.import_module(f"fixtures.corpus.drivers.{library}").OPERATORS
        ]
        for one in going:
            print(one.result(), flush=True)


if __name__ == "__main__":
    main()
