"""Words and numbers of reports: sentences, numerals, digits of p."""

import importlib
import math
import pkgutil
import random
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np
import pytest
from hypothesis import given, strategies as st

import exactperm.reports
from exactperm.answers.gate import GateRecord, Verdict
from exactperm.answers.test import (
    ConfidenceInterval,
    IntervalKind,
    ItemLevel,
    ItemsRecord,
    MethodRecord,
    MonteCarloRecord,
    NamesRecord,
    StatisticRecord,
    TestRecord,
    WarningRecord,
)
from exactperm.engine.plan import Budget
from exactperm.inference.options import Options
from exactperm.inference.paired import run_test
from exactperm.local import run as local
from exactperm.presentation.numbers import apart, counted, enclosing, exactly, number, percent, probability
from exactperm.presentation.words import VERDICTS
from exactperm.reports.markdown import gate_markdown
from exactperm.reports.representations import BY_NAME, ReportContext
from exactperm.reports.sentences import head, interval_sentence, metric_sentences, sentences, summary
from exactperm.statistics.paired import Predictions, Scores, StatisticSpec

from .conftest import RECORD, metric_of

# Sentences are true and read well, whatever was tested and however the p-value is known.


Make = Callable[..., TestRecord]
Gate = Callable[..., GateRecord]
SAMPLED = MethodRecord("monte_carlo", False, None, "r", None, MonteCarloRecord(20_000, 7, 624, 0.0012))
BOUNDED = MethodRecord("bounds", False, 0.005, "r", None, None)


def test_an_exact_test_of_means(described: TestRecord) -> None:
    assert sentences(described) == (
        "U scored 0.866 and V 0.81 in mean over 5 items: U is higher by 0.056.",
        (
            "If it did not matter which system gave which output, a difference at least this large, in either direction, "
            "would come about with probability 0.0625 (exact, two-sided, by fft), so it is not significant at 0.05; no "
            "outcome on these items could have had p below 0.0625."
        ),
        "The 95 % confidence interval of the difference is 0.02 to 0.07 (inverting the same test, exact).",
    )


@pytest.mark.parametrize(
    ("statistic", "said"),
    [
        (
            StatisticRecord("sum_difference", -3.0, 12.0, 15.0),
            "U scored 12 and V 15 in total over 5 items: U is lower by 3.",
        ),
        (
            StatisticRecord("sign", 1.0, 2.0, 1.0),
            "U had the higher score on 2 and V on 1 of 5 items; they tied on 2: 1 more for U.",
        ),
        (
            StatisticRecord("signed_rank", -4.5, 5.0, 9.5),
            (
                "The ranks of the differences sum to 5 where U had the higher score and to 9.5 where V had, over 5 items: "
                "4.5 more for V."
            ),
        ),
        (
            StatisticRecord("f1", 0.03, 0.85, 0.82),
            "U reached 0.85 and V 0.82 in F1 over 5 items: U is higher by 0.03.",
        ),
        (
            StatisticRecord("errors/words", -0.01, 0.1, 0.11),
            "U reached 0.1 and V 0.11 in errors/words over 5 items: U is lower by 0.01.",
        ),
        (StatisticRecord("x1", 6.0, None, None), "On 5 items x1 came to 6."),
        (
            StatisticRecord("accuracy", 0.0, 0.5, 0.5),
            "U reached 0.5 and V 0.5 in accuracy over 5 items: no difference.",
        ),
        (
            StatisticRecord("mean_difference", 2e-7, 0.9386311, 0.9386309),
            "U scored 0.9386311 and V 0.9386309 in mean over 5 items: U is higher by 2e-07.",
        ),
    ],
)
def test_every_kind_of_statistic_reads_well(record: Make, statistic: StatisticRecord, said: str) -> None:
    assert sentences(record(statistic=statistic))[0] == said


def test_a_sampled_p_value_is_about_and_has_its_interval(record: Make) -> None:
    made = record(
        method=SAMPLED, p_value=0.0312, log10_p_value=math.log10(0.0312), p_value_bounds=(0.028, 0.0347),
        p_value_bounds_kind="confidence", significant=True, min_attainable_p=1e-9,
    )  # fmt: skip
    assert (
        "with probability of about 0.0312 (99 % confidence 0.028 to 0.0347, estimated from 20,000 samples with seed 7, "
        "two-sided), so it is significant at 0.05."
    ) in sentences(made)[1]


def test_a_bracketed_p_value_is_shown_as_its_bounds(record: Make) -> None:
    made = record(
        method=BOUNDED,
        p_value=0.0123,
        p_value_bounds=(0.01229999999, 0.0124),
        significant=True,
        min_attainable_p=1e-9,
    )
    assert (
        "with probability between 0.0122999 and 0.0124 (certified bounds of the exact value, two-sided), so it is "
        "significant at 0.05."
    ) in sentences(made)[1]


@pytest.mark.parametrize("method", [SAMPLED, BOUNDED])
def test_relations_that_the_bounds_leave_open_are_undecided(record: Make, method: MethodRecord) -> None:
    made = record(method=method, p_value=0.0499, p_value_bounds=(0.048, 0.052), significant=True)
    assert "whether it is significant at 0.05 is open" in sentences(made)[1]


@pytest.mark.parametrize("method", [SAMPLED, BOUNDED])
def test_bounds_are_written_on_their_side_of_alpha(record: Make, method: MethodRecord) -> None:
    made = record(
        method=method, p_value=0.0500002, p_value_bounds=(0.05000004, 0.0500004), min_attainable_p=1e-9
    )
    said = sentences(made)[1]
    assert re.search(r"0\.05000004 (and|to) 0\.0500004", said)
    assert said.endswith("so it is not significant at 0.05.")


@pytest.mark.parametrize(
    ("alternative", "event"),
    [
        ("two-sided", "a difference at least this large, in either direction, would"),
        ("greater", "a difference (U minus V) of 0.056 or more would"),
        ("less", "a difference (U minus V) of 0.056 or less would"),
    ],
)
def test_the_event_is_that_of_the_alternative(record: Make, alternative: str, event: str) -> None:
    assert event in sentences(record(alternative=alternative))[1]


def test_effects_without_scores_speak_of_a_value(record: Make) -> None:
    statistic = StatisticRecord("x1", 6.0, None, None)
    assert "a value at least as far from 0 would" in sentences(record(statistic=statistic))[1]
    assert "a value of 6 or more would" in sentences(record(statistic=statistic, alternative="greater"))[1]


def test_the_bootstrap_has_another_null(record: Make) -> None:
    said = sentences(record(test="bootstrap"))[1]
    assert said.startswith("If the true difference were 0 and items were drawn anew with replacement, ")
    assert "which output" not in said


def test_an_empty_tail_of_the_bootstrap_is_an_upper_bound(record: Make) -> None:
    made = record(
        test="bootstrap", p_value=1e-9, log10_p_value=-9.0, p_value_bounds=(0.0, 1e-9), significant=True,
        min_attainable_p=1e-9, warnings=(WarningRecord("bootstrap_empty_tail", "…"),),
    )  # fmt: skip
    assert "with probability of at most 1e-09 (a certified bound, two-sided, by fft)" in sentences(made)[1]


def test_clusters_swap_as_one_and_the_p_value_by_item_stands_beside(record: Make) -> None:
    items = ItemsRecord(n=2077, nonzero=300, clusters=316, wins=150, ties=16, losses=150)
    said = sentences(record(items=items, item_level=ItemLevel(0.0018, math.log10(0.0018), "fft", exact=True)))
    assert "over 2,077 items in 316 clusters: " in said[0]
    assert said[1].startswith("If it did not matter which system gave which cluster of outputs, ")
    assert said[-1].startswith("If every item were exchanged separately, p would be 0.0018; ")


def test_systems_that_do_not_differ_have_nothing_to_show(record: Make) -> None:
    items = ItemsRecord(n=1, nonzero=0, clusters=None, wins=0, ties=1, losses=0)
    said = sentences(
        record(items=items, p_value=1.0, log10_p_value=0.0, p_value_bounds=(1.0, 1.0), min_attainable_p=1.0,
               statistic=StatisticRecord("mean_difference", 0.0, 1.0, 1.0))
    )  # fmt: skip
    assert said[0] == "U scored 1 and V 1 in mean over 1 item: no difference."
    assert said[1].startswith("The systems do not differ on any item")


def test_systems_of_the_same_name_are_distinguished(record: Make) -> None:
    assert sentences(record(names=NamesRecord("gpt", "gpt")))[0].startswith(
        "gpt (U) scored 0.866 and gpt (V) 0.81 "
    )


@pytest.mark.parametrize(
    ("interval", "said"),
    [
        (ConfidenceInterval(0.9, None, None, "test_inversion", "exact", 0.0), "is unbounded: so few items"),
        (ConfidenceInterval(0.9, 0.1, None, "test_inversion", "exact", 0.0), "is 0.1 and above ("),
        (ConfidenceInterval(0.9, None, -0.1, "test_inversion", "exact", 0.0), "is -0.1 and below ("),
        (
            ConfidenceInterval(0.9, 1e-9, 0.2, "test_inversion", "bounded", 1e-4),
            "is 1e-09 to 0.2 (inverting the same test, each end at most 0.0001 too far out).",
        ),
        (
            ConfidenceInterval(0.9, -0.1, 0.2, "tango_score", "approximate", 0.0),
            "is -0.1 to 0.2 (Tango's score interval, asymptotic).",
        ),
        (
            ConfidenceInterval(0.9, -0.1, 0.2, "bootstrap_percentile", "sampled", 0.0),
            "is -0.1 to 0.2 (percentiles of the bootstrap distribution, sampled).",
        ),
    ],
)
def test_an_interval_says_how_it_was_made(record: Make, interval: ConfidenceInterval, said: str) -> None:
    text: Any = interval_sentence(record(confidence_interval=interval))
    assert text.startswith("The 90 % confidence interval of the difference ")
    assert said in text


def test_an_interval_beside_a_one_sided_test_is_that_of_the_two_sided_one(described: TestRecord) -> None:
    text: Any = interval_sentence(replace(described, alternative="greater"))
    assert text.endswith("(inverting the two-sided test, exact).")


@given(
    low=st.floats(-1, 1).filter(lambda x: abs(x) > 1e-300),
    width=st.floats(0, 1),
    kind=st.sampled_from(["exact", "bounded", "approximate", "sampled"]),
)
def test_an_interval_contains_0_in_words_exactly_when_it_does(
    low: float, width: float, kind: IntervalKind
) -> None:
    interval = ConfidenceInterval(0.95, low, low + width, "test_inversion", kind, 0.0)
    text = interval_sentence(replace(RECORD, confidence_interval=interval))
    found = re.search(r" is (\S+) to (\S+) \(", str(text))
    assert found
    assert (float(found[1]) <= 0.0 <= float(found[2])) == (low <= 0.0 <= low + width)
    if kind in {"exact", "bounded"}:
        assert float(found[1]) <= low
        assert float(found[2]) >= low + width


@given(st.floats(min_value=1e-290, max_value=1.0))
def test_the_p_value_and_the_verdict_agree(p: float) -> None:
    made = replace(
        RECORD,
        p_value=p,
        log10_p_value=math.log10(p),
        p_value_bounds=(p, p),
        significant=p <= 0.05,
        min_attainable_p=1e-300,
    )
    said = sentences(made)[1]
    found = re.search(r"with probability (\S+) \(", said)
    assert found
    assert (float(found[1]) <= 0.05) == ("so it is significant at" in said)


def test_a_metric_is_better_or_worse_by_its_direction(record: Make) -> None:
    slower = record(
        names=NamesRecord("candidate", "baseline"),
        statistic=StatisticRecord("mean_difference", 0.5, 2.0, 1.5),
    )
    worse = metric_of(slower, name="seconds", higher_is_better=False)
    assert (
        "The candidate scored 2 and the baseline 1.5 in mean over 5 items: the candidate is worse by 0.5."
        in metric_sentences(worse)
    )
    better = metric_of(slower, name="score", higher_is_better=True)
    assert "the candidate is better by 0.5." in metric_sentences(better)[0]


def test_a_gate_begins_with_its_verdict(gate: Gate) -> None:
    assert gate_markdown(gate(("f1", "pass")), "g_1").startswith("✅ **PASS** – p = ")
    several = gate(("f1", "fail"), ("bleu", "pass"), ("chrf", "fail"))
    assert summary(several) == (
        "FAIL – 2 of 3 metrics fail: f1, chrf. The p-values are adjusted together by Holm's method."
    )
    assert re.findall(r"^\* (.*?) – ", gate_markdown(several, "g_1"), re.MULTILINE) == [
        "**FAIL** `f1`",
        "**PASS** `bleu`",
        "**FAIL** `chrf`",
    ]
    assert "1 of 2 metrics fails: f1." in summary(gate(("f1", "fail"), ("bleu", "pass")))


@pytest.mark.parametrize(("counts", "said"), [("pass", "a pass"), ("fail", "a failure")])
def test_an_open_verdict_names_its_consequence(gate: Gate, counts: str, said: str) -> None:
    made = gate(("f1", "inconclusive"), on_inconclusive=counts)
    assert head(made) == f"INCONCLUSIVE, counted as {said}"


# A dictionary of a report that is keyed by an enum has an entry for each of its values: types alone do not say so.


def keyed() -> Iterator[tuple[str, Mapping[Any, Any], tuple[Any, ...]]]:
    """(name, dictionary, keys) of all that modules of reports annotate with literals as keys."""
    for module in pkgutil.walk_packages(exactperm.reports.__path__, "exactperm.reports."):
        loaded = importlib.import_module(module.name)
        for name, hint in get_type_hints(loaded).items():
            keys = get_args(hint)[0] if isinstance(get_origin(hint), type) and get_args(hint) else None
            if get_origin(keys) is Literal and issubclass(get_origin(hint), Mapping):
                yield f"{module.name}.{name}", getattr(loaded, name), get_args(keys)


@pytest.mark.parametrize(
    ("name", "words", "keys"), list(keyed()), ids=lambda value: value if isinstance(value, str) else ""
)
def test_a_dictionary_keyed_by_an_enum_has_all_its_values(
    name: str, words: Mapping[Any, Any], keys: tuple[Any, ...]
) -> None:
    assert set(words) == set(keys), name


def test_the_dictionaries_of_verdicts_relations_and_adjustments_are_among_them() -> None:
    names = {name.rpartition(".")[2] for name, _, _ in keyed()}
    assert set(VERDICTS) == set(get_args(Verdict))
    assert {
        "SYMBOLS", "ADJUSTMENTS", "RELATIONS", "TURNED", "_PROCEDURES", "_NULLS", "_VERBS",
        "_MARKS",
    } <= names  # fmt: skip


finite = st.floats(allow_nan=False, allow_infinity=False)
p_values = st.floats(min_value=1e-300, max_value=1.0)
alphas = st.floats(min_value=1e-12, max_value=0.999)


def order(left: float, right: float) -> int:
    return (left > right) - (left < right)


def near(center: float) -> st.SearchStrategy[float]:
    """Doubles a few units in the last place to a few per mille away."""
    steps = st.integers(-2_000_000, 2_000_000).map(lambda k: center * (1.0 + k * 1e-9))
    few = st.integers(-50, 50).map(lambda k: center + k * math.ulp(center))
    return st.one_of(steps, few)


@given(st.one_of(p_values, near(0.05)), st.one_of(alphas, st.just(0.05)))
def test_a_written_p_value_stands_where_the_true_one_does(p: float, alpha: float) -> None:
    written = float(probability(p, math.log10(p), alpha))
    assert order(written, float(exactly(alpha))) == order(p, alpha)
    assert (written == 1.0) == (p == 1.0)
    assert written > 0.0


@pytest.mark.parametrize(
    ("p", "text"),
    [
        (0.0499996, "0.0499996"),
        (0.04999999996, "0.04999999996"),
        (0.05, "0.05"),
        (0.0500000001, "0.0500000001"),
    ],
)
def test_alpha_is_never_reached_by_rounding(p: float, text: str) -> None:
    assert probability(p, math.log10(p), 0.05) == text


@pytest.mark.parametrize(
    ("p", "log10_p", "text"),
    [
        (0.0625, math.log10(0.0625), "0.0625"),
        (5e-324, -400.25, "5.623e-401"),
        (5e-324, -399.999999999, "1e-400"),
        (1.0, 0.0, "1"),
        (0.9999999999, math.log10(0.9999999999), "0.9999999999"),
    ],
)
def test_a_p_value_too_small_for_a_double_is_still_shown(p: float, log10_p: float, text: str) -> None:
    assert probability(p, log10_p) == text


@given(st.floats(min_value=-1e6, max_value=-300.5))
def test_no_p_value_is_0(log10_p: float) -> None:
    written = Decimal(probability(5e-324, log10_p))
    assert written > 0
    assert float(written.log10()) == pytest.approx(log10_p, abs=1e-3)


@given(finite)
def test_only_0_is_written_as_0_and_a_sign_is_kept(value: float) -> None:
    assert order(float(number(value)), 0.0) == order(value, 0.0)
    assert number(value) != "-0"


@given(finite, finite)
def test_a_number_compares_with_its_landmark_as_it_does_in_truth(value: float, landmark: float) -> None:
    assert order(float(number(value, landmark)), landmark) == order(value, landmark)


@given(finite)
def test_six_digits_are_right(value: float) -> None:
    assert float(number(value)) == pytest.approx(value, rel=5.000001e-6, abs=0.0)


@given(st.integers(-(10**14), 10**14))
def test_whole_numbers_are_written_in_full(value: int) -> None:
    assert number(float(value)) == str(value)


@given(
    st.one_of(st.tuples(finite, finite), st.floats(0.1, 1).flatmap(lambda x: st.tuples(st.just(x), near(x))))
)
def test_two_scores_look_different_exactly_when_they_are(pair: tuple[float, float]) -> None:
    first, second = map(float, apart(*pair))
    assert order(first, second) == order(*pair)


def test_scores_that_agree_to_six_digits_look_different() -> None:
    assert apart(0.9386309, 0.9386311) == ("0.9386309", "0.9386311")
    assert apart(0.866, 0.82) == ("0.866", "0.82")


@given(finite, finite, st.sampled_from([0.0, 0.05, 1.0]))
def test_certain_bounds_are_never_drawn_tighter(a: float, b: float, landmark: float) -> None:
    low, high = min(a, b), max(a, b)
    below, above = enclosing(low, high, landmark)
    assert Fraction(below) <= Fraction(repr(low))
    assert Fraction(above) >= Fraction(repr(high))
    assert order(float(below), landmark) == order(low, landmark)
    assert order(float(above), landmark) == order(high, landmark)


def test_an_end_near_0_is_not_shown_as_0() -> None:
    assert enclosing(1e-9, 0.0700000001, 0.0) == ("1e-09", "0.0700001")
    assert enclosing(-0.02, 0.0, 0.0) == ("-0.02", "0")


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.95, "95 %"), (0.9, "90 %"), (0.975, "97.5 %"), (0.9000000000000001, "90 %"),
        (0.9999999999, "99.99999999 %"),
    ],
)  # fmt: skip
def test_a_level_is_shown_in_percent(share: float, text: str) -> None:
    assert percent(share) == text


def test_one_item_is_one_item() -> None:
    assert [counted(n, "item") for n in (0, 1, 2077)] == ["0 items", "1 item", "2,077 items"]


# A printed p-value lies on its own side of alpha in every report, and a sampled one has the digits of its interval.


CONTEXT = ReportContext("x_1", "the signature")
FORMS = ["text", "markdown", "html"]
# p-values as they are said to people.
SAID = re.compile(r"(?:p=|p = |probability (?:of about )?|p-value</dt><dd>)([0-9.]+(?:e-?\d+)?)")


def said(record: Any, form: str) -> list[str]:
    render = BY_NAME[form].test
    assert render is not None
    found = [one.rstrip(".") for one in SAID.findall(render(record, CONTEXT).decode())]
    assert found, form
    return found


@pytest.mark.parametrize("seed", [0, 1, 3, 4, 5, 6, 7, 9, 10, 11])  # alpha is at most a half
@pytest.mark.parametrize("form", FORMS)
def test_a_p_value_next_to_alpha_never_looks_like_it(form: str, seed: int) -> None:
    """Alpha a hair above, at, and below the p-value."""
    draw = random.Random(seed)
    u, v = ([draw.randint(low, 9) for _ in range(14)] for low in (3, 0))
    data = Scores(np.array(u), np.array(v))
    p = run_test(data, StatisticSpec("mean_difference"), Options(), Budget()).p_value
    for off in (-1e-6, -1e-9, -1e-13, 0.0, 1e-13, 1e-9, 1e-6):
        alpha = p * (1.0 + off)
        record = run_test(data, StatisticSpec("mean_difference"), Options(alpha=alpha), Budget())
        for one in said(record, form):
            assert (float(one) < alpha, float(one) == alpha) == (p < alpha, p == alpha), (one, p, alpha)


@pytest.mark.parametrize("samples", [1_000, 20_000])
@pytest.mark.parametrize("form", FORMS)
def test_a_sampled_p_value_has_no_more_digits_than_its_interval(form: str, samples: int) -> None:
    draw = np.random.default_rng(4)
    gold = draw.integers(0, 5, 200)
    u, v = (np.where(draw.random(200) < 0.6, gold, draw.integers(0, 5, 200)).tolist() for _ in range(2))
    options = Options(method="monte_carlo", samples=samples)
    data, spec = Predictions(gold.tolist(), u, v), StatisticSpec("f1", {"average": "macro"})
    record = run_test(data, spec, options, Budget())
    low, high = record.p_value_bounds
    assert record.p_value_bounds_kind == "confidence"
    for one in said(record, form):
        place = 10.0 ** int(Decimal(one).as_tuple().exponent)
        assert (high - low) / 100.0 < place <= (high - low) / 5.0, (one, low, high)
        assert abs(float(one) - record.p_value) <= place / 2.0


def test_a_gate_of_nearly_one_says_so_in_few_digits() -> None:
    """Six digits would say 1; all of them said 0.9999999761692285."""
    answer = local.gate([0.0] * 26 + [1.0], [1.0] * 26 + [0.0], policy="improve")
    assert re.search(r"p = 0\.9{6,8}[0-8]?\d? >", answer.reason), answer.reason
    assert len(answer.reason.split("p = ")[1].split()[0]) <= 12


def test_a_gate_near_alpha_says_on_which_side() -> None:
    for off in (-1e-9, 0.0, 1e-9):
        alpha = 2.0**-6 * (1.0 + off)
        reason = local.gate([1.0] * 6, [0.0] * 6, policy="improve", alpha=alpha).reason
        shown, sign = re.findall(r"p = (\S+) (<=|>) alpha", reason)[0]
        assert float(shown) == 2.0**-6
        assert sign == ("<=" if alpha >= 2.0**-6 else ">")
