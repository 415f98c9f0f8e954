"""NumPy's files: `.npy` with one score per item, and `.npz` with ids as well. Nothing is ever unpickled.

Two files have an array of N scores each; one file has N x 2 scores (u, v) or N x 4 counts (tp_u, incorrect_u, tp_v, incorrect_v).
An archive `.npz` has arrays by name: `u` and `v`, or in a file of one system `scores` (or its only other array), beside `ids` and
`clusters`.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...errors import BodyTooLarge, Flaw, InputError, InvalidTest, MalformedBody
from ...statistics.paired import Counts, Pairing, Scores, StatisticSpec
from .. import npy
from ..delimited import CountTable
from ..quoting import escaped, quoted
from .format import FirstLook, Format, Sign
from .number_text import NumberReader
from .outputs_by_id import MEAN, SystemOutputs, scores_reading
from .reader import ReaderOptions, Reading
from .roles import both
from .source import DAMAGED, READABLE, ZIP_MAGIC, Source

ROLES = ("u", "v", "file")
USES = frozenset(("on_missing", "missing_range", "decimals", "clusters"))
MAGIC = b"\x93NUMPY"
SUFFIX = ".npy"
IDS, CLUSTERS = ("ids", "id"), ("clusters", "cluster")
SCORES = ("scores", "score", "values")
MAX_MEMBERS = 100
F1 = StatisticSpec("f1")


@dataclass(frozen=True, slots=True)
class Arrays:
    """The arrays of a file by name; that of a .npy has none."""

    source: Source
    members: dict[str, bytes]

    def find(self, names: tuple[str, ...]) -> str | None:
        """The first of these names that there is."""
        return next((name for name in names if name in self.members), None)


def read(files: Mapping[str, Source], options: ReaderOptions, format_: str) -> Reading:
    """Scores of two systems, or counts in one array of four columns."""
    notes: list[str] = []
    first, second = both(files, format_)
    arrays = [_arrays(source, options.max_inflated_bytes) for source in (first, second)]
    if first is second:
        if "" in arrays[0].members:
            return _table(arrays[0], options, notes, format_)
        names = ["u", "v"]
        for name in names:
            if name not in arrays[0].members:
                detail = f"{first.label}: there is no array {name}; a file of both systems has u and v, and may have ids and clusters."
                raise InvalidTest.at(first.at(name), "missing_field", detail)
    else:
        names = [_scores(own) for own in arrays]
    reader = NumberReader.of(options)
    u, v = (_outputs(own, name, reader, options) for own, name in zip(arrays, names, strict=True))
    clustered = any(cluster is not None for side in (u, v) for cluster in side.clusters)
    return scores_reading(u, v, options, notes, format_, clustered=clustered)


def _arrays(source: Source, max_bytes: int) -> Arrays:
    if not source.content.startswith(ZIP_MAGIC):
        return Arrays(source, {"": source.content})
    try:
        archive = zipfile.ZipFile(io.BytesIO(source.content))
    except DAMAGED:
        raise source.malformed(1, "not_a_zip", "the .npz archive is damaged or truncated.") from None
    members: dict[str, bytes] = {}
    with archive:
        infos = [info for info in archive.infolist() if info.filename.endswith(SUFFIX)]
        if len(infos) > MAX_MEMBERS:
            raise BodyTooLarge(f"{source.label}: the archive has more than {MAX_MEMBERS:,} arrays.")
        left = max_bytes
        for info in infos:
            name = info.filename.removesuffix(SUFFIX)
            if name in members:
                raise InvalidTest.at(
                    source.at(name), "duplicate_key", f"{source.label}: two arrays are called {quoted(name)}."
                )
            members[name] = _member(source, archive, info, left)
            left -= len(members[name])
    if not members:
        raise InvalidTest.at(source.pointer, "no_items", f"{source.label}: the archive has no arrays (.npy).")
    return Arrays(source, members)


def _member(source: Source, archive: zipfile.ZipFile, info: zipfile.ZipInfo, left: int) -> bytes:
    name = info.filename
    if info.compress_type not in READABLE:
        detail = f"{source.label}: {name[:80]} is compressed by method {info.compress_type}: numpy.savez writes archives that are read."
        raise InvalidTest.at(source.at(name), "unsupported_compression", detail)
    if info.file_size > left:
        detail = f"{source.label}: unpacked, the arrays are larger than allowed."
        raise BodyTooLarge(detail, flaws=(Flaw(source.at(name), "file_too_large", detail),))
    try:
        with archive.open(info) as member:
            return member.read(info.file_size + 1)  # without a size it would inflate all before it counts
    except DAMAGED:
        detail = f"{source.label}: the array {name[:80]} is damaged."
        raise MalformedBody(detail, flaws=(Flaw(source.at(name), "not_a_zip", detail),)) from None


def _scores(arrays: Arrays) -> str:
    """The array of scores of one system's file."""
    named = arrays.find(("", *SCORES))
    others = [name for name in arrays.members if name not in (*IDS, *CLUSTERS)]
    if named is None and len(others) != 1:
        detail = f"{arrays.source.label}: call the array of scores scores; there are: {', '.join(map(quoted, list(arrays.members)[:5]))}."
        raise InvalidTest.at(arrays.source.pointer, "missing_field", detail)
    return others[0] if named is None else named


def _outputs(arrays: Arrays, name: str, reader: NumberReader, options: ReaderOptions) -> SystemOutputs:
    source = arrays.source
    values = _vector(arrays, name, options.max_items)
    path = f"{escaped(name)}/" if name else ""
    numbers = [reader.of_json(value, f"{source.pointer}/{path}{row}") for row, value in enumerate(values)]
    ids_in, clusters_in = arrays.find(IDS), options.clusters or arrays.find(CLUSTERS)
    if clusters_in is not None and clusters_in not in arrays.members:
        raise InvalidTest.at(
            "/options/clusters", "unknown_column", f"{source.label}: there is no array {quoted(clusters_in)}."
        )
    ids = None if ids_in is None else _keys(arrays, ids_in, len(values))
    clusters = None if clusters_in is None else _keys(arrays, clusters_in, len(values))
    outputs = SystemOutputs(source, by_order=ids is None)
    for row, number in enumerate(numbers):
        key = str(row) if ids is None else ids[row]
        outputs.add(key, number, f"{path}{row}", None if clusters is None else clusters[row])
    return outputs


def _refuse_longer(arrays: Arrays, name: str, most: int) -> None:
    """Refuse an array with more items than a test may have, by its header."""
    with InFile(arrays.source, name):
        length = npy.length(arrays.members[name])
    arrays.source.refuse_more(length, most)


def _vector(arrays: Arrays, name: str, most: int) -> list[Any]:
    """The scores as Python numbers; NaN is missing."""
    _refuse_longer(arrays, name, most)
    with InFile(arrays.source, name):
        column = npy.read_vector(arrays.members[name])
    return [None if isinstance(value, float) and np.isnan(value) else value for value in column.tolist()]


def _keys(arrays: Arrays, name: str, n: int) -> list[str]:
    with InFile(arrays.source, name):
        keys = npy.read_keys(arrays.members[name])
    if len(keys) != n:
        detail = f"{arrays.source.label}: {quoted(name)} has {len(keys):,} elements for {n:,} scores."
        raise InvalidTest.at(arrays.source.at(name), "length_mismatch", detail)
    return keys


class InFile:
    """Errors of an array with the label of its file, and pointers into it."""

    def __init__(self, source: Source, name: str) -> None:
        self.source, self.prefix = source, source.at(name) if name else source.pointer

    def __enter__(self) -> None:
        """Nothing is prepared."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Say where it is."""
        if isinstance(error, InputError):
            flaws = tuple(replace(flaw, pointer=self.prefix + flaw.pointer) for flaw in error.flaws)
            detail = f"{self.source.label}: {error.detail}"
            raise type(error)(detail, flaws=flaws or (Flaw(self.prefix, "not_npy", detail),)) from None


def _table(arrays: Arrays, options: ReaderOptions, notes: list[str], format_: str) -> Reading:
    """One array with a column for each system, or four of counts."""
    source = arrays.source
    if options.given() - {"statistic", "decimals"}:
        detail = f"{source.label}: an array of both systems has neither ids, clusters nor missing scores; give .npz, or leave the option out."
        raise InvalidTest.at(
            f"/options/{min(options.given() - {'statistic', 'decimals'})}", "unused_option", detail
        )
    _refuse_longer(arrays, "", options.max_items)
    with InFile(source, ""):
        table = npy.read(arrays.members[""])
    if isinstance(table, CountTable):
        n = len(next(iter(table.u.values())))
        notes.append(f"{n:,} items read from {source.label}: columns tp_u, incorrect_u, tp_v, incorrect_v.")
        return Reading("counts", Counts(table.u, table.v, Pairing()), F1, tuple(notes), format_)
    reader = NumberReader.of(options)
    u, v = (
        np.array(
            [
                reader.of_json(value, f"{source.pointer}/{row}/{column}")
                for row, value in enumerate(side.tolist())
            ]
        )
        if options.decimals is not None
        else side
        for column, side in enumerate((table.u, table.v))
    )
    notes += [f"{len(u):,} items read from {source.label}: columns u and v.", *reader.note()]
    return Reading("scores", Scores(u, v, Pairing()), MEAN, tuple(notes), format_)


def _sign(look: FirstLook) -> Sign:
    content = look.source.content
    if content.startswith(MAGIC):
        return Sign.MARK
    length = int.from_bytes(content[26:28], "little")
    first = content[30 : 30 + length]
    return Sign.MARK if look.is_archive and first.endswith(SUFFIX.encode()) else Sign.NONE


FORMAT = Format(
    "npy", read, ROLES, USES, "NumPy's .npy and .npz: one score per item", kinds=("scores", "counts"), aliases=("npz", "numpy"),
    sign=_sign,
)  # fmt: skip
