"""Settings, turns of requests, and buckets of tokens."""

import asyncio
import itertools
import random
import re

import pytest
from pydantic import ValidationError

from exactperm.api.bodies import LEAST_S, ROUNDS, SHORT_TURNS_S, Turns
from exactperm.api.endpoint import TokenBucket
from exactperm.cli.output import Refused
from exactperm.cli.settings import settings_of
from exactperm.settings import REMOVED, Settings

UNITS = (
    "_metrics",
    "_systems",
    "_comparisons",
    "_tests",
    "_bytes",
    "_s",
    "_seconds",
    "_items",
    "_chars",
    "_samples",
    "_operations",
    "_depth",
    "_parts",
    "_connections",
    "_per_address",
    "_share",  # of one
)


def test_the_environment_decides_with_one_prefix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EXACTPERM_PORT", "9000")
    monkeypatch.setenv("PORT", "9001")
    assert Settings().port == 9000


def test_settings_are_frozen_and_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValidationError):
        Settings().port = 1  # type: ignore[misc]  # they are frozen
    monkeypatch.setenv("EXACTPERM_WORKERS", "0")
    with pytest.raises(ValidationError):
        Settings()


def test_every_setting_is_described_and_every_limit_names_its_unit() -> None:
    for name, field in Settings.model_fields.items():
        assert field.description, name
        if re.match("max_|engine_|inplace_|default_", name):
            assert name.endswith(UNITS), name


def test_the_default_address_is_loopback() -> None:
    assert Settings.model_fields["host"].default == "127.0.0.1"


def test_a_variable_of_a_setting_that_is_gone_is_refused_with_what_to_use_now(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("EXACTPERM_QUEUE_BYTES", "1")
    with pytest.raises(Refused) as refused:
        settings_of({})
    assert str(refused.value) == (
        "EXACTPERM_QUEUE_BYTES: this setting was removed; it is four times EXACTPERM_MAX_BODY_BYTES "
        "now, at most 256 MiB or one body. Remove the variable."
    )


@pytest.mark.parametrize("name", REMOVED)
def test_replacements_of_removed_settings_are_settings(name: str) -> None:
    assert name not in Settings.model_fields
    assert isinstance(getattr(Settings(), name), int | float)  # it is fixed, or derived
    for instead in re.findall(r"EXACTPERM_(\w+)", REMOVED[name]):
        assert instead.lower() in Settings.model_fields


def test_no_other_name_is_a_setting() -> None:
    with pytest.raises(ValidationError):
        Settings(queue_bytes=1)  # type: ignore[call-arg]  # it has this name no more


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
    taken = taken_in_turns(SHORT_TURNS_S)
    assert [name for name, _ in taken] == list(range(30))
    rounds = [at for _, at in taken]
    assert all(later - earlier >= ROUNDS for earlier, later in itertools.pairwise(rounds))


def test_short_turns_share_the_time_of_one_and_then_the_loop_goes_round() -> None:
    together = 4
    taken = taken_in_turns(SHORT_TURNS_S / together - LEAST_S)
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


# A bucket fills with time up to what may be saved, and is overdrawn by one piece of work at most.


def test_over_a_long_time_no_more_is_spent_than_the_share_and_the_savings() -> None:
    chance, bucket = random.Random(0), TokenBucket(0.1, 0.05)
    now = spent = 0.0
    for _ in range(20_000):
        now += chance.expovariate(500.0)
        if bucket.left(now):
            piece = chance.uniform(0.0, 0.004)
            bucket.spend(piece)
            spent += piece
    assert 0.1 * now <= spent <= 0.1 * now + 0.05 + 0.004


def test_overdrawn_time_has_to_be_made_up_first() -> None:
    bucket = TokenBucket(0.5, 1.0)
    assert bucket.left(100.0)
    bucket.spend(3.0)
    assert not bucket.left(103.9)
    assert bucket.left(104.1)


@pytest.mark.parametrize("idle_s", [10.0, 1e9])
def test_no_more_is_saved_than_may_be(idle_s: float) -> None:
    bucket = TokenBucket(0.5, 1.0)
    assert bucket.left(idle_s)
    bucket.spend(1.0)
    assert not bucket.left(idle_s)


def test_a_process_that_was_stopped_for_an_hour_in_the_middle_works_again_soon() -> None:
    bucket = TokenBucket(0.5, 0.1)
    assert bucket.left(1000.0)
    bucket.spend(3600.0)
    assert bucket.left(4601.0)
