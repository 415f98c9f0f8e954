"""The columns of items, checked for a statistic: outputs and gold, weights, groups, and which times are events."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import Flaw, InvalidTest, relocated
from ..inputs import columns
from ..inputs.alignment import GOLD, Items, coded
from ..inputs.columns import NAMES
from ..statistics.catalogue import STATISTICS
from ..statistics.paired import Predictions, Segments, StatisticSpec, Weights
from ..statistics.pairwise.gold import PAIRWISE
from ..statistics.weights import weights_of

_NAMED = 5
TEXT_STATISTICS = frozenset(entry.name for entry in STATISTICS["segments"])


def typed(data: Predictions, spec: StatisticSpec) -> Predictions | Segments:
    """The same outputs as the statistic takes them: texts beside references, numbers, or labels.

    Raises InvalidTest with pointers such as `/u/17`, and at `/groups` and `/event` where the statistic takes none.
    """
    require_taken(spec, data.groups, data.event)
    made = outputs_of({GOLD: data.gold, "/u": data.u, "/v": data.v}, spec)
    if spec.name in TEXT_STATISTICS:
        return Segments(made["/u"], made["/v"], made[GOLD], data.pairing)
    return replace(data, gold=made[GOLD], u=made["/u"], v=made["/v"]) if spec.name in PAIRWISE else data


def outputs_of(given: Mapping[str, Any], spec: StatisticSpec) -> dict[str, Any]:
    """Outputs and gold by pointer: texts and one or more references each, a number each where the statistic compares scores, else labels.

    Gold of auc may be labels. Raises InvalidTest at `<pointer>/<item>`.
    """
    in_pairs, outputs = spec.name in PAIRWISE, dict(given)
    if spec.name in TEXT_STATISTICS:
        outputs = {pointer: texts(values, pointer) for pointer, values in given.items() if pointer != GOLD}
        return outputs | {GOLD: references(given[GOLD])}
    check: Callable[[Any], Any] = columns.numbers if in_pairs else columns.labels
    for pointer, values in given.items():
        are_labels = pointer == GOLD and spec.name == "auc" and float not in set(map(type, values))
        if in_pairs and (are_labels or isinstance(values, np.ndarray)):
            continue
        with relocated(partial(operator.add, pointer)):
            outputs[pointer] = check(values.tolist() if isinstance(values, np.ndarray) else values)
    return outputs


def texts(column: Sequence[Any], pointer: str) -> list[str]:
    """The outputs of one system; raises InvalidTest at the first that is not a text."""
    for index, item in enumerate(column):
        if not isinstance(item, str):
            raise _not_a_text(f"{pointer}/{index}", item, "a text")
    return list(column)


def references(gold: Sequence[Any]) -> list[list[str]]:
    """One or more references of every item; raises InvalidTest, pointers `/gold/17/1`."""
    references: list[list[str]] = []
    for index, item in enumerate(gold):
        given = item if isinstance(item, list) else [item]
        if not given:
            raise InvalidTest.at(f"/gold/{index}", "no_reference", "Every item needs at least one reference.")
        for number, text in enumerate(given):
            if not isinstance(text, str):
                below = f"/{number}" if isinstance(item, list) else ""
                raise _not_a_text(f"/gold/{index}{below}", text, "a text or a list of texts")
        references.append(given)
    return references


def as_gold(pointer: str) -> str:
    """The map for texts: references are `gold` in a request."""
    return "/gold" + pointer.removeprefix("/references") if pointer.startswith("/references") else pointer


def _not_a_text(pointer: str, item: object, needed: str) -> InvalidTest:
    detail = f"This is {NAMES.get(type(item), 'something else')}; {needed} is needed here."
    return InvalidTest.at(pointer, "not_a_text", detail)


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
