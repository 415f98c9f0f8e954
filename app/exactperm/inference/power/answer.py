"""A question put to a design becomes a record: the number that was asked for, a curve, and a sentence."""

from __future__ import annotations

from collections.abc import Iterable

from ...answers.power import PowerMethod, PowerPoint, PowerRecord, Solution
from ...answers.test import WarningRecord
from ...errors import InvalidTest
from .design import Design, Needed, Question

# The answer in one sentence, for people


def sentence_of(question: Question, solution: Solution, method: PowerMethod) -> str:
    """What was found, with how sure one can be."""
    at = f"at alpha {question.alpha:g}, {question.alternative}"
    if question.comparisons > 1:
        at += f", {question.comparisons} comparisons"
    about = "" if method.exact else " (approximate)"
    if question.solve == "n":
        if solution.n is None:
            return f"No number of items that was searched finds a difference of {solution.effect:g} so often ({at})."
        after = ""
        if solution.n_always is not None and solution.n_always != solution.n:
            after = f", and every number from {solution.n_always:,} on has it"
        return (
            f"{solution.n:,} items find a true difference of {solution.effect:g} with probability "
            f"{question.power:g}{after}; {at}{about}."
        )
    assert solution.n is not None
    if solution.effect is None:
        return f"{solution.n:,} items find no true difference with probability {question.power:g} ({at})."
    return (
        f"{solution.n:,} items find a true difference of {solution.effect:.4g} with probability "
        f"{solution.power:.4g}; {at}{about}."
    )


# Of a curve about one number of items.
_POINTS = 16


def answer(question: Question, design: Design, digest: str) -> PowerRecord:
    """Answer a question; raises InvalidTest where the design does not say enough, or where there is nothing to find."""
    sign = -1.0 if question.alternative == "less" else 1.0
    size = _size(question, design)
    wanted = question.power
    needed: Needed | None = None
    numbers = question.n or (() if design.own_n is None else (design.own_n,))
    if question.solve == "n":
        assert size is not None
        assert wanted is not None
        needed = design.needed(size, wanted)
        numbers = () if needed is None else (needed.n,)
    elif not numbers:
        raise InvalidTest.at("/n", "missing", "Say how many items there are: a number, or a list of numbers.")
    points = [_point(question, design, n, size) for n in numbers]
    first = points[0] if points else None
    solution = Solution(
        effect=_signed(sign, size if first is None else first[1]),
        n=None if first is None else first[0],
        n_always=None if needed is None else needed.always,
        power=None if first is None else first[2],
    )
    critical = None if first is None else design.critical(first[0])
    method = design.method_at(first[0] if first is not None else design.own_n or 1)
    curve = points if len(points) > 1 else [*_around(design.rough, first, needed)]
    return PowerRecord(
        id=f"w_{digest}",
        solve=question.solve,
        solution=solution,
        wanted_power=None if question.solve == "power" else wanted,
        alpha=question.alpha,
        comparisons=question.comparisons,
        alternative=question.alternative,
        critical_difference=critical,
        actual_alpha=None if first is None else design.actual_alpha(first[0]),
        curve=tuple(
            PowerPoint(n, sign * size, power)
            for n, size, power in curve
            if size is not None and power is not None
        ),
        method=method,
        sentence=sentence_of(question, solution, method),
        warnings=tuple(_warnings(solution, critical)),
    )


Point = tuple[int, float | None, float | None]


def _size(question: Question, design: Design) -> float | None:
    """The size of the effect, in the direction of the alternative; None where it is what is asked for."""
    if question.solve == "effect":
        return None
    effect = design.own_effect if question.effect is None else question.effect
    if effect is None:
        detail = "Say which true difference is to be found: the least that would matter to you."
        raise InvalidTest.at("/effect", "missing", detail)
    if question.alternative == "two-sided":
        return abs(effect)
    size = -effect if question.alternative == "less" else effect
    if size < 0.0:
        detail = f"A test for {question.alternative} does not look for a difference of {effect:g}: change its sign, or the alternative."
        raise InvalidTest.at("/effect", "wrong_direction", detail)
    return size


def _point(question: Question, design: Design, n: int, size: float | None) -> Point:
    if size is not None:
        return n, size, design.power(n, size)
    assert question.power is not None
    found = design.detectable(n, question.power)
    return n, found, None if found is None else design.power(n, found)


def _around(design: Design, first: Point | None, needed: Needed | None) -> Iterable[Point]:
    """The power of the same effect with fewer items and with more."""
    if first is None or first[1] is None:
        return
    n, size = first[0], first[1]
    numbers = {max(round(n * 2.0 ** (step / 4.0 - 2.0)), 1) for step in range(_POINTS + 1)} | {n}
    if needed is not None and needed.always is not None:
        numbers.add(needed.always)
    for number in sorted(numbers):
        try:
            yield number, size, design.power(number, size)
        except InvalidTest:
            continue  # only the pilot's own number of items has a power


def _signed(sign: float, size: float | None) -> float | None:
    return None if size is None else sign * size


def _warnings(solution: Solution, critical: float | None) -> Iterable[WarningRecord]:
    if solution.n is not None and critical is None:
        detail = "With so few items that differ, no outcome is significant at this alpha."
        yield WarningRecord("alpha_unattainable", detail)
    elif solution.effect is None or solution.n is None or solution.power is None:
        detail = (
            "No difference is found so often with these items."
            if solution.effect is None
            else ("So small a difference needs more items than are searched.")
        )
        yield WarningRecord("out_of_reach", detail)
