"""What statistics of pairs take besides labels: scores, groups, and which times are events."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import Flaw, InvalidTest, pointer_token
from ..inputs import columns
from ..inputs.pairing import coded
from ..inputs.quoting import quoted
from ..statistics.additive_problem import require_same_length
from ..statistics.paired import Pairing, Predictions, StatisticSpec
from ..statistics.pairwise.gold import PAIRWISE

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


def groups_for(given: Any, n: int, pairing: Pairing) -> NDArray[np.int64] | None:
    """The group of each of `n` items as codes, from a list or an object keyed by id; raises InvalidTest at `/groups`."""
    return None if given is None else coded(_by_item(given, n, pairing, "groups", "group")[0])[0]


def events_for(given: Any, n: int, pairing: Pairing) -> NDArray[np.bool_] | None:
    """Which of `n` items had their event; raises InvalidTest, with pointers such as `/event/17` and `/event/q17`."""
    if given is None:
        return None
    values, keys = _by_item(given, n, pairing, "event", "event")
    flaws = []
    for index, value in enumerate(values):
        if type(value) not in {int, bool} or value not in (0, 1):
            place = str(index) if keys is None else pointer_token(keys[index])
            detail = "An event is 1 or true, and a censored item 0 or false."
            flaws.append(Flaw(f"/event/{place}", "not_an_event", detail))
            if len(flaws) == _NAMED:
                break
    if flaws:
        raise InvalidTest(flaws[0].detail, flaws=tuple(flaws))
    return np.array(values, dtype=bool)


def _by_item(given: Any, n: int, pairing: Pairing, name: str, one: str) -> tuple[list[Any], list[str] | None]:
    """One value per item, in the order of the items; and the keys of an object."""
    if not isinstance(given, Mapping):
        if pairing.matched is not None:
            detail = f"The systems are keyed by id; give {name} as an object keyed by id too."
            raise InvalidTest.at(f"/{name}", "mixed_forms", detail)
        values = given.tolist() if isinstance(given, np.ndarray) else given
        require_same_length(len(values), n, f"/{name}", (name, "u"))
        return values, None
    if pairing.ids is None:
        detail = f"{name} keyed by id needs ids, or systems keyed by id; or give one {one} per item."
        raise InvalidTest.at(f"/{name}", "no_ids", detail)
    ids = [str(key) for key in pairing.ids]
    missing = [key for key in ids if key not in given]
    if missing:
        named = ", ".join(quoted(key) for key in missing[:_NAMED])
        detail = f"{len(missing):,} of {len(ids):,} items have no {one}: {named}."
        raise InvalidTest.at(f"/{name}", "unmatched_ids", detail)
    return [given[key] for key in ids], ids
