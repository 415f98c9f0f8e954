"""Records in plain sentences: the test, the items, the size of the difference, and its certainty.

Every function takes `say`, which escapes a label for the output format. The certainty of a number is exact,
bracketed, sampled or asymptotic.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

from ..answers.gate import Decision, GateRecord, MetricRecord, Verdict
from ..answers.test import (
    OF_SEVERAL,
    ConfidenceInterval,
    ItemLevel,
    ItemsRecord,
    MonteCarloRecord,
    TestRecord,
)
from ..presentation.escaping import for_sentence
from ..presentation.numbers import (
    SMALLEST_WRITTEN,
    apart,
    counted,
    enclosing,
    enclosing_p,
    exactly,
    number,
    percent,
    probability,
)
from ..presentation.words import VERDICTS, p_text, slices_sentence
from ..statistics.names import Say, directed, measured, metric_title

Kind = Literal["exact", "bracketed", "sampled", "asymptotic"]

_EMPTY_TAIL = "bootstrap_empty_tail"
_CONTROLLED = ", with a control variate"


def kind(record: TestRecord) -> Kind:
    """The certainty of the p-value, in one word."""
    if record.method.exact:
        return "exact"
    return "sampled" if record.method.monte_carlo is not None else "bracketed"


def manner(record: TestRecord) -> str:
    """The certainty of the p-value, naming a control variate."""
    return f"{kind(record)}{_CONTROLLED if _is_controlled(record) else ''}"


def kind_of_decision(decision: Decision) -> Kind:
    """The certainty of the p-value behind a verdict, in one word."""
    if decision.p_value_bounds_kind == "asymptotic":
        return "asymptotic"
    if decision.p_value_bounds_kind == "confidence":
        return "sampled"
    return "exact" if decision.exact else "bracketed"


def manner_of_decision(metric: MetricRecord) -> str:
    """The certainty of the p-value behind a verdict, naming a control variate.

    Tests of margins are of one sum, without a control variate: with one, the decision is the test itself.
    """
    known = kind_of_decision(metric.decision)
    return f"{known}{_CONTROLLED if known == 'sampled' and _is_controlled(metric.test) else ''}"


def _is_controlled(record: TestRecord) -> bool:
    drawn = record.method.monte_carlo
    return drawn is not None and drawn.control is not None


def item_level_p_text(level: ItemLevel, alpha: float) -> str:
    """The p-value by item: a sampled one has no interval here."""
    return probability(level.p_value, level.log10_p_value, alpha, digits=6 if level.exact else 3)


def plain_probability(p: float | None, *landmarks: float) -> str:
    """A probability that is not the p-value of a record; a double holds it."""
    if p is None:
        return "unknown"
    return probability(p, math.log10(p), *landmarks)


def undecided(record: TestRecord) -> bool:
    """Whether alpha lies between the bounds of the p-value, so that significance is open.

    With missing outcomes, the bounds cover all their values.
    """
    if record.missing is not None:
        low, high = record.missing.p_value
        return low <= record.alpha < high and not record.significant
    low, high = record.p_value_bounds
    return low <= record.alpha < high and low < high


class MissingWords(NamedTuple):
    """The number of missing outcomes, and the ends of the difference and p-value over all their values."""

    n: int
    worst: str
    best: str
    low: str
    high: str

    @property
    def outcomes(self) -> str:
        """The beginning of a sentence."""
        return "1 outcome is missing" if self.n == 1 else f"{self.n:,} outcomes are missing"


def missing_words(record: TestRecord) -> MissingWords | None:
    """The effect of missing outcomes; None if none is missing."""
    missing = record.missing
    if missing is None:
        return None
    worst, best = (number(end, 0.0) for end in missing.difference)
    return MissingWords(missing.n, worst, best, *enclosing_p(*missing.p_value, record.alpha))


def of_the_missing(record: TestRecord) -> str | None:
    """The effect of missing outcomes in a sentence; None if none is missing."""
    missing = missing_words(record)
    if missing is None:
        return None
    decided = "significant" if record.significant else "not significant"
    so = (
        "whether it is significant depends on them"
        if undecided(record)
        else f"whatever they are, it is {decided} at {exactly(record.alpha)}"
    )
    return (
        f"{missing.outcomes}, and the numbers above are for the complete items only. Over all items the "
        f"difference is between {missing.worst} and {missing.best}, and p between {missing.low} and "
        f"{missing.high}: {so}."
    )


def with_probability(record: TestRecord) -> str:
    """The text after "would come about with probability": the number, its certainty, and the method."""
    method, p = record.method, p_text(record)
    certain = kind(record)
    if certain == "sampled" and method.monte_carlo is not None:
        low, high = enclosing_p(*record.p_value_bounds, record.alpha)
        drawn = method.monte_carlo
        control = "" if drawn.control is None else " and a control variate"
        return (
            f"of about {p} (99 % confidence {low} to {high}, estimated from {drawn.samples:,} samples with seed "
            f"{drawn.seed}{control}, {record.alternative})"
        )
    if any(warning.code == _EMPTY_TAIL for warning in record.warnings):
        return f"of at most {p} (a certified bound, {record.alternative}, by {method.name})"
    if certain == "bracketed" and record.p_value >= SMALLEST_WRITTEN:
        low, high = enclosing_p(*record.p_value_bounds, record.alpha)
        return f"between {low} and {high} (certified bounds of the exact value, {record.alternative})"
    return f"{p} ({certain}, {record.alternative}, by {method.name})"


def of_the_p_value(record: TestRecord) -> str:
    """A sentence on how the p-value was computed and how large its error can be."""
    method = record.method
    if kind(record) == "sampled" and method.monte_carlo is not None:
        drawn = method.monte_carlo
        if drawn.control is not None:
            return _of_the_control(drawn)
        return (
            f"Sampled: {drawn.exceedances:,} of {drawn.samples:,} random samples (seed {drawn.seed}) were "
            "at least as extreme; the exact value lies inside the 99 % confidence interval with 99 % "
            "confidence."
        )
    if kind(record) == "bracketed":
        return (
            "Bounded: the exact value always lies between the two bounds; the p-value shown is a number "
            "between them."
        )
    if not method.relative_error_bound:
        return f"Exact: computed by {method.name} in integers, without rounding error."
    error = f"{method.relative_error_bound:.2g}"
    return f"Exact: computed by {method.name}; the rounding error is certified to be at most {error} of the value."


def _of_the_control(drawn: MonteCarloRecord) -> str:
    """The contribution of samples to the exact p-value of the linear part."""
    return (
        "Sampled, with a control variate: the statistic's linear part about the mean of both systems has "
        f"the exact p-value {plain_probability(drawn.control_p_value)}; of {drawn.samples:,} random samples "
        f"(seed {drawn.seed}) {drawn.gained or 0:,} were at least as extreme where the linear part was not, "
        f"and {drawn.lost or 0:,} the reverse. The exact value lies inside the 99 % confidence interval "
        "with 99 % confidence."
    )


def ends(interval: ConfidenceInterval) -> tuple[str | None, str | None]:
    """The ends of an interval, on their sides of zero; certified ends are rounded outwards."""
    low, high = interval.low, interval.high
    if interval.kind in {"exact", "bounded"}:
        below, above = enclosing(0.0 if low is None else low, 0.0 if high is None else high, 0.0)
        return None if low is None else below, None if high is None else above
    return None if low is None else number(low, 0.0), None if high is None else number(high, 0.0)


def interval_text(interval: ConfidenceInterval) -> str:
    """The ends in words: "0.02 to 0.07", or open if data of this size cannot set an end."""
    low, high = ends(interval)
    if low is None and high is None:
        return "unbounded"
    if high is None:
        return f"{low} and above"
    return f"{high} and below" if low is None else f"{low} to {high}"


def of_the_interval(interval: ConfidenceInterval, alternative: str) -> str:
    """How an interval was computed and how certain its ends are."""
    if interval.method in _INTERVALS:
        return _INTERVALS[interval.method]
    if interval.method == "bootstrap_percentile":
        return f"percentiles of the bootstrap distribution, {interval.kind}"
    same = "inverting the same test" if alternative == "two-sided" else "inverting the two-sided test"
    if interval.kind == "bounded":
        return f"{same}, each end at most {number(interval.resolution)} too far out"
    return f"{same}, {interval.kind}"


def interval_sentence(record: TestRecord) -> str | None:
    """The interval in a sentence; None without one."""
    interval = record.confidence_interval
    if interval is None:
        return None
    title = f"The {percent(interval.level)} confidence interval of the difference"
    if interval.low is None and interval.high is None:
        return f"{title} is unbounded: so few items cannot rule out any difference."
    how = of_the_interval(interval, record.alternative)
    return f"{title} is {interval_text(interval)} ({how})."


def of_the_correction(record: TestRecord, say: Say) -> str | None:
    """The correction in sentences, with its condition; None without one."""
    made = record.correction
    if made is None:
        return None
    if made.coefficients is not None:
        listed = ", ".join(f"{say(name)} ({exactly(value)})" for name, value in made.coefficients.items())
        return f"The scores are corrected for {listed}: without that the difference is {number(made.difference or 0.0, 0.0)}."
    return (
        f"The scores are a judge's, corrected by people's labels of {made.labelled:,} of {record.items.n:,} items (lambda "
        f"{exactly(made.lambda_ or 0.0)}): by the judge alone the difference is {number(made.judge_difference or 0.0, 0.0)}, by the labels "
        f"alone {number(made.labelled_difference or 0.0, 0.0)}. Where the judge favours a system and people see no difference, the p-value "
        "is approximate, and good for about 60 labels or more."
    )


def of_the_positions(record: TestRecord) -> str | None:
    """Which place won how many battles; None for other data."""
    bias = record.position_bias
    return (
        None
        if bias is None
        else (
            f"The model that was shown first won {counted(bias.first, 'battle')} and the second {bias.second:,}, with "
            f"{counted(bias.ties, 'tie')}: if the place did not matter, a split at least as uneven would come about with probability "
            f"{plain_probability(bias.p_value)}, where both orders were asked or the order was drawn."
        )
    )


_ROLES = (("candidate", "baseline"), ("candidate", "threshold"))
_INTERVALS = {
    "tango_score": "Tango's score interval, asymptotic",
    "clopper_pearson": "Clopper and Pearson's interval, exact",
    "convex_bound": "from a bound that holds for all scores in their range",
}
SYMBOLS: dict[Verdict, str] = {"pass": "✓", "fail": "✗", "inconclusive": "?", "continue": "…"}  # fmt: skip


class Names(NamedTuple):
    """The names of the two systems, escaped."""

    u: str
    v: str


def measured_in(record: TestRecord, say: Say) -> str:
    """The names of a test's systems."""
    return measured(record.statistic.name, record.statistic.metric, say)


def by_name(statistic: str, metric: str | None, say: Say) -> str:
    """The statistic and metric by their names in requests and files: `ratio` of `wer`."""
    return say(statistic) if metric in {None, statistic} else f"{say(statistic)} of {say(metric or '')}"


def metric_name(metric: MetricRecord, say: Say) -> str:
    """A gate's metric in words, or by its name in the request."""
    statistic = metric.test.statistic
    if metric.name in {statistic.metric, statistic.name}:
        return metric_title(statistic.name, statistic.metric, say)
    return say(metric.name)


def names_of(record: TestRecord, say: Say) -> Names:
    """The labels of the systems, with (U) and (V) if they are equal; "the candidate" without a label."""
    if (record.name_u, record.name_v) in _ROLES:
        return Names(f"the {record.name_u}", f"the {record.name_v}")
    u, v = say(record.name_u), say(record.name_v)
    return Names(f"{u} (U)", f"{v} (V)") if u == v else Names(u, v)


def head(gate: GateRecord) -> str:
    """The verdict in capitals; if inconclusive, with what it counts as."""
    if gate.verdict != "inconclusive":
        return VERDICTS[gate.verdict]
    return f"{VERDICTS[gate.verdict]}, counted as a {'pass' if gate.passed else 'failure'}"


def capitalised(sentence: str) -> str:
    """Capitalize our words, but not names of systems."""
    return sentence[0].upper() + sentence[1:] if sentence.startswith(("the ", "on ", "of ")) else sentence


EXCHANGED = {"runs": "the runs of each item", "both": "items, and the runs of each item"}


def sentences(record: TestRecord, say: Say = for_sentence) -> tuple[str, ...]:
    """A test: the estimate, the p-value, the interval, and with clusters the p-value by item."""
    parts = [
        estimate(record, names_of(record, say), say),
        chance(record, names_of(record, say)),
        of_the_exchange(record),
        of_the_correction(record, say),
        of_the_positions(record),
        interval_sentence(record),
        _of_the_error(record),
        _by_item(record),
        of_the_missing(record),
        "" if record.slices is None else slices_sentence(record.slices, record.alpha, say),
    ]
    return tuple(part for part in parts if part)


def summary(gate: GateRecord, say: Say = for_sentence) -> str:
    """The verdict on several metrics or against several baselines, and which of them decided."""
    deciders = [metric for metric in gate.metrics if metric.verdict == gate.verdict]
    verb = _VERBS[gate.verdict][len(deciders) > 1]
    listed = ", ".join(metric_name(metric, say) for metric in deciders[:_LISTED])
    more = f" and {len(deciders) - _LISTED} more" if len(deciders) > _LISTED else ""
    count = f"{len(deciders)} of {gate.family} {verb}"
    return f"{head(gate)} – {count}: {listed}{more}. The p-values are adjusted together by Holm's method."


def metric_sentences(metric: MetricRecord, say: Say = for_sentence) -> tuple[str, ...]:
    """The difference of one metric, as better or worse, and its interval."""
    record = metric.test
    up, down = ("better", "worse") if metric.terms.higher_is_better else ("worse", "better")
    parts = [
        estimate(record, names_of(record, say), say, up, down),
        of_the_correction(record, say),
        of_the_positions(record),
        interval_sentence(record),
        _missing_in_gate(record),
        sensitivity_sentence(metric),
        "" if metric.slices is None else slices_sentence(metric.slices, metric.alpha, say),
    ]
    return tuple(part for part in parts if part)


def sensitivity_sentence(metric: MetricRecord) -> str:
    """The difference that the deciding test could have found, unless it found one."""
    sensitivity = metric.sensitivity
    if sensitivity is None or metric.decision.significant:
        return ""
    if sensitivity.minimum_detectable_effect is None:
        return "No difference on these items would have been found reliably."
    beyond = " beyond the margin" if metric.terms.margin else ""
    about = "" if sensitivity.exact else " about"
    return (
        f"The test could have found a true difference of{about} "
        f"{number(sensitivity.minimum_detectable_effect)}{beyond} with probability {exactly(sensitivity.power)}."
    )


def estimate(record: TestRecord, names: Names, say: Say, up: str = "higher", down: str = "lower") -> str:
    """The scores of both systems, the number of items, and the lead of one system."""
    statistic, over = record.statistic, f"over {over_items(record.items)}"
    name = statistic.name
    if statistic.u is None or statistic.v is None:
        value = OF_SEVERAL.get(name) or say(name)
        return capitalised(f"on {over_items(record.items)} {value} came to {number(statistic.observed)}.")
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
    """The number of items, and of clusters that swap as one."""
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
    """The sign test counts items, even if whole clusters swap."""
    items = record.items
    tied = items.n - int(u) - int(v)
    return (
        f"{names.u} had the higher {title} on {int(u):,} and {names.v} on {int(v):,} of {over_items(items)}; "
        f"they tied on {tied:,}: {_lead_of_ranks(record.statistic.observed, names)}."
    )


def chance(record: TestRecord, names: Names) -> str:
    """The probability of such a difference under the null hypothesis, and its significance."""
    if record.items.nonzero == 0 and record.test in {"permutation", "bootstrap"}:
        return "The systems do not differ on any item, so a test cannot show anything: p is 1."
    tested = "item" if record.items.clusters is None else "cluster"
    if record.test in {"binomial", "convex_bound"}:
        condition = f"If the true mean were {number(record.statistic.v or 0.0)}"
    elif record.test == "bootstrap":
        condition = f"If the true difference were 0 and {tested}s were drawn anew with replacement"
    elif record.statistic.name == "interaction":
        condition = "If the two differences of an item were exchangeable"
    elif record.exchange == "runs":
        condition = "If all runs of an item, of both systems, came from one distribution"
    elif record.exchange == "both":
        condition = "If it did not matter which system gave which output, or if all runs of an item came from one distribution"
    elif tested == "cluster":
        condition = "If it did not matter which system gave which cluster of outputs"
    else:
        condition = "If it did not matter which system gave which output"
    return (
        f"{condition}, {_at_least(record, names)} would come about with probability "
        f"{with_probability(record)}, {_so(record)}."
    )


def of_the_exchange(record: TestRecord) -> str:
    """What a test that exchanges runs generalizes to, "" for any other."""
    if record.exchange not in {"runs", "both"}:
        return ""
    more = ", not of new items" if record.exchange == "runs" else ""
    return f"It exchanged {EXCHANGED[record.exchange]}, and speaks of {record.generalises_to}{more}."


def _of_the_error(record: TestRecord) -> str:
    """The standard error, and what would lower it, "" where it is not known."""
    advice = None if record.repeats is None else record.repeats.advice
    if advice is None:
        return ""
    now = f"The difference has a standard error of {number(advice.standard_error)}"
    if record.exchange == "runs":
        return f"{now}; with twice the runs of these items it would be {number(advice.twice_the_runs)}."
    return (
        f"{now}; with twice the items it would be {number(advice.twice_the_items)}, with twice the runs of each item "
        f"{number(advice.twice_the_runs)}."
    )


def _at_least(record: TestRecord, names: Names) -> str:
    """The event whose probability the p-value is."""
    scored = record.statistic.u is not None and record.statistic.v is not None
    if record.alternative == "two-sided":
        return (
            "a difference at least this large, in either direction,"
            if scored
            else f"a value at least as far from {number(record.null.mean)}"
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
        return "on the complete items only"
    if undecided(record):
        return f"so whether it is significant at {alpha} is open: alpha lies within the bounds (counted as {verdict})"
    if record.min_attainable_p is not None and record.min_attainable_p > record.alpha:
        least = probability(record.min_attainable_p, 0.0, record.alpha)
        return f"so it is {verdict} at {alpha}; no outcome on these items could have had p below {least}"
    return f"so it is {verdict} at {alpha}"


def _missing_in_gate(record: TestRecord) -> str | None:
    """A note that the difference is not over all items; the reason has the rest."""
    missing = missing_words(record)
    if missing is None:
        return None
    return f"{missing.outcomes}: over all items the difference is between {missing.worst} and {missing.best}."


def _by_item(record: TestRecord) -> str | None:
    level = record.item_level
    if level is None:
        return None
    p = item_level_p_text(level, record.alpha)
    return (
        f"If every item were exchanged separately, p would be {p}; items of a cluster are not independent, "
        "so the clustered test counts."
    )
