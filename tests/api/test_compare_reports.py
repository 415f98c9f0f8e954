"""Comparisons as reports and pictures over HTTP, and pictures that cannot be drawn."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree as ET

import pytest

from tests.api.conftest import problem

BODY = {"kind": "scores", "systems": {"A": [1] * 8, "B": [0] * 8, "C": [0, 1] * 4}}
TABLE = "id,A,B,C\n" + "".join(f"q{k},1,0,{k % 2}\n" for k in range(8))


@pytest.mark.parametrize("form", ["text", "markdown", "csv", "html", "svg", "png"])
def test_a_comparison_is_answered_in_every_form(service: Any, form: str) -> None:
    response = service.post(f"/v1/compare?format={form}", BODY)
    assert response.status_code == 200, response.text
    assert response.content


@pytest.mark.parametrize("picture", ["leaderboard", "heatmap", "bars", "forest"])
def test_a_picture_is_chosen(service: Any, picture: str) -> None:
    response = service.post(f"/v1/compare?format=svg&picture={picture}&theme=dark", BODY)
    assert ET.fromstring(response.text).get("id") == picture


def test_a_table_is_chosen(service: Any) -> None:
    systems, pairs = (
        service.post(f"/v1/compare?format=csv&table={table}", BODY).text for table in ("systems", "pairs")
    )
    assert len(systems.splitlines()) == len(pairs.splitlines()) == 4
    assert ",rank_low," in systems
    assert ",p_adjusted," in pairs


def test_a_picture_that_cannot_be_drawn_is_refused(service: Any) -> None:
    response = service.post("/v1/compare?format=svg&picture=heatmap", {**BODY, "pairs": "none"})
    refused = problem(response, 422)
    assert [flaw["pointer"] for flaw in refused["errors"]] == ["/?picture"]


def test_it_is_refused_of_a_table_too(service: Any) -> None:
    path = "/v1/compare?format=png&picture=bars&compare=baseline&baseline=A"
    response = service.body(path, TABLE.encode(), "text/csv")
    refused = problem(response, 422)
    assert [flaw["pointer"] for flaw in refused["errors"]] == ["/?picture"]
