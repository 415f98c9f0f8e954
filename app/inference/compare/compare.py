"""Stand-in."""

from __future__ import annotations
from collections.abc import Sequence
from dataclasses import dataclass
import hashlib, json
from ...engine.plan import Budget
from .comparison import Comparison
from .pair_tests import PairTests
from .pairs import PlannedPairs, plan_pairs
from .record import *
from ..options import Options
from dataclasses import replace


@dataclass(frozen=True)
class PreparedBoard:
    name: str | None
    names: tuple[str, ...]
    planned: PlannedPairs
    tests: int


@dataclass(frozen=True)
class PreparedCompare:
    comparison: Comparison
    boards: tuple[PreparedBoard, ...]

    @property
    def tests(self):
        return sum(b.tests for b in self.boards)

    @property
    def seconds(self):
        return sum(b.planned.seconds for b in self.boards)

    @property
    def longest_seconds(self):
        return sum(b.planned.longest_seconds for b in self.boards)


def prepare_compare(comparison: Comparison, budget: Budget) -> PreparedCompare:
    boards = []
    for name, systems in comparison.datasets.items():
        k = len(systems.names)
        pairs = [(i, j) for i in range(k) for j in range(i + 1, k)]
        boards.append(
            PreparedBoard(
                name,
                systems.names,
                plan_pairs(systems, comparison.spec, comparison.options, pairs, budget),
                len(pairs),
            )
        )
    return PreparedCompare(comparison, tuple(boards))


def _board(b: PreparedBoard, t: PairTests) -> BoardRecord:
    pairs = tuple(
        PairRecord(
            b.names[t.u[i]],
            b.names[t.v[i]],
            int(t.n[i]),
            float(t.difference[i]),
            float(t.p[i]),
            float(t.log10_p[i]),
            (float(t.p_low[i]), float(t.p_high[i])),
            "certified",
            float(t.p[i]),
            float(t.log10_p[i]),
            (float(t.p_low[i]), float(t.p_high[i])),
            "tied",
            float(10 ** t.attainable[i]),
            int(t.wins[i]),
            int(t.ties[i]),
            int(t.losses[i]),
            t.method[i],
            bool(t.exact[i]),
        )
        for i in range(len(t))
    )
    systems = tuple(
        SystemRecord(n, 0.0, 1, 1, None, None, None, None, None, None, None, None) for n in b.names
    )
    return BoardRecord(
        systems=systems, pairs=pairs, groups=None, family=FamilyRecord("holm", len(t), 0.05, "x")
    )


def finish_compare(prepared: PreparedCompare, tests: Sequence[PairTests] | None = None) -> CompareRecord:
    if tests is None:
        tests = [b.planned.solve() for b in prepared.boards]
    records = {b.name: _board(b, t) for b, t in zip(prepared.boards, tests, strict=True)}
    c = prepared.comparison
    digest = hashlib.sha256(json.dumps([b.names for b in prepared.boards]).encode()).hexdigest()
    return CompareRecord(
        digest=digest,
        statistic=c.spec.name,
        metric=c.options.metric,
        higher_is_better=True,
        compare=c.design,
        baseline=c.baseline,
        board=records.get(None),
        datasets=None if None in records else {k: v for k, v in records.items() if k},
        overall=None,
    )
