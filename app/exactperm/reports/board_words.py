"""The words that all reports of a comparison share: titles, ranks, certainty, and the meaning of marks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise

from ..answers.board import Adjust, BoardRecord, CompareRecord, PairRecord, Relation, SystemRecord
from ..answers.test import WarningRecord
from ..presentation.escaping import single_line
from ..presentation.numbers import counted, exactly, number, percent
from ..presentation.words import beside_scores, kinds, p_adjusted, ranks
from ..statistics.names import Say, direction, measured, metric_title
from .sentences import by_name

ADJUSTMENTS: dict[Adjust, str] = {
    "bonferroni": "Bonferroni",
    "holm": "Holm",
    "hochberg": "Hochberg",
    "bh": "Benjamini-Hochberg",
    "by": "Benjamini-Yekutieli",
    "holm_discrete": "Holm for discrete tests",
    "max_t": "Westfall-Young max T",
    "none": "no adjustment",
}
RELATIONS: dict[Relation, str] = {
    "better": "better",
    "worse": "worse",
    "tied": "not significant",
    "undecided": "undecided",
    "untestable": "untestable",
}
TURNED: dict[Relation, Relation] = {
    "better": "worse", "worse": "better", "tied": "tied", "undecided": "undecided", "untestable": "untestable",
}  # fmt: skip
LISTED = 10  # names in a sentence


@dataclass(frozen=True, slots=True)
class NamedBoard:
    """A board and its scope: the only board, the overall board, or that of a data set."""

    board: BoardRecord
    scope: str  # "", "overall" or "dataset"
    dataset: str = ""

    def title(self, shown: str) -> str:
        """`shown` is the escaped name of the data set."""
        return {"": "", "overall": "Overall", "dataset": shown}[self.scope]


def named_boards(record: CompareRecord) -> Iterator[NamedBoard]:
    """The only board; or the overall board, then those of the data sets."""
    for name, board in record.boards.items():
        if name is not None:
            yield NamedBoard(board, "dataset", name)
        else:
            yield NamedBoard(board, "overall" if record.overall is not None else "")


def what_was_measured(record: CompareRecord, say: Say) -> str:
    """The kind of score in words: WER, nDCG@10, mean score."""
    return measured(record.statistic, record.metric, say)


def score_head(record: CompareRecord, say: Say) -> str:
    """The heading of the score column: the metric, or `score` if it has no name."""
    return metric_title(record.statistic, record.metric, say)


def which_is_better(record: CompareRecord) -> str:
    """Which direction is better."""
    return direction(record.higher_is_better)


def by_names(record: CompareRecord, say: Say) -> str:
    """The statistic and the metric, by their names in requests and files."""
    return by_name(record.statistic, record.metric, say)


def scores_of(systems: Sequence[SystemRecord]) -> list[str]:
    """Their scores, with enough digits to distinguish neighbours; equal scores look the same."""
    distinct = sorted({system.score for system in systems})
    shown = {
        score: number(score, *distinct[max(at - 1, 0) : at], *distinct[at + 1 : at + 2])
        for at, score in enumerate(distinct)
    }
    return [shown[system.score] for system in systems]


def listed(names: Sequence[str], say: Say) -> str:
    """The first names of a best set, and how many more there are."""
    more = f" and {len(names) - LISTED:,} more" if len(names) > LISTED else ""
    return ", ".join(map(say, names[:LISTED])) + more


def systems_table(
    record: CompareRecord, board: BoardRecord, say: Say
) -> tuple[list[str], list[tuple[SystemRecord, list[str]]]]:
    """The headings of the table of systems, and each system with its cells."""
    heads = ["rank", "system", score_head(record, say), "items"]
    if board.groups is not None:
        heads += [
            "rank range",
            "letters",
            "cluster",
            "tier",
            "better than",
            "worse than",
            "p against the next",
        ]
    below, rows = neighbours(board), []
    for system, score in zip(board.systems, scores_of(board.systems), strict=True):
        cells = [str(system.rank), say(system.name), score, f"{system.n:,}"]
        if board.groups is not None:
            pair = below.get(system.name)
            counts = (system.cluster, system.tier, system.better_than, system.worse_than)
            cells += [
                ranks(system),
                system.letters or "",
                *("" if one is None else str(one) for one in counts),
            ]
            cells.append("" if pair is None else p_and_kind(pair, board.family.alpha))
        rows.append((system, cells))
    more, beside = beside_scores(record, board, say)
    return heads + more, [(system, cells + beside[system.name]) for system, cells in rows]


def confidence(alpha: float) -> str:
    """1 - alpha as a percentage."""
    return percent(float(1 - Decimal(repr(alpha))))


def p_and_kind(pair: PairRecord, alpha: float) -> str:
    """The adjusted p-value, with its certainty unless it is exact."""
    return p_adjusted(pair, alpha) + (
        "" if pair.p_adjusted_certainty == "exact" else f" ({pair.p_adjusted_certainty})"
    )


def kinds_in_words(board: BoardRecord) -> str:
    """The same in a line: 4 exact, 2 sampled."""
    return ", ".join(f"{count:,} {kind}" for kind, count in kinds(board).items())


def certainty_sentences(board: BoardRecord) -> list[str]:
    """The certainty of all adjusted p-values, listed or not."""
    count = kinds(board)
    size = sum(count.values())
    certainties = {
        "exact": "exact: computed in integers, or with a certified bound of the rounding error",
        "bracketed": (
            "bracketed: the exact value always lies between the two bounds; the p-value shown is "
            "a number between them"
        ),
        "sampled": "sampled: the exact value lies inside its 99 % confidence interval with 99 % confidence",
    }
    sentences = [
        f"{'The one adjusted p-value is' if size == 1 else f'All {size:,} adjusted p-values are'} {certainties[kind]}."
        if number_of == size
        else f"{number_of:,} of {size:,} adjusted p-values {'is' if number_of == 1 else 'are'} {certainties[kind]}."
        for kind, number_of in count.items()
    ]
    return sentences if board.pairs else [*sentences, "No pairs are listed here, so their p-values are not."]


def neighbours(board: BoardRecord) -> dict[str, PairRecord]:
    """The listed pair of each system and the next below it, by the name of the upper one."""
    listed = {frozenset((pair.u, pair.v)): pair for pair in board.pairs}
    below = pairwise(system.name for system in board.systems)
    pairs = {upper: listed.get(frozenset((upper, lower))) for upper, lower in below}
    return {name: pair for name, pair in pairs.items() if pair is not None}


def toward(pair: PairRecord, name: str) -> tuple[float, Relation]:
    """The difference and the relation of one system to the other."""
    if pair.u == name:
        return pair.difference, pair.relation
    return 0.0 - pair.difference, TURNED[pair.relation]


def against(board: BoardRecord, name: str) -> dict[str, PairRecord]:
    """The listed pairs of one system, by the other."""
    return {(pair.v if pair.u == name else pair.u): pair for pair in board.pairs if name in {pair.u, pair.v}}


def adjustment(board: BoardRecord) -> str:
    """The adjustment, over how many tests, and alpha: Holm over 66 tests, alpha = 0.05."""
    family = board.family
    how = ADJUSTMENTS[family.adjust]
    return f"{how}, {counted(family.size, 'test')}, alpha = {exactly(family.alpha)}"


def all_warnings(record: CompareRecord) -> list[tuple[str, WarningRecord]]:
    """Each warning once, with its data set; empty for the main board and the request."""
    main = record.main_board
    of_main = [("", warning) for warning in (*record.warnings, *main.warnings)]
    others = [
        (named.dataset, warning)
        for named in named_boards(record)
        if named.board is not main
        for warning in named.board.warnings
    ]
    return list(dict.fromkeys([*of_main, *others]))


def warned(dataset: str, warning: WarningRecord) -> str:
    """The sentence of a warning."""
    return f"{single_line(dataset)}: {warning.detail}" if dataset else warning.detail
