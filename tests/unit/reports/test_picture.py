"""Pictures show what the record says: masses, tails, words; and are the same bytes every time."""

from __future__ import annotations

import io
import math
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from PIL import Image

from exactperm.answers.test import Alternative, NamesRecord, NullRecord, StatisticRecord, TestRecord
from exactperm.engine.plan import Budget
from exactperm.inference.options import Options
from exactperm.inference.paired_test import run_test
from exactperm.presentation.escaping import single_line
from exactperm.reports.picture.null_distribution import MAX_NAME_CHARS, Scene, scene
from exactperm.reports.picture.pictures import inline_svg, png, svg
from exactperm.statistics.paired import Scores, StatisticSpec

ROOT = Path(__file__).resolve().parents[3]
NAMESPACE = "{http://www.w3.org/2000/svg}"
HOSTILE = [
    "<script>alert(1)</script>",
    r"$\frac{1}{0}$",
    "&lt;b&gt;",
    "a\r\nb\x00c",
    "x" * 5_000,
    "\U0001f600\u202e",
    "\u7cfb\u7edf \u0645\u0631 \u0928\u092e \u0e20\u0e32",
    "#010101 font: 'DejaVu Sans'",
    'y id="x" url(#a) href="#b"',
]


def asked(u: Sequence[float], v: Sequence[float], alternative: Alternative = "two-sided") -> TestRecord:
    data = Scores(np.array(u), np.array(v))
    return run_test(data, StatisticSpec("sum_difference"), Options(alternative=alternative), Budget())


def mass(told: Scene, *, tails: bool) -> float:
    """Probability that the areas stand for; half of a bar stands for half its mass."""
    width = told.bars[0].right - told.bars[0].left
    bars = told.tails if tails else told.bars
    return sum(bar.height * (bar.right - bar.left) / width for bar in bars)


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
@pytest.mark.parametrize(
    ("u", "v"),
    [([3, 1, 4, 1, 5], [2, 2, 1, 1, 1]), ([0, 0, 5], [2, 3, 1]), ([1, 2], [1, 2]), ([1], [4])],
)
def test_the_shaded_bars_hold_the_p_value_and_all_bars_one(
    u: list[float], v: list[float], alternative: Alternative
) -> None:
    record = asked(u, v, alternative)
    differences = [a - b for a, b in zip(u, v, strict=True)]
    signs = product((1, -1), repeat=len(u))
    sums = [sum(s * d for s, d in zip(sign, differences, strict=True)) for sign in signs]
    observed = sum(differences)
    counted = {
        "two-sided": [abs(total) >= abs(observed) for total in sums],
        "greater": [total >= observed for total in sums],
        "less": [total <= observed for total in sums],
    }[alternative]
    told = scene(record)
    assert mass(told, tails=False) == pytest.approx(1.0, rel=1e-9)
    assert mass(told, tails=True) == pytest.approx(sum(counted) / len(sums), rel=1e-9)
    assert told.left < min(bar.left for bar in told.bars)
    assert told.left < observed < told.right


def test_binned_nulls_shade_the_p_value_up_to_a_bin() -> None:
    rng = np.random.default_rng(5)
    record = asked(rng.integers(0, 900, 400).tolist(), rng.integers(0, 900, 400).tolist())
    told = scene(record)
    assert len(told.bars) > 60
    assert not told.separate
    assert mass(told, tails=True) == pytest.approx(record.p_value, rel=1e-6)
    least = sum(bar.height for bar in told.bars if bar.left >= abs(told.observed))
    least += sum(bar.height for bar in told.bars if bar.right <= -abs(told.observed))
    cut = sum(bar.height for bar in told.bars if bar.left < abs(told.observed) < bar.right)
    cut += sum(bar.height for bar in told.bars if bar.left < -abs(told.observed) < bar.right)
    assert 0.01 < least < record.p_value < least + cut < least + 0.1
    edges = {edge for bar in told.bars for edge in (bar.left, bar.right)}
    assert all((tail.right if tail.middle > 0.0 else tail.left) in edges for tail in told.tails)


def test_a_far_away_value_is_pointed_at_and_does_not_squash_the_null() -> None:
    record = asked([9] * 300, [1] * 300, "greater")
    told = scene(record)
    assert told.beyond == 0 or told.right < record.statistic.observed
    assert 9.5 * record.null.sd / (told.right - told.left) > 0.3
    assert "17.3 sd out" in told.observed_label
    mirrored = scene(asked([1] * 300, [9] * 300, "less"))
    assert (mirrored.beyond, told.beyond) == (-1, 1)


def test_the_words_are_in_the_picture() -> None:
    record = asked([3, 1, 4, 1, 5], [2, 2, 1, 1, 1])
    text = "".join(ET.fromstring(svg(record)).itertext())
    assert f"p = {record.p_value:.6g}" in text
    assert "observed 7" in text
    assert "difference in total score" in text
    root = ET.fromstring(svg(record))
    assert root.get("role") == "img"
    assert root[0].tag == f"{NAMESPACE}title"
    assert root[1].tag == f"{NAMESPACE}desc"


@pytest.mark.slow
def test_a_picture_is_the_same_bytes_in_another_process() -> None:
    code = (
        "import hashlib; from tests.unit.reports.test_picture import asked\n"
        "from exactperm.reports.picture.pictures import svg, png, inline_svg\n"
        "r = asked([3, 1, 4, 1, 5], [2, 2, 1, 1, 1])\n"
        "print(hashlib.sha256(svg(r) + png(r, 'dark') + inline_svg(r).encode()).hexdigest())"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout
        for _ in range(2)
    }
    assert len(digests) == 1
    assert len(digests.pop()) == 65


def test_light_and_dark_are_as_large_and_differ_in_their_paper() -> None:
    record = asked([3, 1, 4, 1, 5], [2, 2, 1, 1, 1])
    light, dark = (Image.open(io.BytesIO(png(record, theme))).convert("L") for theme in ("light", "dark"))
    assert light.size == dark.size
    assert (light.getpixel((2, 2)), dark.getpixel((2, 2))) == (255, 30)


def test_tails_can_be_told_in_black_and_white() -> None:
    record = asked([3, 1, 4, 1, 5], [2, 2, 1, 1, 1])
    for theme in ("light", "dark"):
        grey = np.asarray(Image.open(io.BytesIO(png(record, theme))).convert("L")).ravel()
        shades, counts = np.unique(grey, return_counts=True)
        common = shades[np.argsort(counts)[::-1][:3]].astype(int)  # paper, bars, tails
        assert min(abs(a - b) for i, a in enumerate(common) for b in common[:i]) >= 40, (theme, common)


def test_pictures_in_a_page_share_no_id_and_leave_its_styles_alone() -> None:
    first, second = (inline_svg(asked(u, [2, 2, 1, 1, 1])) for u in ([3, 1, 4, 1, 5], [9, 1, 4, 1, 5]))
    ids = [set(re.findall(r' id="([^"]+)"', text)) for text in (first, second)]
    assert ids[0]
    assert not ids[0] & ids[1]
    for text, own in zip((first, second), ids, strict=True):
        assert set(re.findall(r"(?:url\(|href=\")#([^)\"]+)", text)) <= own
        styles = "".join(
            style.text or "" for style in ET.fromstring(text).iter() if style.tag == f"{NAMESPACE}style"
        )
        selectors = re.findall(r"([^{}]+)\{", styles.replace("@media (prefers-color-scheme:dark){", ""))
        assert selectors
        assert all(selector.strip().startswith("#n") for selector in selectors), selectors
        assert "prefers-color-scheme:dark" in styles
        assert "#01010" not in text


def test_one_record_twice_in_a_page_is_told_apart_by_its_places() -> None:
    record = asked([3, 1, 4, 1, 5], [2, 2, 1, 1, 1])
    ids = [re.findall(r' id="([^"]+)"', inline_svg(record, number=number)) for number in (1, 2)]
    assert len({*ids[0], *ids[1]}) == len(ids[0]) + len(ids[1])


@pytest.mark.parametrize("label", HOSTILE, ids=range(len(HOSTILE)))
def test_labels_are_inert(record: Callable[..., TestRecord], label: str) -> None:
    hostile = record(names=NamesRecord(label, label), statistic=StatisticRecord(label, 0.056, 0.866, 0.81))
    for text in (svg(hostile).decode(), inline_svg(hostile)):
        name = single_line(label)
        texts = [element.text for element in ET.fromstring(text).iter(f"{NAMESPACE}text")]
        assert len(name) > MAX_NAME_CHARS or f"difference in {name}" in texts
        assert {element.tag for element in ET.fromstring(text).iter()} <= {
            NAMESPACE + tag
            for tag in (
                "svg",
                "title",
                "desc",
                "style",
                "defs",
                "g",
                "path",
                "text",
                "pattern",
            )
        }
        assert len(text) < 60_000
    Image.open(io.BytesIO(png(hostile))).verify()


@pytest.mark.parametrize(
    "null",
    [
        NullRecord(0.0, 0.0, 0.0, 0.0, None, None, None),
        NullRecord(0.0, 0.02, -0.05, 0.05, None, None, None),
        NullRecord(0.0, 0.0, 0.0, 0.0, (), ((0.0, 1.0),), 0.0),
        NullRecord(0.0, 1e-200, -1e-200, 1e-200, (), ((-1e-200, 0.5), (1e-200, 0.5)), 2e-200),
        NullRecord(0.0, 1e200, -1e200, 1e200, (), ((-1e200, 0.5), (1e200, 0.5)), 2e200),
        NullRecord(0.0, math.inf, -1.7e308, 1.7e308, (), ((-1.7e308, 0.5), (1.7e308, 0.5)), 1e300),
        NullRecord(0.0, math.inf, -1.7e308, 1.7e308, None, None, None),
        NullRecord(0.0, 0.0, -5e-324, 5e-324, (), ((-5e-324, 0.5), (5e-324, 0.5)), 5e-324),
        NullRecord(0.0, 1.0, -3.0, 3.0, (), ((-1.0, 0.0), (1.0, 0.0)), 2.0),
    ],
    ids=[
        "nothing",
        "moments",
        "one value",
        "tiny",
        "huge",
        "largest",
        "largest moments",
        "smallest",
        "no mass",
    ],
)
def test_what_is_not_known_is_not_drawn_and_nothing_breaks(
    record: Callable[..., TestRecord], null: NullRecord
) -> None:
    odd = replace(record(), null=null)
    text = svg(odd).decode()
    assert "nan" not in re.sub(r"<text.*?</text>", "", text).lower()
    assert ("was not computed" in text) == (not null.pmf and null.min != null.max)
    Image.open(io.BytesIO(png(odd))).verify()
