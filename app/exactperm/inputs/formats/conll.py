"""CoNLL columns of BIO tags, BIOES and BILOU too: gold, u and v in files of their own; or gold and prediction side by side.

* `gold`, `u` and `v`: the token and its tag (UNER's .iob2 has an index before, other tags and annotators after them);
* `u` and `v` alone: the last two columns of tags are gold and prediction, as conlleval reads them;
* one `file`: the last three are gold, u and v.

If other columns of tags differ from these, they must be chosen.

Items are sentences of tags; span_f1 takes each apart. Documents (`# newdoc`, `-DOCSTART-`, or a table `documents` with
one line a sentence) can be clusters.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

from ...answers.reading import Remark
from ...errors import InvalidTest, marked
from ...statistics.label_match import SPANS
from ...statistics.paired import Pairing, Predictions, StatisticSpec
from ...statistics.spans import Scheme, forms, is_tag
from ..quoting import quoted
from .format import FirstLook, Format, Sign
from .reader import ReaderOptions, Reading, choose
from .roles import needed
from .sentences import (
    DOCSTART,
    DOCUMENT,
    Sentences,
    clustered,
    document_clusters,
    from_file,
    require_same,
    sentences,
)
from .source import Source, parsed_once

ROLES = ("gold", "u", "v", "file", "documents")
USES = frozenset(
    (
        "clusters", "ner_mode", "scheme", "token_column", "tag_column", "tag_column_gold", "tag_column_u", "tag_column_v",
    )
)  # fmt: skip
COMMENT = re.compile(r"#\s*(?:newdoc\b|newpar\b|[\w.]+\s*=)")
BLANKS = re.compile(r"[ \t]+")
GOLD_HINT = (
    "Give the gold standard in a file of its own (`gold`), or put it into a column before the predictions. "
)
ENTITY = frozenset(("B-", "I-", "E-", "S-", "L-", "U-"))
TAG = re.compile(r"O|[BIESLU](?:-.+)?")

# Gold, u and v: the file and the column of its tags.
Sides = list[tuple[Sentences, int]]


def read(files: Mapping[str, Source], options: ReaderOptions, format_: str) -> Reading:
    """Predictions of tag sequences."""
    notes: list[Any] = []
    if "gold" in files and "file" in files:
        detail = "With gold, give u and v in files of their own."
        raise InvalidTest.at("/files/file", "unused_file", detail)
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
    data = Predictions(gold, u, v, _pairing(sides[0][0], files.get("documents"), options, notes))
    spec = StatisticSpec("span_f1", {"scheme": scheme})
    return Reading("predictions", data, spec, tuple(notes), format_)


@parsed_once
def _tokens(source: Source, notes: list[Any]) -> Sentences:
    """Read a file of columns between tabs or blanks.

    A token may be `#`: a line is a comment only if it looks like one (`# newdoc`, `# text = …`), or, in a file of
    tabs, if it has none. A line with more or fewer columns than the others is refused.
    """
    lines = source.lines(notes)
    by_tab = "\t" in next(
        (line for line in lines if line.strip() and not line.startswith(("#", DOCSTART))), ""
    )
    width = 0

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
    skipped = f"; {tokens.comments:,} comments and {tokens.docstarts:,} {DOCSTART} lines are no tokens"
    said = skipped if tokens.comments + tokens.docstarts else ""
    notes.append(f"{source.role}: {len(tokens.rows):,} sentences read from {source.label}{said}.")
    return tokens


def _scheme(sides: Sides, options: ReaderOptions, notes: list[Any]) -> Scheme:
    """The scheme as chosen; where ner_mode is strict, by the letters of the tags."""
    letters = {value[:1] for tokens, column in sides for value in tokens.values(column)}
    ends = sorted(letters & set("ESLU"))
    if ends:
        named = " and ".join(f"{letter}-" for letter in ends)
        notes.append(
            f"There are tags {named}, of entities' last or only tokens, which were read as seqeval reads them."
        )
    if options.ner_mode != "strict" or options.scheme != "BIO":
        return options.scheme
    return "BILOU" if letters & set("LU") else "IOBES" if ends else "IOB2"


def _sides(files: Mapping[str, Source], options: ReaderOptions, notes: list[Any], format_: str) -> Sides:
    """Gold, u and v: in files of their own, side by side in one file, or gold beside each system."""
    if "gold" not in files and "file" in files:
        system = _tokens(files["file"], notes)
        columns = _beside(system, options, ("gold", "u", "v"))
        notes.append(f"Columns {', '.join(str(column + 1) for column in columns)} are gold, u and v.")
        return [(system, column) for column in columns]
    roles = ("gold", "u", "v") if "gold" in files else ("u", "v")
    base, *others = systems = [_tokens(needed(files, role, format_), notes) for role in roles]
    tokens = [_token_column(system, options) for system in systems]
    for system, column in zip(others, tokens[1:], strict=True):
        require_same(base, system, (tokens[0], column), "token", column + 1)
    if "gold" in files:
        return [(system, _tag_column(system, options, notes)) for system in systems]
    (gold_u, column_u), (gold_v, column_v) = (
        _beside(system, options, ("gold", role)) for system, role in zip(systems, roles, strict=True)
    )
    u, v = systems
    require_same(u, v, (gold_u, gold_v), "gold tag", gold_v + 1)
    notes.append(
        f"There is no gold file: columns {gold_u + 1} and {column_u + 1} of u, and {gold_v + 1} and {column_v + 1} of v, "
        "are gold and prediction."
    )
    return [(u, gold_u), (u, column_u), (v, column_v)]


def _tag_column(system: Sentences, options: ReaderOptions, notes: list[Any]) -> int:
    role = system.source.role
    own = getattr(options, f"tag_column_{role}")
    column = options.tag_column if own is None else own
    if column is None:
        names = f"{marked(f'tag_column_{role}')} (or `tag_column` for all files)"
        index = _tag_columns(system, _token_column(system, options), 1, names)[0]
    else:
        index = _chosen(system, column)
    if system.width > 2:
        said = f"the tags are column {index + 1} of {system.width}; the option tag_column_{role} chooses another."
        notes.append(Remark(role, said))
    return index


def _beside(system: Sentences, options: ReaderOptions, roles: tuple[str, ...]) -> list[int]:
    """The columns of gold and predictions in one file: all are chosen, or none."""
    if options.tag_column is not None:
        detail = "Gold and predictions are in one file here: give `tag_column_gold`, `tag_column_u` and `tag_column_v`."
        raise InvalidTest.at("/options/tag_column", "invalid_option", detail)
    columns = [getattr(options, f"tag_column_{role}") for role in roles]
    names = " and ".join(marked(f"tag_column_{role}") for role in roles)
    if columns.count(None) == len(columns):
        return _tag_columns(system, _token_column(system, options), len(roles), names)
    if None in columns or len(set(columns)) < len(columns):
        detail = f"Give {names}, each another column, or none of them."
        raise InvalidTest.at(f"/options/tag_column_{roles[0]}", "invalid_option", detail)
    return [_chosen(system, column) for column in columns]


def _pairing(base: Sentences, documents: Source | None, options: ReaderOptions, notes: list[Any]) -> Pairing:
    marks = base.documents
    if documents is not None:
        if options.clusters != DOCUMENT:
            detail = "A file of documents is used with `clusters=document` only."
            raise InvalidTest.at(documents.pointer, "unused_file", detail)
        marks = list(from_file(documents, len(base.rows), options, notes))
    return clustered(document_clusters(marks, options.clusters, base.source, notes))


# Columns


def _token_column(tokens: Sentences, options: ReaderOptions) -> int:
    """The first column; the second where the first counts the tokens of a sentence from 1, as UNER's does."""
    if options.token_column is not None:
        return _chosen(tokens, options.token_column)
    return 1 if _counts_tokens(tokens) else 0


def _chosen(tokens: Sentences, column: int) -> int:
    """The index of a column whose number is counted from one; raises InvalidTest if there is none."""
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
    """The columns of BIO tags after the token, if they are certain.

    As many as are `wanted`; or all there are, if these agree; or the last ones of the file, where gold and predictions
    stand beside each other, as conlleval reads them, if those before tag something else (chunks). After an index and a
    token the tag follows (UNER).

    Raises
    ------
    InvalidTest
        There are too few, or too many (`options` choose among them), or a column has tags except for some values.
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
    """Whether gold and predictions are the last columns, and those of tags before them have other types, or are the same."""
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
    """The refusal that names the first value of a column that is not a tag."""
    first = tokens.lines[0][0], tokens.rows[0][0][column]
    number, value = tokens.find(column, lambda value: not TAG.fullmatch(value)) or first
    detail = f"{why}; column {column + 1} here is {quoted(value)}. {hint}"
    detail += f"{options} {'choose' if ' and ' in options else 'chooses'} the column, counted from 1."
    return tokens.source.refused(number, "no_tags", detail, column + 1)


def _sign(look: FirstLook) -> Sign:
    """Whether one column after the token holds BIO tags in every line."""
    if not look.rows:
        return Sign.NONE
    rows = [row.split("\t") if "\t" in look.rows[0] else row.split() for row in look.rows[:-1] or look.rows]
    width = min(map(len, rows))
    tagged = any(all(TAG.fullmatch(row[column]) for row in rows) for column in range(1, width))
    return Sign.SHAPE if tagged else Sign.NONE


FORMAT = Format(
    "conll", read, ROLES, USES, "CoNLL columns of BIO, BIOES or BILOU tags: entities",
    kinds=("predictions",), aliases=("iob2", "bio"), sign=_sign,
)  # fmt: skip
