"""In no picture of a comparison do two texts touch, and none leaves the paper: matplotlib measures them itself."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

import numpy as np
import pytest

from app.inference.compare.record import CompareRecord
from app.reports.picture.board_picture import drawing
from app.reports.picture.board_style import BOARD_PALETTES
from app.reports.picture.rendering import DOTS_PER_INCH, Kind
from app.reports.picture.style import Theme, settings
from tests.unit.reports.compare_records import compared, long_names, short_names, some_scores

PICTURES = ("leaderboard", "heatmap", "bars", "forest")
SIZES = (2, 10, 30, 134)


@cache
def record_of(size: int, how: str) -> CompareRecord:
    names = long_names(size) if how == "long" else short_names(size)
    scores = some_scores(size, tied=how == "tied")
    if how == "far apart":  # each system a cluster of its own
        scores = np.array([[8 * k > at for at in range(8 * size)] for k in range(size)], float)
    if how == "baseline":
        middle = names[size // 2]
        return compared(names, scores, design="baseline", baseline=middle, confidence_level=0.95)
    if how == "named pairs":
        pairs = tuple(zip(names[1:], names, strict=False))
        return compared(names, scores, design="pairs", pairs=pairs)
    return compared(names, scores)


def texts_of(record: CompareRecord, picture: str, theme: Theme, kind: Kind = "png") -> tuple[Any, list[str]]:
    """The boxes of all texts over the size of the paper, shape (T, 2, 2), and what they say."""
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.text import Text

    parameters: Any = {**mpl.rcParamsDefault, **settings("")}
    with mpl.rc_context(parameters), warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"Glyph \d+ .* missing from font")
        figure = drawing(record, picture, BOARD_PALETTES[theme], kind).canvas.figure
        figure.set_dpi(DOTS_PER_INCH)
        agg: Any = FigureCanvasAgg(figure)
        renderer = agg.get_renderer()
        found: list[Any] = figure.findobj(Text)
        texts = [text for text in found if text.get_text()]
        boxes = [text.get_window_extent(renderer).get_points() for text in texts]
        paper = figure.get_size_inches() * DOTS_PER_INCH
    return np.array(boxes) / paper, [text.get_text() for text in texts]


def touching(boxes: Any) -> list[tuple[int, int]]:
    """Pairs of boxes with a common part."""
    low, high = boxes[:, 0], boxes[:, 1]
    inside = (low[:, None] < high[None]) & (low[None] < high[:, None])
    first, second = np.nonzero(np.triu(inside.all(axis=2), 1))
    return list(zip(first.tolist(), second.tolist(), strict=True))


def assert_apart(record: CompareRecord, picture: str, theme: Theme = "light", kind: Kind = "png") -> None:
    boxes, said = texts_of(record, picture, theme, kind)
    assert [(said[i], said[j]) for i, j in touching(boxes)] == []
    out = (boxes < 0.0).any(axis=(1, 2)) | (boxes > 1.0).any(axis=(1, 2))
    assert [said[i] for i in np.flatnonzero(out)] == []


@pytest.mark.parametrize("how", ["short", "long"])
@pytest.mark.parametrize(
    ("picture", "size"),
    [(picture, size) for picture in PICTURES for size in SIZES if (picture, size) != ("bars", 134)],
)
def test_texts_do_not_touch(picture: str, size: int, how: str) -> None:
    assert_apart(record_of(size, how), picture)


@pytest.mark.parametrize("picture", PICTURES)
def test_texts_do_not_touch_in_the_dark(picture: str) -> None:
    assert_apart(record_of(30, "long"), picture, "dark")


@pytest.mark.parametrize("size", [2, 10, 30])
@pytest.mark.parametrize(
    ("picture", "how"),
    [
        *((picture, how) for picture in PICTURES for how in ("tied", "far apart")),
        *((picture, how) for picture in PICTURES if picture != "bars" for how in ("baseline", "named pairs")),
    ],
)
def test_texts_do_not_touch_whatever_was_compared(picture: str, how: str, size: int) -> None:
    assert_apart(record_of(size, how), picture)


@pytest.mark.parametrize("picture", PICTURES)
@pytest.mark.parametrize("factor", [1e-300, -1e-9, 1.0, 1e290])
def test_numbers_of_any_size_have_room(picture: str, factor: float) -> None:
    scores = factor * (some_scores(10) + 1000 * some_scores(10, seed=2))
    assert_apart(compared(short_names(10), scores), picture)


@pytest.mark.parametrize("picture", PICTURES)
def test_an_svg_with_scripts_that_our_font_lacks_has_room(picture: str) -> None:
    names = [f"日本語モデル漢字漢字漢字漢字漢字漢字漢字漢字{k}😀😀😀" for k in range(10)]
    assert_apart(compared(names, some_scores(10)), picture, kind="svg")


def test_what_touches_is_seen() -> None:
    boxes = np.array([[[0, 0], [2, 2]], [[1, 1], [3, 3]], [[2, 0], [4, 1]]], float)
    assert touching(boxes) == [(0, 1)]
