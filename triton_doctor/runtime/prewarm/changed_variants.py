"""A recorded variant with other values of its parameters and options, and the differences between two, as text."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from triton_doctor.runtime.key_changes import INTEGERS
from triton_doctor.runtime.prewarm.closure import ALIGNED, with_attribute, with_class
from triton_doctor.runtime.prewarm.kernel_variants import SOURCE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from triton_doctor.runtime.event import CompileKey
    from triton_doctor.runtime.prewarm.kernel_variants import KernelVariant

CLASSES = {"=1": "1", ALIGNED: "a multiple of 16", "": "no multiple of 16"}
Outcome = tuple[str, object]
"""`("class", "%16")`, `("value", 64)`, `("tuned", (64, "%16"))`, `("none", None)`, `("given", None)`, `("given", "x")`
where the tensor of the parameter `x` is passed, `("typed", ("*fp32", "%16"))` or `("aligned", True)`.
"""


def apply_outcomes(
    base: KernelVariant, outcomes: Mapping[str, Outcome], recorded: Sequence[KernelVariant]
) -> KernelVariant | str:
    """Return `base` with `outcomes`; the name of a tensor that has to be given and whose type is not in `recorded`."""
    key, exact = base.key, base.exact
    for name, (kind, value) in outcomes.items():
        types = dict(key.signature)
        if kind == "none":
            key = with_class(key, name, "none", "")
        elif kind == "unknown":
            return name
        elif isinstance(value, tuple) and kind == "typed":
            key = with_class(key, name, *value)
        elif kind == "given" and types.get(name) == "none":
            dtypes = (dict(variant.key.signature).get(name, "none") for variant in recorded)
            dtype = next((dtype for dtype in dtypes if dtype != "none"), None)
            if dtype is None:
                return name
            key = with_class(key, name, dtype, ALIGNED if dtype.startswith("*") else "")
        elif kind == "aligned" and types.get(name, "").startswith("*"):
            key = replace(key, attributes=with_attribute(key, name, ALIGNED if value else ""))
        elif kind in ("class", "tuned"):
            attribute = value[1] if isinstance(value, tuple) else str(value)
            was = types.get(name, "")
            key = with_class(key, name, was if was in INTEGERS and attribute != "=1" else "i32", attribute)
        elif kind == "value" and types.get(name) == "constexpr":
            constants = tuple((param, value if param == name else old) for param, old in key.constants)
            key = replace(key, constants=constants)  # type: ignore[arg-type]
            exact = tuple(pair for pair in exact if pair[0] != name) if exact is not None else None
        elif kind == "value":
            options = tuple((option, value if option == name else old) for option, old in key.options)
            spelled = tuple(f"{name}={value}" if text.partition("=")[0] == name else text for text in key.spelled)
            key = replace(key, options=options, spelled=spelled)  # type: ignore[arg-type]
    return replace(base, key=key, exact=exact, origin=SOURCE, values=())


def key_value(outcome: Outcome) -> object:
    """Return the value that `outcome` has in a key of tuning."""
    value = outcome[1]
    return value[0] if isinstance(value, tuple) else value


def differences(known: KernelVariant, other: KernelVariant) -> Iterator[tuple[str, str]]:
    """Yield what of `other` is not as in `known`, as text."""
    for (name, kind), (_, was) in zip(other.key.signature, known.key.signature, strict=False):
        if kind != was and kind[:1] == was[:1] == "*":
            yield name, kind
        elif kind != was or format_recorded(known.key, name) != format_recorded(other.key, name):
            yield name, format_recorded(other.key, name)
    options = dict(known.key.options)
    yield from ((name, repr(value)) for name, value in other.key.options if options.get(name) != value)


def format_recorded(key: CompileKey, name: str) -> str:
    """Return what the parameter or option `name` is in `key`, in the words of `format_outcome`."""
    match dict(key.signature).get(name):
        case None:
            return repr(dict(key.options).get(name))
        case "none":
            return "None"
        case "constexpr":
            return repr(dict(key.constants).get(name))
    kind, classes = dict(key.signature)[name], dict(key.attributes).get(name, "")
    if kind in INTEGERS:
        return CLASSES.get(classes, classes)
    return kind if not kind.startswith("*") else "given" if ALIGNED in classes.split() else "given unaligned"


def format_outcome(outcome: Outcome) -> str:
    """Return the outcome of a parameter as text."""
    match outcome:
        case ("class", str(value)):
            return CLASSES[value]
        case ("none", _):
            return "None"
        case ("given", _) | ("aligned", True):
            return "given"
        case ("aligned", _):
            return "given unaligned"
        case _:
            return repr(key_value(outcome))
