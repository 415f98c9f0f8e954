"""A gate's body becomes its metrics: a parsed test for each, and what it has to show.

A form has the gate's terms as fields, and `metrics`: names, or a JSON list of the fields that differ by metric. A name is that of
a statistic, else of a metric of the files: `acc,acc_norm` is `[{"metric": "acc"}, {"metric": "acc_norm"}]`.

A test can be read either way; a verdict cannot: a gate that does not know which system is the candidate, or which direction is
better, is refused. A request that contradicts the names is followed, with a warning.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, get_args

from ..answers.gate import GateRecord, GateTerms, OnInconclusive
from ..answers.test import TestRecord, WarningRecord, reported
from ..engine.plan import Budget
from ..errors import InvalidTest, MalformedBody, relocated
from ..execution.ipc import UNBOUNDED, Control
from ..inference.gate.gate import Metric, PreparedMetric, finish_gate, prepare_metric
from ..inference.paired_test import ALGORITHM_VERSION
from ..inputs import json_text
from ..inputs.formats.reader import Reading, UploadedFile
from ..inputs.formats.roles import ROLES, roles_of
from ..inputs.quoting import quoted
from ..statistics.direction import of_name
from ..statistics.paired import Effects, Scores
from ..statistics.statistic import DEFAULT_EXPRESSION
from . import baselines as against
from .compare.board import NAMES
from .documents import ROLE as FILE, Fields, RequestFile, json_of, kind_of, put_once, request_in, with_fields
from .messages import INSIDE, MULTIPART, Job, TestKind, refuse_to_store, store_of
from .parse import (
    ParsedTest,
    n_items,
    parse_files,
    parse_request,
    read_from_file,
    sequential_of,
    settled,
    unit_findings,
    with_picture_data,
)
from .parse_files import METRICS, in_form, option_pointer, read_form
from .query import ELSEWHERE, PointerMap, chained, in_query, literal, once, option_of, options_of_query
from .schema.requests import GateFields, GateMetric, GateRequest, Terms
from .validation import validated

FAILED = 409
SINGLE = ("kind", "request", "against")  # members of a gate without metrics
UNNAMED = ("candidate", "baseline")  # names of systems that have none
# Fields of a form: those that are texts, those that a metric may have of its own, and those of the gate.
TEXTS = ("policy", "on_inconclusive", "name")
TERMS = ("policy", "margin", "higher_is_better")
OF_A_METRIC = ("name", *TERMS)
FIELDS = (*TERMS, "on_inconclusive", "fail_status", "store")
MOST_DROPPED = 2  # items of which one may be left


@dataclass(frozen=True, slots=True)
class ParsedMetric:
    """One metric of a gate: what is asked, and its test, whose map is for pointers to terms as well.

    `interval_requested` is false where the interval is only there for the reports; `warnings` are about roles and direction.
    """

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
    return _parse_request(job, *json_of(body))


def _gate(
    job: Job, metrics: Sequence[Sequence[ParsedMetric]], common: GateRequest | GateFields, pointer: str
) -> ParsedGate:
    """The gate of metrics, each against all its baselines; reports tell them apart by their names."""
    seen: set[str] = set()
    for index, metric in ((index, metric) for index, each in enumerate(metrics) for metric in each):
        name = metric.asked.name
        if name in seen:
            detail = f"Two metrics are called {quoted(name)}: give each a name of its own."
            raise InvalidTest.at(f"{pointer}/{index}/name", "duplicate_name", detail)
        seen.add(name)
    status = common.fail_status
    for text in [value for name, value in job.query if name == "fail_status"]:
        with relocated(in_query):
            status = validated(GateFields, {"fail_status": literal(text)}).fail_status
    flat = tuple(metric for each in metrics for metric in each)
    return ParsedGate(
        flat, common.on_inconclusive or "pass", FAILED if status is None else status, store_of(common)
    )


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
    return _gate(job, metrics, gate, "/metrics")


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
    refusals, metrics = against.Refusals(), []
    for one in against.requests_of(metric, prefix, context, job.limits):
        with refusals.of(one.against, one.where):
            test = parse_request(metric.kind, one.request, one.pointer_map, job)
            options = test.options
            if gate.alpha is not None:
                if "alpha" in test.given and options.alpha != gate.alpha:
                    detail = "alpha is given twice, with different values: give it once, next to the policy."
                    raise InvalidTest.at(f"{prefix}/request/alpha", "alpha_given_twice", detail)
                options = replace(options, alpha=gate.alpha)
            if gate.sequential is not None:
                if options.sequential is not None:
                    detail = "sequential is given twice: give it once, next to the policy."
                    raise InvalidTest.at(f"{prefix}/request/sequential", "given_twice", detail)
                options = replace(options, sequential=sequential_of(gate.sequential))
                test = replace(test, pointer_map=partial(_unless_sequential, test.pointer_map))
            test = replace(test, options=options)
            metrics.append(_metric(job, metric, gate, test, pointer_map, test.given, one.against))
    refusals.raise_all()
    return metrics


def _in_metric(metric: GateMetric, prefix: str, pointer: str) -> str:
    """Where a term is: with the metric that sets it, else next to the policy."""
    return prefix + pointer if getattr(metric, pointer[1:], None) is not None else pointer


def _unless_sequential(inside: PointerMap, pointer: str) -> str:
    """The map of a test whose looks stand next to the policy."""
    return pointer if pointer.startswith("/sequential") else inside(pointer)


@dataclass(frozen=True, slots=True)
class MetricForm:
    """What one of `metrics` has of its own, and the fields that all have: a form by itself."""

    index: int
    own: Mapping[str, str]
    common: Sequence[tuple[str, str]]

    @property
    def terms(self) -> GateFields:
        """Its terms; raises InvalidTest."""
        terms = {name: text for name, text in self.own.items() if name in OF_A_METRIC}
        return _fields_of(terms, f"/options/metrics/{self.index}")

    @property
    def fields(self) -> list[tuple[str, str]]:
        """The fields of its test."""
        fields = [(name, text) for name, text in self.common if name not in self.own]
        return fields + [(name, text) for name, text in self.own.items() if name not in OF_A_METRIC]

    @property
    def by_metric(self) -> MetricForm | None:
        """The form with a name as that of a metric of the files instead of a statistic; None where it is neither."""
        name = self.own.get("name", "")
        alone = self.own == {"name": name, "statistic": name}
        return replace(self, own={"name": name, "metric": name}) if alone else None

    def place(self, pointer: str) -> str:
        """The map for pointers into the form: fields that the metric sets itself are in `metrics`."""
        name = pointer.removeprefix("/options/")
        own = pointer.startswith("/options/") and name.partition("/")[0] in self.own
        return f"/options/metrics/{self.index}/{name}" if own else pointer


def _fields_of(texts: Mapping[str, str], prefix: str) -> GateFields:
    values = {name: text if name in TEXTS else literal(text) for name, text in texts.items()}
    return validated(GateFields, values, prefix=prefix)


def _overrides(text: str) -> list[dict[str, str]]:
    """`metrics`: names between commas, or a JSON list of names, and of objects whose members are fields of a form."""
    try:
        is_json = text.lstrip()[:1] in {"[", "{"}
        value: Any = json_text.decode(text.encode()).value if is_json else text.split(",")
    except MalformedBody:
        raise _not_metrics("/options/metrics") from None
    if not isinstance(value, list) or not value:
        raise _not_metrics("/options/metrics")
    names = ("name", "statistic")
    value = [dict.fromkeys(names, one.strip()) if isinstance(one, str) else one for one in value]
    for index, member in enumerate(value):
        if not isinstance(member, dict) or member.get("name") == "":
            raise _not_metrics(f"/options/metrics/{index}")
        for name in member:
            if name in ROLES or name in (METRICS, NAMES):
                detail = f"{quoted(name)} cannot differ by metric."
                raise InvalidTest.at(f"/options/metrics/{index}", "not_by_metric", detail)
    return [
        {name: one if isinstance(one, str) else json_text.text_of(one) for name, one in override.items()}
        for override in value
    ]


def _not_metrics(pointer: str) -> InvalidTest:
    detail = '`metrics` is a list of names, such as upos,las, or a JSON list of objects: [{"metric": "acc", "margin": 0.01}].'
    return InvalidTest.at(pointer, "not_metrics", detail)


def _parse_form(job: Job, body: bytes | bytearray, control: Control) -> ParsedGate:
    """Files and fields; each of `metrics` is a form of its own that replaces some of the common fields."""
    form = read_form(job, body, control, against.ROLE)
    request = None if form.repeated else request_in(form.files, form.fields)
    if request is not None:
        return _parse_file(job, request, form.fields)
    terms, fields = once(form.fields, (*FIELDS, METRICS, NAMES), option_pointer)
    several, names_given = terms.pop(METRICS, None), terms.pop(NAMES, None)
    overrides = [{}] if several is None else _overrides(several)
    common, baselines = _fields_of(terms, "/options"), against.files_of(form)
    counted = "/options/metrics" if len(overrides) > 1 else f"/files/{against.ROLE}"
    _refuse_too_many(len(overrides) * len(baselines), job, counted)
    metrics, names = [], None
    for index, override in enumerate(overrides):
        metric = MetricForm(index, override, fields)
        own = metric.terms
        metric, tests = _tests_by_name(job, form.files, metric, baselines)
        if names is None:
            names = against.names_of(names_given, baselines, [test.reading for test in tests], job.limits)
        place, given = chained(in_form, metric.place), {name for test in tests for name in test.given}
        named = zip(tests, names, strict=True)
        metrics.append([_metric(job, own, common, test, place, given, name) for test, name in named])
    return _gate(job, metrics, common, "/options/metrics")


def _tests_by_name(
    job: Job, files: Mapping[str, UploadedFile], metric: MetricForm, baselines: Sequence[against.BaselineFile]
) -> tuple[MetricForm, list[ParsedTest]]:
    """The tests of one metric; a name that is not a statistic of the files may be a metric that they hold."""
    try:
        return metric, _tests_of_files(job, files, metric, baselines)
    except InvalidTest as refused:
        named = metric.by_metric
        if named is None:
            raise
        try:
            tests = _tests_of_files(job, files, named, baselines)
        except InvalidTest as error:
            lists_metrics = bool(error.flaws) and error.flaws[0].code == "choose_metric"
            raise (error if lists_metrics else refused) from None
        if not all(named.own["metric"].lower() in (test.options.metric or "").lower() for test in tests):
            raise  # nothing in the files is called so
        return named, tests


def _tests_of_files(
    job: Job, files: Mapping[str, UploadedFile], metric: MetricForm, baselines: Sequence[against.BaselineFile]
) -> list[ParsedTest]:
    """One metric of files, against each baseline."""
    refusals, tests = against.Refusals(), []
    for baseline in baselines:
        pointer_map = chained(metric.place, baseline.pointer_map)
        with refusals.of(baseline.called, baseline.where), relocated(pointer_map):
            test = parse_files(baseline.beside(files), metric.fields, job)
            assert test.reading is not None
            _require_certain(test.reading)
            tests.append(replace(test, pointer_map=chained(in_form, pointer_map)))
    refusals.raise_all()
    against.require_alike(tests, baselines)
    return tests


def _parse_file(job: Job, file: RequestFile, fields: Fields) -> ParsedGate:
    """A JSON request, of a gate or of a test, sent as a file.

    Fields of the gate become members next to `request` or `metrics`; all others go into the request of every metric.
    """
    value: dict[str, Any] = (
        dict(file.value) if file.wrapped else {"kind": kind_of(file.value), "request": file.value}
    )
    terms, others = once(fields, (*FIELDS, "alpha") if file.wrapped else FIELDS, option_pointer)
    for name, text in terms.items():
        put_once(value, name, text if name in TEXTS else literal(text), f"/{name}")
    if type(value.get("metrics")) is list:
        value["metrics"] = [_with_fields(metric, others) for metric in value["metrics"]]
    else:
        value = _with_fields(value, others)
    pointer_map = partial(_in_file, {name for name, _ in fields}, file.wrapped)
    with relocated(pointer_map):
        gate = _parse_request(job, value, file.context)

    tests = [read_from_file(metric.test) for metric in gate.metrics]
    tests = [replace(test, pointer_map=chained(test.pointer_map, pointer_map)) for test in tests]
    metrics = zip(gate.metrics, tests, strict=True)
    return replace(gate, metrics=tuple(replace(metric, test=test) for metric, test in metrics))


def _in_file(names: Collection[str], wrapped: bool, pointer: str) -> str:
    _, below, inside = pointer.rpartition("/request")
    if option_of(inside) in names:
        return in_form(inside)
    return f"/files/{FILE}{inside if below and not wrapped else pointer}"


def _with_fields(metric: Any, fields: Fields) -> Any:
    """A metric with the fields in its request; validation refuses what is no metric."""
    if type(metric) is not dict or metric.get("kind") not in get_args(TestKind):
        return metric
    if type(metric.get("request")) is not dict:
        return metric
    return {**metric, "request": with_fields(metric["request"], fields, metric["kind"])}


def _metric(
    job: Job,
    own: GateMetric | GateFields,
    common: Terms,
    test: ParsedTest,
    pointer_map: PointerMap,
    given: Collection[str],
    baseline: str | None,
) -> ParsedMetric:
    """The metric with what a gate's reports need: names, an interval that fits its level, a picture's data."""
    with relocated(test.pointer_map):
        refuse_to_store(test.store, INSIDE)
    terms = {name: _term(own, common, name) for name in TERMS}
    _require_items(test)
    higher, turned = _direction(terms.pop("higher_is_better"), test, pointer_map)
    # Where lower is better they are no shares.
    for finding in unit_findings(test.data, test.options.metric) if higher else ():
        raise InvalidTest.at(test.pointer_map(finding.pointer), finding.code, finding.detail)
    alpha, changes = test.options.alpha, dict[str, Any]()
    shown = {name: value for name, value in terms.items() if value is not None}
    if "names" not in given:
        changes = dict(zip(("name_u", "name_v"), UNNAMED, strict=True))
    if baseline is not None:
        changes["name_v"] = baseline
    if "confidence_level" not in given and 0.0 < 1 - 2 * alpha < 1.0:
        # The two-sided interval at 1 - 2 alpha decides a one-sided test at alpha.
        changes["confidence_level"] = 1 - 2 * alpha
    name = own.name
    if name is not None and len(name) > job.limits.max_name_chars:
        detail = f"A name has at most {job.limits.max_name_chars} characters; this one has {len(name):,}."
        raise InvalidTest.at(pointer_map("/name"), "name_too_long", detail)
    place = partial(_in_terms, pointer_map, test.pointer_map)
    test = replace(test, options=replace(test.options, **changes), pointer_map=place)
    test = with_picture_data(test, job.representation)
    name = name or _name(test)
    asked = Metric(
        name if baseline is None else f"{name} {against.ROLE} {baseline}",
        test.data,
        test.spec,
        test.options,
        GateTerms(alpha=alpha, higher_is_better=higher, **shown),
        baseline,
    )
    return ParsedMetric(asked, test, "confidence_level" in given, (*turned, *_swapped(test)))


def _in_terms(of_terms: PointerMap, of_test: PointerMap, pointer: str) -> str:
    return (of_terms if pointer[1:].partition("/")[0] in TERMS else of_test)(pointer)


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


def _require_certain(reading: Reading) -> None:
    """Refuse files that do not show which system is the candidate, or what else is not certain; raises InvalidTest that asks."""
    if reading.role_question is not None:
        question = reading.role_question
        raise InvalidTest.at("/options/system_u", "choose_roles", question.detail, question.choices)
    for finding in reading.findings:
        raise InvalidTest.at(finding.pointer, finding.code, finding.detail, finding.choices)


def _require_items(test: ParsedTest) -> None:
    """Refuse a gate over one item, which could decide nothing and would pass for ever; one that is asked again may wait.

    Raises InvalidTest at the candidate's data.
    """
    dropped = (test.data.pairing.largest or 0) > MOST_DROPPED  # the test itself refuses, and says why
    if n_items(test.data) == 1 and test.options.sequential is None and not dropped:
        detail = (
            "There is one item, and one item never decides. If its scores are averages over all items, send the scores of the items: "
            "the sample log, the outputs beside their references, or a score for each item."
        )
        pointer = "/stay" if isinstance(test.data, Effects) else "/u"
        raise InvalidTest.at(test.pointer_map(pointer), "one_item", detail)


def _direction(
    requested: bool | None, test: ParsedTest, pointer_map: PointerMap
) -> tuple[bool, tuple[WarningRecord, ...]]:
    """Whether higher is better: as requested, else by the metric's name or the statistic, else the default of scores.

    Raises InvalidTest: nothing decides it, at `higher_is_better`.
    """
    what = test.options.metric or test.spec.name
    question = None if test.reading is None else test.reading.direction_question
    return settled(
        requested, test.options.higher_is_better, what, "gate", pointer_map("/higher_is_better"), plain=_plain(test), question=question
    )  # fmt: skip


def _plain(test: ParsedTest) -> bool:
    """Scores without a name, and plain effects: of these higher is better, as documented."""
    if isinstance(test.data, Effects):
        return str(test.spec.parameters.get("expression", DEFAULT_EXPRESSION)) == DEFAULT_EXPRESSION
    named = of_name(test.options.name_u) is False and of_name(test.options.name_v) is False
    return isinstance(test.data, Scores) and test.options.metric is None and not named


def _swapped(test: ParsedTest) -> tuple[WarningRecord, ...]:
    """A warning where the systems' names suggest that candidate and baseline were exchanged."""
    options, reading = test.options, test.reading
    names = () if reading is None else (reading.file_names, reading.score_names)
    for u, v in ((options.name_u, options.name_v), *(pair for pair in names if pair is not None)):
        if roles_of((u, v)) == ["v", "u"]:
            detail = (
                f"By their names {quoted(v)} is the candidate and {quoted(u)} the baseline; the gate has them the other "
                "way round, as they were given."
            )
            return (WarningRecord("roles_contradict_names", detail),)
    return ()


@dataclass(frozen=True, slots=True)
class PreparedGate:
    """A gate that is validated and planned, and has not run."""

    metrics: tuple[PreparedMetric, ...]

    @property
    def seconds(self) -> float:
        """Predicted engine seconds of all its tests."""
        return sum(metric.seconds for metric in self.metrics)

    @property
    def longest_seconds(self) -> float:
        """Their upper bound."""
        return sum(metric.longest_seconds for metric in self.metrics)


def prepare_gate(job: Job, gate: ParsedGate) -> PreparedGate:
    """Validate and plan every metric; raises InputError with pointers into what the client sent."""
    budget, metrics = Budget(job.limits.engine_budget_operations, job.limits.engine_budget_bytes), []
    for metric in gate.metrics:
        with relocated(metric.test.pointer_map):
            metrics.append(prepare_metric(metric.asked, budget))
    return PreparedGate(tuple(metrics))


def run_gate(parsed: ParsedGate, prepared: PreparedGate) -> GateRecord:
    """Run every metric and decide."""
    gate = finish_gate(prepared.metrics, parsed.on_inconclusive, ALGORITHM_VERSION)
    both = zip(parsed.metrics, gate.metrics, strict=True)
    metrics = tuple(replace(metric, test=_test(asked, metric.test)) for asked, metric in both)
    return replace(gate, metrics=metrics)


def _test(parsed: ParsedMetric, record: TestRecord) -> TestRecord:
    """The test with what is known from parsing, and without a warning about an interval that was not requested."""
    if not parsed.interval_requested:
        kept = (warning for warning in record.warnings if warning.code != "interval_not_available")
        record = replace(record, warnings=tuple(kept))
    return reported(record, parsed.test.reading_record, parsed.warnings)
