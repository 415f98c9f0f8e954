"""The predicted cost of a grid: its region, its frequencies, the sums over the region, and the law for display.

It depends most on the number of retained frequencies, which is estimated from a sample. The constants are fitted to
measured times: `python -m loadtest.bench --section plan` prints predicted and measured time and memory, and
`--section f1` times F1. Run both after changing the grid or a constant.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from ..form import JointForm, means
from ..tilt import Tilted, tilt_towards, untilted
from . import dp
from .box import Box, bounding_box, box_missing
from .screening import average_decay, log_below, retained_share, tile_widths
from .spectrum import APART, MAX_WHOLE, whole_at_once

_OUTSIDE = 1e-17
# More cells fit no budget.
MOST_CELLS = 1 << 40
# Nanoseconds of one group at one frequency: in the product over the grid, in screening, and evaluated alone.
_PRODUCT, _SCREENED, _ALONE = 3.0, 12.0, 130.0
# Nanoseconds of the tables along every axis, per point; along the last one also per group and frequency.
_TABLES, _COLUMN = 500, 60.0
# Frequencies in the sample, the largest number of them that counts as none, and the groups that screen it.
_SAMPLES, _FEW, _GROUPS = 256, 3, 160
# Boxes of more cells are decided tile by tile where the statistic's ranges are known.
_WHOLE_CELLS = 1 << 20
# A tail beyond exp(-_DEEP) takes tilted transforms after the plain one: _TRANSFORMS of them, on windows that miss
# exp(_WINDOW) of the mass, and a region on a box that misses exp(_ROOM) of the probability.
_DEEP, _TRANSFORMS, _WINDOW, _ROOM = 11.0, 6, -54.0, -49.0
# Nanoseconds of a tilted transform besides the transform: its tilt, its dominating cell and its runs.
_TILT = 3_000_000
# Tiles and cells to decide per cell of a box's surface.
_EDGE = 25.0
# An allowance is this multiple of the plan, and at least this much.
_TIMES, _AT_LEAST_NS, _AT_LEAST_STATES = 2.0, 1e8, 1 << 21
# Up to this many additions, `grid` answers by `dp`: for deep tails, and always.
_DIRECT, _TINY = 400_000_000, 200_000


@dataclass(frozen=True, slots=True)
class Deep:
    """The price of a deep tail beyond the plain transform: nanoseconds of `transforms`, `states` decided, bytes `held`."""

    transforms: float
    states: float
    held: float


@dataclass(frozen=True, slots=True)
class SpectrumPrice:
    """The price of a box's frequencies, how many are held, and how many distinct values they have on the last axis."""

    nanoseconds: float
    held: float
    last: float


_KNOWN: WeakKeyDictionary[JointForm, tuple[Box, SpectrumPrice]] = WeakKeyDictionary()


def box_of(form: JointForm) -> Box:
    """Return the box of the lattice that holds all but 1e-17 of the mass."""
    return _box_and_spectrum(form)[0]


def _box_and_spectrum(form: JointForm) -> tuple[Box, SpectrumPrice]:
    known = _KNOWN.get(form)
    if known is None:
        box = bounding_box(form, untilted(form), _OUTSIDE)
        known = _KNOWN[form] = box, _spectrum(form, untilted(form), box)
    return known


def transform_price(
    form: JointForm, law: Tilted, box: Box, spectrum: SpectrumPrice | None = None
) -> tuple[float, float]:
    """Predict the nanoseconds and bytes of a sum over a region, by one transform of a law on a box."""
    spectrum = _spectrum(form, law, box) if spectrum is None else spectrum
    lines = box.cells / box.shape[-1]
    whole = spectrum.held >= box.cells // 2
    axes = _TABLES * sum(box.shape) + (0.5 * _COLUMN * len(form.counts) * box.shape[-1] if whole else 0.0)
    held = 48.0 * spectrum.last * lines + 16.0 * spectrum.held + 400.0 * lines
    if whole:
        held += (160 + 24 * len(form.counts)) * box.shape[-1]
    return axes + spectrum.nanoseconds + 125.0 * spectrum.last * lines, held


def deep_price(form: JointForm) -> Deep:
    """Price tilted transforms for a tail that begins at the data, whose tilt approximates the dominating one."""
    law = tilt_towards(form, form.observed.astype(np.float64))
    depth = law.cumulant - float(law.theta @ (form.observed - means(form)))
    box = box_missing(form, untilted(form), depth + _ROOM)
    each, held = transform_price(form, law, box_missing(form, law, _WINDOW))
    # The region is listed again on a slightly larger box, and then on the box with the data.
    listed = float(box.cells) if box.cells <= _WHOLE_CELLS else min(float(box.cells), _EDGE * _surface(box))
    states = 1.5 * min(box_of(form).cells, _WHOLE_CELLS) + listed
    return Deep(
        _TRANSFORMS * (each + _TILT), states, held + 20 * min(box.cells, _WHOLE_CELLS) + 64 * _surface(box)
    )


def allowance_of(form: JointForm) -> Allowance:
    """Return the limit of `small_probability`: a multiple of the plan, which knows the data but not the region."""
    deep = deep_price(form)
    return Allowance(
        max(_TIMES * deep.transforms, _AT_LEAST_NS), max(_TIMES * deep.states, float(_AT_LEAST_STATES))
    )


def plain_allowance(box: Box) -> Allowance:
    """Return the limit of listing the region of the plain sum over a box."""
    return Allowance(states=max(_TIMES * _plain_states(box), float(_AT_LEAST_STATES)))


def _plain_states(box: Box) -> float:
    """Predict the tiles and cells to decide for the plain sum."""
    return min(float(box.cells), _EDGE * _surface(box)) if box.cells > _WHOLE_CELLS else float(box.cells)


def _surface(box: Box) -> float:
    return float(sum(box.cells / size for size in box.shape))


def grid_cost(form: JointForm, work: float) -> tuple[int, int]:
    """Predict the nanoseconds and bytes of `grid.probability`; `work` is the time of deciding about one state."""
    box, spectrum = _box_and_spectrum(form)
    additions = dp.operations(form) if form.nonzero <= dp.MAX_ITEMS else math.inf
    if additions <= _TINY:
        return int(1.6 * additions + (work + 5) * dp.support(form).cells) + 300_000, 1 << 23
    region = (work + 5) * box.cells
    if box.cells > _WHOLE_CELLS:
        region = min(region, _EDGE * (work + 60) * _surface(box))
    plain, held = transform_price(form, untilted(form), box, spectrum)
    total = 1_500_000 + region + plain
    held += 20 * min(box.cells, _WHOLE_CELLS)
    deeper = is_deep(form)
    if deeper and additions <= _DIRECT:
        total += 1.6 * additions
        held += 20 * dp.support(form).cells
    elif deeper:
        deep = deep_price(form)
        total += deep.transforms + (work + 20) * deep.states
        held = max(held, deep.held)
    return int(total), int(held) + (1 << 24)


def law_nanoseconds(form: JointForm, work: float) -> float:
    """Predict the nanoseconds of `box_probabilities` for known frequencies, and of the statistic at the cells of the box."""
    return 400_000 + (60 + work) * _box_and_spectrum(form)[0].cells


def spectrum_nanoseconds(form: JointForm) -> float:
    """Predict the nanoseconds of the frequencies of the untilted box."""
    return _box_and_spectrum(form)[1].nanoseconds


def is_deep(form: JointForm) -> bool:
    """Return whether tilts are planned besides the plain transform: the data are over _DEEP nats from the mean."""
    away = form.observed - means(form)
    return 0.5 * float(away @ np.linalg.pinv(form.covariance) @ away) > _DEEP


def _spectrum(form: JointForm, law: Tilted, box: Box) -> SpectrumPrice:
    groups, columns = len(form.counts), box.shape[-1] / 2 + 1
    half = (*box.shape[:-1], box.shape[-1] // 2 + 1)
    cells = math.prod(half)
    if cells > MOST_CELLS:
        return SpectrumPrice(float(1 << 62), float(1 << 62), columns)
    # Powers are computed by squaring.
    factors = float(np.sum(1.0 + np.log2(form.counts)))
    product = (_PRODUCT * factors + 30.0) * cells + _COLUMN * groups * half[-1]
    if whole_at_once(form, law, half):
        return SpectrumPrice(product, cells, columns)
    below = log_below(cells)
    share = retained_share(form, law, box.shape, _SAMPLES, _GROUPS)
    # Near frequency zero phi is a Gaussian: the volume of the ellipsoid on which it exceeds the level.
    size = math.sqrt(max(float(np.linalg.det(law.covariance(form))), 1e-300))
    ball = (2.0 * math.pi * below) ** (form.rank / 2) / math.gamma(form.rank / 2 + 1)
    blob = 0.5 * ball * math.prod(box.shape) / ((2.0 * math.pi) ** form.rank * size)
    # A few frequencies of the sample may be near zero.
    kept = min(max(blob, share * cells if share > _FEW / _SAMPLES else 0.0), cells)
    # The number of groups needed to prove a negligible tile or frequency negligible.
    screened = min(groups, 2.0 * below / max(average_decay(form, law) / groups, 1e-9))
    tiles = cells / math.prod(tile_widths(form, box.shape))
    screening = _SCREENED * screened * (0.6 * tiles + 1.5 * kept)
    if cells <= MAX_WHOLE and kept > cells / APART:
        return SpectrumPrice(screening + product, cells, columns)
    last = columns if share > _FEW / _SAMPLES else min(2.0 * kept ** (1.0 / form.rank), columns)
    return SpectrumPrice(screening + _ALONE * groups * kept, 3.0 * kept, last)


# A limit on the work of a small probability, in predicted nanoseconds and states, so that answers repeat.


@dataclass(slots=True)
class Allowance:
    """The remaining `nanoseconds` for tilted transforms and `states` to decide for the region."""

    nanoseconds: float = math.inf
    states: float = math.inf

    def transform(self, nanoseconds: float) -> bool:
        """Deduct the price of a transform if it is allowed; return whether it is."""
        if nanoseconds > self.nanoseconds:
            return False
        self.nanoseconds -= nanoseconds
        return True

    def decide(self, states: float) -> bool:
        """Deduct this many states, or tiles of them, if they are allowed; return whether they are."""
        if states > self.states:
            return False
        self.states -= states
        return True
