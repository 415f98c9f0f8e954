"""What makes the data of a test look like a mistake: warnings of a test, refusals of a gate."""

from __future__ import annotations

from ..errors import InvalidTest
from ..statistics.columns import summary_warning
from ..statistics.counts import totals_warning
from ..statistics.labels import label_warnings
from ..statistics.numbers import weights_warning
from ..statistics.paired import Counts, DataWarning, Paired, Pairing, Predictions, Scores, StatisticSpec
from ..statistics.pairwise.data import PAIRWISE, pair_warnings


def data_warnings(data: Paired, spec: StatisticSpec) -> tuple[DataWarning, ...]:
    """Few items left, rows of averages among them, labels that never match gold; raises InvalidTest where that is certain."""
    of_items = (mostly_dropped(data.pairing), summary_warning(data.pairing))
    labels: list[DataWarning] = []
    if isinstance(data, Predictions):
        labels = pair_warnings(data, spec) if spec.name in PAIRWISE else label_warnings(data, spec)
    totals = totals_warning(data, spec) if isinstance(data, Counts) else None
    dust = weights_warning(data.weights) if isinstance(data, Scores) and data.weights is not None else None
    return (*(warning for warning in (*of_items, totals, dust) if warning is not None), *labels)


def mostly_dropped(pairing: Pairing) -> DataWarning | None:
    """The warning that more than half of a column's items were left out, if they were."""
    matched, largest = pairing.matched, pairing.largest
    if matched is None or largest is None or 2 * matched >= largest:
        return None
    detail = (
        f"Only {matched:,} of {largest:,} items were compared: the others have no counterpart or no value, and on_missing "
        "left them out. The rest may not be representative: check that the ids are spelled the same and that no run "
        "stopped early, or give only the items to compare."
    )
    return DataWarning("/on_missing", "mostly_dropped", detail)


def refuse_undecidable(warnings: tuple[DataWarning, ...]) -> None:
    """Refuse what no gate should decide by; raises InvalidTest."""
    for warning in warnings:
        if warning.undecidable:
            detail = f"{warning.detail} A gate does not decide on such data."
            raise InvalidTest.at(warning.pointer, warning.code, detail)
