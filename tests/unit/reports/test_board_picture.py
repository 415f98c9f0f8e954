"""Test pictures of comparisons against the record, in drawing and words, and refusals."""

import re
from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import Any, get_args
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from PIL import ImageFont

from exactperm.answers.board import CompareRecord, PairRecord
from exactperm.errors import InvalidTest
from exactperm.reports.board_words import named_boards
from exactperm.reports.picture.board import BoardScene, aligned
from exactperm.reports.picture.canvas import (
    BOARD_PALETTES,
    FOLDER,
    Theme,
    fitted,
    names_fitted,
    printable,
    score_axis,
    width,
)
from exactperm.reports.picture.heatmap import cells_of, limits_of
from exactperm.reports.picture.pictures import BOARD_PICTURES, board_picture
from exactperm.reports.representations import BoardPicture

from .compare_records import compared, long_names, short_names, some_scores, with_costs

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def record() -> CompareRecord:
    return with_costs(compared(short_names(10), some_scores(10)))


def sentences(picture: bytes) -> list[str]:
    """The tooltips of marks."""
    return [
        title.text or ""
        for group in ET.fromstring(picture).iter(f"{SVG}g")
        for title in group.findall(f"{SVG}title")
    ]


def texts(picture: bytes) -> list[str]:
    return ["".join(text.itertext()) for text in ET.fromstring(picture).iter(f"{SVG}text")]


def pair(p: float, **changes: Any) -> PairRecord:
    (one,) = compared(["A", "B"], some_scores(2)).main_board.pairs
    return replace(one, p_adjusted=p, p_adjusted_bounds=(p, p), **{"log10_p_adjusted": -1.0, **changes})


def test_every_picture_that_can_be_asked_for_is_drawn() -> None:
    assert set(BOARD_PICTURES) == set(get_args(BoardPicture))


@pytest.mark.parametrize("picture", BOARD_PICTURES)
def test_the_same_record_gives_the_same_bytes(record: CompareRecord, picture: str) -> None:
    assert board_picture(record, picture).svg() == board_picture(record, picture).svg()
    assert board_picture(record, picture).png("dark") == board_picture(record, picture).png("dark")
    assert board_picture(record, picture).svg() != board_picture(record, picture).svg("dark")


@pytest.mark.parametrize("picture", BOARD_PICTURES)
def test_every_system_is_in_the_words_of_a_picture(record: CompareRecord, picture: str) -> None:
    root = ET.fromstring(board_picture(record, picture).svg())
    said = root.findtext(f"{SVG}desc") or ""
    for system in record.main_board.systems:
        assert " ".join(system.name.split()) in said + (root.findtext(f"{SVG}title") or "")


def test_a_cut_name_is_whole_where_it_is_pointed_at() -> None:
    names = [f"a-long-name-{k}-{'x' * 50}-end" for k in range(4)]
    drawn = board_picture(compared(names, some_scores(4)), "leaderboard").svg()
    for name in names:
        assert name not in texts(drawn)
        assert any(said.startswith(f"{name}: score ") for said in sentences(drawn))


def test_the_leaderboard_writes_ranks_letters_and_clusters(record: CompareRecord) -> None:
    drawn = board_picture(record, "leaderboard").svg()
    said = sentences(drawn)
    for system in record.main_board.systems:
        ranks = (
            f"{system.rank_low}–{system.rank_high}"
            if system.rank_low != system.rank_high
            else f"{system.rank_low}"
        )
        expected = (
            f", rank {system.rank}, rank range {ranks}, letters {system.letters}, cluster {system.cluster}"
        )
        assert any(expected in one for one in said)


def test_a_line_is_drawn_between_clusters() -> None:
    apart = compared(["A", "B", "C"], [[1] * 60, [1] * 30 + [0] * 30, [0] * 60])
    groups: Any = apart.main_board.groups
    assert len(groups.clusters) == 3
    lines = [
        said
        for said in sentences(board_picture(apart, "leaderboard").svg())
        if said.startswith("All of cluster")
    ]
    assert len(lines) == 2


def test_cells_are_in_the_step_of_their_p_value(record: CompareRecord) -> None:
    place = {system.name: at for at, system in enumerate(record.main_board.systems)}
    cells = cells_of(record.main_board)
    assert len({(cell.upper, cell.lower) for cell in cells}) == 45
    for cell in cells:
        p = cell.pair.p_adjusted
        assert cell.upper < cell.lower
        assert {cell.upper, cell.lower} == {place[cell.pair.u], place[cell.pair.v]}
        assert cell.step == sum(p <= limit for limit in (0.05, 0.005, 0.0005, 0.00005))
        assert cell.sign == (1 if p <= 0.05 else 0)
    assert limits_of(0.05) == [0.05, 0.005, 0.0005, 0.00005]


def test_a_worse_system_that_ranks_higher_has_the_other_sign(record: CompareRecord) -> None:
    board = record.main_board
    turned = replace(board, pairs=tuple(replace(one, relation="worse") for one in board.pairs))
    assert {cell.sign for cell in cells_of(turned)} == {-1}
    other = replace(
        board, pairs=tuple(replace(one, u=one.v, v=one.u, relation="better") for one in board.pairs)
    )
    assert {cell.sign for cell in cells_of(other)} == {-1}
    for picture in (turned, other):
        drawn = board_picture(record.with_board(picture), "heatmap").svg("light").decode()
        assert BOARD_PALETTES["light"].worse1 in drawn


@pytest.mark.parametrize("size", [12, 50])
def test_untestable_pairs_are_hatched_and_named(size: int) -> None:
    plain = compared([f"s{k}" for k in range(size)], some_scores(size, 100))
    assert b"<pattern" not in board_picture(plain, "heatmap").svg()
    pairs = tuple(replace(one, relation="untestable") for one in plain.main_board.pairs)
    hatched = board_picture(plain.with_board(replace(plain.main_board, pairs=pairs)), "heatmap").svg()
    assert b"<pattern" in hatched
    assert "untestable" in texts(hatched)


def test_a_heatmap_of_many_is_small() -> None:
    names = [f"s{k:03d}" for k in range(134)]
    assert len(board_picture(compared(names, some_scores(134, 500)), "heatmap").svg()) < 400_000


def test_bars_name_the_members_of_each_clique(record: CompareRecord) -> None:
    groups: Any = record.main_board.groups
    said = " ".join(sentences(board_picture(record, "bars").svg()))
    for letter, members in (groups.letters or {}).items():
        if len(members) > 1:
            assert f"{letter}: {', '.join(' '.join(name.split()) for name in members)} do not differ" in said


def test_a_forest_shows_intervals_or_a_note_on_missing_ones() -> None:
    names, scores = short_names(5), some_scores(5)
    given: dict[str, Any] = {"design": "baseline", "baseline": names[2]}
    without = board_picture(compared(names, scores, **given), "forest").svg()
    assert "There are no confidence intervals" in " ".join(texts(without))
    record = compared(names, scores, confidence_level=0.9, **given)
    drawn = board_picture(record, "forest").svg()
    assert "90 % confidence intervals" in " ".join(texts(drawn))
    said = " ".join(sentences(drawn))
    assert said.count(", 90 % interval ") >= len(record.main_board.pairs)


def test_a_forest_of_all_pairs_is_against_the_best(record: CompareRecord) -> None:
    said = sentences(board_picture(record, "forest").svg())
    best, *others = record.main_board.systems
    pairs = {one.v: one for one in record.main_board.pairs if one.u == best.name}
    for system in others:
        shown = f"{-pairs[system.name].difference:.6g}"
        assert any(one.startswith(f"{' '.join(system.name.split())}: difference {shown}") for one in said), (
            system.name
        )


@pytest.mark.parametrize(
    ("picture", "given", "because"),
    [
        ("bars", {"size": 31}, "at most 30 systems"),
        ("bars", {"design": "baseline", "baseline": "GPT-5 mini"}, "tests of all pairs"),
        ("heatmap", {"listed": "none"}, "none is listed"),
        ("forest", {"listed": "none"}, "none is listed"),
    ],
)
def test_boards_that_cannot_be_drawn_are_refused_with_a_reason(
    picture: str, given: dict[str, Any], because: str
) -> None:
    size = given.pop("size", 4)
    record = compared(short_names(size), some_scores(size), **given)
    with pytest.raises(InvalidTest) as refused:
        board_picture(record, picture).svg()
    (flaw,) = refused.value.flaws
    assert (flaw.pointer, flaw.code) == ("/?picture", "picture_impossible")
    assert because in flaw.detail


def test_bars_without_letters_are_refused(record: CompareRecord) -> None:
    groups = record.main_board.groups
    assert groups is not None
    systems = tuple(replace(system, letters=None) for system in record.main_board.systems)
    board = replace(record.main_board, systems=systems, groups=replace(groups, letters=None))
    with pytest.raises(InvalidTest, match="too many groups"):
        board_picture(record.with_board(board), "bars").svg()
    assert "letters" not in texts(board_picture(record.with_board(board), "leaderboard").svg())


def test_pictures_in_one_page_have_ids_of_their_own_and_follow_its_theme(record: CompareRecord) -> None:
    named = next(named_boards(record))
    drawn = [board_picture(record, "heatmap", named, number).inline() for number in (0, 1)]
    ids = [set(re.findall(r' id="([^"]+)"', one)) for one in drawn]
    assert not ids[0] & ids[1]
    assert all("#0201" not in one and "prefers-color-scheme:dark" in one for one in drawn)


def luminance(color: str) -> float:
    """Relative luminance (WCAG 2.2)."""
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    r, g, b = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("palette", BOARD_PALETTES.values(), ids=BOARD_PALETTES)
def test_steps_differ_in_lightness_and_texts_are_readable(palette: Any) -> None:
    for ramp in (palette.better, palette.worse):
        steps = [luminance(color) for color in (palette.tied, *ramp)]
        assert steps in (sorted(steps), sorted(steps, reverse=True))
        assert all(contrast(one, other) > 1.2 for one, other in pairwise((palette.tied, *ramp)))
        for step, color in enumerate(ramp, start=1):
            assert contrast(palette.knock if step > 2 else palette.ink, color) >= 4.5, color
    assert contrast(palette.ink, palette.paper) > 7
    assert contrast(palette.soft, palette.paper) > 4.5


def test_numbers_below_each_other_have_equally_many_decimals() -> None:
    assert aligned([0.7, 0.65, 0.6]) == ["0.700", "0.650", "0.600"]
    assert aligned([0.70001, 0.70002, 0.5]) == ["0.70001", "0.70002", "0.50000"]
    assert aligned([34.5678, 30.0]) == ["34.6", "30.0"]
    assert aligned([0.5, 0.5]) == ["0.500", "0.500"]
    assert aligned([-0.0001, -1.0]) == ["0.00", "−1.00"]
    assert aligned([1e-300, 0.0]) == ["1e−300", "0"]


def test_cut_names_fit_and_differ() -> None:
    names = long_names(40)
    labels = names_fitted(names, 9.0, 2.0)
    assert len(set(labels)) == len(names)
    assert all(width(label, 9.0) <= 2.0 for label in labels)
    assert fitted("short", 9.0, 2.0) == "short"
    assert fitted("a" * 40 + "b" * 40, 9.0, 1.0).strip("ab") == "…"
    assert fitted("\n\u202e", 9.0, 1.0) == "(unnamed)"


@pytest.mark.parametrize(
    "values", [[0.1, 0.2], [0.0], [1e300, -1e300], [5e-324, 0.0], [1e15, 1e15 + 1], [3.0, 3.0]]
)
def test_an_axis_holds_its_values_in_order(values: list[float]) -> None:
    axis = score_axis(values, 1.0, 3.0, 8.0)
    places = [axis.at(value) for value in sorted(values)]
    assert places == sorted(places)
    assert all(1.0 <= place <= 3.0 for place in places)
    assert all(1.0 <= place <= 3.0 for place, _ in axis.ticks)
    if len(set(values)) > 1:
        assert places[0] < places[-1]


# In no picture of a comparison do two texts touch, and none leaves the paper: Pillow measures them in our font.


PICTURES = ("leaderboard", "heatmap", "bars", "forest", "frontier")
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
    """The boxes of all texts relative to the paper, shape (T, 2, 2), with the texts."""
    record = with_costs(record) if picture == "frontier" else record
    shown = next(named_boards(record))
    scene = BoardScene(BOARD_PALETTES[theme], "p", printable if in_our_font else str, record, shown)
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
    [
        (picture, size)
        for picture in PICTURES
        for size in SIZES
        if size < 134 or picture not in {"bars", "frontier"}
    ],
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
def test_texts_do_not_touch_on_any_board(picture: str, how: str, size: int) -> None:
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


def test_touching_texts_are_noticed() -> None:
    boxes = np.array([[[0, 0], [2, 2]], [[1, 1], [3, 3]], [[2, 0], [4, 1]]], float)
    assert touching(boxes) == [(0, 1)]


def test_a_frontier_needs_costs_and_marks_the_excluded(record: CompareRecord) -> None:
    with pytest.raises(InvalidTest):
        board_picture(replace(record, frontier=None), "frontier").svg()
    assert record.frontier is not None
    said = sentences(board_picture(record, "frontier").svg())
    behind = [one for one in record.frontier.systems if one.excluded]
    assert behind
    for system in record.frontier.systems:
        own = {one for one in said if one.startswith(f"{' '.join(system.name.split())}: score ")}
        assert len(own) == 1
        assert (", behind " in next(iter(own))) == system.excluded
