"""Test scores and effects of mixed magnitude: they tie as written, brackets hold, and other numbers are refused."""

import itertools
import json
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from random import Random
from typing import Any

import pytest

from tests.enumeration import SIDES, share, signed_sums
from tests.fuzz.asgi import GENERATED, TIMES, InProcess, judge_certified

SHORT_DIGITS = 15


@dataclass(frozen=True)
class DecimalCase:
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


def decimal_p_value(case: DecimalCase) -> Fraction:
    """By listing all 2**n assignments."""
    u, v = case.values()
    differences = [a - b for a, b in zip(u, v, strict=True)]
    common = math.lcm(*(d.denominator for d in differences))
    whole = [int(d * common) for d in differences]
    return share(signed_sums(whole), case.alternative)


def decimal_case(source: random.Random) -> DecimalCase:
    """One of the families below, with ties that are there on purpose."""
    items = source.randint(2, 12)
    family = source.choice(
        (ladder, planted, planted, planted, spread, denormal, enormous, long_ones, thirds, binary_fractions)
    )
    pairs = family(source, items)
    # Copies, mirrored or not, tie with what they are copies of.
    for place in range(items):
        if source.random() < 0.2:
            pair = pairs[source.randrange(items)]
            pairs[place] = pair if source.random() < 0.5 else pair[::-1]
    return DecimalCase(tuple(u for u, _ in pairs), tuple(v for _, v in pairs), source.choice(SIDES))


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


def long_ones(source: random.Random, items: int) -> Pairs:
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


def binary_fractions(source: random.Random, items: int) -> Pairs:
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


CASES = 250
BODIES = {"application/json": "as_json", "text/csv": "as_csv", "application/x-ndjson": "as_lines"}


@pytest.mark.parametrize("block", range(10))
def test_ties_are_those_of_the_decimals_as_written(service: InProcess, block: int) -> None:
    source = random.Random(block if TIMES == 1 else None)
    for _ in range(CASES * TIMES // 10):
        case = decimal_case(source)
        GENERATED["mixed decimals"] += 1
        expected = decimal_p_value(case)
        answers = []
        for media, body in BODIES.items():
            query = b"" if media == "application/json" else b"alternative=" + case.alternative.encode()
            answered = service.ask(
                "POST", "/v1/tests/scores", query, [(b"content-type", media.encode())], getattr(case, body)()
            )
            assert answered.status == 200, (case, answered.body[:500])
            answers.append(json.loads(answered.body))
        for answer in answers:
            judge_decimals(answer, expected, case)
            assert (answer["id"], answer["p_value"]) == (answers[0]["id"], answers[0]["p_value"]), case


def judge_decimals(answer: dict[str, Any], expected: Fraction, case: DecimalCase) -> None:
    """So few items are listed, and their p-value is the fraction itself."""
    assert answer["method"]["exact"], case
    assert answer["p_value"] == pytest.approx(float(expected), rel=1e-15), (case, expected)
    low, high = answer["p_value_bounds"]
    assert Fraction(low) <= expected <= Fraction(high) or math.isclose(low, float(expected), rel_tol=1e-15), (
        case
    )


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
class EffectCase:
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
        return share(values, alternative), seen

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


def effect_case(source: Random) -> EffectCase:
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
    return EffectCase(tuple(stay), swap, clusters, formula(source, width), source.choice(SIDES), method)


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


CASES_OF_EFFECTS, BLOCKS, ALPHA = 200, 10, Fraction(1, 20)
REFUSALS = {
    "undefined_statistic",
    "value_too_large",
    "value_too_small",
    "expression_too_large",
    "number_too_long",
    "plan_too_large",
    "method_not_applicable",
    "not_certified",
}
# One answer in a hundred may lie outside of a 99 % interval: no more than so many standard errors beyond it.
SAMPLED_WITHIN = 7.0
# The short form of so few cases may have no bracket.
FEWEST_RIGHT = 0.5


@pytest.mark.parametrize("block", range(BLOCKS))
def test_effects_of_several_numbers_are_right_bracketed_or_refused(service: InProcess, block: int) -> None:
    source = Random(block if TIMES == 1 else None)
    cases = CASES_OF_EFFECTS * TIMES // BLOCKS
    right = 0
    for _ in range(cases):
        case = effect_case(source)
        outcome = judge(case, *service.post("/v1/tests/effects", case.body))
        right += outcome == "right"
        GENERATED[f"effects of several numbers: {outcome}"] += 1
        if source.random() < 0.1:
            judge_gate(case, service)
    assert right > FEWEST_RIGHT * cases


def judge(case: EffectCase, status: int, said: dict[str, Any]) -> str:
    """The outcome of a case: "right", "bracketed", "sampled" or "refused"; fails if wrong."""
    truth = case.truth(case.alternative)
    if status != 200:
        assert status == 422, (case, status, said)
        codes = {flaw["code"] for flaw in said["errors"]}
        assert codes <= REFUSALS, (case, said)
        assert truth is None or "undefined_statistic" not in codes, case
        return "refused"
    assert truth is not None, (case, said)
    wanted, observed = truth
    assert math.isclose(said["statistic"]["observed"], float(observed), rel_tol=1e-15), (case, observed, said)
    if said["p_value_bounds_kind"] == "confidence":
        # Of rounded sums the interval reaches from what is surely extreme to what may be.
        slack = SAMPLED_WITHIN * max(said["method"]["monte_carlo"]["standard_error"], 1e-3)
        low, high = said["p_value_bounds"]
        assert low - slack <= wanted <= high + slack, (case, wanted, said)
        return "sampled"
    low, high = map(Fraction, said["p_value_bounds"])
    assert low <= wanted <= high, (case, wanted, said)
    # A verdict never rests on what the bracket leaves open.
    assert not said["significant"] or wanted <= ALPHA, (case, wanted, said)
    if not said["method"]["exact"]:
        return "bracketed"
    judge_certified(said, wanted, case)
    return "right"


def judge_gate(case: EffectCase, service: InProcess) -> None:
    """A gate passes only where the true p-value is at most alpha, unless it says that it sampled."""
    status, said = service.post("/v1/gate", case.gate)
    assert status in {200, 409, 422}, (case, said)
    GENERATED[f"gates of several numbers: {said.get('verdict', 'refused')}"] += 1
    if status == 200 and said["verdict"] == "pass":
        truth = case.truth("greater")
        sampled = said["metrics"][0]["decision"]["p_value_bounds_kind"] == "confidence"
        assert truth is not None, case
        assert truth[0] <= ALPHA or sampled, (case, truth, said)
