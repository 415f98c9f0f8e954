"""Raw predictions against gold: which items, or tokens of them, each system got right."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from ..engine.lattice import Integers
from ..errors import InvalidTest
from .additive_problem import Additive, clustered, require_items, require_same_length, single_items
from .paired import Item, Predictions, StatisticSpec
from .tokens import as_tokens, require_aligned


def reduce_predictions(data: Predictions, spec: StatisticSpec) -> Additive:
    """The additive test behind accuracy, exact_match or token_accuracy.

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
    """Whether an item is a sequence of labels, such as the tags of a sentence."""
    return isinstance(item, list | tuple)


def items_right(gold: Sequence[Item], system: Sequence[Item]) -> Integers:
    """1 where the whole item equals gold, else 0; shape (N,)."""
    return np.fromiter(map(operator.eq, gold, system), dtype=np.int64, count=len(gold))


def tokens_right(gold: Sequence[Item], system: Sequence[Item]) -> Integers:
    """How many tokens of each item equal gold, shape (N,); items of equal lengths."""
    pairs = zip(map(as_tokens, gold), map(as_tokens, system), strict=True)
    return np.fromiter((sum(map(operator.eq, *pair)) for pair in pairs), dtype=np.int64, count=len(gold))
