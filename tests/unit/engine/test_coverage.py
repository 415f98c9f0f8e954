"""Monte Carlo intervals cover: over 400 seeds the 99 % interval holds the exact p nearly always."""

from __future__ import annotations

import numpy as np
import pytest

from exactperm.engine.joint import enumeration, methods
from exactperm.engine.joint.form import joint_form
from exactperm.engine.lattice import canonical_form
from exactperm.engine.one_sum import fft, monte_carlo
from exactperm.engine.probability import region

SEEDS = 400


@pytest.mark.parametrize("shift", [0.0, 0.4, 0.8])
def test_the_interval_of_a_sum_holds_the_exact_p_at_least_95_percent_of_the_time(shift: float) -> None:
    generator = np.random.default_rng(int(10 * shift))
    effects = np.rint(generator.normal(shift, 2.0, 60)).astype(np.int64)
    form = canonical_form(effects)
    tail = region(form, int(effects.sum()), "two-sided")
    exact = fft.probability(form, tail).p
    held = 0
    for seed in range(SEEDS):
        low, high = monte_carlo.estimate(form, tail, samples=1000, seed=seed).interval()
        held += low <= exact <= high
    assert held >= 0.95 * SEEDS


def test_the_interval_of_several_sums_holds_the_exact_p_at_least_95_percent_of_the_time() -> None:
    generator = np.random.default_rng(1)
    u, v = generator.integers(0, 4, (2, 12, 2))
    form = joint_form(np.hstack([u, v]), np.hstack([v, u]))
    observed = abs(int(u[:, 0].sum()) * int(v[:, 1].sum()) - int(v[:, 0].sum()) * int(u[:, 1].sum()))

    def extreme(
        states: np.ndarray[tuple[int, int], np.dtype[np.int64]],
    ) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        return np.asarray(np.abs(states[:, 0] * states[:, 3] - states[:, 2] * states[:, 1]) >= observed)

    exact = enumeration.probability(form, extreme).p
    held = 0
    for seed in range(SEEDS):
        estimate, _ = methods.by_sampling(
            form, lambda sums: extreme(np.stack(sums, 1)), samples=500, seed=seed
        )
        low, high = estimate.interval()
        held += low <= exact <= high
    assert held >= 0.95 * SEEDS
