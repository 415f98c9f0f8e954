"""What items have beside labels: scores, weights, groups, and which times are events."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import Flaw, InvalidTest, relocated
from ..inputs import columns
from ..inputs.alignment import GOLD, Items, coded
from ..statistics.paired import Predictions, StatisticSpec, Weights
from ..statistics.pairwise.gold import PAIRWISE
from ..statistics.weights import weights_of

_NAMED = 5


def typed(data: Predictions, spec: StatisticSpec) -> Predictions:
    """The same outputs as numbers where the statistic compares scores, and as labels elsewhere.

    Raises InvalidTest with pointers such as `/u/17`, and at `/groups` and `/event` where the statistic takes none.
    """
    require_taken(spec, data.groups, data.event)
    typed = outputs_of({GOLD: data.gold, "/u": data.u, "/v": data.v}, spec)
    return replace(data, gold=typed[GOLD], u=typed["/u"], v=typed["/v"]) if spec.name in PAIRWISE else data


def outputs_of(given: Mapping[str, Any], spec: StatisticSpec) -> dict[str, Any]:
    """Outputs and gold by pointer: a number of each item where the statistic compares scores, else labels; gold of auc may be either.

    Raises InvalidTest at `<pointer>/<item>`.
    """
    in_pairs, outputs = spec.name in PAIRWISE, dict(given)
    check: Callable[[Any], Any] = columns.numbers if in_pairs else columns.labels
    for pointer, values in given.items():
        are_labels = pointer == GOLD and spec.name == "auc" and float not in set(map(type, values))
        if in_pairs and (are_labels or isinstance(values, np.ndarray)):
            continue
        with relocated(partial(operator.add, pointer)):
            outputs[pointer] = check(values.tolist() if isinstance(values, np.ndarray) else values)
    return outputs


def require_taken(spec: StatisticSpec, groups: object, event: object) -> None:
    """Refuse groups and events where the statistic takes none; raises InvalidTest."""
    if groups is not None and spec.name not in PAIRWISE:
        names = ", ".join(sorted(PAIRWISE))
        detail = f"groups goes with statistics of pairs ({names}); {spec.name} has none: leave groups out."
        raise InvalidTest.at("/groups", "superfluous", detail)
    if event is not None and spec.name != "concordance":
        detail = f"event goes with concordance; {spec.name} has no censored items: leave event out."
        raise InvalidTest.at("/event", "superfluous", detail)


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
