"""Logs of Inspect and promptfoo, the two small formats of runs, and times of benchmarks."""

import io
import json
import zipfile
from typing import Any

import numpy as np
import pytest

from exactperm.errors import BodyTooLarge, MalformedBody
from exactperm.inputs.formats.catalogue import read
from exactperm.inputs.reader import ReaderOptions, UploadedFile
from exactperm.statistics.paired import Repeated, Scores

from .reading import EXCERPTS, columns, noted, read_files, refusal, refuses


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


def test_an_archive_is_read_as_its_json() -> None:
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


def test_an_unfinished_log_is_refused_unless_allowed() -> None:
    files = {"u": EXCERPTS / "inspect" / "cancelled.json", "v": EXCERPTS / "inspect" / "scored.eval"}
    refuses("incomplete_log", "/files/u/status", "inspect", files)
    reading = read_files("inspect", files, allow_incomplete=True, on_missing="drop")
    assert plain(scores(reading.data).u) == [1, 1, 0]
    assert noted(reading, "cancelled")


def test_letters_booleans_words_and_numbers() -> None:
    values = ["C", "I", "P", True, False, 0.25, "yes", "No", "0.5"]
    text = log(*(sample(n, value) for n, value in enumerate(values)))
    assert plain(scores(read_files("inspect", {"u": text, "v": text}).data).u) == [
        1, 0, 0.5, 1, 0, 0.25, 1, 0, 0.5,
    ]  # fmt: skip


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
def test_samples_without_a_score_are_missing_and_never_0(gone: dict[str, Any]) -> None:
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
        if way.fields.get("exchange") == "runs":
            assert isinstance(each.v, Repeated)
            assert each.v.lengths.tolist() == [1, 2]
            continue
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
def test_files_other_than_logs_are_refused(text: str) -> None:
    assert refusal("inspect", {"u": text, "v": text}).flaws[0].code in {"not_a_log", "no_samples", "no_items"}


def row(
    question: str, score: float | None, provider: str = "a", prompt: int = 0, **members: Any
) -> dict[str, Any]:
    case = {"vars": {"q": question}, "assert": [{"type": "equals", "value": "x"}]}
    base = {"testCase": case, "vars": {"q": question}, "provider": {"id": provider}, "promptIdx": prompt}
    return {**base, "score": score, "success": bool(score), "namedScores": {"style": 0.5}, **members}


def export(*rows: dict[str, Any]) -> str:
    return json.dumps({"evalId": "e", "results": {"version": 3, "results": list(rows)}})


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


def test_two_files_pair_by_the_questions_of_the_tests() -> None:
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
def test_files_other_than_exports_are_refused(text: str) -> None:
    assert refusal("promptfoo", {"file": text}).flaws[0].code in {"missing_field", "no_items", "not_json"}


# The two small formats of runs: Every Eval Ever's instance level, and RunFrames.


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
    assert columns(read_files("every-eval-ever", {"u": u, "v": v}, metric="is_correct")) == ([1, 1], [1, 0])


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


def test_metadata_says_the_clusters_of_runs() -> None:
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


# pytest-benchmark's and hyperfine's files, as the tools wrote them and damaged.


HYPERFINE: dict[str, Any] = {
    "results": [{"command": "a", "mean": 2.0, "times": [1.0, 3.0], "exit_codes": [0, 1]}]
}
PYTEST: dict[str, Any] = {
    "machine_info": {},
    "benchmarks": [{"name": "a", "fullname": "t.py::a", "stats": {"mean": 2.0, "median": 1.5}}],
}


@pytest.mark.parametrize(
    ("format_", "stem", "key"),
    [("pytest-benchmark", "pytest", "fullname"), ("hyperfine", "hyperfine", "command")],
)
def test_times_of_benchmarks_pair_by_name(format_: str, stem: str, key: str) -> None:
    files = {role: EXCERPTS / "benchmarks" / f"{stem}_{role}.json" for role in "uv"}
    reading = read_files("auto", files)
    assert (reading.format, reading.metric, reading.higher_is_better) == (format_, "seconds", False)
    assert noted(reading, "the mean of its times")
    for role in "uv":
        document = json.loads(files[role].read_bytes())
        rows = document["benchmarks" if format_ == "pytest-benchmark" else "results"]
        assert list(reading.data.pairing.ids or ()) == [row[key] for row in rows]
        times = [row["stats"]["data"] if format_ == "pytest-benchmark" else row["times"] for row in rows]
        side = getattr(reading.data, role)
        assert isinstance(side, Repeated)
        assert np.array_equal(side.lengths, [5] * len(rows))
        assert side.values.tolist() == [time for row in times for time in row]


@pytest.mark.parametrize("stem", ["pytest", "hyperfine"])
def test_another_number_of_a_benchmark_is_taken_as_it_is_written(stem: str) -> None:
    files = {role: EXCERPTS / "benchmarks" / f"{stem}_{role}.json" for role in "uv"}
    reading = read_files("auto", files, metric="median")
    document = json.loads(files["u"].read_bytes())
    rows = [row["stats"] for row in document["benchmarks"]] if stem == "pytest" else document["results"]
    data: Any = reading.data
    assert data.u.tolist() == [row["median"] for row in rows]


def test_without_times_their_mean_is_taken() -> None:
    text = json.dumps(PYTEST, indent=4)
    reading = read_files("auto", {"u": text, "v": text})
    assert reading.format == "pytest-benchmark"
    data: Any = reading.data
    assert data.u.tolist() == [2.0]
    # On one line, too.
    assert read_files("auto", {"u": json.dumps(PYTEST), "v": text}).format == "pytest-benchmark"


def test_of_more_times_in_one_file_the_first_count() -> None:
    rows = [
        {"command": name, "mean": 2.0, "times": times} for name, times in (("a", [1, 3]), ("b", [4, 5, 6]))
    ]
    others = [
        {"command": name, "mean": 2.0, "times": times} for name, times in (("b", [7, 8]), ("a", [9, 2, 1]))
    ]
    texts = {role: json.dumps({"results": own}) for role, own in (("u", rows), ("v", others))}
    reading = read_files("hyperfine", texts)
    data: Any = reading.data
    assert (data.u.values.tolist(), data.u.lengths.tolist()) == ([1, 3, 4, 5], [2, 2])
    assert (data.v.values.tolist(), data.v.lengths.tolist()) == ([9, 2, 7, 8], [2, 2])
    assert noted(reading, "2 benchmarks have more times in one file")


def test_numbers_of_another_number_of_times_are_refused() -> None:
    """The least of more times is less; only a number of rounds that the same rule chose is part of the result."""
    rows = [{"command": "a", "mean": 2.0, "min": 1.0, "times": times} for times in ([1, 3], [1, 2, 3])]
    texts = {role: json.dumps({"results": [row]}) for role, row in zip("uv", rows, strict=True)}
    refuses("unequal_repeats", "/files/v/results/0", "hyperfine", texts, metric="min")

    def pytest_file(rounds: int, most_s: float) -> str:
        row = {"fullname": "a", "options": {"max_time": most_s}, "stats": {"mean": 2.0, "rounds": rounds}}
        return json.dumps({"machine_info": {}, "benchmarks": [row]})

    data: Any = read_files("pytest-benchmark", {"u": pytest_file(5, 1.0), "v": pytest_file(7, 1.0)}).data
    assert data.u.tolist() == data.v.tolist() == [2.0]
    files = {"u": pytest_file(5, 1.0), "v": pytest_file(7, 2.0)}
    refuses("unequal_repeats", None, "pytest-benchmark", files)


def test_failed_runs_are_noted() -> None:
    text = json.dumps(HYPERFINE)
    notes = read_files("hyperfine", {"u": text, "v": text}).notes
    assert any("1 runs ended with another exit code" in note for note in notes)


def test_parameters_are_part_of_the_name() -> None:
    rows = [{"command": "a", "mean": float(n), "parameters": {"n": str(n)}} for n in (1, 2)]
    texts = {role: json.dumps({"results": order}) for role, order in (("u", rows), ("v", rows[::-1]))}
    data: Any = read_files("hyperfine", texts).data
    assert data.u.tolist() == data.v.tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("format_", "document", "code", "pointer"),
    [
        ("hyperfine", {}, "missing_field", "/files/u/results"),
        ("hyperfine", {"results": []}, "no_items", "/files/u"),
        ("hyperfine", {"results": [1]}, "missing_field", "/files/u/results"),
        ("hyperfine", {"results": [{"mean": 1.0}]}, "missing_field", "/files/u/results/0"),
        ("hyperfine", {"results": [{"command": "a"}]}, "missing_field", "/files/u/results/0/mean"),
        ("hyperfine", {"results": [{"command": "a", "mean": None}]}, "missing_value", "/files/u/results/0"),
        ("hyperfine", {"results": HYPERFINE["results"] * 2}, "duplicate_id", "/files/u/results/1"),
        (
            "hyperfine",
            {"results": [{"command": "a", "times": [1, True]}]},
            "not_a_number",
            "/files/u/results/0/times/1",
        ),
        ("pytest-benchmark", {"benchmarks": {}}, "missing_field", "/files/u/benchmarks"),
        ("pytest-benchmark", {"benchmarks": [{"name": "a"}]}, "missing_value", "/files/u/benchmarks/0/stats"),
    ],
)
def test_files_without_benchmarks_are_refused(
    format_: str, document: dict[str, Any], code: str, pointer: str
) -> None:
    text = json.dumps(document)
    refuses(code, pointer, format_, {"u": text, "v": text})


def test_a_number_that_no_benchmark_has_is_refused_with_those_there_are() -> None:
    text = json.dumps(HYPERFINE)
    refuses(None, None, "hyperfine", {"u": text, "v": text}, "median", metric="stddev")
