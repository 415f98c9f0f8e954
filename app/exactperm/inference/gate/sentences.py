"""What a gate says in words. Systems are "candidate" and "baseline"; names are cut and made harmless."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence

from ...answers.gate import (
    GateTerms,
    MetricRecord,
    OnInconclusive,
    Policy,
    Verdict,
    family_of,
)
from ...answers.test import StatisticRecord, TestRecord
from ...presentation.numbers import exactly, probability
from ...presentation.words import decision_p_text
from ...statistics.names import direction, measured
from .decision import Judgement

_NAME_CHARS = 80
_NAMES = 10
_SMALLEST_WRITTEN = 1e-300

_HYPOTHESES: dict[Policy, str] = {
    "no_regression": "The candidate is not worse than {baseline}{by} ({statistic}), unless shown otherwise.",
    "non_inferior": "The candidate is shown not to be worse than {baseline}{by} ({statistic}).",
    "improve": "The candidate is shown to be better than {baseline}{by} ({statistic}).",
    "equivalent": "The candidate is shown to differ from {baseline} by less than {margin} ({statistic}).",
}
_SHOWN: dict[Policy, str] = {
    "no_regression": "the candidate is significantly worse than {baseline}{by}",
    "non_inferior": "the candidate is shown not to be worse than {baseline}{by}",
    "improve": "the candidate is significantly better than {baseline}{by}",
    "equivalent": "the candidate is shown to differ from {baseline} by less than {margin}",
}
_NOT_SHOWN: dict[Policy, str] = {
    "no_regression": "the candidate is not significantly worse than {baseline}{by}",
    "non_inferior": "it is not ruled out that the candidate is worse than {baseline}{by}",
    "improve": "the candidate is not significantly better than {baseline}{by}",
    "equivalent": "neither a difference below {margin} from {baseline} is shown, nor one of at least that",
}
_HEADS: dict[Verdict, str] = {
    "pass": "Passed",
    "fail": "Failed",
    "inconclusive": "Inconclusive",
    "continue": "Undecided yet",
}


def hypothesis(terms: GateTerms, statistic: StatisticRecord, against: str | None = None) -> str:
    """What the policy presumes, or wants shown."""
    named = f"{measured(statistic.name, statistic.metric, short)}; {direction(terms.higher_is_better)}"
    return _HYPOTHESES[terms.policy].format(statistic=named, **_words(terms, against))


def reason(
    terms: GateTerms,
    judgement: Judgement,
    record: TestRecord,
    family: str | None,
    against: str | None,
    *,
    same: bool = False,
) -> str:
    """Why the metric's verdict is what it is: the p-value against alpha, what follows, and by which procedure.

    `same`: no item differs.
    """
    outcome = (_SHOWN if judgement.finding == "shown" else _NOT_SHOWN)[terms.policy]
    outcome = outcome.format(**_words(terms, against))
    if judgement.finding == "different":
        return " ".join(
            [_different(terms, judgement, family, against), *_procedure(terms, judgement, record)]
        )
    if judgement.finding == "missing_straddle":
        outcome = "undecided, as it depends on what the missing outcomes are"
    if judgement.finding == "bounds_straddle":
        outcome = f"undecided, so {outcome}" if terms.policy in {"non_inferior", "improve"} else "undecided"
    sentences = [f"{_comparison(terms, judgement, family)}: {outcome}."]
    if judgement.finding == "unattainable" and same:
        sentences.append("No item differs between the two.")
    elif judgement.finding == "unattainable":
        least = probability(judgement.attainable, math.log10(judgement.attainable), terms.alpha)
        sentences.append(f"No outcome on these items could have had p below {least}: too few of them differ.")
    if judgement.finding == "not_known":
        sentences.append(
            "Whether any outcome on these items could have had p at or below alpha is not known."
        )
    if judgement.finding == "bounds_straddle":
        finer = "The method rational" if judgement.decision.exact else "More samples, or a finer precision,"
        sentences.append(f"{finer} would decide.")
    sentences.extend(_procedure(terms, judgement, record))
    return " ".join(sentences)


def _words(terms: GateTerms, against: str | None) -> dict[str, str]:
    return {"baseline": _baseline(against), "by": _by(terms), "margin": exactly(terms.margin)}


def _different(terms: GateTerms, judgement: Judgement, family: str | None, against: str | None) -> str:
    """That a difference of at least the margin is shown, by the p-value of that and not of equivalence."""
    equivalence = judgement.decision.equivalence
    assert equivalence is not None
    p = min(1.0, judgement.family * equivalence.p_value_different)
    log10_p = min(0.0, math.log10(judgement.family) + equivalence.log10_p_value_different)
    adjusted = f" (Bonferroni-adjusted over {family})" if family is not None else ""
    return (
        f"p = {probability(p, log10_p, terms.alpha)} <= alpha = {exactly(terms.alpha)}{adjusted}: the candidate is shown to "
        f"differ from {_baseline(against)} by {exactly(terms.margin)} or more."
    )


def _comparison(terms: GateTerms, judgement: Judgement, family: str | None) -> str:
    decision, alpha = judgement.decision, terms.alpha
    p = decision_p_text(decision, alpha)
    adjusted = f" (Holm-adjusted over {family})" if family is not None else ""
    if judgement.finding in {"bounds_straddle", "missing_straddle"}:
        low, high = judgement.bounds
        return f"p = {p} lies in [{low!r}, {high!r}], on both sides of alpha = {exactly(alpha)}{adjusted}"
    sign = "<=" if judgement.bounds[1] <= alpha else ">"
    return f"p = {p} {sign} alpha = {exactly(alpha)}{adjusted}"


def _procedure(terms: GateTerms, judgement: Judgement, record: TestRecord) -> list[str]:
    """What a margin's test rests on; nothing to say of the ordinary one."""
    decision = judgement.decision
    if decision.procedure == "bootstrap":
        return ["By the paired bootstrap."]
    if decision.procedure == "e_value":
        return ["By an e-value, which holds however often it is looked at; p is its inverse."]
    if decision.procedure == "tango_score":
        return ["By Tango's score test of paired proportions, which is asymptotic."]
    if not terms.margin:
        return []
    what = "items' differences" if record.items.clusters is None else "clusters' summed differences"
    kind = "exact permutation test" if decision.exact else "permutation test"
    return [
        f"By the {kind} of the {what} shifted by the margin; it takes them to scatter symmetrically round their mean."
    ]


def overall_reason(
    metrics: Sequence[MetricRecord], verdict: Verdict, deciding: MetricRecord, on_inconclusive: OnInconclusive
) -> str:
    """The gate's reason: which metrics decided, and the deciding one's own reason."""
    deciders = [metric.name for metric in metrics if metric.verdict == verdict]
    family = family_of([metric.against for metric in metrics])
    count = f" ({len(deciders)} of {family})" if family is not None else ""
    head = f"{_HEADS[verdict]} on {_listed(deciders)}{count}"
    tail = f" Counted as a {on_inconclusive}, as asked." if verdict == "inconclusive" else ""
    name = f"{short(deciding.name)}: " if len(deciders) > 1 else ""
    return f"{head}. {name}{deciding.reason}{tail}" if name else f"{head}: {deciding.reason}{tail}"


def short(name: str) -> str:
    """A caller's text on one line, without control and format characters, at most 80 characters."""
    kept = (" " if unicodedata.category(char)[0] in "CZ" else char for char in name)
    line = " ".join("".join(kept).split())
    cut = line if len(line) <= _NAME_CHARS else line[: _NAME_CHARS - 1] + "…"
    return cut or "(unnamed)"


def _baseline(against: str | None) -> str:
    """The baseline, with its name in quotes, which a name itself cannot close."""
    if against is None:
        return "the baseline"
    name = short(against).replace('"', "'")
    return f'the baseline "{name}"'


def _listed(names: Sequence[str]) -> str:
    shown = [short(name) for name in names[:_NAMES]]
    if len(names) > _NAMES:
        shown.append(f"{len(names) - _NAMES} more")
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def _by(terms: GateTerms) -> str:
    return f" by more than {exactly(terms.margin)}" if terms.margin else ""
