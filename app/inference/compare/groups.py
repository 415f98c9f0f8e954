"""Groups of systems that follow from the significant pairs alone: letters, clusters, tiers.

Systems are places here: 0 is the best. `significant[a, b]` says that a and b differ, `better[a, b]` that a is better.
"""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_lowercase, ascii_uppercase

import numpy as np

from .stepwise import Flags

LETTERS = ascii_lowercase + ascii_uppercase


def letter_groups(significant: Flags) -> list[tuple[int, ...]] | None:
    """Maximal sets without a significant difference, ordered by best member, then by the next; None beyond 52.

    Piepho (2004), *An algorithm for a letter-based representation of all-pairwise comparisons*, Journal of Computational
    and Graphical Statistics 13:456-466: the maximal cliques of the graph of the pairs that do not differ. Found by adding
    one system after the other. A graph never has fewer maximal cliques than the graph of some of its systems, so we
    can stop as soon as there are too many: at most 52 K steps, though a graph may have 3**(K/3) maximal cliques.
    """
    cliques: set[int] = set()  # as bits
    for place, row in enumerate(~significant):
        near = sum(1 << int(other) for other in np.flatnonzero(row[:place]))
        own = 1 << place
        if not cliques:
            cliques = {own}
            continue
        joined = _largest({clique & near for clique in cliques})
        cliques = {clique for clique in cliques if clique & ~near} | {clique | own for clique in joined}
        if len(cliques) > len(LETTERS):
            return None
    return sorted(_members(clique) for clique in cliques)


def _largest(sets: set[int]) -> set[int]:
    """Those that are in no other."""
    return {one for one in sets if not any(one != other and one & other == one for other in sets)}


def _members(bits: int) -> tuple[int, ...]:
    return tuple(place for place in range(bits.bit_length()) if bits >> place & 1)


def cluster_lines(significant: Flags) -> list[tuple[int, ...]]:
    """Clusters of the WMT: a line after place s iff all at or above it differ from all below (`get_clusters`).

    Kocmi et al. (2024), *Findings of the WMT24 General Machine Translation Shared Task*, section 6.
    """
    size = len(significant)
    last = np.where(significant, -1, np.arange(size)).max(
        axis=1, initial=-1
    )  # the last one that it does not differ from
    reach = np.maximum.accumulate(np.maximum(last, np.arange(size)))
    return _runs([0, *(place + 1 for place in range(size - 1) if reach[place] == place)], size)


def tiers(better: Flags) -> list[tuple[int, ...]]:
    """A new tier begins with the first system that some member of the open tier is better than (`AssignRanks`).

    Freitag et al. (2023), *Results of WMT23 Metrics Shared Task*; mt-metrics-eval.
    """
    size, starts = len(better), [0]
    for place in range(1, size):
        if better[starts[-1] : place, place].any():
            starts.append(place)
    return _runs(starts, size)


def circular(better: Flags) -> bool:
    """Whether systems are better than each other in a circle, so that no order agrees with all pairs."""
    left = np.arange(len(better))
    while left.size:
        beaten = better[np.ix_(left, left)].any(axis=0)
        if beaten.all():
            return True
        left = left[beaten]
    return False


def _runs(starts: Sequence[int], size: int) -> list[tuple[int, ...]]:
    ends = [*starts[1:], size]
    return [tuple(range(start, end)) for start, end in zip(starts, ends, strict=True)]
