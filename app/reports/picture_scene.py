"""What a picture of the null distribution shows, before anything is drawn: bars, tails, the observed value, words."""

from __future__ import annotations

from dataclasses import dataclass

from app.inference.record import TestRecord
from app.reports.labels import single_line
from app.reports.line import kind
from app.reports.numerals import number, probability

# The axis is stretched to the observed value while the null keeps at least this share of it.
LEAST_SHARE = 0.45
MARGIN = 0.06
REACH = 4.75  # standard deviations on both sides; what lies further out cannot be seen
MAX_NAME_CHARS = 40


SIDES = {"two-sided": "two-sided", "greater": "one-sided (greater)", "less": "one-sided (less)"}


@dataclass(frozen=True, slots=True)
class Bar:
    """The probability of the values from `left` to `right`."""

    left: float
    right: float
    height: float


@dataclass(frozen=True, slots=True)
class Scene:
    """A picture in words and numbers; values in the statistic's units.

    `beyond` says on which side the observed value lies outside the axis: -1, 0 (it is on it) or 1. `bars` hold
    all of the null, `tails` the parts of them that count for the p-value; both are empty where the null is not known.
    """

    title: str
    subtitle: str
    statistic: str
    observed: float
    observed_label: str
    left: float
    right: float
    beyond: int
    bars: tuple[Bar, ...]
    tails: tuple[Bar, ...]
    separate: bool
    mean: float
    sd: float
    description: str


def scene(record: TestRecord, note: str = "") -> Scene:
    """The scene of one test; `note` says what else there is to know of it."""
    null, observed = record.null, record.statistic.observed
    width = null.pmf_bin_width or 0.0
    bars = tuple(Bar(value - width / 2, value + width / 2, mass) for value, mass in null.pmf or ())
    if width == 0.0:  # a single value
        reach = max(abs(observed), abs(null.mean), 1.0) / 100
        bars = tuple(Bar(bar.left - reach, bar.right + reach, bar.height) for bar in bars)
    left, right, beyond = _axis(record, bars)
    name = single_line(record.statistic.name)[:MAX_NAME_CHARS]
    p = probability(record.p_value, record.log10_p_value)
    said = number(observed)
    return Scene(
        title=f"p = {p}",
        subtitle=f"{SIDES[record.alternative]} {record.test} test{note}, {kind(record)} ({record.method.name}), {_items(record)}",
        statistic=name,
        observed=observed,
        observed_label=_label(record, said, beyond),
        left=left,
        right=right,
        beyond=beyond,
        bars=bars,
        tails=tuple(_tails(record, bars, width)),
        separate=0 < len(bars) <= 60,
        mean=null.mean,
        sd=null.sd,
        description=_description(record, p, said),
    )


def _items(record: TestRecord) -> str:
    clusters = record.items.clusters
    return f"n = {record.items.n:,}" + ("" if clusters is None else f" in {clusters:,} clusters")


def _axis(record: TestRecord, bars: tuple[Bar, ...]) -> tuple[float, float, int]:
    """Ends of the axis, and on which side of it the observed value is."""
    null, observed = record.null, record.statistic.observed
    low, high = null.mean - REACH * null.sd, null.mean + REACH * null.sd
    if bars:
        low, high = max(low, bars[0].left), min(high, bars[-1].right)
        if low >= high:  # all of it in one place
            low, high = bars[0].left, bars[-1].right
            low, high = low - 10 * (high - low), high + 10 * (high - low)
    bulk = (high - low) or max(abs(observed), 1.0) / 5
    wide_low, wide_high = min(low, observed), max(high, observed)
    beyond = 0
    if bulk < LEAST_SHARE * (wide_high - wide_low):
        beyond = 1 if observed > high else -1
        wide_low, wide_high = low, high
    pad = MARGIN * ((wide_high - wide_low) or bulk)
    room = 0.3 * bulk  # for the arrow that points to it
    return (
        wide_low - pad - (room if beyond < 0 else 0.0),
        wide_high + pad + (room if beyond > 0 else 0.0),
        beyond,
    )


def _label(record: TestRecord, said: str, beyond: int) -> str:
    if not beyond or record.null.sd == 0.0:
        return f"observed {said}"
    out = abs(record.statistic.observed - record.null.mean) / record.null.sd
    return f"observed {said},\n{out:.3g} sd out"


def _tails(record: TestRecord, bars: tuple[Bar, ...], width: float) -> list[Bar]:
    """The parts of the bars that lie in the tail; bootstrap nulls are shifted, so the same regions hold."""
    observed, lattice = record.statistic.observed, record.method.lattice
    # A value of the lattice owns half a step on both sides, so that the observed one is in the tail as a whole.
    half = 0.5 * width
    if lattice is not None and lattice.rank == 1 and lattice.unit < width:
        half = 0.5 * lattice.unit
    infinity = float("inf")
    regions = {
        "greater": [(observed - half, infinity)],
        "less": [(-infinity, observed + half)],
        "two-sided": [(abs(observed) - half, infinity), (-infinity, -abs(observed) + half)],
    }[record.alternative]
    if record.alternative == "two-sided" and observed == 0.0:
        regions = [(-infinity, infinity)]
    clipped = []
    for bar in bars:
        for low, high in regions:
            left, right = max(bar.left, low), min(bar.right, high)
            if right - left > 1e-9 * (bar.right - bar.left) and bar.height > 0.0:
                clipped.append(Bar(left, right, bar.height))
    return clipped


def _description(record: TestRecord, p: str, said: str) -> str:
    null = record.null
    shown = "" if null.pmf else " The distribution itself was not computed."
    return (
        f"The null distribution of {single_line(record.statistic.name)[:MAX_NAME_CHARS]}: mean {number(null.mean)}, "
        f"standard deviation {number(null.sd)}, from {number(null.min)} to {number(null.max)}. Observed: {said}. "
        f"p = {p}, {record.alternative}, {kind(record)}.{shown}"
    )
