"""What was probably meant by a name that is none: of a field, or of a statistic of other data."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping
from functools import cache

from ..errors import marked
from ..inputs.quoting import quoted
from ..statistics.catalogue import STATISTICS
from ..statistics.metrics import METRICS

LIKENESS = 0.7
# What people call our statistics, beside the names in other tools, which the catalogue knows.
CALLED: Mapping[str, str] = {
    "mean_difference": "mean average mean_diff permutation randomization randomisation ttest_rel t_test ttest paired_t "
    "mcnemar_exact mcnemar_test",
    "sum_difference": "sum total",
    "sign": "sign_test binom_test binomial",
    "signed_rank": "wilcoxon_signed_rank signrank wilcox wilcox_test",
    "median_difference": "median",
    "quantile_difference": "quantile percentile",
    "auc": "auroc roc_auc",
    "mcc": "matthews matthews_correlation",
}
NEAR = 2  # names that may have been meant
FEW = 12  # names that a sentence lists
MOST_CHARS = 40  # of a name that is compared with others

SENT_AS = {"segments": "predictions"}  # translations are predictions, and references gold

# What other libraries, papers and people call our fields.
SYNONYMS: Mapping[str, str] = {
    "u": "x a candidate new system_a scores_a model_a y_pred_a pred_u",
    "v": "y b baseline old system_b scores_b model_b y_pred_b pred_v",
    "gold": "y_true labels reference references ref target targets truth",
    "alpha": "significance_level level p_threshold",
    "samples": "n_resamples n_permutations num_samples resamples permutations R B",
    "seed": "random_state rng",
    "alternative": "side tail tails",
    "confidence_level": "confidence conf_level ci",
    "clusters": "group documents document cluster strata",
    "statistic": "metric measure stat",
    "timeout_s": "timeout deadline",
    "systems": "models",
    "ids": "id",
}
OURS = {theirs: field for field, names in SYNONYMS.items() for theirs in names.split()}

DATA = {"score", "scores"}  # are no slips of `store`


def no_such(name: str, fields: Collection[str]) -> str:
    """The sentence that refuses a name, with what was probably meant; with the first of all fields where nothing was.

    >>> no_such("alternativ", ["alternative", "alpha"])
    'There is no option "alternativ" here; did you mean `alternative`?'
    >>> no_such("y_true", ["gold", "u"]), no_such("zz", ["u", "v"])
    ('There is no option "y_true" here; did you mean `gold`?', 'There is no option "zz" here; there are `u`, `v`.')
    """
    meant = [OURS[name]] if OURS.get(name) in fields else []
    if not meant and len(name) <= MOST_CHARS:
        likely = [field for field in fields if field != "store" or name.lower() not in DATA]
        meant = difflib.get_close_matches(name.lower(), likely, NEAR, LIKENESS)
    told = f"did you mean {' or '.join(map(marked, meant))}?"
    if not meant:
        more = f" and {len(fields) - FEW} more" if len(fields) > FEW else ""
        told = f"there are {', '.join(map(marked, list(fields)[:FEW]))}{more}."
    return f"There is no option {quoted(name)} here; {told}"


def elsewhere(name: object, here: Collection[str] = ()) -> str:
    """A sentence after " " on what a statistic is called here, which data have it, or that files measure it; else empty.

    `here` are the statistics of the data at hand.

    >>> elsewhere("span_f1")
    ' "span_f1" is a statistic of predictions, which have `gold` beside them.'
    >>> elsewhere("wer"), elsewhere("magic")
    (' "wer" is read from files.', '')
    >>> elsewhere("wilcoxon", ["sign", "signed_rank"])
    ' "wilcoxon" is signed_rank here.'
    """
    if not isinstance(name, str) or len(name) > MOST_CHARS:
        return ""
    called = _tools_names().get(name.lower().rpartition(".")[2], [])
    ours = next((one for one in called if one in here), None)
    if ours is not None:
        return f" {quoted(name)} is {ours} here."
    if kinds := _all_kinds().get(name, ()):
        return f" {quoted(name)} is a statistic of {_sent_as(kinds)}"
    if name.lower() in METRICS:
        return f" {quoted(name)} is read from files."
    if called:
        return f" {quoted(name)} is {called[0]} here, a statistic of {_sent_as(_all_kinds()[called[0]])}"
    near = difflib.get_close_matches(name.lower(), here, 1, LIKENESS)
    if near or not (near := difflib.get_close_matches(name.lower(), _all_kinds(), 1, LIKENESS)):
        return f" Did you mean {near[0]}?" if near else ""
    return f" Did you mean {near[0]}? That is a statistic of {_sent_as(_all_kinds()[near[0]])}"


def _sent_as(kinds: Collection[str]) -> str:
    gold = ", which have `gold` beside them" if "predictions" in kinds else ""
    return f"{' and of '.join(kinds)}{gold}."


@cache
def _all_kinds() -> dict[str, tuple[str, ...]]:
    """The kinds of data that have a statistic, as they are sent, by its name."""
    kinds: dict[str, tuple[str, ...]] = {}
    for kind, entries in STATISTICS.items():
        for entry in entries:
            sent = SENT_AS.get(kind, kind)
            kinds[entry.name] = tuple(dict.fromkeys((*kinds.get(entry.name, ()), sent)))
    return kinds


@cache
def _tools_names() -> dict[str, list[str]]:
    """Our names by those of other tools: the last part of each that the catalogue knows, and what people call them."""
    ours = {theirs: [name] for name, names in CALLED.items() for theirs in names.split()}
    for entries in STATISTICS.values():
        for entry in entries:
            for tool in entry.known_as:
                own = ours.setdefault(tool.rpartition(".")[2], [])
                own += [] if entry.name in own else [entry.name]
    return ours
