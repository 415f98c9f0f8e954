"""`python -m loadtest.readme_figures`: write docs/benchmarks.md and three figures of the README, from loadtest/RESULTS.md.

Both are between marks. This measures nothing: every figure is a cell of a table of RESULTS.md.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from textwrap import fill

from loadtest import steadiness
from loadtest.latency_bench import CLIENTS, ECHO, OURS
from loadtest.results import WHERE, Results, read
from loadtest.table import pipes

ROOT = Path(__file__).resolve().parent.parent
README, BENCHMARKS = ROOT / "README.md", ROOT / "docs" / "benchmarks.md"
OPENS, CLOSES = "<!-- bench -->", "<!-- /bench -->"
WIDTH = 130
COMMAND = ".venv/bin/python -m loadtest.bench --section"

ENGINE_SIZES = ("100", "1,000", "10,000", "1,000,000")
ENGINE_ROWS = {
    "our `fft`": "ours fft",
    "our `dp`": "ours dp",
    "our `monte_carlo`, 20,000 samples": "ours monte_carlo K=20,000",
    "the paper's Algorithm 3 (convolve_DP)": "Algorithm 3 convolve_DP",
    "the paper's Algorithm 4 (convolve_FFT), as written": "Algorithm 4 convolve_FFT",
    "Algorithm 4, short factors convolved directly": "Algorithm 4, short factors directly",
    "the paper's Algorithm 1 (Monte Carlo), 20,000 samples": "Algorithm 1 K=20,000",
    "`scipy.stats.permutation_test`, 9,999 samples": "scipy permutation_test 9,999",
}
F1_SIZES = ("100", "10,000", "100,000")
LATENCY_SIZES = ("100", "1,000", "10,000", "100,000")
GROWTH_SIZES = ("100", "1,000", "10,000", "100,000", "1,000,000", "10,000,000")


def figures(results: Results) -> str:
    """The three rows of the README, each with the command that prints it."""
    engine = partial(results.cell, "engine", "N = 10,000", column="median")
    large = results.tables("http")[1]
    rows = [
        [
            "10,000 items, effects to p-value",
            engine(ENGINE_ROWS["our `fft`"]),
            f"{engine('Algorithm 4 convolve_FFT')}, the paper's Algorithm 4",
            _section("engine"),
        ],
        [
            "F1 of 100 items",
            results.cell("f1", "F1", "N = 100", "ours"),
            f"{results.cell('f1', 'F1', 'N = 100', 'its time')}, the paper's Algorithm 5",
            _section("f1"),
        ],
        [
            f"{large.title.partition(':')[0].removeprefix('N = ')} items, a whole JSON request",
            large.rows[0][1],
            f"{large.rows[1][1]}, {large.rows[1][0]} of the same body",
            _section("http"),
        ],
    ]
    table = "\n".join(pipes(["", "exactperm", "compared with", "printed by"], rows))
    return f"{table}\n\n{_machine(results)}; [all benchmarks](docs/benchmarks.md)."


def block(results: Results) -> str:
    """The tables of docs/benchmarks.md."""
    parts = [
        _opening(results),
        _engine(results),
        _f1(results),
        _bounds(results),
        _latency(results),
        _large(results),
        _memory(results),
        _growth(results),
        _figure(),
    ]
    return "\n\n".join(parts)


def replaced(page: str, text: str) -> str:
    """Replace the text between the marks of a page; ValueError unless there is exactly one pair."""
    if page.count(OPENS) != 1 or page.count(CLOSES) != 1:
        raise ValueError(f"the page needs one {OPENS} and one {CLOSES}")
    before, _, rest = page.partition(OPENS)
    _, _, after = rest.partition(CLOSES)
    return f"{before}{OPENS}\n{text}\n{CLOSES}{after}"


def main() -> None:
    """Rewrite both pages."""
    results = read()
    for path, text in ((README, figures(results)), (BENCHMARKS, block(results))):
        path.write_text(replaced(path.read_text(encoding="utf-8"), text), encoding="utf-8")


def _machine(results: Results) -> str:
    processor, cores, python = (
        results.cell(WHERE, title, row, "value")
        for title, row in (("Machine", "processor"), ("Machine", "cores"), ("Versions", "Python"))
    )
    date = next(s.sentence for s in results.sections if s.name == WHERE).split(", ")[1]
    return f"Medians on {processor}, {cores} cores, Python {python}, {date}"


def _opening(results: Results) -> str:
    command = next(s.sentence for s in results.sections if s.name == WHERE).split(", ")[0]
    noise = results.table(WHERE, steadiness.TITLE).notes[0].partition(": ")[2].partition("x;")[0]
    quick = ", with few repeats" if "--quick" in command else ""
    text = (
        "`make bench` measures on your machine, with contenders taking turns, and writes "
        "[RESULTS.md](../loadtest/RESULTS.md), this page and the figures of the README; "
        "[loadtest/README.md](../loadtest/README.md) describes the comparisons and their fairness. "
        f"{_machine(results)}, by {command}{quick}. During that run the same calculation took up to {noise} times as "
        "long before one section as before another: compare within a table, and do not trust the last digits."
    )
    return fill(text, WIDTH, break_long_words=False, break_on_hyphens=False)


def _section(name: str) -> str:
    return f"`{COMMAND} {name}`"


def _engine(results: Results) -> str:
    rows = [
        [name, *(results.cell("engine", f"N = {n}", row, "median") for n in ENGINE_SIZES)]
        for name, row in ENGINE_ROWS.items()
    ]
    return "The paper's workload, effects to p-value, two-sided:\n\n" + "\n".join(
        pipes([_section("engine"), *(f"N = {n}" for n in ENGINE_SIZES)], rows)
    )


def _f1(results: Results) -> str:
    rows = [
        [name, *(results.cell("f1", "F1", f"N = {n}", column) for n in F1_SIZES)]
        for name, column in (
            ("F1 on the grid, counts to p-value", "ours"),
            ("the paper's Algorithm 5, four-dimensional product tree", "its time"),
        )
    ]
    return "\n".join(pipes([_section("f1"), *(f"N = {n}" for n in F1_SIZES)], rows))


def _bounds(results: Results) -> str:
    rows = [
        [
            f"rigorous bracket of real-valued scores, relative width {precision}",
            *(
                results.cell("bounds", "Rigorous", f"N = {n}, {precision}", "median")
                for n in ("1,000", "10,000")
            ),
        ]
        for precision in ("0.01", "0.001", "0.0001")
    ]
    few = results.table("bounds", "Few items").rows[0]
    return (
        "\n".join(pipes([_section("bounds"), "N = 1,000", "N = 10,000"], rows))
        + f"\n\nMeeting in the middle of {few[0].removeprefix('n = ')} items took {few[2]}."
    )


def _latency(results: Results) -> str:
    rows = [
        [f"N = {n}, {clients} client{'s' if clients > 1 else ''}", *_beside_echo(results, n, clients)]
        for n in LATENCY_SIZES
        for clients in CLIENTS
    ]
    head = [
        _section("latency"),
        "p50",
        "p99",
        "requests/s",
        "echo: p50",
        "p99",
        "requests/s",
        "ours of the echo's",
    ]
    return (
        "Whole requests, JSON in and out, beside a route of FastAPI that parses the same body and returns it:\n\n"
        + "\n".join(pipes(head, rows))
    )


def _beside_echo(results: Results, items: str, clients: int) -> list[str]:
    title = f"N = {items}: "
    columns = ("p50", "p99", "requests/s")
    cells = [
        results.cell("latency", title, f"{clients}, {name}", column)
        for name in (OURS, ECHO)
        for column in columns
    ]
    return [*cells, results.cell("latency", title, f"{clients}, {OURS}", "of the echo")]


def _large(results: Results) -> str:
    head = [_section("http"), "the request", "beside it"]
    rows = []
    for table in results.tables("http"):
        served, other = table.rows
        size = table.title.partition(": a JSON request of ")
        body = size[2].partition(" bytes")[0]
        rows.append([f"{size[0]}, {body} bytes, beside {other[0]}", served[1], other[1]])
    return "\n".join(pipes(head, rows))


def _memory(results: Results) -> str:
    rows = [[row[0], row[2], row[3]] for row in results.table("memory", "Peak").rows]
    return "\n".join(pipes([_section("memory"), "web process, peak", "worker, peak"], rows))


def _growth(results: Results) -> str:
    cells = [
        [results.cell("growth", "Our fft", f"N = {n}", column) for n in GROWTH_SIZES]
        for column in ("median", "per item")
    ]
    rows = [["our `fft`", *cells[0]], ["per item", *cells[1]]]
    return "\n".join(pipes([_section("growth"), *(f"N = {n}" for n in GROWTH_SIZES)], rows))


def _figure() -> str:
    return (
        f"The paper's Figure 1 with our lines ({_section('figure1')}; [figure1.csv](../loadtest/results/figure1.csv)):\n\n"
        "![Runtime against the number of items, both on logarithmic scales](figure1.svg)"
    )


if __name__ == "__main__":
    main()
