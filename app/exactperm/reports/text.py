"""A test, a gate, a comparison or power in one line, for logs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from ..answers.board import BoardRecord, CompareRecord
from ..answers.gate import GateRecord, MetricRecord
from ..answers.power import PowerRecord
from ..answers.reading import Guessed, Note, Read
from ..answers.test import SlicesRecord, TestRecord
from ..presentation.escaping import for_line
from ..presentation.numbers import apart, counted, enclosing_p, exactly, number, p_number
from ..presentation.words import VERDICTS, correction_words, decision_p_text, kinds, p_text
from ..statistics.names import direction
from .board_words import LISTED, NamedBoard, all_warnings, listed, named_boards, scores_of, toward
from .sentences import ends, head, item_level_p_text, manner, manner_of_decision, missing_words, undecided


def line(record: TestRecord, test_id: str) -> str:
    """The answer in one line, without the line end. Ids of items do not belong in logs."""
    words = [
        f"p={p_text(record)}",
        f"({manner(record)}, {record.method.name})",
        *_interval_of_p(record),
        record.alternative,
        *([f"exchange={record.exchange}"] if record.exchange in {"runs", "both"} else []),
        *better(record.statistic.higher_is_better),
        *data_words(record),
        *_missing(record),
    ]
    if record.item_level is not None:
        level = record.item_level
        words.append(f"p_by_item={item_level_p_text(level, record.alpha)}")
    words += _slices(record.slices, record.alpha)
    decided = "significant" if record.significant else "not significant"
    if record.missing is not None and undecided(record):
        decided = "undecided"
    words.append(f"{decided} at {exactly(record.alpha)}")
    words += [f"[{warning.code}]" for warning in record.warnings]
    return " ".join([*words, test_id, *read(record.notes)])


def _missing(record: TestRecord) -> list[str]:
    missing = missing_words(record)
    return (
        [] if missing is None else [f"missing={missing.n}", f"p_over_missing=[{missing.low},{missing.high}]"]
    )


def _slices(slices: SlicesRecord | None, alpha: float) -> list[str]:
    """The number of slices, the one with the smallest p-value, and that of all."""
    if slices is None:
        return []
    return [
        f"slices={len(slices.items)}",
        f"worst_slice={for_line(slices.worst)}",
        f"p_slices={p_number(slices.p_value, alpha)}",
    ]


def _of_slices(metric: MetricRecord) -> list[str]:
    """The p-value of slices that may fail the gate, as it was compared with alpha."""
    decision = None if metric.slices is None else metric.slices.decision
    return [] if decision is None else [f"p_slices_adjusted={decision_p_text(decision, metric.alpha)}"]


def _interval_of_p(record: TestRecord) -> list[str]:
    """The interval of a sample with a control variate, which decides significance."""
    drawn = record.method.monte_carlo
    if drawn is None or drawn.control is None:
        return []
    low, high = enclosing_p(*record.p_value_bounds, record.alpha)
    return [f"p99=[{low},{high}]"]


def read(facts: Sequence[Note]) -> list[str]:
    """How files were read, as one word of a line, without item counts and format descriptions."""
    kept = [
        str(replace(note, summary="") if isinstance(note, Guessed) else note)
        for note in facts
        if not (isinstance(note, Read) and note.who in ("u", "v"))
    ]
    return [f"read={for_line(' '.join(kept))}"] if kept else []


def better(higher_is_better: bool | None) -> list[str]:
    """The direction as a word, if known: lower_is_better."""
    words = direction(higher_is_better)
    return [words.replace(" ", "_")] if words else []


def data_words(record: TestRecord) -> list[str]:
    """The statistic, the systems' scores, the number of items, and any interval and effect size."""
    statistic, items = record.statistic, record.items
    words = [] if statistic.metric is None else [f"metric={for_line(statistic.metric)}"]
    words.append(f"{for_line(statistic.name)}={number(statistic.observed)}")
    if statistic.u is not None and statistic.v is not None:
        u, v = apart(statistic.u, statistic.v)
        words += [f"{for_line(record.name_u)}={u}", f"{for_line(record.name_v)}={v}"]
    words.append(f"n={items.n}")
    if items.clusters is not None:
        words.append(f"clusters={items.clusters}")
    if (made := correction_words(record)) is not None:
        words.append(f"corrected={for_line(made)}")
    if (bias := record.position_bias) is not None:
        words += [f"first={bias.first}", f"second={bias.second}", f"p_position={p_number(bias.p_value)}"]
    if record.confidence_interval is not None:
        low, high = ends(record.confidence_interval)
        words.append(f"ci{exactly(record.confidence_interval.level)}=[{low or '-inf'},{high or 'inf'}]")
    if record.effect_size is not None and record.effect_size.cohens_d_z is not None:
        words.append(f"d_z={number(record.effect_size.cohens_d_z)}")
    return words


def gate_line(gate: GateRecord, gate_id: str) -> str:
    """The verdict, then the test behind each metric, without the line end."""
    notes = "".join(f" {word}" for word in read(gate.notes))
    if len(gate.metrics) == 1:
        return f"{head(gate)}: {_metric(gate.metrics[0])} {gate_id}{notes}"
    metrics = "; ".join(
        f"{for_line(metric.name)} {VERDICTS[metric.verdict]}: {_metric(metric)}" for metric in gate.metrics
    )
    return f"{head(gate)}: {gate.family}, Holm; {metrics}; {gate_id}{notes}"


def _metric(metric: MetricRecord) -> str:
    terms, decision = metric.terms, metric.decision
    margin = f" margin={exactly(terms.margin)}" if terms.margin else ""
    words = [
        f"{terms.policy}{margin}",
        *better(terms.higher_is_better),
        *([] if metric.against is None else [f"against={for_line(metric.against)}"]),
        f"p={decision_p_text(decision, terms.alpha)}",
        f"({manner_of_decision(metric)}, {decision.procedure}, {decision.alternative})",
        f"alpha={exactly(terms.alpha)}",
        *data_words(metric.test),
        *_missing(metric.test),
        *_slices(metric.slices, terms.alpha),
        *_of_slices(metric),
        *(f"[{warning.code}]" for warning in metric.test.warnings),
    ]
    return " ".join(words)


def compare_line(record: CompareRecord, compare_id: str) -> str:
    """The main board in one line, without the line end, with the number of data sets.

    The first word is never a caller's: workflow runners take a line that begins with :: for a command.
    """
    first = next(named_boards(record))
    board = first.board
    words = [
        f"{_scope(record, first)}{_summary(record, board)} ({_family(board)}):",
        *([] if record.metric is None else [f"metric={for_line(record.metric)}"]),
        *better(record.higher_is_better),
        f"statistic={for_line(record.statistic)}",
        *_scores(board),
        *([] if board.groups is None else [f"clusters={len(board.groups.clusters)}"]),
        *_frontier(record),
        f"n={_items(board)}",
        f"alpha={exactly(board.family.alpha)}",
        *(f"[{code}]" for code in dict.fromkeys(warning.code for _, warning in all_warnings(record))),
        compare_id,
        *([] if record.reading is None else read(record.reading.notes)),
    ]
    return " ".join(words)


def _frontier(record: CompareRecord) -> list[str]:
    kept = [one.name for one in record.frontier.systems if not one.excluded] if record.frontier else []
    return [f"frontier={listed(kept, for_line)}"] if kept else []


def _scope(record: CompareRecord, first: NamedBoard) -> str:
    if record.datasets is None:
        return ""
    count = counted(len(record.datasets), "data set")
    return (
        f"overall of {count}, " if first.scope == "overall" else f"on {for_line(first.dataset)} of {count}, "
    )


def _summary(record: CompareRecord, board: BoardRecord) -> str:
    """The best set, or how many systems are better and worse than the baseline."""
    size = len(board.systems)
    if board.groups is not None:
        best = board.groups.best_set
        return f"best of {size}: {listed(best, for_line)}" if best else f"no best set of {size}"
    if record.compare == "baseline" and record.baseline is not None and board.pairs:
        others = [(pair.u if pair.v == record.baseline else pair.v, pair) for pair in board.pairs]
        count = Counter(toward(pair, name)[1] for name, pair in others)
        return f"{count['better']} better and {count['worse']} worse of {size - 1} than {for_line(record.baseline)}"
    return counted(size, "system")


def _family(board: BoardRecord) -> str:
    known = kinds(board)
    how = f", {', '.join(known)}" if known else ""
    return f"{board.family.adjust}, {counted(board.family.size, 'pair')}{how}"


def _scores(board: BoardRecord) -> list[str]:
    shown = list(zip(board.systems, scores_of(board.systems), strict=True))[:LISTED]
    more = len(board.systems) - len(shown)
    return [f"{for_line(system.name)}={score}" for system, score in shown] + ([f"+{more}"] if more else [])


def _items(board: BoardRecord) -> str:
    """The number of items of the systems."""
    sizes = [system.n for system in board.systems]
    low, high = min(sizes), max(sizes)
    return str(low) if low == high else f"{low}..{high}"


def power_line(record: PowerRecord, power_id: str) -> str:
    """The answer in one line, without the line end."""
    solution, method = record.solution, record.method
    level = [f"alpha={exactly(record.alpha)}"]
    level += [] if record.comparisons == 1 else [f"comparisons={record.comparisons}"]
    if solution.floor is not None:
        floor = [f"floor={number(solution.floor)}", f"false_alarm={_or_none(solution.false_alarm)}"]
        words = [f"n={solution.n}", *floor, *level, f"({method.name}, given the rates of the runs)"]
    else:
        words = [
            f"n={_or_none(solution.n)}",
            *([] if solution.n_always in {None, solution.n} else [f"n_always={solution.n_always}"]),
            f"effect={_or_none(solution.effect)}",
            f"power={_or_none(solution.power)}",
            *level,
            record.alternative,
            f"critical_difference={_or_none(record.critical_difference)}",
            f"({'exact' if method.exact else 'approximate'}, {method.name})",
        ]
    return " ".join([*words, *(f"[{warning.code}]" for warning in record.warnings), power_id])


def _or_none(value: float | None) -> str:
    return "none" if value is None else number(float(value))
