"""No text of the picture of a test or of power leaves its paper, and no picture in pixels is too large to be drawn."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from exactperm.answers.power import PowerMethod, PowerPoint, PowerRecord, Solution
from exactperm.answers.test import NamesRecord, NullRecord, StatisticRecord, TestRecord
from exactperm.reports.picture import pictures
from exactperm.reports.picture.canvas import POINTS_PER_INCH, width
from exactperm.reports.picture.pictures import board_png, power_svg, svg
from tests.unit.reports.compare_records import compared, short_names, some_scores


def assert_inside(picture: bytes) -> None:
    """That all texts are on the paper as our font measures them."""
    root = ET.fromstring(picture)
    wide = float(root.get("viewBox", "").split()[2])
    for text in root.iter("{http://www.w3.org/2000/svg}text"):
        style, said = text.get("style", ""), text.text or ""
        if "transform" in text.attrib:
            continue
        size = float(re.findall(r"font-size: ([\d.]+)px", style)[0])
        anchor = {"start": 0.0, "middle": 0.5, "end": 1.0}[re.findall(r"text-anchor: (\w+)", style)[0]]
        length = width(said, size, bold="bold" in style) * POINTS_PER_INCH
        left = float(text.get("x", "")) - anchor * length
        assert left >= -0.5, said
        assert left + length <= wide + 0.5, said


@pytest.mark.parametrize(
    "name", ["W" * 200, "\u65e5\u672c" * 100, "\U0001f600" * 50, "x" * 10_000, "\u00e9" * 39, "", "\0"]
)
def test_a_wide_name_is_cut_to_the_paper(record: Callable[..., TestRecord], name: str) -> None:
    statistic = StatisticRecord(name, 0.056, 0.866, 0.81)
    for one in (
        record(statistic=statistic),
        record(names=NamesRecord(name, name), statistic=statistic),
        record(
            statistic=StatisticRecord(name, 1e-200, None, None),
            null=NullRecord(0.0, 1e-200, -1e-200, 1e-200, None, None, None),
        ),
    ):
        picture = svg(one)
        assert_inside(picture)
        assert ("(in units of 1e" in picture.decode()) == (one.statistic.observed == 1e-200)


def test_long_numbers_at_the_ends_of_an_axis_are_not_cut(record: Callable[..., TestRecord]) -> None:
    null = NullRecord(
        99_999.99995, 5e-5, 99_999.9999, 100_000.0, None, ((99_999.9999, 0.5), (100_000.0, 0.5)), 1e-4
    )
    assert_inside(svg(record(null=null, statistic=StatisticRecord("mean_difference", 99_999.9999, 0.0, 0.0))))


@pytest.mark.parametrize("alpha", [0.05, 0.123456789012345])
@pytest.mark.parametrize("first", [10, 10_000_000])
def test_what_was_asked_about_power_is_on_the_paper(alpha: float, first: int) -> None:
    curve = tuple(PowerPoint(n, 0.0123456, 0.5 + 0.01 * (n - first)) for n in range(first, first + 10))
    record = PowerRecord(
        digest="a" * 64, solve="n", solution=Solution(0.0123456, first + 9, None, 0.59), wanted_power=0.8123456,
        alpha=alpha, comparisons=1_000, alternative="two-sided", critical_difference=None, actual_alpha=None, curve=curve,
        method=PowerMethod("normal", False, "the sizes"), sentence="It has the power.",
    )  # fmt: skip
    picture = power_svg(record)
    assert_inside(picture)
    said = " ".join(
        text.text or "" for text in ET.fromstring(picture).iter("{http://www.w3.org/2000/svg}text")
    )
    assert "over 1000 comparisons, two-sided, power 0.8123456; approximate" in said


@pytest.mark.parametrize(
    "curve", [(), (PowerPoint(50, 0.0, 0.05),), (PowerPoint(50, 0.0, 0.05), PowerPoint(60, 0.0, 0.05))]
)
@pytest.mark.parametrize("solve", ["n", "effect"])
def test_an_answer_about_power_without_a_curve_or_with_a_flat_one_is_drawn(curve: Any, solve: Any) -> None:
    record = PowerRecord(
        digest="a" * 64, solve=solve, solution=Solution(None, None, None, None), wanted_power=0.8, alpha=0.05,
        comparisons=1, alternative="two-sided", critical_difference=None, actual_alpha=None, curve=curve,
        method=PowerMethod("normal", False, "the sizes"), sentence="It is out of reach.",
    )  # fmt: skip
    assert "Out of reach" in "".join(ET.fromstring(power_svg(record)).itertext())


def test_a_very_large_picture_has_fewer_pixels(monkeypatch: pytest.MonkeyPatch) -> None:
    record = compared(short_names(30), some_scores(30))

    def size() -> list[int]:
        return list(struct.unpack(">LL", board_png(record, "heatmap")[16:24]))

    wide, high = size()
    monkeypatch.setattr(pictures, "MOST_PIXELS", wide * high // 4)
    assert size() == pytest.approx([wide / 2, high / 2], abs=1)
