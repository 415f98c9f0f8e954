"""Floors from runs of one system, against enumeration in fractions."""

import itertools
import json
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import exactperm
from exactperm.api.openapi.schemas import PowerAnswer
from exactperm.inference import floor as floors
from exactperm.inference.floor import RunsDesign
from tests.api.conftest import errors_of

CASES = 2_000
LEVELS = (Fraction(1, 100), Fraction(1, 20), Fraction(1, 10), Fraction(1, 2))


def law_by_enumeration(rates: list[Fraction]) -> list[Fraction]:
    """P(k right), by listing all subsets of the right items."""
    law = [Fraction(0)] * (len(rates) + 1)
    for right in itertools.product((0, 1), repeat=len(rates)):
        mass = Fraction(1)
        for one, rate in zip(right, rates, strict=True):
            mass *= rate if one else 1 - rate
        law[sum(right)] += mass
    return law


def law_by_recursion(rates: list[Fraction]) -> list[Fraction]:
    law = [Fraction(1)]
    for rate in rates:
        law = [
            Fraction((law[k] * (1 - rate) if k < len(law) else 0) + (law[k - 1] * rate if k else 0))
            for k in range(len(law) + 1)
        ]
    return law


def floor_of(law: list[Fraction], level: Fraction) -> int:
    return max(c for c in range(len(law)) if sum(law[:c], Fraction(0)) <= level)


def some_runs(rng: random.Random, items: int, most: int = 6) -> list[list[int]]:
    chances = [rng.choice((0.0, 0.3, 0.8, 1.0)) for _ in range(items)]
    return [[int(rng.random() < chance) for _ in range(rng.randint(1, most))] for chance in chances]


def test_floors_and_alarms_are_those_of_fractions() -> None:
    rng = random.Random(1)
    for case in range(CASES):
        runs = some_runs(rng, rng.randint(1, 7 if case % 4 == 0 else 20))
        rates = [Fraction(sum(one), len(one)) for one in runs]
        law = law_by_enumeration(rates) if case % 4 == 0 else law_by_recursion(rates)
        design = RunsDesign.of(map(sum, runs), map(len, runs))
        level = rng.choice(LEVELS)
        least, certain = design.floor(level)
        assert certain
        # Below the number of certain items every count is as certain.
        assert sum(law[:least], Fraction(0)) == design.alarm(least)[1] <= level
        assert sum(law[: least + 1], Fraction(0)) > level or least == floor_of(law, level) or law[least] == 0
        some = rng.randint(0, len(runs))
        assert design.alarm(some)[0] == pytest.approx(float(sum(law[:some], Fraction(0))), rel=1e-12)


def test_long_suites_have_the_same_floor_by_a_window(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(2)
    for _ in range(20):
        runs = some_runs(rng, 300, 10)
        right, lengths = [sum(one) for one in runs], [len(one) for one in runs]
        exact, level = RunsDesign.of(right, lengths), rng.choice(LEVELS)
        least, _ = exact.floor(level)
        expected = exact.alarm(least)[0]
        with monkeypatch.context() as patched:
            patched.setattr(floors, "_PATIENCE_S", 0.0)
            by_window = RunsDesign.of(right, lengths)
            assert by_window.cost.method == "fft"
            assert by_window.floor(level)[0] == least
            assert by_window.alarm(least)[0] == pytest.approx(expected, rel=1e-10)


def ask(service: Any, v: Any, solve: str = "floor", **given: Any) -> Any:
    return service.post("/v1/power", {"design": {"kind": "runs", "v": v}, "solve": solve, **given})


def test_the_answer_is_the_floor_with_its_false_alarms(service: Any) -> None:
    v = [[1, 1, 1], [1, 0, 1], [0, 1, 1], [1, 1, 1]]
    response = ask(service, v, alpha=0.2)
    PowerAnswer.model_validate_json(response.content)
    answer = response.json()
    assert (answer["solution"]["floor"], answer["solution"]["n"]) == (0.75, 4)
    assert answer["solution"]["false_alarm"] == answer["actual_alpha"] == pytest.approx(1 / 9)
    assert answer["method"]["name"] == "poisson_binomial"
    assert [one["code"] for one in answer["warnings"]] == ["few_runs"]
    turned = ask(service, dict(zip("abcd", reversed(v), strict=True)), alpha=0.2).json()
    assert turned["id"] == answer["id"]  # order and ids do not matter
    back = ask(service, v, "false_alarm", floor=0.75).json()
    assert back["solution"]["false_alarm"] == answer["solution"]["false_alarm"]
    half = ask(service, v, alpha=0.2, comparisons=10).json()
    assert half["solution"] == {**half["solution"], "floor": 0.5, "false_alarm": 0.0}


def test_a_floor_that_is_a_rounded_quotient_is_its_count(service: Any) -> None:
    rng = random.Random(3)
    for items in (49, 103, 107, 1319):
        v = some_runs(rng, items)
        found = ask(service, v).json()["solution"]
        back = ask(service, v, "false_alarm", floor=found["floor"]).json()["solution"]
        assert back["false_alarm"] == found["false_alarm"]


@pytest.mark.parametrize(
    ("body", "pointer", "code"),
    [
        ({"design": {"kind": "runs", "v": [[1, 0.5]]}, "solve": "floor"}, "/design/v/0/1", "not_right_or_wrong"),
        ({"design": {"kind": "runs", "v": 0.5}, "solve": "floor"}, "/design/v", "chance_or_runs"),
        ({"design": {"kind": "runs"}, "solve": "floor"}, "/design", "incomplete"),
        ({"design": {"kind": "runs", "v": [[1]]}, "solve": "n"}, "/solve", "solve_needs_runs"),
        ({"design": {"kind": "sd", "sd": 1}, "solve": "floor"}, "/solve", "solve_needs_runs"),
        ({"design": {"kind": "runs", "v": [[1]]}, "solve": "floor", "n": 5}, "/n", "superfluous"),
        ({"design": {"kind": "runs", "v": [[1]]}, "solve": "false_alarm"}, "/floor", "missing"),
        ({"design": {"kind": "sd", "sd": 1}, "solve": "n", "effect": 1, "floor": 0.5}, "/floor", "superfluous"),
        ({"design": {"kind": "runs", "v": [[1]]}, "solve": "floor", "floor": 0.5}, "/floor", "redundant"),
        ({"design": {"kind": "binary", "u": 0.5, "v": [[1]], "correlation": 0.5}, "solve": "n"}, "/design/v", "chance_or_runs"),
    ],
)  # fmt: skip
def test_refusals_have_their_place(service: Any, body: dict[str, Any], pointer: str, code: str) -> None:
    assert (pointer, code) in errors_of(service.post("/v1/power", body))


def test_files_of_runs_give_the_same_floor(service: Any, tmp_path: Path) -> None:
    rng = random.Random(4)
    v = [[int(rng.random() < 0.8) for _ in range(6)] for _ in range(40)]
    parts = []
    for run in range(6):
        lines = [json.dumps({"id": f"q{item}", "score": one[run]}) for item, one in enumerate(v)]
        rng.shuffle(lines)
        parts.append(("v", (f"r{run}.jsonl", "\n".join(lines).encode())))
        (tmp_path / f"r{run}.jsonl").write_text("\n".join(lines))
    answer = service.post("/v1/power", files=parts, data={"solve": "floor"}).json()
    assert answer["solution"] == ask(service, v).json()["solution"]
    assert answer["solution"]["floor"] == exactperm.power({"kind": "runs", "v": v}, "floor").solution.floor
    refused = service.post("/v1/power", files=[("u", parts[0][1])], data={"solve": "floor"})
    assert errors_of(refused) == [("/files/u", "unused_file")]


@pytest.mark.parametrize("format_", ["text", "markdown", "csv", "html", "svg"])
def test_every_report_has_the_floor(service: Any, format_: str) -> None:
    body = {"design": {"kind": "runs", "v": [[1, 1], [1, 0]]}, "solve": "floor", "alpha": 0.3}
    response = service.post(f"/v1/power?format={format_}", body)
    assert response.status_code == 200
    assert "loor" in response.text


def test_a_floor_that_rounding_cannot_decide_is_not_called_exact(service: Any) -> None:
    """Of an odd number of items of rate 1/2, the probability of fewer than half is 1/2 itself."""
    for items, exact in ((101, True), (20_001, False)):
        design = {"kind": "runs", "v": [[1, 0]] * items}
        answer = service.post("/v1/power", {"design": design, "solve": "floor", "alpha": 0.5}).json()
        assert answer["method"]["exact"] is exact
        assert round(answer["solution"]["floor"] * items) in (
            {items // 2 + 1} if exact else {items // 2, items // 2 + 1}
        )
