"""Multipart bodies that look small and may cost much: many parts, long headers, boundaries that nearly are there."""

import gzip
from collections.abc import Callable
from random import Random

BOUNDARY = "x1-y"
Body = tuple[str, bytes]  # its boundary and its content
ROLES = ("u", "v", "gold", "file", "ref", "statistic", "format", "metrics", "clusters")


def disposition(name: str, filename: str | None = None) -> bytes:
    """The header that names a part."""
    said = f'Content-Disposition: form-data; name="{name}"'
    if filename is not None:
        said += f'; filename="{filename}"'
    return said.encode() + b"\r\n"


def joined(parts: list[bytes], boundary: str = BOUNDARY, *, whole: bool = True) -> Body:
    """Parts, each with its headers, an empty line and its content, as a body."""
    line = b"--" + boundary.encode()
    body = b"".join(line + b"\r\n" + part + b"\r\n" for part in parts)
    return boundary, body + (line + b"--\r\n" if whole else b"")


def many_parts(random: Random, size: int) -> Body:
    """Parts without end, small or empty, of one name or of many."""
    content = b"0" * random.choice([0, 1, 40])
    same = random.random() < 0.5
    part = disposition("u" if same else "n%d") + b"\r\n" + content
    most = size // (len(part) + len(BOUNDARY) + 6)
    return joined([part if same else part.replace(b"%d", b"%d" % number) for number in range(most)])


def long_headers(random: Random, size: int) -> Body:
    """Headers that are many, or long, or folded, or of quotes and backslashes."""
    text = random.choice(
        [b"a", b";", b'"', b"\\", b'\\"', b"=;", b"%41", b"\xff", b"*0*=", b", ", b"utf-8''"]
    )
    name, length = random.choice(["u", "n"]), random.choice([10, 1_000, 4_000])
    value = (text * length)[:length]
    header = random.choice(
        [
            b'Content-Disposition: form-data; name="u"; filename="' + value + b'"\r\n',
            b"Content-Disposition: form-data; name=" + value + b"\r\n",
            b"Content-Disposition: " + value + b"\r\n",
            disposition(name, "f") + b"X-" + value.replace(b"\xff", b"y") + b": 1\r\n",
            disposition(name, "f") + b"Content-Type: " + value + b"\r\n",
            disposition(name, "f") + b"A: b\r\n" * random.choice([7, 100]),
            disposition(name) + b"Content-Transfer-Encoding: " + value + b"\r\n",
        ]
    )
    parts = max(1, min(90, size // (len(header) + 40)))
    return joined([header.replace(b'name="u"', b'name="u%d"' % number) + b"\r\n1" for number in range(parts)])


def nearly_boundaries(random: Random, size: int) -> Body:
    """Content that begins like a boundary, again and again."""
    boundary = random.choice([BOUNDARY, "-" * 60, "-" * 30 + "a", "a" * 70])
    begins = b"\r\n--" + boundary.encode()
    near = random.choice(
        [begins[: random.randint(1, len(begins) - 1)], begins[:-1] + b"?", b"\r", b"\r\n", b"\n--", b"-"]
    )
    return joined([disposition("u", "u.csv") + b"\r\n" + near * (size // len(near))], boundary)


def deep_names(random: Random, size: int) -> Body:
    """Names and filenames with brackets and folders, as other frameworks nest them."""
    step = random.choice(["[a]", "../", "\\\\", ".", "%2e%2e/", "[", "é"])
    name = step * random.choice([1, 60, 900])
    part = random.choice([disposition("metrics" + name), disposition("u", name), disposition(name, name)])
    return joined([part + b"\r\n1"] * max(1, min(90, size // (len(part) + 20))))


def fields(random: Random, size: int) -> Body:
    """Options with long values, brackets and numbers; `metrics` is JSON."""
    value = random.choice(
        [
            b"[" * 5_000,
            b"9" * 9_000,
            b"1e" * 4_000,
            b'[{"name":' * 900,
            b"\xf0\x9f\x92\xa9" * 2_000,
            b"," * 9_000,
        ]
    )
    parts = [disposition(random.choice(ROLES)) + b"\r\n" + value for _ in range(max(1, size // 10_000))]
    table = b"id,u,v\n" + b"".join(b"%d,%d,0\n" % (number, number % 3) for number in range(50))
    return joined([disposition("file", "f.csv") + b"\r\n" + table, *parts])


def packed(random: Random, size: int) -> Body:
    """Compressed files: of many members, empty ones, bombs, files within files."""
    content = random.choice(
        [
            gzip.compress(b"") * 2_000,
            gzip.compress(b"0,1\n" * 4_000_000, 1),
            gzip.compress(gzip.compress(b"0,1\n" * 1_000_000, 1)),
            (gzip.compress(b"") + b"\0" * 5_000) * 60,
            b"\x50\x2a\x4d\x18\0\0\0\0" * (size // 16),
            b"\x28\xb5\x2f\xfd\x20\x00\x01\x00\x00" * (size // 18),
            b"PK\x05\x06" * (size // 8),
        ]
    )[:size]
    return joined([disposition(role, f"{role}.csv.gz") + b"\r\n" + content for role in ("u", "v")])


def broken(random: Random, size: int) -> Body:
    """Any of the others, cut or with bytes that were exchanged."""
    boundary, body = random.choice(FAMILIES[:-1])(random, size)
    changed = bytearray(body)
    for _ in range(random.choice([0, 1, 20])):
        changed[random.randrange(len(changed))] = random.choice(b'\r\n-:;"\\\0\xff')
    return boundary, bytes(changed[: random.randint(1, len(changed))])


FAMILIES: tuple[Callable[[Random, int], Body], ...] = (
    many_parts, long_headers, nearly_boundaries, deep_names, fields, packed, broken,
)  # fmt: skip
