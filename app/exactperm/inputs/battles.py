"""Battles of two models each, for one question: who was shown first, who second, and who won."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..engine.lattice import Integers
from ..errors import InvalidTest, mapped
from ..statistics.paired import Pairing, Repeated, Scores
from .alignment import ById
from .columns import keys as keys_of
from .quoting import quoted

SHARE = "win rate"
# Members that name the question of a battle; the first that any battle has counts.
IDS = ("question_id", "qid", "uid", "id", "instruction_id", "instruction", "conversation_id")
# The share of the first model.
WINNERS = {"model_a": 1.0, "model_b": 0.0, "tie": 0.5, "tie (bothbad)": 0.5, "both_bad": 0.5}


@dataclass(frozen=True, slots=True)
class Battles:
    """Columns of battles; `ids` are numbers unless `has_ids`, and `shares` those of the first model, shape (n,)."""

    ids: list[str]
    first: list[str]
    second: list[str]
    shares: NDArray[np.float64]
    has_ids: bool

    @property
    def models(self) -> list[str]:
        """All models, by code point."""
        return sorted({*self.first, *self.second})

    def opponents(self, name: str | None) -> list[str]:
        """The models that had a battle with this one, by code point."""
        pairs = zip((*self.first, *self.second), (*self.second, *self.first), strict=True)
        return sorted({other for model, other in pairs if model == name})

    def scores(self, u: str, v: str) -> Scores | None:
        """The shares of two models in their battles, by question; None without such a battle."""
        both = {(u, v), (v, u)}
        rows = [row for row, pair in enumerate(zip(self.first, self.second, strict=True)) if pair in both]
        if not rows:
            return None
        keys = [self.ids[row] for row in rows]
        (ids, codes, of_u), (_, _, of_v) = (self._by_question(name, rows, keys) for name in (u, v))
        positions = np.zeros((len(ids), 3), dtype=np.int64)
        np.add.at(positions, (codes, (2 * self.shares[rows]).astype(np.int64)), 1)
        pairing = Pairing(by_id=True, matched=len(ids), ids=ids) if self.has_ids else Pairing()
        return Scores(of_u, of_v, pairing, positions=positions)

    def board(self) -> dict[str, ById]:
        """The shares of all models; each two have only their own battles in common."""
        rows: dict[str, list[int]] = {name: [] for name in self.models}
        items: list[str] = []
        for row, (key, *pair) in enumerate(zip(self.ids, self.first, self.second, strict=True)):
            low, high = sorted(pair)
            items.append(f"{len(key)} {len(low)} {key}{low}{high}")  # which no other question and pair has
            rows[pair[0]].append(row)
            rows[pair[1]].append(row)
        by_system = {
            name: self._by_question(name, rows_of_system, [items[row] for row in rows_of_system])
            for name, rows_of_system in rows.items()
        }
        return {name: ById(ids, column) for name, (ids, _, column) in by_system.items()}

    def _by_question(self, name: str, rows: list[int], keys: list[str]) -> tuple[list[str], Integers, Any]:
        """The distinct keys of these battles, the number of each battle's, and the shares of one of the models."""
        number = {key: at for at, key in enumerate(dict.fromkeys(keys))}
        codes = np.fromiter(map(number.__getitem__, keys), dtype=np.int64, count=len(keys))
        shares = np.where([self.first[row] == name for row in rows], self.shares[rows], 1 - self.shares[rows])
        values = shares[np.lexsort((shares, codes))]
        column = values if len(values) == len(number) else Repeated(values, np.bincount(codes))
        return list(number), codes, column

    def wins(self) -> NDArray[np.float64]:
        """The number of wins of each of `models` against each other one, shape (K, K); a tie is half a win of both."""
        place = {name: at for at, name in enumerate(self.models)}
        first, second = ([place[name] for name in side] for side in (self.first, self.second))
        table = np.zeros((len(place), len(place)))
        np.add.at(table, (first, second), self.shares)
        np.add.at(table, (second, first), 1 - self.shares)
        return table


def battles_of(records: Sequence[Any]) -> Battles:
    """Check the battles, and omit their other members; raises InvalidTest at `/17/winner`."""
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
            text = quoted(winner) if type(winner) is str else "This"
            detail = f"{text} does not name the winner: give {', '.join(WINNERS)}."
            raise InvalidTest.at(f"/{index}/winner", "unknown_winner", detail)
    ids = [at if key is None else record.get(key) for at, record in enumerate(records)]
    texts = list(map(str, mapped(lambda pointer: f"{pointer}/{key}", keys_of, ids)))
    first, second = ([record[name] for record in records] for name in ("model_a", "model_b"))
    shares = np.array([WINNERS[record["winner"]] for record in records])
    return Battles(texts, first, second, shares, has_ids=key is not None)
