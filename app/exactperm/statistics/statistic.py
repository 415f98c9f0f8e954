"""What the registry of statistics holds: plain data, so that the command line shows it without importing numpy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

Kind = Literal["effects", "scores", "counts", "predictions", "segments"]
# What one has, and what one asks: `DATA` and `QUESTIONS` say them in words.
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
    """A parameter of a statistic. `choices` is empty where any value of its type may be meant.

    `default` is as it would be written in a query; None where there is none.
    """

    name: str
    meaning: str
    type: ParameterType = "text"
    choices: tuple[str, ...] = ()
    default: str | None = None

    def described(self) -> dict[str, Any]:
        """As `GET /v1/meta` shows it."""
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
    `title` is what a sentence calls it, `hint` what it measures in plain words, `meaning` its definition.
    `higher_is_better` is None where that depends on what was measured. `needs` is a package beyond the usual ones.
    `data` is what one may have (that of its kind, if none is named), and `question` what one asks of it. `known_as` has the
    names of the same score, or of the test of its difference, in SciPy, scikit-learn, imbalanced-learn, statsmodels, seqeval,
    sacrebleu, jiwer and WMT's metrics task.
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
        """As `GET /v1/meta` shows it; the title by itself is "Jaccard index", "BLEU" or "chrF"."""
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


# What one has and what one asks, in words


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
    "effects": "What each item adds, stayed and swapped",
}
QUESTIONS: Mapping[Question, str] = {
    "mean": "How large is the difference on average?",
    "order": "Which system is ahead, and how often?",
    "share": "What share is right?",
    "rate": "How many errors or edits are there per unit?",
    "overlap": "How far do the predicted and the true overlap?",
    "agreement": "How far do labels agree with gold, fairly to rare classes?",
    "quantile": "What is the usual, or nearly the worst, value?",
    "correlation": "How far does the order of scores agree with that of humans or of gold?",
    "formula": "What does a formula of your own say?",
}


def by_data_and_question(entries: Iterable[Statistic]) -> dict[tuple[Data, Question], list[Statistic]]:
    """The statistics by what one has and what one asks, in the order of both; one that is for several data is in each."""
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
    return {key: found for key, found in grouped.items() if found}


# Parameters and sentences that several entries of the `catalogue` share


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
