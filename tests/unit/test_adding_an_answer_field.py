"""A new field of an answer is a line in its record and a line where it is computed: tried in a copy of the code.

`openapi/openapi.json` is generated (`make openapi`).
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.unit.code_copies import copied, run

pytestmark = pytest.mark.slow  # processes that import everything

FIELD = 'half_alpha: Annotated[float, {"gt": 0, "lt": 0.5}, "Half of alpha, of each tail."]'
EDITS = {
    "app/exactperm/answers/test.py": [
        (
            "    alpha: float\n    min_attainable_p: Annotated[\n",
            f"    alpha: float\n    {FIELD}\n    min_attainable_p: Annotated[\n",
        ),
        ("    losses: int\n", "    losses: int\n    zero: int | None = None\n"),
    ],
    "app/exactperm/inference/paired_test.py": [
        (
            "        alpha=options.alpha,\n",
            "        alpha=options.alpha,\n        half_alpha=options.alpha / 2,\n",
        ),
        (
            "        items=items_of_u(result.items, options),\n",
            "        items=replace(items_of_u(result.items, options), zero=result.items.n - result.items.nonzero),\n",
        ),
    ],
}
SERVE = """
import json
from exactperm.api.openapi.export import exported
from exactperm.local.transport import InProcess
from exactperm.client import Client, scores
from exactperm.settings import Settings

client = Client("http://here", transport=InProcess(Settings()), retries=0)
test = client.scores([3, 1, 0, 5], [1, 1, 2, 2], alpha=0.1)
gate = client.gate(scores([3, 1, 0, 5], [1, 1, 2, 2]), higher_is_better=True)
print(json.dumps([test.raw, gate.raw, json.loads(exported())["components"]["schemas"]]))
"""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The answer to a test and to a gate, as the Python client holds them, and the schemas of the document."""
    return json.loads(run(copied(tmp_path_factory.mktemp("copy"), EDITS), SERVE))


def test_the_new_fields_are_in_the_answers_at_their_places(served: Any) -> None:
    test, gate, _ = served
    names = list(test)
    first = names.index("significant")
    assert names[first : first + 4] == ["significant", "alpha", "half_alpha", "min_attainable_p"]
    assert test["half_alpha"] == 0.05
    assert (test["items"]["n"], test["items"]["nonzero"], test["items"]["zero"]) == (4, 3, 1)
    assert gate["metrics"][0]["test"]["half_alpha"] == 0.025
    assert gate["metrics"][0]["test"]["items"]["zero"] == 1


def test_the_new_fields_are_in_the_document_with_bounds_and_description(served: Any) -> None:
    _, _, schemas = served
    for component in ("TestAnswer", "TestResult"):
        assert "half_alpha" in schemas[component]["required"]
        assert schemas[component]["properties"]["half_alpha"] == {
            "description": "Half of alpha, of each tail.",
            "exclusiveMaximum": 0.5,
            "exclusiveMinimum": 0,
            "title": "Half Alpha",
            "type": "number",
        }
    zero = schemas["ItemsAnswer"]["properties"]["zero"]
    assert zero["anyOf"] == [{"type": "integer"}, {"type": "null"}]
