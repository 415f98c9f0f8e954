"""Write reports and comments of the gate for GitHub and GitLab, where bash is not safe, with the standard library only.

refused MESSAGES            a report for a comparison that could not be made
junit MESSAGES              the same as JUnit XML
headed REPORT NAME          a report below the gate's name
marker NAME                 <!-- exactperm:NAME -->
find ANSWER MARKER AUTHOR   the number of comments on a page of the API, and the id of the gate's comment
body REPORT MARKER          the JSON of a comment
pull EVENT                  the number of the pull request, and whether it comes from a fork
"""

from __future__ import annotations

import html
import json
import sys
from pathlib import Path
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree as ET

LONGEST = 60_000  # characters: GitHub refuses comments of 65,536 and more
MEMBERS = {"OWNER", "MEMBER", "COLLABORATOR"}


def refused(messages: str) -> str:
    """Report the messages in a <pre>, which Markdown does not interpret, with < and & escaped."""
    why = html.escape(_said(_text(messages)), quote=False)
    return f"⚠️ **NOT COMPARED** – the comparison could not be made, and what cannot be decided does not pass.\n\n<pre>{why}</pre>\n"


def junit(messages: str) -> str:
    """JUnit XML of one case with an error."""
    root = ET.Element("testsuites", name="exactperm", tests="1", failures="0", errors="1", time="0")
    suite = ET.SubElement(root, "testsuite", name="exactperm", tests="1", failures="0", errors="1", time="0")
    case = ET.SubElement(suite, "testcase", name="gate", classname="exactperm.gate", time="0")
    error = ET.SubElement(case, "error", type="not_compared", message="The comparison could not be made.")
    error.text = _said(_text(messages))
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def headed(report: str, name: str) -> str:
    """Put the name above the report, in a code span, which can have neither markup nor mentions."""
    label = " ".join("".join(char if char.isprintable() else " " for char in name).split())
    return f"### Gate `{label.replace('`', chr(39))[:100]}`\n\n{_text(report)}"


def marker(name: str) -> str:
    """The marker of a name. Characters other than letters, digits, ., _ and - become %XX, so that no name ends the comment."""
    written = quote(name, safe="").replace("~", "%7E")
    return f"<!-- exactperm:{written.replace('--', '-%2D')} -->"


def find(answer: str, sign: str, author: str) -> str:
    """Find a comment with the marker by `author`, or by a bot or a member, but never by another user."""
    comments: list[dict[str, Any]] = json.loads(_text(answer))
    ours = (one["id"] for one in comments if str(one.get("body")).startswith(sign) and _trusted(one, author))
    return f"{len(comments)} {next(ours, '')}"


def _trusted(comment: dict[str, Any], author: str) -> bool:
    if author:
        return str((comment.get("author") or {}).get("id")) == author
    return (comment.get("user") or {}).get("type") == "Bot" or comment.get("author_association") in MEMBERS


def body(report: str, sign: str) -> str:
    """The marker and the report, shortened at the end of a line if too long."""
    text = _text(report)
    if len(text) > LONGEST:
        text = text[:LONGEST].rpartition("\n")[0]
        text += "\n" + "\n</details>" * (text.count("<details>") - text.count("</details>"))
        text += "\n\n… The rest is in the report of the job.\n"
    return json.dumps({"body": f"{sign}\n{text}"})


def pull(event: str) -> str:
    """The number, and fork or own; empty if the event is not about a pull request."""
    request = json.loads(_text(event) or "{}").get("pull_request") or {}
    head, base = ((request.get(side) or {}).get("repo") or {} for side in ("head", "base"))
    own = bool(head) and head.get("full_name") == base.get("full_name")
    return f"{int(request['number'])} {'own' if own else 'fork'}" if request else ""


def _text(path: str) -> str:
    return Path(path).read_text(encoding="utf-8", errors="replace") if Path(path).is_file() else ""


def _said(messages: str) -> str:
    """The messages without control characters except line ends."""
    kept = "".join(char if char.isprintable() or char == "\n" else "\ufffd" for char in messages)
    return kept.strip()[:20_000] or "exactperm: ended without a message."


COMMANDS = {one.__name__: one for one in (refused, junit, headed, marker, find, body, pull)}

if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8", newline="\n")
    print(COMMANDS[sys.argv[1]](*sys.argv[2:]))
