"""Body and query become what inference takes: data, statistic, options. One function each way per kind of body."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from app.api.job import Job, Limits, TestKind
from app.api.models.fields import NO_BOOLEANS
from app.api.models.requests import (
    REQUEST_MODELS,
    AnyRequest,
    EffectsRequest,
    PlanEnvelope,
    PredictionsRequest,
    ScoresRequest,
)
from app.api.negotiation import CSV, JSON
from app.api.queries import options_of_query, timeout_of_query
from app.api.validation import validated
from app.errors import BodyTooLarge, Flaw, InvalidTest
from app.inference.options import Options
from app.inputs import delimited, json_body
from app.inputs.pairing import Given, pair
from app.statistics.paired import Effects, Paired, Predictions, Scores, StatisticSpec


@dataclass(frozen=True, slots=True)
class Asked:
    """A test that was asked for, decoded and validated."""

    kind: TestKind
    data: Paired
    spec: StatisticSpec
    options: Options
    timeout_s: float | None


def decoded(job: Job, body: bytes | bytearray) -> Asked:
    """Decode, validate and pair.

    Raises
    ------
        InputError: any of the ways in which a request can be wrong.
    """
    timeout_s = timeout_of_query(job.query)
    if job.media_type == JSON:
        kind, request = _json(job, body)
        prefix = "/request" if job.kind == "plan" else ""
    else:
        kind, request, prefix = "scores", _delimited(job, body), ""
    try:
        return _asked(kind, request, job.limits, timeout_s)
    except InvalidTest as error:
        raise under(prefix, error) from None


def under(prefix: str, error: InvalidTest) -> InvalidTest:
    """The same error with all its pointers under a prefix."""
    if not prefix:
        return error
    return InvalidTest(
        error.detail, flaws=tuple(Flaw(prefix + flaw.pointer, flaw.code, flaw.detail) for flaw in error.flaws)
    )


def _json(job: Job, body: bytes | bytearray) -> tuple[TestKind, AnyRequest]:
    options_of_query(job.query, allowed=("format", "timeout_s"))
    read = json_body.decode(body)
    context = {NO_BOOLEANS: read.no_booleans}
    if job.kind != "plan":
        return job.kind, validated(REQUEST_MODELS[job.kind], read.value, context=context)
    envelope = validated(PlanEnvelope, read.value)
    inner = validated(REQUEST_MODELS[envelope.kind], envelope.request, prefix="/request", context=context)
    return envelope.kind, inner


def _delimited(job: Job, body: bytes | bytearray) -> ScoresRequest:
    options = options_of_query(job.query)
    table = delimited.read(body, "," if job.media_type == CSV else "\t")
    request: dict[str, Any] = {
        **options,
        "u": table.u,
        "v": table.v,
        "ids": table.ids,
        "clusters": table.clusters,
    }
    try:
        return validated(ScoresRequest, request)
    except InvalidTest as error:
        flaws = tuple(Flaw("/?" + flaw.pointer[1:], flaw.code, flaw.detail) for flaw in error.flaws)
        raise InvalidTest(error.detail.replace("At /", "At /?", 1), flaws=flaws) from None


def _asked(kind: TestKind, request: AnyRequest, limits: Limits, timeout_s: float | None) -> Asked:
    _refuse_unavailable(request)
    _refuse_excess(request, limits)
    timeouts = [seconds for seconds in (request.timeout_s, timeout_s) if seconds is not None]
    return Asked(
        kind,
        _paired(request, limits),
        _spec(request),
        _options(request),
        min([limits.max_timeout_s, *timeouts]) if timeouts else None,
    )


def _refuse_unavailable(request: AnyRequest) -> None:
    if request.test != "permutation":
        raise InvalidTest.at(
            "/test", "not_available", "The bootstrap is not available yet; test is permutation."
        )
    if request.confidence_level is not None:
        detail = "Confidence intervals are not available yet; leave confidence_level out."
        raise InvalidTest.at("/confidence_level", "not_available", detail)


def _refuse_excess(request: AnyRequest, limits: Limits) -> None:
    if request.samples > limits.max_samples:
        raise InvalidTest.at(
            "/samples", "too_many_samples", f"At most {limits.max_samples:,} samples are allowed."
        )
    for which, name in (("u", request.names.u), ("v", request.names.v)):
        if len(name) > limits.max_name_chars:
            detail = f"A name has at most {limits.max_name_chars} characters; this one has {len(name):,}."
            raise InvalidTest.at(f"/names/{which}", "name_too_long", detail)


def _paired(request: AnyRequest, limits: Limits) -> Paired:
    given: dict[str, Given]
    if isinstance(request, EffectsRequest):
        given = (
            {"stay": request.stay} if request.swap is None else {"stay": request.stay, "swap": request.swap}
        )
    elif isinstance(request, ScoresRequest):
        given = {"u": request.u, "v": request.v}
    else:
        given = {"gold": request.gold, "u": request.u, "v": request.v}
    for name, column in given.items():
        if len(column) > limits.max_items:
            raise BodyTooLarge(f"{name} has {len(column):,} items; at most {limits.max_items:,} are allowed.")
    matched = pair(given, ids=request.ids, clusters=request.clusters, on_missing=request.on_missing)
    columns: dict[str, Any] = matched.columns
    if isinstance(request, EffectsRequest):
        return Effects(columns["stay"], columns.get("swap"), matched.pairing)
    if isinstance(request, ScoresRequest):
        return Scores(columns["u"], columns["v"], matched.pairing)
    return Predictions(columns["gold"], columns["u"], columns["v"], matched.pairing)


def _spec(request: AnyRequest) -> StatisticSpec:
    if isinstance(request, EffectsRequest):
        return StatisticSpec("expression", {"expression": request.statistic.expression})
    if isinstance(request, PredictionsRequest):
        return StatisticSpec(request.statistic.name)
    name, zero_method = request.statistic.name, request.statistic.zero_method
    if name == "signed_rank":
        return StatisticSpec(name, {"zero_method": zero_method or "wilcox"})
    if zero_method is not None:
        detail = f"zero_method belongs to signed_rank; {name} has no such parameter."
        raise InvalidTest.at("/statistic/zero_method", "unknown_parameter", detail)
    return StatisticSpec(name)


def _options(request: AnyRequest) -> Options:
    return Options(
        alternative=request.alternative,
        method=request.method,
        test=request.test,
        samples=request.samples,
        seed=request.seed,
        precision=request.precision,
        alpha=request.alpha,
        confidence_level=request.confidence_level,
        pmf=request.pmf,
        exact_fraction=request.exact_fraction,
        name_u=request.names.u,
        name_v=request.names.v,
    )
