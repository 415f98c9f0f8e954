"""`fft`: exact tail probabilities by one tilted characteristic function on a window.

Nearly all mass lies within some standard deviations of the tilted mean, so T is wrapped onto a window of L points
there. The inverse discrete Fourier transform of the characteristic function is the law on the window, and contracting
that transform with the tail's weights exp(-theta i) gives the probability in closed form, as one geometric sum per
retained frequency. The cost is O(U L + U F), with L of order sqrt(N), U distinct weights and F retained frequencies.

Sources: Pagano & Tritchler 1983; Hong 2013 (transform); Keich & Nagarajan 2006; Peres, Lee & Keich
2021 (tilt); Bernstein's inequality (window).
"""

from __future__ import annotations

import math
from collections.abc import Callable
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
    complement,
    from_fraction,
    sum_of_intervals,
)
from ..tilting import TiltedLaw, bernstein_reach
from .heavy_weights import best_split, heavy_sums, shifted
from .spectrum import Spectrum, factor_error, log_moduli, negligible, spectrum
from .tilt import Tilt, exponent, tilt_at, tilt_towards

# Short laws use tables: without a tilt and on a window of all values, all laws share the angles of small weights. The
# number L of points is a power of two, so that there are few tables. One spectrum then serves the displayed law, ties
# and p-values that are not small. Every factor is a cosine, so phases are whole half-turns; angles are multiples of pi
# / L, reduced as integers, and their sines come from a table of L numbers, each within three roundoffs.


# The tables of the longest window take 1.6 MB.
_SHORTEST, LONGEST = 1 << 7, 1 << 11
MAX_WEIGHT = 64
# Roundoffs of a term of the sum: three for each of three sines, and those of the operations on them.
_TERM_ROUNDOFFS = 24.0


@dataclass(frozen=True, slots=True)
class ShortSpectrum:
    """The characteristic function of T at the retained frequencies 0 <= f <= L/2, shape (F,) each.

    It is modulus * exp(i pi half_turns / L). `modulus` includes the conjugate frequency, `dropped` bounds the sum of
    the omitted moduli, and `error` is the relative error of a term of the sum: of its modulus and three sines.
    """

    length: int
    frequencies: Integers
    taken: slice | Integers  # selects their values from those of all
    modulus: Reals
    half_turns: Integers
    quarter_on: Integers  # half_turns + L / 2, whose sine is the cosine
    error: Reals
    dropped: float


def have_tables(form: CanonicalForm) -> bool:
    """Return whether the range and all weights are small enough for the tables."""
    return 0 < form.range < LONGEST and int(form.weights[-1]) <= MAX_WEIGHT


@once_per_form
def short_spectrum(form: CanonicalForm) -> ShortSpectrum:
    """Return the untilted spectrum on the whole range; the form must satisfy `have_tables`."""
    length = max(1 << form.range.bit_length(), _SHORTEST)
    below, groups = negligible(length), len(form.weights)
    without_gaps = int(form.weights[-1]) == groups
    rows = slice(0, groups) if without_gaps else form.weights - 1
    counts, of_items = form.counts.astype(np.float64), _items(length)
    log_modulus = counts @ of_items[0, rows]
    (large,) = (log_modulus > -below).nonzero()
    kept = slice(0, len(large)) if large[-1] + 1 == len(large) else large  # usually the lowest ones
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
    """Return P(low <= T <= high), 0 <= low <= high <= range; an infinite error bound proves nothing.

    It is (1/L) sum_f phi(f) sum_x exp(-2 pi i f x / L), the inner sum over low <= x <= high a quotient of sines.
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
    """Return P(T = x) for x = 0, ..., range, each to about 1e-15; shape (range + 1,)."""
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
    """Return sin(pi k / length) for k = 0, ..., 2 length - 1, to a few roundoffs; reduced angles stay below pi / 4."""
    k = np.arange(length)
    folded = np.minimum(k, length - k)
    unit = math.pi / length
    half = np.where(folded <= length // 4, np.sin(unit * folded), np.cos(unit * (length // 2 - folded)))
    return np.concatenate([half, -half])


@cache
def _items(length: int) -> Reals:
    """Return, for an item of each weight from 1, the log-modulus, whether its cosine is negative, and `factor_error`.

    Shape (3, MAX_WEIGHT, L/2 + 1). The centred characteristic function of the item is cos(pi f v / L).
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


# Mass outside the window relative to the answer: below roundoff, so that only rounding matters.
_OUTSIDE = 2.0**-58
_ATTEMPTS = 4
# A tail that begins within this many standard deviations of the middle is tried without a tilt first, if tables exist;
# its relative error must stay below this bound.
_UNTILTED_SDS, _UNTILTED_ERROR = 3.0, 1e-12


@dataclass(frozen=True, slots=True)
class Window:
    """The law tilted by `theta` on a window: `phi.length` values from `first` on, which hold all but `outside` of its mass."""

    theta: float
    phi: Spectrum
    first: int
    outside: float


# Windows already solved, by interval in the upper half.
Windows = dict[Interval, Window]


def probability(form: CanonicalForm, region: Region) -> Probability:
    """Return P(T in region); the heaviest weights are enumerated where that is cheaper.

    The relative error bound is infinite where the rounding error exceeds the sum itself.
    """
    return with_ties(form, region, ())[0]


def with_ties(form: CanonicalForm, region: Region, ties: tuple[int, ...]) -> tuple[Probability, Probability]:
    """Return P(T in region) and P(T in ties), `ties` being values in the region; ties rarely cost another transform."""
    certain = region.covers(form)
    if certain and not ties:
        return CERTAIN, IMPOSSIBLE
    by_tables = _from_tables(form, region, ties)
    if by_tables is not None:
        return by_tables
    heavy = best_split(form).heavy
    if heavy == 0:
        return (CERTAIN, _mass_of_points(form, ties, {})) if certain else _region_and_ties(form, region, ties)
    light = form.without(heavy)
    ways, items = heavy_sums(form, heavy)
    parts, tied = [], []
    for total, number in ways.items():
        rest = shifted(region, total, light.range)
        shifted_ties = tuple(value - total for value in ties if 0 <= value - total <= light.range)
        if certain and shifted_ties:
            tied.append(_scaled(_mass_of_points(light, shifted_ties, {}), number, items))
        elif rest.intervals and not certain:
            inside, at = _region_and_ties(light, rest, shifted_ties)
            parts.append(_scaled(inside, number, items))
            if shifted_ties:
                tied.append(_scaled(at, number, items))
    inside = CERTAIN if certain else add(parts) if parts else IMPOSSIBLE
    return inside, summed(tied)


def _region_and_ties(
    form: CanonicalForm, region: Region, ties: tuple[int, ...]
) -> tuple[Probability, Probability]:
    windows: Windows = {}
    inside = sum_of_intervals(form, region, partial(interval_probability, windows=windows))
    return inside, _mass_of_points(form, ties, windows) if ties else IMPOSSIBLE


def _mass_of_points(form: CanonicalForm, ties: tuple[int, ...], windows: Windows) -> Probability:
    """Sum the masses of single values; mirror images have equal ones."""
    upwards = [max(value, form.range - value) for value in ties]
    known = {value: point_probability(form, value, windows) for value in set(upwards)}
    return summed([known[value] for value in upwards])


def summed(parts: list[Probability]) -> Probability:
    """Add parts, some of which may be pure error bounds; the error is the sum of theirs."""
    total = add(parts) if parts else IMPOSSIBLE
    if len(parts) < 2 or total.fraction is not None:
        return total
    shares = [math.exp(min(part.log_p - total.log_p, 0.0)) * part.relative_error_bound for part in parts]
    return Probability(total.log_p, 1.01 * math.fsum(shares) + UNIT_ROUNDOFF * (8.0 + 2.0 * abs(total.log_p)))


def point_probability(form: CanonicalForm, value: int, windows: Windows) -> Probability:
    """Return P(T = value), value not below range / 2, on a window already solved near it if there is one.

    A mass below the error of the window is returned as that error, with a relative bound of at least one.
    """
    if form.range == 0:
        return CERTAIN
    if value == form.range:
        return from_fraction(1, form.nonzero)
    for window in windows.values():
        if window.first <= value < window.first + window.phi.length:
            return _point_mass(form, value, window)
    solved: Windows = {}
    interval_probability(form, value, value, solved)
    if (value, value) not in solved:
        return Probability(-math.inf, math.inf)
    return _point_mass(form, value, solved[value, value])


def _point_mass(form: CanonicalForm, value: int, window: Window) -> Probability:
    total, error = contract(window.phi, form.range, value, 1, window.theta)
    return weighted(total, error + window.outside, *exponent(form, window.theta, value))


def weighted(total: float, error: float, weight: float, weight_error: float) -> Probability:
    """Return exp(weight) * total; a total below its absolute error is returned as that, with a relative bound of at least one."""
    total = max(total, error)
    log_p = weight + math.log(total)
    rounding = UNIT_ROUNDOFF * (4.0 + 2.0 * abs(log_p))
    return Probability(log_p, error / total + 1.01 * weight_error + rounding)


def _scaled(part: Probability, number: int, log2_ways: int) -> Probability:
    """Multiply `part` by number / 2**log2_ways, exactly where it is a fraction."""
    if part.fraction is not None:
        return from_fraction(part.fraction[0] * number, part.fraction[1] + log2_ways)
    log_p = part.log_p + (math.log(number) - log2_ways * LN2)
    rounding = UNIT_ROUNDOFF * (4.0 + 2.0 * abs(log_p) + 4.0 * log2_ways + abs(part.log_p))
    return Probability(log_p, part.relative_error_bound + rounding)


def interval_probability(
    form: CanonicalForm, low: int, high: int, windows: Windows | None = None
) -> Probability:
    """Return P(low <= T <= high) for an interval with its middle at or above range / 2; add its window to `windows`."""
    if low <= 0 and high >= form.range:
        return CERTAIN
    if low == form.range:
        return from_fraction(1, form.nonzero)
    if 2 * low <= form.range and high >= form.range:
        return complement(interval_probability(form, form.range - low + 1, form.range, windows))
    law = tilt_at(form, 0.0) if 2 * low <= form.range else tilt_towards(form, low)
    target = low if law.theta else max(low, 0)
    weight, weight_error = exponent(form, law.theta, target)
    total, error, window = sum_in_window(
        law, partial(window_of, form, law), form.range, partial(spectrum, form, law), target, high
    )
    if windows is not None and window is not None:
        windows[low, high] = window
    bound = error / total if total > error else math.inf
    log_p = weight + math.log(total) if total > 0.0 else -math.inf
    rounding = UNIT_ROUNDOFF * (4.0 + 2.0 * abs(log_p))
    return Probability(log_p, bound + 1.01 * weight_error + rounding)


def is_tabled(form: CanonicalForm, region: Region) -> bool:
    """Return whether tables are tried: every end of the region, inside the range, lies near the middle."""
    if not have_tables(form):
        return False
    twice_near = 2.0 * _UNTILTED_SDS * math.sqrt(form.variance)
    for interval in region.intervals:
        for end in interval:
            if 0 < end < form.range and abs(2 * end - form.range) > twice_near:
                return False
    return True


def _from_tables(
    form: CanonicalForm, region: Region, ties: tuple[int, ...]
) -> tuple[Probability, Probability] | None:
    """Compute `with_ties` untilted, on a window of all values; None where that is not accurate enough."""
    if not is_tabled(form, region):
        return None
    inside = sum_of_intervals(form, region, _untilted)
    if not inside.relative_error_bound <= _UNTILTED_ERROR:
        return None
    masses = {value: short_sum(form, value, value) for value in {max(tie, form.range - tie) for tie in ties}}
    return inside, summed([masses[max(tie, form.range - tie)] for tie in ties])


def _untilted(form: CanonicalForm, low: int, high: int) -> Probability:
    """Compute `interval_probability` untilted, on a window of all values."""
    if low <= 0 and high >= form.range:
        return CERTAIN
    if 2 * low <= form.range and high >= form.range:
        return complement(_untilted(form, form.range - low + 1, form.range))
    return short_sum(form, max(low, 0), min(high, form.range))


def window_of(form: CanonicalForm, law: Tilt, outside: float) -> Interval:
    """Return the values [low, high] of T that hold all but `outside` of the tilted mass, by Bernstein's inequality."""
    reach = math.ceil(bernstein_reach(math.log(2.0 / outside), float(form.weights[-1]), law.variance)) + 1
    centre = form.range // 2 + math.floor(law.mean)
    return max(0, centre - reach), min(form.range, centre + reach + 2)


def sum_in_window(
    law: TiltedLaw,
    span: Callable[[float], Interval],
    twice_centre: int,
    spectrum_on: Callable[[int], Spectrum],
    first: int,
    last: int,
) -> tuple[float, float, Window | None]:
    """Sum exp(-theta (x - first)) P_theta(T = x) over first <= x <= last; return it, its error, and the window, if any.

    `span(outside)` holds all but `outside` of the tilted mass, and is widened until that is below the roundoff of the
    sum. `spectrum_on(length)` is the tilted characteristic function of T less `twice_centre` / 2.
    """
    theta, outside = law.theta, _OUTSIDE / (1.0 + math.sqrt(law.variance))
    for _ in range(_ATTEMPTS):
        low, high = span(outside)
        start = max(first, low) if theta == 0.0 else first
        terms = min(last, high) - start + 1
        total, error, window = 0.0, outside, None
        if terms > 0:
            length = max(high, start + terms - 1) - min(low, start) + 1
            window = Window(theta, spectrum_on(length + 1 - length % 2), min(low, start), outside)
            total, error = contract(window.phi, twice_centre, start, terms, theta)
            error += outside
        if total > 0.0 and outside <= _OUTSIDE * total:
            break
        outside = _OUTSIDE * max(total, outside) * 2.0**-12
    return total, error, window


def contract(phi: Spectrum, range_: int, start: int, terms: int, theta: float) -> tuple[float, float]:
    """Compute (1/L) sum_f phi(f) conj(G(f)), G the transform of exp(-theta i), 0 <= i < terms, at `start`.

    `range_` is W: phi is centred at W/2. Returns the sum and a bound on its absolute error, from rounding and
    dropped frequencies.
    """
    length = phi.length
    geometric, phase, largest = _geometric(phi, theta, terms)
    # From T - W/2 to T - start: f (2 start - W) / L half-turns, reduced in integers.
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
    """Return modulus and phase of sum_{i < terms} exp(-theta i - 2 pi i f / L), and its value at f = 0."""
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
    """Return 1 - exp(-decay - i angle) without cancellation: its real part is a sum of positive terms."""
    factor = np.exp(-decay)
    real = -np.expm1(-decay) + factor * 2.0 * np.sin(0.5 * angle) ** 2
    return np.asarray(real + 1j * factor * np.sin(angle))
