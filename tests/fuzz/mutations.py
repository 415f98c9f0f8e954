"""Mutate bytes: cut, flip, repeat, exchange, overfill, nest, re-encode.

A mutation is drawn as a few small numbers, so that hypothesis is fast, and shrinks failures to few mutations near the start of a file.
"""

import gzip
import re
from collections.abc import Callable

from hypothesis import strategies as st

# Never in an excerpt: whatever comes back of it was echoed.
MARK = "qZ7" * 100
NUMBER = re.compile(rb"-?\d+(?:\.\d+)?")
WORD = re.compile(rb"[A-Za-z_]{2,}")
SEPARATORS = (b"\t", b",", b" ", b"|", b";")
HOSTILE = (
    b"NaN", b"Infinity", b"-inf", b"-0", b"1e999", b"-1e400", b"1e-400", b"9" * 400, b"-" + b"9" * 5000, b"9223372036854775808",
    b"18446744073709551616", b"1.7976931348623157e308", b"5e-324", b"0x10", b"1_000", b"true", b"null", b"", b'""', b"[]", b"{}",
    b"\xd9\xa3", b"1" + b"0" * 30, b"0." + b"3" * 300,
)  # fmt: skip
JUNK = (
    b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\\ud800", b"\r", b"\r\n", b"\n\n\n", b'"', b"'", b"\\", b"{", b"}",
    b"[" * 2000, b'{"a":' * 2000, b"]", b"=cmd()", b"<script>", b"\xe2\x80\xa8", b"\xc2\x85", b"\x1f\x8b\x08\0", b"PK\x03\x04",
    b"\x28\xb5\x2f\xfd", MARK.encode(), b'"' + MARK.encode() + b'":1,', b"#", b"# newdoc id = x\n", b"--", b"%s%n", b"\x0b\x0c\x1c\x85",
)  # fmt: skip
ENCODINGS = ("utf-16", "utf-16-le", "utf-32", "latin-1", "cp1252", "utf-8-sig", "utf-7")
Mutation = Callable[[bytes, int, int], bytes]


def truncated(data: bytes, at: int, how: int) -> bytes:
    at %= len(data) + 1
    return data[at:] if how % 4 == 0 else data[:at]


def flipped(data: bytes, at: int, how: int) -> bytes:
    if not data:
        return data
    at %= len(data)
    return data[:at] + bytes([data[at] ^ (1 << how % 8)]) + data[at + 1 :]


def overwritten(data: bytes, at: int, how: int) -> bytes:
    at %= len(data) + 1
    return data[:at] + bytes([how % 256]) + data[at + 1 :]


def junk(data: bytes, at: int, how: int) -> bytes:
    at %= len(data) + 1
    return data[:at] + JUNK[how % len(JUNK)] + data[at:]


def _replaced(pattern: re.Pattern[bytes], data: bytes, at: int, new: bytes) -> bytes:
    found = list(pattern.finditer(data))
    if not found:
        return data
    where = found[at % len(found)]
    return data[: where.start()] + new + data[where.end() :]


def number_replaced(data: bytes, at: int, how: int) -> bytes:
    return _replaced(NUMBER, data, at, HOSTILE[how % len(HOSTILE)])


def word_replaced(data: bytes, at: int, how: int) -> bytes:
    return _replaced(
        WORD,
        data,
        at,
        (MARK.encode(), b"", b"\xff", b"id", b"score", b"u", b"B-", b"I-X", b"_", b"1")[how % 10],
    )


def words_exchanged(data: bytes, at: int, how: int) -> bytes:
    """One word in the place of another: keys and values that are known, where they do not belong."""
    found = list(WORD.finditer(data))
    return _replaced(WORD, data, at, found[how % len(found)].group()) if found else data


def line_repeated(data: bytes, at: int, how: int) -> bytes:
    lines = data.splitlines(keepends=True) or [b""]
    at %= len(lines)
    return b"".join([*lines[: at + 1], *lines[at : at + 1] * (1 + how % 3), *lines[at + 1 :]])


def line_left_out(data: bytes, at: int, how: int) -> bytes:
    lines = data.splitlines(keepends=True) or [b""]
    at %= len(lines)
    return b"".join([*lines[:at], *lines[at + 1 + how % 3 :]])


def lines_exchanged(data: bytes, at: int, how: int) -> bytes:
    lines = data.splitlines(keepends=True) or [b""]
    one, other = at % len(lines), how % len(lines)
    lines[one], lines[other] = lines[other], lines[one]
    return b"".join(lines)


def columns_exchanged(data: bytes, at: int, how: int) -> bytes:
    """In every line or in one."""
    separator = SEPARATORS[how % len(SEPARATORS)]
    lines = data.split(b"\n")
    only = None if how % 2 else at % len(lines)
    for index, line in enumerate(lines):
        fields = line.split(separator)
        if only in {None, index} and len(fields) > 1:
            one, other = at % len(fields), how % len(fields)
            fields[one], fields[other] = fields[other], fields[one]
            lines[index] = separator.join(fields)
    return b"\n".join(lines)


def separators_exchanged(data: bytes, at: int, how: int) -> bytes:
    one, other = SEPARATORS[at % len(SEPARATORS)], SEPARATORS[how % len(SEPARATORS)]
    return data.replace(one, other)


def span_moved(data: bytes, at: int, how: int) -> bytes:
    """A piece of the file somewhere else, too."""
    at %= len(data) + 1
    piece = data[at : at + how % 400]
    where = (at * 31 + how) % (len(data) + 1)
    return data[:where] + piece + data[where:]


def span_cut_out(data: bytes, at: int, how: int) -> bytes:
    at %= len(data) + 1
    return data[:at] + data[at + how % 400 :]


def encoded(data: bytes, at: int, how: int) -> bytes:
    return data.decode(errors="replace").encode(ENCODINGS[how % len(ENCODINGS)], errors="replace")


def nested(data: bytes, at: int, how: int) -> bytes:
    """All of it inside lists or objects."""
    depth = (1, 2, 50, 500, 3000)[at % 5]
    return b"[" * depth + data + b"]" * depth if how % 2 else b'{"u":' * depth + data + b"}" * depth


def compressed(data: bytes, at: int, how: int) -> bytes:
    packed = gzip.compress(data, 1, mtime=0)
    return (packed, packed[: at % len(packed)], packed + packed, flipped(packed, at, how))[how % 4]


MUTATIONS: tuple[Mutation, ...] = (
    truncated, flipped, overwritten, junk, number_replaced, number_replaced, word_replaced, words_exchanged, line_repeated,
    line_left_out, lines_exchanged, columns_exchanged, separators_exchanged, span_moved, span_cut_out, encoded, nested,
    compressed,
)  # fmt: skip
POSITIONS = st.integers(0, 50_000)
STEPS = st.lists(st.tuples(st.sampled_from(MUTATIONS), POSITIONS, st.integers(0, 4_095)), max_size=5)
Steps = list[tuple[Mutation, int, int]]
LONGEST = 150_000


def mutated(data: bytes, steps: Steps) -> bytes:
    """The file after all steps, cut if too long."""
    for mutation, at, how in steps:
        data = mutation(data, at, how)[:LONGEST]
    return data


def echoed(text: str) -> int:
    """How many characters of the mark stand in a text in one piece, at most."""
    return max((len(found) for found in re.findall(r"(?:qZ7)+", text)), default=0)
