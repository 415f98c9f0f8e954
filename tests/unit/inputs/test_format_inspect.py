from __future__ import annotations

import io
import json
import zipfile
from typing import Any

import numpy as np
import pytest

from exactperm.errors import BodyTooLarge, MalformedBody
from exactperm.inputs.formats.catalogue import read
from exactperm.inputs.formats.reader import ReaderOptions, UploadedFile
from exactperm.statistics.paired import Repeated, Scores

from .reading import EXCERPTS, noted, read_files, refusal, refuses


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


def test_ids_that_only_one_log_has_are_named_or_dropped() -> None:
    files = {"u": EXCERPTS / "inspect" / "qwen.json", "v": EXCERPTS / "inspect" / "sonnet.json"}
    refuses(None, "/files/v", "inspect", files, '"4", "5"')
    reading = read_files("inspect", files, on_missing="drop")
    data = scores(reading.data)
    assert (plain(data.u), plain(data.v)) == ([1, 0, 0], [1, 1, 1])
    assert reading.names == ("ollama/qwen2.5:0.5b", "anthropic/claude-sonnet-4-0")
    assert noted(reading, "2 items that only v has")


def test_an_archive_says_what_its_json_would() -> None:
    path = EXCERPTS / "inspect" / "scored.eval"
    with zipfile.ZipFile(path) as found:
        header = json.loads(found.read("header.json"))
        full = [json.loads(found.read(n)) for n in found.namelist() if n.startswith("samples/")]
    data = scores(read_files("inspect", {"u": path, "v": json.dumps({**header, "samples": full})}).data)
    assert sum(plain(data.u)) == sum(plain(data.v)) == 8
    assert len(plain(data.u)) == 10
    assert np.array_equal(plain(data.u), plain(data.v))


def test_a_log_that_was_not_scored_is_refused_clearly() -> None:
    files = {"u": EXCERPTS / "inspect" / "scored.eval", "v": EXCERPTS / "inspect" / "unscored.eval"}
    refuses("unscored", "/files/v/summaries.json/0/scores", "inspect", files)


def test_a_log_that_did_not_finish_is_refused_unless_told() -> None:
    files = {"u": EXCERPTS / "inspect" / "cancelled.json", "v": EXCERPTS / "inspect" / "scored.eval"}
    refuses("incomplete_log", "/files/u/status", "inspect", files)
    reading = read_files("inspect", files, allow_incomplete=True, on_missing="drop")
    assert plain(scores(reading.data).u) == [1, 1, 0]
    assert noted(reading, "cancelled")


def test_letters_booleans_words_and_numbers() -> None:
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
def test_what_has_no_score_is_missing_and_never_zero(gone: dict[str, Any]) -> None:
    files = {"u": log(sample(1, "C"), gone), "v": log(sample(1, "I"), sample(2, "I"))}
    refuses("missing_value", "/files/u/samples/1", "inspect", files)
    assert plain(scores(read_files("inspect", files, on_missing="drop").data).u) == [1]


def test_epochs_are_averaged_reduced_to_the_best_or_clusters() -> None:
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
def test_another_number_of_epochs_is_refused_with_the_way_out(reduced: str) -> None:
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
    refuses("unequal_repeats", None, "inspect", files, reduce_epochs=reduced, on_missing="drop")


def test_an_epoch_without_a_score_makes_the_sample_missing_unless_dropped() -> None:
    u = log(sample("a", "C", 1), sample("a", "N", 2))
    v = log(sample("a", "C"))
    refuses(None, "/files/u/samples/1", "inspect", {"u": u, "v": v})
    reading = read_files("inspect", {"u": u, "v": v}, on_missing="drop")
    assert plain(scores(reading.data).u) == [1]
    assert noted(reading, "1 runs of items without a score")


def test_the_same_sample_twice_in_an_epoch_is_refused() -> None:
    refuses(
        "duplicate_id",
        "/files/u/samples/1/id",
        "inspect",
        {"u": log(sample(1, "C"), sample("1", "C")), "v": log(sample(1, "C"))},
    )


def test_a_scorer_and_a_value_must_be_chosen_when_there_are_several() -> None:
    two = {"id": 1, "scores": {"match": {"value": "C"}, "judge": {"value": {"style": 0.5, "facts": 1}}}}
    files = {"u": log(two), "v": log(two)}
    refuses("choose_scorer", None, "inspect", files)
    refuses("choose_scorer", None, "inspect", files, scorer="jury")
    refuses("choose_metric", None, "inspect", files, scorer="judge")
    assert plain(scores(read_files("inspect", files, scorer="judge", metric="style").data).u) == [0.5]
    other = {"u": log(sample(1, "C")), "v": log(sample(1, "C", scorer="model_graded"))}
    refuses("scorer_mismatch", None, "inspect", other)


def test_metadata_says_the_clusters() -> None:
    text = log(*(sample(n, "C", metadata={"topic": n // 2}) for n in range(5)))
    assert read_files("inspect", {"u": text, "v": text}, clusters="topic").data.pairing.n_clusters == 3
    refuses(None, "/files/u/samples/0/metadata/theme", "inspect", {"u": text, "v": text}, clusters="theme")


def test_an_archive_without_summaries_is_read_sample_by_sample() -> None:
    members = {"header.json": HEADER, **{f"samples/{n}_epoch_1.json": sample(n, "C") for n in range(3)}}
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        body = archive(members, method)
        assert plain(scores(read_files("inspect", {"u": body, "v": body}).data).u) == [1, 1, 1]


def test_other_compression_is_named_and_the_way_out_too() -> None:
    body = archive({"header.json": HEADER, "summaries.json": []}, zipfile.ZIP_LZMA)
    refuses("unsupported_compression", None, "inspect", {"u": body, "v": body}, "inspect log convert")


def test_archives_that_are_cut_or_unfinished_are_refused() -> None:
    whole = (EXCERPTS / "inspect" / "scored.eval").read_bytes()
    cut = refusal("inspect", {"u": whole[: len(whole) // 2], "v": whole})
    assert isinstance(cut, MalformedBody)
    unfinished = archive({"_journal/start.json": HEADER})
    refuses("incomplete_log", None, "inspect", {"u": unfinished, "v": whole})


def test_an_archive_that_unpacks_to_more_than_the_cap_is_refused() -> None:
    body = archive({"header.json": HEADER, "summaries.json": [sample(n, "C") for n in range(10_000)]})
    files = dict.fromkeys("uv", UploadedFile("x.eval", body))
    assert len(body) < 50_000
    with pytest.raises(BodyTooLarge):
        read(files, "inspect", ReaderOptions(max_inflated_bytes=100_000))


@pytest.mark.parametrize("text", ["{}", "[]", '{"eval": {}, "status": "success"}', log()], ids=str)
def test_what_is_no_log_is_refused(text: str) -> None:
    assert refusal("inspect", {"u": text, "v": text}).flaws[0].code in {"not_a_log", "no_samples", "no_items"}
