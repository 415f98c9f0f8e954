from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exactperm.statistics.paired import Scores

from .reading import EXCERPTS, noted, read_files, refuses, refuses_alone


def sample(doc_id: int, **members: Any) -> dict[str, Any]:
    base = {"doc_id": doc_id, "doc": {"subject": "s"}, "filter": "none", "metrics": ["acc"], "acc": 1.0}
    hashes = {"doc_hash": f"d{doc_id}", "target_hash": f"t{doc_id}", "prompt_hash": f"p{doc_id}"}
    return base | hashes | members


def lines(*records: dict[str, Any]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def totals(data: object) -> tuple[float, float, int]:
    assert isinstance(data, Scores)
    assert isinstance(data.u, np.ndarray)
    assert isinstance(data.v, np.ndarray)
    return float(data.u.sum()), float(data.v.sum()), len(data.u)


def model(name: str) -> Path:
    return next((EXCERPTS / "lm_eval" / name).iterdir())


def test_two_models_pair_by_document() -> None:
    reading = read_files("lm-eval", {"u": model("tuned"), "v": model("base")})
    assert totals(reading.data) == (1, 2, 3)
    assert noted(reading, "strict-match")


def test_a_filter_must_be_chosen_when_there_are_several() -> None:
    path = model("two_filters")
    refuses("choose_filter", None, "lm-eval", {"u": path, "v": path}, '"strict-match"', '"flexible-extract"')
    refuses("choose_filter", None, "lm-eval", {"u": path, "v": path}, filter="loose")


@pytest.mark.parametrize("roles", [("u", "v"), ("file",)], ids=["uploaded-twice", "one-file"])
def test_two_filters_of_one_file_are_two_systems(roles: tuple[str, ...]) -> None:
    path = model("two_filters")
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    wanted = {
        f: sum(r["exact_match"] for r in rows if r["filter"] == f)
        for f in ("strict-match", "flexible-extract")
    }
    reading = read_files(
        "lm-eval", dict.fromkeys(roles, path), filter_u="strict-match", filter_v="flexible-extract"
    )
    assert totals(reading.data) == (wanted["strict-match"], wanted["flexible-extract"], 8)
    assert noted(reading, "8 lines of other filters were skipped")


def test_one_file_with_one_filter_is_no_comparison() -> None:
    path = model("two_filters")
    refuses("choose_filter_u", None, "lm-eval", {"file": path}, filter="strict-match")


def test_files_of_different_filters_are_not_compared_by_accident() -> None:
    u, v = lines(sample(1)), lines(sample(1, filter="other"))
    refuses("filter_mismatch", None, "lm-eval", {"u": u, "v": v})
    assert read_files("lm-eval", {"u": u, "v": v}, filter_u="none", filter_v="other").kind == "scores"


@pytest.mark.parametrize("name", ["doc_hash", "target_hash"])
def test_other_documents_under_the_same_ids_are_refused(name: str) -> None:
    refuses_alone(
        f"{name}_mismatch",
        f"/files/v/line/1/{name}",
        "lm-eval",
        {"u": lines(sample(1), sample(2)), "v": lines(sample(2, **{name: "x"}), sample(1))},
    )


def test_prompts_may_differ_and_absent_hashes_are_noted() -> None:
    without = {key: value for key, value in sample(1).items() if key != "doc_hash"}
    reading = read_files("lm-eval", {"u": lines(without), "v": lines(sample(1, prompt_hash="x"))})
    assert noted(reading, "doc_hash is not everywhere in u")
    assert noted(reading, "prompts of 1 documents differ")


def test_a_second_run_appended_to_the_file_is_refused() -> None:
    refuses_alone(
        "duplicate_id",
        "/files/u/line/3",
        "lm-eval",
        {"u": lines(sample(1), sample(2), sample(1)), "v": lines(sample(1), sample(2))},
        "already at line 1",
    )


def test_another_number_of_repeats_is_refused() -> None:
    """A majority, or pass@k, of more answers follows another law; the answers are in `resps`."""
    times = {n: lines(*(sample(i, resps=[["a"] * n], filter="maj@64") for i in range(3))) for n in (1, 8)}
    refuses(
        "unequal_repeats",
        "/files/v/line/1",
        "lm-eval",
        {"u": times[8], "v": times[1]},
        "1 run here and 8 in another system",
    )
    assert totals(read_files("lm-eval", {"u": times[8], "v": times[8]}).data) == (3, 3, 3)
    # Answers to several requests, as of multiple choice, are one run.
    choices = lines(*(sample(i, resps=[[[-1.0, False]], [[-2.0, False]]]) for i in range(3)))
    assert totals(read_files("lm-eval", {"u": choices, "v": lines(*map(sample, range(3)))}).data) == (3, 3, 3)


def test_a_corpus_metric_is_refused() -> None:
    corpus = sample(1, metrics=["bleu"], bleu=["a", "b"])
    refuses("corpus_metric", None, "lm-eval", {"u": lines(corpus), "v": lines(corpus)})
    both = sample(1, metrics=["acc", "perplexity"], perplexity=[-3.0, 2])
    refuses(
        None,
        "/files/u/line/1/perplexity",
        "lm-eval",
        {"u": lines(both), "v": lines(both)},
        metric="perplexity",
    )
    assert totals(read_files("lm-eval", {"u": lines(both), "v": lines(both)}).data) == (1, 1, 1)


def test_a_metric_must_be_chosen_when_there_are_several() -> None:
    both = sample(1, metrics=["acc", "acc_norm"], acc_norm=0)
    refuses("choose_metric", None, "lm-eval", {"u": lines(both), "v": lines(both)}, '"acc_norm"')
    assert totals(read_files("lm-eval", {"u": lines(both), "v": lines(both)}, metric="acc_norm").data) == (
        0,
        0,
        1,
    )
    refuses("choose_metric", None, "lm-eval", {"u": lines(both), "v": lines(both)}, metric="f1")


def test_a_missing_score_is_not_zero() -> None:
    files = {"u": lines(sample(1, acc=None), sample(2)), "v": lines(sample(1), sample(2))}
    refuses(None, "/files/u/line/1", "lm-eval", files)
    assert totals(read_files("lm-eval", files, on_missing="drop").data) == (1, 1, 1)


def test_clusters_are_a_field_of_the_document() -> None:
    text = lines(sample(1), sample(2), sample(3, doc={"subject": "t"}))
    assert read_files("lm-eval", {"u": text, "v": text}, clusters="subject").data.pairing.n_clusters == 2


def test_a_file_without_doc_ids_is_refused() -> None:
    refuses(None, "/files/u/line/1/doc_id", "lm-eval", {"u": '{"id": 1}\n', "v": '{"id": 1}\n'})
