"""The launches of one kernel, and its recorded variants, to the variants that it will need beside them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import chain, product
from math import prod
from typing import TYPE_CHECKING

from triton_doctor.evidence.cover import NOT_PROVED, Gap, ParameterSpace
from triton_doctor.evidence.cover.formulas import ChoiceKind, choices_in, lasts
from triton_doctor.evidence.cover.joint_values import (
    LARGEST,
    Something,
    UnknownValueError,
    combine,
    evaluate,
    is_bucket,
    is_exhausted,
    list_forms,
    list_literals,
)
from triton_doctor.runtime.event import Scalar
from triton_doctor.runtime.key_changes import INTEGERS
from triton_doctor.runtime.prewarm.changed_variants import (
    apply_outcomes,
    differences,
    format_outcome,
    format_recorded,
    key_value,
)
from triton_doctor.runtime.prewarm.closure import ALIGNED
from triton_doctor.runtime.prewarm.kernel_variants import identify
from triton_doctor.static.python.ir import Name
from triton_doctor.static.variability.values.lattice import Variability

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from triton_doctor.evidence.cover.formulas import LaunchSpace
    from triton_doctor.runtime.prewarm.changed_variants import Outcome
    from triton_doctor.runtime.prewarm.kernel_variants import KernelVariant
    from triton_doctor.static.python.ir import Expr

# A constexpr with more values is for no warm-up, and a kernel with more variants has another problem.
MOST_VALUES, MOST_VARIANTS = 64, 512
CONSTEXPR, INTEGER, POINTER, PLAIN, OPTION = "constexpr", "integer", "pointer", "plain", "option"
PER_CALL, BUCKET, TUNED = "TRD201", "TRD206", "TRD301"


@dataclass(slots=True, kw_only=True)
class KernelKeys:
    """What was worked out of a kernel's launches."""

    missing: list[KernelVariant] = field(default_factory=list)
    rows: list[ParameterSpace] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
    tuning_keys: set[tuple[tuple[str, object], ...]] = field(default_factory=set)


def find_missing(
    spaces: Sequence[LaunchSpace], recorded: Sequence[KernelVariant], unaligned: Collection[str]
) -> KernelKeys:
    """Work out what the launches `spaces` of one kernel need beside its variants `recorded`, of one target.

    `unaligned` are parameters that may begin at any element of a tensor.
    """
    keys = KernelKeys()
    known = {identify(variant) for variant in recorded}
    for space in spaces:
        _KeySearch(space, recorded, unaligned, keys, known).run()
    return keys


class _KeySearch:
    """Works out one launch, and adds what it needs to `keys`."""

    def __init__(
        self,
        space: LaunchSpace,
        recorded: Sequence[KernelVariant],
        unaligned: Collection[str],
        keys: KernelKeys,
        known: set[object],
    ) -> None:
        self._space, self._recorded, self._unaligned, self._keys, self._known = space, recorded, unaligned, keys, known
        self._kernel = space.kernel
        self._constexprs = {param.name for param in self._kernel.params if param.is_constexpr}
        self._open: dict[str, tuple[str, str]] = {}
        self._roles = self._find_roles()
        self._untuned: set[str] = set()
        # Parameters that get the tensor of another where their own is None.
        self._borrowed: set[str] = set()

    def run(self) -> None:
        if self._space.hides:
            self._add_gap("", "its arguments are in a list or table that is not followed")
        parts = [self._of_component(formulas) for formulas in self._components()]
        parts += [
            [{name: ("aligned", True)}, {name: ("aligned", False)}]
            for name in self._unaligned
            if self._roles.get(name) == POINTER
        ]
        outcomes_given = (pair for part in parts for outcomes in part for pair in outcomes.items())
        self._borrowed = {name for name, (kind, lender) in outcomes_given if kind == "given" and lender}
        for name, (reason, code) in self._open.items():
            self._add_gap(name, reason, code)
        fixed = self._fixed()
        bases = [base for base in self._recorded if self._fits(base, fixed)] or self._recorded
        count = prod(map(len, parts))
        if count * len(bases) <= MOST_VARIANTS:
            combined = [dict(chain.from_iterable(map(dict.items, chosen))) for chosen in product(*parts)]
        else:
            # Each value that no recording has, beside what one recorded variant has.
            reason = f"its parameters have {count:,} combinations of values, for each of {len(bases)} recorded variants"
            self._add_gap("", f"{reason}: only values that are not recorded are added")
            self._open |= {name: (reason, "") for part in parts for outcomes in part for name in outcomes}
            outcomes_alone = (outcomes for part in parts for outcomes in part)
            combined = [alone for alone in outcomes_alone if not any(self._fits(base, alone) for base in bases)]
            bases = bases[:1]
        for outcomes in combined:
            for base in bases:
                self._add(base, fixed | outcomes)
            self._add_tuning_key(fixed | outcomes)
        self._add_rows(parts)

    def _find_roles(self) -> dict[str, str]:
        """Return what each parameter or option with a formula is, by the recorded signatures."""
        kinds: dict[str, str] = {}
        for variant in self._recorded:
            kinds |= {name: kind for name, kind in variant.key.signature if kind not in ("none", kinds.get(name))}
        options = {name for variant in self._recorded for name, _ in variant.key.options}
        roles: dict[str, str] = {}
        for name, formula in self._space.formulas.items():
            kind = kinds.get(name, "none")
            if choices_in(formula) and any(part.startswith(f"{name}[") for part in kinds):
                self._open[name] = ("a tuple, whose items are not followed", "")
                continue
            if name in self._constexprs:
                roles[name] = CONSTEXPR
            elif kind in INTEGERS:
                roles[name] = INTEGER
            elif name in options:
                roles[name] = OPTION
            else:
                roles[name] = POINTER if kind == "none" or kind.startswith("*") else PLAIN
        return roles

    @property
    def _tuned_by(self) -> tuple[str, ...]:
        keys = self._kernel.autotune.key if self._kernel.autotune is not None else ()
        return tuple(name for name in keys if name not in self._untuned)

    def _components(self) -> Iterator[dict[str, Expr]]:
        """Yield the formulas that vary, in groups that share no choice."""
        groups: list[tuple[set[str], dict[str, Expr]]] = []
        for name, role in self._roles.items():
            formula = self._space.formulas[name]
            if not self._varies(name, role, formula):
                continue
            choices, formulas = set(choices_in(formula)), {name: formula}
            for group in [group for group in groups if group[0] & choices]:
                groups.remove(group)
                choices |= group[0]
                formulas = group[1] | formulas
            groups.append((choices, formulas))
        for _, formulas in groups:
            yield formulas

    def _varies(self, name: str, role: str, formula: Expr) -> bool:
        """Return whether `name` has several values that can be worked out; else it is as recorded, or open."""
        choices = [self._space.choices[choice] for choice in choices_in(formula)]
        # A tensor itself is a choice that is not followed.
        is_lasting = all(
            choice.kind in (ChoiceKind.RECORDED, ChoiceKind.OPEN) and not choice.values for choice in choices
        )
        may_be_none = any(choice.may_be_none for choice in choices) or (
            not is_lasting and None in list_literals(formula)
        )
        if role == PLAIN or (role == POINTER and not may_be_none):
            return False
        if role == INTEGER and name in self._kernel.do_not_specialize and name not in self._tuned_by:
            return False
        if all(map(lasts, choices)):
            if name in self._space.unseen:
                text = self._space.texts.get(name, name)
                self._open[name] = (f"`{text}` has one value, which no recorded compile of this launch shows", "")
            return False
        if role == POINTER:
            return True
        opened = next((choice for choice in choices if choice.kind is ChoiceKind.OPEN), None)
        is_tested = role == OPTION and any(choice.kind is ChoiceKind.OPEN and choice.values for choice in choices)
        # Of an integer that varies in part there are three classes.
        is_class = role == INTEGER and any(choice.kind is ChoiceKind.INTEGER for choice in choices)
        if (
            opened is not None
            and not is_class
            and (is_tested or (list_forms(formula) is None and not self._evaluates(name, formula)))
        ):
            self._open[name] = (_open_reason(opened.text, opened.number.decide()), "")
            return False
        return True

    def _evaluates(self, name: str, formula: Expr) -> bool:
        """Return whether `name` has a value whatever its open choices are: a test for None, for example."""
        try:
            combine({name: formula}, self._space.choices, self._outcome)
        except UnknownValueError:
            return False
        return True

    def _of_component(self, formulas: dict[str, Expr]) -> list[dict[str, Outcome]]:
        """Return the combinations of values that `formulas` can take, without those that cannot be evaluated."""
        formulas = dict(formulas)
        while formulas:
            try:
                combined = combine(formulas, self._space.choices, self._outcome)
            except UnknownValueError:
                failed = next(name for name, formula in formulas.items() if not self._evaluates(name, formula))
            else:
                if combined is not None:
                    return self._checked(combined, formulas)
                self._open |= dict.fromkeys(formulas, ("too many values of its sizes to try", ""))
                return [{}]
            del formulas[failed]
            if self._roles[failed] == INTEGER and failed not in self._tuned_by:
                # Of any integer there are three classes.
                rest = self._of_component(formulas)
                classes = dict.fromkeys(self._class_of(failed, value) for value in (1, 16, 17))
                return [outcomes | {failed: ("class", class_)} for outcomes in rest for class_ in classes]
            forms = list_forms(self._space.formulas[failed])
            if forms is not None and failed in self._constexprs:
                rest = self._of_component(formulas)
                return [outcomes | {failed: ("value", form)} for outcomes in rest for form in forms]
            text = self._space.texts.get(failed, failed)
            self._open[failed] = (f"`{text}` is computed from what is not followed", "")
        return [{}]

    def _checked(self, combined: list[dict[str, object]], formulas: dict[str, Expr]) -> list[dict[str, Outcome]]:
        """Return `combined` without what has too many values, or values that were not tried: that is open."""
        outcomes: list[dict[str, Outcome]] = combined  # type: ignore[assignment]
        dropped: set[str] = set()
        for name, formula in formulas.items():
            if self._roles[name] not in (CONSTEXPR, OPTION) and name not in self._tuned_by:
                continue
            values = {repr(value): value for outcome in outcomes for value in [key_value(outcome[name])]}
            numbers = [value for value in values.values() if type(value) is int]
            is_bounded = max(numbers, default=0) < LARGEST // 2
            choices = [self._space.choices[choice] for choice in choices_in(formula)]
            bound = self._space.numbers[name].bound if name in self._space.numbers else None
            is_tried = (
                list_forms(formula) is not None
                or is_exhausted(choices)
                or (is_bucket(formula) and is_bounded)
                or (bound is not None and len(values) >= bound)
            )
            if is_tried and len(values) <= MOST_VALUES:
                continue
            text = self._space.texts.get(name, name)
            if name in self._tuned_by:
                self._untuned.add(name)
                self._open[name] = (f"`{text}` differs between calls: each value is tuned again", TUNED)
                return self._of_component(formulas)
            what = "a power of two without a bound" if is_bucket(formula) else "a variant for each value"
            self._open[name] = (f"`{text}` differs between calls: {what}", BUCKET if is_bucket(formula) else PER_CALL)
            dropped.add(name)
        found = {
            repr(kept): kept for outcome in outcomes if (kept := {k: v for k, v in outcome.items() if k not in dropped})
        }
        return list(found.values()) or [{}]

    def _class_of(self, name: str, value: int) -> str:
        if name in self._kernel.do_not_specialize:
            return ""
        if value == 1:
            return "=1"
        return ALIGNED if value % 16 == 0 and name not in self._kernel.do_not_align else ""

    def _outcome(self, name: str, value: object) -> Outcome:
        if self._roles[name] == POINTER:
            return ("none", None) if value is None else ("given", self._lender(name, value))
        if value is None and name not in self._constexprs:
            return ("none", None)
        if isinstance(value, Something):
            raise UnknownValueError
        if self._roles[name] == INTEGER:
            if type(value) is not int:
                raise UnknownValueError
            kind = self._class_of(name, value)
            return ("tuned", (value, kind)) if name in self._tuned_by else ("class", kind)
        if not isinstance(value, Scalar):
            raise UnknownValueError
        return ("value", value)

    def _lender(self, name: str, value: object) -> str | None:
        """Return the parameter whose tensor `value` is, where `name` gets it in place of one that is None."""
        choice = value.choice if isinstance(value, Something) else ""
        if not choice or self._space.choices[choice].may_be_none:
            return None
        text = self._space.choices[choice].text.lower()
        for other, formula in self._space.formulas.items():
            if other != name and self._roles.get(other) == POINTER and isinstance(formula, Name):
                # A helper that gives a parameter takes what has its name.
                is_by_helper = self._space.choices[formula.id].text == other
                if formula.id == choice or (is_by_helper and other.lower() in (text, f"{text}_ptr")):
                    return other
        return None

    def _typed(self, base: KernelVariant, outcomes: Mapping[str, Outcome]) -> Iterator[tuple[str, Outcome]]:
        """Yield the types of tensors that stand in for others, and of the others, as recorded with the same flags."""
        for name in self._borrowed & outcomes.keys():
            kind, lender = outcomes[name]
            like, choices = base, set(choices_in(self._space.formulas[name]))
            if kind == "given" and lender is None:
                flags = {
                    (other, repr(key_value(outcome)))
                    for other, outcome in outcomes.items()
                    if outcome[0] == "value" and choices.intersection(choices_in(self._space.formulas[other]))
                }
                constants = (
                    (known, {(n, repr(value)) for n, value in known.key.constants}) for known in self._recorded
                )
                found = next((known for known, values in constants if flags <= values), None)
                if found is None:
                    yield name, ("unknown", None)
                    continue
                like = found
            if kind == "given":
                given = str(lender or name)
                yield name, ("typed", (dict(like.key.signature)[given], dict(like.key.attributes).get(given, "")))

    def _fixed(self) -> dict[str, Outcome]:
        """Return the outcomes of formulas that have no choice at all: what the launch writes as literals."""
        fixed: dict[str, Outcome] = {}
        for name, role in self._roles.items():
            formula = self._space.formulas[name]
            if not choices_in(formula) and role in (CONSTEXPR, INTEGER, OPTION, POINTER):
                try:
                    fixed[name] = self._outcome(name, evaluate(formula, {}))
                except UnknownValueError:
                    continue
        return fixed

    def _fits(self, base: KernelVariant, fixed: Mapping[str, Outcome]) -> bool:
        """Return whether `base` may have been launched here: what the launch writes as literals is the same."""
        changed = apply_outcomes(base, fixed, self._recorded)
        return not isinstance(changed, str) and identify(changed) == identify(base)

    def _add(self, base: KernelVariant, outcomes: Mapping[str, Outcome]) -> None:
        outcomes = dict(outcomes) | dict(self._typed(base, outcomes))
        variant = apply_outcomes(base, outcomes, self._recorded)
        if isinstance(variant, str):
            self._add_gap(variant, "it was never passed in the recording, so that its type is not known")
            return
        identity = identify(variant)
        if identity not in self._known:
            self._known.add(identity)
            self._keys.missing.append(replace(variant, reason=self._explain(variant)))

    def _explain(self, variant: KernelVariant) -> str:
        """Return how `variant` differs from the nearest recorded one, why it may, and where it is launched."""
        nearest = min(self._recorded, key=lambda known: len(list(differences(known, variant))))
        changed = list(differences(nearest, variant))
        text = ", ".join(f"`{name}` {value}" for name, value in changed)
        why = dict.fromkeys(why for name, _ in changed for why in self._causes(name))
        return f"{text}: {', '.join(why)}, {self._space.path}:{self._space.line}"

    def _causes(self, name: str) -> Iterator[str]:
        """Yield why `name` has several values."""
        if name in self._unaligned:
            yield f"`{name}` begins at any element of a tensor"
        formula = self._space.formulas.get(name)
        choices = [self._space.choices[name] for name in choices_in(formula)] if formula is not None else []
        for choice in choices:
            if choice.kind is ChoiceKind.INTEGER:
                yield f"`{choice.text}` is per call"
            elif choice.may_be_none:
                yield f"`{choice.text}` may be None"
            elif choice.kind is not ChoiceKind.RECORDED:
                yield f"`{choice.text}` varies"
        if not choices:
            yield "it is written here"

    def _add_tuning_key(self, outcomes: Mapping[str, Outcome]) -> None:
        names = [name for name in self._tuned_by if name in outcomes]
        if names and all(outcomes[name][0] in ("tuned", "value") for name in names):
            self._keys.tuning_keys.add(tuple((name, key_value(outcomes[name])) for name in names))

    def _add_gap(self, parameter: str, reason: str, code: str = "") -> None:
        gap = Gap(
            kind=NOT_PROVED,
            path=self._space.path,
            line=self._space.line,
            kernel=self._kernel.name,
            parameter=parameter,
            reason=reason,
            code=code,
        )
        self._keys.gaps.append(gap)

    def _add_rows(self, parts: Sequence[Sequence[Mapping[str, Outcome]]]) -> None:
        values: dict[str, dict[str, None]] = {}
        for part in parts:
            for outcomes in part:
                for name, outcome in outcomes.items():
                    values.setdefault(name, {})[format_outcome(outcome)] = None
        for name, role in self._roles.items():
            recorded = dict.fromkeys(format_recorded(variant.key, name) for variant in self._recorded)
            self._keys.rows.append(
                ParameterSpace(
                    parameter=name,
                    role=role,
                    values=tuple(values.get(name, recorded)),
                    recorded=tuple(recorded),
                    given=self._space.texts.get(name, name),
                    path=self._space.path,
                    line=self._space.line,
                    open=self._open.get(name, ("", ""))[0],
                )
            )


def _open_reason(text: str, kind: Variability) -> str:
    if kind is Variability.PER_MODEL:
        return f"`{text}` is taken for the model's by its name alone; `fixed` in the settings declares it"
    named = "" if text.replace(".", "").isidentifier() else "assigned to a name, "
    return f"`{text}` could not be followed: {named}`fixed` or `per-call` in the settings declares it"
