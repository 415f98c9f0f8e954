"""Generate the workloads: section 5 of Zmigrod, Vieira & Cotterell 2022 from its Table 1, and one for F1.

Table 1 gives, for Stanza on the English UD test set, accuracy .9543 (sd .1116) and sentence length 12.08 (sd 10.60). The paper draws
accuracies from the normal law; its lengths follow the test set, of which only these two moments are published. So the law of lengths is a
choice:

* `negative_binomial` (default): 1 + NB with exactly these moments. It lives on the positive integers and has the long right tail of
  sentence lengths.
* `normal`: the normal law of Table 1, rounded and redrawn until it is at least 1, for readers who interpret the paper that way. The
  truncation changes the moments: mean 14.8, sd 8.6.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
LengthLaw = Literal["negative_binomial", "normal"]

ACCURACY_MEAN, ACCURACY_SD = 0.9543, 0.1116
LENGTH_MEAN, LENGTH_SD = 12.08, 10.60

# The test part of CoNLL-2003 English: 5,648 entities in 3,453 sentences.
ENTITIES_PER_SENTENCE = 5648 / 3453
RECALL = 0.85
SPURIOUS_PER_SENTENCE = 0.2


@dataclass(frozen=True, slots=True)
class AccuracyWorkload:
    """Numbers of correct tokens per sentence of both systems, int64 arrays of shape (N,)."""

    lengths: IntArray
    u: IntArray
    v: IntArray

    @property
    def stay(self) -> IntArray:
        """g(u_n, v_n): the difference in correct tokens."""
        return self.u - self.v

    @property
    def swap(self) -> IntArray:
        """g(v_n, u_n)."""
        return self.v - self.u


@dataclass(frozen=True, slots=True)
class F1Workload:
    """Counts (true positives, incorrect) per sentence of both systems, int64 arrays of shape (N, 2)."""

    u: IntArray
    v: IntArray


def accuracy(
    items: int, seed: int = 0, law: LengthLaw = "negative_binomial", gap: float = 0.0
) -> AccuracyWorkload:
    """Two systems drawn from Table 1, on the same sentences; `gap` is taken off the mean accuracy of `v`.

    gap = 0 is the paper's experiment (the null hypothesis holds); a gap makes small p-values.
    """
    generator = np.random.default_rng(seed)
    lengths = sentence_lengths(items, generator, law)
    u = _correct(lengths, ACCURACY_MEAN, generator)
    v = _correct(lengths, ACCURACY_MEAN - gap, generator)
    return AccuracyWorkload(lengths, u, v)


def f1(items: int, seed: int = 0, recall_gap: float = 0.0) -> F1Workload:
    """Named entities: Poisson gold, binomial hits, Poisson spurious predictions; incorrect = FP + FN."""
    generator = np.random.default_rng(seed)
    gold = generator.poisson(ENTITIES_PER_SENTENCE, items)
    return F1Workload(_hits(gold, RECALL, generator), _hits(gold, RECALL - recall_gap, generator))


def scores(items: int, seed: int = 0, shift: float = 0.0) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Real-valued scores of two systems that lie on no lattice: normal, with a shared part per item."""
    generator = np.random.default_rng(seed)
    difficulty = generator.normal(size=items)
    return difficulty + generator.normal(size=items) + shift, difficulty + generator.normal(size=items)


def sentence_lengths(items: int, generator: np.random.Generator, law: LengthLaw) -> IntArray:
    """Sentence lengths, at least 1, shape (items,)."""
    if law == "negative_binomial":
        mean, variance = LENGTH_MEAN - 1.0, LENGTH_SD**2
        successes = mean**2 / (variance - mean)
        return 1 + generator.negative_binomial(successes, mean / variance, items)
    lengths = np.zeros(items, dtype=np.int64)
    while (missing := np.flatnonzero(lengths < 1)).size:
        lengths[missing] = np.rint(generator.normal(LENGTH_MEAN, LENGTH_SD, missing.size)).astype(np.int64)
    return lengths


def _correct(lengths: IntArray, mean: float, generator: np.random.Generator) -> IntArray:
    rates = generator.normal(mean, ACCURACY_SD, lengths.size).clip(0.0, 1.0)
    return np.rint(rates * lengths).astype(np.int64)


def _hits(gold: IntArray, recall: float, generator: np.random.Generator) -> IntArray:
    tp = generator.binomial(gold, recall)
    incorrect = gold - tp + generator.poisson(SPURIOUS_PER_SENTENCE, gold.size)
    return np.stack([tp, incorrect], axis=1).astype(np.int64)
