"""What is drawn is measured in the SVG itself: bars against the null listed here, tails against the p-value."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise, product
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from exactperm.answers.test import Alternative, NullRecord, StatisticRecord, TestRecord, WarningRecord
from exactperm.engine.plan import Budget
from exactperm.inference.options import Options
from exactperm.inference.paired_test import run_test
from exactperm.reports.picture.canvas import PALETTES
from exactperm.reports.picture.null_distribution import LINE_CHARS, scene
from exactperm.reports.picture.pictures import svg
from exactperm.statistics.paired import Counts, Scores, StatisticSpec

Box = tuple[float, float, float]  # left, right, height; in points
LIGHT = PALETTES["light"]
AXIS = 228.15  # where y = 0 is drawn, in points from the top


def asked(
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
    """Where the observed value's line stands, in points; it is the only vertical line of its width."""
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
    record = asked(u, v, alternative)
    differences = [a - b for a, b in zip(u, v, strict=True)]
    signs = list(product((1, -1), repeat=len(u)))
    null = Counter(sum(s * d for s, d in zip(sign, differences, strict=True)) for sign in signs)
    picture = svg(record)
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
    picture = svg(asked([1, 2], [1, 2]))
    assert boxes(picture, LIGHT.bar) == boxes(picture, "url")
    assert len(boxes(picture, "url")) == 1


def test_bars_far_apart_are_no_hairs_and_do_not_touch() -> None:
    drawn = boxes(svg(asked([1000, 300, 40], [0, 0, 0])), LIGHT.bar)
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
    told = scene(asked([0, 0, 5], [2, 3, 1], alternative))
    assert told.legend == said
    assert told.regions


def test_nothing_is_called_shaded_where_nothing_is() -> None:
    far = asked([9] * 300, [1] * 300, "greater", "mean_difference")
    assert scene(far).regions == ()
    assert scene(far).legend == "values \u2265 observed: off this axis"
    near = asked(list(range(60)), [0] * 60, "two-sided", "mean_difference")
    assert scene(near).beyond == 0
    assert near.p_value < 1e-15
    assert scene(near).regions[-1][0] == near.statistic.observed


def test_the_tail_of_an_absolute_value_and_of_negative_values() -> None:
    rng = np.random.default_rng(2)
    u, v = rng.integers(0, 50, 40), rng.integers(20, 70, 40)
    record = asked(u.tolist(), v.tolist(), "less")
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
    [
        ({}, "p = 0.0625"),
        ({"warnings": (WarningRecord("bootstrap_empty_tail", "…"),)}, "p \u2264 0.0625"),
    ],
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


def test_a_resampled_null_of_several_sums_is_drawn_and_said_to_be_sampled() -> None:
    rng = np.random.default_rng(8)
    u, v = ({name: rng.integers(0, 9, 50) for name in ("tp", "incorrect")} for _ in range(2))
    options = Options(test="bootstrap", samples=2_000)
    record = run_test(Counts(u, v), StatisticSpec("f1"), options, Budget())
    assert record.null.pmf is not None
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
    null = NullRecord(0.0, float("inf"), -1e308, 1e308, (), ((-1e308, 0.5), (1e308, 0.5)), 1e306)
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
        ET.fromstring(svg(record(items=items, alternative="greater"), note=" without the margin")).itertext()
    )
    assert all(text in drawn for text in told.subtitle)


def test_an_empty_tail_of_resamples_shades_nothing() -> None:
    data = Scores(np.array([7.0, 12.0]), np.array([5.0, 2.0]))
    record = run_test(data, StatisticSpec("mean_difference"), Options(test="bootstrap"), Budget())
    assert record.p_value == 0.25
    assert scene(record).title == "p \u2264 0.25"
    assert scene(record).tails == ()
    shaded = asked([3, 1, 4, 1, 5], [2, 2, 1, 1, 1])
    assert scene(shaded).tails
    assert scene(replace(shaded, warnings=record.warnings)).tails == ()


@pytest.mark.slow
def test_no_number_of_the_axis_is_cut_at_its_ends() -> None:
    rng = np.random.default_rng(5)
    for top in (9, 90, 900, 9_000, 90_000):
        u, v = rng.integers(0, top, (2, 400)).tolist()
        for path in ET.fromstring(svg(asked(u, v))).iter("{http://www.w3.org/2000/svg}text"):
            if "middle" in path.get("style", "") and re.fullmatch(r"\W?[\d.]+", path.text or ""):
                half = 3.3 * len(path.text or "")  # a digit is 6.4 points wide
                assert half < float(path.get("x", "0")) < 446.4 - half, path.text
