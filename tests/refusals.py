"""Check refusals: the code and the pointer of the first flaw, and words of the text."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from exactperm.errors import InputError, InvalidTest


def check(error: InputError, code: str | None, pointer: str | None = None, *words: str) -> None:
    """None accepts any code or pointer."""
    assert error.flaws, "every refusal points at something"
    flaw = error.flaws[0]
    assert code in {None, flaw.code}
    assert pointer in {None, flaw.pointer}
    for word in words:
        assert word in f"{error.detail}\n{flaw.detail}"


@contextmanager
def refused(
    code: str | None, pointer: str | None = None, *words: str, error: type[InputError] = InvalidTest
) -> Iterator[None]:
    """Check that the block is refused with this code and pointer."""
    with pytest.raises(error) as caught:
        yield
    check(caught.value, code, pointer, *words)


@contextmanager
def refused_alone(
    code: str | None, pointer: str | None = None, *words: str, error: type[InputError] = InvalidTest
) -> Iterator[None]:
    """Like `refused`, with only one flaw."""
    with pytest.raises(error) as caught:
        yield
    check(caught.value, code, pointer, *words)
    assert len(caught.value.flaws) == 1
