"""Options of a test with any statistic, and the identity of a request."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from ..answers.test import Alternative, Exchange, Method, Moved, Resampling
from ..statistics.paired import Correction, Gaps, Paired, Pairing, Repeated, StatisticSpec, Weights

Significance = Literal["p", "mid_p"]
SequentialMode = Literal["anytime"]
PmfDetail = Literal["none", "summary", "full"]


@dataclass(frozen=True, slots=True)
class Sequential:
    """The options of a sequential test (`inference.sequential`).

    `scale` is what differences of swapping units are measured in, chosen before any data; None for 1 where they lie in
    [-1, 1]. `prior_log_e` is the natural logarithm of the e-value of earlier, independent batches. `planned_n` and
    `max_difference` say how many items there will be at the most, and how much one can differ.
    """

    mode: SequentialMode = "anytime"
    scale: float | None = None
    prior_log_e: float = 0.0
    planned_n: int | None = None
    max_difference: float | None = None


@dataclass(frozen=True, slots=True)
class Options:
    """Common options of every test; the defaults are those of the HTTP contract.

    `metric` is the name of the metric, for reports; `higher_is_better` says which system a difference favours, None if unknown: then wins
    and items that moved go by the larger score.
    """

    alternative: Alternative = "two-sided"
    method: Method = "auto"
    test: Resampling = "permutation"
    exchange: Exchange = "items"
    samples: int = 20_000
    seed: int = 0
    precision: float = 1e-3
    alpha: float = 0.05
    significance: Significance = "p"
    confidence_level: float | None = None
    power: float | None = None
    sequential: Sequential | None = None
    pmf: PmfDetail = "summary"
    exact_fraction: bool = False
    name_u: str = "U"
    name_v: str = "V"
    metric: str | None = None
    higher_is_better: bool | None = None

    def alone(self, **changed: Any) -> Options:
        """For a p-value alone, without a picture, a fraction or an interval."""
        return replace(self, pmf="none", exact_fraction=False, confidence_level=None, **changed)


# The identity of a request: equal for equal data, statistic and options, however they were sent


_SETTINGS = json.JSONEncoder(sort_keys=True, default=str)
# How many of the last options are kept as text.
_CACHE_SIZE = 256
# The integer types of 1, 2 and 4 bytes, and the least and the largest number of each.
_NARROW = tuple((np.dtype(f"<i{size}"), -(1 << 8 * size - 1), (1 << 8 * size - 1) - 1) for size in (1, 2, 4))


def members(record: Any) -> dict[str, Any]:
    """The fields of a record by name, without the copies of `dataclasses.asdict`."""
    return {name: getattr(record, name) for name in record.__slots__}


def request_digest(
    data: Paired, spec: StatisticSpec, options: Options, algorithm: str, moved: Moved | None = None
) -> str:
    """SHA-256, in hex, of the canonical request under one version of the algorithm.

    Columns enter by value (3 and 3.0 are the same), ids not at all: they only pair. Those that the
    answer names (`moved`) do, so that equal ids of requests have equal answers.
    """
    spec_text = _SETTINGS.encode([spec.name, dict(spec.parameters)])
    settings = f'{{"algorithm": "{algorithm}", "options": {_options_text(options)}, "spec": {spec_text}}}'
    digest = hashlib.sha256(settings.encode())
    for name, value in members(data).items():
        if value is None and name in {"weights", "groups", "event", "gaps", "correction", "positions"}:
            continue  # ids are as old as tests without them
        digest.update(f"|{type(data).__name__}.{name}:".encode())
        for chunk in canonical(value.clusters if isinstance(value, Pairing) else value):
            digest.update(chunk)
        if isinstance(value, Pairing) and value.slices is not None:
            for chunk in (*canonical(list(value.slices.names)), *canonical(value.slices.codes)):
                digest.update(chunk)
    if moved is not None:
        digest.update(json.dumps([moved.toward_u, moved.toward_v]).encode())
    return digest.hexdigest()


def _options_text(options: Options) -> str:
    """The options as JSON: of most requests those of one before, up to the seed."""
    if options.sequential is not None:  # contains numbers
        return _SETTINGS.encode(options_by_name(options))
    return _text_of_plain(*members(options).values())


@lru_cache(maxsize=_CACHE_SIZE, typed=True)
def _text_of_plain(*values: Any) -> str:
    """The same, kept for values that are equal and of the same types: 1 and 1.0 are written differently."""
    return _SETTINGS.encode(options_by_name(Options(*values)))


def options_by_name(options: Options) -> dict[str, Any]:
    """The options by name; metric and direction only if they affect the answer."""
    named = members(options)
    for later in ("power", "sequential"):
        if named[later] is None:
            del named[later]  # ids are as old as tests without them
    if named["exchange"] == "items":
        del named["exchange"]
    metric, higher = named.pop("metric"), named.pop("higher_is_better")
    if metric is not None or higher is False:
        named |= {"metric": metric, "higher_is_better": higher}
    return named


def canonical(value: object) -> Iterator[bytes]:
    """A column, or anything of JSON, by value: 3 and 3.0 are the same."""
    if value is None:
        yield b"none"
    elif isinstance(value, np.ndarray):
        column = _narrowed(value)
        yield f"{column.dtype.str}{column.shape}".encode()
        yield column.tobytes()
    elif isinstance(value, Repeated):
        yield from canonical(value.values)
        yield from canonical(value.lengths)
    elif isinstance(value, Gaps):
        yield json.dumps([value.low, value.high, value.neither]).encode()
        for side in (value.u, value.v, value.clusters):
            yield b"|"
            yield from canonical(side)
    elif isinstance(value, Correction):
        yield json.dumps([None if value.share is None else str(value.share), *sorted(value.columns)]).encode()
        yield from canonical(value.labelled)
        for _, covariate in sorted(value.columns.items()):
            yield from canonical(covariate.u)
            yield from canonical(covariate.v)
    elif isinstance(value, Weights):
        yield json.dumps([str(value.unit), *map(str, value.values.tolist())]).encode()
    elif isinstance(value, Mapping):
        for name in sorted(value):
            yield f"{name}=".encode()
            yield from canonical(value[name])
    else:
        yield json.dumps(value, separators=(",", ":")).encode()


def _narrowed(column: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The column in the smallest little-endian type that holds its values, integers first."""
    if column.dtype.kind == "f":
        whole = np.rint(column)
        if not (np.array_equal(whole, column) and np.abs(column).max(initial=0.0) < 2**53):
            return column.astype("<f8") + 0.0  # minus zero is zero
        column = whole.astype(np.int64)
    low, high = (
        (int(np.minimum.reduce(column, axis=None)), int(np.maximum.reduce(column, axis=None)))
        if column.size
        else (0, 0)
    )
    narrow = next((kind for kind, least, most in _NARROW if least <= low and high <= most), np.dtype("<i8"))
    return column.astype(narrow)
