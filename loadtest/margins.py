"""`python -m loadtest.margins`: the true level of gates with a margin on right-or-wrong items, which take Tango's test at 0.05.

Systems differ by exactly the margin, on a share of the items; the level is the exact probability of a wrong pass of
`non_inferior`, by a sum over all tables.
"""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from exactperm.engine.paired_proportions import tango_test
from loadtest.table import Table

NEGLIGIBLE = 1e-10


def _masses(n: int, chance: float) -> NDArray[np.float64]:
    return np.asarray(binom.pmf(np.arange(n + 1), n, chance))


def level(items: int, margin: float, discordant: float) -> float:
    """P(p <= 0.05), where a share `discordant` of the items differs, and U is worse by the margin."""
    only_u, total = (discordant - margin) / (2 * discordant), 0.0
    for differ, share in enumerate(_masses(items, discordant)):
        for wins, chance in enumerate(share * _masses(differ, only_u)):
            if chance > NEGLIGIBLE:
                z = tango_test(wins, differ - wins, items, -margin)
                total += chance * (math.erfc(z / math.sqrt(2.0)) <= 2 * 0.05)
    return float(total)


def main() -> None:
    rows = [
        (f"{items}", f"{margin:g}", f"{discordant:g}", f"{level(items, margin, discordant):.3f}")
        for items in (20, 80, 150, 300)
        for margin in (0.02, 0.05, 0.1)
        for discordant in (0.05, 0.1, 0.2, 0.4)
        if discordant > margin
    ]
    print(
        Table(
            "True level of Tango's test at 0.05", ("items", "margin", "items that differ", "level"), rows
        ).text()
    )


if __name__ == "__main__":
    main()
