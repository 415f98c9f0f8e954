"""The columns of CSV reports and data frames, for tests, gates' metrics, boards and power.

A path such as `p_value_bounds.0` leads from an answer to a value by attributes and indices; the value is missing if
a step is None.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from operator import attrgetter
from typing import Any, Literal

from .escaping import for_csv, single_line

# text: untrusted; word: ours; codes: of warnings; counts: of p-values by how certain they are.
Kind = Literal["number", "flag", "text", "word", "list", "notes", "codes", "counts"]


@dataclass(frozen=True, slots=True)
class Column:
    """One column: the path of its value, and its kind."""

    name: str
    path: str
    kind: Kind = "number"

    def value(self, answer: Any) -> Any:
        """The value in a data frame; lists are written as JSON."""
        value = _getter(self.path)(answer)
        if self.kind == "notes" or (self.kind == "list" and value is not None):
            return as_list(value or ())
        if self.kind == "codes":
            return " ".join(dict.fromkeys(warning.code for warning in value or ()))
        if self.kind == "counts":
            known = ((kind, getattr(value, kind)) for kind in ("exact", "bracketed", "sampled"))
            return " ".join(f"{kind}:{count}" for kind, count in known if count)
        return value

    def cell(self, answer: Any) -> str:
        """The value in CSV: numbers in full, flags as in JSON, missing values empty."""
        value = self.value(answer)
        if value is None:
            return ""
        if self.kind == "number":
            return repr(value)
        if self.kind == "flag":
            return "true" if value else "false"
        return for_csv(value) if self.kind == "text" else str(value)


def as_list(texts: Iterable[object]) -> str:
    """Ids or notes as a list of JSON."""
    return json.dumps([single_line(str(text)) for text in texts])


def values(columns: Iterable[Column], answer: Any) -> dict[str, Any]:
    """The row of an answer in a data frame."""
    return {column.name: column.value(answer) for column in columns}


def cells(columns: Iterable[Column], answer: Any) -> dict[str, str]:
    """The row of an answer in CSV."""
    return {column.name: column.cell(answer) for column in columns}


def below(path: str, columns: Sequence[Column]) -> tuple[Column, ...]:
    """The same columns below a path of another answer."""
    return tuple(replace(column, path=f"{path}.{column.path}") for column in columns)


@cache
def _getter(path: str) -> Callable[[Any], Any]:
    """A getter of the value at a path; made once, since a board calls it hundreds of thousands of times."""
    if "." not in path:
        return attrgetter(path)
    parts = [int(part) if part.isdecimal() else part for part in path.split(".")]

    def get(answer: Any) -> Any:
        for part in parts:
            if answer is None:
                return None
            answer = answer[part] if isinstance(part, int) else getattr(answer, part)
        return answer

    return get


def named(*names: str, at: str = "", kind: Kind = "number") -> tuple[Column, ...]:
    """Columns named after their values, in the answer or below its path `at`."""
    return tuple(Column(name, f"{at}.{name}" if at else name, kind) for name in names)


_P_VALUE = (
    *named("p_value", "log10_p_value"),
    Column("p_value_low", "p_value_bounds.0"),
    Column("p_value_high", "p_value_bounds.1"),
    Column("p_value_bounds_kind", "p_value_bounds_kind", "word"),
)
# The number of missing outcomes, and the extremes of the difference and the p-value over all their values.
MISSING = (
    Column("missing", "missing.n"),
    Column("missing_difference_worst", "missing.difference.0"),
    Column("missing_difference_best", "missing.difference.1"),
    Column("missing_p_value_least", "missing.p_value.0"),
    Column("missing_p_value_greatest", "missing.p_value.1"),
)
_DATA = (
    Column("statistic", "statistic.name", "text"),
    Column("observed", "statistic.observed"),
    Column("name_u", "names.u", "text"),
    Column("u", "statistic.u"),
    Column("name_v", "names.v", "text"),
    Column("v", "statistic.v"),
    *named("n", "nonzero", "clusters", "wins", "ties", "losses", at="items"),
    *MISSING,
)
_INTERVAL = (
    Column("confidence_level", "confidence_interval.level"),
    Column("interval_low", "confidence_interval.low"),
    Column("interval_high", "confidence_interval.high"),
    Column("interval_method", "confidence_interval.method", "word"),
    Column("interval_kind", "confidence_interval.kind", "word"),
)
_DESCRIPTION = (
    *_INTERVAL,
    Column("interval_resolution", "confidence_interval.resolution"),
    *named("cohens_d_z", "cliffs_delta", at="effect_size"),
    *named("only_u", "only_v", "odds", "odds_low", "odds_high", at="effect_size.discordant"),
    Column("moved_toward_u", "moved.toward_u", "list"),
    Column("moved_toward_v", "moved.toward_v", "list"),
)
# With an `interval_method`, an empty end is unbounded; with `only_u` and `only_v`, empty odds are infinite.
TEST = (
    *_P_VALUE,
    Column("significant", "significant", "flag"),
    *named("alpha", "min_attainable_p"),
    *named("alternative", "test", kind="word"),
    Column("metric", "statistic.metric", "text"),
    Column("higher_is_better", "statistic.higher_is_better", "flag"),
    *_DATA,
    Column("item_level_p_value", "item_level.p_value"),
    Column("method", "method.name", "word"),
    Column("exact", "method.exact", "flag"),
    Column("relative_error_bound", "method.relative_error_bound"),
    Column("warnings", "warnings", "codes"),
    *_DESCRIPTION,
    Column("notes", "reading.notes", "notes"),
)
# A metric of a gate. `p_value_adjusted` was compared with `alpha`.
METRIC = (
    Column("metric", "name", "text"),
    Column("against", "against", "text"),
    Column("verdict", "verdict", "word"),
)
TERMS = (
    Column("policy", "policy", "word"),
    *named("margin", "alpha"),
    Column("higher_is_better", "higher_is_better", "flag"),
)
GATE = (Column("gate_verdict", "verdict", "word"), Column("gate_passed", "passed", "flag"))
GATE_TERMS = named("on_inconclusive", "correction", kind="word")
DECISION = (
    *named("procedure", "alternative", at="decision", kind="word"),
    Column("difference", "decision.difference"),
    *below("decision", _P_VALUE),
    Column("exact", "decision.exact", "flag"),
    *named("min_attainable_p", "p_value_adjusted", "log10_p_value_adjusted", at="decision"),
    Column("significant", "decision.significant", "flag"),
    *below("test", _DATA),
    Column("method", "test.method.name", "word"),
    Column("warnings", "test.warnings", "codes"),
    *below("test", _DESCRIPTION),
    Column("reason", "reason", "text"),
    Column("notes", "test.reading.notes", "notes"),
)
SYSTEM = (
    Column("name", "name", "text"),
    *named("score", "n", "rank", "rank_low", "rank_high", "cluster", "tier"),
    Column("letters", "letters", "word"),
    Column("in_best_set", "in_best_set", "flag"),
    *named("better_than", "worse_than"),
    *(Column(f"interval_{name}", f"interval.{name}") for name in ("low", "high")),
    Column("interval_method", "interval.method", "word"),
)
# Of a system with costs.
FRONTIER = (
    *named("cost"),
    Column("excluded", "excluded", "flag"),
    Column("dominated_by", "dominated_by", "text"),
    Column("dominated_p_value", "p_value"),
    Column("dominated_p_adjusted", "p_adjusted"),
)
PAIR = (
    *named("u", "v", kind="text"),
    *named("n", "difference"),
    *_P_VALUE,
    *named("p_adjusted", "log10_p_adjusted"),
    Column("p_adjusted_low", "p_adjusted_bounds.0"),
    Column("p_adjusted_high", "p_adjusted_bounds.1"),
    *named("p_adjusted_bounds_kind", "p_adjusted_certainty", "relation", kind="word"),
    *named("min_attainable_p", "wins", "ties", "losses"),
    Column("method", "method", "word"),
    Column("exact", "exact", "flag"),
    *_INTERVAL,
)
COMPARISON = (
    *named("statistic", "metric", kind="text"),
    Column("higher_is_better", "higher_is_better", "flag"),
    Column("compare", "compare", "word"),
    Column("baseline", "baseline", "text"),
)
FAMILY = (
    Column("adjust", "family.adjust", "word"),
    Column("family_size", "family.size"),
    Column("alpha", "family.alpha"),
    Column("certainty", "family.certainty", "counts"),
)
# Power; then a column for each number of a point of the curve.
POWER = (
    Column("solve", "solve", "word"),
    *(Column(f"solution_{name}", f"solution.{name}") for name in ("n", "n_always", "effect", "power")),
    *named("wanted_power", "alpha", "comparisons"),
    Column("alternative", "alternative", "word"),
    *named("critical_difference", "actual_alpha"),
    Column("method", "method.name", "word"),
    Column("warnings", "warnings", "codes"),
    *(Column(f"solution_{name}", f"solution.{name}") for name in ("floor", "false_alarm")),
)
POINT = named("n", "effect", "power")

Row = Callable[[Iterable[Column], Any], dict[str, Any]]  # `values` or `cells`


def metric_row(row: Row, gate: Any, metric: Any) -> dict[str, Any]:
    """A metric of a gate."""
    return {
        **row(METRIC, metric),
        **row(GATE, gate),
        **row(TERMS, metric),
        **row(GATE_TERMS, gate),
        **row(DECISION, metric),
    }


def member_row(row: Row, comparison: Any, member: Any, columns: Sequence[Column]) -> dict[str, Any]:
    """A system or a pair of a board; a system with its strength, if there is one, and its costs, if there is a frontier."""
    frontier = comparison.frontier if columns is SYSTEM else None
    of = () if frontier is None else (system for system in frontier.systems if system.name == member.name)
    strengths = comparison.bradley_terry if columns is SYSTEM else None
    strength = {} if strengths is None else {"bradley_terry": strengths[member.name]}
    return (
        row(columns, member)
        | strength
        | {name: value for one in of for name, value in row(FRONTIER, one).items()}
    )


def board_row(row: Row, comparison: Any, board: Any) -> dict[str, Any]:
    """The columns after those of the systems and the pairs of a board."""
    codes = dict.fromkeys(warning.code for warning in (*comparison.warnings, *board.warnings))
    return {**row(COMPARISON, comparison), **row(FAMILY, board), "warnings": " ".join(codes)}
