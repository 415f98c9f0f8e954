"""Questions about power as requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from .errors import InvalidData
from .requests import TestRequest

Solve = Literal["power", "n", "effect"]


@dataclass(frozen=True, slots=True)
class PowerRequest:
    """A question about power: the members of its body, or of a pilot in files its fields."""

    members: Mapping[str, Any]
    pilot: TestRequest | None = field(default=None, repr=False)

    @property
    def options(self) -> Mapping[str, Any]:
        """What is beside the design."""
        return self.members

    @property
    def body(self) -> dict[str, Any]:
        """As JSON."""
        if self.pilot is None:
            return dict(self.members)
        design = {"kind": "pilot", "request_kind": self.pilot.kind, "request": self.pilot.body}
        return {"design": design, **self.members}


def power(
    design: Mapping[str, Any] | TestRequest | None = None,
    solve: Solve | None = None,
    *,
    n: int | Sequence[int] | None = None,
    power: float | None = None,
    effect: float | None = None,
    alpha: float | None = None,
    alternative: str | None = None,
    comparisons: int | None = None,
    timeout_s: float | None = None,
    **of_design: float,
) -> PowerRequest:
    """Which true difference a test finds, how likely, or how many items that takes: `solve` is the one asked for.

    Parameters
    ----------
    design
        {"kind": "binary", "p10": 0.08, "p01": 0.05}: items are right or wrong; or u, v and discordance or correlation.
        {"kind": "sd", "sd": 0.3}: a normal approximation. Or a test made by `scores(…)` or one of its siblings: a pilot.
    solve
        "power", "n" or "effect".
    n, power, effect
        What is known: numbers of items; the probability wanted (0.8); the true difference in the statistic's units.
    alpha, alternative, comparisons
        As in the test; alpha is shared by the comparisons.
    of_design
        Instead of a design its numbers, as on the command line: p10 and p01; u, v and discordance or correlation; or sd.
    """
    if solve is None:
        raise TypeError('Say what is asked for: solve="power", "n" or "effect".')
    if of_design:
        if design is not None:
            raise TypeError("The design has its numbers already: give them in it, or alone.")
        design = {"kind": "sd" if "sd" in of_design else "binary", **of_design}
    given: dict[str, Any] = {
        "solve": solve,
        "n": list(n) if isinstance(n, Sequence) else n,
        "power": power,
        "effect": effect,
        "alpha": alpha,
        "alternative": alternative,
        "comparisons": comparisons,
        "timeout_s": timeout_s,
    }
    members = {name: value for name, value in given.items() if value is not None}
    if isinstance(design, TestRequest):
        return PowerRequest(members, design)
    if not isinstance(design, Mapping):
        raise InvalidData(
            "A design is an object such as {'kind': 'binary', 'p10': 0.08, 'p01': 0.05}, or a test."
        )
    return PowerRequest({"design": dict(design), **members})


def given(
    design: Mapping[str, Any] | TestRequest | PowerRequest | None,
    solve: Solve | None,
    others: Mapping[str, Any],
) -> PowerRequest:
    """A request that is there already, or one made of its parts; raises TypeError for half of both."""
    if isinstance(design, PowerRequest):
        if solve is not None or others:
            raise TypeError(
                "A question that was made has its numbers already: give them to power(…) instead."
            )
        return design
    return power(design, solve, **others)
