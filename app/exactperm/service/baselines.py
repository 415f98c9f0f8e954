"""Several baselines: the candidate is tested against each, and what is wrong with any of them is said of all at once.

In JSON `against` has a column under each baseline's name, in the place of `v`. In a form every file `against` is a
baseline.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any

from pydantic import create_model

from ..errors import Flaw, InvalidTest, pointer_token, relocated
from ..inputs.formats.reader import Reading, UploadedFile
from ..inputs.formats.tasks import stem
from ..inputs.quoting import quoted
from .compare.board import NAMES, listed, names_of_files, require_names
from .messages import Limits
from .parse import ParsedTest
from .parse_files import Form, option_pointer
from .query import PointerMap, chained
from .schema.fields import ON_MISSING, CountColumns, LabelColumn, SampleColumn, Wire
from .schema.requests import REQUEST_MODELS, AnyRequest, GateMetric
from .validation import beside_statistic, validated

ROLE = "against"  # the part of each baseline's file, repeated
NAME_V = "name_v"
WHAT = "baseline"
COLUMNS: dict[str, Any] = {"scores": SampleColumn, "counts": CountColumns, "predictions": LabelColumn}


@dataclass(slots=True)
class Refusals:
    """What is wrong with each of several baselines; nothing is decided while there is any of it."""

    errors: list[InvalidTest] = field(default_factory=list)

    @contextmanager
    def of(self, name: str | None, where: str) -> Iterator[None]:
        """Keep a refusal for later; what is wrong at `where` says which baseline v is."""
        try:
            yield
        except InvalidTest as error:
            self.errors.append(error if name is None else _naming(error, name, where))

    def raise_all(self) -> None:
        """Raise InvalidTest with everything that was kept, if there is any."""
        if len(self.errors) == 1:
            raise self.errors[0]
        if self.errors:
            flaws = dict.fromkeys(flaw for error in self.errors for flaw in error.flaws)
            first, *others = dict.fromkeys(error.detail for error in self.errors)
            have = "baseline has" if len(others) == 1 else "baselines have"
            more = f" {len(others)} more {have} errors." if others else ""
            raise InvalidTest(f"{first}{more}", flaws=tuple(flaws))


def _naming(error: InvalidTest, name: str, where: str) -> InvalidTest:
    """The refusal with the baseline's name; ids that it lacks are its flaw, and not the candidate's."""
    flaws = tuple(_named(flaw, name, where) for flaw in error.flaws)
    return (
        error if flaws == error.flaws else InvalidTest(f"{error.detail} (v is {quoted(name)})", flaws=flaws)
    )


def _named(flaw: Flaw, name: str, where: str) -> Flaw:
    if flaw.pointer == where or flaw.pointer.startswith(f"{where}/"):
        return replace(flaw, detail=f"{flaw.detail} (v is {quoted(name)})")
    if flaw.code == "unmatched_ids" and flaw.pointer.endswith(("/request/u", "/files/u")):
        _, _, ids = flaw.detail.partition("Without a counterpart:")
        return replace(flaw, pointer=where, detail=f"{quoted(name)} lacks ids of u:{ids}")
    return flaw


@dataclass(frozen=True, slots=True)
class GivenTest:
    """A validated request, the baseline's name where it has one, and the map of pointers into the gate's request."""

    against: str | None
    request: AnyRequest
    pointer_map: PointerMap
    where: str


def requests_of(metric: GateMetric, prefix: str, context: dict[str, Any], limits: Limits) -> list[GivenTest]:
    """The request of a metric; or one for each baseline, which share everything but v.

    Raises InvalidTest: a request is invalid, or gives its baseline twice; pointers are `<prefix>/request/…` and
    `<prefix>/against/<name>/…`.
    """
    inside, model, given = f"{prefix}/request", REQUEST_MODELS[metric.kind], metric.request
    if metric.against is None:
        request = validated(model, given, prefix=inside, context=context)
        pointer_map = chained(beside_statistic(given), partial(_in_request, prefix, f"{inside}/v"))
        return [GivenTest(None, request, pointer_map, inside)]
    if metric.kind == "effects":
        detail = "Effects are differences between two systems already: against goes with scores, counts and predictions."
        raise InvalidTest.at(f"{prefix}/{ROLE}", "no_baseline", detail)
    if "v" in given:
        raise _redundant(f"{inside}/v", "Give the baseline as v, or several in against; not both.")
    require_names(
        metric.against, WHAT, lambda name: f"{prefix}/{ROLE}/{pointer_token(name)}", limits.max_name_chars
    )
    refusals, tests = Refusals(), list[GivenTest]()
    for name, column in metric.against.items():
        where = f"{prefix}/{ROLE}/{pointer_token(name)}"
        in_request = partial(_in_request, prefix, where)
        with refusals.of(name, where), relocated(in_request):
            if not tests and not refusals.errors:
                request = validated(model, {**given, "v": column}, context=context)
            else:
                beside = {**context, ON_MISSING: given.get("on_missing")}
                own: Any = validated(_column_model(metric.kind), {"v": column}, context=beside)
                request = tests[0].request.model_copy(update={"v": own.v}) if tests else own
            tests.append(GivenTest(name, request, chained(beside_statistic(given), in_request), where))
    refusals.raise_all()
    if "v" in tests[0].request.names.model_fields_set:
        raise _redundant(f"{inside}/names/v", "against names the baselines: leave names.v out.")
    return tests


def _redundant(pointer: str, detail: str) -> InvalidTest:
    return InvalidTest.at(pointer, "redundant", detail)


@cache
def _column_model(kind: str) -> type[Wire]:
    """One baseline's column by itself, so that what all share is validated once."""
    return create_model("Baseline", __base__=Wire, v=(COLUMNS[kind], ...))


def _in_request(prefix: str, of_v: str, pointer: str) -> str:
    """The map of pointers into a test's request: v is at `of_v`."""
    if pointer == "/v" or pointer.startswith("/v/"):
        return of_v + pointer.removeprefix("/v")
    return f"{prefix}/request{pointer}"


@dataclass(frozen=True, slots=True)
class BaselineFile:
    """The file of one baseline; None where the form has its systems in other roles."""

    file: UploadedFile | None = None
    where: str = ""

    def beside(self, files: Mapping[str, UploadedFile]) -> Mapping[str, UploadedFile]:
        """All files of the test against this baseline."""
        return files if self.file is None else {**files, "v": self.file}

    def pointer_map(self, pointer: str) -> str:
        """The map into the form: this baseline's file was read as v."""
        if self.file is not None and (pointer == "/files/v" or pointer.startswith("/files/v/")):
            return self.where + pointer.removeprefix("/files/v")
        return pointer

    @property
    def called(self) -> str | None:
        """What the file is called."""
        return None if self.file is None else stem(self.file.name)


def files_of(form: Form) -> list[BaselineFile]:
    """The baselines' files in their order, or one that stands for v; raises InvalidTest for a second way to give them."""
    if not form.repeated:
        return [BaselineFile()]
    for role in ("v", "file"):
        if role in form.files:
            detail = f"Give the candidate as u and every baseline as {ROLE}: {role} is for a gate with one baseline."
            raise InvalidTest.at(f"/files/{role}", "unused_file", detail)
    if any(name == NAME_V for name, _ in form.fields):
        detail = f"The baselines are named by their files, or by {NAMES}: leave {NAME_V} out."
        raise _redundant(option_pointer(NAME_V), detail)
    if len(form.repeated) > 1:  # the candidate is read beside each
        form.files.update({role: replace(file, memo={}) for role, file in form.files.items()})
    return [BaselineFile(file, f"/files/{ROLE}/{index}") for index, file in enumerate(form.repeated)]


def names_of(
    given: str | None, baselines: Sequence[BaselineFile], readings: Sequence[Reading | None], limits: Limits
) -> list[str | None]:
    """The baselines' names: those in the field `names`, else those that all files have in them, else their files'.

    Raises InvalidTest: a name is empty or too long, or two look the same; at `/options/names` or the file.
    """
    files, names = [one for one in baselines if one.file is not None], None
    if given is not None:
        names = listed(NAMES, given, option_pointer(NAMES))
        if len(names) != len(files):
            detail = f"`names` has {len(names):,} names for {len(files):,} files {ROLE}: give one for each, in their order."
            raise InvalidTest.at(option_pointer(NAMES), "wrong_number", detail)
    if not files:
        return [None]
    if names is None:
        inside = [None if one is None or one.names is None else one.names[1] for one in readings]
        names = names_of_files([str(one.called) for one in files], inside)
    places = dict(zip(names, (one.where for one in files), strict=True))
    require_names(
        names, WHAT, lambda name: option_pointer(NAMES) if given is not None else places.get(name, f"/files/{ROLE}"),
        limits.max_name_chars,
    )  # fmt: skip
    return list(names)


def require_alike(tests: Sequence[ParsedTest], baselines: Sequence[BaselineFile]) -> None:
    """Refuse baselines whose files were read as something else than the first one's: u would not be the same candidate."""
    for test, baseline in zip(tests, baselines, strict=True):
        if _read_as(test) != _read_as(tests[0]):
            detail = (
                "This file and the candidate's were read as another format, metric or direction than with the first "
                "baseline: set format, metric or statistic, so that all are compared by the same."
            )
            raise InvalidTest.at(baseline.where, "baselines_differ", detail)


def _read_as(test: ParsedTest) -> tuple[object, ...]:
    reading, options = test.reading, test.options
    of_u = None if reading is None else (reading.format, reading.score_names and reading.score_names[0])
    return test.kind, test.spec, options.metric, options.higher_is_better, of_u
