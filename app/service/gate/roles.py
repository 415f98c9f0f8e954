"""What a gate must know before it decides: which system is the candidate, and which direction is better.

A test can be read either way; a verdict cannot. A gate that does not know is refused. A request that contradicts the
names is followed, with a warning.
"""

from __future__ import annotations

from ...errors import InvalidTest
from ...inference.record import WarningRecord
from ...inputs.formats.reader import Reading
from ...inputs.formats.roles import roles_of
from ...inputs.quoting import quoted
from ...statistics.direction import of_name
from ...statistics.entry_words import DEFAULT_EXPRESSION
from ...statistics.paired import Effects, Scores
from ..direction import settled
from ..parse import ParsedTest, n_items, unit_findings
from ..pointers import PointerMap

MOST_DROPPED = 2  # of which one item may be left


def require(reading: Reading) -> None:
    """Refuse files that do not show which system is the candidate, or what else is not certain; raises InvalidTest that asks."""
    if reading.role_question is not None:
        question = reading.role_question
        raise InvalidTest.at("/options/system_u", "choose_roles", question.detail, question.choices)
    for finding in reading.findings:
        raise InvalidTest.at(finding.pointer, finding.code, finding.detail, finding.choices)


def require_items(test: ParsedTest) -> None:
    """Refuse a gate over one item, which could decide nothing and would pass for ever; one that is asked again may wait.

    Raises InvalidTest at the candidate's data.
    """
    dropped = (test.data.pairing.largest or 0) > MOST_DROPPED  # the test itself refuses, and says why
    if n_items(test.data) == 1 and test.options.sequential is None and not dropped:
        detail = (
            "There is one item, and one item never decides. If its scores are averages over all items, send the scores of the items: "
            "the sample log, the outputs beside their references, or a score for each item."
        )
        pointer = "/stay" if isinstance(test.data, Effects) else "/u"
        raise InvalidTest.at(test.pointer_map(pointer), "one_item", detail)


def require_one_unit(test: ParsedTest, *, higher_is_better: bool) -> None:
    """Refuse shares against percent; where lower is better they are no shares. Raises InvalidTest at the shares."""
    for finding in unit_findings(test.data, test.options.metric) if higher_is_better else ():
        raise InvalidTest.at(test.pointer_map(finding.pointer), finding.code, finding.detail)


def direction(
    requested: bool | None, test: ParsedTest, pointer_map: PointerMap
) -> tuple[bool, tuple[WarningRecord, ...]]:
    """Whether higher is better: as requested, else by the metric's name or the statistic, else the default of scores.

    Raises
    ------
        InvalidTest: nothing decides it, at `higher_is_better`.
    """
    what = test.options.metric or test.spec.name
    question = None if test.reading is None else test.reading.direction_question
    return settled(
        requested, test.options.higher_is_better, what, "gate", pointer_map("/higher_is_better"), plain=_plain(test), question=question
    )  # fmt: skip


def _plain(test: ParsedTest) -> bool:
    """Scores without a name, and plain effects: of these higher is better, as documented."""
    if isinstance(test.data, Effects):
        return str(test.spec.parameters.get("expression", DEFAULT_EXPRESSION)) == DEFAULT_EXPRESSION
    named = of_name(test.options.name_u) is False and of_name(test.options.name_v) is False
    return isinstance(test.data, Scores) and test.options.metric is None and not named


def swapped(test: ParsedTest) -> tuple[WarningRecord, ...]:
    """A warning where the systems' names suggest that candidate and baseline were exchanged."""
    options, reading = test.options, test.reading
    names = () if reading is None else (reading.file_names, reading.score_names)
    for u, v in ((options.name_u, options.name_v), *(pair for pair in names if pair is not None)):
        if roles_of((u, v)) == ["v", "u"]:
            detail = (
                f"By their names {quoted(v)} is the candidate and {quoted(u)} the baseline; the gate has them the other "
                "way round, as they were given."
            )
            return (WarningRecord("roles_contradict_names", detail),)
    return ()
