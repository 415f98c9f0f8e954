"""Weights of items from Python, from both clients, and from files: the same test, against counting all exchanges."""

import asyncio
import json
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pandas as pd
import pytest

from exactperm import compare as run_compare, compare_files, files, test as run_test
from exactperm.client import AsyncClient, Client, InvalidData, InvalidTest, compare, scores
from exactperm.client.results import Board, CompareResult, PairResult
from exactperm.local.transport import InProcess
from exactperm.main import create_app
from exactperm.settings import Settings
from tests.enumeration import share, signed_sums
from tests.unit.cli_asking import answer, refuses

IDS = list("abcdefg")
SYSTEMS: dict[str, list[float]] = {
    "A": [1, 0.5, 1, 0, 1, 1, 0.75],
    "B": [0, 0.25, 0.5, 1, 1, 0, 0.5],
    "C": [1, 0, 0, 0.5, 0.25, 1, 0],
}
WEIGHTS = ["1/3", "0.5", "2", "1e-1", "3", "7/4", "1"]
U, V = SYSTEMS["A"], SYSTEMS["B"]
TURNED = [4, 2, 6, 0, 1, 5, 3]


def by_enumeration(u: Sequence[float], v: Sequence[float], weights: Sequence[Any]) -> Fraction:
    """The p-value of the difference of weighted means, from all 2**n exchanges."""
    effects = (Fraction(w) * (Fraction(a) - Fraction(b)) for a, b, w in zip(u, v, weights, strict=True))
    return share(signed_sums(effects))


KNOWN = by_enumeration(U, V, WEIGHTS)


def table(path: Path, header: Sequence[str], rows: Sequence[Sequence[Any]], separator: str = ",") -> str:
    path.write_text("".join(separator.join(map(str, row)) + "\n" for row in (header, *rows)))
    return str(path)


def listed(board: CompareResult | Board) -> tuple[PairResult, ...]:
    assert board.pairs
    return board.pairs


def items(*columns: Sequence[Any], order: Sequence[int] = range(len(IDS))) -> list[tuple[Any, ...]]:
    rows = list(zip(IDS, *columns, strict=True))
    return [rows[at] for at in order]


def test_the_weights_decide() -> None:
    assert by_enumeration(U, V, [1] * len(U)) != KNOWN


def test_ways_to_give_weights_in_python() -> None:
    fractions = [Fraction(w) for w in WEIGHTS]
    keyed_u, keyed_v = dict(zip(IDS, U, strict=True)), dict(zip(IDS, V, strict=True))
    by_id = dict(reversed(list(zip(IDS, fractions, strict=True))))
    frame = pd.DataFrame({"u": U, "v": V}, index=IDS)
    turned = pd.Series(fractions, index=IDS).iloc[TURNED]
    answers = [
        run_test(U, V, weights=WEIGHTS),
        run_test(np.array(U), np.array(V), weights=np.array(fractions)),
        run_test(keyed_u, keyed_v, weights=by_id),
        run_test(U, V, ids=IDS, weights=by_id),
        run_test(frame["u"], frame["v"], weights=turned),
        run_test(frame["u"].iloc[TURNED], frame["v"], weights=turned),
        run_test(frame["u"].iloc[TURNED], frame["v"], weights=by_id),
    ]
    assert {one.p_value for one in answers} == {float(KNOWN)}
    with pytest.raises(InvalidData) as refused:
        run_test(frame["u"].iloc[TURNED], frame["v"], weights=WEIGHTS)
    assert refused.value.pointer == "/weights"


@pytest.mark.slow
def test_both_clients_send_them() -> None:
    request = scores(np.array(U), np.array(V), weights=[Fraction(w) for w in WEIGHTS])
    board = compare({name: np.array(column) for name, column in SYSTEMS.items()}, weights=WEIGHTS)
    with Client("http://test", transport=InProcess(Settings())) as client:
        assert client.test(request).p_value == float(KNOWN)
        assert client.plan(request).method
        by_client = client.compare(board)

    async def asked() -> Any:
        application = create_app(Settings(workers=1))
        transport = httpx.ASGITransport(application)
        async with (
            application.router.lifespan_context(application),
            AsyncClient("http://test", transport=transport) as own,
        ):
            return (await own.test(request)).p_value, (await own.compare(board)).id

    assert asyncio.run(asked()) == (float(KNOWN), by_client.id)
    assert {(pair.u, pair.v): pair.p_value for pair in listed(by_client)} == {
        (pair.u, pair.v): float(by_enumeration(SYSTEMS[pair.u], SYSTEMS[pair.v], WEIGHTS))
        for pair in listed(by_client)
    }


def test_ways_to_give_the_weights_of_a_board() -> None:
    frame = pd.DataFrame(SYSTEMS, index=IDS)
    turned = pd.Series([Fraction(w) for w in WEIGHTS], index=IDS).iloc[TURNED]
    columns = {name: frame[name] if name == "A" else frame[name].iloc[TURNED] for name in SYSTEMS}
    of_two: dict[str, Any] = {
        "first": {"systems": SYSTEMS, "weights": WEIGHTS},
        "second": {"systems": columns, "weights": turned},
    }
    known = [float(by_enumeration(U, V, WEIGHTS)), float(by_enumeration(U, SYSTEMS["C"], WEIGHTS))]
    boards: list[CompareResult | Board] = [
        run_compare(SYSTEMS, weights=WEIGHTS),
        run_compare(frame, weights=turned),
        run_compare(columns, weights=turned),
        *(run_compare(datasets=of_two).datasets or {}).values(),
    ]
    assert len(boards) == 5
    for board in boards:
        found = {frozenset((pair.u, pair.v)): pair.p_value for pair in listed(board)}
        assert [found[frozenset(pair)] for pair in ("AB", "AC")] == known
    with pytest.raises(InvalidData) as refused:
        run_compare(datasets={"first": SYSTEMS}, weights=WEIGHTS)
    assert refused.value.pointer == "/datasets"


@pytest.mark.parametrize("with_ids", [True, False])
def test_missing_scores_leave_the_weights_of_the_others(with_ids: bool) -> None:
    gaps = {**SYSTEMS, "C": [*SYSTEMS["C"][:2], float("nan"), *SYSTEMS["C"][3:]]}
    board = run_compare(gaps, weights=WEIGHTS, on_missing="pairwise", ids=IDS if with_ids else None)
    found = {frozenset((pair.u, pair.v)): pair.p_value for pair in listed(board)}
    left = [at for at in range(len(IDS)) if at != 2]
    a, c = ([column[at] for at in left] for column in (U, SYSTEMS["C"]))
    w = [WEIGHTS[at] for at in left]
    assert found == {
        frozenset("AB"): float(KNOWN),
        frozenset("AC"): float(by_enumeration(a, c, w)),
        frozenset("BC"): float(by_enumeration([V[at] for at in left], c, w)),
    }


NOTE = "Items count by the column weight."


def long_rows(names: str) -> list[tuple[Any, ...]]:
    return [
        (i, name, score, w) for name in names for i, score, w in items(SYSTEMS[name], WEIGHTS, order=TURNED)
    ]


def json_lines(path: Path, names: Sequence[str], columns: Sequence[Sequence[Any]]) -> str:
    rows = [dict(zip(("id", *names), row, strict=True)) for row in items(*columns)]
    path.write_text("\n".join(map(json.dumps, rows)))
    return str(path)


TWO: dict[str, Callable[[Path], list[str]]] = {
    "csv": lambda at: [table(at / "a.csv", ("id", "u", "v", "weight"), items(U, V, WEIGHTS))],
    "tsv": lambda at: [table(at / "a.tsv", ("id", "Weight", "u", "v"), items(WEIGHTS, U, V), "\t")],
    "semicolons": lambda at: [table(at / "a.csv", ("id", "u", "v", "weight"), items(U, V, WEIGHTS), ";")],
    "without ids": lambda at: [
        table(at / "a.csv", ("u", "weight", "v"), [row[1:] for row in items(U, WEIGHTS, V)])
    ],
    "two files": lambda at: [
        table(at / "a.csv", ("id", "score", "weight"), items(U, WEIGHTS)),
        table(at / "b.csv", ("id", "score", "weight"), items(V, WEIGHTS, order=TURNED)),
    ],
    "long": lambda at: [table(at / "a.csv", ("id", "system", "score", "weight"), long_rows("AB"))],
    "lines": lambda at: [json_lines(at / "a.jsonl", ("u", "v", "weight"), (U, V, WEIGHTS))],
}


@pytest.mark.parametrize("way", TWO)
def test_a_column_of_weights_in_files_of_two(way: str, tmp_path: Path) -> None:
    found = answer("test", *TWO[way](tmp_path))
    assert found["p_value"] == float(KNOWN)
    assert NOTE in found["reading"]["notes"]


MANY: dict[str, Callable[[Path], list[str]]] = {
    "csv": lambda at: [table(at / "a.csv", ("id", "weight", *SYSTEMS), items(WEIGHTS, *SYSTEMS.values()))],
    "tsv": lambda at: [table(at / "a.tsv", ("weight", "id", *SYSTEMS), [(w, i, *of) for i, w, *of in items(WEIGHTS, *SYSTEMS.values(), order=TURNED)], "\t")],
    "semicolons": lambda at: [table(at / "a.csv", ("id", *SYSTEMS, "weight"), items(*SYSTEMS.values(), WEIGHTS), ";")],
    "long": lambda at: [table(at / "a.csv", ("id", "system", "score", "weight"), long_rows("ABC"))],
    "long with semicolons": lambda at: [table(at / "a.csv", ("id", "system", "score", "weight"), long_rows("ABC"), ";")],
    "lines": lambda at: [json_lines(at / "a.jsonl", (*SYSTEMS, "weight"), (*SYSTEMS.values(), WEIGHTS))],
    "files": lambda at: [
        table(at / f"{name}.csv", ("id", "score", "weight"), items(column, WEIGHTS, order=TURNED if name == "B" else range(7)))
        for name, column in SYSTEMS.items()
    ],
}  # fmt: skip


@pytest.mark.parametrize("way", MANY)
def test_a_column_of_weights_in_files_of_many(way: str, tmp_path: Path) -> None:
    found = answer("compare", *MANY[way](tmp_path))
    assert [system["name"] for system in sorted(found["systems"], key=lambda one: one["name"])] == list(
        SYSTEMS
    )
    assert {(pair["u"], pair["v"]): pair["p_value"] for pair in found["pairs"]} == {
        (pair.u, pair.v): pair.p_value for pair in listed(run_compare(SYSTEMS, weights=WEIGHTS))
    }
    assert NOTE in found["reading"]["notes"]


@pytest.mark.parametrize("on_missing", ["pairwise", "complete"])
@pytest.mark.parametrize("way", ["csv", "semicolons", "files"])
def test_gaps_in_files_with_weights(way: str, on_missing: Any, tmp_path: Path) -> None:
    """Fields of C that are empty: the same board as with NaN in Python."""
    gaps: dict[str, list[Any]] = {**SYSTEMS, "C": [*SYSTEMS["C"][:2], "", *SYSTEMS["C"][3:]]}
    separator = ";" if way == "semicolons" else ","
    paths = [table(tmp_path / "all.csv", ("id", *gaps, "weight"), items(*gaps.values(), WEIGHTS), separator)]
    if way == "files":
        paths = [
            table(tmp_path / f"{name}.csv", ("id", "score", "weight"), items(own, WEIGHTS))
            for name, own in gaps.items()
        ]
    found = answer("compare", *paths, "--on-missing", on_missing)
    with_nan = {**SYSTEMS, "C": [*SYSTEMS["C"][:2], float("nan"), *SYSTEMS["C"][3:]]}
    known = run_compare(with_nan, weights=WEIGHTS, on_missing=on_missing)
    assert [pair["p_value"] for pair in found["pairs"]] == [pair.p_value for pair in listed(known)]


def test_data_sets_in_one_table_have_their_own_weights(tmp_path: Path) -> None:
    other = list(reversed(WEIGHTS))
    rows = [
        (name, *row) for name, own in (("x", WEIGHTS), ("y", other)) for row in items(*SYSTEMS.values(), own)
    ]
    path = table(tmp_path / "a.csv", ("dataset", "id", *SYSTEMS, "weight"), rows)
    found = run_compare(compare_files(path)).datasets or {}
    for name, own in (("x", WEIGHTS), ("y", other)):
        for pair in listed(found[name]):
            assert pair.p_value == float(by_enumeration(SYSTEMS[pair.u], SYSTEMS[pair.v], own))


def test_a_system_that_is_chosen_may_be_called_weight(tmp_path: Path) -> None:
    path = table(tmp_path / "a.csv", ("id", "weight", "other"), items(U, V))
    found = run_test(files(file=path, system_u="weight", system_v="other"))
    assert found.p_value == run_test(U, V).p_value


BAD = ["1", "1", "none", "1", "1", "1", "1"]
UNLIKE = ["1", "1", "2", "1", "1", "1", "1"]
ONES = ["1"] * 7
REFUSED: dict[str, tuple[Callable[[Path], Any], str, str]] = {
    "no weight": (
        lambda at: files(file=table(at / "a.csv", ("id", "u", "v", "weight"), items(U, V, BAD))),
        "/files/file/line/4", "not_a_weight",
    ),
    "two weights of one item": (
        lambda at: files(
            u=table(at / "a.csv", ("id", "score", "weight"), items(U, ONES)),
            v=table(at / "b.csv", ("id", "score", "weight"), items(V, UNLIKE)),
        ),
        "/files/v/line/4", "weight_mismatch",
    ),
    "weights in one file": (
        lambda at: files(
            u=table(at / "a.csv", ("id", "score", "weight"), items(U, ONES)),
            v=table(at / "b.csv", ("id", "score"), items(V)),
        ),
        "/files/v/line/2", "no_weight",
    ),
    "ranks": (
        lambda at: files(
            file=table(at / "a.csv", ("id", "u", "v", "weight"), items(U, V, UNLIKE)), statistic="signed_rank"
        ),
        "/files", "no_weights",
    ),
    "counts": (
        lambda at: files(
            file=table(at / "a.csv", ("id", "tp_u", "incorrect_u", "tp_v", "incorrect_v", "weight"), items(*[[1] * 7] * 4, ONES))
        ),
        "/files/file/line/1/6", "unknown_column",
    ),
    "no weight in a board": (
        lambda at: compare_files(table(at / "a.csv", ("id", "A", "B", "weight"), items(U, V, BAD))),
        "/files/file/line/4/4", "not_a_weight",
    ),
    "no weight in a board of semicolons": (
        lambda at: compare_files(table(at / "a.csv", ("id", "A", "B", "weight"), items(U, V, BAD), ";")),
        "/files/file/line/4/4", "not_a_weight",
    ),
    "two weights in a long board": (
        lambda at: compare_files(
            table(
                at / "a.csv", ("id", "system", "score", "weight"),
                [(i, s, x, w) for s, own in (("A", ONES), ("B", UNLIKE)) for i, x, w in items(U, own)],
            )
        ),
        "/files/file/line/11", "weight_mismatch",
    ),
    "two weights in files of a board": (
        lambda at: compare_files([
            table(at / "a.csv", ("id", "score", "weight"), items(U, ONES)),
            table(at / "b.csv", ("id", "score", "weight"), items(V, UNLIKE)),
        ]),
        "/files/a/line/4", "weight_mismatch",
    ),
    "weights of ranks of a board": (
        lambda at: compare_files(table(at / "a.csv", ("id", "A", "B", "weight"), items(U, V, UNLIKE)), statistic="sign"),
        "/files/file/line/1/4", "no_weights",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_refusals(case: str, tmp_path: Path) -> None:
    made, pointer, code = REFUSED[case]
    request = made(tmp_path)
    with pytest.raises(InvalidTest) as refused:
        run_compare(request) if "board" in case else run_test(request)
    assert [(flaw.pointer, flaw.code) for flaw in refused.value.errors] == [(pointer, code)]


def test_boards_refuse_a_separate_file_without_weights(tmp_path: Path) -> None:
    """Files with gaps are read one by one: what each says of its items is still compared."""
    one = table(tmp_path / "a.csv", ("id", "score", "weight"), items(U, ONES))
    for own, header in ((items(V), ("id", "score")), (items(V, UNLIKE), ("id", "score", "weight"))):
        refuses(
            ["weight"], "compare", one, table(tmp_path / "b.csv", header, own), "--on-missing", "pairwise"
        )
