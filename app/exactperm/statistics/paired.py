"""Data of two or more systems on the same items, before any statistic is chosen."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..engine.lattice import Integers, Whole
from .catalogue import Kind

Column = NDArray[np.int64] | NDArray[np.float64]
Label = Hashable
Item = Label | Sequence[Label]


@dataclass(frozen=True, slots=True)
class Slices:
    """The slices of each item: `names` by code point, and for each item the codes of its slices, possibly none."""

    names: tuple[str, ...]
    codes: Repeated

    def labels(self) -> list[list[str]]:
        """Return the names of the slices of each item."""
        ends = np.cumsum(self.codes.lengths)[:-1]
        return [[self.names[code] for code in codes.tolist()] for codes in np.split(self.codes.values, ends)]


@dataclass(frozen=True, slots=True)
class Pairing:
    """How items were matched, and which of them swap together.

    `clusters` holds one code per item, 0..n_clusters-1, in order of first appearance; None when every item swaps alone.
    `matched`, `only_u` and `only_v` count ids when the pairing was by id. `largest` is the length of the largest column
    before items were left out, where some may have been. `ids` are the items' ids in their order, where they have any:
    a reference to the reader's data, never part of the test. `order` has the positions that sort the items by id, where
    the reader computed them. `slices` are tested in addition to all items.
    """

    clusters: NDArray[np.int64] | None = None
    n_clusters: int | None = None
    by_id: bool = False
    matched: int | None = None
    only_u: int = 0
    only_v: int = 0
    largest: int | None = None
    ids: Sequence[str | int] | None = None
    order: NDArray[np.int64] | None = None
    slices: Slices | None = None


@dataclass(frozen=True, slots=True)
class Effects:
    """The form of the paper: `stay[n] = g(u_n, v_n)`, `swap[n] = g(v_n, u_n)`; shape (n,) each.

    `swap` is None when it is minus `stay`. m additive functions have shape (n, m).
    """

    stay: Column
    swap: Column | None = None
    pairing: Pairing = field(default_factory=Pairing)


@dataclass(frozen=True, slots=True)
class Repeated:
    """k_n numbers per item, possibly ragged: concatenated `values`, and `lengths` of shape (n,), all positive."""

    values: Column
    lengths: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.lengths)


def samples_in(side: Column | Repeated) -> Column:
    """Return all numbers of a column, the samples of each item in sequence."""
    return side.values if isinstance(side, Repeated) else side


def lengths_of(side: Column | Repeated) -> NDArray[np.int64]:
    """Count the samples of each item, shape (n,)."""
    return side.lengths if isinstance(side, Repeated) else np.ones(len(side), dtype=np.int64)


@dataclass(frozen=True, slots=True)
class NamedCounts:
    """Counts by name, shape (n,) each. `by_item` is true if they came as one object per item."""

    columns: Mapping[str, Column]
    by_item: bool = False

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))


@dataclass(frozen=True, slots=True)
class Weights:
    """The weights of the items: unit * values, positive integers without a common divisor, shape (n,).

    They are int64, or Python integers (dtype object) where their sum is larger.
    """

    unit: Fraction
    values: Whole

    def __len__(self) -> int:
        return len(self.values)


@dataclass(frozen=True, slots=True)
class Gaps:
    """Items without an outcome in at least one system; a missing outcome may be anything from `low` to `high`.

    `u` are U's scores on the items that V lacks, `v` the reverse, `neither` counts those that both lack. `clusters` has a
    code for every item: the complete ones, those of `u`, of `v`, and the rest.
    """

    u: Column | Repeated
    v: Column | Repeated
    neither: int
    low: float
    high: float
    clusters: NDArray[np.int64] | None = None
    n_clusters: int | None = None


@dataclass(frozen=True, slots=True)
class Correction:
    """The correction of a mean difference: people's labels of some items next to a judge's scores, or covariates.

    `columns` are the labels, or the covariates by name, of both systems. `labelled`, shape (n,), marks the items that
    people judged (the others' labels are 0); None for covariates. `share` is lambda, the share of the judge's scores;
    None to choose it.
    """

    columns: Mapping[str, Scores]
    labelled: NDArray[np.bool_] | None = None
    share: Fraction | None = None


@dataclass(frozen=True, slots=True)
class Scores:
    """One number per item and system, shape (n,) each; or repeated samples, averaged exactly.

    `weights` None means that all items count alike. `gaps` are the items with a missing outcome, where there are any.
    `positions`, shape (n, 3), are numbers of battles: the model that was shown second won, a tie, the first won.
    """

    u: Column | Repeated
    v: Column | Repeated
    pairing: Pairing = field(default_factory=Pairing)
    weights: Weights | None = None
    gaps: Gaps | None = None
    correction: Correction | None = None
    positions: Integers | None = None


@dataclass(frozen=True, slots=True)
class Predictions:
    """Raw outputs and gold: an item is one label or a sequence of labels, or of statistics of pairs a number.

    Numbers are arrays of shape (n,). For statistics of pairs, `groups` are codes 0.. in order of first appearance,
    shape (n,): only pairs of one group count; `event`, shape (n,), marks the gold times of events, not of censoring.
    Both are None where there are none.
    """

    gold: Sequence[Item]
    u: Sequence[Item]
    v: Sequence[Item]
    pairing: Pairing = field(default_factory=Pairing)
    groups: NDArray[np.int64] | None = None
    event: NDArray[np.bool_] | None = None


@dataclass(frozen=True, slots=True)
class Counts:
    """Named counts per item and system, the same names in both; shape (n,) each, same n."""

    u: Mapping[str, Column]
    v: Mapping[str, Column]
    pairing: Pairing = field(default_factory=Pairing)


@dataclass(frozen=True, slots=True)
class Segments:
    """Text segments of two systems (machine translation), and the references of every item, at least one.

    `references[n]` holds the references of item n, whose number may differ from item to item.
    """

    u: Sequence[str]
    v: Sequence[str]
    references: Sequence[Sequence[str]]
    pairing: Pairing = field(default_factory=Pairing)


Paired = Effects | Scores | Counts | Predictions | Segments


@dataclass(frozen=True, slots=True)
class StatisticSpec:
    """A statistic by name, with its parameters, as given by the caller."""

    name: str
    parameters: Mapping[str, Any] = field(default_factory=dict)


_KINDS: Mapping[type[Paired], Kind] = {
    Effects: "effects",
    Scores: "scores",
    Counts: "counts",
    Predictions: "predictions",
    Segments: "segments",
}


def kind_of(data: Paired) -> Kind:
    """Return the kind of data: effects, scores, counts, predictions or segments."""
    return _KINDS[type(data)]


@dataclass(frozen=True, slots=True)
class DataWarning:
    """A sign of a mistake in valid data: a code, a sentence, and a pointer to the data.

    `undecidable` means that no gate should decide by such data; an ordinary test is answered with a warning.
    """

    pointer: str
    code: str
    detail: str
    undecidable: bool = True


SystemsKind = Literal["scores", "counts", "predictions", "segments"]
SystemColumn = Column | Repeated | Mapping[str, Column] | Sequence[Item] | Sequence[str]


@dataclass(frozen=True, slots=True)
class Systems:
    """The columns of K systems on N items.

    Attributes
    ----------
    kind
        The type of a column: scores (shape (N,), or repeated samples), counts by name, predictions, or text segments.
    columns
        By system name, in code-point order, so that nothing depends on the order of a request.
    gold
        The items' gold values for predictions, their lists of references for segments; else None.
    pairing
        Ids and clusters of the N items.
    present
        Positions, ascending, of the items that a system has, for systems that lack some (`on_missing` pairwise):
        their columns hold these items alone.
    weights
        Of scores, the weights of the N items; None where all weigh alike.
    groups, event
        Of statistics of pairs, as `paired.Predictions` has them for the N items; None where there are none.
    """

    kind: SystemsKind
    columns: Mapping[str, SystemColumn]
    gold: Sequence[Item] | Sequence[Sequence[str]] | None = None
    pairing: Pairing = field(default_factory=Pairing)
    present: Mapping[str, Integers] = field(default_factory=dict)
    weights: Weights | None = None
    groups: Integers | None = None
    event: NDArray[np.bool_] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The systems, by code point."""
        return tuple(self.columns)
