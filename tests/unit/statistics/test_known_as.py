"""Names of statistics, and which direction is better."""

import random
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from exactperm.answers.test import TestRecord
from exactperm.engine.plan import Budget
from exactperm.inference.options import Options
from exactperm.inference.paired import run_test
from exactperm.statistics.catalogue import ENTRIES, STATISTICS
from exactperm.statistics.names import (
    CAUTIOUS,
    COUNTING,
    CURRENCIES,
    DATA_SETS,
    HIGHER,
    LOWER,
    SCOPES,
    TIME_UNITS,
    of_kind,
    of_name,
)
from exactperm.statistics.paired import Counts, Paired, Pairing, Predictions, Scores, Segments, StatisticSpec

# Every name of a tool that the catalogue gives a statistic: the tool's value on 200 random columns with ties, by the tool itself.


CASES = 100  # of two columns each
Column = Any
NAMES = [(entry.kind, entry.name, tool) for entry in ENTRIES for tool in entry.known_as]


@dataclass(frozen=True)
class Check:
    """Data of both systems, and the tool's value for one of them (`score`), or for both (`p`)."""

    made: Callable[[random.Random], tuple[Paired, Any, Column, Column]]
    score: Callable[[Any, Any, Column], float] | None = None
    p: Callable[[Any, Column, Column], float] | None = None
    parameters: Mapping[str, Any] | None = None


def _numbers(chance: random.Random) -> list[float]:
    steps = chance.choice((1, 2, 5, 1000))
    return [chance.randint(0, steps) / 10 for _ in range(8)]


def scores(chance: random.Random) -> tuple[Paired, Any, Column, Column]:
    n = chance.randint(3, 8)
    u, v = (np.array(_numbers(chance)[:n]) for _ in range(2))
    return Scores(u, v), None, u, v


def outcomes(chance: random.Random) -> tuple[Paired, Any, Column, Column]:
    u, v = (np.array([float(chance.random() < 0.6) for _ in range(9)]) for _ in range(2))
    return Scores(u, v), None, u, v


def labels(classes: int) -> Callable[[random.Random], tuple[Paired, Any, Column, Column]]:
    def made(chance: random.Random) -> tuple[Paired, Any, Column, Column]:
        n = chance.randint(3, 9)
        gold, u, v = ([chance.randrange(classes) for _ in range(n)] for _ in range(3))
        gold[:2] = [0, 1]
        return Predictions(gold, u, v), gold, u, v

    return made


def ranked(
    gold_of: Callable[[random.Random], int],
) -> Callable[[random.Random], tuple[Paired, Any, Column, Column]]:
    def made(chance: random.Random) -> tuple[Paired, Any, Column, Column]:
        u: Any = np.array(_numbers(chance)[:6])
        v: Any = np.array(_numbers(chance)[:6])
        gold: Any = np.array([0, 1, *(gold_of(chance) for _ in range(4))])
        return Predictions(gold, u, v, Pairing()), gold, u, v

    return made


def counts(chance: random.Random) -> tuple[Paired, Any, Column, Column]:
    """Four counts of six items, and the labels they are of: gold, then predictions."""
    tables, columns = [], []
    for _ in range(2):
        table = np.array([[chance.randint(0, 3) for _ in range(4)] for _ in range(6)])
        table[0] = [1, 1, 1, 1]
        tables.append(dict(zip(("tp", "fp", "fn", "tn"), table.T, strict=True)))
        tp, fp, fn, tn = table.sum(axis=0).tolist()
        columns.append(([1] * tp + [0] * fp + [1] * fn + [0] * tn, [1] * (tp + fp) + [0] * (fn + tn)))
    return Counts(tables[0], tables[1]), None, columns[0], columns[1]


def of_named(*names: str) -> Callable[[random.Random], tuple[Paired, Any, Column, Column]]:
    """The same as the counts a statistic is made of."""

    def made(chance: random.Random) -> tuple[Paired, Any, Column, Column]:
        data, gold, u, v = counts(chance)
        assert isinstance(data, Counts)
        both = []
        for table in (data.u, data.v):
            whole: dict[str, Any] = {
                **table,
                "correct": table["tp"] + table["tn"],
                "total": sum(table.values()),
            }
            both.append({name: whole[name] for name in names})
        return Counts(both[0], both[1]), gold, u, v

    return made


def _words(chance: random.Random, count: int) -> str:
    return " ".join(chance.choice(("the", "cat", "sat", "on", "a", "mat", "hat.")) for _ in range(count))


def texts(chance: random.Random) -> tuple[Paired, Any, Column, Column]:
    references, u, v = ([_words(chance, chance.randint(3, 9)) for _ in range(4)] for _ in range(3))
    u[0] = references[0]
    return Segments(u, v, [[one] for one in references]), [references], u, v


def statistics_of(
    metric: str, name: Callable[[int], str]
) -> Callable[[random.Random], tuple[Paired, Any, Column, Column]]:
    """The counts of sacrebleu for each segment."""

    def made(chance: random.Random) -> tuple[Paired, Any, Column, Column]:
        from sacrebleu import metrics

        _, references, u, v = texts(chance)
        tables = []
        for column in (u, v):
            found = np.array(getattr(metrics, metric)()._extract_corpus_statistics(column, references))
            tables.append({name(at): np.rint(found[:, at]).astype(np.int64) for at in range(found.shape[1])})
        return Counts(tables[0], tables[1]), references, u, v

    return made


def recognised(of_words: bool) -> Callable[[random.Random], tuple[Paired, Any, Column, Column]]:
    """Errors and lengths of four transcripts, by jiwer."""

    def made(chance: random.Random) -> tuple[Paired, Any, Column, Column]:
        import jiwer

        _, (references,), u, v = texts(chance)
        process = jiwer.process_words if of_words else jiwer.process_characters
        tables = []
        for column in (u, v):
            each = [process(one, other) for one, other in zip(references, column, strict=True)]
            errors = [one.substitutions + one.deletions + one.insertions for one in each]
            lengths = [one.substitutions + one.deletions + one.hits for one in each]
            tables.append({"errors": np.array(errors), "words": np.array(lengths)})
        return Counts(tables[0], tables[1]), references, u, v

    return made


def tags(chance: random.Random) -> tuple[Paired, Any, Column, Column]:
    def sentence() -> list[str]:
        return [chance.choice(("O", "O", "B-A", "I-A", "B-B", "I-B")) for _ in range(5)]

    gold, u, v = ([sentence() for _ in range(4)] for _ in range(3))
    return Predictions(gold, u, v), gold, u, v


def of_gold(tool: Any, gold: Any, column: Column) -> float:
    return float(tool(gold, column))


def of_table(tool: Any, _: Any, column: Column) -> float:
    return float(tool(*column))


def without_division(tool: Any, gold: Any, column: Column) -> float:
    return float(tool(gold, column, zero_division=0) if gold is not None else tool(*column, zero_division=0))


def correlation(tool: Any, gold: Any, column: Column) -> float:
    return float(tool(column, gold).statistic)


def corpus(tool: Any, references: Any, column: Column) -> float:
    return float(tool(column, references).score)


def mcnemar(tool: Any, u: Column, v: Column) -> float:
    table = [[int(((u == a) & (v == b)).sum()) for b in (1.0, 0.0)] for a in (1.0, 0.0)]
    return float(tool(table, exact=True).pvalue)


def permuted(tool: Any, u: Column, v: Column) -> float:
    def difference(x: Any, y: Any, axis: int) -> Any:
        return np.mean(x, axis=axis) - np.mean(y, axis=axis)

    return float(tool((u, v), difference, permutation_type="samples", n_resamples=np.inf).pvalue)


def binomial(tool: Any, u: Column, v: Column) -> float:
    wins, losses = int((u > v).sum()), int((u < v).sum())
    return float(tool(wins, wins + losses).pvalue) if wins + losses else 1.0


def signs(tool: Any, u: Column, v: Column) -> float:
    return float(tool(u - v)[1]) if (u != v).any() else 1.0


def signed_ranks(tool: Any, u: Column, v: Column) -> float:
    """SciPy's exact law has no ties; all swaps are the same law with them. Differences are those of tenths."""
    from scipy import stats

    apart = np.rint(10 * (u - v))
    if np.count_nonzero(apart) < 2:
        return 1.0
    return float(tool(apart[apart != 0], method=stats.PermutationMethod(n_resamples=1 << 10)).pvalue)


_SK, _ST = "sklearn.metrics.", "statsmodels.stats."
CHECKS: dict[tuple[str, str, str], Check] = {
    ("scores", "mean_difference", "scipy.stats.permutation_test"): Check(scores, p=permuted),
    ("scores", "mean_difference", f"{_ST}contingency_tables.mcnemar"): Check(outcomes, p=mcnemar),
    ("scores", "sign", "scipy.stats.binomtest"): Check(scores, p=binomial),
    ("scores", "sign", f"{_ST}descriptivestats.sign_test"): Check(scores, p=signs),
    ("scores", "signed_rank", "scipy.stats.wilcoxon"): Check(scores, p=signed_ranks),
    ("scores", "median_difference", "numpy.median"): Check(scores, lambda tool, _, x: float(tool(x))),
    ("scores", "quantile_difference", "numpy.quantile"): Check(
        scores, lambda tool, _, x: float(tool(x, 0.9)), parameters={"q": 0.9}
    ),
    ("counts", "f1", f"{_SK}f1_score"): Check(of_named("tp", "fp", "fn"), of_table),
    ("counts", "fbeta", f"{_SK}fbeta_score"): Check(
        of_named("tp", "fp", "fn"), lambda tool, _, x: float(tool(*x, beta=2)), parameters={"beta": 2}
    ),
    ("counts", "precision", f"{_SK}precision_score"): Check(of_named("tp", "fp"), of_table),
    ("counts", "recall", f"{_SK}recall_score"): Check(of_named("tp", "fn"), of_table),
    ("counts", "accuracy", f"{_SK}accuracy_score"): Check(of_named("correct", "total"), of_table),
    ("counts", "jaccard", f"{_SK}jaccard_score"): Check(of_named("tp", "fp", "fn"), of_table),
    ("counts", "mcc", f"{_SK}matthews_corrcoef"): Check(counts, of_table),
    ("counts", "kappa", f"{_SK}cohen_kappa_score"): Check(counts, of_table),
    ("counts", "balanced_accuracy", f"{_SK}balanced_accuracy_score"): Check(counts, of_table),
    ("counts", "g_mean", "imblearn.metrics.geometric_mean_score"): Check(counts, of_table),
    ("counts", "specificity", "imblearn.metrics.specificity_score"): Check(of_named("tn", "fp"), of_table),
    ("counts", "ratio", "jiwer.wer"): Check(
        recognised(True), of_gold, parameters={"numerator": "errors", "denominator": "words"}
    ),
    ("counts", "ratio", "jiwer.cer"): Check(
        recognised(False), of_gold, parameters={"numerator": "errors", "denominator": "words"}
    ),
    ("counts", "bleu", "sacrebleu.corpus_bleu"): Check(
        statistics_of(
            "BLEU",
            lambda at: (
                "sys_len",
                "ref_len",
                *(f"{of}_{k}" for of in ("correct", "total") for k in range(1, 5)),
            )[at],
        ),
        corpus,
    ),
    ("counts", "chrf", "sacrebleu.corpus_chrf"): Check(
        statistics_of("CHRF", lambda at: f"{('hyp', 'ref', 'match')[at % 3]}_{at // 3 + 1}"), corpus
    ),
    ("counts", "ter", "sacrebleu.corpus_ter"): Check(
        statistics_of("TER", lambda at: ("edits", "ref_len")[at]), corpus
    ),
    ("predictions", "accuracy", f"{_SK}accuracy_score"): Check(labels(4), of_gold),
    ("predictions", "f1", f"{_SK}f1_score"): Check(labels(2), without_division),
    ("predictions", "precision", f"{_SK}precision_score"): Check(labels(2), without_division),
    ("predictions", "recall", f"{_SK}recall_score"): Check(labels(2), without_division),
    ("predictions", "recall", "imblearn.metrics.sensitivity_score"): Check(labels(2), of_gold),
    ("predictions", "mcc", f"{_SK}matthews_corrcoef"): Check(labels(3), of_gold),
    ("predictions", "kappa", f"{_SK}cohen_kappa_score"): Check(labels(3), of_gold),
    ("predictions", "balanced_accuracy", f"{_SK}balanced_accuracy_score"): Check(labels(3), of_gold),
    ("predictions", "g_mean", "imblearn.metrics.geometric_mean_score"): Check(labels(2), of_gold),
    ("predictions", "specificity", "imblearn.metrics.specificity_score"): Check(labels(2), of_gold),
    ("predictions", "span_f1", "seqeval.metrics.f1_score"): Check(tags, without_division),
    ("predictions", "span_precision", "seqeval.metrics.precision_score"): Check(tags, without_division),
    ("predictions", "span_recall", "seqeval.metrics.recall_score"): Check(tags, without_division),
    ("predictions", "auc", f"{_SK}roc_auc_score"): Check(
        ranked(lambda chance: chance.randint(0, 1)), of_gold
    ),
    ("predictions", "concordance", "lifelines.utils.concordance_index"): Check(
        ranked(lambda chance: chance.randint(0, 4)), of_gold
    ),
    ("predictions", "kendall", "scipy.stats.kendalltau"): Check(
        ranked(lambda chance: chance.randint(0, 4)), correlation
    ),
    ("predictions", "pairwise_accuracy", "mt_metrics_eval.pairwise_acc"): Check(
        ranked(lambda chance: chance.randint(0, 4)), of_gold
    ),
    ("predictions", "spearman", "scipy.stats.spearmanr"): Check(
        ranked(lambda chance: chance.randint(0, 4)), correlation
    ),
    ("segments", "bleu", "sacrebleu.corpus_bleu"): Check(texts, corpus),
    ("segments", "chrf", "sacrebleu.corpus_chrf"): Check(texts, corpus),
    ("segments", "ter", "sacrebleu.corpus_ter"): Check(texts, corpus),
}


def test_no_check_is_of_a_name_that_is_gone() -> None:
    assert set(CHECKS) <= set(NAMES)


@pytest.mark.parametrize(("kind", "statistic", "name"), NAMES)
def test_a_statistic_that_is_known_as_a_tool_s_function_has_its_value(
    kind: str, statistic: str, name: str
) -> None:
    check = CHECKS[kind, statistic, name]
    module, _, attribute = name.rpartition(".")
    tool = getattr(pytest.importorskip(module), attribute)
    chance = random.Random(f"{kind} {statistic} {name}")
    for _ in range(CASES):
        data, gold, u, v = check.made(chance)
        said = answered(data, StatisticSpec(statistic, dict(check.parameters or {})))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if check.p is not None:
                assert said.p_value == pytest.approx(check.p(tool, u, v), rel=1e-9), (u, v)
                continue
            assert check.score is not None
            wanted = [check.score(tool, gold, column) for column in (u, v)]
        # On a scale of 100 for BLEU, chrF and TER.
        assert (said.statistic.u, said.statistic.v) == pytest.approx(
            [0.0 if np.isnan(value) else value for value in wanted], abs=1e-9
        ), (gold, u, v)


def answered(data: Paired, spec: StatisticSpec) -> TestRecord:
    return run_test(data, spec, Options(pmf="none", samples=20, alternative="two-sided"), Budget())


# Which direction is better: names that tell, names that do not, and every statistic of the catalogue.


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


def test_a_column_called_as_a_statistic_is_not_asked_about() -> None:
    """A new statistic needs its word in `HIGHER` or `LOWER`, or in `PHRASES`."""
    known = {entry.name: entry.higher_is_better for entry in ENTRIES if entry.higher_is_better is not None}
    assert {name: of_name(name) for name in known} == known


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


def test_the_direction_of_scores_follows_their_metric() -> None:
    for name in ("mean_difference", "sign", "signed_rank", "median_difference", "quantile_difference"):
        assert of_kind("scores", StatisticSpec(name), None) is None
        assert of_kind("scores", StatisticSpec(name), "latency") is False
        assert of_kind("scores", StatisticSpec(name), "accuracy") is True


@pytest.mark.parametrize(
    ("numerator", "denominator", "expected"),
    [("errors", "words", False), ("words", "errors", None), ("correct", "words", True), ("errors", "correct", None), ("a", "b", None)],
)  # fmt: skip
def test_the_direction_of_a_ratio_follows_the_names_of_counts(
    numerator: str, denominator: str, expected: bool | None
) -> None:
    spec = StatisticSpec("ratio", {"numerator": numerator, "denominator": denominator})
    assert of_kind("counts", spec, None) is expected


def test_expressions_and_effects_do_not_tell() -> None:
    assert of_kind("counts", StatisticSpec("expression", {"expression": "errors / words"}), None) is None
    assert of_kind("effects", StatisticSpec("expression"), None) is None
