"""The data pack over HTTP: outputs of published systems, uploaded as they stand, gzip and traps included.

Expected values are the pack's own (`expected/`), exact integers made without this program. U is the entry's `a`, V its
`b`. The same p-values in JSON are those of tests/api/test_examples.py and, by category, of one test here.
"""

import json
from collections.abc import Iterator
from decimal import Decimal
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from seqeval.metrics import f1_score
from seqeval.scheme import IOB2

from exactperm.settings import Settings
from tests.api.conftest import Service, answer_to, problem, running

PACK = Path(__file__).resolve().parents[3] / "shared" / "data"
pytestmark = pytest.mark.pack

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

MODELS = ("gpt-3.5-turbo-0125", "gpt-4-0613", "gpt-4-0125-preview")
PYFADE = {
    "u": "lm_eval/pyfade_gsm8k/tuned/samples_gsm8k_2025-09-09T13-31-53.431753.jsonl",
    "v": "lm_eval/pyfade_gsm8k/base/samples_gsm8k_2025-09-09T13-42-42.857006.jsonl",
}
TWO_FILTERS = "lm_eval/gpt_oss_20b_mxfp4/samples_gsm8k_2026-05-17T13-25-31.291152.jsonl"
ARC = {"u": "inspect/data_arc_qwen.json", "v": "inspect/data_arc_sonnet.json"}
SCORED = "inspect/2025-02-11T15-18-04-05-00_popularity_mj7khqpMM4GBCfVQozKgzB.eval"
UNSCORED = "inspect/2025-02-11T15-17-00-05-00_popularity_dPiJifoWeEQBrfWsAopzWr.eval"
CANCELLED = "inspect/2025-05-12T20-28-13-04-00_popularity.json"
PROMPTFOO = "promptfoo/sample-export.abridged.json"
COUNTS = {r: f"asr/earnings21/{s}.utterance-counts.tsv" for r, s in (("u", "google"), ("v", "amazon"))}
TRANSCRIPTS = {r: f"asr/earnings21/{s}.trn" for r, s in (("u", "google"), ("v", "amazon"), ("ref", "ref"))}
SEGMENTS = {r: f"mt/ted_slk_eng/ted.{s}.segment-stats.tsv" for r, s in (("u", "sys1"), ("v", "sys2"))}
MQM = "mqm/mqm_newstest2020_ende.avg_seg_scores.tsv"
SUM = {"statistic": "sum_difference"}
CATEGORIES = (
    "Aisia eta Artea", "Giza eta Natur Zientziak", "Hizkuntza eta Literatura", "Matematika eta Teknologia", "Musika",
)  # fmt: skip
LONGEST_FRACTION = 20_000  # sum of magnitudes: beyond it an exact fraction takes seconds, or the budget


@pytest.fixture(scope="module")
def roomy() -> Iterator[Service]:
    """The service with its default limits: the runs have several megabytes when inflated."""
    yield from running(Settings(workers=1))


@cache
def expected(dataset: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((PACK / "expected" / f"{dataset}.json").read_text("utf-8"))
    return found


def entry(dataset: str, tests: str = "tests", **wanted: str) -> dict[str, Any]:
    """The one test with these members; over all items, unless a `subset` is wanted."""
    there = [test for test in expected(dataset)[tests] if "subset" in wanted or "subset" not in test]
    found: list[dict[str, Any]] = [test for test in there if wanted.items() <= test.items()]
    assert len(found) == 1, (dataset, wanted, len(found))
    return found[0]


def upload(roomy: Service, files: dict[str, str], **fields: str) -> Any:
    """The files by role, named by their paths in the pack; a deadline with every request."""
    parts = {role: (Path(path).name, (PACK / path).read_bytes()) for role, path in files.items()}
    return roomy.request("POST", "/v1/tests/files", files=parts, data={"timeout_s": "30", **fields})


def answer(roomy: Service, files: dict[str, str], **fields: str) -> dict[str, Any]:
    said = answer_to(upload(roomy, files, pmf="none", **fields))
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
    fraction = said["p_value_fraction"]
    if fraction is not None:
        assert fraction["numerator"] == test["p_two_sided"]["numerator"]
        assert fraction["log2_denominator"] == test["p_two_sided"]["denominator_power_of_two"]


def matched(
    roomy: Service, files: dict[str, str], test: dict[str, Any], scale: int | None, **fields: str
) -> dict[str, Any]:
    """The answer to files, which agrees with the pack; each system's statistic is its sum there over `scale`, rounded once."""
    short = test.get("sum_abs_difference", LONGEST_FRACTION) <= LONGEST_FRACTION
    said = answer(roomy, files, **fields, exact_fraction=str(short).lower())
    agrees(said, test)
    assert (said["p_value_fraction"] is not None) == short
    if scale is not None:
        statistic = said["statistic"]
        assert (statistic["u"], statistic["v"]) == (test["sum_a"] / scale, test["sum_b"] / scale)
        assert statistic["observed"] == pytest.approx(test["observed_sum_difference"] / scale, rel=1e-15)
    return said


def refused(response: Any, status: int, pointer: str, code: str, *named: str) -> None:
    """A problem at this place that names these."""
    flaw = problem(response, status)["errors"][0]
    assert (flaw["pointer"], flaw["code"]) == (pointer, code)
    assert all(name in flaw["detail"] for name in named), flaw["detail"]


# --- tagging and parsing: CoNLL-U, gzipped -------------------------------------------------------------------

UNITS = {"word": {"items": "word"}, "sentence": {}, "document (newdoc id)": {"clusters": "document"}}


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("metric", ["upos", "uas", "las"])
@pytest.mark.parametrize("a", ["perceptron", "ngram"])
def test_treebanks_by_word_sentence_and_document(roomy: Service, a: str, metric: str, unit: str) -> None:
    test = entry("conllu_en_ewt-ud", a=a, b="crf", metric=metric, unit=unit)
    files = {"gold": CONLLU["gold"], "u": CONLLU[a], "v": CONLLU["crf"]}
    said = matched(roomy, files, test, 25_094, format="conllu", statistic=metric, **UNITS[unit])
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
    matched(roomy, files, test, 1, metric="upos_sentence", statistic="sum_difference")
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
    matched(roomy, files, test, expected(dataset)[of], format="conll", statistic=statistic, **fields)


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
    matched(roomy, files, test, SCALES[measure], format="trec", measure=measure, statistic="sum_difference")


@pytest.mark.parametrize("measure", ["map", "P_10"])
def test_runs_and_judgements_match_trec_eval(roomy: Service, measure: str) -> None:
    test = entry("trec_robust03", a="aplrob03a", b="uic0301", metric=measure)
    files = {r: f"trec/robust03/input.{s}.gz" for r, s in (("u", "aplrob03a"), ("v", "uic0301"))}
    files["qrels"] = "trec/robust03/qrels.robust03.txt.gz"
    fields = {"measure": measure, "decimals": "4", "statistic": "sum_difference"}
    matched(roomy, files, test, SCALES[measure], format="trec", **fields)


def test_trec_evals_own_test_run_gives_its_own_output(roomy: Service) -> None:
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
def test_averages_over_queries_are_not_items(roomy: Service, name: str) -> None:
    averages = f"trec/trec_eval_test/{name}"
    response = upload(roomy, {"u": averages, "v": averages}, format="trec", measure="map")
    refused(response, 422, "/files/u", "averages_only", "-q")


# --- language models -----------------------------------------------------------------------------------------


@cache
def answers(model: str) -> tuple[dict[str, Any], ...]:
    text = (PACK / "llm_jsonl" / "eus_trivia" / f"{model}.jsonl").read_text("utf-8")
    return tuple(json.loads(line) for line in text.splitlines())


@pytest.mark.parametrize("category", [None, *CATEGORIES])
@pytest.mark.parametrize(("a", "b"), list(combinations(MODELS, 2)))
def test_eus_trivia_by_category_and_pair(service: Service, a: str, b: str, category: str | None) -> None:
    test = entry("llm_eus_trivia", a=a, b=b, **({"subset": category} if category else {}))
    u, v = (
        {
            str(item["id"]): int(item["correct"])
            for item in answers(model)
            if category in (None, item["category"])
        }
        for model in (a, b)
    )
    said = answer_to(
        service.post("/v1/tests/scores", {"u": u, "v": v, "pmf": "none", "exact_fraction": True})
    )
    agrees(said, test)
    assert said["statistic"]["u"] == test["sum_a"] / test["n_units"]
    assert said["pairing"]["matched"] == test["n_units"]


@pytest.mark.parametrize(("a", "b"), list(combinations(MODELS, 2)))
def test_eus_trivia_by_pair(roomy: Service, a: str, b: str) -> None:
    test = entry("llm_eus_trivia", a=a, b=b)
    files = {role: f"llm_jsonl/eus_trivia/{model}.jsonl" for role, model in (("u", a), ("v", b))}
    said = matched(roomy, files, test, 1_715, format="jsonl")
    assert said["pairing"] == {"matched": 1_715, "only_u": 0, "only_v": 0}
    assert answer(roomy, files)["reading"]["format"] == "jsonl"


def test_two_models_of_lm_eval_on_one_filter(roomy: Service) -> None:
    test = expected("lm_eval")["pyfade_gsm8k"]["by_filter"]["strict-match"]["test"]
    said = matched(roomy, PYFADE, test, 1, **SUM)
    assert said["p_value"] == 1.0
    assert (said["reading"]["format"], said["reading"]["guessed"]) == ("lm-eval", True)


def test_two_filters_of_one_file_are_two_systems(roomy: Service) -> None:
    test = expected("lm_eval")["gpt_oss_gsm8k_two_filters"]["test"]
    filters = {"filter_u": "strict-match", "filter_v": "flexible-extract"}
    for files in ({"file": TWO_FILTERS}, {"u": TWO_FILTERS, "v": TWO_FILTERS}):
        said = matched(roomy, files, test, 1, format="lm-eval", **filters, **SUM)
        assert said["p_value"] == pytest.approx(2.0679515313825692e-25, rel=1e-12)


@pytest.mark.parametrize(("roles", "place"), [(("file",), "/files/file"), (("u", "v"), "/files/u")])
def test_two_filters_without_a_choice_are_refused_by_name(
    roomy: Service, roles: tuple[str, ...], place: str
) -> None:
    response = upload(roomy, dict.fromkeys(roles, TWO_FILTERS))
    refused(response, 422, place, "choose_filter", "strict-match", "flexible-extract")


def test_inspect_logs_on_the_samples_they_share(roomy: Service) -> None:
    test = expected("inspect")["arc_paired"]["test_on_common_ids"]
    said = matched(roomy, ARC, test, 1, on_missing="drop", **SUM)
    assert said["p_value"] == 0.5
    assert said["pairing"] == {"matched": 3, "only_u": 0, "only_v": 2}
    assert said["reading"]["format"] == "inspect"
    refused(upload(roomy, ARC), 422, "/files/v", "unmatched_ids")


def test_an_eval_archive_has_the_accuracy_that_inspect_wrote(roomy: Service) -> None:
    wanted = expected("inspect")["files"][SCORED.rpartition("/")[2]]["metrics"]["match"]["accuracy"]
    said = answer(roomy, {"u": SCORED, "v": SCORED})
    assert (said["statistic"]["u"], said["statistic"]["v"]) == (wanted, wanted)
    assert (said["items"]["n"], said["p_value"]) == (10, 1.0)


def test_unscored_and_cancelled_logs_are_refused(roomy: Service) -> None:
    unscored = upload(roomy, {"u": SCORED, "v": UNSCORED})
    refused(unscored, 422, "/files/v/summaries.json/0/scores", "unscored", UNSCORED.rpartition("/")[2])
    refused(
        upload(roomy, {"u": CANCELLED, "v": SCORED}), 422, "/files/u/status", "incomplete_log",
        "cancelled", "allow_incomplete",
    )  # fmt: skip
    said = answer(roomy, {"u": CANCELLED, "v": SCORED}, allow_incomplete="true", on_missing="drop", **SUM)
    assert (said["statistic"]["u"], said["statistic"]["v"]) == (2, 2)
    assert said["pairing"] == {"matched": 3, "only_u": 0, "only_v": 7}


@pytest.mark.parametrize(("metric", "scale"), [("score", 12), ("success", 1)])
def test_promptfoo_providers_are_systems(roomy: Service, metric: str, scale: int) -> None:
    pack = expected("promptfoo")
    test = pack["test_score_x12" if metric == "score" else "test_success"]
    fields = {"system_u": pack["a"], "system_v": pack["b"], "metric": metric}
    said = answer(roomy, {"file": PROMPTFOO}, format="promptfoo", **fields, **SUM)
    assert said["p_value"] == 1.0
    assert said["items"]["n"] == test["n_units"]
    assert said["items"]["nonzero"] == test["n_nonzero_differences"]
    # 2/3 is written with sixteen digits: not on the lattice of twelfths, to the last digit.
    assert said["statistic"]["u"] == pytest.approx(test["sum_a"] / scale, rel=1e-15)
    assert said["statistic"]["v"] == pytest.approx(test["sum_b"] / scale, rel=1e-15)


# --- speech --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("unit", "clusters"), [("utterance", {}), ("call", {"clusters": "call"})])
@pytest.mark.parametrize("files", [COUNTS, TRANSCRIPTS], ids=["counts", "trn"])
def test_word_error_rates_by_utterance_and_call(
    roomy: Service, files: dict[str, str], unit: str, clusters: dict[str, str]
) -> None:
    test = entry("asr_earnings21", unit=unit, statistic="word errors")
    matched(roomy, files, test, 121_554, format="asr", **clusters)


@pytest.mark.parametrize("files", [COUNTS, TRANSCRIPTS], ids=["counts", "trn"])
def test_utterances_without_an_error(roomy: Service, files: dict[str, str]) -> None:
    test = entry("asr_earnings21", statistic="utterances without error")
    matched(roomy, files, test, 1, format="asr", metric="utterance_accuracy", **SUM)


def test_empty_hypotheses_are_deletions_and_counted(roomy: Service) -> None:
    notes = " ".join(answer(roomy, TRANSCRIPTS, format="asr")["reading"]["notes"])
    assert "u: 92 utterances have an empty hypothesis" in notes
    assert "v: 67 utterances have an empty hypothesis" in notes


# --- translation ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "fields", "scale"),
    [
        ("TER edits (reference length is the same for both systems)", {"metric": "ter"}, 40_144),
        ("clipped unigram matches", {"metric": "correct_1", **SUM}, 1),
        ("clipped 4-gram matches", {"metric": "correct_4", **SUM}, 1),
        # The entry with one decimal was made from scores with more digits than the file has.
        (
            "segment chrF2 (4 printed decimals) rounded to 2 decimals, x 100",
            {"metric": "chrf2", "decimals": "2", **SUM}, 100,
        ),
    ],
    ids=["ter", "correct_1", "correct_4", "chrf2"],
)  # fmt: skip
def test_segment_statistics_of_translations(
    roomy: Service, name: str, fields: dict[str, str], scale: int
) -> None:
    test = entry("mt_ted_slk_eng", statistic=name)
    matched(roomy, SEGMENTS, test, scale, format="mt-stats", **fields)


def test_corpus_bleu_of_the_segment_statistics_is_sacrebleus(roomy: Service) -> None:
    systems = expected("mt_ted_slk_eng")["systems"]
    known = answer(roomy, SEGMENTS, format="mt-stats", metric="bleu")
    asked = {"method": "monte_carlo", "samples": "2000", "seed": "1"}
    said = answer(roomy, SEGMENTS, format="mt-stats", metric="bleu", **asked)
    assert said["statistic"] == known["statistic"]
    assert said["statistic"]["u"] == pytest.approx(systems["sys1"]["bleu"], rel=1e-12)
    assert said["statistic"]["v"] == pytest.approx(systems["sys2"]["bleu"], rel=1e-12)
    assert (said["method"]["name"], said["method"]["exact"]) == ("monte_carlo", False)
    drawn = said["method"]["monte_carlo"]
    assert drawn["control"] == "midpoint"
    assert drawn["p_value_plain"] == (drawn["exceedances"] + 1) / 2_001
    low, high = said["p_value_bounds"]
    assert said["p_value_bounds_kind"] == "confidence"
    assert 0 <= low <= said["p_value"] <= high < 0.05
    # Without a method asked for, a rigorous bracket decides; with 99 % confidence the samples agree with it.
    assert (known["method"]["name"], known["p_value_bounds_kind"]) == ("bounds", "certified")
    least, greatest = known["p_value_bounds"]
    assert 0 < least <= known["p_value"] <= greatest < 0.05
    assert known["significant"]
    assert low <= greatest
    assert least <= high


# --- human judgement -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("test", expected("mqm_newstest2020_ende")["tests"] if PACK.is_dir() else [])
def test_judgements_printed_with_six_decimals_are_thirtieths(roomy: Service, test: dict[str, Any]) -> None:
    systems = {"system_u": test["a"], "system_v": test["b"]}
    matched(roomy, {"file": MQM}, test, 30, format="mqm", unit="1/30", **systems, **SUM)


def test_the_ten_judged_systems_are_named_when_none_is_chosen(roomy: Service) -> None:
    names = tuple(expected("mqm_newstest2020_ende")["systems"])
    refused(upload(roomy, {"file": MQM}, format="mqm"), 422, "/files/file", "choose_system_u", *names)


# --- without a word about the format -------------------------------------------------------------------------

GUESSED: list[tuple[str, dict[str, str], dict[str, str]]] = [
    ("conll", WNUT, {}),
    ("conll", WNUT_COLUMNS, {}),
    ("conll", UNER, {}),
    ("promptfoo", {"file": PROMPTFOO}, {}),
    ("asr", COUNTS, {}),
    ("asr", TRANSCRIPTS, {}),
    ("mt-stats", SEGMENTS, {"metric": "ter"}),
    ("mqm", {"file": MQM}, {"system_u": "OPPO.1535", "system_v": "Human-A.0"}),
]


@pytest.mark.parametrize(("format_", "files", "fields"), GUESSED)
def test_the_format_is_guessed_and_reported(
    roomy: Service, format_: str, files: dict[str, str], fields: dict[str, str]
) -> None:
    reading = answer(roomy, files, **fields)["reading"]
    assert (reading["format"], reading["guessed"]) == (format_, True)
    assert "guessed" in reading["notes"][0]
