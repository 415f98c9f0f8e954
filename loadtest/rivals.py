"""Time other programs for the same p-value, if installed; they are optional and not in the requirements. fast-poibin (PyPI) and
PoissonBinomial (R; Debian: r-cran-poissonbinomial) handle sums of single coins, for right or wrong items; the paper's Algorithm 3 in numba
(PyPI) handles any weights.

Install them in a separate environment:

    python3 -m venv /tmp/rivals && /tmp/rivals/bin/pip install fast-poibin numba
    PYTHONPATH=$(echo /tmp/rivals/lib/python3*/site-packages) python -m loadtest.bench --section small
"""

import importlib
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from loadtest.paper import FloatArray, IntArray

R_TURNS = 200
R_PACKAGE = "PoissonBinomial"
_R = """
suppressMessages(library({package})); n <- {n}; k <- {k}; seconds <- numeric({turns})
for (i in 1:{turns}) {{ t <- Sys.time(); p <- 2 * ppbinom(k - 1, rep(0.5, n), method = "{method}", lower.tail = FALSE)
  seconds[i] <- as.numeric(Sys.time() - t, units = "secs") }}
cat(sprintf("%.17g %.9g %.9g\\n", min(p, 1), median(seconds), min(seconds)))
"""
Rival = Callable[[IntArray, IntArray], float]


@dataclass(frozen=True, slots=True)
class Answered:
    """The output of a program in a separate process: p, and seconds per call."""

    p: float
    median: float
    best: float


def installed(package: str) -> Any:
    """Import a Python package; None if it is not installed."""
    try:
        return importlib.import_module(package)
    except ImportError:
        return None


def fast_poibin() -> Rival | None:
    """Two-sided p of differences -1, 0, 1 by fast-poibin's distribution of the sum of coins."""
    package = installed("fast_poibin")
    if package is None:
        return None

    def p_value(stay: IntArray, swap: IntArray) -> float:
        coins, extreme = _coins(stay)
        if 2 * extreme <= coins:
            return 1.0
        pmf = package.PoiBin([0.5] * coins).pmf
        return float(min(2.0 * float(np.sum(pmf[extreme:])), 1.0))

    return p_value


def algorithm_3_compiled() -> Rival | None:
    """The paper's Algorithm 3 under numba: two loops over one array, all weights."""
    package = installed("numba")
    if package is None:
        return None

    cells: Callable[[IntArray], FloatArray] = package.njit(_cells)

    def p_value(stay: IntArray, swap: IntArray) -> float:
        weights = np.abs(stay - swap)
        mass = cells(weights[weights > 0])
        support = np.arange(len(mass)) + int(np.minimum(stay, swap).sum())
        return float(mass[np.abs(support) >= abs(int(stay.sum()))].sum())

    return p_value


def _cells(weights: IntArray) -> FloatArray:
    """Algorithm 3 for numba to compile."""
    mass = np.zeros(weights.sum() + 1)
    mass[0], top = 1.0, 0
    for weight in weights:
        top += weight
        for at in range(top, weight - 1, -1):
            mass[at] = 0.5 * (mass[at] + mass[at - weight])
        for at in range(weight - 1, -1, -1):
            mass[at] *= 0.5
    return mass


def poisson_binomial_in_r(stay: IntArray, method: str = "DivideFFT") -> Answered | None:
    """The same p by R's PoissonBinomial, timed inside R; None if R or the package is missing."""
    rscript = shutil.which("Rscript")
    coins, extreme = _coins(stay)
    if rscript is None:
        return None
    script = _R.format(package=R_PACKAGE, n=coins, k=extreme, turns=R_TURNS, method=method)
    done = subprocess.run([rscript, "-e", script], capture_output=True, text=True, check=False, timeout=120)
    if done.returncode:
        return None
    p, median, best = map(float, done.stdout.split())
    return Answered(p, median, best)


def _coins(stay: IntArray) -> tuple[int, int]:
    """Count the items that differ, and those that the better system won: differences are -1, 0 and 1."""
    wins, losses = int((stay > 0).sum()), int((stay < 0).sum())
    return wins + losses, max(wins, losses)
