"""A candidate's file that is compared with several baselines is parsed once."""

from __future__ import annotations

import json
import pkgutil
from typing import Any

import httpx
import pytest

from exactperm.execution.ipc import UNBOUNDED
from exactperm.service import pipeline
from exactperm.service.limits import limits_of
from exactperm.service.messages import Body, Job
from exactperm.settings import Settings

SCORES = {name: [(7 * item + ord(name)) % 3 for item in range(8)] for name in "uabc"}


@pytest.mark.parametrize(
    ("parser", "row"),
    [
        ("exactperm.inputs.frame._plain", "{},{}\n"),
        ("exactperm.inputs.formats.json_records._table", '{{"id": {}, "score": {}}}\n'),
    ],
)
def test_each_file_is_parsed_once(parser: str, row: str, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []
    real = pkgutil.resolve_name(parser)

    def counted(source: Any, *args: Any) -> Any:
        parsed.append(source.name)
        return real(source, *args)

    monkeypatch.setattr(parser, counted)
    head = "id,score\n" if row.startswith("{},") else ""
    files = [
        ("u" if name == "u" else "against", (f"{name}.txt", head + "".join(row.format(*each) for each in enumerate(own))))
        for name, own in SCORES.items()
    ]  # fmt: skip
    request = httpx.Request("POST", "http://test/", files=files, data={"higher_is_better": "true"})
    boundary = request.headers["content-type"].partition("boundary=")[2]
    body = Body("multipart/form-data", boundary=boundary)
    job = Job("gate", body, (("fail_status", "200"),), "json", "r", 0.0, 0.0, limits_of(Settings()))
    response = pipeline.handle(job, request.read(), UNBOUNDED)
    assert response.status == 200, response.body
    assert [metric["against"] for metric in json.loads(response.body)["metrics"]] == ["a", "b", "c"]
    assert sorted(parsed) == ["a.txt", "b.txt", "c.txt", "u.txt"]
