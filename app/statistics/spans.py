"""Entities in sequences of tags: precision, recall and F1 of exact spans with their types.

`BIO` reads tags as conlleval and seqeval's default do: an I- that continues nothing begins an entity. `IOB2` is
seqeval's strict mode: only B- begins one, and a stray I- is none.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
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

Scheme = Literal["BIO", "IOB2"]
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
    scheme: Scheme = "IOB2" if spec.parameters.get("scheme") == "IOB2" else "BIO"
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
            if not _is_tag(tag):
                detail = f"Token {position} of item {index} is not a tag of the form O, B-type or I-type."
                raise InvalidTest.at(f"{pointer}/{index}/{position}", "not_a_tag", detail)
        spans.append({span for span in entities(item, scheme) if types is None or span[2] in types})
    return spans


def _is_tag(tag: object) -> bool:
    return isinstance(tag, str) and (tag in {"O", "B", "I"} or tag.startswith(("B-", "I-")))


def entities(tags: Sequence[str], scheme: Scheme) -> list[Span]:
    """The entities of one sequence of tags, in order."""
    spans: list[Span] = []
    start, kind = -1, ""
    for position, tag in enumerate([*tags, "O"]):
        here = tag[2:] or UNTYPED
        if start >= 0 and tag[0] == "I" and here == kind:
            continue
        if start >= 0:
            spans.append((start, position - 1, kind))
        begins = tag[0] == "B" or (tag[0] == "I" and scheme == "BIO")
        start, kind = (position, here) if begins else (-1, "")
    return spans
