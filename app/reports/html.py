"""A report for a browser: one file, no script, no network, the picture inside. Templates escape every label."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.inference.gate_record import GateRecord, MetricRecord, Verdict
from app.inference.record import TestRecord
from app.reports.html_rows import decision_rows, rows
from app.reports.labels import short, single_line
from app.reports.numerals import probability
from app.reports.sentence import sentences

if TYPE_CHECKING:
    from jinja2 import Template

TEMPLATES = Path(__file__).parent / "templates"
SIGNS: dict[Verdict, str] = {"pass": "✓", "fail": "✗", "inconclusive": "?"}
WORDS: dict[Verdict, str] = {"pass": "Pass", "fail": "Fail", "inconclusive": "Inconclusive"}
HONESTY = {
    "exact": "The p-value is exact: every way to exchange the systems is counted, none is drawn.",
    "bounded": "The p-value is bracketed: the exact one lies between the bounds, always.",
    "sampled": "The p-value is sampled: the exact one lies between the bounds with 99 % confidence.",
}


def html(record: TestRecord, test_id: str, signature: str, picture: str) -> str:
    """One test; `picture` is an SVG element."""
    return _rendered(
        "test.html",
        record=record,
        p=probability(record.p_value, record.log10_p_value, record.alpha),
        name_u=short(record.name_u),
        name_v=short(record.name_v),
        sentences=sentences(record),
        rows=rows(record),
        picture=_trusted(picture),
        signature=signature,
        test_id=test_id,
        honesty=HONESTY[_honesty(record)],
    )


def gate_html(gate: GateRecord, gate_id: str, pictures: Sequence[str]) -> str:
    """A gate: the verdict, then a section for each metric with its picture."""
    return _rendered(
        "gate.html",
        gate=gate,
        gate_id=gate_id,
        sign=SIGNS[gate.verdict],
        word=WORDS[gate.verdict],
        reason=single_line(gate.reason),
        metrics=[_metric(metric, picture) for metric, picture in zip(gate.metrics, pictures, strict=True)],
    )


def _metric(metric: MetricRecord, picture: str) -> dict[str, Any]:
    return {
        "name": short(metric.name),
        "verdict": metric.verdict,
        "sign": SIGNS[metric.verdict],
        "hypothesis": single_line(metric.hypothesis),
        "sentences": (single_line(metric.reason), *sentences(metric.test)),
        "warnings": metric.test.warnings,
        "picture": _trusted(picture),
        "rows": [*decision_rows(metric), *rows(metric.test)],
        "moved": metric.test.moved,
    }


def _honesty(record: TestRecord) -> str:
    if record.method.exact:
        return "exact"
    return "bounded" if record.method.monte_carlo is None else "sampled"


def _rendered(name: str, **values: Any) -> str:
    return _template(name).render(**values)


@cache
def _template(name: str) -> Template:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(name)


def _trusted(picture: str) -> Any:
    """Our own SVG, which has escaped its labels already."""
    from markupsafe import Markup

    return Markup(picture)  # noqa: S704
