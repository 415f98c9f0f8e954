"""What a small probability may take: counted in predicted nanoseconds and tiles, never by a clock, so that answers repeat."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(slots=True)
class Allowance:
    """What is left: `nanoseconds` for tilted transforms, `states` to be decided for the region."""

    nanoseconds: float = math.inf
    states: float = math.inf

    def transform(self, nanoseconds: float) -> bool:
        """Whether a transform of this price is still allowed; it is then paid for."""
        if nanoseconds > self.nanoseconds:
            return False
        self.nanoseconds -= nanoseconds
        return True

    def decide(self, states: float) -> bool:
        """Whether so many states, or tiles of them, may still be decided; they are then paid for."""
        if states > self.states:
            return False
        self.states -= states
        return True
