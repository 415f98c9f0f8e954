"""`monte_carlo`: sampled swaps, one Binomial(c_j, 1/2) per distinct weight instead of one coin per item.

The law is that of Algorithm 1 of Zmigrod, Vieira & Cotterell 2022 at a fraction of the work: a binomial with p = 1/2 is
the number of ones among c_j random bits, 64 at a time. p = (b + 1) / (K + 1) with >= on integers (Phipson & Smyth
2010), and a Clopper-Pearson interval. Samples come in blocks with a Philox stream each, so the answer depends on the
seed alone, not on the order of the blocks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from ..lattice import CanonicalForm, Integers
from ..probability import Region

SAMPLES_PER_BLOCK = 4096
# Above this count numpy's binomial sampler is cheaper than counting random bits; `python -m loadtest.bench --section plan`
# times the sampling.
COUNTED_BITS = 3072
CONFIDENCE = 0.99


@dataclass(frozen=True, slots=True)
class Estimate:
    """A Monte Carlo p-value: `exceedances` of `samples` are at least as extreme as the observed statistic."""

    samples: int
    seed: int
    exceedances: int

    @property
    def p(self) -> float:
        """(b + 1) / (K + 1): never zero, and valid as a p-value by itself."""
        return (self.exceedances + 1) / (self.samples + 1)

    @property
    def standard_error(self) -> float:
        """The standard error of the estimate."""
        return math.sqrt(self.p * (1.0 - self.p) / self.samples)

    def interval(self, confidence: float = CONFIDENCE) -> tuple[float, float]:
        """Return Clopper & Pearson's interval for the exact p-value."""
        b, k, half = self.exceedances, self.samples, 0.5 * (1.0 - confidence)
        low = float(special.betaincinv(b, k - b + 1, half)) if b else 0.0
        high = float(special.betaincinv(b + 1, k - b, 1.0 - half)) if b < k else 1.0
        return low, high


def estimate(form: CanonicalForm, region: Region, *, samples: int, seed: int) -> Estimate:
    """Estimate P(T in region) from `samples` independent draws of T."""
    return estimate_by(lambda block: draw_block(form, seed, block), region, samples=samples, seed=seed)


def estimate_by(draw: Callable[[int], Integers], region: Region, *, samples: int, seed: int) -> Estimate:
    """Estimate P(T in region); `draw(block)` returns the SAMPLES_PER_BLOCK values of T of a block."""
    inside = 0
    for block, size in blocks(samples):
        totals = draw(block)[:size]
        for low, high in region.intervals:
            inside += int(np.count_nonzero((totals >= low) & (totals <= high)))
    return Estimate(samples, seed, inside)


def blocks(samples: int) -> Iterator[tuple[int, int]]:
    """Yield (block number, number of its samples to use) for `samples` samples in total."""
    for block, start in enumerate(range(0, samples, SAMPLES_PER_BLOCK)):
        yield block, min(SAMPLES_PER_BLOCK, samples - start)


def stream(seed: int, block: int) -> np.random.Philox:
    """Return the random bits of a block: a counter-based generator, 2**128 steps before that of the next block."""
    return np.random.Philox(key=seed, counter=block << 128)


def draw_block(form: CanonicalForm, seed: int, block: int) -> Integers:
    """Draw SAMPLES_PER_BLOCK independent values of T."""
    totals = np.zeros(SAMPLES_PER_BLOCK, dtype=np.int64)
    for weight, ones in zip(form.weights.tolist(), heads(form.counts, seed, block), strict=True):
        totals += weight * ones
    return totals


def heads(counts: Integers, seed: int, block: int) -> Iterator[Integers]:
    """Yield SAMPLES_PER_BLOCK draws of Binomial(count, 1/2) for each count in turn, shape (SAMPLES_PER_BLOCK,)."""
    bits = stream(seed, block)
    generator = np.random.Generator(bits)
    word = np.zeros(SAMPLES_PER_BLOCK, dtype=np.uint64)
    left = 0
    for count in counts.tolist():
        if count > COUNTED_BITS:
            yield generator.binomial(count, 0.5, size=SAMPLES_PER_BLOCK)
            continue
        ones = np.zeros(SAMPLES_PER_BLOCK, dtype=np.int64)
        for _ in range(count // 64):
            ones += np.bitwise_count(bits.random_raw(SAMPLES_PER_BLOCK))
        rest = count % 64
        if rest:
            if left < rest:
                word, left = bits.random_raw(SAMPLES_PER_BLOCK), 64
            ones += _ones(word, rest)
            word, left = word >> np.uint64(rest), left - rest
        yield ones


def _ones(words: NDArray[np.uint64], bits: int) -> NDArray[np.uint8]:
    """Count the set bits among the lowest `bits`."""
    return np.asarray(np.bitwise_count(words & np.uint64((1 << bits) - 1)), dtype=np.uint8)
