"""Define the input and output of a reader: files in their roles, options, and a reading with notes on its making.

Pointers are `/files/<role>/line/<n>[/<field>]` for files of lines (counted from one), and `/files/<role>/<JSON pointer>` for one JSON
document.
"""

from __future__ import annotations

import copy
import math
import struct
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from fractions import Fraction
from functools import wraps
from typing import Any, Concatenate, Literal, ParamSpec, TypeVar

from ..answers.reading import Note, sentences
from ..answers.test import Exchange
from ..errors import MAX_CHOICES, BodyTooLarge, Choice, Flaw, InvalidTest, MalformedBody, choices_of, marked
from ..statistics.paired import Paired, StatisticSpec
from . import json_text
from .alignment import BOUNDS, DEFAULT_RANGE
from .columns import MAX_DECIMALS
from .number_text import is_tiny, parsed
from .options import AUTO_SHARE, CHOICES, CORRECTIONS, INTEGERS, OptionValues
from .quoting import escaped, quoted, some

# A file in its role: its text, its lines, and pointers into it

SHOWN_NAME_CHARS = 80
UTF8_BOM = b"\xef\xbb\xbf"
OTHER_BOMS = (b"\xff\xfe", b"\xfe\xff")
ZIP_MAGIC = b"PK"
READABLE = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
# Exceptions of zipfile on truncated or malicious archives; RuntimeError asks for a password.
DAMAGED = (
    zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, ValueError, IndexError, OverflowError, RuntimeError,
)  # fmt: skip

P = ParamSpec("P")
Parsed = TypeVar("Parsed")


@dataclass(frozen=True, slots=True)
class Source:
    """One file in its role:

    `u`, `v`, `gold`, `qrels`, …, or `file` if it holds both systems; or a whole body. `memo` caches the parsed content of a file that
    is read again with other files (`parsed_once`); None if the file is read once.
    """

    role: str
    name: str
    content: bytes
    is_body: bool = False
    memo: dict[Any, Any] | None = field(default=None, compare=False, repr=False)

    @property
    def pointer(self) -> str:
        """The pointer to the file in the request; empty for a body."""
        return "" if self.is_body else f"/files/{self.role}"

    @property
    def label(self) -> str:
        """The role and name, for notes and errors."""
        if self.is_body:
            return "the body"
        return f"{self.role} ({self.name[:SHOWN_NAME_CHARS]})" if self.name else self.role

    def line(self, number: int, *below: object) -> str:
        """The pointer to a line, or to a field of it."""
        return "/".join((self.pointer, "line", str(number), *map(escaped, below)))

    def at(self, *below: object) -> str:
        """The pointer to a place inside a JSON document."""
        return "/".join((self.pointer, *map(escaped, below)))

    def text(self, notes: list[str]) -> str:
        """The content as text; raises MalformedBody if it is not UTF-8, or has NUL characters."""
        content = self.content
        if content.startswith(UTF8_BOM):
            notes.append(f"{self.label}: it starts with a byte order mark, which was left out.")
            content = content[len(UTF8_BOM) :]
        if content.startswith(OTHER_BOMS):
            raise self.malformed(1, "not_utf8", "It looks like UTF-16; save it as UTF-8.")
        try:
            text = content.decode("utf-8")
        except UnicodeDecodeError as error:
            line = content.count(b"\n", 0, error.start) + 1
            raise self.malformed(line, "not_utf8", f"Line {line:,} is not UTF-8.") from None
        if "\0" in text:
            line = text.count("\n", 0, text.index("\0")) + 1
            raise self.malformed(line, "nul_character", f"Line {line:,} has a NUL character.")
        return text

    def lines(self, notes: list[str]) -> list[str]:
        r"""The lines without their ends (only \n or \r\n: texts may hold U+2028 and U+0085)."""
        lines = [line.removesuffix("\r") for line in self.text(notes).split("\n")]
        if lines[-1] == "":
            lines.pop()
        if not lines:
            raise self.empty()
        return lines

    def empty(self) -> InvalidTest:
        """The refusal of an empty file."""
        return InvalidTest.at(self.pointer, "no_items", f"{self.label}: there is nothing in this file.")

    def too_large(self, why: str) -> BodyTooLarge:
        """The refusal of a file above a limit."""
        detail = f"{self.label}: {why}"
        return BodyTooLarge(detail, flaws=(Flaw(self.pointer, "file_too_large", detail),))

    def refuse_more(self, n: int, most: int) -> None:
        """Refuse more items than the limit before reading them; raises BodyTooLarge."""
        if n > most:
            raise self.too_large(f"it holds at least {n:,} items; at most {most:,} are allowed.")

    def malformed(self, line: int, code: str, detail: str) -> MalformedBody:
        """An error about unreadable bytes."""
        detail = f"{self.label}: {detail}"
        return MalformedBody(detail, flaws=(Flaw(self.line(line), code, detail),))

    def refused(
        self, at: int | str, code: str, detail: str, *below: object, choices: tuple[Choice, ...] = ()
    ) -> InvalidTest:
        """The refusal of a line, of the value at a path, or of something inside it; of the file if the path is empty."""
        where, path = (f"line {at:,}", f"line/{at}") if isinstance(at, int) else (in_words(at), at)
        pointer = "/".join((self.pointer, *filter(None, (path, *map(escaped, below)))))
        return InvalidTest.at(
            pointer, code, f"{', '.join(filter(None, (self.label, where)))}: {detail}", choices
        )

    def decoded(self, notes: list[Any]) -> Any:
        """The value of the file as one JSON text; raises MalformedBody."""
        return json_text.decoded(self.text(notes), self.pointer, self.label)

    def document(self, notes: list[Any]) -> dict[str, Any]:
        """The file as one JSON object; raises MalformedBody, or InvalidTest if it is another value."""
        value = self.decoded(notes)
        if not isinstance(value, dict):
            raise self.refused("", "not_an_object", "this is not a JSON object.")
        return value

    def objects(
        self, value: Any, path: str = "", code: str = "not_a_list"
    ) -> list[tuple[str, dict[str, Any]]]:
        """The objects of a list, with their paths; raises InvalidTest with `code` if the value is not a list of objects."""
        if isinstance(value, list) and all(isinstance(one, dict) for one in value):
            return [(f"{path}/{index}" if path else str(index), one) for index, one in enumerate(value)]
        below = filter(None, path.split("/"))
        raise self.refused("", code, f"{path or 'this'} is not a list of objects.", *below)


def in_words(path: str) -> str:
    """A path in a file for messages: `line/7` is line 7."""
    head, _, rest = path.partition("/")
    number, _, below = rest.partition("/")
    if head not in {"line", "row"} or not number.isdecimal():
        return path
    return f"{head} {number}" + (f" ({below})" if below else "")


def sources(files: Mapping[str, UploadedFile]) -> dict[str, Source]:
    """The files by role."""
    return {
        role: Source(role, file.name, file.content, file.is_body, file.memo) for role, file in files.items()
    }


def parsed_once(parse: Callable[Concatenate[Source, P], Parsed]) -> Callable[Concatenate[Source, P], Parsed]:
    """Decorate a parser so that a source with a memo is parsed once; later calls return a copy of the result and repeat its notes.

    Lists among the arguments are lists of notes; the other files are the same in all calls.
    """

    @wraps(parse)
    def remembered(source: Source, /, *args: P.args, **options: P.kwargs) -> Parsed:
        if source.memo is None:
            return parse(source, *args, **options)
        arguments = (*args, *sorted(options.items()))
        key = (parse, *(each for each in arguments if not isinstance(each, list | dict)))
        notes: list[Any] = next((each for each in args if isinstance(each, list)), [])
        if key not in source.memo:
            before = len(notes)
            made = parse(source, *args, **options)
            source.memo[key] = made, notes[before:]
        else:
            notes += source.memo[key][1]
        parsed: Parsed = copy.copy(source.memo[key][0])
        return parsed

    return remembered


# Options

Kind = Literal["scores", "counts", "predictions", "segments", "effects"]

DELIMITERS = {"comma": ",", "tab": "\t", "pipe": "|", "semicolon": ";", "blank": " "}
DELIMITERS |= {sign: sign for sign in DELIMITERS.values()}
DECIMAL_MARKS = ("point", "comma", ".", ",")
MAX_COLUMN = 1_000
MAX_INFLATED_BYTES = 256 * 2**20
MAX_ITEMS = 10_000_000


@dataclass(frozen=True, slots=True)
class UploadedFile:
    """An uploaded file with decompressed content.

    `folder` is the part of the sent path before the name; it is only used as a name. `parts` are the files of a role with several,
    whose content is then empty. `is_body`: this is the body of a request, not a file of a form. `memo` is as in `Source`.
    """

    name: str
    content: bytes
    folder: str = ""
    parts: tuple[UploadedFile, ...] = ()
    is_body: bool = False
    memo: dict[Any, Any] | None = field(default=None, compare=False, repr=False)

    @property
    def path(self) -> str:
        """The name, with the folder if there is one."""
        return f"{self.folder}/{self.name}" if self.folder else self.name


def range_of(text: str | None) -> tuple[float, float] | None:
    """Parse two numbers separated by a comma, the smaller first; None for any other text."""
    try:
        parts = ("0,1" if text is None else text).split(",")
        low, high = map(float, parts)
    except ValueError:
        return None
    fine = math.isfinite(low) and math.isfinite(high) and low < high and not any(map(is_tiny, parts))
    return (low, high) if fine else None


@dataclass(frozen=True, slots=True)
class ReaderOptions(OptionValues):
    """Options of readers. An option that the format does not use is refused, not ignored. Raises InvalidTest at `/options/<name>`."""

    # Limits of the server, not options of the caller.
    max_inflated_bytes: int = MAX_INFLATED_BYTES
    max_items: int = MAX_ITEMS
    # What the test exchanges, an option of the test.
    exchange: Exchange = "items"

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
        if self.delimiter is not None and self.delimiter not in DELIMITERS:
            raise _refused("delimiter", "delimiter must be comma, tab, pipe, semicolon or blank.")
        if self.decimal not in (None, *DECIMAL_MARKS):
            raise _refused("decimal", "decimal must be point or comma.")
        if self.missing_range is not None and self.on_missing != BOUNDS:
            detail = "`missing_range` is of `on_missing=bounds`: set that as well, or leave it out."
            raise InvalidTest.at("/options/missing_range", "redundant", detail)
        if self.label_column and self.covariates:
            detail = "Labels and covariates each correct the difference: give `label_column` or `covariates`, not both."
            raise InvalidTest.at("/options/covariates", "redundant", detail)
        if self.correction != AUTO_SHARE and not self.label_column:
            detail = "`correction` is of `label_column`: give that as well, or leave it out."
            raise InvalidTest.at("/options/correction", "redundant", detail)
        share = parsed(self.correction) if self.correction != AUTO_SHARE else 0
        if share is None or not 0 <= share <= 1:
            raise _refused("correction", "correction must be auto, or a number from 0 to 1.")
        if self.missing_range is not None and range_of(self.missing_range) is None:
            detail = "`missing_range` is the least and the largest score that there can be, such as 0,1."
            raise InvalidTest.at("/options/missing_range", "not_a_range", detail)

    @property
    def bounds(self) -> tuple[float, float]:
        """The range of missing outcomes."""
        return range_of(self.missing_range) or DEFAULT_RANGE

    @property
    def done_with_runs(self) -> str:
        """What happens to the runs of an item, as a word for notes."""
        return "averaged" if self.exchange == "items" else "exchanged"

    @property
    def share(self) -> Fraction | None:
        """Lambda, None to choose it."""
        return None if self.correction == AUTO_SHARE else Fraction(str(parsed(self.correction)))

    @classmethod
    def of_form(cls, form: Mapping[str, str], **others: Any) -> ReaderOptions:
        """The options in form fields or query parameters, whose names must be in `OPTION_NAMES`; `others` are not options of the caller."""
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
        return cls(**others, **values)

    def given(self) -> frozenset[str]:
        """The names of the options that differ from their defaults."""
        return frozenset(name for name in OPTION_NAMES if getattr(self, name) != getattr(_DEFAULTS, name))

    def names_column(self, name: str) -> bool:
        """Whether an option chooses the column or field `name`, which gives it that role."""
        chosen = (getattr(self, option) for option in COLUMN_OPTIONS)
        return name in {option.strip().lower() for option in chosen if option is not None}


COLUMN_OPTIONS = (
    "id_column", "score_column", "system_column", "system_u", "system_v", "clusters", "metric", "gold_column",
    "event_column", "groups", "slices", *CORRECTIONS,
)  # fmt: skip
OPTION_NAMES = tuple(
    field.name
    for field in fields(ReaderOptions)
    if not field.name.startswith("max_") and field.name != "exchange"
)
_DEFAULTS = ReaderOptions()


def _refused(name: str, detail: str) -> InvalidTest:
    return InvalidTest.at(f"/options/{name}", "invalid_option", detail)


@dataclass(frozen=True, slots=True)
class RoleQuestion:
    """The question which system is the candidate of a gate, with both answers."""

    detail: str
    choices: tuple[Choice, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """An interpretation of which the data are no proof: a warning of a test or a board, and, if it `asks`, a question of a gate."""

    code: str
    detail: str
    pointer: str
    choices: tuple[Choice, ...] = ()
    asks: bool = True


@dataclass(frozen=True, slots=True)
class Reading:
    """The data of files, and how they were read.

    `facts` report the number of items, what was skipped and why, and what was chosen for the caller; `notes` are their sentences.
    `names` are the names of the systems in the files, if any. `statistic_read`: the option `statistic` chose what was read (`upos`,
    `wer`), so `default_statistic` is computed. `metric` is the metric's usual name: for scores with any statistic, for counts with
    `default_statistic` only; None if it is only known as "score". `higher_is_better` is the direction if the format determines it.
    `role_question` is None if the files, their names or the options show which system is U, else the question that a gate must ask;
    `direction_question` is likewise about the direction. `file_names` are those of u and v if each has a file, and `score_names` those
    of their columns or fields. `findings` are uncertain interpretations; `id_column` is the option that states what only both files
    together show.
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
        """The facts as sentences."""
        return sentences(self.facts)


def no_bounds() -> InvalidTest:
    """The refusal of `on_missing` bounds for data other than scores."""
    detail = (
        "Missing outcomes have bounds only for scores: set `on_missing=drop`, or give one score per item."
    )
    return InvalidTest.at("/options/on_missing", "no_missing_bounds", detail)


def choose_metric(options: ReaderOptions, names: list[str]) -> InvalidTest:
    """Check formats whose metrics are statistics: both `statistic` and `metric` may name one."""
    option = "statistic" if options.metric is None else "metric"
    return choose(f"/options/{option}", option, option, names, code="choose_metric")


def only_or_chosen(
    names: list[str], wanted: str | None, pointer: str, option: str, what: str, several: str = ""
) -> str:
    """The chosen name, or the only one; raises InvalidTest that lists them (see `choose`)."""
    if wanted is None and len(names) > 1:
        raise choose(pointer, option, what, names, several)
    chosen = names[0] if wanted is None else wanted
    if chosen not in names:
        raise choose(pointer, option, what, names, f"There is no {what} {quoted(chosen)}. ")
    return chosen


def choose(
    pointer: str, option: str, what: str, names: list[str], why: str = "", code: str | None = None, values: Sequence[str] |
    None = None, first: tuple[Choice, ...] = (),
) -> InvalidTest:  # fmt: skip
    """The refusal that asks for a choice; it lists the choices, after those in `first`.

    `values` are the values of the option in the order of the names, if these differ; empty if one choice is not enough.
    """
    detail = f"{why}Choose the {what} ({marked(option)}); there {'is' if len(names) == 1 else 'are'}: {some(names, MAX_CHOICES)}."
    taken = names if values is None else values
    choices = choices_of(option, dict(zip(taken, names, strict=False)))
    return InvalidTest.at(pointer, code or f"choose_{option}", detail, (*first, *choices)[:MAX_CHOICES])
