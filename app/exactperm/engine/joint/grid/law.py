"""The law of a vector of sums on a box, cell by cell: for pictures and for small checks."""

from __future__ import annotations

import numpy as np
from scipy import fft as transform

from ...lattice import Reals
from ..form import JointForm
from ..tilt import untilted
from .box import Box
from .spectrum import fft_lengths, frequencies


def law_on(form: JointForm, box: Box) -> tuple[Reals, float]:
    """The probabilities of the cells of a box, shape box.shape, by one inverse FFT; absolute error about 1e-16.

    And a bound on the transform's error in the probability of any set of cells. Mass outside the box aliases into it
    and is not part of that bound.
    """
    lengths = fft_lengths(box)
    phi = frequencies(form, untilted(form), lengths, box.low)
    masses = transform.irfftn(phi.spread((*lengths[:-1], lengths[-1] // 2 + 1)), lengths)
    inside = tuple(slice(0, size) for size in box.shape)
    return np.asarray(masses[inside], dtype=np.float64), phi.norm * phi.transform_error(lengths)
