"""What the tests of the mode Leaderboard do with the page."""

from __future__ import annotations

import random
from collections.abc import Callable

import httpx

from tests.browser.conftest import Tab
from tests.process.conftest import Server, until

NAMES = ["atlas-70b", "birch-32b", "cedar-8b", "delta-8b", "ember-3b", "flint-1b", "random"]
RANKED = "tbody tr th button.system"


def opened(visit: Callable[..., Tab], **options: object) -> Tab:
    """The page in the mode Leaderboard."""
    tab = visit(**options)
    tab.pick("Leaderboard")
    return tab


def ranked(tab: Tab) -> list[str]:
    """The systems from top to bottom of the table."""
    return tab.page.locator(f".standings {RANKED}").all_inner_texts()


def head(tab: Tab, title: str) -> None:
    """Press a header of the table of systems."""
    tab.page.locator(".standings").get_by_role("button", name=title, exact=True).click()


def order(tab: Tab, title: str) -> str | None:
    heads = tab.page.locator(".standings").get_by_role("columnheader", name=title, exact=True)
    return heads.get_attribute("aria-sort")


def choose(tab: Tab, *names: str) -> None:
    for name in names:
        tab.page.locator(".standings").get_by_role("button", name=name, exact=True).click()


def pair_pictured(tab: Tab) -> None:
    """Wait for the picture of the chosen pair, and see that the browser can draw it."""
    image = tab.page.locator("#pair img")
    image.wait_for(state="visible")
    until(lambda: image.evaluate("image => image.complete && image.naturalWidth > 0"), "a picture")


def sent(tab: Tab, server: Server, **fields: str) -> dict[str, object]:
    """The service's own answer to what is pasted."""
    text = tab.page.locator("#paste-file").input_value()
    answer = httpx.post(f"{server.url}/v1/compare", files={"file": ("pasted.txt", text)}, data=fields)
    return dict(answer.json())


def wide(rows: int, names: list[str], seed: int = 1) -> str:
    """A table of right and wrong answers; the systems' skills fall from the first to the last."""
    draw = random.Random(seed)
    lines = [
        ",".join(
            [
                f"q{row}",
                *(f"{draw.random() < 0.95 - 0.6 * place / len(names):d}" for place in range(len(names))),
            ]
        )
        for row in range(rows)
    ]
    return "\n".join([",".join(["id", *names]), *lines, ""])
