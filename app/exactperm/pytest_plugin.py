"""The fixture `exactperm` for pytest: a gate in a test. Installed with the package, by the entry point `pytest11`.

Only pytest is imported until the first gate, so a run without gates pays nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Unpack

import pytest

if TYPE_CHECKING:
    from .client import Client, GateResult
    from .client.results import MetricResult
    from .local.run import GateOptions


def pytest_addoption(parser: pytest.Parser) -> None:
    """Two options."""
    group = parser.getgroup("exactperm", "exact gates (fixture exactperm)")
    group.addoption("--exactperm-url", metavar="URL", help="Ask this server instead of computing here.")
    group.addoption(
        "--exactperm-inconclusive",
        choices=("skip", "fail"),
        default="skip",
        help=(
            "Outcome of a test whose gate is inconclusive [skip]; a gate's on_inconclusive= takes precedence."
        ),
    )


class Gates:
    """The gates of one test.

    Parameters
    ----------
    properties
        The test's `user_properties`, shown in JUnit reports; every gate adds its figures.
    inconclusive
        "skip" or "fail": outcome of the test when a gate is inconclusive.
    client
        A client of a server, or None to compute here.
    """

    def __init__(
        self, properties: list[tuple[str, object]], inconclusive: str, client: Client | None
    ) -> None:
        self._properties = properties
        self._inconclusive = inconclusive
        self._client = client

    def gate(
        self, candidate: Any, baseline: Any = None, *, gold: Any = None, **options: Unpack[GateOptions]
    ) -> GateResult:
        """Pass if the candidate may replace the baseline; takes the arguments of `exactperm.gate`.

        Raises
        ------
            AssertionError: the gate fails, or is inconclusive where it must pass; the message is Markdown with the
            reason. ProblemError: the comparison could not be made; never skipped. Skipped: the gate is inconclusive, or
            waits for more items.
        """
        __tracebackhide__ = True
        from .local.run import gate, gate_request

        request = gate_request(candidate, baseline, gold, options)
        result = gate(request) if self._client is None else self._client.gate(request)
        self._record(result)
        on_inconclusive = options.get("on_inconclusive") or request.terms.get("on_inconclusive")
        verdict = result.verdict
        if verdict == "pass" or (verdict == "inconclusive" and on_inconclusive == "pass"):
            return result
        text = markdown(result)
        if verdict == "continue" or (
            verdict == "inconclusive" and on_inconclusive is None and self._inconclusive == "skip"
        ):
            pytest.skip(text)
        raise AssertionError(text)

    def _record(self, result: GateResult) -> None:
        taken = {name for name, _ in self._properties}
        for metric in result.metrics:
            base = f"exactperm.{metric.name}" + (f" against {metric.against}" if metric.against else "")
            names = (base if n == 1 else f"{base} {n}" for n in range(1, len(taken) + 2))
            prefix = next(name for name in names if f"{name}.verdict" not in taken)
            figures = {f"{prefix}.{name}": value for name, value in _figures(result, metric).items()}
            self._properties.extend(figures.items())
            taken |= figures.keys()


def markdown(result: GateResult) -> str:
    """The verdict with its reason, the figures and reason of each metric, and how files were read."""
    from .presentation.escaping import prose_for_markdown
    from .presentation.words import VERDICTS, read_rows, test_sentence

    lines = [f"**{VERDICTS[result.verdict]}** – {prose_for_markdown(result.reason)}"]
    for metric in result.metrics:
        reason = f"**{VERDICTS[metric.verdict]}** – {metric.reason} " if len(result.metrics) > 1 else ""
        lines.append("* " + prose_for_markdown(f"{reason}{test_sentence(metric.test)}"))
    notes = read_rows(*(metric.test.reading for metric in result.metrics))
    lines += [f"* Read: {prose_for_markdown(note)}" for _, note in notes]
    return "\n".join(lines)


def _figures(result: GateResult, metric: MetricResult) -> dict[str, str]:
    decision, test = metric.decision, metric.test
    return {
        "verdict": metric.verdict,
        "metric": test.statistic.metric or test.statistic.name,
        "higher_is_better": str(metric.higher_is_better).lower(),
        "policy": metric.policy,
        "margin": repr(metric.margin),
        "alpha": repr(metric.alpha),
        "p_value": repr(decision.p_value),
        "p_value_adjusted": repr(decision.p_value_adjusted),
        "p_value_bounds": " ".join(map(repr, decision.p_value_bounds)),
        "exact": str(decision.exact).lower(),
        "difference": repr(test.statistic.observed),
        "n": str(test.items.n),
        "method": test.method.name,
        "id": result.id,
    }


@pytest.fixture(scope="session")
def _exactperm_client(pytestconfig: pytest.Config) -> Iterator[Client | None]:
    url = pytestconfig.getoption("--exactperm-url")
    if url is None:
        yield None
        return
    from .client import Client

    with Client(url, api_key=os.environ.get("EXACTPERM_API_KEY")) as client:
        yield client


@pytest.fixture
def exactperm(request: pytest.FixtureRequest, _exactperm_client: Client | None) -> Gates:
    """Gates by exact tests: `exactperm.gate(candidate, baseline, policy=…, margin=…)`."""
    return Gates(
        request.node.user_properties, request.config.getoption("--exactperm-inconclusive"), _exactperm_client
    )
