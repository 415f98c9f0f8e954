"""README.md, docs/ and the other pages, as the tests of the documentation read them."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def read(name: str) -> str:
    """A page by its path from the root."""
    return (ROOT / name).read_text(encoding="utf-8")


GUIDE = ("README.md", *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md")))
# Every page with links or names of files; what is pasted from tools or other projects is not ours.
PAGES = (
    *GUIDE,
    "app/exactperm/README.md",
    "app/exactperm/engine/README.md",
    "loadtest/README.md",
    "loadtest/GOALS.md",
    "loadtest/deploy/README.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
)


def rewrite(name: str, before: str, after: str) -> None:
    """Replace what a page shows."""
    text = read(name)
    assert text.count(before) == 1, (name, before)
    (ROOT / name).write_text(text.replace(before, after), encoding="utf-8")


def section(name: str, title: str) -> str:
    """The text below a heading of a page, up to the next heading."""
    match = re.search(rf"^#+ {re.escape(title)}\n(.*?)(?=^#+ |\Z)", read(name), re.MULTILINE | re.DOTALL)
    assert match, f"{name} has no section {title!r}"
    return match[1]


def blocks(name: str, language: str) -> list[str]:
    """The fenced blocks of a language on a page."""
    return re.findall(rf"^```{language}\n(.*?)^```$", read(name), re.MULTILINE | re.DOTALL)


def first_cells(text: str) -> list[str]:
    """The first cells of a table's rows, without its head."""
    cells = re.findall(r"^\| ?([^|]*?) ?\|", text, flags=re.MULTILINE)
    return [cell for cell in cells if cell.startswith("`")]


def slug(title: str) -> str:
    """The anchor of a heading, as GitHub makes it."""
    text = re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", lambda match: match[1] or "", title)
    return re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")


def without_code(name: str) -> str:
    """A page without its fenced and indented blocks."""
    text = re.sub(r"^```.*?^```$", "", read(name), flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"^ {4}.*$", "", text, flags=re.MULTILINE)


def anchors(name: str) -> set[str]:
    """The anchors of a page's headings."""
    return {slug(title) for title in re.findall(r"^#+ (.*)$", without_code(name), flags=re.MULTILINE)}
