"""An answer about power in one line, in Markdown, and as rows of CSV."""

from __future__ import annotations

from ...inference.power.record import PowerRecord
from ..csv_row import optional, written
from ..escaping import prose_for_markdown
from ..markdown import quoted, table
from ..number_format import exactly, number


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
    solution = record.solution
    common = {
        "id": power_id,
        "solve": record.solve,
        "solution_n": optional(solution.n),
        "solution_n_always": optional(solution.n_always),
        "solution_effect": optional(solution.effect),
        "solution_power": optional(solution.power),
        "wanted_power": optional(record.wanted_power),
        "alpha": repr(record.alpha),
        "comparisons": str(record.comparisons),
        "alternative": record.alternative,
        "critical_difference": optional(record.critical_difference),
        "actual_alpha": optional(record.actual_alpha),
        "method": record.method.name,
        "warnings": " ".join(warning.code for warning in record.warnings),
    }
    points = [
        {"n": str(point.n), "effect": repr(point.effect), "power": repr(point.power)}
        for point in record.curve
    ] or [{"n": "", "effect": "", "power": ""}]
    return written([{**common, **point} for point in points])


def _or_none(value: float | None) -> str:
    return "none" if value is None else number(float(value))
