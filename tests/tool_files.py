"""Files of evaluation tools, each as its tool writes it, with made-up values.

`source` names the repository and the path of what writes the file (or of one that it wrote), and `READ` the commit that was read;
or a version that was run, or documentation. `tests/api/test_files_of_tools.py` sends each pair, and `docs/tools.md` has the table of them.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Values = Sequence[float]
Write = Callable[[Values, str], str]
Row = Callable[[int, float, str], Any]

SCORES = ([0.75, 0.5, 0.25, 1.0, 0.5, 0.75], [0.5, 0.25, 0.5, 0.5, 0.5, 0.25])
PERCENT = ([75.0, 50.0, 25.0, 100.0, 50.0, 75.0], [50.0, 25.0, 50.0, 50.0, 50.0, 25.0])
RIGHT = ([1, 1, 0, 1, 1, 1, 0, 1], [0, 1, 0, 0, 0, 1, 1, 0])
VOTES = ([1, 1, 0.5, 1, 0, 1, 0.5, 1], [0, 0, 0.5, 0, 1, 0, 0.5, 0])
RANKS = (
    [1.0, 0.5, 0.25, 1.0, 0.5, 1.0],
    [0.5, 0.25, 0.5, 0.5, 0.5, 0.25],
)  # one over the rank of what is relevant
ERRORS = ([0.0, 0.25, 0.5, 0.0, 0.25, 0.25], [0.25, 0.5, 0.25, 0.5, 0.25, 0.75])  # of four words

READ = {
    "allenai/reward-bench": "05a9005efb60", "amazon-science/RAGChecker": "6091f08c00e6", "AmenRa/ranx": "2cae52f00c2c",
    "Arize-ai/phoenix": "9478f954bbc6", "beir-cellar/beir": "ef83d2930706", "bigcode-project/bigcodebench": "47eff25a9933",
    "bnjmn/weka": "37ce91dfa1e9", "castorini/anserini": "81e3414573a3", "cmu-mtlab/meteor": "57a9ec5d5f65",
    "confident-ai/deepeval": "a2e0d4cfd311", "davidheineman/olmes": "6e901a3011a6",
    "davisvideochallenge/davis2017-evaluation": "ac7c43fca936", "deepset-ai/haystack": "c7cb46c0f28a",
    "EleutherAI/lm-evaluation-harness": "4e7e0d47f33b", "espnet/espnet": "004c30cf4e5a", "evalplus/evalplus": "26d6d00bb1fd",
    "EvolvingLMMs-Lab/lmms-eval": "75571cfe0fa3", "explodinggradients/ragas": "3e28e9dec938",
    "finyorko/longcli-bench": "82c7eb3b3b1c", "flairNLP/flair": "d4ea3777998b", "Giskard-AI/giskard": "814a9dda633d",
    "google-research/bleurt": "cebe7e6f996b", "google-research/google-research": "4c4299485319",
    "google-research/metricx": "fc4978eb0646", "google-research/mt-metrics-eval": "68a481aea1a7",
    "google/wmt-mqm-human-evaluation": "7fadea281aff", "hotpotqa/hotpot": "3635853403a8",
    "huggingface/lighteval": "3fd15266bc84", "huggingface/open_asr_leaderboard": "d1e99b255248",
    "huggingface/transformers": "0055f834470c", "kaldi-asr/kaldi": "f4007661023b", "langchain-ai/langsmith-sdk": "bc8dd672a7b9",
    "LiveCodeBench/LiveCodeBench": "28fef95ea8c9", "lm-sys/FastChat": "0e6d3e4beaab", "lmarena/arena-hard-auto": "196f6b826783",
    "m-popovic/chrF": "6d3c384c8327", "MIC-DKFZ/nnUNet": "0e495086eb10", "mjpost/sacrebleu": "f615c7286d4d",
    "mlflow/mlflow": "2203b1c6bd57", "modelscope/evalscope": "fde259d2a32a", "moses-smt/mosesdecoder": "34452895f350",
    "NVIDIA/NeMo": "8cfedd720346", "open-compass/opencompass": "a5acc4bba3b6", "open-compass/VLMEvalKit": "e8e78f05f308",
    "openai/evals": "4bfc1f58a821", "openai/human-eval": "9d3aa8bd1f0f", "openml/automlbenchmark": "dfe8d21871e2",
    "Project-MONAI/MONAI": "d388d1c6fec8", "promptfoo/promptfoo": "15e7d51283ff", "QData/TextAttack": "f800c2c03bab",
    "rajpurkar/SQuAD-explorer": "eee5fdbf62f8", "salaniz/pycocoevalcap": "ad63453cfab5",
    "sbintuitions/flexeval": "8a07c3cad744", "sierra-research/tau-bench": "59a200c6d575",
    "speechbrain/speechbrain": "9c826ef3937b", "stanford-crfm/helm": "63754d05db6f",
    "stanford-futuredata/ColBERT": "501c29d9e0b7", "stanfordnlp/dspy": "03125efdf549", "SWE-bench/SWE-bench": "09749dc09bf5",
    "tatsu-lab/alpaca_eval": "cd543a149df8", "terrier-org/pyterrier": "9230fe5dc853", "terrierteam/ir_measures": "dc04a88f49b1",
    "TIGER-AI-Lab/MMLU-Pro": "f418b116db00", "Tiiiger/bert_score": "19e7f551fe4f", "truera/trulens": "97f531aee755",
    "UKGovernmentBEIS/inspect_ai": "499e6152e7b8", "Unbabel/COMET": "da61b810ea06",
    "UniversalDependencies/UD_English-EWT": "15d613d8447b", "usnistgov/SCTK": "9688a26882a6",
    "usnistgov/trec_eval": "f4253652c8ef", "wandb/wandb": "b6e29505884e", "wch/r-source": "1583f1d62026",
    "wenet-e2e/wenet": "015469960db7",
}  # fmt: skip


@dataclass(frozen=True)
class Tool:
    """A file of a tool: `asked` answers its questions in turn; `more` are the files beside u and v."""

    file: str
    source: str
    write: Write
    values: tuple[Values, Values] = SCORES
    asked: Mapping[str, str] = field(default_factory=dict)
    more: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    joined: bool = False  # both systems are in one file

    @property
    def read_at(self) -> str:
        """The repository with its commit, and the path."""
        repository, _, path = self.source.partition(" ")
        return f"{repository}@{READ[repository]} {path}" if repository in READ else self.source


def text(row: Row, before: str = "", after: str = "") -> Write:
    """A line for each item, between others."""
    return lambda values, system: (
        before + "".join(f"{row(n, one, system)}\n" for n, one in enumerate(values)) + after
    )


def lines(row: Row, *before: Any) -> Write:
    """A JSON object for each item, on a line of its own."""
    return lambda values, system: "".join(
        json.dumps(one) + "\n" for one in (*before, *(row(n, one, system) for n, one in enumerate(values)))
    )


def whole(make: Callable[[list[Any], str], Any], row: Row) -> Write:
    """One JSON document, made of a list with an entry for each item."""
    return lambda values, system: json.dumps(
        make([row(n, one, system) for n, one in enumerate(values)], system)
    )


def array(row: Row) -> Write:
    """One JSON array."""
    return whole(lambda rows, system: rows, row)


def by(name: str, rows: Sequence[Any]) -> dict[str, Any]:
    """The entries of items by their ids."""
    return {name.format(n): row for n, row in enumerate(rows)}


def sample(n: int, value: float, system: str) -> dict[str, Any]:
    """A document's record of lm-evaluation-harness and lmms-eval."""
    return {
        "doc_id": n, "doc": {"question": f"Q{n}"}, "target": "A", "arguments": {}, "resps": [[system]], "filtered_resps": [system],
        "doc_hash": f"d{n}", "exact_match": float(value),
    }  # fmt: skip


def swe_report(resolved: Sequence[bool], system: str) -> dict[str, Any]:
    """The report of a run of SWE-bench."""
    ids = [f"django__django-{n}" for n in range(len(resolved))]
    solved = [key for key, one in zip(ids, resolved, strict=True) if one]
    rest = [key for key in ids if key not in solved]
    return {
        "total_instances": 500, "submitted_instances": len(ids), "completed_instances": len(ids), "resolved_instances": len(solved),
        "unresolved_instances": len(rest), "empty_patch_instances": 0, "error_instances": 0, "completed_ids": ids,
        "incomplete_ids": ["x-1"], "empty_patch_ids": [], "submitted_ids": ids, "resolved_ids": solved, "unresolved_ids": rest,
        "error_ids": [], "schema_version": 2,
    }  # fmt: skip


def inspect_log(samples: list[Any], system: str) -> dict[str, Any]:
    """A log of Inspect."""
    made = {
        "run_id": "r",
        "created": "2026-01-01T00:00:00+00:00",
        "task": "gsm8k",
        "task_id": "t",
        "model": system,
    }
    score = {
        "name": "match",
        "scorer": "match",
        "params": {},
        "metrics": {"accuracy": {"name": "accuracy", "value": 0.5}},
    }
    return {
        "version": 2, "status": "success", "eval": {**made, "dataset": {"name": "gsm8k", "samples": 8}, "config": {"epochs": 1}},
        "results": {"total_samples": 8, "completed_samples": 8, "scores": [score]}, "samples": samples,
    }  # fmt: skip


def ranked(line: Callable[[int, str, int, str], str]) -> Write:
    """A run with four documents of each query, of which `r` is relevant."""
    return lambda values, system: "".join(
        line(query, "r" if rank == round(1 / one) else f"n{rank}", rank, system) + "\n"
        for query, one in enumerate(values)
        for rank in range(1, 5)
    )


def qrels(line: str, before: str = "") -> dict[str, tuple[str, str]]:
    """Judgements of the queries of `ranked`."""
    return {"qrels": ("qrels.txt", before + "".join(line.format(query) + "\n" for query in range(6)))}


def spoken(value: float) -> str:
    """A transcript of four words with this number of errors."""
    wrong = round(4 * value)
    return " ".join(["x"] * wrong + list("abcd")[wrong:])


def wrong(value: float) -> int:
    """The errors in four words."""
    return round(4 * value)


QUESTIONS = [
    {"id": f"56be{n}", "question": "?", "answers": [{"text": "Denver Broncos", "answer_start": 1}, {"text": "Broncos", "answer_start": 8}]}
    for n in range(8)
]  # fmt: skip
SQUAD = {"version": "1.1", "data": [{"title": "t", "paragraphs": [{"context": "c", "qas": QUESTIONS}]}]}
TESTED, WEKA = "AB", ("1:no", "2:yes")


def turn_of_mt_bench(turn: int) -> Write:
    """The judgements of one of the two turns of each question."""
    return lines(
        lambda n, x, s: {
            "question_id": 81 + n,
            "model": s,
            "judge": ["gpt-4", "single-v1"],
            "user_prompt": "…",
            "judgment": "[[8]]",
            "score": x,
            "turn": turn,
            "tstamp": 0.5,
        }
    )


TOOLS: dict[str, Tool] = {
    # Harnesses of language models
    "lm-evaluation-harness": Tool("samples_gsm8k_2026-01-01T00-00-00.000000.jsonl", "EleutherAI/lm-evaluation-harness lm_eval/evaluator.py",
        lines(lambda n, x, s: {**sample(n, x, s), "filter": "none", "metrics": ["exact_match"], "prompt_hash": f"p{n}", "target_hash": "t"}), RIGHT),
    "lmms-eval": Tool("20260101_000000_samples_mmmu_val.jsonl", "EvolvingLMMs-Lab/lmms-eval lmms_eval/evaluator.py",
        lines(lambda n, x, s: {**sample(n, x, s), "token_counts": [{"output_tokens": 3}], "input": f"Q{n}"}), RIGHT),
    "Inspect": Tool("log.json", "UKGovernmentBEIS/inspect_ai src/inspect_ai/log/_log.py",
        whole(inspect_log, lambda n, x, s: {"id": n + 1, "epoch": 1, "input": f"Q{n}", "target": "A", "messages": [], "output": {"model": s}, "scores": {"match": {"value": "C" if x else "I", "answer": "A"}}}), RIGHT),
    "Inspect, samples_df": Tool("samples.csv", "UKGovernmentBEIS/inspect_ai src/inspect_ai/analysis/_dataframe/samples/columns.py",
        text(lambda n, x, s: f"{s}{n},e1,log.json,{n + 1},1,Q{n},A,{x},120,1.5,2,,", "sample_id,eval_id,log,id,epoch,input,target,score_match,total_tokens,total_time,message_count,error,limit\n"), SCORES, {"score_column": "score_match"}),
    "HELM": Tool("per_instance_stats.json", "stanford-crfm/helm src/helm/benchmark/metrics/metric.py",
        array(lambda n, x, s: {"instance_id": f"id{n}", "train_trial_index": 0, "stats": [{"name": {"name": "exact_match", "split": "test"}, "count": 1, "sum": x, "sum_squared": x, "min": x, "max": x, "mean": x, "variance": 0.0, "stddev": 0.0}]}), RIGHT),
    "OpenAI evals": Tool("run.jsonl", "openai/evals evals/record.py",
        lines(lambda n, x, s: {"run_id": "r", "event_id": n, "sample_id": f"e.dev.{n}", "type": "match", "data": {"correct": bool(x), "expected": "A", "picked": "A", "sampled": s, "options": ["A"]}, "created_by": "", "created_at": "2026-01-01 00:00:00+00:00"},
            {"spec": {"completion_fns": ["m"], "eval_name": "e.dev.match", "base_eval": "e", "split": "dev", "run_config": {}, "created_by": "", "run_id": "r", "created_at": "2026-01-01 00:00:00"}}, {"final_report": {"accuracy": 0.5}}), RIGHT),
    "OpenCompass": Tool("gsm8k.json", "open-compass/opencompass opencompass/tasks/openicl_eval.py",
        whole(lambda rows, s: {"accuracy": 50.0, "details": {"type": "GEN", **by("{}", rows)}}, lambda n, x, s: {"prompt": f"Q{n}", "origin_prediction": s, "predictions": "A" if x else "B", "references": "A", "correct": bool(x)}), RIGHT),
    "flexeval": Tool("outputs.jsonl", "sbintuitions/flexeval flexeval/core/evaluate_generation.py",
        lines(lambda n, x, s: {"lm_prompt": f"Q{n}", "lm_output": s, "finish_reason": "stop", "extra_info": {"question": f"Q{n}"}, "references": ["A"], "exact_match": bool(x)}), RIGHT),
    "EvalScope": Tool("gsm8k_main.jsonl", "modelscope/evalscope evalscope/api/evaluator/cache.py",
        lines(lambda n, x, s: {"index": n, "target": "A", "messages": [{"role": "user", "content": f"Q{n}"}], "sample_score": {"score": {"value": {"acc": float(x)}, "extracted_prediction": "A", "prediction": s, "status": "success"}, "sample_id": n, "group_id": n, "sample_metadata": {}}}), RIGHT),
    "VLMEvalKit": Tool("m_MMBench_result.tsv", "open-compass/VLMEvalKit vlmeval/dataset/image_mcq.py",
        text(lambda n, x, s: f"{n}\tQ{n}\ta\tb\t{TESTED[n % 2]}\tcat\tdev\t{s}\t{x}\tlog", "index\tquestion\tA\tB\tanswer\tcategory\tsplit\tprediction\thit\tlog\n"), RIGHT),
    "OLMES": Tool("task-000-arc_challenge-predictions.jsonl", "davidheineman/olmes oe_eval/run_eval.py",
        lines(lambda n, x, s: {"doc_id": n, "native_id": f"M{n}", "metrics": {"acc_raw": float(x), "acc_per_char": 0.5}, "model_output": [{"sum_logits": -1.5}], "label": 0, "task_hash": "t", "model_hash": s}), RIGHT, {"metric": "metrics.acc_raw"}),
    "lighteval": Tool("details_gsm8k_2026-01-01T00-00-00.000000.jsonl", "huggingface/lighteval src/lighteval/logging/info_loggers.py",
        lines(lambda n, x, s: {"doc": {"query": f"Q{n}", "choices": [" A", " B"], "gold_index": 0, "id": str(n), "task_name": "gsm8k"}, "metric": {"acc": x}, "model_response": {"text": [s], "logprobs": [-1.5], "input_tokens": [1]}}), RIGHT),
    "promptfoo": Tool("results.json", "promptfoo/promptfoo test/__fixtures__/sample-export.json",
        whole(lambda rows, s: {"evalId": "e", "results": {"version": 3, "timestamp": "2026-01-01T00:00:00Z", "prompts": [], "results": rows, "stats": {}}}, lambda n, x, s: {"promptIdx": 0, "testIdx": n, "testCase": {"vars": {"q": f"Q{n}"}}, "promptId": "p", "provider": {"id": s, "label": ""}, "prompt": {"raw": "{{q}}", "label": "{{q}}"}, "vars": {"q": f"Q{n}"}, "response": {"output": s}, "success": x >= 0.5, "score": x, "namedScores": {}, "failureReason": 0 if x >= 0.5 else 1})),
    # Benchmarks
    "LiveCodeBench": Tool("Scenario.codegeneration_1_0.2_eval_all.json", "LiveCodeBench/LiveCodeBench lcb_runner/benchmarks/code_generation.py",
        array(lambda n, x, s: {"question_title": f"T{n}", "question_content": f"Q{n}", "platform": "leetcode", "question_id": f"abc{n}", "contest_id": "c1", "contest_date": "2026-01-01T00:00:00", "starter_code": "", "difficulty": "easy", "output_list": [s], "code_list": [s], "graded_list": [bool(x)], "pass@1": float(x), "metadata": ["{}"]}), RIGHT, {"metric": "pass@1"}),
    "EvalPlus": Tool("samples_eval_results.json", "evalplus/evalplus evalplus/evaluate.py",
        whole(lambda rows, s: {"date": "2026-01-01 00:00", "hash": "0", "eval": by("HumanEval/{}", [[row] for row in rows]), "pass_at_k": {"base": {"pass@1": 1.0}, "plus": {"pass@1": 0.5}}}, lambda n, x, s: {"task_id": f"HumanEval/{n}", "solution": s, "base_status": "pass", "plus_status": "pass" if x else "fail", "base_fail_tests": [], "plus_fail_tests": []}), RIGHT, {"metric": "plus"}),
    "BigCodeBench": Tool("samples_eval_results.json", "bigcode-project/bigcodebench bigcodebench/evaluate.py",
        whole(lambda rows, s: {"date": "2026-01-01 00:00", "eval": by("BigCodeBench/{}", [[row] for row in rows])}, lambda n, x, s: {"task_id": f"BigCodeBench/{n}", "solution": s, "status": "pass" if x else "fail", "details": {} if x else {"test_a": "…"}}), RIGHT),
    "HumanEval": Tool("samples.jsonl_results.jsonl", "openai/human-eval human_eval/evaluation.py",
        lines(lambda n, x, s: {"task_id": f"HumanEval/{n}", "completion": s, "result": "passed" if x else "failed: ", "passed": bool(x)}), RIGHT),
    "IFEval": Tool("eval_results_strict.jsonl", "google-research/google-research instruction_following_eval/evaluation_lib.py",
        lines(lambda n, x, s: {"follow_all_instructions": bool(x), "follow_instruction_list": [True, bool(x)], "instruction_id_list": ["a:b", "c:d"], "prompt": f"Q{n}", "response": s}), RIGHT, {"metric": "follow_all_instructions"}),
    "tau-bench": Tool("tool-calling-m-0.0_range_0--1.json", "sierra-research/tau-bench tau_bench/run.py",
        array(lambda n, x, s: {"task_id": n, "reward": float(x), "info": {"task": {"user_id": "x"}, "user_cost": 0.1}, "traj": [{"role": "user", "content": f"Q{n}"}], "trial": 0}), RIGHT, {"metric": "reward"}),
    "Terminal-Bench": Tool("results.json", "finyorko/longcli-bench terminal_bench/harness/models.py",
        whole(lambda rows, s: {"id": s, "results": rows, "pass_at_k": {"1": 0.5}, "n_resolved": 5, "n_unresolved": 3, "resolved_ids": [row["task_id"] for row in rows if row["is_resolved"]], "unresolved_ids": [row["task_id"] for row in rows if not row["is_resolved"]], "accuracy": 0.5},
            lambda n, x, s: {"id": f"{s}-{n}", "trial_name": f"t{n}.1-of-1.{s}", "task_id": f"t{n}", "instruction": f"Q{n}", "is_resolved": bool(x), "failure_mode": "unset", "parser_results": {"test_a": "passed"}, "total_input_tokens": 10}), RIGHT),
    "SWE-bench": Tool("m.run.json", "SWE-bench/SWE-bench swebench/harness/reporting.py", whole(swe_report, lambda n, x, s: x), RIGHT),
    "RewardBench": Tool("m_outputs.jsonl", "allenai/reward-bench rewardbench/rewardbench.py",
        lines(lambda n, x, s: {"prompt": f"Q{n}", "results": int(x), "scores_chosen": 0.5 + x, "scores_rejected": 1.0, "text_chosen": "a", "text_rejected": "b", "subset": "alpacaeval-easy", "id": n}), RIGHT, {"metric": "results"}),
    "SQuAD": Tool("predictions.json", "rajpurkar/SQuAD-explorer evaluate-v2.0.py",
        whole(lambda rows, s: by("56be{}", rows), lambda n, x, s: "the Denver Broncos!" if x else "Carolina"), RIGHT, {"metric": "exact"}, {"gold": ("dev-v1.1.json", json.dumps(SQUAD))}),
    "HotpotQA": Tool("pred.json", "hotpotqa/hotpot hotpot_evaluate_v1.py",
        whole(lambda rows, s: {"answer": by("5a{}", rows), "sp": by("5a{}", [[["T", 0]] for _ in rows])}, lambda n, x, s: "yes" if x else "no"), RIGHT, {"metric": "exact"},
        {"gold": ("hotpot_dev_distractor_v1.json", json.dumps([{"_id": f"5a{n}", "answer": "yes", "question": "?", "supporting_facts": [["T", 0]], "context": [["T", ["s"]]], "type": "bridge", "level": "hard"} for n in range(8)]))}),
    "GLUE, run_glue.py": Tool("predict_results_sst2.txt", "huggingface/transformers examples/pytorch/text-classification/run_glue.py",
        text(lambda n, x, s: f"{n}\t{'positive' if (n % 2 == 0) == bool(x) else 'negative'}", "index\tprediction\n"), RIGHT, {},
        {"gold": ("gold.tsv", "index\tlabel\n" + "".join(f"{n}\t{'negative' if n % 2 else 'positive'}\n" for n in range(8)))}),
    "TextAttack": Tool("log.csv", "QData/TextAttack textattack/loggers/csv_logger.py",
        text(lambda n, x, s: f'"t{n}","p{s}",{x},0.5,1,0,1,{30 + n},"Successful"', '"original_text","perturbed_text","original_score","perturbed_score","original_output","perturbed_output","ground_truth_output","num_queries","result_type"\n'), SCORES, {"score_column": "original_score"}),
    "MMLU-Pro": Tool("law_result.json", "TIGER-AI-Lab/MMLU-Pro evaluate_from_api.py",
        array(lambda n, x, s: {"question_id": 70 + n, "question": f"Q{n}", "options": ["a", "b"], "answer": TESTED[n % 2], "answer_index": n % 2, "cot_content": "", "category": "law", "src": "s", "pred": TESTED[n % 2 if x else 1 - n % 2], "model_outputs": s}), RIGHT, {"format": "labels"}),
    # Judges and votes
    "AlpacaEval": Tool("annotations.json", "tatsu-lab/alpaca_eval results/Ein-70B-v0.1/alpaca_eval_gpt4_turbo_fn/annotations.json",
        array(lambda n, x, s: {"instruction": f"Q{n}", "output_1": "base", "generator_1": "gpt4_1106_preview", "dataset": "helpful_base", "output_2": s, "generator_2": s, "annotator": "a", "preference": 1.0 + x, "time_per_example": 0.5, "price_per_example": 0.01, "raw_completion": "…"})),
    "Arena-Hard": Tool("m.jsonl", "lmarena/arena-hard-auto gen_judgment.py",
        lines(lambda n, x, s: {"uid": f"u{n}", "category": "hard_prompt", "judge": "gpt-4.1", "model": s, "baseline": "o3-mini", "games": [{"score": "B>>A" if x >= 0.5 else "A>B", "judgment": {"answer": "…"}, "prompt": []}, {"score": {0.25: "A=B", 0.5: "B>A", 0.75: "A=B", 1.0: "A>B"}[x], "judgment": {"answer": "…"}, "prompt": []}]})),
    "MT-Bench, single": Tool("gpt-4_single.jsonl", "lm-sys/FastChat fastchat/llm_judge/common.py",
        lambda values, system: "".join(turn_of_mt_bench(turn)(values, system) for turn in (1, 2))),
    "MT-Bench, pair": Tool("gpt-4_pair.jsonl", "lm-sys/FastChat fastchat/llm_judge/common.py",
        lambda values, system: "" if system == "old" else lines(lambda n, x, s: {"question_id": 81 + n, "model_1": "new", "model_2": "old", "g1_winner": "model_2" if x == 0 else "model_1", "g2_winner": "model_1" if x == 1 else "model_2", "judge": ["gpt-4", "pair-v2"], "g1_user_prompt": "…", "g1_judgment": "…", "g2_user_prompt": "…", "g2_judgment": "…", "turn": 1, "tstamp": 0.5})(values, system), VOTES, joined=True),
    "Chatbot Arena": Tool("clean_battle_20260101.json", "lm-sys/FastChat fastchat/serve/monitor/clean_battle_data.py",
        lambda values, system: "" if system == "old" else array(lambda n, x, s: {"question_id": f"q{n}", "model_a": "new", "model_b": "old", "winner": ("model_b", "tie (bothbad)", "model_a")[round(2 * x)], "judge": f"arena_user_{n}", "conversation_a": [], "conversation_b": [], "turn": 1, "anony": True, "language": "English", "tstamp": 0.5})(values, system), VOTES, joined=True),
    # Evaluation of applications
    "DeepEval": Tool("test_run_20260101_000000.json", "confident-ai/deepeval deepeval/test_run/api.py",
        whole(lambda rows, s: {"testCases": rows, "conversationalTestCases": [], "metricsScores": [{"metric": "Answer Relevancy", "scores": [1.0], "passes": 1, "fails": 0, "errors": 0}], "testPassed": 3, "testFailed": 3, "runDuration": 1.5, "official": False}, lambda n, x, s: {"name": f"test_case_{n}", "input": f"Q{n}", "actualOutput": s, "flaky": False, "success": x >= 0.5, "metricsData": [{"name": "Answer Relevancy", "threshold": 0.5, "success": x >= 0.5, "score": x, "reason": "…", "strictMode": False, "flaky": False, "evaluationModel": "m", "evaluationCost": 0.01}], "runDuration": 1.5, "evaluationCost": 0.01, "order": n})),
    "Ragas": Tool("ragas.csv", "explodinggradients/ragas src/ragas/dataset_schema.py",
        text(lambda n, x, s: f"q{n},['c'],{s},r{n},{x},0.5", "user_input,retrieved_contexts,response,reference,faithfulness,answer_relevancy\n"), SCORES, {"score_column": "faithfulness"}),
    "LangSmith": Tool("experiment.csv", "langchain-ai/langsmith-sdk python/langsmith/evaluation/_runner.py",
        text(lambda n, x, s: f"{n},Q{n},{s},,A,{x},1.5,e{n},{s}{n}", ",inputs.question,outputs.answer,error,reference.answer,feedback.correctness,execution_time,example_id,id\n"), SCORES, {"score_column": "feedback.correctness"}),
    "TruLens": Tool("records.csv", "truera/trulens src/core/trulens/core/database/sqlalchemy.py",
        text(lambda n, x, s: f"{n},{x},[],0.001,{s}{n},conv,q{n},a{s}{n},-,{{}},{{}},{{}},2026-01-01T00:00:0{n},{s},v1,app_{s},{{}},T,2,100,0.01", ",Groundedness,Groundedness_calls,Groundedness feedback cost in USD,record_id,conversation_id,input,output,tags,record_json,cost_json,perf_json,ts,app_name,app_version,app_id,app_json,type,latency,total_tokens,total_cost\n"), SCORES, {"score_column": "Groundedness"}),
    "Phoenix": Tool("experiment.csv", "Arize-ai/phoenix src/phoenix/server/api/routers/v1/experiments.py",
        text(lambda n, x, s: f'e{n},1,"{{""q"": {n}}}","{{}}",{s},"{{}}",,1500.5,2026-01-01T00:00:00+00:00,2026-01-01T00:00:01+00:00,t{s}{n},10,5,good,{x},why,"{{}}",LLM,,,2026-01-01T00:00:02+00:00,2026-01-01T00:00:03+00:00', "example_id,repetition_number,input,reference_output,output,metadata,error,latency_ms,start_time,end_time,trace_id,prompt_token_count,completion_token_count,annotation_correctness_label,annotation_correctness_score,annotation_correctness_explanation,annotation_correctness_metadata,annotation_correctness_annotator_kind,annotation_correctness_trace_id,annotation_correctness_error,annotation_correctness_start_time,annotation_correctness_end_time\n"), SCORES, {"score_column": "annotation_correctness_score"}),
    "MLflow": Tool("eval_results_table.json", "mlflow/mlflow mlflow/models/evaluation/evaluators/default.py",
        whole(lambda rows, s: {"columns": ["inputs", "ground_truth", "outputs", "token_count", "toxicity/v1/score", "answer_similarity/v1/score", "answer_similarity/v1/justification"], "data": rows}, lambda n, x, s: [f"Q{n}", "A", s, 5, 0.01, x, "…"]), SCORES, {"metric": "answer_similarity/v1/score"}),
    "Weights & Biases": Tool("eval.table.json", "wandb/wandb wandb/sdk/data_types/table.py",
        whole(lambda rows, s: {"columns": ["id", "answer", "score"], "data": rows, "ncols": 3, "nrows": len(rows), "column_types": {"params": {"type_map": {}}, "wb_type": "typedDict"}, "_type": "table"}, lambda n, x, s: [f"k{n}", s, x])),
    "DSPy, save_as_csv": Tool("eval.csv", "stanfordnlp/dspy dspy/evaluate/evaluate.py",
        text(lambda n, x, s: f"Q{n},A,{s},{s},{bool(x)}", "question,example_answer,reasoning,pred_answer,answer_exact_match\n"), RIGHT),
    "DSPy, save_as_json": Tool("eval.json", "stanfordnlp/dspy dspy/evaluate/evaluate.py",
        array(lambda n, x, s: {"question": f"Q{n}", "example_answer": "A", "reasoning": s, "pred_answer": s, "answer_exact_match": bool(x)}), RIGHT),
    "Haystack": Tool("report.csv", "deepset-ai/haystack haystack/evaluation/eval_run_result.py",
        text(lambda n, x, s: f"Q{n},A{n},{s},0.5,{x}", "question,answer,predicted_answer,doc_mrr,faithfulness\n"), SCORES, {"score_column": "faithfulness"}),
    "RAGChecker": Tool("checking_outputs.json", "amazon-science/RAGChecker examples/checking_outputs.json",
        whole(lambda rows, s: {"results": rows, "metrics": {"overall": {"precision": 50.0}}}, lambda n, x, s: {"query_id": str(n), "query": f"Q{n}", "gt_answer": "A", "response": s, "retrieved_context": [{"doc_id": "d", "text": "t"}], "answer2response": ["Entailment"], "metrics": {"precision": 0.5, "recall": 0.5, "f1": x}}), SCORES, {"metric": "metrics.f1"}),
    "Giskard": Tool("report.csv", "Giskard-AI/giskard giskard/rag/report.py",
        text(lambda n, x, s: f"k{n},Q{n},A,ctx,[],{{}},{s},{bool(x)},why", "id,question,reference_answer,reference_context,conversation_history,metadata,agent_answer,correctness,correctness_reason\n"), RIGHT),
    "Braintrust": Tool("experiment.jsonl", "Braintrust documentation",
        lines(lambda n, x, s: {"id": f"s{n}", "input": {"q": f"Q{n}"}, "output": s, "expected": "A", "scores": {"Factuality": x, "Levenshtein": 0.5}, "metadata": {"model": s}}), SCORES, {"metric": "scores.Factuality"}),
    # Retrieval
    "trec_eval -q": Tool("run.eval", "usnistgov/trec_eval meas_print_single.c",
        text(lambda n, x, s: f"map                   \t{300 + n}\t{x:.4f}", "", "runid                 \tall\trun\nmap                   \tall\t0.5000\n")),
    "Anserini": Tool("run.txt", "castorini/anserini src/main/java/io/anserini/search/RunOutputWriter.java",
        ranked(lambda query, document, rank, s: f"{query} Q0 {document} {rank} {9.5 - rank:f} {s}"), RANKS, {}, qrels("{} 0 r 1")),
    "MS MARCO": Tool("run.tsv", "castorini/anserini src/main/java/io/anserini/search/RunOutputWriter.java",
        ranked(lambda query, document, rank, s: f"{query}\t{document}\t{rank}"), RANKS, {}, qrels("{}\t0\tr\t1")),
    "BEIR": Tool("run.trec", "beir-cellar/beir beir/util.py",
        ranked(lambda query, document, rank, s: f"{query} Q0 {document} 0 {0.9 - rank / 10} beir"), RANKS, {}, qrels("{}\tr\t1", "query-id\tcorpus-id\tscore\n")),
    "ranx": Tool("run.trec", "AmenRa/ranx ranx/data_structures/run.py",
        ranked(lambda query, document, rank, s: f"q_{query} Q0 {document} {rank} {0.9 - rank / 10} {s}"), RANKS, {}, qrels("q_{} 0 r 1")),
    "ranx, JSON": Tool("run.json", "AmenRa/ranx ranx/data_structures/run.py",
        whole(lambda rows, s: by("q_{}", rows), lambda n, x, s: {("r" if rank == round(1 / x) else f"n{rank}"): 0.9 - rank / 10 for rank in range(1, 5)}), RANKS, {},
        {"qrels": ("qrels.json", json.dumps({f"q_{n}": {"r": 1} for n in range(6)}))}),
    "ColBERT": Tool("ranking.tsv", "stanford-futuredata/ColBERT colbert/data/ranking.py",
        ranked(lambda query, document, rank, s: f"{query}\t{document}\t{rank}\t{20.5 - rank}"), RANKS, {}, qrels("{}\t0\tr\t1")),
    "PyTerrier": Tool("perquery.csv", "terrier-org/pyterrier pyterrier/_evaluation/_experiment.py",
        lambda values, system: ("name,qid,measure,value\n" if system == "new" else "") + text(lambda n, x, s: f"{s},{n},map,{x}\n{s},{n},ndcg_cut_10,0.5")(values, system), SCORES, {"metric": "map"}, joined=True),
    "ir_measures -q": Tool("run.tsv", "terrierteam/ir_measures ir_measures/__main__.py", text(lambda n, x, s: f"{n}\tnDCG@10\t{x:.4f}", "", "all\tnDCG@10\t0.5000\n")),
    "ir_measures -o jsonl": Tool("run.jsonl", "terrierteam/ir_measures ir_measures/__main__.py", lines(lambda n, x, s: {"query_id": str(n), "measure": "nDCG@10", "value": x})),
    "pytrec_eval": Tool("run.json", "pytrec_eval 0.5.11 evaluate",
        whole(lambda rows, s: by("30{}", rows), lambda n, x, s: {"map": x, "ndcg": 0.5}), SCORES, {"metric": "map"}),
    # Translation and summaries
    "sacreBLEU -sl": Tool("bleu.txt", "sacrebleu 2.6.0 --sentence-level",
        text(lambda n, x, s: f"BLEU|nrefs:1|case:mixed|eff:yes|tok:13a|smooth:exp|version:2.6.0 = {x:.1f} 75.0/50.0/25.0/12.5 (BP = 1.000 ratio = 1.000 hyp_len = 8 ref_len = 8)"), PERCENT),
    "sacreBLEU -sl -m ter": Tool("ter.txt", "sacrebleu 2.6.0 --sentence-level", text(lambda n, x, s: f"TER|nrefs:1|case:lc|tok:tercom|norm:no|punct:yes|asian:no|version:2.6.0 = {x:.1f}"), PERCENT),
    "chrF++": Tool("chrf.txt", "m-popovic/chrF chrF++.py", text(lambda n, x, s: f"{n + 1}::c6+w2-F2\t{x:.4f}"), PERCENT),
    "METEOR": Tool("meteor.txt", "cmu-mtlab/meteor README.html",
        text(lambda n, x, s: f"Segment {n + 1} score:\t{x}", "Meteor version: 1.5\n\nEval ID:        meteor-1.5-wo-en-no_norm-0.85_0.2_0.6_0.75-ex_st_sy_pa-1.0_0.6_0.8_0.6\n\nLanguage:       English\nFormat:         plaintext\nTask:           Ranking\n\n", "\nSystem level statistics:\n\n           Test Matches                  Reference Matches\nFinal score:            0.5\n")),
    "BERTScore -s": Tool("bert.txt", "Tiiiger/bert_score bert_score_cli/score.py",
        text(lambda n, x, s: f"0.500000\t0.500000\t{x:.6f}", "roberta-large_L17_no-idf_version=0.3.12(hug_trans=4.30.2) P: 0.500000 R: 0.500000 F1: 0.500000\n"), SCORES, {"metric": "F1"}),
    "sacreBLEU -sl -b": Tool("bleu.txt", "mjpost/sacrebleu sacrebleu/sacrebleu.py", text(lambda n, x, s: f"{x:.1f}"), PERCENT),
    "COMET --to_json": Tool("comet.json", "Unbabel/COMET comet/cli/score.py", whole(lambda rows, s: {f"{s}.txt": rows}, lambda n, x, s: {"src": f"S{n}", "mt": s, "ref": f"R{n}", "COMET": x})),
    "COMET": Tool("comet.txt", "Unbabel/COMET comet/cli/score.py", lambda values, system: text(lambda n, x, s: f"{s}.txt\tSegment {n}\tscore: {x:.4f}", "", f"{system}.txt\tscore: 0.5000\n")(values, system)),
    "BLEURT": Tool("scores", "google-research/bleurt bleurt/score_files.py", text(lambda n, x, s: x)),
    "mt-metrics-eval": Tool("BLEU-refA.seg.score", "google-research/mt-metrics-eval mt_metrics_eval/data.py", text(lambda n, x, s: f"{s}\t{x}"), joined=True),
    "MQM": Tool("mqm_newstest2020_ende.avg_seg_scores.tsv", "google/wmt-mqm-human-evaluation newstest2020/ende/mqm_newstest2020_ende.avg_seg_scores.tsv",
        lambda values, system: ("system mqm_avg_score seg_id\n" if system == "new" else "") + text(lambda n, x, s: f"{s} {x:.6f} {n + 1}")(values, system), joined=True),
    "MetricX": Tool("out.jsonl", "google-research/metricx metricx24/predict.py", lines(lambda n, x, s: {"source": f"S{n}", "hypothesis": s, "reference": f"R{n}", "prediction": x})),
    "Moses sentence-bleu": Tool("bleu.txt", "moses-smt/mosesdecoder mert/sentence-bleu.cpp", text(lambda n, x, s: x)),
    "ROUGE": Tool("rouge.csv", "google-research/google-research@0c1bbe5fc971 rouge/io.py", text(lambda n, x, s: f"{n},0.500000,0.500000,{x:.6f}", "id,rouge1-P,rouge1-R,rouge1-F\n"), SCORES, {"score_column": "rouge1-F"}),
    # Speech
    "jiwer, a table": Tool("wer.csv", "jitsi/jiwer documentation", text(lambda n, x, s: f"u{n},{wrong(x)},4", "id,errors,ref_words\n"), ERRORS),
    "Kaldi": Tool("per_utt", "kaldi-asr/kaldi egs/wsj/s5/utils/scoring/wer_per_utt_details.pl",
        text(lambda n, x, s: f"utt{n} ref  a  b  c  d\nutt{n} hyp  {'  '.join(spoken(x).split())}\nutt{n} op   C  C  C  C\nutt{n} #csid {4 - wrong(x)} {wrong(x)} 0 0"), ERRORS),
    "ESPnet": Tool("hyp.trn", "espnet/espnet egs2/TEMPLATE/asr1/asr.sh", text(lambda n, x, s: f"{spoken(x)}\t(spk{n % 2}-utt{n})"), ERRORS, {}, {"ref": ("ref.trn", "".join(f"a b c d\t(spk{n % 2}-utt{n})\n" for n in range(6)))}),
    "sclite -o pra": Tool("hyp.trn.pra", "usnistgov/SCTK src/hubscr/test1-notag-a.base/lvc_hyp.notag.ctm.filt.pra",
        text(lambda n, x, s: f"id: (spk{n % 2}-utt{n})\nScores: (#C #S #D #I) {4 - wrong(x)} {wrong(x)} 0 0\nREF:  a b c d \nHYP:  {spoken(x)} \nEval:         \n", "\n\n\t\tDUMP OF SYSTEM ALIGNMENT STRUCTURE\n\nSystem name:   hyp.trn\n\nSpeakers: \n    0:  spk0\n    1:  spk1\n\nSpeaker sentences   0:  spk0   #utts: 6\n"), ERRORS),
    "SpeechBrain": Tool("wer.txt", "speechbrain/speechbrain speechbrain/dataio/wer.py",
        text(lambda n, x, s: f"{'=' * 80}\nutt{n}, %WER {100 * x:.2f} [ {wrong(x)} / 4, 0 ins, 0 del, {wrong(x)} sub ]\na ; b ; c ; d\n= ; = ; = ; =\n{' ; '.join(spoken(x).split())}",
            f"%WER 33.33 [ 8 / 24, 0 ins, 0 del, 8 sub ]\n%SER 66.67 [ 4 / 6 ]\nScored 6 sentences, 0 not present in hyp.\n{'=' * 80}\nALIGNMENTS\n\nFormat:\n<utterance-id>, WER DETAILS\n<eps> ; reference ; on ; the ; first ; line\n  I   ;     S     ; =  ;  =  ;   S   ;  D  \n and  ; hypothesis ; on ; the ; third ; <eps>\n"), ERRORS),
    "WeNet": Tool("wer", "wenet-e2e/wenet tools/compute-wer.py",
        text(lambda n, x, s: f"\nutt: utt{n}\nWER: {100 * x:4.2f} % N=4 C={4 - wrong(x)} S={wrong(x)} D=0 I=0\nlab: a b c d \nrec: {spoken(x)} \n", "", f"{'=' * 75}\n\nOverall -> 33.33 % N=24 C=16 S=8 D=0 I=0\n"), ERRORS),
    "Open ASR Leaderboard": Tool("MODEL_m_DATASET_d_test.jsonl", "huggingface/open_asr_leaderboard normalizer/eval_utils.py",
        lines(lambda n, x, s: {"audio_filepath": f"sample_{n}", "duration": 2.5, "time": 0.1, "text": "a b c d", "pred_text": spoken(x)}), ERRORS),
    "NeMo": Tool("manifest.json", "NVIDIA/NeMo nemo/collections/asr/parts/utils/eval_utils.py",
        lines(lambda n, x, s: {"audio_filepath": f"/data/{n}.wav", "duration": 2.5, "text": "a b c d", "pred_text": spoken(x), "wer": x, "tokens": 4, "ins_rate": 0.0, "del_rate": 0.0, "sub_rate": x}), ERRORS),
    # Tagging and parsing
    "flair": Tool("test.tsv", "flairNLP/flair flair/models/sequence_tagger_model.py",
        text(lambda n, x, s: f"In O O\nx{n} B-LOC B-{'LOC' if x else 'PER'}\n"), RIGHT),
    "CoNLL-U": Tool("test.conllu", "UniversalDependencies/UD_English-EWT en_ewt-ud-test.conllu",
        text(lambda n, x, s: f"# sent_id = s{n}\n1\tx{n}\tx\t{'NOUN' if x else 'VERB'}\t_\t_\t0\troot\t_\t_\n"), RIGHT, {"statistic": "upos"},
        {"gold": ("gold.conllu", "".join(f"# sent_id = s{n}\n1\tx{n}\tx\tNOUN\t_\t_\t0\troot\t_\t_\n\n" for n in range(8)))}),
    # Times
    "hyperfine": Tool("times.json", "hyperfine 1.15.0 --export-json",
        whole(lambda rows, s: {"results": rows}, lambda n, x, s: {"command": f"c{n}", "mean": x, "stddev": None, "median": x, "user": x, "system": 0.0, "min": x, "max": x, "times": [x], "exit_codes": [0]})),
    "pytest-benchmark": Tool("times.json", "pytest-benchmark 5.3.1 --benchmark-json",
        whole(lambda rows, s: {"machine_info": {}, "commit_info": {}, "benchmarks": rows, "datetime": "2026-01-01T00:00:00+00:00", "version": "5.3.1"}, lambda n, x, s: {"group": None, "name": f"test_{n}", "fullname": f"test_a.py::test_{n}", "params": None, "param": None, "extra_info": {}, "options": {"disable_gc": False}, "stats": {"min": x, "max": x, "mean": x, "stddev": 0, "rounds": 1, "median": x, "iqr": 0, "q1": x, "q3": x, "ops": 1, "total": x, "iterations": 1}})),
    # Images and video
    "nnU-Net": Tool("summary.json", "MIC-DKFZ/nnUNet nnunetv2/evaluation/evaluate_predictions.py",
        whole(lambda rows, s: {"foreground_mean": {"Dice": 0.5, "IoU": 0.4}, "mean": {"1": {"Dice": 0.5}}, "metric_per_case": rows}, lambda n, x, s: {"metrics": {"1": {"Dice": x, "FN": 1, "FP": 2, "IoU": 0.5, "TN": 9, "TP": 4, "n_pred": 6, "n_ref": 5}}, "prediction_file": f"/{s}/c{n}.nii.gz", "reference_file": f"/gt/c{n}.nii.gz"}), SCORES, {"path": "metric_per_case", "metric": "metrics.1.Dice"}),
    "MONAI": Tool("mean_dice_raw.csv", "Project-MONAI/MONAI monai/handlers/utils.py", text(lambda n, x, s: f"/data/img{n}.nii.gz,{x:.4f},{x:.4f}", "filename,class0,mean\n"), SCORES, {"score_column": "class0"}),
    "DAVIS": Tool("per-sequence_results-val.csv", "davisvideochallenge/davis2017-evaluation evaluation_method.py", text(lambda n, x, s: f"seq_{n},{x:.3f},0.500", "Sequence,J-Mean,F-Mean\n"), SCORES, {"score_column": "J-Mean"}),
    "pycocoevalcap": Tool("evalImgs.json", "salaniz/pycocoevalcap eval.py", array(lambda n, x, s: {"image_id": n, "Bleu_1": 0.5, "METEOR": 0.5, "CIDEr": x}), SCORES, {"metric": "CIDEr"}),
    # Tables
    "AutoML Benchmark": Tool("results.csv", "openml/automlbenchmark amlb/results.py",
        lambda values, system: ("id,task,framework,constraint,fold,type,result,metric,mode,version,params,app_version,utc,duration,training_duration,predict_duration,models_count,seed,info,auc\n" if system == "new" else "")
            + text(lambda n, x, s: f"openml.org/t/{n // 2},t{n // 2},{s},test,{n % 2},binary,{x},auc,local,1.0,,dev,2026-01-01T00:00:00,60.0,50.0,1.0,3,{n},,{x}")(values, system), SCORES, {"score_column": "result"}, joined=True),
    "Weka": Tool("predictions.csv", "bnjmn/weka weka/src/main/java/weka/classifiers/evaluation/output/prediction/CSV.java",
        text(lambda n, x, s: f"{n + 1},{WEKA[n % 2]},{WEKA[n % 2 if x else 1 - n % 2]},{'' if x else '+'},0.9", "inst#,actual,predicted,error,prediction\n"), RIGHT, {"format": "labels"}),
    "scikit-learn": Tool("cv.csv", "scikit-learn 1.9.1 cross_validate", text(lambda n, x, s: f"{n},0.1,0.01,{x}", ",fit_time,score_time,test_score\n"), SCORES, {"score_column": "test_score"}),
    "R write.csv": Tool("r.csv", "wch/r-source src/library/utils/R/write.table.R", text(lambda n, x, s: f'"{n + 1}","item{n}",{x}', '"","item","accuracy"\n')),
    "pandas to_csv": Tool("p.csv", "pandas 3.1.1 to_csv", text(lambda n, x, s: f"{n},q{n},{x}", ",question_id,accuracy\n")),
    "pandas, orient=split": Tool("p.json", "pandas 3.1.1 to_json", whole(lambda rows, s: {"columns": ["id", "accuracy"], "index": list(range(len(rows))), "data": rows}, lambda n, x, s: [f"k{n}", x])),
    "pandas to_json": Tool("p.json", "pandas 3.1.1 to_json", whole(lambda rows, s: {"id": by("{}", [f"k{n}" for n in range(len(rows))]), "accuracy": by("{}", rows)}, lambda n, x, s: x)),
    "pandas, orient=table": Tool("p.json", "pandas 3.1.1 to_json",
        whole(lambda rows, s: {"schema": {"fields": [{"name": "index", "type": "integer"}, {"name": "id", "type": "string"}, {"name": "score", "type": "number"}], "primaryKey": ["index"], "pandas_version": "1.4.0"}, "data": rows}, lambda n, x, s: {"index": n, "id": f"k{n}", "score": x})),
    "pandas, orient=records, lines=True": Tool("d.jsonl", "pandas 3.1.1 to_json", lines(lambda n, x, s: {"id": f"q{n}", "prompt": f"Q{n}", "completion": s, "accuracy": x})),
}  # fmt: skip
