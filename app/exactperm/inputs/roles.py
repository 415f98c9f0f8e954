"""Determine the roles of the columns of a frame: keys and runs, clusters and weights, systems, and the remaining scores.

Evidence is used in this order: names (`names`), then values within each system, then values of both systems. Guesses are noted;
ambiguous columns are refused with a question.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import Choice, InvalidTest, choices_of, marked
from ..statistics.item_ids import summary_rows
from ..statistics.names import of_name
from . import names
from .beside import LABELS
from .frame import Frame, Rows, taken_rows
from .names import find, folded, is_cost, is_key, is_one_of, is_predicted
from .number_text import parsed
from .quoting import quoted
from .reader import ReaderOptions, choose

# With this number of rows, equal sets of texts in both files are unlikely to be chance.
CERTAIN_ROWS = 5
# The most columns of a joint key, and the most columns that are tried.
MOST_PARTS, MOST_LOOKED_AT = 3, 8
LEAST_VALUES = 3
MOST_LABELS = 20
# The number of rows at each end of a file in which to look for averages.
END_ROWS = 100
_MARKS = re.compile(r"[\W_]+")
# The number of rows in which to look for decimals.
LOOKED_AT = 100
NO_KEY_OF_RUNS = (
    *names.RUN, *names.DATASET, *names.SYSTEM, *names.PREDICTED, *names.SCORE, *names.FREQUENCY, *names.CLUSTER, *names.WEIGHT,
)  # fmt: skip
NEVER_SCORES = (
    *names.PART_OF_KEY, *names.RUN, *names.DATASET, *names.FREQUENCY, *names.INDEX, *(name for name in names.CONTEXT if name not in names.NO_SYSTEM),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Key:
    """The columns that jointly identify an item; empty if items are identified by position.

    Several rows of one key are runs if the column `run` distinguishes them, else `samples`; or separate items of a cluster, which are
    `numbered`. `chosen`: an option names the columns. `shown`: only a comparison with the other side identified them.
    """

    columns: tuple[str, ...] = ()
    run: str | None = None
    samples: bool = False
    numbered: bool = False
    chosen: bool = False
    shown: bool = False

    @property
    def repeats(self) -> bool:
        """Whether several rows are one item."""
        return self.run is not None or self.samples


@dataclass(frozen=True, slots=True)
class Places:
    """The columns of a frame that describe its rows."""

    key: Key
    cluster: str | None = None
    weight: str | None = None
    slices: str | None = None

    @classmethod
    def of(cls, frame: Frame, options: ReaderOptions) -> Places:
        """All but the key."""
        return cls(Key(), cluster_of(frame, options), weight_of(frame, options), slices_of(frame, options))

    @property
    def beside(self) -> frozenset[str | None]:
        """The columns beside the key."""
        return frozenset((self.cluster, self.weight, self.slices))


class Cells(Sequence[str]):
    """The paths of rows of a system in its file; its values are in `column`."""

    def __init__(self, frame: Frame, rows: Rows, column: str, places: Places) -> None:
        self.frame, self.rows, self.column, self.places = frame, rows, column, places

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, at: Any) -> Any:
        return self.frame.path(int(self.rows[at]))

    def taken(self, places: Sequence[int]) -> Cells:
        """Some of the rows."""
        return Cells(self.frame, self.rows[np.array(places, dtype=np.int64)], self.column, self.places)

    def place(self, at: int, name: str | None = None) -> str:
        """The pointer to a value, or to another column of its row."""
        return self.frame.place(int(self.rows[at]), self.column if name is None else name)


@dataclass(frozen=True, slots=True)
class Side:
    """The rows of one system, or all of a frame if `rows` is None; columns that are `taken` cannot be keys."""

    frame: Frame
    taken: frozenset[str | None] = frozenset()
    rows: Rows | None = None

    def find(self, name: str) -> str | None:
        """The column of this name, if it can be a key."""
        column = self.frame.find((name,))
        return None if column in self.taken else column

    @property
    def n(self) -> int:
        """The number of rows."""
        return self.frame.n if self.rows is None else len(self.rows)

    def keys(self, columns: Sequence[str]) -> Sequence[Hashable] | None:
        """The keys of the rows; None if a value cannot be a key."""
        whole = self.frame.keys_together(columns)
        return whole if whole is None or self.rows is None else taken_rows(whole, self.rows)

    def is_unique(self, columns: Sequence[str]) -> bool:
        """Whether the keys of the rows are distinct; values that cannot be keys are refused by the reader."""
        return self.frame.is_unique(columns, self.rows)


def cluster_of(frame: Frame, options: ReaderOptions) -> str | None:
    """The column of clusters."""
    return frame.chosen("clusters", options.clusters, names.CLUSTER)


def slices_of(frame: Frame, options: ReaderOptions) -> str | None:
    """The column of slices, of which there is none without the option."""
    return None if options.slices is None else frame.chosen("slices", options.slices)


def weight_of(frame: Frame, options: ReaderOptions) -> str | None:
    """The column named weight, unless an option gives it another role."""
    return None if options.names_column(names.WEIGHT[0]) else frame.find(names.WEIGHT)


def beside_of(frame: Frame, options: ReaderOptions) -> frozenset[str]:
    """The columns of labels and of covariates: those that are named, and those of both systems that are named after them."""
    columns_asked = {part for text in asked_beside(options).values() for part in text.split(":")}
    known = {folded(part) for part in columns_asked}
    parts = [_words(part) for part in columns_asked]
    return frozenset(
        name for name in frame.names
        if folded(name) in known or any(part in (_words(name)[: len(part)], _words(name)[-len(part) :]) for part in parts)
    )  # fmt: skip


def asked_beside(options: ReaderOptions) -> dict[str, str]:
    """What the options of labels and covariates name, by the names that a request has for them."""
    if options.label_column:
        return {LABELS: options.label_column}
    listed = [part.strip() for part in (options.covariates or "").split(",") if part.strip()]
    return {part.partition(":")[0]: part for part in listed}


def pair_beside(frame: Frame, option: str, stem_or_pair: str, systems: Sequence[str]) -> tuple[str, str]:
    """The columns of labels, or of a covariate, of both systems of a wide table; raises InvalidTest where they have to be chosen."""
    first, colon, second = stem_or_pair.partition(":")
    if colon:
        return str(frame.chosen(option, first.strip())), str(frame.chosen(option, second.strip()))
    stem = _words(stem_or_pair)
    left = {
        name: [word for word in _words(name) if word not in stem]
        for name in frame.names
        if set(stem) <= set(_words(name))
    }
    system_words = [set(_words(system)) for system in systems]
    columns_of_both = [
        [name for name, rest in left.items() if rest == [side] or (rest and set(rest) <= mine and not set(rest) <= other)]
        for side, mine, other in zip("uv", system_words, system_words[::-1], strict=True)
    ]  # fmt: skip
    if len(left) < 2:
        frame.chosen(option, stem_or_pair if not left else "")
    if [len(names) for names in columns_of_both] != [1, 1]:
        pairs = [":".join(pair) for pair in itertools.permutations(left, 2)]
        why = f"Which columns hold {quoted(stem_or_pair)} of {quoted(systems[0])} and of {quoted(systems[1])} is not clear. "
        raise choose(frame.top, option, "columns, U's first", pairs, why)
    return columns_of_both[0][0], columns_of_both[1][0]


def _words(name: str) -> list[str]:
    return [word for word in _MARKS.split(name.lower()) if word]


def system_of(frame: Frame, options: ReaderOptions) -> str | None:
    """The column that names a row's system; a column `run` of texts counts."""
    column = frame.chosen("system_column", options.system_column, names.SYSTEM)
    if options.system_column is None and column is not None and not _names_systems(frame, column):
        return None
    both = frame.find(("u",)) is not None and frame.find(("v",)) is not None
    run = frame.find(("run",)) if column is None and not both else None
    return run if run is not None and not frame.is_whole(run) else column


def _names_systems(frame: Frame, name: str) -> bool:
    """Whether a column named as one names the system of a row: texts do, and numbers if items have a row for each."""
    if frame.is_text(name) or len(set(map(str, frame.column(name)))) == 1:
        return True
    others = [other for other in frame.names if other != name]
    keys = [
        other for other in others if is_key(other) or is_one_of(other, (*names.PART_OF_KEY, *names.INDEX))
    ]
    repeating = [key for key in keys or others[:MOST_LOOKED_AT] if not frame.is_unique((key,))]
    return not _has_decimals(frame, name) and any(keys or frame.is_unique((key, name)) for key in repeating)


def systems_shown(frame: Frame, key: Sequence[str]) -> list[str]:
    """Columns of texts that may name the systems in a long table: with the key and perhaps the run, or with a column of more values, they distinguish the rows."""
    texts = [name for name in frame.names[:MOST_LOOKED_AT] if frame.is_text(name) and name not in key]
    if key:
        runs = [(), *((run,) for name in names.RUN if (run := frame.find((name,))) is not None)]
        shown = [
            name
            for name in texts
            if any(frame.is_unique((*key, *run, name)) for run in runs if name not in run)
        ]
        return [] if frame.is_unique(key) else shown
    values = {name: len(set(keys)) for name in texts if (keys := frame.keys_known(name)) is not None}
    few = {name: count for name, count in values.items() if 1 < count <= frame.n / LEAST_VALUES}
    return [
        name for name, count in few.items()
        if any(count < more < frame.n and frame.is_unique((other, name)) for other, more in values.items())
    ]  # fmt: skip


def sets_of(frame: Frame, options: ReaderOptions, called: Sequence[str]) -> str | None:
    """The column of data sets with one of these names, unless it is the key of the rows."""
    column = frame.find(called)
    if column is None or options.id_column is not None:
        return column
    keyed = any(is_key(name) or is_one_of(name, names.PART_OF_KEY) for name in frame.names)
    system = system_of(frame, options)
    return column if keyed or not frame.is_unique([column] if system is None else [column, system]) else None


# Keys


def keys_of(sides: Sequence[Side], options: ReaderOptions, notes: list[str]) -> list[Key]:
    """The key of each side; raises InvalidTest if one must be chosen."""
    if options.id_column is not None:
        has = [side.frame.find((options.id_column,)) is not None for side in sides]
        usual = [
            _named([side]) if any(has) and not there else [] for side, there in zip(sides, has, strict=True)
        ]
        chosen = [
            by_side[0][0] if by_side else _chosen(side.frame, options.id_column)
            for side, by_side in zip(sides, usual, strict=True)
        ]
        repeated = _with_repeats(sides, [chosen], options, parts=False)
        return repeated or [Key(columns, chosen=True) for columns in chosen]
    named = _named(sides)
    first = None
    for columns in named:
        if _unique(sides, columns):
            if not _are_of_runs(sides, columns):
                return [Key(each) for each in columns]
            first = first or columns
    if first:  # ids of runs: look for texts that are unique and the same in both files
        for name in _shared(sides) if sides[0].n >= CERTAIN_ROWS else ():
            if all(side.frame.is_text(name) for side in sides) and _are_keys(sides, (name,)):
                return _noted(sides, (name,), notes)
        return [Key(each) for each in first]
    if named:
        return _with_repeats(sides, named, options, parts=True) or [Key(each) for each in named[0]]
    for name in (*names.PART_OF_KEY, *names.RUN, *names.DATASET):
        columns = _everywhere(sides, name)
        if columns and _unique(sides, columns):
            averages = [averages_row(side.frame, each) for side, each in zip(sides, columns, strict=True)]
            if not any(averages):
                return [Key(each) for each in columns]
    by_side = [_named([side]) for side in sides]  # the names differ between the files, or one file has none
    if any(by_side):
        return [Key(each[0][0]) if each else Key() for each in by_side]
    keys = _of_every_run(sides, notes) or _by_index(sides, notes) or _of_clusters(sides, options)
    return keys or _shown(sides, notes)


def _of_clusters(sides: Sequence[Side], options: ReaderOptions) -> list[Key] | None:
    """The keys of samples that swap by cluster: the nth row of a cluster is paired with the nth row of it in the other file."""
    if options.clusters is None or len(sides) == 1:
        return None
    columns = [(str(cluster_of(side.frame, options)),) for side in sides]
    keys = [list(side.keys(each) or ()) for side, each in zip(sides, columns, strict=True)]
    if keys[0] == keys[-1] or any(Counter(key) != Counter(keys[0]) for key in keys):
        return None
    return [Key(each, numbered=True) for each in columns]


def refuse_unknown_key(frames: Sequence[Frame], options: ReaderOptions) -> None:
    """Refuse an `id_column` that no file has, before other questions; raises InvalidTest."""
    name = options.id_column
    if name is not None and all(frame.has_header and frame.find((name,)) is None for frame in frames):
        _chosen(frames[0], name)


def _chosen(frame: Frame, option: str) -> tuple[str, ...]:
    """The columns in `id_column`: one, or several separated by commas."""
    parts = [part.strip() for part in option.split(",")]
    if len(parts) > 1 and frame.find((option,)) is None:
        return tuple(str(frame.chosen("id_column", part)) for part in parts)
    return (str(frame.chosen("id_column", option)),)


def _everywhere(sides: Sequence[Side], name: str) -> list[tuple[str, ...]]:
    """The columns of this name, one of each side; empty if a side has none."""
    each_side = [side.find(name) for side in sides]
    return [] if None in each_side else [(str(each),) for each in each_side]


def _named(sides: Sequence[Side]) -> list[list[tuple[str, ...]]]:
    """The columns with names of keys, in the order of the list."""
    frame = sides[0].frame
    there = set(map(folded, frame.names if frame.has_header else ()))
    others = [name for name in frame.names if is_key(name) and not is_one_of(name, names.KEY)]
    candidates = [_everywhere(sides, name) for name in (*names.KEY, *others) if folded(name) in there]
    return [columns for columns in candidates if columns]


def _unique(sides: Sequence[Side], columns: Sequence[Sequence[str]]) -> bool:
    """Whether the keys of each side are distinct."""
    return all(side.is_unique(each) for side, each in zip(sides, columns, strict=True))


def _same(
    sides: Sequence[Side], columns: Sequence[Sequence[str]], options: ReaderOptions | None = None
) -> bool:
    """Whether the sides have the same keys, or share half of them if missing items are allowed."""
    sets = [set(side.keys(each) or ()) for side, each in zip(sides, columns, strict=True)]
    common = set.intersection(*sets)
    if options is not None and options.on_missing != "error":
        return 2 * len(common) >= min(map(len, sets)) > 0
    return all(values == common for values in sets)


def _are_of_runs(sides: Sequence[Side], columns: Sequence[Sequence[str]]) -> bool:
    """Whether the files share no key, as if a tool assigned new ids in each run."""
    first, *others = (side.keys(each) or () for side, each in zip(sides, columns, strict=True))
    return any(
        len(values) > 0 and values[0] not in first and set(first).isdisjoint(values) for values in others
    )


def _with_repeats(
    sides: Sequence[Side], named: Sequence[list[tuple[str, ...]]], options: ReaderOptions, *, parts: bool
) -> list[Key] | None:
    """The key of sides if no named column is unique by itself; None if repeats are an error."""
    if any(_unique(sides, columns) for columns in named):
        return None
    runs = [name for name in names.RUN if _everywhere(sides, name)]
    sets: list[list[tuple[str, ...]]] = [[() for _ in sides]]
    sets += (
        [columns_of_set for name in names.DATASET if (columns_of_set := _everywhere(sides, name))]
        if parts
        else []
    )
    for columns, run, more in itertools.product(named, runs, sets):
        each_run = _everywhere(sides, run)
        both = [
            (*first_parts, *each, *other)
            for first_parts, each, other in zip(more, columns, each_run, strict=True)
        ]
        if _unique(sides, both):
            return [Key(each[:-1], each[-1]) for each in both]
    for columns in named if parts else ():
        for more in _parts(sides, columns):
            both = [(*more_of, *each) for each, more_of in zip(columns, more, strict=True)]
            if _unique(sides, both) and _same(sides, both, options):
                return [Key(each) for each in both]
    for columns in named:
        counts = [Counter(side.keys(each) or ()) for side, each in zip(sides, columns, strict=True)]
        if all(
            len(counted) > 1 and 2 * sum(n > 1 for n in counted.values()) > len(counted) for counted in counts
        ):
            return [Key(each, samples=True) for each in columns]
    return None


def _of_every_run(sides: Sequence[Side], notes: list[str]) -> list[Key] | None:
    """The key of sides with a column of runs, and another column with each value once per run; None if there is none.

    The other column may have the name of a key or an index. Any other column must have all of its values in each run, and is asked
    about if these are numbers; raises InvalidTest.
    """
    runs = [(run, columns) for run in names.RUN if (columns := _everywhere(sides, run))]
    left = [name for name in sides[0].frame.names if sides[0].frame.has_header and runs]
    known = [name for name in left if is_one_of(name, (*names.PART_OF_KEY, *names.INDEX))]
    others = [name for name in left if name not in known and not is_one_of(name, NO_KEY_OF_RUNS)]
    others.sort(key=lambda name: not sides[0].frame.is_text(name))
    for name, (run, of_run) in itertools.product((*known, *others), runs):
        columns = _everywhere(sides, name)
        if not columns or columns == of_run or _unique(sides, columns):
            continue
        both = [(*each, *run_columns) for each, run_columns in zip(columns, of_run, strict=True)]
        if None in [side.keys(each) for side, each in zip(sides, both, strict=True)] or not _unique(
            sides, both
        ):
            continue
        if name not in known:
            if not all(map(_is_crossed, sides, columns, of_run)) or not _same(sides, columns):
                continue
            if not all(side.frame.is_text(name) for side in sides):
                shows, because = f"has the same values in each {run}", "rows may be runs of one item"
                raise _ask(sides, (name,), shows, because, " if they are, or remove the column")
            notes.append(f"{quoted(name)} holds the keys: each once in every {run}.")
        return [Key(each[:1], each[1]) for each in both]
    return None


def _is_crossed(side: Side, column: tuple[str, ...], run: tuple[str, ...]) -> bool:
    """Whether every run has every value of a column with three or more."""
    values, runs = (len(set(side.keys(each) or ())) for each in (column, run))
    return values >= LEAST_VALUES and runs > 1 and values * runs == side.n


def _parts(sides: Sequence[Side], key: Sequence[tuple[str, ...]]) -> Iterator[list[tuple[str, ...]]]:
    """Columns that may complete a key that repeats: data sets first, then other keys, then texts."""
    frame = sides[0].frame
    order = [name for name in (*names.DATASET, *names.PART_OF_KEY) if _everywhere(sides, name)]
    known = {folded(name) for name in order}
    for name in frame.names:
        is_part = (
            len(sides) > 1 and frame.is_text(name) and not is_one_of(name, (*names.PREDICTED, *names.SYSTEM))
        )
        usual = is_key(name) or is_part
        if folded(name) not in known and usual and name not in key[0] and _everywhere(sides, name):
            order.append(name)
    for some in _combinations(order):
        columns = [_everywhere(sides, name) for name in some]
        yield [tuple(each[at][0] for each in columns) for at in range(len(sides))]


def _by_index(sides: Sequence[Side], notes: list[str]) -> list[Key] | None:
    """The keys if columns are an index that does not count the rows; raises InvalidTest if they repeat and differ."""
    frames = [side.frame for side in sides]
    index = [_index_of(frame) for frame in frames]
    if None in index:
        return None
    columns = [(str(name),) for name in index]
    if any(side.rows is not None for side in sides):  # in a long table
        return [Key(each) for each in columns] if _unique(sides, columns) and _same(sides, columns) else None
    keys = [side.keys(each) for side, each in zip(sides, columns, strict=True)]
    unique = _unique(sides, columns) and all("" not in (keys_of_side or ("",)) for keys_of_side in keys)
    if unique and not all(frame.counts_rows(str(name)) for frame, name in zip(frames, index, strict=True)):
        for frame, name in zip(frames, index, strict=True):
            what = "first column" if name == frame.index else "column" if frame.is_table else "field"
            called = quoted(name) if name else "which has no name"
            notes.append(f"{frame.source.label}: the ids of the items are its {what}, {called}.")
        return [Key(each) for each in columns]
    same = all(keys_of_side == keys[0] for keys_of_side in keys)
    if not unique and not same and None not in [frame.index for frame in frames]:
        detail = "The first columns, which are not named as ids, repeat and differ: give a column id with the same items in both files."
        raise InvalidTest.at(frames[-1].at_top(str(index[-1])), "choose_id_column", detail)
    return None


def _index_of(frame: Frame) -> str | None:
    """The column that is an index: the first if it has such a name, or another with such a name and without scores."""
    other = frame.index or frame.find(names.INDEX)
    return (
        frame.index if frame.index is not None or other is None or not _is_no_score(frame, other) else other
    )


def _shown(sides: Sequence[Side], notes: list[str]) -> list[Key]:
    """The keys by comparing columns without names of keys between the sides; raises InvalidTest if they are uncertain."""
    by_position = [Key() for _ in sides]
    if len(sides) == 1:
        return by_position
    shared = list(_shared(sides))
    texts = [name for name in shared if all(side.frame.is_text(name) for side in sides)]
    values = {name: [side.keys((name,)) or [] for side in sides] for name in shared}
    moved = [
        name
        for name, columns_of_side in values.items()
        if any(column != columns_of_side[0] for column in columns_of_side)
    ]
    unique = [name for name in shared if _unique(sides, [(name,)] * len(sides))]
    in_order = any(name not in moved and not sides[0].frame.counts_rows(name) for name in unique)
    if (not moved or in_order) and all(side.rows is None for side in sides):
        return by_position
    for some in [(name,) for name in moved if name in texts] + [tuple(texts)][: len(texts) > 1]:
        if _are_keys(sides, some):
            if sides[0].n < CERTAIN_ROWS:
                raise _ask(sides, some, "has the same values in u and in v, in another order")
            return _noted(sides, some, notes)
    for name in moved:
        if name in unique and _overlap(values[name]):
            raise _ask(sides, (name,), "has the same values in u and in v, in another order")
    counts = {name: [*map(Counter, values[name])] for name in moved}
    shuffled = [
        name for name, (first, *others) in counts.items()
        if len(first) >= LEAST_VALUES and all(column == first for column in others)
    ]  # fmt: skip
    if shuffled:
        whole = next((some for some in _combinations(shared) if _are_keys(sides, some)), None)
        raise _ask(sides, whole or (shuffled[0],), "has the same values in both files, in another order")
    return by_position


def _are_keys(sides: Sequence[Side], shared: tuple[str, ...]) -> bool:
    """Whether columns of the same names have distinct keys, which are the same on all sides."""
    columns = [shared for _ in sides]
    return _unique(sides, columns) and _same(sides, columns)


def _noted(sides: Sequence[Side], columns: tuple[str, ...], notes: list[str]) -> list[Key]:
    hold = "holds" if len(columns) == 1 else "together hold"
    listed = ", ".join(map(quoted, columns))
    notes.append(f"{listed} {hold} the keys: each once, the same {sides[0].n:,} in both files.")
    return [Key(columns, shown=True) for _ in sides]


def _combinations(shared: Sequence[str]) -> Iterator[tuple[str, ...]]:
    for size in range(1, MOST_PARTS + 1):
        yield from itertools.combinations(shared[:MOST_LOOKED_AT], size)


def _shared(sides: Sequence[Side]) -> Iterator[str]:
    """Yield the columns that all sides have under one name in all rows, and that may hold keys."""
    for name in sides[0].frame.names if sides[0].frame.has_header else ():
        if (
            is_one_of(name, (*names.PREDICTED, *names.SCORE, *names.FREQUENCY))
            or name == sides[0].frame.index
        ):
            continue
        free = all(name in side.frame.common and name not in side.taken for side in sides)
        if free and all(side.frame.keys_known(name) is not None for side in sides):
            yield name


def _overlap(columns: Sequence[Sequence[Hashable]]) -> bool:
    """Whether most values are on both sides, in different orders."""
    first, *_, second = columns
    row = {value: at for at, value in enumerate(first)}
    shared = [(row[value], at) for at, value in enumerate(second) if value in row]
    return 2 * len(shared) > min(len(first), len(second)) and any(one != other for one, other in shared)


def _ask(
    sides: Sequence[Side], columns: Sequence[str], shows: str, because: str = "pairing by order would pair different items",
    rest: str = ", or remove the column",
) -> InvalidTest:  # fmt: skip
    """The question which column holds the keys, with the reason."""
    name, listed = ",".join(columns), " and ".join(map(quoted, columns))
    verb = shows if len(columns) == 1 else shows.replace("has", "have", 1)
    detail = f"No column is known to hold ids, but {listed} {verb}: {because}. "
    detail += f"Give {marked('id_column', name)}{rest}."
    choices = choices_of("id_column", {name: f"{name[:40]} holds the ids"})
    return InvalidTest.at(sides[-1].frame.top, "choose_id_column", detail, choices)


def averages_row(frame: Frame, columns: Iterable[str]) -> tuple[int, str] | None:
    """The last row of averages or totals at an end, and its column, if the names of such rows occur nowhere else in it."""
    ends = [*range(min(frame.n, END_ROWS)), *range(max(frame.n - END_ROWS, END_ROWS), frame.n)]
    suspects = {
        name: [ends[row] for row in rows]
        for name in columns
        if (rows := summary_rows([frame.cell(row, name) for row in ends]))
    }
    times = frame.times(suspects.keys())
    for name, rows in suspects.items():
        if all(times[name, frame.cell(row, name)] == 1 for row in rows):
            return rows[-1], name
    return None


def note_index(frame: Frame, key: Key, notes: list[str]) -> None:
    """Note that the index of a table was left out, if it is not a key."""
    index = frame.index
    if index is None or index in key.columns:
        return
    counted = "which counts the rows" if frame.counts_rows(index) else "which repeats"
    what = ", an index," if key.columns else f", {counted},"
    notes.append(f"{frame.source.label}: the first column{what} was left out.")


# Scores


def others_of(frame: Frame, options: ReaderOptions, key: Sequence[str] = (), *, least: int = 1) -> list[str]:
    """The columns that may hold scores, by names and values: those without another role; at least `least` are needed."""
    named = {
        *key, cluster_of(frame, options), slices_of(frame, options), weight_of(frame, options), system_of(frame, options), frame.index, *beside_of(frame, options),
    }  # fmt: skip
    if options.id_column is not None:
        with suppress(InvalidTest):  # only the other file has it; `keys_of` refuses it if neither does
            named |= set(_chosen(frame, options.id_column))
    left = [name for name in frame.names if name not in named]
    others = [name for name in left if not _is_no_score(frame, name)]
    others = others or [name for name in left if not is_key(name)]
    filled = [name for name in others if not frame.is_empty(name)]
    return filled if len(filled) >= least else others


def _is_no_score(frame: Frame, name: str) -> bool:
    """Whether a name excludes scores, and the column has no decimals to the contrary."""
    if not frame.has_header or not (is_key(name) or is_one_of(name, NEVER_SCORES)):
        return False
    if is_one_of(name, names.CONTEXT) and frame.is_text(name):
        return False  # reported like other texts
    return not _has_decimals(frame, name)


def _has_decimals(frame: Frame, name: str) -> bool:
    cells = (frame.cell(row, name) for row in range(min(frame.n, LOOKED_AT)))
    numbers = (parsed(cell.strip()) if isinstance(cell, str) else cell for cell in cells)
    return any(isinstance(number, float) and not number.is_integer() for number in numbers)


def score_of(frame: Frame, options: ReaderOptions) -> str:
    """The column of scores: the chosen one, by its name, or the only other one of numbers; raises InvalidTest."""
    wanted = options.score_column or options.metric
    option = "score_column" if frame.is_table else "metric"
    if wanted is not None:
        return str(frame.chosen("score_column", wanted))
    if not frame.has_header:
        if len(frame.names) != 1:
            detail = (
                "without a header each of the two files has one column of scores; give a header id,score."
            )
            raise frame.refused(0, "", "wrong_field_count", detail)
        return frame.names[0]
    rest = others_of(frame, options)
    named = [name for name in rest if is_one_of(name, names.SCORE) and not frame.is_text(name)]
    if frame.is_table and "score" in map(folded, rest):
        return next(name for name in rest if folded(name) == "score")
    numbers = [name for name in rest if not frame.is_text(name)]
    # A single row may be averages, which are refused.
    is_named = bool(named) and frame.n > 1 and "score" not in map(folded, named)
    rivals = [name for name in numbers if is_named and of_name(name) is not None and not is_cost(name)]
    named = [name for name in rest if name in named or name in rivals]
    if len(named) == 1:
        return named[0]
    if len(rest) > 1:
        rest = numbers or rest
    labels = _labels_of(frame)
    if len(rest) == 1 and (labels is None or of_name(rest[0]) is not None):
        return rest[0]
    what = "column of scores" if frame.is_table else "field of scores"
    hint = ""
    if frame.is_table and options.id_column is None:
        # A single column of distinct texts is likely to hold the ids.
        left = [name for name in others_of(frame, options) if frame.is_text(name)]
        likely = [name for name in left if len(set(frame.column(name))) == frame.n]
        hint = "Name the column of ids (`id_column`) if there is one. "
        if len(likely) == 1:
            hint = f"If {quoted(likely[0])} is the column of ids, give {marked('id_column', likely[0])}. "
    first: tuple[Choice, ...] = ()
    if labels is not None:
        gold, name = labels
        fields = {"format": "labels", "gold_column": gold, "score_column": name}
        first = (Choice(f"Labels in {name[:30]}, and gold in {gold[:30]}", fields),)
        hint = f"{quoted(name)} may hold labels, to be compared with {quoted(gold)}: {marked('format', 'labels')}. {hint}"
    raise choose(frame.top, option, what, named or rest or list(frame.names), hint, first=first)


def _labels_of(frame: Frame) -> tuple[str, str] | None:
    """A column of few texts with a name of gold, and one with a name of predictions and some of these texts."""
    texts = [name for name in frame.names if frame.is_text(name)] if not frame.source.is_body else []
    gold = find(texts, names.NO_SYSTEM)
    labels = set() if gold is None else {str(value) for value in frame.column(gold)}
    for name in texts if 1 < len(labels) <= MOST_LABELS else ():
        if name != gold and is_predicted(name) and not labels.isdisjoint(map(str, frame.column(name))):
            return str(gold), name
    return None
