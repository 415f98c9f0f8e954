"""Test that the pages list settings, problem types, routes, methods, statistics, options, fields, files and anchors.

Tables between `<!-- table: … -->` marks are written by `make docs`; the others are compared with the code here.
"""

import json
import re
from pathlib import Path
from typing import Any, get_args

import pytest

from exactperm.answers.test import Method
from exactperm.api.openapi.schemas import TestAnswer
from exactperm.cli.commands import cli
from exactperm.inputs.formats.catalogue import FORMATS
from exactperm.main import create_app
from exactperm.reports.representations import REPRESENTATIONS
from exactperm.service import problems
from exactperm.service.kinds import KINDS
from exactperm.service.schema.fields import STATISTIC_MODELS, entries
from exactperm.service.schema.requests import ScoresRequest, TestRequest
from exactperm.settings import Settings
from tests import docs_pages, docs_tables
from tests.docs_pages import GUIDE, PAGES, ROOT, first_cells, section

HTTP = "docs/http.md"
PARTS_OF_PAGES = {"/docs/start.js", "/docs/assets", "/page", "/docs/guide/style.css"}
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


@pytest.mark.parametrize("page", [page for page in GUIDE if docs_tables.TABLE.search(docs_pages.read(page))])
def test_tables_are_those_of_the_code(page: str) -> None:
    text = docs_pages.read(page)
    assert docs_tables.written(text) == text, "run `make docs`"


def test_every_table_that_the_code_knows_is_on_one_page() -> None:
    names = [name for page in GUIDE for _, name, _ in docs_tables.TABLE.findall(docs_pages.read(page))]
    assert sorted(names) == sorted(docs_tables.TABLES)


@pytest.mark.parametrize(
    ("table", "names"),
    [
        ("settings", [f"EXACTPERM_{name.upper()}" for name in Settings.model_fields]),
        ("problems", [kind.code for kind in problems.all_types()]),
        ("statistics", [f"/v1/tests/{kind}" for kind in STATISTIC_MODELS for _ in entries(kind)]),
    ],
)
def test_a_written_table_has_a_row_for_each_entry(table: str, names: list[str]) -> None:
    rows = docs_tables.TABLES[table]()
    assert [row.split("`")[1] for row in rows[2:]] == names


def test_every_format_is_in_the_table_of_formats() -> None:
    cells = [row.split(" | ")[0] for row in docs_tables.TABLES["formats"]()[2:]]
    names = re.findall(r"(?:^\| |; )`([\w-]+)`", "\n".join(cells), flags=re.MULTILINE)
    assert sorted(names) == sorted(FORMATS)


def routes(routed: Any) -> list[tuple[str, str]]:
    """Every method and path, mounted ones as GET, without HEAD."""
    pairs = []
    for route in routed:
        if hasattr(route, "path"):
            path = route.path.replace(":path}", "}")
            pairs += [(method, path) for method in getattr(route, "methods", {"GET"}) - {"HEAD"}]
        else:  # FastAPI keeps included routers as they are
            pairs += routes(route.original_router.routes)
    return pairs


def test_every_route_is_in_the_table_of_endpoints_and_every_endpoint_there_is() -> None:
    app = create_app(Settings(workers=1))
    document = json.loads((ROOT / "openapi" / "openapi.json").read_text(encoding="utf-8"))
    exist = {(method.upper(), path) for path, item in document["paths"].items() for method in item}
    exist |= {(method, path) for method, path in routes(app.routes) if path not in PARTS_OF_PAGES}
    exist.add(("GET", "/openapi.json"))
    assert len(exist) > 10
    listed = re.findall(r"`(GET|POST|DELETE) (/[^`]*)`", " ".join(first_cells(section(HTTP, "Endpoints"))))
    assert sorted(listed) == sorted(exist)


def test_every_statistic_says_when_to_use_it() -> None:
    table = section("docs/statistics.md", "Which test should I use?")
    for kind in STATISTIC_MODELS:
        rows = "\n".join(line for line in table.splitlines() if f"`/v1/tests/{kind}`" in line)
        for statistic in entries(kind):
            if (kind, statistic.name) != ("effects", "expression"):
                assert f"`{statistic.name}`" in rows, (kind, statistic.name)


@pytest.mark.parametrize("page", ["README.md", "docs/statistics.md"])
def test_the_tables_of_which_test_name_only_statistics_that_there_are(page: str) -> None:
    rows = [line for line in section(page, "Which test should I use?").splitlines() if "`/v1/tests/" in line]
    assert len(rows) >= 7
    for row in rows:
        cells = row.split(" | ")
        kind = cells[1].removeprefix("`/v1/tests/").rstrip("`")
        known = entries(kind) if kind in STATISTIC_MODELS else []
        names = {entry.name for entry in known}
        for parameter in (parameter for entry in known for parameter in entry.parameters):
            names |= {parameter.name, *parameter.choices}
        assert set(re.findall(r"`(\w+)`", cells[2])) <= names, row


def test_every_method_says_whether_it_is_exact() -> None:
    names = first_cells(section("docs/methods.md", "Methods: exact, bounded, sampled"))
    assert names == [f"`{method}`" for method in get_args(Method) if method != "auto"]


def test_every_option_has_its_default_in_the_table() -> None:
    table = section(HTTP, "Options of every test")
    defaults = dict(re.findall(r"^\| `(\w+)` \| `([^`]*)` \|", table, flags=re.MULTILINE))
    expected = {}
    of_scores = {
        name: ScoresRequest.model_fields[name]
        for name in ("decimals", "missing_range", "labels", "correction", "covariates")
    }
    for name, field in {**TestRequest.model_fields, **of_scores}.items():
        default = field.default
        expected[name] = default.model_dump() if hasattr(default, "model_dump") else default
    assert {name: json.loads(default) for name, default in defaults.items()} == expected


def test_every_field_of_an_answer_is_explained() -> None:
    names = re.findall(r"`(\w+)`", " ".join(first_cells(section("docs/answers.md", "Fields"))))
    assert sorted(names) == sorted(TestAnswer.model_fields)


def test_every_media_type_is_named() -> None:
    representations = section(HTTP, "Representations")
    cells = first_cells(representations)
    names = [name for cell in cells for name in re.findall(r"`(\w+)`", cell)]
    assert sorted(names) == sorted(each.name for each in REPRESENTATIONS)
    for each in REPRESENTATIONS:
        assert f"`{each.media_type}`" in representations
    rows = [line for line in section(HTTP, "Endpoints").splitlines() if line.startswith("| `POST ")]
    for kind in KINDS.values():
        row = [row for row in rows if row.startswith(f"| `POST {kind.path}`")]
        assert row, f"{HTTP} has no row for POST {kind.path}"
        assert re.findall(r"`((?:application|text|multipart)/[\w-]+)`", row[0]) == list(kind.consumed)


def test_every_command_is_in_the_table_of_commands() -> None:
    cells = " ".join(first_cells(section("docs/command-line.md", "Commands")))
    assert sorted(re.findall(r"`exactperm (\w+)", cells)) == sorted(cli.commands)


def test_every_make_target_that_is_named_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", docs_pages.read("Makefile"), flags=re.MULTILINE))
    named = {
        name
        for page in PAGES
        for words in re.findall(
            r"(?:^ {4}|`|\s)make ((?:[a-z-]+ ?)+?)(?=`|  |$| [A-Z_]+=)",
            docs_pages.read(page),
            flags=re.MULTILINE,
        )
        for name in words.split()
    }
    assert {"serve", "test", "bench", "image", "docs", "check"} <= named
    assert named <= targets, named - targets


@pytest.mark.parametrize("page", PAGES)
def test_every_file_that_is_named_exists(page: str) -> None:
    named = re.findall(
        r"`((?:openapi|tests|loadtest|app|docs)/[\w./-]+)`|@((?:openapi|tests)/[\w./-]+)",
        docs_pages.read(page),
    )
    paths = {path for groups in named for path in groups if path}
    assert [path for path in sorted(paths) if not (ROOT / path).exists()] == []


def test_every_suppression_of_a_rule_or_a_type_has_its_reason() -> None:
    suppression = re.compile(r"# (?:noqa: [A-Z0-9, ]+|type: ignore\[[a-z, -]+\])(.*)")
    for path in [path for folder in ("app", "tests", "loadtest") for path in (ROOT / folder).rglob("*.py")]:
        for line in path.read_text(encoding="utf-8").splitlines():
            found = suppression.search(line)
            assert found is None or found[1].strip(" #-"), (path, line)


def test_every_name_of_the_code_that_its_pages_name_exists() -> None:
    sources = [path for folder in ("app", "tests", "loadtest") for path in (ROOT / folder).rglob("*.py")]
    sources += [*(ROOT / "openapi").glob("*.py"), ROOT / "Makefile"]
    code = set(re.findall(r"\w+", " ".join(path.read_text(encoding="utf-8") for path in sources)))
    for page in [page for page in PAGES if page not in GUIDE or "decisions" in page]:
        marked = " ".join(re.findall(r"`([^`\n]+)`", docs_pages.without_code(page)))
        named = set(
            re.findall(r"(?<![\w.\-/])(?!EXACTPERM_)_?[A-Za-z]+(?:[a-z][A-Z]|_)\w*(?![\w/.])", marked)
        )
        assert named <= code, (page, named - code)


@pytest.mark.parametrize("page", PAGES)
def test_every_link_leads_to_a_file_and_a_heading(page: str) -> None:
    for target in LINK.findall(docs_pages.without_code(page)):
        if target.startswith("http"):
            continue
        name, _, anchor = target.partition("#")
        path = (ROOT / page).parent / name if name else ROOT / page
        assert path.exists(), target
        if anchor:
            assert anchor in docs_pages.anchors(str(path.resolve().relative_to(ROOT))), target


def test_every_page_of_the_guide_is_linked_from_its_index_or_the_decisions() -> None:
    linked = set()
    for index in ("docs/README.md", "docs/decisions/README.md"):
        folder = Path(index).parent
        linked |= {str(folder / target) for target in LINK.findall(docs_pages.read(index))}
    assert {page for page in GUIDE if page not in {"README.md", "docs/README.md"}} <= linked


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
    rows = [line for line in text.splitlines() if re.match(r"\| [NHFA] |\|.*`tests/.*::", line)]
    assert len(rows) > 60
    for row in rows:
        path, named = "", re.findall(r"`(tests/[\w/]+\.py)?::(test_\w+)`", row)
        assert named, row
        for found, test in named:
            path = found or path
            assert f"def {test}(" in (ROOT / path).read_text(encoding="utf-8"), (path, test)


def test_pages_name_no_setting_that_there_is_not() -> None:
    known = {f"EXACTPERM_{name.upper()}" for name in Settings.model_fields}
    known |= {"EXACTPERM_URL", "EXACTPERM_API_KEY", "EXACTPERM_TRACEBACK"}  # of clients and the command line
    for page in PAGES:
        named = set(re.findall(r"EXACTPERM_[A-Z_]*[A-Z]", docs_pages.read(page)))
        assert named <= known, (page, named - known)


def test_the_glossary_explains_at_most_forty_words_which_the_guide_uses() -> None:
    glossary = docs_pages.read("docs/glossary.md")
    words = [
        word for entry in re.findall(r"^\*\*(.+?)\*\*:", glossary, re.MULTILINE) for word in entry.split(", ")
    ]
    assert len(words) <= 40
    guide = (
        " ".join(docs_pages.read(page) for page in GUIDE if page != "docs/glossary.md")
        .replace("\n", " ")
        .lower()
    )
    assert [word for word in words if word.lower() not in guide] == []


def test_the_map_of_the_tests_has_every_file() -> None:
    rows = [
        re.findall(r"`(tests/[^`]+)`", line)
        for line in docs_pages.read("tests/README.md").splitlines()
        if line.startswith("| ")
    ]
    patterns = [pattern for row in rows for pattern in row]
    shown = {
        pattern: {path.relative_to(ROOT).as_posix() for path in ROOT.glob(pattern)} for pattern in patterns
    }
    assert [pattern for pattern in patterns if not shown[pattern]] == []
    files = {path.relative_to(ROOT).as_posix() for path in (ROOT / "tests").rglob("*.py")}
    assert files - set().union(*shown.values()) == set()


def test_the_constants_of_the_planner_are_where_the_page_says() -> None:
    page = section("app/exactperm/engine/README.md", "13. The planner, and its constants")
    rows = re.findall(r"^\| ((?:`_\w+`(?:, )?)+) in \[[^\]]+\]\(([^)]+)\)", page, flags=re.MULTILINE)
    assert len(rows) >= 8
    for names, path in rows:
        code = docs_pages.read(f"app/exactperm/engine/{path}")
        for name in re.findall(r"`(_\w+)`", names):
            assert re.search(rf"^(?:_\w+, )*{name}\b[^=\n]* = ", code, flags=re.MULTILINE), (path, name)
