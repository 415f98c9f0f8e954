"""Sentences are true and read well, whatever was tested and however the p-value is known."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from exactperm.answers.gate import GateRecord
from exactperm.answers.test import (
    ConfidenceInterval,
    ItemLevel,
    ItemsRecord,
    MethodRecord,
    MonteCarloRecord,
    NamesRecord,
    StatisticRecord,
    TestRecord,
    WarningRecord,
)
from exactperm.reports.markdown import gate_markdown
from exactperm.reports.sentences import head, interval_sentence, metric_sentences, sentences, summary
from tests.unit.reports.conftest import RECORD, metric_of

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


def test_a_bracketed_p_value_is_said_as_its_bounds(record: Make) -> None:
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
def test_what_the_bounds_leave_open_is_said_to_be_open(record: Make, method: MethodRecord) -> None:
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
    assert said[-1].startswith("If every item were exchanged by itself, p would be 0.0018; ")


def test_systems_that_do_not_differ_have_nothing_to_show(record: Make) -> None:
    items = ItemsRecord(n=1, nonzero=0, clusters=None, wins=0, ties=1, losses=0)
    said = sentences(
        record(items=items, p_value=1.0, log10_p_value=0.0, p_value_bounds=(1.0, 1.0), min_attainable_p=1.0,
               statistic=StatisticRecord("mean_difference", 0.0, 1.0, 1.0))
    )  # fmt: skip
    assert said[0] == "U scored 1 and V 1 in mean over 1 item: no difference."
    assert said[1].startswith("The systems do not differ on any item")


def test_systems_of_the_same_name_are_told_apart(record: Make) -> None:
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
    text = interval_sentence(record(confidence_interval=interval))
    assert text is not None
    assert text.startswith("The 90 % confidence interval of the difference ")
    assert said in text


def test_an_interval_beside_a_one_sided_test_is_that_of_the_two_sided_one(described: TestRecord) -> None:
    text = interval_sentence(replace(described, alternative="greater"))
    assert text is not None
    assert text.endswith("(inverting the two-sided test, exact).")


@given(
    low=st.floats(-1, 1).filter(lambda x: abs(x) > 1e-300),
    width=st.floats(0, 1),
    kind=st.sampled_from(["exact", "bounded", "approximate", "sampled"]),
)
def test_an_interval_holds_nought_in_words_exactly_when_it_does(low: float, width: float, kind: str) -> None:
    interval = ConfidenceInterval(0.95, low, low + width, "test_inversion", kind, 0.0)  # type: ignore[arg-type]
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


def test_a_metric_says_better_or_worse_by_what_is_better(record: Make) -> None:
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
def test_an_open_verdict_says_what_it_counts_as(gate: Gate, counts: str, said: str) -> None:
    made = gate(("f1", "inconclusive"), on_inconclusive=counts)
    assert head(made) == f"INCONCLUSIVE, counted as {said}"
