"""Which pairs of a board an answer lists by itself, and that it counts the others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from exactperm.settings import Settings
from tests.api.conftest import Service, running

PATH = "/v1/compare"


@pytest.fixture(scope="module")
def boards() -> Iterator[Service]:
    """A service of its own: large boards take the share of time that small requests of others are answered in."""
    yield from running(Settings(workers=1))


def answer(boards: Service, body: Any) -> dict[str, Any]:
    answered = boards.post(PATH, body)
    assert answered.status_code == 200, answered.text
    said: dict[str, Any] = answered.json()
    return said


def many(count: int, kind: int = 0) -> dict[str, list[int]]:
    """That many systems on five items, right or wrong as the digits of their numbers are."""
    return {f"s{n:03}": [(n + kind) >> bit & 1 for bit in range(5)] for n in range(count)}


def test_a_large_board_lists_the_pairs_that_fit_and_counts_the_others(boards: Service) -> None:
    """150 systems on five items were 1 KB of scores and 4 MB of answer; 500 were 49 MB."""
    systems = many(150)
    body = {"kind": "scores", "systems": systems}
    whole = answer(boards, {**body, "pairs": "all"})
    assert len(whole["pairs"]) == 150 * 149 // 2 == 11_175
    said = answer(boards, body)
    assert said["pairs"] == whole["pairs"][:10_000]
    assert [said[name] == whole[name] for name in ("systems", "groups", "family", "id")] == [
        True,
        True,
        True,
        False,
    ]
    (warning,) = [one for one in said["warnings"] if one["code"] == "pairs_left_out"]
    assert warning["detail"].startswith("1,175 of 11,175 pairs are not listed")
    assert not any(one["code"] == "pairs_left_out" for one in whole["warnings"])
    rows = boards.post(f"{PATH}?format=csv&table=pairs", body).text.splitlines()
    assert len(rows) == 1 + 10_000
    assert "1,175 of 11,175 pairs are not listed" in rows[1]
    for form, shown in [
        ("markdown", "1,175 of 11,175 pairs"),
        ("html", "1,175 of 11,175 pairs"),
        ("text", "[pairs_left_out]"),
    ]:
        assert shown in boards.post(f"{PATH}?format={form}", body).text
    lines = (
        ",".join(systems)
        + "\n"
        + "".join(",".join(map(str, row)) + "\n" for row in zip(*systems.values(), strict=True))
    )
    for query, count in [("", 10_000), ("?pairs=all", 11_175)]:
        assert len(boards.body(PATH + query, lines.encode(), "text/csv").json()["pairs"]) == count


def test_boards_of_data_sets_share_what_fits(boards: Service) -> None:
    sets = {f"d{n}": {"systems": many(90, n)} for n in range(2)}
    said = answer(boards, {"kind": "scores", "datasets": sets})
    every = [said["overall"], *said["datasets"].values()]
    assert [len(board["pairs"]) for board in every] == [10_000 // 3] * 3
    for board in every:
        (warning,) = [one for one in board["warnings"] if one["code"] == "pairs_left_out"]
        assert warning["detail"].startswith("672 of 4,005 pairs are not listed")


def test_what_fits_is_the_answer_that_lists_all_pairs(boards: Service) -> None:
    """Also with a baseline, of which none is left out."""
    for body in [
        {"kind": "scores", "systems": many(4)},
        {"kind": "scores", "systems": many(150), "compare": "baseline", "baseline": "s000"},
    ]:
        default, whole = (answer(boards, {**body, **more}) for more in ({}, {"pairs": "all"}))
        assert {**default, "runtime": None} == {**whole, "runtime": None}
