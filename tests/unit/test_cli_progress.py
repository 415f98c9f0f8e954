"""What is said while it takes long, and that nothing is when it does not."""

from __future__ import annotations

import io

import pytest

from exactperm.cli.progress import Progress, duration


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_short_run_says_nothing_anywhere_but_its_answer() -> None:
    stream = io.StringIO()
    with Progress(quiet=False, stream=stream) as progress:
        progress.doing("computing", 0.001)
    assert stream.getvalue() == ""


def test_a_long_run_says_what_it_does_and_how_long_it_should_take(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("exactperm.cli.progress.AFTER_S", 0.0)
    monkeypatch.setattr("exactperm.cli.progress.EVERY_S", 0.01)
    stream = io.StringIO()
    with Progress(quiet=False, stream=stream) as progress:
        progress.doing("computing", 12.0)
        progress._ended.wait(0.2)
        assert "exactperm: computing… " in progress._line()
        assert progress._line().endswith(" s, planned about 12 s")
    assert stream.getvalue().startswith("exactperm: ")


def test_the_line_on_a_terminal_is_wiped_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("exactperm.cli.progress.EVERY_S", 0.01)
    stream = Terminal()
    with Progress(quiet=False, stream=stream) as progress:
        progress._ended.wait(0.1)
    assert stream.getvalue().endswith("\r\x1b[K")
    with Progress(quiet=True, stream=stream) as progress:
        assert not progress._thread.is_alive()


def test_durations_for_people() -> None:
    assert [duration(seconds) for seconds in (0, 0.5, 1, 119, 120, 3599, 3600)] == [
        "0 s", "0.5 s", "1 s", "119 s", "2 min", "60 min", "1 h",
    ]  # fmt: skip
