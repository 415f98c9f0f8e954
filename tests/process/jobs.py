"""What the executor's tests run in workers."""

from __future__ import annotations

import hashlib
import os
import signal
import time
from pathlib import Path

from app.errors import Flaw, InvalidTest
from app.execution import Deadline

Body = bytes | bytearray


def digest(job: str, body: Body, deadline: Deadline) -> str:
    return job + hashlib.sha256(body).hexdigest()


def pid(job: object, body: Body, deadline: Deadline) -> int:
    return os.getpid()


def sleep(job: float, body: Body, deadline: Deadline) -> str:
    time.sleep(job)
    return "slept"


def touch_and_sleep(job: tuple[str, float], body: Body, deadline: Deadline) -> str:
    Path(job[0]).write_text(str(os.getpid()))
    time.sleep(job[1])
    return "slept"


def set_deadline_and_sleep(job: tuple[float, float], body: Body, deadline: Deadline) -> str:
    deadline.set(job[0])
    time.sleep(job[1])
    return "slept"


def die(job: object, body: Body, deadline: Deadline) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def die_once(job: str, body: Body, deadline: Deadline) -> str:
    marker = Path(job)
    if not marker.exists():
        marker.write_text("")
        os.kill(os.getpid(), signal.SIGKILL)
    return "survived"


def refuse(job: object, body: Body, deadline: Deadline) -> None:
    raise InvalidTest("no", flaws=(Flaw("/u", "code", "no"),))


class Unpicklable(Exception):
    def __init__(self) -> None:
        super().__init__(lambda: None)


def fail_oddly(job: object, body: Body, deadline: Deadline) -> None:
    raise Unpicklable
