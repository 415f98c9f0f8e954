"""The test of a statistic of several sums: F1 and other ratios, expressions, corpus metrics."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ..answers.test import Alternative, ExactFraction, LatticeRecord, NullRecord, StatisticRecord
from ..engine.joint import enumeration, law, methods, planner
from ..engine.joint.control import Control, Tail, tail_of
from ..engine.joint.form import JointForm, joint_form
from ..engine.joint.grid.price import box_of
from ..engine.joint.law import JointLawPlan, smallest_attainable
from ..engine.lattice import MAX_TOTAL, Integers, LatticeOverflowError, Reals
from ..engine.one_sum.methods import costs as costs_of_sum
from ..engine.plan import Budget, Cost, Plan, quicker_plan
from ..engine.probability import SMALLEST
from ..errors import InvalidTest, PlanTooLarge
from ..statistics.effects import Joint
from ..statistics.midpoint import Linearisation, linearise, rounded_line
from ..statistics.reduction import in_linear_forms
from ..statistics.sum_function import Deciding, Price, values_of
from .brackets import JointBracket, joint_bracket, worth_it
from .certificate import Answer, Result, bracketed, certified, certified_by, controlled, proven, sampled
from .options import Options
from .record import joint_items, sampled_null_record, statistic_record

# The control variate of a sampled test: the midpoint linearisation, and the exact test of it


# Standard deviations of the linear part in steps of its lattice, the finest first, as coarser ones agree less with t. Each has the most
# that its exact test may take, as a multiple of the samples' time, and the seconds that are always allowed.
_SPREADS = ((1 << 16, 0.5, 0.01), (1 << 14, 0.5, 0.02), (1 << 12, 4.0, 0.1))


@dataclass(frozen=True, slots=True)
class PlannedControl:
    """The tail of the linear part, and the exact methods that may compute its probability, cheapest first."""

    tail: Tail
    methods: tuple[Cost, ...]

    @property
    def cost(self) -> Cost:
        """Of the method that is run first."""
        return self.methods[0]

    def known(self) -> Control | None:
        """The control variate with its exact probability; None when no method can prove it."""
        line = proven(self.methods, self.tail.line, self.tail.region)
        return None if line is None else self.tail.known(line)


def planned_control(
    problem: Joint, form: JointForm, alternative: Alternative, budget: Budget, sampling: Cost
) -> PlannedControl | None:
    """The control variate of `sampling`, when both fit the budget; None without a linear part.

    `form` is that of the problem.
    """
    linear = linearise(problem) if form.nonzero else None
    if linear is None:
        return None
    for spread, times, seconds in _SPREADS:
        line = rounded_line(_by_column(linear, form), form.table, form.counts, spread)
        if line is None:
            return None
        # Both in halves of the line's unit: S - m is half of the sum of signs times differences.
        shift = round(2 * linear.value / line.unit)
        if abs(shift) >= MAX_TOTAL // 2:
            return None  # the moving part is negligible
        tail = tail_of(form, line.effects, shift, alternative)
        fitting = tuple(
            cost
            for cost in costs_of_sum(tail.line, tail.region, 0)
            if cost.exact
            and _fits(cost, sampling, budget)
            and cost.seconds <= max(times * sampling.seconds, seconds)
        )
        if fitting:
            return PlannedControl(tail, fitting)
    return None


def controlled_plan(plan: Plan, control: PlannedControl) -> Plan:
    """The plan of samples with the price of the control variate."""
    price = with_control(plan.chosen, control)
    reason = plan.reason if plan.by_name else f"{plan.reason}, with a control variate"
    return replace(plan, chosen=price, reason=reason)


def with_control(sampling: Cost, control: PlannedControl) -> Cost:
    """The price of samples with that of their control variate."""
    return replace(
        sampling,
        operations=sampling.operations + _operations(control.cost, sampling),
        bytes=max(sampling.bytes, control.cost.bytes),
    )


def _operations(cost: Cost, sampling: Cost) -> int:
    """The cost of a method, in operations at the rate of sampling."""
    return int(cost.seconds * 1e9 / sampling.rate)


def _by_column(linear: Linearisation, form: JointForm) -> list[Fraction]:
    """The slopes in the distinct sums, shape (m,)."""
    slopes = [Fraction(0)] * form.table.shape[1]
    for slope, column, sign in zip(linear.gradient, form.index.tolist(), form.sign.tolist(), strict=True):
        if sign:
            slopes[column] += sign * slope
    return slopes


def _fits(cost: Cost, sampling: Cost, budget: Budget) -> bool:
    return (
        sampling.operations + _operations(cost, sampling) <= budget.operations and cost.bytes <= budget.bytes
    )


# Wins, ties and losses.
_SECONDS_PER_ITEM = 4e-8
# Exact decisions may take this multiple of the prediction, and at least this much.
_SLACK, _SLACK_NS = 3.0, 2e8
# A grid may be laid out several times over.
_ROUNDS = 4
# How often all listed states are compared with one of them to find the most extreme one, mostly.
_COMPARISONS = 4
# How often the statistic is evaluated at least: items, observed sums, picture, decisions.
_CALLS = 6
# The seconds for the null, besides or instead of the time of the p-value.
_LOOK_S = 0.1
_UNDEFINED = (
    "Under some assignments of the items the statistic has no value (it divides by zero, or takes the logarithm or the "
    "square root of a number that has none). They count as extreme, so that the p-value is at least their probability."
)
_SAMPLED = (
    "The moments and the picture of the null distribution were sampled, and its range unless "
    "`null.range_exact`; `method` refers to the p-value."
)
# A grid of no more cells than this is not worth another look for a smaller one.
_SMALL_BOX = 1 << 18


@dataclass(frozen=True, slots=True)
class JointTest:
    """A joint problem on the lattice of its differences, with its plan.

    `reduced` is the problem over the sums that the statistic depends on; `problem` has the units.
    `decide` says which states are as extreme as the observed one; `exact_seconds` is the most that this takes beyond what
    is planned, if each of them has to be decided exactly.
    """

    options: Options
    problem: Joint
    reduced: Joint
    form: JointForm
    observed: Integers
    plan: Plan
    look: JointLawPlan
    price: Price
    decide: Deciding
    exact_seconds: float
    fraction_by: Cost | None = None
    control: PlannedControl | None = None
    bracket: JointBracket | None = None

    @property
    def seconds(self) -> float:
        """Predicted time of the p-value, its fraction, and the law, which the moments need."""
        fraction = 0.0 if self.fraction_by is None else self.fraction_by.seconds
        by_item = _SECONDS_PER_ITEM + 2e-9 * self.price.value_ns
        calls = 1e-9 * _CALLS * self.price.call_ns
        looked = self.look.seconds + self._least_seconds
        if self._range_is_sought:
            looked += planner.listing_seconds(self.form, self.price.value_ns)
        return self.plan.chosen.seconds + fraction + looked + calls + by_item * self.problem.items

    @property
    def _listed(self) -> int:
        """How many states are listed for the least p-value of any outcome; 0 where they are too many."""
        return enumeration.states_count(self.form) if self.look.way == "listed" else 0

    @property
    def _least_seconds(self) -> float:
        each = self.price.value_ns + _COMPARISONS * self.price.work
        return 1e-9 * (self._listed * each + _COMPARISONS * self.price.call_ns)

    @property
    def longest_seconds(self) -> float:
        """A bound on the time for when every state that the method looks at must be decided exactly."""
        rounds = _ROUNDS if self.plan.chosen.method == "grid" else 1
        listed = _COMPARISONS * min(1e-9 * self._listed * self.price.worst_ns, 1e-9 * self._allowance_ns)
        return self.seconds + rounds * self.exact_seconds + listed

    @property
    def _allowance_ns(self) -> float:
        """What comparing all listed states with one of them may take."""
        return _SLACK * self._listed * self.price.open_ns + 0.25 * _SLACK_NS

    def solve(self) -> Result:
        """Run the planned method and summarise the null."""
        drawn: list[Reals] = []
        # The observed assignment's own probability, 2**-n.
        least = -self.form.nonzero * math.log10(2.0)
        by, answer = certified_by(self._methods(), partial(self._answer, drawn), least_log10=least)
        undefined = self._undefined(by)
        return Result(
            answer=answer,
            by=by,
            lattice=self._lattice(),
            attainable_between=self._attainable_between(answer, undefined),
            items=joint_items(self.problem),
            statistic=self._statistic(),
            null=self._null(drawn),
            warnings=self._warnings(undefined),
        )

    def _methods(self) -> Iterable[Cost]:
        """The methods that may answer, in turn; an unrequested bracket that is less informative than samples is
        skipped.
        """
        for cost in self.plan.attempts:
            if cost.method == "bounds" and not self.plan.by_name:
                assert self.bracket is not None
                ends = self.bracket.bracket
                if not worth_it(ends.low, ends.high, self.options):
                    continue
            yield cost

    def _require_observed(self) -> None:
        """The observed assignment must count; exact methods check that themselves."""
        own_sums = [self.observed[index : index + 1] for index in range(len(self.observed))]
        if not np.asarray(self.decide(own_sums)).all():
            raise ArithmeticError("the observed sums are not among those at least as extreme")

    def _answer(self, drawn: list[Reals], by: Cost) -> Answer:
        """The answer of one method, not checked yet; to `drawn` it adds the statistic's values in samples, if any."""
        if by.method == "bounds":
            assert self.bracket is not None
            self._require_observed()
            return bracketed(self.bracket.bracket, self.options.precision, self._fraction())
        if by.method != "monte_carlo":
            probability = methods.exact_probability(by.method, self.form, self.decide, self._tiles)
            return certified(probability, self._fraction())
        self._require_observed()
        return self._sampled(drawn, by)

    def _sampled(self, drawn: list[Reals], by: Cost) -> Answer:
        samples, seed, decide = self.options.samples, self.options.seed, self.decide
        kept = 0 if self.look.whole else self.look.samples
        control = None if (planned := self._control_of(by)) is None else planned.known()
        if control is None:
            estimate, values = methods.sampled_probability(
                self.form, decide, samples=samples, seed=seed, values=self._values, kept=kept
            )
            drawn.append(values)
            return sampled(estimate, self._fraction())
        better, values = methods.controlled_probability(
            self.form, decide, control, samples=samples, seed=seed, values=self._values, kept=kept
        )
        drawn.append(values)
        return controlled(better, self._least(), self._fraction())

    def _control_of(self, by: Cost) -> PlannedControl | None:
        """The control variate as planned; planned now where sampling takes the place of another method."""
        if by is self.plan.chosen:
            return self.control
        return planned_control(self.reduced, self.form, self.options.alternative, self.plan.budget, by)

    def _fraction(self) -> ExactFraction | None:
        """The exact fraction, if requested and not given by the method that runs."""
        if self.fraction_by is None:
            return None
        return certified(methods.fraction(self.fraction_by.method, self.form, self.decide)).fraction

    def _tiles(
        self, low: Sequence[Reals], high: Sequence[Reals]
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        return self.reduced.function.settled(low, high, self.observed, self.options.alternative)

    def _values(self, sums: Sequence[Integers]) -> Reals:
        return values_of(self.reduced.function, sums)

    def _null(self, drawn: list[Reals]) -> NullRecord:
        if drawn and len(drawn[-1]):
            values, masses = drawn[-1], np.full(len(drawn[-1]), 1.0 / len(drawn[-1]))
        else:
            values, masses = law.law_of(self.form, self._values, self.look, self.options.seed)
        mirrored = self.problem.mirrored
        record = sampled_null_record(values, masses, self.options.pmf, symmetric=mirrored)
        if self.look.way in {"certain", "listed"}:
            return record
        if not self._range_is_sought:
            return replace(record, range_exact=False)
        low, high = planner.value_range(
            self.form, lambda sums: np.asarray(self.reduced.function.values(sums))
        )
        if mirrored:
            low, high = -max(-low, high), max(-low, high)
        return replace(record, min=low, max=high)

    @property
    def _range_is_sought(self) -> bool:
        """Whether all attainable states are enumerated if the law is sampled, or omits unlikely states."""
        return self.look.way in {"box", "sampled"} and planner.can_list_states(self.form)

    def _lattice(self) -> LatticeRecord:
        spans = (self.form.high - self.form.low).tolist()
        return LatticeRecord(
            1.0, len(self.form.counts), math.prod(spans) if spans else 0, self.form.dimension
        )

    def _attainable_between(self, answer: Answer, undefined: float) -> tuple[float, float]:
        """Bounds of the least p-value of any outcome, equal where all states are listed; `undefined` is part of each p."""
        known = self._smallest() if self.knows_attainable else None
        if known is not None:
            return known, known
        low = min(max(self._least(), undefined), answer.bounds[1])
        return low, max(low, 1.0)

    @property
    def knows_attainable(self) -> bool:
        """Whether the least p-value of any outcome is known, but for exact comparisons that take too long."""
        return self.form.rank == 0 or self.look.way == "listed"

    def _smallest(self) -> float | None:
        if self.form.rank == 0:
            return 1.0
        function, reduced = self.reduced.function, self.reduced
        allowance = self._allowance_ns

        def extreme(sums: Sequence[Integers], state: Integers, side: Alternative) -> NDArray[np.bool_]:
            return function.deciding(reduced.stay, reduced.swap, side, allowance, state)(sums)

        try:
            least = smallest_attainable(
                self.form, self._values, function.undefined, extreme, self.options.alternative
            )
        except PlanTooLarge:
            return None
        return None if least is None else max(float(least), SMALLEST)

    def _least(self) -> float:
        """A lower bound: the most extreme outcome, and its mirror image for a difference of scores."""
        if self.form.nonzero == 0:
            return 1.0
        mirrored = self.options.alternative == "two-sided" and self.problem.mirrored
        return max(math.ldexp(1.0, int(mirrored) - self.form.nonzero), SMALLEST)

    def _undefined(self, by: Cost) -> float:
        """An upper bound of the probability that the statistic has no value; such states are extreme for any outcome."""
        if not self.decide.met_undefined:
            return 0.0
        states = self.reduced.function.undefined
        if by.method != "monte_carlo":
            return methods.share(by.method, self.form, states)
        samples, seed = self.options.samples, self.options.seed
        return methods.sampled_probability(self.form, states, samples=samples, seed=seed)[0].interval()[0]

    def _statistic(self) -> StatisticRecord:
        problem = self.problem
        start = problem.stay.sum(axis=0)
        observed = values_of(problem.function, [start[k : k + 1] for k in range(len(start))])
        return statistic_record(problem, float(observed[0]))

    def _warnings(self, undefined: float) -> tuple[tuple[str, str], ...]:
        warnings = [("undefined_outcomes", _UNDEFINED)] if undefined > 0.0 else []
        if not self.look.whole:
            warnings.append(("null_sampled", _SAMPLED))
        return tuple(warnings)


def joint_test(problem: Joint, options: Options, budget: Budget) -> JointTest:
    """Plan the test; raises InvalidTest and PlanTooLarge."""
    reduced, form = _smallest(problem)
    price = reduced.function.price(reduced.stay, reduced.swap, options.alternative)
    brackets: list[JointBracket] = []
    plan = planner.plan(
        form,
        budget,
        method=options.method,
        samples=options.samples,
        work=price.work,
        bracket=partial(_priced_bracket, problem, options, brackets),
    )
    control = None
    if _tries_patience(plan, options):
        plan, control = _quicker(problem, reduced, form, options, plan, brackets)
    fraction_by = None
    if options.exact_fraction and not planner.gives_fraction(form, plan.chosen.method):
        fraction_by = planner.cheapest_fraction(form, budget, price.work)
    allowed, most = (_LOOK_S, law.MOMENTS)
    if options.pmf != "none":
        allowed, most = max(_LOOK_S, plan.chosen.seconds), law.SAMPLES
    look = law.plan_law(form, allowed, price.value_ns, gridded=plan.chosen.method == "grid", most=most)
    expected, longest = _exact_seconds(form, options, plan.chosen, price)
    if control is None and plan.chosen.method == "monte_carlo":
        control = planned_control(reduced, form, options.alternative, budget, plan.chosen)
        if control is not None:
            plan = controlled_plan(plan, control)
    decide = reduced.function.deciding(
        reduced.stay, reduced.swap, options.alternative, _SLACK * 1e9 * expected + _SLACK_NS
    )
    observed = reduced.stay.sum(axis=0)
    return JointTest(
        options,
        problem,
        reduced,
        form,
        observed,
        plan,
        look,
        price,
        decide,
        longest,
        fraction_by,
        control,
        brackets[0] if brackets else None,
    )


def _tries_patience(plan: Plan, options: Options) -> bool:
    """Whether `auto` chose a slow exact method; a requested fraction may take any time."""
    chosen = plan.chosen
    if plan.by_name or options.exact_fraction or not chosen.exact:
        return False
    return chosen.seconds > plan.budget.patience_s


def _quicker(
    problem: Joint,
    reduced: Joint,
    form: JointForm,
    options: Options,
    plan: Plan,
    brackets: list[JointBracket],
) -> tuple[Plan, PlannedControl | None]:
    """A bracket as informative as samples, or samples with a control variate; the same plan if neither is fast."""
    bracket = _priced_bracket(problem, options, brackets)
    if bracket is not None:
        bracketed_plan = quicker_plan(plan, bracket, "a rigorous bracket")
        if bracketed_plan is not None:
            return bracketed_plan, None
    sampling = next(cost for cost in plan.others if cost.method == "monte_carlo")
    control = planned_control(reduced, form, options.alternative, plan.budget, sampling)
    if control is not None:
        sampled_plan = quicker_plan(plan, with_control(sampling, control), "sampled, with a control variate")
        if sampled_plan is not None:
            return sampled_plan, control
    return plan, None


def _priced_bracket(problem: Joint, options: Options, brackets: list[JointBracket]) -> Cost | None:
    """The cost of a rigorous bracket, which is added to `found`; `auto` wants one that says as much as samples."""
    bracket = joint_bracket(problem, options.alternative)
    if bracket is None or (options.method == "auto" and not worth_it(*bracket.likely, options)):
        return None
    brackets.append(bracket)
    return bracket.cost


def _exact_seconds(form: JointForm, options: Options, chosen: Cost, price: Price) -> tuple[float, float]:
    """Expected and largest seconds of exact decisions, if each of them is long."""
    if not price.worst_ns:
        return 0.0, 0.0

    # Samples follow a bracket that is not worth it.
    method = "monte_carlo" if chosen.method == "bounds" else chosen.method

    def seconds(work: float) -> float:
        costs = planner.costs(form, options.samples, work)
        return next(cost.seconds for cost in costs if cost.method == method)

    plain = seconds(price.filter_ns)
    return seconds(price.work) - plain, seconds(price.filter_ns + price.worst_ns) - plain


def _smallest(problem: Joint) -> tuple[Joint, JointForm]:
    """The problem over its linear forms, or unchanged if that has the smaller grid."""
    try:
        reduced = in_linear_forms(problem)
        form = joint_form(reduced.stay, reduced.swap)
        if reduced is problem or form.rank == 0 or box_of(form).cells <= _SMALL_BOX:
            return reduced, form
        whole = joint_form(problem.stay, problem.swap)
    except LatticeOverflowError as error:
        raise InvalidTest.at(
            "", "effects_too_large", f"The data cannot be summed exactly: {error}."
        ) from error
    if box_of(whole).cells < box_of(form).cells:
        return problem, whole
    return reduced, form
