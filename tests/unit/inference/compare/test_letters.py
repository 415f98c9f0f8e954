"""Letters are all maximal cliques of the pairs that do not differ: networkx and R's multcompView say the same."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest

from exactperm.inference.compare.board import LETTERS, letter_groups
from tests.unit.inference.compare.test_adjustment import recorded


def significant(size: int, pairs: Any) -> Any:
    table = np.zeros((size, size), bool)
    for a, b in pairs:
        table[a, b] = table[b, a] = True
    return table


def test_as_networkx_has_it() -> None:
    rng = np.random.default_rng(1)
    many = 0
    for _ in range(400):
        size = int(rng.integers(1, 22))
        upper = np.triu(rng.random((size, size)) < rng.random(), 1)
        differ = upper | upper.T
        graph = nx.from_numpy_array(~differ & ~np.eye(size, dtype=bool))
        cliques = sorted(tuple(sorted(clique)) for clique in nx.find_cliques(graph))
        if len(cliques) > len(LETTERS):
            assert letter_groups(differ) is None
            many += 1
        else:
            assert letter_groups(differ) == cliques
    assert 5 < many < 200


def test_as_r_has_it() -> None:
    for graph in recorded()["graphs"]:
        places = [["ABCDEFGHIJ".index(name) for name in pair.split("-")] for pair in graph["different"]]
        expected = sorted(tuple(sorted("ABCDEFGHIJ".index(name) for name in of)) for of in graph["groups"])
        assert letter_groups(significant(graph["size"], places)) == expected
    assert len(recorded()["graphs"]) == 60


def test_fifty_two_groups_have_letters_and_fifty_three_do_not() -> None:
    def strangers(size: int) -> Any:
        return ~np.eye(size, dtype=bool)

    assert letter_groups(strangers(52)) == [(k,) for k in range(52)]
    assert letter_groups(strangers(53)) is None
    assert len(set(LETTERS)) == 52


@pytest.mark.parametrize("size", [60, 300])
def test_three_to_the_k_over_three_groups_are_noticed_at_once(size: int) -> None:
    """Moon & Moser (1965): triples that differ among themselves alone, 3**20 and 3**100 maximal cliques."""
    differ = significant(
        size, ((a, b) for a in range(size) for b in range(size) if a != b and a // 3 == b // 3)
    )
    assert letter_groups(differ) is None
