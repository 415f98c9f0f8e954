from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exactperm.errors import BodyTooLarge, InputError, MalformedBody
from exactperm.inputs.formats.catalogue import read
from exactperm.inputs.formats.reader import ReaderOptions, UploadedFile
from exactperm.statistics.paired import Repeated, Scores

from .conftest import Read

Refusal = Callable[..., InputError]


def log(*samples: dict[str, Any], status: str = "success", task: str = "t", model: str = "m") -> str:
    return json.dumps(
        {"version": 2, "status": status, "eval": {"task": task, "model": model}, "samples": list(samples)}
    )


def sample(
    key: int | str, value: Any, epoch: int = 1, scorer: str = "match", **members: Any
) -> dict[str, Any]:
    return {"id": key, "epoch": epoch, "scores": {scorer: {"value": value}}, **members}


def scores(data: object) -> Scores:
    assert isinstance(data, Scores)
    return data


def plain(column: object) -> list[float]:
    assert isinstance(column, np.ndarray)
    return [float(value) for value in column]


def archive(members: dict[str, Any], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as found:
        for name, value in members.items():
            found.writestr(name, json.dumps(value))
    return stream.getvalue()


HEADER = {"version": 2, "status": "success", "eval": {"task": "t", "model": "m"}}


def test_ids_that_only_one_log_has_are_named_or_dropped(
    excerpts: Path, read_files: Read, refusal: Refusal
) -> None:
    files = {"u": excerpts / "inspect" / "qwen.json", "v": excerpts / "inspect" / "sonnet.json"}
    error = refusal("inspect", files)
    assert error.flaws[0].pointer == "/files/v"
    assert '"4", "5"' in error.flaws[0].detail
    reading = read_files("inspect", files, on_missing="drop")
    data = scores(reading.data)
    assert (plain(data.u), plain(data.v)) == ([1, 0, 0], [1, 1, 1])
    assert reading.names == ("ollama/qwen2.5:0.5b", "anthropic/claude-sonnet-4-0")
    assert any("2 items that only v has" in note for note in reading.notes)


def test_an_archive_says_what_its_json_would(excerpts: Path, read_files: Read) -> None:
    path = excerpts / "inspect" / "scored.eval"
    with zipfile.ZipFile(path) as found:
        header = json.loads(found.read("header.json"))
        full = [json.loads(found.read(n)) for n in found.namelist() if n.startswith("samples/")]
    data = scores(read_files("inspect", {"u": path, "v": json.dumps({**header, "samples": full})}).data)
    assert sum(plain(data.u)) == sum(plain(data.v)) == 8
    assert len(plain(data.u)) == 10
    assert np.array_equal(plain(data.u), plain(data.v))


def test_a_log_that_was_not_scored_is_refused_clearly(excerpts: Path, refusal: Refusal) -> None:
    files = {"u": excerpts / "inspect" / "scored.eval", "v": excerpts / "inspect" / "unscored.eval"}
    error = refusal("inspect", files)
    assert (error.flaws[0].pointer, error.flaws[0].code) == ("/files/v/summaries.json/0/scores", "unscored")


def test_a_log_that_did_not_finish_is_refused_unless_told(
    excerpts: Path, read_files: Read, refusal: Refusal
) -> None:
    files = {"u": excerpts / "inspect" / "cancelled.json", "v": excerpts / "inspect" / "scored.eval"}
    error = refusal("inspect", files)
    assert (error.flaws[0].pointer, error.flaws[0].code) == ("/files/u/status", "incomplete_log")
    reading = read_files("inspect", files, allow_incomplete=True, on_missing="drop")
    assert plain(scores(reading.data).u) == [1, 1, 0]
    assert any("cancelled" in note for note in reading.notes)


def test_letters_booleans_words_and_numbers(read_files: Read) -> None:
    values = ["C", "I", "P", True, False, 0.25, "yes", "No", "0.5"]
    text = log(*(sample(n, value) for n, value in enumerate(values)))
    assert plain(scores(read_files("inspect", {"u": text, "v": text}).data).u) == [
        1,
        0,
        0.5,
        1,
        0,
        0.25,
        1,
        0,
        0.5,
    ]


@pytest.mark.parametrize(
    "gone",
    [
        sample(2, "N"),
        sample(2, None),
        sample(2, float("nan")),
        sample(2, "C", error={"message": "timeout"}),
        sample(2, "C", invalidation={"reason": "leak"}),
        {"id": 2, "epoch": 1, "scores": {}},
    ],
    ids=["no-answer", "null", "nan", "error", "invalidated", "unscored"],
)
def test_what_has_no_score_is_missing_and_never_zero(
    gone: dict[str, Any], read_files: Read, refusal: Refusal
) -> None:
    files = {"u": log(sample(1, "C"), gone), "v": log(sample(1, "I"), sample(2, "I"))}
    error = refusal("inspect", files)
    assert (error.flaws[0].pointer, error.flaws[0].code) == ("/files/u/samples/1", "missing_value")
    assert plain(scores(read_files("inspect", files, on_missing="drop").data).u) == [1]


def test_epochs_are_averaged_reduced_to_the_best_or_clusters(read_files: Read) -> None:
    u = log(sample("a", "C", 1), sample("b", "I", 1), sample("a", "I", 2), sample("b", "I", 2))
    v = log(sample("a", "C", 1), sample("b", "C", 1), sample("a", "C", 2), sample("b", "I", 2))
    mean = scores(read_files("inspect", {"u": u, "v": v}).data)
    assert isinstance(mean.u, Repeated)
    assert (mean.u.values.tolist(), mean.u.lengths.tolist()) == ([1, 0, 0, 0], [2, 2])
    best = scores(read_files("inspect", {"u": u, "v": v}, reduce_epochs="max").data)
    assert (plain(best.u), plain(best.v)) == ([1, 0], [1, 1])
    each = scores(read_files("inspect", {"u": u, "v": u}, reduce_epochs="none").data)
    assert plain(each.u) == [1, 0, 0, 0]
    assert each.pairing.n_clusters == 2


@pytest.mark.parametrize("reduced", ["mean", "max"])
def test_another_number_of_epochs_is_refused_with_the_way_out(
    reduced: str, read_files: Read, refusal: Refusal
) -> None:
    u = log(sample("a", "C", 1), sample("b", "I", 1), sample("a", "I", 2), sample("b", "I", 2))
    v = log(sample("a", "C", 1), sample("b", "C", 1), sample("b", "C", 2))
    flaw = refusal("inspect", {"u": u, "v": v}, reduce_epochs=reduced).flaws[0]
    assert (flaw.pointer, flaw.code) == ("/files/v/samples/0", "unequal_repeats")
    assert 'the item "a" at samples/0 has 1 run here and 2 in another system' in flaw.detail
    for way in flaw.choices:
        each = scores(read_files("inspect", {"u": u, "v": v}, **way.fields).data)
        assert (plain(each.u), plain(each.v)) == ([1, 0, 0], [1, 1, 1])
        assert each.pairing.n_clusters == 2
    # An epoch without a score is no run, and leaves the other system with one more.
    crashed = log(sample("a", "C", 1), sample("a", "N", 2), sample("b", "I", 1), sample("b", "I", 2))
    files = {"u": u, "v": crashed}
    assert (
        refusal("inspect", files, reduce_epochs=reduced, on_missing="drop").flaws[0].code == "unequal_repeats"
    )


def test_an_epoch_without_a_score_makes_the_sample_missing_unless_dropped(
    read_files: Read, refusal: Refusal
) -> None:
    u = log(sample("a", "C", 1), sample("a", "N", 2))
    v = log(sample("a", "C"))
    assert refusal("inspect", {"u": u, "v": v}).flaws[0].pointer == "/files/u/samples/1"
    reading = read_files("inspect", {"u": u, "v": v}, on_missing="drop")
    assert plain(scores(reading.data).u) == [1]
    assert any("1 runs of items without a score" in note for note in reading.notes)


def test_the_same_sample_twice_in_an_epoch_is_refused(refusal: Refusal) -> None:
    error = refusal("inspect", {"u": log(sample(1, "C"), sample("1", "C")), "v": log(sample(1, "C"))})
    assert (error.flaws[0].pointer, error.flaws[0].code) == ("/files/u/samples/1/id", "duplicate_id")


def test_a_scorer_and_a_value_must_be_chosen_when_there_are_several(
    read_files: Read, refusal: Refusal
) -> None:
    two = {"id": 1, "scores": {"match": {"value": "C"}, "judge": {"value": {"style": 0.5, "facts": 1}}}}
    files = {"u": log(two), "v": log(two)}
    assert refusal("inspect", files).flaws[0].code == "choose_scorer"
    assert refusal("inspect", files, scorer="jury").flaws[0].code == "choose_scorer"
    assert refusal("inspect", files, scorer="judge").flaws[0].code == "choose_metric"
    assert plain(scores(read_files("inspect", files, scorer="judge", metric="style").data).u) == [0.5]
    other = {"u": log(sample(1, "C")), "v": log(sample(1, "C", scorer="model_graded"))}
    assert refusal("inspect", other).flaws[0].code == "scorer_mismatch"


def test_metadata_says_the_clusters(read_files: Read, refusal: Refusal) -> None:
    text = log(*(sample(n, "C", metadata={"topic": n // 2}) for n in range(5)))
    assert read_files("inspect", {"u": text, "v": text}, clusters="topic").data.pairing.n_clusters == 3
    assert (
        refusal("inspect", {"u": text, "v": text}, clusters="theme").flaws[0].pointer
        == "/files/u/samples/0/metadata/theme"
    )


def test_an_archive_without_summaries_is_read_sample_by_sample(read_files: Read) -> None:
    members = {"header.json": HEADER, **{f"samples/{n}_epoch_1.json": sample(n, "C") for n in range(3)}}
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        body = archive(members, method)
        assert plain(scores(read_files("inspect", {"u": body, "v": body}).data).u) == [1, 1, 1]


def test_other_compression_is_named_and_the_way_out_too(refusal: Refusal) -> None:
    body = archive({"header.json": HEADER, "summaries.json": []}, zipfile.ZIP_LZMA)
    error = refusal("inspect", {"u": body, "v": body})
    assert error.flaws[0].code == "unsupported_compression"
    assert "inspect log convert" in error.detail


def test_archives_that_are_cut_or_unfinished_are_refused(excerpts: Path, refusal: Refusal) -> None:
    whole = (excerpts / "inspect" / "scored.eval").read_bytes()
    cut = refusal("inspect", {"u": whole[: len(whole) // 2], "v": whole})
    assert isinstance(cut, MalformedBody)
    unfinished = archive({"_journal/start.json": HEADER})
    assert refusal("inspect", {"u": unfinished, "v": whole}).flaws[0].code == "incomplete_log"


def test_an_archive_that_unpacks_to_more_than_the_cap_is_refused() -> None:
    body = archive({"header.json": HEADER, "summaries.json": [sample(n, "C") for n in range(10_000)]})
    files = dict.fromkeys("uv", UploadedFile("x.eval", body))
    assert len(body) < 50_000
    with pytest.raises(BodyTooLarge):
        read(files, "inspect", ReaderOptions(max_inflated_bytes=100_000))


@pytest.mark.parametrize("text", ["{}", "[]", '{"eval": {}, "status": "success"}', log()], ids=str)
def test_what_is_no_log_is_refused(text: str, refusal: Refusal) -> None:
    assert refusal("inspect", {"u": text, "v": text}).flaws[0].code in {"not_a_log", "no_samples", "no_items"}
