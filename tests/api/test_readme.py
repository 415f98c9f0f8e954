"""Every curl line of the README does what the README says."""

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

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
HOST = "localhost:8000"
CHANGES = {"runtime", "versions", "instance"}  # from run to run, or from release to release


@dataclass(frozen=True)
class Shown:
    """A curl line and the block below it."""

    command: str
    language: str
    output: str


SHOWN = [
    Shown(*groups)
    for groups in re.findall(
        r"^```sh\n(curl .*?)\n```\n\n```(json|text|markdown)\n(.*?)```$", README, re.MULTILINE | re.DOTALL
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
    asked = parser.parse_args(shlex.split(command.replace("\\\n", " "))[1:])
    assert asked.url.startswith(HOST)
    if asked.form:
        parts = dict(part.split("=", maxsplit=1) for part in asked.form)
        files = {
            role: (Path(text[1:]).name, (ROOT / text[1:]).read_bytes())
            for role, text in parts.items()
            if text[0] == "@"
        }
        fields = {name: text for name, text in parts.items() if text[0] != "@"}
        return service.request("POST", asked.url.removeprefix(HOST), files=files, data=fields)  # type: ignore[no-any-return]
    data: str = asked.data
    content = (ROOT / data[1:]).read_bytes() if data.startswith("@") else data.encode()
    headers = dict(re.split(r": *", header, maxsplit=1) for header in asked.header)
    response: httpx.Response = service.request(
        "POST", asked.url.removeprefix(HOST), content=content, headers=headers
    )
    return response


def same(said: Any, shown: Any) -> bool:
    """Equal, but for the last digits of logarithms and roots on another machine."""
    if isinstance(said, dict) and isinstance(shown, dict):
        return list(said) == list(shown) and all(same(said[name], shown[name]) for name in said)
    if isinstance(said, list) and isinstance(shown, list):
        return len(said) == len(shown) and all(map(same, said, shown))
    if isinstance(said, float) and isinstance(shown, float):
        return said == pytest.approx(shown, rel=1e-13)
    return bool(said == shown)


def lasting(answer: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in answer.items() if name not in CHANGES}


def test_the_readme_opens_with_one_sentence_one_curl_line_and_its_answer() -> None:
    opening = re.match(r"# exactperm\n\n([^\n`]+\n)+\n```sh\n(curl .*?)\n```\n\n```json\n", README, re.DOTALL)
    assert opening is not None
    assert opening[2] == SHOWN[0].command


def test_every_curl_line_is_followed_by_its_output() -> None:
    assert len(SHOWN) == len(re.findall(r"^curl ", README, flags=re.MULTILINE)) >= 5


@pytest.mark.parametrize("shown", SHOWN, ids=[f"curl{number}" for number in range(len(SHOWN))])
def test_a_curl_line_answers_what_is_shown(service: Any, shown: Shown) -> None:
    response = sent(service, shown.command)
    if shown.language == "json":
        said, expected = response.json(), json.loads(shown.output)
        assert list(said) == list(expected)
        assert same(lasting(said), lasting(expected)), (said, expected)
    else:
        assert response.status_code == (409 if "--fail-with-body" in shown.command else 200), response.text
        assert response.text == shown.output
