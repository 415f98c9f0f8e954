"""Tables of two systems as people have them, in every form in which one table can be sent."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass, replace
from fractions import Fraction
from random import Random

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

    def permuted(self, source: Random) -> Table:
        """The same rows in another order."""
        order = list(range(self.n))
        source.shuffle(order)
        return replace(
            self, columns={name: [fields[row] for row in order] for name, fields in self.columns.items()}
        )

    def renamed(self, name: str, to: str) -> Table:
        """The same table with another name of a column."""
        columns = {to if own == name else own: fields for own, fields in self.columns.items()}
        return replace(self, columns=columns, key=to if self.key == name else self.key)

    def with_column(self, name: str, fields: list[str], place: int) -> Table:
        """The same table with a column more, at this place."""
        items = list(self.columns.items())
        return replace(self, columns=dict([*items[:place], (name, fields), *items[place:]]))

    def p_value(self) -> Fraction:
        """The two-sided p-value of the mean difference: over all swaps, in fractions."""
        differences = [
            Fraction(a) - Fraction(b) for a, b in zip(self.columns[self.u], self.columns[self.v], strict=True)
        ]
        sums: dict[Fraction, int] = {Fraction(0): 1}
        for difference in differences:
            after: dict[Fraction, int] = {}
            for total, count in sums.items():
                for signed in (total + difference, total - difference):
                    after[signed] = after.get(signed, 0) + count
            sums = after
        least = abs(sum(differences, Fraction(0)))
        extreme = sum(count for total, count in sums.items() if abs(total) >= least)
        return Fraction(extreme, 2 ** len(differences))


def table(source: Random, *, keyed: bool | None = None) -> Table:
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
