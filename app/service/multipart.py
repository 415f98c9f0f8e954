"""A multipart body (RFC 7578) as files and fields, from bytes that are already in memory and within their limit.

The parser is python-multipart's. Its parts stay in memory, never on a disk; gzip and zstd files are inflated within
one limit for all of them.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from ..errors import BodyTooLarge, Flaw, InvalidTest, MalformedBody, pointer_token
from ..inputs import encodings
from ..inputs.formats.reader import UploadedFile
from ..inputs.quoting import quoted

MAX_FIELD_CHARS = 10_000
MAX_PART_HEADERS = 8
MAX_HEADER_BYTES = 4_096
MAX_NAME_CHARS = 200
IDENTITY = frozenset({"", "7bit", "8bit", "binary"})


@dataclass(frozen=True, slots=True)
class Form:
    """A form: files by role, fields in their order, and the files of a role that may be there several times."""

    files: dict[str, UploadedFile]
    fields: list[tuple[str, str]]
    repeated: list[UploadedFile] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Part:
    """One part while it is read."""

    headers: dict[bytes, bytes] = field(default_factory=dict)
    content: bytearray = field(default_factory=bytearray)


def read(
    body: bytes | bytearray,
    boundary: str,
    roles: Collection[str],
    *,
    most_parts: int,
    most_bytes: int,
    repeated: str | None = None,
    several: Collection[str] = (),
) -> Form:
    """Read a form; a part is a file when it has a filename, or is named by one of the `roles`.

    Only the role `repeated` may be there several times; and those in `several`, whose files become the parts of one.

    Raises MalformedBody: The body is not multipart with this boundary, or truncated; or a file's compressed data is
    damaged; BodyTooLarge: There are more than `most_parts`, or the files have more than `most_bytes` when inflated;
    InvalidTest: A name is repeated; pointers are `/files/<role>` and `/options/<name>`.
    """
    fields: list[tuple[str, str]] = []
    listed: list[UploadedFile] = []
    files: dict[str, list[UploadedFile]] = {}
    left = most_bytes
    for number, part in enumerate(_parts(body, boundary, most_parts), 1):
        name, path = _names(part, number)
        if path is None and name not in roles:
            fields.append((name, _text(part.content, name)))
            continue
        if name in files and name not in several:
            pointer, detail = f"/files/{pointer_token(name[:40])}", f"There are two files {quoted(name)}."
            raise InvalidTest.at(pointer, "duplicate_file", detail)
        content = _inflated(bytes(part.content), name, left)
        left -= len(content)
        folder, _, filename = (path or "").rpartition("/")
        file = UploadedFile(filename[:MAX_NAME_CHARS], content, folder[-MAX_NAME_CHARS:])
        (listed if name == repeated else files.setdefault(name, [])).append(file)
    return Form({role: _whole(parts) for role, parts in files.items()}, fields, listed)


def _whole(parts: list[UploadedFile]) -> UploadedFile:
    """The file of a role, or several as the parts of one."""
    first = parts[0]
    return first if len(parts) == 1 else UploadedFile(first.name, b"", first.folder, tuple(parts))


def _parts(body: bytes | bytearray, boundary: str, most: int) -> list[Part]:
    parts: list[Part] = []
    name, value, ends = bytearray(), bytearray(), list[bool]()

    def begin() -> None:
        if len(parts) == most:
            raise BodyTooLarge(f"The form has more than {most} parts, which is this server's limit.")
        parts.append(Part())

    def end_header() -> None:
        parts[-1].headers[bytes(name).lower()] = bytes(value)
        name.clear()
        value.clear()

    callbacks = {
        "on_part_begin": begin,
        "on_header_field": lambda data, start, end: name.extend(data[start:end]),
        "on_header_value": lambda data, start, end: value.extend(data[start:end]),
        "on_header_end": end_header,
        "on_part_data": lambda data, start, end: parts[-1].content.extend(memoryview(data)[start:end]),
        "on_end": lambda: ends.append(True),
    }
    try:
        MultipartParser(
            boundary.encode("latin-1"),
            callbacks,  # type: ignore[arg-type]  # a TypedDict of the same names
            max_header_count=MAX_PART_HEADERS,
            max_header_size=MAX_HEADER_BYTES,
        ).write(bytes(body))
    except FormParserError:
        detail = "The body is not a multipart form with the boundary in its Content-Type."
        raise MalformedBody(detail) from None
    if not ends:
        raise MalformedBody("The multipart body is truncated: its last boundary is missing.")
    return parts


def _names(part: Part, number: int) -> tuple[str, str | None]:
    """The name of a part, and its filename if it has one, with the folders that the caller sent."""
    try:
        kind, options = parse_options_header(part.headers.get(b"content-disposition", b""))
        name = options[b"name"].decode()
        filename = options[b"filename"].decode().replace("\\", "/") if b"filename" in options else None
    except (KeyError, ValueError, IndexError):
        kind, name, filename = b"", "", None
    if kind != b"form-data" or not name:
        raise MalformedBody(f"Part {number} of the form has no Content-Disposition that names it in UTF-8.")
    coding = part.headers.get(b"content-transfer-encoding", b"").decode("latin-1").strip().lower()
    if coding not in IDENTITY:
        detail = f"Part {number} of the form has a Content-Transfer-Encoding; send its bytes as they are."
        raise MalformedBody(detail)
    return name, filename


def _text(content: bytearray, name: str) -> str:
    pointer = f"/options/{pointer_token(name[:40])}"
    try:
        text = content.decode()
    except UnicodeDecodeError:
        detail = f"The field {quoted(name)} is not UTF-8."
        raise MalformedBody(detail, flaws=(Flaw(pointer, "not_utf8", detail),)) from None
    if len(text) > MAX_FIELD_CHARS:
        detail = f"A field has at most {MAX_FIELD_CHARS:,} characters; {quoted(name)} has {len(text):,}. Is it a file?"
        raise InvalidTest.at(pointer, "field_too_long", detail)
    return text


def _inflated(content: bytes, role: str, left: int) -> bytes:
    """A file without its compression; errors name the file."""
    try:
        plain = encodings.inflated(content, max_bytes=left)
    except (MalformedBody, BodyTooLarge) as error:
        detail, code = f"{role[:40]}: {error.detail}", "damaged_file"
        if isinstance(error, BodyTooLarge):
            code = "file_too_large"
        raise type(error)(detail, flaws=(Flaw(f"/files/{pointer_token(role[:40])}", code, detail),)) from None
    if len(plain) > left:
        detail = f"Inflated, the files have more than {left:,} bytes, which is all that is left of the limit."
        raise BodyTooLarge(detail)
    return plain
