"""Tests and comparisons in this process."""

import asyncio
import csv
import doctest
import html
import io
import json
import subprocess
import sys
import threading
import time
from dataclasses import FrozenInstanceError, fields
from fractions import Fraction
from pathlib import Path
from typing import Any, get_type_hints
from xml.etree import ElementTree as ET

import httpx
import numpy as np
import pandas as pd
import pytest

import exactperm.local.run
from exactperm import (
    compare as run_board,
    compare_files,
    counts,
    gate,
    metric,
    predictions,
    scores,
    test as run,
)
from exactperm.answers.board import (
    BoardRecord,
    CertaintyRecord,
    CertaintyRecord as Certainty,
    FamilyRecord,
    FamilyRecord as FamilyOfTests,
    GroupsRecord,
    GroupsRecord as Groups,
    PairRecord,
    SystemRecord,
)
from exactperm.api.openapi.schemas import CompareAnswer
from exactperm.client import (
    AsyncClient,
    Client,
    DeadlineExceeded,
    InvalidData,
    InvalidTest,
    PlanTooLarge,
    compare,
    scores as local_scores,
)
from exactperm.client.calls import NPY, compare_call
from exactperm.client.compare_requests import compare as compare_columns
from exactperm.client.responses import JSON
from exactperm.client.results import Board, CompareResult, PairResult, SystemResult
from exactperm.local.transport import InProcess, openblas
from exactperm.main import create_app
from exactperm.settings import Settings
from tests.enumeration import by_signs as counted

# `from exactperm import test, gate`: tests in this process, against counting all swaps.


ROOT = Path(__file__).parents[2]
U, V = [3, 1, 4, 1, 5, 9, 2, 6], [2, 7, 1, 1, 2, 8, 1, 2]
PATIENCE_S = 30.0


class Column:
    """A Series of polars, as far as we use one: it has values and no index."""

    def __init__(self, values: Any) -> None:
        self._values = values

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(self._values, dtype=dtype)


class Frame:
    """A DataFrame of polars, as far as we use one."""

    def __init__(self, columns: dict[str, Any]) -> None:
        self._columns = columns

    @property
    def columns(self) -> list[str]:
        return list(self._columns)

    def __getitem__(self, names: Any) -> Any:
        if isinstance(names, str):
            return Column(self._columns[names])
        return Frame({name: self._columns[name] for name in names})

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(list(self._columns.values()), dtype=dtype).T


def by_id(values: list[int]) -> dict[str, int]:
    return {f"i{n}": value for n, value in enumerate(values)}


LABELS = [f"i{n}" for n in range(len(U))]
BACKWARDS = {name: by_id(V)[name] for name in reversed(LABELS)}


@pytest.mark.parametrize(
    ("u", "v"),
    [
        (U, V),
        (np.array(U), np.array(V)),
        (np.column_stack([U, V]), None),
        (by_id(U), BACKWARDS),
        (pd.Series(U), pd.Series(V)),
        (pd.Series(by_id(U)), pd.Series(BACKWARDS)),
        (pd.DataFrame({"v": V, "u": U}), None),
        (pd.DataFrame({"v": V, "u": U}, index=LABELS), None),
        (Column(U), Column(V)),
        (Frame({"v": V, "u": U}), None),
        (scores(U, V), None),
    ],
    ids=[
        "lists", "arrays", "one array", "by id", "series", "series by index", "frame", "indexed frame", "polars series",
        "polars frame", "request",
    ],
)  # fmt: skip
def test_the_p_value_is_that_of_counting_all_swaps(u: Any, v: Any) -> None:
    result = run(u, v)
    assert result.p_value == counted(U, V)
    assert result.method.exact
    assert (result.statistic.u, result.statistic.v) == (sum(U) / 8, sum(V) / 8)


def test_the_answer_is_the_one_of_a_client() -> None:
    with Client("http://here", transport=InProcess(Settings())) as client:
        there = client.scores(U, V, confidence_level=0.9)
    here = run(U, V, confidence_level=0.9)
    assert here.id == there.id
    assert {**here.raw, "runtime": None} == {**there.raw, "runtime": None}


def test_predictions_and_counts() -> None:
    gold, good, bad = ["a", "b", "a", "b"], ["a", "b", "a", "b"], ["b", "a", "b", "a"]
    assert run(good, bad, gold=gold).p_value == 2 / 2**4
    assert run(predictions(gold, good, bad)).p_value == 2 / 2**4
    frame = Frame({"incorrect_v": [1, 0], "tp_u": [1, 2], "tp_v": [0, 1], "incorrect_u": [3, 4]})
    f1 = run(counts(frame, statistic="f1")).statistic
    assert (f1.u, f1.v) == pytest.approx((6 / 13, 2 / 3))


def test_the_examples_in_docstrings_are_true() -> None:
    examples = doctest.testmod(exactperm.local.run)
    assert (examples.failed, examples.attempted) == (0, 10)


def test_a_gate_is_a_result_with_any_verdict() -> None:
    up, down = [1, 2, 3, 4, 5, 6], [0, 1, 2, 3, 4, 5]
    passed, failed = gate(up, down, policy="improve"), gate(down, up)
    assert (passed.verdict, passed.p_value) == ("pass", 2.0**-6)
    assert (failed.verdict, failed.p_value) == ("fail", 2.0**-6)
    both = gate([metric("a", scores(up, down)), metric("b", scores(up, down))], policy="improve")
    assert (both.verdict, both.p_value) == ("pass", 2 * 2.0**-6)
    strict = gate(scores(up, down), policy="improve", alpha=0.01)
    assert (strict.verdict, strict.alpha) == ("fail", 0.01)


def test_errors_are_the_exceptions_of_the_client() -> None:
    with pytest.raises(InvalidTest) as refused:
        run([1, 2], [1])
    assert (refused.value.errors[0].pointer, refused.value.errors[0].code) == ("/v", "length_mismatch")
    with pytest.raises(PlanTooLarge):
        run(list(range(2000)), [0] * 2000, method="enumeration")
    with pytest.raises(InvalidData):
        run([1.0, float("nan")], [1.0, 2.0])
    with pytest.raises(TypeError, match="options already"):
        run(scores(U, V), alpha=0.1)
    with pytest.raises(TypeError, match="options already"):
        gate(scores(U, V), V)


@pytest.mark.parametrize("module", ["jinja2", "resvg_py"])
def test_a_report_without_its_libraries_is_refused(monkeypatch: pytest.MonkeyPatch, module: str) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with Client("http://here", transport=InProcess(Settings())) as client:
        with pytest.raises(InvalidTest, match=r"pip install \"exactperm\[pictures\]\"") as refused:
            client.report(scores(U, V), "html")
        assert client.report(scores(U, V), "markdown")
        assert client.report(scores(U, V), "svg").startswith(b"<?xml")  # it is drawn without any extra
    assert (refused.value.errors[0].pointer, refused.value.errors[0].code) == ("/?format", "not_installed")


def test_a_deadline_holds_and_ends_the_computation() -> None:
    random = np.random.default_rng(0)
    u, v = random.normal(size=2000), random.normal(size=2000)
    with pytest.raises(DeadlineExceeded):
        run(u, v, method="monte_carlo", samples=3_000_000, timeout_s=0.2)
    end = time.monotonic() + PATIENCE_S
    while any(thread.name == "exactperm-compute" for thread in threading.enumerate()):
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.slow
def test_importing_loads_only_used_modules() -> None:
    code = (
        "import sys, exactperm\n"
        "assert not {'numpy', 'httpx', 'pydantic'} & set(sys.modules)\n"
        "exactperm.test([1, 2, 4], [0, 0, 1])\n"
        "assert 'scipy' in sys.modules\n"
        "print(sorted({'fastapi', 'starlette', 'uvicorn', 'structlog', 'resvg_py', 'jinja2'} & set(sys.modules)))\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=4 * PATIENCE_S,
    )
    assert result.stdout == "[]\n"


def test_the_package_lists_its_members() -> None:
    assert set(exactperm.__all__) <= set(dir(exactperm))
    assert all(getattr(exactperm, name) is not None for name in exactperm.__all__)
    with pytest.raises(AttributeError):
        exactperm.nothing  # noqa: B018  (to read it is the test)


# `from exactperm import compare`, and the client: every way to give data is the same board.


NAMES = ["A", "B", "C"]
N = 16
MATRIX = (np.random.default_rng(3).integers(0, 5, (N, 3)) + np.array([3, 1, 0])).astype(np.int64)
BOARD_LABELS = [f"q{n:02}" for n in range(N)]
COLUMNS = dict(zip(NAMES, MATRIX.T, strict=True))
FRAME = pd.DataFrame(MATRIX, columns=NAMES)
INDEXED = FRAME.set_axis(BOARD_LABELS)
HOSTILE = ["<script>alert(1)</script>", '"&', "日本\x1b[31m", "=1+1", "x" * 190]


def told(result: CompareResult) -> dict[str, Any]:
    """An answer without its id, which depends on the items' ids, and without times."""
    unlike = {"id", "signature", "runtime", "reading", "warnings"}
    return {name: value for name, value in result.raw.items() if name not in unlike}


def shuffled(column: pd.Series, seed: int) -> pd.Series:
    return column.sample(frac=1, random_state=seed)


@pytest.fixture(scope="module")
def expected() -> dict[str, Any]:
    return told(run_board({name: column.tolist() for name, column in COLUMNS.items()}))


WAYS: dict[str, tuple[Any, ...]] = {
    "arrays": (COLUMNS,),
    "names in another order": ({name: COLUMNS[name] for name in reversed(NAMES)},),
    "names and an array": (NAMES, MATRIX),
    "names and rows": (NAMES, MATRIX.tolist()),
    "names and a frame": (NAMES, INDEXED),
    "by id": ({name: INDEXED[name].to_dict() for name in NAMES},),
    "frame": (FRAME,),
    "indexed frame": (INDEXED,),
    "frame of other types": (INDEXED.astype({"A": float, "B": "Int64"}),),
    "series in orders of their own": ({name: shuffled(INDEXED[name], n) for n, name in enumerate(NAMES)},),
    "series beside a dict": ({"A": INDEXED["A"].to_dict(), "B": INDEXED["B"], "C": shuffled(INDEXED["C"], 7)},),
    "polars": (Frame(COLUMNS),),
    "request": (compare(FRAME),),
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_every_way_to_give_scores_is_the_same_board(way: str, expected: dict[str, Any]) -> None:
    assert told(run_board(*WAYS[way])) == expected


def test_a_pair_of_a_board_is_a_test_of_two() -> None:
    from exactperm import test

    for pair in run_board(INDEXED).pairs or ():
        alone = test(INDEXED[pair.u], INDEXED[pair.v])
        assert pair.p_value == pytest.approx(alone.p_value, rel=1e-12)
        assert (pair.difference, pair.wins) == (alone.statistic.observed, alone.items.wins)


def test_arrays_travel_as_one_array_where_the_options_fit_into_the_query() -> None:
    call = compare_call(compare(COLUMNS, baseline="C", compare=None, adjust="bh"))  # type: ignore[arg-type]  # None is its default, which types do not offer
    assert (call.path, call.content_type) == ("/v1/compare", NPY)
    assert dict(call.query) == {
        "baseline": "C", "compare": "baseline", "adjust": "bh", "systems": '["A", "B", "C"]',
    }  # fmt: skip
    assert np.load(io.BytesIO(call.content), allow_pickle=False).tolist() == MATRIX.tolist()
    for request in (
        compare(COLUMNS, clusters=[n // 2 for n in range(N)]),
        compare({**COLUMNS, "C": MATRIX[:, 2] / 2}),  # of two kinds: integers stay integers
        compare({name * 1500: column for name, column in COLUMNS.items()}),
        compare({name: INDEXED[name] for name in NAMES}),
    ):
        assert compare_call(request).content_type == JSON
    assert compare_call(compare(INDEXED)).content_type.startswith("multipart/form-data")
    with pytest.raises(InvalidData, match="no JSON form"):
        compare(INDEXED).body  # noqa: B018  (to read it is the test)


def test_data_sets_and_their_members() -> None:
    both: Any = run_board(
        datasets={"x": INDEXED, "y": {"systems": COLUMNS, "clusters": [n // 2 for n in range(N)]}},
        aggregate=None,
    )
    assert list(both.datasets) == ["x", "y"]
    assert both.overall is None
    assert both.systems is None
    alone = run_board(INDEXED)
    assert both.datasets["x"].pairs == alone.pairs
    assert both.board == both.datasets["x"]
    assert {pair.min_attainable_p for pair in both.datasets["y"].pairs} != {
        pair.min_attainable_p for pair in alone.pairs or ()
    }
    frame = both.pairs_frame()
    assert list(frame["dataset"]) == ["x"] * 3 + ["y"] * 3
    assert set(frame["board"]) == {"dataset"}
    assert str(both).startswith("on x of 2 data sets, by mean_difference (higher is better): ")
    assert "<details>" in both._repr_html_()
    with pytest.raises(InvalidData, match="into each of them"):
        run_board(COLUMNS, datasets={"x": COLUMNS})


def test_predictions_and_counts_of_compare_local() -> None:
    gold = ["a", "b"] * 5
    right = {"A": gold, "B": gold[:5] + ["c"] * 5, "C": ["c"] * 10}
    board = run_board(right, gold=gold)
    assert [system.score for system in board.systems or ()] == [1.0, 0.5, 0.0]
    assert [pair.p_value for pair in board.pairs or ()] == [2 / 2**5, 2 / 2**10, 2 / 2**5]
    by_id = {name: pd.Series(column, index=list("abcdefghij")) for name, column in right.items()}
    assert told(run_board(by_id, gold=pd.Series(gold, index=list("abcdefghij")).iloc[::-1])) == told(board)
    counted = {
        name: pd.DataFrame({"incorrect": [own, 1, 2], "tp": [8, 3, 7]}) for own, name in enumerate(NAMES)
    }
    f1 = run_board(counted, kind="counts", statistic="f1").systems
    assert [one.score for one in f1 or ()] == [2 * 18 / (2 * 18 + wrong) for wrong in (3, 4, 5)]


def test_missing_scores_are_left_out_where_that_is_asked_for() -> None:
    gaps = INDEXED.astype(float)
    gaps.iloc[3, 1] = np.nan
    with pytest.raises(InvalidTest, match='"B" lacks 1 of 16 items: "q03"'):
        run_board(gaps)
    with pytest.raises(InvalidData) as refused:
        run_board({name: gaps[name] for name in NAMES})
    assert refused.value.pointer == "/systems/B/3"
    for rule, sizes in (
        ("pairwise", {"A": N, "B": N - 1, "C": N}),
        ("complete", dict.fromkeys(NAMES, N - 1)),
    ):
        options: dict[str, Any] = {"on_missing": rule}
        boards = [
            run_board(gaps, **options),
            run_board(gaps.reset_index(drop=True), **options),
            run_board(NAMES, gaps.to_numpy(), **options),
            run_board({name: gaps[name].dropna() for name in NAMES}, **options),
            run_board({name: gaps[name].astype("Float64") for name in NAMES}, **options),
        ]
        assert {one.name: one.n for one in boards[0].systems or ()} == sizes
        assert all(told(board) == told(boards[0]) for board in boards)


@pytest.mark.parametrize(
    ("given", "pointer"),
    [
        (({"A": INDEXED.set_axis(["q"] * N)["A"], "B": INDEXED["B"]},), "/systems/A"),
        (({"A": INDEXED["A"], "B": COLUMNS["B"]},), "/systems/B"),
        ((["A", "A", "B"], MATRIX), "/systems"),
        ((["A", "B"], MATRIX), "/scores"),
        ((MATRIX,), "/systems"),
        ((None, MATRIX), "/systems"),
        (({"A": [1, 2], "B": [1, object()]},), "/systems/B/1"),
        (({1: [1, 2], "1": [1, 2]},), "/systems"),
        ((pd.concat([FRAME, FRAME], axis=1),), "/systems"),
        (({"a/b": np.array([1.0, np.inf]), "c": np.array([1.0, 2.0])},), "/systems/a~1b/1"),
    ],
)  # fmt: skip
def test_data_that_cannot_be_sent_is_refused_where_it_stands(given: tuple[Any, ...], pointer: str) -> None:
    with pytest.raises(InvalidData) as refused:
        run_board(*given)
    assert refused.value.pointer == pointer


def test_refusals_are_the_exceptions_of_the_client() -> None:
    with pytest.raises(InvalidTest) as refused:
        run_board({"A": [1, 2], "B": [1]})
    assert refused.value.errors[0].pointer.startswith("/systems/")
    with pytest.raises(InvalidTest, match="Z"):
        run_board(COLUMNS, baseline="Z")
    with pytest.raises(InvalidTest):
        run_board({"A": [1, 2]})
    with pytest.raises(TypeError, match="options already"):
        run_board(compare(COLUMNS), alpha=0.1)


def test_results_have_the_fields_of_the_answer() -> None:
    pairs = {
        SystemResult: SystemRecord, PairResult: PairRecord, Groups: GroupsRecord, FamilyOfTests: FamilyRecord, Certainty: CertaintyRecord,
        Board: BoardRecord,
    }  # fmt: skip
    for result, record in pairs.items():
        assert [one.name for one in fields(result)] == [one.name for one in fields(record)]
        assert get_type_hints(result).keys() == get_type_hints(record).keys()
    assert {one.name for one in fields(CompareResult)} - {"raw", "permalink"} == set(
        CompareAnswer.model_fields
    )
    board = run_board(FRAME)
    with pytest.raises(FrozenInstanceError):
        board.id = ""  # type: ignore[misc]  # it is frozen


def test_frames_have_the_columns_and_the_values_of_the_csv_report() -> None:
    request = compare(INDEXED, confidence_level=0.9, adjust="bh")
    with Client("http://here", transport=InProcess(Settings())) as client:
        result = client.compare(request)
        reports = {table: client.report(request, "csv", table=table) for table in ("systems", "pairs")}
    for table, frame in (("systems", result.systems_frame()), ("pairs", result.pairs_frame())):
        rows = list(csv.DictReader(io.StringIO(reports[table])))
        assert list(frame.columns) == list(rows[0])
        assert len(frame) == len(rows) == 3
        for (_, own), row in zip(frame.iterrows(), rows, strict=True):
            for name, text in row.items():
                value = own[name]
                shown = (
                    ""
                    if pd.isna(value)
                    else str(value).lower()
                    if isinstance(value, bool | np.bool_)
                    else str(value)
                )
                assert shown == text or float(shown) == float(text), name


def test_a_notebook_shows_names_without_running_them() -> None:
    board = run_board({name: MATRIX[:, n % 3] + n for n, name in enumerate(HOSTILE)})
    shown = board._repr_html_()
    assert "<script" not in shown
    assert "\x1b" not in shown
    assert html.escape(HOSTILE[0]) in shown
    picture = ET.fromstring(board.picture())
    texts = " ".join(picture.itertext())
    assert HOSTILE[0] in texts
    assert len(picture.findall(".//{http://www.w3.org/2000/svg}circle")) == len(HOSTILE)
    assert "\n" not in str(board)


def test_a_picture_of_equal_and_of_extreme_scores() -> None:
    for values in ([0.0, 0.0], [-1e150, 1e150], [1e-320, 0.0]):
        picture = ET.fromstring(run_board({"A": values[:1] * 3, "B": values[1:] * 3}).picture())
        places = [float(one.attrib["cx"]) for one in picture.iter("{http://www.w3.org/2000/svg}circle")]
        assert all(200 <= place <= 450 for place in places)


def test_files_are_read_as_columns_are(tmp_path: Path, expected: dict[str, Any]) -> None:
    paths = []
    for name in NAMES:
        paths.append(tmp_path / f"{name}.csv")
        INDEXED[name].rename("score").rename_axis("id").to_csv(paths[-1])
    whole = tmp_path / "all.csv"
    INDEXED.rename_axis("id").to_csv(whole)
    for request in (
        compare_files(paths),
        compare_files([("A", paths[0].read_bytes()), *paths[1:]]),
        compare_files(dict(zip(NAMES, paths, strict=True)), format="csv"),
        compare_files(whole),
        compare_files(whole.read_bytes(), systems=NAMES),
    ):
        assert told(run_board(request))["pairs"] == expected["pairs"]
    assert run_board(compare_files(paths, baseline="C", alpha=0.01)).baseline == "C"
    with pytest.raises(InvalidTest) as refused:
        run_board(compare_files(whole, kind="counts"))
    assert refused.value.errors[0].pointer == "/options/kind"
    with pytest.raises(InvalidData, match="no JSON form"):
        assert compare_files(whole).body


@pytest.mark.slow
def test_the_async_client_and_a_server_answer_with_the_same_bytes() -> None:
    request = compare(INDEXED, adjust="by", alpha=0.1)

    async def ask() -> tuple[Any, ...]:
        app = create_app(Settings(workers=1))
        async with (
            app.router.lifespan_context(app),
            AsyncClient("http://test", transport=httpx.ASGITransport(app), retries=0) as client,
        ):
            with pytest.raises(InvalidTest):
                await client.compare({"A": [1, 2]})
            return (
                await client.send(compare_call(request)),
                await client.compare(FRAME, adjust="by", alpha=0.1),
                await client.report(request, "markdown"),
                await client.plan(compare({name: INDEXED[name] for name in NAMES}, adjust="by", alpha=0.1)),
                await client.plan(local_scores([1, 2], [0, 1])),
            )

    response, board, report, plan, of_two = asyncio.run(ask())
    with Client("http://here", transport=InProcess(Settings())) as client:
        here = client.send(compare_call(request))
        assert client.report(request, "markdown") == report
    without = [{**json.loads(one.content), "runtime": None} for one in (response, here)]
    assert without[0] == without[1]
    assert response.headers["etag"] == here.headers["etag"]
    assert board.pairs == run_board(request).pairs
    assert (plan.tests, plan.boards[0].systems, of_two.kind) == (3, 3, "scores")
    assert str(plan).startswith("3 tests (")


def test_weights_are_those_of_each_data_set() -> None:
    systems = {"A": [1, 1, 0], "B": [0, 0, 1]}
    board = run_board(systems, weights=[1, "1/2", "1/2"])
    assert [one.score for one in board.board.systems] == [0.75, 0.25]
    sets = {"x": {"systems": systems, "weights": [1, 1, 2]}, "y": {"A": [1], "B": [0]}}
    of_two: Any = run_board(datasets=sets)
    assert [(one.name, one.score) for one in of_two.overall.systems] == [("A", 0.75), ("B", 0.25)]


def test_boards_take_true_false_and_fractions_as_tests_do() -> None:
    third, half = Fraction(1, 3), Fraction(1, 2)
    columns: list[tuple[Any, Any]] = [
        ([True, False, True, True], [False, False, True, False]),
        ({"a": True, "b": False}, {"b": True, "a": False}),
        ([third, half, third + half], [half, third, Fraction(5, 6)]),
    ]
    for u, v in columns:
        board: Any = run_board({"A": u, "B": v})
        (pair,) = board.pairs
        assert pair.p_value == run(u, v).p_value
    request = compare_columns(datasets={"x": {"A": [third], "B": [half]}, "y": {"A": [True], "B": [0]}})
    assert request.body["unit"] == "1/6"
    assert request.body["datasets"]["y"]["systems"] == {"A": [1], "B": [0]}


@pytest.mark.parametrize("names", ["new", ["new"], ("a", "b", "c")], ids=str)
def test_names_are_those_of_both_systems(names: Any) -> None:
    with pytest.raises(InvalidData, match="Give the names of both systems"):
        run([1, 0], [0, 1], names=names)


def test_computations_have_one_thread_of_blas_and_leave_the_number_as_it_was() -> None:
    before, seen = openblas("get")(), list[int]()
    openblas("set")(2)
    usual = openblas("get")()  # 1 without OpenBLAS
    planned = InProcess(Settings(), lambda _: seen.append(openblas("get")()))
    try:
        with Client("http://here", transport=planned) as client:
            client.scores([1, 0, 1, 1], [0, 0, 1, 0])
        assert set(seen) == {1}
        assert openblas("get")() == usual
    finally:
        openblas("set")(before)
