"""Column totals when the scores of every item are exchanged among the systems: Cochran's Q and Friedman's test.

Both statistics are H, the sum of the squares of the totals of centred scores, in a fixed unit (Friedman 1937; Cochran 1950).
Of any number of systems all ways are counted where they are few, else sampled. Of three systems H is exact for any number of items.

Centred on their means, the mid-ranks of three scores are one of three patterns: one above (2, -1, -1), one below (1, 1, -2), or
all distinct (2, 0, -2), up to a common unit; right and wrong are the first two. The law of the totals S = (S1, S2, S3) depends
only on how many items have each. It lives on a lattice of the plane S1 + S2 + S3 = 0 and is invariant under all permutations of
the systems.

P(H >= h) is one inverse Fourier transform in two dimensions where it is not small. Where it is, the region S1 >= S2 >= S3, a
sixth of the plane, is cut into sectors, and in each the law is tilted so that its mean is on the circle H = h: relative errors
grow by exp(gap), the gap of the exponents inside one sector, which more sectors make as small as needed.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from operator import add

import flint
import numpy as np
from numpy.typing import NDArray

from .lattice import Integers, Reals
from .one_sum.monte_carlo import SAMPLES_PER_BLOCK, stream
from .probability import CERTAIN, UNIT_ROUNDOFF, Probability, from_ratio
from .tilting import bernstein_reach

# The atoms of a pattern: what one item adds to the totals, each of them equally likely.
ABOVE = ((2, -1, -1), (-1, 2, -1), (-1, -1, 2))
BELOW = ((1, 1, -2), (1, -2, 1), (-2, 1, 1))
DISTINCT = ((2, 0, -2), (2, -2, 0), (0, 2, -2), (0, -2, 2), (-2, 2, 0), (-2, 0, 2))

# Steps of counting all ways of more than three systems.
MOST_STEPS = 20_000_000
# Nanoseconds of drawing how many equal rows hand a score to a system, and of shuffling one score.
_PER_PART, _PER_SHUFFLED = 70, 6
# Mass outside a window, against the answer: below roundoff.
_LOG_ODDS = 43.0
# Frequencies whose modulus has this exponent and more are left out.
_NEGLIGIBLE = 60.0
# Below this the plane is cut into sectors.
_SMALL = 0.02
# Exponents differ by about this within a sector, unless there would be more of them than that.
_GAP, _MOST_SECTORS = 4.0, 64
_NEWTON_STEPS = 60
# Ends of sectors are multiples of 1 / _SHARES.
_SHARES = 1 << 20
# Tilted by this the likeliest atoms have nearly all of the chance, and the masses of neighbours still compare.
_STEEPEST = 4.0


@dataclass(frozen=True)
class ThreeColumns:
    """Numbers of items with each pattern; items whose scores are all equal add nothing and are not counted."""

    above: int
    below: int
    distinct: int

    @property
    def items(self) -> int:
        """The number of items that are not all equal."""
        return self.above + self.below + self.distinct

    @cached_property
    def patterns(self) -> tuple[tuple[int, Reals], ...]:
        """The number of items and the atoms, shape (A, 3), of every pattern that is there."""
        each = ((self.above, ABOVE), (self.below, BELOW), (self.distinct, DISTINCT))
        return tuple((count, np.array(atoms, dtype=np.float64)) for count, atoms in each if count)

    @property
    def step(self) -> int:
        """The step of the lattice in both coordinates, S1 and S2."""
        if not self.distinct:
            return 3
        return 1 if self.above or self.below else 2

    @property
    def offset(self) -> int:
        """A value that S1 and S2 have modulo the step."""
        return (2 * self.above + self.below) % self.step

    @classmethod
    def of(cls, rows: Rows) -> ThreeColumns:
        """The numbers of rows of each pattern, up to a common unit of all rows."""
        above, below, distinct = (rows.get(tuple(sorted(atoms[0])), 0) for atoms in (ABOVE, BELOW, DISTINCT))
        return cls(above, below, distinct)

    @property
    def corner(self) -> tuple[int, int, int]:
        """The totals if every item agrees that the first system is the best, and the last the worst: H is as large as can be."""
        a, b, c = self.above, self.below, self.distinct
        return 2 * a + b + 2 * c, b - a, -a - 2 * b - 2 * c

    @property
    def largest(self) -> int:
        """The largest H."""
        return sum(total * total for total in self.corner)

    @property
    def scale(self) -> int:
        """The sum over the items of the squares of their centred scores: Q and chi squared are 2 H / scale."""
        return 6 * (self.above + self.below) + 8 * self.distinct

    def smallest_attainable(self) -> float:
        """P(H = largest)."""
        log_p = -(self.above + self.below) * math.log(3) - self.distinct * math.log(6)
        return math.exp(log_p) * (3 if len(set(self.corner)) == 2 else 6)


@dataclass(frozen=True, slots=True)
class _Tilted:
    """The law tilted by theta, shape (3,): chances of the atoms, exponent K(theta), mean, shape (3,), and covariance, shape (3, 3)."""

    theta: Reals
    chances: tuple[Reals, ...]
    exponent: float
    mean: Reals
    covariance: NDArray[np.float64]

    @property
    def roundoffs(self) -> float:
        """Roundoffs in the chances of an atom."""
        return 12.0 + 8.0 * float(np.abs(self.theta).max())


def _tilted(form: ThreeColumns, theta: Reals) -> _Tilted:
    chances, exponent, mean, covariance = [], 0.0, np.zeros(3), np.zeros((3, 3))
    for count, atoms in form.patterns:
        powers = atoms @ theta
        peak = float(powers.max())
        weights = np.exp(powers - peak)
        total = float(weights.sum())
        weights /= total
        exponent += count * (peak + math.log(total / len(atoms)))
        first = weights @ atoms
        mean += count * first
        covariance += count * ((atoms.T * weights) @ atoms - np.outer(first, first))
        chances.append(weights)
    return _Tilted(theta, tuple(chances), exponent, mean, covariance)


def _tilted_to(form: ThreeColumns, target: Reals) -> _Tilted:
    """A tilt whose mean is near the target, by damped Newton steps: any tilt is right, a near one is quick."""
    law = _tilted(form, np.zeros(3))
    for _ in range(_NEWTON_STEPS):
        miss = target - law.mean
        spread = math.sqrt(float(np.trace(law.covariance)))
        if float(np.abs(miss).max()) <= 0.05 * spread:
            break
        step = np.linalg.pinv(law.covariance, rcond=1e-9) @ miss
        size = float(np.abs(step).max())
        step *= min(1.0, 1.0 / size)
        law = _tilted(form, law.theta + step)
        if float(np.ptp(law.theta)) > _STEEPEST:
            break
    return law


@dataclass(frozen=True, slots=True)
class _Cone:
    """A sector of the region: S1 is at least `first`, and S2 / S1 between the slopes."""

    first: float
    slopes: tuple[float, float]


@dataclass(frozen=True, slots=True)
class _Window:
    """The law on a window: S1 and S2 of the cells, shapes (M, 1) and (1, M), their masses, shape (M, M), and errors.

    `cell` bounds the absolute error of any mass by rounding, and `norm` the Euclidean norm of the errors of the
    characteristic function.
    """

    first: Integers
    second: Integers
    masses: NDArray[np.float64]
    cell: float
    norm: float

    def error(self, cells: int) -> float:
        """The absolute error of a sum of so many masses, weighted by at most one (Parseval, Cauchy and Schwarz)."""
        return cells * self.cell + math.sqrt(cells) * self.norm


def lattice_points(form: ThreeColumns) -> int:
    """The number of values that S1 can have, and S2."""
    return (3 * (form.above + form.below) + 4 * form.distinct) // form.step + 1


def _length(form: ThreeColumns, law: _Tilted, log_odds: float) -> int:
    """Points of the window of each coordinate."""
    variance = float(np.diag(law.covariance)[:2].max())
    reach = bernstein_reach(log_odds, 4.0, variance) / form.step
    return min(2 * math.ceil(reach) + 3, lattice_points(form))


def window_length(form: ThreeColumns) -> int:
    """Points of the window of each coordinate, without a tilt."""
    return _length(form, _tilted(form, np.zeros(3)), _LOG_ODDS)


def _retained(form: ThreeColumns, law: _Tilted, length: int) -> tuple[Integers, Integers]:
    """The frequencies of rows, and those of columns that are not negative; all others are negligible.

    Two atoms of chances p and q that differ by x leave a modulus of at most exp(-2 p q sin(w x / 2)**2), as coins do.
    """
    turns = math.pi / length * np.arange(length)
    exponents = np.zeros((2, length))
    for (count, atoms), chances in zip(form.patterns, law.chances, strict=True):
        for i, j in itertools.combinations(range(len(atoms)), 2):
            gap = (atoms[i] - atoms[j])[:2] / form.step
            # Pairs that differ in one of the two coordinates alone say enough.
            for axis in range(2):
                if gap[1 - axis] == 0.0:
                    exponents[axis] += (
                        2.0 * count * chances[i] * chances[j] * np.square(np.sin(gap[axis] * turns))
                    )
    rows, columns = (np.flatnonzero(each < _NEGLIGIBLE) for each in exponents)
    return rows, columns[2 * columns <= length]


def _window(form: ThreeColumns, law: _Tilted, length: int, cone: _Cone | None = None) -> _Window:
    """Return the law around its mean, and in the cone, by the inverse transform of the characteristic function of S less its mean.

    A factor is 1 - a + i b, of which a and b are small where the product is not: its logarithm keeps their digits.
    """
    rows, columns = _retained(form, law, length)
    turn = 2.0 * math.pi / (length * form.step)
    # The frequency nearest to zero of each class: angles stay small.
    w1 = turn * np.where(rows > length // 2, rows - length, rows)[:, None]
    w2 = turn * columns[None, :]
    logs = np.zeros((len(rows), len(columns)))
    angles, unsure, less = logs.copy(), logs.copy(), logs.copy()
    for (count, atoms), chances in zip(form.patterns, law.chances, strict=True):
        centred = atoms - chances @ atoms
        a, b, size = np.zeros_like(logs), np.zeros_like(logs), np.zeros_like(logs)
        for (x, y), chance in zip(centred[:, :2].tolist(), chances.tolist(), strict=True):
            angle = w1 * x + w2 * y
            a += 2.0 * chance * np.square(np.sin(0.5 * angle))
            b += chance * np.sin(angle)
            size += chance * np.abs(angle)
        with np.errstate(divide="ignore"):
            one = np.maximum(0.5 * np.log1p(np.maximum(a * (a - 2.0) + b * b, -1.0)), -800.0)
        logs += count * one
        less += (count - 1) * np.minimum(one, 0.0)
        angles += count * np.arctan2(b, 1.0 - a)
        unsure += count * size
    modulus = np.exp(np.maximum(logs, -800.0))
    phi = modulus * np.exp(1j * angles)
    weights = np.where((columns == 0) | (2 * columns == length), 1.0, 2.0)
    error = UNIT_ROUNDOFF * (law.roundoffs * unsure + 16.0) * np.exp(less)
    norm = math.sqrt(float((np.square(error) @ weights).sum())) / length
    at = []
    for axis in range(2):
        base = sum(count * int(atoms[:, axis].min()) for count, atoms in form.patterns)
        start = math.floor((float(law.mean[axis]) - base) / form.step) - length // 2
        start = min(max(start, 0), lattice_points(form) - length)
        at.append(base + form.step * np.arange(start, start + length))
    if cone is not None:
        at[0] = at[0][at[0] >= cone.first]
        ends = [slope * x for slope in cone.slopes for x in (cone.first, float(at[0].max(initial=0)))]
        at[1] = at[1][(at[1] >= min(ends) - 1.0) & (at[1] <= max(ends) + 1.0)]
    of_rows = np.exp(-1j * w1 * (at[0] - law.mean[0]))
    of_columns = np.exp(-1j * w2.T * (at[1] - law.mean[1]))
    inner = of_rows.T @ (phi * weights)
    masses = (inner.real @ of_columns.real - inner.imag @ of_columns.imag) / length**2
    roundoffs = 40.0 + len(rows) + 2.0 * len(columns) + math.pi * max(len(rows), 2 * len(columns))
    cell = (UNIT_ROUNDOFF * roundoffs * float((modulus @ weights).sum())) / length**2
    return _Window(at[0][:, None], at[1][None, :], masses, cell + math.exp(-_NEGLIGIBLE), norm)


def _squares(window: _Window) -> Integers:
    first, second = window.first, window.second
    return np.asarray(2 * (first * first + first * second + second * second))


def ways(form: ThreeColumns) -> Counted:
    """The ways to each H, counted by a polynomial in one variable for both coordinates."""
    width = lattice_points(form)
    product = flint.fmpz_poly([1])
    for count, atoms in form.patterns:
        cells = ((atoms[:, :2] - atoms[:, :2].min(axis=0)) / form.step).astype(np.int64)
        coefficients = [0] * (int((cells @ [width, 1]).max()) + 1)
        for place in (cells @ [width, 1]).tolist():
            coefficients[place] += 1
        product *= flint.fmpz_poly(coefficients) ** count
    bases = [sum(count * int(atoms[:, axis].min()) for count, atoms in form.patterns) for axis in range(2)]
    counts: dict[int, int] = {}
    for place, number in enumerate(product.coeffs()):
        if number != 0:
            x, y = (base + form.step * cell for base, cell in zip(bases, divmod(place, width), strict=True))
            squares = 2 * (x * x + x * y + y * y)
            counts[squares] = counts.get(squares, 0) + int(number)
    return Counted(counts, 3 ** (form.above + form.below) * 6**form.distinct)


def tail(form: ThreeColumns, observed: int) -> tuple[Probability, Probability]:
    """P(H >= observed) and P(H = observed), observed an attainable value, each with its certificate."""
    if observed <= 0:
        return CERTAIN, _of_the_plane(form, observed)[1] if form.items else CERTAIN
    whole = _of_the_plane(form, observed)
    if whole[0].log_p >= math.log(_SMALL):
        return whole
    cuts = _cuts(form, observed, _sectors(form, observed))
    parts = [
        _of_a_sector(form, observed, *ends, last=ends[1] == cuts[-1]) for ends in itertools.pairwise(cuts)
    ]
    return _added([part[0] for part in parts]), _added([part[1] for part in parts])


def _sectors(form: ThreeColumns, observed: int) -> int:
    """A circle's exponent is nearly observed / scale, and over a sector it falls by that times the square of half the angle."""
    return min(max(math.ceil(0.7 * math.sqrt(observed / form.scale / _GAP)), 1), _MOST_SECTORS)


def windows(form: ThreeColumns, observed: int) -> int:
    """How many windows `tail` is likely to compute: P(H >= observed) is nearly exp(-observed / scale)."""
    likely = form.items == 0 or observed <= -math.log(_SMALL) * form.scale
    return 1 if likely else 1 + _sectors(form, observed)


def _of_the_plane(form: ThreeColumns, observed: int) -> tuple[Probability, Probability]:
    law = _tilted(form, np.zeros(3))
    window = _window(form, law, _length(form, law, _LOG_ODDS))
    squares = _squares(window)
    outside = 4.0 * math.exp(-_LOG_ODDS)
    tails = []
    for inside in (squares >= observed, squares == observed):
        cells = int(inside.sum())
        tails.append(
            _probability(0.0, float(window.masses[inside].sum()), window.error(cells) + 2.0 * outside, 0.0)
        )
    return tails[0], tails[1]


def _probability(log_weight: float, total: float, error: float, weight_error: float) -> Probability:
    """exp(log_weight) * total, of which the absolute error is `error`; a total below that is shown as it."""
    total = max(total, error)
    log_p = min(log_weight + math.log(total), 0.0)
    return Probability(log_p, error / total + 1.01 * weight_error + UNIT_ROUNDOFF * (8.0 + 2.0 * abs(log_p)))


def _edge(share: float) -> Reals:
    """The unit vector at a share (S2 - S3) / (S1 - S3) of the way from one system above to one below."""
    direction = np.array([1.0, share, 0.0]) - (1.0 + share) / 3.0
    return np.asarray(direction / math.sqrt(float(direction @ direction)))


def _cuts(form: ThreeColumns, observed: int, sectors: int) -> list[int]:
    """The ends of the sectors, in shares of 1 / _SHARES, over what of the circle H = observed lies inside the hull of all totals."""
    x, y, z = form.corner
    radius = math.sqrt(observed)

    def outside(share: int) -> bool:
        edge = _edge(share / _SHARES)
        return radius * float(edge[0]) > x or radius * float(edge[2]) < z

    ends = []
    for end in (0, _SHARES):
        inner, outer = _SHARES * (y - z) // (x - z), end
        if not outside(end):
            inner = end
        while abs(outer - inner) > 1:
            middle = (inner + outer) // 2
            inner, outer = (inner, middle) if outside(middle) else (middle, outer)
        ends.append(min(max(inner + (2 if end else -2), 0), _SHARES))
    low, high = ends
    return sorted({low + (high - low) * index // sectors for index in range(sectors + 1)})


def _of_a_sector(
    form: ThreeColumns, observed: int, low: int, high: int, *, last: bool
) -> tuple[Probability, Probability]:
    """P(H >= observed) and P(H = observed) of the totals that are, in some order, in one sector."""
    radius = math.sqrt(observed)
    edges = [_edge(share / _SHARES) for share in (low, high)]
    target = radius * _edge((low + high) / (2 * _SHARES))
    law = _tilted_to(form, target)
    least = min(radius * float(law.theta @ edge) for edge in edges)
    log_odds = _LOG_ODDS + max(float(law.theta @ target) - least, 0.0) + math.log(8.0 * (form.items + 1))
    cone = _Cone(
        radius * min(float(edge[0]) for edge in edges) - 1.0,
        (float(edges[0][1] / edges[0][0]), float(edges[1][1] / edges[1][0])),
    )
    window = _window(form, law, _length(form, law, log_odds), cone)
    first, second = window.first, window.second
    third = -first - second
    squares = _squares(window)
    ordered = (first >= second) & (second >= third) & (squares >= observed)
    # Whole numbers decide which sector a point is in, so that it is in one only.
    share, whole = _SHARES * (second - third), first - third
    here = ordered & (share >= low * whole) & ((share <= high * whole) if last else (share < high * whole))
    # Masses outside the hull of all totals are rounding.
    here &= (first <= form.corner[0]) & (third >= form.corner[2])
    rows, columns = np.nonzero(here)
    x, y = first[rows, 0], second[0, columns]
    z = -x - y
    orbits = np.where((x > y) & (y > z), 6.0, 3.0)
    powers = np.minimum(-(law.theta[0] * x + law.theta[1] * y + law.theta[2] * z - least), 0.0)
    weighted = orbits * np.exp(powers) * window.masses[rows, columns]
    error = 6.0 * (window.error(len(rows)) + 8.0 * math.exp(-log_odds))
    error += (
        UNIT_ROUNDOFF
        * 8.0
        * (1.0 + float(np.abs(law.theta).max()) * math.sqrt(form.largest))
        * float(np.abs(weighted).sum())
    )
    count = form.items
    exponent = law.exponent - least
    weight_error = UNIT_ROUNDOFF * (4.0 * abs(law.exponent) + 4.0 * abs(least) + 16.0 * count)
    tied = squares[rows, columns] == observed
    inside, ties = (
        _probability(exponent, float(part.sum()), error, weight_error) for part in (weighted, weighted[tied])
    )
    return inside, ties


def _added(parts: list[Probability]) -> Probability:
    """The sum of probabilities of disjoint events, each with its own absolute error."""
    peak = max(part.log_p for part in parts)
    shares = [math.exp(part.log_p - peak) for part in parts]
    total = math.fsum(shares)
    error = math.fsum(share * part.relative_error_bound for share, part in zip(shares, parts, strict=True))
    log_p = min(peak + math.log(total), 0.0)
    return Probability(log_p, error / total + UNIT_ROUNDOFF * (4.0 + 2.0 * abs(log_p)))


def masses(form: ThreeColumns) -> Iterator[tuple[int, float]]:
    """The values of H that have mass, ascending, and their probabilities, to about 1e-14."""
    law = _tilted(form, np.zeros(3))
    window = _window(form, law, _length(form, law, _LOG_ODDS))
    values, inverse = np.unique(_squares(window), return_inverse=True)
    totals = np.bincount(inverse.ravel(), weights=window.masses.ravel())
    keep = totals > 1e-15
    yield from zip(values[keep].tolist(), totals[keep].tolist(), strict=True)


@dataclass(frozen=True, slots=True)
class Counted:
    """The number of ways to each H, and of all ways."""

    ways: Mapping[int, int]
    total: int

    def tail(self, observed: int) -> tuple[Probability, Probability]:
        """P(H >= observed) and P(H = observed), exactly."""
        inside = sum(ways for value, ways in self.ways.items() if value >= observed)
        both = inside, self.ways[observed]
        return from_ratio(Fraction(both[0], self.total)), from_ratio(Fraction(both[1], self.total))

    def masses(self) -> Iterator[tuple[int, float]]:
        """The values of H, ascending, and their probabilities."""
        yield from ((value, ways / self.total) for value, ways in sorted(self.ways.items()))

    def smallest_attainable(self) -> float:
        """P(H is the largest)."""
        return self.ways[max(self.ways)] / self.total


# Any number of systems. An item is a row of centred scores, integers in ascending order, all orders of which are equally likely.

Rows = Mapping[tuple[int, ...], int]


def orders(row: Sequence[int]) -> list[tuple[int, ...]]:
    """The distinct orders of a row, which are equally likely."""
    orders_so_far: list[tuple[int, ...]] = [()]
    for _ in row:
        orders_so_far = [
            (*taken, value)
            for taken in orders_so_far
            for value in sorted(set(row))
            if taken.count(value) < row.count(value)
        ]
    return orders_so_far


def orders_of(row: Sequence[int]) -> int:
    """The number of the distinct orders of a row."""
    return math.factorial(len(row)) // math.prod(math.factorial(number) for number in Counter(row).values())


def counted(rows: Rows) -> Counted:
    """The ways to each H.

    The law of the totals is the same for all systems, so that only totals in ascending order are told apart.
    """
    systems = len(next(iter(rows), ()))
    states: dict[tuple[int, ...], int] = {(0,) * systems: 1}
    total = 1
    for row, count in rows.items():
        ways = orders(row)
        total *= len(ways) ** count
        for _ in range(count):
            following: dict[tuple[int, ...], int] = {}
            for state, number in states.items():
                for way in ways:
                    after = tuple(sorted(map(add, state, way)))
                    following[after] = following.get(after, 0) + number
            states = following
    counts: dict[int, int] = {}
    for state, number in states.items():
        squares = sum(value * value for value in state)
        counts[squares] = counts.get(squares, 0) + number
    return Counted(counts, total)


def steps_of(rows: Rows) -> int:
    """An upper bound on the steps of `counted`."""
    systems = len(next(iter(rows), (0,)))
    ends, steps = 0, 0
    for row, count in rows.items():
        step = math.gcd(*(value - row[0] for value in row)) or 1
        width = (row[-1] - row[0]) // step
        ways = orders_of(row)
        for index in range(1, count + 1):
            # Totals of all but one system, of which one order in (K - 1)! is kept.
            wide = ends + index * width + 1
            states = math.comb(wide + systems - 2, systems - 1)
            steps += states * ways
            if steps > MOST_STEPS:
                return steps
        ends += count * width
    return steps


def _parts(row: Sequence[int]) -> int:
    """The number of different scores in all multisets of scores that are left when some systems have got theirs."""
    numbers = Counter(row).values()
    whole = math.prod(number + 1 for number in numbers)
    return sum(whole // (number + 1) * number for number in numbers)


def _is_handed_out(row: Sequence[int], count: int) -> bool:
    """Whether equal rows are handed out together, system by system: where that is quicker than to shuffle every row."""
    return _parts(row) * _PER_PART <= count * len(row) * _PER_SHUFFLED


def draw_nanoseconds(rows: Rows) -> int:
    """Predicted time of one draw."""
    return sum(min(_parts(row) * _PER_PART, count * len(row) * _PER_SHUFFLED) for row, count in rows.items())


def draw_bytes(rows: Rows) -> int:
    """The memory of a block of draws."""
    widest = max((_parts(row) for row, count in rows.items() if _is_handed_out(row, count)), default=1)
    return SAMPLES_PER_BLOCK * (16 * widest + 64)


def draw(rows: Rows, seed: int, block: int) -> Integers:
    """SAMPLES_PER_BLOCK independent values of H."""
    generator = np.random.Generator(stream(seed, block))
    totals = np.zeros((SAMPLES_PER_BLOCK, len(next(iter(rows), ()))), dtype=np.int64)
    for row, count in rows.items():
        if _is_handed_out(row, count):
            _hand_out(generator, row, count, totals)
        else:
            for _ in range(count):
                totals += generator.permuted(np.broadcast_to(np.array(row), totals.shape), axis=1)
    return np.asarray(np.square(totals).sum(axis=1))


def _hand_out(generator: np.random.Generator, row: tuple[int, ...], count: int, totals: Integers) -> None:
    """Add the scores of `count` equal rows, of which every system in turn gets one that is left, to the totals.

    How many rows have the same scores left is multinomial, given how many had the same before.
    """
    states = {row: np.full(len(totals), count)}
    for system in range(len(row)):
        following: dict[tuple[int, ...], Integers] = {}
        for left, numbers in states.items():
            values, times = np.unique(left, return_counts=True)
            drawn = generator.multinomial(numbers, times / len(left))
            totals[:, system] += drawn @ values
            for value, number in zip(values.tolist(), drawn.T, strict=True):
                at = left.index(value)
                rest = left[:at] + left[at + 1 :]
                following[rest] = following[rest] + number if rest in following else number
        states = following
