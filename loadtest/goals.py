"""Measure the goals of load and failure on a real server:

`python -m loadtest.goals [--quick] [--goal 8]`. Prints each goal, the measurement, and whether it is met. The server, its workers and
the clients share the processors, so figures are worse than on a dedicated server. Linux: it reads /proc.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable

from loadtest.goals_failure import goal_10, goal_11
from loadtest.goals_hostile import goal_3, goal_14
from loadtest.goals_overload import goal_7, goal_8
from loadtest.goals_row import Row
from loadtest.table import render

# Goals with the seconds of load of the long and the short form.
GOALS: dict[int, tuple[Callable[[float], list[Row]], float, float]] = {
    3: (goal_3, 30.0, 6.0),
    7: (goal_7, 60.0, 8.0),
    8: (goal_8, 60.0, 8.0),
    10: (goal_10, 0.0, 0.0),
    11: (goal_11, 30.0, 6.0),
    14: (goal_14, 48.0, 8.0),
}


def main() -> int:
    """Parse the options, measure, print; status 1 if a goal is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="a minute in all rather than five")
    parser.add_argument("--goal", type=int, action="append", choices=sorted(GOALS), help="only this one")
    asked = parser.parse_args()
    rows: list[Row] = []
    for number in asked.goal or GOALS:
        measure, long_s, short_s = GOALS[number]
        found = measure(short_s if asked.quick else long_s)
        rows += found
        for one in found:
            print(f"goal {one.goal}: {one.measured}; {one.how}", flush=True)
    print(f"\n{os.cpu_count()} processors, shared by the server, two workers and the clients")
    table = [[one.goal, one.asked, one.measured, "met" if one.met else "MISSED"] for one in rows]
    print(render(["goal", "asked", "measured", ""], table))
    return 0 if all(one.met for one in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
