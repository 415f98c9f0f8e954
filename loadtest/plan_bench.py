"""Compare the planner's predictions with time and peak bytes on the workloads of this benchmark.

Time is that of the whole answer with `pmf: none`; memory that of the method alone. Predictions decide on refusals, so a wrong one costs
a caller an answer, or all callers a worker.
"""

import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import get_args

from exactperm.answers.test import Method
from exactperm.engine.joint import methods as joint_methods
from exactperm.engine.one_sum import methods
from exactperm.engine.plan import Budget
from exactperm.inference.additive import AdditiveTest, RoundedTest
from exactperm.inference.certificate import PlannedTest
from exactperm.inference.joint import JointTest
from exactperm.inference.options import Options as Asked
from exactperm.inference.paired import prepare
from exactperm.statistics.paired import Counts, Effects, Paired, StatisticSpec
from loadtest import answers_plan, workload
from loadtest.measure import Contender, interleave
from loadtest.options import Options
from loadtest.table import Table, duration, goal

MOST_FACTOR = 3.0
# A quarter of a megabyte of Python objects is not an array.
OBJECTS = 250_000
ROOMY = Budget(10**13, 10**11)
SHORT_S, LONG_S = 2e-3, 0.5
SAMPLES = Asked().samples
# Few items for methods that grow with 2**n, many for others.
EFFECTS: dict[str, tuple[int, ...]] = {
    "fft": (1_000, 10_000, 100_000, 1_000_000),
    "dp": (1_000, 10_000),
    "rational": (100, 1_000),
    "enumeration": (20,),
    "meet_in_the_middle": (40,),
    "monte_carlo": (1_000, 10_000),
}
COUNTS: dict[str, tuple[int, ...]] = {"grid": (100, 1_000, 10_000, 100_000), "monte_carlo": (10_000,)}
SCORES: dict[str, tuple[int, ...]] = {"bounds": (1_000, 10_000)}


@dataclass(frozen=True, slots=True)
class Case:
    """A planned test, and a function that plans it again: after a run, a test keeps frequencies that the next run would get for free."""

    name: str
    fresh: Callable[[], PlannedTest]
    test: PlannedTest

    def p_value(self) -> object:
        """Run the method alone, without the null distribution and the counts of an answer."""
        test, method = self.test, self.test.plan.chosen.method
        if isinstance(test, AdditiveTest):
            if method == "monte_carlo":
                return methods.sampled_probability(test.form, test.region, samples=SAMPLES, seed=0)
            if method == "bounds":
                return methods.lattice_bracket(test.form, test.region, test.options.precision)
            return methods.exact_probability(method, test.form, test.region)
        if isinstance(test, RoundedTest):
            return test.solve()  # its null is the least part of it
        if not isinstance(test, JointTest):
            raise TypeError(type(test).__name__)
        extreme = partial(test.reduced.function.extreme, observed=test.observed, side="two-sided")
        if method == "monte_carlo":
            control = None if test.control is None else test.control.known()
            if control is None:
                return joint_methods.sampled_probability(test.form, extreme, samples=SAMPLES, seed=0)
            return joint_methods.controlled_probability(
                test.form, extreme, control, samples=SAMPLES, seed=0, values=test.reduced.function.values
            )
        return joint_methods.exact_probability(method, test.form, extreme)


def cases(options: Options) -> Iterator[Case]:
    """Every method on a suitable workload."""
    seed = options.seed
    for method, sizes in EFFECTS.items():
        for items in sizes:
            load = workload.accuracy(items, seed, options.law, options.gap)
            yield _case("effects", method, items, Effects(load.stay), "sum")
    for method, sizes in COUNTS.items():
        for items in sizes:
            both = workload.f1(items, seed)
            u, v = ({"tp": counts[:, 0], "incorrect": counts[:, 1]} for counts in (both.u, both.v))
            yield _case("f1", method, items, Counts(u, v), "f1")
    for method, sizes in SCORES.items():
        for items in sizes:
            u_scores, v_scores = workload.scores(items, seed, 0.05)
            yield _case("real scores", method, items, Effects(u_scores - v_scores), "sum")


def _case(kind: str, method: str, items: int, data: Paired, statistic: str) -> Case:
    known = next(name for name in get_args(Method) if name == method)
    spec = StatisticSpec(statistic if statistic == "f1" else "expression")

    def fresh() -> PlannedTest:
        return prepare(data, spec, Asked(method=known, pmf="none"), ROOMY).test

    return Case(f"{method}, {kind}, N = {items:,}", fresh, fresh())


def measure(options: Options) -> Iterator[Table]:
    """Measure one row per case, and check the worst against the goal."""
    rows, factors, middle, excess = [], [], [], 0.0
    for case in cases(options):
        predicted = case.test.plan.chosen
        turns = 3 if options.quick or case.test.seconds > LONG_S else 9
        burst = 20 if case.test.seconds < SHORT_S else 1
        planned = [case.fresh() for _ in range(turns * burst + 1)]
        (timing,) = interleave([Contender(case.name, partial(_solve_next, planned), turns, burst)])
        held = _peak(case.p_value)
        factor = case.test.seconds / timing.median
        middle.append(factor)
        factors.append(max(factor, 1.0 / factor))
        excess = max(excess, (held - OBJECTS) / predicted.bytes)
        rows.append(
            [
                case.name,
                duration(case.test.seconds),
                duration(timing.median),
                f"{factor:.2f}x",
                f"{predicted.bytes:,}",
                f"{held:,}",
            ]
        )
    header = ["method, workload", "predicted", "took", "predicted over took", "bytes predicted", "most held"]
    said = "predicted time, largest factor either way"
    notes = [
        goal(said, max(factors), MOST_FACTOR, "times", at_least=False),
        goal("bytes held over predicted, most", excess, 1.0, "times", at_least=False),
        f"median of predicted over took: {median(middle):.2f}; a machine slower than an ordinary core moves all alike",
        f"held: arrays and objects as tracemalloc counts them; the goal leaves {OBJECTS:,} bytes for objects",
    ]
    yield Table("Predicted and taken", header, rows, notes)
    yield from answers_plan.measure(options)


def _solve_next(planned: list[PlannedTest]) -> object:
    return planned.pop().solve()


def _peak(call: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
