"""The Python client and columns of data frames: paired by their index, by order where that only counts the rows."""

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest

from exactperm.client import InvalidData, counts, effects, gate, predictions, scores
from exactperm.client.calls import call_of
from exactperm.client.data import has_index
from tests.api.conftest import answer_to


def answer(service: Any, request: Any) -> Any:
    call = call_of(request)
    return answer_to(service.body(call.path, call.content, call.content_type, params=list(call.query)))


U, V = [1.0, 0.0, 0.5, 0.25], [0.0, 1.0, 0.5, 0.75]
IDS = ["a", "b", "c", "d"]
OTHER = [3, 1, 0, 2]


def shuffled(values: Sequence[Any]) -> list[Any]:
    return [values[place] for place in OTHER]


def test_an_index_of_labels_pairs(service: Any) -> None:
    wanted = answer(service, scores(dict(zip(IDS, U, strict=True)), dict(zip(IDS, V, strict=True))))
    u, v = pd.Series(U, index=IDS), pd.Series(shuffled(V), index=shuffled(IDS))
    said = answer(service, scores(u, v))
    assert (said["id"], said["pairing"]) == (wanted["id"], wanted["pairing"])
    both = answer(service, scores(u, pd.Series(V, index=IDS), confidence_level=0.9))
    assert both["items"] == wanted["items"]
    assert both["moved"]["toward_u"] == ["a"]


def test_a_default_index_and_arrays_are_paired_by_order(service: Any) -> None:
    wanted = answer(service, scores(np.array(U), np.array(V)))
    for u, v in ((pd.Series(U), pd.Series(V)), (pd.Series(U), np.array(V)), (pd.Series(U), V)):
        assert call_of(scores(u, v)).content == call_of(scores(np.array(U), np.array(V))).content or v is V
        assert answer(service, scores(u, v))["p_value"] == wanted["p_value"]
    frame = pd.DataFrame({"x": U, "y": V})
    assert answer(service, scores(frame["x"], frame["y"]))["id"] == wanted["id"]
    of_table = answer(service, scores(frame))  # of other names: read as its CSV, whose systems are x and y
    assert (of_table["p_value"], of_table["statistic"]["observed"]) == (
        wanted["p_value"], wanted["statistic"]["observed"],
    )  # fmt: skip
    assert of_table["names"] == {"u": "x", "v": "y"}
    turned = pd.DataFrame({"v": V, "u": U})
    assert answer(service, scores(turned))["statistic"]["u"] == wanted["statistic"]["u"]


def test_a_shuffled_default_index_is_undone(service: Any) -> None:
    wanted = answer(service, scores(np.array(U), np.array(V)))
    v = pd.Series(shuffled(V), index=OTHER)
    said = answer(service, scores(pd.Series(U), v))
    assert (said["p_value"], said["items"]) == (wanted["p_value"], wanted["items"])
    wanted = answer(service, scores(np.array(U), np.array(V), clusters=[0, 0, 1, 1]))
    said = answer(service, scores(pd.Series(U), v, clusters=pd.Series([0, 0, 1, 1])))
    assert (said["p_value"], said["items"]) == (wanted["p_value"], wanted["items"])


def test_rows_that_were_filtered_keep_their_labels(service: Any) -> None:
    u, v = pd.Series(U, index=[7, 9, 11, 30]), pd.Series(V, index=[7, 9, 11, 30])
    call = call_of(scores(u, v, clusters=pd.Series(list("xxyy"), index=[7, 9, 11, 30])))
    assert b'"ids":["7","9","11","30"]' in call.content
    assert answer(service, scores(u, v, ids=["p", "q", "r", "s"]))["items"]["n"] == 4
    far = pd.Series(V, index=[1, 2, 3, 4])
    call = call_of(scores(u, far))
    said = service.body(call.path, call.content, call.content_type)
    assert said.json()["errors"][0]["code"] == "unmatched_ids"
    near = pd.Series(V, index=[7, 9, 11, 31])
    assert answer(service, scores(u, near, on_missing="drop"))["pairing"] == {
        "matched": 3,
        "only_u": 1,
        "only_v": 1,
    }


def test_clusters_of_another_order_go_by_label(service: Any) -> None:
    u, v = pd.Series(U, index=IDS), pd.Series(V, index=IDS)
    keys = dict(zip(IDS, "xxyz", strict=True))
    wanted = answer(
        service, scores(dict(zip(IDS, U, strict=True)), dict(zip(IDS, V, strict=True)), clusters=keys)
    )
    clusters = pd.Series(shuffled("xxyz"), index=shuffled(IDS))
    assert answer(service, scores(u, v, clusters=clusters))["p_value"] == wanted["p_value"]
    assert (
        answer(service, scores(u, dict(zip(IDS, V, strict=True)), clusters=keys))["p_value"]
        == wanted["p_value"]
    )


def test_predictions_and_gates(service: Any) -> None:
    gold = pd.Series(["N", "V", "N", "V"], index=IDS)
    u = pd.Series(shuffled(["N", "V", "N", "N"]), index=shuffled(IDS))
    said = answer(service, predictions(gold, u, gold))
    assert (said["statistic"]["u"], said["statistic"]["v"]) == (0.75, 1.0)
    call = call_of(gate(predictions(gold, u, gold)))
    assert service.body(call.path, call.content).json()["metrics"][0]["test"]["statistic"]["u"] == 0.75


def test_counts_by_name_and_as_frames(service: Any) -> None:
    u = {"tp": [8, 3, 7, 1], "fp": [1, 2, 0, 2], "fn": [1, 1, 1, 4]}
    v = {"tp": [6, 5, 7, 2], "fp": [0, 1, 0, 1], "fn": [1, 1, 0, 3]}
    wanted = answer(service, counts(u, v))
    turned = {name: shuffled(values) for name, values in v.items()}
    for left, right in (
        (
            {name: pd.Series(one, index=IDS) for name, one in u.items()},
            {n: pd.Series(one, index=shuffled(IDS)) for n, one in turned.items()},
        ),
        (pd.DataFrame(u, index=IDS), pd.DataFrame(turned, index=shuffled(IDS))),
        (pd.DataFrame(u, index=IDS), pd.DataFrame(v, index=IDS)),
        (pd.DataFrame(u), pd.DataFrame(v)),
    ):
        said = answer(service, counts(left, right))
        assert (said["p_value"], said["statistic"]) == (wanted["p_value"], wanted["statistic"])
    four = {"tp_v": [6, 5], "incorrect_v": [1, 2], "tp_u": [8, 3], "incorrect_u": [2, 3]}
    said = answer(service, counts(pd.DataFrame(four)))
    assert said["statistic"]["u"] == pytest.approx(11 / (11 + 5 / 2))


@pytest.mark.parametrize(
    ("make", "pointer"),
    [
        (lambda: scores(pd.Series(U, index=list("aabc")), pd.Series(V, index=IDS)), "/u"),
        (lambda: scores(pd.Series(U, index=IDS), np.array(V)), "/v"),
        (lambda: scores(pd.Series(U, index=IDS), V), "/v"),
        (lambda: scores(pd.Series(U, index=IDS), pd.Series(V, index=shuffled(IDS)), ids=IDS), "/ids"),
        (lambda: scores(pd.Series(U, index=IDS), pd.Series(V, index=shuffled(IDS)), clusters=[1, 1, 2, 2]), "/clusters"),
        (lambda: effects(pd.Series([1, 2, 3, 4], index=IDS), pd.Series([0, 1, 2, 3], index=shuffled(IDS))), "/swap"),
        (lambda: counts({"tp": pd.Series([1, 2], index=[4, 5]), "incorrect": pd.Series([1, 2], index=[5, 6])}, {"tp": pd.Series([1, 2], index=[4, 5]), "incorrect": pd.Series([1, 2], index=[4, 5])}), "/u/incorrect"),
        (lambda: predictions(pd.Series(IDS, index=IDS), IDS, IDS), "/u"),
    ],
    ids=["twice", "array", "list", "ids", "clusters", "effects", "counts", "predictions"],
)  # fmt: skip
def test_indexes_without_common_items_are_refused(make: Any, pointer: str) -> None:
    with pytest.raises(InvalidData) as caught:
        make()
    assert caught.value.pointer == pointer


@pytest.mark.parametrize("seed", range(3))
def test_random_frames_against_pairing_by_hand(seed: int, service: Any) -> None:
    rng = random.Random(seed)
    for _ in range(25):
        n = rng.randint(2, 8)
        labels = rng.sample(
            [0, 1, 2, 3, 4, 5, 6, 7, "a", "b", "é", (1, 2)][: 8 if rng.random() < 0.5 else 12], n
        )
        u = {label: rng.choice([0, 1, 0.5]) for label in labels}
        order = rng.sample(labels, n)
        v = {label: rng.choice([0, 1, 0.5]) for label in order}
        by_hand = answer(service, scores([u[label] for label in labels], [v[label] for label in labels]))
        said = answer(
            service,
            scores(
                pd.Series(list(u.values()), index=[str(one) if isinstance(one, tuple) else one for one in u]),
                pd.Series(list(v.values()), index=[str(one) if isinstance(one, tuple) else one for one in v]),
            ),
        )
        assert (said["p_value"], said["statistic"], said["items"]) == (
            by_hand["p_value"], by_hand["statistic"], by_hand["items"],
        )  # fmt: skip


def test_only_series_and_frames_have_an_index() -> None:
    assert not any(map(has_index, ([1, 2], (1, 2), "text", np.arange(3), {"a": 1}, range(3))))
