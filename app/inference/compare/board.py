"""One board from the tests of its pairs: systems best first, pairs in their order, groups, the family and warnings."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import get_args

import numpy as np

from ...engine.lattice import Integers
from ..record import WarningRecord
from .adjusted import Adjusted, Flags
from .adjustment import adjust_boards
from .certainty import certainty
from .comparison import Comparison
from .groups import LETTERS, circular, cluster_lines, letter_groups, tiers
from .pair_records import Intervals, listed_order, pair_records
from .pair_tests import PairTests
from .ranks import Score, best_first, best_set, competition_ranks, rank_ranges
from .record import Adjust, BoardRecord, Combine, FamilyRecord, GroupsRecord, SystemRecord, most_of
from .relations import BETTER, WORSE, relations
from .rounding import exact_alpha
from .warnings import combined_against_scores, left_out, letters_too_many, pairwise_circular, test_warnings

_PROMISE = ", which pairs of systems do not promise"
CONTROLS: dict[Adjust, str] = {
    "bonferroni": "familywise error under any dependence",
    "holm": "familywise error under any dependence",
    "hochberg": f"familywise error under positive dependence (MTP2) of the tests{_PROMISE}",
    "bh": f"false discovery rate under positive dependence (PRDS) of the tests{_PROMISE}",
    "by": "false discovery rate under any dependence",
    "holm_discrete": "familywise error under any dependence",
    "max_t": (
        "familywise error where, under the hypotheses that are true, the differences of all their pairs may change their "
        "signs together, item by item (joint symmetry); that each two systems are exchangeable does not imply it"
    ),
    "none": "nothing: every test has its own error rate",
}
RANGES = (
    "; rank ranges (Holm over the one-sided tests) and the best set (Bonferroni) control their own familywise error under any "
    "dependence, and may be wider than the relations suggest"
)


def board_record(
    names: Sequence[str],
    scores: Sequence[Score],
    sizes: Sequence[int],
    tests: PairTests,
    comparison: Comparison,
    adjusted: Adjusted | None = None,
    intervals: Intervals | None = None,
) -> BoardRecord:
    """The board of K systems; names, scores and numbers of items by position, as in `tests`.

    `adjusted` are the board's adjusted p-values where its family is larger than the board (`adjust_boards`);
    `intervals` gives the confidence interval of the i-th test. Raises InvalidTest where `comparison.adjust` does
    not apply.
    """
    options, design = comparison.options, comparison.design
    alpha = exact_alpha(options.alpha)
    if adjusted is None:
        (adjusted,) = adjust_boards([tests], comparison.adjust, alpha)
    order = best_first(names, scores, higher_is_better=options.higher_is_better is not False)
    place = np.empty(len(names), np.int64)
    place[order] = np.arange(len(names))
    relation = relations(tests, adjusted, options.alternative, alpha)
    warnings = test_warnings(tests, adjusted, comparison.adjust, options.alpha)
    ranks = competition_ranks(order, scores)
    own = [(names[i], float(scores[i]), sizes[i], ranks[i]) for i in order]
    if design == "all_pairs":
        findings = _Findings(tests, relation, order, place, alpha)
        systems, groups = findings.systems(own), findings.groups(names)
        warnings += findings.warnings()
    else:
        systems, groups = tuple(SystemRecord(*head, *[None] * 8) for head in own), None
    controls = CONTROLS[comparison.adjust] + (RANGES if design == "all_pairs" else "")
    if comparison.listed == "auto":
        warnings += left_out(len(tests), most_of(comparison.board_count))
    listed = listed_order(tests, place, design)
    return BoardRecord(
        systems=systems,
        pairs=pair_records(names, tests, adjusted, relation, listed, comparison.listed, intervals),
        groups=groups,
        family=FamilyRecord(
            comparison.adjust, adjusted.size, options.alpha, controls, certainty(tests, adjusted)
        ),
        warnings=tuple(warnings),
    )


class _Findings:
    """What follows from the tests of all pairs, by place: 0 is the best system."""

    def __init__(
        self, tests: PairTests, relation: Integers, order: Sequence[int], place: Integers, alpha: Fraction
    ) -> None:
        size = len(order)
        self.order = order
        self.combined = not set(get_args(Combine)).isdisjoint(tests.method)
        self.better = _better(tests, relation, place)
        significant = self.better | self.better.T
        self.cliques = letter_groups(significant)
        self.clusters = cluster_lines(significant)
        self.tiers = tiers(self.better)
        low, high = rank_ranges(size, tests, alpha)
        self.low, self.high = low[order], high[order]
        self.best = best_set(size, tests, alpha)[order]

    def systems(self, own: Sequence[tuple[str, float, int, int]]) -> tuple[SystemRecord, ...]:
        """The records, best first; `own` are name, score, items and rank."""
        letters = ["".join(LETTERS[k] for k in of) for of in _memberships(self.cliques or (), len(own))]
        columns = zip(
            self.low.tolist(),
            self.high.tolist(),
            (of[0] + 1 for of in _memberships(self.clusters, len(own))),
            (of[0] + 1 for of in _memberships(self.tiers, len(own))),
            [None] * len(own) if self.cliques is None else letters,
            self.best.tolist(),
            self.better.sum(axis=1).tolist(),
            self.better.sum(axis=0).tolist(),
            strict=True,
        )
        return tuple(SystemRecord(*head, *rest) for head, rest in zip(own, columns, strict=True))

    def groups(self, names: Sequence[str]) -> GroupsRecord:
        """The groups, by name."""

        def named(places: Sequence[int]) -> tuple[str, ...]:
            return tuple(names[self.order[place]] for place in places)

        return GroupsRecord(
            letters=None
            if self.cliques is None
            else {LETTERS[k]: named(clique) for k, clique in enumerate(self.cliques)},
            clusters=tuple(map(named, self.clusters)),
            tiers=tuple(map(named, self.tiers)),
            best_set=named(np.flatnonzero(self.best).tolist()),
        )

    def warnings(self) -> list[WarningRecord]:
        """Too many letters; tests that go against the scores."""
        warnings = []
        against = int(np.count_nonzero(np.tril(self.better)))
        if against and self.combined:
            warnings.append(combined_against_scores(against))
        elif against:
            warnings.append(pairwise_circular(against, circle=circular(self.better)))
        if self.cliques is None:
            warnings.append(letters_too_many(len(LETTERS)))
        return warnings


def _better(tests: PairTests, relation: Integers, place: Integers) -> Flags:
    """better[a, b]: the system at place a is significantly better than that at b."""
    u, v = place[tests.u], place[tests.v]
    better = np.zeros((len(place), len(place)), bool)
    better[u[relation == BETTER], v[relation == BETTER]] = True
    better[v[relation == WORSE], u[relation == WORSE]] = True
    return better


def _memberships(groups: Sequence[Sequence[int]], size: int) -> list[list[int]]:
    """The groups that each place is in."""
    member: list[list[int]] = [[] for _ in range(size)]
    for k, group in enumerate(groups):
        for place in group:
            member[place].append(k)
    return member
