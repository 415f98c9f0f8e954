"""Which pairs are compared, and whether what was asked of them makes sense together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...errors import Choice, InvalidTest, choices_of
from ...inference.compare.record import Aggregate, Design
from ...inputs.quoting import quoted
from ..messages import Limits
from ..schema.compare import CompareChoices

NAMED_SYSTEMS = 5
NOT_ATTAINABLE = ("monte_carlo", "bounds")

AGAINST_IT = (Choice("Compare each system with it", {"compare": "baseline"}),)
BOTH_WAYS = (Choice("Test both ways", {"alternative": "two-sided"}),)
HOLM_OR_EXACT = (Choice("Adjust by Holm", {"adjust": "holm"}), Choice("The method auto", {"method": "auto"}))
# The systems' names by data set; of a single board, by None.
Names = Mapping[str | None, Sequence[str]]
Pair = tuple[str, str]


def require_sense(choices: CompareChoices, *, several: bool) -> None:
    """Refuse options that contradict each other, whatever the data; raises InvalidTest."""
    if choices.compare != "baseline" and choices.baseline is not None:
        detail = "`baseline` goes with `compare=baseline`: set that, or leave `baseline` out."
        raise InvalidTest.at("/baseline", "superfluous", detail, AGAINST_IT)
    if choices.compare == "all_pairs" and choices.alternative != "two-sided":
        detail = (
            "All pairs are compared two-sided: u of a pair is the better ranked system, so that the data would choose the side. "
            "Set `alternative=two-sided`; or for a one-sided test set `compare=baseline`, or `compare` to a list of pairs."
        )
        raise InvalidTest.at("/alternative", "one_sided_all_pairs", detail, BOTH_WAYS)
    if choices.adjust == "holm_discrete" and choices.method in NOT_ATTAINABLE:
        detail = (
            f"holm_discrete needs the exact null distribution of every test, which method {choices.method} does not give: set "
            "`adjust=holm`, or `method=auto`."
        )
        raise InvalidTest.at("/adjust", "adjust_needs_exact_tests", detail, HOLM_OR_EXACT)
    if choices.decimals is not None and choices.kind != "scores":
        raise InvalidTest.at(
            "/decimals", "superfluous", f"decimals rounds scores; {choices.kind} are used as they are."
        )
    if not several:
        for name in ("family", "aggregate", "combine"):
            if name in choices.model_fields_set and getattr(choices, name) is not None:
                detail = f"{name} is about several data sets, and there is one: give datasets, or leave {name} out."
                raise InvalidTest.at(f"/{name}", "superfluous", detail)
    elif choices.combine is not None and aggregate_of(choices, several=True) is None:
        detail = (
            "`combine` makes the overall board, which `aggregate=null` leaves out: leave out one of them."
        )
        raise InvalidTest.at("/combine", "superfluous", detail)


def aggregate_of(choices: CompareChoices, *, several: bool) -> Aggregate | None:
    """The overall board: macro unless something else is asked for; none of a single data set."""
    if not several:
        return None
    return choices.aggregate if "aggregate" in choices.model_fields_set else "macro"


def design_of(choices: CompareChoices) -> tuple[Design, tuple[Pair, ...]]:
    """All pairs, a baseline, or explicit pairs."""
    compare: Any = choices.compare
    if isinstance(compare, str):
        return ("baseline" if compare == "baseline" else "all_pairs"), ()
    return "pairs", tuple((u, v) for u, v in compare)


def require_named(choices: CompareChoices, names: Names) -> None:
    """Refuse a baseline that is not named, and a baseline or pairs of systems that are not there; raises InvalidTest.

    They must be in every data set: a board without its baseline has no pairs.
    """
    design, pairs = design_of(choices)
    if design == "baseline":
        if choices.baseline is None:
            detail = "Name the baseline (`baseline`): the system that all others are compared to."
            raise InvalidTest.at("/baseline", "missing", detail, _baselines(common_systems(names)))
        _require(choices.baseline, names, "/baseline", baseline=True)
    if design == "pairs" and not pairs:
        raise InvalidTest.at("/compare", "no_pairs", "There is no pair to compare; give at least one.")
    seen: set[frozenset[str]] = set()
    for index, pair in enumerate(pairs):
        for side, name in enumerate(pair):
            _require(name, names, f"/compare/{index}/{side}")
        if pair[0] == pair[1]:
            detail = f"{quoted(pair[0])} is paired with itself: give two systems."
            raise InvalidTest.at(f"/compare/{index}", "same_system", detail)
        if frozenset(pair) in seen:
            detail = (
                f"The pair {quoted(pair[0])}, {quoted(pair[1])} is there twice, in whatever order: a second test of it would "
                "count twice in the adjustment. Remove one."
            )
            raise InvalidTest.at(f"/compare/{index}", "duplicate_pair", detail)
        seen.add(frozenset(pair))


def _baselines(known: Sequence[str]) -> tuple[Choice, ...]:
    return choices_of("baseline", {name: name for name in known})


def _require(name: str, names: Names, pointer: str, *, baseline: bool = False) -> None:
    lacking = [dataset for dataset, own in names.items() if name not in own]
    if not lacking:
        return
    if len(lacking) == len(names):
        known = sorted({one for own in names.values() for one in own})
        shown = ", ".join(quoted(one) for one in known[:NAMED_SYSTEMS])
        more = f" and {len(known) - NAMED_SYSTEMS:,} more" if len(known) > NAMED_SYSTEMS else ""
        detail = f"There is no system {quoted(name)}; there are {shown}{more}."
        choices = _baselines(common_systems(names)) if baseline else ()
        raise InvalidTest.at(pointer, "unknown_system", detail, choices)
    where = ", ".join(quoted(dataset) for dataset in lacking[:NAMED_SYSTEMS])
    detail = f"{quoted(name)} is not in every data set, but a baseline and the systems of given pairs must be: not in {where}."
    raise InvalidTest.at(pointer, "system_not_everywhere", detail)


def common_systems(names: Names) -> list[str]:
    """The systems that all data sets have, in code-point order."""
    return sorted(set.intersection(*(set(own) for own in names.values())))


def require_common(choices: CompareChoices, names: Names) -> None:
    """Refuse to aggregate, where that was asked for, without two systems that all data sets have; raises InvalidTest.

    Where it was not, there is no overall board, and the answer says so.
    """
    if "aggregate" not in choices.model_fields_set or choices.aggregate is None:
        return
    common = common_systems(names)
    if len(common) < 2:
        detail = (
            f"The overall board needs two systems that all {len(names):,} data sets have; there {'is one' if common else 'is none'}. "
            "Write the systems' names the same way in all data sets, or set aggregate to null."
        )
        raise InvalidTest.at("/datasets", "no_common_systems", detail)


def require_few(choices: CompareChoices, names: Names, aggregate: Aggregate | None, limits: Limits) -> int:
    """How many pairs there are, over all boards; raises InvalidTest where these are more than the server tests."""
    design, pairs = design_of(choices)
    sizes = [len(own) for own in names.values()]
    if aggregate is not None:
        sizes.append(len(common_systems(names)))
    if design == "all_pairs":
        n = sum(size * (size - 1) // 2 for size in sizes)
    elif design == "baseline":
        n = sum(size - 1 for size in sizes)
    else:
        n = len(pairs) * len(sizes)
    if n > limits.max_comparisons:
        detail = (
            f"These are {n:,} comparisons; this server does at most {limits.max_comparisons:,}. Compare to a baseline, or name the "
            "pairs."
        )
        raise InvalidTest.at("/compare", "too_many_comparisons", detail)
    return n
