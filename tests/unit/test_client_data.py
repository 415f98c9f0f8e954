from __future__ import annotations

import io
import json
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exactperm.client import InvalidData, counts, effects, files, gate, metric, predictions, scores
from exactperm.client.calls import JSON, NPY, gate_call, plan_call, test_call as call_of_test
from exactperm.client.data import encoded, plain

U, V = np.array([0.85, 0.9, 0.78]), np.array([0.8, 0.85, 0.75])


def body(call: Any) -> Any:
    return json.loads(call.content)


def array(call: Any) -> Any:
    assert call.content_type == NPY
    return np.load(io.BytesIO(call.content), allow_pickle=False)


def test_two_vectors_are_sent_as_one_array_of_two_columns() -> None:
    call = call_of_test(scores(U, V))
    assert (call.path, call.query) == ("/v1/tests/scores", ())
    assert array(call).tolist() == [[0.85, 0.8], [0.9, 0.85], [0.78, 0.75]]


def test_an_array_of_two_columns_is_sent_as_it_is() -> None:
    assert array(call_of_test(scores(np.column_stack([U, V])))).shape == (3, 2)


def test_an_array_of_four_columns_is_counts() -> None:
    rows = np.array([[8, 2, 6, 1], [3, 3, 5, 2]])
    assert array(call_of_test(counts(rows))).tolist() == rows.tolist()


def test_arrays_of_counts_by_name_are_sent_in_the_order_of_the_contract() -> None:
    u = {"incorrect": np.array([2, 3]), "tp": np.array([8, 3])}
    v = {"tp": np.array([6, 5]), "incorrect": np.array([1, 2])}
    assert array(call_of_test(counts(u, v))).tolist() == [[8, 2, 6, 1], [3, 3, 5, 2]]


def test_options_of_an_array_stand_in_the_query() -> None:
    options: dict[str, Any] = {
        "alpha": 0.01,
        "exact_fraction": True,
        "names": ("new & old", "ß"),
        "statistic": {"name": "signed_rank", "zero_method": "pratt"},
    }
    assert dict(call_of_test(scores(U, V, **options)).query) == {
        "alpha": "0.01",
        "exact_fraction": "true",
        "name_u": "new & old",
        "name_v": "ß",
        "statistic": "signed_rank",
        "zero_method": "pratt",
    }


@pytest.mark.parametrize(
    "options",
    [
        {"ids": ["a", "b", "c"]},
        {"clusters": [1, 1, 2]},
        {"statistic": {"name": "mean_difference", "unit": 0.01}},
    ],
    ids=["ids", "clusters", "unit"],
)
def test_what_a_query_cannot_say_makes_it_json(options: dict[str, Any]) -> None:
    call = call_of_test(scores(U, V, **options))
    assert call.content_type == JSON
    assert body(call)["u"] == U.tolist()
    assert body(call).items() >= options.items()


@pytest.mark.parametrize(
    ("u", "v"),
    [
        ([1.0, 2.0], [1.0, 3.0]),
        (np.array([1, 2]), np.array([0.5, 2])),
        (np.array([[1, 2], [3, 4]]), [[1], [2]]),
    ],
    ids=["lists", "integers and floats", "samples"],
)
def test_what_is_no_array_of_one_kind_makes_it_json(u: Any, v: Any) -> None:
    call = call_of_test(scores(u, v))
    assert call.content_type == JSON
    assert body(call) == {"u": plain(u), "v": plain(v)}


def test_integers_beyond_a_double_are_not_rounded() -> None:
    u = np.array([2**53 + 1, 0])
    assert body(call_of_test(scores(u, np.array([0.5, 1.0]))))["u"] == [2**53 + 1, 0]


def test_pairing_by_id_is_json_in_the_callers_own_order() -> None:
    u, v = {"b": np.float64(1), 7: True}, OrderedDict([(7, 0), ("b", 2)])
    assert call_of_test(scores(u, v)).content == b'{"u":{"b":1.0,"7":1},"v":{"7":0,"b":2}}'


def test_keys_that_are_equal_as_text_are_refused() -> None:
    with pytest.raises(InvalidData, match=r"At u: Two keys"):
        call_of_test(scores({1: 0, "1": 0}, {1: 0}))


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize("as_array", [True, False])
def test_what_is_not_finite_is_refused_with_its_place_before_anything_is_sent(
    bad: float, as_array: bool
) -> None:
    u, v = [1.0, 2.0, 3.0], [1.0, bad, 3.0]
    with pytest.raises(InvalidData) as caught:
        call_of_test(scores(np.array(u), np.array(v)) if as_array else scores(u, v))
    assert caught.value.pointer == "/v/1"


def test_what_is_not_finite_deep_in_a_request_is_found() -> None:
    with pytest.raises(InvalidData, match=r'At u\["a/b"\]\[1\]: '):
        encoded({"u": {"a/b": [1.0, float("nan")]}})


@pytest.mark.parametrize(
    "request_", [scores(U, V, alpha=float("nan")), files(u=b"u", v=b"v", alpha=float("nan"))]
)
def test_an_option_of_arrays_and_files_that_is_not_finite_is_refused_with_its_name(request_: Any) -> None:
    with pytest.raises(InvalidData) as caught:
        call_of_test(request_)
    assert caught.value.pointer == "/alpha"


@pytest.mark.parametrize("bad", [np.array([1 + 2j]), np.array(["2020"], "M8"), object(), b"bytes"])
def test_what_has_no_place_in_json_is_refused(bad: Any) -> None:
    with pytest.raises(InvalidData, match="is no "):
        plain(bad)


def test_a_wrong_shape_is_refused() -> None:
    with pytest.raises(InvalidData, match="N x 4"):
        call_of_test(counts(np.zeros((3, 2), int)))


def test_truths_in_arrays_are_ones_and_noughts() -> None:
    assert plain(np.array([True, False])) == [1, 0]


def test_effects_say_their_expression_by_a_text() -> None:
    request = effects([[1, 2]], [[2, 1]], statistic="x1 / x2", alternative="greater")
    assert body(call_of_test(request)) == {
        "stay": [[1, 2]],
        "swap": [[2, 1]],
        "statistic": {"expression": "x1 / x2"},
        "alternative": "greater",
    }


def test_labels_of_predictions_may_be_arrays_of_text() -> None:
    request = predictions(np.array(["N", "V"]), ["N", "N"], ("V", "V"), statistic="accuracy")
    assert body(call_of_test(request))["gold"] == ["N", "V"]


def test_a_plan_wraps_a_request() -> None:
    call = plan_call(scores(U, V, alpha=0.1))
    assert body(call) == {"kind": "scores", "request": {"u": U.tolist(), "v": V.tolist(), "alpha": 0.1}}


def test_a_gate_of_one_test_is_kind_request_and_terms() -> None:
    call = gate_call(gate(scores([1], [2]), policy="improve", margin=0.5))
    assert body(call) == {
        "kind": "scores",
        "request": {"u": [1], "v": [2]},
        "policy": "improve",
        "margin": 0.5,
    }


def test_a_gate_of_several_metrics_keeps_their_own_terms() -> None:
    metrics = [
        metric("accuracy", scores([1], [2])),
        metric("seconds", scores([3], [4]), higher_is_better=False),
    ]
    assert body(gate_call(gate(metrics, alpha=0.01))) == {
        "metrics": [
            {"name": "accuracy", "kind": "scores", "request": {"u": [1], "v": [2]}},
            {"name": "seconds", "kind": "scores", "request": {"u": [3], "v": [4]}, "higher_is_better": False},
        ],
        "alpha": 0.01,
    }


def test_files_are_parts_with_their_names_and_options_are_fields(tmp_path: Path) -> None:
    path = tmp_path / "new système.csv"
    path.write_bytes(b"1,2\n")
    with (tmp_path / "old.csv").open("w+b") as old:
        old.write(b"3\n")
        old.seek(0)
        call = call_of_test(
            files(
                u=path, v=old, gold=("gold.csv", b"5\n"), ref=b"6\n", labels=["a", "b"], exact_fraction=True
            )
        )
    content = call.content.decode()
    assert call.content_type.startswith("multipart/form-data; boundary=")
    for said in (
        'name="u"; filename="new système.csv"',
        'name="v"; filename="old.csv"',
        'name="gold"; filename="gold.csv"',
        'name="ref"; filename="ref"',
        'name="labels"\r\n\r\n["a", "b"]\r\n',
        'name="exact_fraction"\r\n\r\ntrue\r\n',
    ):
        assert said in content


def test_a_statistic_of_files_with_parameters_is_flat() -> None:
    request = files(file=b"1,2\n", statistic={"name": "fbeta", "beta": 2}, names=("a", "b"))
    assert request.options == {"statistic": "fbeta", "beta": 2, "name_u": "a", "name_v": "b"}


def test_metrics_of_files_and_of_tests_are_not_mixed_up() -> None:
    both = [metric("a", files(file=b"1,2\n")), metric("b", files(file=b"1,2\n"))]
    with pytest.raises(InvalidData, match="go before a gate once"):
        gate(both)
    with pytest.raises(InvalidData, match="metrics= is for files"):
        gate(scores([1], [2]), metrics=[{"statistic": "sign"}])
    with pytest.raises(InvalidData, match="at least one metric"):
        gate([])


def test_groups_and_events_stand_beside_scores_and_times() -> None:
    test = predictions(
        np.array([3.0, 1.5]), U[:2], V[:2], groups=np.array(["a", "a"]), event=np.array([True, False]),
        statistic="concordance",
    )  # fmt: skip
    assert body(call_of_test(test)) == {
        "gold": [3.0, 1.5], "u": [0.85, 0.9], "v": [0.8, 0.85], "groups": ["a", "a"], "event": [1, 0],
        "statistic": "concordance",
    }  # fmt: skip
