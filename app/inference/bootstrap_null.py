"""The null of a bootstrapped sum, to look at: its law where that is affordable, else some resamples."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

import numpy as np

from ..engine.bootstrap import monte_carlo
from ..engine.bootstrap.form import ResampleForm
from ..engine.bootstrap.quantiles import bootstrap_law, evaluations_for, law_cost
from ..engine.lattice import Reals
from ..engine.one_sum.monte_carlo import blocks
from ..engine.plan import Budget
from .null_record import QUANTILES, sampled_null_record
from .options import Options
from .record import NullRecord

NANOSECONDS_PER_DRAW = 11.0
_BINS = 101
# The null may be looked at for so long, or for as long as the p-value takes; else it is sampled.
_LOOK_S = 0.1
_LOOK_SAMPLES, _FEW_SAMPLES = 20_000, 1_000
SAMPLED = "The quantiles and the picture of the null distribution were sampled; `method` is of the p-value."


@dataclass(frozen=True, slots=True)
class NullLook:
    """How the null is looked at: its law (`samples` is 0), so many resamples, or not at all; and the predicted time."""

    way: Literal["law", "sampled", "none"]
    seconds: float = 0.0
    samples: int = 0


def look_at(form: ResampleForm, options: Options, budget: Budget, p_value_seconds: float) -> NullLook:
    """How to look at the null of a test whose p-value takes `p_value_seconds`, within the budget."""
    if options.pmf == "none" or form.range == 0:
        return NullLook("none")
    allowed = max(_LOOK_S, p_value_seconds)
    nanoseconds, held = law_cost(form, _law_looks(form))
    if nanoseconds <= min(1e9 * allowed, budget.operations) and held <= budget.bytes:
        return NullLook("law", 1e-9 * nanoseconds)
    each = 1e-9 * NANOSECONDS_PER_DRAW * min(16 * len(form.values), form.draws)
    samples = min(_LOOK_SAMPLES, int(allowed / each))
    return (
        NullLook("sampled", (samples + 4096) * each, samples) if samples >= _FEW_SAMPLES else NullLook("none")
    )


def _law_looks(form: ResampleForm) -> int:
    return _BINS + 1 + evaluations_for(form, len(QUANTILES))


def null_of(form: ResampleForm, unit: Fraction, look: NullLook, options: Options) -> NullRecord:
    """S* - S in the statistic's units: mean 0, and percentiles with no resampling error where they are affordable."""
    spread = form.values - float(np.dot(form.values, form.probabilities))
    sd = form.step * math.sqrt(form.draws * float(np.dot(spread * spread, form.probabilities))) * float(unit)
    low = float((form.offset - form.observed) * unit)
    high = float((form.offset + form.step * form.range - form.observed) * unit)
    moments = NullRecord(0.0, sd, low, high, None, None, None)
    if look.way == "none":
        return moments
    if look.way == "sampled":
        drawn = _shifts(form, unit, look.samples, options.seed)
        seen = sampled_null_record(drawn, np.ones(len(drawn)), options.pmf)
        return replace(moments, quantiles=seen.quantiles, pmf=seen.pmf, pmf_bin_width=seen.pmf_bin_width)
    law = bootstrap_law(form, _law_looks(form))
    quantiles = tuple((str(q), float((law.quantile(q) - form.observed) * unit)) for q in QUANTILES)
    width = -(-(law.high - law.low + 1) // _BINS)
    edges = [law.low - 1 + width * index for index in range(_BINS + 1)]
    cumulative = [law.cumulative(edge) for edge in edges]
    middles = [edge + (width + 1) / 2 for edge in edges[:-1]]
    pmf = tuple(
        (float((form.offset + form.step * middle - form.observed) * float(unit)), max(after - before, 0.0))
        for middle, before, after in zip(middles, cumulative[:-1], cumulative[1:], strict=True)
        if after - before > 1e-12
    )
    return NullRecord(0.0, sd, low, high, quantiles, pmf, float(form.step * width * unit))


def _shifts(form: ResampleForm, unit: Fraction, samples: int, seed: int) -> Reals:
    """S* - S of so many resamples, shape (samples,)."""
    totals = np.concatenate(
        [monte_carlo.draw_block(form, seed, block)[:size] for block, size in blocks(samples)]
    )
    return np.asarray(((form.offset - form.observed) + form.step * totals).astype(np.float64) * float(unit))
