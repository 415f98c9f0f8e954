"""Power against the number of items, the wanted power as a rule and the answer as a dot.

Where several numbers of items were asked for a difference each, the difference against the number of items.
"""

from __future__ import annotations

from collections.abc import Callable

from ...answers.power import PowerRecord
from ...presentation.numbers import exactly, number
from .canvas import TEXT, Canvas, Drawing, Palette, across, axis_of, upwards, wrapped
from .null_distribution import BOTTOM, DASHES, HEIGHT, LABEL_SIZE, LEFT, RIGHT, TOP, WIDTH, base, grid, head

PAD = 0.05  # of the axis of items at both ends


def power_curve(
    record: PowerRecord, palette: Palette, name: str, printable: Callable[[str], str] = str
) -> Drawing:
    """The picture of an answer about power."""
    canvas = Canvas(WIDTH, HEIGHT, palette.paper, name, printable)
    differences = _of_differences(record)
    heights = [abs(point.effect) if differences else point.power for point in record.curve]
    numbers = [point.n for point in record.curve]
    solution = record.solution
    shown = numbers or [solution.n or 1]  # without a curve the answer alone
    first, last = min(shown), max(shown)
    pad = PAD * (last - first) or 0.5 * first
    along = axis_of(first - pad, last + pad, (LEFT, RIGHT), across(TEXT))
    top = (1.05 * max(heights, default=0.0) or 1.0) if differences else 1.03
    up = axis_of(0.0, top, (BOTTOM, TOP), upwards(TEXT))
    head(canvas, _title(record), _subtitle(record), palette)
    grid(canvas, up, palette, ("true difference that is found" if differences else "power") + up.units)
    points = [(along.at(n), up.at(height)) for n, height in zip(numbers, heights, strict=True)]
    if points:
        canvas.line(points, color=palette.tail, linewidth=2.0)
    for x, y in points:
        canvas.dot(x, y, color=palette.tail, fill=palette.tail, size=3.5)
    if not differences and record.wanted_power is not None:
        y = up.at(record.wanted_power)
        canvas.line([(LEFT, y), (RIGHT, y)], color=palette.ink, linewidth=0.9, dashes=DASHES)
    if not differences and solution.n is not None and solution.power is not None:
        x, y = along.at(solution.n), up.at(solution.power)
        canvas.dot(x, y, color=palette.observed, fill=palette.observed, size=8.0)
        said = f"{solution.n:,} items: {_percent(solution.power)}"
        is_right = x > (LEFT + RIGHT) / 2
        canvas.text(
            x + (-0.11 if is_right else 0.11), y + 0.06, said, color=palette.observed, size=LABEL_SIZE, bold=True,
            across="right" if is_right else "left", up="top", behind=palette.paper,
        )  # fmt: skip
    base(canvas, along, palette, f"items{along.units}")
    return Drawing(canvas, "Power", record.sentence)


def _of_differences(record: PowerRecord) -> bool:
    return record.solve == "effect" and len({point.effect for point in record.curve}) > 1


def _title(record: PowerRecord) -> str:
    solution = record.solution
    if solution.n is None or solution.effect is None:
        return "Out of reach"
    if _of_differences(record):
        return "What so many items find"
    if record.solve == "n":
        return f"{solution.n:,} items"
    if record.solve == "effect":
        return f"A difference of {number(solution.effect)}"
    return f"Power {_percent(solution.power)}"


def _subtitle(record: PowerRecord) -> list[str]:
    known = "exact" if record.method.exact else "approximate"
    effect = None if _of_differences(record) else record.solution.effect
    wanted = "" if record.wanted_power is None else f", power {exactly(record.wanted_power)}"
    of = "" if effect is None else f"True difference {number(effect)}, "
    shared = "" if record.comparisons == 1 else f" over {record.comparisons} comparisons"
    said = f"{of}alpha {exactly(record.alpha)}{shared}, {record.alternative}{wanted}; {known}"
    return wrapped(said, TEXT, RIGHT - LEFT)


def _percent(share: float | None) -> str:
    return "none" if share is None else f"{100.0 * share:.1f} %"
