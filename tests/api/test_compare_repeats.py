"""Repeated samples on boards: their mean, right every time (all), right at least once (any), against every swap.

The second oracle is the same board with each item's samples reduced by hand before they are sent: no number of it may differ.
"""

import random
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import pytest

from tests.api.conftest import answer_to, error_of, errors_of
from tests.enumeration import share, signed_sums

REPEATS = ("mean", "all", "any")
BY_HAND: Mapping[str, Callable[[list[int]], Fraction]] = {
    "mean": lambda samples: Fraction(sum(samples), len(samples)),
    "all": lambda samples: Fraction(min(samples)),
    "any": lambda samples: Fraction(max(samples)),
}
Samples = dict[str, list[list[int]]]


def samples(seed: int, items: int = 7, right: int = 1, times: tuple[int, ...] = (2, 4)) -> Samples:
    """Three systems, as many samples of an item in each: 2 or 4 of them have means that decimals hold."""
    draw = random.Random(seed)
    lengths = [draw.choice(times) for _ in range(items)]
    skills = {"a": 0.85, "b": 0.6, "c": 0.45}
    return {
        name: [[right * (draw.random() < skill) for _ in range(n)] for n in lengths]
        for name, skill in skills.items()
    }


def by_hand(systems: Samples, repeats: str) -> dict[str, list[Fraction]]:
    return {name: [BY_HAND[repeats](item) for item in column] for name, column in systems.items()}


def statistic(name: str, repeats: str) -> dict[str, str]:
    return {"name": name} if repeats == "mean" else {"name": name, "repeats": repeats}


def answer(service: Any, request: dict[str, Any]) -> dict[str, Any]:
    return answer_to(service.post("/v1/compare", json=request))


def enumerated(u: list[Fraction], v: list[Fraction], units: list[int], name: str) -> Fraction:
    """P(|T| >= |t|) over all exchanges, cluster by cluster."""
    effects: dict[int, Fraction] = {}
    for a, b, unit in zip(u, v, units, strict=True):
        effect = Fraction((a > b) - (a < b)) if name == "sign" else a - b
        effects[unit] = effects.get(unit, Fraction(0)) + effect
    return share(signed_sums(effects.values()))


@pytest.mark.parametrize("repeats", REPEATS)
@pytest.mark.parametrize("name", ["mean_difference", "sum_difference", "sign"])
@pytest.mark.parametrize("clustered", [False, True], ids=["items", "clusters"])
@pytest.mark.parametrize("right", [1, 100])
def test_every_number_of_a_board_by_enumeration(
    service: Any, repeats: str, name: str, clustered: bool, right: int
) -> None:
    # Three samples have means that no decimal holds: only fractions tell who ties.
    systems = samples(right + clustered, right=right, times=(1, 2, 3))
    units = [0, 1, 2, 3, 1, 4, 0] if clustered else list(range(7))
    clusters = {"clusters": [f"k{unit}" for unit in units]} if clustered else {}
    said = answer(
        service, {"kind": "scores", "systems": systems, "statistic": statistic(name, repeats), **clusters}
    )
    reduced = by_hand(systems, repeats)
    for system in said["systems"]:
        total = sum(reduced[system["name"]], Fraction(0))
        assert system["score"] == float(total if name == "sum_difference" else total / 7)
    assert len(said["pairs"]) == 3
    for pair in said["pairs"]:
        u, v = reduced[pair["u"]], reduced[pair["v"]]
        assert pair["exact"]
        assert pair["p_value"] == pytest.approx(float(enumerated(u, v, units, name)), rel=1e-12)
        difference = sum(u, Fraction(0)) - sum(v, Fraction(0))
        if name == "mean_difference":
            assert pair["difference"] == pytest.approx(float(difference / 7), rel=1e-12, abs=1e-15)


NUMBERS = (
    "u", "v", "n", "wins", "ties", "losses", "difference", "p_value", "p_value_bounds", "p_adjusted", "relation",
    "confidence_interval",
)  # fmt: skip


def same(given: Any, reduced: Any) -> None:
    """All numbers of two boards, and how systems are ranked and grouped."""
    for one, other in zip(given["systems"], reduced["systems"], strict=True):
        assert one == other
    assert (given["family"]["size"], given["pairs"] != []) == (reduced["family"]["size"], True)
    for one, other in zip(given["pairs"], reduced["pairs"], strict=True):
        assert set(NUMBERS) <= set(one)
        for name in NUMBERS:
            assert near(one[name], other[name]), (name, one, other)


def near(one: Any, other: Any) -> bool:
    """The same but for the last digits of doubles."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(near(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(near, one, other))
    return bool(other == (pytest.approx(one, rel=1e-9, abs=1e-15) if isinstance(one, float) else one))


def sent(columns: Mapping[str, list[Fraction]]) -> dict[str, list[float]]:
    return {name: [float(score) for score in column] for name, column in columns.items()}


@pytest.mark.parametrize("repeats", ["all", "any"])
def test_discrete_holm_of_the_reduced_items(service: Any, repeats: str) -> None:
    request = {"kind": "scores", "adjust": "holm_discrete"}
    given = answer(
        service, {**request, "systems": samples(11), "statistic": statistic("mean_difference", repeats)}
    )
    same(given, answer(service, {**request, "systems": sent(by_hand(samples(11), repeats))}))


@pytest.mark.parametrize("repeats", REPEATS)
@pytest.mark.parametrize(
    "options",
    [
        {"confidence_level": 0.9},
        {"adjust": "max_t"},
        {"adjust": "none", "alternative": "greater"},
        {"statistic": "signed_rank"},
        {"statistic": "sign", "adjust": "hochberg"},
        {"higher_is_better": False, "adjust": "bh"},
        {"method": "rational"},
        {"weights": [1, 2, 1, 3, 1, 1, 2]},
    ],
    ids=str,
)
def test_a_board_is_that_of_the_reduced_items(service: Any, repeats: str, options: dict[str, Any]) -> None:
    systems = samples(11)
    if options.get("alternative"):
        options = {**options, "compare": "baseline", "baseline": "c"}
    name = options.get("statistic", "mean_difference")
    request = {"kind": "scores", **{key: value for key, value in options.items() if key != "statistic"}}
    given = answer(service, {**request, "systems": systems, "statistic": statistic(name, repeats)})
    plain = {**request, "systems": sent(by_hand(systems, repeats)), "statistic": {"name": name}}
    reduced = answer(service, plain)
    if repeats == "mean":
        # Runs of right and wrong have a range, which decimals do not tell.
        for system in (*given["systems"], *reduced["systems"]):
            system.pop("interval")
    same(given, reduced)


@pytest.mark.parametrize("repeats", REPEATS)
@pytest.mark.parametrize("on_missing", ["pairwise", "complete"])
def test_items_that_a_system_lacks(service: Any, repeats: str, on_missing: str) -> None:
    systems = samples(5, items=9)
    kept = {"a": range(9), "b": range(1, 9), "c": (0, 1, 2, 4, 5, 6, 7)}

    def keyed(columns: Mapping[str, list[Any]]) -> dict[str, dict[str, Any]]:
        return {name: {f"q{i}": columns[name][i] for i in own} for name, own in kept.items()}

    request = {"kind": "scores", "on_missing": on_missing}
    given = answer(
        service, {**request, "systems": keyed(systems), "statistic": statistic("mean_difference", repeats)}
    )
    same(given, answer(service, {**request, "systems": keyed(sent(by_hand(systems, repeats)))}))


@pytest.mark.parametrize("repeats", REPEATS)
@pytest.mark.parametrize(
    "options", [{}, {"aggregate": "micro"}, {"combine": "stouffer"}, {"family": "all"}], ids=str
)
def test_several_data_sets(service: Any, repeats: str, options: dict[str, Any]) -> None:
    sets = {"first": samples(1, items=6), "second": samples(2, items=5)}
    request = {"kind": "scores", **options}
    of_samples = {name: {"systems": own} for name, own in sets.items()}
    of_items = {name: {"systems": sent(by_hand(own, repeats))} for name, own in sets.items()}
    given = answer(
        service, {**request, "datasets": of_samples, "statistic": statistic("mean_difference", repeats)}
    )
    plain = answer(service, {**request, "datasets": of_items})
    same(given["overall"], plain["overall"])
    for name in sets:
        same(given["datasets"][name], plain["datasets"][name])


@pytest.mark.parametrize(
    ("systems", "pointer", "code"),
    [
        ({"a": [[1, 0], [1, 1]], "b": [[1, 0], [1]]}, "/systems/b/1", "unequal_repeats"),
        ({"a": [[1, 0], [1, 1]], "b": [[0.5, 0], [1, 1]]}, "/statistic/repeats", "not_right_or_wrong"),
        ({"a": [[1, 0], [1, 1]], "b": [[100, 0], [0, 0]]}, "/statistic/repeats", "not_right_or_wrong"),
    ],
)
def test_statistics_without_right_every_time_are_refused(
    service: Any, systems: Any, pointer: str, code: str
) -> None:
    asked = {"kind": "scores", "systems": systems, "statistic": {"name": "mean_difference", "repeats": "all"}}
    assert errors_of(service.post("/v1/compare", json=asked)) == [(pointer, code)]
    same_of_plan = service.post("/v1/plan", json={"kind": "compare", "request": asked})
    assert same_of_plan.json()["errors"][0]["pointer"] == f"/request{pointer}"


def test_an_item_by_its_id(service: Any) -> None:
    """Ids that are not in the order of their letters, and not those of the first system."""
    a = {"z": [1, 0], "b": [1, 1], "k": [0, 0]}
    b = {"k": [0, 1], "z": [1, 1], "b": [1]}
    asked = {"kind": "scores", "systems": {"a": a, "b": b}}
    refused = service.post(
        "/v1/compare", json={**asked, "statistic": {"name": "mean_difference", "repeats": "any"}}
    )
    assert refused.json()["errors"][0]["pointer"] == "/systems/b/b"


def test_means_of_samples_have_no_listed_null(service: Any) -> None:
    """Unavailable options are refused, even if the reduced items would allow them."""
    assert (
        error_of(
            service.post(
                "/v1/compare", json={"kind": "scores", "systems": samples(11), "adjust": "holm_discrete"}
            )
        )[0]
        == "/adjust"
    )
