"""Adjusted p-values, ranks and groups by their definitions, in fractions and without any thought of speed."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations

One = Fraction(1)


def adjusted(p: Sequence[Fraction], how: str) -> list[Fraction]:
    """The formulas of the design, with ranks counted from 1."""
    m = len(p)
    order = sorted(range(m), key=p.__getitem__)
    ranked, ranks = [p[i] for i in order], range(1, m + 1)
    every = sum((Fraction(1, k) for k in ranks), Fraction(0))

    match how:
        case "none":
            terms = ranked
        case "bonferroni":
            terms = [min(One, m * x) for x in ranked]
        case "holm" | "hochberg":
            terms = [min(One, (m - j + 1) * x) for j, x in zip(ranks, ranked, strict=True)]
        case "bh":
            terms = [min(One, m * x / j) for j, x in zip(ranks, ranked, strict=True)]
        case "by":
            terms = [min(One, every * m * x / j) for j, x in zip(ranks, ranked, strict=True)]
        case _:
            raise ValueError(how)

    def at(i: int) -> Fraction:
        if how == "holm":
            return max(terms[:i])
        return terms[i - 1] if how in {"none", "bonferroni"} else min(terms[i - 1 :])

    found = [One] * m
    for i, position in enumerate(order, 1):
        found[position] = at(i)
    return found


def holm_discrete(p: Sequence[Fraction], attained: Callable[[int, Fraction], Fraction]) -> list[Fraction]:
    """max over p(j) <= p(i) of min(1, sum over k >= j of F_k(p(j)))."""
    order = sorted(range(len(p)), key=p.__getitem__)
    found, largest = [One] * len(p), Fraction(0)
    for j, position in enumerate(order):
        x = p[position]
        largest = max(largest, min(One, sum((attained(k, x) for k in order[j:]), Fraction(0))))
        found[position] = largest
    return found


class Board:
    """A board with exact p-values, by the definitions; systems are numbers, pairs (u, v) with u < v."""

    def __init__(
        self,
        scores: Sequence[Fraction],
        p: dict[tuple[int, int], Fraction],
        sign: dict[tuple[int, int], int],
        how: Callable[[list[Fraction]], list[Fraction]],
        alpha: Fraction,
    ) -> None:
        self.scores, self.p, self.sign, self.alpha = scores, p, sign, alpha
        self.size = len(scores)
        self.pairs = sorted(p)
        found = how([p[pair] for pair in self.pairs])
        self.significant = {pair for pair, value in zip(self.pairs, found, strict=True) if value <= alpha}
        self.order = sorted(range(self.size), key=lambda i: (-scores[i], i))

    def differ(self, a: int, b: int) -> bool:
        return (min(a, b), max(a, b)) in self.significant

    def observed_better(self, a: int, b: int) -> bool:
        return self.sign[a, b] > 0 if a < b else self.sign[b, a] < 0

    def better(self, a: int, b: int) -> bool:
        return self.differ(a, b) and self.observed_better(a, b)

    def rank(self, a: int) -> int:
        return 1 + sum(score > self.scores[a] for score in self.scores)

    def one_sided(self) -> dict[tuple[int, int], Fraction]:
        """(a, b): that a is better than b. In the direction not observed it is at least 1/2; any such value will do."""
        both = {}
        for u, v in self.pairs:
            half = self.p[u, v] / 2
            both[u, v] = half if self.sign[u, v] > 0 else 1 - half
            both[v, u] = half if self.sign[u, v] < 0 else 1 - half
        return both

    def rank_range(self) -> list[tuple[int, int]]:
        one_sided = self.one_sided()
        directions = sorted(one_sided)
        found = adjusted([one_sided[direction] for direction in directions], "holm")
        won = [direction for direction, value in zip(directions, found, strict=True) if value <= self.alpha]
        return [
            (1 + sum(b == k for _, b in won), self.size - sum(a == k for a, _ in won))
            for k in range(self.size)
        ]

    def best_set(self) -> set[int]:
        one_sided = self.one_sided()
        return {
            i
            for i in range(self.size)
            if min((self.size - 1) * one_sided[j, i] for j in range(self.size) if j != i) > self.alpha
        }

    def maximal_groups(self) -> list[tuple[int, ...]]:
        """All subsets that hold no significant pair and are in no other such; members by their place."""
        places = range(self.size)
        alike = [
            subset
            for size in range(self.size, 0, -1)
            for subset in combinations(places, size)
            if not any(self.differ(self.order[a], self.order[b]) for a, b in combinations(subset, 2))
        ]
        largest: list[tuple[int, ...]] = []
        for subset in alike:
            if not any(set(subset) < set(other) for other in largest):
                largest.append(subset)
        return sorted(largest)

    def clusters(self) -> list[list[int]]:
        """WMT24, get_clusters: a line where every system above differs from every system below."""
        found: list[list[int]] = [[]]
        for s, system in enumerate(self.order):
            found[-1].append(system)
            above, below = self.order[: s + 1], self.order[s + 1 :]
            if below and all(self.differ(a, b) for a in above for b in below):
                found.append([])
        return found

    def tiers(self) -> list[list[int]]:
        """mt-metrics-eval, AssignRanks."""
        found: list[list[int]] = [[]]
        for system in self.order:
            if any(self.better(other, system) for other in found[-1]):
                found.append([])
            found[-1].append(system)
        return found
