"""Read files with one token per line:

CoNLL columns of BIO, BIOES or BILOU tags, and CoNLL-U (UPOS, XPOS, LEMMA, UAS and LAS). Columns of tags have gold, u and v in three files,
or gold and prediction side by side:

* `gold`, `u` and `v`: the token and its tag (UNER's .iob2 has an index before, other tags and annotators after them);
* `u` and `v` alone: the last two columns of tags are gold and prediction, as conlleval reads them;
* one `file`: the last three are gold, u and v.

If other columns of tags differ from these, options must choose. Items are sentences of tags; span_f1 extracts their spans. Documents
(`# newdoc`, `-DOCSTART-`, or a table `documents` with one line a sentence) can be clusters.
"""

from __future__ import annotations

import itertools
import operator
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ...answers.reading import Remark
from ...errors import InvalidTest, marked
from ...statistics.labels import SPANS, Scheme, forms, is_tag
from ...statistics.paired import Counts, Pairing, Predictions, Scores, StatisticSpec
from ..alignment import coded
from ..format import FirstLook, Format, Sign
from ..frame import table
from ..quoting import quoted, quoted_apart
from ..reader import ReaderOptions, Reading, Source, choose, choose_metric, parsed_once
from .roles import needed

# Sentences, each followed by an empty line, and their documents as clusters

DOCSTART = "-DOCSTART-"
NEWDOC = re.compile(r"#\s*newdoc\b(?:\s*id\s*=\s*(?P<id>.*))?")
SENT_ID = re.compile(r"#\s*sent_id\s*=\s*(?P<id>.*)")
DOCUMENT = "document"
DELIMITERS = "\t,|;"


@dataclass(slots=True)
class Sentences:
    """The sentences of a file: rows of columns with their lines; the document and id of each, if marked.

    `comments` and `docstarts` count lines that hold no token.
    """

    source: Source
    rows: list[list[list[str]]] = field(default_factory=list)
    lines: list[list[int]] = field(default_factory=list)
    documents: list[str | None] = field(default_factory=list)
    ids: list[str | None] = field(default_factory=list)
    comments: int = 0
    docstarts: int = 0

    @property
    def width(self) -> int:
        """The number of columns of the tokens."""
        return len(self.rows[0][0])

    def column(self, column: int) -> list[list[str]]:
        """One column of every sentence."""
        return [[row[column] for row in sentence] for sentence in self.rows]

    def values(self, column: int) -> Iterator[str]:
        """One column of every token."""
        return (row[column] for sentence in self.rows for row in sentence)

    def find(self, column: int, wanted: Callable[[str], bool]) -> tuple[int, str] | None:
        """The first matching value in a column, with its line."""
        tags = set(filter(wanted, set(self.values(column))))
        lines = itertools.chain.from_iterable(self.lines if tags else ())
        return next((each for each in zip(lines, self.values(column), strict=False) if each[1] in tags), None)


def sentences(
    source: Source, lines: Sequence[str], row_of: Callable[[int, str, int], list[str] | None], is_comment: Callable[[str,
    int], bool],
) -> Sentences:  # fmt: skip
    """Read the lines of a file; `row_of` splits a line into columns, None if it holds no token.

    Both functions get the number of preceding tokens of the sentence. Raises MalformedBody, InvalidTest.
    """
    read = Sentences(source)
    document: str | None = None
    key: str | None = None
    rows: list[list[str]] = []
    numbers: list[int] = []
    for number, line in enumerate([*lines, ""], 1):
        if line.startswith("#") and is_comment(line, len(rows)):
            read.comments += 1
            if match := NEWDOC.match(line):
                document = (match["id"] or "").strip() or f"document at line {number}"
            elif match := SENT_ID.match(line):
                key = match["id"].strip()
        elif line.startswith(DOCSTART):
            read.docstarts += 1
            document = f"document at line {number}"
        elif line.strip(" \t"):
            row = row_of(number, line, len(rows))
            if row is not None:
                rows.append(row)
                numbers.append(number)
        elif rows:
            read.rows.append(rows)
            read.lines.append(numbers)
            read.documents.append(document)
            read.ids.append(key)
            rows, numbers, key = [], [], None
    if not read.rows:
        raise source.empty()
    return read


def require_same(
    base: Sentences, system: Sentences, columns: tuple[int, int], what: str, below: object, *, ids: bool = False
) -> None:  # fmt: skip
    """Refuse different sentences, or different values in a column: another tokenisation cannot be paired. Raises InvalidTest."""
    source, role, (mine, other) = system.source, base.source.role, columns
    for index, (expected, rows) in enumerate(zip(base.rows, system.rows, strict=False)):
        lines, numbers = base.lines[index], system.lines[index]
        keys = base.ids[index], system.ids[index]
        if ids and None not in keys and keys[0] != keys[1]:
            ours, theirs = quoted_apart(str(keys[0]), str(keys[1]))
            detail = f"sent_id is {theirs} here and {ours} in {role} (line {lines[0]:,})."
            raise source.refused(numbers[0], "sentence_mismatch", detail, "sent_id")
        for position, (wanted, row) in enumerate(zip(expected, rows, strict=False)):
            if wanted[mine] != row[other]:
                theirs, ours = quoted_apart(row[other], wanted[mine])
                detail = f"the {what} is {theirs} here and {ours} in {role} "
                detail += f"(line {lines[position]:,}); they must be the same."
                code = f"{what.rsplit(maxsplit=1)[-1]}_mismatch"
                raise source.refused(numbers[position], code, detail, below)
        if len(expected) != len(rows):
            detail = (
                f"this sentence has {len(rows)} tokens and {len(expected)} in {role} (line {lines[0]:,})."
            )
            raise source.refused(numbers[0], "length_mismatch", detail)
    if len(base.rows) != len(system.rows):
        detail = f"{source.label} has {len(system.rows):,} sentences and {role} has {len(base.rows):,}."
        raise InvalidTest.at(source.pointer, "length_mismatch", detail)


# Documents


def document_clusters(
    documents: Sequence[str | None], wanted: str | None, source: Source, notes: list[Any]
) -> list[str] | None:
    """The document of every sentence if documents are the clusters, else None; raises InvalidTest if a sentence has none."""
    names = list(dict.fromkeys(key for key in documents if key is not None))
    if wanted is None:
        if names:
            how = "clusters: document would swap each as a whole."
            notes.append(f"{source.role} marks {len(names):,} documents; {how}")
        return None
    if wanted != DOCUMENT:
        raise InvalidTest.at("/options/clusters", "invalid_option", "clusters can be document here.")
    if None in documents:
        detail = f"{source.label}: {'a sentence comes before the first' if names else 'there is no'} mark of a document "
        detail += "(# newdoc, -DOCSTART-), so documents cannot be clusters."
        raise InvalidTest.at(source.pointer, "no_documents", detail)
    notes.append(f"The clusters are the {len(names):,} documents.")
    return [key for key in documents if key is not None]


def from_file(source: Source, n: int, options: ReaderOptions, notes: list[Any]) -> list[str]:
    """The document of each of n sentences: the last column of a table, in the order of the sentences; raises InvalidTest.

    One line more than sentences means that the first is a header; blanks separate columns only with `delimiter`.
    """
    lines = filter(str.strip, source.lines(notes))
    names = [line.strip() for line in itertools.dropwhile(lambda line: line.startswith("#"), lines)]
    is_table = any(delimiter in line for line in names[:1] for delimiter in DELIMITERS)
    if is_table or options.delimiter is not None:
        rows = table(source, options, notes)
        last = rows.names[-1]
        names = [name.strip() for name in [*([last] if rows.has_header else []), *rows.column(last)]]
    if len(names) == n + 1:
        notes.append(f"{source.label}: the first line, {quoted(names[0])}, is the header.")
        return names[1:]
    if len(names) != n:
        detail = f"{source.label} has {len(names):,} lines for {n:,} sentences; one for each is needed, and perhaps a header."
        raise InvalidTest.at(source.pointer, "length_mismatch", detail)
    return names


# Columns of BIO tags

USES = frozenset((
    "clusters", "ner_mode", "scheme", "token_column", "tag_column", "tag_column_gold", "tag_column_u", "tag_column_v",
))  # fmt: skip
COMMENT = re.compile(r"#\s*(?:newdoc\b|newpar\b|[\w.]+\s*=)")
BLANKS = re.compile(r"[ \t]+")
GOLD_HINT = "Give the gold standard in a separate file (`gold`), or in a column before the predictions. "
ENTITY = frozenset(("B-", "I-", "E-", "S-", "L-", "U-"))
TAG = re.compile(r"O|[BIESLU](?:-.+)?")

# Gold, u or v: the file and its column of tags.
Sides = list[tuple[Sentences, int]]


def read(files: Mapping[str, Source], options: ReaderOptions, format_: str) -> Reading:
    """Read predictions of tag sequences."""
    notes: list[Any] = []
    sides = _sides(files, options, notes, format_)
    scheme = _scheme(sides, options, notes)
    if options.statistic is None or options.statistic in SPANS:
        for tokens, column in sides:
            wrong = tokens.find(column, lambda value: not is_tag(value, scheme))
            if wrong is not None:
                detail = f"{quoted(wrong[1])} is not a tag of the form {forms(scheme)} (scheme {scheme})."
                raise tokens.source.refused(wrong[0], "not_a_tag", detail, column + 1)
    gold, u, v = (tokens.column(column) for tokens, column in sides)
    notes.append(f"{len(gold):,} sentences and {sum(map(len, gold)):,} tokens.")
    base = sides[0][0]
    marks, documents = base.documents, files.get("documents")
    if documents is not None:
        if options.clusters != DOCUMENT:
            detail = "A file of documents is used with `clusters=document` only."
            raise InvalidTest.at(documents.pointer, "unused_file", detail)
        marks = list(from_file(documents, len(base.rows), options, notes))
    clusters = document_clusters(marks, options.clusters, base.source, notes)
    data = Predictions(gold, u, v, Pairing(*coded(clusters)))
    spec = StatisticSpec("span_f1", {"scheme": scheme})
    return Reading("predictions", data, spec, tuple(notes), format_)


@parsed_once
def _tokens(source: Source, notes: list[Any]) -> Sentences:
    """Read a file of columns between tabs or blanks.

    A token may be `#`: a line is a comment only if it looks like one (`# newdoc`, `# text = …`), or, in a file of tabs, if it has none.
    Lines with more or fewer columns than the others are refused.
    """
    lines = source.lines(notes)
    tokens_of = (line for line in lines if line.strip() and not line.startswith(("#", DOCSTART)))
    by_tab, width = "\t" in next(tokens_of, ""), 0

    def row_of(number: int, line: str, _: int) -> list[str]:
        nonlocal width
        row = [value.strip(" ") for value in line.split("\t")] if by_tab else BLANKS.split(line.strip(" "))
        width = width or len(row)
        if len(row) != width:
            detail = f"there are {len(row)} columns; the first token has {width}."
            raise source.refused(number, "wrong_field_count", detail)
        return row

    def is_comment(line: str, _: int) -> bool:
        return "\t" not in line if by_tab else COMMENT.match(line) is not None

    tokens = sentences(source, lines, row_of, is_comment)
    skipped = f"; {tokens.comments:,} comments and {tokens.docstarts:,} {DOCSTART} lines are not tokens"
    skipped_lines = skipped if tokens.comments + tokens.docstarts else ""
    notes.append(f"{source.role}: {len(tokens.rows):,} sentences read from {source.label}{skipped_lines}.")
    return tokens


def _scheme(sides: Sides, options: ReaderOptions, notes: list[Any]) -> Scheme:
    """The chosen scheme; with strict ner_mode, the scheme by the letters of the tags."""
    letters = {value[:1] for tokens, column in sides for value in tokens.values(column)}
    ends = sorted(letters & set("ESLU"))
    if ends:
        named = " and ".join(f"{letter}-" for letter in ends)
        what = "of entities' last or only tokens, which were read as seqeval reads them"
        notes.append(f"There are tags {named}, {what}.")
    if options.ner_mode != "strict" or options.scheme != "BIO":
        return options.scheme
    return "BILOU" if letters & set("LU") else "IOBES" if ends else "IOB2"


def _sides(files: Mapping[str, Source], options: ReaderOptions, notes: list[Any], format_: str) -> Sides:
    """Gold, u and v: in files of their own, side by side in one file, or gold beside each system."""
    if "gold" not in files and "file" in files:
        system = _tokens(files["file"], notes)
        columns = _tags_in(system, options, ("gold", "u", "v"), notes)
        notes.append(f"Columns {', '.join(str(column + 1) for column in columns)} are gold, u and v.")
        return [(system, column) for column in columns]
    roles = ("gold", "u", "v") if "gold" in files else ("u", "v")
    base, *others = systems = [_tokens(needed(files, role, format_), notes) for role in roles]
    tokens = [_token_column(system, options) for system in systems]
    for system, column in zip(others, tokens[1:], strict=True):
        require_same(base, system, (tokens[0], column), "token", column + 1)
    if "gold" in files:
        return [
            (system, _tags_in(system, options, (role,), notes)[0])
            for role, system in zip(roles, systems, strict=True)
        ]
    (gold_u, column_u), (gold_v, column_v) = (
        _tags_in(system, options, ("gold", role), notes) for system, role in zip(systems, roles, strict=True)
    )
    u, v = systems
    require_same(u, v, (gold_u, gold_v), "gold tag", gold_v + 1)
    notes.append(
        f"There is no gold file: columns {gold_u + 1} and {column_u + 1} of u, and {gold_v + 1} and {column_v + 1} of v, "
        "are gold and prediction."
    )
    return [(u, gold_u), (u, column_u), (v, column_v)]


def _tags_in(
    system: Sentences, options: ReaderOptions, roles: tuple[str, ...], notes: list[Any]
) -> list[int]:
    """The columns of tags of these roles in one file; options choose all of them, or none."""
    columns = [getattr(options, f"tag_column_{role}") for role in roles]
    names, alone = " and ".join(marked(f"tag_column_{role}") for role in roles), len(roles) == 1
    if alone:
        columns = [options.tag_column] if columns == [None] else columns
        names += " (or `tag_column` for all files)"
    elif options.tag_column is not None:
        detail = "Gold and predictions are in one file here: give `tag_column_gold`, `tag_column_u` and `tag_column_v`."
        raise InvalidTest.at("/options/tag_column", "invalid_option", detail)
    if columns.count(None) == len(columns):
        columns = _tag_columns(system, _token_column(system, options), len(roles), names)
    elif None in columns or len(set(columns)) < len(columns):
        detail = f"Give {names}, each another column, or none of them."
        raise InvalidTest.at(f"/options/tag_column_{roles[0]}", "invalid_option", detail)
    else:
        columns = [_chosen(system, column) for column in columns]
    if alone and system.width > 2:
        text = f"the tags are column {columns[0] + 1} of {system.width}; the option tag_column_{roles[0]} chooses another."
        notes.append(Remark(roles[0], text))
    return columns


# Columns


def _token_column(tokens: Sentences, options: ReaderOptions) -> int:
    """The first column; the second if the first counts the tokens of a sentence from 1, as UNER's does."""
    if options.token_column is not None:
        return _chosen(tokens, options.token_column)
    return 1 if _counts_tokens(tokens) else 0


def _chosen(tokens: Sentences, column: int) -> int:
    """Convert a column number, counted from one, to an index; raises InvalidTest if there is no such column."""
    if column > tokens.width:
        detail = f"there are {tokens.width} columns, and no column {column}."
        raise tokens.source.refused(tokens.lines[0][0], "wrong_field_count", detail)
    return column - 1


def _counts_tokens(tokens: Sentences) -> bool:
    counted = tokens.width > 2 and all(
        row[0] == str(number) for sentence in tokens.rows for number, row in enumerate(sentence, 1)
    )
    return counted and any(len(sentence) > 1 for sentence in tokens.rows)


def _tag_columns(tokens: Sentences, token: int, wanted: int, options: str) -> list[int]:
    """The columns of BIO tags after the token, if unambiguous; raises InvalidTest (`options` choose among them).

    These are the `wanted` number of columns; or all, if they agree; or the last ones, if gold and predictions are side by side, as
    conlleval reads them, and earlier columns tag something else (chunks). After an index and a token the tag follows (UNER).
    """
    tagged = []
    n = sum(map(len, tokens.rows))
    for column in range(token + 1, tokens.width):
        times = Counter(tokens.values(column))
        tags = sum(n for value, n in times.items() if TAG.fullmatch(value))
        if tags == n:
            tagged.append(column)
        elif tags * 2 > n and any(value[:2] in ENTITY for value in times):
            raise _no_tags(tokens, column, "All other values of this column are BIO tags", options)
    if len(tagged) < wanted:
        column = min(token + 1, tokens.width - 1) if wanted == 1 else tokens.width - 1
        needed = "1 column of BIO tags is" if wanted == 1 else f"{wanted} columns of BIO tags are"
        why = f"{needed} needed after the token and {len(tagged)} {'is' if len(tagged) == 1 else 'are'} there"
        raise _no_tags(tokens, column, why, options, "" if wanted == 1 else GOLD_HINT)
    if wanted == 1:
        if token and _counts_tokens(tokens) and tagged[0] == token + 1:
            return tagged[:1]
        if all(tokens.column(column) == tokens.column(tagged[0]) for column in tagged[1:]):
            return tagged[:1]
    elif len(tagged) == wanted or _are_last(tokens, tagged, wanted):
        return tagged[-wanted:]
    examples = {column: tokens.find(column, lambda value: value != "O") for column in tagged}
    columns = [f"{column + 1} ({'O' if tag is None else tag[1]})" for column, tag in examples.items()]
    why = f"There are {len(tagged)} columns of BIO tags after the token, and they differ. Give {options}, counted from one. "
    values = [str(column + 1) for column in tagged]
    raise choose(tokens.source.pointer, "tag_column", "column of tags", columns, why, values=values)


def _are_last(tokens: Sentences, tagged: list[int], wanted: int) -> bool:
    """Whether the last columns are gold and predictions: earlier columns of tags have other types, or are equal."""
    last = tagged[-wanted:]
    if last != list(range(tokens.width - wanted, tokens.width)):
        return False
    types = {column: {value[2:] for value in tokens.values(column) if value != "O"} for column in tagged}
    known = set().union(*(types[column] for column in last))
    return all(
        known.isdisjoint(types[column]) or tokens.column(column) == tokens.column(last[0])
        for column in tagged[:-wanted]
    )


def _no_tags(tokens: Sentences, column: int, why: str, options: str, hint: str = "") -> InvalidTest:
    """Return the refusal that names the first value of a column that is not a tag."""
    first = tokens.lines[0][0], tokens.rows[0][0][column]
    number, value = tokens.find(column, lambda value: not TAG.fullmatch(value)) or first
    detail = f"{why}; column {column + 1} here is {quoted(value)}. {hint}"
    detail += f"{options} {'choose' if ' and ' in options else 'chooses'} the column, counted from 1."
    return tokens.source.refused(number, "no_tags", detail, column + 1)


def _sign(look: FirstLook) -> Sign:
    """Whether a column after the token holds BIO tags on every line."""
    if not look.rows:
        return Sign.NONE
    rows = [row.split("\t") if "\t" in look.rows[0] else row.split() for row in look.rows[:-1] or look.rows]
    width = min(map(len, rows))
    tagged = any(all(TAG.fullmatch(row[column]) for row in rows) for column in range(1, width))
    return Sign.SHAPE if tagged else Sign.NONE


CONLL = Format(
    "conll", read, ("gold", "u", "v", "file", "documents"), USES, "CoNLL columns of BIO, BIOES or BILOU tags: entities",
    kinds=("predictions",), aliases=("iob2", "bio"), sign=_sign,
)  # fmt: skip


# CoNLL-U: items are sentences or words; a document (`# newdoc`) can be a cluster. Only words are scored: lines of multiword tokens (`3-4`)
# and empty nodes (`8.1`) are skipped, and counted in the notes. LAS compares the universal part of DEPREL, before the colon, as
# conll18_ud_eval.py does; las_full compares all of it. The `conllu` package is not used because it has no line numbers, pads short rows
# with `_`, and lets blanks separate columns. The tests compare this reader with it.

TREEBANKS = ("gold", "u", "v")
COLUMNS = ("ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC")
FORM = COLUMNS.index("FORM")
WORD = re.compile(r"[1-9][0-9]*")
RANGE = re.compile(r"[0-9]+-[0-9]+")
TREEBANK_LINE = re.compile(rf"\d[^\t]*(?:\t[^\t]*){{{len(COLUMNS) - 1}}}")
EMPTY_NODE = re.compile(r"[0-9]+\.[0-9]+")
# The columns that must be right, by metric.
METRICS: Mapping[str, tuple[str, ...]] = {
    "upos": ("UPOS",),
    "xpos": ("XPOS",),
    "lemma": ("LEMMA",),
    "uas": ("HEAD",),
    "las": ("HEAD", "DEPREL"),
    "las_full": ("HEAD", "DEPREL"),
}
UNIVERSAL = "las"
SENTENCE = "_sentence"  # upos_sentence: 1 if the whole sentence is right
STATISTICS = (*METRICS, *(metric + SENTENCE for metric in METRICS))


def read_conllu(files: Mapping[str, Source], options: ReaderOptions, format_: str) -> Reading:
    """Read counts `correct` and `total` per sentence or word, or 0/1 per sentence for a `_sentence` metric."""
    notes: list[Any] = []
    name = (options.metric or (options.statistic if options.statistic in STATISTICS else None) or "").lower()
    if name not in STATISTICS:
        raise choose_metric(options, list(STATISTICS))
    gold, *systems = (_treebank(needed(files, role, format_), notes) for role in TREEBANKS)
    metric, by_word = name.removesuffix(SENTENCE), options.items == "word"
    labels = []
    for system in systems:
        require_same(gold, system, (FORM, FORM), "token", "FORM", ids=True)
        labels.append(_labels(system, metric))
    of_gold, right = _labels(gold, metric), []
    for system, of_system in zip(systems, labels, strict=True):
        for column, wanted in of_gold.items():
            mine, other = (set(itertools.chain.from_iterable(each)) for each in (wanted, of_system[column]))
            if column != "HEAD" and mine.isdisjoint(other):  # another scheme, or another column
                detail = f"no {column} of this file occurs in gold: here is {quoted(min(other))}, in gold {quoted(min(mine))}."
                raise system.source.refused(system.lines[0][0], "labels_never_match", detail, column)
    for of_system in labels:
        pairs = [zip(of_gold[column], of_system[column], strict=True) for column in of_system]
        by_column = [[list(map(operator.eq, *sentence)) for sentence in pair] for pair in pairs]
        right.append([list(map(all, zip(*words, strict=True))) for words in zip(*by_column, strict=True)])
    total: Any = np.array([len(words) for words in gold.rows], dtype=np.int64)
    notes.append(f"{len(total):,} sentences and {total.sum():,} words, scored by {name}.")
    if name.endswith(SENTENCE) and by_word:
        detail = f"{name} scores whole sentences: `items=word` does not apply."
        raise InvalidTest.at("/options/items", "invalid_option", detail)
    pairing = _pairing_of_treebank(gold, options, notes, total)
    known: dict[str, Any] = {"statistic_read": options.metric is None, "metric": name}
    if name.endswith(SENTENCE):
        scores = [
            np.array([all(sentence) for sentence in sentences_right], dtype=np.int64)
            for sentences_right in right
        ]
        data, spec = Scores(scores[0], scores[1], pairing), StatisticSpec("mean_difference")
        return Reading("scores", data, spec, tuple(notes), format_, **known)
    items = [
        [[word] for sentence in sentences_right for word in sentence] if by_word else sentences_right
        for sentences_right in right
    ]
    total = np.ones(len(items[0]), dtype=np.int64) if by_word else total
    u, v = (np.array([sum(item) for item in items_right], dtype=np.int64) for items_right in items)
    counts = Counts({"correct": u, "total": total}, {"correct": v, "total": total}, pairing)
    return Reading("counts", counts, StatisticSpec("accuracy"), tuple(notes), format_, **known)


@parsed_once
def _treebank(source: Source, notes: list[Any]) -> Sentences:
    """Read a file; raises MalformedBody or InvalidTest naming the line."""
    multiword = empty_nodes = 0

    def row_of(number: int, line: str, before: int) -> list[str] | None:
        nonlocal multiword, empty_nodes
        fields = line.split("\t")
        if len(fields) != len(COLUMNS):
            detail = f"there are {len(fields)} columns between tabs; CoNLL-U has {len(COLUMNS)}."
            raise source.refused(number, "wrong_field_count", detail)
        key = fields[0]
        if key == str(before + 1):
            return fields
        if RANGE.fullmatch(key):
            multiword += 1
        elif EMPTY_NODE.fullmatch(key):
            empty_nodes += 1
        else:
            detail = f"the ID is {quoted(key)}; word {before + 1} of the sentence was expected."
            raise source.refused(number, "wrong_word_id", detail, "ID")
        return None

    bank = sentences(source, source.lines(notes), row_of, lambda _, before: not before)
    counts_text = f"{len(bank.rows):,} sentences read from {source.label}; skipped {multiword:,} multiword "
    notes.append(
        Remark(source.role, f"{counts_text}tokens and {empty_nodes:,} empty nodes, which are not words.")
    )
    return bank


def _labels(bank: Sentences, metric: str) -> dict[str, list[list[str]]]:
    """The columns that a metric compares; raises InvalidTest if one is `_` throughout, hence not filled in."""
    labels = {}
    for name in METRICS[metric]:
        column = bank.column(COLUMNS.index(name))
        if set(itertools.chain.from_iterable(column)) == {"_"}:
            detail = f"{bank.source.label}: the column {name}, which {metric} compares, is _ in every line; it was not filled in."
            raise InvalidTest.at(bank.source.line(bank.lines[0][0], metric), "not_annotated", detail)
        if metric == UNIVERSAL and name == "DEPREL":
            column = [[value.partition(":")[0] for value in words] for words in column]
        labels[name] = column
    return labels


def _pairing_of_treebank(
    gold: Sentences, options: ReaderOptions, notes: list[Any], total: np.ndarray[tuple[int], np.dtype[np.int64]]
) -> Pairing:  # fmt: skip
    """The clusters of the items: documents of sentences, or documents or sentences of words. Sentences may have ids."""
    by_word = options.items == "word"
    if options.clusters == "sentence" and by_word:
        return Pairing(*coded(np.repeat(np.arange(len(total)), total).tolist()))
    keys: Any = document_clusters(gold.documents, options.clusters, gold.source, notes)
    if by_word and keys is not None:
        keys = np.repeat(np.array(keys, dtype=object), total)
    pairing = Pairing(*coded(keys))
    return pairing if by_word or None in gold.ids else replace(pairing, ids=list(map(str, gold.ids)))


CONLLU = Format(
    "conllu", read_conllu, TREEBANKS, frozenset(("metric", "items", "clusters")), "CoNLL-U, gold and two systems: UPOS, XPOS, LEMMA, UAS, LAS",
    statistics=STATISTICS, sign=lambda look: Sign.MARK if look.rows and TREEBANK_LINE.fullmatch(look.rows[0]) else Sign.NONE,
)  # fmt: skip
