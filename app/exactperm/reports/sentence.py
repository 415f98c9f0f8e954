"""Records in plain sentences: what was tested, on how many items, how large the difference is, and how certain.

Every function takes `say`, which escapes a label for the output format.
"""

from __future__ import annotations

from ..answers.gate import GateRecord, MetricRecord, Verdict
from ..answers.test import ItemsRecord, TestRecord
from ..presentation.escaping import for_sentence
from ..presentation.numbers import apart, counted, exactly, number, probability
from ..statistics.measured import Say, directed, metric_title
from .certainty import interval_sentence, item_level_p_text, of_the_missing, undecided, with_probability
from .titles import Names, capitalised, head, metric_name, names_of


def sentences(record: TestRecord, say: Say = for_sentence) -> tuple[str, ...]:
    """A test: the estimate, the p-value, the interval, and with clusters the p-value by item."""
    parts = [
        estimate(record, names_of(record, say), say),
        chance(record, names_of(record, say)),
        interval_sentence(record),
        _by_item(record),
        of_the_missing(record),
    ]
    return tuple(part for part in parts if part)


def summary(gate: GateRecord, say: Say = for_sentence) -> str:
    """The verdict on several metrics or against several baselines, and which of them have it."""
    deciders = [metric for metric in gate.metrics if metric.verdict == gate.verdict]
    verb = _VERBS[gate.verdict][len(deciders) > 1]
    listed = ", ".join(metric_name(metric, say) for metric in deciders[:_LISTED])
    more = f" and {len(deciders) - _LISTED} more" if len(deciders) > _LISTED else ""
    count = f"{len(deciders)} of {gate.family} {verb}"
    return f"{head(gate)} – {count}: {listed}{more}. The p-values are adjusted together by Holm's method."


def metric_sentences(metric: MetricRecord, say: Say = for_sentence) -> tuple[str, ...]:
    """How large the difference of one metric is, as better or worse, and its interval."""
    record = metric.test
    up, down = ("better", "worse") if metric.terms.higher_is_better else ("worse", "better")
    parts = [
        estimate(record, names_of(record, say), say, up, down),
        interval_sentence(record),
        _missing_in_gate(record),
        sensitivity_sentence(metric),
    ]
    return tuple(part for part in parts if part)


def sensitivity_sentence(metric: MetricRecord) -> str:
    """What the deciding test could have found, unless it found something."""
    found = metric.sensitivity
    if found is None or metric.decision.significant:
        return ""
    if found.minimum_detectable_effect is None:
        return "No difference on these items could have been found so often as to be relied on."
    beyond = " beyond the margin" if metric.terms.margin else ""
    about = "" if found.exact else " about"
    return (
        f"The test could have found a true difference of{about} {number(found.minimum_detectable_effect)}{beyond} with "
        f"probability {exactly(found.power)}."
    )


def estimate(record: TestRecord, names: Names, say: Say, up: str = "higher", down: str = "lower") -> str:
    """The scores of both systems, over how many items, and by how much one is ahead."""
    statistic, over = record.statistic, f"over {over_items(record.items)}"
    name = statistic.name
    if statistic.u is None or statistic.v is None:
        return capitalised(f"on {over_items(record.items)} {say(name)} came to {number(statistic.observed)}.")
    title = directed(metric_title(name, statistic.metric, say), statistic.higher_is_better)
    if name == "sign":
        return capitalised(_wins(record, names, statistic.u, statistic.v, title))
    u, v = apart(statistic.u, statistic.v)
    lead = _lead(statistic.observed, names, up, down)
    if name == "signed_rank":
        ranks = f"the ranks of the differences sum to {u} where {names.u} had the higher {title} and to {v}"
        return capitalised(
            f"{ranks} where {names.v} had, {over}: {_lead_of_ranks(statistic.observed, names)}."
        )
    if name in _MEANS_AND_SUMS:
        known = statistic.metric is not None or statistic.higher_is_better is not None
        what = f"{_MEANS_AND_SUMS[name]} {title}" if known else _MEANS_AND_SUMS[name]
        scores = f"{names.u} scored {u} and {names.v} {v} in {what} {over}"
    else:
        scores = f"{names.u} reached {u} and {names.v} {v} in {title} {over}"
    return capitalised(f"{scores}: {lead}.")


_LISTED = 10
_VERBS: dict[Verdict, tuple[str, str]] = {
    "pass": ("passes", "pass"),
    "fail": ("fails", "fail"),
    "inconclusive": ("is undecided", "are undecided"),
    "continue": ("waits for more items", "wait for more items"),
}
_MEANS_AND_SUMS = {"mean_difference": "mean", "sum_difference": "total"}


def over_items(items: ItemsRecord) -> str:
    """How many items, and in how many clusters that swap as one."""
    if items.clusters is None:
        return counted(items.n, "item")
    return f"{counted(items.n, 'item')} in {counted(items.clusters, 'cluster')}"


def _lead(observed: float, names: Names, up: str, down: str) -> str:
    if observed == 0.0:
        return "no difference"
    return f"{names.u} is {up if observed > 0 else down} by {number(abs(observed))}"


def _lead_of_ranks(observed: float, names: Names) -> str:
    if observed == 0.0:
        return "no difference"
    return f"{number(abs(observed))} more for {names.u if observed > 0 else names.v}"


def _wins(record: TestRecord, names: Names, u: float, v: float, title: str) -> str:
    """The sign test counts items, also where whole clusters swap."""
    items = record.items
    tied = items.n - int(u) - int(v)
    return (
        f"{names.u} had the higher {title} on {int(u):,} and {names.v} on {int(v):,} of {over_items(items)}; "
        f"they tied on {tied:,}: {_lead_of_ranks(record.statistic.observed, names)}."
    )


def chance(record: TestRecord, names: Names) -> str:
    """How probable such a difference is under the null hypothesis, and whether that makes it significant."""
    if record.items.nonzero == 0:
        return "The systems do not differ on any item, so there is nothing that a test could show: p is 1."
    tested = "item" if record.items.clusters is None else "cluster"
    if record.test == "bootstrap":
        condition = f"If the true difference were 0 and {tested}s were drawn anew with replacement"
    elif tested == "cluster":
        condition = "If it did not matter which system gave which cluster of outputs"
    else:
        condition = "If it did not matter which system gave which output"
    return (
        f"{condition}, {_at_least(record, names)} would come about with probability {with_probability(record)}, "
        f"{_so(record)}."
    )


def _at_least(record: TestRecord, names: Names) -> str:
    """The event whose probability the p-value is."""
    scored = record.statistic.u is not None and record.statistic.v is not None
    if record.alternative == "two-sided":
        return (
            "a difference at least this large, in either direction,"
            if scored
            else "a value at least as far from 0"
        )
    side = "more" if record.alternative == "greater" else "less"
    observed = number(record.statistic.observed)
    return (
        f"a difference ({names.u} minus {names.v}) of {observed} or {side}"
        if scored
        else f"a value of {observed} or {side}"
    )


def _so(record: TestRecord) -> str:
    alpha = exactly(record.alpha)
    verdict = "significant" if record.significant else "not significant"
    if record.missing is not None:
        return "on the complete items alone"
    if undecided(record):
        return f"so whether it is significant at {alpha} is open: alpha lies within the bounds (counted as {verdict})"
    if record.min_attainable_p is not None and record.min_attainable_p > record.alpha:
        least = probability(record.min_attainable_p, 0.0, record.alpha)
        return f"so it is {verdict} at {alpha}; no outcome on these items could have had p below {least}"
    return f"so it is {verdict} at {alpha}"


def _missing_in_gate(record: TestRecord) -> str | None:
    """That the difference is not of all items; the reason says what that leaves open."""
    missing = record.missing
    if missing is None:
        return None
    worst, best = (number(end, 0.0) for end in missing.difference)
    outcomes = "1 outcome is" if missing.n == 1 else f"{missing.n:,} outcomes are"
    return f"{outcomes} missing: over all items the difference is between {worst} and {best}."


def _by_item(record: TestRecord) -> str | None:
    level = record.item_level
    if level is None:
        return None
    p = item_level_p_text(level, record.alpha)
    return (
        f"If every item were exchanged by itself, p would be {p}; items of a cluster are not independent, so the test "
        "of clusters counts."
    )
