"""Aligned tables on a terminal, with times and ratios in the units a reader wants."""

from collections.abc import Sequence


def render(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns padded to their widest cell: the first to the left, the others to the right."""
    lines = [list(header), *map(list, rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    rule = ["-" * width for width in widths]
    return "\n".join(_line(line, widths) for line in [lines[0], rule, *lines[1:]])


def duration(seconds: float) -> str:
    """Seconds as us, ms or s with three significant digits."""
    for factor, unit in ((1e6, "us"), (1e3, "ms")):
        if seconds * factor < 1000:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds:.3g} s"


def ratio(value: float) -> str:
    """How many times: 0.52x, 23x, 1,340x."""
    return f"{value:,.0f}x" if value >= 10 else f"{value:.2f}x"


def goal(name: str, measured: float, limit: float, unit: str, at_least: bool) -> str:
    """One line that says whether a goal is met."""
    met = measured >= limit if at_least else measured <= limit
    verdict, sign = "met   " if met else "MISSED", ">=" if at_least else "<="
    return f"goal {verdict}  {name}: {measured:.4g} {unit} (goal {sign} {limit:g} {unit})"


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first = cells[0].ljust(widths[0])
    return "  ".join([first, *(cell.rjust(width) for cell, width in zip(cells[1:], widths[1:], strict=True))])
