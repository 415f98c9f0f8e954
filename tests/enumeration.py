"""P-values by listing everything that could have happened, in fractions where the numbers are: no code of the package."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

SIDES = ("two-sided", "greater", "less")


def reaches(value: Any, seen: Any, side: str = "two-sided", near: float = 0) -> bool:
    """Whether a value is at least as extreme as the observed one; None, no value, is extreme on every side."""
    if value is None:
        return True
    if side == "two-sided":
        return bool(abs(value) >= abs(seen) - near)
    return bool(value >= seen - near if side == "greater" else value <= seen + near)


def share(values: Sequence[Any], side: str = "two-sided", near: float = 0) -> Fraction:
    """The share of values that are at least as extreme as the first, which was observed."""
    return Fraction(sum(reaches(value, values[0], side, near) for value in values), len(values))


def signed_sums(effects: Iterable[Any]) -> list[Any]:
    """The sums of all 2**n choices of signs, starting with the observed one."""
    sums = [Fraction(0)]
    for effect in effects:
        sums = [total for one in sums for total in (one + effect, one - effect)]
    return sums


def by_signs(u: Sequence[Any], v: Sequence[Any], side: str = "two-sided") -> Fraction:
    """The p-value of a mean or sum of differences, with numbers as printed."""
    return share(signed_sums(Fraction(str(a)) - Fraction(str(b)) for a, b in zip(u, v, strict=True)), side)


def counted_sums(stay: Iterable[int], swap: Iterable[int]) -> Counter[int]:
    """In how many ways every sum comes about."""
    ways: Counter[int] = Counter({0: 1})
    for one, other in zip(stay, swap, strict=True):
        after: Counter[int] = Counter()
        for total, count in ways.items():
            after[total + one] += count
            after[total + other] += count
        ways = after
    return ways


def swaps(
    u: Sequence[Any], v: Sequence[Any], codes: Sequence[int] | None = None
) -> Iterator[tuple[list[Any], list[Any]]]:
    """Both systems after every choice of items, or of clusters by their codes, to exchange; as observed first."""
    units = range(len(u)) if codes is None else codes
    order = {unit: place for place, unit in enumerate(dict.fromkeys(units))}
    for chosen in product((False, True), repeat=len(order)):
        swapped = [chosen[order[unit]] for unit in units]
        pairs = [(b, a) if swap else (a, b) for a, b, swap in zip(u, v, swapped, strict=True)]
        yield [a for a, _ in pairs], [b for _, b in pairs]


def by_swaps(
    u: Sequence[Any],
    v: Sequence[Any],
    score: Callable[[list[Any]], Any],
    side: str = "two-sided",
    near: float = 0,
) -> Fraction:
    """The p-value of a difference of scores."""
    return share([score(one) - score(other) for one, other in swaps(u, v)], side, near)


def by_resamples(
    items: Sequence[Any], value: Callable[[Sequence[Any]], Any], side: str = "two-sided"
) -> Fraction:
    """The bootstrap's p-value by all n**n resamples: |t* - t| >= |t|, or one-sided."""
    seen = value(items)
    shifts = [value(drawn) - seen for drawn in product(items, repeat=len(items))]
    return Fraction(sum(reaches(shift, seen, side) for shift in shifts), len(shifts))


def holm(p_values: Sequence[Fraction]) -> list[Fraction]:
    """Holm 1979, by its definition."""
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    adjusted, largest = [Fraction(0)] * len(p_values), Fraction(0)
    for step, index in enumerate(order):
        largest = max(largest, min(Fraction(1), (len(p_values) - step) * p_values[index]))
        adjusted[index] = largest
    return adjusted
