"""The formats that `tables` reads: csv, tsv, mqm and jsonl, and how they are recognised."""

from __future__ import annotations

from collections.abc import Sequence

from ..delimited import is_quoted
from ..missing_texts import is_missing
from .format import FirstLook, Format, Sign
from .number_text import are_data, is_numeric
from .tables import JSON_LINES, OF_RECORDS, OF_TABLES, ROLES, read
from .wrappers import holds_table


def _sign(look: FirstLook) -> Sign:
    """Of a table whose columns we know, or of two or four numbers a line without a header."""
    columns = look.columns
    known = {"u", "v"} <= columns or {"system", "score"} <= columns or {"id", "score"} <= columns
    counted = any(name.endswith("_u") and f"{name[:-2]}_v" in columns for name in columns)
    if known or counted or ("id" in columns and len(columns) >= 3):
        return Sign.HEADER
    numbers = look.rows and (_are_numbers(look) or _is_table(look))
    return Sign.LINES if numbers else Sign.NONE


def _is_table(look: FirstLook) -> bool:
    """Whether names stand above lines of as many fields, one column of which holds numbers."""
    names, *lines = look.table or [[]]
    quoted_names = (
        look.delimiter in {" ", "\t"} and bool(look.rows) and is_quoted(look.rows[0], look.delimiter)
    )
    if not lines or are_data(names) or (look.delimiter == " " and not quoted_names):
        return False
    width = len(lines[0])  # with a name of the row, as R's write.table has it
    if width != len(names) + (quoted_names and width > len(names)) or any(
        len(line) != width for line in lines
    ):
        return False
    return any(_hold_numbers(column) for column in zip(*lines, strict=True))


def _are_numbers(look: FirstLook) -> bool:
    """Whether the first line is data without names: one number; or two or four, not between blanks."""
    fields = look.table[0] if look.table else []
    if len(fields) not in {1, 2, 4} or (look.delimiter == " " and len(fields) > 1):
        return False
    return _hold_numbers(fields)


def _hold_numbers(fields: Sequence[str]) -> bool:
    return any(map(is_numeric, fields)) and all(is_numeric(field) or is_missing(field) for field in fields)


def _sign_of_tabs(look: FirstLook) -> Sign:
    sign = _sign(look)
    return sign if sign is Sign.HEADER and look.delimiter == "\t" else Sign.NONE


def _sign_of_mqm(look: FirstLook) -> Sign:
    wmt = look.delimiter == " " and {"system", "seg_id"} <= look.columns
    return Sign.HEADER if wmt else Sign.NONE


MQM = Format(
    "mqm", read, ROLES, OF_TABLES, "WMT's long files: system score seg_id, separated by blanks",
    kinds=("scores",), delimiter="blank", sign=_sign_of_mqm,
)  # fmt: skip
TSV = Format(
    "tsv", read, ROLES, OF_TABLES, "as csv, with tabs", kinds=("scores", "counts"), delimiter="tab", sign=_sign_of_tabs,
    suffixes=(".tsv", ".tab"),
)  # fmt: skip
CSV = Format(
    "csv", read, ROLES, OF_TABLES, "wide id,u,v[,cluster]; long id,system,score; 2 or 4 columns without a header",
    kinds=("scores", "counts"), sign=_sign, suffixes=(".csv", ".xlsx", ".parquet"),
)  # fmt: skip


def _sign_of_lines(look: FirstLook) -> Sign:
    array = look.is_json and look.text.lstrip().startswith("[")
    if look.record is None and holds_table(look.document):
        return Sign.SHAPE
    return Sign.LINES if array or look.record is not None else Sign.NONE


JSONL = Format(
    JSON_LINES, read, ROLES, OF_RECORDS, "JSON: lines, an array or a table inside, of {id, score}, {id, u, v} or {id, system, score}",
    kinds=("scores",), aliases=("json", "ndjson"), sign=_sign_of_lines,
)  # fmt: skip
