"""Line, Markdown and CSV, of tests and of gates."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable
from dataclasses import replace

import pytest

from exactperm.answers.gate import GateRecord
from exactperm.answers.test import (
    ConfidenceInterval,
    EffectSize,
    ItemLevel,
    NamesRecord,
    StatisticRecord,
    TestRecord,
    WarningRecord,
)
from exactperm.reports.csv_tables import gate_rows, row
from exactperm.reports.markdown import gate_markdown, markdown
from exactperm.reports.text import gate_line, line
from tests.unit.reports.conftest import GATE_TEST, metric_of

Make = Callable[..., TestRecord]
Gate = Callable[..., GateRecord]
ID = "t_9f86d081884c7d65"


def table(text: str) -> list[dict[str, str]]:
    """The first table of a Markdown text."""
    rows = [
        [cell.strip() for cell in each.strip("|").split("|")]
        for each in text.split("\n")
        if each.startswith("|")
    ]
    head, rule, *body = rows
    assert all(set(cell) <= {"-", ":"} for cell in rule)
    assert {len(each) for each in rows} == {len(head)}
    return [dict(zip(head, each, strict=True)) for each in body]


def one(text: str) -> dict[str, str]:
    (found,) = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    return found


def test_the_line_says_what_a_log_needs(record: Make) -> None:
    assert line(record(), ID) == (
        "p=0.0625 (exact, fft) two-sided mean_difference=0.056 U=0.866 V=0.81 n=5 not significant at 0.05 "
        "[alpha_unattainable] t_9f86d081884c7d65"
    )


def test_the_line_has_interval_and_effect_size_when_they_were_asked_for(described: TestRecord) -> None:
    assert " n=5 ci0.95=[0.02,0.07] d_z=2.18 not significant " in line(described, ID)
    unbounded = ConfidenceInterval(0.9, None, None, "test_inversion", "exact", 0.0)
    assert " ci0.9=[-inf,inf] " in line(replace(described, confidence_interval=unbounded), ID)
    assert "q-17" not in line(described, ID)


def test_markdown_is_verdict_table_and_sentences(record: Make) -> None:
    text = markdown(record(), ID)
    first, _, *rest = text.split("\n")
    assert first == "**Not significant at 0.05**, p = 0.0625 (two-sided, exact)"
    assert table(text) == [
        {
            "statistic": "`mean_difference`",
            "`U`": "0.866",
            "`V`": "0.81",
            "difference": "+0.056",
            "p-value": "0.0625",
            "items": "5",
            "wins / ties / losses": "5 / 0 / 0",
        }
    ]
    assert "`U` scored 0.866 and `V` 0.81 in mean over 5 items: `U` is higher by 0.056." in "\n".join(rest)
    assert "> **alpha_unattainable**: No result could be significant." in rest
    assert rest[-2:] == ["<sub>exactperm t_9f86d081884c7d65, method `fft`</sub>", ""]


def test_markdown_has_what_was_asked_for_beside(described: TestRecord) -> None:
    text = markdown(described, ID)
    (cells,) = table(text)
    assert (cells["95 % interval"], cells["d_z"]) == ("0.02 to 0.07", "2.18")
    assert "* toward `U`: `q-17`, `q-3`\n* toward `V`: `q-5`\n" in text
    assert text.count("<details>") == text.count("</details>") == 1


def test_the_verdict_is_open_where_the_bounds_are(record: Make) -> None:
    made = record(p_value=0.0499, p_value_bounds=(0.048, 0.052), significant=True)
    assert markdown(made, ID).startswith("**Not settled at 0.05**, p = 0.0499 ")


def test_systems_of_one_name_have_their_own_columns(record: Make) -> None:
    (cells,) = table(markdown(record(names=NamesRecord("gpt", "gpt")), ID))
    assert (cells["`gpt` (U)"], cells["`gpt` (V)"]) == ("0.866", "0.81")


def test_a_statistic_without_own_scores_has_a_value(record: Make) -> None:
    (cells,) = table(markdown(record(statistic=StatisticRecord("x1", 6.0, None, None)), ID))
    assert (cells["statistic"], cells["value"]) == ("`x1`", "6")


def test_the_row_loses_no_digit(record: Make) -> None:
    p = 0.1 + 0.2
    said = one(row(record(p_value=p), ID))
    assert float(said["p_value"]) == p
    assert (said["clusters"], said["exact"], said["significant"]) == ("", "true", "false")


def test_every_column_is_always_there(record: Make, described: TestRecord) -> None:
    without, full = one(row(record(), ID)), one(row(described, ID))
    assert list(without) == list(full)
    assert (full["interval_low"], full["interval_high"], full["interval_kind"]) == ("0.02", "0.07", "exact")
    assert (full["cohens_d_z"], full["only_u"], full["odds_high"]) == ("2.18", "6", "276.0")
    assert json.loads(full["moved_toward_u"]) == ["q-17", "q-3"]
    assert {without[name] for name in full if name.startswith(("interval", "moved", "odds", "only"))} == {""}


def test_an_end_that_no_data_can_set_is_empty_beside_its_method(described: TestRecord) -> None:
    interval = ConfidenceInterval(0.9, None, 0.2, "test_inversion", "exact", 0.0)
    said = one(
        row(replace(described, confidence_interval=interval, effect_size=EffectSize(None, None, None)), ID)
    )
    assert (said["interval_low"], said["interval_high"], said["interval_method"]) == (
        "",
        "0.2",
        "test_inversion",
    )
    assert (said["cohens_d_z"], said["only_u"]) == ("", "")


def test_the_p_value_by_item_stands_beside_that_of_the_clusters(record: Make) -> None:
    level = ItemLevel(0.001, -3.0, "fft", exact=True)
    assert " p_by_item=0.001 " in line(record(item_level=level), ID)
    assert table(markdown(record(item_level=level), ID))[0]["p-value by item"] == "0.001"
    assert one(row(record(item_level=level), ID))["item_level_p_value"] == "0.001"
    assert "by item" not in markdown(record(), ID)


def test_a_p_value_just_below_alpha_is_not_written_as_alpha(record: Make, gate: Gate) -> None:
    p = 0.04999999996
    made = record(p_value=p, log10_p_value=math.log10(p), p_value_bounds=(p, p), significant=True)
    assert line(made, ID).startswith("p=0.04999999996 ")
    assert table(markdown(made, ID))[0]["p-value"] == "0.04999999996"
    decided = gate(metric_of(GATE_TEST, p=p, verdict="fail"))
    assert " p=0.04999999996 " in gate_line(decided, "g_1")
    assert table(gate_markdown(decided, "g_1"))[0]["p"] == "0.04999999996 (exact)"


def test_the_line_of_a_gate_begins_with_its_verdict(gate: Gate) -> None:
    assert gate_line(gate(metric_of(GATE_TEST, margin=0.01, kind="asymptotic")), "g_1") == (
        "PASS: no_regression margin=0.01 higher_is_better p=0.03125 (asymptotic, tango_score, greater) alpha=0.05 mean_difference=0.056 "
        "candidate=0.866 baseline=0.81 n=5 ci0.95=[0.02,0.07] d_z=2.18 g_1"
    )
    several = gate_line(gate(("f1", "pass"), ("a b", "fail")), "g_1")
    assert several.startswith("FAIL: 2 metrics, Holm; f1 PASS: no_regression ")
    assert '; "a b" FAIL: no_regression ' in several
    lenient = gate_line(gate(("f1", "inconclusive")), "g_1")
    assert lenient.startswith("INCONCLUSIVE, counted as a pass: ")


def test_the_line_of_a_gate_says_when_lower_is_better(gate: Gate) -> None:
    assert " lower_is_better " in gate_line(gate(metric_of(GATE_TEST, higher_is_better=False)), "g_1")
    assert " higher_is_better " in gate_line(gate(metric_of(GATE_TEST)), "g_1")


@pytest.mark.parametrize(
    ("verdict", "start"),
    [
        ("pass", "✅ **PASS** – p"),
        ("fail", "❌ **FAIL** – p"),
        ("inconclusive", "⚠️ **INCONCLUSIVE, counted as a pass** – p"),
    ],
)
def test_the_markdown_of_a_gate_begins_with_its_verdict_in_words(
    gate: Gate, verdict: str, start: str
) -> None:
    assert gate_markdown(gate(("f1", verdict)), "g_1").startswith(start)


def test_the_markdown_of_a_gate_has_a_row_for_every_metric(gate: Gate) -> None:
    plain = replace(GATE_TEST, confidence_interval=None, effect_size=None, moved=None)
    text = gate_markdown(
        gate(
            metric_of(
                GATE_TEST, name="f1", verdict="fail", p=0.02, adjusted=0.04, policy="improve", margin=0.01
            ),
            metric_of(plain, name="mean_difference", p=0.04),
        ),
        "g_1",
    )
    first, second = table(text)
    assert (first["metric"], first["verdict"], second["verdict"]) == (
        "`f1` (higher is better)",
        "✗ FAIL",
        "✓ PASS",
    )
    assert (first["policy"], second["policy"]) == ("`improve`, margin 0.01", "`no_regression`")
    assert first["p adjusted"] == "0.04 (exact)"
    assert (first["95 % interval"], second["95 % interval"]) == ("0.02 to 0.07", "")
    assert {first["statistic"], second["statistic"]} == {"`mean_difference`"}
    assert "* `f1`, toward `candidate`: `q-17`, `q-3`" in text


def test_a_warning_that_several_metrics_have_is_said_once(gate: Gate) -> None:
    warned = replace(GATE_TEST, warnings=(WarningRecord("sampled", "It was sampled."),))
    text = gate_markdown(gate(metric_of(warned, name="a"), metric_of(warned, name="b")), "g_1")
    assert text.count("> **sampled**: It was sampled.") == 1


def test_a_gate_has_one_row_for_each_metric_with_all_digits(gate: Gate) -> None:
    p = 0.1 + 0.2
    made = gate(metric_of(GATE_TEST, name="a", p=p, adjusted=2 * p, verdict="fail"), ("b", "pass"))
    first, second = csv.DictReader(io.StringIO(gate_rows(made, "g_1"), newline=""), strict=True)
    assert (first["id"], first["metric"], second["metric"]) == ("g_1", "a", "b")
    assert (first["verdict"], second["verdict"], second["gate_verdict"]) == ("fail", "pass", "fail")
    assert (first["gate_passed"], first["correction"]) == ("false", "holm")
    assert (float(first["p_value"]), float(first["p_value_adjusted"])) == (p, 2 * p)
    assert first["reason"] == made.metrics[0].reason
