"""Describe the options of the readers, for the help of the command line, the page and the OpenAPI document.

The Python types and defaults are the fields of `reader.ReaderOptions`; a test compares the two. Nothing here imports a library.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class ReaderOption:
    """One option:

    `title` labels its control, `help` describes it, `choices` are its values with titles. If `is_open`, other values are also read.
    `default` is empty if the reader decides.
    """

    name: str
    title: str
    help: str
    choices: Mapping[str, str] = field(default_factory=dict)
    default: str = ""
    type: Literal["text", "integer", "boolean"] = "text"
    is_open: bool = False

    def described(self) -> dict[str, Any]:
        """The form in `GET /v1/meta`."""
        choices = [{"value": value, "title": title} for value, title in self.choices.items()]
        return {
            "name": self.name, "title": self.title, "help": self.help, "choices": choices, "default": self.default, "type": self.type,
        }  # fmt: skip


READER_OPTIONS = (
    ReaderOption(
        "clusters", "Clusters",
        "What groups items that swap together: a column, a field, a metadata key, document or call. With a file for each task: "
        "task (the default) or item.",
    ),
    ReaderOption(
        "slices", "Slices",
        "What says which slice an item is in (its language, its topic): a column, a field or a metadata key; a cell may hold a JSON "
        "list of several. Each slice is tested by itself. With a file for each task: task.",
    ),
    ReaderOption(
        "on_missing", "Items only one system has", "Items that only one system has.",
        {
            "error": "Refuse, and name them", "drop": "Leave them out, and count them",
            "bounds": "Bound the p-value, whatever they are",
            "zero": "Count them 0 (trec, as trec_eval -c; inspect, no answer as its accuracy)",
        },
        "error",
    ),
    ReaderOption(
        "on_mismatch", "Items that differ under one id", "Items that both systems describe differently under one id.",
        {
            "error": "Warn; a gate asks", "drop": "Leave them out, and count them",
            "keep": "They are the same, worded differently",
        },
        "error",
    ),
    ReaderOption(
        "missing_range", "What a missing outcome may be",
        "Of on_missing bounds: the least and the largest score that there can be, such as 0,1.",
    ),
    ReaderOption("metric", "Metric", "Which of an item's numbers to compare."),
    ReaderOption("metric_u", "Metric of U", "lm-eval: the metric of U alone, such as acc."),
    ReaderOption("metric_v", "Metric of V", "lm-eval: the metric of V alone, such as acc_norm."),
    ReaderOption("measure", "Measure", "trec: which measure, such as map, P_10 or ndcg."),
    ReaderOption("filter", "Filter", "lm-eval: which filter, such as strict-match or flexible-extract; helm: which split."),
    ReaderOption("filter_u", "Filter of U", "lm-eval: the filter of U alone."),
    ReaderOption("filter_v", "Filter of V", "lm-eval: the filter of V alone."),
    ReaderOption("task", "Task", "every-eval-ever: which task."),
    ReaderOption("scorer", "Scorer", "inspect: which scorer."),
    ReaderOption(
        "system_u", "Which system is U, the candidate", "Its name or column, when one file has several systems."
    ),
    ReaderOption(
        "system_v", "Which system is V, the baseline", "Its name or column, when one file has several systems."
    ),
    ReaderOption("id_column", "Column of ids", "The column of ids."),
    ReaderOption("score_column", "Column of scores", "The column of scores."),
    ReaderOption("system_column", "Column of systems", "The column of systems."),
    ReaderOption("gold_column", "Column of gold", "ranking: the column of labels, human scores or times."),
    ReaderOption("event_column", "Column of events", "ranking: the column of events, 1, and censored items, 0."),
    ReaderOption(
        "label_column", "Column of people’s labels",
        "The scores are a judge's; what people said of some items: a column of each system, such as human, or human_u:human_v.",
    ),
    ReaderOption(
        "covariates", "Covariates",
        "Numbers of each output that the difference is made independent of: columns, such as length, or length_u:length_v.",
    ),
    ReaderOption(
        "correction", "Share of the judge", "Of label_column: lambda from 0 to 1, or auto.", default="auto",
    ),
    ReaderOption(
        "groups", "Groups of pairs",
        "Only pairs of items of one group count: a column; of mt-metrics-eval segment (default), system or none.",
    ),
    ReaderOption("path", "List of items", "Which list of a JSON document holds the items, when several may: results.items."),
    ReaderOption("sheet", "Sheet", "Which sheet of a spreadsheet, when several have cells."),
    ReaderOption(
        "delimiter", "Delimiter", "What separates the columns: comma, tab, pipe, semicolon or blank.",
        {"comma": "Comma", "tab": "Tab", "pipe": "Pipe", "semicolon": "Semicolon", "blank": "Blank"}, is_open=True,
    ),
    ReaderOption(
        "decimal", "Decimal mark", "How tables write a half: point, 0.5, or comma, 0,5; guessed where it can be nothing else.",
        {"point": "Point", "comma": "Comma"}, is_open=True,
    ),
    ReaderOption(
        "decimals", "Round scores to decimals", "Round scores to this many decimals, 0 to 12.", type="integer"
    ),
    ReaderOption(
        "items", "What swaps", "conllu: what an item is.", {"sentence": "Sentences", "word": "Words"}, "sentence"
    ),
    ReaderOption(
        "ner_mode", "Reading of BIO tags", "conll: how BIO tags are read.",
        {"lenient": "Lenient, as conlleval", "strict": "Strict, as IOB2, IOBES or BILOU"}, "lenient",
    ),
    ReaderOption(
        "scheme", "Scheme", "conll: the tagging scheme, BIO (lenient, BIOES and BILOU too) or a strict one.",
        {"BIO": "BIO", "IOB2": "IOB2", "IOBES": "IOBES", "BILOU": "BILOU"}, "BIO",
    ),
    ReaderOption("token_column", "Column of tokens", "conll: the column of tokens, from 1.", type="integer"),
    ReaderOption("tag_column", "Column of tags", "conll: the column of tags, from 1.", type="integer"),
    ReaderOption(
        "reduce_epochs", "Several epochs", "inspect: what becomes of several epochs of a sample.",
        {"mean": "Their mean", "max": "Their best", "none": "Items of their own, clustered by sample"}, "mean",
    ),
    ReaderOption(
        "tag_column_gold", "Column of gold’s tags", "conll: the column of tags of the gold standard.", type="integer"
    ),
    ReaderOption("tag_column_u", "Column of U’s tags", "conll: the column of tags of U.", type="integer"),
    ReaderOption("tag_column_v", "Column of V’s tags", "conll: the column of tags of V.", type="integer"),
    ReaderOption(
        "allow_incomplete", "Read logs of runs that did not finish", "inspect, openai-evals: read logs of runs that did not finish.",
        {"true": "Yes", "false": "No"}, "false", type="boolean",
    ),
)  # fmt: skip
CHOICES: Mapping[str, tuple[str, ...]] = {
    one.name: tuple(one.choices) for one in READER_OPTIONS if one.choices and not one.is_open
}
CORRECTIONS = ("label_column", "covariates")
INTEGERS = tuple(one.name for one in READER_OPTIONS if one.type == "integer")

# They tell one of two systems from the other, or correct their difference: a board of many has none of them.
OF_TWO = (
    *(f"{name}_{role}" for name in ("filter", "metric", "system", "tag_column") for role in "uv"),
    *CORRECTIONS, "correction",
)  # fmt: skip
