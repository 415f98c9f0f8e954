"""Statistics of more than one additive function: h of a vector of integer sums."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ..engine.lattice import Integers, Reals
from ..engine.probability import Alternative

# Where sums that broadcast against each other are at least as extreme as the observed ones.
Extreme = Callable[[Sequence[Integers]], NDArray[np.bool_]]


@dataclass(frozen=True, slots=True)
class Price:
    """Nanoseconds for one state: nothing at all where every state has the same value.

    `call_ns` for a call, of however few states; `filter_ns` in double precision; `open_ns` the exact decisions, for
    the share of states expected to need one; `value_ns` the statistic's value; `worst_ns` the most that an exact
    decision takes, where that is much.
    """

    call_ns: float = 0.0
    filter_ns: float = 0.0
    open_ns: float = 0.0
    value_ns: float = 0.0
    worst_ns: float = 0.0

    @property
    def work(self) -> float:
        """What is expected to decide on a state."""
        return self.filter_ns + self.open_ns


class Deciding(Protocol):
    """Decides on states, of which those without a value count as extreme."""

    @property
    def met_undefined(self) -> bool:
        """Whether a state without a value was met."""
        ...

    def __call__(self, sums: Sequence[Integers]) -> NDArray[np.bool_]:
        """See `Extreme`."""
        ...


class SumFunction(Protocol):
    """t = h(S), S the vector of sums over items (Zmigrod, Vieira & Cotterell 2022, eq. 12)."""

    def values(self, sums: Sequence[Integers]) -> Reals:
        """t where the k `sums` broadcast against each other; in double precision, of their common shape."""
        ...

    def extreme(self, sums: Sequence[Integers], observed: Integers, side: Alternative) -> NDArray[np.bool_]:
        """Where the sums are at least as extreme as the `observed` ones (shape (k,)), ties decided exactly.

        greater: t >= t0; less: t <= t0; two-sided: |t| >= |t0|.
        """
        ...

    def settled(
        self, low: Sequence[Reals], high: Sequence[Reals], observed: Integers, side: Alternative
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """(certainly extreme, certainly not) for boxes of states: each of the k sums between `low` and `high`, (M,)."""
        ...

    def undefined(self, sums: Sequence[Integers]) -> NDArray[np.bool_]:
        """Where the sums have no value (x/0, the logarithm of zero); of their common shape."""
        ...

    def price(self, stay: Integers, swap: Integers, side: Alternative) -> Price:
        """What a state costs in the test of `stay` against `swap`, shape (N, k) each; the data is looked at."""
        ...

    def deciding(
        self,
        stay: Integers,
        swap: Integers,
        side: Alternative,
        allowance_ns: float,
        observed: Integers | None = None,
    ) -> Deciding:
        """`extreme` for the observed sums of `stay`, or for others, with at most so much exact work in all its calls.

        Decisions are remembered from call to call. They raise PlanTooLarge when the work is more.
        """
        ...


@dataclass(frozen=True, slots=True)
class Joint:
    """A statistic of k sums: item n adds stay[n] or swap[n], shape (M, k), M swapping units.

    For a difference of scores f(U) - f(V) the vector is U's counts followed by V's; t then changes its sign
    when everything is swapped (`mirrored`).
    """

    name: str
    stay: Integers
    swap: Integers
    function: SumFunction
    items: int
    clusters: int | None = None
    mirrored: bool = False
    score_u: Fraction | float | None = None
    score_v: Fraction | float | None = None
