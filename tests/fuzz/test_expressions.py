"""Expressions: p-values against counting all assignments in fractions or 300 digits, and time against the plan."""

import ast
import itertools
import json
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from random import Random, SystemRandom
from typing import Any

import pytest
from flint import arb, ctx

from exactperm.execution.ipc import Unbounded
from exactperm.service.messages import Body, Job, RenderedResponse, limits_of
from exactperm.service.pipeline import handle, handle_in_place
from exactperm.settings import Settings
from tests.fuzz.asgi import GENERATED, TIMES, InProcess

DIGITS = 300
# Values of small expressions of small numbers that agree to so many digits are equal.
EQUAL = arb(10) ** -120
LARGEST_EXPONENT = 60
ALTERNATIVES = ("two-sided", "greater", "less")
TIED = (
    "log({0}*{1})-log({0})-log({1})",
    "sqrt({0}*{1})-sqrt({0})*sqrt({1})",
    "exp(log({0}))-{0}",
    "log(exp({0}))-{0}",
    "exp({0}/1e3)*exp(-{0}/1e3)-1",
    "log(exp(1))",
    "sqrt({0}*{0})-abs({0})",
)
Value = Fraction | arb


class UndefinedError(ArithmeticError):
    """There is no value: x/0, the root of what is negative, the logarithm of what is not positive."""


class UnsureError(ArithmeticError):
    """This oracle does not know: an exponential beyond its digits."""


@dataclass(frozen=True)
class Case:
    """One request for a test of effects."""

    stay: list[list[int]]
    swap: list[list[int]]
    expression: str
    alternative: str

    @property
    def request(self) -> dict[str, Any]:
        """Its body."""
        return {
            "stay": self.stay,
            "swap": self.swap,
            "alternative": self.alternative,
            "statistic": {"expression": self.expression},
        }


def small(random: Random, *, rational: bool) -> Case:
    """At most 6 items of at most 3 small numbers, and a short expression."""
    width, items, most = random.randint(1, 3), random.randint(1, 6), random.choice([2, 5, 30])
    names = [f"x{index + 1}" for index in range(width)]
    text = _expression(random, names, random.randint(1, 4), rational=rational, most=4)
    if not rational and random.random() < 0.3:
        text += "+" + random.choice(TIED).format(random.choice(names), random.choice(names))
    return Case(*_data(random, items, width, most), text, random.choice(ALTERNATIVES))


def costly(random: Random, most_items: int) -> Case:
    """A few items, and an expression that is as long, deep or large as the parser lets through, or ties."""
    width, items = random.randint(1, 3), random.randint(1, most_items)
    most = random.choice([2, 6, 30, 1000, 10**9])
    names = [f"x{index + 1}" for index in range(width)]
    kind = random.randrange(5)
    if kind == 0:
        text = _repeated(random, names)
    elif kind == 1:
        text = _nested(random, names)
    elif kind == 2:
        tied = random.choice(TIED).format(random.choice(names), random.choice(names))
        joint = random.choice(["+", "-", "*", "+x1*"])
        text = joint.join([tied] * random.randint(1, 12))
    else:
        text = _expression(random, names, random.randint(3, 7), rational=kind == 3, most=300)
    return Case(*_data(random, items, width, most), _cut(text, names), random.choice(ALTERNATIVES))


def _data(random: Random, items: int, width: int, most: int) -> tuple[list[list[int]], list[list[int]]]:
    least = 1 if random.random() < 0.6 else -most
    stay, swap = (
        [[random.randint(least, most) for _ in range(width)] for _ in range(items)] for _ in range(2)
    )
    return stay, swap


def _cut(text: str, names: list[str]) -> str:
    """An expression within the parser's limits of characters and, nearly always, tokens."""
    return text if len(text) <= 1500 else f"{names[0]}*{names[-1]}"


def _constant(random: Random, most: int) -> str:
    exponent = random.randint(-most, most) if random.random() < 0.5 else 0
    return f"{random.randint(1, 9)}" + (f"e{exponent}" if exponent else "")


def _repeated(random: Random, names: list[str]) -> str:
    """A product or a sum of many like factors with constants of up to 300 digits."""
    name, other = random.choice(names), random.choice(names)
    factor = random.choice(
        ["{0}", "({0}+{1})", "({0}+{2})", "{2}", "abs({0})", "({0}/{2}+{1})", "log({0}*{2})"]
    )
    text = factor.format(name, other, _constant(random, 300))
    return (
        random.choice("*+*/").join([text] * random.randint(2, 200 // (1 + text.count("(") * 2))) + "*" + other
    )


def _nested(random: Random, names: list[str]) -> str:
    """Functions within functions, or a continued fraction."""
    text = random.choice(names)
    for _ in range(random.randint(2, 30)):
        head = random.choice(
            [
                "log(abs({0})+2)",
                "sqrt(abs({0}))",
                "exp({0}/{2})",
                "1/({0}+{1})",
                "min({0},{1})",
                "abs({0}-{2})",
                "({0})*{1}",
            ]
        )
        text = head.format(text, random.choice(names), _constant(random, 20))
    return text


def _expression(random: Random, names: list[str], depth: int, *, rational: bool, most: int) -> str:
    if depth == 0 or random.random() < 0.1:
        return random.choice(names) if random.random() < 0.7 else _constant(random, most)

    def part() -> str:
        return _expression(random, names, depth - 1, rational=rational, most=most)

    chance = random.random()
    if chance < 0.6:
        return f"({part()}{random.choice('+-*/')}{part()})"
    if chance < 0.75 or rational:
        return random.choice([f"abs({part()})", f"min({part()},{part()})", f"max({part()},{part()})"])
    return random.choice(
        ["sqrt(abs({0}))", "log(abs({0})+1)", "exp(-abs({0})/7)", "log({0})", "sqrt({0})"]
    ).format(part())


# -- the truth ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Truth:
    """The p-value by counting, the observed value, and the least and the greatest one, where 0 stands for what is undefined."""

    p_value: Fraction
    observed: float
    least: float
    greatest: float


def truth(case: Case) -> Truth | None:
    """All by counting; None where the observed value is undefined.

    Raises UnsureError where a value is beyond the oracle's digits.
    """
    with ctx.workdps(DIGITS):
        tree = ast.parse(case.expression, mode="eval").body
        observed = _value_or_none(tree, [sum(column) for column in zip(*case.stay, strict=True)])
        if observed is None:
            return None
        extreme, doubles = 0, []
        for choice in itertools.product(*zip(case.stay, case.swap, strict=True)):
            value = _value_or_none(tree, [sum(column) for column in zip(*choice, strict=True)])
            extreme += value is None or _reaches(value, observed, case.alternative)
            doubles.append(0.0 if value is None else _double(value))
        p_value = Fraction(extreme, 2 ** len(case.stay))
        return Truth(p_value, _double(observed), min(doubles), max(doubles))


def _double(value: Value) -> float:
    return 0.0 if _sign(value) == 0 else float(value) if isinstance(value, Fraction) else float(value.mid())


def _reaches(value: Value, observed: Value, alternative: str) -> bool:
    if alternative == "two-sided":
        value, observed = _magnitude(value), _magnitude(observed)
    sign = _sign(_minus(value, observed))
    return sign <= 0 if alternative == "less" else sign >= 0


def _magnitude(value: Value) -> Value:
    return abs(value) if isinstance(value, Fraction) else value.__abs__()


def _minus(one: Value, other: Value) -> Value:
    if isinstance(one, Fraction) and isinstance(other, Fraction):
        return one - other
    return _arb(one) - _arb(other)


def _arb(value: Value) -> arb:
    return arb(value.numerator) / value.denominator if isinstance(value, Fraction) else value


def _sign(value: Value) -> int:
    if isinstance(value, Fraction):
        return (value > 0) - (value < 0)
    if value.__abs__() < EQUAL:
        return 0
    return 1 if value > 0 else -1


def _value_or_none(tree: ast.expr, row: list[int]) -> Value | None:
    try:
        return _evaluated(tree, row)
    except UndefinedError:
        return None


def _evaluated(tree: ast.expr, row: list[int]) -> Value:
    if isinstance(tree, ast.Constant):
        return Fraction(str(tree.value))
    if isinstance(tree, ast.Name):
        return Fraction(row[int(tree.id[1:]) - 1])
    if isinstance(tree, ast.UnaryOp):
        return -_evaluated(tree.operand, row)
    if isinstance(tree, ast.BinOp):
        return _combined(tree.op, _evaluated(tree.left, row), _evaluated(tree.right, row))
    assert isinstance(tree, ast.Call)
    assert isinstance(tree.func, ast.Name)
    return _CALLS[tree.func.id](*(_evaluated(argument, row) for argument in tree.args))


def _combined(operator: ast.operator, one: Value, other: Value) -> Value:
    if isinstance(operator, ast.Div):
        if _sign(other) == 0:
            if _sign(one) == 0:
                return Fraction(0)
            raise UndefinedError
        if isinstance(one, Fraction) and isinstance(other, Fraction):
            return one / other
        return _arb(one) / _arb(other)
    left: Any = one
    right: Any = other
    if not (isinstance(one, Fraction) and isinstance(other, Fraction)):
        left, right = _arb(one), _arb(other)
    value: Value = left * right if isinstance(operator, ast.Mult) else left + right
    return left - right if isinstance(operator, ast.Sub) else value


def _root(value: Value) -> Value:
    sign = _sign(value)
    if sign < 0:
        raise UndefinedError
    return _arb(value).sqrt() if sign else Fraction(0)


def _logarithm(value: Value) -> Value:
    if _sign(value) <= 0:
        raise UndefinedError
    return _arb(value).log()


def _exponential(value: Value) -> Value:
    if _arb(value).__abs__() > LARGEST_EXPONENT:
        raise UnsureError
    return _arb(value).exp()


def _chosen(sign: int) -> Callable[..., Value]:
    def pick(*values: Value) -> Value:
        best = values[0]
        for value in values[1:]:
            best = value if sign * _sign(_minus(value, best)) > 0 else best
        return best

    return pick


_CALLS: dict[str, Callable[..., Value]] = {
    "abs": _magnitude, "sqrt": _root, "log": _logarithm, "exp": _exponential, "min": _chosen(-1), "max": _chosen(1),
}  # fmt: skip


SMALL, COSTLY, ITEMS = 300 * TIMES, 80 * TIMES, 12 if TIMES == 1 else 16
# A refusal says that a number is beyond what is worked with; any other would be a fault.
ALLOWED = {"undefined_statistic", "value_too_large"}
# Tests that would be long are sampled or refused: what is looked for is a wrong prediction.
LIMITS = replace(limits_of(Settings()), engine_budget_operations=400_000_000)
TIMES_THE_PLAN, BESIDES_S = 3.0, 0.2
# What `_reference` takes on an ordinary core.
REFERENCE_S = 0.01


def seeds(count: int) -> range:
    """The same ones in the short form, new ones in the long form."""
    start = 0 if TIMES == 1 else SystemRandom().randrange(10**9)
    return range(start, start + count)


@pytest.mark.parametrize("rational", [True, False])
def test_small_expressions_have_the_p_value_of_counting(service: InProcess, *, rational: bool) -> None:
    compared = 0
    for seed in seeds(SMALL):
        case = small(Random(seed), rational=rational)
        try:
            wanted = truth(case)
        except UnsureError:
            continue
        status, said = service.post("/v1/tests/effects", {**case.request, "pmf": "none"})
        if status != 200:
            codes = {flaw["code"] for flaw in said["errors"]}
            assert codes <= ALLOWED, (seed, case, said)
            assert wanted is None or "undefined_statistic" not in codes, (seed, case)
            continue
        assert wanted is not None, (seed, case)
        assert said["method"]["exact"], (seed, case)
        assert abs(Fraction(said["p_value"]) / wanted.p_value - 1) < Fraction(1, 10**11), (seed, case, wanted)
        close = partial(math.isclose, rel_tol=1e-15 if rational else 1e-12)
        assert close(said["statistic"]["observed"], wanted.observed), (seed, case, wanted)
        close = partial(math.isclose, rel_tol=1e-11)
        assert close(said["null"]["min"], wanted.least), (seed, case, wanted, said["null"])
        assert close(said["null"]["max"], wanted.greatest), (seed, case, wanted, said["null"])
        compared += 1
    GENERATED["p-values of expressions compared with counting"] += compared
    assert compared > SMALL // 2


class Planned(Unbounded):
    """Remembers what a call said it would take."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def plan(self, seconds: float) -> None:
        self.seconds = seconds


def test_no_expression_takes_much_longer_than_planned() -> None:
    """Processor time, and in units of this machine: other work beside it must not count."""
    for seed in seeds(COSTLY):
        case = costly(Random(seed), ITEMS)
        test = "bootstrap" if seed % 5 == 0 else "permutation"
        body = json.dumps({**case.request, "test": test, "samples": 1000}).encode()
        assert len(body) < 10_000
        now = time.monotonic()
        job = Job("effects", Body("application/json"), (), "json", "x", now, now, LIMITS)
        planned = Planned()
        slower = max(1.0, _reference() / REFERENCE_S)
        began = time.thread_time()
        found = handle_in_place(job, body, Settings().inplace_engine_seconds, 1 << 17)
        where = "in place"
        if not isinstance(found, RenderedResponse):
            where, began = "in a worker", time.thread_time()
            found = handle(job, body, planned)
        took = (time.thread_time() - began) / slower
        assert found.status in {200, 422}, (seed, case, found.body[:500])
        assert took <= TIMES_THE_PLAN * planned.seconds + BESIDES_S, (
            seed,
            where,
            took,
            planned.seconds,
            case,
        )
        GENERATED[f"costly expressions {where}"] += 1


def _reference() -> float:
    """Processor time of a fixed piece of work like that of the tests: arithmetic in fractions."""
    began = time.thread_time()
    total = Fraction(0)
    for index in range(1, 2500):
        total += Fraction(index % 97, 1 + index % 89)
    return time.thread_time() - began
