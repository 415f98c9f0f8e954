"""On a phone the result stands before the form, to the eye, to a screen reader and to the keyboard."""

from __future__ import annotations

from collections.abc import Callable

from tests.browser.conftest import DESKTOP, Tab
from tests.process.conftest import until

PHONE = (390, 844)
ORDER = "[...document.querySelector('main').children].map((part) => part.id)"


def test_the_result_comes_before_the_form_once_there_is_one(visit: Callable[..., Tab]) -> None:
    tab = visit(size=PHONE)
    tab.refused = 1
    assert tab.page.evaluate(ORDER) == ["form", "output"]
    tab.example()
    assert tab.page.evaluate(ORDER) == ["output", "form"]
    assert tab.page.evaluate("document.activeElement.id") == "verdict"
    heading, form = (tab.page.locator(f"#{name}").bounding_box() for name in ("verdict", "form"))
    assert heading is not None
    assert form is not None
    assert 0 <= heading["y"] < PHONE[1] / 2
    assert heading["y"] < form["y"]
    tab.page.get_by_role("link", name="Change the request").click()
    assert tab.page.evaluate("document.activeElement.id") == "form"
    assert tab.page.evaluate("document.getElementById('form').getBoundingClientRect().top") < PHONE[1] / 2
    tab.page.fill("#paste-file", "id,u,v\na,1\n")
    tab.submit()
    tab.problem()
    assert tab.page.evaluate(ORDER) == ["form", "output"]
    assert tab.page.get_by_role("link", name="Change the request").is_hidden()


def test_a_wide_window_has_them_beside_each_other(visit: Callable[..., Tab]) -> None:
    tab = visit()
    tab.example()
    assert tab.page.evaluate(ORDER) == ["form", "output"]
    # The page hears of another width with its next frame.
    tab.page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
    until(lambda: tab.page.evaluate(ORDER) == ["output", "form"], "the result comes first")
    tab.page.set_viewport_size({"width": DESKTOP[0], "height": DESKTOP[1]})
    until(lambda: tab.page.evaluate(ORDER) == ["form", "output"], "the form comes first")
