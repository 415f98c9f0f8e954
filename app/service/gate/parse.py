"""A gate's body becomes its metrics: the tests that were asked for, and what has to be shown of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...errors import InvalidTest
from ...inference.gate.record import GateTerms, OnInconclusive
from ...inference.record import Caution
from ...inputs import json_body
from ...inputs.pairing import shown
from ..body_decoders import Told
from ..media_types import MULTIPART
from ..messages import Job
from ..parse import Asked, as_read, asked_of, asked_of_files, pictured
from ..parse_files import form_of, in_form, told_of
from ..pointers import Place, after, below, in_query, moved
from ..query import ELSEWHERE, literal, options_of_query, timeout_of_query
from ..request_file import Fields, RequestFile, request_in
from ..schema.fields import NO_BOOLEANS
from ..schema.gate import GateFields, GateMetric, GateRequest, Terms
from ..schema.requests import REQUEST_MODELS
from ..validation import validated
from . import fields as gate_form, roles
from .request_file import gate_request

FAILED = 409
ROLES = ("candidate", "baseline")  # what the systems are called where nobody named them


@dataclass(frozen=True, slots=True)
class MetricAsked:
    """One metric; `term` finds its terms, as `asked.place` does its request, in what the client sent.

    `interval_asked` says that the client wants a confidence interval, rather than we; `cautions` are about roles and
    direction.
    """

    name: str
    asked: Asked
    terms: GateTerms
    term: Place
    interval_asked: bool
    cautions: tuple[Caution, ...] = ()


@dataclass(frozen=True, slots=True)
class GateAsked:
    """A gate that was asked for, decoded and validated."""

    metrics: tuple[MetricAsked, ...]
    on_inconclusive: OnInconclusive
    fail_status: int

    @property
    def timeout_s(self) -> float | None:
        """The longest deadline that any of its tests asks for."""
        asked = [metric.asked.timeout_s for metric in self.metrics if metric.asked.timeout_s is not None]
        return max(asked, default=None)

    @property
    def counting_seconds(self) -> float:
        """Predicted time of the preparation where that is long."""
        return sum(metric.asked.counting_seconds for metric in self.metrics)


def gate_decoded(job: Job, body: bytes | bytearray) -> GateAsked:
    """Decode, validate and pair; raises InputError."""
    options_of_query(job.query, (*ELSEWHERE, "fail_status"))
    if job.body.media_type == MULTIPART:
        return _of_form(job, body)
    read = json_body.decode(body)
    return _of_request(job, read.value, {NO_BOOLEANS: read.no_booleans})


def _of_request(job: Job, value: Any, context: dict[str, Any]) -> GateAsked:
    """A gate's JSON request, decoded."""
    gate = validated(GateRequest, value)
    _refuse_too_many(len(gate.metrics or ()), job, "/metrics")
    if gate.metrics is None:
        metrics = [_of_json(job, gate, _single(gate), "", context)]
    else:
        if gate.kind is not None or gate.request is not None:
            where = "/kind" if gate.kind is not None else "/request"
            raise InvalidTest.at(where, "redundant", "Give either kind and request, or metrics.")
        metrics = [
            _of_json(job, gate, metric, f"/metrics/{index}", context)
            for index, metric in enumerate(gate.metrics)
        ]
    _refuse_equal_names(metrics, "/metrics/{}/name")
    return GateAsked(tuple(metrics), gate.on_inconclusive or "pass", _fail_status(job, gate.fail_status))


def _single(gate: GateRequest) -> GateMetric:
    if gate.kind is None or gate.request is None:
        detail = 'Give kind and request ({"kind": "scores", "request": {"u": […], "v": […]}}), or metrics.'
        raise InvalidTest.at("/kind" if gate.kind is None else "/request", "missing", detail)
    return GateMetric(kind=gate.kind, request=gate.request)


def _of_json(
    job: Job, gate: GateRequest, metric: GateMetric, prefix: str, context: dict[str, Any]
) -> MetricAsked:
    inside = f"{prefix}/request"
    request = validated(REQUEST_MODELS[metric.kind], metric.request, prefix=inside, context=context)
    asked = asked_of(Told(metric.kind, request, below(inside)), job.limits, timeout_of_query(job.query))
    if gate.alpha is not None and "alpha" in request.model_fields_set and request.alpha != gate.alpha:
        detail = "alpha is said twice, and differently: say it once, beside the policy."
        raise InvalidTest.at(f"{inside}/alpha", "alpha_given_twice", detail)

    def term(pointer: str) -> str:
        return prefix + pointer if getattr(metric, pointer[1:], None) is not None else pointer

    alpha = asked.options.alpha if gate.alpha is None else gate.alpha
    asked = replace(asked, options=replace(asked.options, alpha=alpha))
    return _metric(job, metric, gate, asked, term, request.model_fields_set)


def _of_form(job: Job, body: bytes | bytearray) -> GateAsked:
    """Files and fields; each of `metrics` is a form of its own, with some fields in place of the common ones."""
    found = form_of(job, body)
    request = request_in(found.files, found.fields)
    if request is not None:
        return _of_file(job, request, found.fields)
    form = gate_form.taken(found.fields)
    _refuse_too_many(len(form.overrides), job, "/options/metrics")
    metrics = []
    for index in range(len(form.overrides)):
        own, fields = gate_form.overridden(form, index)
        place = gate_form.in_metric(form, index)
        try:
            told = told_of(found.files, fields, job.limits)
            asked = asked_of_files(told, job.limits, timeout_of_query(job.query))
            roles.require(told.reading)
        except InvalidTest as error:
            raise moved(error, place) from None
        place = after(in_form, place)
        given = told.request.model_fields_set | ({"names"} if told.reading.names else set())
        metrics.append(_metric(job, own, form.gate, replace(asked, place=place), place, given))
    _refuse_equal_names(metrics, "/options/metrics/{}/name")
    return GateAsked(
        tuple(metrics), form.gate.on_inconclusive or "pass", _fail_status(job, form.gate.fail_status)
    )


def _of_file(job: Job, request: RequestFile, fields: Fields) -> GateAsked:
    """A JSON request, of a gate or of a test, that came as a file."""
    value, place = gate_request(request, fields)
    try:
        gate = _of_request(job, value, request.context)
    except InvalidTest as error:
        raise moved(error, place) from None
    metrics = tuple(
        replace(
            metric,
            asked=replace(as_read(metric.asked), place=after(metric.asked.place, place)),
            term=after(metric.term, place),
        )
        for metric in gate.metrics
    )
    return replace(gate, metrics=metrics)


def _metric(
    job: Job, own: GateMetric | GateFields, common: Terms, asked: Asked, term: Place, given: set[str]
) -> MetricAsked:
    """The metric with what a gate's reports need: names, an interval that fits its level, a picture's data."""
    higher, turned = roles.direction(_wanted(own, common, "higher_is_better"), asked, term)
    terms = _terms(own, common, asked.options.alpha, higher)
    options = asked.options
    if "names" not in given:
        options = replace(options, name_u=ROLES[0], name_v=ROLES[1])
    if "confidence_level" not in given and terms.alpha < 0.5:
        # A one-sided test at alpha is decided by the two-sided interval at 1 - 2 alpha.
        options = replace(options, confidence_level=1 - 2 * terms.alpha)
    name = own.name
    if name is not None and len(name) > job.limits.max_name_chars:
        detail = f"A name has at most {job.limits.max_name_chars} characters; this one has {len(name):,}."
        raise InvalidTest.at(term("/name"), "name_too_long", detail)
    asked = pictured(replace(asked, options=options), job.representation)
    cautions = (*turned, *roles.swapped(asked))
    return MetricAsked(name or _name(asked), asked, terms, term, "confidence_level" in given, cautions)


def _terms(own: Terms, common: Terms, alpha: float, higher_is_better: bool) -> GateTerms:
    """What is to be shown: what the metric says, else what the gate says, else the defaults."""
    said = {name: _wanted(own, common, name) for name in ("policy", "margin")}
    given = {name: value for name, value in said.items() if value is not None}
    return GateTerms(alpha=alpha, higher_is_better=higher_is_better, **given)


def _wanted(own: Terms, common: Terms, name: str) -> Any:
    """A term as the metric says it, else as the gate does; None where neither does."""
    value = getattr(own, name)
    return getattr(common, name) if value is None else value


def _name(asked: Asked) -> str:
    """What a metric is called that nobody named: what was measured, and the statistic unless it is the usual one."""
    metric, statistic = asked.options.metric, asked.spec.name
    if metric is None:
        return statistic
    usual = asked.reading is not None and statistic == asked.reading.default_statistic.name
    return metric if usual else f"{metric} ({statistic})"


def _refuse_too_many(n: int, job: Job, where: str) -> None:
    most = job.limits.max_gate_metrics
    if n > most:
        detail = f"A gate has at most {most} metrics; this one has {n:,}."
        raise InvalidTest.at(where, "too_many_metrics", detail)


def _refuse_equal_names(metrics: Sequence[MetricAsked], where: str) -> None:
    """Reports tell metrics apart by their names."""
    seen: set[str] = set()
    for index, metric in enumerate(metrics):
        if metric.name in seen:
            detail = f"Two metrics are called {shown(metric.name)}: give each a name of its own."
            raise InvalidTest.at(where.format(index), "duplicate_name", detail)
        seen.add(metric.name)


def _fail_status(job: Job, said: int | None) -> int:
    """The status of a failed gate: the query's, else the body's, else 409."""
    asked = [value for name, value in job.query if name == "fail_status"]
    if not asked:
        return FAILED if said is None else said
    try:
        fields = validated(GateFields, {"fail_status": literal(asked[0])})
    except InvalidTest as error:
        raise moved(error, in_query) from None
    return FAILED if fields.fail_status is None else fields.fail_status
