"""`python -m loadtest.bench`: every speed figure of the README, measured on the machine at hand."""

import argparse
import os
import platform
from typing import get_args

import numpy as np
import scipy

from loadtest import bounds_bench, engine_bench, f1_bench, http_bench, workload

SECTIONS = ("engine", "http", "f1", "bounds")


def main() -> None:
    """Parse the options and run the sections asked for."""
    options = _parser().parse_args()
    print(
        f"Python {platform.python_version()}, NumPy {np.__version__}, SciPy {scipy.__version__}, "
        f"{os.cpu_count()} cores, {platform.machine()}; seed {options.seed}, lengths {options.lengths}, "
        f"accuracy gap {options.gap:g}"
    )
    for section in options.section or SECTIONS:
        print(f"\n=== {section} ===")
        _run(section, options)


def _run(section: str, options: argparse.Namespace) -> None:
    match section:
        case "engine":
            engine_bench.run(options.seed, options.quick, options.lengths, options.gap)
        case "http":
            http_bench.run(options.seed, options.quick, options.lengths)
        case "f1":
            f1_bench.run(options.seed, options.quick)
        case "bounds":
            bounds_bench.run(options.seed, options.quick)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m loadtest.bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer repeats")
    parser.add_argument(
        "--section", action="append", choices=SECTIONS, help="may be given more than once; default all"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lengths", choices=get_args(workload.LengthLaw), default="negative_binomial")
    parser.add_argument("--gap", type=float, default=0.0, help="taken off the second system's mean accuracy")
    return parser


if __name__ == "__main__":
    main()
