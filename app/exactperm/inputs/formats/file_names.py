"""What the names of files tell: the system of a file, and of several files of one system the task of each."""

from __future__ import annotations

import re
from collections.abc import Sequence

SUFFIXES = (
    ".gz", ".zst", ".zip", ".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".txt", ".conllu", ".conll", ".eval", ".run", ".trec", ".score",
    ".seg", ".npy", ".npz", ".parquet", ".xlsx",
)  # fmt: skip
_TIME = r"\d{4}-\d\d-\d\dT\d\d[-:]\d\d[-:]\d\d[\d.+:-]*"
# Tools that write a file for each task name it by the task, and by when it was written.
_NAMED_BY_TOOLS = (
    re.compile(rf"(?:samples|details)_(?P<task>.+)_{_TIME}"),  # lm-evaluation-harness, lighteval
    re.compile(rf"{_TIME}_(?P<task>.+)_[A-Za-z0-9]{{22}}"),  # Inspect
    re.compile(rf"(?P<task>.+)_{_TIME}"),
)
MAX_FOLDERS = 8  # that tell files of one name apart
PER_INSTANCE = "per_instance_stats"  # HELM's, in a folder that is named by the task and the model
_OF_MODEL = re.compile(r"[,:](?:model|model_deployment)=[^,/]*")


def stem(name: str) -> str:
    """A system's name by that of its file: without what tells the format and the compression.

    >>> stem("gpt-4.jsonl.gz"), stem("en_ewt-ud-test.crf.conllu")
    ('gpt-4', 'en_ewt-ud-test.crf')
    """
    left = name
    while left.lower().endswith(SUFFIXES):
        left = left[: left.rindex(".")]
    return left or name


def by_folders(paths: Sequence[Sequence[str]]) -> list[str] | None:
    """Names for files that are called the same, by the folders that tell them apart; None where nothing does.

    `paths` are the parts of each path, the last one the stem of the file.

    >>> by_folders([("runs", "a", "out"), ("runs", "b", "out")])
    ['a', 'b']
    """
    of_sizes = ([tuple(own[-size:]) for own in paths] for size in range(1, max(map(len, paths)) + 1))
    tails = next((own for own in of_sizes if len(set(own)) == len(own)), None)
    if tails is None:
        return None
    while len(tails[0]) > 1 and len({own[-1] for own in tails}) == 1 and min(map(len, tails)) > 1:
        tails = [own[:-1] for own in tails]
    return ["/".join(own) for own in tails]


def tasks_of(names: Sequence[str]) -> list[str] | None:
    """The task of each of a system's files, by their names with folders; None where two have the same.

    What differs from run to run is left out: when it was, and of HELM the model.

    >>> tasks_of(["samples_mmlu_anatomy_2026-05-17T13-25-31.291152.jsonl", "a/de.csv"])
    ['mmlu_anatomy', 'de']
    >>> tasks_of(["run/mmlu:subject=anatomy,model=openai_gpt2/per_instance_stats.json"])
    ['mmlu:subject=anatomy']
    """
    paths = [_parts(name) for name in names]
    if len({own[-1] for own in paths}) == len(paths):
        return [own[-1] for own in paths]
    return by_folders(paths)


def _parts(name: str) -> list[str]:
    """The folders of a path and the task that its file is named after."""
    *folders, file = [part for part in name.split("/") if part] or [name]
    folders, own = folders[-MAX_FOLDERS:], stem(file)
    if own == PER_INSTANCE and folders:
        return [_OF_MODEL.sub("", part) or part for part in folders]
    return [*folders, task_in(own) or own]


def task_in(name: str) -> str | None:
    """The task that a tool names a file by, beside when it was written; None where it does not."""
    own = stem(name.rpartition("/")[2])
    found = next((match for pattern in _NAMED_BY_TOOLS if (match := pattern.fullmatch(own))), None)
    return None if found is None else found["task"]
