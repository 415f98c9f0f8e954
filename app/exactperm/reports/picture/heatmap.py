"""All pairs as a sorted triangle: five steps of -log10 of the adjusted p-value, with its sign.

The diagonal has the systems' names: pairs with better ranked systems are to the left, with worse ranked ones below.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import groupby

from ...answers.board import BoardRecord, PairRecord
from ...presentation.escaping import short
from ...presentation.numbers import counted, limit_text, number, short_p
from ...presentation.words import p_adjusted
from ..board_words import RELATIONS, toward
from .board import BoardScene, refusal, sentence_of
from .canvas import (
    LEAST_WIDTH,
    MARGIN,
    SMALL,
    Box,
    Canvas,
    Drawing,
    Point,
    fitted,
    head_height,
    names_fitted,
    width,
)

STEPS = 4  # significant steps: alpha, alpha / 10, alpha / 100, alpha / 1000
WRITTEN, POINTED = 12, 40  # up to this many systems, cells have numbers and sentences
SIDES = (0.56, 0.25, 0.115)  # of a cell, in inches: up to 12 systems, up to 40, more
GAPS = (0.02, 0.012, 0.0)
MOST_NAME = 2.4
KEY, KEY_ROW = 0.17, 0.25
Segment = tuple[Point, Point]


@dataclass(frozen=True, slots=True)
class Cell:
    """The pair of the systems at two places:

    `upper` is better ranked than `lower`. `step` is 0 if they do not differ significantly, up to 4 for an adjusted
    p-value of at most alpha / 1000. `sign` is 1 if the upper one is significantly better, -1 if worse, else 0.
    """

    upper: int
    lower: int
    step: int
    sign: int
    pair: PairRecord


@dataclass(frozen=True, slots=True)
class _Key:
    """A box of the legend."""

    text: str
    step: int = 0
    sign: int = 0
    relation: str = ""
    is_listed: bool = True


def heatmap(scene: BoardScene) -> Drawing:
    """The picture of a board; refused if no pairs are listed."""
    if not scene.board.pairs:
        raise refusal(
            "The heatmap shows pairs, and none is listed: set pairs to all, or choose another picture."
        )
    cells, systems = cells_of(scene.board), len(scene.systems)
    side = _by_size(SIDES, systems)
    size = min(9.0, 0.78 * side * 72)
    numbers = [str(place) for place in range(1, systems + 1)]
    names = names_fitted([system.name for system in scene.systems], size, MOST_NAME)
    starts = [MARGIN + side * place + 0.08 for place in range(systems)]
    after = [x + width(text, size) + 0.04 for x, text in zip(starts, numbers, strict=True)]
    wide = max(max(x + width(text, size) for x, text in zip(after, names, strict=True)) + MARGIN, LEAST_WIDTH)
    title = f"Pairs of {counted(systems, 'system')} by {scene.measured}"
    notes, keys = _notes(scene), _key_rows(_keys(scene, cells), wide)
    top = head_height(title, scene.subtitle, wide) + 0.12
    bottom = top + side * systems
    below = bottom + 0.2 + KEY_ROW * len(keys)
    palette, canvas = scene.palette, scene.canvas(title, wide, below + 0.1, notes)
    for place, text in enumerate(names):
        y, tooltip = top + side * (place + 0.5), sentence_of(scene.systems[place])
        canvas.text(starts[place], y, numbers[place], color=palette.soft, size=size)
        canvas.text(after[place], y, text, color=palette.ink, size=size, say=tooltip)
    _draw_cells(canvas, scene, cells, side, top)
    for row, shown in enumerate(keys):
        _draw_keys(canvas, scene, shown, bottom + 0.2 + KEY_ROW * (row + 0.5))
    return scene.drawn(canvas, title, below + 0.13, notes, _sentences(scene, cells))


def _by_size(values: tuple[float, float, float], systems: int) -> float:
    return values[0] if systems <= WRITTEN else values[1] if systems <= POINTED else values[2]


def _draw_cells(canvas: Canvas, scene: BoardScene, cells: Sequence[Cell], side: float, top: float) -> None:
    systems = len(scene.systems)
    gap = _by_size(GAPS, systems)

    def box(cell: Cell, last: int | None = None) -> Box:
        """A cell; or from it to another one of its row."""
        x, y = MARGIN + side * cell.upper, top + side * cell.lower
        end = MARGIN + side * ((cell.upper if last is None else last) + 1)
        return x + gap, y + gap, end - gap, y + side - gap

    if systems <= POINTED:
        for cell in cells:
            color = _look(canvas, scene, cell.step, cell.sign, cell.pair.relation)
            canvas.boxes([box(cell)], color=color, say=_sentence(scene, cell))
    else:  # equal neighbours are one box, and all boxes of one look are one path
        for (step, sign, relation), boxes in _runs(cells, box).items():
            canvas.boxes(
                boxes, color=_look(canvas, scene, step, sign, relation), edge=0.4
            )  # no seams between rows
    if systems <= WRITTEN:
        _write(canvas, scene, cells, box)
    half = min(0.24 * side, 0.045)
    marks: dict[str, list[Segment]] = defaultdict(list)
    for cell in cells:
        x0, y0, x1, y1 = box(cell)
        middle = (x0 + x1) / 2, (y0 + y1) / 2
        if systems <= WRITTEN:
            middle = middle[0], y0 + 0.11
        if cell.sign > 0 and systems > POINTED:
            continue  # unmarked means better in the legend
        marks[_ink(scene, cell.step)] += _mark(middle, half, cell.sign, cell.pair.relation)
    for color, segments in marks.items():
        canvas.lines(segments, color=color, linewidth=1.0 if systems <= POINTED else 0.8)


def _runs(cells: Sequence[Cell], box: Callable[[Cell, int], Box]) -> dict[tuple[int, int, str], list[Box]]:
    boxes: dict[tuple[int, int, str], list[Box]] = defaultdict(list)
    ordered = sorted(cells, key=lambda cell: (cell.lower, cell.upper))
    runs = groupby(
        enumerate(ordered), key=lambda each: (each[1].lower, each[1].upper - each[0], _kind(each[1]))
    )
    for (_, _, kind), run in runs:
        members = [cell for _, cell in run]
        boxes[kind].append(box(members[0], members[-1].upper))
    return boxes


def _kind(cell: Cell) -> tuple[int, int, str]:
    """The look of a cell."""
    plain = cell.pair.relation if cell.pair.relation == "untestable" else ""
    return cell.step, cell.sign, plain


def _look(canvas: Canvas, scene: BoardScene, step: int, sign: int, relation: str) -> str:
    palette = scene.palette
    if relation == "untestable":
        return canvas.hatched(palette.tied, palette.hatch)
    if step == 0:
        return palette.tied
    return (palette.better if sign > 0 else palette.worse)[step - 1]


def _ink(scene: BoardScene, step: int) -> str:
    return scene.palette.knock if step > 2 else scene.palette.ink


def _mark(middle: Point, half: float, sign: int, relation: str) -> list[Segment]:
    """Plus, minus, or a cross for undecided."""
    x, y = middle
    if relation == "undecided":
        return [((x - half, y - half), (x + half, y + half)), ((x - half, y + half), (x + half, y - half))]
    across, up = ((x - half, y), (x + half, y)), ((x, y - half), (x, y + half))
    return [] if sign == 0 else [across] if sign < 0 else [across, up]


def _write(canvas: Canvas, scene: BoardScene, cells: Sequence[Cell], box: Callable[[Cell], Box]) -> None:
    for cell in cells:
        x0, y0, x1, y1 = box(cell)
        x, y = (
            (x0 + x1) / 2,
            (y0 + y1) / 2 + (0.06 if cell.sign or cell.pair.relation == "undecided" else 0.0),
        )
        p = short_p(cell.pair.p_adjusted, cell.pair.log10_p_adjusted, scene.board.family.alpha)
        text = fitted(p, 7.5, x1 - x0 - 0.02)
        canvas.text(x, y, text, color=_ink(scene, cell.step), size=7.5, across="center")


def _keys(scene: BoardScene, cells: Sequence[Cell]) -> list[_Key]:
    limits = limit_texts(scene.board.family.alpha)
    relations = {cell.pair.relation for cell in cells}
    keys = [_Key("not significant")]
    for sign, word in ((1, "better"), (-1, "worse")):
        if sign > 0 or any(cell.sign < 0 for cell in cells):
            keys += [
                _Key(
                    f"{word}, p \N{LESS-THAN OR EQUAL TO} {limit}"
                    if step == 1
                    else f"\N{LESS-THAN OR EQUAL TO} {limit}",
                    step,
                    sign,
                )
                for step, limit in enumerate(limits, start=1)
            ]
    keys += [
        _Key(text, relation=relation)
        for relation, text in (("undecided", "undecided"), ("untestable", "untestable"))
        if relation in relations
    ]
    systems = len(scene.systems)
    if len(cells) < systems * (systems - 1) // 2:
        keys.append(_Key("no cell: not listed", is_listed=False))
    return keys


def _key_width(key: _Key) -> float:
    return (KEY + 0.06 if key.is_listed else 0.0) + width(key.text, SMALL) + 0.2


def _key_rows(keys: Sequence[_Key], wide: float) -> list[list[_Key]]:
    rows: list[list[_Key]] = [[]]
    for key in keys:
        if sum(map(_key_width, [*rows[-1], key])) > wide - 2 * MARGIN + 0.2:
            rows.append([])
        rows[-1].append(key)
    return rows


def _draw_keys(canvas: Canvas, scene: BoardScene, keys: Sequence[_Key], y: float) -> None:
    x = MARGIN
    for key in keys:
        start = x
        if key.is_listed:
            color = _look(canvas, scene, key.step, key.sign, key.relation)
            canvas.boxes([(x, y - KEY / 2, x + KEY, y + KEY / 2)], color=color)
            if key.sign < 0 or len(scene.systems) <= POINTED:
                segments = _mark((x + KEY / 2, y), 0.045, key.sign, key.relation)
                canvas.lines(segments, color=_ink(scene, key.step), linewidth=1.0)
            elif key.relation == "undecided":
                canvas.lines(
                    _mark((x + KEY / 2, y), 0.045, 0, key.relation), color=_ink(scene, 0), linewidth=0.8
                )
            start += KEY + 0.06
        canvas.text(start, y, key.text, color=scene.palette.soft, size=SMALL)
        x += _key_width(key)


def _notes(scene: BoardScene) -> list[str]:
    return [
        (
            "Systems are sorted, best first. Pairs with higher ranked systems are left of a name, with "
            "lower ranked ones below. Better and worse refer to the higher ranked system; p is adjusted."
        )
    ]


def _sentence(scene: BoardScene, cell: Cell) -> str:
    pair = cell.pair
    return (
        f"{short(pair.u)} against {short(pair.v)}: difference {number(pair.difference)}, adjusted p "
        f"{p_adjusted(pair, scene.board.family.alpha)}, {RELATIONS[pair.relation]}"
    )


def _sentences(scene: BoardScene, cells: Sequence[Cell]) -> str:
    counts = {
        "significant with the higher ranked system better": sum(cell.sign > 0 for cell in cells),
        "significant with it worse": sum(cell.sign < 0 for cell in cells),
        **{
            RELATIONS[relation]: sum(cell.pair.relation == relation for cell in cells)
            for relation in ("tied", "undecided", "untestable")
        },
    }
    counts_text = ", ".join(f"{count:,} {what}" for what, count in counts.items() if count)
    rows = "; ".join(f"{place} {short(system.name)}" for place, system in enumerate(scene.systems, start=1))
    return f"Of {counted(len(cells), 'pair')}: {counts_text}. {' '.join(_notes(scene))} In order: {rows}."


# Cells


def cells_of(board: BoardRecord) -> list[Cell]:
    """A cell for each listed pair."""
    place = {system.name: at for at, system in enumerate(board.systems)}
    limits = limits_of(board.family.alpha)
    return [_cell(place, limits, pair) for pair in board.pairs]


def limits_of(alpha: float) -> list[float]:
    """The largest adjusted p-value of each step from the first significant one: alpha, alpha / 10, ..."""
    return [float(Decimal(repr(alpha)).scaleb(-k)) for k in range(STEPS)]


def limit_texts(alpha: float) -> list[str]:
    """These limits in words."""
    return [limit_text(limit) for limit in limits_of(alpha)]


def _cell(place: dict[str, int], limits: Sequence[float], pair: PairRecord) -> Cell:
    upper, lower = sorted((place[pair.u], place[pair.v]))
    first = pair.u if place[pair.u] == upper else pair.v
    _, relation = toward(pair, first)
    sign = {"better": 1, "worse": -1}.get(relation, 0)
    # The relation decides about alpha, with fractions. For the other limits, the upper bound must be below.
    beyond = sum(pair.p_adjusted_bounds[1] <= limit for limit in limits[1:])
    return Cell(upper, lower, (1 + beyond) if sign else 0, sign, pair)
