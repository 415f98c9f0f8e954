"""Gates of one system against a threshold: in JSON, files and Python, against SciPy, fractions and each other."""

import random
from collections.abc import Iterator
from fractions import Fraction
from math import comb
from typing import Any, Literal

import pytest
from scipy import stats

import exactperm
from exactperm.api.openapi.schemas import GateAnswer
from tests.api.conftest import errors_of
from tests.enumeration import holm

RIGHT = [1] * 188 + [0] * 12
SCORES = [0.5, 0.7, 0.9] * 20


def ask(service: Any, u: Any, policy: str = "at_least", query: str = "", **given: Any) -> Any:
    terms: dict[str, Any] = {
        name: given.pop(name)
        for name in ("threshold", "range", "margin", "higher_is_better", "alpha")
        if name in given
    }
    body = {"kind": "scores", "request": {"u": u, **given}, "policy": policy, **terms}
    return service.post(f"/v1/gate{query}", body)


def empty(answer: dict[str, Any], at: str = "") -> Iterator[str]:
    for name, value in answer.items():
        if value is None:
            yield at + name
        elif isinstance(value, dict):
            yield from empty(value, f"{at}{name}.")


def test_the_fields_of_a_test_that_a_threshold_leaves_empty(service: Any) -> None:
    """A new field of a test has a value in `TargetTest.record` as well, or is listed here."""
    (metric,) = ask(service, RIGHT, threshold=0.9, confidence_level=0.9).json()["metrics"]
    known = """
        correction curtailed e_value effect_size exchange exchanges generalises_to item_level items.clusters log10_e_value log10_p_anytime
        method.lattice method.monte_carlo mid_p_value missing moved p_anytime p_value_fraction pairing position_bias reading repeats
        sensitivity slices statistic.metric
    """
    assert set(empty(metric["test"])) == set(known.split())


def bound(n: int, total: Fraction, chance: Fraction) -> Fraction:
    """The convex bound by its definition."""
    if total <= n * chance:
        return Fraction(1)
    law = [comb(n, k) * chance**k * (1 - chance) ** (n - k) for k in range(n + 1)]
    excess = (
        sum((k - h) * law[k] for k in range(h + 1, n + 1)) / (total - h) for h in range(-int(-total // 1))
    )
    return min(Fraction(1), *excess)


def test_right_or_wrong_items_have_the_tail_of_a_binomial(service: Any) -> None:
    rng = random.Random(1)
    for _ in range(60):
        n, threshold = rng.randint(2, 60), rng.randint(1, 99) / 100
        u = [int(rng.random() < threshold) for _ in range(n)]
        sides: dict[str, Literal["greater", "less"]] = {"at_least": "greater", "not_below": "less"}
        for policy, side in sides.items():
            answer = ask(service, u, policy, threshold=threshold, pmf="none").json()
            expected = stats.binomtest(sum(u), n, threshold, alternative=side).pvalue
            assert answer["p_value"] == pytest.approx(expected, rel=1e-9)
            decision = answer["metrics"][0]["decision"]
            assert (decision["procedure"], decision["exact"]) == ("binomial", True)
            shown, passed = expected <= 0.05, answer["verdict"] == "pass"
            assert passed == shown if policy == "at_least" else (answer["verdict"] == "fail") == shown


@pytest.mark.parametrize(
    ("u", "threshold", "policy", "alpha"),
    [([1, 1], 0.1, "at_least", 0.01), ([1, 0], 0.1, "at_least", 0.19), ([0, 0, 0], 0.9, "not_below", 0.001),
     ([1, 1, 0], 0.3, "at_least", 0.216), ([0.5, 1], 0.1, "at_least", 0.02)],
)  # fmt: skip
def test_p_equal_to_alpha_decides_of_decimals(
    service: Any, u: list[float], threshold: float, policy: str, alpha: float
) -> None:
    answer = ask(service, u, policy, threshold=threshold, alpha=alpha, range=[0, 1]).json()
    assert answer["p_value"] == alpha
    assert answer["metrics"][0]["decision"]["significant"]
    assert answer["verdict"] == ("pass" if policy == "at_least" else "fail")
    below = ask(service, u, policy, threshold=threshold, alpha=alpha * (1 - 1e-9), range=[0, 1]).json()
    assert not below["metrics"][0]["decision"]["significant"]
    assert below["verdict"] != answer["verdict"]


def test_lists_of_one_run_are_scores(service: Any) -> None:
    for u in ([1, 0, 1, 1, 1, 1, 1, 1], [0.5, 1, 0.75]):
        alone, listed = (
            ask(service, one, threshold=0.3, range=[0, 1]).json()["metrics"][0]["decision"]
            for one in (u, [[value] for value in u])
        )
        assert listed == alone


def test_the_answer_has_the_threshold_and_an_interval_of_the_difference(service: Any) -> None:
    response = ask(service, RIGHT, threshold=0.935)
    answer = response.json()
    GateAnswer.model_validate_json(response.content)
    assert response.status_code == 409
    assert answer["p_value"] == pytest.approx(0.4593921, abs=1.5e-7)
    assert (answer["threshold"], answer["range"], answer["margin"]) == (0.935, None, 0.0)
    test = answer["metrics"][0]["test"]
    assert test["names"] == {"u": "candidate", "v": "threshold"}
    assert (test["statistic"]["u"], test["statistic"]["v"]) == (0.94, 0.935)
    assert (test["items"]["wins"], test["items"]["ties"], test["items"]["losses"]) == (188, 0, 12)
    low, high = stats.binomtest(188, 200).proportion_ci(0.9, method="exact")
    interval = test["confidence_interval"]
    assert (interval["low"], interval["high"]) == pytest.approx((low - 0.935, high - 0.935), abs=1e-12)
    assert interval["method"] == "clopper_pearson"
    assert sum(mass["probability"] for mass in test["null"]["pmf"]) == pytest.approx(1.0)


def test_other_scores_have_a_bound_for_all_laws_in_their_range(service: Any) -> None:
    rng = random.Random(2)
    for _ in range(40):
        n, low, high = rng.randint(2, 20), rng.choice((0, -1)), rng.choice((1, 5))
        u = [rng.randint(10 * low, 10 * high) / 10 for _ in range(n)]
        threshold = rng.randint(10 * low + 1, 10 * high - 1) / 10
        chance = (Fraction(str(threshold)) - low) / (high - low)
        total = sum(((Fraction(str(one)) - low) / (high - low) for one in u), Fraction(0))
        for policy, expected in (
            ("at_least", bound(n, total, chance)),
            ("not_below", bound(n, n - total, 1 - chance)),
        ):
            given: dict[str, Any] = {"threshold": threshold, "range": [low, high]}
            decision = ask(service, u, policy, **given, pmf="none").json()["metrics"][0]["decision"]
            assert decision["p_value"] == pytest.approx(float(expected), rel=1e-12)
            assert decision["procedure"] == "convex_bound"
            assert not decision["exact"]
            assert decision["p_value_bounds"][0] == 0.0
            assert decision["p_value_bounds"][1] == pytest.approx(decision["p_value"])


def test_a_bound_that_leaves_alpha_open_decides_nothing(service: Any) -> None:
    """A p-value between a binomial tail, its lower bound, and the upper bound."""
    given: dict[str, Any] = {"range": [0, 1]}
    verdicts = [
        ask(service, SCORES, "not_below", threshold=threshold, **given).json()["verdict"]
        for threshold in (0.6, 0.78, 0.81, 0.83)
    ]
    assert verdicts == ["pass", "pass", "inconclusive", "fail"]
    assert ask(service, SCORES, "at_least", threshold=0.58, **given).json()["verdict"] == "fail"
    assert ask(service, SCORES, "at_least", threshold=0.5, **given).json()["verdict"] == "pass"


def test_lower_can_be_better(service: Any) -> None:
    for policy in ("at_least", "not_below"):
        upwards = ask(service, RIGHT, policy, threshold=0.9).json()
        turned = [1 - one for one in RIGHT]
        downwards = ask(service, turned, policy, threshold=0.1, higher_is_better=False).json()
        assert upwards["p_value"] == pytest.approx(downwards["p_value"], rel=1e-14)
        assert upwards["verdict"] == downwards["verdict"]


def test_too_few_items_pass_nothing(service: Any) -> None:
    assert ask(service, [1, 1, 1], threshold=0.9).json()["verdict"] == "fail"
    answer = ask(service, [0, 0], "not_below", threshold=0.3).json()
    assert answer["verdict"] == "inconclusive"
    assert "there are too few" in answer["reason"]


def test_a_p_value_that_is_alpha_is_shown(service: Any) -> None:
    answer = ask(service, [1, 1, 1, 1], threshold=0.5, alpha=0.0625).json()
    assert (answer["p_value"], answer["verdict"]) == (0.0625, "pass")


def test_item_means_of_several_runs_have_the_bound(service: Any) -> None:
    answer = ask(service, [[1, 0], [1, 1], [1, 1]] * 10, threshold=0.5).json()
    decision = answer["metrics"][0]["decision"]
    assert decision["procedure"] == "convex_bound"
    assert decision["p_value"] == pytest.approx(float(bound(30, Fraction(25), Fraction(1, 2))), rel=1e-12)


def test_several_metrics_are_adjusted_together(service: Any) -> None:
    metrics = [
        {"name": "right", "kind": "scores", "request": {"u": RIGHT}, "policy": "at_least", "threshold": 0.9},
        {"name": "other", "kind": "scores", "request": {"u": [1, 1, 1, 0], "v": [0, 0, 1, 0]}},
    ]
    answer = service.post("/v1/gate", {"metrics": metrics}).json()
    decisions = [metric["decision"] for metric in answer["metrics"]]
    expected = holm([Fraction(one["p_value"]) for one in decisions])
    assert [one["p_value_adjusted"] for one in decisions] == pytest.approx([float(p) for p in expected])


@pytest.mark.parametrize(
    ("change", "pointer", "code"),
    [
        ({"threshold": None}, "/threshold", "threshold_missing"),
        ({"u": SCORES}, "/range", "range_missing"),
        ({"u": SCORES, "range": [0, 0.8], "threshold": 0.7}, "/request/u/2", "outside_range"),
        ({"u": SCORES, "range": [1, 0]}, "/range", "not_a_range"),
        ({"u": SCORES, "range": [-(10**400), 1]}, "/range", "not_a_range"),
        ({"threshold": 1.5}, "/threshold", "out_of_range"),
        ({"margin": 0.1}, "/margin", "margin_not_available"),
        ({"v": RIGHT}, "/request/v", "baseline_not_expected"),
        ({"policy": "improve", "v": RIGHT}, "/threshold", "threshold_not_expected"),
        ({"method": "dp"}, "/request/method", "not_available"),
        ({"clusters": ["a", "b"] * 100}, "/request/clusters", "no_clusters"),
        ({"covariates": {"length": {"u": [1, 2] * 100, "v": [2, 2] * 100}}}, "/request/covariates", "not_available"),
        ({"slices": ["a", "b"] * 100}, "/request/slices", "not_available"),
        ({"weights": [1] * 200}, "/request/weights", "no_weights"),
        ({"statistic": "median_difference"}, "/request/statistic", "threshold_needs_means"),
    ],
)  # fmt: skip
def test_refusals_have_their_place(service: Any, change: dict[str, Any], pointer: str, code: str) -> None:
    given = {"u": RIGHT, "threshold": 0.9, **change}
    policy = given.pop("policy", "at_least")
    flaws = errors_of(ask(service, given.pop("u"), policy, **given))
    assert (pointer, code) in flaws


def test_files_of_one_system_and_python_give_the_same(service: Any) -> None:
    by_json = ask(service, RIGHT, threshold=0.9).json()
    rows = "".join(f"q{at},{one}\n" for at, one in enumerate(RIGHT))
    lines = "".join(f'{{"id": "q{at}", "score": {one}}}\n' for at, one in enumerate(RIGHT))
    for role, name, content in (
        ("file", "new.csv", f"id,score\n{rows}"),
        ("u", "new.jsonl", lines),
    ):
        answer = service.post(
            "/v1/gate",
            files={role: (name, content.encode())},
            data={"policy": "at_least", "threshold": "0.9"},
        ).json()
        assert (answer["p_value"], answer["verdict"]) == (by_json["p_value"], "pass")
        assert not any(note.startswith("v:") for note in answer["metrics"][0]["test"]["reading"]["notes"])
    files = {"u": ("a.csv", f"id,score\n{rows}".encode()), "v": ("b.csv", f"id,score\n{rows}".encode())}
    refused = service.post("/v1/gate", files=files, data={"policy": "at_least", "threshold": "0.9"})
    assert errors_of(refused) == [("/files/v", "baseline_not_expected")]
    here = exactperm.gate(RIGHT, policy="at_least", threshold=0.9)
    assert (here.id, here.threshold) == (by_json["id"], 0.9)
    asked = exactperm.predictions(["a", "b"] * 20, ["a", "b"] * 20)
    assert exactperm.gate(asked, policy="at_least", threshold=0.9).p_value == pytest.approx(0.9**40)


@pytest.mark.parametrize("format_", ["text", "markdown", "csv", "html", "junit", "svg"])
def test_every_report_shows_the_threshold(service: Any, format_: str) -> None:
    response = ask(service, RIGHT, threshold=0.9, query=f"?format={format_}")
    assert response.status_code == 200
    if format_ != "svg":
        assert "threshold" in response.text


def test_runs_that_are_exchanged_have_the_binomial_tail_where_it_holds(service: Any) -> None:
    """Of unequal chances one beyond the expected number, or of all runs (Hoeffding 1956); else the bound."""
    rng = random.Random(5)
    kinds = set()
    for _ in range(120):
        runs = [[int(rng.random() < 0.8) for _ in range(rng.randint(1, 4))] for _ in range(rng.randint(2, 8))]
        n, k, hundredths = sum(map(len, runs)), sum(map(sum, runs)), rng.randint(5, 95)
        for policy, right, chance in (
            ("at_least", k, Fraction(hundredths, 100)),
            ("not_below", n - k, 1 - Fraction(hundredths, 100)),
        ):
            asked = ask(service, runs, policy, threshold=hundredths / 100, exchange="runs", pmf="none")
            test = asked.json()["metrics"][0]
            holds = right in {0, n} or right >= n * chance + 1
            law = [comb(n, j) * chance**j * (1 - chance) ** (n - j) for j in range(n + 1)]
            expected = sum(law[right:], Fraction(0)) if holds else bound(n, Fraction(right), chance)
            assert test["decision"]["p_value"] == pytest.approx(float(expected), rel=1e-12)
            assert test["decision"]["procedure"] == ("binomial" if holds else "convex_bound")
            assert test["test"]["statistic"]["u"] == pytest.approx(k / n)
            assert test["test"]["generalises_to"] == "new runs of these items"
            kinds.add(test["test"]["confidence_interval"]["method"])
    assert kinds == {"clopper_pearson", "convex_bound"}


def test_runs_of_unequal_items_keep_the_level() -> None:
    """P(p <= alpha) <= alpha where the items' chances are the threshold on average, by enumeration."""
    rng = random.Random(6)
    for _ in range(25):
        chances = [Fraction(rng.randint(0, 10), 10) for _ in range(rng.randint(2, 7))]
        threshold = sum(chances, Fraction(0)) / len(chances)
        if not 0 < threshold < 1:
            continue
        law = [Fraction(1)]
        for chance in chances:
            law = [
                Fraction((law[k] * (1 - chance) if k < len(law) else 0) + (law[k - 1] * chance if k else 0))
                for k in range(len(law) + 1)
            ]
        n = len(chances)
        for policy in ("at_least", "not_below"):
            above = range(n + 1) if policy == "at_least" else range(n, -1, -1)
            chance = threshold if policy == "at_least" else 1 - threshold
            for k in above:
                right = k if policy == "at_least" else n - k
                holds = right in {0, n} or right >= n * chance + 1
                binomial = [comb(n, j) * chance**j * (1 - chance) ** (n - j) for j in range(n + 1)]
                level = sum(binomial[right:], Fraction(0)) if holds else bound(n, Fraction(right), chance)
                tail = sum(law[k:], Fraction(0)) if policy == "at_least" else sum(law[: k + 1], Fraction(0))
                assert tail <= level


@pytest.mark.parametrize(("items", "runs", "alpha"), [(2, 9, 0.01), (1, 9, 0.1), (3, 9, 0.001)])
def test_p_equal_to_alpha_decides_of_runs(service: Any, items: int, runs: int, alpha: float) -> None:
    request = {"u": [[0]] * items, "v": [[1] * runs] * items, "exchange": "runs"}
    if items > 1:
        answer = service.post("/v1/gate", {"kind": "scores", "request": request, "alpha": alpha}).json()
        assert (answer["verdict"], answer["p_value"]) == ("fail", alpha)
    answer = service.post("/v1/tests/scores", {**request, "alpha": alpha, "alternative": "less"}).json()
    assert (answer["significant"], answer["p_value"]) == (True, alpha)


def test_alpha_counts_as_the_decimal_beside_a_fraction(service: Any) -> None:
    # 3 / 10 is above the double nearest to 0.3.
    request = {"u": [[0, 0, 1]], "v": [[1, 1]], "exchange": "runs", "alternative": "less", "alpha": 0.3}
    answer = service.post("/v1/tests/scores", request).json()
    assert answer["p_value_fraction"] == {"numerator": "3", "denominator": "10"}
    assert answer["significant"]


def test_refusals_name_the_candidate_once(service: Any) -> None:
    assert errors_of(ask(service, [1, "x", None], threshold=0.5)) == [
        ("/request/u/1", "not_a_number"), ("/request/u/2", "not_a_number"),
    ]  # fmt: skip
    one = {"name": "a", "kind": "scores", "request": {"u": [1, [0]]}, "policy": "not_below", "threshold": 0.5}
    body = {"metrics": [one, {"name": "b", "kind": "scores", "request": {"u": [1, 0], "v": [0, [1]]}}]}
    assert [pointer for pointer, _ in errors_of(service.post("/v1/gate", body))][:1] == [
        "/metrics/0/request/u/1"
    ]


def test_lengths_are_refused_in_words(service: Any) -> None:
    for pairs, detail in (
        ([["A"], ["B", "A"]], "At least 2 entries are needed here."),
        ([["A", "B", "A"], ["B", "A"]], "At most 2 entries are allowed here."),
    ):
        systems = {
            "systems": {"A": [1, 0], "B": [0, 1]},
            "statistic": {"name": "interaction", "pairs": pairs},
        }
        assert service.post("/v1/tests/systems", systems).json()["errors"][0]["detail"] == detail
    empty = service.post("/v1/tests/scores", {"u": [1], "v": [0], "covariates": {}}).json()
    assert empty["errors"][0]["detail"] == "At least 1 entry is needed here."
