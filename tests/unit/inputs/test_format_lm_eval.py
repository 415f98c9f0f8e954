from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exactperm.errors import InputError
from exactperm.statistics.paired import Scores

from .conftest import Read

Refusal = Callable[..., InputError]


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


def model(excerpts: Path, name: str) -> Path:
    return next((excerpts / "lm_eval" / name).iterdir())


def test_two_models_pair_by_document(read_files: Read, excerpts: Path) -> None:
    reading = read_files("lm-eval", {"u": model(excerpts, "tuned"), "v": model(excerpts, "base")})
    assert totals(reading.data) == (1, 2, 3)
    assert any("strict-match" in note for note in reading.notes)


def test_a_filter_must_be_chosen_when_there_are_several(refusal: Refusal, excerpts: Path) -> None:
    path = model(excerpts, "two_filters")
    error = refusal("lm-eval", {"u": path, "v": path})
    assert error.flaws[0].code == "choose_filter"
    assert '"strict-match"' in error.detail
    assert '"flexible-extract"' in error.detail
    assert refusal("lm-eval", {"u": path, "v": path}, filter="loose").flaws[0].code == "choose_filter"


@pytest.mark.parametrize("roles", [("u", "v"), ("file",)], ids=["uploaded-twice", "one-file"])
def test_two_filters_of_one_file_are_two_systems(
    roles: tuple[str, ...], read_files: Read, excerpts: Path
) -> None:
    path = model(excerpts, "two_filters")
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    wanted = {
        f: sum(r["exact_match"] for r in rows if r["filter"] == f)
        for f in ("strict-match", "flexible-extract")
    }
    reading = read_files(
        "lm-eval", dict.fromkeys(roles, path), filter_u="strict-match", filter_v="flexible-extract"
    )
    assert totals(reading.data) == (wanted["strict-match"], wanted["flexible-extract"], 8)
    assert any("8 lines of other filters were skipped" in note for note in reading.notes)


def test_one_file_with_one_filter_is_no_comparison(refusal: Refusal, excerpts: Path) -> None:
    path = model(excerpts, "two_filters")
    assert refusal("lm-eval", {"file": path}, filter="strict-match").flaws[0].code == "choose_filter_u"


def test_files_of_different_filters_are_not_compared_by_accident(refusal: Refusal, read_files: Read) -> None:
    u, v = lines(sample(1)), lines(sample(1, filter="other"))
    assert refusal("lm-eval", {"u": u, "v": v}).flaws[0].code == "filter_mismatch"
    assert read_files("lm-eval", {"u": u, "v": v}, filter_u="none", filter_v="other").kind == "scores"


@pytest.mark.parametrize("name", ["doc_hash", "target_hash"])
def test_other_documents_under_the_same_ids_are_refused(name: str, refusal: Refusal) -> None:
    error = refusal(
        "lm-eval", {"u": lines(sample(1), sample(2)), "v": lines(sample(2, **{name: "x"}), sample(1))}
    )
    assert [(flaw.pointer, flaw.code) for flaw in error.flaws] == [
        (f"/files/v/line/1/{name}", f"{name}_mismatch")
    ]


def test_prompts_may_differ_and_absent_hashes_are_noted(read_files: Read) -> None:
    without = {key: value for key, value in sample(1).items() if key != "doc_hash"}
    reading = read_files("lm-eval", {"u": lines(without), "v": lines(sample(1, prompt_hash="x"))})
    assert any("doc_hash is not everywhere in u" in note for note in reading.notes)
    assert any("prompts of 1 documents differ" in note for note in reading.notes)


def test_a_second_run_appended_to_the_file_is_refused(refusal: Refusal) -> None:
    error = refusal(
        "lm-eval", {"u": lines(sample(1), sample(2), sample(1)), "v": lines(sample(1), sample(2))}
    )
    assert [(flaw.pointer, flaw.code) for flaw in error.flaws] == [("/files/u/line/3", "duplicate_id")]
    assert "already at line 1" in error.detail


def test_another_number_of_repeats_is_refused(refusal: Refusal, read_files: Read) -> None:
    """A majority, or pass@k, of more answers follows another law; the answers are in `resps`."""
    times = {n: lines(*(sample(i, resps=[["a"] * n], filter="maj@64") for i in range(3))) for n in (1, 8)}
    flaw = refusal("lm-eval", {"u": times[8], "v": times[1]}).flaws[0]
    assert (flaw.code, flaw.pointer) == ("unequal_repeats", "/files/v/line/1")
    assert "1 run here and 8 in another system" in flaw.detail
    assert totals(read_files("lm-eval", {"u": times[8], "v": times[8]}).data) == (3, 3, 3)
    # Answers to several requests, as of multiple choice, are one run.
    choices = lines(*(sample(i, resps=[[[-1.0, False]], [[-2.0, False]]]) for i in range(3)))
    assert totals(read_files("lm-eval", {"u": choices, "v": lines(*map(sample, range(3)))}).data) == (3, 3, 3)


def test_a_corpus_metric_is_refused(refusal: Refusal, read_files: Read) -> None:
    corpus = sample(1, metrics=["bleu"], bleu=["a", "b"])
    assert refusal("lm-eval", {"u": lines(corpus), "v": lines(corpus)}).flaws[0].code == "corpus_metric"
    both = sample(1, metrics=["acc", "perplexity"], perplexity=[-3.0, 2])
    assert refusal("lm-eval", {"u": lines(both), "v": lines(both)}, metric="perplexity").flaws[0].pointer == (
        "/files/u/line/1/perplexity"
    )
    assert totals(read_files("lm-eval", {"u": lines(both), "v": lines(both)}).data) == (1, 1, 1)


def test_a_metric_must_be_chosen_when_there_are_several(refusal: Refusal, read_files: Read) -> None:
    both = sample(1, metrics=["acc", "acc_norm"], acc_norm=0)
    error = refusal("lm-eval", {"u": lines(both), "v": lines(both)})
    assert error.flaws[0].code == "choose_metric"
    assert '"acc_norm"' in error.detail
    assert totals(read_files("lm-eval", {"u": lines(both), "v": lines(both)}, metric="acc_norm").data) == (
        0,
        0,
        1,
    )
    assert (
        refusal("lm-eval", {"u": lines(both), "v": lines(both)}, metric="f1").flaws[0].code == "choose_metric"
    )


def test_a_missing_score_is_not_zero(refusal: Refusal, read_files: Read) -> None:
    files = {"u": lines(sample(1, acc=None), sample(2)), "v": lines(sample(1), sample(2))}
    assert refusal("lm-eval", files).flaws[0].pointer == "/files/u/line/1"
    assert totals(read_files("lm-eval", files, on_missing="drop").data) == (1, 1, 1)


def test_clusters_are_a_field_of_the_document(read_files: Read) -> None:
    text = lines(sample(1), sample(2), sample(3, doc={"subject": "t"}))
    assert read_files("lm-eval", {"u": text, "v": text}, clusters="subject").data.pairing.n_clusters == 2


def test_a_file_without_doc_ids_is_refused(refusal: Refusal) -> None:
    assert (
        refusal("lm-eval", {"u": '{"id": 1}\n', "v": '{"id": 1}\n'}).flaws[0].pointer
        == "/files/u/line/1/doc_id"
    )
