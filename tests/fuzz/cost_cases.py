"""Small bodies that look cheap: the families in which one was found to cost far more than its plan said."""

from __future__ import annotations

import math
from collections.abc import Callable
from random import Random
from typing import Any

from tests.fuzz.joint_cases import joint_case
from tests.fuzz.joint_cost_cases import bootstrap_spikes, joint_spikes, rings

Body = tuple[str, dict[str, Any]]


def _options(random: Random) -> dict[str, Any]:
    """What any test may ask for besides."""
    options: dict[str, Any] = {"alternative": random.choice(["two-sided", "greater", "less"])}
    options["pmf"] = random.choice(["none", "none", "summary", "full"])
    if random.random() < 0.15:
        options["exact_fraction"] = True
    if random.random() < 0.15:
        options["confidence_level"] = random.choice([0.5, 0.9, 0.999])
    return options


def _weights(random: Random, items: int) -> list[int]:
    kinds: list[Callable[[int], int]] = [
        lambda _: random.randint(1, 10 ** random.randint(1, 9)),
        lambda k: 10**6 + k * k,
        lambda k: 2 ** min(k, 60),
        lambda k: 10**9 if k % 9 == 0 else 1,
        lambda k: 2**53 + random.randint(0, 50),
        lambda k: round(1.2 ** min(k, 200)),
    ]
    kind = random.choice(kinds)
    return [kind(index) * random.choice([1, 1, 1, -1]) for index in range(items)]


def sums(random: Random) -> Body:
    """One sum: distinct weights, giants, interior intervals, every method."""
    stay = _weights(random, random.choice([5, 12, 20, 25, 40, 60, 120, 400]))
    body = {"stay": stay, **_options(random)}
    body["method"] = random.choice(
        ["auto", "auto", "auto", "dp", "fft", "rational", "bounds", "enumeration", "meet_in_the_middle"]
    )
    if random.random() < 0.4:
        body["statistic"] = {"expression": random.choice(["abs(x1)", "abs(x1)", "2*x1", "-x1"])}
    if random.random() < 0.2:
        body["swap"] = [-x + random.randint(-9, 9) for x in stay]
    if random.random() < 0.3:
        body["precision"] = 10.0 ** -random.randint(1, 300)
    return "effects", body


def decimals(random: Random) -> Body:
    """Scores with many digits, of mixed magnitude, with outliers."""
    items = random.choice([8, 20, 45, 60, 100, 200, 300])
    digits = random.randint(0, 17)

    def number() -> float:
        scale = 10.0 ** random.randint(0, 6) if random.random() < 0.05 else 1.0
        return round(random.random(), digits) * scale

    body = {"u": [number() for _ in range(items)], "v": [number() for _ in range(items)], **_options(random)}
    if random.random() < 0.2:
        body["statistic"] = {"name": random.choice(["sign", "signed_rank", "sum_difference"])}
    if random.random() < 0.2:
        body.pop("exact_fraction", None)
        body.update(test="bootstrap", samples=10 ** random.randint(1, 6))
    return "scores", body


def counts(random: Random) -> Body:
    """Several sums: more items than can be listed, few items with large counts, resampled ones."""
    case = joint_case(random)
    request = case.request
    if random.random() < 0.7:
        items, most = random.choice([7, 12, 30, 60]), 10 ** random.randint(0, 3)
        for system in ("u", "v"):
            request[system] = {
                name: [random.randint(0, most) for _ in range(items)] for name in request[system]
            }
        request.pop("clusters", None)
    request.update(_options(random))
    if random.random() < 0.2:
        request.pop("exact_fraction", None)
        request.update(test="bootstrap", samples=10 ** random.randint(1, 6), method="auto")
    return "counts", request


def predictions(random: Random) -> Body:
    """Labels of many classes."""
    items, classes = random.choice([12, 60, 300, 700]), random.choice([2, 3, 20, 200])

    def labels() -> list[int]:
        return [random.randrange(classes) for _ in range(items)]

    statistic = random.choice(
        [
            {"name": "f1", "average": "macro"},
            {"name": "mcc"},
            {"name": "f1", "average": "micro"},
            {"name": "accuracy"},
        ]
    )
    body = {"gold": labels(), "u": labels(), "v": labels(), "statistic": statistic, **_options(random)}
    if random.random() < 0.3:
        body["clusters"] = [index // 20 for index in range(items)]
    return "predictions", body


def _precision(random: Random) -> float:
    """What a bracket may be asked for: from the smallest double to the whole of [0, 1]."""
    return random.choice(
        [
            5e-324,
            1e-323,
            1e-308,
            1e-300,
            1e-280,
            1e-100,
            1e-17,
            1e-16,
            1e-15,
            1e-12,
            1e-9,
            1e-6,
            1e-3,
            0.1,
            0.5,
            1.0,
        ]
    )


def _bracketed(random: Random, body: dict[str, Any]) -> dict[str, Any]:
    """The same with an alternative, a method that may bracket, a precision, a level and an alpha at the borders."""
    body["alternative"] = random.choice(["two-sided", "greater", "less"])
    body["method"] = random.choice(["auto", "auto", "bounds", "bounds", "meet_in_the_middle", "fft"])
    body["pmf"] = random.choice(["none", "none", "summary"])
    if random.random() < 0.6:
        body["precision"] = _precision(random)
    if random.random() < 0.5:
        body["confidence_level"] = random.choice(
            [1e-300, 1e-9, 0.5, 0.9, 0.95, 0.99, 0.999999, 1 - 2**-40, 1 - 2**-53]
        )
    if random.random() < 0.3:
        body["alpha"] = random.choice([5e-324, 1e-300, 2.0**-40, 1e-9, 0.05, 0.5, 1 - 2**-53])
    if random.random() < 0.1:
        body["exact_fraction"] = True
    return body


def _spiky(random: Random, items: int, huge: list[float], small: list[float]) -> list[float]:
    """One huge value or a few, all others small, of either sign."""
    spikes = random.choice([1, 1, 2, 3, 5, max(items // 10, 1), items // 2])
    sizes = [random.choice(huge if index < spikes else small) for index in range(items)]
    if random.random() < 0.5:
        sizes = [size * random.uniform(0.5, 1.5) for size in sizes]
    losses = random.choice([0.0, 0.02, 0.2, 0.4, 0.5])
    return [-size if random.random() < losses else size for size in sizes]


_BORDERS = [
    2,
    3,
    5,
    8,
    12,
    16,
    19,
    20,
    21,
    22,
    25,
    28,
    30,
    35,
    39,
    40,
    41,
    45,
    52,
    53,
    60,
    61,
    62,
    63,
    64,
    65,
]
_MANY = [80, 100, 150, 200, 300, 400]


def spikes(random: Random) -> Body:
    """One or a few huge values beside many small ones: counts to 1e15, and reals from 1e-9 to 1e12."""
    items = random.choice([*_BORDERS, *_MANY])
    if random.random() < 0.5:
        huge = [10.0 ** random.randint(3, 15) for _ in range(random.randint(1, 3))]
        stay = [int(x) for x in _spiky(random, items, huge, [1.0, 2.0, 3.0, 10.0, random.choice(huge) / 1e3])]
        body: dict[str, Any] = {"stay": stay}
        if random.random() < 0.2:
            body["statistic"] = {"expression": random.choice(["abs(x1)", "3*x1"])}
        if random.random() < 0.2:
            body["swap"] = [-x + random.randint(-9, 9) for x in stay]
        return "effects", _bracketed(random, body)
    huge = [10.0 ** random.randint(0, 12) for _ in range(random.randint(1, 3))]
    small = [10.0 ** random.randint(-9, 0) for _ in range(random.randint(1, 3))]
    digits = random.choice([2, 4, 9, 17])
    scores = [round(x, digits) for x in _spiky(random, items, huge, small)]
    v = [round(random.random(), digits) if random.random() < 0.5 else 0.0 for _ in scores]
    body = {"u": scores, "v": v}
    if random.random() < 0.2:
        body["clusters"] = [index // random.choice([2, 3]) for index in range(items)]
    return "scores", _bracketed(random, body)


def extremes(random: Random) -> Body:
    """Options and numbers at their ends: tiny and huge reals, repeated values, items at the methods' borders."""
    items = random.choice([*_BORDERS, *_MANY])
    scale = 10.0 ** random.choice([-323, -300, -200, -20, -9, 0, 0, 0, 9, 20, 150, 300])
    kinds: list[Callable[[int], float]] = [
        lambda _: random.random(),
        lambda _: random.gauss(0.3, 1.0),
        lambda _: random.choice([1.0, 1.0, 2.0, 3.0]),
        lambda _: random.choice([0.1, 0.2, 0.3]) + 1e-13 * random.randint(0, 2),
        lambda k: 1.0 + k * 2.0**-52,
        lambda k: 2.0 ** -min(k, 60),
        lambda k: math.sqrt(k + 1.0),
        lambda _: math.exp(random.gauss(0.0, 4.0)),
        lambda _: 1.0 / 3.0,
        lambda k: 1.3 ** -(k % 90),
        lambda k: 5e-324 / min(scale, 1.0) if k % 7 == 0 else random.random(),
    ]
    kind = random.choice(kinds)
    digits = random.choice([2, 6, 12, 17, 17])
    losses = random.choice([0.0, 0.02, 0.2, 0.4, 0.5])
    effects = [round(kind(index), digits) * scale for index in range(items)]
    scores = [-x if random.random() < losses else x for x in effects]
    body: dict[str, Any] = {"u": scores, "v": [0.0] * items}
    if random.random() < 0.3:
        body["v"] = [round(random.random(), digits) * scale for _ in scores]
    if random.random() < 0.15:
        body["clusters"] = [index // random.choice([1, 2, 5]) for index in range(items)]
    return "scores", _bracketed(random, body)


FAMILIES: tuple[Callable[[Random], Body], ...] = (
    sums,
    decimals,
    counts,
    predictions,
    spikes,
    extremes,
    joint_spikes,
    rings,
    bootstrap_spikes,
)
