"""Answers in words: the sentence of a result, and the cells of the tables of notebooks and terminals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from .escaping import single_line
from .numbers import (
    apart,
    counted,
    enclosing,
    enclosing_p,
    exactly,
    known_digits,
    number,
    p_number,
    probability,
    signed,
)

if TYPE_CHECKING:
    from ..answers.board import BoardRecord, Certainty, CompareRecord, PairRecord, SystemRecord
    from ..answers.gate import Decision, MetricRecord
    from ..answers.test import ReadingRecord, SlicesRecord, TestRecord

VERDICTS = {"pass": "PASS", "fail": "FAIL", "inconclusive": "INCONCLUSIVE", "continue": "CONTINUE"}
MAX_NAMED = 6
NAME_CHARS = 60


def test_sentence(result: TestRecord) -> str:
    """The difference, its p-value and certainty, and whether it is significant.

    The p-value has enough digits to stand on its side of alpha.
    """
    statistic, names, missing = result.statistic, result.names, result.missing
    scores = ""
    if statistic.u is not None and statistic.v is not None:
        score_u, score_v = apart(statistic.u, statistic.v)
        scores = f" ({names.u} {score_u}, {names.v} {score_v})"
    low, high = result.p_value_bounds if missing is None else missing.p_value
    verdict = "significant" if result.significant else "not significant"
    if low <= result.alpha < high and (missing is None or not result.significant):
        verdict = "undecided"
    over = ""
    if missing is not None:
        ends = ", ".join(enclosing_p(low, high, result.alpha))
        over = f"; with {missing.n:,} missing outcomes p lies in [{ends}]"
    what = measured(statistic.metric, statistic.name, statistic.higher_is_better)
    return (
        f"{what}: {number(statistic.observed)}{scores}, p = {p_text(result)} ({certainty(result)}, "
        f"{result.alternative}){over}, {verdict} at {exactly(result.alpha)}."
    )


test_sentence.__test__ = False  # type: ignore[attr-defined]  # pytest reads it


def measured(metric: str | None, statistic: str, higher_is_better: bool | None) -> str:
    """The metric, or the statistic if it has no name, and the better direction if known."""
    better = {None: "", True: " (higher is better)", False: " (lower is better)"}[higher_is_better]
    return (metric or statistic) + better


def correction_words(result: TestRecord) -> str | None:
    """The coefficients of a correction: "lambda 0.643, 20 of 60 items labelled", or "length 0.235"; None without one."""
    made = result.correction
    if made is None:
        return None
    if made.coefficients is not None:
        return ", ".join(f"{short(name)} {exactly(value)}" for name, value in made.coefficients.items())
    return f"lambda {exactly(made.lambda_ or 0.0)}, {made.labelled:,} of {result.items.n:,} items labelled"


def p_text(result: TestRecord) -> str:
    """The p-value, on its side of alpha; a sampled one with the digits that its interval supports."""
    digits = known_digits(result.p_value, result.p_value_bounds_kind, *result.p_value_bounds)
    return probability(result.p_value, result.log10_p_value, result.alpha, digits=digits)


def decision_p_text(decision: Decision, alpha: float) -> str:
    """The p-value behind a verdict, adjusted for several metrics, on its side of alpha."""
    digits = known_digits(decision.p_value, decision.p_value_bounds_kind, *decision.p_value_bounds)
    return probability(decision.p_value_adjusted, decision.log10_p_value_adjusted, alpha, digits=digits)


def certainty(result: TestRecord) -> str:
    """The certainty of the p-value, and its method."""
    known = bounds_in_words(result.p_value_bounds_kind, result.p_value_bounds, exact=result.method.exact)
    return f"{known}, {result.method.name}"


def bounds_in_words(kind: str, bounds: tuple[float, float], *, exact: bool) -> str:
    """Exact, or the kind of bounds and the bounds."""
    if exact:
        return "exact"
    return "asymptotic" if kind == "asymptotic" else f"{kind} bounds {' to '.join(enclosing_p(*bounds))}"


def metric_rows(metric: MetricRecord) -> list[tuple[str, str]]:
    """A metric of a gate: its verdict, the deciding p-value, the test of no difference, and warnings."""
    decision, terms = metric.decision, metric.terms
    known = bounds_in_words(decision.p_value_bounds_kind, decision.p_value_bounds, exact=decision.exact)
    margin = f", margin {exactly(terms.margin)}" if terms.margin else ""
    p = decision_p_text(decision, terms.alpha)
    return [
        (metric.name, f"{VERDICTS[metric.verdict]}: {metric.reason}"),
        (f"{terms.policy}{margin}", f"p = {p} ({known}, {decision.procedure}), alpha {exactly(terms.alpha)}"),
        ("difference", test_sentence(metric.test)),
        *([] if metric.slices is None else [("slices", slices_sentence(metric.slices, terms.alpha))]),
        *(("warning", warning.detail) for warning in metric.test.warnings),
    ]


SLICE_HEADS = ("slice", "items", "difference", "p-value", "p adjusted", "significant")


def slice_rows(slices: SlicesRecord, alpha: float) -> list[list[str]]:
    """The cells of each slice, the smallest p-value first."""
    return [
        [
            short(item.slice),
            f"{item.n:,}",
            signed(item.difference),
            p_number(item.p_value, alpha),
            p_number(item.p_adjusted, alpha),
            "yes" if item.significant else "",
        ]
        for item in slices.items
    ]


def slices_sentence(slices: SlicesRecord, alpha: float, say: Callable[[str], str] = single_line) -> str:
    """The smallest p-value of the slices, and how many of them are significant."""
    significant = sum(item.significant for item in slices.items)
    bounds = bounds_in_words(slices.p_value_bounds_kind, slices.p_value_bounds, exact=slices.exact)
    many = counted(len(slices.items), "slice")
    return (
        f"Of {many} {significant or 'none'} {'are' if significant > 1 else 'is'} significant at {exactly(alpha)} after adjustment; the smallest "
        f"p-value is that of {say(short(slices.worst))}: p = {p_number(slices.p_value, alpha)} ({slices.method}, {bounds})."
    )


def read_rows(*readings: ReadingRecord | None) -> list[tuple[str, str]]:
    """How files were read, each note once."""
    notes = (str(note) for reading in readings if reading is not None for note in reading.notes)
    return [("read", note) for note in dict.fromkeys(notes)]


def compare_sentence(result: CompareRecord) -> str:
    """The result of the main board, over how many data sets. The line never begins with a caller's name."""
    over = ""
    if result.datasets is not None:
        first = "overall" if result.overall is not None else f"on {next(iter(result.datasets))}"
        over = f"{first} of {len(result.datasets)} data sets, "
    return f"{over}by {measured(result.metric, result.statistic, result.higher_is_better)}: {board_summary(result, result.main_board)}"


def board_summary(result: CompareRecord, board: BoardRecord) -> str:
    """The best set of a board, or how many systems are better and worse than the baseline."""
    family, size = board.family, len(board.systems)
    pairs = "1 pair" if family.size == 1 else f"{family.size:,} pairs"
    how = f"({family.adjust}, {pairs}{_kinds_in_words(board)}, alpha {family.alpha!r})"
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


def kinds(board: BoardRecord) -> dict[Certainty, int]:
    """The numbers of exact, bracketed and sampled p-values, without zeros."""
    known = board.family.certainty
    counts: dict[Certainty, int] = {
        "exact": known.exact,
        "bracketed": known.bracketed,
        "sampled": known.sampled,
    }
    return {kind: count for kind, count in counts.items() if count}


def _kinds_in_words(board: BoardRecord) -> str:
    """The certainty of the adjusted p-values: "exact", or "4 exact, 2 sampled"."""
    known = kinds(board)
    if len(known) == 1:
        return f", {next(iter(known))}"
    return "".join(f", {count:,} {kind}" for kind, count in known.items())


def short(name: str) -> str:
    """A name in one line, shortened if very long."""
    text = single_line(name)
    return text if len(text) <= NAME_CHARS else text[: NAME_CHARS - 1] + "…"


def ranks(system: SystemRecord) -> str:
    """The possible true ranks of a system: 1–3; empty if unknown."""
    if system.rank_low is None or system.rank_high is None:
        return ""
    low, high = system.rank_low, system.rank_high
    return str(low) if low == high else f"{low}–{high}"


def beside_scores(
    result: CompareRecord, board: BoardRecord, say: Callable[[str], str]
) -> tuple[list[str], dict[str, list[str]]]:
    """Headings and cells by system of intervals, strengths, and costs with the frontier, where there are any."""
    heads, cells = list[str](), {system.name: list[str]() for system in board.systems}
    if any(system.interval is not None for system in board.systems):
        heads.append("interval")
        for system in board.systems:
            interval = system.interval
            ends = () if interval is None else enclosing(interval.low, interval.high)
            cells[system.name].append(" to ".join(ends))
    if result.bradley_terry is not None:
        heads.append("Bradley-Terry (no test)")
        for name, strength in result.bradley_terry.items():
            cells[name].append(number(strength))
    if result.frontier is not None:
        heads += ["mean cost", "frontier"]
        for one in result.frontier.systems:
            by = "yes" if one.dominated_by is None else f"behind {say(one.dominated_by)}"
            cells[one.name] += [number(one.cost), by]
    return heads, cells


def table(
    result: CompareRecord, board: BoardRecord, size: int | None = None
) -> tuple[list[str], list[list[str]]]:
    """The headings and cells of a board's table of systems, the first `size`. Scores have enough digits to differ."""
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
    more, cells = beside_scores(result, board, short)
    return heads + more, [row + cells[one.name] for row, one in zip(rows, shown, strict=True)]


def cells_of(pair: PairRecord, alpha: float) -> list[str]:
    """The difference of a pair, its adjusted p-value, and the relation."""
    bounds = ""
    if pair.p_adjusted_certainty != "exact":
        bounds = f" ({pair.p_adjusted_certainty}, {' to '.join(enclosing_p(*pair.p_adjusted_bounds, alpha))})"
    return [f"{pair.difference:+.4g}", p_adjusted(pair, alpha) + bounds, pair.relation]


def p_adjusted(pair: PairRecord, alpha: float) -> str:
    """The adjusted p-value, on its side of alpha; a sampled one with the digits that its interval supports."""
    kind = "confidence" if pair.p_adjusted_certainty == "sampled" else "certified"
    digits = known_digits(pair.p_adjusted, kind, *pair.p_adjusted_bounds)
    return probability(pair.p_adjusted, pair.log10_p_adjusted, alpha, digits=digits)


def scores_in_words(scores: Sequence[float]) -> list[str]:
    """Four significant digits, or more if different scores would look equal."""
    digits = 4
    while digits < 17 and len({f"{one:.{digits}g}" for one in scores}) < len(set(scores)):
        digits += 1
    return [f"{one:.{digits}g}" for one in scores]
