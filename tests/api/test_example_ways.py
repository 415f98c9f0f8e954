"""The examples of every way to ask that is no statistic of its own, against enumeration in fractions."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from openapi.make_examples import WAYS, rendered
from tests.oracles import by_resamples, share, signed_sums

SMALL = Path(__file__).resolve().parents[2] / "openapi" / "examples" / "small"


def _way(service: Any, label: str) -> dict[str, Any]:
    body = json.loads((SMALL / f"{label}.json").read_bytes())
    assert (SMALL / f"{label}.json").read_text(encoding="utf-8") == rendered(WAYS[f"{label}.json"])
    response = service.post(f"/v1/tests/{label.partition('-')[0]}", body)
    assert response.status_code == 200, response.text
    said: dict[str, Any] = response.json()
    return said


def test_the_example_of_tuples_is_f1_of_the_paper_s_four_sums(service: Any) -> None:
    body = WAYS["effects-tuples.json"]
    pairs = list(zip(body["stay"], body["swap"], strict=True))

    def t(chosen: Iterable[list[int]]) -> Fraction:
        a, b, c, d = (Fraction(sum(column)) for column in zip(*chosen, strict=True))
        return a / (a + b / 2) - c / (c + d / 2)

    wanted = float(share([t(chosen) for chosen in itertools.product(*pairs)]))
    assert _way(service, "effects-tuples")["p_value"] == pytest.approx(wanted, rel=1e-12)


def test_the_examples_of_repeated_samples_and_of_thirds_are_averaged_exactly(service: Any) -> None:
    body = WAYS["scores-repeated.json"]
    means = [[Fraction(sum(item), len(item)) for item in body[name]] for name in "uv"]
    effects = [u - v for u, v in zip(*means, strict=True)]
    assert _way(service, "scores-repeated")["p_value"] == pytest.approx(
        float(share(signed_sums(effects))), rel=1e-12
    )
    thirds = [[Fraction(round(3 * score), 3) for score in WAYS["scores-unit.json"][name]] for name in "uv"]
    effects = [u - v for u, v in zip(*thirds, strict=True)]
    assert _way(service, "scores-unit")["p_value"] == pytest.approx(
        float(share(signed_sums(effects))), rel=1e-12
    )


def test_the_example_of_bounds_holds_the_p_value_of_all_swaps(service: Any) -> None:
    body = WAYS["scores-bounds.json"]
    effects = [Fraction(u) - Fraction(v) for u, v in zip(body["u"], body["v"], strict=True)]
    said = _way(service, "scores-bounds")
    low, high = said["p_value_bounds"]
    assert low <= share(signed_sums(effects)) <= high
    assert (said["method"]["name"], said["method"]["exact"]) == ("bounds", False)


def test_the_example_of_the_bootstrap_is_that_of_all_resamples(service: Any) -> None:
    body = WAYS["scores-bootstrap.json"]
    effects = [u - v for u, v in zip(body["u"], body["v"], strict=True)]
    wanted = float(by_resamples(effects, sum))
    assert _way(service, "scores-bootstrap")["p_value"] == pytest.approx(wanted, rel=1e-10)


def test_the_example_of_clusters_swaps_them_whole_and_says_what_items_would_say(service: Any) -> None:
    body = WAYS["scores-clusters.json"]
    effects = [Fraction(u) - Fraction(v) for u, v in zip(body["u"], body["v"], strict=True)]
    said = _way(service, "scores-clusters")
    pairs = [sum(effects[start : start + 2], Fraction(0)) for start in (0, 2, 4)]
    assert said["p_value"] == pytest.approx(float(share(signed_sums(pairs))), rel=1e-12)
    assert said["item_level"]["p_value"] == pytest.approx(float(share(signed_sums(effects))), rel=1e-12)
