"""Which fields of JSON records hold the id, the cluster, the system and the scores."""

from __future__ import annotations

from ..names import CLUSTER, ID, SCORE, SYSTEM_OR_RUN, WEIGHT, find, is_one_of
from .json_records import Records
from .reader import ReaderOptions, choose
from .roles import Systems, by_names, two_systems


def id_field(file: Records, options: ReaderOptions) -> str | None:
    """The field of ids, if there is one."""
    return _field(file, options.id_column, ID)


def cluster_field(file: Records, options: ReaderOptions) -> str | None:
    """The field of clusters, if there is one."""
    return _field(file, options.clusters, CLUSTER)


def weight_field(file: Records, options: ReaderOptions) -> str | None:
    """The field of weights, if there is one: called weight, and not chosen as anything else."""
    return None if options.names_column(WEIGHT[0]) else _field(file, None, WEIGHT)


def system_field(file: Records, options: ReaderOptions) -> str | None:
    """The field that names a record's system, if there is one."""
    return _field(file, options.system_column, SYSTEM_OR_RUN)


def score_field(file: Records, options: ReaderOptions, system: str | None = None) -> str:
    """The field of scores: as chosen, by its name, or the only one that is not a key; raises InvalidTest."""
    chosen = options.score_column or options.metric
    if chosen is not None:
        return _field(file, chosen, ()) or chosen
    named = [name for name in file.first if is_one_of(name, SCORE)]
    if len(named) == 1:
        return named[0]
    others = other_fields(file, options, system)
    if len(others) == 1:
        return others[0]
    raise choose(file.pointer, "metric", "field of scores", named or list(file.first))


def system_score_fields(file: Records, options: ReaderOptions, notes: list[str]) -> Systems:
    """The fields with the scores of the two systems: as chosen, u and v, or by names that tell the candidate.

    Next to texts and the like, two fields of numbers need such names: one of them may be a length, or a latency.
    Raises InvalidTest when they must be chosen.
    """
    others = other_fields(file, options)
    numeric = [name for name in others if isinstance(file.first.get(name), int | float | list | None)]
    chosen = (options.system_u, options.system_v) != (None, None)
    if {"u", "v"} <= {name.lower() for name in others}:
        return two_systems(others, options, file.source, notes)
    if chosen and len(others) != 2:
        for role, name in (("u", options.system_u), ("v", options.system_v)):
            if name is None or name.lower() not in {other.lower() for other in others}:
                given = {options.system_u, options.system_v}
                left = [each for each in file.first if each not in given]
                raise choose(file.pointer, f"system_{role}", f"field of {role}", left)
        return two_systems(others, options, file.source, notes)
    if not chosen:
        certain = len(numeric) > 1 and by_names(numeric) is not None
        only_two = len(numeric) == len(others) == 2 and not _are_counts(numeric)
        if not (certain or only_two):
            raise choose(file.pointer, "system_u", "field of u", list(file.first))
    return two_systems(others if chosen else numeric, options, file.source, notes)


def _are_counts(fields: list[str]) -> bool:
    """Whether these are named like a table's counts (tp_u, tp_v): then not their order but their names say the system."""
    return all(name.lower().endswith(("_u", "_v")) for name in fields)


def _field(file: Records, chosen: str | None, usual: tuple[str, ...]) -> str | None:
    """The field called `chosen`, or else the first of these names; case does not matter, as in a table.

    A field counts even if only some records have it: the others are then refused, and the field is not overlooked.
    """
    folded = {name.lower(): name for name in reversed(file.fields)}
    if chosen is not None:
        return chosen if chosen in file.fields else folded.get(chosen.lower(), chosen)
    return find(file.fields, usual)


def other_fields(file: Records, options: ReaderOptions, system: str | None = None) -> list[str]:
    """The fields that are neither id, cluster, weight nor system."""
    keys = {id_field(file, options), cluster_field(file, options), weight_field(file, options), system}
    return [name for name in file.fields if name not in keys]
