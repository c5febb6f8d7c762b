"""Where the sides meet: what a run showed, and the rules by which the source, or the machine, tells it beforehand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from triton_doctor.rulebook import page_paths
from triton_doctor.runtime.remedies import REMEDIES, join_names
from triton_doctor.variables import looks_like_triton, meant, variables

if TYPE_CHECKING:
    from triton_doctor.runtime.account import Account, KernelAccount
    from triton_doctor.runtime.event import KernelName

FIRST = "TRD701"
# First compiles that cost less than this together are not worth a word.
FIRST_WORTH_US = 1_000_000
INTERPRETER_RULES = ("TRD101", "TRD102", "TRD103", "TRD403")


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """One thing to do, and what it would have saved. `kernel` None concerns the whole run; `codes` are its causes."""

    saved_us: int
    kernel: KernelName | None
    fact: str
    remedy: str
    codes: tuple[str, ...]
    rules: tuple[str, ...]


def rules_behind(code: str) -> tuple[str, ...]:
    """The rules that find the cause `code` before the program runs; none where no page tells of one."""
    remedy = REMEDIES.get(code)
    return _known(remedy.rules if remedy else ())


def interpreter_rules() -> tuple[str, ...]:
    """The rules that find interpreter mode left on."""
    return _known(INTERPRETER_RULES)


def misspelt_variables(account: Account) -> tuple[tuple[str, str], ...]:
    """Variables that were set and that no Triton reads, each with the one that was surely meant."""
    names = {name for process in account.processes for name, _ in process.header.variables}
    near = ((name, meant(name)) for name in sorted(names - variables().keys()) if looks_like_triton(name))
    return tuple((name, known[0]) for name, known in near if known is not None and known[1])


def advise(account: Account) -> tuple[Advice, ...]:
    """What to do, most seconds saved first. A cause that no change of the program would remove has no advice."""
    found = [advice for kernel in account.kernels for advice in _for_kernel(kernel)]
    first_us = sum(_first_us(kernel) for kernel in account.kernels)
    if first_us >= FIRST_WORTH_US:
        found.append(
            Advice(
                saved_us=first_us,
                kernel=None,
                fact="each kernel compiled a first time",
                remedy="keep the cache folder between runs, and in the image that serves them",
                codes=(FIRST,),
                rules=_known(("TRD106",)),
            )
        )
    return tuple(sorted(found, key=lambda advice: -advice.saved_us))


def _for_kernel(kernel: KernelAccount) -> list[Advice]:
    found: list[Advice] = []
    if kernel.direct:
        return found  # torch.compile writes and tunes it, and the user cannot
    for code, count, waited_us in kernel.again:
        change = REMEDIES[code].change
        if change is not None:
            varying = [cause for cause in kernel.causes if cause.code == code and cause.parameter is not None]
            # Beside the one that varied most, only those that varied nearly as much: the others came along.
            most = max((cause.count for cause in varying), default=0)
            names = [f"`{cause.parameter}`" for cause in varying if 2 * cause.count >= most]
            fact = f"{count} {'round' if code == 'TRD714' else 'compile'}{'s' if count > 1 else ''} more"
            found.append(
                Advice(
                    saved_us=waited_us,
                    kernel=kernel.kernel,
                    fact=fact,
                    remedy=change.format(names=join_names(names)),
                    codes=(code,),
                    rules=rules_behind(code),
                )
            )
    return found


def _first_us(kernel: KernelAccount) -> int:
    if kernel.compiled == 0:
        return 0
    return sum(cause.waited_us for cause in kernel.causes if cause.code == FIRST)


def _known(codes: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(code for code in codes if code in page_paths())
