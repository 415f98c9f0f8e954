"""What a grid takes, predicted: its region, its frequencies, the sums over the region, and the law to look at.

What decides is how many frequencies matter, which is estimated from a sample of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from ..form import JointForm, means
from ..tilt import Tilted, tilt_towards, untilted
from . import dp
from .allowance import Allowance
from .box import Box, bounding_box, box_missing
from .screening import average_decay, log_below, standing_share, tile_widths
from .spectrum import APART, MAX_WHOLE, whole_at_once

_OUTSIDE = 1e-17
# More cells than this fit no budget.
MOST_CELLS = 1 << 40
# Nanoseconds: a group in the product over the grid, in screening, and at one frequency by itself.
_PRODUCT, _SCREENED, _ALONE = 3.0, 12.0, 130.0
# And what is tabulated along every axis; of the last one, for every group and frequency.
_TABLES, _COLUMN = 500, 60.0
_SAMPLES, _FEW, _COINS = 256, 3, 160
# Boxes of more cells are decided tile by tile where the statistic's ranges are known.
_WHOLE_CELLS = 1 << 20
# A tail deeper than this, as a natural logarithm, takes tilted transforms after the plain one: so many of them, on
# windows that miss so little, and a region on so much larger a box.
_DEEP, _TRANSFORMS, _WINDOW, _ROOM = 11.0, 6, -54.0, -49.0
# What a tilted transform takes besides: its tilt, its dominating cell, its runs; and an axis of the window.
_TILT = 3_000_000
# Tiles and cells that are decided for every cell of a box's surface.
_EDGE = 25.0
# What is planned may be exceeded so many times, and so much is allowed whatever was planned.
_TIMES, _AT_LEAST_NS, _AT_LEAST_STATES = 2.0, 1e8, 1 << 21
# Below so many additions `grid` adds directly.
_DIRECT, _TINY = 400_000_000, 200_000


@dataclass(frozen=True, slots=True)
class Deep:
    """What a tail takes beyond the plain transform: `transforms` nanoseconds, `states` decided, bytes `held`."""

    transforms: float
    states: float
    held: float


@dataclass(frozen=True, slots=True)
class Spectrum:
    """What the frequencies of a box take, how many are held, and how many of the last axis are among them."""

    nanoseconds: float
    held: float
    last: float


_KNOWN: WeakKeyDictionary[JointForm, tuple[Box, Spectrum]] = WeakKeyDictionary()


def box_of(form: JointForm) -> Box:
    """The box of the lattice that holds all but 1e-17 of the mass."""
    return _known(form)[0]


def _known(form: JointForm) -> tuple[Box, Spectrum]:
    known = _KNOWN.get(form)
    if known is None:
        box = bounding_box(form, untilted(form), _OUTSIDE)
        known = _KNOWN[form] = box, _spectrum(form, untilted(form), box)
    return known


def transform_price(
    form: JointForm, law: Tilted, box: Box, spectrum: Spectrum | None = None
) -> tuple[float, float]:
    """Nanoseconds and bytes of the sum over a region by one transform of a law on a box."""
    spectrum = _spectrum(form, law, box) if spectrum is None else spectrum
    lines = box.cells / box.shape[-1]
    whole = spectrum.held >= box.cells // 2
    axes = _TABLES * sum(box.shape) + (0.5 * _COLUMN * len(form.counts) * box.shape[-1] if whole else 0.0)
    held = 48.0 * spectrum.last * lines + 16.0 * spectrum.held + 400.0 * lines
    if whole:
        held += (160 + 24 * len(form.counts)) * box.shape[-1]
    return axes + spectrum.nanoseconds + 125.0 * spectrum.last * lines, held


def deep_price(form: JointForm) -> Deep:
    """The price of tilted transforms for as far out as the data are, whose tilt is about the dominating one."""
    law = tilt_towards(form, form.observed.astype(np.float64))
    depth = law.cumulant - float(law.theta @ (form.observed - means(form)))
    box = box_missing(form, untilted(form), depth + _ROOM)
    each, held = transform_price(form, law, box_missing(form, law, _WINDOW))
    # The plain region comes again on a box that is a little larger, and then on the one that holds the data.
    listed = float(box.cells) if box.cells <= _WHOLE_CELLS else min(float(box.cells), _EDGE * _surface(box))
    states = 1.5 * min(box_of(form).cells, _WHOLE_CELLS) + listed
    return Deep(
        _TRANSFORMS * (each + _TILT), states, held + 20 * min(box.cells, _WHOLE_CELLS) + 64 * _surface(box)
    )


def allowance_of(form: JointForm) -> Allowance:
    """What `small_probability` may take: some times the plan, which saw where the data are and not the region."""
    deep = deep_price(form)
    return Allowance(
        max(_TIMES * deep.transforms, _AT_LEAST_NS), max(_TIMES * deep.states, float(_AT_LEAST_STATES))
    )


def plain_allowance(box: Box) -> Allowance:
    """What the region of the plain sum over a box may take."""
    return Allowance(states=max(_TIMES * _plain_states(box), float(_AT_LEAST_STATES)))


def _plain_states(box: Box) -> float:
    """Tiles and cells that are decided for the plain sum."""
    return min(float(box.cells), _EDGE * _surface(box)) if box.cells > _WHOLE_CELLS else float(box.cells)


def _surface(box: Box) -> float:
    return float(sum(box.cells / size for size in box.shape))


def grid_cost(form: JointForm, work: float) -> tuple[int, int]:
    """Nanoseconds and bytes of `grid.probability`; `work` is what deciding about one state takes."""
    box, spectrum = _known(form)
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
    """What `grid_law.law_on` takes where the frequencies are known, and the statistic at the cells of the box."""
    return 400_000 + (60 + work) * _known(form)[0].cells


def spectrum_nanoseconds(form: JointForm) -> float:
    """What the frequencies of the untilted box take."""
    return _known(form)[1].nanoseconds


def is_deep(form: JointForm) -> bool:
    """Whether more than the plain transform is planned: the data are so far from the mean, in any direction."""
    away = form.observed - means(form)
    return 0.5 * float(away @ np.linalg.pinv(form.covariance) @ away) > _DEEP


def _spectrum(form: JointForm, law: Tilted, box: Box) -> Spectrum:
    groups, columns = len(form.counts), box.shape[-1] / 2 + 1
    half = (*box.shape[:-1], box.shape[-1] // 2 + 1)
    cells = math.prod(half)
    if cells > MOST_CELLS:
        return Spectrum(float(1 << 62), float(1 << 62), columns)
    # Powers are taken by squaring.
    factors = float(np.sum(1.0 + np.log2(form.counts)))
    product = (_PRODUCT * factors + 30.0) * cells + _COLUMN * groups * half[-1]
    if whole_at_once(form, law, half):
        return Spectrum(product, cells, columns)
    below = log_below(cells)
    share = standing_share(form, law, box.shape, _SAMPLES, _COINS)
    # Near frequency nought phi is a Gaussian: its ellipsoid above the level.
    size = math.sqrt(max(float(np.linalg.det(law.covariance(form))), 1e-300))
    ball = (2.0 * math.pi * below) ** (form.rank / 2) / math.gamma(form.rank / 2 + 1)
    blob = 0.5 * ball * math.prod(box.shape) / ((2.0 * math.pi) ** form.rank * size)
    # One or two in the sample may well be near nought themselves.
    kept = min(max(blob, share * cells if share > _FEW / _SAMPLES else 0.0), cells)
    # So many coins retire a tile or a frequency that can be retired.
    coins = min(groups, 2.0 * below / max(average_decay(form, law) / groups, 1e-9))
    tiles = cells / math.prod(tile_widths(form, box.shape))
    looked = _SCREENED * coins * (0.6 * tiles + 1.5 * kept)
    if cells <= MAX_WHOLE and kept > cells / APART:
        return Spectrum(looked + product, cells, columns)
    last = columns if share > _FEW / _SAMPLES else min(2.0 * kept ** (1.0 / form.rank), columns)
    return Spectrum(looked + _ALONE * groups * kept, 3.0 * kept, last)
