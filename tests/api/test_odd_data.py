"""Data that is a valid test and looks like a mistake: a warning in a test, a refusal in a gate; or refused in both."""

import json
import random
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from tests.api.conftest import Service, error_of, errors_of, problem
from tests.enumeration import swaps

PREDICTIONS, FILES, GATE = "/v1/tests/predictions", "/v1/tests/files", "/v1/gate"
GOLD = ["yes", "no", "yes", "no", "yes", "no"]
Body = dict[str, Any]


def warned(said: Body) -> list[str]:
    return [
        one["code"] for one in said["warnings"] if one["code"].startswith(("labels_", "summary_", "mostly_"))
    ]


def gate_of(kind: str, body: Body) -> Body:
    return {"kind": kind, "request": body}


OTHER_TYPES = {
    "strings for integers": ([0, 1, 2], ["0", "1", "2"], "accuracy"),
    "integers for strings": (["0", "1", "2"], [0, 1, 2], "macro"),
    "one of them": ([0, 1, 2], [0, 1, "2"], "accuracy"),
    "tokens": ([["1", "2"], ["1"]], [["1", 2], ["1"]], "token_accuracy"),
}


@pytest.mark.parametrize("name", OTHER_TYPES)
def test_labels_of_another_type_than_golds_are_refused(name: str, service: Any) -> None:
    gold, other, statistic = OTHER_TYPES[name]
    named = {"name": "f1", "average": "macro"} if statistic == "macro" else {"name": statistic}
    for role in "uv":
        body = {"gold": gold, "u": gold, "v": gold, role: other, "statistic": named}
        for path, sent in ((PREDICTIONS, body), (GATE, gate_of("predictions", body))):
            said = problem(service.post(path, sent), 422)
            where = f"/request/{role}" if path == GATE else f"/{role}"
            assert (said["errors"][0]["pointer"], said["errors"][0]["code"]) == (where, "other_label_type")


@pytest.mark.parametrize(
    ("gold", "other"), [(["a", "b"], [["a"], ["b"]]), ([["a"], ["b"]], ["a", "b"])], ids=["flat", "lists"]
)
def test_labels_for_lists_of_labels_are_refused(gold: Any, other: Any, service: Any) -> None:
    for name in ("exact_match", "accuracy"):
        body = {"gold": gold, "u": other, "v": gold, "statistic": {"name": name}}
        assert error_of(service.post(PREDICTIONS, body))[1] == "mixed_forms"


NEVER = {
    "capitals": (["Yes" if label == "yes" else "NO" for label in GOLD], "accuracy"),
    "blanks": ([f"{label} " for label in GOLD], "exact_match"),
    "other words": (["A", "B"] * 3, "mcc"),
}


@pytest.mark.parametrize("name", NEVER)
@pytest.mark.parametrize("role", ["u", "v"])
def test_labels_that_never_match_are_warned_of_and_no_gate_decides_by_them(
    name: str, role: str, service: Any
) -> None:
    other, statistic = NEVER[name]
    body = {"gold": GOLD, "u": GOLD, "v": GOLD, role: other, "statistic": {"name": statistic}}
    said = service.post(PREDICTIONS, body)
    assert said.status_code == 200, said.text
    assert warned(said.json()) == ["labels_never_match"]
    assert said.json()["warnings"][0]["detail"].startswith(f"No label of {role} occurs in gold")
    assert error_of(service.post(GATE, gate_of("predictions", body)))[1] == "labels_never_match"


def test_one_label_in_other_capitals(service: Any) -> None:
    other = ["Yes" if label == "yes" else label for label in GOLD]
    body = {"gold": GOLD, "u": GOLD, "v": other}
    said = service.post(PREDICTIONS, body).json()
    assert warned(said) == ["labels_written_otherwise"]
    assert '"Yes"' in said["warnings"][0]["detail"]
    assert error_of(service.post(GATE, gate_of("predictions", body))) == (
        "/request/v",
        "labels_written_otherwise",
    )


def test_free_texts_may_differ_in_capitals_before_a_gate(service: Any) -> None:
    texts = ["Paris", "the Nile", "1789", "Ada Lovelace"]
    body = {
        "gold": texts,
        "u": texts,
        "v": ["Paris", "The Nile", "1789", "nobody"],
        "statistic": {"name": "exact_match"},
    }
    assert warned(service.post(PREDICTIONS, body).json()) == ["labels_written_otherwise"]
    assert service.post(GATE, gate_of("predictions", body)).status_code == 200


def test_decimals_of_an_integer_label(service: Any) -> None:
    said = service.post(
        PREDICTIONS, {"gold": [0, 1, 1, 0], "u": [0, 1, 1, 0], "v": ["0.0", "1.0", "1.0", "0.0"]}
    )
    assert warned(said.json()) == ["labels_never_match"]


TAGS = {
    "other types": ("B-PERSON", {}, ["labels_never_match"]),
    "other capitals": ("B-per", {}, ["labels_never_match"]),
    "nothing found": ("O", {}, []),
    "no beginnings": ("I-PER", {"scheme": "IOB2"}, ["labels_never_match"]),
    "stray insides": ("I-PER", {}, []),
}


@pytest.mark.parametrize("name", TAGS)
def test_types_of_entities_that_never_match(name: str, service: Any) -> None:
    tag, parameters, wanted = TAGS[name]
    gold = [["B-PER", "O"], ["O", "B-PER"]]
    body = {
        "gold": gold,
        "u": [[tag if one != "O" else "O" for one in item] for item in gold],
        "v": gold,
        "statistic": {"name": "span_f1", **parameters},
    }
    response = service.post(PREDICTIONS, body)
    assert warned(response.json()) == wanted
    assert service.post(GATE, gate_of("predictions", body)).status_code == (422 if wanted else 200)


@pytest.mark.parametrize(
    ("statistic", "gold", "code"),
    [
        ({"name": "f1", "average": "micro", "labels": [0, "1"]}, [0, 1, 1], "other_label_type"),
        ({"name": "f1", "average": "micro", "labels": ["0", "1"]}, [0, 1, 1], "unknown_label"),
        ({"name": "span_f1", "labels": ["per"]}, [["B-PER"], ["O"], ["O"]], "unknown_label"),
    ],
)
def test_classes_that_are_asked_for_and_never_occur(
    statistic: Body, gold: Any, code: str, service: Any
) -> None:
    assert error_of(
        service.post(PREDICTIONS, {"gold": gold, "u": gold, "v": gold, "statistic": statistic})
    ) == ("/statistic/labels", code)


def test_right_labels_are_not_warned_of(service: Any) -> None:
    """A system may have a class that gold lacks, lack one that gold has, and be wrong everywhere."""
    body = {"gold": GOLD, "u": ["maybe", "no", "no", "yes", "no", "no"], "v": ["no", "yes"] * 3}
    said = service.post(PREDICTIONS, body).json()
    assert warned(said) == []
    assert said["statistic"]["v"] == 0.0


def test_transcripts_without_a_word_of_the_references_are_refused(service: Any) -> None:
    texts = {
        "ref": b"a b c (s-1)\nd e (s-2)\n",
        "u": b"A B C (s-1)\nD (s-2)\n",
        "v": b"a b (s-1)\nd x (s-2)\n",
    }
    files = {role: (f"{role}.trn", text) for role, text in texts.items()}
    assert error_of(service.request("POST", FILES, files=files)) == ("/files/u/line/1", "labels_never_match")


def wide(rows: list[tuple[str, float, float]]) -> bytes:
    return ("id,u,v\n" + "".join(f"{key},{u},{v}\n" for key, u, v in rows)).encode()


def by_id(rows: list[tuple[str, float, float]]) -> Body:
    return {"u": {key: u for key, u, _ in rows}, "v": {key: v for key, _, v in rows}}


ROWS = [("q1", 0.5, 0.6), ("q2", 0.75, 0.5), ("q3", 0.25, 0.5)]
WAYS: dict[str, Callable[[Any, list[tuple[str, float, float]]], Any]] = {
    "csv file": lambda service, rows: service.request("POST", FILES, files={"file": ("t.csv", wide(rows))}),
    "tsv file with choices": lambda service, rows: service.request(
        "POST", FILES, files={"file": ("t.tsv", wide(rows).replace(b",", b"\t"))}, data={"decimals": "3"}
    ),
    "long file": lambda service, rows: service.request(
        "POST",
        FILES,
        files={"file": ("t.csv", ("id,system,score\n" + "".join(f"{k},a,{u}\n{k},b,{v}\n" for k, u, v in rows)).encode())},
    ),
    "lines": lambda service, rows: service.request(
        "POST",
        FILES,
        files={"file": ("t.jsonl", "\n".join(json.dumps({"id": k, "u": u, "v": v}) for k, u, v in rows).encode())},
    ),
    "csv body": lambda service, rows: service.body("/v1/tests/scores", wide(rows), "text/csv"),
    "objects": lambda service, rows: service.post("/v1/tests/scores", by_id(rows)),
    "lists with ids": lambda service, rows: service.post(
        "/v1/tests/scores", {"u": [r[1] for r in rows], "v": [r[2] for r in rows], "ids": [r[0] for r in rows]}
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    "name", ["mean", "Average", "all", "macro avg", "TOTAL", "Overall score", "weighted_avg"]
)
@pytest.mark.parametrize("way", WAYS)
def test_a_row_of_averages_is_warned_of(way: str, name: str, service: Any) -> None:
    mean = (name, 0.5, 8 / 15)
    for rows, where in (([*ROWS, mean], "last"), ([mean, *ROWS], "first")):
        said = WAYS[way](service, rows)
        assert said.status_code == 200, said.text
        assert warned(said.json()) == ["summary_row"]
        assert where in said.json()["warnings"][0]["detail"]
        assert name in said.json()["warnings"][0]["detail"]
        assert error_of(service.post(GATE, gate_of("scores", by_id(rows))))[1] == "summary_row"
        files = {"file": ("t.csv", wide(rows))}
        assert error_of(service.request("POST", GATE, files=files))[1] == "summary_row"


def test_averages_among_names_of_items_are_recognised_by_place(service: Any) -> None:
    """Items are tested in the order of their ids: one called zebra does not hide the mean before it."""
    items = [(name, 0.5, place / 8) for place, name in enumerate(("apple", "melon", "pear", "zebra"))]
    for rows in ([*items, ("mean", 0.5, 0.25)], [("mean", 0.5, 0.25), *items]):
        assert error_of(service.post(GATE, gate_of("scores", by_id(rows))))[1] == "summary_row"


RUNS = (
    ("mean", "std", "min", "max"), ("min", "max", "std", "mean"), ("count", "mean", "std", "min", "25%", "50%", "75%", "max"),
    ("(mean)",), ("[all]",), ("average (10 items)",), ("Subtotal",), ("n", "median", "p95", "overall [n=10]"),
)  # fmt: skip


@pytest.mark.parametrize("names", RUNS, ids=" ".join)
@pytest.mark.parametrize("way", WAYS)
def test_rows_of_several_statistics_are_warned_of(way: str, names: tuple[str, ...], service: Any) -> None:
    more = [(name, 0.5, place / 16) for place, name in enumerate(names)]
    for rows in ([*ROWS, *more], [*more, *ROWS]):
        said = WAYS[way](service, rows).json()
        assert warned(said) == ["summary_row"]
        detail = next(one["detail"] for one in said["warnings"] if one["code"] == "summary_row")
        assert all(json.dumps(name) in detail for name in names[:5])
        assert error_of(service.post(GATE, gate_of("scores", by_id(rows))))[1] == "summary_row"


@pytest.mark.parametrize("way", ["csv file", "lines", "objects"])
def test_a_last_row_without_an_id_is_warned_of(way: str, service: Any) -> None:
    assert warned(WAYS[way](service, [*ROWS, ("", 0.5, 0.5)]).json()) == ["summary_row"]


@pytest.mark.parametrize("way", WAYS)
def test_items_of_ordinary_names_are_not_warned_of(way: str, service: Any) -> None:
    for name in (
        "means",
        "q-all",
        "allegory",
        "7",
        "score",
        "summary of the day",
        "min",
        "n",
        "count",
        "(a)",
        "p95",
    ):
        assert warned(WAYS[way](service, [*ROWS, (name, 0.5, 0.25)]).json()) == []
    assert warned(WAYS[way](service, [ROWS[0], ("mean", 0.5, 0.25), *ROWS[1:]]).json()) == []


def test_a_row_of_averages_without_known_ids_is_refused(service: Any) -> None:
    table = b"question,u,v\nq1,.5,.6\nq2,.7,.6\nmean,.6,.6\n"
    lines = (
        b'{"task": "a", "u": 1, "v": 0}\n{"task": "b", "u": 1, "v": 0}\n{"task": "mean", "u": 1, "v": 0}\n'
    )
    for content, pointer in ((table, "/files/file/line/4/1"), (lines, "/files/file/line/3/task")):
        response = service.request("POST", FILES, files={"file": ("t", content)}, data={})
        assert error_of(response) == (pointer, "summary_row")
    table_of_both = table + b"std,.1,.1\nmax,.7,.6\n"
    lines_of_both = lines + b'{"task": "max", "u": 1, "v": 1}\n'
    for content in (table_of_both, lines_of_both):
        response = service.request("POST", FILES, files={"file": ("t", content)}, data={})
        assert error_of(response)[1] == "summary_row"
    files = {"file": ("t.csv", table)}
    said = service.request("POST", FILES, files=files, data={"id_column": "question", "format": "csv"}).json()
    assert warned(said) == ["summary_row"]


def missing(u: int, v: int, both: int) -> tuple[Body, dict[str, tuple[str, bytes]]]:
    """`both` items with two scores, among `u` of the one system and `v` of the other: as objects, and as files."""
    scores = {
        "u": {f"q{place}": 1 for place in range(u)},
        "v": {f"q{place}": 0 for place in [*range(both), *range(u, u + v - both)]},
    }
    files = {
        role: (f"{role}.csv", ("id,score\n" + "".join(f"{k},{s}\n" for k, s in column.items())).encode())
        for role, column in scores.items()
    }
    return {**scores, "on_missing": "drop"}, files


@pytest.mark.parametrize(
    ("u", "v", "both", "most"),
    [
        (10, 10, 1, True),
        (10, 4, 4, True),
        (4, 10, 4, True),
        (9, 9, 4, True),
        (10, 5, 5, False),
        (8, 8, 4, False),
    ],
)
def test_leaving_most_items_out_is_warned_of_and_decides_no_gate(
    u: int, v: int, both: int, most: bool, service: Any
) -> None:
    body, files = missing(u, v, both)
    drop, codes = {"on_missing": "drop"}, ["mostly_dropped"] if most else []
    answers = (service.post("/v1/tests/scores", body), service.request("POST", FILES, files=files, data=drop))
    for said in answers:
        assert (said.json()["items"]["n"], warned(said.json())) == (both, codes)
    gates = {
        "/request/on_missing": service.post(GATE, gate_of("scores", body)),
        "/options/on_missing": service.request("POST", GATE, files=files, data=drop),
    }
    for pointer, said in gates.items():
        if not most:
            assert said.status_code == 200, said.text
            continue
        error = problem(said, 422)["errors"][0]
        assert (error["pointer"], error["code"]) == (pointer, "mostly_dropped")
        assert "check that the ids" in error["detail"]


def test_items_without_a_value_and_labels_of_gold_alone_are_left_out_too(service: Any) -> None:
    table = b"id,u,v\n" + b"".join(b"%d,%s,0\n" % (n, b"1" if n < 3 else b"") for n in range(9))
    both = b"id,u,v\n" + b"".join(b"%d,%s\n" % (n, b"1,0" if n < 3 else b",") for n in range(9))
    for content in (table, both):
        said, refused = (
            service.request("POST", path, files={"file": ("t.csv", content)}, data={"on_missing": "drop"})
            for path in (FILES, GATE)
        )
        assert warned(said.json()) == ["mostly_dropped"]
        assert error_of(refused)[1] == "mostly_dropped"
    few = {"a": "yes", "b": "no"}
    gold = {**few, **{str(n): "yes" for n in range(7)}}
    body = {"gold": gold, "u": few, "v": few, "on_missing": "drop"}
    assert warned(service.post(PREDICTIONS, body).json()) == ["mostly_dropped"]
    assert error_of(service.post(GATE, gate_of("predictions", body)))[1] == "mostly_dropped"


@pytest.mark.parametrize("seed", range(4))
def test_random_labels_against_counting_by_hand(seed: int, service: Any) -> None:
    """Any labels are refused, warned about, or compared by equality."""
    rng = random.Random(seed)
    pool: list[Any] = ["a", "b", "A", "a ", "1", "2", 1, 2, "x y", "", "é", "O"]
    seen = {200: 0, 422: 0}
    for _ in range(120):
        n = rng.randint(1, 8)
        columns = {role: [rng.choice(rng.sample(pool, 4)) for _ in range(n)] for role in ("gold", "u", "v")}
        response = service.post(PREDICTIONS, {**columns, "pmf": "none"})
        seen[response.status_code] += 1
        texts = {
            str(label): {type(one) for one in columns["gold"] if str(one) == str(label)}
            for label in columns["gold"]
        }
        for role in "uv":
            mixed = any(label not in columns["gold"] and str(label) in texts for label in columns[role])
            assert not (mixed and response.status_code == 200)
        if response.status_code == 422:
            assert response.json()["errors"][0]["code"] == "other_label_type"
            continue
        said = response.json()
        for role in "uv":
            right = sum(one == other for one, other in zip(columns["gold"], columns[role], strict=True))
            assert said["statistic"][role] == pytest.approx(right / n, abs=1e-15)
            never = not set(columns[role]) & set(columns["gold"])
            assert never == any(f"No label of {role} " in one["detail"] for one in said["warnings"])
    assert min(seen.values()) > 5


@pytest.mark.parametrize("written", ["cafe\u0301", "caf\u00e9\u200b", "\ufeffcaf\u00e9", "caf\u00e9\u00a0"])
def test_a_class_in_another_unicode_form_decides_no_gate(service: Any, written: str) -> None:
    gold = ["caf\u00e9", "no"] * 10
    request = {
        "gold": gold,
        "u": ["no", "no"] * 10,
        "v": [written, "no"] * 10,
        "statistic": {"name": "accuracy"},
    }
    assert warned(service.post(PREDICTIONS, request).json()) == ["labels_written_otherwise"]
    said = service.post("/v1/gate", {"kind": "predictions", "request": request})
    assert errors_of(said) == [("/request/v", "labels_written_otherwise")]


def test_differences_of_six_hundred_magnitudes_are_bracketed(service: Any) -> None:
    random = Random(2)

    def scores() -> list[float]:
        return [
            random.randint(0, 10)
            * 10.0 ** random.randint(-random.choice([3, 10, 300]), random.choice([3, 10, 300]))
            for _ in range(100)
        ]

    # Planned at 15 s: a machine that does other things as well may need more than the usual deadline.
    request = {"u": scores(), "v": scores()}
    response = service.post("/v1/tests/scores", {**request, "precision": 1e-2, "timeout_s": 300})
    assert response.status_code == 200, response.text
    low, high = response.json()["p_value_bounds"]
    assert 0 <= low <= response.json()["p_value"] <= high <= 1


def test_few_items_of_which_some_are_enormous_have_their_mid_p_at_once(service: Any) -> None:
    """Three coins that end at 0: of the eight sums only two are 0, so that p = 1 and mid-p = 1 - 2 / 16."""
    body = {"u": [0, 1, 1, -(10**10)], "v": [0, -(10**10), 0, 2]}
    answer = service.post("/v1/tests/scores", body).json()
    assert answer["p_value"] == 1.0
    assert answer["mid_p_value"] == pytest.approx(1 - 2 / 16, rel=1e-9)


RATIO = {"name": "ratio", "numerator": "errors", "denominator": "words"}


def request(words_u: list[int], words_v: list[int], **options: Any) -> dict[str, Any]:
    """U makes nine errors on every item and V one."""
    n = len(words_u)
    u, v = {"errors": [9] * n, "words": words_u}, {"errors": [1] * n, "words": words_v}
    return {"u": u, "v": v, "statistic": RATIO, "pmf": "none", **options}


def undefined(words_u: list[int], words_v: list[int]) -> float:
    """The share of the assignments that leave a system without words."""
    states = list(swaps(words_u, words_v))
    return sum(not (sum(own) and sum(other)) for own, other in states) / len(states)


@pytest.mark.parametrize("method", ["auto", "enumeration", "dp", "grid", "monte_carlo"])
def test_a_regression_that_no_outcome_could_show_is_inconclusive(service: Service, method: str) -> None:
    """All words are in one item of each system: half the assignments give all of them to one system."""
    words_u, words_v = [10] + [0] * 11, [0, 10] + [0] * 10
    assert undefined(words_u, words_v) == 0.5
    asked = {"kind": "counts", "request": request(words_u, words_v, method=method), "higher_is_better": False}
    answer = service.post("/v1/gate", asked)
    metric = answer.json()["metrics"][0]
    assert metric["verdict"] == answer.json()["verdict"] == "inconclusive"
    # And the one outcome with all errors of U's kind where both have words.
    assert metric["decision"]["min_attainable_p"] == 0.5 + 2.0**-12
    assert {"undefined_outcomes", "alpha_unattainable"} <= {one["code"] for one in metric["test"]["warnings"]}
    assert service.post("/v1/gate", {**asked, "on_inconclusive": "fail"}).status_code == 409


@pytest.mark.parametrize("alternative", ["greater", "less", "two-sided"])
@pytest.mark.parametrize(
    ("words_u", "words_v"),
    [([3, 0, 2, 0], [0, 4, 0, 1]), ([1, 0, 0, 0, 0, 0], [1, 2, 0, 0, 3, 0]), ([2, 0, 5], [1, 0, 0])],
)
def test_the_least_p_value_is_that_of_the_assignments_without_a_value(
    service: Service, words_u: list[int], words_v: list[int], alternative: str
) -> None:
    answer = service.post("/v1/tests/counts", request(words_u, words_v, alternative=alternative)).json()
    assert answer["method"]["exact"]
    share = undefined(words_u, words_v)
    assert ("undefined_outcomes" in {one["code"] for one in answer["warnings"]}) == (share > 0)
    assert share <= answer["min_attainable_p"] <= answer["p_value"]


@pytest.mark.parametrize("method", ["enumeration", "dp", "grid"])
def test_no_warning_if_every_assignment_has_a_value(service: Service, method: str) -> None:
    """A state without words lies on the lattice, between others, and is out of reach."""
    answer = service.post("/v1/tests/counts", request([5, 3, 4], [3, 5, 2], method=method))
    assert answer.json()["method"]["name"] == method
    codes = {one["code"] for one in answer.json()["warnings"]}
    assert "undefined_outcomes" not in codes
    assert answer.json()["min_attainable_p"] == 0.25


@pytest.mark.parametrize("method", ["enumeration", "grid", "dp"])
def test_unreachable_states_without_a_value_are_accepted(service: Service, method: str) -> None:
    """Between the least and the largest sums lie some of which the formula has no value, far from all that occur."""
    body = {
        "u": {"a": [47, 7, 26, 9], "b": [32, 6, 41, 1], "c": [3, 0, 0, 37]},
        "v": {"a": [38, 0, 0, 0], "b": [8, 20, 5, 0], "c": [8, 35, 12, 19]},
        "statistic": {"name": "expression", "expression": "(a+b)/(c+1) - a/(b+1)"},
        "alternative": "less",
        "pmf": "none",
        "method": method,
    }
    answer = service.post("/v1/tests/counts", body)
    assert answer.status_code == 200, answer.text
    assert answer.json()["p_value"] == pytest.approx(0.875)
    assert "undefined_outcomes" not in {one["code"] for one in answer.json()["warnings"]}
