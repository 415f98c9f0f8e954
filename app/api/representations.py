"""Records in the representation that was negotiated: the reports, and what pictures they need."""

from __future__ import annotations

from app.api.answer import answer_id, signature
from app.api.job import Representation, Theme
from app.inference.gate_record import GateRecord
from app.inference.record import TestRecord


def test_report(record: TestRecord, representation: Representation, theme: Theme) -> bytes:
    """One test, in any representation but JSON, which `app.api.answer` writes."""
    test_id = answer_id(record)
    match representation:
        case "text":
            from app.reports.line import line

            return (line(record, test_id) + "\n").encode()
        case "markdown":
            from app.reports.markdown import markdown

            return markdown(record, test_id).encode()
        case "csv":
            from app.reports.row import row

            return row(record, test_id).encode()
        case "svg":
            from app.reports.picture import inline_svg, png, svg

            return svg(record, theme)
        case "png":
            from app.reports.picture import inline_svg, png, svg

            return png(record, theme)
        case "html":
            from app.reports.html import gate_html, html
            from app.reports.picture import inline_svg, png, svg

            return html(record, test_id, signature(record), inline_svg(record)).encode()
        case _:
            raise AssertionError(representation)


test_report.__test__ = False  # type: ignore[attr-defined]


def gate_report(gate: GateRecord, gate_id: str, representation: Representation, theme: Theme) -> bytes:
    """A gate, in any representation but JSON; its picture is that of the metric that decided."""
    match representation:
        case "text":
            from app.reports.gate_line import gate_line

            return (gate_line(gate, gate_id) + "\n").encode()
        case "markdown":
            from app.reports.gate_markdown import gate_markdown

            return gate_markdown(gate, gate_id).encode()
        case "csv":
            from app.reports.gate_rows import gate_rows

            return gate_rows(gate, gate_id).encode()
        case "junit":
            from app.reports.junit import junit

            return junit(gate, gate_id)
        case "html":
            from app.reports.html import gate_html, html
            from app.reports.picture import inline_svg, png, svg

            pictures = [inline_svg(metric.test) for metric in gate.metrics]
            return gate_html(gate, gate_id, pictures).encode()
        case "svg":
            from app.reports.picture import inline_svg, png, svg

            return svg(gate.deciding.test, theme)
        case "png":
            from app.reports.picture import inline_svg, png, svg

            return png(gate.deciding.test, theme)
        case _:
            raise AssertionError(representation)
