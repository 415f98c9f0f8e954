"""Levels of tests of preferences: `python -m loadtest.preferences [SETS]`, by default 2,000 data sets a design.

A judge sees two models on 50 questions. Of equal models the test must be significant at 0.05 in at most 5 % of data sets, however much the
judge favours the first place; of a judge without a favourite place the same holds for `position_bias`, however unequal the models are.
"""

import random
import sys
from typing import Any

from exactperm import preferences

QUESTIONS = 50
DESIGNS = ("one battle, order drawn", "both orders", "1 to 4 battles, orders drawn")


def battles(chance: random.Random, design: str, better: float, first: float) -> list[dict[str, Any]]:
    """`better` and `first` are added to the chance of 1/2 that A, and the first model, wins; a fifth are ties."""
    found = []
    for question in range(QUESTIONS):
        lean = chance.uniform(-0.2, 0.2)  # of the judge on this question, for either model
        orders = [("A", "B"), ("B", "A")]
        if design != DESIGNS[1]:
            n = 1 if design == DESIGNS[0] else chance.randint(1, 4)
            orders = [chance.choice(orders) for _ in range(n)]
        for one, other in orders:
            p = 0.5 + first + (better + lean if one == "A" else -better - lean)
            winner = "model_a" if chance.random() < p else "model_b"
            winner = "tie" if chance.random() < 0.2 else winner
            found.append({"id": question, "model_a": one, "model_b": other, "winner": winner})
    return found


def main() -> None:
    sets = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000
    for design in DESIGNS:
        chance = random.Random(1)
        models = places = 0
        for _ in range(sets):
            models += preferences(battles(chance, design, 0.0, 0.2), pmf="none").p_value <= 0.05
            bias = preferences(battles(chance, design, 0.2, 0.0), pmf="none").position_bias
            assert bias is not None
            places += bias.p_value <= 0.05
        print(f"{design}: level of models {models / sets:.3f}, of places {places / sets:.3f}")


if __name__ == "__main__":
    main()
