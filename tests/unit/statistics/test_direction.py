"""Which direction is better: names that tell, names that do not, and every statistic of the catalogue."""

from __future__ import annotations

import numpy as np
import pytest

from app.statistics.catalogue import STATISTICS
from app.statistics.direction import HIGHER, LOWER, of_name, of_test
from app.statistics.paired import Counts, Effects, Pairing, Scores, StatisticSpec

ONES = np.ones(3, dtype=np.int64)
SCORES = Scores(ONES, ONES, Pairing())
COUNTS = Counts({"errors": ONES, "words": ONES}, {"errors": ONES, "words": ONES}, Pairing())


@pytest.mark.parametrize(
    "name",
    ["wer", "WER", "cer", "TER", "errors", "error_rate", "errorRate", "Error Rate", "loss", "eval_loss", "log_loss", "perplexity", "word_perplexity", "ppl", "latency", "latency_ms", "p95-latency", "time", "time_to_first_token", "wall_time_s", "cost", "cost_usd", "rmse", "bits_per_byte", "brier_score", "nll", "neg_log_likelihood", "incorrect"],
)  # fmt: skip
def test_less_of_it_is_better(name: str) -> None:
    assert of_name(name) is False


@pytest.mark.parametrize(
    "name",
    ["accuracy", "acc", "acc_norm", "Acc@1", "f1", "F1", "f1_macro", "macro-F1", "bleu", "BLEU-4", "chrF", "chrF++", "rouge1", "rougeL", "rouge_l", "upos", "las_full", "upos_sentence", "map", "ndcg_cut_10", "nDCG@10", "recall_1000", "exact_match", "pass@1", "pass_at_10", "success", "is_correct", "mc2", "win_rate", "log_likelihood"],
)  # fmt: skip
def test_more_of_it_is_better(name: str) -> None:
    assert of_name(name) is True


@pytest.mark.parametrize(
    "name",
    ["", "score", "helpfulness", "length", "error_reduction", "accuracy_loss", "loss_improvement", "time_saved", "tokens_per_second", "error_free", "no_errors", "not_correct", "false_positive_rate", "accuracy_drop", "errors_minus_baseline", "lost", "timer", "accurate", "gpt4"],
)  # fmt: skip
def test_a_name_that_does_not_tell_is_not_guessed(name: str) -> None:
    assert of_name(name) is None


def test_no_word_is_on_both_lists() -> None:
    assert not LOWER & HIGHER


def test_the_catalogue_knows_every_statistic_that_has_a_direction_of_its_own() -> None:
    unknown = {
        (kind, entry.name)
        for kind, entries in STATISTICS.items()
        for entry in entries
        if entry.higher_is_better is None
    }
    assert unknown == {
        ("effects", "expression"), ("counts", "expression"), ("counts", "ratio"),
        ("scores", "mean_difference"), ("scores", "sum_difference"), ("scores", "sign"), ("scores", "signed_rank"),
        ("scores", "median_difference"), ("scores", "quantile_difference"),
    }  # fmt: skip
    lower = {
        entry.name for entries in STATISTICS.values() for entry in entries if entry.higher_is_better is False
    }
    assert lower == {"ter"}


def test_scores_are_told_by_their_metric_alone() -> None:
    for name in ("mean_difference", "sign", "signed_rank", "median_difference", "quantile_difference"):
        assert of_test(SCORES, StatisticSpec(name), None) is None
        assert of_test(SCORES, StatisticSpec(name), "latency") is False
        assert of_test(SCORES, StatisticSpec(name), "accuracy") is True


@pytest.mark.parametrize(
    ("numerator", "denominator", "expected"),
    [("errors", "words", False), ("words", "errors", None), ("correct", "words", True), ("errors", "correct", None), ("a", "b", None)],
)  # fmt: skip
def test_a_ratio_is_told_by_what_it_counts(numerator: str, denominator: str, expected: bool | None) -> None:
    spec = StatisticSpec("ratio", {"numerator": numerator, "denominator": denominator})
    assert of_test(COUNTS, spec, None) is expected


def test_expressions_and_effects_do_not_tell() -> None:
    assert of_test(COUNTS, StatisticSpec("expression", {"expression": "errors / words"}), None) is None
    assert of_test(Effects(ONES, None, Pairing()), StatisticSpec("expression"), None) is None
