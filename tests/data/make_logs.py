"""Writes logs as evaluation tools write them, with made-up models and questions: `python -m tests.data.make_logs`.

The shapes are those of the tools' own sources, named at each function.
"""

from __future__ import annotations

import hashlib
import json
import random
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
MODELS = {"new": (0.75, "2026-05-17T13-25-31.291152"), "old": (0.6, "2026-05-18T01-02-03.000001")}
TASKS = {"anatomy": 12, "astronomy": 9, "virology": 14}


def digest(text: str) -> str:
    """A hash as the harness writes it."""
    return hashlib.sha256(text.encode()).hexdigest()


def lines(path: Path, records: list[dict[str, Any]]) -> None:
    """Write JSON lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


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


if __name__ == "__main__":
    harness_tasks()
