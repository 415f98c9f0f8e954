"""Executors for tests, functions for workers, and helpers that wait for processes."""

import asyncio
import hashlib
import mmap
import os
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from exactperm.errors import Flaw, InvalidTest
from exactperm.execution.executor import Executor
from exactperm.execution.ipc import Control, Part, Split
from exactperm.service.problems import of_bug
from tests.process.conftest import PATIENCE_S


@asynccontextmanager
async def executor(workers: int = 1, queue_depth: int = 10, **options: Any) -> AsyncIterator[Executor]:
    # What the workers run is imported before they are forked: the first call takes no longer than others.
    options = {"start_timeout_s": PATIENCE_S, "preload": "tests.process.executors", **options}
    running = Executor(workers=workers, queue_depth=queue_depth, **options)
    await running.start()
    try:
        yield running
    finally:
        await running.stop()


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not condition():  # noqa: ASYNC110  (other processes set no event)
            await asyncio.sleep(0.01)


def run(scenario: Callable[[], Awaitable[None]], patience_s: float = 2 * PATIENCE_S) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(patience_s):
            await scenario()

    asyncio.run(bounded())


Body = bytes | bytearray


def digest(job: str, body: Body, control: Control) -> str:
    return job + hashlib.sha256(body).hexdigest()


def pid(job: object, body: Body, control: Control) -> int:
    return os.getpid()


def sleep(job: float, body: Body, control: Control) -> str:
    time.sleep(job)
    return "slept"


def touch_and_sleep(job: tuple[str, float], body: Body, control: Control) -> str:
    Path(job[0]).write_text(str(os.getpid()))
    time.sleep(job[1])
    return "slept"


def set_deadline_and_sleep(job: tuple[float, float], body: Body, control: Control) -> str:
    control.deadline(job[0])
    time.sleep(job[1])
    return "slept"


def die(job: object, body: Body, control: Control) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def die_once(job: str, body: Body, control: Control) -> str:
    marker = Path(job)
    if not marker.exists():
        marker.write_text("")
        os.kill(os.getpid(), signal.SIGKILL)
    return "survived"


def refuse(job: object, body: Body, control: Control) -> None:
    raise InvalidTest("no", flaws=(Flaw("/u", "code", "no"),))


class Unpicklable(Exception):
    def __init__(self) -> None:
        super().__init__(lambda: None)


def fail_oddly(job: object, body: Body, control: Control) -> None:
    raise Unpicklable


def hog(job: int, body: Body, control: Control) -> int:
    """Take so many bytes, in pieces, and use them."""
    return len([bytearray(b"x") * 2**20 for _ in range(job // 2**20)])


def hog_shared(job: int, body: Body, control: Control) -> int:
    """The same in shared memory, which no RLIMIT_DATA counts."""
    with mmap.mmap(-1, job) as held:
        for start in range(0, job, mmap.PAGESIZE):
            held[start] = 1
        time.sleep(300)
        return len(held)


def plan_and_note(job: tuple[str, float, float], body: Body, control: Control) -> str:
    """Predict, then take some time, and write down when it began and when it ended."""
    path, predicted, seconds = job
    control.plan(predicted)
    begin = time.monotonic()
    time.sleep(seconds)
    with Path(path).open("a") as file:
        file.write(f"{begin} {time.monotonic()}\n")
    return "planned"


def count(job: tuple[str, float], body: Body, control: Control) -> str:
    with Path(job[0]).open("a") as file:
        file.write("x")
    time.sleep(job[1])
    return "counted"


def hold_the_interpreter(job: int, body: Body, control: Control) -> int:
    """One call into C that lets no other thread of the process run."""
    return sum(range(job))


def fail_unforeseen(job: str, body: Body, control: Control) -> None:
    try:
        raise_value_error(job)
    except ValueError as error:
        of_bug(error, "a-request")


def raise_value_error(text: str) -> None:
    raise ValueError(text)


def split_up(job: tuple[str, int, float], body: Body, control: Control) -> Split:
    """Divide the body's bytes among so many parts; each appends a line to the file, and waits."""
    path, parts, seconds = job
    own = tuple(Part((path, part, parts, seconds), seconds) for part in range(parts))
    return Split(take_part, own, bytes(body), put_together, path, at_once=2, seconds=parts * seconds)


def take_part(job: tuple[str, int, int, float], body: Body, control: Control) -> int:
    path, part, parts, seconds = job
    with Path(path).open("a") as file:
        file.write(f"{part} {os.getpid()}\n")
    time.sleep(seconds)
    return sum(body[part::parts])


def put_together(job: tuple[str, tuple[int, ...]], body: Body, control: Control) -> tuple[int, ...]:
    path, results = job
    with Path(path).open("a") as file:
        file.write(f"all {os.getpid()}\n")
    assert sum(results) == sum(body)
    return results


def split_and_refuse(job: str, body: Body, control: Control) -> Split:
    """One of three parts refuses; the others would take five minutes."""
    parts = tuple(Part((job, part), 0.1) for part in range(3))
    return Split(refuse_the_second, parts, b"", put_together, job, at_once=3, seconds=0.3)


def refuse_the_second(job: tuple[str, int], body: Body, control: Control) -> None:
    if job[1] == 1:
        refuse(job, body, control)
    touch_and_sleep((f"{job[0]}.{job[1]}", 300.0), body, control)
