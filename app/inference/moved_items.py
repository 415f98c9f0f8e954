"""The items that moved most: ids, and nothing of what they hold."""

from __future__ import annotations

import numpy as np

from ..engine.lattice import Reals, Whole
from ..statistics.paired import Pairing
from .record import Moved

MOST = 10


def moved(differences: Whole | Reals, pairing: Pairing, *, lower_is_better: bool = False) -> Moved:
    """The ten largest of `differences`, shape (N,), by their size and then by their place; noughts do not count.

    An item moved toward the system that it favours: the one with more, or with less where lower is better.
    """
    sizes = np.abs(differences)
    order = _largest(sizes, min(MOST, int(np.count_nonzero(sizes))))
    names = [str(place) if pairing.ids is None else str(pairing.ids[place]) for place in order]
    upwards = [bool(differences[place] > 0) != lower_is_better for place in order]
    return Moved(
        toward_u=tuple(name for name, up in zip(names, upwards, strict=True) if up),
        toward_v=tuple(name for name, up in zip(names, upwards, strict=True) if not up),
    )


def _largest(sizes: Whole | Reals, most: int) -> list[int]:
    """Where the largest are, largest first, the first ones of equal size first."""
    if most == 0:
        return []
    least = np.partition(sizes, len(sizes) - most)[len(sizes) - most]
    above = np.flatnonzero(sizes > least)
    above = above[np.argsort(-sizes[above], kind="stable")]
    level = np.flatnonzero(sizes == least)[: most - len(above)]
    return [*above.tolist(), *level.tolist()]
