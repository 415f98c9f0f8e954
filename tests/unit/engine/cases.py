"""Generated tests: seeded families that reach from p = 1 to far below 1e-300, and hypothesis strategies."""

import math
import random
from collections.abc import Callable, Mapping

import numpy as np
from hypothesis import strategies as st

from exactperm.engine.lattice import CanonicalForm, canonical_form
from exactperm.engine.probability import Alternative, Region, region
from tests.unit.engine.exact_null import Case

ALTERNATIVES: tuple[Alternative, ...] = ("two-sided", "greater", "less")

Weights = Callable[[random.Random, int], list[int]]


def posed(case: Case) -> tuple[CanonicalForm, Region]:
    """The case as the engine takes it."""
    swap = None if case.swap is None else np.array(case.swap, dtype=np.int64)
    form = canonical_form(np.array(case.stay, dtype=np.int64), swap)
    return form, region(form, case.observed, case.alternative, absolute=case.absolute)


def _few_heavy(rng: random.Random, n: int) -> list[int]:
    size = 10 ** rng.uniform(1.0, 5.0)
    heavy = rng.randint(1, min(n, 4))
    return [rng.randint(1, 5) for _ in range(n - heavy)] + [
        1 + int(size * rng.uniform(0.3, 1.0)) for _ in range(heavy)
    ]


def _one_huge(rng: random.Random, n: int) -> list[int]:
    return [rng.randint(1, 5) for _ in range(n - 1)] + [rng.choice([10**4, 10**6, 10**9, 10**12])]


def _ranks(rng: random.Random, n: int) -> list[int]:
    """Doubled midranks of 1 .. n with ties."""
    n = min(n, 200)
    values = sorted(rng.randint(1, 2 * n) for _ in range(n))
    return [2 * values.index(x) + values.count(x) + 1 for x in values]


FAMILIES: Mapping[str, Weights] = {
    "0-1": lambda rng, n: [1] * n,
    "small counts": lambda rng, n: [rng.randint(0, 6) for _ in range(n)],
    "sentences": lambda rng, n: [min(9, 1 + int(rng.expovariate(0.5))) for _ in range(n)],
    "even only": lambda rng, n: [6 * rng.randint(0, 3) for _ in range(n)],
    "two sizes": lambda rng, n: [rng.choice([3, 5]) for _ in range(n)],
    "percentages": lambda rng, n: [rng.randint(0, 100) for _ in range(n)],
    "ranks": _ranks,
    "one huge": _one_huge,
    "few heavy": _few_heavy,
}


def generated(rng: random.Random, weights: list[int]) -> Case:
    """Effects of these weights, U favoured on a random share of the items, and a random question."""
    favoured = rng.choice([0.5, 0.55, 0.65, 0.8, 0.95, 1.0])
    up = [rng.random() < favoured for _ in weights]
    alternative, absolute = rng.choice(ALTERNATIVES), rng.random() < 0.25
    if rng.random() < 0.5:
        stay = tuple(w if to else -w for w, to in zip(weights, up, strict=True))
        return Case(stay, None, alternative, absolute)
    bases = [rng.randint(-9, 9) for _ in weights]
    ends = [
        (base + w, base) if to else (base, base + w) for base, w, to in zip(bases, weights, up, strict=True)
    ]
    return Case(tuple(e[0] for e in ends), tuple(e[1] for e in ends), alternative, absolute)


def log_uniform(rng: random.Random, low: int, high: int) -> int:
    return round(math.exp(rng.uniform(math.log(low), math.log(high))))


_effect = st.one_of(
    st.integers(-3, 3),
    st.integers(-100, 100),
    st.sampled_from([-20_000, -4_097, -512, 64, 1_000, 7_919, 50_000]),
)


@st.composite
def cases(draw: st.DrawFn, max_items: int = 40) -> Case:
    """Any local effects: zeros, ties, one item, stay and swap unrelated."""
    stay = draw(st.lists(_effect, min_size=1, max_size=max_items))
    swap = None
    if draw(st.booleans()):
        swap = tuple(draw(st.lists(_effect, min_size=len(stay), max_size=len(stay))))
    return Case(tuple(stay), swap, draw(st.sampled_from(ALTERNATIVES)), draw(st.booleans()))
