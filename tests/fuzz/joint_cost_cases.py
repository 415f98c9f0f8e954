"""Small bodies of several sums and of resamples whose price one count decides: one far from all others, or a ring."""

from __future__ import annotations

import math
from random import Random
from typing import Any

Body = tuple[str, dict[str, Any]]
_SIDES = ["two-sided", "greater", "less"]
# tp, fp and fn of one system and of the other: few kinds of items have tails of any depth.
_KINDS = [
    ((1, 0, 0), (0, 1, 1)),
    ((1, 0, 0), (1, 1, 0)),
    ((1, 0, 0), (0, 0, 1)),
    ((2, 1, 0), (1, 0, 1)),
    ((3, 0, 1), (1, 2, 0)),
]


def joint_spikes(random: Random) -> Body:
    """F1 and its like, often deep in their tails, with a count or two of 10^3 to 10^12 among small ones."""
    items, kinds, won = random.choice([60, 200, 400]), random.randint(1, 4), random.uniform(0.5, 1.0)
    names = ("tp", "fp", "fn")
    systems: tuple[dict[str, list[int]], ...] = ({name: [] for name in names}, {name: [] for name in names})
    for _ in range(items):
        pair = random.choice(_KINDS[:kinds])
        for system, counts in zip(systems, pair if random.random() < won else pair[::-1], strict=True):
            for name, count in zip(names, counts, strict=True):
                system[name].append(count)
    for _ in range(random.choice([0, 1, 1, 2])):
        giant = 10 ** random.randint(3, 12)
        random.choice(systems)[random.choice(names)][random.randrange(items)] = giant
    body: dict[str, Any] = {"u": systems[0], "v": systems[1]}
    body["statistic"] = {"name": random.choice(["f1", "f1", "jaccard"])}
    body["method"] = random.choice(["auto", "auto", "grid"])
    body |= {"alternative": random.choice(_SIDES), "pmf": random.choice(["none", "none", "summary"])}
    return "counts", body


def rings(random: Random) -> Body:
    """A quadratic form of two sums: the region lies all round the mean, and no tilt proves much of it."""
    items, far, turn = random.choice([300, 700, 1000]), random.uniform(0.0, 0.9), random.uniform(0.0, 6.28)
    shares = [0.5 + 0.5 * far * math.cos(turn), 0.5 + 0.5 * far * math.sin(turn)]
    stay = [[1 if random.random() < share else -1 for share in shares] for _ in range(items)]
    statistic = {"expression": random.choice(["x1*x1 + x2*x2", "x1*x1 + 2*x2*x2"])}
    return "effects", {"stay": stay, "statistic": statistic, "alternative": "greater", "pmf": "none"}


def bootstrap_spikes(random: Random) -> Body:
    """Resampled effects with one to three far from all others, and a look at their law."""
    items = random.choice([3, 5, 8, 20, 40, 100, 300])
    stay = [random.randint(-random.choice([1, 5, 50]), 9) for _ in range(items)]
    giant = 10 ** random.choice([3, 4, 4, 5, 5, 6, 7, 9, 12])
    for _ in range(random.randint(1, 3)):
        stay[random.randrange(items)] = random.choice([1, -1]) * random.randint(giant // 2, giant)
    body: dict[str, Any] = {"stay": stay, "test": "bootstrap", "alternative": random.choice(_SIDES)}
    body["pmf"] = random.choice(["none", "summary", "summary"])
    if random.random() < 0.3:
        body["confidence_level"] = 0.95
    return "effects", body
