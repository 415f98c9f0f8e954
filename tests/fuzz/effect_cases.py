"""Effects of one to four numbers of any size, from 1e-12 to 1e18 in one request, and their p-value by all swaps in fractions."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from random import Random

from tests.fuzz.decimals import ALTERNATIVES, doubled, short, shortest

METHODS = (
    "enumeration",
    "meet_in_the_middle",
    "rational",
    "fft",
    "dp",
    "grid",
    "bounds",
    "bounds",
    "bounds",
    "monte_carlo",
)
LEAST, LARGEST = -12, 18
Row = tuple[str, ...]
Sums = Sequence[Fraction]
Value = Callable[[Sums], Fraction]


class UndefinedError(ArithmeticError):
    """x/0 has no value."""


@dataclass(frozen=True)
class Formula:
    """A statistic as text, and as what it means."""

    text: str
    value: Value


@dataclass(frozen=True)
class Case:
    """A request: the numbers as they are written, and which items swap together."""

    stay: tuple[Row, ...]
    swap: tuple[Row, ...] | None
    clusters: tuple[str, ...] | None
    formula: Formula
    alternative: str
    method: str

    @property
    def body(self) -> bytes:
        """The JSON body, the numbers as they are written."""
        parts = {"stay": _table(self.stay), "statistic": json.dumps({"expression": self.formula.text})}
        if self.swap is not None:
            parts["swap"] = _table(self.swap)
        if self.clusters is not None:
            parts["clusters"] = json.dumps(self.clusters)
        parts |= {"alternative": json.dumps(self.alternative), "method": json.dumps(self.method)}
        parts |= {"pmf": '"none"', "samples": "2000"}
        return ("{" + ",".join(f'"{name}":{text}' for name, text in parts.items()) + "}").encode()

    @property
    def gate(self) -> bytes:
        """The body of a gate of the same data: U must be better."""
        left_out = b',"alternative":' + json.dumps(self.alternative).encode()
        request = self.body.replace(left_out, b"")
        return b'{"kind":"effects","policy":"improve","higher_is_better":true,"request":' + request + b"}"

    def truth(self, alternative: str) -> tuple[Fraction, Fraction] | None:
        """The p-value and the observed value; None where this has none."""
        units = self._units()
        width = len(self.stay[0])
        values: list[Fraction | None] = []
        for sides in itertools.product((0, 1), repeat=len(units)):
            chosen = [unit[side] for unit, side in zip(units, sides, strict=True)]
            sums = [sum((row[at] for row in chosen), Fraction(0)) for at in range(width)]
            try:
                values.append(self.formula.value(sums))
            except UndefinedError:
                values.append(None)
        seen = values[0]
        if seen is None:
            return None
        extreme = sum(value is None or reaches(value, seen, alternative) for value in values)
        return Fraction(extreme, len(values)), seen

    def _units(self) -> list[tuple[list[Fraction], list[Fraction]]]:
        """What each unit adds to every sum: as observed, and with its outputs exchanged."""
        stay = _numbers(self.stay, self.swap or ())
        swap = [[-number for number in row] for row in stay]
        if self.swap is not None:
            swap = _numbers(self.swap, self.stay)
        keys = self.clusters or tuple(map(str, range(len(stay))))
        units: dict[str, tuple[list[Fraction], list[Fraction]]] = {}
        for key, one, other in zip(keys, stay, swap, strict=True):
            known = units.get(key)
            if known is None:
                units[key] = list(one), list(other)
                continue
            for total, row in zip(known, (one, other), strict=True):
                total[:] = [a + b for a, b in zip(total, row, strict=True)]
        return list(units.values())


def reaches(value: Fraction, seen: Fraction, alternative: str) -> bool:
    """Whether a value is at least as extreme as the observed one."""
    if alternative == "two-sided":
        return abs(value) >= abs(seen)
    return value >= seen if alternative == "greater" else value <= seen


def _table(rows: tuple[Row, ...]) -> str:
    return "[" + ",".join(f"[{','.join(row)}]" for row in rows) + "]"


def _numbers(rows: tuple[Row, ...], others: tuple[Row, ...]) -> list[list[Fraction]]:
    """The numbers of a column are decimals as written where all of both sides are short, else doubles."""
    columns = []
    for at in range(len(rows[0])):
        written = [shortest(row[at]) for row in rows]
        beside = [shortest(row[at]) for row in others]
        exact: Callable[[str], Fraction] = Fraction if all(map(short, written + beside)) else doubled
        columns.append([exact(text) for text in written])
    return [list(row) for row in zip(*columns, strict=True)]


def case(source: Random) -> Case:
    """One of at most eight items."""
    items, width = source.randint(1, 8), source.randint(1, 4)
    powers = [[source.randint(LEAST, LARGEST) for _ in range(source.randint(1, 3))] for _ in range(width)]
    length = source.choice([1, 1, 2, 3, 15, 17])

    def rows() -> list[Row]:
        made: list[Row] = []
        for _ in range(items):
            if made and source.random() < 0.25:
                made.append(source.choice(made))
            else:
                made.append(tuple(number(source, source.choice(column), length) for column in powers))
        return made

    stay = rows()
    swap = tuple(rows()) if source.random() < 0.4 else None
    clusters = None
    if source.random() < 0.3:
        clusters = tuple(source.choice("abcd") for _ in range(items))
    method = "auto" if source.random() < 0.7 else source.choice(METHODS)
    return Case(tuple(stay), swap, clusters, formula(source, width), source.choice(ALTERNATIVES), method)


def number(source: Random, power: int, length: int) -> str:
    """A number of so many digits and about that size, now and then zero; integers beyond 2**53 have an exponent."""
    if source.random() < 0.1:
        return "0"
    digits = source.randint(1, 10**length - 1) * source.choice((1, 1, -1))
    value = Decimal(digits).scaleb(power - (length - 1))
    plain = f"{value:f}"
    return plain if "." in plain and len(plain) < 25 and source.random() < 0.5 else f"{value:e}"


def formula(source: Random, width: int) -> Formula:
    """A linear form, its size, or a few operations on such forms."""
    first = linear(source, width)
    chance = source.random()
    if chance < 0.35:
        return first
    if chance < 0.45:
        return Formula(f"abs({first.text})", lambda sums: abs(first.value(sums)))
    return operated(source, width, source.randint(1, 2))


def linear(source: Random, width: int) -> Formula:
    """Some of the sums, times constants of any size."""
    chosen = source.sample(range(width), source.randint(1, width))
    factors = [_constant(source) for _ in chosen]
    text = " + ".join(
        f"{factor}*x{at + 1}" if factor != "1" else f"x{at + 1}"
        for at, factor in zip(chosen, factors, strict=True)
    )
    exact = [Fraction(factor) for factor in factors]

    def value(sums: Sums) -> Fraction:
        return sum((factor * sums[at] for at, factor in zip(chosen, exact, strict=True)), Fraction(0))

    return Formula(f"({text})", value)


def operated(source: Random, width: int, depth: int) -> Formula:
    """Two parts in an operation."""
    if depth == 0:
        if source.random() < 0.15:
            text = _constant(source)
            constant = Fraction(text)
            return Formula(text, lambda _: constant)
        return linear(source, width)
    one, other = operated(source, width, depth - 1), operated(source, width, depth - 1)
    kind = source.choice(("+", "-", "*", "/", "/", "min", "max", "abs"))
    if kind in {"min", "max"}:
        best = min if kind == "min" else max
        return Formula(
            f"{kind}({one.text}, {other.text})", lambda sums: best(one.value(sums), other.value(sums))
        )
    if kind == "abs":
        return Formula(
            f"abs({one.text} - {other.text})", lambda sums: abs(one.value(sums) - other.value(sums))
        )
    return Formula(
        f"({one.text} {kind} {other.text})",
        lambda sums: _OPERATIONS[kind](one.value(sums), other.value(sums)),
    )


def _constant(source: Random) -> str:
    if source.random() < 0.5:
        return "1"
    return f"{source.randint(1, 99)}" + (f"e{source.randint(-9, 9)}" if source.random() < 0.3 else "")


def _divided(above: Fraction, below: Fraction) -> Fraction:
    if below == 0:
        if above == 0:
            return Fraction(0)
        raise UndefinedError
    return above / below


_OPERATIONS: dict[str, Callable[[Fraction, Fraction], Fraction]] = {
    "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "/": _divided,
}  # fmt: skip
