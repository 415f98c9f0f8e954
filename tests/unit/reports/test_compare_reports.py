"""Test reports of comparisons against the record, board by board."""

import csv
import io
import re
from dataclasses import replace
from typing import Any, Literal

import pytest

from exactperm.answers.board import CertaintyRecord, CompareRecord, PairRecord
from exactperm.answers.test import ReadingRecord, WarningRecord
from exactperm.reports.board_words import toward
from exactperm.reports.html import MOST_PAIRS
from exactperm.reports.representations import BY_NAME, ReportContext
from tests.unit.reports.compare_records import compared, some_scores

NAMES = ["A", "B", "C", "D", "E"]
SCORES = some_scores(5)


def report(record: CompareRecord, form: str, table: Literal["systems", "pairs"] = "systems") -> str:
    render = BY_NAME[form].compare
    assert render is not None
    return render(record, ReportContext("c_1", "the signature", table=table)).decode()


def rows_of(record: CompareRecord, table: Literal["systems", "pairs"]) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(report(record, "csv", table), newline=""), strict=True))


def markdown_rows(text: str) -> list[list[str]]:
    """Cells of all rows of tables but their heads."""
    rows = [line.strip("|").split("|") for line in text.splitlines() if re.match(r"\| *\d", line)]
    return [[cell.strip() for cell in row] for row in rows]


def written(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else repr(value)


@pytest.fixture(scope="module")
def board() -> CompareRecord:
    return compared(NAMES, SCORES)


@pytest.fixture(scope="module")
def several() -> CompareRecord:
    return compared(NAMES, datasets={"mmlu": SCORES, "gsm8k": some_scores(5, 80, 3)})


def test_the_line_names_the_best_set_the_family_and_the_clusters(board: CompareRecord) -> None:
    assert board.groups is not None
    line = report(board, "text")
    best, clusters = board.groups.best_set, board.groups.clusters
    assert line.startswith(f"best of 5: {', '.join(best)} (holm, 10 pairs, exact): ")
    assert f" clusters={len(clusters)} n=200 alpha=0.05 c_1\n" in line
    assert len(line.splitlines()) == 1


def test_the_line_of_a_baseline_counts_who_is_better() -> None:
    record = compared(NAMES, SCORES, design="baseline", baseline="C")
    relations = [pair.relation for pair in record.main_board.pairs]
    expected = (
        f"{relations.count('better')} better and {relations.count('worse')} worse of 4 than C (holm, 4 pairs"
    )
    assert report(record, "text").startswith(expected)


def test_equal_scores_look_the_same_and_have_no_more_digits_than_others() -> None:
    scores = [[1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [1.0, 0.0, 0.0]]
    line = report(compared(["a", "b", "c"], scores), "text")
    assert " a=0.666667 b=0.666667 c=0.333333 " in line


def test_the_line_of_several_data_sets_says_which_it_is_of(several: CompareRecord) -> None:
    count = f"of {len(several.datasets or {})} data sets, "
    first = "overall " if several.overall is not None else f"on {next(iter(several.datasets or {}))} "
    assert report(several, "text").startswith(first + count)
    joined = replace(several, overall=several.main_board)
    assert report(joined, "text").startswith("overall of 2 data sets, ")


def test_the_table_of_markdown_has_the_numbers_of_the_record(board: CompareRecord) -> None:
    systems = board.main_board.systems
    rows = markdown_rows(report(board, "markdown"))
    assert len(rows) == len(systems)
    for row, system in zip(rows, systems, strict=True):
        low, high = system.rank_low, system.rank_high
        assert int(row[0]) == system.rank
        assert row[1] == f"`{system.name}`"
        assert float(row[2]) == pytest.approx(system.score, rel=1e-5)
        assert row[3] == (f"{low}" if low == high else f"{low}–{high}")
        assert row[4:6] == [system.letters, str(system.cluster)]
    pairs = {frozenset((pair.u, pair.v)): pair for pair in board.main_board.pairs}
    for at, row in enumerate(rows[:-1]):
        pair = pairs[frozenset((systems[at].name, systems[at + 1].name))]
        assert float(row[6]) == pytest.approx(pair.p_adjusted, rel=1e-5)
        assert (float(row[6]) <= 0.05) == (pair.p_adjusted <= 0.05)
    assert rows[-1][6] == ""


def test_markdown_has_the_overall_board_first_then_each_data_set(several: CompareRecord) -> None:
    joined = replace(several, overall=several.main_board)
    text = report(joined, "markdown")
    heads = re.findall(r"^\*\*(Overall|`\w+`)\*\* –", text, re.MULTILINE)
    assert heads == ["Overall", "`gsm8k`", "`mmlu`"]
    assert len(markdown_rows(text)) == 15


def test_without_all_pairs_there_are_differences_and_no_groups() -> None:
    record = compared(NAMES, SCORES, design="baseline", baseline="C", confidence_level=0.9)
    text = report(record, "markdown")
    assert "rank range" not in text
    rows = {row[1]: row for row in markdown_rows(text)}
    for pair in record.main_board.pairs:
        assert pair.v == "C"
        row = rows[f"`{pair.u}`"]
        assert float(row[3]) == pytest.approx(pair.difference, rel=1e-5, abs=1e-12)
        assert float(row[4]) == pytest.approx(pair.p_adjusted, rel=1e-5)
        assert " to " in row[6]
    assert rows["`C`"][3:7] == ["", "", "", ""]
    assert " to " in rows["`C`"][7]


def test_named_pairs_keep_their_order() -> None:
    record = compared(NAMES, SCORES, design="pairs", pairs=(("D", "B"), ("A", "E")))
    text = report(record, "markdown")
    assert re.findall(r"^\| `(\w)` \| `(\w)` \|", text, re.MULTILINE) == [("D", "B"), ("A", "E")]
    assert [(row["u"], row["v"]) for row in rows_of(record, "pairs")] == [("D", "B"), ("A", "E")]


@pytest.mark.parametrize("design", [{}, {"design": "baseline", "baseline": "C", "confidence_level": 0.9}])
def test_csv_has_every_number_in_full(design: dict[str, Any]) -> None:
    record = compared(NAMES, SCORES, **design)
    systems, pairs = rows_of(record, "systems"), rows_of(record, "pairs")
    for row, system in zip(systems, record.main_board.systems, strict=True):
        for name in set(system.__slots__) - {"interval"}:
            assert row[name] == written(getattr(system, name)), name
        assert row["interval_low"] == written(system.interval and system.interval.low)
    for row, pair in zip(pairs, record.main_board.pairs, strict=True):
        for name in set(PairRecord.__slots__) - {
            "p_value_bounds",
            "p_adjusted_bounds",
            "confidence_interval",
        }:
            assert row[name] == written(getattr(pair, name)), name
        assert (float(row["p_adjusted_low"]), float(row["p_adjusted_high"])) == pair.p_adjusted_bounds
        assert (float(row["p_value_low"]), float(row["p_value_high"])) == pair.p_value_bounds
        interval = pair.confidence_interval
        assert row["interval_low"] == written(interval and interval.low)
        assert row["confidence_level"] == written(interval and interval.level)
    assert {row["adjust"] for row in systems} == {"holm"}


def test_csv_of_several_data_sets_says_which_board_a_row_is_of(several: CompareRecord) -> None:
    rows = rows_of(replace(several, overall=several.main_board), "systems")
    assert [(row["board"], row["dataset"]) for row in rows[::5]] == [
        ("overall", ""),
        ("dataset", "gsm8k"),
        ("dataset", "mmlu"),
    ]


def test_csv_without_pairs_is_a_header() -> None:
    record = compared(NAMES, SCORES, listed="none")
    lines = report(record, "csv", "pairs").split("\r\n")
    assert lines[0].startswith("id,board,dataset,u,v,n,difference,p_value,")
    assert lines[1:] == [""]


def test_reports_without_listed_pairs_have_the_systems_all_the_same(board: CompareRecord) -> None:
    record = compared(NAMES, SCORES, listed="none")
    assert [row[:6] for row in markdown_rows(report(record, "markdown"))] == [
        row[:6] for row in markdown_rows(report(board, "markdown"))
    ]
    assert "No pairs are listed" in report(record, "html")
    assert "best of 5: " in report(record, "text")


def test_the_page_has_pictures_tables_definitions_and_the_signature(board: CompareRecord) -> None:
    page = report(board, "html")
    assert page.count("<svg ") == 2
    for said in ("Piepho 2004", "Mogstad", "WMT", "the signature", board.main_board.family.controls):
        assert said in page, said
    assert "<script" not in page
    assert not re.search(r"(?:src|href)=\"(?!#)", page)
    for pair in board.main_board.pairs:
        assert f"<td>{pair.wins:,} / {pair.ties:,} / {pair.losses:,}</td>" in page


def test_a_page_of_many_pairs_lists_neighbours_and_says_so() -> None:
    names = [f"s{k:02d}" for k in range(60)]
    record = compared(names, some_scores(60, 100))
    assert len(record.main_board.pairs) > MOST_PAIRS
    assert "59 of 1,770 pairs; all are in the CSV" in report(record, "html")


def test_a_page_says_how_p_values_are_known(board: CompareRecord) -> None:
    first, second, *rest = board.main_board.pairs
    mixed = (
        replace(first, exact=False),
        replace(second, exact=False, p_value_bounds_kind="confidence"),
        *rest,
    )
    family = replace(board.main_board.family, certainty=CertaintyRecord(8, 1, 1))
    page = report(board.with_board(replace(board.main_board, pairs=mixed, family=family)), "html")
    assert "8 of 10 adjusted p-values are exact" in page
    assert "1 of 10 adjusted p-values is bracketed" in page
    assert "1 of 10 adjusted p-values is sampled" in page


@pytest.mark.parametrize("form", ["text", "markdown", "html", "csv"])
def test_warnings_of_all_boards_are_given(several: CompareRecord, form: str) -> None:
    boards = {
        name: replace(board, warnings=(WarningRecord(f"warning_{name}", f"Of {name}."),))
        for name, board in (several.datasets or {}).items()
    }
    record = replace(several, datasets=boards, warnings=(WarningRecord("of_all", "Of all."),))
    text = report(record, form)
    for code in ("warning_mmlu", "warning_gsm8k", "of_all"):
        assert code in text


@pytest.mark.parametrize("form", ["text", "markdown", "html"])
def test_reading_of_files_is_reported(board: CompareRecord, form: str) -> None:
    read = replace(board, reading=ReadingRecord("csv", False, ("Nine lines were dropped.",)))
    assert "Nine lines were dropped." in report(read, form)


def test_a_pair_turned_around() -> None:
    (pair,) = compared(["A", "B"], SCORES[[0, 4]]).main_board.pairs
    assert toward(pair, pair.u) == (pair.difference, "better")
    assert toward(pair, pair.v) == (-pair.difference, "worse")


def test_an_empty_best_set_is_called_empty(board: CompareRecord) -> None:
    groups = board.main_board.groups
    assert groups is not None
    record = board.with_board(replace(board.main_board, groups=replace(groups, best_set=())))
    assert report(record, "text").startswith("no best set of 5 (")
    assert "**No best set of 5 systems**" in report(record, "markdown")
    assert "No system can be called the best" in report(record, "html")
