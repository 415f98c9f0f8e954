"""What one has and what one asks, in words: `GET /v1/meta`, the page and the documentation group the statistics by them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from .statistic import DATA_OF_KIND, Data, Question, Statistic

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
