"""Answers that a server keeps, asked for by their permalinks."""

from __future__ import annotations

import json
from dataclasses import replace

import httpx

from .batch import Answers, Result, answers_of, typed
from .calls import JSON, Call, checked, json_of, report_result
from .errors import UnreadableAnswer
from .permalinks import PLACE, address_of, name_of, permalink_of

NDJSON = "application/x-ndjson"
Stored = Result | Answers | str | bytes


def stored_call(permalink: str, server: httpx.URL) -> Call:
    """The call for a stored answer; raises InvalidData."""
    return Call(PLACE + name_of(permalink, server), "GET")


def stored_result(response: httpx.Response) -> Stored:
    """What was kept: a result, the answers to a list, or a report (a plan as JSON); raises ProblemError or UnreadableAnswer."""
    place = address_of(response.url)
    media = checked(response).headers.get("content-type", "").partition(";")[0]
    if media == NDJSON:
        return answers_of([json.loads(line) for line in response.content.splitlines()], place)
    if media != JSON:
        return report_result(response)
    value = json_of(response)
    if isinstance(value, dict) and "results" in value:
        return answers_of(value["results"], place)
    return replace(typed(value), permalink=place) if "id" in value else response.text


def place_of(response: httpx.Response) -> str:
    """The permalink of an answer that was to be kept; raises ProblemError, or UnreadableAnswer where there is none."""
    place = permalink_of(checked(response))
    if place is None:
        raise UnreadableAnswer(
            "The answer does not say where it is kept. Is this the URL of an exactperm server?"
        )
    return place
