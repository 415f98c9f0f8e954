"""Which files a reader needs and which it can use."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from app.errors import InvalidTest
from app.inputs.formats.source import Source

WHAT = {
    "u": "the first system (the candidate)",
    "v": "the second system (the baseline)",
    "gold": "the gold standard",
    "ref": "the references",
    "qrels": "the relevance judgements",
    "file": "both systems in one file",
}


def needed(files: Mapping[str, Source], role: str, format_: str) -> Source:
    """The file in this role; raises InvalidTest when it is not there."""
    if role not in files:
        detail = f"The format {format_} needs a file {role}: {WHAT.get(role, role)}."
        raise InvalidTest.at(f"/files/{role}", "missing_file", detail)
    return files[role]


def both(files: Mapping[str, Source], format_: str) -> tuple[Source, Source]:
    """The files of the two systems, which may be one file in the role `file`."""
    if "file" in files:
        return files["file"], files["file"]
    return needed(files, "u", format_), needed(files, "v", format_)


def only(files: Mapping[str, Source], allowed: Collection[str], format_: str) -> None:
    """Refuse a file that the format has no use for, and a system given twice."""
    for role in files:
        if role not in allowed:
            detail = (
                f"The format {format_} has no use for a file {role[:40]}; it takes: {', '.join(allowed)}."
            )
            raise InvalidTest.at(f"/files/{role[:40]}", "unused_file", detail)
    if "file" in files and ("u" in files or "v" in files):
        detail = "Give both systems in one file, or each in its own (u and v); not both ways."
        raise InvalidTest.at("/files/file", "unused_file", detail)
