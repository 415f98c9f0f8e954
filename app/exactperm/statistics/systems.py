"""What K systems hand over: values on the items of one data set, before any pair of them is tested."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..engine.lattice import Integers
from .paired import Column, Item, Pairing, Repeated, Weights

SystemsKind = Literal["scores", "counts", "predictions", "segments"]
SystemColumn = Column | Repeated | Mapping[str, Column] | Sequence[Item] | Sequence[str]


@dataclass(frozen=True, slots=True)
class Systems:
    """The columns of K systems on N items.

    Attributes
    ----------
    kind
        What a column is: scores (shape (N,), or repeated samples), counts by name, predictions, or text segments.
    columns
        By the systems' names, which are in code-point order: nothing may depend on the order of a request.
    gold
        The items' gold values for predictions, their lists of references for segments; else None.
    pairing
        Ids and clusters of the N items.
    present
        Positions, ascending, of the items that a system has, for systems that lack some (`on_missing` pairwise):
        their columns hold these items alone.
    weights
        Of scores, what each of the N items counts for; None where all count alike.
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
