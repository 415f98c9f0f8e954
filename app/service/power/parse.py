"""A body becomes a question about power: a design, and which of its numbers is asked for."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

from ...errors import Flaw, InvalidTest, relocated
from ...execution.ipc import UNBOUNDED, Control
from ...inference.digest import request_digest
from ...inference.paired_test import ALGORITHM_VERSION
from ...inference.power.binary import BinaryDesign, as_written, from_accuracies
from ...inference.power.design import Question
from ...inference.power.normal import NormalDesign
from ..documents import Document, json_of
from ..media_types import MULTIPART
from ..messages import Job
from ..parse import ParsedTest, parse_files, parse_request
from ..parse_files import option_pointer, read_form
from ..pointers import prefixed
from ..query import ELSEWHERE, literal, once, options_of_query
from ..schema.power import FIELDS, Design, PowerFields, PowerRequest
from ..storing import refuse_inside, store_of
from ..validation import validated

REQUEST = "/design/request"
DEFAULT_POWER = 0.8
NOT_ASKED = {"timeout_s", "store"}  # what the answer does not depend on
# Levels nearer to 0 are no normal numbers.
LEAST_LEVEL = 1e-300
_TEXTS = ("solve", "alternative")
# The fields of a design by its kind, in the sets that go together.
_SETS: dict[str, tuple[tuple[str, ...], ...]] = {
    "binary": (("p10", "p01"), ("u", "v", "discordance"), ("u", "v", "correlation")),
    "pilot": (("request_kind", "request"),),
    "sd": (("sd",),),
}
_NAMES = {"binary": "A binary", "pilot": "A pilot", "sd": "An sd"}


@dataclass(frozen=True, slots=True)
class ParsedPower:
    """A question that was validated: of a design, or of a `pilot` that has yet to be reduced."""

    question: Question
    design: BinaryDesign | NormalDesign | None
    pilot: ParsedTest | None
    digest: str
    timeout_s: float | None
    store: bool | None = None

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
    digest, timeout_s = _digest(request.model_dump(exclude=NOT_ASKED)), job.deadline_s(request.timeout_s)
    return ParsedPower(
        question, _design(request.design, question), pilot, digest, timeout_s, store_of(request)
    )


def _parse_form(job: Job, body: bytes | bytearray, control: Control) -> ParsedPower:
    """Files of a pilot; the fields of the question, then those of the test."""
    options_of_query(job.query, ELSEWHERE)
    form = read_form(job, body, control)
    texts, others = once(form.fields, FIELDS, option_pointer)
    values = {name: text if name in _TEXTS else literal(text) for name, text in texts.items()}
    with relocated(lambda pointer: f"/options{pointer}"):
        request = validated(PowerFields, values)
        question = _question(request)
    pilot = parse_files(form.files, others, job)
    of_pilot = request_digest(pilot.data, pilot.spec, pilot.options, ALGORITHM_VERSION)
    digest = _digest([request.model_dump(exclude=NOT_ASKED), of_pilot])
    return ParsedPower(question, None, pilot, digest, job.deadline_s(request.timeout_s), store_of(request))


def _question(request: PowerFields) -> Question:
    """The question; raises InvalidTest for numbers that contradict what is asked for."""
    solve = request.solve
    if getattr(request, solve) is not None:
        detail = f"{solve} is what is asked for (solve): leave it out, or solve for another number."
        raise InvalidTest.at(f"/{solve}", "redundant", detail)
    power = None if solve == "power" else DEFAULT_POWER if request.power is None else request.power
    if power is not None and power <= request.alpha:
        detail = "A test finds what is not there with probability alpha: the power wanted must be more."
        raise InvalidTest.at("/power", "out_of_range", detail)
    if request.alpha / request.comparisons < LEAST_LEVEL:
        detail = f"alpha, or each comparison's share of it, is below {LEAST_LEVEL:g}: no test of that many items is so sure."
        raise InvalidTest.at("/alpha", "out_of_range", detail)
    n = () if request.n is None else request.n
    return Question(solve, n, power, request.effect, request.alpha, request.alternative, request.comparisons)


def _require_a_set(design: Design) -> None:
    """Exactly the fields of one way to give a design of its kind."""
    given = {name for name in design.model_fields_set if name != "kind" and getattr(design, name) is not None}
    sets = _SETS[design.kind]
    if any(given == set(names) for names in sets):
        return
    ways = "; or ".join(", ".join(names) for names in sets)
    own = set().union(*sets)
    flaws = [
        Flaw(f"/design/{name}", "superfluous", f"{_NAMES[design.kind]} design has {ways}.")
        for name in sorted(given - own)
    ]
    if not flaws:
        flaws = [
            Flaw("/design", "incomplete", f"{_NAMES[design.kind]} design needs exactly one of these: {ways}.")
        ]
    raise InvalidTest(f"At {flaws[0].pointer}: {flaws[0].detail}", flaws=tuple(flaws))


def _design(design: Design, question: Question) -> BinaryDesign | NormalDesign | None:
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
        detail = (
            "The systems differ on some items, and on no more than all: p10 + p01 is above 0 and at most 1."
        )
        raise InvalidTest.at("/design", "not_attainable", detail)
    return BinaryDesign(
        min(as_written(p10, p01, 1), 1.0), as_written(p10, p01, -1), question.level, question.alternative
    )


def _pilot(design: Design, job: Job, context: dict[str, bool]) -> ParsedTest:
    """The test whose data is the pilot; its own alpha and alternative are those of its p-value, and not used."""
    assert design.request_kind is not None
    document = Document(design.request_kind, design.request, prefixed(REQUEST), context)
    request = document.request()
    with relocated(document.place):
        if request.test == "bootstrap":
            detail = "Power is that of the permutation test: leave test out."
            raise InvalidTest.at("/test", "no_power", detail)
        refuse_inside(store_of(request))
    return parse_request(document.kind, request, document.place, job)


def _digest(named: object) -> str:
    text = json.dumps([named, ALGORITHM_VERSION], sort_keys=True, default=_plain)
    return hashlib.sha256(text.encode()).hexdigest()


def _plain(value: object) -> object:
    """Columns as lists."""
    return value.tolist() if hasattr(value, "tolist") else repr(value)
