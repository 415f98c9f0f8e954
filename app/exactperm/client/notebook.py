"""Results in a notebook: a sentence, a small table and a picture as HTML; and as data frames of pandas.

Nothing is fetched, no script is run, and every text is escaped. The picture is drawn here, from the answer's `null`, so
that it needs neither matplotlib nor the server.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING, Any, cast

from ..presentation.columns import TEST, as_list, metric_row, values
from ..presentation.escaping import single_line
from ..presentation.numbers import apart, enclosing, exactly, known_digits, number, percent, probability

if TYPE_CHECKING:
    from .gate_results import GateResult, MetricResult
    from .results import Interval, Reading, TestResult

WIDTH, HEIGHT, BASE = 480, 130, 108  # of the picture; its axis is at BASE
REACH = 4.75  # standard deviations of the null on both sides; what lies further out cannot be seen
TAIL, REST, INK = "#c0392b", "#8aa1b8", "currentColor"
VERDICTS = {"pass": "PASS", "fail": "FAIL", "inconclusive": "INCONCLUSIVE", "continue": "CONTINUE"}


class TestInNotebook:
    """How a TestResult is shown: by `print` in one line, in a notebook as HTML."""

    __slots__ = ()

    def __str__(self) -> str:
        return single_line(test_sentence(cast("TestResult", self)))

    def _repr_html_(self) -> str:
        result = cast("TestResult", self)
        return block(test_sentence(result), two_columns(_test_rows(result)), _picture(result))

    def to_frame(self) -> Any:
        """A pandas.DataFrame of one row; its columns are those of the CSV report. Raises ImportError without pandas."""
        result = cast("TestResult", self)
        return frame_of([{"id": result.id, **values(TEST, result)}])


class GateInNotebook:
    """How a GateResult is shown: by `print` in one line, in a notebook as HTML."""

    __slots__ = ()

    def __str__(self) -> str:
        gate = cast("GateResult", self)
        return single_line(f"{VERDICTS[gate.verdict]}: {gate.reason}")

    def _repr_html_(self) -> str:
        gate = cast("GateResult", self)
        rows = [row for metric in gate.metrics for row in _metric_rows(metric)]
        rows += read_rows(*(metric.test.reading for metric in gate.metrics))
        deciding = next((one for one in gate.metrics if one.verdict == gate.verdict), gate.metrics[0])
        return block(f"{VERDICTS[gate.verdict]}: {gate.reason}", two_columns(rows), _picture(deciding.test))

    def to_frame(self) -> Any:
        """A pandas.DataFrame with one row for each metric; its columns are those of the CSV report. Raises ImportError without pandas."""
        gate = cast("GateResult", self)
        return frame_of([{"id": gate.id, **metric_row(values, gate, metric)} for metric in gate.metrics])


def test_sentence(result: TestResult) -> str:
    """The difference, its p-value with what is known about it, and whether that is significant.

    A p-value is written with as many digits as it takes to stand on its own side of alpha.
    """
    statistic, names = result.statistic, result.names
    scores = ""
    if statistic.u is not None and statistic.v is not None:
        u, v = ("U", "V") if names is None else (names.u, names.v)
        score_u, score_v = apart(statistic.u, statistic.v)
        scores = f" ({u} {score_u}, {v} {score_v})"
    missing = result.missing
    low, high = result.p_value_bounds if missing is None else missing.p_value
    verdict = "significant" if result.significant else "not significant"
    if low <= result.alpha < high and (missing is None or not result.significant):
        verdict = "undecided"
    over = (
        ""
        if missing is None
        else f"; with {missing.n:,} missing outcomes p lies in [{', '.join(enclosing(low, high, result.alpha))}]"
    )
    return (
        f"{measured(statistic.metric, statistic.name, statistic.higher_is_better)}: {number(statistic.observed)}{scores}, p = {_p(result)} "
        f"({_certainty(result)}, {result.alternative}){over}, {verdict} at {exactly(result.alpha)}."
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
    return "asymptotic" if kind == "asymptotic" else f"{kind} bounds {' to '.join(enclosing(*bounds))}"


def _p(result: TestResult) -> str:
    digits = known_digits(result.p_value, result.p_value_bounds_kind, *result.p_value_bounds)
    return probability(result.p_value, result.log10_p_value, result.alpha, digits=digits)


def _test_rows(result: TestResult) -> list[tuple[str, str]]:
    items = result.items
    least = result.min_attainable_p
    counted = f"{items.n:,}" if items.clusters is None else f"{items.n:,} in {items.clusters:,} clusters"
    rows = [
        ("p-value", f"{_p(result)} ({_certainty(result)})"),
        (
            "least p-value possible",
            "not known" if least is None else probability(least, math.log10(least), result.alpha),
        ),
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
        none if end is None else number(end, 0.0)
        for end, none in ((interval.low, "-∞"), (interval.high, "∞"))
    )
    return f"{percent(interval.level)} interval", f"{low} to {high} ({interval.kind}, {interval.method})"


def _metric_rows(metric: MetricResult) -> list[tuple[str, str]]:
    decision = metric.decision
    digits = known_digits(decision.p_value, decision.p_value_bounds_kind, *decision.p_value_bounds)
    p = probability(decision.p_value_adjusted, decision.log10_p_value_adjusted, metric.alpha, digits=digits)
    sure = _sure(decision.p_value_bounds_kind, decision.p_value_bounds, exact=decision.exact)
    margin = f", margin {exactly(metric.margin)}" if metric.margin else ""
    return [
        (metric.name, f"{VERDICTS[metric.verdict]}: {metric.reason}"),
        (
            f"{metric.policy}{margin}",
            f"p = {p} ({sure}, {decision.procedure}), alpha {exactly(metric.alpha)}",
        ),
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
    label = f"Null distribution of {result.statistic.metric or result.statistic.name}; observed {number(observed)}, p = {_p(result)}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" role="img" '
        f'aria-label="{escape(label)}">{drawn}<line x1="0" y1="{BASE}" x2="{WIDTH}" y2="{BASE}" stroke="{INK}"/>'
        f'<line x1="{at:.2f}" y1="6" x2="{at:.2f}" y2="{BASE}" stroke="{INK}" stroke-dasharray="4 3"/>'
        f'<text x="{min(max(at, 60), WIDTH - 60):.2f}" y="{HEIGHT - 6}" text-anchor="middle" font-size="12" '
        f'fill="{INK}">observed {escape(number(observed))}</text></svg>'
    )


def _counts(result: TestResult, value: float) -> bool:
    """Whether the p-value counts outcomes like this one."""
    if result.test != "permutation":
        return False
    observed = result.statistic.observed
    if result.alternative == "two-sided":
        return abs(value) >= abs(observed)
    return value >= observed if result.alternative == "greater" else value <= observed


def notes_of(reading: Reading | None) -> str:
    """How files were read, as a list of JSON: that of the CSV report."""
    return as_list(() if reading is None else reading.notes)


def frame_of(rows: list[dict[str, Any]]) -> Any:
    """A pandas.DataFrame of these rows; raises ImportError without pandas."""
    try:
        import pandas as pd  # type: ignore[import-untyped]
    except ImportError:
        raise ImportError(
            "Data frames need pandas, which is not installed here: pip install pandas"
        ) from None
    return pd.DataFrame(rows)
