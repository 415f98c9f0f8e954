"""The law of a bootstrap sum for display: cumulative probabilities and quantiles with no resampling error.

With few retained frequencies, each evaluation contracts them with its interval (`one_sum.fft`). With one draw far from
all others most are retained, and an evaluation would take as long as the p-value; then two transforms of the whole
window give all cumulative probabilities together.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import fft as transform

from ..lattice import Reals
from ..one_sum.fft import contract
from ..one_sum.spectrum import Spectrum
from .form import ResampleForm
from .law import cost, draw_tilt_at, retained_count, spectrum_on, window

# A cumulative probability this little below q counts as q.
_TIE = 1e-12
_OUTSIDE = 1e-17
# Up to this many draws the N-th power of one draw's transform, right to about 1e-15, has an error below _TIE.
_MOST_DRAWS = 500
# The longest window to transform as a whole, and the peak bytes per point.
_MOST_POINTS = 1 << 26
_BYTES_PER_POINT = 48
# Nanoseconds of a point of the window, of squaring it, of a frequency at an evaluation, and of an evaluation besides
# its frequencies. Fitted by hand; tests/unit/inference/test_confidence.py checks the bytes.
_PER_POINT, _PER_POWER, _PER_FREQUENCY, _PER_EVALUATION = 70, 3, 250, 15_000
_BLOCK = 1 << 16


@dataclass(frozen=True)
class BootstrapLaw:
    """The untilted law of T on its window [low, high].

    `below` (high - low + 1,) are P(T <= low), P(T <= low + 1), …; if None, the characteristic function `phi` gives them
    one by one, with phases centred by `centred` = 2 N c.
    """

    form: ResampleForm
    low: int
    high: int
    below: Reals | None = None
    phi: Spectrum | None = None
    centred: int = 0

    def cumulative(self, at: int) -> float:
        """Return P(T <= at), to an absolute error of about 1e-13."""
        if at < self.low:
            return 0.0
        if at >= self.high:
            return 1.0
        if self.below is not None:
            return float(self.below[at - self.low])
        assert self.phi is not None
        return contract(self.phi, self.centred, self.low, at - self.low + 1, 0.0)[0]

    def quantile(self, q: float) -> int:
        """Return the smallest sum x with P(S* <= x) >= q, 0 < q < 1; a tie counts as reached."""
        low, high = self.low, self.high
        while low < high:
            middle = (low + high) // 2
            if self.cumulative(middle) >= q - _TIE:
                high = middle
            else:
                low = middle + 1
        values = self.form
        return values.offset + values.step * low


def bootstrap_law(form: ResampleForm, evaluations: int) -> BootstrapLaw:
    """Return the law of S* for about `evaluations` cumulative probabilities.

    Raises WindowTooLongError when the lattice is too fine, which `law_cost` predicts.
    """
    low, high = _window(form)
    if _whole(form, evaluations):
        return BootstrapLaw(form, low, high, below=_cumulated(form, low, high - low + 1))
    phi, centred = spectrum_on(form, draw_tilt_at(form, 0.0), high - low + 1)
    return BootstrapLaw(form, low, high, phi=phi, centred=centred)


def evaluations_for(form: ResampleForm, quantiles: int) -> int:
    """Return the number of cumulative probabilities that `quantiles` quantiles take."""
    low, high = _window(form)
    return quantiles * (high - low + 1).bit_length()


def law_cost(form: ResampleForm, evaluations: int) -> tuple[int, int]:
    """Predict the nanoseconds and peak bytes of the law and `evaluations` evaluations."""
    return _whole_cost(form) if _whole(form, evaluations) else _contracted_cost(form, evaluations)


def _window(form: ResampleForm) -> tuple[int, int]:
    return window(form, draw_tilt_at(form, 0.0), _OUTSIDE)


def _whole(form: ResampleForm, evaluations: int) -> bool:
    low, high = _window(form)
    if form.draws > _MOST_DRAWS or high - low >= _MOST_POINTS:
        return False
    return _whole_cost(form)[0] < _contracted_cost(form, evaluations)[0]


def _whole_cost(form: ResampleForm) -> tuple[int, int]:
    low, high = _window(form)
    length = high - low + 1
    powers = 2 * form.draws.bit_length()
    return 400_000 + (_PER_POINT + _PER_POWER * powers) * length, _BYTES_PER_POINT * length + (1 << 20)


def _contracted_cost(form: ResampleForm, evaluations: int) -> tuple[int, int]:
    low, high = _window(form)
    nanoseconds, held = cost(form)
    kept = retained_count(form, draw_tilt_at(form, 0.0), high - low + 1)
    return nanoseconds + evaluations * (_PER_EVALUATION + _PER_FREQUENCY * kept), held + 200 * kept


def _cumulated(form: ResampleForm, low: int, length: int) -> Reals:
    """Return P(T <= low), P(T <= low + 1), …, shape (length,), from the N-th power of the transform of one draw."""
    points = int(transform.next_fast_len(length, real=True))
    centre = round(draw_tilt_at(form, 0.0).mean)
    draw = np.bincount((form.values - centre) % points, weights=form.probabilities, minlength=points)
    phi = _power(np.asarray(transform.rfft(draw)), form.draws)
    masses = np.asarray(transform.irfft(phi, points), dtype=np.float64)
    # Point i is T - N c = i modulo the length.
    masses = np.roll(masses, -((low - form.draws * centre) % points))[:length]
    total = np.longdouble(0.0)
    for start in range(0, length, _BLOCK):
        part = np.cumsum(masses[start : start + _BLOCK], dtype=np.longdouble) + total
        total = part[-1]
        masses[start : start + _BLOCK] = part
    return masses


def _power(
    phi: np.ndarray[tuple[int], np.dtype[np.complex128]], exponent: int
) -> np.ndarray[tuple[int], np.dtype[np.complex128]]:
    """Raise to an integer power by repeated squaring, in place where possible."""
    result = phi.copy()
    for bit in bin(exponent)[3:]:
        result *= result
        if bit == "1":
            result *= phi
    return result
