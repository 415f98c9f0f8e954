"""Format tables for a terminal and for RESULTS.md, with times and ratios in readable units."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a section: its title, its rows, and sentences about them, including goals.

    The documentation reads RESULTS.md, so titles are unique in a section, and first cells in a table.
    """

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()

    def text(self) -> str:
        """Format it for a terminal."""
        return "\n".join([self.title, render(self.header, self.rows), *self.notes])

    def markdown(self) -> str:
        """Format it for RESULTS.md."""
        lines = [f"### {self.title}", "", *pipes(self.header, self.rows)]
        if self.notes:
            lines += ["", *(f"* {note}" for note in self.notes)]
        return "\n".join(lines)


def pipes(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a table in Markdown: the first column to the left, the others to the right."""
    rule = ["---", *["--:"] * (len(header) - 1)]
    return ["| " + " | ".join(line) + " |" for line in (header, rule, *rows)]


def render(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns padded to their widest cell: the first to the left, the others to the right."""
    lines = [list(header), *map(list, rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    rule = ["-" * width for width in widths]
    return "\n".join(_line(line, widths) for line in [lines[0], rule, *lines[1:]])


def duration(seconds: float) -> str:
    """Seconds as µs, ms or s with three significant digits."""
    for factor, unit in ((1e6, "µs"), (1e3, "ms")):
        if seconds * factor < 1000:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds:.3g} s"


def ratio(value: float) -> str:
    """Format a ratio: 0.52x, 23x, 1,340x."""
    return f"{value:,.0f}x" if value >= 10 else f"{value:.2f}x"


def goal(name: str, measured: float, limit: float, unit: str, at_least: bool) -> str:
    """A line on whether a goal is met."""
    met = measured >= limit if at_least else measured <= limit
    verdict, sign = "met   " if met else "MISSED", ">=" if at_least else "<="
    return f"goal {verdict}  {name}: {measured:.4g} {unit} (goal {sign} {limit:g} {unit})"


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first = cells[0].ljust(widths[0])
    return "  ".join([first, *(cell.rjust(width) for cell, width in zip(cells[1:], widths[1:], strict=True))])
