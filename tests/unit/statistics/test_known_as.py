"""Every name of a tool that the catalogue gives a statistic: the tool's value on 200 random columns with ties, by the tool itself.

A name without a check fails; one whose package is not installed is skipped. Where a tool has no value (a correlation of scores that all
tie), 0 is ours, as the documents say.
"""

from __future__ import annotations

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
from exactperm.inference.paired_test import run_test
from exactperm.statistics.catalogue import ENTRIES
from exactperm.statistics.paired import Counts, Paired, Pairing, Predictions, Scores, Segments, StatisticSpec

CASES = 100  # of two columns each
Column = Any
NAMES = [(entry.kind, entry.name, tool) for entry in ENTRIES for tool in entry.known_as]


@dataclass(frozen=True)
class Check:
    """Data of both systems, and what the tool makes of one of them (`score`), or of both (`p`)."""

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
        u, v = np.array(_numbers(chance)[:6]), np.array(_numbers(chance)[:6])
        gold: Any = np.array([0, 1, *(gold_of(chance) for _ in range(4))])
        return Predictions(gold, u, v, Pairing()), gold, u, v  # type: ignore[arg-type]

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
    """What sacrebleu counts of each segment."""

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
