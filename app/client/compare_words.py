"""A comparison in words and in a table's cells, for notebooks and terminals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..presentation.escaping import single_line
from ..presentation.numbers import enclosing, known_digits, probability
from .notebook import measured

if TYPE_CHECKING:
    from .compare_results import Board, CompareResult, PairResult, SystemResult

MAX_NAMED = 6
NAME_CHARS = 60


def compare_sentence(result: CompareResult) -> str:
    """What was found on the main board, over how many data sets; a line that does not begin with what a caller named."""
    over = ""
    if result.datasets is not None:
        first = "overall" if result.overall is not None else f"on {next(iter(result.datasets))}"
        over = f"{first} of {len(result.datasets)} data sets, "
    return f"{over}by {measured(result.metric, result.statistic, result.higher_is_better)}: {found(result, result.board)}"


def found(result: CompareResult, board: Board) -> str:
    """The best set of a board; or how many are better and worse than the baseline."""
    family, size = board.family, len(board.systems)
    pairs = "1 pair" if family.size == 1 else f"{family.size:,} pairs"
    how = f"({family.adjust}, {pairs}{_sure(board)}, alpha {family.alpha!r})"
    if board.groups is not None:
        best = board.groups.best_set
        more = f" and {len(best) - MAX_NAMED} more" if len(best) > MAX_NAMED else ""
        named = ", ".join(map(short, best[:MAX_NAMED])) or "nobody"
        return f"{named}{more} in the best set of {size} systems {how}"
    relations = [pair.relation for pair in board.pairs]
    better, worse = relations.count("better"), relations.count("worse")
    if result.compare == "baseline" and result.baseline is not None and len(relations) == family.size:
        return f"{better} better and {worse} worse of {size - 1} than {short(result.baseline)} {how}"
    return f"{size} systems {how}"


def kinds(board: Board) -> dict[str, int]:
    """How many adjusted p-values are exact, bracketed and sampled, listed or not; those that there are."""
    known = board.family.certainty
    counts = {"exact": known.exact, "bracketed": known.bracketed, "sampled": known.sampled}
    return {kind: count for kind, count in counts.items() if count}


def _sure(board: Board) -> str:
    """How the adjusted p-values are known: exact; or 4 exact, 2 sampled."""
    known = kinds(board)
    if len(known) == 1:
        return f", {next(iter(known))}"
    return "".join(f", {count:,} {kind}" for kind, count in known.items())


def short(name: str) -> str:
    """A name in one line, cut where it is very long."""
    text = single_line(name)
    return text if len(text) <= NAME_CHARS else text[: NAME_CHARS - 1] + "…"


def ranks(system: SystemResult) -> str:
    """The range of a system's rank."""
    if system.rank_low is None or system.rank_high is None:
        return ""
    low, high = system.rank_low, system.rank_high
    return str(low) if low == high else f"{low}–{high}"


def table(result: CompareResult, board: Board, size: int | None = None) -> tuple[list[str], list[list[str]]]:
    """The heads and the cells of a board's table of systems; of the first `size`.

    Scores have as many digits as it takes to tell different ones apart.
    """
    shown = board.systems[:size]
    heads = ["rank", "system", result.metric or "score"]
    scores = scores_in_words([one.score for one in shown])
    rows = [[str(one.rank), short(one.name), score] for one, score in zip(shown, scores, strict=True)]
    if board.groups is not None:
        heads += ["rank range", "letters", "cluster", "best set"]
        for row, one in zip(rows, shown, strict=True):
            cluster = "" if one.cluster is None else str(one.cluster)
            row += [ranks(one), one.letters or "", cluster, "yes" if one.in_best_set else ""]
    elif result.compare == "baseline" and board.pairs:
        heads += ["difference", "p adjusted", "relation"]
        pairs = {pair.u: pair for pair in board.pairs}
        for row, one in zip(rows, shown, strict=True):
            pair = pairs.get(one.name)
            row.extend(["", "", ""] if pair is None else cells_of(pair, board.family.alpha))
    return heads, rows


def cells_of(pair: PairResult, alpha: float) -> list[str]:
    """The difference of a pair, its adjusted p-value, and the relation."""
    low, high = pair.p_adjusted_bounds
    digits = known_digits(
        pair.p_adjusted, "confidence" if pair.p_adjusted_certainty == "sampled" else "", low, high
    )
    p = probability(pair.p_adjusted, pair.log10_p_adjusted, alpha, digits=digits)
    sure = (
        ""
        if pair.p_adjusted_certainty == "exact"
        else f" ({pair.p_adjusted_certainty}, {' to '.join(enclosing(low, high, alpha))})"
    )
    return [f"{pair.difference:+.4g}", p + sure, pair.relation]


def scores_in_words(scores: Sequence[float]) -> list[str]:
    """Four significant digits, or more, so that different scores look different."""
    digits = 4
    while digits < 17 and len({f"{one:.{digits}g}" for one in scores}) < len(set(scores)):
        digits += 1
    return [f"{one:.{digits}g}" for one in scores]
