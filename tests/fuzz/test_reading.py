"""One table is read in one way: as a body, as a file, as lines of JSON, as a frame, and on the command line."""

import csv
import io
import json
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from click.testing import CliRunner

from exactperm.cli.commands import cli
from exactperm.client import ProblemError
from exactperm.local import run as local
from tests.enumeration import by_signs
from tests.fuzz.asgi import GENERATED, TIMES, Header, InProcess

KEYS = ("id", "item", "qid", "query_id", "example_id", "uid", "question_id", "doc_id", "utt", "segment")
SYSTEMS = (("u", "v"), ("new", "old"), ("candidate", "baseline"), ("small", "large"), ("A", "B"))
CONTEXTS = ("question", "prompt", "source")
UNKNOWN = ("remark", "colour", "zz", "annotator_note")
WORDS = ("red", "green", "blue", "grey", "pink")


@dataclass(frozen=True)
class Table:
    """Named columns of text, shape (n,) each, and the two that are scores."""

    columns: dict[str, list[str]]
    u: str
    v: str
    key: str | None

    @property
    def n(self) -> int:
        """Its number of rows."""
        return len(self.columns[self.u])

    def rows(self) -> list[tuple[str, ...]]:
        """Its rows, below the header."""
        return list(zip(*self.columns.values(), strict=True))

    def delimited(self, delimiter: str = ",", *, end: str = "\n", comma: bool = False) -> bytes:
        """The table as text, quoted where a field needs it."""
        text = io.StringIO()
        writer = csv.writer(text, delimiter=delimiter, lineterminator=end)
        writer.writerow(self.columns)
        scores = [name in (self.u, self.v) for name in self.columns]
        for row in self.rows():
            writer.writerow(
                [
                    field.replace(".", ",") if comma and score else field
                    for field, score in zip(row, scores, strict=True)
                ]
            )
        return text.getvalue().encode()

    def records(self) -> list[dict[str, object]]:
        """The rows as JSON has them: scores are numbers, all else is text."""
        return [
            {
                name: json.loads(field) if name in (self.u, self.v) else field
                for name, field in zip(self.columns, row, strict=True)
            }
            for row in self.rows()
        ]

    def lines(self) -> bytes:
        """The rows as lines of JSON."""
        return "".join(json.dumps(record) + "\n" for record in self.records()).encode()

    def permuted(self, source: Random) -> "Table":
        """The same rows in another order."""
        order = list(range(self.n))
        source.shuffle(order)
        return replace(
            self, columns={name: [fields[row] for row in order] for name, fields in self.columns.items()}
        )

    def renamed(self, name: str, to: str) -> "Table":
        """The same table with another name of a column."""
        columns = {to if own == name else own: fields for own, fields in self.columns.items()}
        return replace(self, columns=columns, key=to if self.key == name else self.key)

    def with_column(self, name: str, fields: list[str], place: int) -> "Table":
        """The same table with a column more, at this place."""
        items = list(self.columns.items())
        return replace(self, columns=dict([*items[:place], (name, fields), *items[place:]]))

    def p_value(self) -> Fraction:
        """The two-sided p-value of the mean difference: over all swaps, in fractions."""
        return by_signs(self.columns[self.u], self.columns[self.v])


def drawn_table(source: Random, *, keyed: bool | None = None) -> "Table":
    """A table that anyone would read in one way: scores of two systems, a key or none, and columns beside them."""
    n = source.randrange(6, 14)
    u, v = source.choice(SYSTEMS)
    columns: dict[str, list[str]] = {}
    key = None
    if source.random() < 0.7 if keyed is None else keyed:
        key = source.choice(KEYS)
        start = source.randrange(2, 5000)
        step = source.randrange(2, 9)
        texts = source.random() < 0.6
        columns[key] = [f"q{start + step * row}" if texts else str(start + step * row) for row in range(n)]
    columns[u], columns[v] = (_scores(source, n) for _ in "uv")
    if source.random() < 0.3:
        name = source.choice(CONTEXTS)
        columns[name] = [f"{source.choice(WORDS)}, {source.choice(WORDS)} number {row}?" for row in range(n)]
    if source.random() < 0.5:
        items = list(columns.items())
        source.shuffle(items)
        columns = dict(items)
    return Table(columns, u, v, key)


def _scores(source: Random, n: int) -> list[str]:
    digits = source.choice((0, 1, 2, 4))
    if digits == 0:
        return [str(source.randrange(2)) for _ in range(n)]
    return [f"{source.random():.{digits}f}" for _ in range(n)]


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
        table = drawn_table(source)
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
        table = drawn_table(source, keyed=True)
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
        table = drawn_table(source, keyed=True)
        assert table.key is not None
        other = table.renamed(table.key, source.choice(KEYS))
        assert as_file(service, "t.csv", table.delimited()) == as_file(service, "t.csv", other.delimited())
        GENERATED["keys of two names"] += 1


@pytest.mark.parametrize("block", range(BLOCKS))
def test_an_unknown_column_never_changes_p_silently(service: InProcess, block: int) -> None:
    source = Random(block if TIMES == 1 else None)
    for _ in range(CASES):
        table = drawn_table(source)
        more = _unknown(source, table.n)
        wider = table.with_column(source.choice(UNKNOWN), more, source.randrange(len(table.columns) + 1))
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
        return [source.choice(WORDS) for _ in range(n)]
    if kind == 1:
        return [f"{source.random():.3f}" for _ in range(n)]
    if kind == 2:
        return [str(source.randrange(2)) for _ in range(n)]
    if kind == 3:
        return [f"text {row * 7}" for row in range(n)]
    return [str(Fraction(source.randrange(100))) for _ in range(n)]
