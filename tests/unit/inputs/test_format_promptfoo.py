from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from exactperm.statistics.paired import Repeated, Scores

from .reading import EXCERPTS, noted, read_files, refusal, refuses


def row(
    question: str, score: float | None, provider: str = "a", prompt: int = 0, **members: Any
) -> dict[str, Any]:
    case = {"vars": {"q": question}, "assert": [{"type": "equals", "value": "x"}]}
    base = {"testCase": case, "vars": {"q": question}, "provider": {"id": provider}, "promptIdx": prompt}
    return {**base, "score": score, "success": bool(score), "namedScores": {"style": 0.5}, **members}


def export(*rows: dict[str, Any]) -> str:
    return json.dumps({"evalId": "e", "results": {"version": 3, "results": list(rows)}})


def plain(column: object) -> list[float]:
    assert isinstance(column, np.ndarray)
    return [float(value) for value in column]


def scores(data: object) -> Scores:
    assert isinstance(data, Scores)
    return data


def test_two_providers_are_two_columns_of_one_file() -> None:
    reading = read_files("promptfoo", {"file": EXCERPTS / "promptfoo" / "results.json"})
    data = scores(reading.data)
    assert reading.names == ("openai:gpt-5", "openai:gpt-5-mini")
    assert sorted(zip(plain(data.u), plain(data.v), strict=True)) == [(0.5, 0.75), (2 / 3, 2 / 3)]


def test_columns_are_chosen_by_provider_index_or_both() -> None:
    files = {"file": EXCERPTS / "promptfoo" / "results.json"}
    for name in ("openai:gpt-5-mini", "1", "1:openai:gpt-5-mini"):
        reading = read_files("promptfoo", files, system_u=name, system_v="0")
        assert sum(plain(scores(reading.data).u)) == pytest.approx(0.75 + 2 / 3)
    refuses(None, None, "promptfoo", files, '"1:openai:gpt-5-mini"', system_u="gpt-6", system_v="0")
    refuses("same_system", None, "promptfoo", files, system_u="0", system_v="0")
    assert read_files("promptfoo", files, system_u="1").names == ("openai:gpt-5-mini", "openai:gpt-5")


def test_three_columns_must_be_chosen_from() -> None:
    text = export(row("x", 1, "a", 0), row("x", 1, "b", 1), row("x", 1, "b", 2))
    refuses("choose_system_u", None, "promptfoo", {"file": text})


def test_success_and_named_scores_are_metrics() -> None:
    text = export(row("x", 0.3, "a", 0), row("x", 0, "b", 1))
    assert plain(scores(read_files("promptfoo", {"file": text}, metric="success").data).u) == [1]
    assert plain(scores(read_files("promptfoo", {"file": text}, metric="style").data).u) == [0.5]
    refuses(None, "/files/file/results/results/0/tone", "promptfoo", {"file": text}, '"style"', metric="tone")


def test_an_error_of_the_provider_is_missing_and_not_zero() -> None:
    text = export(
        row("x", 0, "a", 0, failureReason=2),
        row("y", 1, "a", 0),
        row("x", 1, "b", 1),
        row("y", 0, "b", 1, failureReason=1),
    )
    refuses("missing_value", "/files/file/results/results/0", "promptfoo", {"file": text})
    data = scores(read_files("promptfoo", {"file": text}, on_missing="drop").data)
    assert (plain(data.u), plain(data.v)) == ([1], [0])


def test_repeats_of_a_test_are_several_samples() -> None:
    text = export(
        *(row(q, s, "a", 0, testIdx=n) for n, (q, s) in enumerate([("x", 1), ("y", 0), ("x", 0), ("y", 1)])),
        *(row(q, 1, "b", 1) for q in "xyxy"),
    )
    reading = read_files("promptfoo", {"file": text})
    data = scores(reading.data)
    assert isinstance(data.u, Repeated)
    assert (data.u.values.tolist(), data.u.lengths.tolist()) == ([1, 0, 0, 1], [2, 2])
    assert noted(reading, "2 items have several scores")


def test_another_number_of_repeats_is_refused() -> None:
    rows = [
        *(row(q, s, "a", 0) for q, s in [("x", 1), ("y", 0), ("y", 1)]),
        row("x", 1, "b", 1),
        row("y", 1, "b", 1),
    ]
    refuses("unequal_repeats", "/files/file/results/results/4", "promptfoo", {"file": export(*rows)})
    # A run that ended in an error is none.
    rows.append(row("y", 0, "b", 1, failureReason=2))
    refuses("unequal_repeats", None, "promptfoo", {"file": export(*rows)}, on_missing="drop")


def test_two_files_pair_by_what_the_tests_ask() -> None:
    first = export(row("x", 1), row("y", 0))
    edited = export(row("y", 1, "b", testCase={"vars": {"q": "y"}, "assert": []}), row("x", 0, "b"))
    data = scores(read_files("promptfoo", {"u": first, "v": edited}).data)
    assert (plain(data.u), plain(data.v)) == ([1, 0], [0, 1])
    refuses("unmatched_ids", None, "promptfoo", {"u": first, "v": export(row("x", 1))})


def test_variables_say_the_clusters() -> None:
    text = export(
        *(
            row(q, 1, p, n, vars={"q": q, "lang": q[0]})
            for n, p in enumerate("ab")
            for q in ("de1", "de2", "fr1")
        )
    )
    assert read_files("promptfoo", {"file": text}, clusters="lang").data.pairing.n_clusters == 2
    refuses("no_cluster", None, "promptfoo", {"file": text}, clusters="land")


@pytest.mark.parametrize(
    "text", ["{}", '{"results": {}}', '{"results": {"results": [1]}}', '{"results": []}', "{"]
)
def test_what_is_no_export_is_refused(text: str) -> None:
    assert refusal("promptfoo", {"file": text}).flaws[0].code in {"missing_field", "no_items", "not_json"}
