"""Standalone HTML reports: one file with the picture inside, no script, nothing fetched.

Jinja2 is imported for the first report, in a worker. It escapes every label; only the picture is inserted as it is,
and `picture.py` escapes its labels itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..answers.gate import GateRecord, MetricRecord
from ..answers.test import Moved, TestRecord
from ..presentation.escaping import for_sentence, short, single_line
from ..statistics.measured import directed
from .certainty import kind, manner_of_decision, of_the_p_value, undecided
from .facts import groups, key_facts, key_facts_of_metric, terms_group
from .markdown import verdict
from .sentence import metric_sentences, sentences, summary
from .titles import SYMBOLS, VERDICTS, Names, head, measured_in, metric_name, names_of

if TYPE_CHECKING:
    from jinja2 import Environment

TEMPLATES = Path(__file__).parent / "templates"


def html(record: TestRecord, test_id: str, signature: str, picture: str) -> str:
    """The report of one test; `picture` is our inline SVG, or empty."""
    tone = "open" if undecided(record) else "yes" if record.significant else "no"
    return rendered(
        "test.html",
        names=names_of(record, short),
        statistic=directed(short(measured_in(record, single_line)), record.statistic.higher_is_better),
        test=record.test,
        verdict=verdict(record),
        tone=tone,
        symbol={"yes": "●", "no": "○", "open": "◐"}[tone],
        key=key_facts(record),
        signature=signature,
        id=test_id,
        notes=[single_line(note) for note in record.notes],
        **_body(record, sentences(record, for_sentence), picture),
    )


def gate_html(gate: GateRecord, gate_id: str, pictures: Sequence[str]) -> str:
    """The report of a gate, a section for each metric; `pictures` in the metrics' order, empty for none."""
    several = len(gate.metrics) > 1
    lead = summary(gate, for_sentence) if several else f"{head(gate)} – {single_line(gate.metrics[0].reason)}"
    words, _, rest = lead.partition(" – ")
    return rendered(
        "gate.html",
        names=_names(gate),
        head=words,
        lead=rest,
        symbol=SYMBOLS[gate.verdict],
        tone=gate.verdict,
        several=several,
        metrics=[
            _metric(metric, picture, number)
            for number, (metric, picture) in enumerate(zip(gate.metrics, pictures, strict=True), start=1)
        ],
        id=gate_id,
        notes=[single_line(note) for note in gate.notes],
    )


def _names(gate: GateRecord) -> Names:
    """The candidate, and the baseline or all of them."""
    names = names_of(gate.metrics[0].test, short)
    baselines = dict.fromkeys(short(one.against) for one in gate.metrics if one.against is not None)
    return names._replace(v=", ".join(baselines)) if len(baselines) > 1 else names


def _metric(metric: MetricRecord, picture: str, number: int) -> dict[str, Any]:
    record, terms = metric.test, metric.terms
    parts = metric_sentences(metric, for_sentence)
    body = _body(record, (single_line(metric.reason), *parts), picture)
    body["groups"] = (terms_group(metric), *body["groups"])
    return {
        "number": number,
        "name": directed(metric_name(metric, short), metric.terms.higher_is_better),
        "verdict": VERDICTS[metric.verdict],
        "tone": metric.verdict,
        "symbol": SYMBOLS[metric.verdict],
        "policy": terms.policy,
        "key": key_facts_of_metric(metric),
        "known": manner_of_decision(metric),
        "adjusted": metric.decision.p_value_adjusted != metric.decision.p_value,
        "shifted": terms.margin > 0.0,
        "digest": record.digest[:16],
        **body,
    }


def _body(record: TestRecord, parts: Sequence[str], picture: str) -> dict[str, Any]:
    """The part that the report of a test and the section of a metric share."""
    from markupsafe import Markup

    return {
        "sentences": parts,
        "picture": Markup(picture),  # noqa: S704  # drawn by exactperm.reports.picture.pictures, which escapes labels itself
        "groups": groups(record),
        "warnings": [(warning.code, single_line(warning.detail)) for warning in record.warnings],
        "moved": _moved(record.moved, record),
        "certainty": of_the_p_value(record),
        "kind": kind(record),
    }


def _moved(moved: Moved | None, record: TestRecord) -> list[tuple[str, list[str]]]:
    if moved is None:
        return []
    names = names_of(record, short)
    sides = ((names.u, moved.toward_u), (names.v, moved.toward_v))
    return [(name, [short(item) for item in ids]) for name, ids in sides if ids]


def rendered(name: str, **values: Any) -> str:
    """A page from its template; every value is escaped unless it is `Markup`."""
    return _environment().get_template(name).render(values)


@cache
def _environment() -> Environment:
    """Everything is escaped, and an undefined name is an error."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
