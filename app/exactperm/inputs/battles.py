"""Battles of two models each, for the same question: who was shown first, who second, and who won."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import InvalidTest, mapped
from ..statistics.paired import Column, Pairing, Repeated, Scores
from .columns import NAMES, keys
from .quoting import quoted

WINNERS = {"model_a": 1, "model_b": -1, "tie": 0, "tie (bothbad)": 0, "both_bad": 0}
# What names the question of a battle, the first of these that any battle has.
IDS = ("question_id", "qid", "uid", "id", "instruction_id", "instruction", "conversation_id")
SHARE = "win rate"
NO_WINNER = f"does not name the winner: give {', '.join(WINNERS)}."


@dataclass(frozen=True, slots=True)
class Battles:
    """`results` are 1 where the first model won, -1 where the second did, 0 for ties. Each battle is of its own question without `ids`."""

    ids: list[str] | None
    first: list[str]
    second: list[str]
    results: list[int]

    @property
    def models(self) -> list[str]:
        """All models, by code point."""
        return sorted({*self.first, *self.second})

    def scores(self, u: str, v: str) -> Scores | None:
        """The share that each of two models has of their battles, by question: 1, 1/2 for a tie, 0. None without such a battle."""
        of_battles = range(len(self.results)) if self.ids is None else self.ids
        found: dict[Any, list[tuple[float, int]]] = {}
        for key, first, second, result in zip(of_battles, self.first, self.second, self.results, strict=True):
            if (first, second) in ((u, v), (v, u)):
                won = result if first == u else -result
                found.setdefault(key, []).append(((1 + won) / 2, result))
        if not found:
            return None
        shares = [sorted(share for share, _ in own) for own in found.values()]
        lengths = np.array([len(own) for own in shares], dtype=np.int64)
        positions = [result for own in found.values() for result in sorted(result for _, result in own)]
        pairing = Pairing() if self.ids is None else Pairing(by_id=True, matched=len(found), ids=list(found))
        return Scores(
            column_of([share for own in shares for share in own], lengths),
            column_of([1 - share for own in shares for share in reversed(own)], lengths),
            pairing,
            positions=Repeated(np.array(positions, dtype=np.int64), lengths),
        )


def column_of(shares: Sequence[float], lengths: Any) -> Column | Repeated:
    """One number per item, or several of some."""
    values = np.array(shares, dtype=np.float64)
    return values if len(values) == len(lengths) else Repeated(values, np.array(lengths, dtype=np.int64))


def battles_of(records: Sequence[Any]) -> Battles:
    """Check the battles, whose other members are left out; raises InvalidTest at `/17/winner`."""
    own = [record for record in records if type(record) is dict]
    key = next((name for name in IDS if any(name in record for record in own)), None)
    texts: dict[str, list[str]] = {"model_a": [], "model_b": []}
    results: list[int] = []
    for index, record in enumerate(records):
        if type(record) is not dict:
            detail = "A battle is an object with model_a, model_b and winner."
            raise InvalidTest.at(f"/{index}", "not_an_object", detail)
        for name in (*texts, "winner", *([] if key is None else [key])):
            if name not in record:
                detail = f"Every battle needs {name}{', as others have it' if name == key else ''}."
                raise InvalidTest.at(f"/{index}/{name}", "missing", detail)
        for name, column in texts.items():
            if type(record[name]) is not str:
                detail = f"This is {NAMES.get(type(record[name]), 'something else')}; the name of a model is needed here."
                raise InvalidTest.at(f"/{index}/{name}", "not_a_text", detail)
            column.append(record[name])
        if record["model_a"] == record["model_b"]:
            detail = f"{quoted(record['model_b'])} is in battle with itself: give two models."
            raise InvalidTest.at(f"/{index}/model_b", "same_system", detail)
        winner = record["winner"]
        if type(winner) is not str or winner not in WINNERS:
            said = quoted(winner) if type(winner) is str else "This"
            raise InvalidTest.at(f"/{index}/winner", "unknown_winner", f"{said} {NO_WINNER}")
        results.append(WINNERS[winner])
    ids = None
    if key is not None:
        checked = mapped(lambda pointer: f"{pointer}/{key}", keys, [record[key] for record in own])
        ids = list(map(str, checked))
    return Battles(ids, texts["model_a"], texts["model_b"], results)
