"""Standalone HTML reports of tests, gates, comparisons and power: one file with its pictures, no script, nothing fetched.

Jinja2 is imported for the first report, in a worker. It escapes every label; only pictures are inserted unescaped, and
`picture.pictures` escapes their labels.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..answers.board import LEFT_OUT, BoardRecord, CompareRecord, PairRecord
from ..answers.gate import GateRecord, MetricRecord, Procedure
from ..answers.power import PowerRecord, Solve
from ..answers.test import (
    ANY_DIFFERS,
    OF_SEVERAL,
    Alternative,
    ConfidenceInterval,
    Discordant,
    MonteCarloRecord,
    Moved,
    NullModel,
    SlicesRecord,
    TestRecord,
)
from ..presentation.escaping import for_sentence, short, single_line
from ..presentation.numbers import (
    MINUS,
    SMALLEST_WRITTEN,
    apart,
    counted,
    enclosing_p,
    exactly,
    known_digits,
    number,
    percent,
    probability,
    signed,
)
from ..presentation.words import (
    SLICE_HEADS,
    VERDICTS,
    correction_words,
    decision_p_text,
    p_adjusted,
    p_text,
    slice_rows,
)
from ..statistics.names import directed, direction
from .board_words import (
    ADJUSTMENTS,
    RELATIONS,
    NamedBoard,
    adjustment,
    all_warnings,
    certainty_sentences,
    confidence,
    kinds_in_words,
    listed,
    named_boards,
    neighbours,
    score_head,
    systems_table,
    warned,
    what_was_measured,
    which_is_better,
)
from .markdown import power_facts, verdict
from .sentences import (
    SYMBOLS,
    Names,
    by_name,
    head,
    interval_text,
    item_level_p_text,
    kind,
    manner,
    manner_of_decision,
    measured_in,
    metric_name,
    metric_sentences,
    missing_words,
    names_of,
    of_the_interval,
    of_the_p_value,
    over_items,
    plain_probability,
    sentences,
    summary,
    undecided,
)

if TYPE_CHECKING:
    from jinja2 import Environment


_MINUS = re.compile(r"(?<![\w.])-(?=\d)")
_ALTERNATIVES: dict[Alternative, str] = {
    "two-sided": "in either direction",
    "greater": "U above V",
    "less": "U below V",
}
_NULLS: dict[NullModel, str] = {
    "permutation": "it does not matter which system gave which output",
    "bootstrap": "no difference; items resampled with replacement",
    "binomial": "every item is right with the threshold's probability",
    "convex_bound": "scores in the range whose mean is the threshold; shown are the most spread ones",
}
_OF_RUNS = "all runs of an item, of both systems, come from one distribution"
_PROCEDURES: dict[Procedure, str] = {
    "permutation": "paired permutation test",
    "bootstrap": "paired bootstrap",
    "tango_score": "Tango's score test of paired proportions, asymptotic",
    "e_value": "e-value of sign flips, which holds at every look",
    "binomial": "exact binomial test against the threshold",
    "convex_bound": "bound of the p-value against the threshold, for all scores in their range",
}


@dataclass(frozen=True, slots=True)
class Fact:
    """A labelled value; the note says how it was computed."""

    label: str
    value: str
    note: str = ""

    @property
    def printed(self) -> str:
        """The value with real minus signs."""
        return _MINUS.sub("−", self.value)


@dataclass(frozen=True, slots=True)
class Group:
    """Facts that belong together."""

    title: str
    facts: tuple[Fact, ...]


def groups(record: TestRecord) -> tuple[Group, ...]:
    """All numbers of a test."""
    return (
        Group("Difference", tuple(_difference(record))),
        Group("Test", tuple(_test(record))),
        Group("Items", tuple(_items(record))),
        Group("Method", tuple(_method(record))),
        Group("Null distribution", tuple(_null(record))),
    )


def key_facts(record: TestRecord) -> tuple[Fact, ...]:
    """The four most important numbers."""
    facts = [Fact("p-value", p_text(record), f"{record.alternative}, {manner(record)}")]
    return (*facts, *_key_estimates(record))


def key_facts_of_metric(metric: MetricRecord) -> tuple[Fact, ...]:
    """The numbers behind one verdict of a gate."""
    decision, terms = metric.decision, metric.terms
    adjusted = decision.p_value_adjusted != decision.p_value
    note = (
        f"{'Holm-adjusted, ' if adjusted else ''}{manner_of_decision(metric)}; alpha {exactly(terms.alpha)}"
    )
    return (Fact("p-value", decision_p_text(decision, terms.alpha), note), *_key_estimates(metric.test))


def _key_estimates(record: TestRecord) -> Iterable[Fact]:
    scored = record.statistic.u is not None and record.statistic.v is not None
    yield Fact(
        "Difference" if scored else "Statistic",
        signed(record.statistic.observed) if scored else number(record.statistic.observed),
        _measured_and_better(record),
    )
    if record.confidence_interval is not None:
        yield _interval(record.confidence_interval, record.alternative)
    items = record.items
    clusters = "" if items.clusters is None else f"in {items.clusters:,} clusters"
    yield Fact("Items", f"{items.n:,}", clusters)


def _measured_and_better(record: TestRecord) -> str:
    """The metric of the difference, and the better direction."""
    better = direction(record.statistic.higher_is_better)
    return short(measured_in(record, single_line)) + (f"; {better}" if better else "")


def terms_group(metric: MetricRecord) -> Group:
    """The terms of one metric of a gate, and the test that decided."""
    terms, decision = metric.terms, metric.decision
    digits = known_digits(decision.p_value, decision.p_value_bounds_kind, *decision.p_value_bounds)
    p = probability(decision.p_value, decision.log10_p_value, terms.alpha, digits=digits)
    facts = [
        *([] if metric.against is None else [Fact("Baseline", short(metric.against))]),
        Fact("Policy", terms.policy, single_line(metric.hypothesis)),
        Fact("Margin", exactly(terms.margin))
        if terms.threshold is None
        else Fact("Threshold", exactly(terms.threshold)),
        Fact("Better", "higher" if terms.higher_is_better else "lower"),
        Fact("Level alpha", exactly(terms.alpha)),
        Fact("Procedure", _PROCEDURES[decision.procedure]),
        Fact("Hypothesised difference", number(decision.difference), f"against {decision.alternative}"),
        Fact("p-value", p, f"one-sided, {manner_of_decision(metric)}"),
        Fact("p-value, adjusted", decision_p_text(decision, terms.alpha), "compared with alpha"),
    ]
    return Group("Gate", tuple(facts))


def _interval(interval: ConfidenceInterval, alternative: str) -> Fact:
    label = f"{percent(interval.level)} interval"
    return Fact(label, interval_text(interval), of_the_interval(interval, alternative))


def _difference(record: TestRecord) -> Iterable[Fact]:
    statistic, names = record.statistic, names_of(record, short)
    if statistic.u is not None and statistic.v is not None:
        u, v = apart(statistic.u, statistic.v)
        yield Fact(f"Score of {names.u}", u)
        yield Fact(f"Score of {names.v}", v)
        yield Fact(
            "Difference, U minus V", signed(statistic.observed), short(measured_in(record, single_line))
        )
    else:
        yield Fact("Statistic", number(statistic.observed), short(measured_in(record, single_line)))
    yield Fact("Statistic, by its name in requests", by_name(statistic.name, statistic.metric, short))
    if statistic.higher_is_better is not None:
        yield Fact("Better", "higher" if statistic.higher_is_better else "lower")
    if (made := correction_words(record)) is not None:
        yield Fact("Correction", made)
    if record.confidence_interval is not None:
        yield _interval(record.confidence_interval, record.alternative)
    sizes = record.effect_size
    if sizes is None:
        return
    if sizes.cohens_d_z is not None:
        yield Fact("Cohen's d_z", number(sizes.cohens_d_z), "mean difference over its standard deviation")
    if sizes.cliffs_delta is not None:
        yield Fact(
            "Cliff's delta", number(sizes.cliffs_delta), "P(U above V) minus P(U below V), over all pairs"
        )
    if sizes.discordant is not None:
        yield _discordant(sizes.discordant, record.confidence_interval)


def _discordant(seen: Discordant, interval: ConfidenceInterval | None) -> Fact:
    odds = "infinite" if seen.odds is None else number(seen.odds)
    high = "infinity" if seen.odds_high is None else number(seen.odds_high)
    level = f"{percent(interval.level)} interval " if interval else "interval "
    note = f"odds {odds}, {level}{number(seen.odds_low)} to {high} (Clopper and Pearson)"
    return Fact("Right by one system only", f"U {seen.only_u:,}, V {seen.only_v:,}", note)


def _test(record: TestRecord) -> Iterable[Fact]:
    yield Fact("p-value", p_text(record), manner(record))
    if kind(record) != "exact" and record.p_value >= SMALLEST_WRITTEN:
        low, high = enclosing_p(*record.p_value_bounds, record.alpha)
        sure = "99 % confidence" if record.p_value_bounds_kind == "confidence" else "certified"
        yield Fact("Bounds of the p-value", f"{low} to {high}", sure)
    yield Fact("log10 of the p-value", number(record.log10_p_value))
    if record.item_level is not None:
        level = record.item_level
        p = item_level_p_text(level, record.alpha)
        yield Fact("p-value by item", p, "as if items were independent; the clustered test counts")
    yield Fact("Level alpha", exactly(record.alpha))
    least = record.min_attainable_p
    smallest = "not known" if least is None else probability(least, 0.0, record.alpha)
    yield Fact("Smallest attainable p", smallest)
    name, side = record.statistic.name, _ALTERNATIVES[record.alternative]
    if name in OF_SEVERAL:
        side = (
            "any system differs"
            if name in ANY_DIFFERS
            else side.replace("U above V", "large values").replace("U below V", "small values")
        )
    yield Fact("Alternative", record.alternative, side)
    runs = record.exchange in {"runs", "both"}
    yield Fact("Null distribution", record.test, _OF_RUNS if runs else _NULLS[record.test])


def _items(record: TestRecord) -> Iterable[Fact]:
    items = record.items
    units = "items" if items.clusters is None else "clusters"
    yield Fact("Items", over_items(items))
    yield Fact(f"{units.capitalize()} with a difference", f"{items.nonzero:,}")
    if record.statistic.name not in OF_SEVERAL:
        wins = f"{items.wins:,} / {items.ties:,} / {items.losses:,}"
        yield Fact("Wins, ties, losses of U", wins, f"by {units[:-1]}")
    if (missing := missing_words(record)) is not None:
        yield Fact("Missing outcomes", f"{missing.n:,}", "any value in the given range")
        yield Fact("Difference over all items", f"{missing.worst} to {missing.best}", "worst and best for U")
        p = f"{missing.low} to {missing.high}"
        yield Fact("p-value over all items", p, "least and greatest over all values of the missing outcomes")


def _method(record: TestRecord) -> Iterable[Fact]:
    method = record.method
    yield Fact("Method", method.name, single_line(method.reason))
    if method.relative_error_bound is not None:
        yield Fact("Relative error of p at most", f"{method.relative_error_bound:.2g}", "certified")
    if method.lattice is not None:
        lattice = method.lattice
        note = f"{lattice.weights:,} distinct weights, range {lattice.range:,}, rank {lattice.rank}"
        yield Fact("Lattice step", number(lattice.unit), note)
    if method.monte_carlo is not None:
        drawn = method.monte_carlo
        note = f"seed {drawn.seed}, {drawn.exceedances:,} at least as extreme"
        yield Fact("Samples", f"{drawn.samples:,}", note)
        yield Fact("Standard error of p", number(drawn.standard_error))
        yield from _control(drawn, record.alpha)


def _control(drawn: MonteCarloRecord, alpha: float) -> Iterable[Fact]:
    """The control variate, and p without it."""
    if drawn.control is None:
        return
    note = f"{drawn.gained or 0:,} samples extreme without it, {drawn.lost or 0:,} not extreme with it"
    exact = plain_probability(drawn.control_p_value, alpha)
    yield Fact("Control variate", drawn.control, f"its own p is {exact}, exactly; {note}")
    yield Fact("p without it", plain_probability(drawn.p_value_plain, alpha), "(b + 1) / (K + 1)")


def _null(record: TestRecord) -> Iterable[Fact]:
    null = record.null
    yield Fact("Mean", number(null.mean))
    yield Fact("Standard deviation", number(null.sd))
    yield Fact("Smallest and largest", f"{number(null.min)} to {number(null.max)}")
    for name, value in (null.quantiles or {}).items():
        yield Fact(f"Quantile {name}", number(value))


TEMPLATES = Path(__file__).parent / "templates"


def html(record: TestRecord, test_id: str, signature: str, picture: str, slices: str = "") -> str:
    """The report of one test; `picture`, and that of `slices`, are our inline SVG, or empty."""
    tone = "open" if undecided(record) else "yes" if record.significant else "no"
    return rendered(
        "test.html",
        names=None if record.statistic.name in OF_SEVERAL else names_of(record, short),
        statistic=directed(short(measured_in(record, single_line)), record.statistic.higher_is_better),
        test=record.test,
        verdict=verdict(record),
        tone=tone,
        symbol={"yes": "●", "no": "○", "open": "◐"}[tone],
        key=key_facts(record),
        signature=signature,
        id=test_id,
        notes=[single_line(str(note)) for note in record.notes],
        **_body(record, sentences(record, for_sentence), picture)
        | {"slices": _slices(record.slices, record.alpha, slices)},
    )


def gate_html(gate: GateRecord, gate_id: str, pictures: Sequence[tuple[str, str]]) -> str:
    """The report of a gate, a section for each metric; `pictures` in the order of metrics, and of their slices, empty for none."""
    several = len(gate.metrics) > 1
    lead = summary(gate, for_sentence) if several else f"{head(gate)} – {single_line(gate.metrics[0].reason)}"
    words, _, rest = lead.partition(" – ")
    return rendered(
        "gate.html",
        names=_names(gate),
        head=words,
        lead=rest,
        symbol=SYMBOLS[gate.verdict],
        tone=gate.verdict,
        several=several,
        metrics=[
            _metric(metric, drawn, number)
            for number, (metric, drawn) in enumerate(zip(gate.metrics, pictures, strict=True), start=1)
        ],
        id=gate_id,
        notes=[single_line(str(note)) for note in gate.notes],
    )


def _names(gate: GateRecord) -> Names:
    """The candidate, and the baselines."""
    names = names_of(gate.metrics[0].test, short)
    baselines = dict.fromkeys(short(one.against) for one in gate.metrics if one.against is not None)
    return names._replace(v=", ".join(baselines)) if len(baselines) > 1 else names


def _metric(metric: MetricRecord, pictures: tuple[str, str], number: int) -> dict[str, Any]:
    record, terms = metric.test, metric.terms
    parts = metric_sentences(metric, for_sentence)
    body = _body(record, (single_line(metric.reason), *parts), pictures[0])
    body["slices"] = _slices(metric.slices, terms.alpha, pictures[1])
    body["groups"] = (terms_group(metric), *body["groups"])
    return {
        "number": number,
        "name": directed(metric_name(metric, short), metric.terms.higher_is_better),
        "verdict": VERDICTS[metric.verdict],
        "tone": metric.verdict,
        "symbol": SYMBOLS[metric.verdict],
        "policy": terms.policy,
        "key": key_facts_of_metric(metric),
        "known": manner_of_decision(metric),
        "adjusted": metric.decision.p_value_adjusted != metric.decision.p_value,
        "shifted": terms.margin > 0.0,
        "digest": record.id[2:18],
        **body,
    }


def _body(record: TestRecord, parts: Sequence[str], picture: str) -> dict[str, Any]:
    """The common part of a test's report and a metric's section."""
    from markupsafe import Markup

    return {
        "sentences": parts,
        "picture": Markup(picture),  # noqa: S704 # drawn by exactperm.reports.picture.pictures, which escapes labels
        "groups": groups(record),
        "warnings": [(warning.code, single_line(warning.detail)) for warning in record.warnings],
        "slices": None,
        "moved": _moved(record.moved, record),
        "certainty": of_the_p_value(record),
        "kind": kind(record),
    }


def _slices(slices: SlicesRecord | None, alpha: float, picture: str) -> dict[str, Any] | None:
    """The table of slices, and their picture."""
    from markupsafe import Markup

    if slices is None:
        return None
    rows = [[_MINUS.sub("−", cell) for cell in cells] for cells in slice_rows(slices, alpha)]
    named = [[one.slice, *cells[1:]] for one, cells in zip(slices.items, rows, strict=True)]
    return {"heads": SLICE_HEADS, "rows": named, "picture": Markup(picture)}  # noqa: S704 # labels are escaped


def _moved(moved: Moved | None, record: TestRecord) -> list[tuple[str, list[str]]]:
    if moved is None:
        return []
    names = names_of(record, short)
    sides = ((names.u, moved.toward_u), (names.v, moved.toward_v))
    return [(name, [short(item) for item in ids]) for name, ids in sides if ids]


def rendered(name: str, **values: Any) -> str:
    """A page from its template; every value is escaped unless it is `Markup`."""
    return _environment().get_template(name).render(values)


@cache
def _environment() -> Environment:
    """Everything is escaped, and an undefined name is an error."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


Draw = Callable[[str, NamedBoard, int], str]

# More pairs than this are left to the CSV; of longer boards neighbours are listed.
MOST_PAIRS = 1200
# Data sets whose boards have a picture; all have tables.
MOST_PICTURES = 12


def compare_html(record: CompareRecord, compare_id: str, signature: str, draw: Draw) -> str:
    """The report; `draw` makes an inline SVG from a picture's name, a board and a number."""
    boards = list(named_boards(record))
    main = boards[0].board
    return rendered(
        "compare.html",
        statistic=what_was_measured(record, short),
        better=which_is_better(record),
        systems=counted(len(main.systems), "system"),
        lead=_lead(record, boards[0]),
        key=_key(record, boards[0]),
        several=len(boards) > 1,
        boards=[_board(record, named, place, draw) for place, named in enumerate(boards)],
        meanings=_meanings(record, main),
        certainty=certainty_sentences(main),
        warnings=[(warning.code, single_line(warned(of, warning))) for of, warning in all_warnings(record)],
        notes=[] if record.reading is None else [single_line(str(note)) for note in record.reading.notes],
        signature=signature,
        id=compare_id,
    )


def _lead(record: CompareRecord, named: NamedBoard) -> list[str]:
    board = named.board
    alpha = board.family.alpha
    title = named.title(for_sentence(named.dataset))
    of = f"{title}: " if title else ""
    if board.groups is None:
        to = f", each against {for_sentence(record.baseline)}" if record.baseline is not None else ""
        return [f"{of}{counted(len(board.systems), 'system')}{to}: {adjustment(board)}."]
    best = board.groups.best_set
    names = listed(best, for_sentence)
    if not best:
        sentence = "No system can be called the best, because the tests contradict the scores."
    elif len(best) == 1:
        sentence = f"The best system is {names}, with {confidence(alpha)} confidence."
    else:
        sentence = f"With {confidence(alpha)} confidence the best system is one of {len(best)}: {names}."
    groups = counted(len(board.groups.clusters), "cluster")
    return [
        f"{of}{sentence}",
        f"The systems form {groups}: all of one differ significantly from all below it.",
    ]


def _key(record: CompareRecord, named: NamedBoard) -> list[Fact]:
    board = named.board
    first = board.systems[0]
    known = kinds_in_words(board)
    sets = "" if record.datasets is None else counted(len(record.datasets), "data set")
    return [
        Fact("highest rank", short(first.name), f"{score_head(record, short)} {number(first.score)}"),
        Fact("measured", what_was_measured(record, short), which_is_better(record)),
        Fact("systems", f"{len(board.systems):,}", sets),
        Fact("tests in the family", f"{board.family.size:,}", known),
        Fact("alpha", exactly(board.family.alpha), ADJUSTMENTS[board.family.adjust]),
    ]


def _board(record: CompareRecord, named: NamedBoard, place: int, draw: Draw) -> dict[str, Any]:
    from markupsafe import Markup

    board = named.board
    shown, note = _shown_pairs(board)
    heads, rows = systems_table(record, board, short)
    return {
        "number": place + 1,
        "title": named.title(short(named.dataset)),
        "family": adjustment(board),
        "controls": board.family.controls,
        "heads": heads,
        "rows": [
            {"name": name, "best": bool(system.in_best_set), "cells": [rank, *others]}
            for system, (rank, name, *others) in rows
        ],
        # drawn by exactperm.reports.picture.pictures, which escapes labels
        "pictures": [Markup(draw(name, named, place)) for name in _pictures(record, board, place)],  # noqa: S704  # as above
        "pairs": [_pair(pair, board.family.alpha) for pair in shown],
        "told": note,
        "intervals": sorted({percent(p.confidence_interval.level) for p in shown if p.confidence_interval}),
    }


def _pictures(record: CompareRecord, board: BoardRecord, place: int) -> list[str]:
    """The leaderboard of each board; for the main one also the pairs, or the differences to the baseline."""
    if place > MOST_PICTURES:
        return []
    if place or not board.pairs:
        return ["leaderboard"]
    return ["leaderboard", "heatmap" if record.compare == "all_pairs" else "forest"]


def _shown_pairs(board: BoardRecord) -> tuple[list[PairRecord], str]:
    """The listed pairs, and a note on the others."""
    if not board.pairs:
        return [], "No pairs are listed: none was requested, or none is significant."
    if len(board.pairs) <= MOST_PAIRS:
        return list(board.pairs), f"{counted(len(board.pairs), 'pair')}."
    shown = list(neighbours(board).values()) or list(board.pairs[:MOST_PAIRS])
    fewer = any(warning.code == LEFT_OUT for warning in board.warnings)
    others = "all are in the CSV (table=pairs) and in the JSON" + (" of pairs=all" if fewer else "")
    return shown, f"{len(shown):,} of {len(board.pairs):,} pairs; {others}."


def _pair(pair: PairRecord, alpha: float) -> dict[str, Any]:
    low, high = enclosing_p(*pair.p_adjusted_bounds, alpha)
    interval = pair.confidence_interval
    return {
        "u": short(pair.u),
        "v": short(pair.v),
        "relation": RELATIONS[pair.relation],
        "tone": "plain" if pair.relation in {"tied", "undecided", "untestable"} else "sure",
        "difference": signed(pair.difference).replace("-", MINUS),
        "p": p_adjusted(pair, alpha),
        "kind": pair.p_adjusted_certainty,
        "bounds": "" if pair.p_adjusted_certainty == "exact" else f"{low} to {high}",
        "interval": "" if interval is None else interval_text(interval),
        "counts": f"{pair.wins:,} / {pair.ties:,} / {pair.losses:,}",
        "n": f"{pair.n:,}",
    }


def _meanings(record: CompareRecord, board: BoardRecord) -> list[tuple[str, str]]:
    """The meaning of the words in the tables, with sources."""
    family = board.family
    sure = confidence(family.alpha)
    meanings = {
        "Adjusted p": f"{ADJUSTMENTS[family.adjust]} over {counted(family.size, 'test')} controls: {family.controls}.",
        "Better, worse, not significant": f"Better or worse: the adjusted p-value is at most {exactly(family.alpha)} for "
        "certain. Undecided: alpha lies within its bounds. Untestable: no outcome of this pair could be significant. Not "
        "significant does not mean equal.",
    }
    if board.groups is not None:
        meanings |= {
            "Rank range": f"With {sure} confidence the true ranks of all systems are inside their ranges at once: Holm over the "
            "one-sided tests of all pairs, whatever the adjustment is (Mogstad, Romano, Shaikh and Wilhelm 2024).",
            "Best set": f"Holds the best system with {sure} confidence (Hsu's comparisons with the best, by Bonferroni).",
            "Letters": "Systems that share a letter do not differ significantly: a letter is a largest possible set of such "
            "systems (Piepho 2004).",
            "Cluster": "A line separates systems if every system above differs significantly from every system below (as in the "
            "WMT's tables).",
            "Tier": "A tier ends before the first system that one of its members is significantly better than.",
        }
    return list(meanings.items())


QUESTIONS: dict[Solve, str] = {
    "n": "How many items?",
    "effect": "Which difference is found?",
    "power": "How likely is it found?",
    "floor": "How low may a new run be?",
    "false_alarm": "How often does a floor alarm for nothing?",
}


def power_html(record: PowerRecord, power_id: str, signature: str, picture: str) -> str:
    """The report; `picture` is our inline SVG, or empty."""
    from markupsafe import Markup

    return rendered(
        "power.html",
        question=QUESTIONS[record.solve],
        sentence=record.sentence,
        facts=power_facts(record),
        key=_key_of_power(record),
        picture=Markup(picture),  # noqa: S704  # drawn by exactperm.reports.picture.pictures: numbers and our own words
        curve=[(f"{point.n:,}", number(point.effect), number(point.power)) for point in record.curve],
        warnings=[(warning.code, single_line(warning.detail)) for warning in record.warnings],
        signature=signature,
        id=power_id,
    )


def _key_of_power(record: PowerRecord) -> list[Fact]:
    solution = record.solution
    known = "exact" if record.method.exact else "approximate"
    if solution.floor is not None and solution.false_alarm is not None:
        rates = "exact given the rates of the runs"
        return [
            Fact("items", f"{solution.n:,}", ""),
            Fact("floor", number(solution.floor), ""),
            Fact("false alarms", number(solution.false_alarm), rates),
            Fact("alpha", exactly(record.alpha), ""),
        ]
    always = "" if solution.n_always in {None, solution.n} else f"always from {solution.n_always:,} on"
    return [
        Fact("items", "none" if solution.n is None else f"{solution.n:,}", always),
        Fact("true difference", "none" if solution.effect is None else number(solution.effect), ""),
        Fact("power", "none" if solution.power is None else number(solution.power), known),
        Fact("alpha", exactly(record.alpha), record.alternative),
    ]
