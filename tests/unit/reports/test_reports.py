from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable

import pytest
from hypothesis import given, strategies as st

from app.inference.record import ItemLevel, TestRecord
from app.reports.labels import for_csv, for_line, for_markdown, single_line
from app.reports.line import line
from app.reports.markdown import markdown
from app.reports.numerals import probability
from app.reports.row import row

Make = Callable[..., TestRecord]
ID = "t_9f86d081884c7d65"
HOSTILE = [
    "a\r\nINFO forged line",
    "a | b || c",
    "=cmd|' /C calc'!A0",
    "`</code><script>alert(1)</script>",
    "@everyone [x](javascript:alert(1))",
    "\u202ereversed\u2028next\x00\x1b[31m",
    "\\",
    "",
    "   ",
]


def test_the_line_says_what_a_log_needs(record: Make) -> None:
    assert line(record(), ID) == (
        "p=0.0625 (exact, fft) two-sided mean_difference=0.056 U=0.866 V=0.81 n=5 not significant at 0.05 "
        "[alpha_unattainable] t_9f86d081884c7d65"
    )


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_stays_in_its_line(record: Make, name: str) -> None:
    said = line(record(name_u=name, name_v=name), ID)
    assert said.isprintable()
    assert len(said.splitlines()) == 1


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_stays_in_its_cell(record: Make, name: str) -> None:
    plain, hostile = markdown(record(), ID), markdown(record(name_u=name, name_v=name), ID)
    assert len(hostile.split("\n")) == len(plain.split("\n"))
    assert [text.count("|") for text in hostile.split("\n")] == [
        text.count("|") for text in plain.split("\n")
    ]
    cells = [text for text in hostile.split("\n") if text.startswith("| `")]
    assert all(text.split("|")[1].strip().strip("`").count("`") == 0 for text in cells)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_is_no_formula(record: Make, name: str) -> None:
    header, values = csv.reader(io.StringIO(row(record(name_u=name, name_v="V"), ID)))
    said = dict(zip(header, values, strict=True))
    assert not said["name_u"].startswith(("=", "+", "-", "@", "\t", "\r"))
    assert said["name_v"] == "V"


def test_the_row_loses_no_digit(record: Make) -> None:
    p = 0.1 + 0.2
    header, values = csv.reader(io.StringIO(row(record(p_value=p), ID)))
    said = dict(zip(header, values, strict=True))
    assert float(said["p_value"]) == p
    assert (said["clusters"], said["exact"], said["significant"]) == ("", "true", "false")


@given(st.text())
def test_no_label_has_more_than_one_line(text: str) -> None:
    for written in (single_line(text), for_line(text), for_markdown(text), for_csv(text)):
        assert len(written.splitlines()) <= 1


@pytest.mark.parametrize(
    ("p", "log10_p", "text"),
    [
        (0.0625, math.log10(0.0625), "0.0625"),
        (5e-324, -400.25, "5.623e-401"),
        (5e-324, -399.999999999, "1e-400"),
        (1.0, 0.0, "1"),
    ],
)
def test_a_p_value_too_small_for_a_double_is_still_told(p: float, log10_p: float, text: str) -> None:
    assert probability(p, log10_p) == text


def test_the_p_value_by_item_stands_beside_that_of_the_clusters(record: Make) -> None:
    level = ItemLevel(0.001, -3.0, "fft", exact=True)
    assert " p_by_item=0.001 " in line(record(item_level=level), ID)
    assert "| p-value by item | 0.001 |" in markdown(record(item_level=level), ID)
    header, values = csv.reader(io.StringIO(row(record(item_level=level), ID)))
    assert dict(zip(header, values, strict=True))["item_level_p_value"] == "0.001"
    assert "by item" not in markdown(record(), ID)
