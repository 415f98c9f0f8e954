"""The README says what there is: settings, problem types, routes, methods, statistics, options, fields.

When one of these tests fails, its message holds the rows that the README should have.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, get_args

import pytest

from app.api.openapi.schemas import TestAnswer
from app.inference.options import Method
from app.main import create_app
from app.reports.representations import REPRESENTATIONS
from app.service import media_types, problems
from app.service.schema.requests import ScoresRequest, TestRequest
from app.service.schema.statistics import STATISTIC_MODELS, entries
from app.settings import Settings

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMPUTED = {"workers": "one per processor"}
PARTS_OF_PAGES = {"/docs/start.js", "/docs/assets", "/page/{name}"}


def section(title: str) -> str:
    """The text below a heading, up to the next one."""
    found = re.search(rf"^#+ {re.escape(title)}\n(.*?)(?=^#+ |\Z)", README, flags=re.MULTILINE | re.DOTALL)
    assert found, f"the README has no section {title!r}"
    return found[1]


def first_cells(title: str) -> list[str]:
    """The first cells of the rows of the tables in a section, without the tables' heads."""
    cells = re.findall(r"^\| ?([^|]*?) ?\|", section(title), flags=re.MULTILINE)
    return [cell for cell in cells if cell.startswith("`")]


def setting_rows() -> list[str]:
    rows = []
    for name, field in Settings.model_fields.items():
        if field.default_factory:
            default = COMPUTED[name]
        else:
            default = f"`{str(field.default).lower()}`" if field.default != "" else "none"
        rows.append(f"| `EXACTPERM_{name.upper()}` | {default} | {field.description} |")
    return rows


def problem_rows() -> list[str]:
    return [
        f"| `{kind.code}` | {kind.status} | {kind.title} | {kind.advice} |" for kind in problems.all_types()
    ]


def metric_rows() -> list[str]:
    metrics = create_app(Settings(workers=1)).state.metrics
    return [
        f"| `{name}` | {sentence} |"
        for name, sentence in metrics.names().items()
        if not name.startswith("process_")
    ]


@pytest.mark.parametrize(
    ("title", "rows"),
    [
        ("Settings", setting_rows()),
        ("Limits and refusals", problem_rows()),
        ("Metrics and logs", metric_rows()),
    ],
)
def test_the_table_is_what_the_code_says(title: str, rows: list[str]) -> None:
    said = [line for line in section(title).splitlines() if line.startswith("| `")]
    assert said == rows, "the rows should be:\n" + "\n".join(rows)


def routes(routed: Any) -> list[tuple[str, str]]:
    """Every method and path there is, mounted ones as GET, without what HEAD repeats."""
    found = []
    for route in routed:
        if hasattr(route, "path"):
            found += [(method, route.path) for method in getattr(route, "methods", {"GET"}) - {"HEAD"}]
        else:  # FastAPI keeps included routers as they are
            found += routes(route.original_router.routes)
    return found


def test_every_route_is_in_the_table_of_endpoints_and_every_endpoint_there_is() -> None:
    app = create_app(Settings(workers=1))
    document = json.loads((ROOT / "openapi" / "openapi.json").read_text(encoding="utf-8"))
    exist = {(method.upper(), path) for path, item in document["paths"].items() for method in item}
    exist |= {(method, path) for method, path in routes(app.routes) if path not in PARTS_OF_PAGES}
    exist.add(("GET", "/openapi.json"))
    assert len(exist) > 10
    said = re.findall(r"`(GET|POST) (/[^`]*)`", " ".join(first_cells("Endpoints")))
    assert sorted(said) == sorted(exist)


def test_every_statistic_says_what_it_answers() -> None:
    table = section("Which test should I use?")
    for kind in STATISTIC_MODELS:
        rows = "\n".join(line for line in table.splitlines() if f"`/v1/tests/{kind}`" in line)
        for statistic in entries(kind):
            if (kind, statistic.name) != ("effects", "expression"):
                assert f'"name": "{statistic.name}"' in rows, (kind, statistic.name)
            for parameter in statistic.parameters:
                assert f'"{parameter.name}"' in rows, (kind, statistic.name, parameter.name)
                for value in parameter.choices:
                    assert value in rows, (kind, statistic.name, parameter.name, value)


def test_every_method_says_whether_it_is_exact() -> None:
    assert first_cells("Is the answer exact?") == [
        f"`{method}`" for method in get_args(Method) if method != "auto"
    ]


def test_every_option_has_its_default_in_the_table() -> None:
    said = re.findall(r"^\| `(\w+)` \| `([^`]*)` \|", section("Options of every test"), flags=re.MULTILINE)
    wanted = {}
    of_scores = {"decimals": ScoresRequest.model_fields["decimals"]}
    for name, field in {**TestRequest.model_fields, **of_scores}.items():
        default = field.default
        wanted[name] = default.model_dump() if hasattr(default, "model_dump") else default
    assert {name: json.loads(default) for name, default in said} == wanted


def test_every_field_of_an_answer_is_explained() -> None:
    said = re.findall(r"`(\w+)`", " ".join(first_cells("How to read an answer")))
    assert sorted(said) == sorted(TestAnswer.model_fields)


def test_every_media_type_is_named() -> None:
    answers = section("How to read an answer")
    for representation in REPRESENTATIONS:
        assert f"`{representation.media_type}`" in answers
        assert f"`{representation.name}`" in answers
    for kind, consumed in media_types.CONSUMED.items():
        path = f"/v1/{kind}" if kind in {"plan", "gate"} else f"/v1/tests/{kind}"
        row = next(line for line in section("Endpoints").splitlines() if line.startswith(f"| `POST {path}`"))
        assert re.findall(r"`((?:application|text|multipart)/[\w-]+)`", row) == list(consumed)


def test_every_make_target_that_is_named_exists() -> None:
    targets = set(
        re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE)
    )
    named = set(re.findall(r"(?:^ {4}|`|\s)make ([a-z-]+)(?=`| |$)", README, flags=re.MULTILINE))
    assert {"serve", "test", "bench", "image"} <= named
    assert named <= targets


def test_every_file_that_is_named_exists() -> None:
    named = re.findall(
        r"`((?:openapi|tests|loadtest|app)/[\w./-]+)`|\]\((?!http)([^)#]+)\)|@((?:openapi|tests)/[\w./-]+)",
        README,
    )
    paths = {path for groups in named for path in groups if path}
    assert len(paths) > 5
    assert [path for path in sorted(paths) if not (ROOT / path).exists()] == []


def test_every_goal_of_operation_names_tests_that_there_are() -> None:
    text = (ROOT / "loadtest/GOALS.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \|(.*)$", text, flags=re.MULTILINE)
    assert [int(number) for number, _ in rows] == list(range(1, 19))
    for number, row in rows:
        path, named = "", re.findall(r"`(tests/[\w/]+\.py)?::(test_\w+)`", row)
        assert named, number
        for found, test in named:
            path = found or path
            assert f"def {test}(" in (ROOT / path).read_text(encoding="utf-8"), (number, path, test)


def test_every_finding_names_tests_that_there_are() -> None:
    text = (ROOT / "tests/FINDINGS.md").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if re.match(r"\| [NHFA] ", line)]
    assert len(rows) > 60
    for row in rows:
        path, named = "", re.findall(r"`(tests/[\w/]+\.py)?::(test_\w+)`", row)
        assert named, row
        for found, test in named:
            path = found or path
            assert f"def {test}(" in (ROOT / path).read_text(encoding="utf-8"), (path, test)
