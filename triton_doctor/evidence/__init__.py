"""Connects recorded runs with the static and machine rules that predict them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from triton_doctor.evidence.sources import read_sources
from triton_doctor.phrases import quote_names
from triton_doctor.rulebook import page_paths
from triton_doctor.runtime.cause_table import AT_ONCE, CAUSES, CONSTEXPR, FIRST, INTEGER, MADE_AGAIN
from triton_doctor.runtime.event import LONG_US
from triton_doctor.runtime.remedies import find_change, is_stride
from triton_doctor.runtime.savings import find_savings
from triton_doctor.variables import looks_like_triton, meant, variables

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from triton_doctor.evidence.sources import KernelSource
    from triton_doctor.runtime.account import Account
    from triton_doctor.runtime.event import CompileEvent, KernelName
    from triton_doctor.runtime.kernel_account import KernelAccount
    from triton_doctor.runtime.savings import KeyPart, Saving

# First compiles that cost less than this together are not worth a word.
FIRST_WORTH_US = 1_000_000
# Nor is a change of the program that saves less than this, or, where nothing ran on a GPU, fewer variants.
LEAST_WORTH_US, LEAST_VARIANTS = 100_000, 2
# Causes that need no difference of keys.
OF_ONE_KEY = frozenset({MADE_AGAIN, AT_ONCE})
# Reading source takes a tenth of a second a file; advice beyond the first kernels is not printed.
SOURCES_READ = 10
# Who moved Triton's folder, to the variable that names where.
KEPT_IN = {"Helion": "HELION_CACHE_DIR", "torch.compile (Inductor)": "TORCHINDUCTOR_CACHE_DIR"}
INTERPRETER_RULES = ("TRD101", "TRD102", "TRD103", "TRD403")


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """One thing to do, and what it would have saved. `kernel` None concerns the whole run; `codes` are its causes.

    `saved` counts the variants, or rounds of tuning, that it would save. `parameters` are those to take out of the
    kernel's key. `rules` find the causes before the program runs; `in_source` is whether they fire on the source as it
    is now, None where it could not be read.
    """

    saved_us: int
    saved: int
    kernel: KernelName | None
    fact: str
    remedy: str
    codes: tuple[str, ...]
    rules: tuple[str, ...]
    parameters: tuple[str, ...] = ()
    in_source: bool | None = None


def rules_behind(code: str) -> tuple[str, ...]:
    """Return the codes of the rules that predict the cause `code` before the program runs, or ().

    Only rules that have a page count.
    """
    return _known(CAUSES[code].rules if code in CAUSES else ())


def interpreter_rules() -> tuple[str, ...]:
    """Return the codes of the rules that find interpreter mode left on."""
    return _known(INTERPRETER_RULES)


def misspelt_variables(account: Account) -> tuple[tuple[str, str], ...]:
    """Return the variables that were set and that no Triton reads, each with the one that was meant."""
    names = {name for process in account.processes for name, _ in process.header.variables}
    near = ((name, meant(name)) for name in sorted(names - variables().keys()) if looks_like_triton(name))
    return tuple((name, known[0]) for name, known in near if known is not None and known[1])


def advise(account: Account) -> tuple[Advice, ...]:
    """Return what to change, most seconds saved first.

    A cause that no change of the program removes has no advice.
    """
    # torch.compile writes and tunes its kernels, and the user cannot.
    kernels = sorted((kernel for kernel in account.kernels if not kernel.direct), key=lambda kernel: -kernel.waited_us)
    varying = [kernel for kernel in kernels if kernel.variants.parts or kernel.rounds.parts or kernel.longest][
        :SOURCES_READ
    ]
    launched_in = (site.path for kernel in varying for site, _ in kernel.sites)
    sources = read_sources((kernel.kernel for kernel in varying), launched_in)
    found = [advice for kernel in kernels for advice in advise_kernel(kernel, sources.get(kernel.kernel))]
    is_run = not all(process.header.compile_only or process.header.dry for process in account.processes)
    least_us = LEAST_WORTH_US if is_run else LONG_US
    found = [
        advice for advice in found if advice.saved_us >= least_us or (not is_run and advice.saved >= LEAST_VARIANTS)
    ]
    first_us = sum(_first_us(kernel) for kernel in account.kernels)
    if first_us >= FIRST_WORTH_US:
        found.append(
            Advice(
                saved_us=first_us,
                saved=sum(kernel.compiled for kernel in account.kernels),
                kernel=None,
                fact="each kernel compiled a first time",
                remedy=keep_cache(account),
                codes=(FIRST,),
                rules=_known(("TRD106",)),
            )
        )
    return tuple(sorted(found, key=lambda advice: (-advice.saved_us, -advice.saved)))


def keep_cache(account: Account) -> str:
    """Return the advice to keep the cache folder between runs, or the folder of the library that Triton's is in."""
    variables = [KEPT_IN[event.setter] for event in account.variables if event.setter in KEPT_IN]
    folder = f"the folder of {variables[-1]}, in which Triton's is," if variables else "the cache folder"
    return f"keep {folder} between runs, and in the image that serves them"


def advise_kernel(kernel: KernelAccount, source: KernelSource | None) -> Iterator[Advice]:
    """Yield what to take out of the cache key or the tuning key of `kernel`, and why equal keys compiled twice."""
    uses = {} if source is None else source.uses
    for variants, noun in ((kernel.variants, "variants"), (kernel.rounds, "rounds of tuning")):
        for saving in find_savings(variants, lambda part: may_leave_out(part, kernel.configured, uses)):
            names = tuple(part.name for part in saving.parts)
            codes = tuple(dict.fromkeys(part.code for part in saving.parts))
            rules, in_source = _rules_of(saving, source)
            yield Advice(
                saved_us=saving.saved_us,
                saved=saving.before - saving.after,
                kernel=kernel.kernel,
                fact=f"without {quote_names(names)} in its key, {saving.after:,} of {saving.before:,} {noun} "
                "would remain",
                remedy="; ".join(filter(None, (_remedy(code, saving, uses) for code in codes))),
                codes=codes,
                rules=rules,
                parameters=names,
                in_source=in_source,
            )
    if kernel.longest is not None and source is not None and source.unrolled:
        yield _advise_unrolled(kernel, kernel.longest, source)
    parts = {part.code for part in kernel.variants.parts}
    for code, count, waited_us in kernel.again:
        change = CAUSES[code].change
        if code in OF_ONE_KEY - parts and change is not None:
            yield Advice(
                saved_us=waited_us,
                saved=count,
                kernel=kernel.kernel,
                fact=f"{count:,} compile{'s' if count > 1 else ''} more",
                remedy=change,
                codes=(code,),
                rules=rules_behind(code) if source is None else (),
            )


def may_leave_out(part: KeyPart, configured: Collection[str], uses: Mapping[str, str]) -> bool:
    """Return whether a change of the program can take `part` out of a key.

    It cannot where configs set the part, where compiling needs it, or where it is the class of a stride that the kernel
    reads: the class lets the kernel load in vectors. `uses` are `compile_time`, `read` or `unread`, by parameter.
    """
    if part.name in configured or CAUSES[part.code].change is None:
        return False
    if part.code == INTEGER:
        return not is_stride(part.name) or uses.get(part.name) == "unread"
    return part.code != CONSTEXPR or uses.get(part.name) != "compile_time"


def _remedy(code: str, saving: Saving, uses: Mapping[str, str]) -> str | None:
    return find_change(code, [part.name for part in saving.parts if part.code == code], uses)


def _rules_of(saving: Saving, source: KernelSource | None) -> tuple[tuple[str, ...], bool | None]:
    """Return the rules that predict `saving`, and whether they fire on the source; None where `source` is None."""
    if source is None:
        return tuple(dict.fromkeys(rule for part in saving.parts for rule in rules_behind(part.code))), None
    fired = [
        rule
        for part in saving.parts
        for rule in rules_behind(part.code)
        if source.found & {(rule, part.name), (rule, None)}
    ]
    return tuple(dict.fromkeys(fired)), bool(fired)


def _advise_unrolled(kernel: KernelAccount, longest: CompileEvent, source: KernelSource) -> Advice:
    """Return what to do about a long compile of a kernel whose loop is unrolled."""
    constants = dict(longest.key.constants)
    names = ", ".join(f"`{name}`, {constants.get(name)} here" for name in source.unrolled)
    in_source = any(("TRD201", name) in source.found for name in source.unrolled)
    return Advice(
        saved_us=longest.duration_us,
        saved=1,
        kernel=kernel.kernel,
        fact=f"one compile took {longest.duration_us / 1e6:.0f} s: `tl.static_range` unrolls a loop over {names}",
        remedy="loop with `range` where the body allows it: its code does not grow with the length",
        codes=(),
        rules=("TRD201",),
        parameters=source.unrolled,
        in_source=in_source,
    )


def _first_us(kernel: KernelAccount) -> int:
    if kernel.compiled == 0:
        return 0
    return sum(cause.waited_us for cause in kernel.causes if cause.code == FIRST)


def _known(codes: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(code for code in codes if code in page_paths())
