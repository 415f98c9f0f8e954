"""`python -m loadtest.bench`: every speed figure of the documentation, measured on the machine at hand.

With all sections it writes loadtest/RESULTS.md, loadtest/results/ and the figures of README.md and docs/; with `--section` it
only prints.
"""

import argparse
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import get_args

from loadtest import (
    bounds_bench,
    edge_bench,
    engine_bench,
    f1_bench,
    figure1_bench,
    growth_bench,
    http_bench,
    latency_bench,
    machine,
    memory_bench,
    plan_bench,
    readme_figures,
    small_bench,
    steadiness,
    workload,
)
from loadtest.options import Options
from loadtest.results import RESULTS, WHERE, Results, Section
from loadtest.table import Table

Measure = Callable[[Options], Iterator[Table]]


def _edge(options: Options) -> Iterator[Table]:
    """The goals of the edge, as tables like the others."""
    rows = [
        [
            row.name,
            f"{row.measured:.3g} {row.unit}",
            f"{'>=' if row.at_least else '<='} {row.limit:g} {row.unit}",
            "met" if row.met else "MISSED",
            row.behind,
        ]
        for row in edge_bench.measure(options.quick)
    ]
    yield Table("Goals of the edge", ["", "measured", "goal", "it is", "behind it"], rows)


SECTIONS: dict[str, tuple[Measure, str]] = {
    "engine": (engine_bench.measure, "Our methods beside the published algorithms and SciPy."),
    "f1": (f1_bench.measure, "F1 on our grid beside the paper's Algorithm 5."),
    "bounds": (bounds_bench.measure, "Scores that lie on no lattice."),
    "plan": (plan_bench.measure, "What the planner predicts beside what it then takes."),
    "http": (http_bench.measure, "A whole request beside work done in process."),
    "latency": (latency_bench.measure, "Requests beside an echo of the same bodies, one client and eight."),
    "edge": (_edge, "What the service adds to a test, with the goals that were set for it."),
    "memory": (memory_bench.measure, "The most that the processes ever held."),
    "growth": (growth_bench.measure, "Cost against the number of items."),
    "figure1": (figure1_bench.measure, "The paper's Figure 1 with our lines."),
}
# Only run by name: its rivals are programs that must be installed.
ASIDE: dict[str, tuple[Measure, str]] = {
    "small": (small_bench.measure, "Small tests beside other programs and an echo, with their goals."),
}


def main() -> None:
    """Parse the options, run the requested sections, and write the results if these are all."""
    asked = _parser().parse_args()
    write = not (asked.section or asked.print_only)
    options = Options(asked.seed, asked.quick, asked.lengths, asked.gap, write)
    names = asked.section or list(SECTIONS)
    where = _where(options)
    for table in where:
        print(table.text(), end="\n\n")
    began = time.monotonic()
    sections, conditions = [], []
    for name in names:
        section, condition = _measured(name, options)
        sections.append(section)
        conditions.append(condition)
    where += [steadiness.table(conditions)]
    print(f"\n{where[-1].text()}\n\n{time.monotonic() - began:.0f} s in all")
    if not write:
        return
    sentence = f"`{_command(options)}`, {datetime.now(UTC):%Y-%m-%d %H:%M} UTC, {time.monotonic() - began:.0f} s in all."
    RESULTS.write_text(Results([Section(WHERE, sentence, where), *sections]).markdown(), encoding="utf-8")
    readme_figures.main()


def _measured(name: str, options: Options) -> tuple[Section, steadiness.Condition]:
    """Run a section and print its tables."""
    measure, sentence = (SECTIONS | ASIDE)[name]
    print(f"\n=== {name} ===", flush=True)
    load, probe, began = machine.load_average(), steadiness.probe(), time.monotonic()
    try:
        tables = _printed(measure(options))
    except Exception:  # noqa: BLE001  (a machine under load closes connections; ten minutes are not to be lost)
        traceback.print_exc()
        print(f"\n=== {name} once more ===", flush=True)
        tables = _printed(measure(options))
    took = time.monotonic() - began
    section = Section(name, f"{sentence} `{_command(options, name)}`", tables)
    return section, steadiness.Condition(name, took, load, probe)


def _printed(tables: Iterable[Table]) -> list[Table]:
    kept = []
    for table in tables:
        kept.append(table)
        print(f"\n{table.text()}", flush=True)
    return kept


def _where(options: Options) -> list[Table]:
    chosen = [
        ("seed", str(options.seed)),
        ("law of sentence lengths", options.law),
        ("accuracy gap", f"{options.gap:g}"),
        ("repeats", "few (--quick)" if options.quick else "all"),
    ]
    named = {"Machine": machine.machine(), "Versions": machine.versions(), "Workload": chosen}
    return [Table(title, ["", "value"], facts) for title, facts in named.items()]


def _command(options: Options, section: str = "") -> str:
    """The command that repeats this measurement."""
    words = [".venv/bin/python -m loadtest.bench"]
    if section:
        words.append(f"--section {section}")
    if options.quick:
        words.append("--quick")
    plain = Options(quick=options.quick)
    if options.seed != plain.seed:
        words.append(f"--seed {options.seed}")
    if options.law != plain.law:
        words.append(f"--lengths {options.law}")
    if options.gap != plain.gap:
        words.append(f"--gap {options.gap:g}")
    return " ".join(words)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m loadtest.bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer repeats")
    parser.add_argument(
        "--section",
        action="append",
        choices=[*SECTIONS, *ASIDE],
        help="only print this; may be given more than once",
    )
    parser.add_argument("--print-only", action="store_true", help="write no files")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lengths", choices=get_args(workload.LengthLaw), default="negative_binomial")
    parser.add_argument("--gap", type=float, default=0.0, help="taken off the second system's mean accuracy")
    return parser


if __name__ == "__main__":
    main()
