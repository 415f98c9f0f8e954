"""The command line of the paper's authors (rycolab/paired-perm-test, run.py): `--metric acc|F1 [--MC K] [--delim ,|tab]`.

Their files have no header: two columns of whole numbers (correct of each system, by item), or four (true positives and
incorrect of each, F1 = tp / (tp + incorrect / 2), 0 where there are none). Their p-value is P(|t| >= |observed t|),
as ours two-sided is. Where the two programs differ:

* theirs deletes outcomes of probability below 1e-8 (acc) or 1e-6 (F1) on the way, so that a small p-value becomes 0 and
  that of F1 loses weight from about 20 items on; ours deletes nothing;
* theirs compares differences of F1 as doubles, so that equal ones can differ in the last bit; ours counts ties exactly;
* with K samples theirs is b / K, which may be 0, of numbers that change every time; ours is (b + 1) / (K + 1) of
  samples that a seed fixes, with a 99 % interval around it;
* theirs fails where no item differs (acc); there p is 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

STATISTICS = {"acc": ("sum_difference", 2), "f1": ("f1", 4)}
COLUMNS = {2: "correct_u,correct_v", 4: "tp_u,incorrect_u,tp_v,incorrect_v"}
DELIMITERS = {",": ("csv", ","), "tab": ("tsv", "\t")}
MC = "--MC"


def translated(
    fields: Mapping[str, Any], given: Mapping[str, Any], content: bytes, path: str
) -> dict[str, Any]:
    """Our fields for the options of rycolab/paired-perm-test; `content` is that of the one file.

    `--metric acc` is theirs only with a file like theirs: lm-evaluation-harness has a metric of that name.

    Raises
    ------
        UsageError: options contradict each other, or the file does not have the columns of the metric.
    """
    result = dict(fields)
    if given.get("delim") is not None:
        _refuse_both(result, "--delim", "delimiter")
        result.setdefault("format", DELIMITERS[given["delim"]][0])
    if given.get("mc"):
        _refuse_both(result, MC, "method", "samples")
        result.update(method="monte_carlo", samples=given["mc"])
    metric = str(result.get("metric", "")).lower()
    width = _width(content, given.get("delim"))
    if metric in STATISTICS and width is not None:
        statistic, needed = STATISTICS[metric]
        _refuse_both(result, "--metric " + result["metric"], "statistic")
        if width != needed:
            raise click.UsageError(
                f"The metric {result['metric']} needs {needed} columns, {COLUMNS[needed]}; line 1 of {path} has {width}."
            )
        del result["metric"]
        result["statistic"] = statistic
    return result


def _width(content: bytes, delim: str | None) -> int | None:
    """How many whole numbers the first line has; None where it has anything else."""
    line = content[:10_000].decode("utf-8", "replace").lstrip("\ufeff\r\n").partition("\n")[0]
    delimiter = DELIMITERS[delim][1] if delim is not None else "\t" if "\t" in line else ","
    values = [value.strip() for value in line.split(delimiter)]
    whole = all(value.isascii() and value.isdigit() for value in values)
    return len(values) if whole and len(values) > 1 else None


def _refuse_both(fields: Mapping[str, Any], theirs: str, *ours: str) -> None:
    for name in ours:
        if name in fields:
            raise click.UsageError(
                f"{theirs} and --{name.replace('_', '-')} say the same thing; give one of them."
            )
