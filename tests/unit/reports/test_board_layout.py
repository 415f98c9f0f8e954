"""In no picture of a comparison do two texts touch, and none leaves the paper: Pillow measures them in our font."""

from __future__ import annotations

import re
from functools import cache
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from PIL import ImageFont

from exactperm.answers.board import CompareRecord
from exactperm.reports.board_words import named_boards
from exactperm.reports.picture.board import BoardScene
from exactperm.reports.picture.canvas import BOARD_PALETTES, FOLDER, Theme, printable
from exactperm.reports.picture.pictures import BOARD_PICTURES
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


@cache
def font(size: float, bold: bool) -> ImageFont.FreeTypeFont:
    # Measured large, where whole pixels matter little.
    return ImageFont.truetype(FOLDER / f"DejaVuSans{'-Bold' if bold else ''}.ttf", size * 20)


def texts_of(
    record: CompareRecord, picture: str, theme: Theme, in_our_font: bool = True
) -> tuple[Any, list[str]]:
    """The boxes of all texts over the size of the paper, shape (T, 2, 2), and what they say."""
    shown = next(named_boards(record))
    scene = BoardScene(record, shown, BOARD_PALETTES[theme], "p", printable if in_our_font else str)
    drawn = BOARD_PICTURES[picture](scene)
    root = ET.fromstring(drawn.canvas.svg(drawn.title, drawn.description))
    paper = [float(number) for number in root.get("viewBox", "").split()[2:]]
    boxes, said = [], []
    for element in root.iter("{http://www.w3.org/2000/svg}text"):
        style, text = element.get("style", ""), element.text or ""
        assert "transform" not in element.attrib
        size = float(re.findall(r"font-size: ([\d.]+)px", style)[0])
        anchor = {"start": 0.0, "middle": 0.5, "end": 1.0}[re.findall(r"text-anchor: (\w+)", style)[0]]
        left, top, right, bottom = (
            edge / 20 for edge in font(size, "bold" in style).getbbox(text, anchor="ls")
        )
        x, y = (float(element.get(name, "")) for name in "xy")
        x -= anchor * font(size, "bold" in style).getlength(text) / 20
        boxes.append([[x + left, y + top], [x + right, y + bottom]])
        said.append(text)
    return np.array(boxes) / paper, said


def touching(boxes: Any) -> list[tuple[int, int]]:
    """Pairs of boxes with a common part."""
    low, high = boxes[:, 0], boxes[:, 1]
    inside = (low[:, None] < high[None]) & (low[None] < high[:, None])
    first, second = np.nonzero(np.triu(inside.all(axis=2), 1))
    return list(zip(first.tolist(), second.tolist(), strict=True))


def assert_apart(
    record: CompareRecord, picture: str, theme: Theme = "light", in_our_font: bool = True
) -> None:
    boxes, said = texts_of(record, picture, theme, in_our_font)
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
    assert_apart(compared(names, some_scores(10)), picture, in_our_font=False)


def test_what_touches_is_seen() -> None:
    boxes = np.array([[[0, 0], [2, 2]], [[1, 1], [3, 3]], [[2, 0], [4, 1]]], float)
    assert touching(boxes) == [(0, 1)]
