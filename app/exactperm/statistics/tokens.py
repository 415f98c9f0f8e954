"""Predictions laid out as one row of labels, whether items are labels or sequences of labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..engine.lattice import Integers
from ..errors import InvalidTest
from .additive_problem import require_items, require_same_length
from .paired import Item, Label, Predictions


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
    unit = [index for index, item in enumerate(data.gold) for _ in as_tokens(item)]
    codes: dict[Label, int] = {}
    columns = [
        [codes.setdefault(label, len(codes)) for item in items for label in as_tokens(item)]
        for items in (data.gold, data.u, data.v)
    ]
    if not unit:
        raise InvalidTest.at("/gold", "empty", "Every sequence is empty: there is no label to score.")
    gold, u, v = (np.array(column, dtype=np.int64) for column in columns)
    return CodedLabels(tuple(codes), gold, u, v, np.array(unit, dtype=np.int64), len(data.gold))


def require_aligned(data: Predictions) -> None:
    """Refuse systems that do not have a label for every label of gold."""
    require_items(len(data.gold), "/gold")
    for pointer, system in (("/u", data.u), ("/v", data.v)):
        require_same_length(len(data.gold), len(system), pointer, ("gold", pointer[1:]))
        for index, (truth, predicted) in enumerate(zip(data.gold, system, strict=True)):
            expected, given = len(as_tokens(truth)), len(as_tokens(predicted))
            if expected != given:
                detail = f"Item {index} has {given} tokens in {pointer[1:]} and {expected} in gold."
                raise InvalidTest.at(f"{pointer}/{index}", "length_mismatch", detail)


def as_tokens(item: Item) -> Sequence[Label]:
    """The labels of an item: itself when it is a single one."""
    return item if isinstance(item, list | tuple) else (item,)
