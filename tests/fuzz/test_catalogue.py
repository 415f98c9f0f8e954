"""Every statistic with every option, in tests, gates, plans and boards: answered or refused, and never a number that lies."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, strategies as st

from tests.fuzz.amount import GENERATED, examples
from tests.fuzz.asgi import InProcess, path_of
from tests.fuzz.catalogue_cases import gates, many, single
from tests.fuzz.verdict import judge_answer

AS_JSON = [(b"content-type", b"application/json")]
FORMS = st.sampled_from(["json", "json", "text", "markdown", "html", "csv"])


def said(service: InProcess, kind: str, request: Any, form: str = "json") -> Any:
    """The answer, judged; None for what is refused or no JSON."""
    answered = service.ask(
        "POST", path_of(kind), f"format={form}".encode(), AS_JSON, json.dumps(request).encode()
    )
    judge_answer(kind, *answered)
    if answered.media == "application/problem+json" or form != "json":
        return None
    return json.loads(answered.body)


@examples(300)
@given(single(), FORMS)
def test_a_test_is_answered_or_refused(
    service: InProcess, asked: tuple[str, dict[str, Any]], form: str
) -> None:
    kind, request = asked
    answer = said(service, kind, request, form)
    if answer is None:
        return
    GENERATED[f"answers of {request['statistic']['name']}"] += 1
    low, high = answer["p_value_bounds"]
    alpha = answer["alpha"]
    assert 0 <= low <= answer["p_value"] <= high <= 1
    missing = answer["missing"]
    if missing is None:
        assert not (answer["significant"] and low > alpha), request
    else:
        least, greatest = missing["p_value"]
        assert 0 <= least <= greatest <= 1
        assert missing["difference"][0] <= missing["difference"][1]
        assert not (answer["significant"] and least > alpha), request
        if request.get("significance") != "mid_p":
            assert answer["significant"] == (greatest <= alpha), request
    if answer["mid_p_value"] is not None:
        assert 0 < answer["mid_p_value"] <= high


@examples(200)
@given(gates(), FORMS)
def test_a_gate_is_answered_or_refused(service: InProcess, request_: dict[str, Any], form: str) -> None:
    answer = said(service, "gate", request_, form)
    if answer is None:
        return
    for metric in answer["metrics"]:
        GENERATED[f"gates of {metric['policy']}, {metric['verdict']}"] += 1
        high = metric["decision"]["p_value_bounds"][1]
        shown = high <= metric["alpha"]
        if (
            len(answer["metrics"]) == 1
            and metric["policy"] != "no_regression"
            and metric["verdict"] == "pass"
        ):
            assert shown, request_  # nothing passes that is not proven
        if metric["policy"] == "equivalent" and metric["verdict"] == "pass":
            both = metric["decision"]["equivalence"]
            assert max(both["p_value_above"], both["p_value_below"]) <= metric["alpha"], request_


@examples(120)
@given(many())
def test_a_board_is_answered_or_refused(service: InProcess, request_: dict[str, Any]) -> None:
    answer = said(service, "compare", request_)
    if answer is not None:
        GENERATED[f"boards of {answer['statistic']}"] += 1


@examples(50)
@given(st.one_of(single(), many()))
def test_a_plan_is_answered_or_refused(service: InProcess, asked: Any) -> None:
    kind, request = asked if isinstance(asked, tuple) else ("compare", asked)
    said(service, "plan", {"kind": kind, "request": request})
