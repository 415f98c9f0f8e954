"""List the usual names of columns, fields and members, by role.

A name is evidence, not proof: a column `id` that repeats is not a key, and a unique `seed` is one. Case, `_`, `-`, blanks and camel
case do not matter: `questionID`, `Question-ID` and `question_id` are the same name. The first match in a list wins.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache

# Keys of items.
KEY = (
    "id", "item_id", "item", "uid", "seg_id", "segment", "utterance", "sample_id", "doc_id", "qid", "query", "query_id", "question_id",
    "idx", "example_id", "example", "instance_id", "instance", "case_id", "prompt_id", "problem_id", "problem", "task_id",
    "sentence_id", "utt_id", "utt", "fold",
)  # fmt: skip
# Keys if unique, else parts of one.
PART_OF_KEY = ("topic", "document", "subject", "speaker", "user", "name")
ID = (*KEY, "topic")
# Names of the index of a table in pandas and R.
INDEX = ("", "index", "level_0", "unnamed: 0")
RUN = (
    "run", "run_id", "seed", "random_seed", "epoch", "trial", "repeat", "rep", "replicate", "attempt", "iteration", "try",
)  # fmt: skip
SEED = ("seed", "random_seed")
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
# Survival times, which are only searched for if the format is known.
TIME = ("time", "times", "duration", "durations", "survival_time", "t")
# Names that only gold has.
SURELY_GOLD = (
    "gold", "gold_label", "y_true", "y_test", "true_label", "target", "truth", "ground_truth", "label", "labels", "human_score", "human",
)  # fmt: skip
# Gold, in order of preference; `label` is gold if predictions have another name.
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
# Labels of a system if gold is in another file.
CLASS = ("label", "labels", "class", "category")
PROBABILITY = ("y_score", "y_prob", "prob", "proba", "probability", "risk")
# Outputs of a system, in tables with gold.
RANKED = (
    "score", "y_score", "y_pred", "y_prob", "prob", "proba", "probability", "pred", "prediction", "risk",
)  # fmt: skip
EVENT = ("event", "event_observed", "event_indicator", "observed", "status", "e")
GROUP = ("group", "groups")
# Generic names of scores, and metrics with one number per item.
SCORE = ("score", "correct", "value", "accuracy", "acc", "exact_match", "is_correct")
COSTS = frozenset(("latency", "time", "seconds", "duration", "elapsed", "runtime", "cost", "price", "tokens"))
# Prefixes of u and v in tables with gold.
STEMS = ("", "pred_", "prediction_", "predicted_", "y_pred_", "label_")
# Names that no system of a board has.
NO_SYSTEM = (*SURELY_GOLD, "expected", "actual", "reference", "answer", "y")
# Content of items, as opposed to outputs of systems.
CONTEXT = ("question", "prompt", "input", "source", "src", "instruction", "target", "reference", "ref", "doc")

_MARKS = re.compile(r"[\W_]+")
# Beginnings of options and formulas, which are not names of roles: --gold is not gold.
_NO_NAMES = ("-", "+", "=", "@")
_OTHER_ID = re.compile(r"(?:[\W_][iI]|(?<=[a-z0-9])I)[dD]\Z")


@lru_cache(1 << 14)
def folded(name: str) -> str:
    """A name without case, `_`, `-` and blanks; options, formulas, and names without other characters stay unchanged.

    >>> folded("questionID"), folded("Unnamed: 0"), folded("&"), folded("--gold")
    ('questionid', 'unnamed0', '&', '--gold')
    """
    if name.startswith(_NO_NAMES):
        return name.strip()
    return _MARKS.sub("", name).lower() or name.strip()


def gold_among(names: Iterable[str]) -> str | None:
    """The name of gold among names of systems; y is not gold beside x and z."""
    listed = list(names)
    letters = {"x", "y", "z"} <= {folded(name) for name in listed}
    return find([name for name in listed if not letters or folded(name) != "y"], NO_SYSTEM)


def find(columns: Iterable[str], names: Sequence[str]) -> str | None:
    """The column with the first of these names; among columns with equal names the first."""
    by_name: dict[str, str] = {}
    for column in columns:
        by_name.setdefault(folded(column), column)
    return next((by_name[folded(name)] for name in names if folded(name) in by_name), None)


def is_one_of(name: str, names: Collection[str]) -> bool:
    """Whether a name is one of the names of a role."""
    return folded(name) in _all_folded(tuple(names))


@lru_cache(256)
def _all_folded(names: tuple[str, ...]) -> frozenset[str]:
    return frozenset(map(folded, names))


def is_cost(name: str) -> bool:
    """Whether a column has a name of costs, which tables have beside scores: latency_ms, total_tokens."""
    return not COSTS.isdisjoint(_MARKS.sub(" ", name.lower()).split())


def is_predicted(name: str) -> bool:
    """Whether a column has a name of predictions, of any system: `y_pred_new`, `prediction_a`."""
    return any(folded(name).startswith(folded(one)) for one in PREDICTED)


def is_key(name: str) -> bool:
    """Whether a column has a name of keys: one in the list, or one that ends in id and is not a run or system.

    >>> [is_key(name) for name in ("qid", "ticketId", "run_id", "valid")]
    [True, True, False, False]
    """
    if is_one_of(name, KEY):
        return True
    return _OTHER_ID.search(name) is not None and not is_one_of(name, (*RUN, *SYSTEM))
