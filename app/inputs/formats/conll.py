"""CoNLL columns of BIO tags, BIOES and BILOU too: gold, u and v in files of their own; or gold and prediction side by side.

* `gold`, `u` and `v`: the token and its tag (UNER's .iob2 has an index before, other tags and annotators after them);
* `u` and `v` alone: the last two columns of tags are gold and prediction, as conlleval reads them;
* one `file`: the last three are gold, u and v.

If other columns of tags differ from these, they must be chosen.

Items are sentences of tags; span_f1 takes each apart. Documents (`# newdoc`, `-DOCSTART-`, or a table `documents` with
one line a sentence) can be clusters.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...errors import InvalidTest, marked
from ...inference.reading import Remark
from ...statistics.label_match import SPANS
from ...statistics.paired import Pairing, Predictions, StatisticSpec
from ...statistics.spans import Scheme, forms, is_tag
from ..quoting import quoted, quoted_apart
from .documents import DOCUMENT, coded, document_clusters, from_file
from .format import FirstLook, Format, Sign
from .reader import ReaderOptions, Reading
from .roles import both, needed
from .source import Source
from .tag_columns import TAG, Tokens, chosen, read_tokens, tag_columns, token_column

ROLES = ("gold", "u", "v", "file", "documents")
USES = frozenset(
    (
        "clusters", "ner_mode", "scheme", "token_column", "tag_column", "tag_column_gold", "tag_column_u", "tag_column_v",
    )
)  # fmt: skip


def read(files: Mapping[str, Source], options: ReaderOptions, format_: str) -> Reading:
    """Predictions of tag sequences."""
    notes: list[str] = []
    if "gold" in files:
        if "file" in files:
            raise InvalidTest.at(
                "/files/file", "unused_file", "With gold, give u and v in files of their own."
            )
        base, sides = _three_files(files, options, notes, format_)
    else:
        first, second = both(files, format_)
        base, sides = (
            _one_file(first, options, notes) if first is second else _two_files(first, second, options, notes)
        )
    scheme = _scheme(sides, options, notes)
    if options.statistic is None or options.statistic in SPANS:
        for side in sides:
            _require_tags(*side, scheme)
    gold, u, v = (tokens.column(column) for tokens, column in sides)
    notes.append(f"{len(gold):,} sentences and {sum(map(len, gold)):,} tokens.")
    data = Predictions(gold, u, v, _pairing(base, files.get("documents"), options, notes))
    spec = StatisticSpec("span_f1", {"scheme": scheme})
    return Reading("predictions", data, spec, tuple(notes), format_)


# Gold, u and v: the file and the column of its tags.
Sides = list[tuple[Tokens, int]]


def _scheme(sides: Sides, options: ReaderOptions, notes: list[str]) -> Scheme:
    """The scheme as chosen; where ner_mode is strict, by the letters of the tags."""
    letters = {row[column][:1] for tokens, column in sides for rows in tokens.sentences for row in rows}
    ends = sorted(letters & set("ESLU"))
    if ends:
        named = " and ".join(f"{letter}-" for letter in ends)
        notes.append(
            f"There are tags {named}, of entities' last or only tokens, which were read as seqeval reads them."
        )
    if options.ner_mode != "strict" or options.scheme != "BIO":
        return options.scheme
    return "BILOU" if letters & set("LU") else "IOBES" if ends else "IOB2"


def _require_tags(tokens: Tokens, column: int, scheme: Scheme) -> None:
    """Refuse what is no tag of the scheme, at its line."""
    for sentence, lines in zip(tokens.sentences, tokens.lines, strict=True):
        for row, line in zip(sentence, lines, strict=True):
            if not is_tag(row[column], scheme):
                detail = f"{quoted(row[column])} is not a tag of the form {forms(scheme)} (scheme {scheme})."
                raise tokens.source.refused(line, "not_a_tag", detail, column + 1)


def _three_files(
    files: Mapping[str, Source], options: ReaderOptions, notes: list[str], format_: str
) -> tuple[Tokens, Sides]:
    gold, u, v = (read_tokens(needed(files, role, format_), notes) for role in ("gold", "u", "v"))
    for system in (u, v):
        _require_same(gold, system, token_column(gold, options), token_column(system, options), "token")
    return gold, [(system, _tag_column(system, options, notes)) for system in (gold, u, v)]


def _tag_column(system: Tokens, options: ReaderOptions, notes: list[Any]) -> int:
    role = system.source.role
    own = getattr(options, f"tag_column_{role}")
    column = options.tag_column if own is None else own
    if column is None:
        names = f"{marked(f'tag_column_{role}')} (or `tag_column` for all files)"
        index = tag_columns(system, token_column(system, options), 1, names)[0]
    else:
        index = chosen(system, column)
    if system.width > 2:
        notes.append(
            Remark(
                role,
                f"the tags are column {index + 1} of {system.width}; the option tag_column_{role} chooses another.",
            )
        )
    return index


def _two_files(
    first: Source, second: Source, options: ReaderOptions, notes: list[str]
) -> tuple[Tokens, Sides]:
    u, v = read_tokens(first, notes), read_tokens(second, notes)
    token_u, token_v = token_column(u, options), token_column(v, options)
    _require_same(u, v, token_u, token_v, "token")
    gold_u, column_u = _beside(u, token_u, options, ("gold", "u"))
    gold_v, column_v = _beside(v, token_v, options, ("gold", "v"))
    _require_same(u, v, gold_u, gold_v, "gold tag")
    notes.append(
        f"There is no gold file: columns {gold_u + 1} and {column_u + 1} of u, and {gold_v + 1} and {column_v + 1} of v, "
        "are gold and prediction."
    )
    return u, [(u, gold_u), (u, column_u), (v, column_v)]


def _one_file(source: Source, options: ReaderOptions, notes: list[str]) -> tuple[Tokens, Sides]:
    system = read_tokens(source, notes)
    columns = _beside(system, token_column(system, options), options, ("gold", "u", "v"))
    notes.append(f"Columns {', '.join(str(column + 1) for column in columns)} are gold, u and v.")
    return system, [(system, column) for column in columns]


def _beside(system: Tokens, token: int, options: ReaderOptions, roles: tuple[str, ...]) -> list[int]:
    """The columns of gold and predictions in one file: all are chosen, or none."""
    if options.tag_column is not None:
        detail = "Gold and predictions are in one file here: give `tag_column_gold`, `tag_column_u` and `tag_column_v`."
        raise InvalidTest.at("/options/tag_column", "invalid_option", detail)
    columns = [getattr(options, f"tag_column_{role}") for role in roles]
    if columns.count(None) == len(columns):
        return tag_columns(
            system, token, len(roles), " and ".join(marked(f"tag_column_{role}") for role in roles)
        )
    if None in columns or len(set(columns)) < len(columns):
        names = " and ".join(marked(f"tag_column_{role}") for role in roles)
        detail = f"Give {names}, each another column, or none of them."
        raise InvalidTest.at(f"/options/tag_column_{roles[0]}", "invalid_option", detail)
    return [chosen(system, column) for column in columns]


def _require_same(base: Tokens, system: Tokens, mine: int, other: int, what: str) -> None:
    """The same sentences, and the same values in a column of each."""
    source, role = system.source, base.source.role
    for index, (expected, rows) in enumerate(zip(base.sentences, system.sentences, strict=False)):
        for position, (wanted, row) in enumerate(zip(expected, rows, strict=False)):
            if wanted[mine] != row[other]:
                theirs, ours = quoted_apart(row[other], wanted[mine])
                detail = f"the {what} is {theirs} here and {ours} in {role} "
                detail += f"(line {base.lines[index][position]:,}); they must be the same."
                raise source.refused(
                    system.lines[index][position],
                    f"{what.rsplit(maxsplit=1)[-1]}_mismatch",
                    detail,
                    other + 1,
                )
        if len(expected) != len(rows):
            detail = f"this sentence has {len(rows)} tokens and {len(expected)} in {role} "
            detail += f"(line {base.lines[index][0]:,})."
            raise source.refused(system.lines[index][0], "length_mismatch", detail)
    if len(base.sentences) != len(system.sentences):
        detail = (
            f"{source.label} has {len(system.sentences):,} sentences and {role} has {len(base.sentences):,}."
        )
        raise InvalidTest.at(source.pointer, "length_mismatch", detail)


def _pairing(base: Tokens, documents: Source | None, options: ReaderOptions, notes: list[str]) -> Pairing:
    marks = base.documents
    if documents is not None:
        if options.clusters != DOCUMENT:
            detail = "A file of documents is used with `clusters=document` only."
            raise InvalidTest.at(documents.pointer, "unused_file", detail)
        marks = list(from_file(documents, len(base.sentences), options, notes))
    keys = document_clusters(marks, options.clusters, base.source, notes)
    return Pairing() if keys is None else coded(keys)


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
