from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from tests.fuzz.asgi import GENERATED, InProcess, in_process


@pytest.fixture(scope="session")
def service() -> Iterator[InProcess]:
    with in_process() as running:
        yield running


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Under xdist every worker counts for itself, and hands its counts in."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["generated"] = dict(GENERATED)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    GENERATED.update(Counter(getattr(node, "workeroutput", {}).get("generated", {})))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Count the cases that were run."""
    if GENERATED:
        counts = ", ".join(f"{count:,} {name}" for name, count in sorted(GENERATED.items()))
        terminalreporter.write_line(f"generated: {counts}")
