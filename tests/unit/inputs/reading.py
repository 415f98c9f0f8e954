"""Read files from text, bytes or paths by the formats, and check refusals."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exactperm.errors import InputError
from exactperm.inputs.encodings import inflated
from exactperm.inputs.formats.catalogue import read
from exactperm.inputs.reader import ReaderOptions, Reading, UploadedFile
from exactperm.statistics.paired import Scores
from tests.refusals import check

ROOT = Path(__file__).resolve().parents[3]
EXCERPTS = ROOT / "tests" / "data"  # licensed
PACK = ROOT.parent / "shared" / "data"  # outside the repository
MAX_BYTES = 2**30

Content = str | bytes | Path


def _uploaded(role: str, content: Content) -> UploadedFile:
    if isinstance(content, Path):
        return UploadedFile(content.name, inflated(content.read_bytes(), max_bytes=MAX_BYTES))
    return UploadedFile(f"{role}.txt", content.encode() if isinstance(content, str) else content)


def read_files(format_: str, files: Mapping[str, Content], **options: Any) -> Any:
    """The `Reading` of texts, bytes or paths; its kind of data depends on the files. Options are keywords."""
    uploaded = {role: _uploaded(role, content) for role, content in files.items()}
    return read(uploaded, format_, ReaderOptions(**options))


def refusal(format_: str, files: Mapping[str, Content], **options: Any) -> InputError:
    """The error that reading these files ends in."""
    with pytest.raises(InputError) as caught:
        read_files(format_, files, **options)
    return caught.value


def refuses(
    code: str | None,
    pointer: str | None,
    format_: str,
    files: Mapping[str, Content],
    *words: str,
    **options: Any,
) -> None:
    """Reading is refused with this code, pointer (None: any) and these words."""
    check(refusal(format_, files, **options), code, pointer, *words)


def refuses_alone(
    code: str | None,
    pointer: str | None,
    format_: str,
    files: Mapping[str, Content],
    *words: str,
    **options: Any,
) -> None:
    """Like `refuses`, with only one flaw."""
    error = refusal(format_, files, **options)
    check(error, code, pointer, *words)
    assert len(error.flaws) == 1


def noted(reading: Reading, words: str) -> bool:
    """Whether one of its notes has these words."""
    return any(words in note for note in reading.notes)


def columns(reading: Reading) -> tuple[list[float], list[float]]:
    """The scores of both systems."""
    assert isinstance(reading.data, Scores)
    assert isinstance(reading.data.u, np.ndarray)
    assert isinstance(reading.data.v, np.ndarray)
    return reading.data.u.tolist(), reading.data.v.tolist()
