"""Results in a notebook: a sentence, a small table and a picture as HTML; and as data frames of pandas.

Nothing is fetched, no script is run, and every text is escaped. The picture is drawn here, from the answer's `null`, so
that it needs neither matplotlib nor the server.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from .gate_results import GateResult, MetricResult
    from .results import Interval, Reading, TestResult

WIDTH, HEIGHT, BASE = 480, 130, 108  # of the picture; its axis is at BASE
REACH = 4.75  # standard deviations of the null on both sides; what lies further out cannot be seen
TAIL, REST, INK = "#c0392b", "#8aa1b8", "currentColor"
SMALLEST = 1e-300
VERDICTS = {"pass": "PASS", "fail": "FAIL", "inconclusive": "INCONCLUSIVE", "continue": "CONTINUE"}


class TestInNotebook:
    """How a TestResult is shown: by `print` in one line, in a notebook as HTML."""

    __slots__ = ()

    def __str__(self) -> str:
        return one_line(test_sentence(cast("TestResult", self)))

    def _repr_html_(self) -> str:
        result = cast("TestResult", self)
        return block(test_sentence(result), two_columns(_test_rows(result)), _picture(result))

    def to_frame(self) -> Any:
        """A pandas.DataFrame of one row; its columns are those of the CSV report. Raises ImportError without pandas."""
        return frame_of([_fields(cast("TestResult", self))])


class GateInNotebook:
    """How a GateResult is shown: by `print` in one line, in a notebook as HTML."""

    __slots__ = ()

    def __str__(self) -> str:
        gate = cast("GateResult", self)
        return one_line(f"{VERDICTS[gate.verdict]}: {gate.reason}")

    def _repr_html_(self) -> str:
        gate = cast("GateResult", self)
        rows = [row for metric in gate.metrics for row in _metric_rows(metric)]
        rows += read_rows(*(metric.test.reading for metric in gate.metrics))
        deciding = next((one for one in gate.metrics if one.verdict == gate.verdict), gate.metrics[0])
        return block(f"{VERDICTS[gate.verdict]}: {gate.reason}", two_columns(rows), _picture(deciding.test))

    def to_frame(self) -> Any:
        """A pandas.DataFrame with one row for each metric; its columns are those of the CSV report. Raises ImportError without pandas."""
        return frame_of(
            [_metric_fields(cast("GateResult", self), one) for one in cast("GateResult", self).metrics]
        )


def one_line(text: str) -> str:
    """Without line ends and control characters, which names of systems may have."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())


def test_sentence(result: TestResult) -> str:
    """The difference, its p-value with what is known about it, and whether that is significant.

    A p-value is written with as many digits as it takes to stand on its own side of alpha.
    """
    statistic, names = result.statistic, result.names
    scores = ""
    if statistic.u is not None and statistic.v is not None:
        u, v = ("U", "V") if names is None else (names.u, names.v)
        scores = f" ({u} {_number(statistic.u)}, {v} {_number(statistic.v)})"
    missing = result.missing
    low, high = result.p_value_bounds if missing is None else missing.p_value
    verdict = "significant" if result.significant else "not significant"
    if low <= result.alpha < high and (missing is None or not result.significant):
        verdict = "undecided"
    over = "" if missing is None else f"; with {missing.n:,} missing outcomes p lies in [{low!r}, {high!r}]"
    return (
        f"{measured(statistic.metric, statistic.name, statistic.higher_is_better)}: {_number(statistic.observed)}{scores}, p = {_p(result)} "
        f"({_certainty(result)}, {result.alternative}){over}, {verdict} at {result.alpha!r}."
    )


def measured(metric: str | None, statistic: str, higher_is_better: bool | None) -> str:
    """The metric, or the statistic where that has no name, and which direction is better where that is known."""
    name = metric or statistic
    return (
        name
        if higher_is_better is None
        else f"{name} ({'higher' if higher_is_better else 'lower'} is better)"
    )


test_sentence.__test__ = False  # type: ignore[attr-defined]


def _certainty(result: TestResult) -> str:
    """How sure the p-value is, and its method."""
    sure = _sure(result.p_value_bounds_kind, result.p_value_bounds, exact=result.method.exact)
    return f"{sure}, {result.method.name}"


def _sure(kind: str, bounds: tuple[float, float], *, exact: bool) -> str:
    """Exact; or what the bounds are, and the bounds."""
    if exact:
        return "exact"
    return "asymptotic" if kind == "asymptotic" else f"{kind} bounds {bounds[0]!r} to {bounds[1]!r}"


def _p(result: TestResult) -> str:
    return probability(result.p_value, result.log10_p_value, result.alpha)


def probability(p: float, log10_p: float | None, alpha: float) -> str:
    """A p-value on its own side of alpha; as a power of ten where it is too small for a double."""
    if p < SMALLEST and log10_p is None:
        return f"below {SMALLEST}"
    if p < SMALLEST and log10_p is not None:
        exponent = math.floor(log10_p)
        return f"{10 ** (log10_p - exponent):.4f}e{exponent}"
    for digits in range(6, 17):
        text = f"{p:.{digits}g}"
        if all(
            (float(text) > mark) - (float(text) < mark) == (p > mark) - (p < mark) for mark in (alpha, 1.0)
        ):
            return text
    return repr(p)


def _number(value: float) -> str:
    return f"{value:.6g}"


def _test_rows(result: TestResult) -> list[tuple[str, str]]:
    items = result.items
    least = result.min_attainable_p
    counted = f"{items.n:,}" if items.clusters is None else f"{items.n:,} in {items.clusters:,} clusters"
    rows = [
        ("p-value", f"{_p(result)} ({_certainty(result)})"),
        ("least p-value possible", "not known" if least is None else probability(least, None, result.alpha)),
        ("items", f"{counted}: {items.wins:,} wins, {items.ties:,} ties, {items.losses:,} losses"),
    ]
    if result.confidence_interval is not None:
        rows.append(_interval_row(result.confidence_interval))
    rows += [("warning", warning.detail) for warning in result.warnings]
    return [*rows, *read_rows(result.reading)]


def read_rows(*readings: Reading | None) -> list[tuple[str, str]]:
    """How files were read, each note once."""
    notes = (note for reading in readings if reading is not None for note in reading.notes)
    return [("read", note) for note in dict.fromkeys(notes)]


def _interval_row(interval: Interval) -> tuple[str, str]:
    low, high = (
        none if end is None else _number(end) for end, none in ((interval.low, "-∞"), (interval.high, "∞"))
    )
    return f"{100 * interval.level:.6g} % interval", f"{low} to {high} ({interval.kind}, {interval.method})"


def _metric_rows(metric: MetricResult) -> list[tuple[str, str]]:
    decision = metric.decision
    p = probability(decision.p_value_adjusted, decision.log10_p_value_adjusted, metric.alpha)
    sure = _sure(decision.p_value_bounds_kind, decision.p_value_bounds, exact=decision.exact)
    margin = f", margin {metric.margin!r}" if metric.margin else ""
    return [
        (metric.name, f"{VERDICTS[metric.verdict]}: {metric.reason}"),
        (f"{metric.policy}{margin}", f"p = {p} ({sure}, {decision.procedure}), alpha {metric.alpha!r}"),
        ("difference", test_sentence(metric.test)),
        *((("warning", warning.detail)) for warning in metric.test.warnings),
    ]


def block(sentence: str, table: str, picture: str) -> str:
    """A result as HTML: the sentence is escaped here, the others are HTML."""
    return f'<div class="exactperm"><p>{escape(sentence)}</p>{table}{picture}</div>'


def two_columns(rows: Iterable[tuple[str, str]]) -> str:
    """Names and values as an HTML table, escaped."""
    cells = "".join(
        f'<tr><th scope="row" style="text-align:left">{escape(name)}</th>'
        f'<td style="text-align:left">{escape(value)}</td></tr>'
        for name, value in rows
    )
    return f"<table>{cells}</table>"


def _picture(result: TestResult) -> str:
    """The null distribution with the observed value, as SVG; empty where the answer has no probabilities.

    Bars as far from 0 as the observed value, on the sides of the alternative, are those that the p-value counts; they
    have a colour of their own where the test is a permutation test.
    """
    null, observed = result.null, result.statistic.observed
    if not null.pmf:
        return ""
    reach = max(abs(observed), min(REACH * null.sd, max(abs(null.min), abs(null.max)))) * 1.06 or 1.0
    bars = [one for one in null.pmf if abs(one.value) <= reach]
    highest = max((one.probability for one in bars), default=0.0) or 1.0
    scale = WIDTH / (2 * reach)
    width = max(0.8 * scale * (null.pmf_bin_width or 0.0), 1.0)
    drawn = "".join(
        f'<rect x="{scale * (one.value + reach) - width / 2:.2f}" y="{BASE - 96 * one.probability / highest:.2f}" '
        f'width="{width:.2f}" height="{96 * one.probability / highest:.2f}" '
        f'fill="{TAIL if _counts(result, one.value) else REST}"/>'
        for one in bars
    )
    at = scale * (observed + reach)
    label = f"Null distribution of {result.statistic.metric or result.statistic.name}; observed {_number(observed)}, p = {_p(result)}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" role="img" '
        f'aria-label="{escape(label)}">{drawn}<line x1="0" y1="{BASE}" x2="{WIDTH}" y2="{BASE}" stroke="{INK}"/>'
        f'<line x1="{at:.2f}" y1="6" x2="{at:.2f}" y2="{BASE}" stroke="{INK}" stroke-dasharray="4 3"/>'
        f'<text x="{min(max(at, 60), WIDTH - 60):.2f}" y="{HEIGHT - 6}" text-anchor="middle" font-size="12" '
        f'fill="{INK}">observed {escape(_number(observed))}</text></svg>'
    )


def _counts(result: TestResult, value: float) -> bool:
    """Whether the p-value counts outcomes like this one."""
    if result.test != "permutation":
        return False
    observed = result.statistic.observed
    if result.alternative == "two-sided":
        return abs(value) >= abs(observed)
    return value >= observed if result.alternative == "greater" else value <= observed


def _fields(result: TestResult) -> dict[str, Any]:
    interval, method = result.confidence_interval, result.method
    return {
        "id": result.id,
        "p_value": result.p_value,
        "log10_p_value": result.log10_p_value,
        "p_value_low": result.p_value_bounds[0],
        "p_value_high": result.p_value_bounds[1],
        "p_value_bounds_kind": result.p_value_bounds_kind,
        "significant": result.significant,
        "alpha": result.alpha,
        "min_attainable_p": result.min_attainable_p,
        "alternative": result.alternative,
        "test": result.test,
        "metric": result.statistic.metric,
        "higher_is_better": result.statistic.higher_is_better,
        **_data_fields(result),
        "method": method.name,
        "exact": method.exact,
        "confidence_level": None if interval is None else interval.level,
        "interval_low": None if interval is None else interval.low,
        "interval_high": None if interval is None else interval.high,
        "warnings": " ".join(warning.code for warning in result.warnings),
        "notes": notes_of(result.reading),
    }


def notes_of(reading: Reading | None) -> str:
    """How files were read, as a list of JSON: that of the CSV report."""
    return json.dumps([] if reading is None else [one_line(note) for note in reading.notes])


def _data_fields(result: TestResult) -> dict[str, Any]:
    statistic, items, names = result.statistic, result.items, result.names
    return {
        "statistic": statistic.name,
        "observed": statistic.observed,
        "name_u": None if names is None else names.u,
        "u": statistic.u,
        "name_v": None if names is None else names.v,
        "v": statistic.v,
        "n": items.n,
        "clusters": items.clusters,
        "wins": items.wins,
        "ties": items.ties,
        "losses": items.losses,
    }


def _metric_fields(gate: GateResult, metric: MetricResult) -> dict[str, Any]:
    decision = metric.decision
    return {
        "id": gate.id,
        "metric": metric.name,
        "against": metric.against,
        "verdict": metric.verdict,
        "gate_verdict": gate.verdict,
        "gate_passed": gate.passed,
        "policy": metric.policy,
        "margin": metric.margin,
        "alpha": metric.alpha,
        "higher_is_better": metric.higher_is_better,
        "p_value": decision.p_value,
        "p_value_low": decision.p_value_bounds[0],
        "p_value_high": decision.p_value_bounds[1],
        "p_value_adjusted": decision.p_value_adjusted,
        "exact": decision.exact,
        **_data_fields(metric.test),
        "method": metric.test.method.name,
        "reason": metric.reason,
        "notes": notes_of(metric.test.reading),
    }


def frame_of(rows: list[dict[str, Any]]) -> Any:
    """A pandas.DataFrame of these rows; raises ImportError without pandas."""
    try:
        import pandas as pd  # type: ignore[import-untyped]
    except ImportError:
        raise ImportError(
            "Data frames need pandas, which is not installed here: pip install pandas"
        ) from None
    return pd.DataFrame(rows)
