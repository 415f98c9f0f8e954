"""Signs in unnamed columns that a file cannot be paired by order: ids in another order, and rows of averages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from ...errors import InvalidTest, choices_of
from ...statistics.summary_rows import summary_rows
from ..quoting import quoted

Column = Sequence[object]
# Averages are looked for in so many rows at each end of a file.
END_ROWS = 100


def refuse_hidden_ids(columns: Iterable[tuple[str, Column, Column]], pointer: str) -> None:
    """Refuse pairing by order where a column says that the files list the same items in different orders.

    `columns` are those that both files have, with their name: of u and of v.

    Raises
    ------
    InvalidTest
        A column of both files has another value in every row, most of these in both files, and not in the same order.
    """
    for name, u, v in columns:
        if _are_ids_in_another_order(u, v):
            detail = (
                f"No column is known to hold ids, but {quoted(name)} has the same values in u and in v, in another order: "
                f"pairing by order would pair different items. Give id_column={name[:40]}, or remove the column."
            )
            choices = choices_of("id_column", {name: f"{name[:40]} holds the ids"})
            raise InvalidTest.at(pointer, "choose_id_column", detail, choices)


def _are_ids_in_another_order(u: Column, v: Column) -> bool:
    if not (_may_be_keys(u) and _may_be_keys(v)) or list(u) == list(v):
        return False
    row_in_u = {value: row for row, value in enumerate(u)}
    shared = [(row_in_u[value], row) for row, value in enumerate(v) if value in row_in_u]
    return 2 * len(shared) > min(len(u), len(v)) and any(first != second for first, second in shared)


def _may_be_keys(values: Column) -> bool:
    """Texts or integers, each once."""
    return all(type(value) in (str, int) for value in values) and len(set(values)) == len(values) > 1


def end_rows(n: int) -> list[int]:
    """The rows at both ends of n, where averages and totals are looked for."""
    return list(range(n)) if n <= 2 * END_ROWS else [*range(END_ROWS), *range(n - END_ROWS, n)]


def averages_row(values: Column) -> int | None:
    """The last row of averages or totals at an end of a column, when the names of such rows occur nowhere else in it."""
    ends = end_rows(len(values))
    rows = [ends[row] for row in summary_rows([values[row] for row in ends])]
    if not rows:
        return None
    counts = Counter(values)
    return rows[-1] if all(counts[values[row]] == 1 for row in rows) else None
