"""The fields of a gate's form: its terms, and `metrics`: names, or a JSON list of the fields that differ by metric.

A name is that of a statistic, else of a metric of the files: `acc,acc_norm` is `[{"metric": "acc"}, {"metric": "acc_norm"}]`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from ...errors import InvalidTest, MalformedBody, marked
from ...inputs import json_body
from ...inputs.formats.roles import ROLES
from ...inputs.quoting import quoted
from ..compare.options import NAMES
from ..parse_files import option_pointer
from ..pointers import PointerMap
from ..query import literal
from ..schema.gate import GateFields
from ..validation import validated

TEXTS = ("policy", "on_inconclusive", "name")
OF_A_METRIC = ("name", "policy", "margin", "higher_is_better")
FIELDS = ("policy", "margin", "higher_is_better", "on_inconclusive", "fail_status", "store")

Fields = list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class GateForm:
    """The gate's fields, the fields of all its tests, what differs by metric, and the baselines' names as given."""

    common: GateFields
    fields: Fields
    overrides: list[dict[str, str]] = field(default_factory=lambda: [{}])
    names: str | None = None


def taken(fields: Iterable[tuple[str, str]]) -> GateForm:
    """A form's fields, those of the gate apart from those of its tests.

    Raises
    ------
        InvalidTest: a field is given twice, or its value is invalid; pointers are `/options/<name>`.
    """
    own: dict[str, str] = {}
    others: Fields = []
    for name, text in fields:
        if name not in (*FIELDS, "metrics", NAMES):
            others.append((name, text))
        elif name in own:
            raise InvalidTest.at(
                option_pointer(name), "duplicate_parameter", f"{marked(name)} is given twice."
            )
        else:
            own[name] = text
    overrides = _overrides(own.pop("metrics")) if "metrics" in own else [{}]
    names = own.pop(NAMES, None)
    return GateForm(fields_of(own, "/options"), others, overrides, names)


def fields_of(texts: Mapping[str, str], prefix: str) -> GateFields:
    """Texts as the gate's fields; raises InvalidTest."""
    values = {name: text if name in TEXTS else literal(text) for name, text in texts.items()}
    return validated(GateFields, values, prefix=prefix)


def overridden(form: GateForm, index: int) -> tuple[GateFields, Fields]:
    """The terms of one metric, and the fields of its test."""
    override = form.overrides[index]
    own = {name: text for name, text in override.items() if name in OF_A_METRIC}
    fields = [(name, text) for name, text in form.fields if name not in override]
    fields += [(name, text) for name, text in override.items() if name not in OF_A_METRIC]
    return fields_of(own, f"/options/metrics/{index}"), fields


def by_metric(form: GateForm, index: int) -> GateForm | None:
    """The form with a name as that of a metric of the files instead of a statistic; None where it is neither."""
    override = form.overrides[index]
    if override != {"name": override.get("name"), "statistic": override.get("name")}:
        return None
    metrics = [*form.overrides]
    metrics[index] = {"name": override["name"], "metric": override["name"]}
    return replace(form, overrides=metrics)


def in_metric(form: GateForm, index: int) -> PointerMap:
    """The map for one metric: fields that it sets itself are in `metrics`."""
    return partial(_in_override, frozenset(form.overrides[index]), index)


def _in_override(override: Collection[str], index: int, pointer: str) -> str:
    name = pointer.removeprefix("/options/")
    own = pointer.startswith("/options/") and name.partition("/")[0] in override
    return f"/options/metrics/{index}/{name}" if own else pointer


def _overrides(text: str) -> list[dict[str, str]]:
    """`metrics`: names between commas, or a JSON list of names, and of objects whose members are fields of a form."""
    try:
        is_json = text.lstrip()[:1] in {"[", "{"}
        value: Any = json_body.decode(text.encode()).value if is_json else text.split(",")
    except MalformedBody:
        raise _not_metrics("/options/metrics") from None
    if not isinstance(value, list) or not value:
        raise _not_metrics("/options/metrics")
    value = [
        dict.fromkeys(("name", "statistic"), one.strip()) if isinstance(one, str) else one for one in value
    ]
    for index, member in enumerate(value):
        if not isinstance(member, dict) or member.get("name") == "":
            raise _not_metrics(f"/options/metrics/{index}")
        for name in member:
            if name in ROLES or name in ("metrics", NAMES):
                detail = f"{quoted(name)} cannot differ by metric."
                raise InvalidTest.at(f"/options/metrics/{index}", "not_by_metric", detail)
    return [{name: _text(member) for name, member in override.items()} for override in value]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json_body.text_of(value)


def _not_metrics(pointer: str) -> InvalidTest:
    detail = '`metrics` is a list of names, such as upos,las, or a JSON list of objects: [{"metric": "acc", "margin": 0.01}].'
    return InvalidTest.at(pointer, "not_metrics", detail)
