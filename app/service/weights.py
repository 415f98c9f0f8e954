"""The weights of a request in the order of its items."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import InvalidTest, pointer_token, relocated
from ..inputs.quoting import quoted
from ..statistics.additive_problem import require_same_length
from ..statistics.paired import Pairing, Weights
from ..statistics.weights import weights_of


def weights_for(given: Any, n: int, pairing: Pairing) -> Weights | None:
    """The weights of `n` items, from a list, or an object keyed by id; None where there are none.

    Raises InvalidTest, with pointers such as `/weights/17` and `/weights/q17`.
    """
    if given is None:
        return None
    if not isinstance(given, Mapping):
        if pairing.matched is not None:
            detail = "The systems are keyed by id; give weights as an object keyed by id too."
            raise InvalidTest.at("/weights", "mixed_forms", detail)
        require_same_length(len(given), n, "/weights", ("weights", "u"))
        with relocated(lambda pointer: f"/weights{pointer}"):
            return weights_of(given)
    if pairing.ids is None:
        detail = "Weights keyed by id need ids, or systems keyed by id; or give one weight per item."
        raise InvalidTest.at("/weights", "no_ids", detail)
    ids = [str(key) for key in pairing.ids]
    missing = [key for key in ids if key not in given]
    if missing:
        named = ", ".join(quoted(key) for key in missing[:5])
        detail = f"{len(missing):,} of {len(ids):,} items have no weight: {named}."
        raise InvalidTest.at("/weights", "unmatched_ids", detail)

    def by_id(pointer: str) -> str:
        return f"/weights/{pointer_token(ids[int(pointer[1:])])}" if pointer else "/weights"

    with relocated(by_id):
        return weights_of([given[key] for key in ids])
