"""The registry of statistics, from which the API, `/v1/meta`, the page, the command line and the reports are built.

To add one, write its reducer and an entry here. The first of a kind is the default. Nothing here imports numpy.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, Literal, get_args

from ..errors import InvalidTest

Kind = Literal["effects", "scores", "counts", "predictions", "segments"]
# The kinds of data and of questions; `DATA` and `QUESTIONS` describe them in words.
Data = Literal[
    "outcomes", "scores", "times", "labels", "tags", "rankings", "texts", "counts", "segments", "effects"
]
Question = Literal[
    "mean", "order", "share", "rate", "overlap", "agreement", "quantile", "correlation", "formula"
]
# unit: a number, or a fraction such as "1/30"; label: a text or an integer; labels: a list of them.
ParameterType = Literal["text", "formula", "number", "integer", "boolean", "unit", "label", "labels"]


DATA_OF_KIND: Mapping[Kind, tuple[Data, ...]] = {
    "effects": ("effects",),
    "scores": ("scores",),
    "counts": ("counts",),
    "predictions": ("labels",),
    "segments": ("texts",),
}


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a statistic.

    `choices` is empty where any value of its type is allowed. `default` is written as in a query; None where there
    is none. `later` says that ids of answers are older than the parameter: they have it only where it is not the default.
    """

    name: str
    meaning: str
    type: ParameterType = "text"
    choices: tuple[str, ...] = ()
    default: str | None = None
    later: bool = False

    def described(self) -> dict[str, Any]:
        """Return the entry as `GET /v1/meta` shows it."""
        return {
            "name": self.name,
            "meaning": self.meaning,
            "type": self.type,
            "choices": list(self.choices),
            "default": self.default,
        }


@dataclass(frozen=True, slots=True)
class Statistic:
    """A statistic of one kind of data.

    `reducer` is "module:function" within this package: `function(data, spec)` gives the additive or the joint problem.
    `title` is its name in a sentence, `hint` describes it in plain words, `meaning` defines it. `higher_is_better` is
    None where that depends on what was measured. `needs` names an optional package. `data` lists the data it accepts
    (by default those of its kind), and `question` is the question it answers. `known_as` lists the names of the same
    score, or of the test of its difference, in SciPy, scikit-learn, imbalanced-learn, statsmodels, seqeval, sacrebleu,
    jiwer and WMT's metrics task.
    """

    name: str
    title: str
    hint: str
    meaning: str
    parameters: tuple[Parameter, ...] = ()
    _: KW_ONLY
    kind: Kind
    reducer: str
    higher_is_better: bool | None = True
    needs: str | None = None
    data: tuple[Data, ...] = ()
    question: Question | None = None
    known_as: tuple[str, ...] = ()

    def described(self) -> dict[str, Any]:
        """Return the entry as `GET /v1/meta` shows it; the title stands alone: "Jaccard index", "BLEU" or "chrF"."""
        title = self.title.removeprefix("the ")
        return {
            "name": self.name,
            "kind": self.kind,
            "title": title[0].upper() + title[1:] if title.split()[0].islower() else title,
            "hint": self.hint,
            "meaning": self.meaning,
            "parameters": [parameter.described() for parameter in self.parameters],
            "higher_is_better": self.higher_is_better,
            "needs": self.needs,
            "data": list(self.data or DATA_OF_KIND[self.kind]),
            "question": self.question,
            "known_as": list(self.known_as),
        }


# In words


DATA: Mapping[Data, str] = {
    "outcomes": "Right or wrong, per item",
    "scores": "Scores, one number per item",
    "times": "Times, costs and sizes, per item",
    "labels": "Labels, with gold",
    "tags": "Sequences of tags, with gold",
    "rankings": "Scores, with human scores or gold labels",
    "texts": "Texts, with references",
    "counts": "Counts per item",
    "segments": "Counts per segment, of texts and references",
    "effects": "The effect of each item, unswapped and swapped",
}
QUESTIONS: Mapping[Question, str] = {
    "mean": "How large is the difference on average?",
    "order": "Which system is ahead, and how often?",
    "share": "What share is right?",
    "rate": "How many errors or edits are there per unit?",
    "overlap": "How far do predictions and truth overlap?",
    "agreement": "How well do labels agree with gold, with rare classes counted fairly?",
    "quantile": "What is the typical value, or a value near the worst?",
    "correlation": "How well does the order of scores agree with that of humans or gold?",
    "formula": "How do the systems differ by your own formula?",
}


def by_data_and_question(entries: Iterable[Statistic]) -> dict[tuple[Data, Question], list[Statistic]]:
    """Group the statistics by data and question, in the order of both; a statistic of several kinds of data is in
    each.
    """
    known = list(entries)
    grouped = {
        (data, question): [
            entry
            for entry in known
            if entry.question == question and data in (entry.data or DATA_OF_KIND[entry.kind])
        ]
        for data in DATA
        for question in QUESTIONS
    }
    return {key: members for key, members in grouped.items() if members}


# Parameters and sentences that several entries share


DEFAULT_EXPRESSION = "x1"
OPERATORS = "arithmetic: + - * / ( ) and abs min max sqrt log exp; 0/0 is 0"
UNIT = Parameter(
    "unit",
    'the unit of which printed scores are rounded multiples, such as "1/30" for thirds of tenths',
    "unit",
)
ZERO_METHOD = Parameter(
    "zero_method",
    "treatment of zero differences, as in SciPy",
    "text",
    ("wilcox", "pratt", "zsplit"),
    "wilcox",
)
INTERPOLATION = Parameter(
    "interpolation",
    "interpolation between two values, as in numpy.quantile",
    "text",
    ("linear", "inverted_cdf"),
    "linear",
)
REPEATS = Parameter(
    "repeats",
    "of repeated samples: their mean; all: right every time (pass^k); any: right at least once (pass@k)",
    "text", ("mean", "all", "any"), "mean",
)  # fmt: skip
K = Parameter(
    "k", "of repeats all or any: how many runs of an item pass^k and pass@k are about; all it has unless given", "integer"
)  # fmt: skip
AVERAGE = Parameter(
    "average", "of repeated samples: the mean over items of their means, or over all runs", "text", ("items", "runs"), "items",
    later=True,
)  # fmt: skip
BETA = "how many times as much recall weighs as precision"
CHRF_BETA = Parameter("beta", BETA, "number", default="2")
LOWERCASE = Parameter("lowercase", "ignore upper and lower case", "boolean", default="false")
AVERAGED = (
    Parameter(
        "average",
        "averaging over classes, as in scikit-learn",
        "text",
        ("binary", "micro", "macro", "weighted"),
        "binary",
    ),
    Parameter("positive", "the positive class of average binary", "label", default="1"),
    Parameter("labels", "the classes that micro, macro and weighted average over, instead of all", "labels"),
)
_SCHEME = (
    "BIO as conlleval and seqeval read it, including E- and S-; IOB2, IOBES and BILOU as in seqeval's "
    "strict mode"
)
TYPED = (
    Parameter("scheme", _SCHEME, "text", ("BIO", "IOB2", "IOBES", "BILOU"), "BIO"),
    Parameter("labels", "the entity types that count, instead of all", "labels"),
)
POSITIVE = (Parameter("positive", "the positive class; all others are negative", "label", default="1"),)
HARMONIC = "Harmonic mean of precision and recall, from the sums over all items."
PRECISE, RECALLED = (
    "The share of predictions that are right.",
    ("The share of true cases that were predicted."),
)
BLEU, CHRF = "Corpus BLEU, not the average of sentences.", "Corpus chrF: character n-grams."
TER = "Translation edit rate; less is better."
FAIR = "A score over classes that counts rare ones fairly."
KAPPA = "Agreement with gold beyond that expected by chance from the class frequencies."
BALANCED = "Recall, averaged over the classes: rare ones weigh as much as frequent ones."
G_MEAN = "Geometric mean of sensitivity and specificity: neither class may be neglected."
SPECIFIC, NEGATIVE = (
    "The share of negative cases that were labelled negative.",
    "The share of negative predictions that are right.",
)
NUMBERS: tuple[Data, ...] = ("scores", "times")

GROUP_AVERAGE = Parameter(
    "group_average",
    "of groups: the mean of their values, or all pairs together",
    "text",
    ("mean", "sum"),
    "mean",
)
SCALES = ("ranks", "raw", "standardized")
SCALE = Parameter(
    "scale", "the scale of the scores on which the systems are exchanged", "text", SCALES, "ranks"
)
PAIRED = (SCALE, GROUP_AVERAGE)


# The entries


_score = partial(Statistic, kind="scores", reducer="scores:reduce_scores", higher_is_better=None)
_quantile = partial(Statistic, kind="scores", reducer="scores:reduce_quantiles", higher_is_better=None)
_count = partial(Statistic, kind="counts", reducer="counts:reduce_counts")
_segment_count = partial(Statistic, kind="counts", reducer="corpus:reduce_corpus_counts", data=("segments",))
_label = partial(Statistic, kind="predictions", reducer="labels:reduce_predictions")
_class = partial(Statistic, kind="predictions", reducer="classes:reduce_classes")
_span = partial(Statistic, kind="predictions", reducer="labels:reduce_spans", data=("tags",))
_pair = partial(
    Statistic,
    kind="predictions",
    reducer="pairwise.reduce:reduce_pairwise",
    data=("rankings",),
    question="correlation",
)
_segment = partial(Statistic, kind="segments", reducer="corpus:reduce_segments", needs="sacrebleu")

ENTRIES = (
    Statistic(
        "expression", "the formula", "Your own formula of the sums of the effects.", "h of the sums x1..xm of the effects",
        (Parameter("expression", f"over x1..xm; {OPERATORS}", "formula", default=DEFAULT_EXPRESSION),),
        kind="effects", reducer="local_effects:reduce_effects", higher_is_better=None,
        question="formula",
    ),
    _score(
        "mean_difference", "mean score",
        "Compares the averages. For right or wrong as 1 and 0 this is accuracy, and McNemar’s exact test.",
        "mean of U minus mean of V", (UNIT, REPEATS, K, AVERAGE),
        data=("outcomes", *NUMBERS), question="mean", known_as=("scipy.stats.permutation_test", "statsmodels.stats.contingency_tables.mcnemar"),
    ),
    _score(
        "sum_difference", "total", "Compares the totals; the same p-value as the mean.", "sum of U minus sum of V", (UNIT, REPEATS, K, AVERAGE),
        data=NUMBERS, question="mean",
    ),
    _score(
        "sign", "wins and losses", "Counts only on how many items each system is ahead: the sign test.",
        "wins minus losses of U: the sign test; McNemar's exact test on 0/1 scores", (UNIT, REPEATS, K),
        data=("outcomes", *NUMBERS), question="order", known_as=("scipy.stats.binomtest", "statsmodels.stats.descriptivestats.sign_test"),
    ),
    _score(
        "signed_rank", "signed ranks", "Wilcoxon’s test: trusts the order of the differences, not their size.",
        "Wilcoxon's W+ - W-, ties and zeros included", (ZERO_METHOD, UNIT, REPEATS, K),
        data=NUMBERS, question="order", known_as=("scipy.stats.wilcoxon",),
    ),
    _quantile(
        "median_difference", "the median", "Compares the middle scores; robust to outliers.",
        "median of U minus median of V", (INTERPOLATION, UNIT),
        data=NUMBERS, question="quantile", known_as=("numpy.median",),
    ),
    _quantile(
        "quantile_difference", "the quantile", ("Compares a quantile: for example, the latency below which "
                                               "95 % of items stay."),
        "a quantile of U minus that of V",
        (Parameter("q", "which quantile, from 0 to 1: 0.5 is the median, 0.95 the p95", "number"), INTERPOLATION, UNIT),
        data=NUMBERS, question="quantile", known_as=("numpy.quantile",),
    ),
    _count(
        "f1", "F1", HARMONIC, "F1 from tp, incorrect; or tp, fp, fn; or tp, predicted, gold",
        question="overlap", known_as=("sklearn.metrics.f1_score",),
    ),
    _count(
        "fbeta", "F-beta", "F1 with recall weighing beta times as much as precision.",
        "F-beta from tp, fp, fn; or tp, predicted, gold", (Parameter("beta", BETA, "number", default="1"),),
        question="overlap", known_as=("sklearn.metrics.fbeta_score",),
    ),
    _count(
        "precision", "precision", PRECISE, "precision from tp, fp; or tp, predicted",
        question="share", known_as=("sklearn.metrics.precision_score",),
    ),
    _count(
        "recall", "recall", RECALLED, "recall from tp, fn; or tp, gold",
        question="share", known_as=("sklearn.metrics.recall_score",),
    ),
    _count(
        "accuracy", "accuracy", "The share of units that are right.", "accuracy from correct, total; or correct, incorrect",
        question="share", known_as=("sklearn.metrics.accuracy_score",),
    ),
    _count(
        "jaccard", "the Jaccard index", "Overlap over union, from the sums over all items.",
        "Jaccard index from tp, incorrect; or tp, fp, fn; or tp, predicted, gold",
        question="overlap", known_as=("sklearn.metrics.jaccard_score",),
    ),
    _count(
        "mcc", "Matthews' correlation", FAIR, "Matthews' correlation coefficient from tp, fp, fn, tn",
        question="agreement", known_as=("sklearn.metrics.matthews_corrcoef",),
    ),
    _count(
        "kappa", "Cohen's kappa", KAPPA, "Cohen's kappa from tp, fp, fn, tn",
        question="agreement", known_as=("sklearn.metrics.cohen_kappa_score",),
    ),
    _count(
        "balanced_accuracy", "balanced accuracy", BALANCED, "the mean of sensitivity and specificity from tp, fp, fn, tn",
        question="agreement", known_as=("sklearn.metrics.balanced_accuracy_score",),
    ),
    _count(
        "g_mean", "the G-mean", G_MEAN, "the root of sensitivity times specificity from tp, fp, fn, tn",
        question="agreement", known_as=("imblearn.metrics.geometric_mean_score",),
    ),
    _count(
        "specificity", "specificity", SPECIFIC, "specificity from tn, fp",
        question="share", known_as=("imblearn.metrics.specificity_score",),
    ),
    _count(
        "npv", "negative predictive value", NEGATIVE, "negative predictive value from tn, fn", question="share",
    ),
    _count(
        "ratio", "the ratio of sums",
        "One count over another, summed first: word error rate, for example. Name the two columns.",
        "the sum of one count over the sum of another: WER, CER",
        (
            Parameter("numerator", "the name of a count, such as errors"),
            Parameter("denominator", "the name of a count, such as ref_words"),
        ),
        higher_is_better=None,
        question="rate", known_as=("jiwer.wer", "jiwer.cer"),
    ),
    _count(
        "expression", "the formula", "Your own formula of the sums of the counts.", "f(sums of U's counts) - f(sums of V's)",
        (Parameter("expression", f"over the names of the counts; {OPERATORS}", "formula"),),
        higher_is_better=None,
        question="formula",
    ),
    _segment_count(
        "bleu", "BLEU", BLEU, "corpus BLEU from sys_len, ref_len, correct_1..4, total_1..4 of each segment",
        question="overlap", known_as=("sacrebleu.corpus_bleu",),
    ),
    _segment_count(
        "chrf", "chrF", CHRF, "corpus chrF from hyp_1.., ref_1.., match_1.. of each segment", (CHRF_BETA,),
        question="overlap", known_as=("sacrebleu.corpus_chrf",),
    ),
    _segment_count(
        "ter", "TER", TER, "corpus TER from edits, ref_len of each segment; less is better", higher_is_better=False,
        question="rate", known_as=("sacrebleu.corpus_ter",),
    ),
    _label(
        "accuracy", "accuracy", "The share of labels or tokens that are right.",
        "labels that equal gold; of sequences, their tokens",
        data=("labels", "tags"), question="share", known_as=("sklearn.metrics.accuracy_score",),
    ),
    _label(
        "exact_match", "exact match", "Items that are right as a whole.", "items that equal gold as a whole",
        data=("labels", "tags", "texts"), question="share",
    ),
    _label(
        "token_accuracy", "token accuracy", "The share of tokens that are right; items swap as a whole.", "tokens that equal gold",
        data=("tags",), question="share",
    ),
    _class(
        "f1", "F1", HARMONIC, "F1 of classes, zero_division=0", AVERAGED,
        question="overlap", known_as=("sklearn.metrics.f1_score",),
    ),
    _class(
        "precision", "precision", PRECISE, "precision of classes, zero_division=0", AVERAGED,
        question="share", known_as=("sklearn.metrics.precision_score",),
    ),
    _class(
        "recall", "recall", RECALLED, "recall of classes, zero_division=0", AVERAGED,
        question="share", known_as=("sklearn.metrics.recall_score", "imblearn.metrics.sensitivity_score"),
    ),
    _class(
        "mcc", "Matthews' correlation", FAIR,
        "Matthews' correlation coefficient, of any number of classes",
        question="agreement", known_as=("sklearn.metrics.matthews_corrcoef",),
    ),
    _class(
        "kappa", "Cohen's kappa", KAPPA, "Cohen's kappa of labels and gold, of any number of classes; 0 where both have one class",
        question="agreement", known_as=("sklearn.metrics.cohen_kappa_score",),
    ),
    _class(
        "balanced_accuracy", "balanced accuracy", BALANCED, "the mean of the recalls of gold's classes",
        question="agreement", known_as=("sklearn.metrics.balanced_accuracy_score",),
    ),
    _class(
        "g_mean", "the G-mean", G_MEAN, "the root of sensitivity times specificity of the positive class", POSITIVE,
        question="agreement", known_as=("imblearn.metrics.geometric_mean_score",),
    ),
    _class(
        "specificity", "specificity", SPECIFIC, "specificity of the positive class", POSITIVE,
        question="share", known_as=("imblearn.metrics.specificity_score",),
    ),
    _class(
        "npv", "negative predictive value", NEGATIVE, "negative predictive value of the positive class", POSITIVE,
        question="share",
    ),
    _span(
        "span_f1", "entity F1", "Entities that are wholly right: F1.", "F1 of entities in sequences of tags", TYPED,
        question="overlap", known_as=("seqeval.metrics.f1_score",),
    ),
    _span(
        "span_precision", "entity precision", "The share of predicted entities that are wholly right.",
        "precision of entities in sequences of tags", TYPED,
        question="share", known_as=("seqeval.metrics.precision_score",),
    ),
    _span(
        "span_recall", "entity recall", "The share of true entities that were predicted exactly.",
        "recall of entities in sequences of tags", TYPED,
        question="share", known_as=("seqeval.metrics.recall_score",),
    ),
    _pair(
        "auc", "AUC", "How often a positive item is scored above a negative one: the area under the ROC curve.",
        "area under the ROC curve of scores against two labels, ties a half",
        (Parameter("positive", "the positive label of auc", "label", default="1"), *PAIRED),
        known_as=("sklearn.metrics.roc_auc_score",),
    ),
    _pair(
        "concordance", "concordance", "How often the item with the later time has the higher score: Harrell’s c.",
        "Harrell's c of scores against times, with event 1 or 0 (censored) beside them; ties a half", PAIRED,
        known_as=("lifelines.utils.concordance_index",),
    ),
    _pair(
        "kendall", "Kendall’s tau", "How well the order of the scores agrees with gold’s.",
        "Kendall's tau against gold scores: concordant less discordant pairs; by variant over what ties leave (b), pairs and classes (c), or all pairs (a)",
        (Parameter("variant", "of kendall: tau-b, tau-c (Stuart) or tau-a", "text", ("b", "c", "a"), "b"), *PAIRED),
        known_as=("scipy.stats.kendalltau",),
    ),
    _pair(
        "pairwise_accuracy", "pairwise accuracy", "How many pairs are ordered, or tied, as in gold: WMT’s acc_eq.",
        "pairs of items that are ordered or tied as their gold scores are",
        (
            Parameter("epsilon", "scores that differ by at most this tie; in units of scale", "number", default="0"),
            Parameter("scale", SCALE.meaning, "text", SCALES, "raw"),
            GROUP_AVERAGE,
        ),
        known_as=("mt_metrics_eval.pairwise_acc",),
    ),
    _pair(
        "spearman", "Spearman’s rho", "How well the ranks agree with gold’s.",
        "Spearman's rho against gold scores: Pearson's correlation of mid-ranks", PAIRED,
        known_as=("scipy.stats.spearmanr",),
    ),
    _segment(
        "bleu", "BLEU", BLEU, "corpus BLEU, as sacrebleu counts it",
        (Parameter("tokenize", "sacrebleu's tokenizer", "text", ("13a", "intl", "char", "none", "zh"), "13a"), LOWERCASE),
        question="overlap", known_as=("sacrebleu.corpus_bleu",),
    ),
    _segment(
        "chrf", "chrF", CHRF, "corpus chrF, as sacrebleu counts it",
        (
            Parameter("word_order", "word n-grams besides characters; 2 is chrF++", "integer", default="0"),
            CHRF_BETA,
            LOWERCASE,
        ),
        question="overlap", known_as=("sacrebleu.corpus_chrf",),
    ),
    _segment(
        "ter", "TER", TER, "corpus TER, as sacrebleu counts it; less is better",
        (
            Parameter("normalized", "Tercom's normalisation first", "boolean", default="false"),
            Parameter("case_sensitive", "keep upper and lower case apart", "boolean", default="false"),
        ),
        higher_is_better=False,
        question="rate", known_as=("sacrebleu.corpus_ter",),
    ),
)  # fmt: skip
STATISTICS: Mapping[Kind, tuple[Statistic, ...]] = {
    kind: tuple(entry for entry in ENTRIES if entry.kind == kind) for kind in get_args(Kind)
}


def statistic_of(kind: Kind, name: str) -> Statistic | None:
    """Return the entry of a statistic; None where this kind of data has no such statistic."""
    return next((entry for entry in STATISTICS[kind] if entry.name == name), None)


def require_known(kind: Kind, name: str, parameters: Mapping[str, Any]) -> Statistic:
    """Return the entry of a statistic; refuse an unknown name, parameters of other statistics, and values outside the
    choices.
    """
    entry = statistic_of(kind, name)
    if entry is None:
        detail = f"The statistic must be one of: {', '.join(entry.name for entry in STATISTICS[kind])}."
        raise InvalidTest.at("/statistic/name", "unknown_statistic", detail)
    known = {parameter.name: parameter for parameter in entry.parameters}
    for key, value in parameters.items():
        if value is None:
            continue
        pointer = f"/statistic/{key}"
        if key not in known:
            takes = f"it takes {', '.join(sorted(known))}" if known else "it takes none"
            detail = f"{key} is not a parameter of {name}: {takes}.{_statistics_with(kind, key)}"
            raise InvalidTest.at(pointer, "unknown_parameter", detail)
        choices = known[key].choices
        if choices and value not in choices:
            raise InvalidTest.at(pointer, f"unknown_{key}", f"{key} must be one of: {', '.join(choices)}.")
        if known[key].type == "boolean" and not isinstance(value, bool):
            raise InvalidTest.at(pointer, "not_a_boolean", f"{key} must be true or false.")
    return entry


def _statistics_with(kind: Kind, parameter: str) -> str:
    """Say which statistics take a parameter; a request without a name means the first of its kind."""
    names = [entry.name for entry in STATISTICS[kind] if any(p.name == parameter for p in entry.parameters)]
    return f" It is a parameter of {', '.join(names)}: name the statistic." if names else ""
