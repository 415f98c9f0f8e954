"""Small bodies that look cheap: the families in which one was found to cost far more than its plan said."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from tests.fuzz.joint_cases import joint_case

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


FAMILIES: tuple[Callable[[Random], Body], ...] = (sums, decimals, counts, predictions)
