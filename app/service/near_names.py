"""What was probably meant by a name that is none: of a field, or of a statistic of other data."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping

from ..inputs.quoting import quoted
from ..statistics.catalogue import STATISTICS
from ..statistics.metrics import METRICS

LIKENESS = 0.7
MOST_CHARS = 40  # of a name that is compared with others

SENT_AS = {"segments": "predictions"}  # translations are predictions, and references gold

# What other libraries, papers and people call our fields; the first that the request has is meant.
SYNONYMS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("x", "a", "candidate", "new", "system_a", "scores_a", "model_a", "y_pred_a", "pred_u"), ("u",)),
    **dict.fromkeys(("y", "b", "baseline", "old", "system_b", "scores_b", "model_b", "y_pred_b", "pred_v"), ("v",)),
    **dict.fromkeys(("y_true", "labels", "reference", "references", "ref", "target", "targets", "truth"), ("gold",)),
    **dict.fromkeys(("significance_level", "level", "p_threshold"), ("alpha",)),
    **dict.fromkeys(("n_resamples", "n_permutations", "num_samples", "resamples", "permutations", "R", "B"), ("samples",)),
    **dict.fromkeys(("random_state", "rng"), ("seed",)),
    **dict.fromkeys(("side", "tail", "tails"), ("alternative",)),
    **dict.fromkeys(("confidence", "conf_level", "ci"), ("confidence_level",)),
    **dict.fromkeys(("group", "documents", "document", "cluster", "strata"), ("clusters",)),
    **dict.fromkeys(("metric", "measure", "stat"), ("statistic",)),
    **dict.fromkeys(("timeout", "deadline"), ("timeout_s",)),
    "models": ("systems",),
    "id": ("ids",),
}  # fmt: skip

DATA = {"score", "scores"}  # are no slips of `store`


def near_field(name: str, fields: Collection[str]) -> str | None:
    """The field that was probably meant.

    >>> near_field("alternativ", ["alternative", "alpha"]), near_field("y_true", ["gold", "u"]), near_field("zz", ["u"])
    ('alternative', 'gold', None)
    """
    if len(name) > MOST_CHARS:
        return None
    meant = next((field for field in SYNONYMS.get(name, ()) if field in fields), None)
    likely = [field for field in fields if field != "store" or name.lower() not in DATA]
    near = difflib.get_close_matches(name.lower(), likely, 1, LIKENESS)
    return meant or (near[0] if near else None)


def elsewhere(name: object) -> str:
    """A sentence after " " on a statistic that other data have, or that files measure; empty where there is none.

    >>> elsewhere("span_f1")
    ' "span_f1" is a statistic of predictions: send them to /v1/tests/predictions.'
    >>> elsewhere("wer"), elsewhere("magic")
    (' "wer" is read from files: send them to /v1/tests/files.', '')
    """
    if not isinstance(name, str) or len(name) > MOST_CHARS:
        return ""
    having = [kind for kind, entries in STATISTICS.items() if any(entry.name == name for entry in entries)]
    kinds = list(dict.fromkeys(SENT_AS.get(kind, kind) for kind in having))
    if kinds:
        paths = " or ".join(f"/v1/tests/{kind}" for kind in kinds)
        return f" {quoted(name)} is a statistic of {' and '.join(kinds)}: send them to {paths}."
    if name.lower() in METRICS:
        return f" {quoted(name)} is read from files: send them to /v1/tests/files."
    known = {entry.name for entries in STATISTICS.values() for entry in entries}
    near = difflib.get_close_matches(name.lower(), known, 1, LIKENESS)
    return f" Did you mean {near[0]}?" if near else ""
