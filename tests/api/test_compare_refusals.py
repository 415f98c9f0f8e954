"""What a comparison refuses, with which status and where it points; and its limits, which settings hold."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from exactperm.settings import Settings
from tests.api.conftest import Service, error_of, problem, running

PATH = "/v1/compare"
TWO: dict[str, Any] = {"kind": "scores", "systems": {"A": [1, 0, 1], "B": [0, 0, 1]}}
THREE: dict[str, Any] = {"kind": "scores", "systems": {"A": [1, 0, 1], "B": [0, 0, 1], "C": [0, 1, 0]}}
REFUSED: dict[str, tuple[dict[str, Any], str, str]] = {
    "no kind": ({"systems": TWO["systems"]}, "/kind", "missing"),
    "one system": ({"kind": "scores", "systems": {"A": [1, 0]}}, "/systems", "too_few_systems"),
    "a text": ({"kind": "scores", "systems": {"A": [1, 0], "B": [1, "x"]}}, "/systems/B/1", "not_a_number"),
    "a text of a data set": (
        {"kind": "scores", "datasets": {"a/b": {"systems": {"A": [1, 0], "B": [1, "x"]}}}},
        "/datasets/a~1b/systems/B/1",
        "not_a_number",
    ),
    "an unknown field": ({**TWO, "sistems": {}}, "/sistems", "unknown_field"),
    "an unknown baseline": ({**TWO, "compare": "baseline", "baseline": "Z"}, "/baseline", "unknown_system"),
    "no baseline": ({**TWO, "compare": "baseline"}, "/baseline", "missing"),
    "an unknown system": ({**TWO, "compare": [["A", "Z"]]}, "/compare/0/1", "unknown_system"),
    "a side of all pairs": ({**TWO, "alternative": "less"}, "/alternative", "one_sided_all_pairs"),
    "an unknown adjustment": ({**TWO, "adjust": "tukey"}, "/adjust", "literal_error"),
    "alpha": ({**TWO, "alpha": 2}, "/alpha", "less_than"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_wrong_is_pointed_to(service: Service, name: str) -> None:
    body, pointer, code = REFUSED[name]
    said = problem(service.post(PATH, json=body), 422)
    assert said["type"].endswith("#invalid-test")
    assert said["errors"][0]["pointer"] == pointer
    assert said["errors"][0]["code"] == code


@pytest.mark.parametrize("name", [name for name in REFUSED if name != "no kind"])
def test_a_plan_points_below_the_request(service: Service, name: str) -> None:
    body, pointer, code = REFUSED[name]
    assert error_of(service.post("/v1/plan", json={"kind": "compare", "request": body})) == (
        f"/request{pointer}",
        code,
    )


@pytest.mark.parametrize(("content", "status"), [(b"{", 400), (b"[]", 422), (b"", 400), (b"\xff", 400)])
def test_what_is_no_request_at_all(service: Service, content: bytes, status: int) -> None:
    problem(service.body(PATH, content), status)


def test_heads_are_checked_as_those_of_tests(service: Service) -> None:
    problem(service.body(PATH, b"x", "text/html"), 415)
    problem(service.body(PATH, b"{}", headers={"accept": "image/gif"}), 406)
    assert service.get(PATH).status_code == 405
    for query, pointer, code in (
        ("format=docx", "/?format", "unknown_format"),
        ("theme=dark", "/?theme", "unused_parameter"),
        ("picture=pie", "/?picture", "unknown_picture"),
        ("picture=bars", "/?picture", "unused_parameter"),
        ("table=cells", "/?table", "unknown_table"),
        ("table=pairs", "/?table", "unused_parameter"),
        ("table=pairs&table=pairs", "/?table", "duplicate_parameter"),
        ("timeout_s=0", "/?timeout_s", "not_a_duration"),
        ("adjust=bh", "/?adjust", "unknown_parameter"),
    ):
        assert error_of(service.post(f"{PATH}?{query}", json=TWO)) == (pointer, code), query


def test_a_picture_or_a_table_is_of_a_comparison_alone(service: Service) -> None:
    assert (
        error_of(service.post("/v1/tests/scores?picture=bars", json={"u": [1], "v": [0]}))[1]
        == "unknown_parameter"
    )


@pytest.fixture(scope="module")
def narrow() -> Iterator[Service]:
    yield from running(
        Settings(
            workers=1,
            max_systems=3,
            max_comparisons=4,
            engine_budget_operations=100_000,
            max_timeout_s=2.0,
            most_over_deadline=1.0,
        )
    )


def test_too_many_systems_or_pairs_are_refused_before_anything_runs(narrow: Service) -> None:
    assert narrow.post(PATH, json=THREE).status_code == 200
    four = {**THREE, "systems": {**THREE["systems"], "D": [1, 1, 1]}}
    said = problem(narrow.post(PATH, json=four), 422)
    assert (said["errors"][0]["pointer"], said["errors"][0]["code"]) == ("/systems", "too_many_systems")
    twice = {
        "kind": "scores",
        "datasets": {"x": {"systems": THREE["systems"]}, "y": {"systems": THREE["systems"]}},
        "aggregate": None,
    }
    said = problem(narrow.post(PATH, json=twice), 422)
    assert (said["errors"][0]["pointer"], said["errors"][0]["code"]) == ("/compare", "too_many_comparisons")
    assert narrow.post(PATH, json={**twice, "compare": "baseline", "baseline": "A"}).status_code == 200


def test_a_test_over_the_budget_is_refused(narrow: Service) -> None:
    columns = {
        name: [((item * step) % 1009) / 8 for item in range(2000)] for name, step in (("A", 7), ("B", 11))
    }
    said = problem(narrow.post(PATH, json={"kind": "scores", "systems": columns, "method": "dp"}), 422)
    assert said["type"].endswith("#plan-too-large")


def test_limits_are_published(narrow: Service) -> None:
    limits = narrow.get("/v1/meta").json()["limits"]
    assert (limits["max_systems"], limits["max_comparisons"]) == (3, 4)


def test_a_comparison_that_cannot_end_in_time_is_not_started(worker_service: Service) -> None:
    columns = {
        f"s{number:02}": [round(((item * (number + 3)) % 97) / 97, 3) for item in range(300)]
        for number in range(100)
    }
    body = {"kind": "scores", "systems": columns, "method": "dp", "timeout_s": 2.0}
    said = problem(worker_service.post(PATH, json=body), 422)
    assert said["type"].endswith("#plan-too-large")
    assert (said["errors"][0]["pointer"], said["errors"][0]["code"]) == ("/timeout_s", "over_deadline")
