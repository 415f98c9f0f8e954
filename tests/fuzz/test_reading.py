"""One table is read in one way: as a body, as a file, as lines of JSON, as a frame, and on the command line."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import pandas as pd  # type: ignore[import-untyped]
import pyarrow as pa
import pytest
from click.testing import CliRunner

from exactperm.cli.commands import cli
from exactperm.client import ProblemError
from exactperm.local import run as local
from tests.fuzz import table_cases
from tests.fuzz.amount import GENERATED, TIMES
from tests.fuzz.asgi import Header, InProcess
from tests.fuzz.table_cases import Table

BLOCKS = 4
CASES = 40 if TIMES == 1 else 40 * TIMES // BLOCKS
EDGE = b"----edge"
FORM: list[Header] = [(b"content-type", b"multipart/form-data; boundary=" + EDGE)]
NEVER_NAMED = {"choose_systems", "choose_roles", "choose_columns"}


@dataclass(frozen=True)
class Outcome:
    """An answer by what it says of the systems, or a refusal by its codes."""

    p: float | None = None
    n: int | None = None
    u: float | None = None
    v: float | None = None
    codes: frozenset[str] = frozenset()


def outcome(status: int, answer: dict[str, Any]) -> Outcome:
    """What an answer in JSON says."""
    if status != 200:
        assert status == 422, answer
        return Outcome(codes=frozenset(flaw["code"] for flaw in answer["errors"]))
    statistic = answer["statistic"]
    return Outcome(answer["p_value"], answer["items"]["n"], statistic["u"], statistic["v"])


def form(*parts: tuple[str, str, bytes], **fields: str) -> bytes:
    """A form of files and fields."""
    body = b""
    for name, filename, content in parts:
        head = f'Content-Disposition: form-data; name="{name}"; filename="{filename}"'.encode()
        body += b"--" + EDGE + b"\r\n" + head + b"\r\n\r\n" + content + b"\r\n"
    for name, value in fields.items():
        head = f'Content-Disposition: form-data; name="{name}"'.encode()
        body += b"--" + EDGE + b"\r\n" + head + b"\r\n\r\n" + value.encode() + b"\r\n"
    return body + b"--" + EDGE + b"--\r\n"


def asked(service: InProcess, path: str, headers: list[Header], body: bytes) -> Outcome:
    """The outcome of one request."""
    answered = service.ask("POST", path, b"", headers, body)
    return outcome(answered.status, json.loads(answered.body))


def as_file(service: InProcess, name: str, content: bytes) -> Outcome:
    """The table as a file."""
    return asked(service, "/v1/tests/files", FORM, form(("file", name, content)))


def as_body(service: InProcess, media: bytes, content: bytes) -> Outcome:
    """The table as a body."""
    return asked(service, "/v1/tests/scores", [(b"content-type", media)], content)


def as_frame(frame: Any) -> Outcome:
    """The table as data of Python."""
    try:
        result = local.test(frame)
    except ProblemError as error:
        return Outcome(codes=frozenset(flaw.code for flaw in error.errors))
    return Outcome(result.p_value, result.items.n, result.statistic.u, result.statistic.v)


def on_the_command_line(path: Path) -> Outcome:
    """The table as an argument."""
    ran = CliRunner().invoke(cli, ["test", str(path), "--format", "json"])
    if ran.exit_code != 0:
        return Outcome(codes=frozenset({"refused"}))
    return outcome(200, json.loads(ran.stdout))


def ways(service: InProcess, table: Table, folder: Path) -> dict[str, Outcome]:
    """What each entrance makes of it."""
    text = table.delimited()
    path = folder / "table.csv"
    path.write_bytes(text)
    return {
        "file": as_file(service, "t.csv", text),
        "body": as_body(service, b"text/csv", text),
        "semicolons": as_file(service, "t.csv", table.delimited(";", comma=True)),
        "a body with semicolons": as_body(service, b"text/csv", table.delimited(";", comma=True)),
        "tabs": as_body(service, b"text/tab-separated-values", table.delimited("\t", end="\r\n")),
        "lines": as_file(service, "t.jsonl", table.lines()),
        "a body of lines": as_body(service, b"application/x-ndjson", table.lines()),
        "pandas": as_frame(pd.read_csv(io.BytesIO(text))),
        "arrow": as_frame(pa.Table.from_pandas(pd.read_csv(io.BytesIO(text)), preserve_index=False)),
        "command line": on_the_command_line(path),
    }


@pytest.mark.parametrize("block", range(BLOCKS))
def test_every_entrance_reads_a_table_alike(service: InProcess, tmp_path: Path, block: int) -> None:
    source = Random(block if TIMES == 1 else None)
    answered = 0
    for _ in range(CASES):
        table = table_cases.table(source)
        said = ways(service, table, tmp_path)
        GENERATED["tables through every entrance"] += 1
        first = said["file"]
        for way, other in said.items():
            if way == "command line" and other.codes:
                assert first.codes, (way, table, said)
                continue
            assert other == first, (way, table.delimited().decode(), said)
        if first.p is not None:
            answered += 1
            assert first.n == table.n
            assert first.p == pytest.approx(float(table.p_value()), rel=1e-12), table
    assert answered == CASES  # nothing ordinary becomes a question


@pytest.mark.parametrize("block", range(BLOCKS))
def test_the_order_of_keyed_rows_changes_nothing(service: InProcess, block: int) -> None:
    source = Random(block if TIMES == 1 else None)
    for _ in range(CASES):
        table = table_cases.table(source, keyed=True)
        assert table.key is not None
        two = [
            Table(
                {table.key: table.columns[table.key], "score": table.columns[name]},
                "score",
                "score",
                table.key,
            )
            for name in (table.u, table.v)
        ]
        first = form(("u", "a.csv", two[0].delimited()), ("v", "b.csv", two[1].delimited()))
        other = form(
            ("u", "a.csv", two[0].permuted(source).delimited()),
            ("v", "b.csv", two[1].permuted(source).delimited()),
        )
        said = [service.ask("POST", "/v1/tests/files", b"", FORM, body) for body in (first, other)]
        GENERATED["files of keyed rows in two orders"] += 1
        assert said[0].status == said[1].status == 200, said
        documents = [json.loads(answer.body) for answer in said]
        assert documents[0]["p_value"] == pytest.approx(float(table.p_value()), rel=1e-12)
        for document in documents:
            del document["runtime"]
        assert documents[0] == documents[1], two


@pytest.mark.parametrize("block", range(BLOCKS))
def test_a_key_of_another_known_name_changes_nothing(service: InProcess, block: int) -> None:
    source = Random(block if TIMES == 1 else None)
    for _ in range(CASES):
        table = table_cases.table(source, keyed=True)
        assert table.key is not None
        other = table.renamed(table.key, source.choice(table_cases.KEYS))
        assert as_file(service, "t.csv", table.delimited()) == as_file(service, "t.csv", other.delimited())
        GENERATED["keys of two names"] += 1


@pytest.mark.parametrize("block", range(BLOCKS))
def test_an_unknown_column_never_changes_p_silently(service: InProcess, block: int) -> None:
    source = Random(block if TIMES == 1 else None)
    for _ in range(CASES):
        table = table_cases.table(source)
        more = _unknown(source, table.n)
        wider = table.with_column(
            source.choice(table_cases.UNKNOWN), more, source.randrange(len(table.columns) + 1)
        )
        before = as_file(service, "t.csv", table.delimited())
        answered = service.ask(
            "POST", "/v1/tests/files", b"", FORM, form(("file", "t.csv", wider.delimited()))
        )
        document = json.loads(answered.body)
        after = outcome(answered.status, document)
        GENERATED["tables with an unknown column"] += 1
        if after.p is not None:
            assert after == before, (table, wider, document)


def _unknown(source: Random, n: int) -> list[str]:
    kind = source.randrange(5)
    if kind == 0:
        return [source.choice(table_cases.WORDS) for _ in range(n)]
    if kind == 1:
        return [f"{source.random():.3f}" for _ in range(n)]
    if kind == 2:
        return [str(source.randrange(2)) for _ in range(n)]
    if kind == 3:
        return [f"text {row * 7}" for row in range(n)]
    return [str(Fraction(source.randrange(100))) for _ in range(n)]
