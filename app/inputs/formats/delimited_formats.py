"""The formats that `delimited_files` reads: csv, tsv and mqm, and how they are recognised."""

from __future__ import annotations

from .delimited_files import ROLES, USES, read
from .format import FirstLook, Format, Sign
from .number_text import is_missing, may_be_ids, parsed
from .table import GUESSED_DELIMITERS


def _sign(look: FirstLook) -> Sign:
    """Of a table whose columns we know, or of two or four numbers a line without a header."""
    columns = look.columns
    known = {"u", "v"} <= columns or {"system", "score"} <= columns or {"id", "score"} <= columns
    counted = any(name.endswith("_u") and f"{name[:-2]}_v" in columns for name in columns)
    if known or counted or ("id" in columns and len(columns) >= 3):
        return Sign.HEADER
    numbers = look.rows and (_are_numbers(look.rows[0]) or _is_table(look))
    return Sign.LINES if numbers else Sign.NONE


def _is_table(look: FirstLook) -> bool:
    """Whether names stand above lines of as many fields, two or more of them numbers."""
    names, *lines = [row.split(look.delimiter) for row in look.rows]
    whole = lines[:-1] or lines  # the last line may be cut off
    if look.delimiter == " " or not whole or any(parsed(name.strip()) is not None for name in names):
        return False
    return all(
        len(line) == len(names) and sum(parsed(value.strip()) is not None for value in line) >= 2
        for line in whole
    )


def table_hint(look: FirstLook) -> str:
    """What to say of a file that no sign gives away and that looks like a table: its format, and its column of ids."""
    names, *lines = [row.split(look.delimiter) for row in look.rows] or [[]]
    whole = [[field.strip() for field in line] for line in lines[:-1] or lines]
    if len(names) < 2 or look.delimiter == " " or not whole or any(len(line) != len(names) for line in whole):
        return ""
    columns = dict(zip(names, zip(*whole, strict=True), strict=True))
    ids = [name.strip() for name, fields in columns.items() if may_be_ids(fields)]
    if not any(all(parsed(field) is not None for field in fields) for fields in columns.values()):
        return ""
    named = f" and id_column={ids[0][:40]}" if len(ids) == 1 else ""
    return f" If it is a table, give format=csv{named}."


def _are_numbers(line: str) -> bool:
    for delimiter in GUESSED_DELIMITERS[:4]:
        values = [value.strip() for value in line.split(delimiter)]
        if len(values) in (2, 4) and all(parsed(v) is not None or is_missing(v) for v in values):
            return True
    return parsed(line.strip()) is not None


def _sign_of_tabs(look: FirstLook) -> Sign:
    sign = _sign(look)
    return sign if sign is Sign.HEADER and look.delimiter == "\t" else Sign.NONE


def _sign_of_mqm(look: FirstLook) -> Sign:
    wmt = look.delimiter == " " and {"system", "seg_id"} <= look.columns
    return Sign.HEADER if wmt else Sign.NONE


MQM = Format(
    "mqm", read, ROLES, USES, "WMT's long files: system score seg_id, separated by blanks",
    kinds=("scores",), delimiter="blank", sign=_sign_of_mqm,
)  # fmt: skip
TSV = Format(
    "tsv",
    read,
    ROLES,
    USES,
    "as csv, with tabs",
    kinds=("scores", "counts"),
    delimiter="tab",
    sign=_sign_of_tabs,
)
CSV = Format(
    "csv", read, ROLES, USES, "wide id,u,v[,cluster]; long id,system,score; 2 or 4 columns without a header",
    kinds=("scores", "counts"), sign=_sign,
)  # fmt: skip
