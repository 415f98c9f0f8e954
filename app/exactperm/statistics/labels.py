"""Labels against gold: right labels, the entities of tag sequences, and labels that cannot match.

`BIO` reads tags as conlleval and seqeval's default do: a stray I- begins an entity, E- ends one, and S- is one alone;
L- and U- are read as E- and S-. `IOB2`, `IOBES` and `BILOU` are seqeval's strict mode: only B- (or S-, U-) begins an
entity, not a stray I-, and in the last two an entity must end with E- (L-).
"""

from __future__ import annotations

import json
import operator
import re
import unicodedata
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain
from typing import Any, Literal

import numpy as np

from ..engine.lattice import Integers
from ..errors import InvalidTest
from .effects import Additive, Joint, clustered, require_items, require_same_length, single_items
from .expression import parse
from .paired import DataWarning, Item, Label, Predictions, StatisticSpec
from .reduction import difference_of_scores


@dataclass(frozen=True, slots=True)
class CodedLabels:
    """Every label of gold, u and v as a code, shape (T,) each; `unit` is the item that a token belongs to."""

    labels: tuple[Label, ...]
    gold: Integers
    u: Integers
    v: Integers
    unit: Integers
    items: int


def coded(data: Predictions) -> CodedLabels:
    """Number the labels in order of first appearance; raises InvalidTest when lengths differ."""
    require_aligned(data)
    labels = [_end_to_end(items) for items in (data.gold, data.u, data.v)]
    if len(labels[0]) == 0:
        raise InvalidTest.at("/gold", "empty", "Every sequence is empty: there is no label to score.")
    codes = {label: code for code, label in enumerate(dict.fromkeys(chain(*labels)))}
    gold, u, v = (np.fromiter(map(codes.__getitem__, column), np.int64, len(column)) for column in labels)
    unit = np.arange(len(data.gold))
    if not _are_labels(data.gold):
        unit = np.repeat(unit, [len(as_tokens(item)) for item in data.gold])
    return CodedLabels(tuple(codes), gold, u, v, unit, len(data.gold))


def _end_to_end(items: Sequence[Item]) -> Sequence[Any]:
    """The labels of all items, end to end."""
    return items if _are_labels(items) else list(chain.from_iterable(map(as_tokens, items)))


def _are_labels(items: Sequence[Item]) -> bool:
    """Return whether no item is a sequence of labels."""
    return not any(issubclass(kind, list | tuple) for kind in set(map(type, items)))


def require_aligned(data: Predictions) -> None:
    """Refuse systems without a label for every label of gold."""
    require_items(len(data.gold), "/gold")
    for pointer, system in (("/u", data.u), ("/v", data.v)):
        require_same_length(len(data.gold), len(system), pointer, ("gold", pointer[1:]))
        if _are_labels(data.gold) and _are_labels(system):
            continue
        for index, (truth, predicted) in enumerate(zip(data.gold, system, strict=True)):
            expected, actual = len(as_tokens(truth)), len(as_tokens(predicted))
            if expected != actual:
                detail = f"Item {index} has {actual} tokens in {pointer[1:]} and {expected} in gold."
                raise InvalidTest.at(f"{pointer}/{index}", "length_mismatch", detail)


def as_tokens(item: Item) -> Sequence[Label]:
    """Return the labels of an item: the item itself when it is a single label."""
    return item if isinstance(item, list | tuple) else (item,)


# Right items and right tokens


def reduce_predictions(data: Predictions, spec: StatisticSpec) -> Additive:
    """Return the additive test behind accuracy, exact_match or token_accuracy.

    `accuracy` of sequences is that of their tokens, as in the paper (section 3, example).
    """
    require_items(len(data.gold), "/gold")
    for pointer, system in (("/u", data.u), ("/v", data.v)):
        require_same_length(len(data.gold), len(system), pointer, ("gold", pointer[1:]))
    if spec.name != "exact_match" and any(map(is_sequence, data.gold)):
        require_aligned(data)
        u, v = tokens_right(data.gold, data.u), tokens_right(data.gold, data.v)
        lengths = np.fromiter((len(as_tokens(item)) for item in data.gold), np.int64, len(data.gold))
        tokens = int(lengths.sum())
        if tokens == 0:
            raise InvalidTest.at("/gold", "empty", "Every sequence is empty: there is no token to score.")
    else:
        u, v, tokens = items_right(data.gold, data.u), items_right(data.gold, data.v), len(data.gold)
        lengths = np.ones(tokens, dtype=np.int64)
    singles = single_items(data.pairing) and bool((lengths == 1).all())
    return Additive(
        name=spec.name,
        stay=clustered(u - v, data.pairing),
        swap=None,
        unit=Fraction(1, tokens),
        items=len(data.gold),
        clusters=data.pairing.n_clusters,
        score_u=Fraction(int(u.sum()), tokens),
        score_v=Fraction(int(v.sum()), tokens),
        sizes=clustered(lengths, data.pairing),
        shiftable=True,
        all_right=Fraction(1) if singles else None,
    )


def is_sequence(item: Item) -> bool:
    """Return whether an item is a sequence of labels, such as the tags of a sentence."""
    return isinstance(item, list | tuple)


def items_right(gold: Sequence[Item], system: Sequence[Item]) -> Integers:
    """Return 1 where the whole item equals gold, else 0; shape (N,)."""
    return np.fromiter(map(operator.eq, gold, system), dtype=np.int64, count=len(gold))


def tokens_right(gold: Sequence[Item], system: Sequence[Item]) -> Integers:
    """Count the tokens of each item that equal gold, shape (N,); items of equal lengths."""
    pairs = zip(map(as_tokens, gold), map(as_tokens, system), strict=True)
    return np.fromiter((sum(map(operator.eq, *pair)) for pair in pairs), dtype=np.int64, count=len(gold))


# Entities: precision, recall and F1 of exact spans with their types


Scheme = Literal["BIO", "IOB2", "IOBES", "BILOU"]
# The letters of tags, in addition to O.
LETTERS: Mapping[Scheme, str] = {"BIO": "BIESLU", "IOB2": "BI", "IOBES": "BIES", "BILOU": "BILU"}
BEGIN: Mapping[Scheme, tuple[str, ...]] = {
    "BIO": tuple("BIESLU"), "IOB2": ("B",), "IOBES": ("B", "S"), "BILOU": ("B", "U"),
}  # fmt: skip
# BILOU's letters for the last token and for an entity of one token.
SAME = {"L": "E", "U": "S"}
UNTYPED = "_"
# (first token, last token, type)
Span = tuple[int, int, str]
# Right entities over predicted ones, and over those of gold.
RETRIEVAL = {"f1": "2 * tp / (predicted + gold)", "precision": "tp / predicted", "recall": "tp / gold"}


def reduce_spans(data: Predictions, spec: StatisticSpec) -> Additive | Joint:
    """Return the test of a span score over the summed counts of all items; raises InvalidTest."""
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
    node = parse(RETRIEVAL[spec.name.removeprefix("span_")], ("tp", "predicted", "gold"))
    return difference_of_scores(spec.name, node, u, v, data.pairing)


def scheme_of(spec: StatisticSpec) -> Scheme:
    """Return the scheme by which a statistic reads tags."""
    name = spec.parameters.get("scheme")
    return next((scheme for scheme in LETTERS if scheme == name), "BIO")


def _types(spec: StatisticSpec) -> frozenset[str] | None:
    labels = spec.parameters.get("labels")
    if labels is None:
        return None
    if not isinstance(labels, list | tuple) or not labels or not all(isinstance(x, str) for x in labels):
        detail = "labels must be a list of at least one entity type."
        raise InvalidTest.at("/statistic/labels", "not_labels", detail)
    return frozenset(labels)


def _counts(gold: Sequence[set[Span]], system: Sequence[set[Span]]) -> Integers:
    """Return (tp, predicted, gold) of each item, shape (N, 3)."""
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
    """Return whether a scheme has this tag: O, or one of its letters, with a type after a hyphen or without one."""
    if not isinstance(tag, str) or not tag:
        return False
    return tag == "O" or (tag[0] in LETTERS[scheme] and tag[1:2] in {"", "-"})


def forms(scheme: Scheme) -> str:
    """Describe the tags of a scheme: O, B-type or I-type."""
    *others, last = (f"{letter}-type" for letter in LETTERS[scheme])
    return f"O, {', '.join(others)} or {last}"


def entities(tags: Sequence[str], scheme: Scheme) -> list[Span]:
    """Return the entities of a sequence of tags, in order."""
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


# Labels that cannot match: of another type than gold's, or written differently. Nothing is converted: `1` and `"1"` are
# different labels, as are `yes` and `Yes`. A system that writes them differently from gold is never right, and its
# score of 0 is meaningless.


SPANS = frozenset({"span_f1", "span_precision", "span_recall"})
SHOWN_CHARS = 40
# If every label of gold occurs on at least this many items, labels are classes, not free text.
ITEMS_PER_CLASS = 2
# Soft hyphen, zero-width spaces, direction marks, byte order mark.
UNSEEN = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff]")

Labels = set[Hashable]


def label_warnings(data: Predictions, spec: StatisticSpec) -> list[DataWarning]:
    """Return warnings about the labels of u and v; usually none.

    Raises
    ------
    InvalidTest
        Items are labels in gold and sequences of labels in a system, or the other way round; or a label of a system
        differs in type from the same label of gold. Pointers are `/u` and `/v`.
    """
    gold = GoldLabels(data.gold, spec)
    return [
        warning for role, items in (("u", data.u), ("v", data.v)) for warning in gold.warnings(role, items)
    ]


class GoldLabels:
    """The labels of gold, to check the labels of any number of systems."""

    def __init__(self, gold: Sequence[Item], spec: StatisticSpec) -> None:
        self.items, self.spec = gold, spec
        self.labels, self.sequences = _labels(gold, spec)

    def warnings(self, role: str, items: Sequence[Item], pointer: str | None = None) -> list[DataWarning]:
        """Return warnings about the labels of one system, called `role`; raises InvalidTest as `label_warnings`
        does.
        """
        at, gold, spec = pointer or f"/{role}", self.labels, self.spec
        labels, sequences = _labels(items, spec)
        if sequences != self.sequences:
            detail = (
                f"Items are single labels in one of gold and {role}, and lists of labels in the other: "
                "they never match."
            )
            raise InvalidTest.at(at, "mixed_forms", detail)
        unknown = labels - gold
        if unknown and gold:
            _refuse_other_types(role, unknown, gold, at)
        if gold and unknown == labels and (labels or _tagged(items, spec)):
            return [_never(role, labels, gold, spec, at)]
        return _otherwise_written(role, unknown, gold, self.items, at)


def _tagged(items: Sequence[Item], spec: StatisticSpec) -> bool:
    """Return whether there are tags of entities; in strict schemes none begins without a B-, S- or U-."""
    return spec.name in SPANS and any(label != "O" for label in _flat(items))


def _flat(items: Sequence[Item]) -> Iterable[Any]:
    return chain.from_iterable(item if isinstance(item, list | tuple) else (item,) for item in items)


def _labels(items: Sequence[Item], spec: StatisticSpec) -> tuple[Labels, bool]:
    """Return the labels that may be right (for spans, the types where a span can begin), and whether items are
    sequences.
    """
    try:
        labels: Labels = set(items)
        sequences = any(isinstance(label, tuple) for label in labels)
    except TypeError:  # a list is not hashable
        sequences = True
    if sequences:
        labels = set(_flat(items))
    if spec.name not in SPANS:
        return labels, sequences
    begin = BEGIN[scheme_of(spec)]
    return {label[2:] for label in labels if isinstance(label, str) and label.startswith(begin)}, sequences


def _refuse_other_types(role: str, unknown: Labels, gold: Labels, at: str) -> None:
    by_text = {str(label): label for label in gold}
    for label in sorted(unknown, key=repr):
        same = by_text.get(str(label))
        if same is not None and type(same) is not type(label):
            detail = (
                f"The label {_shown(label)} of {role} is {_type(label)}, and {_shown(same)} in gold is "
                f"{_type(same)}: they never match. Write them the same way."
            )
            raise InvalidTest.at(at, "other_label_type", detail)


def _never(role: str, labels: Labels, gold: Labels, spec: StatisticSpec, at: str) -> DataWarning:
    what = "entity type" if spec.name in SPANS else "label"
    labels_of_role = (
        f"it has {_some(labels)}"
        if labels
        else (
            f"it has tags but no {'- or '.join(BEGIN[scheme_of(spec)])}- to begin an entity "
            f"({scheme_of(spec)})"
        )
    )
    detail = (
        f"No {what} of {role} occurs in gold, so that {role} is never right: {labels_of_role}, and gold has "
        f"{_some(gold)}. Check that these are its labels, written as in gold."
    )
    return DataWarning(at, "labels_never_match", detail)


def _otherwise_written(
    role: str, unknown: Labels, gold: Labels, items: Sequence[Item], at: str
) -> list[DataWarning]:
    """Find a label that gold has in other capitals, with other blanks, in another Unicode form, or as a decimal number.

    Such differences are the system's errors in free text, but not in classes.
    """
    written = {_folded(label): label for label in gold} if unknown else {}
    for label in sorted(unknown, key=repr):
        same = written.get(_folded(label))
        if same is not None:
            detail = (
                f"The label {_shown(label)} of {role} does not occur in gold, where {_shown(same)} does: capitals, spaces "
                "and decimals matter, so these never match."
            )
            classes = len(gold) * ITEMS_PER_CLASS <= sum(1 for _ in _flat(items))
            return [DataWarning(at, "labels_written_otherwise", detail, classes)]
    return []


def _folded(label: Hashable) -> str:
    text = str(label)
    if not text.isascii():
        text = UNSEEN.sub("", unicodedata.normalize("NFKC", text))
    text = " ".join(text.split()).casefold()
    whole, point, decimals = text.partition(".")
    return whole if point and whole.lstrip("-").isdigit() and not decimals.strip("0") else text


def _type(label: Hashable) -> str:
    return "an integer" if isinstance(label, int) else "a text"


def _some(labels: Labels) -> str:
    first = sorted(labels, key=repr)[:3]
    return ", ".join(map(_shown, first)) + (", …" if len(labels) > len(first) else "")


def _shown(label: Hashable) -> str:
    if not isinstance(label, str):
        return str(label)[:SHOWN_CHARS]
    return json.dumps(label if len(label) <= SHOWN_CHARS else label[:SHOWN_CHARS] + "…", ensure_ascii=False)
