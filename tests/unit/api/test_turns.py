from __future__ import annotations

import asyncio
import itertools

from exactperm.api.bodies import LEAST_S, ONE_TURN_S, ROUNDS, Turns


def taken_in_turns(seconds: float) -> list[tuple[int, int]]:
    """(name, how often the loop has gone round) of thirty turns that compute for so long each."""

    async def scenario() -> list[tuple[int, int]]:
        turns, taken, rounds, done = Turns(), [], 0, False

        async def count() -> None:
            nonlocal rounds
            while not done:
                rounds += 1
                await asyncio.sleep(0)

        async def work(name: int) -> None:
            await turns.mine()
            turns.spend(seconds)
            taken.append((name, rounds))

        counting = asyncio.ensure_future(count())
        await asyncio.gather(*(work(name) for name in range(30)))
        done = True
        await counting
        return taken

    return asyncio.run(scenario())


def test_turns_come_in_order_and_the_loop_goes_round_between_two_of_them() -> None:
    taken = taken_in_turns(ONE_TURN_S)
    assert [name for name, _ in taken] == list(range(30))
    rounds = [at for _, at in taken]
    assert all(later - earlier >= ROUNDS for earlier, later in itertools.pairwise(rounds))


def test_short_turns_share_what_one_may_take_and_then_the_loop_goes_round() -> None:
    together = 4
    taken = taken_in_turns(ONE_TURN_S / together - LEAST_S)
    assert [name for name, _ in taken] == list(range(30))
    rounds = [at for _, at in taken]
    assert all(
        later - earlier >= ROUNDS for earlier, later in zip(rounds, rounds[together + 1 :], strict=False)
    )
    assert rounds[-1] - rounds[0] < 29 * ROUNDS


def test_a_turn_lasts_until_somebody_else_has_one() -> None:
    async def scenario() -> None:
        turns = Turns()
        first = await turns.mine()
        assert await turns.mine(first) == first
        second = await turns.mine()
        assert second != first
        assert await turns.mine(first) not in {first, second}

    asyncio.run(scenario())
