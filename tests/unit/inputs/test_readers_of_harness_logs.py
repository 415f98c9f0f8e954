"""Logs of HELM, lighteval, OpenAI evals and lm-evaluation-harness's perplexities, JSON objects and NumPy's files."""

import io
import json
import math
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import exactperm
from exactperm.client.requests import files
from exactperm.errors import BodyTooLarge
from exactperm.statistics.paired import Counts, Repeated, Scores
from tests.binary import npy, parquet_of

from .reading import EXCERPTS, columns, noted, read_files, refusal, refuses, refuses_alone

NEW, OLD = "2026-05-17T13-25-31.291152.jsonl", "2026-05-18T01-02-03.000001.jsonl"
LOGS: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "helm": ({"u": "helm/new/per_instance_stats.json", "v": "helm/old/per_instance_stats.json"}, {"metric": "exact_match"}),
    "lighteval": ({"u": "lighteval/new.details.jsonl", "v": "lighteval/old.details.jsonl"}, {"metric": "acc"}),
    "openai-evals": ({"u": "openai_evals/new.jsonl", "v": "openai_evals/old.jsonl"}, {}),
    "json-object": ({"u": "plain/u.json", "v": "plain/v.json"}, {}),
    "npy": ({"u": "plain/u.npy", "v": "plain/v.npy"}, {}),
    "lm-eval": ({"u": f"lm_eval/wikitext/new/samples_wikitext_{NEW}", "v": f"lm_eval/wikitext/old/samples_wikitext_{OLD}"}, {}),
}  # fmt: skip


def by_hand(format_: str, path: Path) -> dict[str, float]:
    """The scores in a file, read without our readers."""
    if format_ == "npy":
        return {str(row): value for row, value in enumerate(np.load(path).tolist())}
    text = path.read_text()
    if format_ == "json-object":
        scores: dict[str, float] = json.loads(text)
        return scores
    if format_ == "helm":
        return {
            entry["instance_id"]: stat["mean"]
            for entry in json.loads(text)
            for stat in entry["stats"]
            if stat["name"]["name"] == "exact_match" and "perturbation" not in entry
        }
    rows = [json.loads(line) for line in text.splitlines()]
    if format_ == "lighteval":
        return {str(place): row["metrics"]["acc"] for place, row in enumerate(rows)}
    if format_ == "lm-eval":
        return {str(row["doc_id"]): -row["word_perplexity"][0] for row in rows}
    return {row["sample_id"]: float(row["data"]["correct"]) for row in rows if row.get("type") == "match"}


@pytest.mark.parametrize("format_", LOGS)
def test_the_scores_are_those_of_the_file_and_the_guess_reads_them_alike(format_: str) -> None:
    names, options = LOGS[format_]
    paths = {role: EXCERPTS / name for role, name in names.items()}
    reading = read_files(format_, paths, **options)
    u, v = (by_hand(format_, paths[role]) for role in "uv")
    assert columns(reading) == ([u[key] for key in u], [v[key] for key in u])
    guessed = read_files("auto", paths, **options)
    assert guessed.format == format_
    assert guessed.guessed
    assert columns(guessed) == columns(reading)
    swapped = read_files("auto", {"u": paths["v"], "v": paths["u"]}, **options)
    assert sorted(columns(swapped)[1]) == sorted(columns(reading)[0])


@pytest.mark.parametrize("format_", [name for name in LOGS if name != "npy"])
@pytest.mark.parametrize("dress", ["bom", "crlf", "blank lines", "compact", "indented"])
def test_the_guess_reads_every_spelling_of_the_format(format_: str, dress: str) -> None:
    names, options = LOGS[format_]
    whole = format_ in {"helm", "json-object"}

    def dressed(content: bytes) -> bytes:
        if dress in {"compact", "indented"} and whole:
            separators = (",", ":") if dress == "compact" else None
            indent = 4 if dress == "indented" else None
            return json.dumps(json.loads(content), indent=indent, separators=separators).encode()
        return {"bom": b"\xef\xbb\xbf" + content, "crlf": content.replace(b"\n", b"\r\n")}.get(
            dress, b"\n \n" + content
        )

    contents = {role: dressed((EXCERPTS / name).read_bytes()) for role, name in names.items()}
    reading = read_files("auto", contents, **options)
    assert reading.format == format_
    assert columns(reading) == columns(read_files(format_, contents, **options))


@pytest.mark.parametrize("format_", ["lighteval", "lm-eval"])
def test_a_first_line_longer_than_the_look_is_recognised(format_: str) -> None:
    names, options = LOGS[format_]
    contents = {}
    for role, name in names.items():
        rows = [json.loads(line) for line in (EXCERPTS / name).read_text().splitlines()]
        rows = [{"long": "x" * 100_000, **row} for row in rows]
        contents[role] = "\n".join(map(json.dumps, rows))
    assert read_files("auto", contents, **options).format == format_
    if format_ == "lighteval":
        arrays = {role: "[" + text.replace("\n", ",") + "]" for role, text in contents.items()}
        assert read_files("auto", arrays, **options).format == format_


# lm-evaluation-harness: perplexity, IFEval, two metrics of one log.


def pages(role: str) -> list[dict[str, Any]]:
    path = EXCERPTS / LOGS["lm-eval"][0][role]
    return [json.loads(line) for line in path.read_text().splitlines()]


def lines(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.mark.parametrize("metric", ["word_perplexity", "byte_perplexity", "bits_per_byte"])
def test_log_likelihoods_give_the_p_value_of_the_perplexity(metric: str) -> None:
    """The oracle swaps documents in all ways and computes the perplexities themselves."""
    paths = {role: EXCERPTS / name for role, name in LOGS["lm-eval"][0].items()}
    said = exactperm.test(files(u=paths["u"], v=paths["v"], metric=metric))
    u, v = (np.array([row[metric][0] for row in pages(role)]) for role in "uv")
    units = np.array([row[metric][1] for row in pages("u")])
    n = len(u)
    signs = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
    first, second = (np.where(signs, a, b) @ np.ones(n) for a, b in ((v, u), (u, v)))

    def worth(total: Any) -> Any:
        mean = -total / units.sum()
        return mean / math.log(2) if metric == "bits_per_byte" else np.exp(mean)

    difference = worth(first) - worth(second)
    expected = np.mean(np.abs(difference) >= abs(difference[0]) * (1 - 1e-12))
    assert said.p_value == pytest.approx(expected, rel=1e-12)
    assert said.statistic.observed < 0
    reading = read_files("lm-eval", paths, metric=metric)
    assert reading.higher_is_better is False
    assert f"u: {metric} {worth(u.sum()):.6g}, over {units.sum():,} " in " ".join(reading.notes)


def test_perplexity_of_a_continuation_is_turned_the_right_way_round() -> None:
    def log(*likelihoods: float) -> str:
        return lines([
            {"doc_id": i, "filter": "none", "metrics": ["perplexity", "acc"], "doc_hash": str(i), "perplexity": one, "acc": 1}
            for i, one in enumerate(likelihoods)
        ])  # fmt: skip

    reading = read_files("auto", {"u": log(-1.5, -2, 0), "v": log(-1, -3, -0.5)}, metric="perplexity")
    assert columns(reading) == ([1.5, 2, 0], [1, 3, 0.5])
    assert reading.higher_is_better is False
    refuses(
        "not_a_likelihood",
        "/files/u/line/2/perplexity",
        "lm-eval",
        {"u": log(-1, 12.5), "v": log(-1, -1)},
        metric="perplexity",
    )


def test_invalid_likelihoods_and_those_of_other_texts_are_refused() -> None:
    good = lines(pages("u"))
    for change, code, role in (
        ([-1.0, 3], "text_mismatch", "v"),
        ([-1.0], "not_a_likelihood", "v"),
        ([-1.0, 0], "not_a_count", "v"),
        ([-1.0, True], "not_a_count", "v"),
        ([-1.0, 2.5], "not_a_count", "v"),
        ([2.5, 100], "not_a_likelihood", "v"),
        ([True, 100], "not_a_likelihood", "v"),
        (["a", 100], "not_a_number", "v"),
        (-4.5, "not_a_likelihood", "v"),
    ):
        rows = pages("v")
        rows[3]["word_perplexity"] = change
        error = refusal("lm-eval", {"u": good, "v": lines(rows)}, metric="word_perplexity")
        assert error.flaws[0].code == code, change
        assert error.flaws[0].pointer.startswith(f"/files/{role}/line/4"), change


def test_lists_of_right_and_wrong_are_a_share_of_all_instructions() -> None:
    paths = {
        "u": EXCERPTS / "lm_eval" / "ifeval" / "new" / f"samples_ifeval_{NEW}",
        "v": EXCERPTS / "lm_eval" / "ifeval" / "old" / f"samples_ifeval_{OLD}",
    }
    refuses("choose_metric", None, "auto", paths, "inst_level_strict_acc")
    reading = read_files("auto", paths, metric="inst_level_strict_acc")
    assert isinstance(reading.data, Counts)
    for role in "uv":
        lists = [json.loads(line)["inst_level_strict_acc"] for line in paths[role].read_text().splitlines()]
        own = getattr(reading.data, role)
        assert own["right"].tolist() == list(map(sum, lists))
        assert own["instructions"].tolist() == list(map(len, lists))
    assert reading.default_statistic.name == "ratio"
    assert reading.higher_is_better is True
    rows = [json.loads(line) for line in paths["v"].read_text().splitlines()]
    rows[2]["inst_level_strict_acc"] = [True] * 9
    refuses(
        "instructions_mismatch",
        None,
        "auto",
        {"u": paths["u"], "v": lines(rows)},
        metric="inst_level_strict_acc",
    )
    rows[2]["inst_level_strict_acc"] = []
    refuses("not_booleans", None, "auto", {"u": paths["u"], "v": lines(rows)}, metric="inst_level_strict_acc")


def test_a_log_that_lists_no_metrics_has_those_of_its_numbers() -> None:
    """Logs of older versions of the harness: members of a document are not metrics."""

    def log(*names: str) -> str:
        logged = {
            "doc": {"q": "?"}, "target": 3, "arguments": [["a"]], "resps": [["r"]], "filtered_resps": ["r"],
            "doc_hash": "d", "prompt_hash": "p", "target_hash": "t",
        }  # fmt: skip
        rows = ({"doc_id": row, **logged, **dict.fromkeys(names, row % 2)} for row in range(4))
        return "".join(json.dumps(row) + "\n" for row in rows)

    assert read_files("auto", {"u": log("acc"), "v": log("acc")}).metric == "acc"
    flaw = refusal("lm-eval", {"u": log("acc", "acc_norm"), "v": log("acc", "acc_norm")}).flaws[0]
    assert [choice.fields for choice in flaw.choices] == [{"metric": "acc"}, {"metric": "acc_norm"}]


def test_two_metrics_of_one_log_are_two_systems() -> None:
    path = EXCERPTS / "lm_eval" / "ifeval" / "old" / f"samples_ifeval_{OLD}"
    two = {"metric_u": "prompt_level_loose_acc", "metric_v": "prompt_level_strict_acc"}
    reading = read_files("auto", {"file": path}, **two)
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert columns(reading) == tuple([int(row[name]) for row in rows] for name in two.values())
    assert reading.names == tuple(two.values())
    refuses("choose_metric", None, "auto", {"file": path}, metric_u="a", metric_v="b")
    refuses("choose_metric_v", None, "auto", {"file": path}, metric_u="prompt_level_loose_acc")
    mixed = {"metric_u": "prompt_level_loose_acc", "metric_v": "inst_level_loose_acc"}
    refuses("metric_mismatch", None, "auto", {"file": path}, **mixed)


# HELM.


def entry(number: int, *stats: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"instance_id": f"id{number}", "train_trial_index": 0, **more, "stats": list(stats)}


def stat(
    value: float | None, name: str = "exact_match", split: str = "test", count: int = 1
) -> dict[str, Any]:
    observed = {} if value is None else {"mean": value}
    return {"name": {"name": name, "split": split}, "count": count, "sum": (value or 0) * count, **observed}


def test_trials_are_averaged_metrics_joined_and_splits_chosen() -> None:
    run = [entry(0, stat(1.0)), entry(0, stat(0.0), train_trial_index=1), entry(1, stat(0.5, count=4)), entry(0, stat(9, "num_bytes")),
           entry(0, stat(1.0), train_trial_index=0), entry(1, stat(0.25, count=2), train_trial_index=1), entry(2, stat(1, split="valid"))]  # fmt: skip
    text = json.dumps(run)
    refuses("choose_filter", None, "auto", {"u": text, "v": text})
    reading = read_files("auto", {"u": text, "v": text}, filter="test")
    assert isinstance(reading.data.u, Repeated)
    assert reading.data.u.values.tolist() == [1.0, 0.0, 0.5, 0.25]
    assert reading.data.u.lengths.tolist() == [2, 2]
    predictions = json.dumps(
        [{"instance_id": "a", "train_trial_index": 0, "predicted_text": "x", "stats": {"em": 1.0}}]
    )
    assert columns(read_files("auto", {"u": predictions, "v": predictions})) == ([1.0], [1.0])


def test_another_number_of_trials_or_observations_is_refused() -> None:
    twice = [entry(0, stat(1.0)), entry(0, stat(0.0), train_trial_index=1)]
    refuses(
        "unequal_repeats",
        "/files/v/0/stats/0/sum",
        "helm",
        {"u": json.dumps(twice), "v": json.dumps(twice[:1])},
    )
    means = [json.dumps([entry(0, stat(0.5, count=count))]) for count in (4, 2)]
    refuses(
        "unequal_repeats", None, "helm", {"u": means[0], "v": means[1]}, "2 runs here and 4 in another system"
    )
    assert columns(read_files("helm", {"u": means[0], "v": means[0]})) == ([0.5], [0.5])


def test_helm_mistakes_point_to_the_entry() -> None:
    good = json.dumps([entry(0, stat(1.0)), entry(1, stat(0.0))])
    cases: list[tuple[Any, str, str]] = [
        ([entry(0, stat(1.0)), entry(1, stat(0.0)), entry(1, stat(1.0))], "duplicate_id", "/files/u/2/stats/0/sum"),
        ([entry(0, stat(1.0)), entry(1, stat(None, count=0))], "missing_value", "/files/u/1/stats/0/sum"),
        ([entry(0, stat(1.0)), {"instance_id": "id1"}], "missing_field", "/files/u/1/stats"),
        ([entry(0, stat(1.0)), entry(1, {"count": 1})], "missing_field", "/files/u/1/stats/0"),
        ([entry(0, stat(1.0)), entry(1, stat(0.0), train_trial_index="x")], "not_a_number", "/files/u/1/train_trial_index"),
        ([entry(0, stat(1.0)), {**entry(1, stat(0.0)), "instance_id": None}], "not_a_key", "/files/u/1/instance_id"),
        ([entry(0, stat(1.0), stat(1.0, "f1_score")), entry(1, stat(0.0))], "choose_metric", "/files/u"),
        ([entry(0, stat(1.0))], "unmatched_ids", "/files/v"),
        ({"instance_id": "a", "stats": []}, "not_a_list", "/files/u"),
        ([], "no_items", "/files/u"),
    ]  # fmt: skip
    for run, code, pointer in cases:
        refuses(code, pointer, "helm", {"u": json.dumps(run), "v": good})


# lighteval.


def test_another_number_of_answers_is_refused() -> None:
    """A majority, or pass@k, of more answers follows another law; the number of answers is in the model's response."""

    def drawn(times: int) -> str:
        response = {"text": ["A"] * times, "logprobs": []}
        return lines([{"doc": {"query": "?", "id": "0"}, "metric": {"avg": 0.5}, "model_response": response}])

    refuses("unequal_repeats", "/files/v/line/1/metric/avg", "lighteval", {"u": drawn(8), "v": drawn(1)})
    assert columns(read_files("lighteval", {"u": drawn(8), "v": drawn(8)})) == ([0.5], [0.5])


def test_samples_with_ids_are_paired_by_them_and_others_by_order() -> None:
    rows = [
        json.loads(line) for line in (EXCERPTS / "lighteval" / "new.documents.jsonl").read_text().splitlines()
    ]
    reading = read_files("auto", {"u": lines(rows), "v": lines(rows[::-1])})
    assert columns(reading)[0] == columns(reading)[1]
    old = [
        json.loads(line) for line in (EXCERPTS / "lighteval" / "new.details.jsonl").read_text().splitlines()
    ]
    assert "by their order" in " ".join(
        read_files("auto", {"u": lines(old), "v": lines(old)}, metric="acc").notes
    )
    refuses(
        "question_mismatch", "/files/v/line/1", "auto", {"u": lines(old), "v": lines(old[::-1])}, metric="acc"
    )
    refuses("choose_metric", None, "auto", {"u": lines(old), "v": lines(old)})
    for row in old:
        row["metrics"] = {"bleu": ["hyp", "ref"]}
    refuses("corpus_metric", None, "auto", {"u": lines(old), "v": lines(old)})
    refuses("corpus_metric", None, "auto", {"u": lines(old), "v": lines(old)}, metric="bleu")
    for row in old:
        row["metrics"] = {"acc": 1}
    del old[4]["metrics"]
    refuses(None, "/files/u/line/5/metrics", "lighteval", {"u": lines(old), "v": lines(old)})


# OpenAI evals.


def run_of(*events: dict[str, Any], finished: bool = True, eval_name: str = "e") -> str:
    head: list[dict[str, Any]] = [{"spec": {"completion_fns": ["m"], "eval_name": eval_name, "run_id": "r"}}]
    return lines([*head, *([{"final_report": {}}] if finished else []), *events])


def event(sample: str, type_: str = "match", **data: Any) -> dict[str, Any]:
    return {"run_id": "r", "event_id": 0, "sample_id": sample, "type": type_, "data": data}


def test_events_without_a_score_are_missing_and_several_are_averaged() -> None:
    scored = run_of(event("a", correct=True), event("b", correct=False), event("b", correct=True))
    crashed = run_of(
        event("a", correct=True), event("b", "sampling", prompt="…"), event("b", "error", type="X")
    )
    refuses("missing_value", "/files/v/line/4", "auto", {"u": scored, "v": crashed})
    assert columns(
        read_files("auto", {"u": run_of(event("a", correct=True)), "v": crashed}, on_missing="drop")
    ) == ([1], [1])
    reading = read_files("auto", {"u": scored, "v": scored})
    assert reading.data.u.lengths.tolist() == [1, 2]
    assert reading.names == ("m", "m")


def test_metrics_events_have_names_and_runs_that_cannot_be_compared_are_refused() -> None:
    metric = run_of(event("a", "metrics", f1=0.5, text="x"), event("b", "metrics", f1=1))
    assert columns(read_files("auto", {"u": metric, "v": metric})) == ([0.5, 1], [0.5, 1])
    two = run_of(event("a", "metrics", f1=0.5, em=1))
    refuses("choose_metric", None, "auto", {"u": two, "v": two})
    assert columns(read_files("auto", {"u": two, "v": two}, metric="em")) == ([1], [1])
    refuses("no_scores", None, "auto", {"u": metric, "v": run_of(event("a", correct=True))})
    refuses(
        "eval_mismatch", None, "auto", {"u": metric, "v": run_of(event("a", "metrics", f1=1), eval_name="x")}
    )
    cut = run_of(event("a", correct=True), finished=False)
    refuses("incomplete_log", None, "auto", {"u": cut, "v": cut})
    assert columns(read_files("auto", {"u": cut, "v": cut}, allow_incomplete=True)) == ([1], [1])
    refuses("no_items", None, "auto", {"u": run_of(), "v": cut})
    refuses("several_runs", None, "auto", {"u": metric + metric, "v": metric})
    refuses("not_an_event", None, "openai-evals", {"u": run_of({"a": 1}), "v": metric})


# One JSON object.


def test_an_object_by_id_may_have_lists_and_is_refused_where_it_is_a_summary() -> None:
    u, v = '{"b": [1, 0], "a": true}', '{"a": 0, "b": [0.5, 0.25]}'
    reading = read_files("auto", {"u": u, "v": v})
    assert reading.format == "json-object"
    assert reading.data.u.values.tolist() == [1, 0, 1]
    refuses("averages_only", None, "auto", {"u": '{"f1": 0.5, "bleu": 20, "n": 3}', "v": v})
    refuses(None, "/files/u/b", "auto", {"u": '{"a": 1, "b": null}', "v": '{"a": 1, "b": 1}'})
    refuses(None, "/files/u/a~1b", "json-object", {"u": '{"a/b": "x", "c": 1}', "v": v})
    refuses("not_an_object", None, "json-object", {"u": "[1, 2]", "v": v})
    refuses("duplicate_key", None, "json-object", {"u": '{"a": 1, "a": 2}', "v": v})
    line = '{"id": 1, "score": 0.5}\n'
    assert read_files("auto", {"u": line, "v": line}).format == "jsonl"


# NumPy.


def archive(**arrays: Any) -> bytes:
    stream = io.BytesIO()
    np.savez_compressed(stream, **arrays)
    return stream.getvalue()


def test_arrays_are_read_in_every_shape_and_type() -> None:
    for kind in ("f8", "f4", "f2", ">f8", "i8", "u1", "?"):
        array = np.array([1, 0, 1, 0], dtype=kind)
        assert columns(read_files("auto", {"u": npy(array), "v": npy(array[:, None])})) == ([1, 0, 1, 0],) * 2
    assert columns(
        read_files("auto", {"u": npy(np.array([0.1, 0.7], dtype="f4")), "v": npy(np.array([1, 0]))})
    )[0] == [0.1, 0.7]
    table = np.array([[1, 0.5], [0, 1]])
    assert columns(read_files("auto", {"file": npy(table)})) == ([1, 0], [0.5, 1])
    assert columns(read_files("auto", {"file": npy(np.asfortranarray(table))}))[1] == [0.5, 1]
    counts = read_files("auto", {"file": npy(np.arange(8).reshape(2, 4))})
    assert isinstance(counts.data, Counts)


def test_an_archive_has_ids_and_clusters() -> None:
    u = archive(scores=[1.0, np.nan, 0.5], ids=np.array(["a", "b", "c"]), clusters=[1, 1, 2])
    v = archive(other=[3, 2, 1], ids=np.array(["c", "b", "a"]), clusters=[2, 1, 1])
    reading = read_files("auto", {"u": u, "v": v}, on_missing="drop")
    assert columns(reading) == ([1.0, 0.5], [1, 3])
    assert reading.data.pairing.n_clusters == 2
    refuses(None, "/files/u/scores/1", "auto", {"u": u, "v": v})
    both = archive(u=[1, 2], v=[2.5, 1], id=np.array([7, 8]))
    assert columns(read_files("auto", {"file": both})) == ([1, 2], [2.5, 1])


def test_files_are_never_unpickled() -> None:
    class Evil:
        def __reduce__(self) -> Any:
            return (pytest.fail, ("it was unpickled",))

    evil = npy(np.array([Evil(), Evil()], dtype=object), allow_pickle=True)
    good = npy(np.array([1.0, 2.0]))
    refuses("unsupported_dtype", None, "npy", {"u": evil, "v": good})
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as packed:
        packed.writestr("scores.npy", evil)
        packed.writestr("ids.npy", evil)
    refuses("unsupported_dtype", None, "npy", {"u": stream.getvalue(), "v": good})
    with pytest.raises(BaseException, match="unpickled"):
        pickle.loads(pickle.dumps(Evil()))  # the trap works


def test_arrays_that_are_not_scores_are_refused() -> None:
    good = npy(np.array([1.0, 2.0]))
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("scores.npy", b"\0" * 3_000_000)
    cases: list[tuple[bytes, str]] = [
        (npy(np.array([1.0, np.inf])), "not_finite"), (npy(np.array([[1.0, 2.0]])), "wrong_shape"), (npy(np.array(1.0)), "wrong_shape"),
        (npy(np.array([], dtype=float)), "no_items"), (npy(np.array(["a", "b"])), "unsupported_dtype"),
        (npy(np.array([1j, 2])), "unsupported_dtype"), (npy(np.array([2**63, 1], dtype="u8")), "integer_too_large"),
        (good[:-1], "not_npy"), (good + b"\0", "not_npy"), (b"\x93NUMPY\x09\0", "not_npy"), (archive(a=[1, 2], b=[1, 2]), "missing_field"),
        (archive(scores=[1, 2], ids=np.array(["a"])), "length_mismatch"), (archive(scores=[1, 2], ids=np.array([1.5, 2.5])), "unsupported_dtype"),
        (archive(scores=[1, 2], ids=np.array(["a", "a"])), "duplicate_id"), (archive(scores=[1, 2])[:-30], "not_a_zip"),
    ]  # fmt: skip
    for content, code in cases:
        error = refusal("npy", {"u": content, "v": good})
        assert error.flaws[0].code == code
        assert error.flaws[0].pointer.startswith("/files/u")
    refuses(
        None,
        None,
        "npy",
        {"u": bomb.getvalue(), "v": good},
        "larger than allowed",
        max_inflated_bytes=100_000,
    )


@pytest.mark.parametrize("kind", ["details", "documents"])
def test_the_parquet_that_it_writes_is_read_as_its_json_lines(kind: str) -> None:
    def as_written(name: str) -> bytes:
        rows = [json.loads(line) for line in (EXCERPTS / "lighteval" / name).read_text().splitlines()]
        # As datasets.Dataset.from_list writes it: objects become structs, and a field without values has no type.
        return parquet_of(rows)

    names = {"u": f"new.{kind}.jsonl", "v": f"old.{kind}.jsonl"}
    chosen = {"metric": "acc"} if kind == "details" else {}
    from_lines = read_files(
        "lighteval", {role: EXCERPTS / "lighteval" / name for role, name in names.items()}, **chosen
    )
    reading = read_files("auto", {role: as_written(name) for role, name in names.items()}, **chosen)
    assert columns(reading) == columns(from_lines)
    assert reading.format == "lighteval"
    assert "Parquet, whose rows are read as JSON objects" in " ".join(reading.notes)


def test_records_in_parquet_are_bounded_and_nan_is_null() -> None:
    rows: list[dict[str, Any]] = [
        {"id": "a", "score": 1.0, "more": {"x": 1}},
        {"id": "b", "score": math.nan, "more": {"x": 2}},
    ]
    with_gap = parquet_of(rows)
    refuses("missing_value", None, "auto", {"u": with_gap, "v": with_gap})
    long = parquet_of([{"id": f"{n}", "score": 1.0, "more": {"x": "y" * 100_000}} for n in range(3_000)])
    assert len(long) < 1_000_000
    with pytest.raises(BodyTooLarge):
        read_files("auto", {"u": long, "v": long})


def sample(doc_id: int, **members: Any) -> dict[str, Any]:
    base = {"doc_id": doc_id, "doc": {"subject": "s"}, "filter": "none", "metrics": ["acc"], "acc": 1.0}
    hashes = {"doc_hash": f"d{doc_id}", "target_hash": f"t{doc_id}", "prompt_hash": f"p{doc_id}"}
    return base | hashes | members


def lines_of_lm_eval(*records: dict[str, Any]) -> str:
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


def test_one_file_with_one_filter_is_refused() -> None:
    path = model("two_filters")
    refuses("choose_filter_u", None, "lm-eval", {"file": path}, filter="strict-match")


def test_files_of_different_filters_are_not_compared_by_accident() -> None:
    u, v = lines_of_lm_eval(sample(1)), lines_of_lm_eval(sample(1, filter="other"))
    refuses("filter_mismatch", None, "lm-eval", {"u": u, "v": v})
    assert read_files("lm-eval", {"u": u, "v": v}, filter_u="none", filter_v="other").kind == "scores"


@pytest.mark.parametrize("name", ["doc_hash", "target_hash"])
def test_other_documents_under_the_same_ids_are_refused(name: str) -> None:
    refuses_alone(
        f"{name}_mismatch",
        f"/files/v/line/1/{name}",
        "lm-eval",
        {
            "u": lines_of_lm_eval(sample(1), sample(2)),
            "v": lines_of_lm_eval(sample(2, **{name: "x"}), sample(1)),
        },
    )


def test_prompts_may_differ_and_absent_hashes_are_noted() -> None:
    without = {key: value for key, value in sample(1).items() if key != "doc_hash"}
    reading = read_files(
        "lm-eval", {"u": lines_of_lm_eval(without), "v": lines_of_lm_eval(sample(1, prompt_hash="x"))}
    )
    assert noted(reading, "doc_hash is missing for some items of u")
    assert noted(reading, "prompts of 1 documents differ")


def test_a_second_run_appended_to_the_file_is_refused() -> None:
    refuses_alone(
        "duplicate_id",
        "/files/u/line/3",
        "lm-eval",
        {"u": lines_of_lm_eval(sample(1), sample(2), sample(1)), "v": lines_of_lm_eval(sample(1), sample(2))},
        "already at line 1",
    )


def test_another_number_of_repeats_is_refused() -> None:
    """A majority, or pass@k, of more answers follows another law; the answers are in `resps`."""
    times = {
        n: lines_of_lm_eval(*(sample(i, resps=[["a"] * n], filter="maj@64") for i in range(3)))
        for n in (1, 8)
    }
    refuses(
        "unequal_repeats",
        "/files/v/line/1",
        "lm-eval",
        {"u": times[8], "v": times[1]},
        "1 run here and 8 in another system",
    )
    assert totals(read_files("lm-eval", {"u": times[8], "v": times[8]}).data) == (3, 3, 3)
    # Answers to several requests, as of multiple choice, are one run.
    choices = lines_of_lm_eval(*(sample(i, resps=[[[-1.0, False]], [[-2.0, False]]]) for i in range(3)))
    assert totals(
        read_files("lm-eval", {"u": choices, "v": lines_of_lm_eval(*map(sample, range(3)))}).data
    ) == (3, 3, 3)


def test_a_corpus_metric_is_refused() -> None:
    corpus = sample(1, metrics=["bleu"], bleu=["a", "b"])
    refuses("corpus_metric", None, "lm-eval", {"u": lines_of_lm_eval(corpus), "v": lines_of_lm_eval(corpus)})
    both = sample(1, metrics=["acc", "perplexity"], perplexity=[-3.0, 2])
    refuses(
        None,
        "/files/u/line/1/perplexity",
        "lm-eval",
        {"u": lines_of_lm_eval(both), "v": lines_of_lm_eval(both)},
        metric="perplexity",
    )
    assert totals(read_files("lm-eval", {"u": lines_of_lm_eval(both), "v": lines_of_lm_eval(both)}).data) == (
        1,
        1,
        1,
    )


def test_a_metric_must_be_chosen_when_there_are_several() -> None:
    both = sample(1, metrics=["acc", "acc_norm"], acc_norm=0)
    refuses(
        "choose_metric",
        None,
        "lm-eval",
        {"u": lines_of_lm_eval(both), "v": lines_of_lm_eval(both)},
        '"acc_norm"',
    )
    assert totals(
        read_files(
            "lm-eval", {"u": lines_of_lm_eval(both), "v": lines_of_lm_eval(both)}, metric="acc_norm"
        ).data
    ) == (0, 0, 1)
    refuses(
        "choose_metric",
        None,
        "lm-eval",
        {"u": lines_of_lm_eval(both), "v": lines_of_lm_eval(both)},
        metric="f1",
    )


def test_a_missing_score_is_not_zero() -> None:
    files = {
        "u": lines_of_lm_eval(sample(1, acc=None), sample(2)),
        "v": lines_of_lm_eval(sample(1), sample(2)),
    }
    refuses(None, "/files/u/line/1", "lm-eval", files)
    assert totals(read_files("lm-eval", files, on_missing="drop").data) == (1, 1, 1)


def test_clusters_are_a_field_of_the_document() -> None:
    text = lines_of_lm_eval(sample(1), sample(2), sample(3, doc={"subject": "t"}))
    assert read_files("lm-eval", {"u": text, "v": text}, clusters="subject").data.pairing.n_clusters == 2


def test_a_file_without_doc_ids_is_refused() -> None:
    refuses(None, "/files/u/line/1/doc_id", "lm-eval", {"u": '{"id": 1}\n', "v": '{"id": 1}\n'})
