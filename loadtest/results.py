"""Write RESULTS.md, and read it for the documentation, so that every figure has one source."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from loadtest.table import Table

RESULTS = Path(__file__).resolve().parent / "RESULTS.md"
WHERE = "where"
"""The first section: the machine, the versions, the run."""


@dataclass(frozen=True, slots=True)
class Section:
    """Tables under one heading, and a sentence before them."""

    name: str
    sentence: str
    tables: Sequence[Table]

    def markdown(self) -> str:
        """Format it for RESULTS.md."""
        return "\n\n".join([f"## {self.name}", self.sentence, *(table.markdown() for table in self.tables)])


@dataclass(frozen=True, slots=True)
class Results:
    """All sections, in their order."""

    sections: Sequence[Section]

    def markdown(self) -> str:
        """The whole file."""
        opening = (
            "# Results\n\nWritten by the command below, not by hand; [README.md](README.md) says what is measured and "
            "what is fair about it. A median and the fastest call (min) are given, and how many calls they are of."
        )
        return "\n\n".join([opening, *(section.markdown() for section in self.sections)]) + "\n"

    def tables(self, section: str) -> Sequence[Table]:
        """The tables of a section; KeyError if there is none of that name."""
        for found in self.sections:
            if found.name == section:
                return found.tables
        raise KeyError(section)

    def table(self, section: str, title: str) -> Table:
        """The table whose title begins with this text; KeyError if there is none."""
        for found in self.tables(section):
            if found.title.startswith(title):
                return found
        raise KeyError((section, title))

    def cell(self, section: str, title: str, row: str, column: str) -> str:
        """One cell, by the first cell of its row and the head of its column; empty if it was not measured."""
        table = self.table(section, title)
        place = list(table.header).index(column)
        return next((cells[place] for cells in table.rows if cells[0] == row), "")


def parse(text: str) -> Results:
    """Parse the output of `Results.markdown`."""
    sections = []
    for chunk in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        head, *tables = re.split(r"^### ", chunk, flags=re.MULTILINE)
        name, _, sentence = head.partition("\n")
        sections.append(Section(name.strip(), sentence.strip(), [_table(table) for table in tables]))
    return Results(sections)


def read(path: Path = RESULTS) -> Results:
    """Read the file."""
    return parse(path.read_text(encoding="utf-8"))


def _table(text: str) -> Table:
    title, *lines = text.splitlines()
    header, _, *rows = [_cells(line) for line in lines if line.startswith("|")]
    notes = [line.removeprefix("* ") for line in lines if line.startswith("* ")]
    return Table(title.strip(), header, rows, notes)


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip()[1:-1].split("|")]
