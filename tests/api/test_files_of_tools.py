"""Files as tools for evaluation write them: each is read as what it says, or asked about with a choice that then works.

The shapes are those of the tools' sources, which `SOURCES` names; the numbers are made here, and p follows from
them by counting all swaps.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import pytest

from .conftest import Service, problem

FILES, COMPARE = "/v1/tests/files", "/v1/compare"
U, V = [0.75, 0.5, 0.25, 1.0, 0.5, 0.75], [0.5, 0.25, 0.5, 0.5, 0.5, 0.25]
RIGHT_U, RIGHT_V = [1, 1, 0, 1, 1, 1, 0, 1], [0, 1, 0, 0, 0, 1, 1, 0]
Scores = Sequence[float]
Write = Callable[[Scores, str], str]


def p_of(u: Scores, v: Scores) -> float:
    """The p-value of the difference of means, by all ways to swap."""
    differences = [Fraction(a) - Fraction(b) for a, b in zip(u, v, strict=True)]
    observed = abs(sum(differences, Fraction()))
    signs = list(itertools.product((1, -1), repeat=len(differences)))
    sums = [sum((s * d for s, d in zip(each, differences, strict=True)), Fraction()) for each in signs]
    extreme = sum(abs(one) >= observed for one in sums)
    return extreme / len(signs)


def lines(rows: Sequence[Mapping[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


@dataclass(frozen=True)
class File:
    """What a tool writes for scores: `source` is where; `asks` the code of a question, and `fields` what answers it."""

    source: str
    write: Write
    name: str = "results.json"
    fields: Mapping[str, str] = field(default_factory=dict)
    asks: str | None = None
    right: bool = False
    gold: Callable[[], str] | None = None


def evalplus(scores: Scores, system: str) -> str:
    tasks: dict[str, Any] = {
        f"HumanEval/{n}": [
            {
                "task_id": f"HumanEval/{n}",
                "solution": system,
                "base_status": "pass",
                "plus_status": "pass" if one else "fail",
                "base_fail_tests": [],
                "plus_fail_tests": [],
            }
        ]
        for n, one in enumerate(scores)
    }
    return json.dumps(
        {"date": "2026-01-01", "hash": "0", "eval": tasks, "pass_at_k": {"base": {"pass@1": 1.0}}}
    )


def swe_report(scores: Scores, system: str) -> str:
    ids = [f"django__django-{n}" for n in range(len(scores))]
    resolved = [key for key, one in zip(ids, scores, strict=True) if one]
    rest = [key for key in ids if key not in resolved]
    return json.dumps({
        "total_instances": 500, "submitted_instances": len(ids), "completed_instances": len(ids), "resolved_instances": len(resolved),
        "unresolved_instances": len(rest), "empty_patch_instances": 0, "error_instances": 0, "completed_ids": ids, "incomplete_ids": ["x-1"],
        "empty_patch_ids": [], "submitted_ids": ids, "resolved_ids": resolved, "unresolved_ids": rest, "error_ids": [], "schema_version": 2,
    })  # fmt: skip


def comet_json(scores: Scores, system: str) -> str:
    rows = [
        {"src": f"Satz {n}", "mt": f"{system} {n}", "ref": f"Line {n}", "COMET": one, "errors": []}
        for n, one in enumerate(scores)
    ]
    return json.dumps({f"{system}.txt": rows}, indent=4)


def comet_printed(scores: Scores, system: str) -> str:
    rows = [f"{system}.txt\tSegment {n}\tscore: {one:.4f}\n" for n, one in enumerate(scores)]
    return "".join(rows) + f"{system}.txt\tscore: {sum(scores) / len(scores):.4f}\n"


def opencompass(scores: Scores, system: str) -> str:
    details: dict[str, Any] = {"type": "GEN"}
    for n, one in enumerate(scores):
        details[str(n)] = {
            "prompt": f"Q{n}",
            "origin_prediction": system,
            "predictions": "A",
            "references": "A" if one else "B",
            "correct": bool(one),
        }
    for one in details.values():
        if isinstance(one, dict):
            one["references"] = "A"
    return json.dumps({"accuracy": 50.0, "details": details}, indent=4)


def deepeval(scores: Scores, system: str) -> str:
    cases = [
        {"name": f"test_case_{n}", "input": f"Q{n}", "actualOutput": system, "success": True, "metricsData": [
            {"name": "Answer Relevancy", "threshold": 0.5, "success": True, "score": one, "strictMode": False, "evaluationModel": "m"}], "runDuration": 1.5, "order": n}
        for n, one in enumerate(scores)
    ]  # fmt: skip
    return json.dumps(
        {
            "testFile": "test_app.py",
            "testCases": cases,
            "conversationalTestCases": [],
            "metricsScores": [],
            "testPassed": len(cases),
        }
    )


def mt_bench(scores: Scores, system: str) -> str:
    return lines([
        {"question_id": 81 + n, "model": system, "judge": ["gpt-4", "single-v1"], "user_prompt": "…", "judgment": "[[8]]", "score": one, "turn": turn, "tstamp": 0.5}
        for turn in (1, 2) for n, one in enumerate(scores)
    ])  # fmt: skip


def alpaca(scores: Scores, system: str) -> str:
    return json.dumps([
        {"instruction": f"Q{n}", "output_1": "base", "generator_1": "gpt4_turbo", "dataset": "helpful_base", "output_2": system, "generator_2": system, "annotator": "weighted", "preference": 1 + one}
        for n, one in enumerate(scores)
    ])  # fmt: skip


def squad(scores: Scores, system: str) -> str:
    return json.dumps(
        {
            f"56be4db0acb8001400a502e{n}": "the Denver Broncos!" if one else "Carolina"
            for n, one in enumerate(scores)
        }
    )


def squad_gold() -> str:
    questions = [
        {
            "id": f"56be4db0acb8001400a502e{n}",
            "question": "?",
            "answers": [
                {"text": "Denver Broncos", "answer_start": 1},
                {"text": "Broncos", "answer_start": 8},
            ],
        }
        for n in range(len(RIGHT_U))
    ]
    return json.dumps(
        {"version": "1.1", "data": [{"title": "t", "paragraphs": [{"context": "c", "qas": questions}]}]}
    )


def trec_per_query(scores: Scores, system: str) -> str:
    return json.dumps({str(300 + n): {"map": one, "ndcg_cut_10": 0.5} for n, one in enumerate(scores)})


def pandas_split(scores: Scores, system: str) -> str:
    return json.dumps(
        {
            "columns": ["prompt_id", "accuracy"],
            "index": list(range(len(scores))),
            "data": [[f"k{n}", one] for n, one in enumerate(scores)],
        }
    ).replace("prompt_id", "id")


def mlflow(scores: Scores, system: str) -> str:
    return json.dumps(
        {
            "columns": ["question_id", "outputs", "score"],
            "data": [[f"k{n}", system, one] for n, one in enumerate(scores)],
        }
    )


def wandb_table(scores: Scores, system: str) -> str:
    return json.dumps(
        {
            "columns": ["id", "answer", "score"],
            "data": [[f"k{n}", system, one] for n, one in enumerate(scores)],
            "ncols": 3,
            "nrows": len(scores),
            "column_types": {"params": {}, "wb_type": "typedDict"},
        }
    )


def pandas_columns(scores: Scores, system: str) -> str:
    return json.dumps(
        {
            "id": {str(n): f"k{n}" for n in range(len(scores))},
            "accuracy": {str(n): one for n, one in enumerate(scores)},
        }
    )


def pandas_table(scores: Scores, system: str) -> str:
    return json.dumps(
        {
            "schema": {
                "fields": [{"name": "index", "type": "integer"}],
                "primaryKey": ["index"],
                "pandas_version": "1.4.0",
            },
            "data": [{"index": n, "id": f"k{n}", "score": one} for n, one in enumerate(scores)],
        }
    )


def polars_columns(scores: Scores, system: str) -> str:
    return json.dumps({"id": [f"k{n}" for n in range(len(scores))], "score": list(scores)})


def braintrust(scores: Scores, system: str) -> str:
    return lines(
        [
            {
                "id": f"s{n}",
                "input": {"q": f"Q{n}"},
                "output": system,
                "expected": "A",
                "scores": {"Factuality": one, "Levenshtein": 0.5},
                "metadata": {"model": system},
            }
            for n, one in enumerate(scores)
        ]
    )


def olmes(scores: Scores, system: str) -> str:
    return lines(
        [
            {
                "doc_id": n,
                "native_id": f"Mercury_{n}",
                "metrics": {"acc_raw": one, "acc_per_char": 0.5},
                "model_output": [{"sum_logits": -1.5}],
                "label": 0,
            }
            for n, one in enumerate(scores)
        ]
    )


def seg_score(scores: Scores, system: str) -> str:
    return "".join(f"{system}\t{one}\n" for one in scores)


def ir_measures(scores: Scores, system: str) -> str:
    rows = [f"{n}\tnDCG@10\t{one:.4f}\n" for n, one in enumerate(scores)]
    return "".join(rows) + f"all\tnDCG@10\t{sum(scores) / len(scores):.4f}\n"


def ir_measures_jsonl(scores: Scores, system: str) -> str:
    return lines([{"query_id": str(n), "measure": "AP", "value": one} for n, one in enumerate(scores)])


def trec_eval(scores: Scores, system: str) -> str:
    rows = [f"map                   \t{n}\t{one:.4f}\n" for n, one in enumerate(scores)]
    return (
        f"runid                 \tall\t{system}\n" + "".join(rows) + "map                   \tall\t0.5000\n"
    )


def kaldi(scores: Scores, system: str) -> str:
    return "".join(
        f"utt{n} ref a b\nutt{n} hyp a b\nutt{n} op C C\nutt{n} #csid {4 - int(4 * one)} {int(4 * one)} 0 0\n"
        for n, one in enumerate(scores)
    )


def counts_csv(scores: Scores, system: str) -> str:
    return "id,errors,ref_words\n" + "".join(f"u{n},{int(4 * one)},4\n" for n, one in enumerate(scores))


def table_of(header: str, row: Callable[[int, float, str], str]) -> Write:
    """A writer of a table with a line for each item."""
    return lambda scores, system: "".join(
        [header + "\n", *(row(n, one, system) + "\n" for n, one in enumerate(scores))]
    )


def lines_of(row: Callable[[int, float, str], Mapping[str, Any]]) -> Write:
    """A writer of JSON lines with an object for each item."""
    return lambda scores, system: lines([row(n, one, system) for n, one in enumerate(scores)])


def array_of(row: Callable[[int, float, str], Mapping[str, Any]], *around: str) -> Write:
    """A writer of one JSON document with an array, below these names."""

    def write(scores: Scores, system: str) -> str:
        value: Any = [row(n, one, system) for n, one in enumerate(scores)]
        for name in reversed(around):
            value = {"created": "2026-01-01", name: value}
        return json.dumps(value, indent=2)

    return write


def bigcodebench(scores: Scores, system: str) -> str:
    tasks: dict[str, Any] = {
        f"BigCodeBench/{n}": [
            {
                "task_id": f"BigCodeBench/{n}",
                "solution": system,
                "status": "pass" if one else "fail",
                "details": {},
            }
        ]
        for n, one in enumerate(scores)
    }
    return json.dumps({"date": "2026-01-01 00:00", "calibrated": True, "subset": "hard", "eval": tasks})


TOOLS: dict[str, File] = {
    "BigCodeBench": File("bigcode-project/bigcodebench bigcodebench/evaluate.py", bigcodebench, "samples_eval_results.json", right=True),
    "HumanEval": File("openai/human-eval human_eval/evaluation.py evaluate_functional_correctness", lines_of(lambda n, one, s: {"task_id": f"HumanEval/{n}", "completion": s, "result": "passed" if one else "failed", "passed": bool(one)}), "samples.jsonl_results.jsonl", right=True),
    "ragas": File("explodinggradients/ragas EvaluationResult.to_pandas().to_csv", table_of(",user_input,response,faithfulness,answer_relevancy", lambda n, one, s: f"{n},q{n},{s},{one},0.5"), "ragas.csv", {"score_column": "faithfulness"}, "choose_score_column"),
    "IFEval": File("google-research/google-research instruction_following_eval/evaluation_main.py write_outputs", lines_of(lambda n, one, s: {"follow_all_instructions": bool(one), "follow_instruction_list": [bool(one), True], "instruction_id_list": ["a", "b"], "prompt": f"Q{n}", "response": s}), "eval_results_strict.jsonl",
        {"metric": "follow_all_instructions"},
        "choose_metric", right=True),
    "tau-bench": File("sierra-research/tau-bench tau_bench/run.py", array_of(lambda n, one, s: {"task_id": n, "reward": one, "info": {"task": {"user_id": "x"}}, "traj": [], "trial": 0}), "tool-calling.json", {"metric": "reward"}, "choose_metric"),
    "Terminal-Bench": File("laude-institute/terminal-bench terminal_bench/harness/models.py BenchmarkResults", array_of(lambda n, one, s: {"id": f"{s}-{n}", "trial_name": f"t{n}.1-of-1", "task_id": f"t{n}", "is_resolved": bool(one), "failure_mode": "unset"}, "results"), "results.json", right=True),
    "MetricX": File("google-research/metricx metricx24/predict.py", lines_of(lambda n, one, s: {"id": n, "source": f"S{n}", "hypothesis": s, "reference": f"R{n}", "prediction": one}), "metricx.jsonl", {"metric": "prediction"}),
    "LangSmith": File("langchain-ai/langsmith-sdk ExperimentResults.to_pandas().to_csv", table_of("inputs.question,outputs.answer,error,feedback.correctness,execution_time,example_id", lambda n, one, s: f"Q{n},{s},,{one},1.5,e{n}"), "experiment.csv", {"score_column": "feedback.correctness"}, "choose_score_column"),
    "MMLU-Pro": File("TIGER-AI-Lab/MMLU-Pro evaluate_from_api.py", array_of(lambda n, one, s: {"question_id": 70 + n, "question": f"Q{n}", "answer": "A", "answer_index": 0, "category": "law", "pred": "A", "model_outputs": s, "correct": bool(one)}), "law_result.json", {"metric": "correct"}, right=True),
    "LiveCodeBench": File("LiveCodeBench/LiveCodeBench lcb_runner/runner/main.py save_eval_results", array_of(lambda n, one, s: {"question_title": f"T{n}", "question_id": f"abc{n}", "difficulty": "easy", "code_list": [s], "graded_list": [bool(one)], "pass@1": one}), "eval_all.json", {"metric": "pass@1"}, "choose_metric", right=True),
    "flexeval": File("sbintuitions/flexeval flexeval/core/evaluate_generation.py outputs.jsonl", lines_of(lambda n, one, s: {"lm_output": s, "task_inputs": {"question": f"Q{n}"}, "references": ["A"], "exact_match": one}), "outputs.jsonl"),
    "PyTerrier": File("terrier-org/pyterrier pt.Experiment(perquery=True).to_csv", table_of("name,qid,measure,value", lambda n, one, s: f"{s},{n},map,{one}"), "perquery.csv"),
    "R write.csv": File("r-project write.csv", table_of('"","accuracy"', lambda n, one, s: f'"item{n}",{one}'), "r.csv"),
    "pandas to_csv": File("pandas-dev/pandas DataFrame.to_csv", table_of(",question_id,accuracy", lambda n, one, s: f"{n},q{n},{one}"), "pandas.csv"),
    "datasets to_json": File("huggingface/datasets Dataset.to_json", lines_of(lambda n, one, s: {"id": f"q{n}", "prompt": f"Q{n}", "completion": s, "accuracy": one}), "eval.jsonl"),
    "sacreBLEU sentences": File("mjpost/sacrebleu corpus_score by sentence, one number a line", lambda scores, system: "".join(f"{one}\n" for one in scores), "bleu.txt"),
    "ROUGE": File("google-research/google-research rouge/io.py, a line a pair", table_of("id,rouge1-P,rouge1-R,rouge1-F", lambda n, one, s: f"{n},0.5,0.5,{one}"), "rouge.csv", {"score_column": "rouge1-F"}, "choose_score_column"),
    "DuckDB": File("duckdb/duckdb COPY (…) TO 'x.json' (ARRAY true)", array_of(lambda n, one, s: {"item_id": n, "score": one}), "x.json"),
    "Inspect dataframe": File("UKGovernmentBEIS/inspect_ai samples_df().to_csv", table_of("sample_id,id,epoch,score_match", lambda n, one, s: f"{s}{n},{n},1,{one}"), "samples.csv"),
    "lm-eval table": File("EleutherAI/lm-evaluation-harness samples as CSV by doc_id", table_of("doc_id,target,filter,acc", lambda n, one, s: f"{n},A,none,{one}"), "samples.csv"),
    "SWE-bench": File("SWE-bench/SWE-bench swebench/harness/reporting.py make_run_report", swe_report, "gpt.run.json", right=True),
    "EvalPlus": File("evalplus/evalplus evalplus/evaluate.py evaluate", evalplus, "samples_eval_results.json", {"metric": "plus"}, "choose_metric", right=True),
    "COMET --to_json": File("Unbabel/COMET comet/cli/score.py score_command", comet_json),
    "COMET printed": File("Unbabel/COMET comet/cli/score.py score_command", comet_printed, "scores.txt"),
    "OpenCompass": File("open-compass/opencompass opencompass/tasks/openicl_eval.py format_details", opencompass, right=True),
    "DeepEval": File("confident-ai/deepeval deepeval/test_run/api.py LLMApiTestCase", deepeval, "test_run.json"),
    "MT-Bench single": File("lm-sys/FastChat fastchat/llm_judge/common.py play_a_match_single", mt_bench, "gpt-4_single.jsonl"),
    "AlpacaEval": File("tatsu-lab/alpaca_eval src/alpaca_eval/metrics/winrate.py", alpaca, "annotations.json"),
    "SQuAD": File("rajpurkar/SQuAD-explorer evaluate-v2.0.py", squad, "predictions.json", {"metric": "exact"}, "choose_metric", right=True, gold=squad_gold),
    "pytrec_eval": File("cvangysel/pytrec_eval RelevanceEvaluator.evaluate, json.dump", trec_per_query, "run.json", {"metric": "map"}, "choose_metric"),
    "pandas split": File("pandas-dev/pandas DataFrame.to_json(orient='split')", pandas_split),
    "MLflow": File("mlflow/mlflow eval_results_table.json", mlflow, "eval_results_table.json"),
    "wandb.Table": File("wandb/wandb sdk/data_types/table.py to_json", wandb_table, "table.table.json"),
    "pandas columns": File("pandas-dev/pandas DataFrame.to_json()", pandas_columns),
    "pandas table": File("pandas-dev/pandas DataFrame.to_json(orient='table')", pandas_table),
    "pandas list": File("pandas-dev/pandas DataFrame.to_dict('list')", polars_columns),
    "Braintrust": File("braintrustdata/braintrust-sdk EvalResult", braintrust, "experiment.jsonl", {"metric": "scores.Factuality"}, "choose_metric"),
    "OLMES": File("allenai/olmes predictions.jsonl", olmes, "predictions.jsonl", {"metric": "acc_raw"}, "choose_metric"),
    "ir_measures -q": File("terrierteam/ir_measures ir_measures/__main__.py", ir_measures, "run.txt"),
    "ir_measures jsonl": File("terrierteam/ir_measures ir_measures/__main__.py --output jsonl", ir_measures_jsonl, "run.jsonl"),
    "trec_eval -q": File("usnistgov/trec_eval -q", trec_eval, "run.eval"),
    "Kaldi per_utt": File("kaldi-asr/kaldi egs/wsj/s5/utils/scoring/wer_per_utt_details.pl", kaldi, "per_utt"),
    "jiwer counts": File("jitsi/jiwer process_words, as a table", counts_csv, "wer.csv"),
    "mt-metrics-eval": File("google-research/mt-metrics-eval mt_metrics_eval/data.py ReadScoreFile", seg_score, "BLEU-refA.seg.score"),
}  # fmt: skip


@pytest.mark.parametrize("tool", TOOLS)
def test_a_file_is_read_at_once_or_asked_about_with_a_choice_that_works(tool: str, service: Service) -> None:
    made = TOOLS[tool]
    u, v = (RIGHT_U, RIGHT_V) if made.right else (U, V)
    files = {
        role: (f"{role}-{made.name}", made.write(own, name))
        for role, own, name in (("u", u, "new"), ("v", v, "old"))
    }
    if made.gold is not None:
        files["gold"] = ("gold.json", made.gold())
    if made.asks is not None:
        flaw = problem(service.post(FILES, files=files), 422)["errors"][0]
        assert flaw["code"] == made.asks
        (option, value), *_ = made.fields.items()
        assert any(str(choice["fields"].get(option, "")).endswith(value) for choice in flaw["choices"])
    answer = service.post(FILES, files=files, data=dict(made.fields))
    assert answer.status_code == 200, answer.text
    said = answer.json()
    assert said["p_value"] == pytest.approx(p_of(u, v), rel=1e-12)
    assert said["statistic"]["u"] == pytest.approx(sum(u) / len(u), rel=1e-12)
    assert said["statistic"]["v"] == pytest.approx(sum(v) / len(v), rel=1e-12)


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
        text = lines([
            {"question_id": row["question_id"], "model_1": "x", "model_2": "y", "g1_winner": first.get(str(row["winner"]), "model_1"), "g2_winner": first.get(str(row["winner"]), "model_2"), "judge": ["gpt-4", "pair-v2"], "turn": 1}
            for row in rows
        ])  # fmt: skip
    answer = service.post(FILES, files={"file": ("battles", text)})
    assert answer.status_code == 200, answer.text
    assert answer.json()["p_value"] == pytest.approx(2 * (1 + 5) / 2**5)
    board = service.post(COMPARE, files={"file": ("battles", text)})
    assert {one["name"]: one["rank"] for one in board.json()["systems"]} == {"x": 1, "y": 2}


def test_many_systems_of_one_file_are_a_board(service: Service) -> None:
    systems = {"new": U, "old": V, "third": U[::-1]}
    comet = json.dumps(
        {f"{name}.txt": json.loads(comet_json(own, name))[f"{name}.txt"] for name, own in systems.items()}
    )
    judged = "".join(mt_bench(own, name) for name, own in systems.items())
    scored = "".join(seg_score(own, name) for name, own in systems.items())
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


def test_older_results_of_swe_bench_count_what_they_do_not_name(service: Service) -> None:
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
    pytest.importorskip("pytrec_eval")
    qrels = "query-id\tcorpus-id\tscore\n1\tb\t1\n2\tx\t1\n2\ty\t2\n"
    u, v = "1\tb\t1\n1\ta\t2\n2\ty\t1\n2\tx\t2\n", "1\ta\t1\n1\tb\t2\n2\tx\t1\n2\ty\t2\n"
    files = {"u": ("u.tsv", u), "v": ("v.tsv", v), "qrels": ("test.tsv", qrels)}
    said = service.post(FILES, files=files, data={"measure": "recip_rank"}).json()
    assert (said["statistic"]["u"], said["statistic"]["v"], said["p_value"]) == (1.0, 0.75, 1.0)


def test_numbered_lines_of_fairseq_are_asked_about_and_then_paired_by_number(service: Service) -> None:
    pytest.importorskip("sacrebleu")
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


def test_a_submission_and_its_solution_are_asked_what_is_compared(service: Service) -> None:
    solution = "id,target,Usage\n1,1,Public\n2,0,Private\n3,0,Public\n4,1,Private\n"
    u, v = "id,target\n1,0.9\n2,0.1\n3,0.4\n4,0.8\n", "id,target\n4,0.3\n2,0.5\n3,0.4\n1,0.6\n"
    files = {"u": ("submission.csv", u), "v": ("sample.csv", v), "gold": ("solution.csv", solution)}
    flaw = problem(service.post(FILES, files=files), 422)["errors"][0]
    assert flaw["code"] == "choose_statistic"
    said = service.post(FILES, files=files, data=flaw["choices"][0]["fields"]).json()
    assert (said["statistic"]["name"], said["statistic"]["u"], said["statistic"]["v"]) == ("auc", 1.0, 0.5)


def test_runs_of_one_benchmark_are_no_pairs(service: Service) -> None:
    def file(times: Scores) -> str:
        return json.dumps({"results": [{"command": "build", "mean": 1.0, "times": list(times)}]})

    said = service.post(FILES, files={"u": ("u.json", file(U)), "v": ("v.json", file(V))}).json()
    assert "one_item" in {warning["code"] for warning in said["warnings"]}


REFUSED: dict[str, tuple[str, str, str, str]] = {
    "lm-eval results": (json.dumps({"results": {"arc": {"acc,none": 0.7}}, "n-samples": {"arc": {"original": 100}}}), "averages_only", "--log_samples", "results_1.json"),
    "MTEB": (json.dumps({"dataset_revision": "abc", "task_name": "STS12", "mteb_version": "1.18", "scores": {"test": [{"main_score": 0.75, "hf_subset": "default"}]}}), "averages_only", "a line for each", "STS12.json"),
    "parts": (json.dumps({"train": {"accuracy": 0.9}, "test": {"accuracy": 0.8}}), "averages_only", "items", "metrics.json"),
    "Markdown table": ("| id | score |\n|---|---:|\n| a | 0.5 |\n", "markdown_table", "CSV", "table.md"),
    "mean and deviation": ("id,score\na,0.81 ± 0.02\nb,0.75 ± 0.01\n", "not_a_number", "average", "table.csv"),
    "SQuAD predictions alone": (squad(RIGHT_U, "new"), "missing_file", "gold", "predictions.json"),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_files_without_items_are_refused_and_say_what_would_do(what: str, service: Service) -> None:
    text, code, word, name = REFUSED[what]
    said = problem(service.post(FILES, files={"u": (name, text), "v": (name, text)}), 422)
    assert said["errors"][0]["code"] == code
    assert word in said["detail"]


def test_lists_of_which_several_may_be_the_items_are_asked_about(service: Service) -> None:
    def file(scores: Scores) -> str:
        rows = [{"id": n, "score": one} for n, one in enumerate(scores)]
        return json.dumps({"results": {"items": rows}, "examples": rows[::-1]})

    files = {"u": ("u.json", file(U)), "v": ("v.json", file(V))}
    flaw = problem(service.post(FILES, files=files), 422)["errors"][0]
    assert flaw["code"] == "choose_path"
    for choice in flaw["choices"]:
        answer = service.post(FILES, files=files, data=choice["fields"])
        assert answer.json()["p_value"] == pytest.approx(p_of(U, V)), answer.text


def test_other_items_in_the_same_places_are_refused(service: Service) -> None:
    other = comet_json(V, "old").replace("Satz 3", "Ein anderer")
    files = {"u": ("u.json", comet_json(U, "new")), "v": ("v.json", other)}
    flaw = problem(service.post(FILES, files=files), 422)["errors"][0]
    assert (flaw["code"], flaw["pointer"]) == ("src_mismatch", "/files/v/old.txt/3/src")
