from __future__ import annotations

from exactperm.execution.pool import Standstill


def test_a_worker_stands_still_when_it_is_stopped_for_long_or_waits_for_a_device_for_longer() -> None:
    standstill = Standstill(2.0, 5.0)
    states = {1: ("R", 7), 2: ("T", 7), 3: ("D", 7), 4: ("S", 7), 5: ("t", 7)}
    assert standstill.look(states, 10.0) == (set(), {2, 3, 5})
    assert standstill.look(states, 11.9) == (set(), {2, 3, 5})
    assert standstill.look(states, 12.0) == ({2, 5}, {2, 3, 5})
    assert standstill.look(states, 15.0) == ({2, 3, 5}, {2, 3, 5})


def test_whoever_moves_in_between_begins_anew() -> None:
    standstill = Standstill(2.0, 2.0)
    standstill.look({1: ("T", 7), 2: ("D", 7), 3: ("D", 7), 4: ("D", 7)}, 10.0)
    standstill.look({1: ("R", 7), 2: ("D", 8), 3: ("T", 7)}, 11.0)
    assert standstill.look({1: ("T", 7), 2: ("D", 8), 3: ("T", 7), 4: ("D", 7)}, 12.5) == (
        set(),
        {1, 2, 3, 4},
    )
    assert standstill.look({1: ("T", 7), 2: ("D", 8), 3: ("T", 7), 4: ("D", 7)}, 13.2)[0] == {2, 3}
