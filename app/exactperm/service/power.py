"""Turns a body into a question about power, a design and the number to solve for, and answers it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

from ..answers.test import Alternative
from ..engine.plan import Cost
from ..engine.power.tilted_sum import LevelTest
from ..errors import REFUSALS, Flaw, InvalidTest, PlanTooLarge, PointerMap, located, prefixed
from ..execution.ipc import UNBOUNDED, Control
from ..inference.options import request_digest
from ..inference.paired import ALGORITHM_VERSION, planned_test
from ..inference.power import BinaryDesign, Design, NormalDesign, Question, as_written, from_accuracies
from ..inference.sensitivity import PilotDesign, sizes_of
from .documents import Document, json_of
from .messages import INSIDE, MULTIPART, Job, refuse_to_store, store_of
from .parse import ParsedTest, parse_files, parse_request
from .parse_files import option_pointer, read_form
from .query import ELSEWHERE, once, option_value, options_of_query
from .schema.requests import FIELDS, Design as DesignFields, PowerFields, PowerRequest
from .validation import validated

REQUEST = "/design/request"
DEFAULT_POWER = 0.8
IRRELEVANT_MEMBERS = {"timeout_s", "store"}  # members that do not change the answer
# Smaller levels are not normal doubles.
LEAST_LEVEL = 1e-300
# The fields of a design by kind, in alternative sets.
_SETS: dict[str, tuple[tuple[str, ...], ...]] = {
    "binary": (("p10", "p01"), ("u", "v", "discordance"), ("u", "v", "correlation")),
    "pilot": (("request_kind", "request"),),
    "sd": (("sd",),),
}
_NAMES = {"binary": "A binary", "pilot": "A pilot", "sd": "An sd"}


@dataclass(frozen=True, slots=True)
class ParsedPower:
    """A validated question about a design, or about a `pilot` that is still to be reduced."""

    question: Question
    design: BinaryDesign | NormalDesign | None
    pilot: ParsedTest | None
    digest: str
    timeout_s: float | None
    store: bool | None = None
    pointer_map: PointerMap = str  # of the question; the pilot has one of its own

    @property
    def counting_seconds(self) -> float:
        """Predicted seconds of a pilot's preparation."""
        return 0.0 if self.pilot is None else self.pilot.counting_seconds


def parse_power(job: Job, body: bytes | bytearray, control: Control = UNBOUNDED) -> ParsedPower:
    """Decode and validate a body: JSON, or a form with the files of a pilot; raises InputError."""
    if job.body.media_type == MULTIPART:
        return _parse_form(job, body, control)
    value, context = json_of(body)
    options_of_query(job.query, ELSEWHERE)
    request = validated(PowerRequest, value)
    _require_a_set(request.design)
    question = _question(request)
    pilot = _pilot(request.design, job, context) if request.design.kind == "pilot" else None
    digest = _digest(request.model_dump(exclude=IRRELEVANT_MEMBERS))
    design, timeout_s = _design(request.design, question), job.deadline_s(request.timeout_s)
    return ParsedPower(question, design, pilot, digest, timeout_s, store_of(request))


def _parse_form(job: Job, body: bytes | bytearray, control: Control) -> ParsedPower:
    """Files of a pilot; the fields of the question, then those of the test."""
    options_of_query(job.query, ELSEWHERE)
    form = read_form(job, body, control)
    texts, others = once(form.fields, FIELDS, option_pointer)
    values = {name: option_value(name, text) for name, text in texts.items()}
    request = validated(PowerFields, values, prefixed("/options"))
    question = _question(request, "/options")
    pilot = parse_files(form.files, others, job)
    of_pilot = request_digest(pilot.data, pilot.spec, pilot.options, ALGORITHM_VERSION)
    digest = _digest([request.model_dump(exclude=IRRELEVANT_MEMBERS), of_pilot])
    return ParsedPower(question, None, pilot, digest, job.deadline_s(request.timeout_s), store_of(request))


def _question(request: PowerFields, prefix: str = "") -> Question:
    """The question; raises InvalidTest at `<prefix>/power` for contradictory numbers."""
    solve = request.solve
    if getattr(request, solve) is not None:
        detail = f"{solve} is the number to solve for: leave it out, or solve for another."
        raise InvalidTest.at(f"{prefix}/{solve}", "redundant", detail)
    power = None if solve == "power" else DEFAULT_POWER if request.power is None else request.power
    if power is not None and power <= request.alpha:
        detail = "The power must be above alpha, the probability of a false alarm."
        raise InvalidTest.at(f"{prefix}/power", "out_of_range", detail)
    if request.alpha / request.comparisons < LEAST_LEVEL:
        detail = (
            f"alpha, or each comparison's share of it, is below {LEAST_LEVEL:g}: no test of that many "
            "items reaches it."
        )
        raise InvalidTest.at(f"{prefix}/alpha", "out_of_range", detail)
    n = () if request.n is None else request.n
    return Question(solve, n, power, request.effect, request.alpha, request.alternative, request.comparisons)


def _require_a_set(design: DesignFields) -> None:
    """Require exactly the fields of one way to give a design."""
    given = {name for name in design.model_fields_set if name != "kind" and getattr(design, name) is not None}
    sets = _SETS[design.kind]
    if given in map(set, sets):
        return
    ways, called = "; or ".join(", ".join(names) for names in sets), f"{_NAMES[design.kind]} design"
    others = sorted(given.difference(*sets))
    flaws = [Flaw(f"/design/{name}", "superfluous", f"{called} has {ways}.") for name in others]
    if not flaws:
        flaws = [Flaw("/design", "incomplete", f"{called} needs exactly one of these: {ways}.")]
    raise InvalidTest(f"At {flaws[0].pointer}: {flaws[0].detail}", flaws=tuple(flaws))


def _design(design: DesignFields, question: Question) -> BinaryDesign | NormalDesign | None:
    if design.kind == "sd":
        assert design.sd is not None
        return NormalDesign(design.sd, question.level, question.alternative)
    if design.kind == "pilot":
        return None
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
    if request.test == "bootstrap":
        detail = "Power is for the permutation test: leave test out."
        raise InvalidTest.at(f"{REQUEST}/test", "no_power", detail)
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
    """A question with its design, and its predicted cost."""

    question: Question
    design: Design
    digest: str
    seconds: float

    @property
    def longest_seconds(self) -> float:
        """Only single numbers are certain to be quick; a search may take long."""
        return float("inf") if self.question.solve == "n" else self.seconds


def prepare_power(job: Job, parsed: ParsedPower) -> PreparedPower:
    """Reduce the pilot, if there is one; raises InputError."""
    question, digest = parsed.question, parsed.digest
    if parsed.design is not None:
        each = _SECONDS_OF_SUM + _SECONDS_OF_TERM * 20.0 * max(question.n, default=10_000) ** 0.5
        sums = _SUMS * (10 if question.solve == "n" else max(len(question.n), 1))
        return PreparedPower(question, parsed.design, digest, each * (sums + _CURVE))
    assert parsed.pilot is not None
    pilot, budget = parsed.pilot, job.limits.budget
    try:
        test = planned_test(pilot.data, pilot.spec, pilot.options, budget)
    except REFUSALS as error:
        raise located(error, pilot.pointer_map) from None
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
    return PreparedPower(question, design, digest, seconds)


def _costs(question: Question, design: PilotDesign) -> tuple[list[Cost], float]:
    """The cost of each requested number of items, and the seconds of all with the curve."""
    own, solved = design.pilot_n, question.solve == "effect"
    numbers = question.n or (own,)
    costs = [design.cost(n, solved=solved) for n in numbers]
    seconds = sum(cost.seconds for cost in costs)
    # A curve extends to four times the items, which may make a level attainable.
    drawn = [own, 4 * numbers[0]] if design.sizes.grows else [own]
    rough = max(design.rough.cost(n, solved=False).seconds for n in drawn)
    if question.solve == "n":
        # The number of items is not known yet.
        tried = _MULTIPLES if design.sizes.grows == "mean" else (1,)
        rough = max(design.rough.cost(own * times, solved=False).seconds for times in tried)
        costs = [design.cost(own * times, solved=False) for times in tried]
        seconds = _SEARCHED * rough + _GALLOPED * max(cost.seconds for cost in costs)
    return costs, seconds + (_CURVE * rough if len(numbers) == 1 else 0.0)
