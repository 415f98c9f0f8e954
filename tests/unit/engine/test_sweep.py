"""Over 3,900 seeded cases from p = 1 to below 1e-400: how close `fft` and `dp` are, and that they know it."""

from __future__ import annotations

import random

import pytest

from exactperm.engine.one_sum import dp, fft
from tests.unit.engine.cases import FAMILIES, generated, log_uniform, posed
from tests.unit.engine.exact_null import Case, check, enumerated, exact_p, log10

CLOSE = 1e-12
# dp visits every lattice point up to the threshold, so it is not run on huge weights.
DP_RANGE = 400_000
SMALL, MEDIUM, LARGE = (1, 12, 200), (13, 90, 200), (91, 420, 35)
# Long enough for 2**-n to be below 1e-300; the families whose oracle stays quick at this size.
DEEP_FAMILIES = ("0-1", "small counts", "sentences", "two sizes", "even only", "one huge")


def sweep(family: str, least: int, most: int, count: int) -> list[Case]:
    rng = random.Random(f"{family} {least} {most}")
    return [generated(rng, FAMILIES[family](rng, log_uniform(rng, least, most))) for _ in range(count)]


@pytest.mark.slow
@pytest.mark.parametrize("size", [SMALL, MEDIUM, LARGE], ids=["1 to 12", "13 to 90", "91 to 420"])
@pytest.mark.parametrize("family", FAMILIES)
def test_fft_and_dp_are_within_1e_12_and_below_their_own_bounds(
    family: str, size: tuple[int, int, int]
) -> None:
    check_all(sweep(family, *size))


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
@pytest.mark.parametrize("family", DEEP_FAMILIES)
def test_the_promises_hold_where_p_underflows(family: str, part: int) -> None:
    rng = random.Random(f"deep {family} {part}")
    result = [generated(rng, FAMILIES[family](rng, rng.randint(1030, 1500))) for _ in range(2)]
    one_way = tuple(max(pair) for pair in result[0].pairs)
    result.append(Case(one_way, tuple(min(pair) for pair in result[0].pairs), "greater"))
    deepest = check_all(result)
    assert deepest < -300 or family in {"small counts", "even only"}  # there some items are zero


def check_all(result: list[Case]) -> float:
    """Every promise of every case; all broken ones are reported. Returns the smallest log10 p."""
    broken = []
    deepest = 0.0
    for case in result:
        form, tail = posed(case)
        truth = enumerated(case) if len(case.stay) <= 8 else exact_p(case)
        if truth == 0:
            pytest.fail(f"the observed sum itself must count: {case}")
        deepest = min(deepest, log10(truth))
        for method in (fft, dp):
            if method is dp and form.range > DP_RANGE:
                continue
            try:
                check(method.probability(form, tail), truth, within=CLOSE)
            except AssertionError as error:
                message = str(error).splitlines()[0]
                shown = case if len(case.stay) <= 40 else f"{len(case.stay)} items"
                broken.append(f"{method.__name__} at 1e{log10(truth):.4g}: {message} {shown}")
    assert not broken, f"{len(broken)} of {len(result)} cases:\n" + "\n".join(broken)
    return deepest
