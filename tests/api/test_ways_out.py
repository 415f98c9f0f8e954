"""Test that choices of refusals name options of the entrance, for the files of every tool, and that other fixes are described."""

import json
from typing import Any

import pytest

from tests.tool_files import TOOLS, Tool

from .conftest import Service, problem

ENTRANCES = {"/v1/compare": ("system", "system"), "/v1/gate": ("u", "v"), "/v1/tests/files": ("u", "v")}
COMPARE = "/v1/compare"
Parts = list[tuple[str, tuple[str, str]]]


def both(first: str, second: str) -> str:
    """The systems of two files of a tool in one file: the entries of all lists in JSON, else all lines."""
    try:
        return json.dumps(merged(json.loads(first), json.loads(second)))
    except ValueError:
        return first + second


def merged(one: Any, other: Any) -> Any:
    if isinstance(one, list) and isinstance(other, list):
        return one + other
    if isinstance(one, dict) and isinstance(other, dict):
        return other | {key: merged(value, other.get(key)) for key, value in one.items()}
    return one


def forms_of(made: Tool, roles: tuple[str, str]) -> list[Parts]:
    """Files with one system and with two in pairs, and either alone."""
    new, old = (made.write(values, name) for values, name in zip(made.values, ("new", "old"), strict=True))
    several, more = both(new, old), list(made.more.items())
    pairs = [(new, old), (several, new), (new, several), (several, several)]
    forms = [
        [(role, (f"{at}-{made.file}", text)) for at, (role, text) in enumerate(zip(roles, pair, strict=True))]
        for pair in pairs
    ]
    return [[*form, *more] for form in (*forms, *([("file", (made.file, text))] for text in (several, new)))]


@pytest.mark.parametrize("entrance", ENTRANCES)
def test_choices_name_options_of_the_entrance_that_offers_them(entrance: str, service: Service) -> None:
    tried: dict[frozenset[str], set[str]] = {}
    for tool, made in TOOLS.items():
        for parts in forms_of(made, ENTRANCES[entrance]):
            for flaw in service.post(entrance, files=parts).json().get("errors", []):
                for choice in flaw.get("choices", []):
                    options = frozenset(choice["fields"])
                    if tool in tried.setdefault(options, set()):
                        continue  # the options are of the form: which values they take is for other tests
                    tried[options].add(tool)
                    again = service.post(entrance, files=parts, data=choice["fields"]).json()
                    codes = {one["code"] for one in again.get("errors", [])}
                    assert "unknown_parameter" not in codes, (tool, flaw, again)
                    assert "unused_option" not in codes, (tool, flaw, again)
    assert len(tried) > 3


# One file of AlpacaEval or Arena-Hard has the baseline of its votes as well: of files that share it each is one system.
SEVERAL = (
    "promptfoo", "MT-Bench, single", "MT-Bench, pair", "Chatbot Arena", "COMET --to_json", "COMET", "mt-metrics-eval",
)  # fmt: skip


@pytest.mark.parametrize("tool", SEVERAL)
def test_a_file_of_several_systems_beside_others_is_compared_alone(tool: str, service: Service) -> None:
    parts = forms_of(TOOLS[tool], ENTRANCES[COMPARE])
    said = problem(service.post(COMPARE, files=parts[3]), 422)
    (flaw,) = said["errors"]
    assert flaw["code"] == "choose_system"
    assert flaw["pointer"].startswith("/files/")
    assert "choices" not in flaw
    assert "send it alone (`file`)" in said["detail"]
    assert "system_u" not in said["detail"]
    alone = service.post(COMPARE, files=parts[4])
    assert alone.status_code == 200, alone.text


def test_the_systems_of_a_file_are_named_when_it_stands_beside_another(service: Service) -> None:
    made = TOOLS["promptfoo"]
    text = both(made.write(made.values[0], "m-1"), made.write(made.values[1], "m-2"))
    parts = [("system", ("a.json", text)), ("system", ("b.json", made.write(made.values[0], "m-3")))]
    said = problem(service.post(COMPARE, files=parts), 422)
    assert said["errors"][0]["pointer"] == "/files/a"
    assert said["detail"] == (
        'The file of "a" holds several systems ("0:m-1", "0:m-2"): send it alone (`file`) to compare those, or split it into a file for each.'
    )


def test_other_filters_of_systems_are_refused_without_options_of_two(service: Service) -> None:
    made = TOOLS["lm-evaluation-harness"]
    texts = [made.write(made.values[0], name).replace('"none"', f'"{name}"') for name in ("strict", "loose")]
    parts = [("system", (f"{at}.jsonl", text)) for at, text in enumerate(texts)]
    said = problem(service.post(COMPARE, files=parts), 422)
    (flaw,) = said["errors"]
    assert (flaw["code"], flaw.get("choices")) == ("filter_mismatch", None)
    assert said["detail"] == (
        'Another file has other filters than that of "0": give files that share one, and choose it (`filter`).'
    )
