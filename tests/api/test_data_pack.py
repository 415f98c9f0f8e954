"""The data pack over HTTP: real outputs of real systems in, the pack's exact p-values out.

The expected values are exact integers made without this program (`expected/` in the pack). U is the entry's `a`,
V its `b`.
"""

from __future__ import annotations

import gzip
import json
from decimal import Decimal
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.pack

PACK = Path(__file__).resolve().parents[3] / "shared" / "data"
LOWEST_DOUBLE = Decimal("1e-307")
LONGEST_FRACTION = 20_000  # sum of magnitudes: beyond it an exact fraction takes seconds, or the budget

Word = tuple[str, str, str]  # UPOS, HEAD, DEPREL
MEASURES = {
    "map": 10_000,
    "ndcg_cut_10": 10_000,
    "recip_rank": 10_000,
    "bpref": 10_000,
    "P_10": 10,
    "num_rel_ret": 1,
}
RUNS = ("uic0301", "UIUC03Rd1", "VTcdhgp1")
MODELS = ("gpt-3.5-turbo-0125", "gpt-4-0613", "gpt-4-0125-preview")
CATEGORIES = (
    "Aisia eta Artea", "Giza eta Natur Zientziak", "Hizkuntza eta Literatura", "Matematika eta Teknologia", "Musika",
)  # fmt: skip


@cache
def expected(dataset: str) -> list[dict[str, Any]]:
    tests: list[dict[str, Any]] = json.loads((PACK / "expected" / f"{dataset}.json").read_text("utf-8"))[
        "tests"
    ]
    return tests


def entry(dataset: str, **wanted: str) -> dict[str, Any]:
    """The one expected test with these members; what is not wanted by name must not be there for `subset`."""
    found = [
        test
        for test in expected(dataset)
        if all(test.get(name) == value for name, value in wanted.items())
        and ("subset" in wanted or "subset" not in test)
    ]
    assert len(found) == 1, (dataset, wanted, len(found))
    return found[0]


def column(path: str, name: str) -> list[str]:
    """A column of a tab-separated file with a header."""
    rows = [line.split("\t") for line in (PACK / path).read_text("utf-8").splitlines()]
    return [row[rows[0].index(name)] for row in rows[1:]]


def agrees(said: dict[str, Any], test: dict[str, Any]) -> None:
    """The answer has the exact p-value, inside certified bounds, and counts the same differences."""
    p = Decimal(test["p_two_sided"]["decimal"])
    assert said["method"]["exact"] is True
    assert said["items"]["nonzero"] == test["n_nonzero_differences"]
    assert (said["items"]["clusters"] or said["items"]["n"]) == test["n_units"]
    assert said["log10_p_value"] == pytest.approx(float(p.log10()), rel=0, abs=1e-9)
    low, high = (Decimal(bound) for bound in said["p_value_bounds"])
    if p > LOWEST_DOUBLE:
        assert said["p_value"] == pytest.approx(float(p), rel=1e-12, abs=0)
        # The decimal has 21 digits; the bounds may be closer than that to the truth.
        assert low * (1 - Decimal("1e-20")) <= p <= high * (1 + Decimal("1e-20"))
    else:
        assert said["p_value"] > 0
        assert low <= p <= high
    fraction = said["p_value_fraction"]
    if fraction is not None:
        assert fraction["numerator"] == test["p_two_sided"]["numerator"]
        assert fraction["log2_denominator"] == test["p_two_sided"]["denominator_power_of_two"]


def scored(service: Any, u: list[Any], v: list[Any], test: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Post scores as sums, with the exact fraction where it is not too long, and check the answer."""
    body = {"u": u, "v": v, "statistic": {"name": "sum_difference"}, "pmf": "none", **more}
    body["exact_fraction"] = test["sum_abs_difference"] <= LONGEST_FRACTION
    response = service.post("/v1/tests/scores", body)
    assert response.status_code == 200, response.text[:1000]
    said: dict[str, Any] = response.json()
    agrees(said, test)
    assert (said["statistic"]["u"], said["statistic"]["v"]) == (test["sum_a"], test["sum_b"])
    return said


# --- large language models: one 0/1 per question ------------------------------------------------------------


@cache
def answers(model: str) -> tuple[dict[str, Any], ...]:
    text = (PACK / "llm_jsonl" / "eus_trivia" / f"{model}.jsonl").read_text("utf-8")
    return tuple(json.loads(line) for line in text.splitlines())


@pytest.mark.parametrize("category", [None, *CATEGORIES])
@pytest.mark.parametrize(("a", "b"), list(combinations(MODELS, 2)))
def test_eus_trivia_by_category_and_pair(service: Any, a: str, b: str, category: str | None) -> None:
    test = entry("llm_eus_trivia", a=a, b=b, **({"subset": category} if category else {}))
    u, v = (
        {
            str(item["id"]): int(item["correct"])
            for item in answers(model)
            if category in (None, item["category"])
        }
        for model in (a, b)
    )
    response = service.post("/v1/tests/scores", {"u": u, "v": v, "pmf": "none", "exact_fraction": True})
    assert response.status_code == 200, response.text[:1000]
    said = response.json()
    agrees(said, test)
    assert said["statistic"]["u"] == test["sum_a"] / test["n_units"]
    assert said["pairing"]["matched"] == test["n_units"]


# --- retrieval: the decimals that trec_eval prints, by topic --------------------------------------------------


@cache
def by_topic(run: str, measure: str) -> dict[str, float]:
    text = (PACK / "trec" / "robust03" / f"eval.{run}.trec_eval.txt").read_text("utf-8")
    rows = [line.split() for line in text.splitlines()]
    return {topic: float(value) for name, topic, value in rows if name == measure and topic != "all"}


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("run", RUNS)
def test_trec_measures_by_topic(service: Any, run: str, measure: str) -> None:
    test = entry("trec_robust03", a="aplrob03a", b=run, metric=measure)
    u, v = by_topic("aplrob03a", measure), by_topic(run, measure)
    body = {"u": u, "v": v, "statistic": {"name": "sum_difference"}, "pmf": "none", "exact_fraction": True}
    response = service.post("/v1/tests/scores", body)
    assert response.status_code == 200, response.text[:1000]
    agrees(response.json(), test)
    # Decimals are exact: the sums are the pack's integers over the scale, rounded once.
    assert response.json()["statistic"]["u"] == test["sum_a"] / MEASURES[measure]
    assert response.json()["statistic"]["observed"] == test["observed_sum_difference"] / MEASURES[measure]


# --- tagging and parsing: CoNLL-U ---------------------------------------------------------------------------


@cache
def treebank(system: str) -> tuple[list[list[Word]], list[str]]:
    """Sentences of words, and the document of each sentence."""
    sentences: list[list[Word]] = []
    documents: list[str] = []
    document = ""
    with gzip.open(PACK / "conllu" / f"en_ewt-ud-test.{system}.conllu.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            if line.startswith("# newdoc id = "):
                document = line[14:].strip()
            elif line.startswith("# sent_id"):
                sentences.append([])
                documents.append(document)
            elif line[0].isdigit():
                fields = line.split("\t")
                if fields[0].isdigit():  # neither 1-2 nor 1.1
                    sentences[-1].append((fields[3], fields[6], fields[7].partition(":")[0]))
    return sentences, documents


def labels(system: str, metric: str) -> list[list[str]]:
    """What the metric compares for each word: the tag, the head, or head and universal relation."""
    chosen = {"upos": slice(0, 1), "uas": slice(1, 2), "las": slice(1, 3)}[metric]
    return [[" ".join(word[chosen]) for word in sentence] for sentence in treebank(system)[0]]


@pytest.mark.parametrize("unit", ["word", "sentence", "document (newdoc id)"])
@pytest.mark.parametrize("metric", ["upos", "uas", "las"])
@pytest.mark.parametrize("a", ["perceptron", "ngram"])
def test_tagging_and_parsing_by_word_sentence_and_document(
    service: Any, a: str, metric: str, unit: str
) -> None:
    test = entry("conllu_en_ewt-ud", a=a, b="crf", metric=metric, unit=unit)
    columns: dict[str, list[Any]] = {
        name: labels(system, metric) for name, system in (("gold", "gold"), ("u", a), ("v", "crf"))
    }
    if unit == "word":
        columns = {name: [label for item in items for label in item] for name, items in columns.items()}
    body = {
        **columns,
        "statistic": {"name": "accuracy" if unit == "word" else "token_accuracy"},
        "clusters": treebank("gold")[1] if unit.startswith("document") else None,
        "pmf": "none",
        "exact_fraction": True,
    }
    response = service.post("/v1/tests/predictions", body)
    assert response.status_code == 200, response.text[:1000]
    agrees(response.json(), test)
    assert response.json()["statistic"]["u"] == test["sum_a"] / 25_094


@pytest.mark.parametrize("a", ["perceptron", "ngram"])
def test_whole_sentences_right(service: Any, a: str) -> None:
    test = entry("conllu_en_ewt-ud", a=a, b="crf", metric="upos sentence accuracy")
    columns = {name: labels(system, "upos") for name, system in (("gold", "gold"), ("u", a), ("v", "crf"))}
    body = {**columns, "statistic": {"name": "exact_match"}, "pmf": "none", "exact_fraction": True}
    response = service.post("/v1/tests/predictions", body)
    assert response.status_code == 200, response.text[:1000]
    agrees(response.json(), test)


def test_a_p_value_of_10_to_the_minus_4817_is_told_by_its_logarithm(service: Any) -> None:
    test = entry("conllu_en_ewt-ud", a="ngram", b="crf", metric="las", unit="word")
    assert test["p_two_sided"]["decimal"] == "1.08977464806834246934e-4817"
    right = {}
    for name, system in (("u", "ngram"), ("v", "crf")):
        pairs = zip(labels("gold", "las"), labels(system, "las"), strict=True)
        right[name] = [int(x == y) for gold, said in pairs for x, y in zip(gold, said, strict=True)]
    said = scored(service, right["u"], right["v"], test)
    assert said["log10_p_value"] == pytest.approx(-4816.9626632995078, rel=0, abs=1e-9)
    assert said["p_value"] == 5e-324
    assert said["p_value_fraction"]["numerator"] == test["p_two_sided"]["numerator"]


# --- speech, translation, human judgement ---------------------------------------------------------------------


@pytest.mark.parametrize("unit", ["utterance", "call"])
def test_word_errors_by_utterance_and_call(service: Any, unit: str) -> None:
    test = entry("asr_earnings21", unit=unit, statistic="word errors")
    files = [f"asr/earnings21/{system}.utterance-counts.tsv" for system in ("google", "amazon")]
    u, v = ([int(errors) for errors in column(file, "errors")] for file in files)
    clusters = column(files[0], "call") if unit == "call" else None
    scored(service, u, v, test, clusters=clusters)


def test_utterances_without_error(service: Any) -> None:
    test = entry("asr_earnings21", statistic="utterances without error")
    files = [f"asr/earnings21/{system}.utterance-counts.tsv" for system in ("google", "amazon")]
    u, v = ([int(errors == "0") for errors in column(file, "errors")] for file in files)
    scored(service, u, v, test)


@pytest.mark.parametrize(
    ("statistic", "name", "scale"),
    [
        ("TER edits (reference length is the same for both systems)", "ter_edits", 1),
        ("clipped unigram matches", "correct_1", 1),
        ("clipped 4-gram matches", "correct_4", 1),
        # The entry with one decimal was made from scores with more digits than the file has.
        ("segment chrF2 (4 printed decimals) rounded to 2 decimals, x 100", "chrf2", 100),
    ],
)
def test_translation_by_segment(service: Any, statistic: str, name: str, scale: int) -> None:
    test = entry("mt_ted_slk_eng", statistic=statistic)
    files = [f"mt/ted_slk_eng/ted.{system}.segment-stats.tsv" for system in ("sys1", "sys2")]
    u, v = ([round(float(value) * scale) for value in column(file, name)] for file in files)
    scored(service, u, v, test)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("OPPO.1535", "Tohoku-AIP-NTT.890"),
        ("eTranslation.737", "Online-B.1590"),
        ("Human-A.0", "Human-B.0"),
    ],
)
def test_human_judgements_in_thirtieths(service: Any, a: str, b: str) -> None:
    test = entry("mqm_newstest2020_ende", a=a, b=b)
    text = (PACK / "mqm" / "mqm_newstest2020_ende.avg_seg_scores.tsv").read_text("utf-8")
    rows = [line.split() for line in text.splitlines()[1:]]
    u, v = (
        {
            segment: round(float(score) * 30)
            for system, score, segment in rows
            if system == name and score != "None"
        }
        for name in (a, b)
    )
    response = service.post("/v1/tests/scores", {"u": u, "v": v, "pmf": "none"})
    assert response.status_code == 200, response.text[:1000]
    agrees(response.json(), test)
