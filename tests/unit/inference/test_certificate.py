"""No number leaves without a certificate, whatever a method returns: p-value, bounds, fraction or rubbish."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st

from exactperm.answers.gate import GateTerms
from exactperm.answers.test import Fraction2
from exactperm.engine import methods
from exactperm.engine.bootstrap import law
from exactperm.engine.joint import methods as joint_methods
from exactperm.engine.plan import Budget, Cost
from exactperm.engine.probability import SMALLEST, Probability, from_fraction
from exactperm.engine.real.bounds import Bracket
from exactperm.inference.additive_test import additive_test
from exactperm.inference.certificate import certified_by, flaw_of, require
from exactperm.inference.exactness import MOST_ERROR
from exactperm.inference.gate.decision import judgements
from exactperm.inference.gate.outcome import Outcome
from exactperm.inference.options import Method, Options
from exactperm.inference.p_value import Answer, bracketed, certified
from exactperm.inference.paired_test import run_test
from exactperm.statistics.additive_problem import Additive
from exactperm.statistics.paired import Counts, Effects, Paired, StatisticSpec
from tests.refusals import refused_alone

STAY = np.array([3, -1, 2, 5, 4, -2, 6, 7])
LOG_P = math.log(5 / 128)

# What a broken method might return for a p-value of a few percent.
BROKEN = {
    "infinite bound": Probability(math.log(1e-17), math.inf),
    "no bound": Probability(LOG_P, math.nan),
    "negative bound": Probability(LOG_P, -1e-3),
    "unsure": Probability(LOG_P, 2.0 * MOST_ERROR),
    "NaN": Probability(math.nan, 1e-14),
    "NaN everywhere": Probability(math.nan, math.nan),
    "nought": Probability(-math.inf, 1e-14),
    "more than one": Probability(0.5, 1e-14),
    "smaller than one assignment": Probability(-8.5 * math.log(2.0), 1e-14),
    "an empty fraction": Probability(LOG_P, 0.0, (0, 0)),
    "a fraction above one": Probability(0.0, 0.0, (9, 3)),
    "another fraction": Probability(LOG_P, 0.0, (1, 8)),
}


def own_share(n: int = len(STAY)) -> float:
    return -n * math.log10(2.0)


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_probability_has_a_flaw(name: str) -> None:
    assert flaw_of(certified(BROKEN[name]), exact=True, least_log10=own_share()) is not None


@given(st.integers(1, 2**8), st.floats(0, 1e-7))
def test_a_true_probability_has_none(ways: int, bound: float) -> None:
    for made in (from_fraction(ways, 8), Probability(math.log(ways) - 8 * math.log(2.0), bound)):
        answer = certified(made)
        assert flaw_of(answer, exact=True, least_log10=own_share()) is None
        low, high = (Fraction(end) for end in answer.bounds)
        assert low <= Fraction(ways, 256) <= high or not made.fraction


@pytest.mark.parametrize("bits", [1, 52, 1000, 1030, 1073, 1074, 1075, 1080, 5000])
@pytest.mark.parametrize("ways", [1, 3, 12345])
def test_the_error_bound_is_true_where_the_double_is_subnormal(ways: int, bits: int) -> None:
    """Of the double that is printed down to the smallest one, of 10**log10 below."""
    if ways > 2**bits:
        return
    truth = Fraction(ways, 2**bits)
    for made in (
        from_fraction(ways, bits),
        Probability(math.log(ways) - bits * math.log(2.0), 1e-12 + 2.0**-50 * bits),
    ):
        answer = certified(made)
        assert flaw_of(answer, exact=True) is None
        error = answer.relative_error_bound
        assert error is not None
        if truth >= Fraction(SMALLEST):
            assert abs(Fraction(answer.p_value) - truth) <= Fraction(error) * Fraction(answer.p_value)
        else:
            assert (answer.p_value, error < MOST_ERROR) == (SMALLEST, True)


@pytest.mark.parametrize(
    ("low", "high", "flawed"),
    [
        (-math.inf, 0.0, True),
        (-math.inf, -math.inf, True),
        (math.nan, -1.0, True),
        (-1.0, -2.0, True),
        (-2.0, -1.0, False),
        (-math.inf, -3.0, False),
        (-30.0, -29.0, True),
    ],
)
def test_a_bracket_says_something_and_holds_the_observed_outcome(
    low: float, high: float, flawed: bool
) -> None:
    answer = bracketed(Bracket(low, high, 0, 0, reached=True), 1e-3)
    assert (flaw_of(answer, exact=False, least_log10=own_share()) is not None) == flawed
    if not flawed:
        assert answer.relative_error_bound is not None
        p, error = answer.p_value, answer.relative_error_bound
        assert p * (1.0 - error) <= answer.bounds[0]
        assert answer.bounds[1] <= p * (1.0 + error) * (1.0 + 1e-15)


def test_the_next_method_answers_where_one_cannot_prove_its_own() -> None:
    right = certified(from_fraction(5, 7))
    costs = [Cost("fft", 1, 1), Cost("dp", 1, 1)]
    answers = {"fft": certified(BROKEN["infinite bound"]), "dp": right}
    by, answer = certified_by(costs, lambda cost: answers[cost.method], least_log10=own_share())
    assert (by.method, answer) == ("dp", right)
    with refused_alone("not_certified", "/method"):
        certified_by(costs[:1], lambda cost: answers[cost.method], least_log10=own_share())


def test_an_answer_about_to_leave_is_looked_at_once_more() -> None:
    right = certified(from_fraction(5, 7))
    require(right, exact=True, attainable=1 / 128)
    for wrong, attainable in (
        (replace(right, p_value=math.nan), 0.0),
        (replace(right, bounds=(0.5, 1.0)), 0.0),
        (replace(right, fraction=Fraction2(1, 7)), 0.0),
        (replace(right, relative_error_bound=None), 0.0),
        (right, 0.0625),
    ):
        with pytest.raises(ArithmeticError):
            require(wrong, exact=True, attainable=attainable)


@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.parametrize("data", ["one sum", "several sums", "bootstrap"])
def test_whatever_the_engine_returns_no_exact_answer_is_wrong(
    monkeypatch: pytest.MonkeyPatch, data: str, name: str
) -> None:
    """The public entry, every exact method of the engine broken: a bracket, a sample or a refusal."""
    if (data, name) == ("bootstrap", "smaller than one assignment"):
        return  # one resample has n**-n
    for module, function in (
        (methods, "exactly"),
        (joint_methods, "exactly"),
        (law, "probability"),
    ):
        monkeypatch.setattr(module, function, lambda *_: BROKEN[name])
    monkeypatch.setattr(methods, "with_ties", lambda *_: (BROKEN[name], BROKEN[name]))
    counts = {"tp": STAY + 2, "incorrect": STAY + 4}
    other = {"tp": STAY[::-1] + 2, "incorrect": STAY + 9}
    posed: dict[str, tuple[Paired, StatisticSpec]] = {
        "one sum": (Effects(STAY), StatisticSpec("expression", {"expression": "x1"})),
        "several sums": (Counts(counts, other), StatisticSpec("f1")),
        "bootstrap": (Effects(STAY), StatisticSpec("expression", {"expression": "x1"})),
    }
    options = Options(test="bootstrap" if data == "bootstrap" else "permutation", samples=2000, pmf="none")
    record = run_test(*posed[data], options, Budget())
    assert not record.method.exact
    assert record.method.name == ("bounds" if data == "one sum" else "monte_carlo")
    assert "could not prove its answer" in record.method.reason
    exact: Method = "grid" if data == "several sums" else "fft"
    with refused_alone("not_certified", "/method"):
        run_test(*posed[data], replace(options, method=exact), Budget())


def test_a_fraction_by_another_method_must_be_the_same_number() -> None:
    problem = Additive(stay=STAY, swap=None, unit=Fraction(1), name="sum", items=len(STAY))
    test = additive_test(problem, Options(method="fft", exact_fraction=True), Budget())
    assert test.solve().answer.fraction is not None
    answer: Answer = test.solve().answer
    assert flaw_of(replace(answer, fraction=Fraction2(1, 3)), exact=True) is not None


@pytest.mark.parametrize(
    ("p", "log10", "bounds"),
    [
        (1e-17, -17.0, (0.0, math.nan)),
        (math.nan, -17.0, (0.0, 1.0)),
        (0.5, -17.0, (0.0, 1.0)),
        (0.0, -math.inf, (0.0, 0.0)),
        (0.04, math.log10(0.04), (0.05, 0.9)),
    ],
)
def test_a_gate_does_not_decide_by_what_is_no_p_value(
    p: float, log10: float, bounds: tuple[float, float]
) -> None:
    outcome = Outcome("permutation", "less", 0.0, p, log10, bounds, "certified", True, 0.001)
    with pytest.raises(ArithmeticError, match="certificate"):
        judgements([outcome], [GateTerms()])
