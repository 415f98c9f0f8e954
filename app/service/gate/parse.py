"""A gate's body becomes its metrics: a parsed test for each, and what it has to show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from ...errors import InvalidTest, relocated
from ...execution.ipc import UNBOUNDED, Control
from ...inference.gate.record import GateTerms, OnInconclusive
from ...inference.record import WarningRecord
from ...inputs import json_body
from ...inputs.quoting import quoted
from ..body_decoders import DecodedBody
from ..media_types import MULTIPART
from ..messages import Job
from ..multipart import Form
from ..parse import (
    ParsedTest,
    parse_reading,
    parse_request,
    read_from_file,
    sequential_of,
    with_picture_data,
)
from ..parse_files import in_form, parse_files, read_form
from ..pointers import PointerMap, chained, in_query
from ..query import ELSEWHERE, literal, options_of_query
from ..request_file import Fields, RequestFile, request_in
from ..schema.fields import NO_BOOLEANS
from ..schema.gate import GateFields, GateMetric, GateRequest, Terms
from ..storing import refuse_inside, store_of
from ..validation import validated
from . import against, fields as gate_fields, roles
from .request_file import gate_request

FAILED = 409
SINGLE = ("kind", "request", "against")  # members of a gate without metrics
ROLES = ("candidate", "baseline")  # names of systems that have none


@dataclass(frozen=True, slots=True)
class ParsedMetric:
    """One metric of a gate.

    `pointer_map` is for its terms, as `test.pointer_map` is for its test. `interval_requested` is false where the
    interval is only there for the reports; `warnings` are about roles and direction. `against` is the baseline's name,
    where there are several.
    """

    name: str
    test: ParsedTest
    terms: GateTerms
    pointer_map: PointerMap
    interval_requested: bool
    warnings: tuple[WarningRecord, ...] = ()
    against: str | None = None


@dataclass(frozen=True, slots=True)
class ParsedGate:
    """A gate, decoded and validated."""

    metrics: tuple[ParsedMetric, ...]
    on_inconclusive: OnInconclusive
    fail_status: int
    store: bool | None = None

    @property
    def timeout_s(self) -> float | None:
        """The longest deadline that any of its tests asks for, in seconds."""
        timeouts = [metric.test.timeout_s for metric in self.metrics if metric.test.timeout_s is not None]
        return max(timeouts, default=None)

    @property
    def counting_seconds(self) -> float:
        """Predicted seconds of a long preparation, else 0."""
        return sum(metric.test.counting_seconds for metric in self.metrics)


def parse_gate(job: Job, body: bytes | bytearray, control: Control = UNBOUNDED) -> ParsedGate:
    """Decode, validate and pair; raises InputError."""
    options_of_query(job.query, (*ELSEWHERE, "fail_status"))
    if job.body.media_type == MULTIPART:
        return _parse_form(job, body, control)
    read = json_body.decode(body)
    return _parse_request(job, read.value, {NO_BOOLEANS: read.no_booleans})


def _parse_request(job: Job, value: Any, context: dict[str, Any]) -> ParsedGate:
    """A gate's decoded JSON request."""
    gate = validated(GateRequest, value)
    if gate.metrics is None:
        _refuse_too_many(len(gate.against or ()), job, f"/{against.ROLE}")
        metrics = [_parse_metric(job, gate, _single(gate), "", context)]
    else:
        baselines = [len(metric.against or ()) or 1 for metric in gate.metrics]
        _refuse_too_many(sum(baselines), job, "/metrics")
        given = next((name for name in SINGLE if getattr(gate, name) is not None), None)
        if given is not None:
            where = (
                "against inside each of them" if given == against.ROLE else "no kind and request beside them"
            )
            detail = f"Give either kind and request, or metrics; with metrics, {where}."
            raise InvalidTest.at(f"/{given}", "redundant", detail)
        metrics = [
            _parse_metric(job, gate, metric, f"/metrics/{index}", context)
            for index, metric in enumerate(gate.metrics)
        ]
    _refuse_equal_names(metrics, "/metrics/{}/name")
    flat = tuple(one for each in metrics for one in each)
    status = _fail_status(job, gate.fail_status)
    return ParsedGate(flat, gate.on_inconclusive or "pass", status, store_of(gate))


def _single(gate: GateRequest) -> GateMetric:
    if gate.kind is None or gate.request is None:
        detail = 'Give kind and request ({"kind": "scores", "request": {"u": […], "v": […]}}), or metrics.'
        raise InvalidTest.at("/kind" if gate.kind is None else "/request", "missing", detail)
    return GateMetric(kind=gate.kind, request=gate.request, against=gate.against)


def _parse_metric(
    job: Job, gate: GateRequest, metric: GateMetric, prefix: str, context: dict[str, Any]
) -> list[ParsedMetric]:
    """The metric against its baseline, or against each of several."""
    pointer_map = partial(_in_metric, metric, prefix)
    refusals, parsed = against.Refusals(), []
    for one in against.requests_of(metric, prefix, context, job.limits):
        request = one.request
        with refusals.of(one.against, one.where):
            test = parse_request(DecodedBody(metric.kind, request, one.pointer_map), job)
            if gate.alpha is not None and "alpha" in request.model_fields_set and request.alpha != gate.alpha:
                detail = "alpha is given twice, with different values: give it once, next to the policy."
                raise InvalidTest.at(f"{prefix}/request/alpha", "alpha_given_twice", detail)
            alpha = test.options.alpha if gate.alpha is None else gate.alpha
            sequential = test.options.sequential
            if gate.sequential is not None and sequential is not None:
                detail = "sequential is given twice: give it once, next to the policy."
                raise InvalidTest.at(f"{prefix}/request/sequential", "given_twice", detail)
            if gate.sequential is not None:
                sequential = sequential_of(gate.sequential)
                test = replace(test, pointer_map=_outside("/sequential", test.pointer_map))
            test = replace(test, options=replace(test.options, alpha=alpha, sequential=sequential))
            given = request.model_fields_set
            parsed.append(_metric(job, metric, gate, test, pointer_map, given, one.against))
    refusals.raise_all()
    return parsed


def _in_metric(metric: GateMetric, prefix: str, pointer: str) -> str:
    """Where a term is: with the metric that sets it, else next to the policy."""
    return prefix + pointer if getattr(metric, pointer[1:], None) is not None else pointer


def _outside(name: str, inside: PointerMap) -> PointerMap:
    """The map of a test one of whose options stands next to the policy."""
    return partial(_unless_outside, name, inside)


def _unless_outside(name: str, inside: PointerMap, pointer: str) -> str:
    return pointer if pointer.startswith(name) else inside(pointer)


def _parse_form(job: Job, body: bytes | bytearray, control: Control) -> ParsedGate:
    """Files and fields; each of `metrics` is a form of its own that replaces some of the common fields."""
    form = read_form(job, body, control, against.ROLE)
    request = None if form.repeated else request_in(form.files, form.fields)
    if request is not None:
        return _parse_file(job, request, form.fields)
    gate, baselines = gate_fields.taken(form.fields), against.files_of(form)
    several = "/options/metrics" if len(gate.overrides) > 1 else f"/files/{against.ROLE}"
    _refuse_too_many(len(gate.overrides) * len(baselines), job, several)
    metrics, names = [], None
    for index in range(len(gate.overrides)):
        gate, tests, given = _tests_by_name(job, form, gate, index, baselines)
        if names is None:
            names = against.names_of(gate.names, baselines, [test.reading for test in tests], job.limits)
        own, pointer_map = gate_fields.overridden(gate, index)[0], gate_fields.in_metric(gate, index)
        in_terms = chained(in_form, pointer_map)
        metrics.append(
            [
                _metric(job, own, gate.common, test, in_terms, given, name)
                for test, name in zip(tests, names, strict=True)
            ]
        )
    _refuse_equal_names(metrics, "/options/metrics/{}/name")
    flat = tuple(one for each in metrics for one in each)
    common = gate.common
    status = _fail_status(job, common.fail_status)
    return ParsedGate(flat, common.on_inconclusive or "pass", status, store_of(common))


def _tests_by_name(
    job: Job, form: Form, gate: gate_fields.GateForm, index: int, baselines: Sequence[against.BaselineFile]
) -> tuple[gate_fields.GateForm, list[ParsedTest], set[str]]:
    """The same; a name that is no statistic of the files may be a metric that they hold."""
    try:
        return gate, *_tests_of_files(job, form, gate, index, baselines)
    except InvalidTest as refused:
        named = gate_fields.by_metric(gate, index)
        if named is None:
            raise
        try:
            tests, given = _tests_of_files(job, form, named, index, baselines)
        except InvalidTest as error:
            lists_metrics = bool(error.flaws) and error.flaws[0].code == "choose_metric"
            raise (error if lists_metrics else refused) from None
        metric = named.overrides[index]["metric"].lower()
        if not all(metric in (test.options.metric or "").lower() for test in tests):
            raise  # nothing in the files is called so
        return named, tests, given


def _tests_of_files(
    job: Job,
    form: Form,
    gate: gate_fields.GateForm,
    index: int,
    baselines: Sequence[against.BaselineFile],
) -> tuple[list[ParsedTest], set[str]]:
    """One metric of files, against each baseline; and the options of their test that were given."""
    fields = gate_fields.overridden(gate, index)[1]
    refusals, tests, given = against.Refusals(), [], set[str]()
    for baseline in baselines:
        pointer_map = chained(gate_fields.in_metric(gate, index), baseline.pointer_map)
        with refusals.of(baseline.called, baseline.where), relocated(pointer_map):
            files = parse_files(baseline.beside(form.files), fields, job.limits)
            test = parse_reading(files, job)
            roles.require(files.reading)
            given |= files.request.model_fields_set | ({"names"} if files.reading.names else set())
            tests.append(replace(test, pointer_map=chained(in_form, pointer_map)))
    refusals.raise_all()
    against.require_alike(tests, baselines)
    return tests, given


def _parse_file(job: Job, request: RequestFile, fields: Fields) -> ParsedGate:
    """A JSON request, of a gate or of a test, sent as a file."""
    value, pointer_map = gate_request(request, fields)
    with relocated(pointer_map):
        gate = _parse_request(job, value, request.context)
    metrics = tuple(
        replace(
            metric,
            test=replace(
                read_from_file(metric.test), pointer_map=chained(metric.test.pointer_map, pointer_map)
            ),
            pointer_map=chained(metric.pointer_map, pointer_map),
        )
        for metric in gate.metrics
    )
    return replace(gate, metrics=metrics)


def _metric(
    job: Job,
    own: GateMetric | GateFields,
    common: Terms,
    test: ParsedTest,
    pointer_map: PointerMap,
    given: set[str],
    baseline: str | None = None,
) -> ParsedMetric:
    """The metric with what a gate's reports need: names, an interval that fits its level, a picture's data."""
    with relocated(test.pointer_map):
        refuse_inside(test.store)
    roles.require_items(test)
    higher, turned = roles.direction(_term(own, common, "higher_is_better"), test, pointer_map)
    roles.require_one_unit(test, higher_is_better=higher)
    terms = _terms(own, common, test.options.alpha, higher)
    options = test.options
    if "names" not in given:
        options = replace(options, name_u=ROLES[0], name_v=ROLES[1])
    if baseline is not None:
        options = replace(options, name_v=baseline)
    if "confidence_level" not in given and 0.0 < 1 - 2 * terms.alpha < 1.0:
        # The two-sided interval at 1 - 2 alpha decides a one-sided test at alpha.
        options = replace(options, confidence_level=1 - 2 * terms.alpha)
    name = own.name
    if name is not None and len(name) > job.limits.max_name_chars:
        detail = f"A name has at most {job.limits.max_name_chars} characters; this one has {len(name):,}."
        raise InvalidTest.at(pointer_map("/name"), "name_too_long", detail)
    test = with_picture_data(replace(test, options=options), job.representation)
    warnings = (*turned, *roles.swapped(test))
    name = name or _name(test)
    if baseline is not None:
        name = f"{name} {against.ROLE} {baseline}"
    return ParsedMetric(name, test, terms, pointer_map, "confidence_level" in given, warnings, baseline)


def _terms(own: Terms, common: Terms, alpha: float, higher_is_better: bool) -> GateTerms:
    """What has to be shown: the metric's own terms, else the gate's, else the defaults."""
    values = {name: _term(own, common, name) for name in ("policy", "margin")}
    given = {name: value for name, value in values.items() if value is not None}
    return GateTerms(alpha=alpha, higher_is_better=higher_is_better, **given)


def _term(own: Terms, common: Terms, name: str) -> Any:
    """A term of the metric, else of the gate; None where neither has it."""
    value = getattr(own, name)
    return getattr(common, name) if value is None else value


def _name(test: ParsedTest) -> str:
    """The name of a metric without one: what was measured, and the statistic unless it is the default."""
    metric, statistic = test.options.metric, test.spec.name
    if metric is None:
        return statistic
    usual = test.reading is not None and statistic == test.reading.default_statistic.name
    return metric if usual else f"{metric} ({statistic})"


def _refuse_too_many(n: int, job: Job, pointer: str) -> None:
    most = job.limits.max_gate_metrics
    if n > most:
        counted = ", every baseline of each counted" if against.ROLE in pointer else ""
        detail = f"A gate has at most {most} metrics{counted}; this one has {n:,}."
        raise InvalidTest.at(pointer, "too_many_metrics", detail)


def _refuse_equal_names(metrics: Sequence[Sequence[ParsedMetric]], pointer: str) -> None:
    """Reports tell metrics apart by their names."""
    seen: set[str] = set()
    for index, metric in ((index, metric) for index, each in enumerate(metrics) for metric in each):
        if metric.name in seen:
            detail = f"Two metrics are called {quoted(metric.name)}: give each a name of its own."
            raise InvalidTest.at(pointer.format(index), "duplicate_name", detail)
        seen.add(metric.name)


def _fail_status(job: Job, of_body: int | None) -> int:
    """The status of a failed gate: the query's, else the body's, else 409."""
    of_query = [value for name, value in job.query if name == "fail_status"]
    if not of_query:
        return FAILED if of_body is None else of_body
    with relocated(in_query):
        fields = validated(GateFields, {"fail_status": literal(of_query[0])})
    return FAILED if fields.fail_status is None else fields.fail_status
