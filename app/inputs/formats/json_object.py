"""One JSON object of each system: `{"id": score}`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...errors import InvalidTest
from .. import ndjson
from ..names import ID, SCORE, SYSTEM, find
from ..quoting import escaped
from ..summaries import refuse_metrics_for_ids
from .format import FirstLook, Format, Sign
from .json_records import value_of
from .number_text import NumberReader
from .outputs_by_id import SystemOutputs, scores_reading
from .reader import ReaderOptions, Reading
from .roles import needed
from .source import Source, parsed_once

ROLES = ("u", "v")
USES = frozenset(("on_missing", "missing_range", "decimals"))
OF_A_LINE = (*ID, *SCORE, *SYSTEM, "run", "u", "v")  # of JSON lines


def read(files: Mapping[str, Source], options: ReaderOptions, format_: str) -> Reading:
    """Scores of two systems."""
    notes: list[str] = []
    u, v = (needed(files, role, format_) for role in ("u", "v"))
    reader = NumberReader.of(options)
    first, second = (_outputs(source, reader, notes) for source in (u, v))
    return scores_reading(first, second, options, notes, format_)


@parsed_once
def _outputs(source: Source, reader: NumberReader, notes: list[str]) -> SystemOutputs:
    scores = ndjson.decoded(source.text(notes), source.pointer, source.label)
    if not isinstance(scores, dict):
        detail = f"{source.label}: this is not one object with a score for each id."
        raise InvalidTest.at(source.pointer, "not_an_object", detail)
    if not scores:
        raise source.empty()
    refuse_metrics_for_ids(scores, source.at(next(iter(scores))), f"{source.label}: ")
    outputs = SystemOutputs(source)
    for key, score in scores.items():
        outputs.add(key, value_of(score, reader, source.at(key)), escaped(key))
    return outputs


def _is_score(value: Any) -> bool:
    if isinstance(value, list):
        return all(isinstance(one, int | float) for one in value)
    return value is None or isinstance(value, int | float)


def _sign(look: FirstLook) -> Sign:
    """An object that is the whole file and holds scores alone; a line with fields such as id and score is one of JSON lines."""
    if not look.is_json or not look.text.lstrip().startswith("{") or not {"u", "v"} <= look.roles:
        return Sign.NONE
    whole = look.document
    if (
        look.record is not None
        and len(look.source.content.split())
        and b"\n" not in look.source.content.strip()
    ):
        whole = look.record
    scores = len(whole) > 0 and all(map(_is_score, whole.values())) and find(whole, OF_A_LINE) is None
    return Sign.SHAPE if scores else Sign.NONE


FORMAT = Format(
    "json-object", read, ROLES, USES, 'one object {"id": score} for each system', kinds=("scores",), aliases=("json-scores",),
    sign=_sign,
)  # fmt: skip
