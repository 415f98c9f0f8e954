"""Labels are untrusted; each function makes them safe for one output format.

Control characters, including line ends and bidirectional overrides, are always removed, so that a label cannot start
a line of a log, a header or a row of a table.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable

BARE = re.compile(r"[A-Za-z0-9._+/:-]+\Z")
# Spreadsheets treat full-width forms as the narrow ones.
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")  # fmt: skip
LONGEST = 80

# Characters that GitHub reads as markup; an underscore inside a word and a < before a blank or = are plain.
_MARKUP = re.compile(r"([\\`*\[\]#~&$]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|<(?=[A-Za-z/!?]))")
_CODE = re.compile(r"(?<!`)(`[^`]+`)(?!`)")


def single_line(text: str) -> str:
    """A label without control, format, surrogate and separator characters; runs of white space are one space.

    Workflow runners look for ##[ anywhere in a step's output.
    """
    if not text.isprintable():
        text = "".join(" " if unicodedata.category(char)[0] in "CZ" else char for char in text)
    return " ".join(text.split()).replace("##[", "# #[")


def short(text: str) -> str:
    """A label on one line, shortened to `LONGEST` characters, and never empty."""
    label = single_line(text)
    cut = label if len(label) <= LONGEST else label[: LONGEST - 1] + "…"
    return cut or "(unnamed)"


def for_line(text: str) -> str:
    """Unchanged if it is one plain word, else quoted and escaped to ASCII."""
    label = single_line(text)
    return label if BARE.match(label) else json.dumps(label)


def for_sentence(text: str) -> str:
    """Unchanged if it is one plain word, else between quotation marks, which it cannot close."""
    label = short(text)
    if BARE.match(label):
        return label
    inside = label.replace("\u201c", "'").replace("\u201d", "'")
    return f"\u201c{inside}\u201d"


def for_markdown(text: str) -> str:
    """A code span, inside which no markup, HTML, link or mention works; a pipe would end the table's cell."""
    label = short(text) if single_line(text) else ""
    label = label.replace("`", "'").replace("|", "¦")
    return f"`{label}`" if label else "` `"


def prose_for_markdown(sentence: str) -> str:
    """A sentence of ours that may quote untrusted text: code spans stay, all other markup is escaped."""
    parts = _CODE.split(single_line(sentence))
    return "".join(
        part.replace("|", "¦") if index % 2 else _escaped(part) for index, part in enumerate(parts)
    )


def _escaped(prose: str) -> str:
    escaped = _MARKUP.sub(r"\\\1", prose).replace("|", "¦").replace("@", "＠")
    return escaped.replace("://", "\\://").replace("www.", "www\\.")


def what_was_read(notes: Iterable[object]) -> str:
    """How files were read, to end a plain-text description; empty without files."""
    text = " ".join(single_line(str(note)) for note in notes)
    return f" What was read: {text}" if text else ""


def for_csv(text: str) -> str:
    """Put an apostrophe before text that a spreadsheet would run as a formula."""
    label = single_line(text)
    return "'" + label if label.startswith(FORMULA) else label


def for_xml(text: str) -> str:
    """The text without the control characters that XML 1.0 forbids; `xml.etree` escapes the rest."""
    return single_line(text)
