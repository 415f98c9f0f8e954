"""Records in the representation that was negotiated: the reports, and what pictures they need."""

from __future__ import annotations

from ..inference.gate.record import GateRecord, MetricRecord
from ..inference.record import TestRecord
from ..reports.csv_row import row
from ..reports.gate_csv import gate_rows
from ..reports.gate_markdown import gate_markdown
from ..reports.gate_text import gate_line
from ..reports.html import gate_html, html
from ..reports.junit import junit
from ..reports.markdown import markdown
from ..reports.picture.picture import inline_svg, png, svg
from ..reports.text import line
from .messages import Representation, Theme
from .render_json import answer_id, signature


def test_report(record: TestRecord, representation: Representation, theme: Theme) -> bytes:
    """One test, in any representation but JSON, which `app.service.render_json` writes."""
    test_id = answer_id(record)
    match representation:
        case "text":
            return (line(record, test_id) + "\n").encode()
        case "markdown":
            return markdown(record, test_id).encode()
        case "csv":
            return row(record, test_id).encode()
        case "svg":
            return svg(record, theme)
        case "png":
            return png(record, theme)
        case "html":
            return html(record, test_id, signature(record), inline_svg(record)).encode()
        case _:
            raise AssertionError(representation)


test_report.__test__ = False  # type: ignore[attr-defined]


def gate_report(gate: GateRecord, gate_id: str, representation: Representation, theme: Theme) -> bytes:
    """A gate, in any representation but JSON; its picture is that of the metric that decided."""
    match representation:
        case "text":
            return (gate_line(gate, gate_id) + "\n").encode()
        case "markdown":
            return gate_markdown(gate, gate_id).encode()
        case "csv":
            return gate_rows(gate, gate_id).encode()
        case "junit":
            return junit(gate, gate_id)
        case "html":
            pictures = [
                inline_svg(metric.test, _note(metric), place) for place, metric in enumerate(gate.metrics, 1)
            ]
            return gate_html(gate, gate_id, pictures).encode()
        case "svg":
            return svg(gate.deciding.test, theme, _note(gate.deciding))
        case "png":
            return png(gate.deciding.test, theme, _note(gate.deciding))
        case _:
            raise AssertionError(representation)


def _note(metric: MetricRecord) -> str:
    """The picture is of the test of no difference, also where a margin decides."""
    return " without the margin" if metric.terms.margin else ""
