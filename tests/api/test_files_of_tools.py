"""Test files as evaluation tools write them: each is read correctly, or refused with a choice that works.

`tests.tool_files` has the files, with the sources of the tools and made-up numbers; p is checked by counting all swaps.
"""

import json
from collections.abc import Sequence

import pytest

from tests.api.conftest import answer_to
from tests.enumeration import by_signs
from tests.tool_files import RIGHT, SCORES, TOOLS

from .conftest import Service, error_of, problem

FILES, COMPARE = "/v1/tests/files", "/v1/compare"
U, V = SCORES


def p_of(u: Sequence[float], v: Sequence[float]) -> float:
    """The p-value of the difference of means, by all ways to swap."""
    return float(by_signs(u, v))


@pytest.mark.parametrize("tool", TOOLS)
def test_a_file_is_read_at_once_or_asked_about_with_a_choice_that_works(tool: str, service: Service) -> None:
    made = TOOLS[tool]
    u, v = made.values
    written = {"u": made.write(u, "new"), "v": made.write(v, "old")}
    if made.joined:
        written = {"file": "".join(written.values())}
    files = {role: (f"{role}-{made.file}", text) for role, text in written.items()} | dict(made.more)
    if made.joined:
        files["file"] = (made.file, written["file"])
    given: dict[str, str] = {}
    for option, value in made.asked.items():
        flaw = problem(service.post(FILES, files=files, data=given), 422)["errors"][0]
        given |= next(each["fields"] for each in flaw["choices"] if each["fields"].get(option) == value)
    said = answer_to(service.post(FILES, files=files, data=given))
    assert said["p_value"] == pytest.approx(p_of(u, v), rel=1e-12)
    assert said["statistic"]["u"] == pytest.approx(sum(u) / len(u), rel=1e-12)
    assert said["statistic"]["v"] == pytest.approx(sum(v) / len(v), rel=1e-12)


def test_sixty_tools_have_a_source_that_was_read_or_run() -> None:
    known = {tool for tool, made in TOOLS.items() if "documentation" not in made.read_at}
    assert len(known) >= 60
    assert all("@" in TOOLS[tool].read_at or any(map(str.isdigit, TOOLS[tool].read_at)) for tool in known)


VOTES = ["model_a", "model_a", "tie", "model_a", "model_b", "model_a", "tie (bothbad)"]


@pytest.mark.parametrize("form", ["csv", "json", "pairs"])
def test_votes_of_one_file_have_the_p_value_of_the_sign_test(form: str, service: Service) -> None:
    rows = [
        {"question_id": n, "model_a": "x", "model_b": "y", "winner": one, "judge": "j"}
        for n, one in enumerate(VOTES)
    ]
    if form == "csv":
        text = "question_id,model_a,model_b,winner\n" + "".join(
            f"{row['question_id']},x,y,{row['winner']}\n" for row in rows
        )
    elif form == "json":
        text = json.dumps(rows)
    else:  # FastChat: both orders are judged, and one that wins once is a tie
        first = {"model_a": "model_1", "model_b": "model_2"}
        text = "".join(
            json.dumps(
                {"question_id": row["question_id"], "model_1": "x", "model_2": "y", "judge": ["gpt-4", "pair-v2"], "turn": 1}
                | {f"g{n}_winner": first.get(str(row["winner"]), f"model_{n}") for n in (1, 2)}
            )
            + "\n"
            for row in rows
        )  # fmt: skip
    assert answer_to(service.post(FILES, files={"file": ("battles", text)}))["p_value"] == pytest.approx(
        2 * (1 + 5) / 2**5
    )
    board = service.post(COMPARE, files={"file": ("battles", text)})
    assert {one["name"]: one["rank"] for one in board.json()["systems"]} == {"x": 1, "y": 2}


def test_many_systems_of_one_file_are_a_board(service: Service) -> None:
    systems = {"new": U, "old": V, "third": U[::-1]}
    comet = json.dumps(
        {
            f"{name}.txt": json.loads(TOOLS["COMET --to_json"].write(own, name))[f"{name}.txt"]
            for name, own in systems.items()
        }
    )
    judged = "".join(TOOLS["MT-Bench, single"].write(own, name) for name, own in systems.items())
    scored = "".join(TOOLS["mt-metrics-eval"].write(own, name) for name, own in systems.items())
    for name, text in (
        ("comet.json", comet),
        ("gpt-4_single.jsonl", judged),
        ("COMET-refA.seg.score", scored),
    ):
        answer = service.post(COMPARE, files={"file": (name, text)})
        assert answer.status_code == 200, answer.text
        pairs = {
            frozenset((pair["u"].removesuffix(".txt"), pair["v"].removesuffix(".txt"))): pair["p_value"]
            for pair in answer.json()["pairs"]
        }
        assert pairs[frozenset(("new", "old"))] == pytest.approx(p_of(U, V))
        assert pairs[frozenset(("old", "third"))] == pytest.approx(p_of(V, U[::-1]))


def test_older_swe_bench_results_count_unnamed_instances(service: Service) -> None:
    u = json.dumps({"no_generation": [], "no_logs": ["x-3"], "resolved": ["x-1", "y-2", "y-5"]})
    v = json.dumps({"no_generation": ["y-2"], "no_logs": [], "resolved": ["x-1", "y-7"]})
    said = service.post(FILES, files={"u": ("u.json", u), "v": ("v.json", v)}).json()
    assert (said["p_value"], said["items"]["n"]) == (1.0, 5)
    assert "was not resolved" in " ".join(said["reading"]["notes"])


def test_counts_in_a_file_of_each_system_are_counts(service: Service) -> None:
    tables = {
        "u": "id,tp,fp,fn\nd1,3,1,0\nd2,2,0,1\nd3,5,2,2\n",
        "v": "id,fn,tp,fp\nd3,3,4,2\nd1,1,2,2\nd2,1,2,1\n",
    }
    answer = service.post(FILES, files={role: (f"{role}.csv", text) for role, text in tables.items()})
    assert answer.status_code == 200, answer.text
    assert (answer.json()["p_value"], answer.json()["statistic"]["name"]) == (0.25, "f1")


def test_runs_of_ms_marco_and_qrels_of_beir_are_evaluated(service: Service) -> None:
    qrels = "query-id\tcorpus-id\tscore\n1\tb\t1\n2\tx\t1\n2\ty\t2\n"
    u, v = "1\tb\t1\n1\ta\t2\n2\ty\t1\n2\tx\t2\n", "1\ta\t1\n1\tb\t2\n2\tx\t1\n2\ty\t2\n"
    files = {"u": ("u.tsv", u), "v": ("v.tsv", v), "qrels": ("test.tsv", qrels)}
    said = service.post(FILES, files=files, data={"measure": "recip_rank"}).json()
    assert (said["statistic"]["u"], said["statistic"]["v"], said["p_value"]) == (1.0, 0.75, 1.0)


def test_numbered_lines_of_fairseq_are_asked_about_and_then_paired_by_number(service: Service) -> None:
    texts = [
        "the quick brown fox jumps over it",
        "she sells sea shells by the shore",
        "peter piper picked a peck of it",
    ]
    u = "".join(f"H-{n}\t-0.1\t{text}\n" for n, text in reversed(list(enumerate(texts))))
    v = "".join(f"H-{n}\t-0.2\t{text.replace('the', 'a')}\n" for n, text in enumerate(texts))
    gold = "".join(f"T-{n}\t{text}\n" for n, text in enumerate(texts))
    files = {"u": ("u.txt", u), "v": ("v.txt", v), "ref": ("ref.txt", gold)}
    flaw = problem(service.post(FILES, files=files), 422)["errors"][0]
    assert flaw["code"] == "choose_format"
    answer = service.post(FILES, files=files, data=flaw["choices"][0]["fields"])
    assert answer.status_code == 200, answer.text
    assert answer.json()["statistic"]["u"] == pytest.approx(100)


def test_counted_votes_are_a_sign_test(service: Service) -> None:
    said = service.post(FILES, files={"file": ("w.json", '{"wins": 5, "ties": 2, "losses": 1}')}).json()
    assert said["p_value"] == pytest.approx(2 * (1 + 6) / 2**6)
    assert "wins are those of U" in " ".join(said["reading"]["notes"])


def test_a_submission_with_its_solution_asks_for_the_statistic(service: Service) -> None:
    solution = "id,target,Usage\n1,1,Public\n2,0,Private\n3,0,Public\n4,1,Private\n"
    u, v = "id,target\n1,0.9\n2,0.1\n3,0.4\n4,0.8\n", "id,target\n4,0.3\n2,0.5\n3,0.4\n1,0.6\n"
    files = {"u": ("submission.csv", u), "v": ("sample.csv", v), "gold": ("solution.csv", solution)}
    flaw = problem(service.post(FILES, files=files), 422)["errors"][0]
    assert flaw["code"] == "choose_statistic"
    said = service.post(FILES, files=files, data=flaw["choices"][0]["fields"]).json()
    assert (said["statistic"]["name"], said["statistic"]["u"], said["statistic"]["v"]) == ("auc", 1.0, 0.5)


def test_runs_of_one_benchmark_are_not_pairs(service: Service) -> None:
    def file(times: Sequence[float]) -> str:
        return json.dumps({"results": [{"command": "build", "mean": 1.0, "times": list(times)}]})

    said = service.post(FILES, files={"u": ("u.json", file(U)), "v": ("v.json", file(V))}).json()
    assert "one_item" in {warning["code"] for warning in said["warnings"]}


REFUSED: dict[str, tuple[str, str, str, str]] = {
    "lm-eval results": (json.dumps({"results": {"arc": {"acc,none": 0.7}}, "n-samples": {"arc": {"original": 100}}}), "averages_only", "--log_samples", "results_1.json"),
    "MTEB": (json.dumps({"dataset_revision": "abc", "task_name": "STS12", "mteb_version": "1.18", "scores": {"test": [{"main_score": 0.75, "hf_subset": "default"}]}}), "averages_only", "a line for each", "STS12.json"),
    "parts": (json.dumps({"train": {"accuracy": 0.9}, "test": {"accuracy": 0.8}}), "averages_only", "items", "metrics.json"),
    "Markdown table": ("| id | score |\n|---|---:|\n| a | 0.5 |\n", "markdown_table", "CSV", "table.md"),
    "mean and deviation": ("id,score\na,0.81 ± 0.02\nb,0.75 ± 0.01\n", "not_a_number", "average", "table.csv"),
    "TrackEval, with its row of all sequences": ("seq,HOTA___AUC\nMOT17-02,0.5\nMOT17-04,0.6\nCOMBINED,0.55\n", "summary_row", "id_column", "pedestrian_detailed.csv"),
    "Trainer of transformers": (json.dumps({"epoch": 3.0, "eval_accuracy": 0.9, "eval_loss": 0.25, "eval_runtime": 3.1, "eval_samples": 872, "eval_samples_per_second": 280.0, "eval_steps_per_second": 35.1}), "averages_only", "items", "all_results.json"),
    "COCO detections": (json.dumps([{"image_id": n, "category_id": 3, "bbox": [1, 2, 3, 4], "score": 0.5} for n in range(3)]), "no_items", "each image", "results.json"),
    "sacreBLEU": (json.dumps({"name": "BLEU", "score": 26.8, "signature": "nrefs:1", "verbose_score": "58.6", "version": "2.6.0"}, indent=1), "averages_only", "items", "bleu.json"),
    "evaluate.save": (json.dumps({"accuracy": 0.9, "experiment": "run 1", "_timestamp": "2026-01-01T00:00:00"}, indent=1), "averages_only", "items", "result.json"),
    "TensorBoard": ("Wall time,Step,Value\n1.5,0,0.5\n2.5,100,0.75\n3.5,200,0.5\n", "no_items", "scores of the items", "run.csv"),
    "SQuAD predictions alone": (TOOLS["SQuAD"].write(RIGHT[0], "new"), "missing_file", "gold", "predictions.json"),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_files_without_items_are_refused_with_an_alternative(what: str, service: Service) -> None:
    text, code, word, name = REFUSED[what]
    said = problem(service.post(FILES, files={"u": (name, text), "v": (name, text)}), 422)
    assert said["errors"][0]["code"] == code
    assert word in said["detail"]


def test_a_number_beside_answers_and_predictions_is_not_taken_as_score(service: Service) -> None:
    rows = [{"question_id": n, "answer": "AB"[n % 2], "answer_index": n % 2, "pred": "A"} for n in range(6)]
    made = "".join(json.dumps(row) + "\n" for row in rows)
    flaw = problem(service.post(FILES, files={"u": ("u.jsonl", made), "v": ("v.jsonl", made)}), 422)[
        "errors"
    ][0]
    assert [next(iter(choice["fields"].values())) for choice in flaw["choices"]] == ["labels", "answer_index"]


def test_lists_of_which_several_may_be_the_items_are_asked_about(service: Service) -> None:
    def file(scores: Sequence[float]) -> str:
        rows = [{"id": n, "score": one} for n, one in enumerate(scores)]
        return json.dumps({"results": {"items": rows}, "examples": rows[::-1]})

    files = {"u": ("u.json", file(U)), "v": ("v.json", file(V))}
    flaw = problem(service.post(FILES, files=files), 422)["errors"][0]
    assert flaw["code"] == "choose_path"
    for choice in flaw["choices"]:
        answer = service.post(FILES, files=files, data=choice["fields"])
        assert answer.json()["p_value"] == pytest.approx(p_of(U, V)), answer.text


def test_other_items_in_the_same_places_are_refused(service: Service) -> None:
    other = TOOLS["COMET --to_json"].write(V, "old").replace("S3", "Ein anderer")
    files = {"u": ("u.json", TOOLS["COMET --to_json"].write(U, "new")), "v": ("v.json", other)}
    assert error_of(service.post(FILES, files=files)) == ("/files/v/old.txt/3/src", "src_mismatch")


def test_a_file_of_a_tool_without_one_of_its_columns_is_refused_by_the_column(service: Service) -> None:
    rows = "{},qid,measure,value\na,1,map,0.5\na,2,map,0.6\n"
    files = {"u": ("u.csv", rows.format("name").encode()), "v": ("v.csv", rows.format("run").encode())}
    response = service.post(FILES, files=files, data={"format": "pyterrier"})
    (flaw,) = problem(response, 422)["errors"]
    assert (flaw["pointer"], flaw["code"]) == ("/files/v/line/2", "missing_field")
    assert "column name" in flaw["detail"]
