"""How often a system differs from itself: `python -m tests.levels` prints the table, `tests/unit/inference/test_answers.py` holds it.

A design draws data of one system twice: items of a random difficulty, the same for both, and results that are random
given the item. At 0.05 at most 0.05 of 2,000 data sets may be rejected, by more than chance (three standard errors).
"""

import argparse
import math
import sys
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import numpy as np

from exactperm.answers.gate import GateTerms, Policy
from exactperm.engine.plan import Budget
from exactperm.inference.compare.compare import finish_compare, prepare_compare
from exactperm.inference.compare.systems import Comparison
from exactperm.inference.gate import Metric, finish_gate, prepare_metric
from exactperm.inference.options import Options, Sequential
from exactperm.inference.paired import run_test
from exactperm.statistics.effects import weights_of
from exactperm.statistics.paired import (
    Counts,
    Effects,
    Gaps,
    Pairing,
    Predictions,
    Repeated,
    Scores,
    Segments,
    StatisticSpec,
    Systems,
)

ALPHA, SETS = 0.05, 2_000
LIMIT = ALPHA + 3 * math.sqrt(ALPHA * (1 - ALPHA) / SETS)
BUDGET = Budget()

Random = np.random.Generator
Array = Any  # of NumPy: integers, doubles or booleans
# One data set of one system against itself: whether the answer says that they differ.
Rejects = Callable[[Random], bool]
# Draws both sides' results on items, shape (2, n), the law of each item the same for both.
Draw = Callable[[Random, int], Array]


@dataclass(frozen=True, slots=True)
class Design:
    """A shape of data and a question; `listed` is in the table alone, as it takes long or is much like another one.

    `holds` is false for what the service refuses: reduced by hand, it shows what would happen.
    """

    name: str
    rejects: Rejects
    listed: bool = False
    holds: bool = True


def rejections(design: Design, sets: int = SETS) -> int:
    """In how many data sets one system differs from itself; the same ones in every run."""
    rng = np.random.default_rng(zlib.crc32(design.name.encode()))
    return sum(design.rejects(rng) for _ in range(sets))


# Results of one system, twice.


def chances(rng: Random, n: int) -> Array:
    """How likely each item is right: some are hard, most are easy."""
    return rng.beta(1.5, 0.6, n)


def right(rng: Random, n: int) -> Array:
    return (rng.random((2, n)) < chances(rng, n)).astype(np.int64)


def rarely_wrong(rng: Random, n: int) -> Array:
    return (rng.random((2, n)) < 0.98).astype(np.int64)


def decimals(rng: Random, n: int) -> Array:
    """Scores of two decimals, each item of a level and a spread of its own."""
    return np.round(rng.normal(rng.uniform(0, 1, n), rng.uniform(0.02, 0.4, n), (2, n)), 2)


def reals(rng: Random, n: int) -> Array:
    """Scores without ties, skewed, some items of enormous ones."""
    return rng.lognormal(rng.normal(0, 2, n), rng.uniform(0.1, 2, n), (2, n))


def grades(rng: Random, n: int) -> Array:
    """Small whole numbers with many ties."""
    return rng.binomial(3, rng.random(n), (2, n))


# Tests.


def differs(data: Any, statistic: str, parameters: Mapping[str, Any], **options: Any) -> bool:
    spec = StatisticSpec(statistic, dict(parameters))
    return run_test(data, spec, Options(**{"pmf": "none", "alpha": ALPHA, **options}), BUDGET).significant


def of_scores(
    rng: Random, draw: Draw, n: int, statistic: str = "mean_difference", *, parameters: Mapping[str, Any] = {}, **options: Any
) -> bool:  # fmt: skip
    u, v = draw(rng, n)
    return differs(Scores(u, v), statistic, parameters, **options)


def of_runs(
    rng: Random, statistic: str = "mean_difference", n: int = 12, *, parameters: Mapping[str, Any] = {}, most: int = 8, **options: Any
) -> bool:  # fmt: skip
    """As many runs of an item on both sides, other numbers for other items."""
    sizes = rng.integers(1, most + 1, n)
    easy = np.repeat(chances(rng, n), sizes)
    u, v = (Repeated((rng.random(len(easy)) < easy).astype(np.int64), sizes) for _ in "uv")
    return differs(Scores(u, v), statistic, parameters, **options)


def by_hand(rng: Random, reduce: Callable[[Array], Array], times: tuple[int, int], **options: Any) -> bool:
    """Numbers of runs that differ, reduced to one score an item before they are sent, so that nothing can refuse them."""
    u, v = (reduce(rng.random((50, k)) < 0.98) for k in times)
    return differs(Scores(u.astype(np.float64), v.astype(np.float64)), "mean_difference", {}, **options)


def pass_by_hand(rng: Random) -> bool:
    u, v = ((rng.random((50, k)) < 0.98).mean(axis=1) for k in (1, 10))
    return verdict(Scores(u, v), "improve") == "pass"


# Clusters, weights, missing results.


def pairing_of(codes: Array) -> Pairing:
    _, codes = np.unique(codes, return_inverse=True)
    first: dict[int, int] = {}
    numbered = np.array([first.setdefault(int(code), len(first)) for code in codes], dtype=np.int64)
    return Pairing(numbered, len(first))


def of_clusters(
    rng: Random,
    sizes: Sequence[int],
    statistic: str = "mean_difference",
    *,
    weighted: bool = False,
    **options: Any,
) -> bool:
    """Items of a cluster share most of what is random about a system's results there."""
    codes = np.repeat(np.arange(len(sizes)), sizes)
    level = rng.normal(0, 1, len(sizes))
    u, v = (
        np.round((level + rng.normal(0, 1, len(sizes)))[codes] + rng.normal(0, 0.3, len(codes)), 1)
        for _ in "uv"
    )
    weights = weights_of(np.round(rng.lognormal(0, 1, len(codes)) + 0.01, 2)) if weighted else None
    return differs(Scores(u, v, pairing_of(codes), weights), statistic, {}, **options)


def of_weights(rng: Random, draw: Draw, n: int, spread: float, **options: Any) -> bool:
    u, v = draw(rng, n)
    weights = weights_of(np.round(rng.lognormal(0, spread, n) + 0.01, 2))
    return differs(Scores(u, v, weights=weights), "mean_difference", {}, **options)


def of_epochs(rng: Random, n: int = 12) -> bool:
    """Epochs paired one by one, those that one log lacks left out, a sample's epochs swapped as a whole."""
    sizes = np.minimum(rng.integers(1, 6, n), rng.integers(1, 6, n))
    codes = np.repeat(np.arange(n), sizes)
    easy = chances(rng, n)[codes]
    u, v = ((rng.random(len(codes)) < easy).astype(np.int64) for _ in "uv")
    return differs(Scores(u, v, pairing_of(codes)), "mean_difference", {})


def lost(rng: Random, sides: Array, how: str) -> tuple[Array, Array]:
    """Which results are missing, for each side: U's and V's share by chance, or the wrong ones of both more often."""
    shares = {"by chance": (0.3, 0.3), "in V alone": (0.0, 0.4)}.get(how)
    if shares is not None:
        u, v = (rng.random(len(side)) < share for side, share in zip(sides, shares, strict=True))
    else:
        u, v = (rng.random(len(side)) < np.where(side > 0, 0.05, 0.5) for side in sides)
    return u, v


def of_dropped(rng: Random, how: str, n: int = 24, statistic: str = "mean_difference") -> bool:
    """What `on_missing=drop` leaves: the items that both have."""
    sides = right(rng, n)
    u, v = lost(rng, sides, how)
    kept = ~(u | v)
    return bool(kept.any()) and differs(Scores(sides[0][kept], sides[1][kept]), statistic, {})


def of_gaps(rng: Random, how: str, n: int = 20, **options: Any) -> bool:
    """`on_missing=bounds`: significant whatever the missing results are."""
    u, v = right(rng, n)
    no_u, no_v = lost(rng, np.stack([u, v]), how)
    both = ~(no_u | no_v)
    if not both.any():
        return False
    gaps = (
        Gaps(u[~no_u & no_v], v[no_u & ~no_v], int((no_u & no_v).sum()), 0.0, 1.0) if not both.all() else None
    )
    return differs(Scores(u[both], v[both], gaps=gaps), "mean_difference", {}, **options)


# Counts: of the same gold, or of a gold (a number of references, a length) of each side.


def counted(rng: Random, n: int, *, own: bool) -> tuple[dict[str, Array], dict[str, Array]]:
    """tp, fp, fn and tn of each item; with its own gold a side has other numbers of both classes."""
    shape = (2, n) if own else n
    positive, negative = (np.broadcast_to(rng.poisson(mean, shape), (2, n)) for mean in (3, 2))
    skill = chances(rng, n)
    tp, tn = rng.binomial(positive, skill), rng.binomial(negative, skill)
    sides = [{"tp": tp[k], "fp": (negative - tn)[k], "fn": (positive - tp)[k], "tn": tn[k]} for k in range(2)]
    return sides[0], sides[1]


def of_counts(
    rng: Random, statistic: str, names: str, n: int = 9, *, own: bool = False, clusters: bool = False
) -> bool:
    u, v = ({name: side[name] for name in names.split()} for side in counted(rng, n, own=own))
    pairing = pairing_of(np.arange(n) // 2) if clusters else Pairing()
    return differs(Counts(u, v, pairing), statistic, {})


def of_ratio(rng: Random, n: int = 9, *, own: bool) -> bool:
    """Errors over words: of the same reference, or of a length that each side has of its own."""
    shape = (2, n) if own else n
    words = np.broadcast_to(1 + rng.poisson(rng.uniform(2, 12, n), shape), (2, n))
    errors = rng.binomial(words, rng.uniform(0, 0.6, n))
    u, v = ({"errors": errors[k], "words": words[k]} for k in range(2))
    return differs(Counts(u, v), "ratio", {"numerator": "errors", "denominator": "words"})


# Labels, tags, texts, and scores beside gold.


def of_labels(rng: Random, statistic: str, n: int = 12, classes: int = 3, **parameters: Any) -> bool:
    gold = rng.integers(0, classes, n)
    skill = chances(rng, n)
    u, v = (np.where(rng.random(n) < skill, gold, rng.integers(0, classes, n)) for _ in "uv")
    if len({*gold.tolist(), *u.tolist(), *v.tolist()}) < 2:
        return False
    names = [f"c{label}" for label in range(classes)]
    golds, first, second = ([names[label] for label in column.tolist()] for column in (gold, u, v))
    return differs(Predictions(golds, first, second), statistic, parameters)


def of_tags(rng: Random, statistic: str, n: int = 9) -> bool:
    tags = ("O", "B-A", "I-A", "B-B")
    sides: list[list[list[str]]] = [[], [], []]
    for _ in range(n):
        gold = rng.integers(0, 4, int(rng.integers(1, 7)))
        easy = rng.random()
        answers = [np.where(rng.random(len(gold)) < easy, gold, rng.integers(0, 4, len(gold))) for _ in "uv"]
        for side, column in zip(sides, (gold, *answers), strict=True):
            side.append([tags[tag] for tag in column.tolist()])
    return differs(Predictions(sides[0], sides[1], sides[2]), statistic, {})


def of_texts(rng: Random, statistic: str, n: int = 6) -> bool:
    """Translations that lose and repeat words, so that their lengths differ."""
    vocabulary = [f"w{number}" for number in range(30)]
    references, sides = [], ([], [])  # type: tuple[list[list[str]], tuple[list[str], list[str]]]
    for _ in range(n):
        words = [vocabulary[at] for at in rng.integers(0, 30, int(rng.integers(6, 14)))]
        references.append([" ".join(words)])
        loss = rng.uniform(0, 0.4)
        for side in sides:
            side.append(
                " ".join(word for word in words for _ in range(rng.poisson(1) if rng.random() < loss else 1))
                or "w0"
            )
    return differs(Segments(*sides, references), statistic, {})


def of_ranks(rng: Random, statistic: str, n: int = 9, *, grouped: bool = False, **parameters: Any) -> bool:
    """Scores beside gold: two scorers that see the same truth with noise of their own; gold of two classes for auc."""
    truth = rng.normal(0, 1, n)
    noise = rng.uniform(0.2, 2, n)
    u, v = (cast("Any", np.round(truth + rng.normal(0, noise), 1)) for _ in "uv")
    gold: Any = np.round(truth, 1)
    if statistic == "auc":
        gold = [int(one) for one in truth > 0]
        if len(set(gold)) < 2:
            return False
    groups = np.arange(n, dtype=np.int64) // 3 if grouped else None
    event: Any = rng.random(n) < 0.7 if statistic == "concordance" else None
    if event is not None and not event.any():
        return False
    return differs(Predictions(gold, u, v, groups=groups, event=event), statistic, parameters)


def of_effects(rng: Random, n: int = 9) -> bool:
    """The paper's own form: two numbers of an item as observed, and with the systems exchanged."""
    u, v = (
        np.stack([rng.binomial(6, skill), np.full(n, 6)], axis=1)
        for skill in np.broadcast_to(chances(rng, n), (2, n))
    )
    return differs(
        Effects(np.hstack([u, v]), np.hstack([v, u])), "expression", {"expression": "x1/x2 - x3/x4"}
    )


# Boards: any pair of four times the same system that differs after the adjustment is one mistake.


def board(boards: Mapping[str | None, Systems], statistic: str = "mean_difference", **options: Any) -> bool:
    given = {
        key: options.pop(key)
        for key in ("adjust", "design", "baseline", "aggregate", "combine", "family")
        if key in options
    }
    asked = Options(pmf="none", alpha=ALPHA, higher_is_better=True, **options)
    record = finish_compare(
        prepare_compare(Comparison(boards, StatisticSpec(statistic), asked, **given), BUDGET)
    )
    found = [record.main_board] if record.datasets is None else [record.overall]
    return any(pair.relation in ("better", "worse") for one in found if one is not None for pair in one.pairs)


def four(rng: Random, n: int) -> dict[str, Array]:
    easy = chances(rng, n)
    return {name: (rng.random(n) < easy).astype(np.int64) for name in "ABCD"}


def of_board(rng: Random, n: int = 20, **options: Any) -> bool:
    return board({None: Systems("scores", four(rng, n))}, **options)


def of_board_of_decimals(rng: Random, n: int = 10, **options: Any) -> bool:
    level, spread = rng.uniform(0, 1, n), rng.uniform(0.02, 0.4, n)
    return board(
        {None: Systems("scores", {name: np.round(rng.normal(level, spread), 2) for name in "ABCD"})},
        **options,
    )


def of_board_of_runs(rng: Random, n: int = 10) -> bool:
    sizes = rng.integers(1, 6, n)
    easy = np.repeat(chances(rng, n), sizes)
    columns = {name: Repeated((rng.random(len(easy)) < easy).astype(np.int64), sizes) for name in "ABCD"}
    return board({None: Systems("scores", columns)})


def of_board_that_lacks_items(rng: Random, n: int = 24) -> bool:
    """Each pair on the items that both have (`on_missing=pairwise`)."""
    columns = four(rng, n)
    present = {name: np.flatnonzero(rng.random(n) < 0.8) for name in "BCD"}
    columns |= {name: columns[name][own] for name, own in present.items()}
    return board({None: Systems("scores", columns, present=present)})


def of_data_sets(rng: Random, **options: Any) -> bool:
    """The overall board of two data sets of other sizes."""
    return board({name: Systems("scores", four(rng, n)) for name, n in (("one", 8), ("two", 20))}, **options)


# Gates.


def verdict(data: Any, policy: Policy, statistic: str = "mean_difference", *, more: Sequence[Any] = (), margin: float = 0.0, **options: Any) -> str:  # fmt: skip
    metrics = [
        Metric(f"m{at}", one, StatisticSpec(statistic), Options(pmf="none", **options), GateTerms(policy=policy, margin=margin, alpha=ALPHA, higher_is_better=True))
        for at, one in enumerate((data, *more))
    ]  # fmt: skip
    return finish_gate([prepare_metric(metric, BUDGET) for metric in metrics], "pass", "1").verdict


def of_gate(rng: Random, policy: Policy, wrong: str, draw: Draw = right, n: int = 20, *, metrics: int = 1, margin: float = 0.0) -> bool:  # fmt: skip
    """The verdict that a system should not have against itself; with a margin, U is that much better or worse than V."""
    off = margin if policy == "improve" else -margin
    data = []
    for _ in range(metrics):
        u, v = draw(rng, n)
        data.append(Scores(np.round(u + off, 2) if off else u, v))
    return verdict(data[0], policy, more=data[1:], margin=margin) == wrong


def of_gate_of_runs(rng: Random, policy: Policy, wrong: str, n: int = 15) -> bool:
    sizes = rng.integers(1, 6, n)
    easy = np.repeat(chances(rng, n), sizes)
    u, v = (Repeated((rng.random(len(easy)) < easy).astype(np.int64), sizes) for _ in "uv")
    return verdict(Scores(u, v), policy) == wrong


def of_looks(rng: Random, policy: Policy, wrong: str) -> bool:
    """A gate that looks three times, and stops where it has its verdict."""
    u, v = right(rng, 40)
    return any(verdict(Scores(u[:n], v[:n]), policy, sequential=Sequential()) == wrong for n in (14, 27, 40))


def _designs() -> list[Design]:
    made: list[Design] = []

    def add(name: str, call: Callable[..., bool], *given: Any, listed: bool = False, **named: Any) -> None:
        made.append(Design(name, lambda rng: call(rng, *given, **named), listed))

    for side in ("two-sided", "greater", "less"):
        add(f"right or wrong, {side}", of_scores, right, 30, alternative=side, listed=side == "less")
    add("right or wrong, 98 % right", of_scores, rarely_wrong, 50)
    add("right or wrong, sampled", of_scores, right, 30, method="monte_carlo", samples=999, listed=True)
    for name, draw, n in (("two decimals", decimals, 10), ("real scores", reals, 8), ("ties", grades, 15)):
        add(f"scores, {name}", of_scores, draw, n, listed=draw is reals)
        add(f"scores, {name}, greater", of_scores, draw, n, alternative="greater", listed=True)
    add("sums, thirds", of_scores, grades, 10, "sum_difference", parameters={"unit": "1/3"}, listed=True)
    add("sign test", of_scores, decimals, 12, "sign")
    for zeros in ("wilcox", "pratt", "zsplit"):
        add(
            f"signed ranks, {zeros}",
            of_scores,
            grades,
            15,
            "signed_rank",
            parameters={"zero_method": zeros},
            listed=zeros != "wilcox",
        )
    add("median", of_scores, decimals, 11, "median_difference", listed=True)
    add(
        "quantile 0.9, between values",
        of_scores,
        decimals,
        9,
        "quantile_difference",
        parameters={"q": 0.9, "interpolation": "linear"},
        listed=True,
    )
    for repeats in ("mean", "all", "any"):
        add(f"runs, as many, {repeats}", of_runs, parameters={"repeats": repeats})
    add("runs, as many, mean, greater", of_runs, alternative="greater", listed=True)
    add("runs, as many, sign test", of_runs, "sign")
    add("runs, as many, signed ranks", of_runs, "signed_rank", listed=True)
    add("runs, as many, median", of_runs, "median_difference", listed=True)
    add("epochs paired, those without one left out", of_epochs)
    add("weights", of_weights, right, 20, 1.0)
    add("weights, one item of most", of_weights, decimals, 10, 3.0, listed=True)
    add("clusters of one size", of_clusters, [4] * 9, listed=True)
    add("clusters of all sizes", of_clusters, [1, 1, 1, 2, 2, 3, 5, 8, 13])
    add("clusters, signed ranks", of_clusters, [1, 1, 1, 2, 2, 3, 5, 8, 13], "signed_rank", listed=True)
    add("clusters, weights", of_clusters, [1, 1, 1, 2, 2, 3, 5, 8], weighted=True, listed=True)
    for how in ("by chance", "in V alone", "wrong ones more often"):
        add(f"missing {how}, dropped", of_dropped, how, listed=how == "by chance")
        add(f"missing {how}, bounds", of_gaps, how, listed=how != "in V alone")
    add("missing in V alone, bounds, greater", of_gaps, "in V alone", alternative="greater", listed=True)
    for statistic, names in (
        ("precision", "tp fp"), ("recall", "tp fn"), ("f1", "tp fp fn"), ("jaccard", "tp fp fn"),
        ("mcc", "tp fp fn tn"), ("kappa", "tp fp fn tn"), ("balanced_accuracy", "tp fp fn tn"), ("g_mean", "tp fp fn tn"),
    ):  # fmt: skip
        n = 9 if len(names) < len("tp fp fn tn") else 7
        add(
            f"counts, a gold of each system, {statistic}",
            of_counts,
            statistic,
            names,
            n,
            own=True,
            listed=statistic != "f1",
        )
    for statistic, names in (("precision", "tp fp"), ("f1", "tp fp fn"), ("mcc", "tp fp fn tn")):
        add(f"counts, the same gold, {statistic}", of_counts, statistic, names, 8, listed=True)
    add("counts, clusters, f1", of_counts, "f1", "tp fp fn", 16, clusters=True, listed=True)
    add("ratio, the same length", of_ratio, own=False, listed=True)
    add("ratio, a length of each system", of_ratio, own=True)
    for statistic, parameters in (
        ("accuracy", {}), ("f1", {"average": "macro"}), ("mcc", {}), ("kappa", {}), ("balanced_accuracy", {}), ("f1", {"average": "weighted"}),
    ):  # fmt: skip
        add(
            f"labels, {' '.join((statistic, *parameters.values()))}",
            of_labels,
            statistic,
            9,
            listed=statistic != "accuracy",
            **parameters,
        )
    for statistic in ("token_accuracy", "exact_match", "span_f1"):
        add(f"tags, {statistic}", of_tags, statistic, listed=True)
    for statistic in ("bleu", "chrf", "ter"):
        add(f"texts, {statistic}", of_texts, statistic, listed=True)
    for statistic in ("auc", "spearman", "kendall", "concordance", "pairwise_accuracy"):
        add(f"beside gold, {statistic}", of_ranks, statistic, listed=statistic != "auc")
    add("beside gold, kendall in groups", of_ranks, "kendall", 12, grouped=True, listed=True)
    add("effects of two numbers", of_effects, listed=True)
    for adjust in ("holm", "bonferroni", "hochberg", "holm_discrete", "max_t", "bh", "by"):
        add(f"board of four, {adjust}", of_board, adjust=adjust, listed=adjust != "holm")
    add("board of four against a baseline, holm", of_board, design="baseline", baseline="A", listed=True)
    add("board of four, decimals, holm", of_board_of_decimals, listed=True)
    add("board of four, runs, holm", of_board_of_runs, listed=True)
    add("board of four that lack items, holm", of_board_that_lacks_items, listed=True)
    for name, options in (
        ("macro", {}),
        ("micro", {"aggregate": "micro"}),
        ("stouffer", {"combine": "stouffer"}),
        ("fisher", {"combine": "fisher"}),
    ):
        add(f"two data sets, {name}, holm", of_data_sets, listed=True, **options)
    add("gate improve, passes", of_gate, "improve", "pass")
    add("gate improve, decimals, passes", of_gate, "improve", "pass", decimals, 10, listed=True)
    add("gate improve, as many runs, passes", of_gate_of_runs, "improve", "pass")
    add("gate no_regression, fails", of_gate, "no_regression", "fail")
    add("gate no_regression, as many runs, fails", of_gate_of_runs, "no_regression", "fail", listed=True)
    add(
        "gate no_regression of three metrics, fails", of_gate, "no_regression", "fail", metrics=3, listed=True
    )
    add(
        "gate improve, better by its margin, passes",
        of_gate,
        "improve",
        "pass",
        decimals,
        9,
        margin=0.1,
        listed=True,
    )
    add(
        "gate non_inferior, worse by its margin, passes",
        of_gate,
        "non_inferior",
        "pass",
        decimals,
        9,
        margin=0.1,
        listed=True,
    )
    add(
        "gate equivalent, worse by its margin, passes",
        of_gate,
        "equivalent",
        "pass",
        decimals,
        9,
        margin=0.1,
        listed=True,
    )
    add("gate improve, three looks, ever passes", of_looks, "improve", "pass", listed=True)
    add("gate no_regression, three looks, ever fails", of_looks, "no_regression", "fail", listed=True)
    return made


DESIGNS = tuple(_designs())
# What is refused, for comparison: the numbers of runs differ, and one score an item is made of them by hand.
REFUSED = (
    Design(
        "1 run and 10, mean",
        partial(by_hand, reduce=lambda runs: runs.mean(axis=1), times=(1, 10)),
        holds=False,
    ),
    Design("1 run and 10, mean, gate improve passes", pass_by_hand, holds=False),
    Design(
        "1 run and 10, all right",
        partial(by_hand, reduce=lambda runs: runs.all(axis=1), times=(1, 10)),
        holds=False,
    ),
)


def main() -> None:
    """Print the table, a design as it is done."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="designs whose name has this in it")
    asked = parser.parse_args()
    say = sys.stdout.write
    say("| one system against itself | rejected of 2,000 | rate | at most |\n|---|--:|--:|--:|\n")
    above = []
    for design in (*DESIGNS, *REFUSED):
        if asked.only not in design.name:
            continue
        count = rejections(design)
        limit = f"{LIMIT:.4f}" if design.holds else "refused"
        say(f"| {design.name} | {count} | {count / SETS:.4f} | {limit} |\n")
        sys.stdout.flush()
        if design.holds and count / SETS > LIMIT:
            above.append(design.name)
    say(f"above the limit: {', '.join(above) or 'none'}\n")


if __name__ == "__main__":
    main()
