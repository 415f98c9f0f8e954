"""Test stored jobs, and jobs that are divided into chunks."""

import json
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from threading import Barrier
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from exactperm.answers.test import Fraction2
from exactperm.errors import InvalidTest, MalformedBody
from exactperm.execution.ipc import Unbounded
from exactperm.inference.compare.pair_tests import BinomialValues, Joined, Listed, SumValues
from exactperm.jobs import store as module, work as codec
from exactperm.jobs.database import engine_of, reachable
from exactperm.jobs.gateway import submission
from exactperm.jobs.model import (
    Envelope,
    JobPlan,
    KeyReused,
    NoRoom,
    NoShare,
    Shares,
    StoreAway,
    Stored,
    kind_of,
)
from exactperm.jobs.store import PARTS, RESULTS, Heartbeat, Store, live_hosts
from exactperm.jobs.work import plan_job
from exactperm.main import jobs_of
from exactperm.service.batch import chunk_count, runs_of
from exactperm.service.compare.comparison import slices_of
from exactperm.settings import Settings

# What is kept of jobs: once, for a while, and not without its place in the queue.


PLAN = JobPlan("scores", {"kind": "scores"}, 3, 10.0, (None,), (b"body",))
ROOMY = Shares(1e9, 1_000, 1e9, 10**9)
ANSWER = Stored(200, (("etag", "x"),), b"a", b"b", b"c")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    at = [1_000.0]
    monkeypatch.setattr(module, "now", lambda _: at[0])
    return at


@pytest.fixture
def store(tmp_path: Path, clock: list[float]) -> Store:
    made = Store(engine_of(f"sqlite:///{tmp_path}/j.sqlite"), retention_s=60)
    made.create_tables()
    made.create_tables()
    return made


def submitted(store: Store, owner: str = "a", key: str | None = None, sha: str = "1", **other: Any) -> str:
    nothing = other.get("enqueue", lambda *_: None)
    return store.submit(owner, key, sha, PLAN, "3", other.get("shares", ROOMY), nothing)[0]


def test_a_job_without_its_place_in_the_queue_is_unknown(store: Store) -> None:
    def broken(*_: Any) -> None:
        raise OSError

    with pytest.raises(OSError):
        submitted(store, key="k", enqueue=broken)
    assert store.jobs("a", (), None, 10) == ()
    assert submitted(store, key="k")  # the same key may come again


def test_an_idempotency_key_is_of_its_owner_and_request(store: Store) -> None:
    job = submitted(store, key="k")
    assert submitted(store, key="k") == job == store.replayed("a", "k", "1")
    assert submitted(store, "b", key="k") != job
    with pytest.raises(KeyReused):
        submitted(store, key="k", sha="2")
    with pytest.raises(KeyReused):
        store.replayed("a", "k", "2")


def test_shares_are_of_each_owner_and_of_all(store: Store) -> None:
    submitted(store)
    for shares, own in [
        (Shares(15, 9, 1e9, 10**9), True),
        (Shares(1e9, 1, 1e9, 10**9), True),
        (Shares(1e9, 9, 15, 10**9), False),
    ]:
        with pytest.raises(NoShare) as refused:
            submitted(store, shares=shares)
        assert refused.value.own is own
    assert submitted(store, "b", shares=Shares(15, 1, 1e9, 10**9))
    assert len(store.jobs("a", (), None, 10)) == 1


def test_a_chunk_counts_once_and_never_after_the_end(store: Store) -> None:
    job = submitted(store)
    assert store.put_part(job, 0, b"x", 3, "h1")
    assert not store.put_part(job, 0, b"y", 3, "h2")
    assert store.parts(job, 0, 9) == [b"x"]
    assert store.cancel(job, "a")
    assert not store.put_part(job, 1, b"x", 3, "h1")
    assert not store.succeed(job, ANSWER)
    assert not store.cancel(job, "a")
    assert store.measured(job).chunks == 0
    assert store.input(job, 0) is None


def test_an_expired_job_is_gone_and_its_row_stays_for_as_long_again(store: Store, clock: list[float]) -> None:
    job, kept = submitted(store, key="k"), store.keep("a", ANSWER, 10**9)
    assert store.succeed(job, ANSWER)
    assert store.kept(job, "a") == store.kept(kept, "a") == ANSWER
    assert store.kept(kept, "b") is None
    clock[0] += 61
    assert store.kept(kept, "a") is None
    assert store.purge() == []
    row: Any = store.job(job, "a")
    assert row.expired
    assert store.kept(job, "a") is None
    assert submitted(store, key="k") != job
    clock[0] += 60
    assert store.purge() == [(job, 1)]
    assert store.job(job, "a") is None


def test_stored_bytes_of_a_key_are_limited(store: Store, clock: list[float]) -> None:
    """Stored answers, answers of jobs and results of lists, until they expire or are deleted; of this key alone."""
    size = ANSWER.size
    store.keep("a", ANSWER, size)
    with pytest.raises(NoRoom):
        store.keep("a", ANSWER, 2 * size - 1)
    one, many = submitted(store), submitted(store)
    assert store.succeed(one, ANSWER)
    assert store.put_part(many, 0, b"result", 1, "here")
    assert store.succeed(many, None)
    kept = 2 * size + len(b"result")
    assert submitted(store, shares=Shares(1e9, 9, 1e9, kept))
    with pytest.raises(NoRoom):
        submitted(store, shares=Shares(1e9, 9, 1e9, kept - 1))
    assert len(store.jobs("a", (), None, 10)) == 3  # the one that was refused is none
    assert submitted(store, "b", shares=Shares(1e9, 9, 1e9, 0))
    assert store.delete(many, "a")
    assert submitted(store, shares=Shares(1e9, 9, 1e9, 2 * size))
    clock[0] += 61
    assert submitted(store, shares=Shares(1e9, 9, 1e9, 0))


def test_a_key_is_free_again_when_its_job_has_expired(store: Store, clock: list[float]) -> None:
    """A job is gone as soon as it expires: until the purge, submissions were asked to retry again and again."""
    job = submitted(store, key="k")
    assert store.succeed(job, ANSWER)
    clock[0] += 61
    assert store.replayed("a", "k", "1") is store.replayed("a", "k", "2") is None
    later = submitted(store, key="k", sha="2")
    assert later != job
    assert submitted(store, key="k", sha="2") == later


def five_done(store: Store, answer: Any) -> list[str]:
    jobs = [submitted(store) for _ in range(5)]
    for job in jobs:
        assert store.put_part(job, 0, b"x", 3, "h1")
        assert store.succeed(job, answer)
    return jobs


def test_more_than_one_purge_takes_are_forgotten_in_turn(
    store: Store, clock: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows of jobs that were forgotten stay for a while: the same ones must not be forgotten again and again."""
    monkeypatch.setattr(module, "AT_A_TIME", 2)
    jobs = five_done(store, ANSWER)
    clock[0] += 61
    for kept in (3, 1, 0):
        assert store.purge() == []
        with store.engine.connect() as connection:
            assert len(connection.execute(RESULTS.select()).all()) == kept
    clock[0] += 60
    assert sorted(store.purge()) == sorted((job, 1) for job in jobs)


def test_no_row_goes_before_what_is_kept_of_it(
    store: Store, clock: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a long downtime many jobs have expired: no row is left without its job."""
    monkeypatch.setattr(module, "AT_A_TIME", 2)
    jobs = five_done(store, None)
    clock[0] += 1_000
    assert sorted(job for _ in range(3) for job, _ in store.purge()) == sorted(jobs)
    with store.engine.connect() as connection:
        assert connection.execute(PARTS.select()).all() == []


def test_a_reaper_that_was_away_does_not_judge(store: Store) -> None:
    """A host is taken over when it is silent, but not by one whose own heart has just begun, or paused."""
    at = [0.0]
    heart = Heartbeat(store.engine, "me", 2, "3", 2.0, clock=lambda: at[0])
    other = Heartbeat(store.engine, "other", 2, "3", 2.0)
    heart.beat(())
    other.beat(())
    other.leave()
    seen = []
    for step in (0.5, 0.5, 0.5, 0.6, 5.0, 0.5, 0.9, 0.7):
        at[0] += step
        seen.append(heart.beat(())[0])
    assert seen == [[], [], [], ["other"], [], [], [], ["other"]]
    assert live_hosts(store.engine, 60) == 1
    job = submitted(store)
    assert heart.beat({job, "gone"})[1] == {"gone"}


def test_a_database_that_cannot_be_reached(tmp_path: Path) -> None:
    engine = engine_of("postgresql://nobody@127.0.0.1:1/none")
    with pytest.raises(StoreAway), reachable(), engine.connect():
        pass
    broken = tmp_path / "broken.sqlite"
    broken.write_bytes(b"this is no database" * 100)
    with pytest.raises(StoreAway), reachable(), engine_of(f"sqlite:///{broken}").connect():
        pass


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("sqlite://", "file"), ("sqlite:///:memory:", "file"), ("sqlite:////proc/none/j.sqlite", "a folder that this user can write"),
        ("sqlite:////", "a folder that this user can write"), ("postgresql://h:port/x", "cannot be read as a URL"),
    ],
)  # fmt: skip
def test_a_database_that_cannot_be_is_one_sentence_at_the_start(url: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        engine_of(url)
    with pytest.raises(SystemExit, match=f"EXACTPERM_JOBS_URL: .*{why}"):
        jobs_of(Settings.model_construct(jobs_url=url))


def test_tables_are_created_by_several_at_once(tmp_path: Path) -> None:
    """As when the service and its worker start on a new file."""
    at_once, files = 4, 12
    barrier = Barrier(at_once)

    def create(number: int) -> None:
        engine = engine_of(f"sqlite:///{tmp_path}/{number}.sqlite")
        barrier.wait()
        Store(engine, 60).create_tables()
        engine.dispose()

    with ThreadPoolExecutor(at_once) as pool:
        for number in range(files):
            list(pool.map(create, [number] * at_once))


# A job is cut so that every test is in one chunk, and none is too many.


COSTS = st.lists(st.floats(0, 1e4) | st.just(0.0), max_size=300)


@given(COSTS, st.floats(1e-3, 10), st.integers(1, 50))
def test_runs_cover_every_test_once(costs: list[float], share: float, most: int) -> None:
    lengths = runs_of(costs, share, most)
    assert sum(lengths) == len(costs)
    assert len(lengths) <= most
    assert all(length > 0 for length in lengths)


@given(
    st.lists(st.tuples(st.integers(0, 400), st.floats(0, 100)), min_size=1, max_size=8), st.integers(1, 60)
)
def test_slices_cover_every_pair_once(boards: list[tuple[int, float]], wanted: int) -> None:
    seen = [
        (one.board, at)
        for part in slices_of(boards, wanted)
        for one in part
        for at in range(one.start, one.stop)
    ]
    assert sorted(seen) == [(board, at) for board, (tests, _) in enumerate(boards) for at in range(tests)]
    assert len(seen) == len(set(seen))


def test_how_many_chunks() -> None:
    assert [chunk_count(seconds, 0.5, 2_000) for seconds in (0.0, 0.5, 0.6, 1e9)] == [1, 1, 2, 2_000]
    assert chunk_count(float("inf"), 0.5, 2_000) == 2_000


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@given(st.dictionaries(st.text(max_size=5), JSON, max_size=5), st.sampled_from([None, 1, 3]), st.booleans())
def test_a_request_stays_byte_for_byte(request: dict[str, Any], indent: int | None, ascii_: bool) -> None:
    written = json.dumps(request, indent=indent, ensure_ascii=ascii_)
    body = f' {{"kind" : "scores",\n"request":{written} }} '.encode()
    assert kind_of(body) == "scores"
    assert Envelope("scores").only(body).content == written.encode()
    listed = f'{{"request": {{"tests": [{{"kind": "effects", "request": {written}}} , {{"request": {written}, "kind": "gate"}}]}}, "kind": "batch"}}'
    items = Envelope("batch").items(listed.encode(), 2)
    assert [(item.head["kind"], item.content) for item in items] == [
        ("effects", written.encode()),
        ("gate", written.encode()),
    ]


def test_an_integer_of_any_length_is_not_converted() -> None:
    body = b'{"kind": "scores", "request": {"u": [' + b"9" * 5_000_000 + b"]}}"
    assert len(Envelope("scores").only(body).content) > 5_000_000


@pytest.mark.parametrize(
    "body",
    [b"", b"[]x", b'{"kind": "scores", "request": {}', b'{"kind": "scores" "request": {}}', b"\xff", b'{"kind": "scores", "request": {}} {}',
     b'{"kind":"scores","request":' + b"[" * 200_000],
)  # fmt: skip
def test_invalid_json_is_refused(body: bytes) -> None:
    with pytest.raises((MalformedBody, InvalidTest)):
        Envelope("scores").only(body)


def test_a_key_that_comes_twice_is_refused() -> None:
    with pytest.raises(InvalidTest, match="twice"):
        kind_of(b'{"kind": "scores", "kind": "gate", "request": {}}')


def test_a_chunk_is_read_as_it_was_written() -> None:
    binomial = BinomialValues(np.array([5, 9]), np.array([4, 9]), two_sided=True)
    sums = SumValues((((1, 2), (3, 1)), ((2**70,), (1,))), two_sided=False)
    listed = Listed((Fraction2(3**50, 90), None))
    value: Any = [
        (np.array([1.5, np.nan, -np.inf]), np.array([True, False]), np.zeros((0,), np.int64)),
        Joined((listed, binomial.fraction, sums.attained), (0, 2, 4)),
        (float("-inf"), None, "ü", Fraction(1, 3**80), 2**53 + 1),
        binomial.support,
    ]
    read = codec.loaded(codec.dumped(value))
    np.testing.assert_array_equal(read[0][0], value[0][0])
    assert [array.dtype for array in read[0]] == [np.float64, np.bool_, np.int64]
    assert read[2] == value[2]
    assert [read[1](at) for at in (0, 1, 2, 3)] == [
        listed(0),
        None,
        binomial.fraction(0),
        binomial.fraction(1),
    ]
    assert read[1](4, Fraction(1, 2)) == sums.attained(0, Fraction(1, 2))
    assert read[3](0) == binomial.support(0)


class Stranger:
    pass


@pytest.mark.parametrize("value", [Stranger(), len, {"a": 1}, b"", np.array(["text"]), [1].append])
def test_nothing_else_is_written(value: Any) -> None:
    with pytest.raises(TypeError):
        codec.dumped(value)


@pytest.mark.parametrize(
    "said",
    [
        {"record": ["Stranger", {}]}, {"record": ["Fraction2", {"more": 1}]}, {"method": [{"tuple": []}, "fraction"]},
        {"method": [{"record": ["Fraction2", {"numerator": 1, "log2_denominator": 1}]}, "__class__"]},
        {"array": ["|O", [1], 8]}, {"array": ["<f8", [9], 72]}, {"again": 0}, {"exec": "1"}, {"a": 1, "b": 2}, [1],
    ],
)  # fmt: skip
def test_nothing_else_is_read(said: Any) -> None:
    import zlib

    text = json.dumps(said).encode()
    with pytest.raises(ValueError, match="not a chunk"):
        codec.loaded(zlib.compress(codec.LENGTH.pack(len(text)) + text))


def test_a_list_cannot_hide_its_cost() -> None:
    """Which tests are planned is not known beforehand: every tenth was, and the others could take hours in one chunk."""
    dear = {
        "u": [0.123457 * i % 1 for i in range(10)],
        "v": [0.5] * 10,
        "method": "monte_carlo",
        "samples": 10_000_000,
    }
    cheap = {"kind": "effects", "request": {"stay": [1] * 50}}
    tests = [cheap if at % 10 == 0 else {"kind": "scores", "request": dear} for at in range(1_000)]
    asked = submission(Settings(), "json")
    alone = plan_job(asked, written("scores", dear), Unbounded())
    whole = plan_job(asked, written("batch", {"tests": tests}), Unbounded())
    assert isinstance(alone, JobPlan)
    assert isinstance(whole, JobPlan)
    assert whole.seconds == pytest.approx(900 * alone.seconds, rel=0.5)
    assert max(whole.chunks) <= 100


def written(kind: str, request: Any) -> bytes:
    return json.dumps({"kind": kind, "request": request}).encode()
