"""`python -m loadtest.figure1`: draw docs/figure1.svg from results/figure1.csv. The same CSV gives the same bytes.

Lines are distinguished without colour: exactperm's are solid with filled markers, the paper's dashed with open ones, each labelled with its
name.
"""

from __future__ import annotations

import argparse
import csv
import io
import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FOLDER = Path(__file__).resolve().parent / "results"
CSV, SVG = FOLDER / "figure1.csv", FOLDER.parents[1] / "docs" / "figure1.svg"
COLUMNS = ("items", "line", "source", "median_s", "min_s", "calls")

INCHES = (9.6, 6.2)
OURS, THEIRS = "#0a3d7a", "#5a5a5a"
MARKERS = {"fft": "o", "dp": "s", "convolve_DP": "s", "convolve_FFT": "o"}  # "D" for Monte Carlo
LABEL_GAP = 0.2
"""Least distance of two labels, in powers of ten of seconds."""
LOOKS: Any = {
    "svg.hashsalt": "figure1",
    "svg.fonttype": "none",  # keep text as text, for search and screen readers
    "font.family": ["DejaVu Sans"],
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
}
ALT = (
    "Seconds from effects to p-value against the number of items, both on logarithmic scales: exactperm's fft, dp and "
    "Monte Carlo beside the paper's convolve_DP, convolve_FFT and Monte Carlo with 5,000 to 40,000 samples."
)


@dataclass(frozen=True, slots=True)
class Point:
    """One marker of the figure; `source` is `exactperm` or `paper`, times are in seconds."""

    items: int
    line: str
    source: str
    median_s: float
    min_s: float
    calls: int


def read(path: Path = CSV) -> list[Point]:
    """The points of the CSV; ValueError when its columns are not `COLUMNS`."""
    with path.open(newline="", encoding="utf-8") as file:
        head, *rows = csv.reader(file)
    if tuple(head) != COLUMNS:
        raise ValueError(f"the columns of {path.name} are {head}")
    return [Point(int(n), line, source, float(m), float(b), int(c)) for n, line, source, m, b, c in rows]


def write() -> None:
    """Draw the figure of the CSV into the SVG."""
    SVG.write_bytes(drawn(read()))


def drawn(points: list[Point], kind: str = "svg") -> bytes:
    """Render the figure as a file of this kind."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    metadata = (
        {"Title": "Figure 1", "Description": ALT, "Date": None, "Creator": None} if kind == "svg" else {}
    )
    out = io.BytesIO()
    looks: Any = {**mpl.rcParamsDefault, **LOOKS}
    with mpl.rc_context(looks):
        figure = Figure(figsize=INCHES, layout="constrained", facecolor="white")
        _draw(figure.subplots(), points)
        figure.savefig(out, format=kind, dpi=130, metadata=metadata)
    if kind != "svg":
        return out.getvalue()
    # matplotlib leaves blanks at the ends of lines
    return "".join(f"{line.rstrip()}\n" for line in out.getvalue().decode().splitlines()).encode()


def _draw(axes: Axes, points: list[Point]) -> None:
    lines: dict[tuple[str, str], list[Point]] = {}
    for point in points:
        lines.setdefault((point.source, point.line), []).append(point)
    _scales(axes, points)
    for (source, name), line in lines.items():
        mine = source == "exactperm"
        axes.plot(
            [point.items for point in line],
            [point.median_s for point in line],
            color=OURS if mine else THEIRS,
            linestyle="-" if mine else (0, (5, 2)),
            linewidth=2.0 if mine else 1.1,
            marker=MARKERS.get(name, "D"),
            markersize=5,
            markerfacecolor=OURS if mine else "white",
            zorder=3 if mine else 2,
        )
    _name(axes, [line for line in lines.values() if _is_sampled_by_paper(line)], left=True)
    _name(axes, [line for line in lines.values() if not _is_sampled_by_paper(line)], left=False)


def _scales(axes: Axes, points: list[Point]) -> None:
    """Set the axes with room for the names of lines on either side, and ticks only at points."""
    axes.set_xscale("log")
    axes.set_yscale("log")
    first, last = min(p.items for p in points), max(p.items for p in points)
    axes.set_xlim(first / 28, last * 90)
    powers = range(round(math.log10(first)), round(math.log10(last)) + 1)
    axes.set_xticks([10.0**power for power in powers], [f"{10**power:,}" for power in powers])
    axes.xaxis.set_minor_locator(_none())
    axes.yaxis.set_minor_locator(_none())
    low, high = (math.log10(pick(p.median_s for p in points)) for pick in (min, max))
    decades = range(math.floor(low), math.ceil(high) + 1)
    axes.set_ylim(10 ** (low - 0.25), 10 ** (high + 0.25))
    shown = [power for power in decades if low - 0.25 <= power <= high + 0.25]
    axes.set_yticks([10.0**power for power in shown], [_seconds(power) for power in shown])
    axes.grid(visible=True, color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.set_title(
        "Two-sided test, the paper's workload; MC is Monte Carlo with K samples", loc="left", fontsize=9
    )
    axes.set_xlabel("items N")
    axes.set_ylabel("seconds, effects to p-value (median)")


def _none() -> Any:
    from matplotlib.ticker import NullLocator

    return NullLocator()


def _seconds(power: int) -> str:
    if power >= 0:
        return f"{10**power:,} s"
    return f"{10 ** (power + 3)} ms" if power >= -3 else f"{10 ** (power + 6)} µs"


def _is_sampled_by_paper(line: list[Point]) -> bool:
    return line[0].source == "paper" and line[0].line.startswith("monte_carlo")


def label(source: str, line: str) -> str:
    """The label of a line."""
    return f"{source}: {line.replace('monte_carlo', 'MC')}"


def _name(axes: Axes, lines: list[list[Point]], left: bool) -> None:
    """Write the name of each line at its beginning or end; those that would overlap move apart."""
    place = 0 if left else -1
    by_items: dict[int, list[list[Point]]] = {}
    for line in lines:
        by_items.setdefault(line[place].items, []).append(line)
    for items, group in by_items.items():
        group.sort(key=lambda line: line[place].median_s)
        heights = spread([math.log10(line[place].median_s) for line in group], LABEL_GAP)
        for line, height in zip(group, heights, strict=True):
            mine = line[0].source == "exactperm"
            axes.annotate(
                label(line[0].source, line[0].line),
                (items, 10**height),
                xytext=(-8 if left else 8, 0),
                textcoords="offset points",
                horizontalalignment="right" if left else "left",
                verticalalignment="center",
                color=OURS if mine else "#333333",
                fontweight="bold" if mine else "normal",
                fontsize=8.5,
            ).set_in_layout(False)  # there is room: see `_scales`


def spread(heights: Iterable[float], gap: float) -> list[float]:
    """Move ascending heights by simple small shifts so that neighbours are at least `gap` apart."""
    placed: list[list[float]] = []  # groups that touch, each spread around its middle
    for height in heights:
        placed.append([height])
        while len(placed) > 1 and placed[-1][0] - placed[-2][-1] < gap:
            merged = placed.pop(-2) + placed.pop()
            middle = sum(merged) / len(merged)
            start = middle - gap * (len(merged) - 1) / 2
            placed.append([start + gap * index for index in range(len(merged))])
    return [height for group in placed for height in group]


def main() -> None:
    """Draw the SVG, and a PNG elsewhere if wanted."""
    parser = argparse.ArgumentParser(prog="python -m loadtest.figure1", description=__doc__)
    parser.add_argument("--png", type=Path, help="also write a PNG there")
    options = parser.parse_args()
    write()
    if options.png:
        options.png.write_bytes(drawn(read(), "png"))


if __name__ == "__main__":
    main()
