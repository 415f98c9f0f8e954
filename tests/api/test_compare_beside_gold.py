"""One table with gold and the scores, or the labels, of many systems: its board is that of the JSON request, whichever way it is sent."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

COMPARE = "/v1/compare"
CSV = {"content-type": "text/csv"}
TSV = {"content-type": "text/tab-separated-values"}
N = 40


def data(gold: str) -> dict[str, Any]:
    generator = np.random.default_rng(13)
    truth = generator.integers(0, 2 if gold == "label" else 5, N)
    systems = {
        name: np.round(truth + generator.normal(0.0, sigma, N), 1).tolist()
        for name, sigma in (("B", 1.5), ("A", 0.8), ("C", 3.0))
    }
    return {
        "gold": truth.tolist(),
        "systems": systems,
        "groups": generator.integers(0, 4, N).tolist(),
        "event": generator.integers(0, 2, N).tolist(),
    }


def table(given: dict[str, Any], gold: str, extra: dict[str, list[Any]], delimiter: str = ",") -> bytes:
    columns = {gold: given["gold"], **given["systems"], **extra}
    rows = zip(*columns.values(), strict=True)
    lines = [delimiter.join(columns), *(delimiter.join(map(str, row)) for row in rows)]
    return ("\n".join(lines) + "\n").encode()


def board_of(answer: Any) -> tuple[Any, Any, Any]:
    assert answer.status_code == 200, answer.text
    record = answer.json()
    return record["statistic"], record["systems"], record["pairs"]


@pytest.mark.parametrize(
    ("gold", "statistic", "extra"),
    [
        ("label", {"name": "auc"}, {}),
        ("label", {"name": "auc", "scale": "raw", "positive": 0}, {"group": "groups"}),
        ("mqm", {"name": "kendall", "group_average": "sum"}, {"group": "groups"}),
        ("mqm", {"name": "pairwise_accuracy", "epsilon": 0.5}, {}),
        ("time", {"name": "concordance"}, {"event": "event"}),
        ("human", {"name": "spearman"}, {"cluster": "groups"}),
    ],
)
def test_every_way_gives_the_board_of_the_json_request(
    service: Any, gold: str, statistic: dict[str, Any], extra: dict[str, str]
) -> None:
    given = data(gold)
    named = {"group": "groups", "event": "event", "cluster": "clusters"}
    beside = {named[name]: given[field] for name, field in extra.items()}
    request = {name: given[name] for name in ("gold", "systems")} | beside
    by_json = board_of(service.post(COMPARE, json={**request, "kind": "predictions", "statistic": statistic}))
    columns = {name: given[field] for name, field in extra.items()}
    fields = {("statistic" if name == "name" else name): str(value) for name, value in statistic.items()}
    content = table(given, gold, columns)
    by_form = service.post(COMPARE, files={"file": ("t.csv", content)}, data=fields)
    by_query = service.post(COMPARE, content=content, headers=CSV, params=fields)
    by_tabs = service.post(
        COMPARE,
        content=table(given, gold, columns, "\t"),
        headers=TSV,
        params={**fields, "gold_column": gold},
    )
    assert by_json == board_of(by_form) == board_of(by_query) == board_of(by_tabs)
    assert f'gold is the column "{gold}"' in by_form.json()["reading"]["notes"][-1]


def labels(words: tuple[Any, ...]) -> dict[str, Any]:
    generator = np.random.default_rng(7)
    gold = generator.integers(0, len(words), N)
    systems = {
        name: np.where(generator.random(N) < right, gold, generator.integers(0, len(words), N))
        for name, right in (("B", 0.4), ("A", 0.9), ("C", 0.6))
    }
    return {
        "gold": [words[one] for one in gold],
        "systems": {name: [words[one] for one in column] for name, column in systems.items()},
        "clusters": generator.integers(0, 9, N).tolist(),
    }


@pytest.mark.parametrize("words", [("cat", "dog", "emu"), (0, 1, 2), (0, 1)], ids=str)
@pytest.mark.parametrize(
    "statistic",
    [
        {"name": "accuracy"},
        {"name": "f1", "average": "macro"},
        {"name": "mcc"},
        {"name": "kappa"},
        {"name": "balanced_accuracy"},
        {"name": "g_mean", "positive": 1},
    ],
    ids=lambda statistic: str(statistic["name"]),
)
def test_labels_of_every_kind_are_compared_where_the_statistic_is_one_of_labels(
    service: Any, words: tuple[Any, ...], statistic: dict[str, Any]
) -> None:
    given = labels(words)
    if "positive" in statistic:
        statistic = {**statistic, "positive": words[1]}
    by_json = board_of(service.post(COMPARE, json={**given, "kind": "predictions", "statistic": statistic}))
    fields = {("statistic" if name == "name" else name): str(value) for name, value in statistic.items()}
    content = table(given, "label", {"cluster": given["clusters"]})
    other = table(given, "truth", {"cluster": given["clusters"]}, "\t")
    by_form = service.post(COMPARE, files={"file": ("t.csv", content)}, data=fields)
    by_query = service.post(COMPARE, content=content, headers=CSV, params=fields)
    by_tabs = service.post(COMPARE, content=other, headers=TSV, params={**fields, "gold_column": "truth"})
    assert by_json == board_of(by_form) == board_of(by_query) == board_of(by_tabs)


def test_text_beside_gold_is_labels_without_a_statistic(service: Any) -> None:
    given = labels(("cat", "dog"))
    content = table(given, "label", {})
    sent = service.post(COMPARE, content=content, headers=CSV, params={"gold_column": "label"})
    assert board_of(sent)[0] == "accuracy"


@pytest.mark.parametrize(
    ("words", "scores"), [((0, 1), "auc"), ((0, 1, 2), "kendall"), ((0, 1.0, 2), "kendall")], ids=str
)
def test_whole_numbers_that_gold_has_too_need_a_statistic(
    service: Any, words: tuple[Any, ...], scores: str
) -> None:
    """Where gold is named, but not whether what stands beside it are classes or scores."""
    content = table(labels(words), "label", {})
    fields = {"gold_column": "label"}
    two = {**fields, "system_u": "A", "system_v": "B"}
    sent = {
        "/?statistic": service.post(COMPARE, content=content, headers=CSV, params=fields),
        "/options/statistic": service.post(COMPARE, files={"file": ("t.csv", content)}, data=fields),
        "/options/statistic of two": service.post(
            "/v1/tests/files", files={"file": ("t.csv", content)}, data=two
        ),
    }
    for pointer, answer in sent.items():
        flaw = answer.json()["errors"][0]
        assert (flaw["pointer"], flaw["code"]) == (pointer.split()[0], "choose_statistic")
        assert [one["fields"]["statistic"] for one in flaw["choices"]] == ["accuracy", scores]
    for chosen in ("accuracy", scores):
        answer = service.post(COMPARE, content=content, headers=CSV, params={**fields, "statistic": chosen})
        assert board_of(answer)[0] == chosen


def test_without_a_statistic_gold_tells_it_and_scores_are_scikit_learns(service: Any) -> None:
    given = data("label")
    answer = service.post(
        COMPARE, content=table(given, "label", {}), headers=CSV, params={"gold_column": "label"}
    )
    statistic, systems, _ = board_of(answer)
    assert statistic == "auc"
    for one in systems:
        assert one["score"] == pytest.approx(roc_auc_score(given["gold"], given["systems"][one["name"]]))


@pytest.mark.parametrize("on_missing", ["complete", "pairwise"])
@pytest.mark.parametrize("ids", [False, True])
def test_items_without_a_score_are_as_in_the_json_request(service: Any, on_missing: str, ids: bool) -> None:
    given = data("label")
    keys = [f"q{row}" for row in range(N)]
    gaps = {"A": (3, 7), "C": (7, 11)}
    systems = {
        name: {key: value for row, (key, value) in enumerate(zip(keys, column, strict=True)) if row not in gaps.get(name, ())}
        for name, column in given["systems"].items()
    }  # fmt: skip
    request = {
        "kind": "predictions",
        "statistic": {"name": "auc"},
        "on_missing": on_missing,
        "systems": systems,
        "gold": dict(zip(keys, given["gold"], strict=True)),
        "groups": dict(zip(keys, given["groups"], strict=True)),
    }
    for name, rows in gaps.items():
        given["systems"][name] = [
            "" if row in rows else one for row, one in enumerate(given["systems"][name])
        ]
    content = table(given, "label", {"group": given["groups"], **({"id": keys} if ids else {})})
    fields = {"statistic": "auc", "on_missing": on_missing}
    refused = service.post(COMPARE, content=content, headers=CSV, params={"statistic": "auc"})
    assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (422, "/line/5/3")
    assert board_of(service.post(COMPARE, json=request)) == board_of(
        service.post(COMPARE, content=content, headers=CSV, params=fields)
    )


@pytest.mark.parametrize(
    ("header", "query", "pointer", "code"),
    [
        ("label,A,B", {}, "/line/1/1", "gold_column"),  # gold is no system
        ("truthful,A,B", {"statistic": "auc"}, "/line/1", "missing_column"),  # no gold is guessed
        ("label,A,B", {"statistic": "auc", "systems": "A,label"}, "/line/1", "choose_systems"),
        ("label,A,mean", {"statistic": "auc"}, "/line/1/3", "summary_column"),
        ("label,,B", {"statistic": "auc"}, "/line/1/2", "index_column"),
        ("label,A,B", {"gold_column": "gold"}, "/line/1", "choose_gold_column"),
        ("label,A,B", {"gold_column": "label", "statistic": "ratio"}, "/?statistic", "unknown_statistic"),
        ("label,A,B", {"gold_column": "label", "scheme": "BIO"}, "/?scheme", "unused_option"),
        ("label,A", {"statistic": "auc"}, "", "too_few_systems"),
        ("truthful,A,B", {"statistic": "accuracy"}, "/line/1", "missing_column"),
        ("label,A,B,group", {"statistic": "accuracy", "groups": "group"}, "/?groups", "unused_option"),
    ],
)
def test_what_is_not_told_is_refused(
    service: Any, header: str, query: dict[str, str], pointer: str, code: str
) -> None:
    width = header.count(",") + 1
    rows = [",".join(str((row * (column + 2)) % 3 % 2) for column in range(width)) for row in range(12)]
    answer = service.post(COMPARE, content="\n".join([header, *rows]), headers=CSV, params=query)
    flaw = answer.json()["errors"][0]
    assert (answer.status_code, flaw["pointer"], flaw["code"]) == (422, pointer, code), flaw["detail"]
