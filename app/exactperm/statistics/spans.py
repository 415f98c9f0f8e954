"""Entities in sequences of tags: precision, recall and F1 of exact spans with their types.

`BIO` reads tags as conlleval and seqeval's default do: an I- that continues nothing begins an entity, E- ends one, and S- is
one by itself; L- and U- are read as E- and S-. `IOB2`, `IOBES` and `BILOU` are seqeval's strict mode: only B- begins an entity (or S-, U-),
a stray I- is none, and in the last two neither is one that does not end with E- (L-).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Literal

import numpy as np

from ..engine.lattice import Integers
from ..errors import InvalidTest
from .additive_problem import Additive
from .expression import parse
from .joint_problem import Joint
from .paired import Item, Predictions, StatisticSpec
from .reduction import difference_of_scores
from .tokens import require_aligned

Scheme = Literal["BIO", "IOB2", "IOBES", "BILOU"]
# The letters of tags, beside O.
LETTERS: Mapping[Scheme, str] = {"BIO": "BIESLU", "IOB2": "BI", "IOBES": "BIES", "BILOU": "BILU"}
BEGIN: Mapping[Scheme, tuple[str, ...]] = {
    "BIO": tuple("BIESLU"), "IOB2": ("B",), "IOBES": ("B", "S"), "BILOU": ("B", "U"),
}  # fmt: skip
# BILOU's names of the last token and of an entity of one.
SAME = {"L": "E", "U": "S"}
UNTYPED = "_"
# (first token, last token, type)
Span = tuple[int, int, str]
_SCORES = {
    "span_f1": "2 * tp / (predicted + gold)",
    "span_precision": "tp / predicted",
    "span_recall": "tp / gold",
}


def reduce_spans(data: Predictions, spec: StatisticSpec) -> Additive | Joint:
    """The test of a span score over the summed counts of all items; raises InvalidTest."""
    scheme = scheme_of(spec)
    types = _types(spec)
    require_aligned(data)
    gold, *systems = (
        _spans_of(items, pointer, scheme, types)
        for items, pointer in ((data.gold, "/gold"), (data.u, "/u"), (data.v, "/v"))
    )
    if types is not None and not any(map(any, (gold, *systems))):
        detail = "No entity of these types occurs in gold, u or v."
        raise InvalidTest.at("/statistic/labels", "unknown_label", detail)
    u, v = (_counts(gold, system) for system in systems)
    node = parse(_SCORES[spec.name], ("tp", "predicted", "gold"))
    return difference_of_scores(spec.name, node, u, v, data.pairing)


def scheme_of(spec: StatisticSpec) -> Scheme:
    """The scheme by which a statistic reads tags."""
    given = spec.parameters.get("scheme")
    return next((scheme for scheme in LETTERS if scheme == given), "BIO")


def _types(spec: StatisticSpec) -> frozenset[str] | None:
    labels = spec.parameters.get("labels")
    if labels is None:
        return None
    if not isinstance(labels, list | tuple) or not labels or not all(isinstance(x, str) for x in labels):
        detail = "labels must be a list of at least one entity type."
        raise InvalidTest.at("/statistic/labels", "not_labels", detail)
    return frozenset(labels)


def _counts(gold: Sequence[set[Span]], system: Sequence[set[Span]]) -> Integers:
    """(tp, predicted, gold) of each item, shape (N, 3)."""
    rows = [
        (len(truth & predicted), len(predicted), len(truth))
        for truth, predicted in zip(gold, system, strict=True)
    ]
    return np.array(rows, dtype=np.int64)


def _spans_of(
    items: Sequence[Item], pointer: str, scheme: Scheme, types: Collection[str] | None
) -> list[set[Span]]:
    spans: list[set[Span]] = []
    for index, item in enumerate(items):
        if not isinstance(item, list | tuple):
            detail = f"Item {index} is not a sequence of tags: a span score needs one tag per token."
            raise InvalidTest.at(f"{pointer}/{index}", "not_a_sequence", detail)
        for position, tag in enumerate(item):
            if not is_tag(tag, scheme):
                detail = f"Token {position} of item {index} is not a tag of the form {forms(scheme)}."
                raise InvalidTest.at(f"{pointer}/{index}/{position}", "not_a_tag", detail)
        spans.append({span for span in entities(item, scheme) if types is None or span[2] in types})
    return spans


def is_tag(tag: object, scheme: Scheme) -> bool:
    """Whether a scheme has such a tag: O, or one of its letters, with a type after a hyphen or without one."""
    if not isinstance(tag, str) or not tag:
        return False
    return tag == "O" or (tag[0] in LETTERS[scheme] and tag[1:2] in {"", "-"})


def forms(scheme: Scheme) -> str:
    """The tags of a scheme in words: O, B-type or I-type."""
    *others, last = (f"{letter}-type" for letter in LETTERS[scheme])
    return f"O, {', '.join(others)} or {last}"


def entities(tags: Sequence[str], scheme: Scheme) -> list[Span]:
    """The entities of one sequence of tags, in order."""
    spans: list[Span] = []
    start, kind, before = -1, "", "O"
    for position, tag in enumerate([*tags, "O"]):
        letter, here = SAME.get(tag[0], tag[0]), tag[2:] or UNTYPED
        if start >= 0 and letter in "IE" and before in "BI" and here == kind:
            before = letter
            continue
        if start >= 0 and (before in "ES" or scheme in {"BIO", "IOB2"}):
            spans.append((start, position - 1, kind))
        start, kind = (position, here) if tag[0] in BEGIN[scheme] else (-1, "")
        before = letter
    return spans
