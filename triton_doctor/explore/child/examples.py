"""First calls from recorded ones: what a project's own tests passed to an entry, with sizes of our own or as it was."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from triton_doctor.explore.child.state import Spec, State, Tie

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.explore.child.guesses import Guesser

# Recorded calls that are tried.
MOST_EXAMPLES = 4


def states_from_examples(examples: str, first: State, guesser: Guesser) -> Iterator[State]:
    """Yield calls like those of `examples`, the JSON of a list of states, in the place of the first guess.

    Each comes with the symbols of the first guess, so that a size names its axis, and as it was recorded, where axes of
    one size have one symbol.
    """
    recorded = msgspec.json.decode(examples, type=list[State]) if examples else []
    for number, example in enumerate(recorded[:MOST_EXAMPLES]):
        yield _with_own_sizes(first, example, guesser, number)
    for number, example in enumerate(recorded[:MOST_EXAMPLES]):
        yield _as_recorded(first, example, number)


def _with_own_sizes(first: State, example: State, guesser: Guesser, number: int) -> State:
    """Return the first guess with the ranks, dtypes, flags, choices and objects of an example."""
    state = first.copy(f"like example {number}")
    state.dtype = example.dtype
    for path, spec in example.specs.items():
        guessed = first.specs.get(path)
        if spec.kind == "tensor":
            has_axes = guessed is not None and guessed.kind == "tensor" and len(guessed.axes) == len(spec.axes)
            axes = guessed.axes if has_axes and guessed else guesser.axes(state, path, len(spec.axes), {})
            state.specs[path] = msgspec.structs.replace(spec, axes=axes)
        elif spec.kind in ("int", "list") and spec.axes:
            symbol = guessed.axes[0] if guessed is not None and guessed.kind == spec.kind and guessed.axes else path
            if not state.is_axis(symbol):
                state.sizes[symbol] = example.size(spec.axes[0])
            state.specs[path] = msgspec.structs.replace(spec, axes=(symbol,))
        else:
            state.specs[path] = spec
        varied = {tie.symbol for tie in example.ties}
        own = zip(state.specs[path].axes, spec.axes, strict=True)
        state.ties += tuple(Tie(symbol=symbol, provenance="test", what="") for symbol, its in own if its in varied)
    return state


def _as_recorded(first: State, example: State, number: int) -> State:
    """Return the example, completed from the first guess, with one symbol for all axes of one size."""
    state = example.copy(f"example {number}")
    by_size: dict[int, str] = {}
    for symbol in example.free:
        kept = by_size.setdefault(example.size(symbol), symbol) if example.size(symbol) > 1 else symbol
        if kept != symbol:
            state.rename(symbol, kept)
    missing: dict[str, Spec] = {path: spec for path, spec in first.specs.items() if path not in example.specs}
    for path, spec in missing.items():
        state.specs[path] = spec
        for symbol in spec.axes:
            state.sizes.setdefault(symbol, first.size(symbol))
    return state
