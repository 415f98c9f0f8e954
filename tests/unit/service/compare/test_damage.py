"""Damaged bodies of every media type are read or refused, and never fail in another way."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from exactperm.errors import InputError
from tests.unit.service.compare.shorthands import CSV, NDJSON, NPY, TSV, npy, of_body, of_form

DATA = Path(__file__).resolve().parents[3] / "data"
BODIES: dict[str, tuple[str, bytes, dict[str, str]]] = {
    "json": (
        "application/json",
        b'{"kind": "scores", "systems": {"A": {"p": 1, "q": 3}, "B": {"q": 0, "p": 4}}, "clusters": {"p": 1, "q": 2}}',
        {},
    ),
    "matrix": ("application/json", b'{"kind": "scores", "systems": ["A", "B"], "scores": [[1, 0.5], [0, 2e3]], "ids": [1, "2"]}', {}),
    "counts": (
        "application/json",
        b'{"kind": "counts", "systems": {"A": {"tp": [1, 2], "fn": [0, 1]}, "B": [{"tp": 1, "fn": 0}, {"tp": 1, "fn": 3}]}, "statistic": {"name": "recall"}}',
        {},
    ),
    "labels": (
        "application/json",
        b'{"kind": "predictions", "datasets": {"d": {"gold": ["a", "b"], "systems": {"A": ["a", "a"], "B": ["b", "b"]}}}}',
        {},
    ),
    "wide": (CSV, b'id,A,"B",cluster\nx,1,0,k\ny,,0.5,l\n"z",3,nan,k\n', {"on_missing": "pairwise"}),
    "long": (TSV, b"id\tsystem\tscore\tdataset\nx\tA\t1\td\nx\tB\t0\td\ny\tA\t1\te\ny\tB\t4\te\n", {}),
    "lines": (
        NDJSON, b'{"id": 1, "system": "A", "score": 1}\n{"id": 1, "system": "B", "score": 0.5}\n', {"on_missing": "complete"}
    ),
    "array": (NPY, npy(np.array([[1.5, 0], [np.nan, 1]], dtype=np.float32)), {"systems": "A,B", "on_missing": "pairwise"}),
}  # fmt: skip
PIECES = (
    b"",
    b"\0",
    b'"',
    b",",
    b"\n",
    b"\xff",
    b"{",
    b"]",
    b"-",
    b"1e999",
    b"null",
    b"true",
    b"mean",
    b"\t",
    b"id",
    b"9" * 40,
    b"\xef\xbb\xbf",
)


def damaged(body: bytes, chance: random.Random) -> bytes:
    for _ in range(chance.randint(1, 3)):
        start = chance.randrange(len(body) + 1)
        end = min(len(body), start + chance.choice((0, 1, 1, 2, 5)))
        piece = (
            chance.choice(PIECES)
            if chance.random() < 0.7
            else body[start : start + chance.randint(1, 30)] * 2
        )
        body = body[:start] + piece + body[end:]
    return body


@pytest.mark.slow
@pytest.mark.parametrize("case", BODIES)
def test_damaged_bodies(case: str) -> None:
    media_type, body, query = BODIES[case]
    of_body(media_type, body, **query)
    chance, details = random.Random(case), []
    for _ in range(600):
        try:
            comparison = of_body(media_type, damaged(body, chance), **query)
        except InputError as error:
            details.append(error.detail)
            continue
        for name, systems in comparison.comparison.datasets.items():
            prefix = "" if name is None else f"/datasets/{name}"
            for system in systems.columns:
                assert comparison.pointer_map(f"{prefix}/systems/{system}/0").startswith("/")
    assert 0 < len(details) < 600
    assert all(details)


@pytest.mark.parametrize(
    "path", ["mqm/newstest2020_ende.tsv", "promptfoo/results.json", "eus_trivia/gpt-4-0613.jsonl"]
)
def test_damaged_files(path: str) -> None:
    content = (DATA / path).read_bytes()[:6_000]
    chance, details = random.Random(path), [""]
    for _ in range(60):
        broken = damaged(content, chance)
        for parts in ([("file", path, broken)], [("system", "a", content), ("system", "b", broken)]):
            try:
                of_form(parts, on_missing=chance.choice(("error", "pairwise", "complete")))
            except InputError as error:
                details.append(error.detail)
    assert len(details) > 1
    assert all(details[1:])
