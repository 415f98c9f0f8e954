"""The answer in one sentence, for people."""

from __future__ import annotations

from .design import Question
from .record import PowerMethod, Solution


def sentence_of(question: Question, solution: Solution, method: PowerMethod) -> str:
    """What was found, with how sure one can be."""
    at = f"at alpha {question.alpha:g}, {question.alternative}"
    if question.comparisons > 1:
        at += f", {question.comparisons} comparisons"
    about = "" if method.exact else " (approximate)"
    if question.solve == "n":
        if solution.n is None:
            return f"No number of items that was searched finds a difference of {solution.effect:g} so often ({at})."
        after = ""
        if solution.n_always is not None and solution.n_always != solution.n:
            after = f", and every number from {solution.n_always:,} on has it"
        return (
            f"{solution.n:,} items find a true difference of {solution.effect:g} with probability "
            f"{question.power:g}{after}; {at}{about}."
        )
    assert solution.n is not None
    if solution.effect is None:
        return f"{solution.n:,} items find no true difference with probability {question.power:g} ({at})."
    return (
        f"{solution.n:,} items find a true difference of {solution.effect:.4g} with probability "
        f"{solution.power:.4g}; {at}{about}."
    )
