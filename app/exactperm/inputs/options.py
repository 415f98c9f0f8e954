"""Describe the options of the readers, for the help of the command line, the page and the OpenAPI document.

`reader.ReaderOptions` checks them. Nothing here imports a library.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Annotated, Any, Literal, TypeAlias, get_args, get_type_hints

Text: TypeAlias = str | None
Integer: TypeAlias = int | None
OnMissingOutcome = Literal["error", "drop", "bounds", "zero"]
AUTO_SHARE = "auto"  # of `correction`


@dataclass(frozen=True, slots=True)
class About:
    """The label of an option's control, its help, and its values with titles; if `is_open`, other values are also read."""

    title: str
    help: str
    choices: Mapping[str, str] = field(default_factory=dict)
    is_open: bool = False


# fmt: off
@dataclass(frozen=True, slots=True)
class OptionValues:
    """The options of the readers: types, defaults, and what the command line, the page and the OpenAPI document say of them."""

    statistic: Text = None
    metric: Annotated[Text, About("Metric", "The number of an item to compare.")] = None
    metric_u: Annotated[Text, About("Metric of U", "lm-eval: the metric of U alone, such as acc.")] = None
    metric_v: Annotated[Text, About("Metric of V", "lm-eval: the metric of V alone, such as acc_norm.")] = None
    measure: Annotated[Text, About("Measure", "trec: which measure, such as map, P_10 or ndcg.")] = None
    filter: Annotated[Text, About(
        "Filter", "lm-eval: which filter, such as strict-match or flexible-extract; helm: which split.",
    )] = None
    filter_u: Annotated[Text, About("Filter of U", "lm-eval: the filter of U alone.")] = None
    filter_v: Annotated[Text, About("Filter of V", "lm-eval: the filter of V alone.")] = None
    task: Annotated[Text, About("Task", "every-eval-ever: which task.")] = None
    path: Annotated[Text, About(
        "List of items", "The list of a JSON document that holds the items, if ambiguous: results.items.",
    )] = None
    sheet: Annotated[Text, About("Sheet", "The sheet of a spreadsheet, if several have cells.")] = None
    scorer: Annotated[Text, About("Scorer", "inspect: which scorer.")] = None
    system_u: Annotated[Text, About(
        "Which system is U, the candidate", "Its name or column, if one file has several systems.",
    )] = None
    system_v: Annotated[Text, About(
        "Which system is V, the baseline", "Its name or column, if one file has several systems.",
    )] = None
    id_column: Annotated[Text, About("Column of ids", "The column of ids.")] = None
    score_column: Annotated[Text, About("Column of scores", "The column of scores.")] = None
    system_column: Annotated[Text, About("Column of systems", "The column of systems.")] = None
    delimiter: Annotated[Text, About(
        "Delimiter", "The separator of columns: comma, tab, pipe, semicolon or blank.",
        {"comma": "Comma", "tab": "Tab", "pipe": "Pipe", "semicolon": "Semicolon", "blank": "Blank"}, is_open=True,
    )] = None
    decimal: Annotated[Text, About(
        "Decimal mark", "Decimal mark of tables: point (0.5) or comma (0,5); guessed if unambiguous.",
        {"point": "Point", "comma": "Comma"}, is_open=True,
    )] = None
    gold_column: Annotated[Text, About("Column of gold", "ranking: the column of labels, human scores or times.")] = None
    event_column: Annotated[Text, About("Column of events", "ranking: the column of events, 1, and censored items, 0.")] = None
    label_column: Annotated[Text, About(
        "Column of people’s labels",
        "For scores of a judge: the labels of people for some items, a column of each system, such as human, or human_u:human_v.",
    )] = None
    covariates: Annotated[Text, About(
        "Covariates",
        "Numbers of each output of which the difference is made independent: columns, such as length, or length_u:length_v.",
    )] = None
    correction: Annotated[str, About("Share of the judge", "For label_column: lambda from 0 to 1, or auto.")] = AUTO_SHARE
    groups: Annotated[Text, About(
        "Groups of pairs",
        "Compare only pairs of items of one group: a column; for mt-metrics-eval segment (default), system or none.",
    )] = None
    clusters: Annotated[Text, About(
        "Clusters",
        "The groups of items that swap together: a column, a field, a metadata key, document or call. With a file for each "
        "task: task (the default) or item.",
    )] = None
    slices: Annotated[Text, About(
        "Slices",
        "The slice of an item (its language, its topic): a column, a field or a metadata key; a cell may hold "
        "a JSON list of several. Each slice is tested separately. With a file for each task: task.",
    )] = None
    on_missing: Annotated[OnMissingOutcome, About(
        "Items only one system has", "Items that only one system has.",
        {"error": "Refuse, and name them", "drop": "Leave them out, and count them",
         "bounds": "Bound the p-value over all values",
         "zero": "Count them as 0 (trec, as trec_eval -c; inspect, no answer as in its accuracy)"},
    )] = "error"
    on_mismatch: Annotated[Literal["error", "drop", "keep"], About(
        "Items that differ under one id", "Items that both systems describe differently under one id.",
        {"error": "Warn; a gate asks", "drop": "Leave them out, and count them",
         "keep": "They are the same, worded differently"},
    )] = "error"
    missing_range: Annotated[Text, About(
        "Range of missing outcomes", "With on_missing bounds: the lowest and the highest possible score, such as 0,1.",
    )] = None
    decimals: Annotated[Integer, About("Round scores to decimals", "Round scores to this many decimals, 0 to 12.")] = None
    items: Annotated[Literal["sentence", "word"], About(
        "What swaps", "conllu: what an item is.",
        {"sentence": "Sentences", "word": "Words"},
    )] = "sentence"
    ner_mode: Annotated[Literal["lenient", "strict"], About(
        "Reading of BIO tags", "conll: how BIO tags are read.",
        {"lenient": "Lenient, as conlleval", "strict": "Strict, as IOB2, IOBES or BILOU"},
    )] = "lenient"
    scheme: Annotated[Literal["BIO", "IOB2", "IOBES", "BILOU"], About(
        "Scheme", "conll: the tagging scheme, BIO (lenient, also BIOES and BILOU) or a strict one.",
        {"BIO": "BIO", "IOB2": "IOB2", "IOBES": "IOBES", "BILOU": "BILOU"},
    )] = "BIO"
    token_column: Annotated[Integer, About("Column of tokens", "conll: the column of tokens, from 1.")] = None
    tag_column: Annotated[Integer, About("Column of tags", "conll: the column of tags, from 1.")] = None
    tag_column_gold: Annotated[Integer, About("Column of gold’s tags", "conll: the column of tags of the gold standard.")] = None
    tag_column_u: Annotated[Integer, About("Column of U’s tags", "conll: the column of tags of U.")] = None
    tag_column_v: Annotated[Integer, About("Column of V’s tags", "conll: the column of tags of V.")] = None
    reduce_epochs: Annotated[Literal["mean", "max", "none"], About(
        "Several epochs", "inspect: how to combine several epochs of a sample.",
        {"mean": "Their mean", "max": "Their best", "none": "Separate items, clustered by sample"},
    )] = "mean"
    allow_incomplete: Annotated[bool, About(
        "Read logs of unfinished runs", "inspect, openai-evals: read logs of unfinished runs.",
        {"true": "Yes", "false": "No"},
    )] = False
# fmt: on


@dataclass(frozen=True, slots=True)
class ReaderOption:
    """One option as interfaces list it; `default` is empty if the reader decides."""

    name: str
    title: str
    help: str
    choices: Mapping[str, str]
    default: str
    type: Literal["text", "integer", "boolean"]
    is_open: bool

    def described(self) -> dict[str, Any]:
        """The form in `GET /v1/meta`."""
        choices = [{"value": value, "title": title} for value, title in self.choices.items()]
        return {
            "name": self.name, "title": self.title, "help": self.help, "choices": choices, "default": self.default, "type": self.type,
        }  # fmt: skip


def _listed() -> dict[str, ReaderOption]:
    hints, listed = get_type_hints(OptionValues, include_extras=True), {}
    for each in fields(OptionValues):
        kind, *more = get_args(hints[each.name])
        default: Any = "" if each.default is None else "false" if each.default is False else each.default
        type_: Any = {Integer: "integer", bool: "boolean"}.get(kind, "text")
        for about in more if isinstance(more[0], About) else ():
            listed[each.name] = ReaderOption(
                each.name, about.title, about.help, about.choices, default, type_, about.is_open
            )
    return listed


# In the order of help: those that most files may need first.
_ORDER = (
    "clusters slices on_missing on_mismatch missing_range metric metric_u metric_v measure filter filter_u filter_v task "
    "scorer system_u system_v id_column score_column system_column gold_column event_column label_column covariates "
    "correction groups path sheet delimiter decimal decimals items ner_mode scheme token_column tag_column reduce_epochs "
    "tag_column_gold tag_column_u tag_column_v allow_incomplete"
)
READER_OPTIONS = tuple(map(_listed().__getitem__, _ORDER.split()))
CHOICES: Mapping[str, tuple[str, ...]] = {
    one.name: tuple(one.choices) for one in READER_OPTIONS if one.choices and not one.is_open
}
CORRECTIONS = ("label_column", "covariates")
INTEGERS = tuple(one.name for one in READER_OPTIONS if one.type == "integer")

# They tell one of two systems from the other, correct their difference, or test its slices: a board of many has none of them.
OF_TWO = (
    *(f"{name}_{role}" for name in ("filter", "metric", "system", "tag_column") for role in "uv"),
    *CORRECTIONS, "correction", "slices",
)  # fmt: skip
