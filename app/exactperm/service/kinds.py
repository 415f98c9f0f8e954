"""The kinds of requests. Routes, media types, lists, jobs, plans, the document and the command line follow from `KINDS`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from ..reports.representations import (
    JSON as JSON_NAME,
    NDJSON as NDJSON_NAME,
    OF_A_COMPARISON,
    OF_A_GATE,
    OF_A_TEST,
    OF_POWER,
)

TestKind = Literal["effects", "scores", "counts", "predictions"]  # two systems, whose statistic is named
JsonTest = Literal[TestKind, "systems", "preferences"]
PlannedKind = Literal[JsonTest, "compare"]
ListedKind = Literal[JsonTest, "gate", "compare", "power"]
JobKind = Literal[ListedKind, "batch"]
Kind = Literal[JobKind, "files", "plan"]
LISTED, OF_JOBS = get_args(ListedKind), get_args(JobKind)

JSON = "application/json"
CSV = "text/csv"
TSV = "text/tab-separated-values"
NDJSON = "application/x-ndjson"
NPY = "application/x-npy"
MULTIPART = "multipart/form-data"


@dataclass(frozen=True, slots=True)
class RequestKind:
    """What a kind of request is for, the media types of its bodies, the representations of its answers, and its path."""

    purpose: str
    consumed: tuple[str, ...]
    offered: tuple[str, ...]
    path: str


def _rows(
    folder: str, rows: Mapping[Kind, tuple[str, tuple[str, ...], tuple[str, ...]]]
) -> dict[Kind, RequestKind]:
    return {kind: RequestKind(*row, path=f"/v1{folder}/{kind}") for kind, row in rows.items()}


KINDS: Mapping[Kind, RequestKind] = _rows("/tests", {
    "effects": ("The effect of each item as observed, and with the systems exchanged.", (JSON, NDJSON), OF_A_TEST),
    "scores": (
        "One number per item and system: mean or sum of differences, sign test, signed ranks.", (JSON, CSV, TSV, NDJSON, NPY), OF_A_TEST,
    ),
    "counts": (
        "Named counts per item and system: F1 and related scores, ratios such as WER, and any expression of the sums.",
        (JSON, CSV, TSV, NDJSON, NPY), OF_A_TEST,
    ),
    "predictions": ("Raw outputs of both systems and gold: accuracy, classes, entities, translations.", (JSON, NDJSON), OF_A_TEST),
    "systems": (
        "Several systems at once: a contrast, a trend (Page), whether any differs (Cochran's Q, Friedman), an interaction.",
        (JSON, MULTIPART), OF_A_TEST,
    ),
    "preferences": ("Battles of two models, judged by people or a model: shares of wins, with ties and position bias.", (JSON,), OF_A_TEST),
    "files": ("Evaluation files: the format determines what they contain, and the kind of test.", (MULTIPART,), OF_A_TEST),
}) | _rows("", {
    "plan": ("The method and cost of a test without running it: operations, bytes, seconds, and the reasons.", (JSON,), (JSON_NAME,)),
    "compare": (
        "Compare many systems: an exact test of each pair, adjusted p-values, rank ranges, groups, the best set.",
        (JSON, CSV, TSV, NDJSON, NPY, MULTIPART), OF_A_COMPARISON,
    ),
    "gate": ("Decide a pull request: 200 when the candidate U passes against the baseline V, 409 when not.", (JSON, MULTIPART), OF_A_GATE),
    "power": ("Find the true difference that a test detects, its power, or the number of items.", (JSON, MULTIPART), OF_POWER),
    "batch": (
        "Many small tests in one request, answered in order; a bad one has its problem in its place.",
        (JSON, NDJSON), (JSON_NAME, NDJSON_NAME),
    ),
})  # fmt: skip
BY_PATH: Mapping[str, Kind] = {row.path: kind for kind, row in KINDS.items()}
