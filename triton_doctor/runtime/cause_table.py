"""The causes TRD7xx of a compile, one row each: what comparing keys, advice and added findings know of a cause.

Causes that are not compiles of their own, such as TRD716 and TRD717, have a page only.
"""

from __future__ import annotations

from dataclasses import dataclass

FIRST, CONSTEXPR, INTEGER = "TRD701", "TRD702", "TRD703"
MADE_AGAIN, EQUAL_VALUES, TUNED_AGAIN, AT_ONCE = "TRD712", "TRD713", "TRD714", "TRD715"
SHAPES = "TRD718"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """A reason for a compile. `part` is the part of the key that differs; empty if that alone does not decide.

    `change` is the change of the program that removes the cause, where `{names}` are the parameters; `warm_up` says how
    to compile earlier instead. Either is None where there is no such way. `phrase` follows "`x` of `kernel`" in a
    finding about a recorded run; None where no finding is added, or another one names the values. `rules` find the
    cause in source or settings.
    """

    code: str
    part: str = ""
    change: str | None = None
    warm_up: str | None = None
    phrase: str | None = None
    rules: tuple[str, ...] = ()


# The first of several causes names the compile: first what makes the others irrelevant, then what can give wrong
# results, then what is most often meant.
_ROWS = (
    Cause(
        code="TRD711",
        part="source",
        change="do not change what the kernel captures while the program runs",
        phrase="changed with what it captures",
        rules=("TRD210",),
    ),
    Cause(
        code=SHAPES,
        part="shapes",
        change="decorate it with `@helion.kernel(static_shapes=False)`: then one kernel serves most shapes",
        warm_up="warm up each shape",
    ),
    Cause(
        code=AT_ONCE,
        change="launch each variant once before the threads start, or hold a lock around its first launch",
        warm_up="warm it up in one thread",
    ),
    Cause(
        code=MADE_AGAIN,
        part="object",
        change="make the kernel once: at module level, or behind a cache",
        phrase="was created again",
        rules=("TRD205",),
    ),
    Cause(code="TRD709", part="device", warm_up="warm up on each device"),
    Cause(
        code=EQUAL_VALUES,
        change="give {names} one type: equal values of two types can share one kernel",
        phrase="was given equal values of several types",
    ),
    Cause(code="TRD710", part="mode", change="decide on {names} before the first launch", rules=("TRD105",)),
    Cause(
        code=CONSTEXPR,
        part="constexpr",
        change="pass {names} without tl.constexpr, unless the kernel needs the value while it compiles",
        rules=("TRD201", "TRD202", "TRD206"),
    ),
    Cause(
        code="TRD704",
        part="dtype",
        change="give {names} one type before the launch",
        warm_up="warm up each type",
        phrase="changed its type",
    ),
    Cause(code="TRD706", part="none", warm_up="warm up both", phrase="was passed or left out"),
    Cause(
        code=INTEGER,
        part="integer",
        change="put {names} into do_not_specialize, where the kernel gains nothing from 1 and multiples of 16",
        warm_up="warm up each class: 1, divisible by 16, any other",
        phrase="changed between 1, multiples of 16 and others",
        rules=("TRD208",),
    ),
    Cause(
        code="TRD705",
        part="alignment",
        change="let {names} begin at multiples of 16 bytes, or pass the offset apart",
        warm_up="warm up both",
        phrase="was aligned to 16 bytes or not",
        rules=("TRD209",),
    ),
    Cause(
        code="TRD707",
        part="option",
        change="launch with the same {names}",
        warm_up="warm up each",
        phrase="was launched with other options",
    ),
    Cause(
        code="TRD708",
        part="spelling",
        change="spell the options of this kernel alike at each launch",
        phrase="was launched with its options in other spellings",
    ),
    Cause(
        code=TUNED_AGAIN,
        part="tuning",
        change="leave {names} out of the autotune key, or key on what takes few values",
        rules=("TRD301", "TRD302"),
    ),
    Cause(code=FIRST, warm_up="launch it once before this, in the warm-up"),
)
CAUSES = {cause.code: cause for cause in _ROWS}
CODE_OF_PART = {cause.part: cause.code for cause in _ROWS if cause.part}
RANKS = {cause.code: rank for rank, cause in enumerate(_ROWS)}
