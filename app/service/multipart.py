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


@dataclass(slots=True)
class Part:
    """One part while it is read."""

    headers: list[tuple[bytes, bytes]] = field(default_factory=list)
    content: bytearray = field(default_factory=bytearray)


class Parts:
    """The parser's callbacks; they collect the parts."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.parts: list[Part] = []
        self.complete = False
        self.name = bytearray()
        self.value = bytearray()

    def on_part_begin(self) -> None:
        """Another part."""
        if len(self.parts) == self.most:
            raise BodyTooLarge(f"The form has more than {self.most} parts, which is this server's limit.")
        self.parts.append(Part())

    def on_header_field(self, data: bytes, start: int, end: int) -> None:
        """A piece of a header's name."""
        self.name += data[start:end]

    def on_header_value(self, data: bytes, start: int, end: int) -> None:
        """A piece of a header's value."""
        self.value += data[start:end]

    def on_header_end(self) -> None:
        """A header is complete."""
        self.parts[-1].headers.append((bytes(self.name).lower(), bytes(self.value)))
        self.name.clear()
        self.value.clear()

    def on_part_data(self, data: bytes, start: int, end: int) -> None:
        """A piece of a part's content."""
        self.parts[-1].content += memoryview(data)[start:end]

    def on_end(self) -> None:
        """The last boundary was read."""
        self.complete = True


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

    Raises
    ------
    MalformedBody
        The body is not multipart with this boundary, or truncated; or a file's compressed data is damaged.
    BodyTooLarge
        There are more than `most_parts`, or the files have more than `most_bytes` when inflated.
    InvalidTest
        A name is repeated; pointers are `/files/<role>` and `/options/<name>`.
    """
    files: dict[str, UploadedFile] = {}
    fields: list[tuple[str, str]] = []
    listed: list[UploadedFile] = []
    bundles: dict[str, list[UploadedFile]] = {}
    left = most_bytes
    for number, part in enumerate(_parts(body, boundary, most_parts), 1):
        name, path = _names(part, number)
        if path is None and name not in roles:
            fields.append((name, _text(part.content, name)))
            continue
        if name in files and name not in several:
            raise InvalidTest.at(
                f"/files/{pointer_token(name[:40])}", "duplicate_file", f"There are two files {quoted(name)}."
            )
        content = _inflated(bytes(part.content), name, left)
        left -= len(content)
        folder, _, filename = (path or "").rpartition("/")
        file = UploadedFile(filename[:MAX_NAME_CHARS], content, folder[-MAX_NAME_CHARS:])
        if name == repeated:
            listed.append(file)
        else:
            bundles.setdefault(name, []).append(file)
            files[name] = file
    for role, parts in bundles.items():
        if len(parts) > 1:
            files[role] = UploadedFile(parts[0].name, b"", parts[0].folder, tuple(parts))
    return Form(files, fields, listed)


def _parts(body: bytes | bytearray, boundary: str, most: int) -> list[Part]:
    parts = Parts(most)
    callbacks = {name: getattr(parts, name) for name in vars(Parts) if name.startswith("on_")}
    try:
        parser = MultipartParser(
            boundary.encode("latin-1"),
            callbacks,  # type: ignore[arg-type]  # a TypedDict of the same names
            max_header_count=MAX_PART_HEADERS,
            max_header_size=MAX_HEADER_BYTES,
        )
        parser.write(bytes(body))
    except FormParserError:
        raise MalformedBody(
            "The body is not a multipart form with the boundary in its Content-Type."
        ) from None
    if not parts.complete:
        raise MalformedBody("The multipart body is truncated: its last boundary is missing.")
    return parts.parts


def _names(part: Part, number: int) -> tuple[str, str | None]:
    """The name of a part, and its filename if it has one, with the folders that the caller sent."""
    headers = dict(part.headers)
    try:
        kind, options = parse_options_header(headers.get(b"content-disposition", b""))
        name = options[b"name"].decode()
        filename = options[b"filename"].decode() if b"filename" in options else None
    except (KeyError, ValueError, IndexError):
        kind = b""
        name, filename = "", None
    if kind != b"form-data" or not name:
        raise MalformedBody(f"Part {number} of the form has no Content-Disposition that names it in UTF-8.")
    if headers.get(b"content-transfer-encoding", b"").decode("latin-1").strip().lower() not in IDENTITY:
        raise MalformedBody(
            f"Part {number} of the form has a Content-Transfer-Encoding; send its bytes as they are."
        )
    return name, None if filename is None else filename.replace("\\", "/")


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
    except MalformedBody as error:
        detail = f"{role[:40]}: {error.detail}"
        raise MalformedBody(
            detail, flaws=(Flaw(f"/files/{pointer_token(role[:40])}", "damaged_file", detail),)
        ) from None
    except BodyTooLarge as error:
        detail = f"{role[:40]}: {error.detail}"
        raise BodyTooLarge(
            detail, flaws=(Flaw(f"/files/{pointer_token(role[:40])}", "file_too_large", detail),)
        ) from None
    if len(plain) > left:
        raise BodyTooLarge(
            f"Inflated, the files have more than {left:,} bytes, which is all that is left of the limit."
        )
    return plain
