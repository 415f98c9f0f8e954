"""The law of a vector of sums on a box, cell by cell: for pictures and for small checks."""

from __future__ import annotations

import numpy as np
from scipy import fft as transform

from ...lattice import Reals
from ..form import JointForm
from ..tilt import untilted
from .box import Box
from .spectrum import frequencies


def law_on(form: JointForm, box: Box) -> Reals:
    """The probabilities of the cells of a box, by one inverse FFT; absolute error of some 1e-16."""
    lengths = tuple(
        transform.next_fast_len(size, real=axis == form.rank - 1) for axis, size in enumerate(box.shape)
    )
    found = frequencies(form, untilted(form), lengths, box.low)
    phi = found.spread((*lengths[:-1], lengths[-1] // 2 + 1))
    masses = transform.irfftn(phi, lengths)
    return np.asarray(masses[tuple(slice(0, size) for size in box.shape)], dtype=np.float64)
