from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from exactperm.errors import InputError
from exactperm.inputs.encodings import inflated
from exactperm.inputs.formats.catalogue import read
from exactperm.inputs.formats.reader import ReaderOptions, Reading, UploadedFile

ROOT = Path(__file__).resolve().parents[3]
PACK = ROOT.parent / "shared" / "data"
MAX_BYTES = 2**30

Content = str | bytes | Path
Read = Callable[..., Reading]


def _uploaded(role: str, content: Content) -> UploadedFile:
    if isinstance(content, Path):
        return UploadedFile(content.name, inflated(content.read_bytes(), max_bytes=MAX_BYTES))
    return UploadedFile(f"{role}.txt", content.encode() if isinstance(content, str) else content)


@pytest.fixture
def read_files() -> Read:
    """Read files given as text, bytes or paths; options are keywords."""

    def reading(format_: str, files: Mapping[str, Content], **options: object) -> Reading:
        uploaded = {role: _uploaded(role, content) for role, content in files.items()}
        return read(uploaded, format_, ReaderOptions(**options))  # type: ignore[arg-type]

    return reading


@pytest.fixture
def refusal(read_files: Read) -> Callable[..., InputError]:
    """The error that reading these files ends in."""

    def refused(format_: str, files: Mapping[str, Content], **options: object) -> InputError:
        with pytest.raises(InputError) as caught:
            read_files(format_, files, **options)
        assert caught.value.flaws, "every refusal points at something"
        return caught.value

    return refused


@pytest.fixture
def excerpts() -> Path:
    """The licensed excerpts in tests/data."""
    return ROOT / "tests" / "data"


@pytest.fixture
def pack() -> Path:
    """The evaluation data outside the repository."""
    if not PACK.is_dir():
        pytest.skip("the evaluation data is not in ../shared/data")
    return PACK
