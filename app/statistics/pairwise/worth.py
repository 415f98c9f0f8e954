"""What items are worth against all others: small groups in blocks, large ones by counting in sorted order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...engine.lattice import Integers
from . import blocks
from .kernels import Gold, Kernel
from .order import Placed


@dataclass(frozen=True, slots=True)
class Worth:
    """H_i(u_i) and H_i(v_i) over the values of both systems, and of each system over its own; shape (n,) each."""

    of_u: Integers
    of_v: Integers
    own_u: Integers
    own_v: Integers


def worth_of(kernel: Kernel, pairs_of: blocks.Worth, u: Placed, v: Placed, gold: Gold) -> Worth:
    """`kernel` and `pairs_of` are two forms of one statistic."""
    sizes = np.bincount(gold.group, minlength=gold.n_groups)
    small = (sizes <= blocks.MOST)[gold.group]
    if small.all():
        return _in_blocks(pairs_of, u, v, gold)
    if not small.any():
        return _counted(kernel, u, v, gold)
    columns = [np.zeros(len(small), dtype=np.int64) for _ in range(4)]
    for at in (np.flatnonzero(small), np.flatnonzero(~small)):
        some = (u.take(at), v.take(at), gold.take(at))
        part = _in_blocks(pairs_of, *some) if small[at[0]] else _counted(kernel, *some)
        for column, found in zip(columns, (part.of_u, part.of_v, part.own_u, part.own_v), strict=True):
            column[at] = found
    return Worth(*columns)


def _in_blocks(pairs_of: blocks.Worth, u: Placed, v: Placed, gold: Gold) -> Worth:
    against_u, against_v = blocks.worth(pairs_of, (u, v), (u, v), gold)
    both = against_u + against_v
    return Worth(both[0], both[1], against_u[0], against_v[1])


def _counted(kernel: Kernel, u: Placed, v: Placed, gold: Gold) -> Worth:
    (of_u, of_v), (own_u,), (own_v,) = (kernel(some, some, gold) for some in ((u, v), (u,), (v,)))
    return Worth(of_u, of_v, own_u, own_v)
