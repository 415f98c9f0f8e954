"""Plans and answers about power in a notebook: a sentence, a small table, a picture; and as data frames of pandas.

As in `notebook`, nothing is fetched, no script is run, and every text is escaped.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any, cast

from ..presentation.columns import POINT, POWER, values
from ..presentation.escaping import single_line
from .compare_notebook import short
from .notebook import INK, REST, TAIL, block, frame_of, two_columns

if TYPE_CHECKING:
    from ..answers.plan import PlannedMethod
    from .compare_results import BoardPlan, ComparePlan
    from .gate_results import Plan
    from .power_results import PowerResult

WIDTH, HEIGHT, TOP, BASE = 480, 190, 14, 160  # of the curve; its axis is at BASE
LEFT, RIGHT = 60, 460  # of its points, and of the bars of a plan
ROW, NAMES, BARS = 22, 170, 380  # of a plan: height of a bar, where bars begin, and where the longest ends
MAX_BARS, NAME_CHARS = 60, 24
LEAST_S = 1e-6  # shorter than this is not told apart


class PowerInNotebook:
    """How a PowerResult is shown: by `print` in one line, in a notebook as HTML."""

    __slots__ = ()

    def __str__(self) -> str:
        return single_line(cast("PowerResult", self).sentence)

    def _repr_html_(self) -> str:
        result = cast("PowerResult", self)
        return block(
            f"{result.sentence} {result.method.given}", _facts(result) + _points(result), _curve(result)
        )

    def to_frame(self) -> Any:
        """A pandas.DataFrame with a row for each point of the curve; its columns are those of the CSV report.

        Raises ImportError without pandas.
        """
        result = cast("PowerResult", self)
        common = {"id": result.id, **values(POWER, result)}
        return frame_of([{**common, **values(POINT, point)} for point in result.curve])


class PlanInNotebook:
    """How a Plan is shown: by `print` in one line, in a notebook as HTML."""

    __slots__ = ()

    def __str__(self) -> str:
        plan = cast("Plan", self)
        return f"{plan.method} ({_exactly(plan)}), {_cost(plan)}: {single_line(plan.reason)}"

    def _repr_html_(self) -> str:
        methods = self._methods()
        rows = [(one.method, f"{_exactly(one)}, {_cost(one)}: {one.reason}") for one in methods]
        bars = [(one.method, one.seconds, "" if one.exact else ", not exact") for one in methods]
        return block(str(self), two_columns(rows), _bars(bars, "Predicted seconds of each method"))

    def to_frame(self) -> Any:
        """A pandas.DataFrame with a row for each method, the chosen one first. Raises ImportError without pandas."""
        names = ("method", "exact", "operations", "bytes", "seconds", "reason")
        return frame_of(
            [
                {"chosen": not index, **{name: getattr(one, name) for name in names}}
                for index, one in enumerate(self._methods())
            ]
        )

    def _methods(self) -> list[Plan | PlannedMethod]:
        plan = cast("Plan", self)
        return [plan, *plan.alternatives]


class ComparePlanInNotebook:
    """How a ComparePlan is shown: by `print` in one line, in a notebook as HTML."""

    __slots__ = ()

    def __str__(self) -> str:
        plan = cast("ComparePlan", self)
        methods = sorted({method for board in plan.boards for method in board.methods})
        return f"{plan.tests:,} tests ({', '.join(methods)}), about {plan.seconds:.2g} s"

    def _repr_html_(self) -> str:
        boards = cast("ComparePlan", self).boards[:MAX_BARS]
        rows = [
            (
                _board(one),
                f"{one.systems:,} systems, {one.tests:,} tests ({', '.join(one.methods)}), about {one.seconds:.2g} s",
            )
            for one in boards
        ]
        bars = [(_board(one), one.seconds, "") for one in boards]
        left = len(cast("ComparePlan", self).boards) - len(boards)
        more = f"<p>{left:,} more data sets</p>" if left else ""
        return block(f"{self}.", two_columns(rows) + more, _bars(bars, "Predicted seconds of each board"))

    def to_frame(self) -> Any:
        """A pandas.DataFrame with a row for each board. Raises ImportError without pandas."""
        return frame_of(
            [
                {
                    "dataset": one.dataset,
                    "systems": one.systems,
                    "tests": one.tests,
                    "methods": " ".join(one.methods),
                    "seconds": one.seconds,
                }
                for one in cast("ComparePlan", self).boards
            ]
        )


def _exactly(method: Plan | PlannedMethod) -> str:
    return "exact" if method.exact else "not exact"


def _cost(method: Plan | PlannedMethod) -> str:
    return f"about {method.seconds:.2g} s and {method.bytes / 2**20:.3g} MiB"


def _board(board: BoardPlan) -> str:
    return "all items" if board.dataset is None else short(board.dataset)


def _bars(shown: Sequence[tuple[str, float, str]], label: str) -> str:
    """Seconds as bars on a scale of powers of ten, each with its name before and a note behind it."""
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


def _cut(name: str) -> str:
    return name if len(name) <= NAME_CHARS else name[: NAME_CHARS - 1] + "…"


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
    """Power against the number of items, with the power wanted and the answer; or the differences that are found."""
    points, solution = result.curve, result.solution
    if not points:
        return ""
    differences = result.solve == "effect" and len({one.effect for one in points}) > 1
    heights = [abs(one.effect) if differences else one.power for one in points]
    top = (max(heights) if differences else 1.0) or 1.0
    few, many = min(one.n for one in points), max(one.n for one in points)

    def at(n: int, height: float) -> tuple[float, float]:
        share = (n - few) / (many - few) if many > few else 0.5
        return LEFT + (RIGHT - LEFT) * share, BASE - (BASE - TOP) * (height / top)

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
    drawn += f'<line x1="{LEFT}" y1="{BASE}" x2="{RIGHT}" y2="{BASE}" stroke="{INK}"/>'
    ends = sorted({few: LEFT, many: RIGHT}.items()) if many > few else [(few, (LEFT + RIGHT) / 2)]
    drawn += "".join(
        f'<text x="{x}" y="{BASE + 18}" text-anchor="middle">{n:,}{" items" if n == few else ""}</text>'
        for n, x in ends
    )
    drawn += f'<text x="{LEFT - 8}" y="{BASE}" text-anchor="end">0</text>'
    drawn += f'<text x="{LEFT - 8}" y="{TOP + 8}" text-anchor="end">{top:.4g}</text>'
    what = "True difference that is found" if differences else "Power"
    return _svg(HEIGHT, f"{what} against the number of items. {result.sentence}", drawn)


def _svg(height: int, label: str, drawn: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" role="img" '
        f'aria-label="{escape(single_line(label))}" font-size="12" fill="{INK}">{drawn}</svg>'
    )
