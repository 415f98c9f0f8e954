"""Turns a body into a question about power, a design and the number to solve for, and answers it."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..answers.test import Alternative
from ..engine.plan import Cost
from ..engine.power.tilted_sum import LevelTest
from ..errors import Flaw, InvalidTest, PlanTooLarge, PointerMap, choices_of, mapped, pointer_token
from ..execution.ipc import UNBOUNDED, Control
from ..inference.floor import SOLVED, RunsDesign
from ..inference.options import request_digest
from ..inference.paired import ALGORITHM_VERSION, planned_test, variance_of_difference
from ..inference.power import (
    BinaryDesign,
    Design,
    NormalDesign,
    Question,
    RunsPlan,
    as_written,
    from_accuracies,
)
from ..inference.sensitivity import PilotDesign, sizes_of
from ..inputs.alignment import ById
from ..statistics.columns import item_pointer
from ..statistics.paired import Repeated, Scores, lengths_of, samples_in
from ..statistics.runs import Runs
from .documents import Document, Fields, json_of
from .kinds import MULTIPART
from .messages import INSIDE, Job, refuse_to_store, store_of
from .parse import ParsedTest, parse_files, parse_request
from .parse_files import Form, option_pointer, read_form
from .query import ELSEWHERE, once, option_value, options_of_query
from .schema.requests import FIELDS, Design as DesignFields, PowerFields, PowerRequest
from .validation import prefixed, validated

REQUEST = "/design/request"
DEFAULT_POWER = 0.8
IRRELEVANT_MEMBERS = {"timeout_s", "store"}  # members that do not change the answer
# Members that ids are older than.
_LATER = ("floor", "runs_per_item", "item_cost")
# Smaller levels are not normal doubles.
LEAST_LEVEL = 1e-300
# The fields of a design by kind, in alternative sets.
_SETS: dict[str, tuple[tuple[str, ...], ...]] = {
    "binary": (("p10", "p01"), ("u", "v", "discordance"), ("u", "v", "correlation")),
    "pilot": (("request_kind", "request"),),
    "sd": (("sd",),),
    "runs": (("v",),),
}
_NAMES = {"binary": "A binary", "pilot": "A pilot", "sd": "An sd", "runs": "A runs"}
_FLOORS = choices_of(
    "solve", {"floor": "The floor of a level", "false_alarm": "The rate of alarms of a floor"}
)
# Members of a question that runs do not answer.
_NOT_OF_RUNS = ("n", "power", "effect", "alternative", "runs_per_item", "item_cost")


@dataclass(frozen=True, slots=True)
class ParsedPower:
    """A validated question about a design, or about a `pilot` that is still to be reduced."""

    question: Question
    design: BinaryDesign | NormalDesign | RunsDesign | None
    pilot: ParsedTest | None
    digest: str
    timeout_s: float | None
    store: bool | None = None
    pointer_map: PointerMap = str  # of the question; the pilot has a separate one

    @property
    def counting_seconds(self) -> float:
        """Predicted seconds of a pilot's preparation."""
        return 0.0 if self.pilot is None else self.pilot.counting_seconds


def parse_power(job: Job, body: bytes | bytearray, control: Control = UNBOUNDED) -> ParsedPower:
    """Decode and validate a body: JSON, or a form with the files of a pilot or of runs; raises InputError."""
    design: BinaryDesign | NormalDesign | RunsDesign | None = None
    pilot, named = None, list[object]()
    if job.body.media_type == MULTIPART:
        options_of_query(job.query, ELSEWHERE)
        form = read_form(job, body, control)
        texts, others = once(form.fields, FIELDS, option_pointer)
        values = {name: option_value(name, text) for name, text in texts.items()}
        request = validated(PowerFields, values, prefixed("/options"))
        question = _question(request, "/options", runs=request.solve in SOLVED)
        if request.solve in SOLVED:
            design = _runs_of_files(form, others, job)
        else:
            pilot = parse_files(form.files, others, job)
            named.append(request_digest(pilot.data, pilot.spec, pilot.options, ALGORITHM_VERSION))
    else:
        value, context = json_of(body)
        options_of_query(job.query, ELSEWHERE)
        request = whole = validated(PowerRequest, value, context=context)
        _require_a_set(whole.design)
        question = _question(request, runs=whole.design.kind == "runs")
        if whole.design.kind == "runs":
            design = _runs(whole.design.v)
        elif whole.design.kind == "pilot":
            pilot = _pilot(whole.design, job, context)
        else:
            design = _design(whole.design, question)
            for name in _LATER[1:]:
                if getattr(request, name) is not None:
                    detail = f"{name} is about a pilot with several runs of each item: leave it out."
                    raise InvalidTest.at(f"/{name}", "superfluous", detail)
    if isinstance(design, RunsDesign):
        digest = _digest_of_runs(request, design)
    else:
        given: dict[str, object] = request.model_dump(exclude=IRRELEVANT_MEMBERS)
        members = {name: value for name, value in given.items() if value is not None or name not in _LATER}
        digest = _digest([members, *named] if named else members)
    return ParsedPower(question, design, pilot, digest, job.deadline_s(request.timeout_s), store_of(request))


def _question(request: PowerFields, prefix: str = "", *, runs: bool) -> Question:
    """The question, for `runs` or not; raises InvalidTest below the prefix for contradictory numbers."""
    solve = request.solve
    if getattr(request, solve, None) is not None:
        detail = f"{solve} is the number to solve for: leave it out, or solve for another."
        raise InvalidTest.at(f"{prefix}/{solve}", "redundant", detail)
    power = None if solve in {"power", *SOLVED} else DEFAULT_POWER if request.power is None else request.power
    if power is not None and power <= request.alpha:
        detail = "The power must be above alpha, the probability of a false alarm."
        raise InvalidTest.at(f"{prefix}/power", "out_of_range", detail)
    if request.alpha / request.comparisons < LEAST_LEVEL:
        detail = (
            f"alpha, or each comparison's share of it, is below {LEAST_LEVEL:g}: no test of that many "
            "items reaches it."
        )
        raise InvalidTest.at(f"{prefix}/alpha", "out_of_range", detail)
    _require_runs(request, runs=runs, prefix=prefix)
    others = {
        name: getattr(request, name) for name in ("effect", "alpha", "alternative", "comparisons", *_LATER)
    }
    return Question(solve, request.n or (), power, **others)


def _require_runs(request: PowerFields, *, runs: bool, prefix: str) -> None:
    """Refuse floors without runs, and runs for anything else; raises InvalidTest."""
    if runs != (request.solve in SOLVED):
        detail = (
            "Runs of one system give a floor or its rate of false alarms: set `solve=floor` or "
            "`solve=false_alarm`."
            if runs
            else f"{request.solve} is solved from the runs of one system: give a design of the kind runs."
        )
        raise InvalidTest.at(f"{prefix}/solve", "solve_needs_runs", detail, _FLOORS if runs else ())
    others = [name for name in _NOT_OF_RUNS if name in request.model_fields_set]
    if runs and others:
        detail = f"Runs have a floor at alpha: leave {others[0]} out."
        raise InvalidTest.at(f"{prefix}/{others[0]}", "superfluous", detail)
    if request.solve == "false_alarm" and request.floor is None:
        raise InvalidTest.at(f"{prefix}/floor", "missing", "Give the floor whose false alarms you ask for.")
    if request.floor is not None and request.solve != "false_alarm":
        detail = "A floor is given to solve for its false alarms: leave it out."
        raise InvalidTest.at(f"{prefix}/floor", "superfluous", detail)


def _runs(runs: Any, where: str = "/design/v") -> RunsDesign:
    """The design of items with 0/1 runs; raises InvalidTest."""
    column: Any = runs.values if isinstance(runs, ById) else runs
    values, lengths = samples_in(column), lengths_of(column)
    if not len(lengths):
        raise InvalidTest.at(where, "empty", "There are no items: give at least one.")
    wrong = ~np.isin(values, (0, 1))
    if wrong.any():
        detail = "A floor counts runs that are right or wrong: give 1 and 0."
        if where == "/design/v":
            item, *run = item_pointer(column, int(wrong.argmax())).split("/")
            key = pointer_token(runs.ids[int(item)]) if isinstance(runs, ById) else item
            where = "/".join([where, key, *run])
        raise InvalidTest.at(where, "not_right_or_wrong", detail)
    right = np.add.reduceat(values, np.cumsum(lengths) - lengths)
    return RunsDesign.of(map(int, right), map(int, lengths))


def _runs_of_files(form: Form, fields: Fields, job: Job) -> RunsDesign:
    """The design from the files `v`, each with one run or with several of each item; raises InvalidTest as one file does."""
    if set(form.files) != {"v"}:
        other = next((role for role in form.files if role != "v"), "v")
        raise InvalidTest.at(f"/files/{other}", "unused_file", "Give the files of the runs as v.")
    runs: dict[object, list[float]] = {}
    for file in form.files["v"].parts or (form.files["v"],):
        data = parse_files({"u": file, "v": file}, fields, job).data
        if not isinstance(data, Scores):
            detail = "A floor needs right-or-wrong scores of the items."
            raise InvalidTest.at("/files/v", "not_right_or_wrong", detail)
        lengths = lengths_of(data.u)
        ids = range(len(lengths)) if data.pairing.ids is None else data.pairing.ids
        for key, values in zip(ids, np.split(samples_in(data.u), np.cumsum(lengths)[:-1]), strict=True):
            runs.setdefault(key, []).extend(values.tolist())
    flat = np.array([value for values in runs.values() for value in values])
    return _runs(Repeated(flat, np.array([len(values) for values in runs.values()])), "/files/v")


def _digest_of_runs(request: PowerFields, design: RunsDesign) -> str:
    """Of the laws, in which the order of items and runs is lost."""
    question, laws = request.model_dump(exclude={*IRRELEVANT_MEMBERS, *_LATER[1:], "design"}), design.laws
    return _digest(
        [question, laws.items, laws.offset, list(map(repr, laws.laws)), laws.counts.tolist(), design.fewest]
    )


def _require_a_set(design: DesignFields) -> None:
    """Require exactly the fields of one way to give a design."""
    if design.v is not None and (design.kind == "runs") == isinstance(design.v, float):
        detail = "Give the runs of each item." if design.kind == "runs" else "Give one number: V's accuracy."
        raise InvalidTest.at("/design/v", "chance_or_runs", detail)
    sent = {name for name in design.model_fields_set if name != "kind" and getattr(design, name) is not None}
    sets = _SETS[design.kind]
    if sent in map(set, sets):
        return
    ways, called = "; or ".join(", ".join(names) for names in sets), f"{_NAMES[design.kind]} design"
    others = sorted(sent.difference(*sets))
    flaws = [Flaw(f"/design/{name}", "superfluous", f"{called} has {ways}.") for name in others]
    if not flaws:
        flaws = [Flaw("/design", "incomplete", f"{called} needs exactly one of these: {ways}.")]
    raise InvalidTest(f"At {flaws[0].pointer}: {flaws[0].detail}", flaws=tuple(flaws))


def _design(design: DesignFields, question: Question) -> BinaryDesign | NormalDesign:
    if design.kind == "sd":
        assert design.sd is not None
        return NormalDesign(design.sd, question.level, question.alternative)
    if design.p10 is not None and design.p01 is not None:
        p10, p01 = design.p10, design.p01
    else:
        assert design.u is not None
        assert design.v is not None
        p10, p01 = from_accuracies(design.u, design.v, design.discordance, design.correlation)
    if not 0.0 < p10 + p01 <= 1.0 + 1e-12:
        detail = "p10 + p01, the share of items on which the systems differ, must be above 0 and at most 1."
        raise InvalidTest.at("/design", "not_attainable", detail)
    return BinaryDesign(
        min(as_written(p10, p01, 1), 1.0), as_written(p10, p01, -1), question.level, question.alternative
    )


def _pilot(design: DesignFields, job: Job, context: dict[str, bool]) -> ParsedTest:
    """The test whose data is the pilot; its alpha and alternative are not used."""
    assert design.request_kind is not None
    document = Document(design.request_kind, design.request, prefixed(REQUEST), context)
    request = document.request()
    refuse_to_store(store_of(request), INSIDE, f"{REQUEST}/store")
    return parse_request(document.kind, request, document.place, job)


def _digest(named: object) -> str:
    text = json.dumps([named, ALGORITHM_VERSION], sort_keys=True, default=_plain)
    return hashlib.sha256(text.encode()).hexdigest()


def _plain(value: object) -> object:
    return value.tolist() if hasattr(value, "tolist") else repr(value)


# For a sum over the discordant items: per sum, and per item.
_SECONDS_OF_SUM, _SECONDS_OF_TERM = 2e-4, 5e-7
# Sums of a search with a binary design; numbers of items of a curve; those that a search among pilots looks at with rounded sizes,
# and with the sizes themselves, which are no dearer than those of one of these multiples of the pilot's.
_SUMS, _CURVE, _SEARCHED, _GALLOPED, _MULTIPLES = 40, 18, 45, 20, (1, 16, 1_024)


@dataclass(frozen=True, slots=True)
class PreparedPower:
    """A design, and its predicted cost: a search for a number of items may take long."""

    design: Design | RunsDesign
    seconds: float
    longest_seconds: float


def prepare_power(job: Job, parsed: ParsedPower) -> PreparedPower:
    """Reduce the pilot, if there is one; raises InputError."""
    design, seconds = _priced(job, parsed)
    return PreparedPower(design, seconds, math.inf if parsed.question.solve == "n" else seconds)


def _priced(job: Job, parsed: ParsedPower) -> tuple[Design | RunsDesign, float]:
    question = parsed.question
    if isinstance(parsed.design, RunsDesign):
        cost = parsed.design.cost
        if not cost.fits(job.limits.budget):
            raise PlanTooLarge("There are too many items with too many distinct rates for a floor.", flaws=())
        return parsed.design, cost.seconds
    if parsed.design is not None:
        each = _SECONDS_OF_SUM + _SECONDS_OF_TERM * 20.0 * max(question.n, default=10_000) ** 0.5
        sums = _SUMS * (10 if question.solve == "n" else max(len(question.n), 1))
        return parsed.design, each * (sums + _CURVE)
    assert parsed.pilot is not None
    pilot, budget = parsed.pilot, job.limits.budget
    if pilot.options.test == "bootstrap":
        detail = "Power is for the permutation test: leave test out."
        raise InvalidTest.at(pilot.pointer_map("/test"), "no_power", detail)
    if pilot.options.exchange == "both":
        detail = "Power is for tests that exchange items, or runs, not both."
        raise InvalidTest.at(pilot.pointer_map("/exchange"), "exchange_has_no_interval", detail)
    test = mapped(pilot.pointer_map, planned_test, pilot.data, pilot.spec, pilot.options, budget)
    fixed = isinstance(test.problem, Runs)
    if fixed or question.runs_per_item is not None or question.item_cost is not None:
        parts = variance_of_difference(pilot.data, pilot.spec, test.problem)
        return RunsPlan.of(parts, question, fixed=fixed), _SECONDS_OF_SUM * _SUMS
    assert not isinstance(test.problem, Runs)
    sizes = sizes_of(test.problem)
    side: Alternative = "two-sided" if question.alternative == "two-sided" else "greater"
    design = PilotDesign(sizes, LevelTest(question.level, side))
    if design.pilot_n == 0:
        raise InvalidTest.at(REQUEST, "empty", "The pilot has no items.")
    costs, seconds = _costs(question, design)
    if not all(cost.fits(budget) for cost in costs):
        detail = (
            "The pilot's differences have too many digits or items for this search: round them (`decimals`)."
        )
        raise PlanTooLarge(detail, flaws=())
    return design, seconds


def _costs(question: Question, design: PilotDesign) -> tuple[list[Cost], float]:
    """The cost of each requested number of items, and the seconds of all with the curve."""
    pilot_n, solved = design.pilot_n, question.solve == "effect"
    numbers = question.n or (pilot_n,)
    costs = [design.cost(n, solved=solved) for n in numbers]
    seconds = sum(cost.seconds for cost in costs)
    # A curve extends to four times the items, which may make a level attainable.
    drawn = [pilot_n, 4 * numbers[0]] if design.sizes.grows else [pilot_n]
    rough = max(design.rough.cost(n, solved=False).seconds for n in drawn)
    if question.solve == "n":
        # The number of items is not known yet.
        tried = _MULTIPLES if design.sizes.grows == "mean" else (1,)
        rough = max(design.rough.cost(pilot_n * times, solved=False).seconds for times in tried)
        costs = [design.cost(pilot_n * times, solved=False) for times in tried]
        seconds = _SEARCHED * rough + _GALLOPED * max(cost.seconds for cost in costs)
    return costs, seconds + (_CURVE * rough if len(numbers) == 1 else 0.0)
