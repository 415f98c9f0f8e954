"""Frequencies that `fft` drops are negligible, whether they were judged by themselves or in blocks."""

from __future__ import annotations

import numpy as np
import pytest

from exactperm.engine.lattice import CanonicalForm, canonical_form
from exactperm.engine.one_sum import dp, fft
from exactperm.engine.one_sum.heavy_weights import window_length
from exactperm.engine.one_sum.spectrum import Spectrum, spectrum, widest_block
from exactperm.engine.one_sum.tilt import Tilt, tilt_towards
from exactperm.engine.probability import Region


def ranks(generator: np.random.Generator, n: int) -> CanonicalForm:
    """Differences of ranks, as an AUC has them: many weights, from very small to very large."""
    u, v = (np.argsort(np.argsort(generator.normal(size=n))) for _ in range(2))
    return canonical_form(u - v)


def multiples(generator: np.random.Generator, n: int) -> CanonicalForm:
    """Weights that are nearly all multiples of twelve: moduli return where the frequency is a twelfth."""
    weights = 12 * generator.integers(1, n, n)
    weights[:3] += 1
    return canonical_form(weights)


def few_light(generator: np.random.Generator, n: int) -> CanonicalForm:
    """Some light weights, and heavy ones that say little of wide blocks."""
    return canonical_form(np.concatenate([np.arange(1, 20), generator.integers(2 * n, 3 * n, n)]))


def all_log_moduli(
    form: CanonicalForm, law: Tilt, length: int
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """log|phi_c| at 0 <= f <= length / 2 from its definition, shape (length // 2 + 1,)."""
    total = np.zeros(length // 2 + 1)
    for weight, count in zip(form.weights.tolist(), form.counts.tolist(), strict=True):
        angle = np.pi / length * (np.arange(len(total)) * weight % (2 * length))
        tilted = np.exp(0.5 * law.theta * weight)
        factor = tilted * np.exp(1j * angle) + np.exp(-1j * angle) / tilted
        total += count * np.log(np.maximum(np.abs(factor) / (tilted + 1.0 / tilted), 1e-300))
    return total


def dropped_properly(form: CanonicalForm, law: Tilt, length: int) -> Spectrum:
    phi = spectrum(form, law, length)
    truth = all_log_moduli(form, law, length)
    assert (np.diff(phi.frequencies) > 0).all()
    assert phi.dropped + len(phi.frequencies) == len(truth)
    assert np.delete(truth, phi.frequencies).max() < -phi.dropped_below + 1e-6
    assert np.allclose(phi.log_modulus, truth[phi.frequencies], rtol=1e-9, atol=1e-9)
    return phi


@pytest.mark.parametrize("made", [ranks, multiples, few_light])
@pytest.mark.parametrize("sds", [0.0, 2.0, 8.0])
def test_what_is_dropped_by_blocks_is_negligible(made: object, sds: float) -> None:
    assert callable(made)
    form = made(np.random.default_rng(5), 200)
    length = window_length(form) | 1
    assert widest_block(form, length) > 1
    target = int(form.range / 2 + sds * form.variance**0.5)
    dropped_properly(form, tilt_towards(form, target), length)


def test_lengths_that_no_block_divides_lose_no_frequency() -> None:
    form = ranks(np.random.default_rng(6), 120)
    law = tilt_towards(form, int(form.range / 2 + form.variance**0.5))
    lengths = range(window_length(form) | 1, (window_length(form) | 1) + 12, 2)
    retained = {tuple(dropped_properly(form, law, length).frequencies.tolist()) for length in lengths}
    assert len(retained) == 1


@pytest.mark.parametrize("made", [ranks, multiples])
def test_p_values_by_blocks_are_those_of_the_shift_algorithm(made: object) -> None:
    assert callable(made)
    form = made(np.random.default_rng(7), 120)
    for sds in (0.5, 2.0, 5.0):
        region = Region(((int(form.range / 2 + sds * form.variance**0.5), form.range),))
        found, exact = fft.probability(form, region), dp.probability(form, region)
        bound = found.relative_error_bound + exact.relative_error_bound
        assert bound < 1e-9
        assert abs(found.log_p - exact.log_p) <= bound
