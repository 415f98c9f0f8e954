"""The input and output of a reader: files, options, and a reading with notes on how it was made."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from ...answers.reading import Note, sentences
from ...errors import MAX_CHOICES, Choice, InvalidTest, choices_of, marked
from ...statistics.paired import Paired, StatisticSpec
from ..alignment import BOUNDS, DEFAULT_RANGE
from ..nested import MAX_DECIMALS
from ..quoting import quoted, some
from ..tiny_numbers import is_tiny
from .options import CHOICES, INTEGERS

OnMissingOutcome = Literal["error", "drop", "bounds", "zero"]
Kind = Literal["scores", "counts", "predictions", "segments", "effects"]

DELIMITERS = {"comma": ",", "tab": "\t", "pipe": "|", "semicolon": ";", "blank": " "}
DELIMITERS |= {sign: sign for sign in DELIMITERS.values()}
DECIMAL_MARKS = ("point", "comma", ".", ",")
MAX_COLUMN = 1_000
MAX_INFLATED_BYTES = 256 * 2**20
MAX_ITEMS = 10_000_000


@dataclass(frozen=True, slots=True)
class UploadedFile:
    """An uploaded file; its content is already decompressed.

    `folder` is the part of its path that the caller sent before the name: it is only ever read as a name. `parts` are
    the files of a role that has several, which then has no content of its own. `is_body`: it is the body of a request, and no file of a form.
    `memo` is as in `Source`.
    """

    name: str
    content: bytes
    folder: str = ""
    parts: tuple[UploadedFile, ...] = ()
    is_body: bool = False
    memo: dict[Any, Any] | None = field(default=None, compare=False, repr=False)

    @property
    def path(self) -> str:
        """Its name, with the folder where it has one."""
        return f"{self.folder}/{self.name}" if self.folder else self.name


def range_of(text: str | None) -> tuple[float, float] | None:
    """Two numbers between a comma, the smaller one first; None for any other text."""
    try:
        parts = ("0,1" if text is None else text).split(",")
        low, high = map(float, parts)
    except ValueError:
        return None
    fine = math.isfinite(low) and math.isfinite(high) and low < high and not any(map(is_tiny, parts))
    return (low, high) if fine else None


@dataclass(frozen=True, slots=True)
class ReaderOptions:
    """How to read. An option that the format does not use is refused, not ignored.

    Raises
    ------
    InvalidTest
        A value is not one of those allowed; pointers are `/options/<name>`.
    """

    statistic: str | None = None
    metric: str | None = None  # which number of an item: a metric's name, a CoNLL-U column, a count
    metric_u: str | None = None  # of two metrics of one log
    metric_v: str | None = None
    measure: str | None = None  # TREC
    filter: str | None = None  # lm-evaluation-harness
    filter_u: str | None = None
    filter_v: str | None = None
    task: str | None = None
    path: str | None = None  # of the list of items in a JSON document: results.items
    sheet: str | None = None  # of a workbook; any format may be in one
    scorer: str | None = None  # Inspect
    system_u: str | None = None  # which of several systems (or columns) in one file
    system_v: str | None = None
    id_column: str | None = None
    score_column: str | None = None
    system_column: str | None = None
    delimiter: str | None = None
    decimal: str | None = None  # how decimals are written: 0.5 or 0,5
    gold_column: str | None = None  # labels, human scores, times
    event_column: str | None = None
    groups: str | None = None  # a column; segment, system or none of mt-metrics-eval
    clusters: str | None = None  # document, call, or the column, field or metadata key that says it
    on_missing: OnMissingOutcome = "error"
    on_mismatch: Literal["error", "drop", "keep"] = "error"
    missing_range: str | None = None  # what a missing outcome may be, with on_missing bounds: "0,1"
    decimals: int | None = None  # round scores to so many decimals
    items: Literal["sentence", "word"] = "sentence"  # CoNLL-U
    ner_mode: Literal["lenient", "strict"] = "lenient"  # strict: IOB2, IOBES or BILOU, as seqeval
    scheme: Literal["BIO", "IOB2", "IOBES", "BILOU"] = "BIO"
    token_column: int | None = None  # counted from one
    tag_column: int | None = None
    tag_column_gold: int | None = None
    tag_column_u: int | None = None
    tag_column_v: int | None = None
    reduce_epochs: Literal["mean", "max", "none"] = "mean"
    allow_incomplete: bool = False
    # The server's, not the caller's.
    max_inflated_bytes: int = MAX_INFLATED_BYTES
    max_items: int = MAX_ITEMS

    def __post_init__(self) -> None:
        for name, allowed in CHOICES.items():
            value = getattr(self, name)
            if not isinstance(value, bool) and value not in allowed:
                raise _refused(name, f"{name} must be one of: {', '.join(allowed)}.")
        for name in INTEGERS:
            least, most = (0, MAX_DECIMALS) if name == "decimals" else (1, MAX_COLUMN)
            value = getattr(self, name)
            if value is not None and not least <= value <= most:
                raise _refused(name, f"{name} must be from {least} to {most}.")
        if self.delimiter not in (None, *DELIMITERS):
            raise _refused("delimiter", "delimiter must be comma, tab, pipe, semicolon or blank.")
        if self.decimal not in (None, *DECIMAL_MARKS):
            raise _refused("decimal", "decimal must be point or comma.")
        if self.missing_range is not None and self.on_missing != BOUNDS:
            detail = "`missing_range` is of `on_missing=bounds`: set that as well, or leave it out."
            raise InvalidTest.at("/options/missing_range", "redundant", detail)
        if range_of(self.missing_range) is None:
            detail = "`missing_range` is the least and the largest score that there can be, such as 0,1."
            raise InvalidTest.at("/options/missing_range", "not_a_range", detail)

    @property
    def bounds(self) -> tuple[float, float]:
        """What a missing outcome may be."""
        return range_of(self.missing_range) or DEFAULT_RANGE

    @classmethod
    def of_form(
        cls,
        form: Mapping[str, str],
        *,
        max_inflated_bytes: int = MAX_INFLATED_BYTES,
        max_items: int = MAX_ITEMS,
    ) -> ReaderOptions:
        """The options in form fields or query parameters; every name must be one of `OPTION_NAMES`."""
        values: dict[str, Any] = {}
        for name, text in form.items():
            if name not in OPTION_NAMES:
                detail = f"There is no option {quoted(name)} here; there are {', '.join(map(marked, OPTION_NAMES))}."
                raise _refused(name[:40], detail)
            if name in INTEGERS:
                if not (text.isascii() and text.isdigit() and len(text) < 10):
                    raise _refused(name, f"{marked(name)} must be a whole number.")
                values[name] = int(text)
            elif name == "allow_incomplete":
                if text not in CHOICES[name]:
                    raise _refused(name, "`allow_incomplete` must be true or false.")
                values[name] = text == "true"
            elif text:
                values[name] = text
        return cls(max_inflated_bytes=max_inflated_bytes, max_items=max_items, **values)

    def given(self) -> frozenset[str]:
        """The names of the options that differ from their defaults."""
        return frozenset(name for name in OPTION_NAMES if getattr(self, name) != getattr(_DEFAULTS, name))

    def names_column(self, name: str) -> bool:
        """Whether an option chooses the column or field `name`, which then is what the option says."""
        chosen = (getattr(self, option) for option in COLUMN_OPTIONS)
        return name in {given.strip().lower() for given in chosen if given is not None}


COLUMN_OPTIONS = (
    "id_column", "score_column", "system_column", "system_u", "system_v", "clusters", "metric", "gold_column",
    "event_column", "groups",
)  # fmt: skip
OPTION_NAMES = tuple(field.name for field in fields(ReaderOptions) if not field.name.startswith("max_"))
_DEFAULTS = ReaderOptions()


def _refused(name: str, detail: str) -> InvalidTest:
    return InvalidTest.at(f"/options/{name}", "invalid_option", detail)


@dataclass(frozen=True, slots=True)
class RoleQuestion:
    """What has to be said so that a gate knows the candidate, and both ways to say it."""

    detail: str
    choices: tuple[Choice, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """What was done although the data do not say it for certain: a warning of a test or a board, a question of a gate."""

    code: str
    detail: str
    pointer: str
    choices: tuple[Choice, ...] = ()


@dataclass(frozen=True, slots=True)
class Reading:
    """What the files say, and how they were read.

    `facts` tell how many items were read, what was skipped and why, and what was chosen for the caller; `notes` are their
    sentences.
    `names` are those the files give to the systems, if they do. `statistic_read` says that the option `statistic`
    chose what was read (`upos`, `wer`), so that `default_statistic` is the one to compute.

    `metric` is what was measured, in the field's own words: of scores, whatever is computed of them; of counts, of
    `default_statistic` only. None where nobody said more than "score". `higher_is_better` is what the format itself
    knows of it. `role_question` is None where the files, their names or the options tell which system is U; else
    what has to be said so that a gate knows the candidate; so is `direction_question` of what is better. `file_names` are those of u and v, where each has a file, and `score_names` those of their columns or fields. `findings` are what was done without certainty;
    `id_column` is the option that says what only both files together show.
    """

    kind: Kind
    data: Paired
    default_statistic: StatisticSpec
    facts: tuple[Note, ...]
    format: str
    guessed: bool = False
    names: tuple[str, str] | None = None
    statistic_read: bool = False
    metric: str | None = None
    higher_is_better: bool | None = None
    role_question: RoleQuestion | None = None
    direction_question: str | None = None
    file_names: tuple[str, str] | None = None
    score_names: tuple[str, str] | None = None
    findings: tuple[Finding, ...] = ()
    id_column: str | None = None

    @property
    def notes(self) -> tuple[str, ...]:
        """The facts in words."""
        return sentences(self.facts)


def no_bounds() -> InvalidTest:
    """The refusal of `on_missing` bounds for data that is no scores."""
    detail = (
        "Missing outcomes have bounds in scores alone: set `on_missing=drop`, or give one score per item."
    )
    return InvalidTest.at("/options/on_missing", "no_missing_bounds", detail)


def choose_metric(options: ReaderOptions, names: list[str]) -> InvalidTest:
    """The refusal of a format whose metrics are statistics of its own: `statistic` names one, and `metric` does, too."""
    option = "statistic" if options.metric is None else "metric"
    return choose(f"/options/{option}", option, option, names, code="choose_metric")


def only_or_chosen(
    names: list[str], wanted: str | None, pointer: str, option: str, what: str, several: str = ""
) -> str:
    """The name that was chosen, or the only one there is; raises InvalidTest that lists them (see `choose`)."""
    if wanted is None and len(names) > 1:
        raise choose(pointer, option, what, names, several)
    chosen = names[0] if wanted is None else wanted
    if chosen not in names:
        raise choose(pointer, option, what, names, f"There is no {what} {quoted(chosen)}. ")
    return chosen


def choose(
    pointer: str,
    option: str,
    what: str,
    names: list[str],
    why: str = "",
    code: str | None = None,
    values: Sequence[str] | None = None,
    first: tuple[Choice, ...] = (),
) -> InvalidTest:
    """The refusal when something must be chosen; it lists the choices, those that are `first` before them.

    `values` are what the option takes for them, in the order of the names, where these are not what it takes; none
    where one choice is not all that is needed.
    """
    detail = f"{why}Choose the {what} ({marked(option)}); there {'is' if len(names) == 1 else 'are'}: {some(names, MAX_CHOICES)}."
    taken = names if values is None else values
    choices = choices_of(option, dict(zip(taken, names, strict=False)))
    return InvalidTest.at(pointer, code or f"choose_{option}", detail, (*first, *choices)[:MAX_CHOICES])
