"""The data pack as files, annotated texts and runs: uploaded as they stand, gzip and traps included.

Expected values are the pack's own (`expected/`), made without this program from exact integers. U is the entry's `a`,
V its `b`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from seqeval.metrics import f1_score
from seqeval.scheme import IOB2

from exactperm.settings import Settings
from tests.api.conftest import Service, problem, running

PACK = Path(__file__).resolve().parents[3] / "shared" / "data"
pytestmark = [
    pytest.mark.pack,
    pytest.mark.skipif(not PACK.is_dir(), reason="the evaluation data is not in ../shared/data"),
]

LOWEST_DOUBLE = Decimal("1e-307")
CONLLU = {s: f"conllu/en_ewt-ud-test.{s}.conllu.gz" for s in ("gold", "ngram", "perceptron", "crf")}
WNUT = {
    "gold": "ner/wnut17/emerging.test.annotated",
    "u": "ner/wnut17/submissions/uh_ritual",
    "v": "ner/wnut17/submissions/spinningbytes.txt",
}
WNUT_COLUMNS = {
    "u": "ner/wnut17/wnut17-test.uh_ritual.token-gold-pred.conll",
    "v": "ner/wnut17/wnut17-test.spinningbytes.token-gold-pred.conll",
}
UNER = {
    "gold": "ner/uner_en_ewt/en_ewt-ud-test.iob2",
    "u": "ner/uner_en_ewt/uner_en_ewt-test.crf_small.pred.tsv",
    "v": "ner/uner_en_ewt/uner_en_ewt-test.crf_large.pred.tsv",
}
UNER_COLUMNS = {
    "u": "ner/uner_en_ewt/uner_en_ewt-test.crf_small.token-gold-pred.conll",
    "v": "ner/uner_en_ewt/uner_en_ewt-test.crf_large.token-gold-pred.conll",
}
UNER_DOCUMENTS = {"documents": "ner/uner_en_ewt/uner_en_ewt-test.sentence-documents.tsv"}
SCALES = {"map": 10_000, "ndcg_cut_10": 10_000, "recip_rank": 10_000, "bpref": 10_000, "P_10": 10, "num_rel_ret": 1}  # fmt: skip
RUNS = ("uic0301", "UIUC03Rd1", "VTcdhgp1")


@pytest.fixture(scope="module")
def roomy() -> Iterator[Service]:
    """The service with its default limits: the runs have several megabytes when inflated."""
    yield from running(Settings(workers=1))


@cache
def expected(dataset: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((PACK / "expected" / f"{dataset}.json").read_text("utf-8"))
    return found


def entry(dataset: str, tests: str = "tests", **wanted: str) -> dict[str, Any]:
    """The one test over all items with these members."""
    there = [test for test in expected(dataset)[tests] if "subset" not in test]
    found = [test for test in there if all(test.get(name) == value for name, value in wanted.items())]
    assert len(found) == 1, (dataset, wanted, len(found))
    only: dict[str, Any] = found[0]
    return only


def upload(roomy: Service, files: dict[str, str], **fields: str) -> Any:
    """The files by role, named by their paths in the pack; a deadline with every request."""
    parts = {role: (Path(path).name, (PACK / path).read_bytes()) for role, path in files.items()}
    return roomy.request("POST", "/v1/tests/files", files=parts, data={"timeout_s": "30", **fields})


def answer(roomy: Service, files: dict[str, str], **fields: str) -> dict[str, Any]:
    response = upload(roomy, files, pmf="none", **fields)
    assert response.status_code == 200, response.text[:1000]
    said: dict[str, Any] = response.json()
    assert said["reading"]["format"] == fields.get("format", said["reading"]["format"])
    assert said["reading"]["notes"]
    return said


def agrees(said: dict[str, Any], test: dict[str, Any]) -> None:
    """The exact p-value, inside certified bounds, of as many units and differences."""
    p = Decimal(test["p_two_sided"]["decimal"])
    assert said["method"]["exact"] is True
    assert (said["items"]["clusters"] or said["items"]["n"]) == test["n_units"]
    assert said["items"]["nonzero"] == test["n_nonzero_differences"]
    assert said["log10_p_value"] == pytest.approx(float(p.log10()), rel=0, abs=1e-9)
    assert said["p_value"] > 0
    if p > LOWEST_DOUBLE:
        assert said["p_value"] == pytest.approx(float(p), rel=1e-12, abs=0)
    low, high = (Decimal(bound) for bound in said["p_value_bounds"])
    assert low * (1 - Decimal("1e-20")) <= p <= high * (1 + Decimal("1e-20"))  # p is given to 21 digits


def sums(said: dict[str, Any], test: dict[str, Any], scale: int) -> None:
    """The statistic of each system is its sum in the pack over `scale`, rounded once."""
    statistic = said["statistic"]
    assert (statistic["u"], statistic["v"]) == (test["sum_a"] / scale, test["sum_b"] / scale)
    assert statistic["observed"] == pytest.approx(test["observed_sum_difference"] / scale, rel=1e-15)


def refused(response: Any, status: int, pointer: str, code: str, *named: str) -> None:
    """A problem at this place that names these."""
    flaw = problem(response, status)["errors"][0]
    assert (flaw["pointer"], flaw["code"]) == (pointer, code)
    assert all(name in flaw["detail"] for name in named), flaw["detail"]


# --- tagging and parsing: CoNLL-U, gzipped -------------------------------------------------------------------

UNITS = {
    "word": {"items": "word"},
    "sentence": {},
    "document (newdoc id)": {"clusters": "document"},
}


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("metric", ["upos", "uas", "las"])
@pytest.mark.parametrize("a", ["perceptron", "ngram"])
def test_treebanks_by_word_sentence_and_document(roomy: Service, a: str, metric: str, unit: str) -> None:
    test = entry("conllu_en_ewt-ud", a=a, b="crf", metric=metric, unit=unit)
    files = {"gold": CONLLU["gold"], "u": CONLLU[a], "v": CONLLU["crf"]}
    said = answer(roomy, files, format="conllu", statistic=metric, **UNITS[unit])
    agrees(said, test)
    sums(said, test, 25_094)
    assert any("354 multiword tokens and 2 empty nodes" in note for note in said["reading"]["notes"])


def test_a_p_value_of_10_to_the_minus_4817_comes_from_files_as_well(roomy: Service) -> None:
    files = {"gold": CONLLU["gold"], "u": CONLLU["ngram"], "v": CONLLU["crf"]}
    said = answer(roomy, files, statistic="las", items="word")
    assert said["log10_p_value"] == pytest.approx(-4816.9626632995078, rel=0, abs=1e-9)
    assert said["p_value"] == 5e-324
    assert said["reading"]["guessed"] is True


@pytest.mark.parametrize("a", ["perceptron", "ngram"])
def test_treebanks_by_whole_sentences_and_full_relations(roomy: Service, a: str) -> None:
    test = entry("conllu_en_ewt-ud", a=a, b="crf", metric="upos sentence accuracy")
    files = {"gold": CONLLU["gold"], "u": CONLLU[a], "v": CONLLU["crf"]}
    said = answer(roomy, files, metric="upos_sentence", statistic="sum_difference")
    agrees(said, test)
    sums(said, test, 1)
    full = answer(roomy, files, statistic="las_full")["statistic"]
    systems = expected("conllu_en_ewt-ud")["systems"]
    assert (full["u"], full["v"]) == (systems[a]["las_full_deprel"], systems["crf"]["las_full_deprel"])


def test_columns_that_a_tagger_left_blank_are_not_scored(roomy: Service) -> None:
    files = {"gold": CONLLU["gold"], "u": CONLLU["ngram"], "v": CONLLU["crf"]}
    flaw = problem(upload(roomy, files, statistic="lemma"), 422)["errors"][0]
    assert flaw["code"] == "not_annotated"
    assert flaw["pointer"].startswith("/files/u/line/")


# --- named entities: BIO columns -----------------------------------------------------------------------------

ENTITIES: list[tuple[str, str, dict[str, str], dict[str, str]]] = [
    ("ner_wnut17", "sentence", WNUT, {}),
    ("ner_wnut17", "sentence", WNUT_COLUMNS, {}),
    ("ner_uner_en_ewt", "sentence", UNER, {}),
    ("ner_uner_en_ewt", "document", UNER, {"clusters": "document"}),
    ("ner_uner_en_ewt", "document", UNER_COLUMNS | UNER_DOCUMENTS, {"clusters": "document"}),
]
IDS = ["wnut", "wnut-columns", "uner", "uner-documents", "uner-columns-documents"]


@pytest.mark.parametrize(("dataset", "unit", "files", "fields"), ENTITIES, ids=IDS)
def test_span_f1_of_entities(
    roomy: Service, dataset: str, unit: str, files: dict[str, str], fields: dict[str, str]
) -> None:
    test = entry(dataset, "f1_tests", unit=unit)
    said = answer(roomy, files, format="conll", **fields)
    assert said["statistic"]["name"] == "span_f1"
    agrees(said, test)
    assert (said["statistic"]["u"], said["statistic"]["v"]) == (test["f1_a"]["float"], test["f1_b"]["float"])


@pytest.mark.parametrize(
    ("name", "statistic", "of"),
    [
        ("true-positive entities", "span_recall", "gold_entities"),  # as many gold entities for both
        ("correct tags", "token_accuracy", "tokens"),
        ("sentences with every tag correct", "exact_match", "sentences"),
    ],
)
@pytest.mark.parametrize(("dataset", "unit", "files", "fields"), ENTITIES, ids=IDS)
def test_entities_and_tags_right(
    roomy: Service, dataset: str, unit: str, files: dict[str, str], fields: dict[str, str],
    name: str, statistic: str, of: str,
) -> None:  # fmt: skip
    if (name, unit) == ("sentences with every tag correct", "document"):
        unit, fields = "sentence", {}
        files = {role: path for role, path in files.items() if role != "documents"}
    test = entry(dataset, unit=unit, statistic=name)
    said = answer(roomy, files, format="conll", statistic=statistic, **fields)
    agrees(said, test)
    sums(said, test, expected(dataset)[of])


def tags(path: str) -> list[list[str]]:
    """The last column of a file of tokens between tabs, by sentence."""
    lines = [line.split("\t") for line in (PACK / path).read_text("utf-8").splitlines()]
    sentences: list[list[str]] = [[]]
    for fields in lines:
        if len(fields) > 1:
            sentences[-1].append(fields[-1])
        elif sentences[-1]:
            sentences.append([])
    return [sentence for sentence in sentences if sentence]


def test_strict_entities_are_seqevals_and_the_loose_ones_are_lost(roomy: Service) -> None:
    said = answer(roomy, WNUT, format="conll", scheme="IOB2")["statistic"]
    gold = tags(WNUT["gold"])
    for role in "uv":
        wanted = f1_score(gold, tags(WNUT[role]), mode="strict", scheme=IOB2)
        assert said[role] == pytest.approx(wanted, rel=1e-15)
    published = expected("ner_wnut17")["systems"]
    assert said["u"] == published["uh_ritual"]["f1"]
    assert said["v"] != published["spinningbytes"]["f1"]  # 34 of its I- tags follow no B-


def test_documents_that_no_file_marks_cannot_be_clusters(roomy: Service) -> None:
    refused(upload(roomy, WNUT, clusters="document"), 422, "/files/gold", "no_documents")


# --- retrieval: what trec_eval printed, and runs -------------------------------------------------------------


@pytest.mark.parametrize("measure", SCALES)
@pytest.mark.parametrize("run", RUNS)
def test_trec_measures_per_query(roomy: Service, run: str, measure: str) -> None:
    test = entry("trec_robust03", a="aplrob03a", b=run, metric=measure)
    files = {r: f"trec/robust03/eval.{s}.trec_eval.txt" for r, s in (("u", "aplrob03a"), ("v", run))}
    said = answer(roomy, files, format="trec", measure=measure, statistic="sum_difference")
    agrees(said, test)
    sums(said, test, SCALES[measure])


@pytest.mark.parametrize("measure", ["map", "P_10"])
def test_runs_and_judgements_give_what_trec_eval_prints(roomy: Service, measure: str) -> None:
    pytest.importorskip("pytrec_eval")
    test = entry("trec_robust03", a="aplrob03a", b="uic0301", metric=measure)
    files = {r: f"trec/robust03/input.{s}.gz" for r, s in (("u", "aplrob03a"), ("v", "uic0301"))}
    files["qrels"] = "trec/robust03/qrels.robust03.txt.gz"
    fields = {"measure": measure, "decimals": "4", "statistic": "sum_difference"}
    said = answer(roomy, files, format="trec", **fields)
    agrees(said, test)
    sums(said, test, SCALES[measure])


def test_trec_evals_own_test_run_gives_its_own_output(roomy: Service) -> None:
    pytest.importorskip("pytrec_eval")
    run, judged = "trec/trec_eval_test/results.test", "trec/trec_eval_test/qrels.test"
    fields = {"measure": "map", "decimals": "4", "statistic": "sum_difference"}
    said = answer(roomy, {"u": run, "v": run, "qrels": judged}, format="trec", **fields)
    printed = "trec/trec_eval_test/out.test.aq"
    again = answer(roomy, {"u": printed, "v": printed}, measure="map", statistic="sum_difference")
    rows = [line.split() for line in (PACK / printed).read_text("utf-8").splitlines()]
    wanted = float(sum(Decimal(row[2]) for row in rows if row[0] == "map" and row[1] != "all"))
    for found in (said, again):
        assert (found["statistic"]["u"], found["statistic"]["v"]) == (wanted, wanted)
        assert (found["p_value"], found["items"]["n"]) == (1.0, 3)


@pytest.mark.parametrize("name", ["out.test", "out.test.a"])
def test_averages_over_queries_are_no_items(roomy: Service, name: str) -> None:
    averages = f"trec/trec_eval_test/{name}"
    response = upload(roomy, {"u": averages, "v": averages}, format="trec", measure="map")
    refused(response, 422, "/files/u", "averages_only", "-q")
