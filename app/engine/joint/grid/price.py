"""What a grid takes, predicted: its region, its frequencies, the sums over the region, and the law to look at.

What decides is how many frequencies matter, which is estimated from a sample of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from ..form import VectorForm, means
from ..tilt import untilted
from . import dp
from .box import Box, bounding_box
from .retirement import average_decay, log_below, standing_share, tile_widths
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
# A tail deeper than this, as a natural logarithm, takes tilted transforms after the plain one: so many times as long.
_DEEP, _TILTED = 11.0, 4.0
# Below so many additions `grid` adds directly.
_DIRECT, _TINY = 400_000_000, 200_000


@dataclass(frozen=True, slots=True)
class Spectrum:
    """What the frequencies of a box take, how many are held, and how many of the last axis are among them."""

    nanoseconds: float
    held: float
    last: float


_KNOWN: WeakKeyDictionary[VectorForm, tuple[Box, Spectrum]] = WeakKeyDictionary()


def box_of(form: VectorForm) -> Box:
    """The box of the lattice that holds all but 1e-17 of the mass."""
    return _known(form)[0]


def _known(form: VectorForm) -> tuple[Box, Spectrum]:
    known = _KNOWN.get(form)
    if known is None:
        box = bounding_box(form, untilted(form), _OUTSIDE)
        known = _KNOWN[form] = box, _spectrum(form, box)
    return known


def grid_cost(form: VectorForm, work: float) -> tuple[int, int]:
    """Nanoseconds and bytes of `grid.probability`; `work` is what deciding about one state takes."""
    box, spectrum = _known(form)
    additions = dp.operations(form) if form.nonzero <= dp.MAX_ITEMS else math.inf
    if additions <= _TINY:
        return int(1.6 * additions + (work + 5) * dp.support(form).cells) + 300_000, 1 << 23
    lines = box.cells / box.shape[-1]
    surface = sum(box.cells / size for size in box.shape)
    region = min((work + 5) * box.cells, 25 * (work + 60) * surface if box.cells > _WHOLE_CELLS else math.inf)
    transform = 50 * spectrum.last * lines
    sums = 75 * spectrum.last * lines
    whole = spectrum.held >= box.cells // 2
    axes = (_TABLES * sum(box.shape)) + (0.5 * _COLUMN * len(form.counts) * box.shape[-1] if whole else 0)
    total = 1_500_000 + axes + region + spectrum.nanoseconds + transform + sums
    if _depth(form) > _DEEP:
        total += 1.6 * additions if additions <= _DIRECT else _TILTED * total
    held = 48 * spectrum.last * lines + 16 * spectrum.held + 400 * lines + 20 * min(box.cells, _WHOLE_CELLS)
    if whole:
        held += (160 + 24 * len(form.counts)) * box.shape[-1]
    return int(total), int(held) + (1 << 24)


def law_nanoseconds(form: VectorForm, work: float) -> float:
    """What `grid_law.law_on` takes where the frequencies are known, and the statistic at the cells of the box."""
    return 400_000 + (60 + work) * _known(form)[0].cells


def spectrum_nanoseconds(form: VectorForm) -> float:
    """What the frequencies of the untilted box take."""
    return _known(form)[1].nanoseconds


def _depth(form: VectorForm) -> float:
    """About -log of the probability of getting as far from the mean as the data are, in any direction."""
    away = form.observed - means(form)
    return 0.5 * float(away @ np.linalg.pinv(form.covariance) @ away)


def _spectrum(form: VectorForm, box: Box) -> Spectrum:
    law, groups, columns = untilted(form), len(form.counts), box.shape[-1] / 2 + 1
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
    size = math.sqrt(max(float(np.linalg.det(form.covariance)), 1e-300))
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
