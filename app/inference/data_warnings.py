"""What makes the data of a test look like a mistake: warnings of a test, refusals of a gate."""

from __future__ import annotations

from app.errors import InvalidTest
from app.statistics.data_warning import DataWarning
from app.statistics.label_match import label_warnings
from app.statistics.paired import Paired, Predictions, StatisticSpec
from app.statistics.summary_rows import summary_warning


def data_warnings(data: Paired, spec: StatisticSpec) -> tuple[DataWarning, ...]:
    """Labels that never match gold, and rows of averages among the items; raises InvalidTest where that is certain."""
    rows = summary_warning(data.pairing)
    labels = label_warnings(data, spec) if isinstance(data, Predictions) else []
    return (*([] if rows is None else [rows]), *labels)


def refuse_undecidable(warnings: tuple[DataWarning, ...]) -> None:
    """Refuse what no gate should decide by; raises InvalidTest."""
    for warning in warnings:
        if warning.undecidable:
            detail = f"{warning.detail} A gate does not decide by such data."
            raise InvalidTest.at(warning.pointer, warning.code, detail)
