"""An answer about power in one line, in Markdown, and as rows of CSV."""

from __future__ import annotations

from ...answers.power import PowerRecord
from ...presentation.columns import POINT, POWER, cells
from ...presentation.escaping import prose_for_markdown
from ...presentation.numbers import exactly, number
from ..csv_row import written
from ..markdown import quoted, table


def power_line(record: PowerRecord, power_id: str) -> str:
    """The answer in one line, without the line end."""
    solution = record.solution
    words = [
        f"n={_or_none(solution.n)}",
        *([] if solution.n_always in {None, solution.n} else [f"n_always={solution.n_always}"]),
        f"effect={_or_none(solution.effect)}",
        f"power={_or_none(solution.power)}",
        f"alpha={exactly(record.alpha)}",
        *([] if record.comparisons == 1 else [f"comparisons={record.comparisons}"]),
        record.alternative,
        f"critical_difference={_or_none(record.critical_difference)}",
        f"({'exact' if record.method.exact else 'approximate'}, {record.method.name})",
        *(f"[{warning.code}]" for warning in record.warnings),
    ]
    return " ".join([*words, power_id])


def power_markdown(record: PowerRecord, power_id: str) -> str:
    """The answer as GitHub-flavoured Markdown."""
    rows = [[f"{point.n:,}", number(point.effect), number(point.power)] for point in record.curve]
    return "\n\n".join(
        [
            f"**{prose_for_markdown(record.sentence)}**",
            *([table(["items", "true difference", "power"], rows)] if rows else []),
            *facts(record),
            *quoted(record.warnings),
            f"<sub>exactperm {power_id}, method `{record.method.name}`</sub>\n",
        ]
    )


def facts(record: PowerRecord) -> list[str]:
    """What else is known, in sentences."""
    said = [f"{record.method.given}"]
    if record.critical_difference is not None and record.solution.n is not None:
        said.append(
            f"With {record.solution.n:,} items a difference of {number(record.critical_difference)} or more is significant."
        )
    if record.actual_alpha is not None:
        said.append(f"Equal systems are found different with probability {number(record.actual_alpha)}.")
    return said


def power_csv(record: PowerRecord, power_id: str) -> str:
    """The curve, a row for each point; what was asked for is in every row."""
    common = {"id": power_id, **cells(POWER, record)}
    points = [cells(POINT, point) for point in record.curve] or [{column.name: "" for column in POINT}]
    return written([{**common, **point} for point in points])


def _or_none(value: float | None) -> str:
    return "none" if value is None else number(float(value))
