"""loadtest/RESULTS.md is whole, and the figures of README.md and docs/benchmarks.md come from it. Nothing is measured here."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections import defaultdict
from dataclasses import replace
from itertools import pairwise

import pytest

from loadtest import bench, figure1, figure1_bench, machine, readme_figures, results, steadiness
from loadtest.results import RESULTS, WHERE, Results, Section
from loadtest.table import Table

TEXT = RESULTS.read_text(encoding="utf-8")
PAGES = {
    path.name: path.read_text(encoding="utf-8") for path in (readme_figures.README, readme_figures.BENCHMARKS)
}
SVG_TEXT = "{http://www.w3.org/2000/svg}text"
DURATION = re.compile(r"[\d.]+ (?:µs|ms|s)")


@pytest.fixture(scope="module")
def written() -> Results:
    return results.parse(TEXT)


def test_every_section_of_the_benchmark_is_in_the_results(written: Results) -> None:
    assert [section.name for section in written.sections] == [WHERE, *bench.SECTIONS]
    for section in written.sections:
        assert section.tables, section.name
        assert all(table.rows for table in section.tables), section.name


@pytest.mark.parametrize(
    ("title", "names"),
    [
        ("Machine", ["processor", "cores", "memory", "system"]),
        ("Versions", ["exactperm", "Python", "numpy", "scipy", "python-flint", "fastapi", "uvicorn"]),
    ],
)
def test_the_results_name_the_machine_and_the_versions(
    written: Results, title: str, names: list[str]
) -> None:
    facts = {row[0]: row[1] for row in written.table(WHERE, title).rows}
    assert set(names) <= set(facts)
    assert all(facts.values()), facts


def test_what_names_the_machine_finds_every_fact_here() -> None:
    told = dict(machine.machine() + machine.versions())
    assert all(told.values()), told


def test_the_results_say_when_and_by_which_command(written: Results) -> None:
    sentence = written.sections[0].sentence
    assert re.match(
        r"`\.venv/bin/python -m loadtest\.bench[^`]*`, \d{4}-\d\d-\d\d \d\d:\d\d UTC, \d+ s in all\.$",
        sentence,
    )
    for section in written.sections[1:]:
        assert f"-m loadtest.bench --section {section.name}" in section.sentence


def test_the_results_say_how_steady_the_machine_was_in_every_section(written: Results) -> None:
    table = written.table(WHERE, steadiness.TITLE)
    assert [row[0] for row in table.rows] == list(bench.SECTIONS)
    assert re.search(r"slowest over fastest probe: [\d.]+x", table.notes[0])


def test_every_time_in_a_column_of_medians_is_a_time(written: Results) -> None:
    seen = 0
    for section in written.sections:
        for table in section.tables:
            for name in {"median", "min", "p50"} & set(table.header):
                column = [row[list(table.header).index(name)] for row in table.rows]
                assert all(DURATION.fullmatch(cell) for cell in column), (table.title, column)
                seen += len(column)
    assert seen > 80


def test_what_was_written_can_be_read_again(written: Results) -> None:
    assert written.markdown() == TEXT


def test_a_table_reads_back_as_it_was() -> None:
    table = Table(
        "N = 10: a title", ["", "median"], [["one", "1 ms"], ["two", ""]], ["goal met: 3x", "| in a note"]
    )
    (section,) = results.parse(Results([Section("engine", "A sentence.", [table])]).markdown()).sections
    assert section == Section("engine", "A sentence.", [table])


def test_the_pages_figures_are_those_of_the_results(written: Results) -> None:
    texts = {"README.md": readme_figures.figures(written), "benchmarks.md": readme_figures.block(written)}
    for name, text in texts.items():
        assert readme_figures.replaced(PAGES[name], text) == PAGES[name], (
            "run `.venv/bin/python -m loadtest.readme_figures`"
        )


@pytest.mark.parametrize(("name", "least"), [("README.md", 6), ("benchmarks.md", 60)])
def test_every_figure_of_a_page_is_a_cell_of_the_results(written: Results, name: str, least: int) -> None:
    block = PAGES[name].partition(readme_figures.OPENS)[2].partition(readme_figures.CLOSES)[0]
    rows = [line.strip("| ").split(" | ") for line in block.splitlines() if line.startswith("| ")]
    texts = [cell.strip() for row in rows for cell in row[1:] if re.match(r"(?:max )?\d", cell)]
    figures = {text.partition(", ")[0] if name == "README.md" else text for text in texts}
    cells = {cell for s in written.sections for table in s.tables for row in table.rows for cell in row}
    assert all(any(cell.strip() for cell in row[1:]) for row in rows), "a row without a figure"
    assert len(figures) >= least
    assert figures <= cells


def test_only_what_is_between_the_marks_is_rewritten_and_there_must_be_marks() -> None:
    opens, closes = readme_figures.OPENS, readme_figures.CLOSES
    assert readme_figures.replaced(f"a\n{opens}\nold\n{closes}\nb", "new") == f"a\n{opens}\nnew\n{closes}\nb"
    for broken in ("", opens, f"{opens}{closes}{closes}"):
        with pytest.raises(ValueError, match="needs one"):
            readme_figures.replaced(broken, "new")


def test_the_csv_has_every_line_of_the_figure_at_every_size() -> None:
    assert figure1.CSV.read_text(encoding="utf-8").splitlines()[0] == ",".join(figure1.COLUMNS)
    points = figure1.read()
    sizes = defaultdict(list)
    for point in points:
        sizes[point.source, point.line].append(point.items)
        assert 0 < point.min_s <= point.median_s
        assert point.calls > 0
    assert sizes == {
        (line.source, line.name): [n for n in figure1_bench.SIZES if n <= line.ends]
        for line in figure1_bench.LINES
    }


def test_the_table_of_the_figure_says_what_its_csv_says(written: Results) -> None:
    for point in figure1.read():
        cell = written.cell("figure1", "Seconds", f"{point.source}: {point.line}", f"N = {point.items:,}")
        value, unit = cell.split()
        assert float(value) * {"µs": 1e-6, "ms": 1e-3, "s": 1.0}[unit] == pytest.approx(
            point.median_s, rel=6e-3
        )


def test_the_svg_is_a_picture_with_a_name_on_every_line_and_no_date() -> None:
    source = figure1.SVG.read_bytes()
    root = ET.fromstring(source)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    said = ["".join(text.itertext()) for text in root.iter(SVG_TEXT)]
    for line in figure1_bench.LINES:
        assert said.count(figure1.label(line.source, line.name)) == 1
    assert b"<dc:date>" not in source
    assert b"matplotlib.org" not in source


def test_the_same_csv_gives_the_same_bytes() -> None:
    points = figure1.read()
    first = figure1.drawn(points)
    assert first == figure1.drawn(points)
    slower = [replace(point, median_s=2 * point.median_s) for point in points]
    assert first != figure1.drawn(slower)


@pytest.mark.parametrize(
    "heights", [[0.0, 1.0, 2.0], [0.0, 0.0, 0.0, 0.0], [0.0, 0.1, 0.15, 1.0, 1.05, 1.1], [0.5], []]
)
def test_labels_keep_their_order_and_their_distance(heights: list[float]) -> None:
    placed = figure1.spread(heights, 0.2)
    assert len(placed) == len(heights)
    assert all(above - below >= 0.2 - 1e-12 for below, above in pairwise(placed))
    if all(above - below >= 0.2 for below, above in pairwise(heights)):
        assert placed == heights
