"""Turns a gate's body into metrics: a parsed test against each baseline, and its terms.

A form has the gate's terms as fields, and `metrics`: names, or a JSON list of the fields that differ by metric. A name
is that of a statistic, else of a metric of the files: `acc,acc_norm` is `[{"metric": "acc"}, {"metric": "acc_norm"}]`.

With several baselines the candidate is tested against each, and the faults of all are reported together. In JSON,
`against` has a column for each baseline in place of `v`; in a form every file `against` is a baseline.

A test can be read either way, a verdict cannot: a gate is refused if the candidate or the better direction is
unknown. A request that contradicts the systems' names is followed, with a warning.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, get_args, get_type_hints

from pydantic import create_model

from ..answers.gate import TARGETS, GateRecord, GateTerms, OnInconclusive
from ..answers.test import WarningRecord, reported
from ..errors import InvalidTest, PointerMap, choices_of, located, mapped, pointer_token
from ..execution.ipc import UNBOUNDED, Control
from ..inference.gate import Metric, PreparedGate, finish_gate, prepare_metric
from ..inference.paired import ALGORITHM_VERSION
from ..inputs.formats.roles import roles_of
from ..inputs.formats.tasks import is_in, named, stem
from ..inputs.quoting import quoted
from ..inputs.reader import Reading, UploadedFile
from ..statistics.catalogue import DEFAULT_EXPRESSION
from ..statistics.names import of_name
from ..statistics.paired import Effects, Scores
from .compare.board import NAMES, listed, names_of_files, require_names
from .documents import ROLE as FILE, Fields, RequestFile, json_of, kind_of, put_once, request_in, with_fields
from .kinds import MULTIPART, TestKind
from .messages import INSIDE, Job, refuse_to_store, store_of
from .parse import (
    ParsedTest,
    n_items,
    parse_files,
    parse_request,
    read_from_file,
    refuse_long_name,
    sequential_of,
    settled,
    unit_findings,
    warnings_of,
    with_picture_data,
)
from .parse_files import METRICS, Form, in_form, option_pointer, overrides_of, read_form
from .query import ELSEWHERE, in_query, literal, once, option_of, option_value, options_of_query
from .schema.fields import ON_MISSING, Wire
from .schema.requests import REQUEST_MODELS, AnyRequest, GateFields, GateMetric, GateQuery, GateRequest
from .validation import beside_statistic, chained, prefixed, validated

SINGLE = ("kind", "request", "against")  # members of a gate without metrics
UNNAMED = ("candidate", "baseline")  # default names of systems
ALONE = ("candidate", "threshold")
# Fields of a form: those that each metric may have, and those of the gate.
TERMS = ("policy", "margin", "higher_is_better", "threshold", "range")
FAIL_IF_ANY = "fail_if_any_slice"
OF_A_METRIC = ("name", *TERMS, FAIL_IF_ANY)
FIELDS = (*TERMS, FAIL_IF_ANY, "on_inconclusive", "store")
MOST_DROPPED = 2  # most items of a gate over one item
AGAINST = "against"  # the part of each baseline's file, repeated
NAME_V = "name_v"
NO_BASELINE = (
    "A threshold is for one system: leave the baseline out, or choose a policy that compares with it."
)
WITH_BASELINE = choices_of("policy", {"no_regression": "Fail only if shown to be worse than the baseline"})


@dataclass(frozen=True, slots=True)
class ParsedMetric:
    """One metric of a gate: its terms, its test (whose map covers terms), whether an interval was requested, warnings of roles and direction."""

    asked: Metric
    test: ParsedTest
    interval_requested: bool
    warnings: tuple[WarningRecord, ...]


@dataclass(frozen=True, slots=True)
class ParsedGate:
    """A gate, decoded and validated."""

    metrics: tuple[ParsedMetric, ...]
    on_inconclusive: OnInconclusive
    fail_status: int
    store: bool | None = None
    pointer_map: PointerMap = str  # each metric has a separate one

    @property
    def timeout_s(self) -> float | None:
        """The longest deadline of its tests, in seconds."""
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
    return _parse_request(job, *json_of(body))


def _gate(
    job: Job, metrics: Sequence[Sequence[ParsedMetric]], common: GateRequest | GateFields, pointer: str
) -> ParsedGate:
    """The gate of metrics, each against all its baselines; reports distinguish them by name."""
    seen: set[str] = set()
    for index, metric in ((index, metric) for index, each in enumerate(metrics) for metric in each):
        name = metric.asked.name
        if name in seen:
            detail = f"Two metrics are called {quoted(name)}: give them different names."
            raise InvalidTest.at(f"{pointer}/{index}/name", "duplicate_name", detail)
        seen.add(name)
    chosen = {name: literal(text) for name, text in job.query if name == "fail_status"}
    status = validated(GateQuery, chosen, in_query).fail_status
    return ParsedGate(
        tuple(metric for each in metrics for metric in each),
        common.on_inconclusive or "pass",
        status,
        store_of(common),
    )


def _refuse_too_many(n: int, job: Job, pointer: str) -> None:
    most = job.limits.max_gate_metrics
    if n > most:
        counted = ", counting each with every baseline" if AGAINST in pointer else ""
        detail = f"A gate has at most {most} metrics{counted}; this one has {n:,}."
        raise InvalidTest.at(pointer, "too_many_metrics", detail)


# A JSON request


def _parse_request(job: Job, value: Any, context: dict[str, Any]) -> ParsedGate:
    gate = validated(GateRequest, value)
    listed: Sequence[GateRequest | GateMetric] = gate.metrics or [gate]
    counted = "/metrics" if gate.metrics else f"/{AGAINST}"
    _refuse_too_many(sum(len(metric.against or ()) or 1 for metric in listed), job, counted)
    beside = [name for name in SINGLE if getattr(gate, name) is not None]
    if gate.metrics and beside:
        where = "against inside each of them" if beside[0] == AGAINST else "no kind and request beside them"
        detail = f"Give either kind and request, or metrics; with metrics, {where}."
        raise InvalidTest.at(f"/{beside[0]}", "redundant", detail)
    if gate.metrics:
        metrics = {f"/metrics/{index}": metric for index, metric in enumerate(gate.metrics)}
    elif gate.kind is None or gate.request is None:
        detail = 'Give kind and request ({"kind": "scores", "request": {"u": […], "v": […]}}), or metrics.'
        raise InvalidTest.at("/kind" if gate.kind is None else "/request", "missing", detail)
    else:
        metrics = {"": GateMetric(kind=gate.kind, request=gate.request, against=gate.against)}
    parsed = [_parse_metric(job, gate, metric, prefix, context) for prefix, metric in metrics.items()]
    return _gate(job, parsed, gate, "/metrics")


def _parse_metric(
    job: Job, gate: GateRequest, metric: GateMetric, prefix: str, context: dict[str, Any]
) -> list[ParsedMetric]:
    """The tests of a metric; a refusal of a candidate that is read twice (`_alone`) has every flaw once, at u."""
    if (metric.policy or gate.policy) not in TARGETS:
        return _parse_tests(job, gate, metric, prefix, context)
    alone = _alone(metric, prefix)
    try:
        return _parse_tests(job, gate, alone, prefix, context)
    except InvalidTest as error:
        moved = located(error, _moved(f"{prefix}/request/v", f"{prefix}/request/u", str))
    once = {(flaw.pointer, flaw.code): flaw for flaw in reversed(moved.flaws)}
    raise InvalidTest(moved.detail, flaws=tuple(reversed(once.values())))


def _parse_tests(
    job: Job, gate: GateRequest, metric: GateMetric, prefix: str, context: dict[str, Any]
) -> list[ParsedMetric]:
    def pointer_map(pointer: str) -> str:
        """The place of a term: the metric that sets it, else next to the policy."""
        return prefix + pointer if getattr(metric, pointer[1:], None) is not None else pointer

    errors, metrics = list[InvalidTest](), []
    for name, request, in_request, where in _requests_of(job, metric, prefix, context):
        try:
            test = _with_common_options(gate, parse_request(metric.kind, request, in_request, job), prefix)
            metrics.append(_metric(job, metric, gate, test, pointer_map, test.given, name))
        except InvalidTest as error:
            errors.append(named(error, name, where))
    _raise_all(errors)
    return metrics


def _with_common_options(gate: GateRequest, test: ParsedTest, prefix: str) -> ParsedTest:
    """The test with the gate's alpha and sequential procedure; raises InvalidTest: its request has them as well."""
    options = test.options
    if gate.alpha is not None and "alpha" in test.given and options.alpha != gate.alpha:
        detail = "alpha is given twice, with different values: give it once, next to the policy."
        raise InvalidTest.at(f"{prefix}/request/alpha", "alpha_given_twice", detail)
    if gate.sequential is not None and options.sequential is not None:
        detail = "sequential is given twice: give it once, next to the policy."
        raise InvalidTest.at(f"{prefix}/request/sequential", "given_twice", detail)
    sequential = sequential_of(gate.sequential) or options.sequential
    alpha = options.alpha if gate.alpha is None else gate.alpha
    return replace(test, options=replace(options, alpha=alpha, sequential=sequential))


def _alone(metric: GateMetric, prefix: str) -> GateMetric:
    """A candidate without a baseline, which is read in V's place as well; raises InvalidTest where there is a baseline."""
    members = metric.request
    if metric.against is not None or "v" in members:
        where = f"{prefix}/request/v" if metric.against is None else f"{prefix}/{AGAINST}"
        raise InvalidTest.at(where, "baseline_not_expected", NO_BASELINE, WITH_BASELINE)
    if metric.kind == "effects" or "u" not in members:
        detail = "A threshold is for the scores or predictions of one system, u."
        raise InvalidTest.at(f"{prefix}/request/u", "missing", detail)
    return metric.model_copy(update={"request": {**members, "v": members["u"]}})


def _requests_of(
    job: Job, metric: GateMetric, prefix: str, context: dict[str, Any]
) -> list[tuple[str | None, AnyRequest, PointerMap, str]]:
    """The request of a metric, or one for each baseline (they differ in v alone): name, request, map of pointers, place of the baseline.

    Raises InvalidTest at `<prefix>/request/…` and `<prefix>/against/<name>/…`: a request is invalid, or has its baseline twice.
    """
    inside, model, members = f"{prefix}/request", REQUEST_MODELS[metric.kind], metric.request
    if metric.against is None:
        request = validated(model, members, prefixed(inside), context)
        return [(None, request, chained(beside_statistic(members), prefixed(inside)), inside)]
    against = f"{prefix}/{AGAINST}"
    if metric.kind == "effects":
        detail = "Effects are already differences between two systems: against needs scores, counts or predictions."
        raise InvalidTest.at(against, "no_baseline", detail)
    for name in ("labels", "covariates"):
        if name in members:
            detail = f"{name.capitalize()} of v are those of one baseline: give a metric with v for each baseline, or leave {name} out."
            raise InvalidTest.at(f"{inside}/{name}", "no_baseline", detail)
    if "v" in members:
        detail = "Give the baseline as v, or several in against; not both."
        raise InvalidTest.at(f"{inside}/v", "redundant", detail)
    places = {name: f"{against}/{pointer_token(name)}" for name in metric.against}
    require_names(metric.against, "baseline", lambda name: f"{against}/{pointer_token(name)}", job.limits)
    errors, tests = list[InvalidTest](), list[tuple[str | None, AnyRequest, PointerMap, str]]()
    for name, column in metric.against.items():
        at = _moved("/v", places[name], prefixed(inside))
        try:
            if not tests and not errors:
                request = validated(model, {**members, "v": column}, at, context)
            else:
                beside = {**context, ON_MISSING: members.get("on_missing")}
                parsed: Any = validated(_column_model(metric.kind), {"v": column}, at, beside)
                request = tests[0][1].model_copy(update={"v": parsed.v}) if tests else parsed
            tests.append((name, request, chained(beside_statistic(members), at), places[name]))
        except InvalidTest as error:
            errors.append(named(error, name, places[name]))
    _raise_all(errors)
    if "v" in tests[0][1].names.model_fields_set:
        detail = "against names the baselines: leave names.v out."
        raise InvalidTest.at(f"{inside}/names/v", "redundant", detail)
    return tests


@cache
def _column_model(kind: TestKind) -> type[Wire]:
    """One baseline's column by itself, so that the common part is validated once."""
    column = get_type_hints(REQUEST_MODELS[kind], include_extras=True)["v"]
    return create_model("Baseline", __base__=Wire, v=(column, ...))


def _moved(part: str, to: str, others: PointerMap = str) -> PointerMap:
    """The map that moves a part of the request, for a baseline that stands as V in its test."""
    return lambda pointer: to + pointer.removeprefix(part) if is_in(part, pointer) else others(pointer)


# Several baselines


def _raise_all(errors: Sequence[InvalidTest]) -> None:
    """Raise InvalidTest with the refusals of several baselines, if any."""
    if len(errors) == 1:
        raise errors[0]
    if errors:
        flaws = dict.fromkeys(flaw for error in errors for flaw in error.flaws)
        first, *others = dict.fromkeys(error.detail for error in errors)
        have = "baseline has" if len(others) == 1 else "baselines have"
        more = f" {len(others)} more {have} errors." if others else ""
        raise InvalidTest(f"{first}{more}", flaws=tuple(flaws))


# The file of a baseline, and the pointer to it; None if the form has its systems in other roles.
BaselineFile = tuple[UploadedFile | None, str]


def _files_of(form: Form) -> list[BaselineFile]:
    """The baselines' files in order, or one that stands for v; raises InvalidTest if v is given as well."""
    if not form.repeated:
        return [(None, "/files/v")]
    for role in ("v", "file"):
        if role in form.files:
            detail = f"Give the candidate as u and every baseline as {AGAINST}: {role} is for a gate with one baseline."
            raise InvalidTest.at(f"/files/{role}", "unused_file", detail)
    if any(name == NAME_V for name, _ in form.fields):
        detail = f"The baselines are named by their files, or by {NAMES}: leave {NAME_V} out."
        raise InvalidTest.at(option_pointer(NAME_V), "redundant", detail)
    if len(form.repeated) > 1:  # the candidate is read with each
        form.files.update({role: replace(file, memo={}) for role, file in form.files.items()})
    return [(file, f"/files/{AGAINST}/{index}") for index, file in enumerate(form.repeated)]


def _names_of(
    names_text: str | None, baselines: Sequence[BaselineFile], readings: Sequence[Reading | None], job: Job
) -> list[str | None]:
    """The baselines' names: from the field `names`, else from the files' contents if all have one, else the files' names; raises InvalidTest."""
    files = [(file, where) for file, where in baselines if file is not None]
    at_names = option_pointer(NAMES)
    names = None if names_text is None else listed(NAMES, names_text, at_names)
    if names is not None and len(names) != len(files):
        detail = f"`names` has {len(names):,} names for {len(files):,} files {AGAINST}: give one for each, in their order."
        raise InvalidTest.at(at_names, "wrong_number", detail)
    if not files:
        return [None]
    if names is None:
        inside = [None if one is None or one.names is None else one.names[1] for one in readings]
        names = names_of_files([stem(file.name) for file, _ in files], inside)
    places = {name: where for name, (_, where) in zip(names, files, strict=True)}

    def place(name: str) -> str:
        return places.get(name, f"/files/{AGAINST}") if names_text is None else at_names

    require_names(names, "baseline", place, job.limits)
    return list(names)


def _read_as(test: ParsedTest) -> tuple[object, ...]:
    reading, options = test.reading, test.options
    of_u = None if reading is None else (reading.format, reading.score_names and reading.score_names[0])
    return test.kind, test.spec, options.metric, options.higher_is_better, of_u


# A form


@dataclass(frozen=True, slots=True)
class MetricForm:
    """The fields of one metric and the common fields: a complete form."""

    index: int
    own: Mapping[str, str]
    common: Sequence[tuple[str, str]]

    @property
    def fields(self) -> list[tuple[str, str]]:
        """The fields of its test."""
        fields = [(name, text) for name, text in self.common if name not in self.own]
        return fields + [(name, text) for name, text in self.own.items() if name not in OF_A_METRIC]

    def place(self, pointer: str) -> str:
        """The map for pointers into the form; fields set by the metric are in `metrics`."""
        name = pointer.removeprefix("/options/")
        is_of_metric = pointer.startswith("/options/") and name.partition("/")[0] in self.own
        return f"/options/metrics/{self.index}/{name}" if is_of_metric else pointer


def _parse_form(job: Job, body: bytes | bytearray, control: Control) -> ParsedGate:
    """Files and fields; each of `metrics` replaces some of the common fields."""
    form = read_form(job, body, control, AGAINST)
    request = None if form.repeated else request_in(form.files, form.fields)
    if request is not None:
        return _parse_file(job, request, form.fields)
    terms, fields = once(form.fields, (*FIELDS, METRICS, NAMES), option_pointer)
    several, names_given = terms.pop(METRICS, None), terms.pop(NAMES, None)
    overrides = [{}] if several is None else overrides_of(several)
    common = _fields_of(terms, "/options")
    policies = {override.get("policy", common.policy) for override in overrides}
    if policies.intersection(TARGETS):
        _candidate_alone(form, policies)
    baselines = _files_of(form)
    counted = "/options/metrics" if len(overrides) > 1 else f"/files/{AGAINST}"
    _refuse_too_many(len(overrides) * len(baselines), job, counted)
    metrics, names = [], None
    for index, override in enumerate(overrides):
        own_terms = {name: text for name, text in override.items() if name in OF_A_METRIC}
        of_metric = _fields_of(own_terms, f"/options/metrics/{index}")
        metric, tests = _tests_by_name(job, form.files, MetricForm(index, override, fields), baselines)
        if names is None:
            names = _names_of(names_given, baselines, [test.reading for test in tests], job)
        place, sent = chained(in_form, metric.place), {name for test in tests for name in test.given}
        named = zip(tests, names, strict=True)
        metrics.append([_metric(job, of_metric, common, test, place, sent, name) for test, name in named])
    return _gate(job, metrics, common, "/options/metrics")


def _candidate_alone(form: Form, policies: set[str | None]) -> None:
    """The candidate's file is read in V's place as well; raises InvalidTest where there is a baseline, or another policy needs one."""
    if form.repeated or "v" in form.files or policies - set(TARGETS):
        where = f"{AGAINST}/0" if form.repeated else "v" if "v" in form.files else "u"
        raise InvalidTest.at(f"/files/{where}", "baseline_not_expected", NO_BASELINE, WITH_BASELINE)
    file = form.files.pop("file", None) or form.files.get("u")
    if file is not None:
        form.files.update(u=file, v=file)


def _fields_of(texts: Mapping[str, str], prefix: str) -> GateFields:
    values = {name: option_value(name, text) for name, text in texts.items()}
    return validated(GateFields, values, prefixed(prefix))


def _tests_by_name(
    job: Job, files: Mapping[str, UploadedFile], metric: MetricForm, baselines: Sequence[BaselineFile]
) -> tuple[MetricForm, list[ParsedTest]]:
    """The tests of one metric; a name that is not a statistic may be a metric of the files."""
    try:
        return metric, _tests_of_files(job, files, metric, baselines)
    except InvalidTest as refused:
        name = metric.own.get("name", "")
        if metric.own != {"name": name, "statistic": name}:
            raise
        named = replace(metric, own={"name": name, "metric": name})
        try:
            tests = _tests_of_files(job, files, named, baselines)
        except InvalidTest as error:
            lists_metrics = bool(error.flaws) and error.flaws[0].code == "choose_metric"
            raise (error if lists_metrics else refused) from None
        if not all(name.lower() in (test.options.metric or "").lower() for test in tests):
            raise  # the files have no such metric
        return named, tests


def _tests_of_files(
    job: Job, files: Mapping[str, UploadedFile], metric: MetricForm, baselines: Sequence[BaselineFile]
) -> list[ParsedTest]:
    """One metric of files against each baseline, all read alike, so that u is the same candidate; raises InvalidTest where one is uncertain."""
    errors, tests = list[InvalidTest](), []
    for file, where in baselines:
        places = chained(metric.place, _moved("/files/v", where))
        beside = {} if file is None else {"v": file}
        try:
            test = parse_files({**files, **beside}, metric.fields, job, outer=places)
            assert test.reading is not None
            question = test.reading.role_question
            if question is not None:  # the candidate is unknown
                at = places("/options/system_u")
                raise InvalidTest.at(at, "choose_roles", question.detail, question.choices)
            for finding in (one for one in test.reading.findings if one.asks):
                raise InvalidTest.at(places(finding.pointer), finding.code, finding.detail, finding.choices)
            tests.append(test)
        except InvalidTest as error:
            errors.append(named(error, None if file is None else stem(file.name), where))
    _raise_all(errors)
    for test, (_, where) in zip(tests, baselines, strict=True):
        if _read_as(test) != _read_as(tests[0]):
            detail = (
                "This file and the candidate's were read with another format, metric or direction than the "
                "first baseline: set format, metric or statistic."
            )
            raise InvalidTest.at(where, "baselines_differ", detail)
    return tests


# A JSON request that is a file


def _parse_file(job: Job, file: RequestFile, fields: Fields) -> ParsedGate:
    """The request of a gate or a test, sent as a file; the gate's fields go beside `request` or `metrics`, all others into every request."""
    value: dict[str, Any] = (
        dict(file.value) if file.wrapped else {"kind": kind_of(file.value), "request": file.value}
    )
    terms, others = once(fields, (*FIELDS, "alpha") if file.wrapped else FIELDS, option_pointer)
    if FAIL_IF_ANY in terms:
        terms["slices"] = "fail_if_any" if terms.pop(FAIL_IF_ANY) == "true" else "report"
    for name, text in terms.items():
        put_once(value, name, option_value(name, text), f"/{name}")
    if type(value.get("metrics")) is list:
        value["metrics"] = [_with_fields(metric, others) for metric in value["metrics"]]
    else:
        value = _with_fields(value, others)
    names = {name for name, _ in fields}

    def pointer_map(pointer: str) -> str:
        _, below, inside = pointer.rpartition("/request")
        if option_of(inside) in names:
            return in_form(inside)
        return f"/files/{FILE}{inside if below and not file.wrapped else pointer}"

    gate = mapped(pointer_map, _parse_request, job, value, file.context)
    tests = [
        replace(read_from_file(metric.test), pointer_map=chained(metric.test.pointer_map, pointer_map))
        for metric in gate.metrics
    ]
    metrics = tuple(replace(metric, test=test) for metric, test in zip(gate.metrics, tests, strict=True))
    return replace(gate, metrics=metrics)


def _with_fields(metric: Any, fields: Fields) -> Any:
    """A metric with the fields in its request; validation refuses anything else."""
    if type(metric) is dict and metric.get("kind") in get_args(TestKind):
        request = metric.get("request")
        if type(request) is dict:
            return {**metric, "request": with_fields(request, fields, metric["kind"])}
    return metric


# The terms of a metric


def _metric(
    job: Job,
    of_metric: GateMetric | GateFields,
    common: GateRequest | GateFields,
    test: ParsedTest,
    pointer_map: PointerMap,
    sent: Collection[str],
    baseline: str | None,
) -> ParsedMetric:
    """The metric with additions for a gate's reports: names, an interval at its level, and data for a picture."""
    refuse_to_store(test.store, INSIDE, test.pointer_map("/store"))
    both = {name: (getattr(of_metric, name), getattr(common, name)) for name in (*TERMS, "slices")}
    terms = {name: of_all if of_own is None else of_own for name, (of_own, of_all) in both.items()}
    fails = terms.pop("slices") == "fail_if_any"
    _require_items(test)
    higher, turned = _direction(terms.pop("higher_is_better"), test, pointer_map)
    # If lower is better they are not shares.
    for finding in unit_findings(test.data, test.options.metric) if higher else ():
        raise InvalidTest.at(test.pointer_map(finding.pointer), finding.code, finding.detail)
    alpha, changes = test.options.alpha, dict[str, Any]()
    shown = {name: value for name, value in terms.items() if value is not None}
    target = shown.get("policy") in TARGETS
    if "names" not in sent:
        changes = dict(zip(("name_u", "name_v"), ALONE if target else UNNAMED, strict=True))
    if baseline is not None:
        changes["name_v"] = baseline
    has_interval = test.options.exchange == "items" or target
    if "confidence_level" not in sent and has_interval and 0.0 < 1 - 2 * alpha < 1.0:
        # The two-sided interval at 1 - 2 alpha decides a one-sided test at alpha.
        changes["confidence_level"] = 1 - 2 * alpha
    if of_metric.name is not None:
        refuse_long_name(of_metric.name, job.limits, pointer_map("/name"))
    of_gate = (*TERMS, "sequential") if getattr(common, "sequential", None) is not None else TERMS

    def place(pointer: str) -> str:
        """The place of a term of the gate, or of a member of the test's request."""
        return (pointer_map if pointer[1:].partition("/")[0] in of_gate else in_test)(pointer)

    in_test = test.pointer_map
    test = replace(test, options=replace(test.options, **changes), pointer_map=place)
    test = with_picture_data(test, job.representation)
    name = of_metric.name or _name(test)
    name = name if baseline is None else f"{name} {AGAINST} {baseline}"
    decided = GateTerms(alpha=alpha, higher_is_better=higher, **shown)
    planned = Metric(name, test.data, test.spec, test.options, decided, baseline, fails)
    read = warnings_of(() if test.reading is None else test.reading.findings)
    return ParsedMetric(planned, test, "confidence_level" in sent, (*turned, *_swapped(test), *read))


def _name(test: ParsedTest) -> str:
    """The name of a metric without one: the files' metric, and the statistic unless it is the default."""
    metric, statistic = test.options.metric, test.spec.name
    if metric is None:
        return statistic
    usual = test.reading is not None and statistic == test.reading.default_statistic.name
    return metric if usual else f"{metric} ({statistic})"


def _require_items(test: ParsedTest) -> None:
    """Refuse a gate over one item, which could never fail, unless it is sequential; raises InvalidTest at the candidate's data."""
    dropped = (test.data.pairing.largest or 0) > MOST_DROPPED  # the test itself refuses, and says why
    several = test.options.exchange == "runs" or test.options.sequential is not None
    if n_items(test.data) == 1 and not several and not dropped:
        detail = "There is only one item, which cannot decide a gate. If the scores are averages, send the items' scores: "
        detail += "the sample log, the outputs with their references, or a score for each item."
        pointer = "/stay" if isinstance(test.data, Effects) else "/u"
        raise InvalidTest.at(test.pointer_map(pointer), "one_item", detail)


def _direction(
    requested: bool | None, test: ParsedTest, pointer_map: PointerMap
) -> tuple[bool, tuple[WarningRecord, ...]]:
    """Whether higher is better: as requested, by the metric's name or the statistic, else for plain scores and effects; raises InvalidTest."""
    options, reading = test.options, test.reading
    if isinstance(test.data, Effects):
        plain = str(test.spec.parameters.get("expression", DEFAULT_EXPRESSION)) == DEFAULT_EXPRESSION
    else:
        named = of_name(options.name_u) is False and of_name(options.name_v) is False
        plain = isinstance(test.data, Scores) and options.metric is None and not named
    return settled(
        requested, options.higher_is_better, options.metric or test.spec.name, "gate", pointer_map("/higher_is_better"),
        plain=plain, question=None if reading is None else reading.direction_question,
    )  # fmt: skip


def _swapped(test: ParsedTest) -> tuple[WarningRecord, ...]:
    """A warning if the systems' names suggest that candidate and baseline were exchanged."""
    options, reading = test.options, test.reading
    names = () if reading is None else (reading.file_names, reading.score_names)
    for u, v in ((options.name_u, options.name_v), *(pair for pair in names if pair is not None)):
        if roles_of((u, v)) == ["v", "u"]:
            detail = (
                f"By their names, {quoted(v)} is the candidate and {quoted(u)} the baseline; the gate uses "
                "the opposite roles, as requested."
            )
            return (WarningRecord("roles_contradict_names", detail),)
    return ()


def prepare_gate(job: Job, gate: ParsedGate) -> PreparedGate:
    """Validate and plan every metric; raises InputError with pointers into what the client sent."""
    metrics = [
        mapped(metric.test.pointer_map, prepare_metric, metric.asked, job.limits.budget)
        for metric in gate.metrics
    ]
    return PreparedGate(tuple(metrics))


def run_gate(parsed: ParsedGate, prepared: PreparedGate) -> GateRecord:
    """Run every metric and decide; the tests get the notes of parsing, and lose warnings about unrequested intervals."""
    gate = finish_gate(prepared.metrics, parsed.on_inconclusive, ALGORITHM_VERSION)
    metrics = []
    for parsed_metric, metric in zip(parsed.metrics, gate.metrics, strict=True):
        record, reading = metric.test, parsed_metric.test.reading_record
        if reading is not None and metric.policy in TARGETS:
            notes = tuple(note for note in reading.notes if getattr(note, "who", "") != "v")
            reading = replace(reading, notes=notes)
        if not parsed_metric.interval_requested:
            kept = (warning for warning in record.warnings if warning.code != "interval_not_available")
            record = replace(record, warnings=tuple(kept))
        record = reported(record, reading, parsed_metric.warnings)
        metrics.append(replace(metric, test=record))
    return replace(gate, metrics=tuple(metrics))
