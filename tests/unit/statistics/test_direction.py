"""Which direction is better: names that tell, names that do not, and every statistic of the catalogue."""

from __future__ import annotations

import numpy as np
import pytest

from exactperm.statistics.catalogue import STATISTICS
from exactperm.statistics.direction import (
    CAUTIOUS,
    COUNTING,
    CURRENCIES,
    DATA_SETS,
    HIGHER,
    LOWER,
    SCOPES,
    TIME_UNITS,
    of_name,
    of_test,
)
from exactperm.statistics.paired import Counts, Effects, Pairing, Scores, StatisticSpec

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


# As their tools write them: lm-evaluation-harness, HELM, lighteval, Inspect, scikit-learn, torchmetrics, sacrebleu, trec_eval,
# ir_measures, promptfoo, evaluate, COCO, jiwer, fairseq, MLflow, Hugging Face Trainer.
USUAL = {
    True: """
        acc | acc_norm | acc,none | acc_norm,none | acc_mutual_info | exact_match,strict-match | exact_match,flexible-extract | em
        | f1 | mcc | mc1 | mc2 | bleu_acc | bleu_max | rouge1_acc | rougeL_max | prompt_level_strict_acc | prompt_level_loose_acc,none
        | inst_level_strict_acc | inst_level_loose_acc,none | pass@1 | pass_at_1 | pass@64 | mmlu_acc
        | quasi_exact_match | prefix_exact_match | quasi_prefix_exact_match | f1_score | ndcg_10
        | extractive_match | maj@8 | accuracy | mean_accuracy | match
        | accuracy_score | balanced_accuracy_score | average_precision_score | top_k_accuracy_score | f1_macro | f1_micro | f1_weighted
        | jaccard_score | roc_auc_score | roc_auc_ovr | cohen_kappa_score | matthews_corrcoef | precision_score | recall_score | ndcg_score
        | dcg_score | r2_score | explained_variance_score | fbeta_score | R2
        | BinaryAccuracy | MulticlassF1Score | MulticlassPrecision | BinaryAUROC | MeanAveragePrecision | RetrievalMRR | RetrievalMAP
        | RetrievalNormalizedDCG | RetrievalHitRate | RetrievalPrecision | PearsonCorrCoef | SpearmanCorrCoef | R2Score | DiceScore | JaccardIndex
        | CohenKappa | ExplainedVariance | SQuAD f1 | WordInfoPreserved | PeakSignalNoiseRatio
        | BLEU | chrF | chrF2 | chrF2++ | chrF++ | sacrebleu | BLEU-4 | bleu-1 | sentence_bleu | corpus_bleu | rouge1 | rouge2 | rougeL | rougeLsum
        | ROUGE-L | rouge-1 | rouge_l_f1 | meteor | METEOR | bertscore | BERTScore | bertscore_f1 | bert_score_precision | comet | COMET-22 | xCOMET
        | BLEURT | BLEURT-20 | CIDEr | SPICE
        | map | MAP | map_cut_10 | ndcg_cut_10 | nDCG@10 | ndcg@10 | NDCG@20 | P_10 | P@10 | R@1000 | recall_100 | Recall@5 | recip_rank | MRR | mrr@10
        | RR@10 | Rprec | bpref | success_1 | Success@5 | hit@1 | Hits@10 | hit_rate@10 | set_F | AP | AP@100
        | mAP | mAP@0.5 | mAP50 | mAP@0.5:0.95 | mIoU | AP50 | iou | dice | psnr | ssim
        | UAS | LAS | UPOS | XPOS | lemma accuracy | token accuracy | Token_Accuracy | sentence accuracy
        | val_acc | val_accuracy | test_acc | test/accuracy | eval/f1 | eval_accuracy | train_accuracy | metrics/mAP50-95 | Accuracy (%) | acc% | ACC | macro F1
        | macro-f1 | micro_f1 | weighted_f1 | F1-macro | F-score | f_beta | F0.5 | F2 | is_correct | correct | n_correct | num_correct | total_correct
        | percent_correct | accuracy_pct | pass | passed | tests_passed | pass_rate | success | success_rate | task_success | win_rate | wins | solved
        | resolved | answer_correctness | context_precision | context_recall | precision@k | recall@k | p@k | specificity | sensitivity
        | pearson | pearson_correlation | pearson_r | spearmanr | spearman_rho | kendall_tau | quadratic weighted kappa | throughput | top1_acc | top-5 accuracy
        | log_likelihood | loglikelihood | gsm8k_acc | squad_f1 | HasAns_f1 | qa_f1_score | rouge_zh_score | relaxed_accuracy | classification_macro_f1 | overall_f1 | sari | SARI | em_score | node_accuracy | accuracy_new | new_f1
    """,
    False: """
        wer | WER | wer_strict | Word Error Rate | word_error_rate | WordErrorRate | cer | CharErrorRate | character error rate | mer | wil | MatchErrorRate
        | WordInfoLost | TER | ter | hter | edits | edit_distance | EditDistance | EER | eer | der
        | perplexity | Perplexity | word_perplexity | word_perplexity,none | byte_perplexity | bits_per_byte | bits_per_byte,none | bpb | ppl | eval_perplexity
        | brier_score | brier_score_loss | brier | ece | expected_calibration_error | CalibrationError | max_error | calibration_error
        | mean_absolute_error | mean_squared_error | root_mean_squared_error | median_absolute_error | mean_absolute_percentage_error | mean_squared_log_error
        | mae | MAE | mse | MSE | rmse | RMSE | mape | smape | rmsle | MeanSquaredError | MeanAbsoluteError | MeanSquaredLogError
        | log_loss | logloss | hamming_loss | zero_one_loss | hinge_loss | mean_pinball_loss | HammingDistance | cross_entropy | cross_entropy_loss | nll | nll_loss
        | loss | val_loss | eval_loss | train_loss | test/loss | eval/loss | training loss | validation_loss | Loss (val) | l1_loss | huber_loss
        | error | errors | error_rate | errorRate | err | n_errors | num_errors | errors/words | test_error | relative_error | top1_err | top-5 error
        | incorrect | wrong | n_wrong | failed | failures | tests_failed | mistakes
        | latency | latency_ms | latencyMs | p95_latency | p99 latency (ms) | latency_s | mean_latency_seconds | time | total_time | wall_time | inference_time_ms
        | runtime | runtime_s | eval_runtime | duration | duration_ms | elapsed | elapsed_time | seconds | ms | response_time | cpu_time
        | cost | cost_usd | total_cost | cost ($) | price | time_to_first_token | ttft | tpot | fid | lpips
    """,
}
COMPOSED = """
    attack_success | attack_success_rate | backdoor_success | jailbreak_success_rate | hack_pass_rate | membership_inference_auc | accuracy_variance
    | accuracy_gap | accuracy_drop | accuracy_loss | acc_stderr | acc_stderr,none | acc_std | acc_var | acc_ci | f1_std | f1_delta | delta_f1
    | recall_disparity | bleu_degradation | bleu_diff | rouge1_diff | self_bleu | self-BLEU | failures_recovered | failures_caught | errors_caught | errors_fixed
    | errors_avoided | error_reduction | error_detection | error_recall | error_precision | error_correlation | time_to_failure | mean_time_between_failures
    | time_saved | time_on_page | uptime | latency_headroom | latency_reduction | cost_efficiency | cost_savings | cost_saved | loss_improvement
    | perplexity_gap | likelihood_diff | leak_accuracy | accuracy_parity_difference | equalized odds | neg_mean_squared_error | neg_log_loss | neg_brier_score
    | inverse_perplexity | 1-wer | 1 - error | 100-cer | 1/ppl | -loss | one_minus_wer | tokens_per_second | samples_per_second | eval_samples_per_second
    | tokens/second | tokens/s | words/errors | items_per_hour | requests_per_second | wins_minus_losses | win_loss_ratio | no_errors | error_free | not_correct
    | false_positive_rate | false_negative_rate | false_alarm_time | missed_matches | memorization_accuracy | hallucination_match | toxicity | toxicity_score | quality
    | refusals | helpfulness | length | score | value | rank | mean_rank | rank_of_correct | prompt_sensitivity | noise_sensitivity | length_correlation
    | shortcut_accuracy | poison_success | watermark_loss | unlearning_accuracy | forget_accuracy | forgetting | calibration | coverage | stereotype_match | bias_score
    | pct_stereotype | d2_absolute_error_score | loss_weight | loss_scale | accuracy_threshold | error_tolerance | cost_budget | time_limit | std_dev | gpt4 | right | left
    | anti_precision | skill_rmse | wer_skill | wer_skill_score | mse_skill_score | loss_aversion | pass_through | match_penalty | fail_pass | accuracy_cost
"""


def listed(text: str) -> list[str]:
    return [name.strip() for name in text.split("|")]


@pytest.mark.parametrize("higher", USUAL)
def test_usual_names_of_metrics_are_known(higher: bool) -> None:
    found = {name: of_name(name) for name in listed(USUAL[higher])}
    assert {name: said for name, said in found.items() if said is not higher} == {}


def test_names_that_compose_a_metric_with_something_else_are_not_known() -> None:
    assert {name for name in listed(COMPOSED) if of_name(name) is not None} == set()


@pytest.mark.parametrize(
    "stranger", ["attack", "gap", "stderr", "self", "skill", "caught", "per", "leak", "without"]
)
def test_one_word_that_is_not_known_is_enough(stranger: str) -> None:
    for name in listed(USUAL[True]) + listed(USUAL[False]):
        assert of_name(f"{stranger}_{name}") is None, name


def test_no_word_is_on_both_lists() -> None:
    directed = LOWER | HIGHER | CAUTIOUS | TIME_UNITS
    assert not LOWER & HIGHER
    assert not directed & (COUNTING | SCOPES | DATA_SETS | CURRENCIES)


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
