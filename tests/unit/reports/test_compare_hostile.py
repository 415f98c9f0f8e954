"""Names of systems and data sets by strangers do nothing in any report or picture of a comparison."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, Literal
from xml.etree import ElementTree as ET

import pytest

from exactperm.answers.board import BoardRecord, CompareRecord
from exactperm.answers.test import ReadingRecord, WarningRecord
from exactperm.presentation.escaping import single_line
from exactperm.reports.representations import BY_NAME, ReportContext
from tests.unit.reports.compare_records import compared, some_scores
from tests.unit.reports.test_hostile import (
    FORMULA,
    MARKUP,
    Outline,
    cells,
    harmless,
    is_number,
    lines_of,
    without_code,
)

NAMES = ("A", "B", "C", "D")
PICTURES: tuple[Literal["leaderboard", "heatmap", "bars", "forest"], ...] = (
    "leaderboard", "heatmap", "bars", "forest",
)  # fmt: skip
DESIGNS: dict[str, dict[str, Any]] = {
    "all pairs": {},
    "baseline": {"design": "baseline", "baseline": "B"},
    "pairs": {"design": "pairs", "pairs": (("A", "B"), ("C", "B"))},
}


def render(record: CompareRecord, form: str, **context: Any) -> str:
    renderer = BY_NAME[form].compare
    assert renderer is not None
    return renderer(record, ReportContext("c_1", "sig", **context)).decode()


def labelled(record: CompareRecord, label: str) -> CompareRecord:
    """The same answer, in which all that a caller writes is the label."""
    names = {name: label + ("" if name == "B" else name) for name in NAMES}
    boards = {label: _renamed(record.main_board, names, label)}
    return replace(
        record,
        statistic=label,
        metric=label + "3",
        baseline=None if record.baseline is None else names[record.baseline],
        board=None,
        datasets={**boards, label + "2": boards[label]},
        overall=boards[label],
        reading=ReadingRecord("auto", False, (f"The file of {label} was read.",)),
        warnings=(WarningRecord("note", f"Of {label} much is said."),),
    )


def _renamed(board: BoardRecord, names: dict[str, str], label: str) -> BoardRecord:
    def of(group: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(names[name] for name in group)

    groups = board.groups
    if groups is not None:
        letters = {letter: of(group) for letter, group in (groups.letters or {}).items()}
        clusters, tiers = (tuple(map(of, sets)) for sets in (groups.clusters, groups.tiers))
        groups = replace(
            groups, letters=letters, clusters=clusters, tiers=tiers, best_set=of(groups.best_set)
        )
    return replace(
        board,
        systems=tuple(replace(system, name=names[system.name]) for system in board.systems),
        pairs=tuple(replace(pair, u=names[pair.u], v=names[pair.v]) for pair in board.pairs),
        groups=groups,
        warnings=(WarningRecord("own", f"{label} is odd."),),
    )


@pytest.fixture(scope="module", params=DESIGNS, ids=str)
def record(request: pytest.FixtureRequest) -> CompareRecord:
    return compared(NAMES, some_scores(4), **DESIGNS[request.param])


@pytest.fixture(scope="module")
def all_pairs() -> CompareRecord:
    return compared(NAMES, some_scores(4))


def test_no_element_and_no_attribute_of_a_page_comes_from_a_label(
    record: CompareRecord, hostile: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Other labels need other widths, so that lines wrap elsewhere: the pictures are the subject of another test.
    monkeypatch.setattr("exactperm.reports.representations.inline_board", lambda *_, **__: "")
    plain, page = (render(labelled(record, label), "html") for label in ("plain", hostile))
    assert Outline(page).elements == Outline(plain).elements
    assert harmless(page)


@pytest.mark.parametrize("table", ["systems", "pairs"])
def test_no_cell_of_a_spreadsheet_starts_a_formula(record: CompareRecord, hostile: str, table: str) -> None:
    rows = cells(render(labelled(record, hostile), "csv", table=table))
    assert len(rows) == 3 * len(cells(render(record, "csv", table=table)))
    for cell in (cell for row in rows for cell in row.values()):
        assert is_number(cell) or not FORMULA.match(cell), cell
        assert harmless(cell)
        assert "\n" not in cell
    names = {row.get("name", row.get("v", "")).removeprefix("'") for row in rows}
    assert single_line(hostile).removeprefix("'") in names


def test_a_label_stays_in_its_cell_and_marks_nothing_up(record: CompareRecord, hostile: str) -> None:
    plain, text = (render(labelled(record, label), "markdown") for label in ("plain", hostile))
    assert lines_of(text) == lines_of(plain)
    left = re.sub(r"</?(?:details|summary|sub)>", "", without_code(text))
    assert not MARKUP.search(left), MARKUP.search(left)
    assert harmless(text)


def test_a_line_is_one_line(record: CompareRecord, hostile: str) -> None:
    (text,) = render(labelled(record, hostile), "text").splitlines()
    assert text.isprintable()


@pytest.mark.parametrize("picture", PICTURES)
def test_a_picture_has_text_and_nothing_else_of_a_label(
    all_pairs: CompareRecord, hostile: str, picture: str
) -> None:
    text = render(labelled(all_pairs, hostile), "svg", picture=picture)
    assert harmless(text)
    root = ET.fromstring(text)
    tags = {element.tag.rpartition("}")[2] for element in root.iter()}
    known = {
        "svg",
        "title",
        "desc",
        "g",
        "path",
        "text",
        "defs",
        "circle",
        "pattern",
    }
    assert tags <= known
    names = {name.rpartition("}")[2] for element in root.iter() for name in element.attrib}
    assert not [name for name in names if name.startswith("on")]
    links = [value for each in root.iter() for name, value in each.attrib.items() if name.endswith("href")]
    assert all(link.startswith("#") for link in links)
    said = root.find("{http://www.w3.org/2000/svg}desc")
    assert said is not None
    assert single_line(hostile)[:60] in (said.text or "")


def test_a_png_is_drawn_of_any_name(all_pairs: CompareRecord, hostile: str) -> None:
    renderer = BY_NAME["png"].compare
    assert renderer is not None
    assert renderer(labelled(all_pairs, hostile), ReportContext("c_1")).startswith(b"\x89PNG")
