"""The representations of an answer: name, media type, file endings and renderers.

Negotiation, the OpenAPI document, `/v1/meta`, the command line and the page follow from this table. To add a
representation, write its renderer and add a row here. Libraries are imported at the first rendering, so that
`exactperm gate --help` is fast.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from ..answers.board import CompareRecord
from ..answers.gate import GateRecord, MetricRecord
from ..answers.power import PowerRecord
from ..answers.test import TestRecord
from .csv_tables import compare_csv, gate_rows, power_csv, row
from .html import compare_html, gate_html, html, power_html
from .junit import junit
from .markdown import compare_markdown, gate_markdown, markdown, power_markdown
from .picture.canvas import Theme
from .picture.pictures import board_picture, null_picture, power_picture, slices_picture
from .text import compare_line, gate_line, line, power_line

# Pictures and reports have inline styles; nothing else is loaded.
_INLINE_STYLE_ONLY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'"


BoardPicture = Literal["leaderboard", "heatmap", "bars", "forest", "frontier"]
BoardTable = Literal["systems", "pairs"]
Noun = Literal["test", "gate", "compare", "power"]


@dataclass(frozen=True, slots=True)
class ReportContext:
    """Context of a report: the id of the answer, its signature, and the theme of a picture.

    `picture` and `table` choose what to show of a comparison.
    """

    id: str
    signature: str = ""
    theme: Theme = "light"
    picture: BoardPicture = "leaderboard"
    table: BoardTable = "systems"


@dataclass(frozen=True, slots=True)
class Representation:
    """One representation of the answers to tests, to gates, to comparisons, or to several of them.

    Attributes
    ----------
    name, media_type
        As in `?format=` and in the Accept header.
    title
        Its name for people.
    suffixes
        The endings of its files; the first is the usual one.
    test, gate, compare, power
        The renderers, or None. Those of JSON are in `service`, which knows the runtime.
    is_binary
        Not text in any coding.
    is_drawn
        Contains a picture, which needs the null distribution: never drawn by the web process.
    needs_extra
        Needs libraries of the extra `pictures`.
    is_themed
        A picture, in the colours of `?theme=`; for a comparison, `?picture=` chooses which.
    is_table
        One table; for a comparison, `?table=` chooses which.
    content_security_policy
        The policy for browsers that show the answer; None if browsers do not run it.
    """

    name: str
    media_type: str
    title: str
    suffixes: tuple[str, ...]
    test: Callable[[TestRecord, ReportContext], bytes] | None = None
    gate: Callable[[GateRecord, ReportContext], bytes] | None = None
    compare: Callable[[CompareRecord, ReportContext], bytes] | None = None
    power: Callable[[PowerRecord, ReportContext], bytes] | None = None
    is_binary: bool = False
    is_drawn: bool = False
    needs_extra: bool = False
    is_themed: bool = False
    is_table: bool = False
    content_security_policy: str | None = None

    @property
    def content_type(self) -> str:
        """The media type, with a charset for texts; JSON, XML and pictures define theirs."""
        is_text = self.media_type.startswith("text/")
        return f"{self.media_type}; charset=utf-8" if is_text else self.media_type

    def answers(self, noun: Noun) -> bool:
        """Whether a test, a gate, a comparison or a question about power is answered in it."""
        return self.name == JSON or getattr(self, noun) is not None


def _html(record: TestRecord, context: ReportContext) -> bytes:
    slices = ""
    if record.slices is not None:
        slices = slices_picture(record.slices, record.alpha, record.id).inline()
    return html(record, context.id, context.signature, null_picture(record).inline(), slices).encode()


def _gate_html(gate: GateRecord, context: ReportContext) -> bytes:
    pictures = [
        (
            null_picture(metric.test, _note(metric), number).inline(),
            ""
            if metric.slices is None
            else slices_picture(metric.slices, metric.alpha, gate.id, number).inline(),
        )
        for number, metric in enumerate(gate.metrics, start=1)
    ]
    return gate_html(gate, context.id, pictures).encode()


def _compare_html(record: CompareRecord, context: ReportContext) -> bytes:
    return compare_html(
        record, context.id, context.signature, lambda *of: board_picture(record, *of).inline()
    ).encode()


def _power_html(record: PowerRecord, context: ReportContext) -> bytes:
    return power_html(record, context.id, context.signature, power_picture(record).inline()).encode()


def _note(metric: MetricRecord) -> str:
    """The picture shows the test of no difference, even if a margin decides."""
    return " without the margin" if metric.terms.margin else ""


JSON, TEXT, NDJSON = "json", "text", "ndjson"
# In order of preference among those that a client accepts equally.
REPRESENTATIONS = (
    Representation(JSON, "application/json", "JSON", (".json",)),
    Representation(
        TEXT, "text/plain", "Line of text", (".txt",),
        lambda record, context: f"{line(record, context.id)}\n".encode(),
        lambda gate, context: f"{gate_line(gate, context.id)}\n".encode(),
        lambda board, context: f"{compare_line(board, context.id)}\n".encode(),
        lambda power, context: f"{power_line(power, context.id)}\n".encode(),
    ),
    Representation(
        "markdown", "text/markdown", "Markdown", (".md",),
        lambda record, context: markdown(record, context.id).encode(),
        lambda gate, context: gate_markdown(gate, context.id).encode(),
        lambda board, context: compare_markdown(board, context.id).encode(),
        lambda power, context: power_markdown(power, context.id).encode(),
    ),
    Representation(
        "csv", "text/csv", "CSV", (".csv",),
        lambda record, context: row(record, context.id).encode(),
        lambda gate, context: gate_rows(gate, context.id).encode(),
        lambda board, context: compare_csv(board, context.id, context.table).encode(),
        lambda power, context: power_csv(power, context.id).encode(),
        is_table=True,
    ),
    Representation(
        "svg", "image/svg+xml", "Picture (SVG)", (".svg",),
        lambda record, context: null_picture(record).svg(context.theme),
        lambda gate, context: null_picture(gate.deciding.test, _note(gate.deciding)).svg(context.theme),
        lambda board, context: board_picture(board, context.picture).svg(context.theme),
        lambda power, context: power_picture(power).svg(context.theme),
        is_drawn=True, is_themed=True, content_security_policy=_INLINE_STYLE_ONLY,
    ),
    Representation(
        "png", "image/png", "Picture (PNG)", (".png",),
        lambda record, context: null_picture(record).png(context.theme),
        lambda gate, context: null_picture(gate.deciding.test, _note(gate.deciding)).png(context.theme),
        lambda board, context: board_picture(board, context.picture).png(context.theme),
        lambda power, context: power_picture(power).png(context.theme),
        is_binary=True, is_drawn=True, needs_extra=True, is_themed=True,
    ),
    Representation(
        "html", "text/html", "Report", (".html", ".htm"), _html, _gate_html, _compare_html, _power_html,
        is_drawn=True, needs_extra=True, content_security_policy=_INLINE_STYLE_ONLY,
    ),
    Representation(
        "junit", "application/xml", "JUnit", (".xml",), gate=lambda gate, context: junit(gate, context.id)
    ),
    # For lists of tests only: `service` joins the lines.
    Representation(NDJSON, "application/x-ndjson", "JSON lines", (".ndjson", ".jsonl")),
)  # fmt: skip
BY_NAME: Mapping[str, Representation] = {one.name: one for one in REPRESENTATIONS}
BY_SUFFIX: Mapping[str, Representation] = {suffix: one for one in REPRESENTATIONS for suffix in one.suffixes}
OF_A_TEST, OF_A_GATE, OF_A_COMPARISON, OF_POWER = (
    tuple(one.name for one in REPRESENTATIONS if one.answers(noun)) for noun in get_args(Noun)
)
OF_TESTS_AND_GATES = tuple(one.name for one in REPRESENTATIONS if one.answers("test") or one.answers("gate"))
