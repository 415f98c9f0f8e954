"""Battles of two models each, for one question: who was shown first, who second, and who won."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidTest, mapped
from ..statistics.paired import Pairing, Scores
from .alignment import ById
from .columns import keys, samples
from .quoting import quoted

SHARE = "win rate"
# What names the question of a battle, the first of these that any battle has.
IDS = ("question_id", "qid", "uid", "id", "instruction_id", "instruction", "conversation_id")
# The share of the first model; and where it is counted: battles that the first won, the second won, and none.
WINNERS = {"model_a": 1.0, "model_b": 0.0, "tie": 0.5, "tie (bothbad)": 0.5, "both_bad": 0.5}
PLACES = {1.0: 0, 0.0: 1, 0.5: 2}


@dataclass(frozen=True, slots=True)
class Battles:
    """Columns of battles; `ids` are numbers unless they are `given`, and `shares` those of the first model."""

    ids: list[str]
    first: list[str]
    second: list[str]
    shares: list[float]
    given: bool

    @property
    def models(self) -> list[str]:
        """All models, by code point."""
        return sorted({*self.first, *self.second})

    def scores(self, u: str, v: str) -> Scores | None:
        """The shares of two models in their battles, by question; None without such a battle."""
        own, positions = self._by_model((u, v)), dict[str, list[int]]()
        for key, first, second, share in zip(self.ids, self.first, self.second, self.shares, strict=True):
            if {first, second} == {u, v}:
                positions.setdefault(key, [0, 0, 0])[PLACES[share]] += 1
        if not positions:
            return None
        ids = list(positions)
        pairing = Pairing(by_id=True, matched=len(ids), ids=ids) if self.given else Pairing()
        of_u, of_v = (_column(own[name].values()) for name in (u, v))
        return Scores(of_u, of_v, pairing, positions=np.array(list(positions.values())))

    def board(self) -> dict[str, ById]:
        """The shares of all models: two of them have their own battles in common, and no others."""
        return {
            name: ById(list(items), _column(items.values()))
            for name, items in self._by_model(self.models).items()
        }

    def _by_model(self, models: Collection[str]) -> dict[str, dict[str, list[float]]]:
        """The shares of these models, by question, and by opponents where there are more than two."""
        found: dict[str, dict[str, list[float]]] = {name: {} for name in models}
        for key, first, second, share in zip(self.ids, self.first, self.second, self.shares, strict=True):
            if first in found and second in found:
                low, high = sorted((first, second))
                item = key if len(models) == 2 else f"{key}\x1f{low}\x1f{high}"
                found[first].setdefault(item, []).append(share)
                found[second].setdefault(item, []).append(1 - share)
        return found

    def wins(self) -> NDArray[np.float64]:
        """How often each of `models` won against each, a tie as half a win of both, shape (K, K)."""
        place = {name: at for at, name in enumerate(self.models)}
        first, second = ([place[name] for name in side] for side in (self.first, self.second))
        found, shares = np.zeros((len(place), len(place))), np.array(self.shares)
        np.add.at(found, (first, second), shares)
        np.add.at(found, (second, first), 1 - shares)
        return found


def _column(shares: Iterable[list[float]]) -> Any:
    every = list(map(sorted, shares))
    return samples(every if any(len(own) > 1 for own in every) else [own[0] for own in every])


def battles_of(records: Sequence[Any]) -> Battles:
    """Check the battles, whose other members are left out; raises InvalidTest at `/17/winner`."""
    records = [record if type(record) is dict else {} for record in records]
    key = next((name for name in IDS if any(name in record for record in records)), None)
    for index, record in enumerate(records):
        models, winner = [record.get("model_a"), record.get("model_b")], record.get("winner")
        for name, model in zip(("model_a", "model_b"), models, strict=True):
            if type(model) is not str:
                detail = "A battle is an object with model_a, model_b and winner; the name of a model belongs here."
                raise InvalidTest.at(f"/{index}/{name}", "not_a_text", detail)
        if models[0] == models[1]:
            detail = f"{quoted(models[0])} is in battle with itself: give two models."
            raise InvalidTest.at(f"/{index}/model_b", "same_system", detail)
        if type(winner) is not str or winner not in WINNERS:
            said = quoted(winner) if type(winner) is str else "This"
            detail = f"{said} does not name the winner: give {', '.join(WINNERS)}."
            raise InvalidTest.at(f"/{index}/winner", "unknown_winner", detail)
    ids = [at if key is None else record.get(key) for at, record in enumerate(records)]
    texts = list(map(str, mapped(lambda pointer: f"{pointer}/{key}", keys, ids)))
    first, second = ([record[name] for record in records] for name in ("model_a", "model_b"))
    return Battles(texts, first, second, [WINNERS[one["winner"]] for one in records], given=key is not None)
