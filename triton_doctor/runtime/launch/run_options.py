"""The arguments of `run` to RunOptions: ours end where the program begins, and none of the program's is touched."""

from __future__ import annotations

from triton_doctor.errors import DoctorError

# As `typing` has it, whose import costs a start of a program 10 ms.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence

TAKE_A_VALUE = {
    "-o": "output",
    "--output": "output",
    "--target": "target",
    "--max-compiles": "max_compiles",
    "--warmup-seconds": "warmup_seconds",
    "--warm-when": "warm_when",
    "--max-compiles-after-warmup": "max_compiles_after_warmup",
    "--dry-unknown": "dry_unknown",
    "--dry-writes": "dry_writes",
    "--world-size": "world_size",
    "--rank": "rank",
}
HELP = ("--help", "-h")
# What -o names by such a suffix is the report on the run, and anything else its recording.
REPORTS = (".html", ".json", ".md", ".trace", ".txt")
FLAGS = frozenset({"--live", "--force", "--dry"})
# What only a dry run takes.
OF_DRY_RUNS = ("dry_unknown", "dry_writes", "world_size", "rank")
# As the max_compiles mark of the pytest plugin calls them; the second is what event.py calls them.
HINT = "`triton-doctor run --help` lists what it takes; what the program takes follows the program"


class RunOptions:
    """The options of `run`. `program` are the arguments after them, unchanged.

    No dataclass, for `dataclasses` would be imported before the program can start: 15 ms.
    """

    __slots__ = (
        "diverts",
        "dry",
        "force",
        "live",
        "max_compiles",
        "max_compiles_after_warmup",
        "output",
        "program",
        "report",
        "target",
        "warm_when",
        "warmup_seconds",
    )

    def __init__(self, program: tuple[str, ...], *, flags: Container[str], values: Mapping[str, str]) -> None:
        """Read the options from `flags` and `values`, by name. Raises DoctorError for an invalid value."""
        self.program = program
        self.live, self.force = "--live" in flags, "--force" in flags
        self.dry = dry(values) if "--dry" in flags else None
        self.diverts = self.dry is not None and values.get("dry_writes") != "allow"
        output = values.get("output", "")
        self.report = output if output.endswith(REPORTS) else None
        self.output = None if self.report else values.get("output")
        self.target = values.get("target")
        self.max_compiles = whole("--max-compiles", values.get("max_compiles"))
        self.warmup_seconds = seconds(values.get("warmup_seconds"))
        self.warm_when = warm_when(values.get("warm_when"))
        self.max_compiles_after_warmup = whole("--max-compiles-after-warmup", values.get("max_compiles_after_warmup"))


class HelpAsked(Exception):  # noqa: N818 - no error
    """Raised for `--help` among the options."""


def read_options(arguments: Sequence[str]) -> RunOptions:
    """Parse the options before the program. Raises DoctorError if one is invalid, HelpAsked for `--help`."""
    left = list(arguments)
    values: dict[str, str] = {}
    flags: set[str] = set()
    parted = False
    while left and left[0].startswith("-") and left[0] not in ("-", "-m", "-c"):
        word = left.pop(0)
        if word == "--":
            parted = True
            break
        if word in HELP:
            raise HelpAsked
        if word in FLAGS:
            flags.add(word)
            continue
        name, equals, value = word.partition("=")
        if name not in TAKE_A_VALUE:
            raise DoctorError(f"run has no option {name}", hint=HINT)
        if not equals:
            if not left:
                raise DoctorError(f"{name} takes a value", hint=HINT)
            value = left.pop(0)
        values[TAKE_A_VALUE[name]] = value
    options = RunOptions(tuple(left), flags=flags, values=values)
    if "--dry" in left and options.dry is None and not parted:
        ours = " ".join(word for word in left if word != "--dry")
        raise DoctorError(
            f"--dry comes after {left[0]}: is it for the program, or for triton-doctor?",
            hint=f"`triton-doctor run --dry {ours}` is a dry run, `triton-doctor run -- {' '.join(left)}` gives --dry"
            " to the program",
        )
    if options.warmup_seconds is not None and options.warm_when is not None:
        raise DoctorError("--warm-when cannot be combined with --warmup-seconds", hint="leave one out")
    if options.max_compiles_after_warmup is not None and options.warmup_seconds is None and options.warm_when is None:
        raise DoctorError(
            "--max-compiles-after-warmup needs --warm-when or --warmup-seconds", hint="--warm-when port:8000"
        )
    strays = [f"--{name.replace('_', '-')}" for name in OF_DRY_RUNS if name in values and options.dry is None]
    if strays:
        raise DoctorError(f"{strays[0]} needs --dry", hint=f"run --dry {strays[0]} ...")
    if options.output == "":
        raise DoctorError("-o takes a file or a folder", hint="-o run.jsonl")
    return options


def dry(values: Mapping[str, str]) -> str:
    """Return the dry run settings as `unknown,world_size,rank`, the value of the variable DRY. Raises DoctorError."""
    unknown = values.get("dry_unknown", "guess")
    if unknown not in ("guess", "stop"):
        raise DoctorError(f"--dry-unknown takes guess or stop, not {unknown!r}", hint="without it, values are guessed")
    writes = values.get("dry_writes", "overlay")
    if writes not in ("overlay", "allow"):
        raise DoctorError(f"--dry-writes takes overlay or allow, not {writes!r}", hint="without it, it is overlay")
    world_size = whole("--world-size", values.get("world_size", "1")) or 0
    rank = whole("--rank", values.get("rank", "0")) or 0
    if not 0 <= rank < world_size:
        raise DoctorError(f"rank {rank} of {world_size} processes does not exist", hint="--world-size 8 --rank 0")
    return f"{unknown},{world_size},{rank}"


def whole(name: str, text: str | None) -> int | None:
    """Parse the whole number `text` of the option `name`; None for None. Raises DoctorError."""
    if text is None:
        return None
    if not text.isascii() or not text.isdecimal():
        raise DoctorError(f"{name} takes a whole number, not {text!r}", hint=f"{name} 4")
    return int(text)


def warm_when(text: str | None) -> str | None:
    """Check the condition of `--warm-when` and return it; None for None. Raises DoctorError."""
    if text is None:
        return None
    from triton_doctor.runtime.launch.readiness import require_condition

    return require_condition(text, "--warm-when")


def seconds(text: str | None) -> float | None:
    """Parse the value of `--warmup-seconds`, in seconds; None for None. Raises DoctorError."""
    if text is None:
        return None
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise DoctorError(f"--warmup-seconds takes a number of seconds, not {text!r}", hint="--warmup-seconds 30")
    return value
