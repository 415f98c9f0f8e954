"""The identity of a comparison: equal for equal data and settings, however they were sent and in whatever order."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace

from ...statistics.systems import Systems
from ..digest import canonical, options_by_name
from .comparison import Comparison


def comparison_digest(comparison: Comparison, algorithm: str) -> str:
    """SHA-256, in hex, of the canonical request under one version of the algorithm.

    Systems and data sets are in the order of their names already, items in that of their ids (`sorted_by_id`).
    Columns enter by value, ids not at all: they only pair.
    """
    # A pair's own names are no part of a comparison.
    options = replace(comparison.options, name_u="", name_v="")
    settings = {
        "compare": [comparison.design, comparison.baseline, [list(pair) for pair in comparison.pairs]],
        "adjust": [comparison.adjust, comparison.family],
        "overall": [comparison.aggregate, comparison.combine],
        "listed": comparison.listed,
        "spec": [comparison.spec.name, dict(comparison.spec.parameters)],
        "options": options_by_name(options),
        "algorithm": algorithm,
        "datasets": [[name, systems.kind, list(systems.names)] for name, systems in _by_name(comparison)],
    }
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True, default=str).encode())
    for _, systems in _by_name(comparison):
        _add(digest, systems)
    return digest.hexdigest()


def _by_name(comparison: Comparison) -> list[tuple[str | None, Systems]]:
    return sorted(comparison.datasets.items(), key=lambda each: each[0] or "")


def _add(digest: hashlib._Hash, systems: Systems) -> None:
    """The data of one data set; what follows a name is delimited by its own length, or by JSON."""
    for name, column in systems.columns.items():
        digest.update(json.dumps(["system", name]).encode())
        for part in (column, systems.present.get(name)):
            digest.update(b"|")
            for chunk in canonical(part):
                digest.update(chunk)
    beside: list[tuple[str, object]] = [("gold", systems.gold), ("clusters", systems.pairing.clusters)]
    # Ids are as old as comparisons without them.
    later = (("weights", systems.weights), ("groups", systems.groups), ("event", systems.event))
    beside += [(role, value) for role, value in later if value is not None]
    for role, value in beside:
        digest.update(f"|{role}:".encode())
        for chunk in canonical(value):
            digest.update(chunk)
