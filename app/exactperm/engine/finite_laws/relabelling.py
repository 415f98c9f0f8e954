"""The law of an item that was run several times: its runs are dealt anew between the two systems.

Of n runs of U and m runs of V all C(n + m, n) ways to choose U's are equally likely under the null that they are independent
draws of one law (Mantel & Haenszel 1959 for right or wrong; van Elteren 1960 for scores).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence


def relabelled(u: Sequence[int], v: Sequence[int], of_u: int, of_v: int) -> dict[int, int]:
    """{of_u * sum of U's runs - of_v * sum of V's: number of ways}, for integer runs, shape (n,) and (m,)."""
    runs = [*u, *v]
    total, taken = sum(runs), len(u)
    binary = set(runs) <= {0, 1}
    sums = right_or_wrong(total, len(runs), taken) if binary else subset_sums(runs, taken)
    return {(of_u + of_v) * part - of_v * total: ways for part, ways in sums.items()}


def right_or_wrong(right: int, runs: int, taken: int) -> dict[int, int]:
    """The hypergeometric law: how many of `taken` of the runs are right, `right` being so in all."""
    wrong = runs - right
    return {
        part: math.comb(right, part) * math.comb(wrong, taken - part)
        for part in range(max(0, taken - wrong), min(taken, right) + 1)
    }


def subset_sums(values: Sequence[int], taken: int) -> dict[int, int]:
    """{sum: number of subsets} over all subsets of `taken` of the values, by a table of (how many, sum)."""
    table: list[Counter[int]] = [Counter({0: 1}), *(Counter[int]() for _ in range(taken))]
    for index, value in enumerate(values):
        for count in range(min(index, taken - 1), -1, -1):
            longer = table[count + 1]
            for part, ways in table[count].items():
                longer[part + value] += ways
    return dict(table[taken])
