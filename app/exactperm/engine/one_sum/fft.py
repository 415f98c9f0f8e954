"""`fft`: exact tail probabilities by one tilted characteristic function on a window.

The mass that matters lies within some standard deviations of the tilted mean, so T is wrapped onto a
window of L points there; the inverse discrete Fourier transform of the characteristic function gives
its law, and contracting that transform with the tail's weights exp(-theta i) gives the probability
in closed form, one geometric sum per retained frequency. Cost O(U L + U F), L of order sqrt(N), U the
number of distinct weights and F that of the retained frequencies.

Sources: Pagano & Tritchler 1983; Hong 2013 (transform); Keich & Nagarajan 2006; Peres, Lee & Keich
2021 (tilt); Bernstein's inequality (window).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
from numpy.typing import NDArray
from scipy import fft as transform

from ..lattice import CanonicalForm, Integers, Reals, once_per_form
from ..probability import (
    CERTAIN,
    IMPOSSIBLE,
    LN2,
    UNIT_ROUNDOFF,
    Interval,
    Probability,
    Region,
    add,
    by_intervals,
    complement,
    from_fraction,
)
from ..tilting import bernstein_reach
from .heavy_weights import best_split, heavy_sums, shifted
from .spectrum import Spectrum, factor_error, log_moduli, negligible, spectrum
from .tilt import Tilt, exponent, tilt_at, tilt_towards

# Short laws from tables: without a tilt and on a window of all values, the angles of all small weights are the same for all.
#
# The window has a power of two points L, so that there are few tables. On it one spectrum serves the law that is shown, ties
# and, where they are not small, p-values. Every factor is a cosine, so that phases are whole half-turns; angles are multiples of
# pi / L, reduced as integers, and their sines come from a table of L numbers, each within three roundoffs.


# The tables of the longest window have 1.6 MB.
_SHORTEST, LONGEST = 1 << 7, 1 << 11
MAX_WEIGHT = 64
# Roundoffs of a term of the sum: three of each of three sines, and of what is done with them.
_TERM_ROUNDOFFS = 24.0


@dataclass(frozen=True, slots=True)
class ShortSpectrum:
    """The characteristic function of T at the retained frequencies 0 <= f <= L/2, shape (F,) each.

    It is modulus * exp(i pi half_turns / L). `modulus` counts the conjugate frequency as well; `dropped` is the sum of the
    moduli left out, at the most. `error` is the relative error of a term of the sum: of its modulus and of three sines.
    """

    length: int
    frequencies: Integers
    taken: slice | Integers  # selects their values from those of all
    modulus: Reals
    half_turns: Integers
    quarter_on: Integers  # half_turns + L / 2, of which the sine is the cosine
    error: Reals
    dropped: float


def have_tables(form: CanonicalForm) -> bool:
    """Whether neither the range nor a weight is too large for a table."""
    return 0 < form.range < LONGEST and int(form.weights[-1]) <= MAX_WEIGHT


@once_per_form
def short_spectrum(form: CanonicalForm) -> ShortSpectrum:
    """The untilted spectrum on all of the range; the form must `have_tables`."""
    length = max(1 << form.range.bit_length(), _SHORTEST)
    below, groups = negligible(length), len(form.weights)
    without_gaps = int(form.weights[-1]) == groups
    rows = slice(0, groups) if without_gaps else form.weights - 1
    counts, of_items = form.counts.astype(np.float64), _items(length)
    log_modulus = counts @ of_items[0, rows]
    (large,) = (log_modulus > -below).nonzero()
    kept = slice(0, len(large)) if large[-1] + 1 == len(large) else large  # mostly all of the lowest
    log_modulus = log_modulus[kept]
    # Numbers of negative cosines are small integers, which doubles add exactly.
    negative, error = counts @ of_items[1:, rows][:, :, kept]
    half_turns = large * form.range + length * negative.astype(np.int64)
    modulus = 2.0 * np.exp(log_modulus)
    modulus[0] = 1.0
    if large[-1] * 2 == length:
        modulus[-1] *= 0.5
    return ShortSpectrum(
        length,
        large,
        kept,
        modulus,
        half_turns,
        half_turns + length // 2,
        UNIT_ROUNDOFF * (error - 8.0 * log_modulus + (16.0 + _TERM_ROUNDOFFS)),
        2.0 * (length // 2 + 1 - len(large)) * math.exp(-below),
    )


def short_sum(form: CanonicalForm, low: int, high: int) -> Probability:
    """P(low <= T <= high), 0 <= low <= high <= range, with its certificate, which is infinite where nothing is proven.

    That is (1/L) sum_f phi(f) sum_x exp(-2 pi i f x / L), the inner sum over low <= x <= high a quotient of two sines.
    """
    phi, terms = short_spectrum(form), high - low + 1
    sines, mask = _sines(phi.length), 2 * phi.length - 1
    # The middle of the interval; cos(a) is sin(a + pi / 2).
    turned = phi.quarter_on - phi.frequencies * (low + high)
    magnitude = phi.modulus * sines[turned & mask]
    if terms > 1:
        above = phi.frequencies[1:]
        magnitude[1:] *= sines[(above * terms) & mask] / sines[above]
        magnitude[0] *= terms
    total = math.fsum(magnitude.tolist()) / phi.length
    error = 1.01 * (float(np.abs(magnitude) @ phi.error) + phi.dropped * terms) / phi.length
    if not total > 0.0:
        return Probability(-math.inf, math.inf)
    log_p = math.log(total)
    return Probability(log_p, error / total + UNIT_ROUNDOFF * (4.0 + 2.0 * abs(log_p)))


def short_masses(form: CanonicalForm) -> Reals:
    """P(T = x) for x = 0, ..., range, each to about 1e-15; shape (range + 1,)."""
    phi = short_spectrum(form)
    sines, mask = _sines(phi.length), 2 * phi.length - 1
    line = np.zeros(phi.length // 2 + 1, dtype=np.complex128)
    size = phi.modulus * 0.5
    size[0] = 1.0
    if phi.frequencies[-1] * 2 == phi.length:
        size[-1] *= 2.0
    line.real[phi.taken] = size * sines[phi.quarter_on & mask]
    line.imag[phi.taken] = size * sines[-phi.half_turns & mask]
    return np.asarray(transform.irfft(line, phi.length)[: form.range + 1])


@cache
def _sines(length: int) -> Reals:
    """sin(pi k / length) for k = 0, ..., 2 length - 1, relatively to a few roundoffs: the angles stay below pi / 4."""
    k = np.arange(length)
    folded = np.minimum(k, length - k)
    unit = math.pi / length
    half = np.where(folded <= length // 4, np.sin(unit * folded), np.cos(unit * (length // 2 - folded)))
    return np.concatenate([half, -half])


@cache
def _items(length: int) -> Reals:
    """Of one item of each weight from 1: log-modulus, whether its cosine is negative, and `factor_error`.

    Shape (3, MAX_WEIGHT, L/2 + 1). The characteristic function of the item, centred, is cos(pi f v / L).
    """
    frequencies = np.arange(length // 2 + 1, dtype=np.int64)
    turns = np.multiply.outer(np.arange(1, MAX_WEIGHT + 1, dtype=np.int64), frequencies) % (2 * length)
    np.subtract(turns, 2 * length, out=turns, where=turns > length)
    angle = (math.pi / length) * turns
    sine, cosine = np.sin(angle), np.cos(angle)
    modulus2 = np.maximum(cosine * cosine, 1e-300)
    flat: NDArray[np.float64] = np.zeros_like(angle)
    error = factor_error(angle, sine, cosine, flat, modulus2, flat, np.ones_like(angle))
    return np.stack([log_moduli(sine, modulus2, 1.0), cosine < 0.0, error])


# `fft`: exact tail probabilities by one tilted characteristic function on a window


# Mass outside the window, against the answer: below roundoff, so that rounding is the only error.
_OUTSIDE = 2.0**-58
_ATTEMPTS = 4
# A tail that begins within so many standard deviations of the middle is first tried without a tilt, where there are tables:
# its relative error must not be larger than with one.
_UNTILTED_SDS, _UNTILTED_ERROR = 3.0, 1e-12


@dataclass(frozen=True, slots=True)
class Window:
    """The tilted law on a window: all but `outside` of its mass is on the `phi.length` values from `first` on."""

    law: Tilt
    phi: Spectrum
    first: int
    outside: float


# Windows solved on the way to an answer, by interval in the upper half.
Windows = dict[Interval, Window]


def probability(form: CanonicalForm, region: Region) -> Probability:
    """P(T in region) with its certificate, the heaviest weights enumerated where that is cheaper.

    The relative error bound is infinite where the rounding error exceeds the sum itself.
    """
    return with_ties(form, region, ())[0]


def with_ties(form: CanonicalForm, region: Region, ties: tuple[int, ...]) -> tuple[Probability, Probability]:
    """P(T in region) and P(T in ties), values in the region, which mostly costs no more transforms than the first."""
    certain = region.covers(form)
    if certain and not ties:
        return CERTAIN, IMPOSSIBLE
    by_tables = _by_tables(form, region, ties)
    if by_tables is not None:
        return by_tables
    heavy = best_split(form).heavy
    if heavy == 0:
        return (CERTAIN, _of_points(form, ties, {})) if certain else _both(form, region, ties)
    light = form.without(heavy)
    ways, items = heavy_sums(form, heavy)
    parts, tied = [], []
    for total, number in ways.items():
        rest = shifted(region, total, light.range)
        own = tuple(value - total for value in ties if 0 <= value - total <= light.range)
        if certain and own:
            tied.append(_scaled(_of_points(light, own, {}), number, items))
        elif rest.intervals and not certain:
            inside, at = _both(light, rest, own)
            parts.append(_scaled(inside, number, items))
            if own:
                tied.append(_scaled(at, number, items))
    found = CERTAIN if certain else add(parts) if parts else IMPOSSIBLE
    return found, summed(tied)


def _both(form: CanonicalForm, region: Region, ties: tuple[int, ...]) -> tuple[Probability, Probability]:
    windows: Windows = {}
    found = by_intervals(form, region, partial(interval_probability, windows=windows))
    return found, _of_points(form, ties, windows) if ties else IMPOSSIBLE


def _of_points(form: CanonicalForm, ties: tuple[int, ...], windows: Windows) -> Probability:
    """The mass of single values; mirror images have the same."""
    upwards = [max(value, form.range - value) for value in ties]
    known = {value: point_probability(form, value, windows) for value in set(upwards)}
    return summed([known[value] for value in upwards])


def summed(parts: list[Probability]) -> Probability:
    """The sum, where some may be no more than an error bound: its error is the sum of theirs."""
    total = add(parts) if parts else IMPOSSIBLE
    if len(parts) < 2 or total.fraction is not None:
        return total
    shares = [math.exp(min(part.log_p - total.log_p, 0.0)) * part.relative_error_bound for part in parts]
    return Probability(total.log_p, 1.01 * math.fsum(shares) + UNIT_ROUNDOFF * (8.0 + 2.0 * abs(total.log_p)))


def point_probability(form: CanonicalForm, value: int, windows: Windows) -> Probability:
    """P(T = value), value not below range / 2, on a window that was solved for something near it where there is one.

    What is no more than the error of the window is given as that error, with a relative bound of one and more.
    """
    if form.range == 0:
        return CERTAIN
    if value == form.range:
        return from_fraction(1, form.nonzero)
    for window in windows.values():
        if window.first <= value < window.first + window.phi.length:
            return _at(form, value, window)
    own: Windows = {}
    interval_probability(form, value, value, own)
    if (value, value) not in own:
        return Probability(-math.inf, math.inf)
    return _at(form, value, own[value, value])


def _at(form: CanonicalForm, value: int, window: Window) -> Probability:
    law = window.law
    total, error = contract(window.phi, form.range, value, 1, law.theta)
    error += window.outside
    weight, weight_error = exponent(form, law.theta, value)
    total = max(total, error)
    log_p = weight + math.log(total)
    rounding = UNIT_ROUNDOFF * (4.0 + 2.0 * abs(log_p))
    return Probability(log_p, error / total + 1.01 * weight_error + rounding)


def _scaled(part: Probability, number: int, log2_ways: int) -> Probability:
    """`part` times number / 2**log2_ways, exactly where the part is a fraction."""
    if part.fraction is not None:
        return from_fraction(part.fraction[0] * number, part.fraction[1] + log2_ways)
    log_p = part.log_p + (math.log(number) - log2_ways * LN2)
    rounding = UNIT_ROUNDOFF * (4.0 + 2.0 * abs(log_p) + 4.0 * log2_ways + abs(part.log_p))
    return Probability(log_p, part.relative_error_bound + rounding)


def interval_probability(
    form: CanonicalForm, low: int, high: int, windows: Windows | None = None
) -> Probability:
    """P(low <= T <= high) for an interval whose middle is not below range / 2; its window is added to `windows`."""
    if low <= 0 and high >= form.range:
        return CERTAIN
    if low == form.range:
        return from_fraction(1, form.nonzero)
    if 2 * low <= form.range and high >= form.range:
        return complement(interval_probability(form, form.range - low + 1, form.range, windows))
    law = tilt_at(form, 0.0) if 2 * low <= form.range else tilt_towards(form, low)
    target = low if law.theta else max(low, 0)
    weight, weight_error = exponent(form, law.theta, target)
    outside = _OUTSIDE / (1.0 + law.sd)
    for _ in range(_ATTEMPTS):
        total, error, window = _windowed_sum(form, law, target, high, outside)
        if total > 0.0 and outside <= _OUTSIDE * total:
            break
        outside = _OUTSIDE * max(total, outside) * 2.0**-12
    if windows is not None and window is not None:
        windows[low, high] = window
    bound = error / total if total > error else math.inf
    log_p = weight + math.log(total) if total > 0.0 else -math.inf
    rounding = UNIT_ROUNDOFF * (4.0 + 2.0 * abs(log_p))
    return Probability(log_p, bound + 1.01 * weight_error + rounding)


def is_tabled(form: CanonicalForm, region: Region) -> bool:
    """Whether tables are tried: all that the region lacks, or has, are tails that begin near the middle."""
    if not have_tables(form):
        return False
    twice_near = 2.0 * _UNTILTED_SDS * math.sqrt(form.variance)
    for interval in region.intervals:
        for end in interval:
            if 0 < end < form.range and abs(2 * end - form.range) > twice_near:
                return False
    return True


def _by_tables(
    form: CanonicalForm, region: Region, ties: tuple[int, ...]
) -> tuple[Probability, Probability] | None:
    """`with_ties` on a window that holds all values, untilted and with no weight enumerated; None where that does not do."""
    if not is_tabled(form, region):
        return None
    found = by_intervals(form, region, _untilted)
    if not found.relative_error_bound <= _UNTILTED_ERROR:
        return None
    masses = {value: short_sum(form, value, value) for value in {max(tie, form.range - tie) for tie in ties}}
    return found, summed([masses[max(tie, form.range - tie)] for tie in ties])


def _untilted(form: CanonicalForm, low: int, high: int) -> Probability:
    """`interval_probability` on a window that holds all values."""
    if low <= 0 and high >= form.range:
        return CERTAIN
    if 2 * low <= form.range and high >= form.range:
        return complement(_untilted(form, form.range - low + 1, form.range))
    return short_sum(form, max(low, 0), min(high, form.range))


def half_window(form: CanonicalForm, law: Tilt, outside: float) -> int:
    """R with P(|T - mean| > R) <= outside under the tilt, by Bernstein's inequality."""
    return math.ceil(bernstein_reach(math.log(2.0 / outside), float(form.weights[-1]), law.variance)) + 1


def window(form: CanonicalForm, law: Tilt, outside: float) -> tuple[int, int]:
    """The window [low, high] of values of T that hold all but `outside` of the tilted mass."""
    reach = half_window(form, law, outside)
    centre = form.range // 2 + math.floor(law.mean)
    return max(0, centre - reach), min(form.range, centre + reach + 2)


def _windowed_sum(
    form: CanonicalForm, law: Tilt, first: int, last: int, outside: float
) -> tuple[float, float, Window | None]:
    """sum over first <= x <= last of exp(-theta (x - first)) P_theta(T = x), its absolute error, and the window."""
    low, high = window(form, law, outside)
    start = max(first, low) if law.theta == 0.0 else first
    terms = min(last, high) - start + 1
    if terms <= 0:
        return 0.0, outside, None
    length = max(high, start + terms - 1) - min(low, start) + 1
    phi = spectrum(form, law, length + 1 - length % 2)
    total, error = contract(phi, form.range, start, terms, law.theta)
    return total, error + outside, Window(law, phi, min(low, start), outside)


def contract(phi: Spectrum, range_: int, start: int, terms: int, theta: float) -> tuple[float, float]:
    """(1/L) sum_f phi(f) conj(G(f)), G the transform of exp(-theta i), 0 <= i < terms, at `start`.

    `range_` is W: phi is centred at W/2. Returns the sum and a bound on its absolute error: rounding and the
    dropped frequencies.
    """
    length = phi.length
    geometric, phase, largest = _geometric(phi, theta, terms)
    # T - W/2 to T - start: f (2 start - W) / L half-turns, reduced in integers.
    turns = (phi.frequencies * ((2 * start - range_) % (2 * length))) % (2 * length)
    angle = phi.phase + phase - (math.pi / length) * turns
    magnitude = phi.multiplicity() * np.exp(phi.log_modulus) * geometric
    total = math.fsum((magnitude * np.cos(angle)).tolist()) / length
    rounding = phi.error + UNIT_ROUNDOFF * (48.0 + 2.0 * np.abs(phase) + 2.0 * np.abs(phi.phase))
    error = float(np.dot(magnitude, rounding)) / length
    dropped = 2.0 * phi.dropped * math.exp(-phi.dropped_below) * largest / length
    return total, 1.01 * (error + dropped)


def _geometric(
    phi: Spectrum, theta: float, terms: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """Modulus and phase of sum_{i < terms} exp(-theta i - 2 pi i f / L), and its value at f = 0."""
    length = phi.length
    if terms == 1:
        return np.ones(len(phi.frequencies)), np.zeros(len(phi.frequencies)), 1.0
    whole = (phi.frequencies * (terms % length)) % length
    radians = 2.0 * math.pi / length
    numerator = one_minus(theta * terms, np.multiply(whole, radians, dtype=np.float64))
    denominator = one_minus(theta, np.multiply(phi.frequencies, radians, dtype=np.float64))
    largest = float(terms) if theta == 0.0 else math.expm1(-theta * terms) / math.expm1(-theta)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = numerator / denominator
    ratio = np.where(phi.frequencies == 0, largest, ratio)
    return np.abs(ratio), np.angle(ratio), largest


def one_minus(decay: float | NDArray[np.float64], angle: NDArray[np.float64]) -> NDArray[np.complex128]:
    """1 - exp(-decay - i angle) without cancellation: its real part is a sum of positive terms."""
    factor = np.exp(-decay)
    real = -np.expm1(-decay) + factor * 2.0 * np.sin(0.5 * angle) ** 2
    return np.asarray(real + 1j * factor * np.sin(angle))
