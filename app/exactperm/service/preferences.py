"""Preferences in one test: from a body of battles to the scores of the two models that inference takes."""

from __future__ import annotations

from typing import Any

from ..errors import InvalidTest, PointerMap, choices_of, mapped
from ..execution.ipc import UNBOUNDED, Control
from ..inference.options import Options
from ..inputs.battles import SHARE, Battles, battles_of
from ..inputs.formats.roles import by_names
from ..inputs.quoting import quoted
from ..inputs.reader import choose
from ..statistics.paired import StatisticSpec
from .documents import json_of
from .messages import Job, Limits, store_of
from .parse import (
    ParsedTest,
    chosen_of,
    refuse_long_name,
    refuse_samples,
    refuse_too_many,
    sequential_of,
    with_picture_data,
)
from .query import ELSEWHERE, options_of_query
from .schema.compare import PreferencesRequest
from .validation import chained, prefixed, validated

MEAN = StatisticSpec("mean_difference", {"repeats": "mean"})


def parse_preferences(job: Job, body: bytes | bytearray, control: Control = UNBOUNDED) -> ParsedTest:
    """Decode and validate a body without content coding; raises InputError."""
    options_of_query(job.query, ELSEWHERE)
    return of_json(*json_of(body), str, job)


def of_json(value: Any, context: dict[str, Any], places: PointerMap, job: Job) -> ParsedTest:
    """Validate a JSON request that stands at `places`; raises InputError."""
    request = validated(PreferencesRequest, value, places, context)
    return with_picture_data(mapped(places, _parsed, request, places, job), job.representation)


def read_battles(records: list[Any], limits: Limits) -> Battles:
    """The battles of a request; raises InvalidTest at `/battles/17/winner`, and BodyTooLarge."""
    refuse_too_many("battles has", len(records), limits)
    return mapped(prefixed("/battles"), battles_of, records)


def _parsed(request: PreferencesRequest, places: PointerMap, job: Job) -> ParsedTest:
    refuse_samples(request.samples, job.limits)
    battles = read_battles(request.battles, job.limits)
    u, v = _roles(request, battles.models)
    for name, pointer in ((u, "/u"), (v, "/v")):
        refuse_long_name(name, job.limits, pointer)
    data = battles.scores(u, v)
    if data is None:
        detail = f"No battle is between {quoted(u)} and {quoted(v)}."
        raise InvalidTest.at("/battles", "no_items", detail)
    options = Options(
        **chosen_of(request, "sequential"), sequential=sequential_of(request.sequential), name_u=u, name_v=v, metric=SHARE,
        higher_is_better=True,
    )  # fmt: skip
    return ParsedTest(
        "preferences", data, MEAN, options, job.deadline_s(request.timeout_s), chained(_place, places), request.model_fields_set,
        store_of(request),
    )  # fmt: skip


def _place(pointer: str) -> str:
    """The place of the data, which are made of battles."""
    return "/battles" if pointer[1:].split("/", maxsplit=1)[0] in {"u", "v", "ids"} else pointer


def _roles(request: PreferencesRequest, models: list[str]) -> tuple[str, str]:
    """U and V: as named; of two models by their names, or in code-point order for a two-sided test. Raises InvalidTest."""
    known = {"u": request.u, "v": request.v}
    for role, name in known.items():
        if name is not None and name not in models:
            raise choose(f"/{role}", role, f"model {role}", models, f"There is no model {quoted(name)}. ")
    if request.u is not None and request.u == request.v:
        raise InvalidTest.at("/v", "same_system", f"u and v are the same: {quoted(request.u)}. Give two.")
    left = [name for name in models if name not in known.values()]
    missing = [role for role, name in known.items() if name is None]
    if len(missing) == len(left) == 2:
        left = list(by_names(left) or left)
        if request.alternative != "two-sided" and by_names(left) is None:
            named = choices_of("u", {name: f"{quoted(name)} is U" for name in left})
            detail = f"A one-sided test must know which model is U, {quoted(left[0])} or {quoted(left[1])}: name it (`u`)."
            raise InvalidTest.at("/u", "choose_u", detail, named)
    elif len(left) > len(missing) > 0:
        raise choose(f"/{missing[0]}", missing[0], f"model {missing[0]}", left)
    u, v = (left.pop(0) if name is None else name for name in known.values())
    return u, v
