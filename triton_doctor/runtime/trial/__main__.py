"""`python -m triton_doctor.runtime.trial < JOB`: one line of JSON for each kernel, as it is done."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any

from triton_doctor.runtime.compile_target import compile_only
from triton_doctor.runtime.trial.argument_guesses import candidates, make

# More values than this are not counted one by one.
_MOST_VARIANTS = 2000


def main() -> None:
    """Try each kernel of the job on stdin; output of the kernels goes to stderr."""
    job = json.load(sys.stdin)
    out, sys.stdout = sys.stdout, sys.stderr
    sys.path[:] = [job["root"], *(path for path in sys.path if path not in ("", job["root"]))]
    with compile_only(job["target"]):
        for trial in job["trials"]:
            out.write(json.dumps({"id": trial["id"], "begun": True}) + "\n")
            out.flush()
            try:
                result = _try(trial, job["root"])
            except BaseException as error:  # anything that a library raises while it is imported
                result = {"why": _short(error)}
            out.write(json.dumps({"id": trial["id"], **result}) + "\n")
            out.flush()


def _try(trial: dict[str, Any], root: str) -> dict[str, Any]:
    module = importlib.import_module(trial["module"])
    if Path(root).resolve() not in Path(module.__file__ or "/").resolve().parents and not _is_link_below(module, root):
        return {"why": f"{trial['module']} is imported from elsewhere, {module.__file__}"}
    found: Any = module
    for name in trial["kernel"].split("."):
        found = getattr(found, name)
    kernel, inner, given_by_triton = _unwrapped(found)
    known = set(inner.arg_names) - given_by_triton
    constexprs = frozenset(param.name for param in inner.params if param.is_constexpr)
    first: Exception | None = None
    described = {name: argument for name, argument in trial["arguments"].items() if name in known}
    for arguments in candidates(described, constexprs, _source(inner)):
        try:
            compiled = kernel[(1, 1, 1)](
                **{name: make(argument) for name, argument in arguments.items()}, **trial["options"]
            )
        except Exception as error:
            first = first or error
            continue
        code = compiled.asm.get("ptx") or compiled.asm.get("amdgcn") or ""
        cases = [
            {**arguments, **{name: argument for name, argument in case.items() if name in known}}
            for case in trial["cases"]
        ]
        return {"arguments": arguments, "code": _plain(code), "variants": _count(kernel, cases, trial["options"])}
    return {"why": _short(first) if first else "it has no arguments that could be made up"}


def _is_link_below(module: Any, root: str) -> bool:
    return str(module.__file__).startswith(root)


def _unwrapped(found: Any) -> tuple[Any, Any, set[str]]:
    """Return the object to launch, its JITFunction, and the parameters that autotuning and heuristics set.

    Keeps the first config of an Autotuner, and skips wrappers of libraries.
    """
    from triton.runtime.autotuner import Autotuner, Heuristics
    from triton.runtime.jit import JITFunction

    while not isinstance(found, Autotuner | Heuristics | JITFunction):
        found = found.fn
    names: set[str] = set()
    inner = found
    while not isinstance(inner, JITFunction):
        if isinstance(inner, Autotuner):
            inner.configs = inner.configs[:1]
            inner.configs[0].pre_hook = None
            names |= set(inner.configs[0].kwargs)
        elif isinstance(inner, Heuristics):
            names |= set(inner.values)
        inner = inner.fn
    return found, inner, names


def _count(kernel: Any, cases: list[dict[str, Any]], options: dict[str, Any]) -> int:
    """Count the distinct variants of `cases` without compiling them."""
    import triton
    from triton.runtime import jit

    keys: set[str] = set()

    def note(*_: object, key: object, **__: object) -> bool:
        keys.add(str(key))
        return True  # neither compiled nor launched (triton 3.9 runtime/jit.py, _do_compile)

    if hasattr(jit, "serialize_specialization_data"):
        jit.serialize_specialization_data = lambda *_, **__: None  # it fails for constexprs that JSON cannot hold
    for device in _caches(kernel):
        device.clear()
    hooks, name = (
        (triton.knobs.runtime, "jit_cache_hook") if hasattr(triton, "knobs") else (jit.JITFunction, "cache_hook")
    )
    setattr(hooks, name, note)
    try:
        for case in cases[:_MOST_VARIANTS]:
            kernel[(1, 1, 1)](**{parameter: make(described) for parameter, described in case.items()}, **options)
    finally:
        setattr(hooks, name, None)
    return len(keys)


def _caches(kernel: Any) -> list[Any]:
    """Return the in-memory caches of the kernel (triton 3.2 and 3.9 runtime/jit.py)."""
    while not hasattr(kernel, "arg_names") or not hasattr(kernel, "params"):
        kernel = kernel.fn
    if hasattr(kernel, "device_caches"):
        return [cache[0] for cache in kernel.device_caches.values()]
    return list(kernel.cache.values())


def _source(inner: Any) -> str:
    return str(inner.src)


def _plain(code: str) -> str:
    """Return the code without line information, debug sections and comments."""
    lines = (line for line in code.splitlines() if not line.lstrip().startswith(("//", ".loc", ".file")))
    return "\n".join(lines).partition("\t.section\t.debug")[0]


def _short(error: BaseException | None) -> str:
    """Return the type of `error` and its last line."""
    lines = [line for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[-1].strip()[:200]}" if lines else type(error).__name__


if __name__ == "__main__":
    main()
