"""The two containers of an Inspect log, down to one list of samples."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from ...errors import BodyTooLarge, Flaw, InvalidTest, MalformedBody
from .. import ndjson
from ..quoting import escaped
from .source import Source

ZIP_MAGIC = b"PK"
READABLE = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
HEADER = "header.json"
SUMMARIES = "summaries.json"
SAMPLES = "samples/"
MAX_MEMBERS = 1_000_000
# What zipfile raises on archives that are truncated or malicious; RuntimeError asks for a password.
DAMAGED = (
    zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, ValueError, IndexError, OverflowError, RuntimeError,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Log:
    """The parts of a log that a test needs. `members` are the archive members of the samples, if each has its own."""

    source: Source
    status: str
    task: str
    model: str
    samples: list[dict[str, Any]]
    members: tuple[str, ...] = ()
    under: str = "samples"

    def path(self, index: int) -> str:
        """The pointer to a sample below the file's."""
        return escaped(self.members[index]) if self.members else f"{self.under}/{index}"


def load(source: Source, max_bytes: int, notes: list[str]) -> Log:
    """Read a log in either form.

    Raises
    ------
    MalformedBody
        It is neither JSON nor a complete zip archive.
    InvalidTest
        It is not a log of Inspect, or its compression cannot be read here.
    BodyTooLarge
        The members that must be read are over `max_bytes`.
    """
    if source.content.startswith(ZIP_MAGIC):
        return _archive(source, max_bytes)
    document = ndjson.decoded(source.text(notes), source.pointer, source.label)
    if not isinstance(document, dict) or not isinstance(document.get("eval"), dict):
        raise _no_log(source, "there is no object eval")
    samples = document.get("samples")
    if samples is None:
        raise InvalidTest.at(
            source.at("samples"), "no_samples", f"{source.label}: the log was written without samples."
        )
    return _log(source, document, samples)


def _log(source: Source, header: dict[str, Any], samples: Any, **more: Any) -> Log:
    if not isinstance(samples, list) or not all(isinstance(sample, dict) for sample in samples):
        raise _no_log(source, "samples are not a list of objects")
    about = header["eval"]
    return Log(
        source,
        str(header.get("status", "unknown")),
        str(about.get("task", "")),
        str(about.get("model", source.name)),
        samples,
        **more,
    )


def _no_log(source: Source, why: str) -> InvalidTest:
    return InvalidTest.at(
        source.pointer, "not_a_log", f"{source.label}: this is not a log of Inspect: {why}."
    )


def _archive(source: Source, max_bytes: int) -> Log:
    try:
        archive = zipfile.ZipFile(io.BytesIO(source.content))
    except DAMAGED:
        raise source.malformed(1, "not_a_zip", "the zip archive is damaged or truncated.") from None
    with archive:
        names = archive.namelist()
        if len(names) > MAX_MEMBERS:
            raise BodyTooLarge(f"{source.label}: the archive has more than {MAX_MEMBERS:,} members.")
        if HEADER not in names:
            raise InvalidTest.at(
                source.at("status"), "incomplete_log",
                f"{source.label}: the archive has no {HEADER}: the evaluation did not finish writing it.",
            )  # fmt: skip
        unpack = _Unpacker(source, archive, max_bytes)
        header = unpack.json(HEADER)
        if not isinstance(header, dict) or not isinstance(header.get("eval"), dict):
            raise _no_log(source, f"there is no object eval in {HEADER}")
        if SUMMARIES in names:
            return _log(source, header, unpack.json(SUMMARIES), under=SUMMARIES)
        members = tuple(name for name in names if _is_sample(name))
        return _log(source, header, [unpack.json(name) for name in members], members=members)


def _is_sample(name: str) -> bool:
    return name.startswith(SAMPLES) and name.endswith(".json")


def is_read(name: str, names: Collection[str]) -> bool:
    """Whether a member of an archive with these `names` is unpacked."""
    return name in {HEADER, SUMMARIES} or (_is_sample(name) and SUMMARIES not in names)


class _Unpacker:
    """Reads members up to a limit on their total size."""

    def __init__(self, source: Source, archive: zipfile.ZipFile, max_bytes: int) -> None:
        self.source = source
        self.archive = archive
        self.left = max_bytes

    def json(self, name: str) -> Any:
        source = self.source
        info = self.archive.getinfo(name)
        if info.file_size > self.left:
            raise source.too_large("unpacked, the log is larger than allowed.")
        if info.compress_type not in READABLE:
            detail = (
                f"{source.label}: {name[:80]} is compressed by method {info.compress_type}, and only stored and deflated "
                "members are read here. Convert it: inspect log convert --to json."
            )
            raise InvalidTest.at(source.at(name), "unsupported_compression", detail)
        try:
            with self.archive.open(info) as member:
                # Without a size it would inflate all of it before it counts.
                content = member.read(info.file_size + 1)
        except DAMAGED:
            detail = f"{source.label}: the member {name[:80]} is damaged."
            raise MalformedBody(detail, flaws=(Flaw(source.at(name), "not_a_zip", detail),)) from None
        self.left -= len(content)
        text = Source(source.role, source.name, content).text([])
        return ndjson.decoded(text, source.at(name), f"{source.label}, {name[:80]}")
