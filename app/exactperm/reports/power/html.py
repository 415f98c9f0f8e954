"""The report of an answer about power: a sentence, the picture, the curve's numbers."""

from __future__ import annotations

from ...answers.power import PowerRecord, Solve
from ...presentation.escaping import single_line
from ...presentation.numbers import exactly, number
from ..facts import Fact
from ..html import rendered
from .text import facts

QUESTIONS: dict[Solve, str] = {
    "n": "How many items?",
    "effect": "Which difference is found?",
    "power": "How likely is it found?",
}


def power_html(record: PowerRecord, power_id: str, signature: str, picture: str) -> str:
    """The report; `picture` is our inline SVG, or empty."""
    from markupsafe import Markup

    return rendered(
        "power.html",
        question=QUESTIONS[record.solve],
        sentence=record.sentence,
        facts=facts(record),
        key=_key(record),
        picture=Markup(picture),  # noqa: S704  # drawn by exactperm.reports.picture.pictures: numbers and our own words
        curve=[(f"{point.n:,}", number(point.effect), number(point.power)) for point in record.curve],
        warnings=[(warning.code, single_line(warning.detail)) for warning in record.warnings],
        signature=signature,
        id=power_id,
    )


def _key(record: PowerRecord) -> list[Fact]:
    solution = record.solution
    known = "exact" if record.method.exact else "approximate"
    always = "" if solution.n_always in {None, solution.n} else f"always from {solution.n_always:,} on"
    return [
        Fact("items", "none" if solution.n is None else f"{solution.n:,}", always),
        Fact("true difference", "none" if solution.effect is None else number(solution.effect), ""),
        Fact("power", "none" if solution.power is None else number(solution.power), known),
        Fact("alpha", exactly(record.alpha), record.alternative),
    ]
