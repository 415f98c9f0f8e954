"""The two small formats of runs: Every Eval Ever's instance level, and RunFrames."""

from __future__ import annotations

import json
from typing import Any

import pytest

from .reading import columns, noted, read_files, refuses


def instance(key: str, score: float | None, name: str = "gsm8k", **members: Any) -> dict[str, Any]:
    return {
        "schema_version": "instance_level_eval_0.2.1",
        "evaluation_id": f"{name}/m/1",
        "model_id": "lab/m",
        "evaluation_name": name,
        "sample_id": key,
        "sample_hash": f"h{key}",
        "interaction_type": "single_turn",
        "evaluation": {"score": score, "is_correct": bool(score)},
        **members,
    }


def lines(*records: dict[str, Any]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def test_instances_pair_by_sample() -> None:
    u, v = (
        lines(instance("a", 0.5), instance("b", 1)),
        lines(instance("b", 0), instance("a", 1, model_id="lab/n")),
    )
    v = v.replace('"lab/m"', '"lab/n"')
    reading = read_files("every-eval-ever", {"u": u, "v": v})
    assert columns(reading) == ([0.5, 1], [1, 0])
    assert reading.names == ("lab/m", "lab/n")
    assert columns(read_files("every-eval-ever", {"u": u, "v": v}, metric="is_correct")) == (
        [1, 1],
        [1, 0],
    )


def test_an_evaluation_must_be_chosen_when_there_are_several() -> None:
    text = lines(instance("a", 1), instance("a", 0, "mmlu"))
    refuses("choose_task", None, "every-eval-ever", {"u": text, "v": text}, '"mmlu"')
    reading = read_files("every-eval-ever", {"u": text, "v": text}, task="mmlu")
    assert columns(reading) == ([0], [0])
    assert noted(reading, "1 lines of other evaluations were skipped")


@pytest.mark.parametrize(
    ("record", "pointer", "code"),
    [
        (instance("a", 1, sample_hash="other"), "/files/v/line/1/sample_hash", "sample_hash_mismatch"),
        (instance("a", 0, error="timeout"), "/files/v/line/1", "missing_value"),
        (instance("a", None), "/files/v/line/1", "missing_value"),
        (instance("a", 0, evaluation={}), "/files/v/line/1/evaluation/score", "missing_field"),
        (instance("a", 0, sample_id=None), "/files/v/line/1/sample_id", "not_a_key"),
        (instance("b", 0), "/files/u", "unmatched_ids"),
    ],
    ids=["hash", "error", "null", "no-score", "no-id", "other-sample"],
)
def test_a_bad_instance_is_named(record: dict[str, Any], pointer: str, code: str) -> None:
    refuses(code, pointer, "every-eval-ever", {"u": lines(instance("a", 1)), "v": lines(record)})


def test_samples_of_two_models_in_one_file_are_refused() -> None:
    text = lines(instance("a", 1), instance("b", 0, model_id="lab/n"))
    refuses("several_models", None, "every-eval-ever", {"u": text, "v": text})


def test_metadata_says_the_clusters() -> None:
    text = lines(*(instance(key, 1, metadata={"subject": key[0]}) for key in ("x1", "x2", "y1")))
    assert (
        read_files("every-eval-ever", {"u": text, "v": text}, clusters="subject").data.pairing.n_clusters == 2
    )


def frame(*items: Any, **members: Any) -> str:
    return json.dumps(
        {
            "run_id": "r",
            "model_id": "m",
            "task_id": "t",
            "metric_name": "acc",
            "items": list(items),
            **members,
        }
    )


def test_run_frames_pair_by_item_and_carry_clusters() -> None:
    u = frame(
        {"item_id": "a", "score": 1, "cluster_id": "x"}, {"item_id": 2, "score": 0.5, "cluster_id": "x"}
    )
    v = frame(
        {"item_id": "2", "score": 0, "cluster_id": "x"},
        {"item_id": "a", "score": 0, "cluster_id": "x"},
        model_id="n",
    )
    reading = read_files("auto", {"u": u, "v": v})
    assert reading.format == "evalsig"
    assert columns(reading) == ([1, 0.5], [0, 0])
    assert reading.data.pairing.n_clusters == 1
    assert reading.names == ("m", "n")


@pytest.mark.parametrize(
    ("text", "pointer", "code"),
    [
        (frame({"item_id": "a", "score": 1}, task_id="other"), "/files/v/task_id", "task_id_mismatch"),
        (
            frame({"item_id": "a", "score": 1}, metric_name="f1"),
            "/files/v/metric_name",
            "metric_name_mismatch",
        ),
        (frame({"item_id": "a"}), "/files/v/items/0/score", "missing_field"),
        (frame({"item_id": "a", "score": None}), "/files/v/items/0", "missing_value"),
        (
            frame({"item_id": "a", "score": 1}, {"item_id": "a", "score": 1}),
            "/files/v/items/1",
            "duplicate_id",
        ),
        (frame(3), "/files/v/items/0", "not_an_object"),
        ("[]", "/files/v/items", "missing_field"),
    ],
    ids=["task", "metric", "no-score", "null", "twice", "no-object", "no-frame"],
)
def test_a_bad_frame_is_named(text: str, pointer: str, code: str) -> None:
    refuses(code, pointer, "evalsig", {"u": frame({"item_id": "a", "score": 1}), "v": text})
