"""Scores of mixed magnitude as the text that somebody writes, and their p-value by brute force in fractions."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

ALTERNATIVES = ("two-sided", "greater", "less")
SHORT_DIGITS = 15


@dataclass(frozen=True)
class Case:
    """Scores of both systems, as written, and an alternative."""

    u: tuple[str, ...]
    v: tuple[str, ...]
    alternative: str

    def values(self) -> tuple[list[Fraction], list[Fraction]]:
        """What they are: decimals as written where all are short, else the doubles nearest to them."""
        exact: Callable[[str], Fraction] = Fraction
        u, v = [shortest(text) for text in self.u], [shortest(text) for text in self.v]
        if not all(short(text) for text in u + v):
            exact = doubled
        return [exact(text) for text in u], [exact(text) for text in v]

    def as_json(self) -> bytes:
        """The JSON body, the numbers as they are written."""
        said = json.dumps(self.alternative)
        return f'{{"u":[{",".join(self.u)}],"v":[{",".join(self.v)}],"alternative":{said}}}'.encode()

    def as_csv(self) -> bytes:
        """The table of two columns."""
        return "\n".join(["u,v", *(f"{u},{v}" for u, v in zip(self.u, self.v, strict=True))]).encode()

    def as_lines(self) -> bytes:
        """One object a line."""
        return "\n".join(f'{{"u":{u},"v":{v}}}' for u, v in zip(self.u, self.v, strict=True)).encode()


def doubled(text: str) -> Fraction:
    """The double nearest to a number."""
    return Fraction(float(text))


def shortest(text: str) -> str:
    """A number of more than 15 digits is the shortest one that is the same double: JSON knows no other."""
    return text if short(text) else repr(float(text))


def short(text: str) -> bool:
    """Whether a number counts as the decimal that is written: of at most 15 digits, or an integer below 2**53."""
    _, digits, exponent = Decimal(text).normalize().as_tuple()
    assert isinstance(exponent, int)
    return len(digits) <= SHORT_DIGITS or (exponent >= 0 and abs(Decimal(text)) < 2**53)


def p_value(case: Case) -> Fraction:
    """By listing all 2**n assignments."""
    u, v = case.values()
    differences = [a - b for a, b in zip(u, v, strict=True)]
    common = math.lcm(*(d.denominator for d in differences))
    whole = [int(d * common) for d in differences]
    seen, sums = sum(whole), [0]
    for effect in whole:
        sums = [s + e for s in sums for e in (effect, -effect)]
    if case.alternative == "greater":
        extreme = sum(s >= seen for s in sums)
    elif case.alternative == "less":
        extreme = sum(s <= seen for s in sums)
    else:
        extreme = sum(abs(s) >= abs(seen) for s in sums)
    return Fraction(extreme, len(sums))


def case(source: random.Random) -> Case:
    """One of the families below, with ties that are there on purpose."""
    items = source.randint(2, 12)
    family = source.choice(
        (ladder, planted, planted, planted, spread, denormal, enormous, long, thirds, single)
    )
    pairs = family(source, items)
    # Copies, mirrored or not, tie with what they are copies of.
    for place in range(items):
        if source.random() < 0.2:
            pair = pairs[source.randrange(items)]
            pairs[place] = pair if source.random() < 0.5 else pair[::-1]
    return Case(tuple(u for u, _ in pairs), tuple(v for _, v in pairs), source.choice(ALTERNATIVES))


Pairs = list[tuple[str, str]]


def ladder(source: random.Random, items: int) -> Pairs:
    """Few digits at exponents from -12 to 6 on both sides."""
    return [(_rung(source), _rung(source)) for _ in range(items)]


def planted(source: random.Random, items: int) -> Pairs:
    """Differences of one or two digits at two or three magnitudes, many of them equal in sum; common parts beside."""
    powers = [source.randint(-12, 6) for _ in range(source.randint(1, 3))]
    pairs = []
    for _ in range(items):
        power = source.choice(powers)
        difference = Decimal(source.randint(-12, 12)).scaleb(power)
        common = Decimal(0)
        if source.random() < 0.4:
            # As far up as fifteen digits go.
            common = Decimal(source.randint(1, 99)).scaleb(source.randint(power, power + 12))
        pairs.append((_written(common + difference, source), _written(common, source)))
    return pairs


def spread(source: random.Random, items: int) -> Pairs:
    """As the finding has it: tenths, one large score on both sides, and one tiny."""
    pairs = [
        (f"{source.randint(-9, 9) / 10}", f"{source.randint(-9, 9) / 10}") for _ in range(max(items - 2, 1))
    ]
    large = str(source.choice((9999, 1000000, -123456)))
    tiny = f"1e-{source.randint(9, 15)}"
    return [*pairs, (large, large), (tiny, source.choice((tiny, "0", "-0.0")))][:items] or pairs


def denormal(source: random.Random, items: int) -> Pairs:
    """Multiples of the smallest double, some beside ordinary scores."""
    texts = ["5e-324", "1e-323", "1.5e-323", "0", "-5e-324", "2.5e-322", "1e-300", "-0.0"]
    if source.random() < 0.3:
        texts += ["0.5", "1", "-1", "0.25"]
    return [(source.choice(texts), source.choice(texts)) for _ in range(items)]


def enormous(source: random.Random, items: int) -> Pairs:
    """Far above what integers of 64 bits hold, beside ordinary scores."""
    texts = ["1e22", "2e22", "3e22", "1e200", "-1e22", "7e12", "6e-300", "0.1", "0.2", "0.3", "3", "-0.3"]
    return [(source.choice(texts), source.choice(texts)) for _ in range(items)]


def long(source: random.Random, items: int) -> Pairs:
    """From 15 to 17 digits, some of them the dust of a sum; others short."""
    pairs = []
    for _ in range(items):
        a, b = source.randint(-9, 9) / 10, source.randint(-9, 9) / 10
        pairs.append(
            source.choice(
                (
                    (repr(a + b), repr(a)),
                    (repr(a * 3), repr(b)),
                    (f"{source.random():.15g}", f"{source.random():.15g}"),
                    (f"{source.random():.17g}", f"{source.random():.16g}"),
                    (repr(a), repr(b)),
                )
            )
        )
    return pairs


def thirds(source: random.Random, items: int) -> Pairs:
    """Means of three, as doubles, and single precision as doubles."""
    return [
        (repr(source.randint(0, 9) / 3), repr(source.randint(0, 9) / source.choice((3, 10))))
        for _ in range(items)
    ]


def single(source: random.Random, items: int) -> Pairs:
    """Small binary fractions, which are exact both ways, and integers."""
    return [
        (repr(source.randint(-64, 64) / source.choice((1, 8, 1024))), str(source.randint(-5, 5)))
        for _ in range(items)
    ]


def _rung(source: random.Random) -> str:
    return _written(Decimal(source.randint(-999, 999)).scaleb(source.randint(-12, 4)), source)


def _written(value: Decimal, source: random.Random) -> str:
    """The number in one of the ways in which JSON writes it."""
    plain = f"{value:f}"
    if value == 0:
        return source.choice(("0", "0.0", "-0.0"))
    if (
        source.random() < 0.5 and len(plain) < 40 and abs(value) < 2**53
    ):  # larger integers are not for doubles
        return plain
    return f"{value.normalize():e}"
