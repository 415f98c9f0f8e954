"""One board from the tests of its pairs: systems best first, pairs in order, groups, the family and warnings."""

from __future__ import annotations

import json
import math
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from itertools import repeat
from string import ascii_lowercase, ascii_uppercase
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from ...answers.board import (
    CERTAINTIES,
    LEFT_OUT,
    Adjust,
    BoardRecord,
    CertaintyRecord,
    Combine,
    Design,
    FamilyRecord,
    GroupsRecord,
    ListedPairs,
    PairRecord,
    Relation,
    SystemRecord,
    most_of,
)
from ...answers.test import Alternative, BoundsKind, ConfidenceInterval, WarningRecord
from ...engine.lattice import Integers
from ...engine.probability import SMALLEST
from ..certificate import EXACT_STEPS, EXACT_WIDTH
from .adjustment import HOLM_ONE_SIDED, Adjusted, Procedure, adjust_boards, decide
from .pair_tests import Flags, PairTests, exact_alpha, raw_bounds, smallest_p, untestable
from .systems import Comparison

# Warnings of a board: code and sentence


def left_out(size: int, most: int) -> list[WarningRecord]:
    """For a board that lists only `most` of its pairs."""
    if size <= most:
        return []
    detail = (
        f"{size - most:,} of {_counted_pairs(size)} are not listed in JSON and CSV; those of the best "
        "systems are. Unlisted pairs are tested, and count in the adjustment, ranks and groups. The option "
        "pairs lists them: all, or significant for those that differ."
    )
    return [WarningRecord(LEFT_OUT, detail)]


def test_warnings(tests: PairTests, adjusted: Adjusted, adjust: Adjust, alpha: float) -> list[WarningRecord]:
    """Warnings about tests that could not be significant, are undecided, or are sampled."""
    estimated = adjusted.sampled if adjust == "max_t" and adjusted.sampled is not None else np.zeros(0, bool)
    which = {
        "family_untestable": adjusted.hopeless,
        "sampled": tests.sampled,
        "max_t_sampled": estimated,
        "alpha_within_bounds": adjusted.open,
    }
    details = {
        "family_untestable": f"could not have become significant at alpha = {alpha} after adjustment ({adjust}, "
        f"{_tests(adjusted.size)}), whatever the outcome: too few items on which their systems differ. Compare fewer systems, or "
        "more items.",
        "sampled": "have a Monte Carlo estimate: their true p-value lies inside p_value_bounds with 99 % confidence each.",
        "max_t_sampled": "have a sampled p_adjusted: it lies inside p_adjusted_bounds with 99 % confidence each "
        "(p_adjusted_bounds_kind is confidence). Their p_value is not sampled for that.",
        "alpha_within_bounds": f"are undecided: alpha = {alpha} lies inside p_adjusted_bounds. They count as not significant; "
        "request more precision or samples to decide.",
    }
    counted = {code: int(np.count_nonzero(of)) for code, of in which.items()}
    of_pairs = f"of {_counted_pairs(len(tests))}"
    return [WarningRecord(code, f"{n:,} {of_pairs} {details[code]}") for code, n in counted.items() if n]


def letters_too_many(limit: int) -> WarningRecord:
    """No letters."""
    return WarningRecord(
        "letters_too_many",
        f"There are more than {limit} maximal groups of systems without a significant difference: letters are null. "
        "Clusters, tiers and rank ranges are not affected.",
    )


def pairwise_circular(against: int, *, circle: bool) -> WarningRecord:
    """For pairs tested on other items than the scores cover."""
    also = " There are even cycles, each system better than the next." if circle else ""
    return WarningRecord(
        "pairwise_circular",
        f"In {_counted_pairs(against)} the system with the worse score is significantly better: a score is over all items that a "
        f"system has, a test over the items that both have.{also} Ranks follow the scores, tiers the direction of "
        "each test, clusters significance alone; the best set may be empty.",
    )


def combined_against_scores(against: int) -> WarningRecord:
    """Pairs whose p-values, combined, are for the system with the worse mean score."""
    return WarningRecord(
        "combined_against_scores",
        f"In {_counted_pairs(against)} the system with the worse mean score is significantly better by the p-values of the data sets "
        "together: a few data sets of large numbers outweigh the others in the mean. Ranks follow the scores, tiers the "
        "direction of each test, clusters significance alone.",
    )


def _counted_pairs(count: int) -> str:
    return "1 pair" if count == 1 else f"{count:,} pairs"


def _tests(count: int) -> str:
    return "1 test" if count == 1 else f"{count:,} tests"


# Notes of single tests, merged for a board: each code with one sentence and its pairs


_SHOWN = 3


def noted(names: Sequence[str], tests: PairTests) -> tuple[WarningRecord, ...]:
    """The notes of a board's tests, by code in order of first appearance."""
    return about_pairs(names, tests, tests.notes)


def about_pairs(
    names: Sequence[str], tests: PairTests, notes: Iterable[tuple[int, str, str]]
) -> tuple[WarningRecord, ...]:
    """Notes (position of the test, code, sentence), one for each code; the sentence is that of its first test."""
    by_code: dict[str, dict[int, str]] = {}
    for test, code, detail in notes:
        by_code.setdefault(code, {}).setdefault(test, detail)
    return tuple(
        WarningRecord(code, f"{_pairs(names, tests, list(of))}: {next(iter(of.values()))}")
        for code, of in by_code.items()
    )


def _pairs(names: Sequence[str], tests: PairTests, positions: Sequence[int]) -> str:
    """The names of pairs, the first few of many."""
    shown = [
        " and ".join(
            json.dumps(names[at], ensure_ascii=False) for at in sorted(map(int, (tests.u[i], tests.v[i])))
        )
        for i in positions[:_SHOWN]
    ]
    more = "" if len(positions) <= _SHOWN else f"; and {len(positions) - _SHOWN:,} more pairs"
    return f"{'; '.join(shown)}{more}"


# The relation of a pair: better, worse, tied, undecided or untestable


RELATIONS: tuple[Relation, ...] = get_args(Relation)
BETTER, WORSE, TIED, UNDECIDED, UNTESTABLE = range(5)
# `greater` means that u is better.
_SIDES: dict[Alternative, int] = {"greater": 1, "less": -1}
# The relation from the other side.
TURNED = np.array([WORSE, BETTER, TIED, UNDECIDED, UNTESTABLE])


def relations(tests: PairTests, adjusted: Adjusted, alternative: Alternative, alpha: Fraction) -> Integers:
    """Positions in RELATIONS, of u to v; shape (m,)."""
    direction = tests.sign if alternative == "two-sided" else np.full(len(tests), _SIDES[alternative])
    relation = np.where(untestable(tests, alpha), UNTESTABLE, TIED)
    relation = np.where(adjusted.open, UNDECIDED, relation)
    rejected = np.where(direction > 0, BETTER, WORSE)
    return np.where(adjusted.rejected, rejected, relation)


# The certainty of a board's adjusted p-values


def certainty_codes(tests: PairTests, adjusted: Adjusted) -> npt.NDArray[np.int64]:
    """The place in CERTAINTIES of each adjusted p-value, shape (m,)."""
    sampled = tests.sampled if adjusted.sampled is None else adjusted.sampled | tests.sampled
    tight = adjusted.high - adjusted.low <= np.maximum(EXACT_WIDTH * adjusted.high, EXACT_STEPS)
    return np.where(sampled, 2, np.where(tests.exact & tight, 0, 1))


def certainty(tests: PairTests, adjusted: Adjusted) -> CertaintyRecord:
    """The numbers of exact, bracketed and sampled adjusted p-values over all tests, listed or not."""
    codes = certainty_codes(tests, adjusted)
    return CertaintyRecord(*np.bincount(codes, minlength=len(CERTAINTIES)).tolist())


# The pairs of a board as records


_KINDS: dict[bool, BoundsKind] = {False: "certified", True: "confidence"}
# The confidence interval of the i-th test's difference, with the test's u and v.
Intervals = Callable[[int], ConfidenceInterval | None]


@dataclass(frozen=True, slots=True)
class Turned:
    """The listed tests of a board.

    Attributes
    ----------
    index
        Positions in the board's tests, in the order of the list; shape (m,).
    turned
        Whether u and v are exchanged there, shape (m,) as the tests; u is the better ranked of all pairs.
    """

    index: Integers
    turned: Flags


def listed_order(tests: PairTests, place: Integers, design: Design) -> Turned:
    """The order of pairs.

    All pairs: u is the better ranked, sorted by both ranks. With a baseline: by the rank of u. Else as given.
    `place` of each system, 0 the best, shape (K,).
    """
    u, v = place[tests.u], place[tests.v]
    if design == "all_pairs":
        turned = u > v
        return Turned(np.argsort(np.minimum(u, v) * len(place) + np.maximum(u, v)), turned)
    index = np.argsort(u, kind="stable") if design == "baseline" else np.arange(len(tests))
    return Turned(index, np.zeros(len(tests), bool))


def pair_records(
    names: Sequence[str],
    tests: PairTests,
    adjusted: Adjusted,
    relation: Integers,
    order: Turned,
    listed: ListedPairs,
    intervals: Intervals | None = None,
) -> tuple[PairRecord, ...]:
    """The records of the listed pairs, all of them for `auto`; `relation` is of each test's own u to its v."""
    if listed == "none":
        return ()
    at = order.index
    if listed == "significant":
        at = at[(relation[at] == BETTER) | (relation[at] == WORSE)]
    turned = order.turned[at]

    def ours(values: Any) -> Any:
        return values[at].tolist()

    def sided(values: Any, other: Any) -> Any:
        return np.where(turned, other[at], values[at]).tolist()

    smallest, _ = smallest_p(tests)
    bounds = zip(ours(tests.p_low), ours(tests.p_high), strict=True)
    adjusted_bounds = zip(ours(adjusted.low), ours(adjusted.high), strict=True)
    return _filled(
        len(at),
        u=[names[i] for i in sided(tests.u, tests.v)],
        v=[names[i] for i in sided(tests.v, tests.u)],
        n=ours(tests.n),
        difference=sided(tests.difference, 0.0 - tests.difference),
        p_value=ours(tests.p),
        log10_p_value=ours(np.minimum(tests.log10_p, 0.0)),
        p_value_bounds=bounds,
        p_value_bounds_kind=[_KINDS[sampled] for sampled in ours(tests.sampled)],
        p_adjusted=ours(adjusted.p),
        log10_p_adjusted=ours(adjusted.log10_p),
        p_adjusted_bounds=adjusted_bounds,
        p_adjusted_bounds_kind=[_KINDS[sampled] for sampled in ours(_sampled(tests, adjusted))],
        p_adjusted_certainty=[CERTAINTIES[code] for code in ours(certainty_codes(tests, adjusted))],
        relation=[RELATIONS[code] for code in sided(relation, TURNED[relation])],
        min_attainable_p=[None if math.isnan(p) else p for p in ours(np.maximum(smallest, SMALLEST))],
        wins=sided(tests.wins, tests.losses),
        ties=ours(tests.ties),
        losses=sided(tests.losses, tests.wins),
        method=[tests.method[i] for i in at.tolist()],
        exact=ours(tests.exact),
        confidence_interval=repeat(None)
        if intervals is None
        else (
            _turned(intervals(i)) if other else intervals(i)
            for i, other in zip(at.tolist(), turned.tolist(), strict=True)
        ),
    )


def _filled(count: int, **columns: Iterable[Any]) -> tuple[PairRecord, ...]:
    """Records from their columns. A frozen dataclass is made five times as fast when its slots are set column by column."""
    records = list(map(object.__new__, repeat(PairRecord, count)))
    for field in fields(PairRecord):
        fill = getattr(PairRecord, field.name).__set__
        deque(map(fill, records, columns[field.name]), maxlen=0)
    return tuple(records)


def _sampled(tests: PairTests, adjusted: Adjusted) -> Flags:
    return tests.sampled if adjusted.sampled is None else adjusted.sampled


def _turned(interval: ConfidenceInterval | None) -> ConfidenceInterval | None:
    """The interval of v's score minus u's."""
    if interval is None:
        return None
    low, high = (None if end is None else 0.0 - end for end in (interval.high, interval.low))
    return replace(interval, low=low, high=high)


# Ranks of systems by score, and their possible true ranks


Score = Fraction | float


def best_first(names: Sequence[str], scores: Sequence[Score], *, higher_is_better: bool) -> list[int]:
    """Positions of the systems, best first; equal scores by name (code point), never by the order of a request."""
    by_name = sorted(range(len(names)), key=names.__getitem__)
    return sorted(
        by_name, key=scores.__getitem__, reverse=higher_is_better
    )  # sorts are stable, also when reversed


def competition_ranks(order: Sequence[int], scores: Sequence[Score]) -> list[int]:
    """1 + the number of better systems, by position: equal scores share a rank (1, 2, 2, 4)."""
    ranks = [0] * len(order)
    for place, i in enumerate(order):
        ahead = order[place - 1]
        ranks[i] = ranks[ahead] if place and scores[ahead] == scores[i] else place + 1
    return ranks


def rank_ranges(size: int, tests: PairTests, alpha: Fraction) -> tuple[Integers, Integers]:
    """Lowest and highest rank of each system, all true at once with confidence 1 - alpha, shape (K,).

    Mogstad, Romano, Shaikh & Wilhelm (2024), *Inference for Ranks*, Review of Economic Studies 91:476-518, section 3:
    from 1 + the number of significantly better systems to K minus that of significantly worse ones, by Holm over the
    one-sided tests of all pairs. Exchanging the systems on all items changes the sign of a difference, so that its null
    distribution is symmetric: the one-sided p-value in the observed direction is half of the two-sided one, and that
    in the other direction is at least 1/2 (at any alpha below 2/3 never rejected by Holm; above, we do not either).
    """
    low, high = raw_bounds(tests)
    certain, _ = decide(HOLM_ONE_SIDED, low, high, tests.fraction, alpha)
    better, worse = directed(tests, certain)
    return 1 + np.bincount(worse, minlength=size), size - np.bincount(better, minlength=size)


def best_set(size: int, tests: PairTests, alpha: Fraction) -> Flags:
    """Whether each system may be the best, with confidence 1 - alpha; shape (K,). Cyclic results may leave out all.

    Hsu (1996), *Multiple Comparisons*, chapter 4 (constrained comparisons with the best), with Bonferroni: a system is
    left out iff K - 1 times the smallest one-sided p-value of another one being better is at most alpha.
    """
    half = Fraction(size - 1, 2)
    procedure = Procedure("single", lambda m: np.full(m, float(half)), lambda k, m: half)
    low, high = raw_bounds(tests)
    certain, _ = decide(procedure, low, high, tests.fraction, alpha)
    _, worse = directed(tests, certain)
    left_out = np.bincount(worse, minlength=size) > 0
    return ~left_out


def directed(tests: PairTests, chosen: Flags) -> tuple[Integers, Integers]:
    """The systems that are better, and those that are worse, in the chosen pairs with a difference."""
    chosen = chosen & (tests.sign != 0)
    u, v, first = tests.u[chosen], tests.v[chosen], tests.sign[chosen] > 0
    return np.where(first, u, v), np.where(first, v, u)


# Groups of systems that follow from the significant pairs alone: letters, clusters, tiers


LETTERS = ascii_lowercase + ascii_uppercase


def letter_groups(significant: Flags) -> list[tuple[int, ...]] | None:
    """Maximal sets without a significant difference, ordered by best member, then by the next; None beyond 52.

    Piepho (2004), *An algorithm for a letter-based representation of all-pairwise comparisons*, Journal of
    Computational and Graphical Statistics 13:456-466: the maximal cliques of the graph of the pairs that do not differ.
    Systems are added one by one. A graph never has fewer maximal cliques than a subgraph, so we can stop as soon as
    there are too many: at most 52 K steps, although a graph may have 3**(K/3) maximal cliques.
    """
    cliques: set[int] = set()  # as bits
    for place, row in enumerate(~significant):
        near = sum(1 << int(other) for other in np.flatnonzero(row[:place]))
        bit = 1 << place
        if not cliques:
            cliques = {bit}
            continue
        joined = _largest({clique & near for clique in cliques})
        cliques = {clique for clique in cliques if clique & ~near} | {clique | bit for clique in joined}
        if len(cliques) > len(LETTERS):
            return None
    return sorted(_members(clique) for clique in cliques)


def _largest(sets: set[int]) -> set[int]:
    """The maximal sets."""
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
    """Whether systems are better than each other in a cycle, so that no order agrees with all pairs."""
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


_PROMISE = ", which pairs of systems do not guarantee"
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
    heads = [(names[i], float(scores[i]), sizes[i], ranks[i]) for i in order]
    if design == "all_pairs":
        findings = _Findings(tests, relation, order, place, alpha)
        systems, groups = findings.systems(heads), findings.groups(names)
        warnings += findings.warnings()
    else:
        systems, groups = tuple(SystemRecord(*head, *[None] * 8) for head in heads), None
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
    """The conclusions from the tests of all pairs, by place: 0 is the best system."""

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

    def systems(self, heads: Sequence[tuple[str, float, int, int]]) -> tuple[SystemRecord, ...]:
        """The records, best first; `own` are name, score, items and rank."""
        letters = ["".join(LETTERS[k] for k in of) for of in _memberships(self.cliques or (), len(heads))]
        columns = zip(
            self.low.tolist(),
            self.high.tolist(),
            (of[0] + 1 for of in _memberships(self.clusters, len(heads))),
            (of[0] + 1 for of in _memberships(self.tiers, len(heads))),
            [None] * len(heads) if self.cliques is None else letters,
            self.best.tolist(),
            self.better.sum(axis=1).tolist(),
            self.better.sum(axis=0).tolist(),
            strict=True,
        )
        return tuple(SystemRecord(*head, *rest) for head, rest in zip(heads, columns, strict=True))

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
