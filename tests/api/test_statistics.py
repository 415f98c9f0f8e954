"""Test statistics over HTTP: the API accepts the whole catalogue, and items have weights."""

import typing
from fractions import Fraction
from typing import Any, get_args

import pytest
from sklearn import metrics

from exactperm.service.kinds import TestKind
from exactperm.service.schema.fields import STATISTIC_MODELS, entries
from exactperm.statistics.catalogue import STATISTICS
from exactperm.statistics.pairwise.data import PAIRWISE
from tests.api.conftest import answer_to, error_of, errors_of
from tests.enumeration import by_swaps

GOLD = ["a", "b", "a", "c", "b", "a", "c", "b"]
U = ["a", "b", "b", "c", "b", "a", "a", "b"]
V = ["b", "b", "a", "c", "a", "a", "c", "c"]
SPANS = {
    "gold": [["B-X", "I-X", "O"], ["O", "B-Y"], ["B-X", "O"]],
    "u": [["B-X", "I-X", "O"], ["O", "B-Y"], ["I-X", "O"]],
    "v": [["B-X", "O", "O"], ["O", "O"], ["B-X", "B-Y"]],
}
TEXTS = {
    "gold": ["the cat sat on the mat", "a dog barks at night", "rain"],
    "u": ["the cat sat on the mat", "a dog barked at night", "rain"],
    "v": ["the cat is on a mat", "the dog barks at night", "it rains"],
}
SCORES = {"u": [3, 2, 5, 1], "v": [1, 2, 4, 3]}
COUNTS = {
    "u": {
        "tp": [8, 3, 7],
        "fp": [1, 2, 1],
        "fn": [1, 1, 0],
        "tn": [4, 5, 3],
        "correct": [3, 4, 5],
        "incorrect": [2, 3, 1],
    },
    "v": {
        "tp": [6, 5, 7],
        "fp": [1, 1, 1],
        "fn": [0, 1, 0],
        "tn": [6, 4, 3],
        "correct": [3, 3, 5],
        "incorrect": [1, 2, 1],
    },
}
SEGMENTS = {
    role: {
        "sys_len": [10, 9],
        "ref_len": [10, 10],
        "edits": [2 + at, 3],
        **{f"correct_{n}": [8 - n - at, 7 - n] for n in range(1, 5)},
        **{f"total_{n}": [11 - n, 10 - n] for n in range(1, 5)},
        **{f"{kind}_{n}": [20 - n, 19 - n] for kind in ("hyp", "ref") for n in range(1, 7)},
        **{f"match_{n}": [9 - n - at, 8 - n] for n in range(1, 7)},
    }
    for at, role in enumerate("uv")
}
NEEDED: dict[tuple[str, str], dict[str, Any]] = {
    ("scores", "quantile_difference"): {"q": 0.9},
    ("counts", "ratio"): {"numerator": "incorrect", "denominator": "correct"},
    ("counts", "expression"): {"expression": "tp / (tp + fp)"},
    **{("predictions", name): {"average": "macro"} for name in ("f1", "precision", "recall")},
    **{("predictions", name): {"positive": "a"} for name in ("g_mean", "specificity", "npv")},
}
EVERY = [(kind, entry.name) for kind in STATISTIC_MODELS for entry in entries(kind)]


def data_of(kind: str, name: str) -> dict[str, Any]:
    if kind == "effects":
        return {"stay": [3, -1, 2]}
    if kind == "scores":
        return SCORES
    if kind == "counts":
        if name in {"bleu", "chrf", "ter"}:
            return SEGMENTS
        few = {
            "f1": ("tp", "incorrect"),
            "jaccard": ("tp", "incorrect"),
            "accuracy": ("correct", "incorrect"),
        }
        return {
            role: {count: COUNTS[role][count] for count in few.get(name, COUNTS[role])} for role in ("u", "v")
        }
    if name in {"bleu", "chrf", "ter"}:
        return TEXTS
    if name in PAIRWISE:
        return {"gold": [1, 0, 1, 0], "u": [0.9, 0.2, 0.7, 0.4], "v": [0.6, 0.5, 0.8, 0.7]}
    return SPANS if name.startswith(("span", "token")) else {"gold": GOLD, "u": U, "v": V}


@pytest.mark.parametrize("kind", STATISTIC_MODELS)
def test_the_wire_has_the_names_parameters_and_choices_of_the_catalogue(kind: TestKind) -> None:
    fields = dict(STATISTIC_MODELS[kind].model_fields)
    assert set(get_args(fields.pop("name").annotation)) == {entry.name for entry in entries(kind)}
    parameters = {p.name: p for entry in entries(kind) for p in entry.parameters}
    assert set(fields) == set(parameters)
    for name, field in fields.items():
        inner = [part for part in get_args(field.annotation) if typing.get_origin(part) is typing.Literal]
        choices = get_args(inner[0]) if inner else ()
        assert choices == parameters[name].choices, name
        assert field.description


def test_every_kind_of_the_catalogue_is_on_the_wire_and_in_meta(service: Any) -> None:
    assert {entry.name for part in STATISTICS.values() for entry in part} == {name for _, name in EVERY}
    said = service.get("/v1/meta").json()["statistics"]
    assert [(kind, entry["name"]) for kind in said for entry in said[kind]] == EVERY
    assert all(
        entry["meaning"] and all(p["meaning"] for p in entry["parameters"])
        for part in said.values()
        for entry in part
    )


@pytest.mark.parametrize(("kind", "name"), EVERY, ids=str)
def test_every_statistic_can_be_asked_for(service: Any, kind: str, name: str) -> None:
    statistic = {"name": name, **NEEDED.get((kind, name), {})}
    said = answer_to(service.post(f"/v1/tests/{kind}", {**data_of(kind, name), "statistic": statistic}))
    assert 0 < said["p_value"] <= 1
    assert said["p_value_bounds"][0] <= said["p_value"] <= said["p_value_bounds"][1]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["f1", "precision", "recall"])
@pytest.mark.parametrize("average", ["micro", "macro"])
@pytest.mark.parametrize("labels", [None, ["a", "c"]])
def test_class_scores_and_their_p_values_are_those_of_scikit_learn_over_all_swaps(
    service: Any, name: str, average: str, labels: list[str] | None
) -> None:
    scorer = getattr(metrics, f"{name}_score")

    def score(said: list[str]) -> float:
        return float(scorer(GOLD, said, average=average, labels=labels, zero_division=0))

    wanted = float(by_swaps(U, V, score, near=1e-9))
    statistic = {"name": name, "average": average, "labels": labels}
    said = service.post(
        "/v1/tests/predictions", {"gold": GOLD, "u": U, "v": V, "statistic": statistic}
    ).json()
    assert said["statistic"]["u"] == pytest.approx(score(U))
    assert said["p_value"] == pytest.approx(wanted, rel=1e-9)


def test_repeated_samples_are_averaged_exactly_and_may_be_ragged(service: Any) -> None:
    u, v = [[1, 0, 1], [1, 1], [0]], [[0, 0, 1], [1, 0], [0]]
    said = service.post("/v1/tests/scores", {"u": u, "v": v}).json()
    mean = sum(
        (Fraction(sum(a), len(a)) - Fraction(sum(b), len(b)) for a, b in zip(u, v, strict=True)), Fraction(0)
    )
    assert said["statistic"]["observed"] == pytest.approx(float(mean / 3))
    assert said["p_value"] == 0.5
    keyed = {"u": dict(zip("abc", u, strict=True)), "v": dict(reversed(list(zip("abc", v, strict=True))))}
    assert service.post("/v1/tests/scores", keyed).json()["id"] == said["id"]
    lines = b"\n".join(f'{{"u":{a},"v":{b}}}'.encode() for a, b in zip(u, v, strict=True))
    assert service.body("/v1/tests/scores", lines, "application/x-ndjson").json()["id"] == said["id"]


def test_a_unit_states_the_rounding_of_printed_scores(service: Any) -> None:
    request = {"u": [0.333, 0.667, 1], "v": [0, 0.333, 0.667], "statistic": {"unit": "1/3"}}
    said = service.post("/v1/tests/scores", request).json()
    assert said["p_value"] == 0.25
    assert said["statistic"]["observed"] == pytest.approx(1 / 3, rel=1e-12)
    bad = {**request, "statistic": {"unit": "one third"}}
    assert service.post("/v1/tests/scores", bad).json()["errors"][0]["pointer"] == "/statistic/unit"


PREDICTIONS = "/v1/tests/predictions"
CASES: list[tuple[str, dict[str, Any], str]] = [
    ("average", {"statistic": {"name": "f1", "average": "samples"}}, "/statistic/average"),
    ("three classes", {"statistic": {"name": "f1", "average": "binary"}}, "/statistic/average"),
    ("positive", {"statistic": {"name": "f1", "average": "micro", "positive": "a"}}, "/statistic/positive"),
    ("labels", {"statistic": {"name": "f1", "average": "micro", "labels": ["z"]}}, "/statistic/labels"),
    ("labels of numbers", {"statistic": {"name": "f1", "average": "micro", "labels": [0.5]}}, "/statistic/labels/0"),
    ("no labels", {"statistic": {"name": "f1", "average": "micro", "labels": []}}, "/statistic/labels"),
    ("scheme", {**SPANS, "statistic": {"name": "span_f1", "scheme": "BILUO"}}, "/statistic/scheme"),
    ("scheme of others", {"statistic": {"name": "mcc", "scheme": "BIO"}}, "/statistic/scheme"),
    ("no sequences", {"statistic": {"name": "span_f1"}}, "/gold/0"),
    ("no tags", {**SPANS, "u": [["B-X", "I-X", "O"], ["O", 3], ["O", "O"]], "statistic": {"name": "span_f1"}}, "/u/1/1"),
    ("ragged", {**SPANS, "u": [["O"] * 3, ["O"], ["O"] * 2], "statistic": {"name": "token_accuracy"}}, "/u/1"),
    (
        "ragged by id",
        {"gold": {"x": ["a"], "y": ["b"]}, "u": {"y": ["b"], "x": ["a", "b"]}, "v": {"y": ["b"], "x": ["a"]},
         "statistic": {"name": "token_accuracy"}},
        "/u/x",
    ),
    ("texts", {**TEXTS, "v": ["a", ["b"], "c"], "statistic": {"name": "bleu"}}, "/v/1"),
    ("numbers for texts", {**TEXTS, "u": [1, 2, 3], "statistic": {"name": "ter"}}, "/u/0"),
    ("references", {**TEXTS, "gold": [["a"], [], ["b"]], "statistic": {"name": "chrf"}}, "/gold/1"),
    ("tokenizer", {**TEXTS, "statistic": {"name": "bleu", "tokenize": "spm"}}, "/statistic/tokenize"),
    ("word order", {**TEXTS, "statistic": {"name": "chrf", "word_order": 99}}, "/statistic/word_order"),
    ("flag", {**TEXTS, "statistic": {"name": "ter", "normalized": "yes"}}, "/statistic/normalized"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "pointer"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_a_parameter_that_does_not_fit_is_pointed_at(
    service: Any, changes: dict[str, Any], pointer: str
) -> None:
    request = {"gold": GOLD, "u": U, "v": V, **changes}
    assert error_of(service.post(PREDICTIONS, request))[0] == pointer


PATH = "/v1/tests/scores"
HEAVY_U, HEAVY_V, WEIGHTS = [1, 0.5, 0, 1], [0, 0.25, 1, 1], ["1/3", "0.5", "2", "1e-1"]


def test_bodies_agree(service: Any) -> None:
    by_order = service.post(PATH, json={"u": HEAVY_U, "v": HEAVY_V, "weights": ["1/3", 0.5, 2, 0.1]}).json()
    ids = list("abcd")
    keyed = {
        "u": dict(zip(ids, HEAVY_U, strict=True)),
        "v": dict(zip(reversed(ids), reversed(HEAVY_V), strict=True)),
        "weights": dict(zip(ids, WEIGHTS, strict=True)) | {"unknown": 7},
    }
    rows = list(zip(ids, HEAVY_U, HEAVY_V, WEIGHTS, strict=True))
    answers = [service.post(PATH, json=keyed)]
    for separator, media_type in ((",", "text/csv"), ("\t", "text/tab-separated-values")):
        table = "\n".join(separator.join(map(str, row)) for row in [("id", "u", "v", "weight"), *rows])
        quoted = table.replace("1/3", '"1/3"')
        answers += [
            service.post(PATH, content=text, headers={"content-type": media_type}) for text in (table, quoted)
        ]
    lines = "\n".join(f'{{"id": "{i}", "u": {u}, "v": {v}, "weight": "{w}"}}' for i, u, v, w in rows)
    answers.append(service.post(PATH, content=lines, headers={"content-type": "application/x-ndjson"}))
    for answered in answers:
        assert answered.status_code == 200, answered.text[:500]
        said = answered.json()
        assert (said["id"], said["p_value"]) == (by_order["id"], by_order["p_value"])
        assert said["statistic"] == by_order["statistic"]
    assert service.post(PATH, json={"u": HEAVY_U, "v": HEAVY_V}).json()["id"] != by_order["id"]


def test_a_long_list_of_integers(service: Any) -> None:
    n = 3_000
    request = {"u": [1, 0, 1] * (n // 3), "v": [0, 1, 0] * (n // 3), "weights": [7, 1, 5] * (n // 3)}
    assert answer_to(service.post(PATH, json=request))["statistic"]["observed"] == pytest.approx(11 / 13)


@pytest.mark.parametrize(
    ("given", "pointer", "code"),
    [
        ({"weights": [1, 2]}, "/weights", "length_mismatch"),
        ({"weights": [1, 2, 0, 1]}, "/weights/2", "not_a_weight"),
        ({"weights": [1, "two", 1, 1]}, "/weights/1", "not_a_weight"),
        ({"weights": {"a": 1}}, "/weights", "no_ids"),
        ({"weights": 3}, "/weights", "not_a_column"),
        ({"weights": {"a": 1, "b": 2}, "ids": ["a", "b", "c", "d"]}, "/weights", "unmatched_ids"),
        (
            {"weights": {"a": 1, "b": -1, "c": 1, "d": 1}, "ids": ["a", "b", "c", "d"]},
            "/weights/b",
            "not_a_weight",
        ),
        ({"weights": [1, 1, 1, 2], "statistic": {"name": "sign"}}, "/weights", "no_weights"),
        ({"weights": [1, 1, 1, 2], "test": "bootstrap"}, "/weights", "no_weights"),
    ],
)
def test_refusals(service: Any, given: dict[str, Any], pointer: str, code: str) -> None:
    assert errors_of(service.post(PATH, json={"u": HEAVY_U, "v": HEAVY_V, **given})) == [(pointer, code)]


def test_a_wrong_weight_in_a_table(service: Any) -> None:
    assert (
        error_of(
            service.post(
                PATH, content="id,weight,u,v\na,1,1,0\nb,x,0,1\n", headers={"content-type": "text/csv"}
            )
        )[0]
        == "/line/3/2"
    )


def test_counts_have_no_weights(service: Any) -> None:
    counts = {"tp": [1, 2], "incorrect": [0, 1]}
    assert (
        error_of(service.post("/v1/tests/counts", json={"u": counts, "v": counts, "weights": [1, 2]}))[0]
        == "/weights"
    )
