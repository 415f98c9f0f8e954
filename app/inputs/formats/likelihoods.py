"""Metrics of lm-evaluation-harness whose value for a document is no score: log-likelihoods, and lists of right and wrong.

`word_perplexity`, `byte_perplexity` and `bits_per_byte` hold the document's log-likelihood and its number of words or bytes;
the metric is exp of minus their ratio over all documents (bits per byte: the ratio over ln 2). `perplexity` holds the
log-likelihood alone, and is exp of minus its mean. Words and bytes are those of the same texts, so that swapping two
systems' outputs leaves the sum of both totals as it is: the p-value of the total log-likelihood is that of the
perplexity. What is read is minus the log-likelihood in nats, as it is written. IFEval's `inst_level_*` hold a list of booleans;
the metric is the share of true over all instructions. (lm_eval/api/task.py, process_results; lm_eval/api/metrics.py,
weighted_perplexity, bits_per_byte; lm_eval/tasks/ifeval/utils.py, agg_inst_level_acc.)
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ...inference.reading import Remark
from ...statistics.paired import StatisticSpec
from ..quoting import quoted
from .number_text import NumberReader
from .outputs_by_id import SystemOutputs
from .source import Source

UNITS = {"word_perplexity": "words", "byte_perplexity": "bytes", "bits_per_byte": "bytes"}
PERPLEXITY = "perplexity"
METRIC = "nll"  # negative log-likelihood
WHAT = (
    "A document's score is minus its log-likelihood, in nats. Both systems' texts are the same, so that the p-value is that of "
    "the perplexity as well."
)
RIGHT_OF = ("right", "instructions")
RATIO = StatisticSpec("ratio", {"numerator": RIGHT_OF[0], "denominator": RIGHT_OF[1]})
OF_LISTS = (
    "A document has a list of right and wrong; the statistic is the share of right over all instructions."
)

Row = tuple[int, str, Any, str | None]  # line, document, value, cluster


@dataclass(slots=True)
class Likelihoods:
    """Minus the log-likelihood of each document, and the units (words, bytes) of its text, where they are written."""

    outputs: SystemOutputs
    units: list[int] = field(default_factory=list)


def is_likelihood(metric: str, value: Any) -> bool:
    """Whether the values of this metric are log-likelihoods."""
    return (metric in UNITS and isinstance(value, list)) or (
        metric == PERPLEXITY and not isinstance(value, list | dict)
    )


def is_booleans(value: Any) -> bool:
    """Whether a value is a list of right and wrong."""
    return isinstance(value, list) and len(value) > 0 and all(isinstance(one, bool) for one in value)


def is_special(metric: str, value: Any) -> bool:
    """Whether this module reads the metric."""
    return is_likelihood(metric, value) or is_booleans(value)


def outputs(source: Source, metric: str, rows: Iterable[Row], reader: NumberReader) -> Likelihoods:
    """The log-likelihoods of a system; raises InvalidTest at the line of what is none."""
    found = Likelihoods(SystemOutputs(source))
    for line, key, value, cluster in rows:
        likelihood: Any = value
        units: Any = 1
        if metric in UNITS:
            if not isinstance(value, list) or len(value) != 2:
                detail = f"{metric} is not a log-likelihood and a number of {UNITS[metric]}."
                raise source.refused(line, "not_a_likelihood", detail, metric)
            likelihood, units = value
        if isinstance(units, bool) or not isinstance(units, int) or not 0 < units < 2**53:
            detail = f"the number of {UNITS[metric]} is not a positive integer."
            raise source.refused(line, "not_a_count", detail, metric, 1)
        number = (
            None if isinstance(likelihood, bool) else reader.of_json(likelihood, source.line(line, metric))
        )
        if isinstance(likelihood, bool) or (number is not None and number > 0):
            detail = "a log-likelihood is not above 0; this is none, so that its direction is not known."
            raise source.refused(line, "not_a_likelihood", detail, metric)
        found.outputs.add(key, None if number is None else 0 - number, f"line/{line}", cluster)
        found.units.append(units)
    return found


def require_same_text(u: Likelihoods, v: Likelihoods) -> None:
    """Refuse documents with another number of words or bytes in v than in u; raises InvalidTest."""
    for key, place in u.outputs.index.items():
        other = v.outputs.index.get(key)
        if other is not None and u.units[place] != v.units[other]:
            line = int(v.outputs.paths[other].removeprefix("line/"))
            detail = f"the document {quoted(key)} has {v.units[other]:,} words or bytes here and {u.units[place]:,} in u: these are other texts."
            raise v.outputs.source.refused(line, "text_mismatch", detail)


def note(metric: str, system: Likelihoods, role: str) -> Remark:
    """The metric itself, of all documents of a system."""
    known = [
        (value, units)
        for value, units in zip(system.outputs.values, system.units, strict=True)
        if value is not None
    ]
    total, units = math.fsum(value for value, _ in known), sum(units for _, units in known)
    mean = total / units if units else math.nan
    what = UNITS.get(metric, "documents")
    if metric == "bits_per_byte":
        return Remark(role, f"{metric} {mean / math.log(2):.6g}, over {units:,} {what}.")
    written = f"{math.exp(mean):.6g}" if mean < 700 else f"exp({mean:.6g})"
    return Remark(role, f"{metric} {written}, over {units:,} {what}.")


def rights(source: Source, rows: Iterable[Row]) -> SystemOutputs:
    """How many are right, and of how many, in each document; raises InvalidTest where a value is no list of booleans."""
    found = SystemOutputs(source)
    for line, key, value, cluster in rows:
        if not is_booleans(value):
            raise source.refused(
                line,
                "not_booleans",
                "the value is no list of true and false, as that of the first document is.",
            )
        found.add(key, (sum(value), len(value)), f"line/{line}", cluster)
    return found
