"""Test every reader of files and bodies: any bytes are read, or refused with a message."""

import sys
import tracemalloc
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from exactperm.errors import ExactpermError
from exactperm.inputs import delimited, encodings, frame, json_text
from exactperm.inputs.formats import catalogue, numpy_files
from exactperm.inputs.reader import ReaderOptions, Reading, Source, UploadedFile
from tests.binary import npy
from tests.fuzz.asgi import GENERATED, examples, judge_error
from tests.fuzz.excerpts import Excerpt, excerpts, requests
from tests.fuzz.mutations import STEPS, Steps, mutated

MAX_INFLATED = 1_000_000
TABLES = (b"1,0\n0,1\n1,1\n", b"id,u,v,cluster\na,0.5,1,x\nb,1,2,y\n", b"3\t1\t4\t1\n5\t9\t2\t6\n",
          b"id,tp_u,incorrect_u,tp_v,incorrect_v\na,1,2,3,4\nb,1,0,2,2\n", b'"a","b"\n1,2\n')  # fmt: skip
LINES = (b'{"id":"a","u":1,"v":2}\n{"id":"b","u":0.5,"v":1}\n', b'{"gold":"x","u":"x","v":"y"}\n' * 3,
         b'{"u":{"tp":1,"incorrect":2},"v":{"tp":1,"incorrect":0}}\n' * 2)  # fmt: skip
OPTIONS = st.sampled_from(
    [
        {}, {}, {}, {"statistic": "upos"}, {"statistic": "wer"}, {"metric": "exact_match"}, {"clusters": "document"},
        {"on_missing": "drop"}, {"decimals": "3"}, {"measure": "map"}, {"token_column": "2"}, {"tag_column": "1"},
        {"reduce_epochs": "none"}, {"allow_incomplete": "true"}, {"ner_mode": "strict"}, {"id_column": "id"}, {"delimiter": "tab"},
        {"groups": "segment"}, {"gold_column": "label"}, {"event_column": "label"}, {"decimal": "comma"}, {"decimal": "."},
    ]
)  # fmt: skip
Changes = list[tuple[int, Steps]]
CHANGES = st.lists(st.tuples(st.integers(0, 2), STEPS), min_size=1, max_size=2)


def arrays() -> list[bytes]:
    """A few .npy files of both shapes."""
    shapes = (("f8", 2), ("i8", 4), ("u1", 2), ("f4", 4), ("?", 2))
    return [npy(np.arange(5 * columns).reshape(5, columns).astype(kind)) for kind, columns in shapes]


def refused_or_done(work: Callable[[], Any]) -> None:
    GENERATED["inputs of readers"] += 1
    try:
        work()
    except ExactpermError as error:
        judge_error(error)


def changed(excerpt: Excerpt, changes: Changes) -> dict[str, UploadedFile]:
    files = dict(excerpt.files)
    roles = sorted(files)
    for which, steps in changes:
        role = roles[which % len(roles)]
        files[role] = mutated(files[role], steps)
    return {role: UploadedFile(f"{role}.txt", content) for role, content in files.items()}


def read_files(excerpt: Excerpt, changes: Changes, format_: str, options: dict[str, str]) -> None:
    given_options = {**excerpt.options, **options}

    def reading() -> Reading:
        chosen = ReaderOptions.of_form(given_options, max_inflated_bytes=MAX_INFLATED)
        return catalogue.read(changed(excerpt, changes), format_, chosen)

    refused_or_done(reading)


@pytest.mark.parametrize("number", range(len(excerpts())))
def test_every_excerpt_is_read_before_it_is_mutated(number: int) -> None:
    excerpt = excerpts()[number]
    files = {role: UploadedFile(role, content) for role, content in excerpt.files.items()}
    assert (
        catalogue.read(files, excerpt.format, ReaderOptions.of_form(dict(excerpt.options))).data is not None
    )


@pytest.mark.parametrize("format_", sorted({excerpt.format for excerpt in excerpts()}))
def test_a_damaged_file_is_read_or_refused(format_: str) -> None:
    own = [excerpt for excerpt in excerpts() if excerpt.format == format_]

    @examples(50)
    @given(st.sampled_from(own), CHANGES, st.sampled_from([format_, format_, "auto"]), OPTIONS)
    def check(excerpt: Excerpt, changes: Changes, as_: str, options: dict[str, str]) -> None:
        read_files(excerpt, changes, as_, options)

    check()


@examples(150)
@given(st.sampled_from(excerpts()), CHANGES, st.sampled_from([*catalogue.FORMATS, "auto"]), OPTIONS)
def test_a_file_in_a_format_that_is_not_its_own_is_read_or_refused(
    excerpt: Excerpt, changes: Changes, format_: str, options: dict[str, str]
) -> None:
    read_files(excerpt, changes, format_, options)


@examples(150)
@given(
    st.sampled_from(excerpts()),
    CHANGES,
    st.lists(st.sampled_from(["a.csv", "b", "", "/", "x/a.csv", "y/a.csv"]), min_size=1, max_size=3),
    OPTIONS,
)
def test_damaged_files_of_tasks_are_read_or_refused(
    excerpt: Excerpt, changes: Changes, names: list[str], options: dict[str, str]
) -> None:
    def reading() -> Reading:
        whole, damaged = changed(excerpt, []), changed(excerpt, changes)
        files = {}
        for role, file in whole.items():
            parts = [
                UploadedFile("task", file.content),
                *(UploadedFile(name, damaged[role].content) for name in names),
            ]
            files[role] = UploadedFile(role, b"", "", tuple(parts))
        chosen = ReaderOptions.of_form({**excerpt.options, **options}, max_inflated_bytes=MAX_INFLATED)
        return catalogue.read(files, excerpt.format, chosen)

    refused_or_done(reading)


def frame_of_body(body: bytes, delimiter: str) -> frame.Frame:
    source = Source("file", "", body, is_body=True)
    return frame.table(source, ReaderOptions(delimiter=delimiter), [])


BODIES: dict[str, tuple[list[bytes], Callable[[bytes], Any]]] = {
    "json": ([body for _, body in requests()], json_text.decode),
    "csv": (list(TABLES), lambda body: frame_of_body(body, "comma")),
    "tsv": (list(TABLES), lambda body: frame_of_body(body, "tab")),
    "counts": (list(TABLES), lambda body: delimited.plain_counts(body, ",")),
    "lines": (list(LINES), lambda body: json_text.items(body, ("u", "v"), ("gold",))),
    "npy": (arrays(), numpy_files.table_of),
    "gzip": (list(TABLES), lambda body: encodings.decode(body, "gzip", max_bytes=MAX_INFLATED)),
    "zstd": (list(TABLES), lambda body: encodings.decode(body, "zstd", max_bytes=MAX_INFLATED)),
    "magic": (list(TABLES), lambda body: encodings.inflated(body, max_bytes=MAX_INFLATED)),
}


@pytest.mark.parametrize("name", sorted(BODIES))
def test_a_damaged_body_is_read_or_refused(name: str) -> None:
    seeds, reader = BODIES[name]

    @examples(100)
    @given(st.sampled_from(seeds), STEPS)
    def check(seed: bytes, steps: Steps) -> None:
        refused_or_done(lambda: reader(mutated(seed, steps)))

    check()


CALLS = 5_000, 40  # a constant, and so many calls of Python functions for a byte
BYTES = 4_000_000, 400


@examples(60)
@given(st.sampled_from(excerpts()), CHANGES)
def test_work_and_memory_grow_with_the_size_of_the_files_and_no_faster(
    excerpt: Excerpt, changes: Changes
) -> None:
    files = changed(excerpt, changes)
    options = ReaderOptions.of_form(dict(excerpt.options), max_inflated_bytes=MAX_INFLATED)
    size = sum(len(file.content) for file in files.values())
    # An archive or a compressed file may hold more than it weighs, up to the cap.
    if excerpt.format == "inspect" or any(
        file.content[:2] in {b"\x1f\x8b", b"PK"} for file in files.values()
    ):
        size += MAX_INFLATED
    calls = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    tracemalloc.start()
    sys.setprofile(count)
    try:
        refused_or_done(lambda: catalogue.read(files, excerpt.format, options))
    finally:
        sys.setprofile(None)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert calls <= CALLS[0] + CALLS[1] * size
    assert peak <= BYTES[0] + BYTES[1] * size
