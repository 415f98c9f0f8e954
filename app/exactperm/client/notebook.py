"""Results in a notebook: a sentence, a small table and a picture as HTML; and as pandas data frames.

Nothing is fetched, no script runs, and every text is escaped. Pictures are drawn from the answer alone, so that
they need neither a library nor the server.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from ..answers.test import OF_SEVERAL
from ..presentation.columns import (
    PAIR,
    POINT,
    POWER,
    SYSTEM,
    TEST,
    as_list,
    board_row,
    member_row,
    metric_row,
    values,
)
from ..presentation.escaping import single_line
from ..presentation.numbers import number, percent, probability
from ..presentation.words import (
    VERDICTS,
    board_summary,
    certainty,
    compare_sentence,
    correction_words,
    metric_rows,
    p_text,
    ranks,
    read_rows,
    short,
    slices_sentence,
    table,
    test_sentence,
)

if TYPE_CHECKING:
    from ..answers.board import BoardRecord, SystemRecord
    from ..answers.plan import BoardPlanRecord, PlannedMethod
    from ..answers.test import ConfidenceInterval
    from .results import ComparePlan, CompareResult, GateResult, Plan, PowerResult, TestResult

WIDTH, HEIGHT, BASE = 480, 130, 108  # of the picture of a test; its axis is at BASE
REACH = 4.75  # standard deviations of the null on both sides; anything further out is invisible
TAIL, REST, INK = "#c0392b", "#8aa1b8", "currentColor"
BEST = "#0072b2"  # dark beside REST, also without colours


# Tests and gates


def test_html(result: TestResult) -> str:
    """A test: its sentence, the main facts and the null distribution."""
    return block(test_sentence(result), two_columns(_test_rows(result)), _picture(result))


def test_frame(result: TestResult) -> Any:
    """A row with the columns of the CSV report."""
    return frame_of([{"id": result.id, **values(TEST, result)}])


test_html.__test__ = test_frame.__test__ = False  # type: ignore[attr-defined]  # pytest reads it


def gate_html(gate: GateResult) -> str:
    """A gate: the verdict, its metrics, and the null distribution of the deciding metric."""
    rows = [row for metric in gate.metrics for row in metric_rows(metric)]
    rows += read_rows(*(metric.test.reading for metric in gate.metrics))
    deciding = next((one for one in gate.metrics if one.verdict == gate.verdict), gate.metrics[0])
    return block(gate_sentence(gate), two_columns(rows), _picture(deciding.test))


def gate_sentence(gate: GateResult) -> str:
    """The verdict and its reason."""
    return f"{VERDICTS[gate.verdict]}: {gate.reason}"


def gate_frame(gate: GateResult) -> Any:
    """A row for each metric with the columns of the CSV report."""
    return frame_of([{"id": gate.id, **metric_row(values, gate, metric)} for metric in gate.metrics])


def _test_rows(result: TestResult) -> list[tuple[str, str]]:
    items = result.items
    least = result.min_attainable_p
    counted = f"{items.n:,}" if items.clusters is None else f"{items.n:,} in {items.clusters:,} clusters"
    if result.statistic.name not in OF_SEVERAL:
        counted += f": {items.wins:,} wins, {items.ties:,} ties, {items.losses:,} losses"
    rows = [
        ("p-value", f"{p_text(result)} ({certainty(result)})"),
        (
            "least p-value possible",
            "not known" if least is None else probability(least, math.log10(least), result.alpha),
        ),
        ("items", counted),
    ]
    if result.confidence_interval is not None:
        rows.append(_interval_row(result.confidence_interval))
    if (made := correction_words(result)) is not None:
        rows.append(("corrected by", made))
    rows += [("warning", warning.detail) for warning in result.warnings]
    if result.slices is not None:
        rows.append(("slices", slices_sentence(result.slices, result.alpha)))
    return [*rows, *read_rows(result.reading)]


def _interval_row(interval: ConfidenceInterval) -> tuple[str, str]:
    low, high = (
        none if end is None else number(end, 0.0)
        for end, none in ((interval.low, "-∞"), (interval.high, "∞"))
    )
    return f"{percent(interval.level)} interval", f"{low} to {high} ({interval.kind}, {interval.method})"


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
    """The null distribution with the observed value, as SVG; empty if the answer has no probabilities.

    In a permutation test, bars that the p-value counts (at least as extreme as observed, on the sides of the
    alternative) have another colour.
    """
    null, observed = result.null, result.statistic.observed
    if not null.pmf:
        return ""
    reach = max(abs(observed), min(REACH * null.sd, max(abs(null.min), abs(null.max)))) * 1.06 or 1.0
    bars = [one for one in null.pmf if abs(one.value) <= reach]
    highest = max((bar.probability for bar in bars), default=0.0) or 1.0
    scale = WIDTH / (2 * reach)
    width = max(0.8 * scale * (null.pmf_bin_width or 0.0), 1.0)
    drawn = "".join(
        f'<rect x="{scale * (bar.value + reach) - width / 2:.2f}" y="{BASE - 96 * bar.probability / highest:.2f}" '
        f'width="{width:.2f}" height="{96 * bar.probability / highest:.2f}" '
        f'fill="{TAIL if _counts(result, bar.value) else REST}"/>'
        for bar in bars
    )
    at = scale * (observed + reach)
    label = f"Null distribution of {result.statistic.metric or result.statistic.name}; observed {number(observed)}, p = {p_text(result)}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" role="img" '
        f'aria-label="{escape(label)}">{drawn}<line x1="0" y1="{BASE}" x2="{WIDTH}" y2="{BASE}" stroke="{INK}"/>'
        f'<line x1="{at:.2f}" y1="6" x2="{at:.2f}" y2="{BASE}" stroke="{INK}" stroke-dasharray="4 3"/>'
        f'<text x="{min(max(at, 60), WIDTH - 60):.2f}" y="{HEIGHT - 6}" text-anchor="middle" font-size="12" '
        f'fill="{INK}">observed {escape(number(observed))}</text></svg>'
    )


def _counts(result: TestResult, value: float) -> bool:
    """Whether the p-value counts this outcome."""
    if result.test != "permutation":
        return False
    observed = result.statistic.observed
    if result.alternative == "two-sided":
        return abs(value) >= abs(observed)
    return value >= observed if result.alternative == "greater" else value <= observed


def frame_of(rows: list[dict[str, Any]]) -> Any:
    """A pandas.DataFrame of these rows; raises ImportError without pandas."""
    try:
        import pandas as pd
    except ImportError:
        raise ImportError(
            "Data frames need pandas, which is not installed here: pip install pandas"
        ) from None
    return pd.DataFrame(rows)


# Plans and power


CURVE_HEIGHT, CURVE_TOP, CURVE_BASE = 190, 14, 160  # of the curve of power; its axis is at CURVE_BASE
LEFT, RIGHT = 60, 460  # of its points, and of the bars of a plan
ROW, NAMES, BARS = 22, 170, 380  # of a plan: height of a bar, start of bars, end of the longest
MAX_BARS, NAME_CHARS = 60, 24
LEAST_S = 1e-6  # shorter times look alike


def power_html(result: PowerResult) -> str:
    """An answer about power: its sentence, its assumptions, and the curve."""
    return block(f"{result.sentence} {result.method.given}", _facts(result) + _points(result), _curve(result))


def power_frame(result: PowerResult) -> Any:
    """A row for each point of the curve with the columns of the CSV report."""
    common = {"id": result.id, **values(POWER, result)}
    return frame_of([{**common, **values(POINT, point)} for point in result.curve])


def plan_line(plan: Plan) -> str:
    """The method, its cost and the reason."""
    return f"{plan.method} ({_exactly(plan)}), {_cost(plan)}: {single_line(plan.reason)}"


def plan_html(plan: Plan) -> str:
    """Every method with its cost and reason, and their seconds as bars."""
    methods: list[Plan | PlannedMethod] = [plan, *plan.alternatives]
    rows = [(one.method, f"{_exactly(one)}, {_cost(one)}: {one.reason}") for one in methods]
    bars = [(one.method, one.seconds, "" if one.exact else ", not exact") for one in methods]
    return block(plan_line(plan), two_columns(rows), _bars(bars, "Predicted seconds of each method"))


def plan_frame(plan: Plan) -> Any:
    """A row for each method, the chosen one first."""
    names = ("method", "exact", "operations", "bytes", "seconds", "reason")
    return frame_of(
        [
            {"chosen": not index, **{name: getattr(one, name) for name in names}}
            for index, one in enumerate((plan, *plan.alternatives))
        ]
    )


def compare_plan_line(plan: ComparePlan) -> str:
    """The number of tests, their methods, and the time they take."""
    methods = sorted({method for board in plan.boards for method in board.methods})
    return f"{plan.tests:,} tests ({', '.join(methods)}), about {plan.seconds:.2g} s"


def compare_plan_html(plan: ComparePlan) -> str:
    """Every board with its tests and seconds."""
    boards = plan.boards[:MAX_BARS]
    rows = [
        (
            _board(one),
            f"{one.systems:,} systems, {one.tests:,} tests ({', '.join(one.methods)}), about {one.seconds:.2g} s",
        )
        for one in boards
    ]
    bars = [(_board(one), one.seconds, "") for one in boards]
    left = len(plan.boards) - len(boards)
    more = f"<p>{left:,} more data sets</p>" if left else ""
    return block(
        f"{compare_plan_line(plan)}.",
        two_columns(rows) + more,
        _bars(bars, "Predicted seconds of each board"),
    )


def compare_plan_frame(plan: ComparePlan) -> Any:
    """A row for each board."""
    names = ("dataset", "systems", "tests", "methods", "seconds")
    rows = [{name: getattr(one, name) for name in names} for one in plan.boards]
    return frame_of([{**row, "methods": " ".join(row["methods"])} for row in rows])


def _exactly(method: Plan | PlannedMethod) -> str:
    return "exact" if method.exact else "not exact"


def _cost(method: Plan | PlannedMethod) -> str:
    return f"about {method.seconds:.2g} s and {method.bytes / 2**20:.3g} MiB"


def _board(board: BoardPlanRecord) -> str:
    return "all items" if board.dataset is None else short(board.dataset)


def _bars(shown: Sequence[tuple[str, float, str]], label: str) -> str:
    """Seconds as bars on a log scale, with names before and notes after them."""
    powers = [math.log10(max(seconds, LEAST_S)) for _, seconds, _ in shown]
    low, high = min(powers, default=0.0) - 1.0, max(powers, default=0.0)
    rows = "".join(
        f'<text x="{NAMES - 8}" y="{ROW * index + 15}" text-anchor="end">{escape(_cut(name))}</text>'
        f'<rect x="{NAMES}" y="{ROW * index + 3}" width="{(BARS - NAMES) * (power - low) / (high - low):.2f}" '
        f'height="{ROW - 6}" fill="{REST}"/>'
        f'<text x="{NAMES + (BARS - NAMES) * (power - low) / (high - low) + 6:.2f}" y="{ROW * index + 15}">'
        f"{seconds:.2g} s{escape(note)}</text>"
        for index, ((name, seconds, note), power) in enumerate(zip(shown, powers, strict=True))
    )
    return _svg(ROW * len(shown), f"{label}, on a scale of powers of ten", rows) if shown else ""


def _cut(name: str, longest: int = NAME_CHARS) -> str:
    return name if len(name) <= longest else name[: longest - 1] + "…"


def _facts(result: PowerResult) -> str:
    method, critical, actual = result.method, result.critical_difference, result.actual_alpha
    shared = "" if result.comparisons == 1 else f", shared by {result.comparisons:,} comparisons"
    always = result.solution.n_always
    rows = [
        ("computed", f"{'exact' if method.exact else 'approximate'}, {method.name}"),
        ("alpha", f"{result.alpha!r}, {result.alternative}{shared}"),
        ("least significant difference", "none" if critical is None else f"{critical:.6g}"),
    ]
    if actual is not None:
        rows.append(("false alarms", f"{actual:.6g}"))
    if always not in {None, result.solution.n}:
        rows.append(("from here on always", f"{always:,} items"))
    return two_columns([*rows, *(("warning", warning.detail) for warning in result.warnings)])


def _points(result: PowerResult) -> str:
    """The curve as a table, folded."""
    if not result.curve:
        return ""
    rows = "".join(
        f"<tr><td>{point.n:,}</td><td>{point.effect:.6g}</td><td>{point.power:.6g}</td></tr>"
        for point in result.curve
    )
    heads = "<tr><th>items</th><th>true difference</th><th>power</th></tr>"
    return f"<details><summary>{len(result.curve):,} points</summary><table>{heads}{rows}</table></details>"


def _curve(result: PowerResult) -> str:
    """Power against the number of items, with the wanted power and the answer; or the detectable differences."""
    points, solution = result.curve, result.solution
    if not points:
        return ""
    differences = result.solve == "effect" and len({one.effect for one in points}) > 1
    heights = [abs(one.effect) if differences else one.power for one in points]
    top = (max(heights) if differences else 1.0) or 1.0
    few, many = min(one.n for one in points), max(one.n for one in points)

    def at(n: int, height: float) -> tuple[float, float]:
        share = (n - few) / (many - few) if many > few else 0.5
        return LEFT + (RIGHT - LEFT) * share, CURVE_BASE - (CURVE_BASE - CURVE_TOP) * (height / top)

    places = [at(one.n, height) for one, height in zip(points, heights, strict=True)]
    line = " ".join(f"{x:.2f},{y:.2f}" for x, y in places)
    drawn = f'<polyline points="{line}" fill="none" stroke="{TAIL}" stroke-width="2"/>'
    drawn += "".join(f'<circle cx="{x:.2f}" cy="{y:.2f}" r="2.5" fill="{TAIL}"/>' for x, y in places)
    if result.wanted_power is not None and not differences:
        y = at(few, result.wanted_power)[1]
        drawn += f'<line x1="{LEFT}" y1="{y:.2f}" x2="{RIGHT}" y2="{y:.2f}" stroke="{INK}" stroke-dasharray="4 3"/>'
    if (
        solution.n is not None
        and solution.power is not None
        and not differences
        and few <= solution.n <= many
    ):
        x, y = at(solution.n, solution.power)
        drawn += f'<circle cx="{x:.2f}" cy="{y:.2f}" r="5" fill="none" stroke="{INK}" stroke-width="2"/>'
    drawn += f'<line x1="{LEFT}" y1="{CURVE_BASE}" x2="{RIGHT}" y2="{CURVE_BASE}" stroke="{INK}"/>'
    ends = sorted({few: LEFT, many: RIGHT}.items()) if many > few else [(few, (LEFT + RIGHT) / 2)]
    drawn += "".join(
        f'<text x="{x}" y="{CURVE_BASE + 18}" text-anchor="middle">{n:,}{" items" if n == few else ""}</text>'
        for n, x in ends
    )
    drawn += f'<text x="{LEFT - 8}" y="{CURVE_BASE}" text-anchor="end">0</text>'
    drawn += f'<text x="{LEFT - 8}" y="{CURVE_TOP + 8}" text-anchor="end">{top:.4g}</text>'
    what = "True difference that is found" if differences else "Power"
    return _svg(CURVE_HEIGHT, f"{what} against the number of items. {result.sentence}", drawn)


def _svg(height: int, label: str, drawn: str, width: int = WIDTH) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img" '
        f'aria-label="{escape(single_line(label))}" font-size="12" fill="{INK}">{drawn}</svg>'
    )


# Comparisons


BOARD_WIDTH, BOARD_ROW, BOARD_TOP, BOARD_BOTTOM = 640, 20, 8, 26
AXIS_LEFT, AXIS_RIGHT = (
    200,
    450,
)  # of the axis of scores; names are to its left, ranks and letters to its right
LABEL_CHARS = 28
MAX_SYSTEMS = 60  # of a picture, and of a table


def board_picture(result: CompareResult) -> str:
    """Scores as dots, lines between clusters, and rank ranges and letters as text, best first; the best set is dark."""
    board = result.board
    shown = board.systems[:MAX_SYSTEMS]
    height = BOARD_TOP + BOARD_ROW * len(shown) + BOARD_BOTTOM
    scores = [one.score for one in shown]
    low, high = min(scores), max(scores)
    reach = (high / 2 - low / 2) * 2
    # Halves, because the difference of two doubles may overflow.
    places = [0.5 if reach == 0 else (one / 2 - low / 2) / (reach / 2) for one in scores]
    rows = "".join(
        _system_row(one, place, BOARD_TOP + BOARD_ROW * index, board)
        for index, (one, place) in enumerate(zip(shown, places, strict=True))
    )
    base = BOARD_TOP + BOARD_ROW * len(shown)
    ends = f'<line x1="{AXIS_LEFT}" y1="{base}" x2="{AXIS_RIGHT}" y2="{base}" stroke="{INK}"/>'
    for x, score in ((AXIS_LEFT, low), (AXIS_RIGHT, high))[: 2 if reach else 1]:
        ends += f'<text x="{x}" y="{base + 16}" text-anchor="middle">{score:.4g}</text>'
    drawn = f"{_cluster_lines(board, len(shown))}{rows}{ends}"
    return _svg(height, compare_sentence(result), drawn, BOARD_WIDTH)


def _system_row(system: SystemRecord, place: float, top: int, board: BoardRecord) -> str:
    name = _cut(short(system.name), LABEL_CHARS)
    at, middle = AXIS_LEFT + place * (AXIS_RIGHT - AXIS_LEFT), top + BOARD_ROW / 2
    best = system.in_best_set
    fill = BEST if best or board.groups is None else REST
    words = f"{system.rank}. of {len(board.systems)}"
    if board.groups is not None:
        words = f"rank {ranks(system)} {system.letters or ''}".strip()
    return (
        f'<text x="{AXIS_LEFT - 10}" y="{middle + 4}" text-anchor="end">{escape(name)}</text>'
        f'<circle cx="{at:.2f}" cy="{middle}" r="4.5" fill="{fill}"><title>{escape(short(system.name))}: {system.score:.6g}'
        f"{', in the best set' if best else ''}</title></circle>"
        f'<text x="{AXIS_RIGHT + 14}" y="{middle + 4}">{escape(words)}</text>'
    )


def _cluster_lines(board: BoardRecord, shown: int) -> str:
    """A line after every cluster but the last."""
    if board.groups is None:
        return ""
    lines, above = [], 0
    for cluster in board.groups.clusters[:-1]:
        above += len(cluster)
        if above < shown:
            y = BOARD_TOP + BOARD_ROW * above
            lines.append(
                f'<line x1="0" y1="{y}" x2="{BOARD_WIDTH}" y2="{y}" stroke="{INK}" stroke-dasharray="4 3"/>'
            )
    return "".join(lines)


def compare_html(result: CompareResult) -> str:
    """A comparison: its sentence, the main board as a table and a picture, and the other boards folded."""
    parts = [
        f"<p>{escape(compare_sentence(result))}</p>",
        _html_table(result, result.board),
        board_picture(result),
    ]
    for name, board in (result.datasets or {}).items():
        if board is not result.board:
            summary = escape(f"{name}: {board_summary(result, board)}")
            parts.append(f"<details><summary>{summary}</summary>{_html_table(result, board)}</details>")
    parts += [f"<p>Warning: {escape(warning.detail)}</p>" for warning in result.warnings]
    parts += [f"<p>Read: {escape(note)}</p>" for _, note in read_rows(result.reading)]
    return f'<div class="exactperm">{"".join(parts)}</div>'


def board_frame(result: CompareResult, members: str) -> Any:
    """A row for each of the `systems` or `pairs` of each board; only the first row has the notes."""
    notes = as_list(() if result.reading is None else result.reading.notes)
    columns = SYSTEM if members == "systems" else PAIR
    rows = [
        {**before, **member_row(values, result, one, columns), **after}
        for board, before, after in _boards(result)
        for one in getattr(board, members)
    ]
    return frame_of([{**row, "notes": None if place else notes} for place, row in enumerate(rows)])


def _html_table(result: CompareResult, board: BoardRecord) -> str:
    heads, rows = table(result, board, MAX_SYSTEMS)
    styles = [f"text-align:{'left' if head in {'system', 'letters'} else 'right'}" for head in heads]

    def row(tag: str, cells: Sequence[str]) -> str:
        written = (
            f'<{tag} style="{style}">{escape(cell)}</{tag}>'
            for cell, style in zip(cells, styles, strict=True)
        )
        return f"<tr>{''.join(written)}</tr>"

    body = "".join(row("td", cells) for cells in rows)
    left = len(board.systems) - len(rows)
    more = f"<p>{left:,} more systems</p>" if left else ""
    return f"<table><thead>{row('th', heads)}</thead><tbody>{body}</tbody></table>{more}"


def _boards(result: CompareResult) -> Iterator[tuple[BoardRecord, dict[str, Any], dict[str, Any]]]:
    """Every board, with the columns before and after those of a system or pair."""
    for name, board in result.boards.items():
        kind = "dataset" if name is not None else "overall" if result.datasets is not None else None
        before = {"id": result.id, "board": kind, "dataset": name}
        after = board_row(values, result, board)
        yield board, before, after
