"""The one list of what columns, fields and members are called, by role.

A name is evidence and no proof: a key that repeats is none, and `seed` of all different rows is a key. Case, `_`, `-`, blanks and
camel case do not matter: `questionID`, `Question-ID` and `question_id` are one name. Of several the first in a list counts.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from functools import cache

# What an item is.
KEY = (
    "id", "item_id", "item", "uid", "seg_id", "segment", "utterance", "sample_id", "doc_id", "qid", "query", "query_id", "question_id",
    "idx", "example_id", "example", "instance_id", "instance", "case_id", "prompt_id", "problem_id", "problem", "task_id",
    "sentence_id", "utt_id", "utt", "fold",
)  # fmt: skip
# Keys where they are unique, else parts of one.
PART_OF_KEY = ("topic", "document", "subject", "speaker", "user", "name")
ID = (*KEY, "topic")
# What pandas and R call the index of a table.
INDEX = ("", "index", "level_0", "unnamed: 0")
RUN = (
    "run", "run_id", "seed", "random_seed", "epoch", "trial", "repeat", "rep", "replicate", "attempt", "iteration", "try",
)  # fmt: skip
SYSTEM = (
    "system", "model", "system_name", "model_name", "system_id", "model_id", "method", "method_name", "classifier", "classifier_name",
    "algorithm", "generator", "framework",
)  # fmt: skip
DATASET = (
    "dataset", "dataset_name", "benchmark", "task", "task_name", "subtask", "subset", "lp", "lang_pair", "language_pair", "lang",
    "language", "split", "domain", "category",
)  # fmt: skip
CLUSTER = ("cluster",)
WEIGHT = ("weight",)
FREQUENCY = ("n", "count", "counts", "freq", "frequency")
# Only looked for where the format is known: survival times.
TIME = ("time", "times", "duration", "durations", "survival_time", "t")
# What nothing but gold is called.
SURELY_GOLD = (
    "gold", "gold_label", "y_true", "y_test", "true_label", "target", "truth", "ground_truth", "label", "labels", "human_score", "human",
)  # fmt: skip
# Gold, in the order in which it is looked for; `label` is gold where predictions have another name.
GOLD_LABEL = (
    "gold", "gold_label", "y_true", "y_test", "true_label", "target", "truth", "ground_truth", "label", "labels", "expected",
    "actual", "reference", "class", "y",
)  # fmt: skip
GOLD_SCORE = (
    "label", "labels", "y_true", "y_test", "y", "gold", "target", "truth", "ground_truth", "actual", "class", "outcome", "human",
    "human_score", "mqm", "da", *TIME,
)  # fmt: skip
PREDICTED = (
    "pred", "prediction", "predictions", "predicted", "predicted_label", "pred_label", "y_pred", "y_hat", "hypothesis", "output",
    "response", "answer",
)  # fmt: skip
# What the labels of a system are called where gold is in a file of its own.
CLASS = ("label", "labels", "class", "category")
PROBABILITY = ("y_score", "y_prob", "prob", "proba", "probability", "risk")
# What a system gave an item, beside gold.
RANKED = (
    "score", "y_score", "y_pred", "y_prob", "prob", "proba", "probability", "pred", "prediction", "risk",
)  # fmt: skip
EVENT = ("event", "event_observed", "event_indicator", "observed", "status", "e")
GROUP = ("group", "groups")
# A score without the name of a metric, and metrics that are one number of an item.
SCORE = ("score", "correct", "value", "accuracy", "acc", "exact_match", "is_correct")
COSTS = frozenset(("latency", "time", "seconds", "duration", "elapsed", "runtime", "cost", "price", "tokens"))
# Before u and v, in tables beside gold.
STEMS = ("", "pred_", "prediction_", "predicted_", "y_pred_", "label_")
# What no system of a board is called.
NO_SYSTEM = (*SURELY_GOLD, "expected", "actual", "reference", "answer", "y")
# What an item consists of: not what a system did.
CONTEXT = ("question", "prompt", "input", "source", "src", "instruction", "target", "reference", "ref", "doc")

_MARKS = re.compile(r"[\W_]+")
# What begins so is an option or a formula, and no name of a role: --gold is not gold.
_NO_NAMES = ("-", "+", "=", "@")
_OTHER_ID = re.compile(r"(?:[\W_][iI]|(?<=[a-z0-9])I)[dD]\Z")


@cache
def folded(name: str) -> str:
    """A name without case, `_`, `-` and blanks; one that holds nothing else, or begins as no name does, as it is.

    >>> folded("questionID"), folded("Unnamed: 0"), folded("&"), folded("--gold")
    ('questionid', 'unnamed0', '&', '--gold')
    """
    if name.startswith(_NO_NAMES):
        return name.strip()
    return _MARKS.sub("", name).lower() or name.strip()


def gold_among(names: Iterable[str]) -> str | None:
    """The name among those of systems that gold has; y is none beside x and z."""
    listed = list(names)
    letters = {"x", "y", "z"} <= {folded(name) for name in listed}
    return find([name for name in listed if not letters or folded(name) != "y"], NO_SYSTEM)


def find(columns: Iterable[str], names: Sequence[str]) -> str | None:
    """The column that has the first of these names; of two columns of one name the first."""
    by_name: dict[str, str] = {}
    for column in columns:
        by_name.setdefault(folded(column), column)
    return next((by_name[folded(name)] for name in names if folded(name) in by_name), None)


def is_one_of(name: str, names: Collection[str]) -> bool:
    """Whether this is one of the names of a role."""
    return folded(name) in map(folded, names)


def is_cost(name: str) -> bool:
    """Whether a column is called what an output costs, which stands beside its score: latency_ms, total_tokens."""
    return not COSTS.isdisjoint(_MARKS.sub(" ", name.lower()).split())


def is_predicted(name: str) -> bool:
    """Whether a column is called what predictions are, of whichever system: `y_pred_new`, `prediction_a`."""
    return any(folded(name).startswith(folded(one)) for one in PREDICTED)


def is_key(name: str) -> bool:
    """Whether a column is called what keys are: in the list, or anything that ends in id and is no run or system.

    >>> [is_key(name) for name in ("qid", "ticketId", "run_id", "valid")]
    [True, True, False, False]
    """
    if is_one_of(name, KEY):
        return True
    return _OTHER_ID.search(name) is not None and not is_one_of(name, (*RUN, *SYSTEM))
