"""Items that are right or wrong have one margin test and one interval, in whatever form they are sent."""

from __future__ import annotations

from math import comb
from typing import Any

import pytest

from tests.api.conftest import Service, error_of

U, V = [1, 0, 1, 1, 0, 1], [1, 0, 1, 0, 1, 1]
ONES = [1] * len(U)
RIGHT, WRONG = "a", "b"


def said(system: list[int]) -> list[str]:
    return [RIGHT if one else WRONG for one in system]


def forms(u: list[int], v: list[int]) -> dict[str, tuple[str, dict[str, Any], float]]:
    """The same items as kind, request, and what a right item is worth."""
    gold, tokens = [RIGHT] * len(u), [[RIGHT]] * len(u)
    of_errors = {"name": "ratio", "numerator": "errors", "denominator": "words"}
    return {
        "scores": ("scores", {"u": u, "v": v}, 1),
        "clusters of one item": ("scores", {"u": u, "v": v, "clusters": list(range(len(u)))}, 1),
        "lists of one sample": ("scores", {"u": [[x] for x in u], "v": [[x] for x in v]}, 1),
        "three equal samples": ("scores", {"u": [[x] * 3 for x in u], "v": [[x] * 3 for x in v]}, 1),
        "per cent": ("scores", {"u": [100 * x for x in u], "v": [100 * x for x in v]}, 100),
        "with a unit": (
            "scores",
            {
                "u": [x + 0.01 for x in u],
                "v": v,
                "statistic": {"name": "mean_difference", "unit": 1},
            },
            1,
        ),
        "sum": ("scores", {"u": u, "v": v, "statistic": {"name": "sum_difference"}}, len(u)),
        "counts": (
            "counts",
            {
                "u": {"correct": u, "total": ONES},
                "v": {"correct": v, "total": ONES},
                "statistic": {"name": "accuracy"},
            },
            1,
        ),
        "ratio": (
            "counts",
            {"u": {"errors": u, "words": ONES}, "v": {"errors": v, "words": ONES}, "statistic": of_errors},
            1,
        ),
        "labels": ("predictions", {"gold": gold, "u": said(u), "v": said(v)}, 1),
        "sentences of one word": (
            "predictions",
            {
                "gold": tokens,
                "u": [[x] for x in said(u)],
                "v": [[x] for x in said(v)],
                "statistic": {"name": "token_accuracy"},
            },
            1,
        ),
        "micro recall": (
            "predictions",
            {
                "gold": gold,
                "u": said(u),
                "v": said(v),
                "statistic": {"name": "recall", "average": "micro"},
            },
            1,
        ),
    }


def decided(service: Service, form: str, u: list[int], v: list[int], **terms: Any) -> dict[str, Any]:
    kind, request, worth = forms(u, v)[form]
    terms["margin"] = terms["margin"] * worth
    answer = service.post(
        "/v1/gate?fail_status=200", {"kind": kind, "request": request, "higher_is_better": True, **terms}
    )
    assert answer.status_code == 200, answer.text
    metric: dict[str, Any] = answer.json()["metrics"][0]
    return metric


@pytest.mark.parametrize("form", forms(U, V))
def test_the_form_of_right_or_wrong_items_decides_nothing(service: Service, form: str) -> None:
    """By the test of shifted differences six equal items would be non-inferior by 0.1, "exactly" at p = 1/64."""
    same = decided(service, form, U, U, policy="non_inferior", margin=0.1)
    # Of systems that differ on a tenth of the items six are all the same with 0.9^6. (Tango's z is 0.816, p = 0.207.)
    assert same["verdict"] == "fail"
    assert same["decision"]["procedure"] == "tango_score"
    assert same["decision"]["exact"] is False
    assert same["decision"]["p_value"] == pytest.approx(0.9**6)
    differing = decided(service, form, U, V, policy="non_inferior", margin=0.1)
    as_scores = decided(service, "scores", U, V, policy="non_inferior", margin=0.1)
    worth = forms(U, V)[form][2]
    assert differing["decision"]["p_value"] == pytest.approx(as_scores["decision"]["p_value"], rel=1e-12)
    for end in ("low", "high"):
        expected = as_scores["test"]["confidence_interval"][end]
        assert differing["test"]["confidence_interval"][end] == pytest.approx(worth * expected, rel=1e-9)


@pytest.mark.parametrize("policy", ["improve", "no_regression"])
@pytest.mark.parametrize(("wins", "losses"), [(3, 0), (4, 0), (7, 1), (9, 2), (30, 12)])
def test_a_margin_makes_nothing_easier_to_show(service: Service, policy: str, wins: int, losses: int) -> None:
    """Three items won are p = 1/8 without a margin; a normal tail made 0.042 of them with a margin of 0.001."""
    better, worse = [1] * wins + [0] * losses, [0] * wins + [1] * losses
    u, v = (better, worse) if policy == "improve" else (worse, better)
    n = wins + losses
    exact = sum(comb(n, k) for k in range(wins, n + 1)) / 2**n
    for margin in (0.0, 0.001, 0.05):
        found = decided(service, "scores", u, v, policy=policy, margin=margin)
        assert found["decision"]["p_value"] >= exact * (1 - 1e-12)


@pytest.mark.parametrize("level", [None, 0.9])
def test_a_ratio_without_anything_to_divide_by_has_no_margin(service: Service, level: float | None) -> None:
    counts = {"tp": [0] * 4, "gold": [0] * 4}
    request = {
        "u": counts,
        "v": counts,
        "statistic": {"name": "recall"},
        **({} if level is None else {"confidence_level": level}),
    }
    assert (
        error_of(service.post("/v1/gate", {"kind": "counts", "request": request, "margin": 0.1}))[1]
        == "margin_not_available"
    )
    assert service.post("/v1/tests/counts", request).json()["p_value"] == 1.0
