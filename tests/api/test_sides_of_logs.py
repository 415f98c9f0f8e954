"""Logs of tools say what their items are: other items under the same ids are told, and the order of runs tells nothing."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from .conftest import Service, error_of, problem

FILES, GATE = "/v1/tests/files", "/v1/gate"
N = 8
U, V = [1, 1, 1, 1, 0, 1, 1, 1], [0, 1, 0, 0, 0, 1, 0, 0]
Log = Callable[[Sequence[int], set[int]], str]


def lines(rows: Sequence[Mapping[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def reference(n: int, others: set[int]) -> str:
    return f"answer {n}" + (" of another" if n in others else "")


def lighteval(scores: Sequence[int], others: set[int]) -> str:
    def doc(n: int) -> dict[str, Any]:
        return {"query": f"Q{n}", "choices": [reference(n, others), "no"], "gold_index": 0, "id": str(n)}

    return lines(
        [
            {"doc": doc(n), "metric": {"acc": one}, "model_response": {"text": ["x"]}}
            for n, one in enumerate(scores)
        ]
    )


def openai_evals(scores: Sequence[int], others: set[int]) -> str:
    head: list[Any] = [
        {"spec": {"eval_name": "e", "completion_fns": ["m"], "run_id": "r"}},
        {"final_report": {}},
    ]
    return lines(head + [
        {"run_id": "r", "event_id": n, "sample_id": f"e.{n}", "type": "match", "data": {"correct": bool(one), "expected": reference(n, others)}}
        for n, one in enumerate(scores)
    ])  # fmt: skip


def openai_prompts(scores: Sequence[int], others: set[int]) -> str:
    head: list[Any] = [
        {"spec": {"eval_name": "e", "completion_fns": ["m"], "run_id": "r"}},
        {"final_report": {}},
    ]
    rows = [
        (n, kind, data)
        for n, one in enumerate(scores)
        for kind, data in (("sampling", {"prompt": reference(n, others)}), ("metrics", {"acc": one}))
    ]
    return lines(
        head + [{"run_id": "r", "sample_id": f"e.{n}", "type": kind, "data": data} for n, kind, data in rows]
    )


def promptfoo(scores: Sequence[int], others: set[int]) -> str:
    rows = [
        {"promptIdx": 0, "provider": {"id": "p"}, "vars": {"q": n}, "score": one, "success": bool(one),
         "testCase": {"vars": {"q": n}, "assert": [{"type": "equals", "value": reference(n, others)}]}}
        for n, one in enumerate(scores)
    ]  # fmt: skip
    return json.dumps({"evalId": "e", "results": {"version": 3, "results": rows}})


def every_eval_ever(scores: Sequence[int], others: set[int]) -> str:
    return lines(
        [
            {
                "evaluation_name": "e",
                "sample_id": str(n),
                "input": {"raw": reference(n, others)},
                "evaluation": {"score": one},
            }
            for n, one in enumerate(scores)
        ]
    )


def deepeval(scores: Sequence[int], others: set[int]) -> str:
    cases = [
        {
            "name": f"c{n}",
            "input": f"Q{n}",
            "expectedOutput": reference(n, others),
            "metricsData": [{"name": "m", "score": one}],
        }
        for n, one in enumerate(scores)
    ]
    return json.dumps({"testCases": cases})


LOGS: dict[str, Log] = {
    "lighteval": lighteval, "openai-evals": openai_evals, "prompts": openai_prompts, "promptfoo": promptfoo,
    "every-eval-ever": every_eval_ever, "deepeval": deepeval,
}  # fmt: skip


def two(u: str, v: str, *names: str) -> dict[str, tuple[str, str]]:
    first, second = names or ("u.json", "v.json")
    return {"u": (first, u), "v": (second, v)}


def warned(answer: Mapping[str, Any]) -> set[str]:
    return {warning["code"] for warning in answer["warnings"]}


@pytest.mark.parametrize("log", LOGS.values(), ids=list(LOGS))
def test_other_items_under_the_same_ids_are_told_by_what_the_log_says_of_them(
    log: Log, service: Service
) -> None:
    same = service.post(FILES, files=two(log(U, set()), log(V, set())))
    assert same.status_code == 200, same.text
    assert "item_mismatch" not in warned(same.json())
    some = two(log(U, set()), log(V, {2}))
    said = service.post(FILES, files=some).json()
    assert "item_mismatch" in warned(said)
    assert said["items"]["n"] == N
    flaw = problem(service.post(GATE, files=some, data={"higher_is_better": "true"}), 422)["errors"][0]
    assert flaw["code"] == "item_mismatch"
    for choice in flaw["choices"]:
        chosen = service.post(FILES, files=some, data=choice["fields"]).json()
        assert "item_mismatch" not in warned(chosen)
        assert chosen["items"]["n"] == (7 if choice["fields"]["on_mismatch"] == "drop" else 8)
    most = two(log(U, set()), log(V, set(range(5))))
    assert error_of(service.post(FILES, files=most))[1] == "item_mismatch"
    assert service.post(FILES, files=most, data={"on_mismatch": "keep"}).status_code == 200


def inspect(scores: Sequence[int], task: str, **about: str) -> str:
    samples = [
        {"id": n, "epoch": 1, "scores": {"match": {"value": "C" if one else "I"}}, **about}
        for n, one in enumerate(scores)
    ]
    return json.dumps(
        {"version": 2, "status": "success", "eval": {"task": task, "model": "m"}, "samples": samples}
    )


def harness(scores: Sequence[int], _: str) -> str:
    return lines(
        [
            {"doc_id": n, "filter": "none", "metrics": ["acc"], "acc": float(one)}
            for n, one in enumerate(scores)
        ]
    )


NAMES = [f"samples_{task}_2026-05-17T13-25-31.291152.jsonl" for task in ("arc", "mmlu")]


@pytest.mark.parametrize("form", ["inspect", "lm-eval"])
def test_logs_of_two_tasks_without_contents_are_a_warning_and_a_gate_asks(
    form: str, service: Service
) -> None:
    log = inspect if form == "inspect" else harness
    files = two(log(U, "arc"), log(V, "mmlu"), *NAMES)
    said = service.post(FILES, files=files).json()
    assert "item_mismatch" in warned(said)
    assert any("two tasks" in warning["detail"] for warning in said["warnings"])
    flaw = problem(service.post(GATE, files=files), 422)["errors"][0]
    assert flaw["code"] == "item_mismatch"
    assert [choice["fields"] for choice in flaw["choices"]] == [{"on_mismatch": "keep"}]
    kept = service.post(GATE, files=files, data=flaw["choices"][0]["fields"])
    assert kept.json()["verdict"] == "pass", kept.text
    alike = two(log(U, "arc"), log(V, "arc"), NAMES[0], NAMES[0])
    assert "item_mismatch" not in warned(service.post(FILES, files=alike).json())


def test_two_tasks_of_the_same_items_are_a_note(service: Service) -> None:
    files = two(inspect(U, "arc", input="Q", target="A"), inspect(V, "arc_cot", input="Q", target="A"))
    said = service.post(FILES, files=files).json()
    assert "item_mismatch" not in warned(said)
    assert any("two tasks" in note for note in said["reading"]["notes"])


def test_what_must_be_the_same_is_left_out_or_kept_where_that_is_said(service: Service) -> None:
    def comet(scores: Sequence[int], other: str) -> str:
        rows = [
            {"src": other if n == 3 else f"Satz {n}", "mt": "…", "COMET": one} for n, one in enumerate(scores)
        ]
        return json.dumps({"s.txt": rows})

    files = two(comet(U, "Satz 3"), comet(V, "Ein anderer"))
    flaw = problem(service.post(FILES, files=files), 422)["errors"][0]
    assert flaw["code"] == "src_mismatch"
    found = [service.post(FILES, files=files, data=choice["fields"]).json() for choice in flaw["choices"]]
    assert [said["items"]["n"] for said in found] == [N - 1, N]


def runs(form: str, order: Sequence[tuple[int, int]], scores: Mapping[tuple[int, int], int]) -> str:
    if form == "helm":
        return json.dumps([
            {"instance_id": f"id{n}", "train_trial_index": run, "stats": [{"name": {"name": "em", "split": "test"}, "count": 1, "sum": scores[n, run]}]}
            for n, run in order
        ])  # fmt: skip
    if form == "inspect":
        samples = [
            {"id": n, "epoch": run + 1, "scores": {"match": {"value": scores[n, run]}}} for n, run in order
        ]
        return json.dumps(
            {"version": 2, "status": "success", "eval": {"task": "t", "model": "m"}, "samples": samples}
        )
    if form == "promptfoo":
        rows = [
            {"promptIdx": 0, "provider": "p", "vars": {"q": n}, "testIdx": run, "score": scores[n, run]}
            for n, run in order
        ]
        return json.dumps({"evalId": "e", "results": {"version": 3, "results": rows}})
    if form == "terminal-bench":
        trials = [
            {"id": f"x{n}{run}", "task_id": f"t{n}", "is_resolved": scores[n, run] > 1} for n, run in order
        ]
        return json.dumps({"results": trials})
    return lines([
        {"question_id": n, "model": "m", "judge": "j", "turn": run + 1, "score": scores[n, run]} for n, run in order
    ])  # fmt: skip


@pytest.mark.parametrize("form", ["helm", "inspect", "promptfoo", "terminal-bench", "mt-bench"])
def test_the_order_of_runs_in_a_file_does_not_change_the_answer(form: str, service: Service) -> None:
    keys = [(n, run) for n in range(5) for run in range(3)]
    draws = random.Random(form)
    u, v = ({key: draws.randint(0, 3) for key in keys} for _ in "uv")
    answers = []
    for order in (keys, keys[::-1], draws.sample(keys, len(keys))):
        said = service.post(FILES, files=two(runs(form, order, u), runs(form, order, v)))
        assert said.status_code == 200, said.text
        answers.append((said.json()["id"], said.json()["p_value"]))
    assert len(set(answers)) == 1


def test_lists_of_right_and_wrong_are_compared_by_their_documents(service: Service) -> None:
    def log(scores: Sequence[int], others: set[int]) -> str:
        return lines([
            {"doc_id": n, "doc": {"prompt": reference(n, others)}, "filter": "none", "metrics": ["inst_level_acc"], "inst_level_acc": [bool(one), True]}
            for n, one in enumerate(scores)
        ])  # fmt: skip

    some = two(log(U, set()), log(V, {2}))
    said = service.post(FILES, files=some).json()
    assert ("item_mismatch" in warned(said), said["statistic"]["name"]) == (True, "ratio")
    assert service.post(FILES, files=some, data={"on_mismatch": "drop"}).json()["items"]["n"] == N - 1
    most = two(log(U, set()), log(V, set(range(5))))
    assert error_of(service.post(FILES, files=most))[1] == "item_mismatch"
