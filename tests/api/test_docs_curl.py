"""Every curl line of README.md and docs/ does what the page says."""

from __future__ import annotations

import argparse
import json
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests import docs_pages
from tests.docs_pages import GUIDE, ROOT

HOST = "localhost:8000"
CHANGES = {"runtime", "versions", "instance"}  # from run to run, or from release to release


@dataclass(frozen=True)
class Shown:
    """A curl line of a page and the block below it."""

    page: str
    command: str
    language: str
    output: str


SHOWN = [
    Shown(page, *groups)
    for page in GUIDE
    for groups in re.findall(
        r"^```sh\n(curl .*?)\n```\n\n```(json|text|markdown)\n(.*?)```$",
        docs_pages.read(page),
        re.MULTILINE | re.DOTALL,
    )
]


def sent(service: Any, command: str) -> httpx.Response:
    """Do what curl would do; options that are not known here are an error."""
    parser = argparse.ArgumentParser("curl", exit_on_error=False)
    parser.add_argument("url")
    parser.add_argument("-H", "--header", action="append", default=[])
    parser.add_argument("-d", "--data", "--data-binary", dest="data")
    parser.add_argument("-F", "--form", action="append", default=[])
    parser.add_argument("--fail-with-body", action="store_true")
    options = parser.parse_args(shlex.split(command.replace("\\\n", " "))[1:])
    assert options.url.startswith(HOST)
    if options.form:
        parts = [part.split("=", maxsplit=1) for part in options.form]
        files = [
            (role, (Path(text[1:]).name, (ROOT / text[1:]).read_bytes()))
            for role, text in parts
            if text[0] == "@"
        ]
        fields = {name: text for name, text in parts if text[0] != "@"}
        return service.request("POST", options.url.removeprefix(HOST), files=files, data=fields)  # type: ignore[no-any-return]
    data: str = options.data
    content = (ROOT / data[1:]).read_bytes() if data.startswith("@") else data.encode()
    headers = dict(re.split(r": *", header, maxsplit=1) for header in options.header)
    response: httpx.Response = service.request(
        "POST", options.url.removeprefix(HOST), content=content, headers=headers
    )
    return response


def same(answer: Any, shown: Any) -> bool:
    """Equal, but for the last digits of logarithms and roots on another machine."""
    if isinstance(answer, dict) and isinstance(shown, dict):
        return list(answer) == list(shown) and all(same(answer[name], shown[name]) for name in answer)
    if isinstance(answer, list) and isinstance(shown, list):
        return len(answer) == len(shown) and all(map(same, answer, shown))
    if isinstance(answer, float) and isinstance(shown, float):
        return answer == pytest.approx(shown, rel=1e-13)
    return bool(answer == shown)


def lasting(answer: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in answer.items() if name not in CHANGES}


def test_the_readme_starts_with_make_serve_one_curl_line_and_its_answer_in_one_line() -> None:
    readme = docs_pages.read("README.md")
    serve, curl = readme.index("    make serve"), readme.index("```sh\ncurl ")
    assert serve < curl < 1_000
    assert SHOWN[0].page == "README.md"
    assert SHOWN[0].language == "text"
    assert SHOWN[0].output.count("\n") == 1
    assert len(readme.encode()) <= 12_000


def test_every_curl_line_is_followed_by_its_output() -> None:
    # At the beginning of a line: those inside recipes and in indented blocks need a key or another server.
    lines = [line for page in GUIDE for line in re.findall(r"^curl .*", docs_pages.read(page), re.MULTILINE)]
    assert len(SHOWN) == len(lines) >= 9


@pytest.mark.parametrize("shown", SHOWN, ids=[f"{shown.page}-{number}" for number, shown in enumerate(SHOWN)])
def test_a_curl_line_answers_what_is_shown(service: Any, shown: Shown) -> None:
    response = sent(service, shown.command)
    if shown.language == "json":
        answer, expected = response.json(), json.loads(shown.output)
        assert list(answer) == list(expected)
        assert same(lasting(answer), lasting(expected)), (answer, expected)
    else:
        assert response.status_code == (409 if "--fail-with-body" in shown.command else 200), response.text
        assert response.text == shown.output


def test_the_fields_that_the_readme_shows_are_in_the_answer_as_json(service: Any) -> None:
    (block,) = docs_pages.blocks("README.md", "json")
    expected = json.loads(block)
    answer = sent(service, SHOWN[0].command.replace("?format=text", "")).json()
    assert {name: answer[name] for name in expected} == expected
