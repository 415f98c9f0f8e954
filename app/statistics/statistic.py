"""What the registry of statistics holds: plain data, so that the command line shows it without importing numpy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

Kind = Literal["effects", "scores", "counts", "predictions", "segments"]
# What one has, and what one asks: `DATA` and `QUESTIONS` of `questions.py` say them in words.
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
