"""A problem type is an exception and a line of a table; a setting is a line of settings.py: tried in a copy of the code.

The tables of the documentation have a row for each (`test_documentation`); `openapi/openapi.json` is generated.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.unit.code_copies import copied, run

pytestmark = pytest.mark.slow  # processes that import everything

PROBLEM_TYPE = {
    "app/exactperm/errors.py": [
        (
            "class BodyTooLarge(InputError):\n",
            (
                'class Teapot(InputError):\n    """The request is for coffee."""\n\n    code = "teapot"\n\n\n'
                "class BodyTooLarge(InputError):\n"
            ),
        )
    ],
    "app/exactperm/service/problems.py": [
        (
            '    ProblemType("too-many-requests"',
            '    ProblemType("teapot", 418, "This is a teapot", "Ask for tea."),\n    ProblemType("too-many-requests"',
        )
    ],
    # Where it is raised.
    "app/exactperm/service/parse.py": [
        (
            "from ..errors import BodyTooLarge,",
            "from ..errors import Teapot, BodyTooLarge,",
        ),
        (
            "    if request.samples > limits.max_samples:\n",
            (
                '    if request.seed == 418:\n        raise Teapot("There is no coffee.")\n'
                "    if request.samples > limits.max_samples:\n"
            ),
        ),
    ],
}
ASK = """
import asyncio, json
import httpx
from exactperm.api.openapi.export import exported
from exactperm.main import create_app
from exactperm.settings import Settings

async def ask():
    transport = httpx.ASGITransport(create_app(Settings(workers=1)))
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
        refused = await client.post("/v1/tests/scores", json={"u": [1, 2], "v": [0, 1], "seed": 418})
        page = await client.get("/docs/problems")
    return [refused.status_code, refused.headers["content-type"], refused.json(), page.text]

print(json.dumps([*asyncio.run(ask()), json.loads(exported())]))
"""
SETTING = {
    "app/exactperm/settings.py": [
        (
            "    max_items: int = Field(",
            (
                '    tea_seconds: float = Field(default=180.0, gt=0, description="How long tea steeps.")\n'
                "    max_items: int = Field("
            ),
        )
    ]
}
SETTLE = """
import json
from pydantic import ValidationError
from exactperm.main import create_app
from exactperm.settings import Settings

try:
    settings = create_app(Settings()).state.settings
    print(json.dumps([settings.tea_seconds, Settings.model_fields["tea_seconds"].description]))
except ValidationError as error:
    print(json.dumps([error.errors()[0]["type"], list(error.errors()[0]["loc"])]))
"""


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return json.loads(run(copied(tmp_path_factory.mktemp("copy"), PROBLEM_TYPE), ASK))


def test_the_new_problem_is_sent_with_its_status_and_title(asked: Any) -> None:
    status, media, problem, _, _ = asked
    assert (status, media) == (418, "application/problem+json")
    assert problem.pop("instance")
    assert problem == {
        "type": "/docs/problems#teapot",
        "title": "This is a teapot",
        "status": 418,
        "detail": "There is no coffee.",
    }


def test_the_page_of_problems_and_the_document_have_it(asked: Any) -> None:
    *_, page, document = asked
    assert '<div id="teapot"><dt><span class="status">418</span> <span class="title">This is a teapot' in page
    assert "<dd>Ask for tea.</dd>" in page
    responses = document["paths"]["/v1/tests/scores"]["post"]["responses"]
    assert responses["418"]["description"] == "This is a teapot"
    assert list(responses["418"]["content"]) == ["application/problem+json"]


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, [180.0, "How long tea steeps."]),
        ({"EXACTPERM_TEA_SECONDS": "90"}, [90.0, "How long tea steeps."]),
        ({"EXACTPERM_TEA_SECONDS": "0"}, ["greater_than", ["tea_seconds"]]),
    ],
    ids=["default", "set", "refused"],
)
def test_a_new_setting_is_read_from_the_environment_and_checked(
    tmp_path_factory: pytest.TempPathFactory, environment: dict[str, str], expected: list[Any]
) -> None:
    folder = copied(tmp_path_factory.mktemp("copy"), SETTING)
    assert json.loads(run(folder, SETTLE, **environment)) == expected
