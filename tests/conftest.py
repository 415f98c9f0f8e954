import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import httpx
import pytest
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadFileScheduling

from exactperm.execution.ipc import SINGLE_THREAD_ENV

# As in the service, before NumPy reads it: else the threads of one process of tests spin in the way of the others.
os.environ.update({name: os.environ.get(name, value) for name, value in SINGLE_THREAD_ENV.items()})

# The same examples in every run; `--hypothesis-profile explore` looks for new ones. How long an example takes
# says something about the machine and nothing about the code.
settings.register_profile(
    "repeatable", derandomize=True, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("few", settings.get_profile("repeatable"), max_examples=10)
settings.register_profile("explore", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("repeatable")

# A client that waits for five seconds says something about the machine, and nothing about the service.
for name in ("connect", "read", "write", "pool"):
    setattr(httpx._config.DEFAULT_TIMEOUT_CONFIG, name, 180.0)

PACK = Path(__file__).resolve().parents[2] / "shared" / "data"
MARKS = {"process": ["process"], "browser": ["browser", "process"]}  # of all tests of a folder


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--one-case",
        action="store_true",
        help="the first case of each test, and 10 examples: see `make test-fast`",
    )
    parser.addoption(
        "--rewrite", action="store_true", help="write the answers that pages show: see `make shown`"
    )


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("one_case"):
        settings.load_profile("few")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        for mark in MARKS.get(item.path.parent.name, []):
            item.add_marker(mark)
    if config.getoption("one_case"):
        first = {item.nodeid.partition("[")[0]: item for item in reversed(items)}
        kept = [item for item in items if first[item.nodeid.partition("[")[0]] is item]
        rest = set(items) - set(kept)
        config.hook.pytest_deselected(items=list(rest))
        items[:] = kept
    if PACK.is_dir():
        return
    missing = pytest.mark.skip(reason="the evaluation data is not in ../shared/data")
    for item in items:
        if item.get_closest_marker("pack"):
            item.add_marker(missing)


@pytest.fixture(scope="session", autouse=True)
def certificates() -> Iterator[None]:
    """httpx reads all certificates for each new client, which takes longer than most requests of the tests."""
    with mock.patch("httpx._transports.default.create_ssl_context", cache(httpx.create_ssl_context)):
        yield


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Run the tests of a file in one process, so that its fixtures and oracles are made once.

    All browser tests form one group, which shares a server.
    """
    if config.getvalue("dist") != "loadfile":
        return None
    scheduler = LoadFileScheduling(config, log)
    scheduler._split_scope = _file
    return scheduler


def _file(nodeid: str) -> str:
    return "tests/browser" if nodeid.startswith("tests/browser/") else nodeid.partition("::")[0]
