"""`monte_carlo` for finite laws: how many of the equal laws take each value is multinomial."""

from __future__ import annotations

import numpy as np

from ..lattice import Integers
from ..one_sum.monte_carlo import SAMPLES_PER_BLOCK, Estimate, estimate_by, stream
from ..probability import Region
from .form import FiniteLaws


def estimate(form: FiniteLaws, region: Region, *, samples: int, seed: int) -> Estimate:
    """Estimate P(T in region) from `samples` independent draws of T."""
    return estimate_by(lambda block: draw_block(form, seed, block), region, samples=samples, seed=seed)


def draw_block(form: FiniteLaws, seed: int, block: int) -> Integers:
    """SAMPLES_PER_BLOCK independent values of T."""
    generator = np.random.Generator(stream(seed, block))
    totals = np.zeros(SAMPLES_PER_BLOCK, dtype=np.int64)
    for law, count in zip(form.laws, form.counts.tolist(), strict=True):
        whole = law.total
        chances = [ways / whole for ways in law.ways]
        scale = sum(chances)
        drawn = generator.multinomial(count, [chance / scale for chance in chances], size=SAMPLES_PER_BLOCK)
        totals += drawn @ np.array(law.values, dtype=np.int64)
    return totals
