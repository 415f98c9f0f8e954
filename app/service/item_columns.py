"""What items have beside labels: scores, weights, groups, and which times are events."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import Flaw, InvalidTest, relocated
from ..inputs import columns
from ..inputs.alignment import Items, coded
from ..statistics.paired import Predictions, StatisticSpec, Weights
from ..statistics.pairwise.gold import PAIRWISE
from ..statistics.weights import weights_of

_NAMED = 5


def typed(data: Predictions, spec: StatisticSpec) -> Predictions:
    """The same outputs as numbers where the statistic compares scores, and as labels elsewhere.

    Raises InvalidTest with pointers such as `/u/17`, and at `/groups` and `/event` where the statistic takes none.
    """
    require_taken(spec, data.groups, data.event)
    if spec.name not in PAIRWISE:
        for pointer, values in (("/gold", data.gold), ("/u", data.u), ("/v", data.v)):
            _at(pointer, columns.labels, values)
        return data
    return replace(
        data,
        gold=gold_column(data.gold, spec, "/gold"),
        u=score_column(data.u, "/u"),
        v=score_column(data.v, "/v"),
    )


def require_taken(spec: StatisticSpec, groups: object, event: object) -> None:
    """Refuse groups and events where the statistic takes none; raises InvalidTest."""
    if groups is not None and spec.name not in PAIRWISE:
        names = ", ".join(sorted(PAIRWISE))
        detail = f"groups goes with statistics of pairs ({names}); {spec.name} has none: leave groups out."
        raise InvalidTest.at("/groups", "superfluous", detail)
    if event is not None and spec.name != "concordance":
        detail = f"event goes with concordance; {spec.name} has no censored items: leave event out."
        raise InvalidTest.at("/event", "superfluous", detail)


def gold_column(values: Any, spec: StatisticSpec, pointer: str) -> Any:
    """Gold of a statistic of pairs: labels of auc, else numbers."""
    if spec.name == "auc" and float not in set(map(type, values)):
        return values
    return score_column(values, pointer)


def score_column(values: Any, pointer: str) -> Any:
    """One number per item, shape (n,); raises InvalidTest at `<pointer>/<item>`."""
    if isinstance(values, np.ndarray):
        return values
    return _at(pointer, columns.numbers, values)


def labels_of(values: Any, pointer: str) -> Any:
    """The labels that a statistic of labels takes; raises InvalidTest at `<pointer>/<item>`."""
    return _at(pointer, columns.labels, values)


def _at(pointer: str, check: Callable[[Any], Any], values: Any) -> Any:
    if isinstance(values, np.ndarray):
        values = values.tolist()
    try:
        return check(values)
    except InvalidTest as error:
        flaws = (Flaw(f"{pointer}{flaw.pointer}", flaw.code, flaw.detail) for flaw in error.flaws)
        raise InvalidTest(error.detail, flaws=tuple(flaws)) from None


def weights_for(given: Any, items: Items) -> Weights | None:
    """What each item counts for, from a list or an object keyed by id; None where there is nothing.

    Raises InvalidTest, with pointers such as `/weights/17` and `/weights/q17`.
    """
    if given is None:
        return None
    values, place = items.of(given, "weights", "weight")
    with relocated(lambda pointer: place(int(pointer[1:])) if pointer else "/weights"):
        return weights_of(values)


def groups_for(given: Any, items: Items) -> NDArray[np.int64] | None:
    """The group of each item as codes, from a list or an object keyed by id; raises InvalidTest at `/groups`."""
    return None if given is None else coded(items.of(given, "groups", "group")[0])[0]


def events_for(given: Any, items: Items) -> NDArray[np.bool_] | None:
    """Which items had their event; raises InvalidTest, with pointers such as `/event/17` and `/event/q17`."""
    if given is None:
        return None
    values, place = items.of(given, "event", "event")
    flaws = []
    for index, value in enumerate(values.tolist() if isinstance(values, np.ndarray) else values):
        if type(value) not in {int, bool} or value not in (0, 1):
            detail = "An event is 1 or true, and a censored item 0 or false."
            flaws.append(Flaw(place(index), "not_an_event", detail))
            if len(flaws) == _NAMED:
                break
    if flaws:
        raise InvalidTest(flaws[0].detail, flaws=tuple(flaws))
    return np.array(values, dtype=bool)
