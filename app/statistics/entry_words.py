"""Parameters and sentences that several entries of the `catalogue` share."""

from __future__ import annotations

from .statistic import Data, Parameter

DEFAULT_EXPRESSION = "x1"
OPERATORS = "arithmetic: + - * / ( ) and abs min max sqrt log exp; 0/0 is 0"
UNIT = Parameter(
    "unit", 'what printed scores are rounded multiples of, such as "1/30" for thirds of tenths', "unit"
)
ZERO_METHOD = Parameter(
    "zero_method", "zero differences, in SciPy's meaning", "text", ("wilcox", "pratt", "zsplit"), "wilcox"
)
INTERPOLATION = Parameter(
    "interpolation",
    "between two values, in numpy.quantile's meaning",
    "text",
    ("linear", "inverted_cdf"),
    "linear",
)
REPEATS = Parameter(
    "repeats",
    "of repeated samples: their mean; all: right every time (pass^k); any: right at least once (pass@k)",
    "text", ("mean", "all", "any"), "mean",
)  # fmt: skip
BETA = "how many times as much recall weighs as precision"
CHRF_BETA = Parameter("beta", BETA, "number", default="2")
LOWERCASE = Parameter("lowercase", "ignore upper and lower case", "boolean", default="false")
AVERAGED = (
    Parameter(
        "average",
        "over classes, in scikit-learn's meaning",
        "text",
        ("binary", "micro", "macro", "weighted"),
        "binary",
    ),
    Parameter("positive", "the positive class of average binary", "label", default="1"),
    Parameter("labels", "the classes that micro, macro and weighted take, instead of all", "labels"),
)
_SCHEME = (
    "BIO as conlleval and seqeval read it, E- and S- too; IOB2, IOBES and BILOU as seqeval's strict mode"
)
TYPED = (
    Parameter("scheme", _SCHEME, "text", ("BIO", "IOB2", "IOBES", "BILOU"), "BIO"),
    Parameter("labels", "the entity types that count, instead of all", "labels"),
)
POSITIVE = (Parameter("positive", "the positive class; all others are negative", "label", default="1"),)
HARMONIC = "Harmonic mean of precision and recall, from the sums over all items."
PRECISE, RECALLED = "How much of what was predicted is right.", "How much of what is right was predicted."
BLEU, CHRF = "Corpus BLEU, not the average of sentences.", "Corpus chrF: character n-grams."
TER = "Translation edit rate; less is better."
FAIR = "A score of classes that is fair to rare ones."
KAPPA = "Agreement with gold beyond what the frequencies of the classes give by chance."
BALANCED = "Recall, averaged over the classes: rare ones weigh as much as frequent ones."
G_MEAN = "Geometric mean of sensitivity and specificity: neither class may be neglected."
SPECIFIC, NEGATIVE = (
    "How much of what is negative was found so.",
    "How much of what was called negative is so.",
)
NUMBERS: tuple[Data, ...] = ("scores", "times")

GROUP_AVERAGE = Parameter(
    "group_average",
    "of groups: the mean of their own values, or all pairs together",
    "text",
    ("mean", "sum"),
    "mean",
)
SCALES = ("ranks", "raw", "standardized")
SCALE = Parameter("scale", "of the scores, on which the systems are exchanged", "text", SCALES, "ranks")
PAIRED = (SCALE, GROUP_AVERAGE)
