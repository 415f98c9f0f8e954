"""Body and query become what inference takes: data, statistic, options."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import BodyTooLarge, InvalidTest
from ..extras import require
from ..inference.options import Options, Resampling
from ..inference.record import Caution
from ..inputs import encodings, nested
from ..inputs.formats.reader import Kind, Reading
from ..inputs.nested import NamedCounts
from ..inputs.pairing import ById, Given, pair, shown
from ..reports.representations import BY_NAME
from ..statistics import direction
from ..statistics.corpus import counting_seconds
from ..statistics.paired import (
    Counts,
    Effects,
    Paired,
    Pairing,
    Predictions,
    Scores,
    Segments,
    StatisticSpec,
)
from . import pointers
from .body_decoders import REQUIRED, Told, told
from .media_types import MULTIPART
from .messages import Job, Limits
from .parse_files import FilesTold, form_of, told_of
from .pointers import Place, moved
from .query import ELSEWHERE, options_of_query, timeout_of_query
from .request_file import reading_of, request_in, test_in
from .schema.requests import AnyRequest, Choices, CountsRequest, EffectsRequest, ScoresRequest
from .schema.statistics import spec_of
from .segments import TEXT_STATISTICS, as_gold, segments

MOST_METRIC_CHARS = 80
AVAILABLE_TESTS: tuple[Resampling, ...] = ("permutation", "bootstrap")


@dataclass(frozen=True, slots=True)
class Asked:
    """A test that was asked for, decoded and validated.

    `place` finds the parts of a request in what the client sent; `reading` says how files were read, and `cautions`
    what to know of that.
    """

    kind: Kind
    data: Paired
    spec: StatisticSpec
    options: Options
    timeout_s: float | None
    place: Place = str
    reading: Reading | None = None
    cautions: tuple[Caution, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """How files were read, in sentences."""
        return () if self.reading is None else self.reading.notes

    @property
    def counting_seconds(self) -> float:
        """Predicted time of the preparation where that is long: sacrebleu's of texts."""
        return counting_seconds(self.data, self.spec) if isinstance(self.data, Segments) else 0.0


def inflated(job: Job, body: bytes | bytearray, most: int) -> bytes | bytearray:
    """The body without its content coding.

    Raises
    ------
        MalformedBody: the compressed data is truncated or damaged.
        BodyTooLarge: there is more than `most` bytes of it.
    """
    if job.body.coding is None:
        return body
    return encodings.decode(body, job.body.coding, max_bytes=most)


def decoded(job: Job, body: bytes | bytearray) -> Asked:
    """Decode, validate and pair a body whose content coding is undone.

    Raises
    ------
        InputError: any of the ways in which a request can be wrong.
    """
    timeout_s = timeout_of_query(job.query)
    if job.body.media_type == MULTIPART:
        asked = _of_form(job, body, timeout_s)
    else:
        asked = asked_of(told(job, body), job.limits, timeout_s)
    return pictured(asked, job.representation)


def _of_form(job: Job, body: bytes | bytearray, timeout_s: float | None) -> Asked:
    """Evaluation files; or one file that is a JSON request."""
    options_of_query(job.query, ELSEWHERE)
    form = form_of(job, body)
    request = request_in(form.files, form.fields)
    if request is None:
        return asked_of_files(told_of(form.files, form.fields, job.limits), job.limits, timeout_s)
    test = test_in(request, form.fields)
    return as_read(asked_of(test, job.limits, timeout_s))


def as_read(asked: Asked) -> Asked:
    """The same, saying that it was read from a file."""
    return replace(asked, reading=reading_of(asked.kind, asked.data, asked.spec))


def pictured(asked: Asked, representation: str) -> Asked:
    """The same, with the null distribution that a picture needs, whichever numbers of it were to be read.

    More bars than a summary has are narrower than a dot, and a hundred thousand of them take seconds to draw.
    """
    if not BY_NAME[representation].is_drawn:
        return asked
    require("pictures", "/?format")
    return replace(asked, options=replace(asked.options, pmf="summary"))


def asked_of(said: Told, limits: Limits, timeout_s: float | None) -> Asked:
    """What a request asks for; raises InvalidTest and BodyTooLarge."""
    request, place = said.request, said.place
    try:
        _refuse_excess(request, limits)
        data, order = _paired(request, limits)
        if order is not None:
            place = pointers.after(pointers.by_id(order, item_first=_by_item(request)), place)
        spec = spec_of(request.statistic, said.kind)
        if isinstance(data, Predictions) and spec.name in TEXT_STATISTICS:
            data, place = segments(data), pointers.after(as_gold, place)
        options = _options(request)
        options = replace(options, higher_is_better=direction.of_test(data, spec, None))
        return Asked(said.kind, data, spec, options, _deadline(request, limits, timeout_s), place)
    except InvalidTest as error:
        raise moved(error, place) from None


def asked_of_files(said: FilesTold, limits: Limits, timeout_s: float | None) -> Asked:
    """What a form with files asks for; raises InvalidTest and BodyTooLarge."""
    reading, request = said.reading, said.request
    try:
        _refuse_excess(request, limits)
        _refuse_too_many("The files hold", _length(reading.data), limits)
        options = _measured(_options(request, reading.names), reading, said.spec)
        deadline = _deadline(request, limits, timeout_s)
        return Asked(
            reading.kind, reading.data, said.spec, options, deadline, said.place, reading,
            _cautions_of_order(reading, options),
        )  # fmt: skip
    except InvalidTest as error:
        raise moved(error, said.place) from None


def _measured(options: Options, reading: Reading, spec: StatisticSpec) -> Options:
    """The options with what was measured. Counts are a metric by their own statistic only: errors / words is a WER."""
    known = isinstance(reading.data, Scores) or spec == reading.default_statistic
    metric = reading.metric[:MOST_METRIC_CHARS] if known and reading.metric is not None else None
    higher = reading.higher_is_better if known else None
    if higher is None:
        higher = direction.of_test(reading.data, spec, metric)
    return replace(options, metric=metric, higher_is_better=higher)


def _cautions_of_order(reading: Reading, options: Options) -> tuple[Caution, ...]:
    """A one-sided test depends on which system is U; who swapped the two would not see it."""
    if reading.role_question is None or options.alternative == "two-sided":
        return ()
    u, v = reading.names or ("the first", "the second")
    detail = f"U is {shown(u)} and V is {shown(v)} only because they stand in that order in the file; "
    return (Caution("roles_by_order", f"{detail}say system_u and system_v to be certain."),)


def _length(data: Paired) -> int:
    if isinstance(data, Effects):
        return len(data.stay)
    return len(next(iter(data.u.values()), ())) if isinstance(data, Counts) else len(data.u)


def _deadline(request: Choices, limits: Limits, timeout_s: float | None) -> float | None:
    timeouts = [seconds for seconds in (request.timeout_s, timeout_s) if seconds is not None]
    return min([limits.max_timeout_s, *timeouts]) if timeouts else None


def _refuse_excess(request: Choices, limits: Limits) -> None:
    if request.samples > limits.max_samples:
        raise InvalidTest.at(
            "/samples", "too_many_samples", f"At most {limits.max_samples:,} samples are allowed."
        )
    for which, name in (("u", request.names.u), ("v", request.names.v)):
        if len(name) > limits.max_name_chars:
            detail = f"A name has at most {limits.max_name_chars} characters; this one has {len(name):,}."
            raise InvalidTest.at(f"/names/{which}", "name_too_long", detail)


def _refuse_too_many(what: str, n: int, limits: Limits) -> None:
    if n > limits.max_items:
        raise BodyTooLarge(f"{what} {n:,} items; at most {limits.max_items:,} are allowed.")


Order = dict[str, list[str]]


def _paired(request: AnyRequest, limits: Limits) -> tuple[Paired, Order | None]:
    """The data in one order; and, where it was keyed, the ids in that order."""
    given = {name: getattr(request, name) for name in _columns(request)}
    for name, column in given.items():
        _refuse_too_many(f"{name} has", len(column), limits)
    # Only positions are paired, so that a column may be anything that has a length.
    positions: dict[str, Given] = {
        name: ById(column.ids, np.arange(len(column))) if isinstance(column, ById) else range(len(column))
        for name, column in given.items()
    }
    found = pair(positions, ids=request.ids, clusters=request.clusters, on_missing=request.on_missing)
    columns = {name: _ordered(given[name], positions[name], found.columns[name]) for name in given}
    order = {
        name: [column.ids[index] for index in np.asarray(found.columns[name]).tolist()]
        for name, column in given.items()
        if isinstance(column, ById)
    }
    return _data(request, columns, found.pairing), order or ({} if _by_item(request) else None)


def _columns(request: AnyRequest) -> list[str]:
    if isinstance(request, EffectsRequest):
        return ["stay"] if request.swap is None else ["stay", "swap"]
    return list(REQUIRED["scores" if isinstance(request, ScoresRequest | CountsRequest) else "predictions"])


def _by_item(request: AnyRequest) -> bool:
    """Whether counts came as one object per item."""
    if not isinstance(request, CountsRequest):
        return False
    counts = request.u.values if isinstance(request.u, ById) else request.u
    return isinstance(counts, NamedCounts) and counts.by_item


def _ordered(given: Any, before: Given, after: Any) -> Any:
    if not isinstance(given, ById):
        return given
    assert isinstance(before, ById)
    order: NDArray[np.int64] = after
    return given.values if order is before.values else nested.taken(given.values, order)


def _data(request: AnyRequest, columns: dict[str, Any], pairing: Pairing) -> Paired:
    if isinstance(request, EffectsRequest):
        return Effects(columns["stay"], columns.get("swap"), pairing)
    if isinstance(request, ScoresRequest):
        u, v = columns["u"], columns["v"]
        if request.decimals is not None:
            u, v = (nested.to_decimals(column, request.decimals) for column in (u, v))
        return Scores(u, v, pairing)
    if isinstance(request, CountsRequest):
        return Counts(columns["u"].columns, columns["v"].columns, pairing)
    return Predictions(columns["gold"], columns["u"], columns["v"], pairing)


def _options(request: Choices, names: tuple[str, str] | None = None) -> Options:
    """The options; `names` are the systems' own, for when the request does not name them."""
    name_u, name_v = request.names.u, request.names.v
    if names is not None and "names" not in request.model_fields_set:
        name_u, name_v = names
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
        name_u=name_u,
        name_v=name_v,
    )
