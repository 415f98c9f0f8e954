"""What a test is of, in words: the metric by the name that people give it, and which direction is better."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..errors import InvalidTest
from .catalogue import ENTRIES, STATISTICS
from .metrics import title_of
from .statistic import Kind, Statistic

# Whether there is a statistic of this name, and whether it takes these parameters


def statistic_of(kind: Kind, name: str) -> Statistic | None:
    """The entry of a statistic; None where there is no such statistic of this kind of data."""
    return next((entry for entry in STATISTICS[kind] if entry.name == name), None)


def require_known(kind: Kind, name: str, parameters: Mapping[str, Any]) -> Statistic:
    """The entry of a statistic; refuses an unknown one, parameters of others, and what is none of the choices."""
    entry = statistic_of(kind, name)
    if entry is None:
        detail = f"The statistic must be one of: {', '.join(entry.name for entry in STATISTICS[kind])}."
        raise InvalidTest.at("/statistic/name", "unknown_statistic", detail)
    known = {parameter.name: parameter for parameter in entry.parameters}
    for key, value in parameters.items():
        if value is None:
            continue
        pointer = f"/statistic/{key}"
        if key not in known:
            takes = f"it takes {', '.join(sorted(known))}" if known else "it takes none"
            detail = f"{key} is no parameter of {name}: {takes}.{_of_others(kind, key)}"
            raise InvalidTest.at(pointer, "unknown_parameter", detail)
        choices = known[key].choices
        if choices and value not in choices:
            raise InvalidTest.at(pointer, f"unknown_{key}", f"{key} must be one of: {', '.join(choices)}.")
        if known[key].type == "boolean" and not isinstance(value, bool):
            raise InvalidTest.at(pointer, "not_a_boolean", f"{key} must be true or false.")
    return entry


def _of_others(kind: Kind, parameter: str) -> str:
    """Which statistics take a parameter; one without a name is the first of its kind."""
    names = [entry.name for entry in STATISTICS[kind] if any(p.name == parameter for p in entry.parameters)]
    return f" It is one of {', '.join(names)}: name the statistic that is meant." if names else ""


# What a test is of, in words: the metric by the name that people give it, and which direction is b


Say = Callable[[str], str]  # escapes a label for its output

# Scores are named after their metric, and an expression is a label.
_TITLES = {
    entry.name: entry.title
    for entry in ENTRIES
    if entry.kind not in {"effects", "scores"} and entry.name != "expression"
}
# What a statistic of scores makes of them; a mean needs no word.
_OF_SCORES = {
    "mean_difference": "{}",
    "sum_difference": "total {}",
    "sign": "{}, wins and losses",
    "signed_rank": "{}, signed ranks",
    "median_difference": "median {}",
    "quantile_difference": "quantile of {}",
}
NO_NAME = "score"  # of scores that nothing names


def statistic_title(name: str, say: Say) -> str:
    """A known metric or statistic as people call it, any other name as a label."""
    return title_of(name) or _TITLES.get(name) or say(name)


def metric_title(statistic: str, metric: str | None, say: Say) -> str:
    """What was measured, by its own name: the metric of the files, else the statistic; `score` where neither is a name.

    >>> metric_title("ratio", "wer", str), metric_title("span_f1", None, str), metric_title("sign", None, str)
    ('WER', 'entity F1', 'score')
    """
    if metric is not None:
        return statistic_title(metric, say)
    return NO_NAME if statistic in _OF_SCORES else statistic_title(statistic, say).removeprefix("the ")


def measured(statistic: str, metric: str | None, say: Say) -> str:
    """What a difference is of.

    >>> measured("mean_difference", "ndcg_cut_10", str), measured("mean_difference", None, str)
    ('nDCG@10', 'mean score')
    >>> measured("sum_difference", "cost", str), measured("accuracy", "las", str)
    ('total cost', 'LAS')
    """
    if statistic == "mean_difference" and metric is None:
        return f"mean {NO_NAME}"
    return _OF_SCORES.get(statistic, "{}").replace("{}", metric_title(statistic, metric, say))


def direction(higher_is_better: bool | None) -> str:
    """Which direction is better; empty where that is not known."""
    if higher_is_better is None:
        return ""
    return "higher is better" if higher_is_better else "lower is better"


def directed(name: str, higher_is_better: bool | None) -> str:
    """A metric's name with its direction, where that is known: WER (lower is better)."""
    better = direction(higher_is_better)
    return f"{name} ({better})" if better else name
