"""Writes logs as evaluation tools write them, with made-up models and questions: `python -m tests.data.make_logs`.

The shapes are those of the tools' own sources, named at each function.
"""

import hashlib
import json
import random
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
TOOLS = HERE / "tools"
MODELS = {"new": (0.75, "2026-05-17T13-25-31.291152"), "old": (0.6, "2026-05-18T01-02-03.000001")}
TASKS = {"anatomy": 12, "astronomy": 9, "virology": 14}


def digest(text: str) -> str:
    """A hash as the harness writes it."""
    return hashlib.sha256(text.encode()).hexdigest()


def lines(path: Path, records: list[dict[str, Any]]) -> None:
    """Write JSON lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


def document(tool: str, model: str, value: Any) -> None:
    """Write one JSON document of a tool."""
    TOOLS.mkdir(exist_ok=True)
    (TOOLS / f"{tool}.{model}.json").write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n")


def harness_tasks() -> None:
    """lm-evaluation-harness, --log_samples and --output_path: a log of each task beside one file of results.

    (lm_eval/evaluator.py and lm_eval/loggers/evaluation_tracker.py.)
    """
    for model, (chance, date) in MODELS.items():
        folder = HERE / "lm_eval" / "tasks" / model / f"made-up__{model}"
        for task, size in TASKS.items():
            draws = random.Random(f"{model} {task}")
            records = []
            for doc in range(size):
                question, right = f"{task}, question {doc}?", draws.random() < chance
                resps = [[[round(-draws.uniform(1, 9), 4), False]] for _ in range(4)]
                record = {
                    "doc_id": doc, "doc": {"question": question, "subject": task, "choices": list("ABCD"), "answer": 1},
                    "target": 1, "arguments": {}, "resps": resps, "filtered_resps": [one[0] for one in resps],
                    "filter": "none", "metrics": ["acc"], "doc_hash": digest(question), "prompt_hash": digest("?" + question),
                    "target_hash": digest("1"), "acc": float(right),
                }  # fmt: skip
                records.append(record)
            lines(folder / f"samples_mmlu_{task}_{date}.jsonl", records)
        results = {f"mmlu_{task}": {"alias": task, "acc,none": 0.5} for task in TASKS}
        (folder / f"results_{date}.json").write_text(json.dumps({"results": results}, indent=2) + "\n")


def harness_metrics() -> None:
    """lm-evaluation-harness: log-likelihoods beside words and bytes (wikitext), and lists of booleans (IFEval).

    (lm_eval/tasks/wikitext/preprocess_wikitext.py and lm_eval/tasks/ifeval/utils.py.)
    """
    for model, (chance, date) in MODELS.items():
        draws = random.Random(f"{model} text")
        pages = []
        for doc in range(12):
            words = random.Random(f"page {doc}").randint(40, 400)
            likelihood, size = round(-words * draws.gauss(3.9 - chance, 0.1), 6), 6 * words + doc
            per_word, per_byte = [likelihood, words], [likelihood, size]
            page = {
                "doc_id": doc, "doc": {"page": f" = Page {doc} = "}, "target": f"Page {doc}", "arguments": {}, "resps": [[likelihood]],
                "filtered_resps": [likelihood], "filter": "none", "metrics": ["word_perplexity", "byte_perplexity", "bits_per_byte"],
                "doc_hash": digest(f"page {doc}"), "prompt_hash": digest(""), "target_hash": digest(f"Page {doc}"),
                "word_perplexity": per_word, "byte_perplexity": per_byte, "bits_per_byte": per_byte,
            }  # fmt: skip
            pages.append(page)
        lines(HERE / "lm_eval" / "wikitext" / model / f"samples_wikitext_{date}.jsonl", pages)
        prompts = []
        for doc in range(15):
            size = random.Random(f"prompt {doc}").randint(1, 3)
            strict = [draws.random() < chance for _ in range(size)]
            loose = [own or draws.random() < 0.2 for own in strict]
            prompt = {
                "doc_id": doc, "doc": {"key": 1000 + doc, "prompt": f"Prompt {doc}"}, "target": doc, "arguments": {}, "resps": [["…"]],
                "filtered_resps": ["…"], "filter": "none",
                "metrics": ["prompt_level_strict_acc", "inst_level_strict_acc", "prompt_level_loose_acc", "inst_level_loose_acc"],
                "doc_hash": digest(f"prompt {doc}"), "prompt_hash": digest(f"?{doc}"), "target_hash": digest(str(doc)),
                "prompt_level_strict_acc": all(strict), "inst_level_strict_acc": strict,
                "prompt_level_loose_acc": all(loose), "inst_level_loose_acc": loose,
            }  # fmt: skip
            prompts.append(prompt)
        lines(HERE / "lm_eval" / "ifeval" / model / f"samples_ifeval_{date}.jsonl", prompts)


def helm_stat(name: str, value: float | None) -> dict[str, Any]:
    """A statistic of one observation (helm/benchmark/metrics/statistic.py); nothing was observed where there is no value."""
    named = {"name": name, "split": "test"}
    if value is None:
        return {"name": named, "count": 0, "sum": 0, "sum_squared": 0}
    return {
        "name": named, "count": 1, "sum": value, "sum_squared": value * value, "min": value, "max": value, "mean": value,
        "variance": 0.0, "stddev": 0.0,
    }  # fmt: skip


def helm() -> None:
    """HELM: per_instance_stats.json; a metric object writes an entry of its own for every instance.

    (helm/benchmark/metrics/metric.py, PerInstanceStats; fields that are None are left out.)
    """
    perturbed = {
        "name": "misspellings",
        "robustness": True,
        "fairness": False,
        "computed_on": "perturbed",
        "prob": 0.1,
    }
    for model, (chance, _) in MODELS.items():
        draws = random.Random(f"{model} helm")
        entries: list[dict[str, Any]] = []
        for number in range(10):
            right = float(draws.random() < chance)
            base = {"instance_id": f"id{number}", "train_trial_index": 0}
            stats = [
                helm_stat("num_references", 4),
                helm_stat("exact_match", right),
                helm_stat("quasi_exact_match", max(right, 0.0)),
            ]
            entries.append({**base, "stats": stats})
            stat = helm_stat("exact_match", 0.0)
            stat["name"]["perturbation"] = perturbed
            entries.append({**base, "perturbation": perturbed, "stats": [stat]})
        for number in range(10):
            stats = [
                helm_stat("num_prompt_tokens", 300 + number),
                helm_stat("inference_runtime", round(draws.random(), 3)),
            ]
            entries.append({"instance_id": f"id{number}", "train_trial_index": 0, "stats": stats})
        path = HERE / "helm" / model  # of HELM the folder is mmlu:subject=anatomy,method=…,model=…
        path.mkdir(parents=True, exist_ok=True)
        (path / "per_instance_stats.json").write_text(json.dumps(entries, indent=1) + "\n")


def lighteval() -> None:
    """lighteval: details of a task, exported by pandas as JSON lines; of an older version, and of one with documents.

    (lighteval/logging/info_loggers.py, DetailsLogger.)
    """
    for model, (chance, _) in MODELS.items():
        draws = random.Random(f"{model} lighteval")
        before, after = [], []
        for number in range(9):
            question, right = f"Question {number}? Answer:", int(draws.random() < chance)
            metrics = {"acc": right, "acc_norm": int(right or draws.random() < 0.3)}
            detail = {
                "example": question, "instruction": "", "full_prompt": question, "num_effective_few_shots": 0, "num_asked_few_shots": 0,
                "predictions": [[-1.5, 0.0]], "prediction_logits": [], "input_tokens": [[1, 2]], "cont_tokens": [[3]], "truncated": [0],
                "padded": [0], "gold": [], "pred_logits": [], "choices": [" A", " B"], "gold_index": [number % 2], "metrics": metrics,
                "specifics": None,
            }  # fmt: skip
            before.append(detail)
            doc = {
                "query": question,
                "choices": [" A", " B"],
                "gold_index": number % 2,
                "id": str(number),
                "task_name": "made|up",
            }
            response = {"text": [" A"], "logprobs": [-1.5, -2.0], "input_tokens": [1, 2]}
            after.append({"doc": doc, "metric": {"acc": right}, "model_response": response})
        lines(HERE / "lighteval" / f"{model}.details.jsonl", before)
        lines(HERE / "lighteval" / f"{model}.documents.jsonl", after)


def openai_evals() -> None:
    """OpenAI evals: the log of oaieval (evals/record.py, LocalRecorder): the final report may stand before the events."""
    for model, (chance, _) in MODELS.items():
        draws = random.Random(f"{model} evals")
        run = f"23041722082{len(model)}DPM75QNS"
        spec = {
            "completion_fns": [f"made-up-{model}"], "eval_name": "made-up.s1.simple-v0", "base_eval": "made-up", "split": "s1",
            "run_config": {"completion_fns": [f"made-up-{model}"], "seed": 20220722, "max_samples": None},
            "created_by": "", "run_id": run, "created_at": "2023-04-17 22:08:21.904498",
        }  # fmt: skip
        events: list[dict[str, Any]] = [{"spec": spec}, {"final_report": {"accuracy": 0.5}}]
        for number in draws.sample(range(11), 11):
            made = {"created_by": "", "created_at": "2023-04-17 22:10:13.127375+00:00"}
            sample, event = f"made-up.s1.{number}", {"run_id": run, "event_id": len(events) - 2}
            events.append(
                {
                    **event,
                    "sample_id": sample,
                    "type": "sampling",
                    "data": {"prompt": "…", "sampled": "…"},
                    **made,
                }
            )
            match = {
                "correct": draws.random() < chance,
                "expected": "15",
                "picked": None,
                "sampled": "…",
                "options": ["15"],
            }
            event = {"run_id": run, "event_id": len(events) - 2}
            events.append({**event, "sample_id": sample, "type": "match", "data": match, **made})
        lines(HERE / "openai_evals" / f"{model}.jsonl", events)


def plain() -> None:
    """Scores without any tool: one JSON object by id, and NumPy's files."""
    folder = HERE / "plain"
    folder.mkdir(exist_ok=True)
    columns = {}
    for role, (chance, _) in zip("uv", MODELS.values(), strict=True):
        draws = random.Random(f"{role} plain")
        columns[role] = [round(min(1.0, max(0.0, draws.gauss(chance, 0.3))), 2) for _ in range(10)]
        scores = {f"item {number}": value for number, value in enumerate(columns[role])}
        (folder / f"{role}.json").write_text(json.dumps(scores, indent=2) + "\n")
        np.save(folder / f"{role}.npy", np.array(columns[role]))
    ids = np.array([f"item {number}" for number in range(10)])
    np.savez(folder / "both.npz", u=columns["u"], v=columns["v"], ids=ids)


def harnesses() -> None:
    """SWE-bench, EvalPlus, OpenCompass, DeepEval and Terminal-Bench: one JSON document a run.

    (SWE-bench/SWE-bench harness/reporting.py; evalplus/evalplus evaluate.py; open-compass/opencompass tasks/openicl_eval.py;
    confident-ai/deepeval test_run/api.py; laude-institute/terminal-bench harness/models.py.)
    """
    for model, (chance, _) in MODELS.items():
        draws = random.Random(f"{model} harnesses")
        right = [draws.random() < chance for _ in range(10)]
        ids = [f"made__up-{number}" for number in range(10)]
        resolved = [key for key, one in zip(ids, right, strict=True) if one]
        swe = {
            "total_instances": 10, "submitted_instances": 10, "completed_instances": 10, "resolved_instances": len(resolved),
            "submitted_ids": ids, "completed_ids": ids, "resolved_ids": resolved,
            "unresolved_ids": [key for key in ids if key not in resolved], "empty_patch_ids": [], "error_ids": [], "schema_version": 2,
        }  # fmt: skip
        code = {
            f"HumanEval/{number}": [
                {"task_id": f"HumanEval/{number}", "solution": "…", "base_status": "pass", "plus_status": "pass" if one else "fail"}
            ]
            for number, one in enumerate(right)
        }  # fmt: skip
        details: dict[str, Any] = {
            str(number): {
                "prompt": f"Question {number}", "origin_prediction": "…", "predictions": "A" if one else "B", "references": "A",
                "correct": one,
            }
            for number, one in enumerate(right)
        }  # fmt: skip
        cases = [
            {
                "name": f"test_case_{number}", "input": f"Question {number}", "actualOutput": "…", "success": True,
                "metricsData": [{"name": "Answer Relevancy", "threshold": 0.5, "success": True, "score": draws.randint(0, 8) / 8}],
            }
            for number in range(10)
        ]  # fmt: skip
        trials = [
            {"id": f"{model}-{number}", "trial_name": f"task-{number}.1-of-1", "task_id": f"task-{number}", "is_resolved": one}
            for number, one in enumerate(right)
        ]  # fmt: skip
        document("swe-bench", model, swe)
        document("evalplus", model, {"date": "2026-05-17", "eval": code})
        document("opencompass", model, {"accuracy": 10.0 * sum(right), "details": {"type": "GEN", **details}})
        document(
            "deepeval",
            model,
            {"testFile": "test_made_up.py", "testCases": cases, "conversationalTestCases": []},
        )
        document("terminal-bench", model, {"results": trials})


def judged() -> None:
    """MT-Bench's single grades, AlpacaEval's preferences, and answers to SQuAD beside its form of gold.

    (lm-sys/FastChat llm_judge/common.py; tatsu-lab/alpaca_eval metrics/winrate.py; rajpurkar/SQuAD-explorer evaluate-v2.0.py.)
    """
    questions = [
        {"id": f"56be{number:04}", "question": f"Question {number}", "answers": [{"text": "the right answer", "answer_start": 4}]}
        for number in range(10)
    ]  # fmt: skip
    data = [{"title": "Made up", "paragraphs": [{"context": "It is the right answer", "qas": questions}]}]
    document("squad", "gold", {"version": "1.1", "data": data})
    for model, (chance, _) in MODELS.items():
        draws = random.Random(f"{model} judged")
        grades = [
            {
                "question_id": 81 + number, "model": model, "judge": ["made-up-judge", "single-v1"], "judgment": "…",
                "score": draws.randint(4, 7) + 3 * (draws.random() < chance), "turn": turn,
            }
            for turn in (1, 2) for number in range(10)
        ]  # fmt: skip
        lines(TOOLS / f"mt-bench.{model}.jsonl", grades)
        texts = {
            True: ["Right answer.", "a right answer"],
            False: ["an answer", "no idea"],
        }  # of which the first of each are wholly or partly right
        answers = {question["id"]: draws.choice(texts[draws.random() < chance]) for question in questions}
        document("squad", model, answers)
    draws = random.Random("votes")
    votes = [
        {
            "instruction": f"Question {number}", "output_1": "…", "generator_1": "old", "output_2": "…", "generator_2": "new",
            "annotator": "made-up-judge", "preference": 1.0 + (draws.random() < 0.75),
        }
        for number in range(12)
    ]  # fmt: skip
    document("votes", "both", votes)


def translations() -> None:
    """COMET's --to_json, sacreBLEU's --sentence-level, scores of segments in mt-metrics-eval's form, and the output of fairseq-generate, in its order.

    (Unbabel/COMET cli/score.py; google-research/mt-metrics-eval data.py; facebookresearch/fairseq fairseq_cli/generate.py.)
    """
    references = [f"this is the sentence {number} of a short made up text" for number in range(8)]
    rows = []
    for model, (chance, _) in MODELS.items():
        draws = random.Random(f"{model} translations")
        scores = [round(draws.gauss(chance, 0.1), 4) for _ in references]
        comet = [
            {"src": f"Satz {number}", "mt": "…", "ref": reference, "COMET": score}
            for number, (reference, score) in enumerate(zip(references, scores, strict=True))
        ]
        document("comet", model, {f"{model}.txt": comet})
        rows += [f"{model}\t{score}\n" for score in scores]
        generated = []
        for number in draws.sample(range(8), 8):
            words = [word for word in references[number].split() if draws.random() < chance] or ["this"]
            generated += [
                f"S-{number}\tSatz {number}\n", f"T-{number}\t{references[number]}\n", f"H-{number}\t-0.5\t{' '.join(words)}\n",
                f"D-{number}\t-0.5\t{' '.join(words)}\n",
            ]  # fmt: skip
        (TOOLS / f"fairseq.{model}.txt").write_text("".join(generated))
        signature = "BLEU|nrefs:1|case:mixed|eff:yes|tok:13a|smooth:exp|version:2.6.0"
        parts = "75.0/50.0/25.0/12.5 (BP = 1.000 ratio = 1.000 hyp_len = 8 ref_len = 8)"
        printed = [f"{signature} = {100 * score:.1f} {parts}\n" for score in scores]
        (TOOLS / f"sacrebleu.{model}.txt").write_text("".join(printed))
    (TOOLS / "COMET-refA.seg.score").write_text("".join(rows))


def retrieval() -> None:
    """PyTerrier's perquery.csv of an experiment (terrier-org/pyterrier pyterrier/_evaluation/_experiment.py)."""
    rows = ["name,qid,measure,value\n"]
    for model, (chance, _) in MODELS.items():
        draws = random.Random(f"{model} retrieval")
        for query in range(8):
            rows += [
                f"{model},{query},{measure},{max(0.0, draws.gauss(chance / 2, 0.2)):.4f}\n"
                for measure in ("map", "ndcg_cut_10")
            ]
    (TOOLS / "pyterrier.both.csv").write_text("".join(rows))


def runs() -> None:
    """One run of a candidate that became worse, and five runs of its baseline."""
    rates = [1.0] * 60 + [0.9] * 20 + [0.5] * 12 + [0.0] * 8
    for name, lost in (("new", 0.08), *((f"old/run{at}", 0.0) for at in range(1, 6))):
        draws = random.Random(f"{name}, 1")
        scores = [int(draws.random() < max(rate - lost, 0.0)) for rate in rates]
        lines(
            HERE / "runs" / f"{name}.jsonl",
            [{"id": f"q{at}", "correct": score} for at, score in enumerate(scores, 1)],
        )


if __name__ == "__main__":
    for write in (
        harness_tasks,
        harness_metrics,
        helm,
        lighteval,
        openai_evals,
        plain,
        harnesses,
        judged,
        translations,
        retrieval,
        runs,
    ):
        write()
