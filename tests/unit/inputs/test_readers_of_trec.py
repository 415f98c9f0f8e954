import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exactperm.inputs.formats import trec
from exactperm.statistics.paired import Scores

from .reading import EXCERPTS, columns, noted, read_files, refusal, refuses, refuses_alone


def printed(path: Path, measure: str) -> dict[str, str]:
    rows = [line.split() for line in path.read_text().splitlines()]
    return {row[1]: row[2] for row in rows if row[0] == measure and row[1] != "all"}


@pytest.fixture
def outputs() -> dict[str, Path]:
    return {
        role: EXCERPTS / "trec" / f"eval.{run}.txt" for role, run in (("u", "aplrob03a"), ("v", "uic0301"))
    }


@pytest.fixture
def runs() -> dict[str, Path]:
    files = {
        role: EXCERPTS / "trec" / f"run.{run}.txt" for role, run in (("u", "aplrob03a"), ("v", "uic0301"))
    }
    return {**files, "qrels": EXCERPTS / "trec" / "qrels.txt"}


@pytest.mark.parametrize("measure", ["map", "P_10", "num_rel_ret"])
def test_values_per_query_are_those_printed(measure: str, outputs: dict[str, Path]) -> None:
    reading = read_files("trec", outputs, measure=measure)
    for column, path in zip(columns(reading), outputs.values(), strict=True):
        assert column == [float(value) for value in printed(path, measure).values()]
    assert noted(reading, "averages over all queries were skipped")


def test_counts_are_integers(outputs: dict[str, Path]) -> None:
    data = read_files("trec", outputs, measure="num_rel_ret").data
    assert isinstance(data, Scores)
    assert isinstance(data.u, np.ndarray)
    assert data.u.dtype == np.int64


def test_a_measure_must_be_chosen_and_counts_are_not_offered(outputs: dict[str, Path]) -> None:
    error = refusal("trec", outputs)
    assert error.flaws[0].code == "choose_measure"
    assert '"recip_rank"' in error.detail
    assert "num_ret" not in error.detail
    refuses("choose_measure", None, "trec", outputs, measure="ndcg")


def test_trec_evals_own_output_has_three_queries() -> None:
    path = EXCERPTS / "trec" / "trec_eval.aq.txt"
    u, v = columns(read_files("trec", {"u": path, "v": path}, measure="map"))
    assert u == v == [0.0324, 0.4175, 0.0858]


def test_averages_alone_cannot_be_tested() -> None:
    text = "runid                 \tall\tx\nmap                   \tall\t0.25\n"
    refuses("averages_only", None, "trec", {"u": text, "v": text})


def test_a_query_that_one_run_lacks_is_missing_and_not_zero(outputs: dict[str, Path]) -> None:
    text = outputs["v"].read_text()
    query = next(iter(printed(outputs["v"], "map")))
    files: dict[str, str | bytes | Path] = {
        "u": outputs["u"],
        "v": "\n".join(line for line in text.split("\n") if f"\t{query}\t" not in line),
    }
    refuses(None, None, "trec", files, f'"{query}"', measure="map")
    assert read_files("trec", files, measure="map", on_missing="drop").data.pairing.only_u == 1


@pytest.mark.parametrize(
    ("text", "pointer", "code"),
    [
        ("map\t1\t0.5\nmap\t1\t0.6\n", "/files/u/line/2", "duplicate_id"),
        ("map\t1\t0.5\nmap\t2\tx\n", "/files/u/line/2/value", "not_a_number"),
        ("map\t1\t0.5\nmap\t2\n", "/files/u/line/2", "wrong_field_count"),
    ],
)
def test_a_bad_line_is_named(text: str, pointer: str, code: str) -> None:
    refuses_alone(code, pointer, "trec", {"u": text, "v": "map\t1\t0.5\nmap\t2\t0.1\n"})


def reciprocal_ranks(run: Path, qrels: Path) -> list[float]:
    """By hand: 1 over the rank of the first relevant document, by score, ties by document id, both descending."""
    relevant = {(q, d) for q, _, d, r in map(str.split, qrels.read_text().splitlines()) if int(r) > 0}
    ranked: dict[str, list[tuple[float, str]]] = {}
    for line in run.read_text().splitlines():
        query, _, document, _, score, _ = line.split()
        ranked.setdefault(query, []).append((float(np.float32(score)), document))
    found = []
    for query in dict.fromkeys(line.split()[0] for line in qrels.read_text().splitlines()):
        order = sorted(ranked[query], reverse=True)
        ranks = [rank for rank, (_, document) in enumerate(order, 1) if (query, document) in relevant]
        found.append(1 / ranks[0] if ranks else 0.0)
    return found


def test_the_default_measure_is_named(runs: dict[str, Path]) -> None:
    taken, chosen = read_files("trec", runs), read_files("trec", runs, measure="map")
    assert (
        "No measure was given: map was taken; the option measure chooses another, such as ndcg or P_10."
        in taken.notes
    )
    assert "The measure is map." in chosen.notes
    assert not noted(chosen, "was given")
    assert (taken.metric, taken.higher_is_better) == (chosen.metric, chosen.higher_is_better) == ("map", True)


def test_runs_and_qrels_give_full_precision_or_four_decimals(runs: dict[str, Path]) -> None:
    wanted = [reciprocal_ranks(runs[role], runs["qrels"]) for role in "uv"]
    full = columns(read_files("trec", runs, measure="recip_rank"))
    assert list(full) == wanted
    rounded = columns(read_files("trec", runs, measure="recip_rank", decimals=4))
    assert list(rounded) == [[float(f"{value:.4f}") for value in column] for column in wanted]


@pytest.mark.parametrize(
    "measure", ["mapp", "ndcg_cut", "success_0", "runid", "P_-1", "P.5,10", "official", "relstring"]
)
def test_unknown_unsafe_and_family_measures_are_refused(measure: str, runs: dict[str, Path]) -> None:
    refuses(None, "/options/measure", "trec", runs, '"map"', measure=measure)


@pytest.mark.parametrize(
    "measure", ["map", "gm_map", "ndcg", "P_7", "iprec_at_recall_0.10", "set_F", "num_rel_ret", "G"]
)
def test_measures_that_are_admitted_are_known_to_trec_eval(measure: str, runs: dict[str, Path]) -> None:
    assert len(columns(read_files("trec", runs, measure=measure))[0]) == 4


@pytest.mark.parametrize("relevance", ["1000000", "99999999999999999999", "0.5", "x", "1_0"])
def test_a_relevance_that_would_hang_trec_eval_is_refused(relevance: str, runs: dict[str, Path]) -> None:
    refuses(
        "not_a_number", "/files/qrels/line/2/4", "trec", {**runs, "qrels": f"1 0 a 1\n1 0 b {relevance}\n"}
    )


def test_a_run_without_a_judged_query_misses_an_item(runs: dict[str, Path]) -> None:
    query = runs["qrels"].read_text().split()[0]
    shorter = "".join(
        line for line in runs["v"].read_text().splitlines(keepends=True) if line.split()[0] != query
    )
    refuses("missing_value", None, "trec", {**runs, "v": shorter})


def test_documents_that_stand_twice_are_refused(runs: dict[str, Path]) -> None:
    line = runs["u"].read_text().splitlines(keepends=True)[0]
    refuses(None, "/files/u/line/2", "trec", {**runs, "u": line * 2})
    judged = runs["qrels"].read_text().splitlines(keepends=True)[0]
    refuses(None, "/files/qrels/line/2", "trec", {**runs, "qrels": judged * 2})


def test_without_pytrec_eval_the_extra_is_named(
    runs: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pytrec_eval", None)
    refuses("missing_extra", None, "trec", runs)


def without(text: bytes, query: bytes) -> bytes:
    return b"".join(line for line in text.splitlines(keepends=True) if query not in line.split()[:2])


def test_missing_queries_count_zero_as_trec_eval_c_does() -> None:
    u, v = (EXCERPTS / "trec" / name for name in ("eval.aplrob03a.txt", "eval.uic0301.txt"))
    whole = read_files("trec", {"u": u, "v": v}, measure="map")
    queries = list(whole.data.pairing.ids or ())
    cut = without(v.read_bytes(), str(queries[1]).encode())
    refuses(
        "unmatched_ids", None, "trec", {"u": u, "v": cut}, "set `on_missing=zero` for this", measure="map"
    )
    zero = read_files("trec", {"u": u, "v": cut}, measure="map", on_missing="zero")
    expected = whole.data.v.copy()
    expected[1] = 0
    rows = dict(zip(zero.data.pairing.ids or (), zero.data.v.tolist(), strict=True))
    assert [rows[query] for query in queries] == expected.tolist()
    assert noted(zero, "v: 1 queries without a value count 0 (on_missing: zero).")
    swapped = read_files("trec", {"u": cut, "v": u}, measure="map", on_missing="zero")
    assert sorted(swapped.data.u.tolist()) == sorted(expected.tolist())
    both = {"u": without(u.read_bytes(), str(queries[0]).encode()), "v": cut}
    assert len(read_files("trec", both, measure="map", on_missing="zero").data.u) == len(queries)
    assert refusal("trec", {"u": u, "v": cut}, measure="gm_map", on_missing="zero").flaws[0].code in {
        "choose_measure",
        "no_zero",
    }
    scores = {"u": "id,score\na,1\n", "v": "id,score\nb,1\n"}
    refuses("no_zero", None, "csv", scores, on_missing="zero")


def test_judged_queries_that_a_run_lacks_count_zero() -> None:
    folder = EXCERPTS / "trec"
    paths = {
        "u": folder / "run.aplrob03a.txt",
        "v": folder / "run.uic0301.txt",
        "qrels": folder / "qrels.txt",
    }
    whole = read_files("trec", paths, measure="AP")
    query = list(whole.data.pairing.ids or ())[2]
    content = without(paths["u"].read_bytes(), str(query).encode())
    zero = read_files("trec", {**paths, "u": content}, measure="map", on_missing="zero")
    expected = whole.data.u.copy()
    expected[2] = 0
    assert zero.data.u.tolist() == expected.tolist()
    assert zero.data.v.tolist() == whole.data.v.tolist()


@pytest.mark.parametrize(
    ("name", "measure"),
    [
        ("nDCG@10", "ndcg_cut_10"), ("AP", "map"), ("P@10", "P_10"), ("R@1000", "recall_1000"), ("RR", "recip_rank"), ("AP@100", "map_cut_100"),
        ("Success@1", "success_1"), ("IPrec@0.1", "iprec_at_recall_0.10"), ("Rprec", "Rprec"), ("Bpref", "bpref"), ("nDCG", "ndcg"),
        ("ndcg_cut_5", "ndcg_cut_5"), ("RR@10", "RR@10"), ("P", "P"), ("ERR@20", "ERR@20"),
    ],
)  # fmt: skip
def test_measures_may_have_the_names_of_ir_measures(name: str, measure: str) -> None:
    assert trec.measure_of(name) == measure


TWO_RUNS = {
    "u": "1 Q0 b 1 1.0 r1\n1 Q0 a 2 1.0 r1\n2 Q0 y 1 2 r1\n2 Q0 x 2 1 r1\n",
    "v": "1 Q0 b 1 1.0 r2\n1 Q0 c 2 1.0 r2\n2 Q0 x 1 2 r2\n2 Q0 y 2 1 r2\n",
}
QRELS = "1 0 b 1\n1 0 a 0\n1 0 c 0\n2 0 x 1\n2 0 y 2\n"


def test_judged_queries_that_neither_run_has_are_not_items() -> None:
    """trec_eval takes the topics of a run, and with -c those of the judgements."""
    more = QRELS + "3 0 z 1\n4 0 z 1\n"
    alone: Any = read_files("trec", {**TWO_RUNS, "qrels": QRELS}, measure="map")
    reading: Any = read_files("trec", {**TWO_RUNS, "qrels": more}, measure="map")
    assert (reading.data.u.tolist(), reading.data.v.tolist()) == (
        alone.data.u.tolist(),
        alone.data.v.tolist(),
    )
    assert "2 judged queries that neither run has were skipped, as trec_eval does." in reading.notes
    assert reading.data.pairing.largest == 2  # so that a gate does not take them for left out
    zero: Any = read_files("trec", {**TWO_RUNS, "qrels": more}, measure="map", on_missing="zero")
    assert len(zero.data.u) == 4
    lacking = {**TWO_RUNS, "u": TWO_RUNS["u"] + "3 Q0 z 1 1 r1\n", "qrels": more}
    refuses("missing_value", "/files/v/query/3", "trec", lacking, measure="map")
    none = {**TWO_RUNS, "qrels": "8 0 z 1\n"}
    refuses("missing_value", None, "trec", none, measure="map")
