"""`python -m exactperm.api.openapi_export [--check] [path]`: write `openapi/openapi.json`, or check that it is up to date."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from fastapi import FastAPI

from ..execution.executor import Executor
from ..ops.health import Drain, HealthChecks
from ..ops.metrics import Metrics
from ..settings import Settings
from .openapi.document import document
from .routes import add_routes

DEFAULT_PATH = Path("openapi/openapi.json")


def exported() -> str:
    """The document as text: the same bytes on every machine, with any settings."""
    app = FastAPI()
    executor = Executor(workers=1, queue_depth=0, start_timeout_s=1)
    drain = Drain()
    health, metrics = HealthChecks(executor, drain), Metrics(executor, {})
    add_routes(app, Settings.model_construct(), executor, health, metrics, drain, None)
    return json.dumps(document(app), indent=2, ensure_ascii=False) + "\n"


def main() -> int:
    """Write or check; returns 1 when the check finds a difference."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--check", action="store_true", help="change nothing; fail when the file is not up to date"
    )
    parser.add_argument("path", nargs="?", type=Path, default=DEFAULT_PATH)
    arguments = parser.parse_args()
    text = exported()
    if not arguments.check:
        arguments.path.parent.mkdir(parents=True, exist_ok=True)
        arguments.path.write_text(text, encoding="utf-8")
        return 0
    if arguments.path.is_file() and arguments.path.read_text(encoding="utf-8") == text:
        return 0
    print(f"{arguments.path} is not up to date; run: python -m exactperm.api.openapi_export", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
