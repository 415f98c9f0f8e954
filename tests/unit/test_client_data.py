"""Data of the client: columns, and tables of data frames."""

import csv
import io
import json
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, cast

import httpx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from exactperm import compare, compare_files, gate as decide, test as run_test
from exactperm.client import (
    InvalidData,
    InvalidTest,
    ProblemError,
    counts,
    effects,
    files,
    gate,
    metric,
    predictions,
    scores,
)
from exactperm.client.calls import NPY, gate_call, plan_call, test_call as call_of_test
from exactperm.client.data import encoded, plain
from exactperm.client.responses import JSON
from exactperm.local.run import power
from exactperm.local.transport import InProcess
from exactperm.settings import Settings
from tests.enumeration import by_signs as counted

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
def test_options_that_a_query_cannot_hold_are_sent_as_json(options: dict[str, Any]) -> None:
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
def test_mixed_arrays_are_sent_as_json(u: Any, v: Any) -> None:
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
def test_numbers_that_are_not_finite_are_refused_before_sending(bad: float, as_array: bool) -> None:
    u, v = [1.0, 2.0, 3.0], [1.0, bad, 3.0]
    with pytest.raises(InvalidData) as caught:
        call_of_test(scores(np.array(u), np.array(v)) if as_array else scores(u, v))
    assert caught.value.pointer == "/v/1"


def test_nested_numbers_that_are_not_finite_are_found() -> None:
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
def test_values_without_a_json_form_are_refused(bad: Any) -> None:
    with pytest.raises(InvalidData, match=r"is not a|has no order"):
        plain(bad)


def test_a_wrong_shape_is_refused() -> None:
    with pytest.raises(InvalidData, match="N x 4"):
        call_of_test(counts(np.zeros((3, 2), int)))


def test_booleans_in_arrays_are_1_and_0() -> None:
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


# Tables of Python: pandas, polars, Arrow, structured arrays and records are read as their CSV is, in every call.


Columns = Mapping[str, Sequence[Any]]
RNG = np.random.default_rng(1)
N = 60
OLD = pd.DataFrame({"id": range(1, N + 1), "score": RNG.normal(0.8, 0.05, N).round(3)})
NEW = (
    OLD.assign(score=(OLD.score - 0.03 + RNG.normal(0, 0.02, N)).round(3))
    .sample(frac=1, random_state=3)
    .reset_index(drop=True)
)
MERGED = NEW.merge(OLD, on="id", suffixes=("_new", "_old"))


class Stream:
    """A relation of DuckDB, as far as we use one: it hands out a stream of Arrow."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table
        self.columns = table.column_names

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._table.__arrow_c_stream__(requested_schema)


class LazyFrame:
    """A polars query, whose content is unknown before it runs."""

    def collect(self) -> Any:
        raise AssertionError

    def collect_schema(self) -> Any:
        raise AssertionError


def polars_of(columns: Columns) -> Any:
    return pl.DataFrame({name: list(column) for name, column in columns.items()}, strict=False)


def records_of(columns: Columns) -> list[dict[str, Any]]:
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


WAYS: dict[str, Callable[[Columns], Any]] = {
    "pandas": lambda columns: pd.DataFrame({name: list(column) for name, column in columns.items()}),
    "pandas by its first column": lambda columns: pd.DataFrame(dict(columns)).set_index(next(iter(columns))),
    "arrow": lambda columns: pa.table({name: list(column) for name, column in columns.items()}),
    "stream of arrow": lambda columns: Stream(pa.table({name: list(one) for name, one in columns.items()})),
    "structured array": lambda columns: pd.DataFrame(dict(columns)).to_records(index=False),
    "records": records_of,
    "columns by name": dict,
    "polars": polars_of,
}


def told(result: Any) -> tuple[Any, ...]:
    return result.p_value, result.statistic.observed, result.statistic.u, result.statistic.v, result.items.n


def columns_of(frame: pd.DataFrame) -> dict[str, list[Any]]:
    return {name: frame[name].tolist() for name in frame.columns}


@pytest.mark.parametrize("way", WAYS)
def test_a_column_of_ids_pairs_and_is_not_a_score(way: str) -> None:
    new, old = (WAYS[way](columns_of(frame)) for frame in (NEW, OLD))
    wanted = run_test(MERGED.score_new, MERGED.score_old)
    assert told(run_test(new, old)) == told(wanted)
    assert wanted.p_value < 1e-9
    refused = decide(new, old)
    assert (refused.verdict, refused.p_value) == ("fail", decide(MERGED.score_new, MERGED.score_old).p_value)
    both = WAYS[way](columns_of(MERGED))
    assert told(run_test(both)) == told(wanted)
    assert run_test(both).raw["names"] == {"u": "score_new", "v": "score_old"}
    if way == "pandas by its first column":  # columns, which are given in one order
        new = new.sort_index()
    against = decide(new, against={"main": old, "again": old})
    assert [one.against for one in against.metrics] == ["main", "again"]
    assert against.verdict == "fail"


BOARD = {
    "new": RNG.integers(0, 2, 50).tolist(),
    "old": RNG.integers(0, 2, 50).tolist(),
    "older": RNG.integers(0, 2, 50).tolist(),
}
BESIDE: dict[str, dict[str, list[Any]]] = {
    "numbers": {"id": list(range(100, 150))},
    "texts": {"id": [f"q{row}" for row in range(50)]},
    "an index of pandas": {"Unnamed: 0": list(range(50))},
}


def systems_of(result: Any) -> list[tuple[str, float]]:
    return [(one.name, one.score) for one in result.board.systems]


@pytest.mark.parametrize("beside", BESIDE)
@pytest.mark.parametrize("way", WAYS)
def test_ids_are_not_a_system_of_a_board(way: str, beside: str) -> None:
    wanted = compare(BOARD)
    found = compare(WAYS[way]({**BESIDE[beside], **BOARD}))
    assert systems_of(found) == systems_of(wanted)
    assert found.board.pairs == wanted.board.pairs
    each = {name: WAYS[way]({"id": list(range(50)), "score": BOARD[name]}) for name in BOARD}
    assert systems_of(compare(each)) == systems_of(wanted)


def test_clusters_weights_and_gold_of_a_table_are_those_of_its_csv() -> None:
    frame = pd.DataFrame({"id": range(50), **BOARD, "cluster": [row // 5 for row in range(50)]})
    wanted = compare(BOARD, clusters=[row // 5 for row in range(50)])
    assert compare(frame).board.pairs == wanted.board.pairs
    assert compare(frame.drop(columns="cluster"), clusters=frame["cluster"]).board.pairs == wanted.board.pairs
    with pytest.raises(InvalidTest, match="label"):  # gold is never a system
        compare(frame.assign(label=[0, 1] * 25))
    weights = [Fraction(1 + row % 3, 3) for row in range(50)]
    of_two = frame[["id", "new", "old"]]
    wanted_two = run_test(BOARD["new"], BOARD["old"], weights=weights)
    assert told(run_test(of_two, weights=weights)) == told(wanted_two)
    assert told(run_test(of_two.assign(w=weights), weights="w")) == told(wanted_two)
    doc = of_two.assign(doc=frame["cluster"])
    wanted_two = run_test(BOARD["new"], BOARD["old"], clusters=frame["cluster"])
    assert told(run_test(doc, clusters="doc", system_u="new", system_v="old")) == told(wanted_two)
    with pytest.raises(InvalidData, match="rows"):
        run_test(of_two, clusters=[1, 2])


def test_labels_and_gold_of_a_table() -> None:
    table = pd.DataFrame(
        {"y_true": list("ababab"), "y_pred_new": list("ababaa"), "y_pred_old": list("bbabaa")}
    )
    wanted = run_test(table.y_pred_new, table.y_pred_old, gold=table.y_true)
    assert told(run_test(table)) == told(wanted)
    assert told(run_test(table.drop(columns="y_true"), gold=table.y_true)) == told(wanted)
    assert run_test(table, average="macro", statistic="f1").p_value == (
        run_test(
            table.y_pred_new, table.y_pred_old, gold=table.y_true, average="macro", statistic="f1"
        ).p_value
    )


def test_data_sets_of_tables() -> None:
    frame = pd.DataFrame({"id": range(100, 150), **BOARD})
    found: Any = compare(datasets={"x": frame, "y": frame.iloc[:30]}, aggregate=None)
    wanted: Any = compare(
        datasets={"x": BOARD, "y": {name: column[:30] for name, column in BOARD.items()}}, aggregate=None
    )
    for name in "xy":
        assert found.datasets[name].pairs == wanted.datasets[name].pairs


def test_columns_of_one_name_with_numbers_are_runs() -> None:
    u, v = RNG.integers(0, 2, (12, 3)), RNG.integers(0, 2, (12, 3))
    wanted = run_test(u.tolist(), v.tolist())
    names = ["seed_13", "seed_42", "seed_7"]
    for name, ids in (("id", list(range(30, 42))), ("question_id", [f"q{row}" for row in range(12)])):
        frames = [pd.DataFrame(one, columns=names).assign(**{name: ids}) for one in (u, v)]
        assert told(run_test(*frames)) == told(wanted)
        turned = [frames[0].sample(frac=1, random_state=2), frames[1].set_index(name)]
        assert told(run_test(turned[0].set_index(name), turned[1])) == told(wanted)
    assert told(run_test(*(pd.DataFrame(one, columns=names) for one in (u, v)))) == told(wanted)
    assert told(run_test(*(pd.DataFrame(one) for one in (u, v)))) == told(wanted)
    assert told(run_test(u, v)) == told(wanted)


@pytest.mark.parametrize(
    "names",
    [("f1", "f2"), ("rouge1", "rouge2"), ("top1", "top5"), ("mc1", "mc2"), ("p@1", "p@2"), ("x3", "x9")],
)
def test_metrics_with_numbers_are_not_runs(names: tuple[str, str]) -> None:
    ids = [f"q{row}" for row in range(12)]
    u, v = (pd.DataFrame(RNG.random((12, 2)).round(2), columns=list(names)).assign(id=ids) for _ in "uv")
    for left, right in ((u, v), (u.drop(columns="id"), v.drop(columns="id"))):
        with pytest.raises(InvalidTest) as refused:
            run_test(left, right)
        assert refused.value.errors[0].code == "choose_score_column"
        assert run_test(left, right, metric=names[1]).p_value == run_test(u[names[1]], v[names[1]]).p_value


def test_single_precision_is_read_as_the_decimals_that_it_prints() -> None:
    u, v = RNG.normal(0, 1, 12).round(2), RNG.normal(0.5, 1, 12).round(2)
    wanted = run_test(u, v)
    ids = [f"q{row}" for row in range(12)]
    single = [pd.Series(one.astype(np.float32), index=ids) for one in (u, v)]
    assert told(run_test(*single)) == told(wanted)
    assert told(run_test(single[0].to_numpy(), single[1].to_numpy(), clusters=ids)) == told(wanted)
    frames = [one.rename("score").rename_axis("id").reset_index() for one in single]
    assert told(run_test(*frames)) == told(wanted)
    assert told(run_test(*map(pa.Table.from_pandas, frames))) == told(wanted)


@pytest.mark.parametrize("form", ["list", "frame", "by id"])
def test_decimals_with_more_digits_than_a_double_keeps_are_refused(form: str) -> None:
    """As doubles the sum of these would be 0, and p 5/8 instead of 1/2."""
    u = [Decimal("0.20000000000000000001"), Decimal("-0.1"), Decimal("-0.1")]
    forms: dict[str, Any] = {
        "list": (u, [0, 0, 0]),
        "frame": (pd.DataFrame({"id": list("abc"), "u": u, "v": [0, 0, 0]}),),
        "by id": (dict(zip("abc", u, strict=True)), dict.fromkeys("abc", 0)),
    }
    with pytest.raises(InvalidData, match="more digits"):
        run_test(*forms[form], alternative="greater")


def test_decimals_and_fractions_are_exact() -> None:
    thirds = [Fraction(1, 3), Fraction(2, 3), Fraction(1, 7), Fraction(5, 21), Fraction(1)]
    others = [Fraction(0), Fraction(1, 3), Fraction(1, 2), Fraction(1, 21), Fraction(1, 3)]
    wanted = float(counted(thirds, others))
    ids = list("abcde")
    for u, v in (
        (thirds, others),
        (dict(zip(ids, thirds, strict=True)), dict(zip(ids, others, strict=True))),
        (pd.DataFrame({"id": ids, "s": thirds}), pd.DataFrame({"id": ids[::-1], "s": others[::-1]})),
        (pd.Series(thirds, index=ids), pd.Series(others, index=ids)),
        (pd.DataFrame({"id": ids, "a": thirds, "b": others}), None),
    ):
        assert run_test(u, v).p_value == wanted
    tenths = [Decimal("0.1"), Decimal("0.3"), Decimal("0.7"), Decimal(2)]
    fifths = [Decimal("0.2"), Decimal("0.2"), Decimal("0.6"), Decimal("1.9")]
    wanted = float(counted([Fraction(one) for one in tenths], [Fraction(one) for one in fifths]))
    assert run_test(tenths, fifths).p_value == wanted
    assert run_test(pa.table({"id": ids[:4], "a": tenths, "b": fifths})).p_value == wanted
    with pytest.raises(InvalidData, match="common denominator"):
        run_test([Fraction(1, 10**9 + 7), 1], [0, 0])
    halves = [Fraction(1, 2), Fraction(3, 4), Fraction(1)]
    assert run_test(halves, np.array([0.25, 0.5, 0.75])).p_value == 0.25  # numbers of NumPy beside fractions


MISSING = [
    [1, None, 1, 1, 0],
    [1.0, float("nan"), 1.0, 1.0, 0.0],
    np.array([1.0, np.nan, 1.0, 1.0, 0.0]),
    pd.Series([1, None, 1, 1, 0], dtype="Int64"),
    pd.Series([1.0, np.nan, 1.0, 1.0, 0.0]),
    pa.array([1, None, 1, 1, 0]),
    {"a": 1, "b": None, "c": 1, "d": 1, "e": 0},
]


@pytest.mark.parametrize(
    "u", MISSING, ids=["list", "list of floats", "array", "Int64", "floats", "arrow", "by id"]
)
def test_a_missing_score_is_left_out_where_that_is_asked_for(u: Any) -> None:
    v: Any = [0, 1, 0, 0, 0]
    v = dict(zip("abcde", v, strict=True)) if isinstance(u, dict) else v
    wanted = run_test([1, 1, 1, 0], [0, 0, 0, 0])
    assert told(run_test(u, v, on_missing="drop")) == told(wanted)
    assert (
        decide(u, v, on_missing="drop", policy="improve").p_value
        == decide([1, 1, 1, 0], [0] * 4, policy="improve").p_value
    )
    assert run_test(u, v, on_missing="bounds").missing is not None
    with pytest.raises((InvalidData, InvalidTest)) as refused:
        run_test(u, v)
    assert "drop" in str(refused.value)
    frame = pd.DataFrame(
        {"id": list("abcde"), "u": list(u.values()) if isinstance(u, dict) else list(u), "v": [0, 1, 0, 0, 0]}
    )
    assert told(run_test(frame, on_missing="drop")) == told(wanted)


def test_items_that_are_left_out_take_clusters_and_weights_along() -> None:
    u, v = [1, None, 1, 1, 0], [0, 1, None, 0, 1]
    kept = [0, 3, 4]
    wanted = run_test([u[at] for at in kept], [v[at] for at in kept], clusters=[1, 2, 2], weights=[1, 4, 5])
    assert told(run_test(u, v, on_missing="drop", clusters=[1, 1, 2, 2, 2], weights=[1, 2, 3, 4, 5])) == told(
        wanted
    )
    said = run_test(u, v, on_missing="drop").raw["pairing"]
    assert said == {"matched": 3, "only_u": 1, "only_v": 1}


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "sets": (lambda: run_test({0.9, 0.1, 0.5}, {0.2, 0.3, 0.4}), "no order"),
    "a set of a board": (lambda: compare({"A": {1, 2}, "B": {3, 4}}), "no order"),
    "frozen sets": (lambda: decide(frozenset({1}), frozenset({2})), "no order"),
    "a path": (lambda: run_test(Path("a.jsonl"), Path("b.jsonl")), "files(u="),
    "the name of a file": (lambda: decide("a.jsonl", "b.jsonl"), "files(u="),
    "a query": (lambda: run_test(LazyFrame(), LazyFrame()), ".collect()"),
    "a query of a board": (lambda: compare(LazyFrame()), ".collect()"),
    "a function": (lambda: run_test([1, 2], [0, 1], statistic=cast("Any", np.mean)), "formula"),
    "a table and a column": (lambda: run_test(NEW, OLD["score"]), "a column"),
    "two columns of one name": (lambda: compare(pd.concat([OLD, OLD], axis=1)), "Two columns"),
    "a name of SciPy": (lambda: run_test([1], [2], statistic="wilcoxon"), "signed_rank"),
    "metrics of tables": (lambda: decide([metric("a", scores(NEW, OLD)), metric("b", scores(NEW, OLD))]), "metrics="),
    "a list of tables": (lambda: scores(NEW, OLD).body, "no JSON form"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_unreadable_data_are_refused_with_a_remedy(case: str) -> None:
    ask, phrase = REFUSED[case]
    with pytest.raises((InvalidData, ProblemError)) as refused:
        ask()
    assert phrase in str(refused.value)


def test_parameters_of_a_statistic_are_taken_by_every_call() -> None:
    u, v = {"a": 1, "b": 2, "c": 5}, {"a": 0, "b": 3, "c": 1}
    lists = list(u.values()), list(v.values())
    wanted = run_test(np.array(lists[0]), np.array(lists[1]), statistic="quantile_difference", q=0.75)
    inside = {"name": "quantile_difference", "q": 0.75}
    for given_u, given_v in ((u, v), lists, (pd.Series(u), pd.Series(v))):
        assert told(run_test(given_u, given_v, statistic="quantile_difference", q=0.75)) == told(wanted)
        assert told(run_test(given_u, given_v, statistic=inside)) == told(wanted)
    assert run_test(*lists, clusters=[1, 1, 2], statistic="signed_rank", zero_method="pratt").p_value == 1.0
    labels = run_test(["x", "y"], ["x", "x"], gold=["x", "y"], statistic="f1", average="macro")
    assert labels.statistic.u == 1.0
    assert compare({"A": u, "B": v}, statistic="quantile_difference", q=0.75).board.pairs


def test_power_takes_the_shares_that_the_command_line_takes() -> None:
    wanted = power({"kind": "binary", "p10": 0.08, "p01": 0.05}, "n").solution.n
    assert power(p10=0.08, p01=0.05, solve="n").solution.n == wanted == 1185
    assert (
        power(sd=0.3, solve="n", effect=0.05).solution.n
        == power({"kind": "sd", "sd": 0.3}, "n", effect=0.05).solution.n
    )


# The same table as a frame, as a CSV file, as a CSV body, and as JSON: the same answer, or a refusal.

numbers = (
    st.integers(-3, 3),
    st.decimals(-2, 2, places=2).map(float),
    st.booleans(),
    st.sampled_from([None, 0.5, 2]),
)
ids = st.one_of(
    st.lists(st.integers(0, 99), unique=True, min_size=1, max_size=7),
    st.lists(
        st.text("abcäß,;\"' 01", min_size=1, max_size=5).map(str.strip).filter(bool),
        unique=True,
        min_size=1,
        max_size=7,
    ),
)


@st.composite
def tables(draw: st.DrawFn) -> dict[str, list[Any]]:
    keys = draw(ids)
    n = len(keys)
    column = st.sampled_from(numbers).flatmap(lambda number: st.lists(number, min_size=n, max_size=n))
    names = draw(st.sampled_from([("u", "v"), ("new", "old"), ("model a", "model-b")]))
    key = draw(st.sampled_from(["id", "id", "question_id", "topic", "Unnamed: 0"]))
    table: dict[str, list[Any]] = {key: keys, **{name: draw(column) for name in names}}
    if draw(st.booleans()):
        table["cluster"] = draw(st.lists(st.sampled_from(["x", "y", "z"]), min_size=n, max_size=n))
    return table


def csv_of(table: Columns) -> bytes:
    stream = io.StringIO()
    writer = csv.writer(stream)
    writer.writerow(table)
    writer.writerows(zip(*table.values(), strict=True))
    return stream.getvalue().encode()


def outcome(ask: Callable[[], Any]) -> Any:
    try:
        result = ask()
        return result if isinstance(result, list) else told(result)
    except ProblemError as error:
        return error.errors[0].code
    except InvalidData as error:
        return error.detail


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(table=tables(), drops=st.booleans())
def test_a_frame_is_its_csv(table: dict[str, list[Any]], drops: bool) -> None:
    key, first, second = list(table)[:3]
    options: Any = {"on_missing": "drop"} if drops else {}
    wanted = outcome(lambda: run_test(files(file=("file.csv", csv_of(table)), **options)))
    board = outcome(lambda: run_board(compare_files(("file.csv", csv_of(table)))))
    for way in ("pandas", "pandas by its first column", "arrow", "stream of arrow"):
        assert outcome(partial(run_test, WAYS[way](table), **options)) == wanted
        assert outcome(partial(run_board, WAYS[way](table))) == board
    if isinstance(wanted, str):
        return
    clusters: Any = {"clusters": table["cluster"]} if "cluster" in table else {}
    ids = list(map(str, table[key]))
    assert outcome(partial(run_test, table[first], table[second], ids=ids, **clusters, **options)) == wanted
    request = httpx.Request(
        "POST",
        "http://test/v1/tests/scores",
        params=options,
        content=csv_of(table),
        headers={"content-type": "text/csv"},
    )
    answer = json.loads(InProcess(Settings()).handle_request(request).read())
    assert answer["p_value"] == wanted[0]


def run_board(systems: Any) -> list[tuple[str, float]]:
    return systems_of(compare(systems))


@settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck))
@given(table=tables(), turn=st.randoms())
def test_two_frames_are_their_files_in_any_order(table: dict[str, list[Any]], turn: Any) -> None:
    key, first, second = list(table)[:3]
    order = list(range(len(table[key])))
    turn.shuffle(order)
    u = {key: table[key], "score": table[first]}
    v = {key: [table[key][at] for at in order], "score": [table[second][at] for at in order]}
    wanted = outcome(lambda: run_test(files(u=("u.csv", csv_of(u)), v=("v.csv", csv_of(v)))))
    for way in ("pandas", "arrow"):
        assert outcome(partial(run_test, WAYS[way](u), WAYS[way](v))) == wanted
    by_index = outcome(lambda: run_test(*(WAYS["pandas by its first column"](one) for one in (u, v))))
    assert isinstance(by_index, str) if isinstance(wanted, str) else by_index == wanted
    keyed = [dict(zip(map(str, one[key]), one["score"], strict=True)) for one in (u, v)]
    if not isinstance(wanted, str):
        assert outcome(lambda: run_test(*keyed)) == wanted


def test_predictions_and_counts_of_tables() -> None:
    table = pd.DataFrame({"id": list("abcd"), "gold": list("xyxy"), "u": list("xyyy"), "v": list("yyyy")})
    wanted = run_test(predictions(table.gold, table.u, table.v))
    assert told(run_test(predictions("gold", table[["id", "gold", "u", "v"]]))) == told(wanted)
    sides = {
        name: [[8, 3, 7], [6, 5, 7], [2, 3, 1], [1, 2, 1]][place]
        for place, name in enumerate(("tp_u", "tp_v", "incorrect_u", "incorrect_v"))
    }
    wanted = run_test(
        counts(
            {"tp": sides["tp_u"], "incorrect": sides["incorrect_u"]},
            {"tp": sides["tp_v"], "incorrect": sides["incorrect_v"]},
        )
    )
    assert told(run_test(counts(pa.table(sides)))) == told(wanted)
    ids = {"id": list("xyz")}
    assert told(run_test(counts(pa.table({**ids, **sides})))) == told(wanted)
    u, v = (
        pd.DataFrame({**ids, "tp": sides[f"tp_{role}"], "incorrect": sides[f"incorrect_{role}"]})
        for role in "uv"
    )
    assert told(run_test(counts(u, v.iloc[::-1]))) == told(wanted)
    items = counts(u.drop(columns="id").to_dict("records"), v.drop(columns="id").to_dict("records"))
    assert isinstance(items.body["u"], list)
    assert told(run_test(items)) == told(wanted)


def test_files_and_tables_are_mixed() -> None:
    content = csv_of(columns_of(OLD))
    assert told(run_test(files(u=NEW, v=("old.csv", content)))) == told(run_test(NEW, OLD))
    assert systems_of(compare(compare_files({"new": NEW, "old": ("old.csv", content)}))) == systems_of(
        compare({"new": NEW, "old": OLD})
    )


@pytest.mark.parametrize("name", ["id", "question_id", "Unnamed: 0", "seed"])
@pytest.mark.parametrize("numbers", [list, np.array], ids=["lists", "arrays"])
def test_ids_among_columns_by_name_are_not_a_system(name: str, numbers: Any) -> None:
    columns = {name: numbers(range(100, 150)), **{system: numbers(own) for system, own in BOARD.items()}}
    wanted = compare(BOARD)
    assert systems_of(compare(columns)) == systems_of(wanted)
    matrix = np.column_stack(list(columns.values()))
    assert systems_of(compare(list(columns), matrix)) == systems_of(wanted)
    assert systems_of(compare(list(columns), matrix.tolist())) == systems_of(wanted)
    if name != "id":
        repeated = {**columns, name: numbers([row // 2 for row in range(50)])}
        assert len(systems_of(compare(repeated))) == 4


@pytest.mark.parametrize("name", ["cluster", "weight", "gold", "y_true"])
def test_other_columns_by_name_are_asked_about(name: str) -> None:
    with pytest.raises(InvalidTest) as refused:
        compare({name: list(range(1, 51)), **BOARD})
    (flaw,) = refused.value.errors
    assert (flaw.pointer, flaw.code) == (f"/systems/{name}", "no_system")


def test_a_wrong_statistic_or_parameter_is_where_it_was_given() -> None:
    for options, pointer in (
        ({"statistic": "acuracy"}, "/statistic"),
        ({"statistic": {"name": "acuracy"}}, "/statistic/name"),
        ({"statistic": "quantile_difference", "q": 2}, "/q"),
    ):
        wrong: Any = options
        with pytest.raises(InvalidTest) as refused:
            run_test({"a": 1, "b": 2}, {"a": 0, "b": 1}, **wrong)
        assert refused.value.errors[0].pointer == pointer


def test_the_package_shows_its_names_alone() -> None:
    import exactperm

    assert {name for name in dir(exactperm) if not name.startswith("__")} == set(exactperm.__all__)
