"""Counts through HTTP: against brute force over all swaps, in every form they can be handed over in."""

import json
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tests.api.conftest import answer_to, codes_of, error_of, problem
from tests.binary import npy
from tests.enumeration import by_swaps

PATH = "/v1/tests/counts"
U = {"tp": [8, 3, 7, 0, 2], "incorrect": [2, 3, 1, 0, 2]}
V = {"tp": [6, 5, 7, 1, 2], "incorrect": [1, 2, 1, 0, 4]}
IDS = ["a", "b", "c", "d", "e"]
Rows = list[tuple[int, ...]]
Score = Callable[[tuple[int, ...]], Fraction]


def over(numerator: int, denominator: int) -> Fraction:
    return Fraction(numerator, denominator) if denominator else Fraction(0)


def f1(sums: tuple[int, ...]) -> Fraction:
    return over(2 * sums[0], 2 * sums[0] + sums[1])


def by_brute_force(u: Rows, v: Rows, score: Score, alternative: str) -> Fraction:
    return by_swaps(u, v, lambda rows: score(tuple(map(sum, zip(*rows, strict=True)))), alternative)


def rows(system: dict[str, list[int]]) -> Rows:
    return list(zip(*system.values(), strict=True))


def drawn(seed: int) -> tuple[dict[str, list[int]], dict[str, list[int]]]:
    generator = np.random.default_rng(seed)
    n = int(generator.integers(1, 11))
    # Small counts, so that ties are common.
    draws: list[list[int]] = generator.integers(0, 4, (4, n)).tolist()
    return {"tp": draws[0], "incorrect": draws[1]}, {"tp": draws[2], "incorrect": draws[3]}


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
@pytest.mark.parametrize("seed", range(8))
def test_f1_agrees_with_brute_force_over_all_swaps(service: Any, seed: int, alternative: str) -> None:
    u, v = drawn(seed)
    said = service.post(PATH, {"u": u, "v": v, "alternative": alternative}).json()
    wanted = by_brute_force(rows(u), rows(v), f1, alternative)
    assert said["p_value_bounds"][0] <= wanted <= said["p_value_bounds"][1]
    assert said["p_value"] == pytest.approx(float(wanted), rel=1e-9)
    assert said["method"]["exact"] is True
    assert said["statistic"]["u"] == pytest.approx(float(f1(tuple(map(sum, u.values())))))


@pytest.mark.parametrize(
    ("statistic", "score"),
    [
        ({"name": "precision"}, lambda s: over(s[0], s[0] + s[1])),
        ({"name": "recall"}, lambda s: over(s[0], s[0] + s[2])),
        ({"name": "jaccard"}, lambda s: over(s[0], s[0] + s[1] + s[2])),
        ({"name": "fbeta", "beta": 2}, lambda s: over(5 * s[0], 5 * s[0] + 4 * s[2] + s[1])),
        ({"name": "ratio", "numerator": "fp", "denominator": "tp"}, lambda s: over(s[1], s[0])),
        (
            {"name": "expression", "expression": "tp / (tp + max(fp, fn))"},
            lambda s: over(s[0], s[0] + max(s[1:])),
        ),
    ],
    ids=lambda value: value["name"] if isinstance(value, dict) else "",
)
def test_every_named_statistic_agrees_with_brute_force(service: Any, statistic: Any, score: Score) -> None:
    generator = np.random.default_rng(11)
    u, v = ({name: generator.integers(1, 5, 9).tolist() for name in ("tp", "fp", "fn")} for _ in range(2))
    said = service.post(PATH, {"u": u, "v": v, "statistic": statistic}).json()
    assert said["p_value"] == pytest.approx(
        float(by_brute_force(rows(u), rows(v), score, "two-sided")), rel=1e-9
    )
    assert said["statistic"]["name"] == statistic["name"]


def items(system: dict[str, list[int]]) -> list[dict[str, int]]:
    return [dict(zip(system, row, strict=True)) for row in zip(*system.values(), strict=True)]


def table(delimiter: str) -> bytes:
    columns = [*U.values(), *V.values()]
    return "".join(delimiter.join(map(str, row)) + "\n" for row in zip(*columns, strict=True)).encode()


def array(kind: str = "<i8") -> bytes:
    return npy(np.array([*U.values(), *V.values()], dtype=kind).T)


def lines() -> bytes:
    pairs = zip(items(U), items(V), strict=True)
    return "\n".join(json.dumps({"u": u, "v": v}) for u, v in pairs).encode()


BODIES: list[tuple[str, str, bytes]] = [
    ("by item", "application/json", json.dumps({"u": items(U), "v": items(V)}).encode()),
    (
        "by id",
        "application/json",
        json.dumps(
            {
                "u": dict(zip(IDS, items(U), strict=True)),
                "v": dict(reversed(list(zip(IDS, items(V), strict=True)))),
            }
        ).encode(),
    ),
    ("csv", "text/csv", table(",")),
    ("tsv", "text/tab-separated-values", table("\t")),
    ("csv with header", "text/csv", b"tp_u,incorrect_u,tp_v,incorrect_v\n" + table(",")),
    ("ndjson", "application/x-ndjson", lines()),
    ("npy", "application/x-npy", array()),
    ("npy in Fortran order of floats", "application/x-npy", array("<f4")),
]


@pytest.mark.parametrize(("media", "body"), [case[1:] for case in BODIES], ids=[case[0] for case in BODIES])
def test_the_same_counts_are_the_same_test_in_every_form(
    service: Any, worker_service: Any, media: str, body: bytes
) -> None:
    wanted = service.post(PATH, {"u": U, "v": V}).json()
    for server in (service, worker_service):
        said = answer_to(server.body(PATH, body, media))
        assert (said["id"], said["p_value"]) == (wanted["id"], wanted["p_value"])


def test_effects_in_tuples_are_the_papers_own_form_of_f1(service: Any) -> None:
    stay = [list(row) for row in zip(*U.values(), *V.values(), strict=True)]
    swap = [[*row[2:], *row[:2]] for row in stay]
    f = "({tp} / ({tp} + {wrong} / 2))"
    expression = f.format(tp="x1", wrong="x2") + " - " + f.format(tp="x3", wrong="x4")
    request = {"stay": stay, "swap": swap, "statistic": {"expression": expression}}
    said = service.post("/v1/tests/effects", request).json()
    wanted = service.post(PATH, {"u": U, "v": V}).json()
    assert said["p_value"] == pytest.approx(wanted["p_value"], rel=1e-9)
    assert said["statistic"]["observed"] == pytest.approx(wanted["statistic"]["observed"])


def test_clusters_and_ids_and_plans_go_with_counts(service: Any) -> None:
    keyed = {"u": dict(zip(IDS, items(U), strict=True)), "v": dict(zip(IDS, items(V), strict=True))}
    del keyed["v"]["c"]
    clusters = {"a": 1, "b": 1, "c": 2, "d": 2, "e": 2}
    said = service.post(PATH, {**keyed, "clusters": clusters, "on_missing": "drop"}).json()
    assert said["pairing"] == {"matched": 4, "only_u": 1, "only_v": 0}
    assert (said["items"]["n"], said["items"]["clusters"]) == (4, 2)
    assert 0 < said["item_level"]["p_value"] <= 1
    planned = service.post("/v1/plan", {"kind": "counts", "request": {"u": U, "v": V}}).json()
    assert planned["kind"] == "counts"
    assert planned["method"] == service.post(PATH, {"u": U, "v": V}).json()["method"]["name"]


def changed(role: str, name: str, values: Any) -> dict[str, Any]:
    systems: dict[str, Any] = {"u": {**U}, "v": {**V}}
    systems[role][name] = values
    return systems


CASES: list[tuple[str, Any, str, str]] = [
    ("negative", changed("v", "tp", [1, 2, -3, 4, 5]), "/v/tp/2", "not_a_count"),
    ("decimal", changed("v", "tp", [1, 2, 3.5, 4, 5]), "/v/tp/2", "not_a_count"),
    ("boolean", changed("u", "tp", [1, 2, 3, True, 5]), "/u/tp/3", "not_a_number"),
    ("one too few", changed("u", "incorrect", [1, 2, 3, 4]), "/u/incorrect", "length_mismatch"),
    ("other items", {"u": U, "v": {"tp": [1], "incorrect": [1]}}, "/v", "length_mismatch"),
    ("a number", changed("u", "tp", 3), "/u/tp", "not_a_column"),
    ("no names", {"u": {}, "v": V}, "/u", "no_counts"),
    ("no list", {"u": 1, "v": V}, "/u", "not_a_column"),
    ("other names", {"u": U, "v": {"tp": V["tp"], "fp": V["tp"]}}, "/v", "different_counts"),
    ("missing counts", {"u": {"x/y": [1]}, "v": {"x/y": [1]}}, "/u", "missing_counts"),
    ("by item", {"u": [{"tp": 1}, {"fp": 1}], "v": [{"tp": 1}] * 2}, "/u/1", "different_counts"),
    ("no item", {"u": [{"tp": 1}, 2], "v": [{"tp": 1}] * 2}, "/u/1", "not_an_object"),
    ("count by item", {"u": [{"tp": 1}, {"tp": None}], "v": [{"tp": 1}] * 2}, "/u/1/tp", "not_a_number"),
    ("count by id", {"u": {"a/b": {"tp": -1}}, "v": {"a/b": {"tp": 1}}}, "/u/a~1b/tp", "not_a_count"),
    ("ids", {"u": {"a": {"tp": 1}}, "v": {"b": {"tp": 1}}}, "/u", "unmatched_ids"),
    (
        "more than there are",
        {"u": {"tp": [1, 5], "gold": [1, 4], "predicted": [9, 9]}, "v": {"tp": [1, 1], "gold": [1, 4], "predicted": [9, 9]}},
        "/u/tp/1",
        "inconsistent_counts",
    ),
    (
        "more than there are, by id",
        {
            "u": {"x": {"tp": 1, "gold": 1}, "y": {"tp": 5, "gold": 4}},
            "v": {"y": {"tp": 1, "gold": 4}, "x": {"tp": 1, "gold": 1}},
            "statistic": {"name": "recall"},
        },
        "/u/y/tp",
        "inconsistent_counts",
    ),
    ("beta", {"u": U, "v": V, "statistic": {"name": "f1", "beta": 2}}, "/statistic/beta", "unknown_parameter"),
    ("beta of text", {"u": U, "v": V, "statistic": {"name": "fbeta", "beta": "2"}}, "/statistic/beta", "float_type"),
    (
        "numerator",
        {"u": U, "v": V, "statistic": {"name": "ratio", "numerator": "tq", "denominator": "tp"}},
        "/statistic/numerator",
        "unknown_name",
    ),
    (
        "expression",
        {"u": U, "v": V, "statistic": {"name": "expression", "expression": "tp / (tp + fp)"}},
        "/statistic/expression",
        "unknown_name",
    ),
    ("no expression", {"u": U, "v": V, "statistic": {"name": "expression"}}, "/statistic/expression", "missing"),
    ("name", {"u": U, "v": V, "statistic": {"name": "f2"}}, "/statistic/name", "literal_error"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("body", "pointer", "code"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_invalid_counts_are_refused_with_place_and_reason(
    service: Any, body: Any, pointer: str, code: str
) -> None:
    assert error_of(service.post(PATH, body)) == (pointer, code)
    assert error_of(service.post("/v1/plan", {"kind": "counts", "request": body}))[0] == f"/request{pointer}"


@pytest.mark.parametrize(
    ("form", "pointer"),
    [
        (lambda counts: counts, "correct/1"),
        (items, "1/correct"),
        (lambda counts: dict(zip("xy", items(counts), strict=True)), "y/correct"),
    ],
    ids=["columns", "items", "items by id"],
)
def test_the_pointer_to_a_count_follows_the_form_of_the_counts(
    service: Any, form: Callable[[Any], Any], pointer: str
) -> None:
    u, v = form({"correct": [1, 5], "total": [2, 3]}), form({"correct": [1, 2], "total": [2, 3]})
    test = {"u": u, "v": v, "statistic": {"name": "accuracy"}}
    board = {"kind": "counts", "systems": {"A": v, "B": u}, "statistic": {"name": "accuracy"}}
    assert error_of(service.post(PATH, test)) == (f"/u/{pointer}", "inconsistent_counts")
    assert error_of(service.post("/v1/compare", board)) == (f"/systems/B/{pointer}", "inconsistent_counts")


@pytest.mark.parametrize(
    ("body", "media", "pointer"),
    [
        (b"8,2,6,1\n3,3,5\n", "text/csv", "/line/2"),
        (b"8,2,6,1\n\n3,3,x,2\n", "text/csv", "/line/3/3"),
        (b"8,2,6,1\n\n3,3,-5,2\n", "text/csv", "/line/3/3"),
        (b"8,2,6,1\n3,3,5,2.5\n", "text/csv", "/line/2/4"),
        (b"id,tp_u,fp_u,tp_v,fp_v\na,1,1,1,1\na,1,1,1,1\n", "text/csv", "/line/3/1"),
        (b"id,tp_u,fp_u,tp_v,fp_v\na,1,1,1,1\nb,1,1,1,-1\n", "text/csv", "/line/3/5"),
        (b"tp_u,fp_u,tp_v\n1,1,1\n", "text/csv", "/line/1/2"),
        (b'{"u":{"tp":1},"v":{"tp":1}}\n\n{"u":{"tp":1},"v":{"tp":-1}}\n', "application/x-ndjson", "/line/3/v/tp"),
        (b'{"u":{"tp":1},"v":{"tp":1}}\n{"u":{"tp":1}}\n', "application/x-ndjson", "/line/2/v"),
        (b'{"u":{"tp":1},"v":{"tp":1}}\n[1]\n', "application/x-ndjson", "/line/2"),
        (b'{"u":{"tp":1},"v":{"tp":1},"w":1}\n', "application/x-ndjson", "/line/1/w"),
        (b'{"id":1,"u":{"tp":1},"v":{"tp":1}}\n{"id":1,"u":{"tp":1},"v":{"tp":1}}\n', "application/x-ndjson", "/line/2/id"),
    ],
)  # fmt: skip
def test_a_bad_line_of_counts_is_named_with_its_field(
    service: Any, body: bytes, media: str, pointer: str
) -> None:
    assert error_of(service.body(PATH, body, media))[0] == pointer


@pytest.mark.parametrize(
    ("body", "status", "pointer"),
    [
        (npy(np.array([[1, 2, 3, 4], [5, 6, 7, -8]])), 422, "/1/3"),
        (npy(np.array([[1.0, 2, 3, 4], [5, float("nan"), 7, 8]])), 422, "/1/1"),
        (npy(np.array([[1, None, 3, 4]], dtype=object), allow_pickle=True), 422, ""),
        (npy(np.array([[1, 2]])), 422, ""),
        (npy(np.array([[1, 2, 3]])), 422, ""),
        (npy(np.zeros((0, 4))), 422, ""),
        (npy(np.array([[1, 2, 3, 4]]))[:-1], 400, None),
        (b"\x93NUMPY\x01\x00", 400, None),
        (b"", 400, None),
        (
            b"\x93NUMPY\x01\x00\x56\x00"
            + b"{'descr': '<i8', 'fortran_order': False, 'shape': (1000000000, 4)}".ljust(85)
            + b"\n"
            + b"\0" * 32,
            400,
            None,
        ),
    ],
    ids=[
        "negative",
        "nan",
        "objects",
        "two columns",
        "three",
        "none",
        "truncated",
        "header",
        "empty",
        "a claim of 32 GB",
    ],
)
def test_a_bad_array_is_refused_by_its_row_and_column(
    service: Any, body: bytes, status: int, pointer: str | None
) -> None:
    said = problem(service.body(PATH, body, "application/x-npy"), status)
    if pointer is not None:
        assert said["errors"][0]["pointer"] == pointer


def test_a_parameter_of_another_statistic_says_of_which(service: Any) -> None:
    """Without a name, the statistic is the first one, f1."""
    for statistic in ({"expression": "tp / fp"}, {"name": "f1", "expression": "tp / fp"}):
        said = problem(service.post(PATH, {"u": U, "v": V, "statistic": statistic}), 422)
        detail = said["errors"][0]["detail"]
        assert (
            "expression is not a parameter of f1: it takes none. It is a parameter of expression: name the"
            in detail
        )


def test_larger_totals_of_one_system_throughout_warn_and_no_gate_decides(service: Any) -> None:
    """Sums over ten runs against one run: items alike, a system and itself differ in a quarter of data sets."""
    once, tenfold = {"correct": [1] * 12, "total": [1] * 12}, {"correct": [9] * 12, "total": [10] * 12}
    asked = {"u": once, "v": tenfold, "statistic": {"name": "accuracy"}}
    said = service.post("/v1/tests/counts", json=asked).json()
    assert "totals_differ" in [warning["code"] for warning in said["warnings"]]
    assert codes_of(service.post("/v1/gate", json={"kind": "counts", "request": asked})) == ["totals_differ"]
    # A ratio's denominator may be a part of the result.
    asked["statistic"] = {"name": "ratio", "numerator": "correct", "denominator": "total"}
    said = service.post(
        "/v1/gate", json={"kind": "counts", "request": asked, "higher_is_better": True}
    ).json()
    assert "totals_differ" in [warning["code"] for warning in said["metrics"][0]["test"]["warnings"]]
    # Totals that differ now this way and now that are a gold of each system, and precision has no total.
    for v, statistic in (
        ({"correct": [1] * 12, "total": [1, 2, 3] * 4}, "accuracy"),
        ({"correct": [2] * 12, "total": [2] * 12}, "accuracy"),
    ):
        u = {"correct": [1] * 12, "total": [2] * 12}
        there = service.post(
            "/v1/tests/counts", json={"u": u, "v": v, "statistic": {"name": statistic}}
        ).json()
        assert "totals_differ" not in [warning["code"] for warning in there["warnings"]]
    many = {"tp": [1] * 12, "fp": [9] * 12}, {"tp": [1] * 12, "fp": [0] * 12}
    found = service.post(
        "/v1/tests/counts", json={"u": many[0], "v": many[1], "statistic": {"name": "precision"}}
    )
    assert "totals_differ" not in found.text


def test_larger_totals_of_a_system_of_a_board_warn(service: Any) -> None:
    """A board warns like a test of two: on the common items, with the system that has more."""
    once = {f"q{k}": {"correct": 1, "total": 1} for k in range(12)}
    tenfold = {f"q{k}": {"correct": 9, "total": 10} for k in range(14)}
    request = {"kind": "counts", "statistic": {"name": "accuracy"}, "on_missing": "pairwise"}
    said = service.post(
        "/v1/compare", json={**request, "systems": {"A": once, "B": once, "C": tenfold}}
    ).json()
    found = [warning for warning in said["warnings"] if warning["code"] == "totals_differ"]
    assert [warning["detail"].partition(".")[0] for warning in found] == [
        '"C" has a larger total than "A" on 12 of 12 items'
    ]
    alike = service.post("/v1/compare", json={**request, "systems": {"A": once, "B": once}})
    assert "totals_differ" not in alike.text


@pytest.mark.parametrize(
    ("statistic", "counts"),
    [
        ("f1", {"tp": [1, 2, 3] * 4, "predicted": [3] * 12, "gold": [3] * 12}),
        ("recall", {"tp": [1, 2, 3] * 4, "fn": [2, 1, 0] * 4, "fp": [1] * 12}),
        ("accuracy", {"correct": [1, 2, 3] * 4, "incorrect": [2, 1, 0] * 4}),
    ],
)
def test_totals_that_the_statistic_does_not_count_stop_no_gate(
    service: Any, statistic: str, counts: dict[str, list[int]]
) -> None:
    """Such as the tokens that each system wrote, or true negatives among what each proposed."""
    u, v = ({**counts, "gold" if statistic == "accuracy" else "tn": [size] * 12} for size in (9, 4))
    if statistic == "f1":
        u, v = ({**side, "total": side.pop("tn")} for side in (u, v))
    asked = {"u": u, "v": v, "statistic": {"name": statistic}}
    said = service.post("/v1/gate", json={"kind": "counts", "request": asked})
    assert (said.status_code, said.json()["verdict"]) == (200, "pass"), said.text
    assert "totals_differ" not in said.text


def test_the_count_that_items_lack_is_named_alike_in_every_process(service: Any) -> None:
    item = dict.fromkeys("hgfedcba", 1)
    response = service.post("/v1/tests/counts", {"u": [item, {"z": 1}], "v": [item, item]})
    assert 'the same counts: "a" is not in' in response.json()["errors"][0]["detail"]
