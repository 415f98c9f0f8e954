"""RunFrames: `{run_id, model_id, task_id, metric_name, items: [{item_id, score, cluster_id?}]}`, one a system."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...errors import InvalidTest
from .. import ndjson
from ..quoting import escaped, quoted
from .format import FirstLook, Format, Sign
from .json_records import key_of, value_of
from .metrics import metric_of
from .number_text import NumberReader
from .outputs_by_id import SystemOutputs, scores_reading
from .reader import ReaderOptions, Reading
from .roles import needed
from .source import Source

ROLES = ("u", "v")
USES = frozenset(("on_missing", "missing_range", "decimals", "clusters"))
MUST_AGREE = ("task_id", "metric_name")


def read(files: Mapping[str, Source], options: ReaderOptions, format_: str) -> Reading:
    """Scores of two runs of one task under one metric."""
    notes: list[str] = []
    if options.clusters not in (None, "cluster_id"):
        raise InvalidTest.at(
            "/options/clusters", "invalid_option", "RunFrames have `clusters=cluster_id` only."
        )
    u, v = (needed(files, role, format_) for role in ("u", "v"))
    first, second = _frame(u, notes), _frame(v, notes)
    for name in MUST_AGREE:
        if first.get(name) != second.get(name):
            detail = f"{name} is {quoted(first.get(name))} in u and {quoted(second.get(name))} in v."
            raise InvalidTest.at(v.at(name), f"{name}_mismatch", detail)
    number_reader = NumberReader.of(options)
    systems = [_outputs(source, frame, number_reader) for source, frame in ((u, first), (v, second))]
    with_cluster = [any(key is not None for key in system.clusters) for system in systems]
    names = (str(first.get("model_id", u.name)), str(second.get("model_id", v.name)))
    metric = first.get("metric_name")
    return scores_reading(
        systems[0], systems[1], options, notes, format_, clustered=any(with_cluster), names=names,
        metric=metric_of(metric) if isinstance(metric, str) else None,
    )  # fmt: skip


def _frame(source: Source, notes: list[str]) -> dict[str, Any]:
    frame = ndjson.decoded(source.text(notes), source.pointer, source.label)
    if not isinstance(frame, dict) or not isinstance(frame.get("items"), list):
        detail = f"{source.label}: this is not a RunFrame, an object with a list of items."
        raise InvalidTest.at(source.at("items"), "missing_field", detail)
    return frame


def _outputs(source: Source, frame: dict[str, Any], number_reader: NumberReader) -> SystemOutputs:
    outputs = SystemOutputs(source)
    for index, item in enumerate(frame["items"]):
        path = f"items/{index}"
        if not isinstance(item, dict):
            raise InvalidTest.at(source.at("items", index), "not_an_object", "An item is not an object.")
        if "score" not in item:
            raise InvalidTest.at(
                source.at("items", index, "score"), "missing_field", "This item has no score."
            )
        cluster = item.get("cluster_id")
        outputs.add(
            key_of(item.get("item_id"), source, path, "item_id"),
            value_of(item["score"], number_reader, source.at("items", index, "score")),
            path,
            None if cluster is None else key_of(cluster, source, path, escaped("cluster_id")),
        )
    return outputs


def _sign(look: FirstLook) -> Sign:
    items = look.document.get("items")
    first = items[0] if isinstance(items, list) and items else None
    return Sign.MARK if isinstance(first, dict) and "item_id" in first else Sign.NONE


FORMAT = Format(
    "evalsig", read, ROLES, USES, "RunFrame {model_id, items: [{item_id, score}]}",
    kinds=("scores",), aliases=("runframe",), sign=_sign,
)  # fmt: skip
