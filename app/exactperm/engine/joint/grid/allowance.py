"""A limit on the work of a small probability: predicted nanoseconds and states, and no clock, so that answers repeat."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(slots=True)
class Allowance:
    """What is left of `nanoseconds` for tilted transforms and of `states` to decide for the region."""

    nanoseconds: float = math.inf
    states: float = math.inf

    def transform(self, nanoseconds: float) -> bool:
        """Whether a transform of this price is still allowed; if so, its price is deducted."""
        if nanoseconds > self.nanoseconds:
            return False
        self.nanoseconds -= nanoseconds
        return True

    def decide(self, states: float) -> bool:
        """Whether this many states, or tiles of them, may still be decided; if so, they are deducted."""
        if states > self.states:
            return False
        self.states -= states
        return True
