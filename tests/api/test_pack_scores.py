"""The data pack as files, scores and counts per item: logs of language models, transcripts, translations, judgements.

As in test_pack_files.py: files as they stand in, the pack's own numbers out.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import pytest

from exactperm.settings import Settings
from tests.api.conftest import Service, running
from tests.api.test_pack_files import (
    PACK,
    UNER,
    WNUT,
    WNUT_COLUMNS,
    agrees,
    answer,
    entry,
    expected,
    refused,
    sums,
    upload,
)

pytestmark = [
    pytest.mark.pack,
    pytest.mark.skipif(not PACK.is_dir(), reason="the evaluation data is not in ../shared/data"),
]

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


@pytest.fixture(scope="module")
def roomy() -> Iterator[Service]:
    """The service with its default limits: the transcripts have two megabytes together."""
    yield from running(Settings(workers=1))


# --- language models -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("a", "b"), list(combinations(MODELS, 2)))
def test_eus_trivia_by_pair(roomy: Service, a: str, b: str) -> None:
    test = entry("llm_eus_trivia", a=a, b=b)
    files = {role: f"llm_jsonl/eus_trivia/{model}.jsonl" for role, model in (("u", a), ("v", b))}
    said = answer(roomy, files, format="jsonl")
    agrees(said, test)
    sums(said, test, 1_715)
    assert said["pairing"] == {"matched": 1_715, "only_u": 0, "only_v": 0}
    assert answer(roomy, files)["reading"]["format"] == "jsonl"


def test_two_models_of_lm_eval_on_one_filter(roomy: Service) -> None:
    test = expected("lm_eval")["pyfade_gsm8k"]["by_filter"]["strict-match"]["test"]
    said = answer(roomy, PYFADE, **SUM)
    agrees(said, test)
    sums(said, test, 1)
    assert said["p_value"] == 1.0
    assert (said["reading"]["format"], said["reading"]["guessed"]) == ("lm-eval", True)


def test_two_filters_of_one_file_are_two_systems(roomy: Service) -> None:
    test = expected("lm_eval")["gpt_oss_gsm8k_two_filters"]["test"]
    filters = {"filter_u": "strict-match", "filter_v": "flexible-extract"}
    for files in ({"file": TWO_FILTERS}, {"u": TWO_FILTERS, "v": TWO_FILTERS}):
        said = answer(roomy, files, format="lm-eval", **filters, **SUM)
        agrees(said, test)
        sums(said, test, 1)
        assert said["p_value"] == pytest.approx(2.0679515313825692e-25, rel=1e-12)


@pytest.mark.parametrize(("roles", "place"), [(("file",), "/files/file"), (("u", "v"), "/files/u")])
def test_two_filters_without_a_choice_are_refused_by_name(
    roomy: Service, roles: tuple[str, ...], place: str
) -> None:
    response = upload(roomy, dict.fromkeys(roles, TWO_FILTERS))
    refused(response, 422, place, "choose_filter", "strict-match", "flexible-extract")


def test_inspect_logs_on_the_samples_they_share(roomy: Service) -> None:
    test = expected("inspect")["arc_paired"]["test_on_common_ids"]
    said = answer(roomy, ARC, on_missing="drop", **SUM)
    agrees(said, test)
    sums(said, test, 1)
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
    if "ref" in files:
        pytest.importorskip("jiwer")
    test = entry("asr_earnings21", unit=unit, statistic="word errors")
    said = answer(roomy, files, format="asr", **clusters)
    agrees(said, test)
    sums(said, test, 121_554)


@pytest.mark.parametrize("files", [COUNTS, TRANSCRIPTS], ids=["counts", "trn"])
def test_utterances_without_an_error(roomy: Service, files: dict[str, str]) -> None:
    if "ref" in files:
        pytest.importorskip("jiwer")
    test = entry("asr_earnings21", statistic="utterances without error")
    said = answer(roomy, files, format="asr", metric="utterance_accuracy", **SUM)
    agrees(said, test)
    sums(said, test, 1)


def test_empty_hypotheses_are_deletions_and_counted(roomy: Service) -> None:
    pytest.importorskip("jiwer")
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
    said = answer(roomy, SEGMENTS, format="mt-stats", **fields)
    agrees(said, test)
    sums(said, test, scale)


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
    said = answer(roomy, {"file": MQM}, format="mqm", unit="1/30", **systems, **SUM)
    agrees(said, test)
    sums(said, test, 30)


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
def test_the_format_is_guessed_and_said(
    roomy: Service, format_: str, files: dict[str, str], fields: dict[str, str]
) -> None:
    if "ref" in files:
        pytest.importorskip("jiwer")
    reading = answer(roomy, files, **fields)["reading"]
    assert (reading["format"], reading["guessed"]) == (format_, True)
    assert "guessed" in reading["notes"][0]
