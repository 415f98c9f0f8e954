"""Ids under a name that nobody knows: files in another order are not paired by their order."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.api.conftest import codes_of

Rows = list[tuple[str, float]]
ROWS: Rows = [(f"k{n}", n / 20) for n in range(20)]


def table(rows: Rows) -> bytes:
    return "".join(["ticket,score\n", *(f"{key},{score}\n" for key, score in rows)]).encode()


def json_lines(rows: Rows) -> bytes:
    return "".join(json.dumps({"ticket": key, "score": score}) + "\n" for key, score in rows).encode()


@pytest.mark.parametrize("form", ["csv", "jsonl"])
@pytest.mark.parametrize("route", ["/v1/tests/files", "/v1/gate"])
def test_files_in_another_order_are_not_paired_by_it(service: Any, form: str, route: str) -> None:
    written = table if form == "csv" else json_lines

    def sent(u: Rows, v: Rows, **fields: str) -> Any:
        files = {"u": ("u", written(u)), "v": ("v", written(v))}
        return service.request("POST", route, files=files, data={"format": form, **fields})

    others = [(f"{key}?", score) for key, score in ROWS]
    for v in (ROWS[::-1], ROWS[1:] + ROWS[:1]):  # the same set of texts in both, each once
        assert sent(ROWS, v).json()["p_value"] == 1.0
    for u, v in ((ROWS, [*ROWS[1:], ("k20", 1.0)]), (ROWS[:4], ROWS[3::-1])):
        assert codes_of(sent(u, v)) == ["choose_id_column"]
    assert sent(ROWS, ROWS[::-1], id_column="ticket").json()["p_value"] == 1.0
    assert sent(ROWS, ROWS).status_code == 200
    assert sent(ROWS, others).status_code == 200  # texts, of which no two are the same
