"""Test pictures against the record: masses, tails, words, and the same bytes every time."""

import io
import math
import os
import re
import struct
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise, product
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from PIL import Image, ImageFont

from exactperm.answers.power import PowerMethod, PowerPoint, PowerRecord, Solution
from exactperm.answers.test import (
    Alternative,
    Mass,
    NamesRecord,
    NullRecord,
    StatisticRecord,
    TestRecord,
    WarningRecord,
)
from exactperm.engine.plan import Budget
from exactperm.inference.options import Options
from exactperm.inference.paired import run_test
from exactperm.presentation.escaping import single_line
from exactperm.reports.picture import pictures
from exactperm.reports.picture.canvas import FOLDER, PALETTES, POINTS_PER_INCH, advance, printable, width
from exactperm.reports.picture.null_distribution import LINE_CHARS, MAX_NAME_CHARS, Scene, scene
from exactperm.reports.picture.pictures import board_picture, null_picture, power_picture
from exactperm.statistics.paired import Counts, Scores, StatisticSpec

from .compare_records import compared, short_names, some_scores

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
    ("u", "v"), [([3, 1, 4, 1, 5], [2, 2, 1, 1, 1]), ([0, 0, 5], [2, 3, 1]), ([1, 2], [1, 2]), ([1], [4])]
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
    text = "".join(ET.fromstring(null_picture(record).svg()).itertext())
    assert f"p = {record.p_value:.6g}" in text
    assert "observed 7" in text
    assert "difference in total score" in text
    root = ET.fromstring(null_picture(record).svg())
    assert root.get("role") == "img"
    assert root[0].tag == f"{NAMESPACE}title"
    assert root[1].tag == f"{NAMESPACE}desc"


@pytest.mark.slow
def test_a_picture_is_the_same_bytes_in_another_process() -> None:
    code = (
        "import hashlib; from tests.unit.reports.test_picture import asked\n"
        "from exactperm.reports.picture.pictures import null_picture\n"
        "r = asked([3, 1, 4, 1, 5], [2, 2, 1, 1, 1])\n"
        "print(hashlib.sha256((p := null_picture(r)).svg() + p.png('dark') + p.inline().encode()).hexdigest())"
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
    light, dark = (
        Image.open(io.BytesIO(null_picture(record).png(theme))).convert("L") for theme in ("light", "dark")
    )
    assert light.size == dark.size
    assert (light.getpixel((2, 2)), dark.getpixel((2, 2))) == (255, 30)


def test_tails_are_distinguishable_in_black_and_white() -> None:
    record = asked([3, 1, 4, 1, 5], [2, 2, 1, 1, 1])
    for theme in ("light", "dark"):
        grey = np.asarray(Image.open(io.BytesIO(null_picture(record).png(theme))).convert("L")).ravel()
        shades, counts = np.unique(grey, return_counts=True)
        common = shades[np.argsort(counts)[::-1][:3]].astype(int)  # paper, bars, tails
        assert min(abs(a - b) for i, a in enumerate(common) for b in common[:i]) >= 40, (theme, common)


def test_pictures_in_a_page_share_no_id_and_leave_its_styles_alone() -> None:
    first, second = (
        null_picture(asked(u, [2, 2, 1, 1, 1])).inline() for u in ([3, 1, 4, 1, 5], [9, 1, 4, 1, 5])
    )
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


def test_ids_of_a_record_shown_twice_differ() -> None:
    record = asked([3, 1, 4, 1, 5], [2, 2, 1, 1, 1])
    ids = [re.findall(r' id="([^"]+)"', null_picture(record, number=number).inline()) for number in (1, 2)]
    assert len({*ids[0], *ids[1]}) == len(ids[0]) + len(ids[1])


@pytest.mark.parametrize("label", HOSTILE, ids=range(len(HOSTILE)))
def test_labels_are_inert(record: Callable[..., TestRecord], label: str) -> None:
    hostile = record(names=NamesRecord(label, label), statistic=StatisticRecord(label, 0.056, 0.866, 0.81))
    for text in (null_picture(hostile).svg().decode(), null_picture(hostile).inline()):
        name = single_line(label)
        texts = [element.text for element in ET.fromstring(text).iter(f"{NAMESPACE}text")]
        assert len(name) > MAX_NAME_CHARS or f"difference in {name}" in texts
        assert {element.tag for element in ET.fromstring(text).iter()} <= {
            NAMESPACE + tag
            for tag in (
                "svg", "title", "desc", "style", "defs", "g", "path", "text", "pattern",
            )
        }  # fmt: skip
        assert len(text) < 60_000
    Image.open(io.BytesIO(null_picture(hostile).png())).verify()


@pytest.mark.parametrize(
    "null",
    [
        NullRecord(0.0, 0.0, 0.0, 0.0, None, None, None),
        NullRecord(0.0, 0.02, -0.05, 0.05, None, None, None),
        NullRecord(0.0, 0.0, 0.0, 0.0, {}, (Mass(0.0, 1.0),), 0.0),
        NullRecord(0.0, 1e-200, -1e-200, 1e-200, {}, (Mass(-1e-200, 0.5), Mass(1e-200, 0.5)), 2e-200),
        NullRecord(0.0, 1e200, -1e200, 1e200, {}, (Mass(-1e200, 0.5), Mass(1e200, 0.5)), 2e200),
        NullRecord(0.0, math.inf, -1.7e308, 1.7e308, {}, (Mass(-1.7e308, 0.5), Mass(1.7e308, 0.5)), 1e300),
        NullRecord(0.0, math.inf, -1.7e308, 1.7e308, None, None, None),
        NullRecord(0.0, 0.0, -5e-324, 5e-324, {}, (Mass(-5e-324, 0.5), Mass(5e-324, 0.5)), 5e-324),
        NullRecord(0.0, 1.0, -3.0, 3.0, {}, (Mass(-1.0, 0.0), Mass(1.0, 0.0)), 2.0),
    ],
    ids=[
        "nothing", "moments", "one value", "tiny", "huge", "largest", "largest moments", "smallest",
        "no mass",
    ],
)  # fmt: skip
def test_unknown_values_are_not_drawn_and_nothing_breaks(
    record: Callable[..., TestRecord], null: NullRecord
) -> None:
    odd = replace(record(), null=null)
    text = null_picture(odd).svg().decode()
    assert "nan" not in re.sub(r"<text.*?</text>", "", text).lower()
    assert ("was not computed" in text) == (not null.pmf and null.min != null.max)
    Image.open(io.BytesIO(null_picture(odd).png())).verify()


# What is drawn is measured in the SVG itself: bars against the null listed here, tails against the p-value.


Box = tuple[float, float, float]  # left, right, height; in points
LIGHT = PALETTES["light"]
AXIS = 228.15  # where y = 0 is drawn, in points from the top


def asked_of_picture_drawn(
    u: Sequence[float],
    v: Sequence[float],
    alternative: Alternative = "two-sided",
    statistic: str = "sum_difference",
) -> TestRecord:
    data = Scores(np.array(u), np.array(v))
    return run_test(data, StatisticSpec(statistic), Options(alternative=alternative), Budget())


def boxes(picture: bytes, fill: str) -> list[Box]:
    """Rectangles that stand on the axis and have this fill; those of the tail are filled with a hatched pattern."""
    found = []
    for path in ET.fromstring(picture).iter("{http://www.w3.org/2000/svg}path"):
        if not re.search(rf"fill: {re.escape(fill)}", path.get("style", "")):
            continue
        for outline in path.get("d", "").split("M")[1:]:
            points = [float(number) for number in re.findall(r"-?\d+\.?\d*", outline)]
            xs, ys = points[::2], points[1::2]
            if max(ys) == pytest.approx(AXIS, abs=1e-3) and min(ys) < AXIS - 1e-9:
                found.append((min(xs), max(xs), AXIS - min(ys)))
    return sorted(found)


def where_observed(picture: bytes, observed: float) -> float:
    """The position of the observed value's line, in points; it is the only vertical line of its width."""
    (line,) = (
        path.get("d", "")
        for path in ET.fromstring(picture).iter("{http://www.w3.org/2000/svg}path")
        if "stroke-width: 2" in path.get("style", "")
    )
    first, _, second, _ = (float(number) for number in re.findall(r"-?\d+\.?\d*", line))
    assert first == second, observed
    return first


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
@pytest.mark.parametrize(
    ("u", "v"),
    [([3, 1, 4, 1, 5], [2, 2, 1, 1, 1]), ([0, 0, 5], [2, 3, 1]), ([1], [4]), ([90, 1, 2], [0, 0, 0])],
)
def test_bars_and_tails_are_drawn_as_high_and_as_wide_as_their_probabilities(
    u: list[float], v: list[float], alternative: Alternative
) -> None:
    record = asked_of_picture_drawn(u, v, alternative)
    differences = [a - b for a, b in zip(u, v, strict=True)]
    signs = list(product((1, -1), repeat=len(u)))
    null = Counter(sum(s * d for s, d in zip(sign, differences, strict=True)) for sign in signs)
    picture = null_picture(record).svg()
    bars, tails = boxes(picture, LIGHT.bar), boxes(picture, "url")
    assert len(bars) == len(null)
    total = sum(height for *_, height in bars)
    for (left, right, height), (value, ways) in zip(bars, sorted(null.items()), strict=True):
        assert height / total == pytest.approx(ways / len(signs), rel=1e-4)
        slope = (bars[-1][0] - bars[0][0]) / (max(null) - min(null))
        middle = 0.5 * (bars[0][0] + bars[0][1]) + slope * (value - min(null))
        assert 0.5 * (left + right) == pytest.approx(middle, abs=1e-3)
    at = sorted(null).index(sum(differences))
    assert 0.5 * (bars[at][0] + bars[at][1]) == pytest.approx(
        where_observed(picture, sum(differences)), abs=1e-3
    )
    area = sum((right - left) * height for left, right, height in tails)
    whole = sum((right - left) * height for left, right, height in bars)
    assert area / whole == pytest.approx(record.p_value, rel=1e-4)


def test_a_single_bar_of_identical_systems_is_all_tail() -> None:
    picture = null_picture(asked_of_picture_drawn([1, 2], [1, 2])).svg()
    assert boxes(picture, LIGHT.bar) == boxes(picture, "url")
    assert len(boxes(picture, "url")) == 1


def test_distant_bars_are_visible_and_do_not_touch() -> None:
    drawn = boxes(null_picture(asked_of_picture_drawn([1000, 300, 40], [0, 0, 0])).svg(), LIGHT.bar)
    assert len(drawn) == 8
    assert all(right - left > 8.0 for left, right, _ in drawn)
    assert all(before[1] < after[0] for before, after in pairwise(drawn))


@pytest.mark.parametrize(
    ("alternative", "said"),
    [
        ("greater", "shaded: values \u2265 observed"),
        ("less", "shaded: values \u2264 observed"),
        ("two-sided", "shaded: |value| \u2265 |observed|"),
    ],
)
def test_the_legend_says_which_values_are_shaded(alternative: Alternative, said: str) -> None:
    told = scene(asked_of_picture_drawn([0, 0, 5], [2, 3, 1], alternative))
    assert told.legend == said
    assert told.regions


def test_the_caption_mentions_shading_only_if_there_is_some() -> None:
    far = asked_of_picture_drawn([9] * 300, [1] * 300, "greater", "mean_difference")
    assert scene(far).regions == ()
    assert scene(far).legend == "values \u2265 observed: off this axis"
    near = asked_of_picture_drawn(list(range(60)), [0] * 60, "two-sided", "mean_difference")
    assert scene(near).beyond == 0
    assert near.p_value < 1e-15
    assert scene(near).regions[-1][0] == near.statistic.observed


def test_the_tail_of_an_absolute_value_and_of_negative_values() -> None:
    rng = np.random.default_rng(2)
    u, v = rng.integers(0, 50, 40), rng.integers(20, 70, 40)
    record = asked_of_picture_drawn(u.tolist(), v.tolist(), "less")
    assert record.statistic.observed < 0.0
    told = scene(record)
    assert told.regions == ((told.left, record.statistic.observed),)
    assert "\N{MINUS SIGN}" in told.observed_label
    folded = scene(
        replace(record, alternative="greater", null=NullRecord(4.0, 2.0, 0.0, 9.0, None, None, None))
    )
    assert folded.regions[0][1] == folded.right


@pytest.mark.parametrize(
    ("changes", "sign"),
    [({}, "p = 0.0625"), ({"warnings": (WarningRecord("bootstrap_empty_tail", "…"),)}, "p \u2264 0.0625")],
)
def test_the_title_says_how_the_p_value_is_known(
    record: Callable[..., TestRecord], changes: dict[str, object], sign: str
) -> None:
    told = scene(record(**changes))
    assert told.title == sign
    assert sign in told.description
    bracketed = replace(record(), method=replace(record().method, exact=False, name="bounds"))
    assert scene(bracketed).title == "p \u2248 0.0625"


def test_a_title_stands_on_its_own_side_of_alpha(record: Callable[..., TestRecord]) -> None:
    assert scene(record(p_value=0.0500000004, log10_p_value=-1.3)).title != "p = 0.05"


def test_a_resampled_null_of_several_sums_is_drawn_and_labelled_as_sampled() -> None:
    rng = np.random.default_rng(8)
    u, v = ({name: rng.integers(0, 9, 50) for name in ("tp", "incorrect")} for _ in range(2))
    options = Options(test="bootstrap", samples=2_000)
    record: Any = run_test(Counts(u, v), StatisticSpec("f1"), options, Budget())
    assert 20 < len(record.null.pmf) <= 201
    assert sum(mass for _, mass in record.null.pmf) == pytest.approx(1.0)
    values = np.array([value for value, _ in record.null.pmf])
    masses = np.array([mass for _, mass in record.null.pmf])
    assert float(values @ masses) == pytest.approx(record.null.mean, abs=0.05 * record.null.sd)
    assert scene(record).probability == "probability (sampled)"
    assert "sampled" in scene(record).description
    assert (
        run_test(Counts(u, v), StatisticSpec("f1"), replace(options, pmf="none"), Budget()).null.pmf is None
    )


def test_values_out_of_the_range_of_an_axis_get_a_unit(record: Callable[..., TestRecord]) -> None:
    null = NullRecord(0.0, float("inf"), -1e308, 1e308, {}, (Mass(-1e308, 0.5), Mass(1e308, 0.5)), 1e306)
    told = scene(record(null=null, statistic=StatisticRecord("exp(x1)", 1e308, None, None)))
    assert told.statistic == "exp(x1) (in units of 1e308)"
    assert (told.observed, told.sd, told.beyond) == (1.0, 1.0, 0)
    assert "observed 1e+308" in told.observed_label
    assert -2.0 < told.left < -1.0 < 1.0 < told.right < 2.0


def test_a_long_subtitle_gets_a_second_line(record: Callable[..., TestRecord]) -> None:
    items = replace(record().items, n=1_000_000, clusters=10_000)
    told = scene(record(items=items, alternative="greater"), " without the margin")
    assert len(told.subtitle) == 2
    assert all(len(text) <= LINE_CHARS for text in told.subtitle)
    assert " ".join(told.subtitle).endswith("n = 1,000,000 in 10,000 clusters")
    drawn = "".join(
        ET.fromstring(
            null_picture(record(items=items, alternative="greater"), " without the margin").svg()
        ).itertext()
    )
    assert all(text in drawn for text in told.subtitle)


def test_an_empty_tail_of_resamples_shades_nothing() -> None:
    data = Scores(np.array([7.0, 12.0]), np.array([5.0, 2.0]))
    record = run_test(data, StatisticSpec("mean_difference"), Options(test="bootstrap"), Budget())
    assert record.p_value == 0.25
    assert scene(record).title == "p \u2264 0.25"
    assert scene(record).tails == ()
    shaded = asked_of_picture_drawn([3, 1, 4, 1, 5], [2, 2, 1, 1, 1])
    assert scene(shaded).tails
    assert scene(replace(shaded, warnings=record.warnings)).tails == ()


@pytest.mark.slow
def test_no_number_of_the_axis_is_cut_at_its_ends() -> None:
    rng = np.random.default_rng(5)
    for top in (9, 90, 900, 9_000, 90_000):
        u, v = rng.integers(0, top, (2, 400)).tolist()
        for path in ET.fromstring(null_picture(asked_of_picture_drawn(u, v)).svg()).iter(
            "{http://www.w3.org/2000/svg}text"
        ):
            if "middle" in path.get("style", "") and re.fullmatch(r"\W?[\d.]+", path.text or ""):
                half = 3.3 * len(path.text or "")  # a digit is 6.4 points wide
                assert half < float(path.get("x", "0")) < 446.4 - half, path.text


# No text of the picture of a test or of power leaves its paper, and no picture in pixels is too large to be drawn.


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
        picture = null_picture(one).svg()
        assert_inside(picture)
        assert ("(in units of 1e" in picture.decode()) == (one.statistic.observed == 1e-200)


def test_long_numbers_at_the_ends_of_an_axis_are_not_cut(record: Callable[..., TestRecord]) -> None:
    null = NullRecord(
        99_999.99995, 5e-5, 99_999.9999, 100_000.0, None, (Mass(99_999.9999, 0.5), Mass(100_000.0, 0.5)), 1e-4
    )
    wide = record(null=null, statistic=StatisticRecord("mean_difference", 99_999.9999, 0.0, 0.0))
    assert_inside(null_picture(wide).svg())


@pytest.mark.parametrize("alpha", [0.05, 0.123456789012345])
@pytest.mark.parametrize("first", [10, 10_000_000])
def test_the_question_about_power_is_in_the_picture(alpha: float, first: int) -> None:
    curve = tuple(PowerPoint(n, 0.0123456, 0.5 + 0.01 * (n - first)) for n in range(first, first + 10))
    record = PowerRecord(
        id="w_" + "a" * 64, solve="n", solution=Solution(0.0123456, first + 9, None, 0.59), wanted_power=0.8123456,
        alpha=alpha, comparisons=1_000, alternative="two-sided", critical_difference=None, actual_alpha=None, curve=curve,
        method=PowerMethod("normal", False, "the sizes"), sentence="It has the power.",
    )  # fmt: skip
    picture = power_picture(record).svg()
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
        id="w_" + "a" * 64, solve=solve, solution=Solution(None, None, None, None), wanted_power=0.8, alpha=0.05,
        comparisons=1, alternative="two-sided", critical_difference=None, actual_alpha=None, curve=curve,
        method=PowerMethod("normal", False, "the sizes"), sentence="It is out of reach.",
    )  # fmt: skip
    assert "Out of reach" in "".join(ET.fromstring(power_picture(record).svg()).itertext())


def test_a_very_large_picture_has_fewer_pixels(monkeypatch: pytest.MonkeyPatch) -> None:
    record = compared(short_names(30), some_scores(30))

    def size() -> list[int]:
        return list(struct.unpack(">LL", board_picture(record, "heatmap").png()[16:24]))

    wide, high = size()
    monkeypatch.setattr(pictures, "MOST_PIXELS", wide * high // 4)
    assert size() == pytest.approx([wide / 2, high / 2], abs=1)


# The font's widths are those that Pillow measures; pictures are drawn anywhere, also where nothing can be written.


DRAW = """
import os, sys; sys.path.insert(0, {root!r})
from tests.unit.reports.test_picture import asked
from exactperm.reports.picture.pictures import null_picture
record = asked([1, 2], [0, 1])
{before}
import hashlib
print(hashlib.sha256(null_picture(record).png() + null_picture(record).svg()).hexdigest())
"""
REFUSE_WRITES = """
def refuse(event, arguments):
    written = event == "open" and (arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))
    if written or event in ("os.mkdir", "os.remove", "os.rename", "os.chmod"):
        raise OSError(30, "Read-only file system")
sys.addaudithook(refuse)
"""


def drawn(cwd: Path, before: str = "", **environment: str) -> str:
    """The digest of two pictures drawn by a separate process without other output; there is no HOME."""
    done = subprocess.run(
        [sys.executable, "-B", "-W", "error", "-c", DRAW.format(root=str(ROOT), before=before)],
        cwd=cwd,
        env={"PATH": os.environ["PATH"], **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.strip()


def test_only_characters_that_the_font_lacks_are_replaced() -> None:
    text = "\u03a9 \u2013 \u2265 \u2026 \u05e9 caf\u00e9"
    assert printable(text) == text
    assert printable("a\u0928\u0e20\u7cfb\ud55cz") == "a\ufffd\ufffd\ufffd\ufffdz"


def test_every_width_is_that_of_the_font() -> None:
    font = ImageFont.truetype(FOLDER / "DejaVuSans.ttf", 2048, layout_engine=ImageFont.Layout.BASIC)
    for code in (*range(0x20, 0x7F), *range(0xA0, 0x180), 0x3A9, 0x2212, 0x2026, 0x2265, 0x1D400):
        assert advance(chr(code)) == pytest.approx(font.getlength(chr(code)) / 2048, abs=1e-3), hex(code)


@pytest.mark.slow
def test_it_draws_where_nothing_can_be_written(tmp_path: Path) -> None:
    assert drawn(Path("/"), REFUSE_WRITES) == drawn(tmp_path, TMPDIR=str(tmp_path), HOME=str(tmp_path))
    assert [*tmp_path.iterdir()] == []
