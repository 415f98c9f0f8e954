"""The heaviest spanning forest of a graph.

Kruskal 1956, *Proceedings of the AMS* 7:48-50. SciPy has it in `scipy.sparse`, which the image does without: 14 MB.
"""

from __future__ import annotations

import numpy as np

from ..lattice import Integers, Reals


def heaviest_forest(nodes: int, edges: Integers, weights: Reals) -> list[int]:
    """The indices of its edges, heaviest first; `edges` (E, 2), `weights` (E,). Edges of no positive weight are left out."""
    parent = list(range(nodes))

    def root(node: int) -> int:
        while parent[node] != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    order = np.argsort(-weights, kind="stable")
    order = order[weights[order] > 0.0]
    forest: list[int] = []
    for edge, (one, other) in zip(order.tolist(), edges[order].tolist(), strict=True):
        a, b = root(one), root(other)
        if a != b:
            parent[a] = b
            forest.append(edge)
            if len(forest) == nodes - 1:
                break
    return forest
