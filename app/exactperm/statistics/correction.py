"""A mean difference corrected by people's labels of some items, or by covariates of all.

With B_c the contribution of unit c to the uncorrected mean and A_kc that to the mean of covariate k, t = sum_c e_c, e_c
= B_c - sum_k b_k A_kc. Exchanging the systems of a unit flips the signs of B_c and all A_kc together, so that
coefficients made of products (least squares: b = sum A B / sum A^2) are the same under every swap, t is linear in the
signs, and the paired-permutation test of the e_c is exact, including the coefficients.

With labels of n random items of N, B is their mean difference, and A the judge's mean difference on these items minus
that on all. t is lambda mean_N(dJ) + mean_n(dH - lambda dJ) (Angelopoulos, Duchi & Zrnic 2023, *PPI++*, arXiv
2311.01453), with the lambda of least permutation variance sum e_c^2. With covariates, t = mean(d - sum b_k x_k), as
length control does (Dubois et al. 2024, arXiv 2404.04475).
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction

import flint
import numpy as np
from numpy.typing import NDArray

from ..engine.lattice import Whole, exact_total, needs_more_digits
from ..errors import InvalidTest, mapped, pointer_token
from .columns import item_scores, k_of, samples_of, unit_of
from .effects import MAX_INTEGER, Additive, Lattice, clustered, common_unit, effects_on, times
from .paired import Correction, DataWarning, Paired, Scores, StatisticSpec, samples_in

LEAST_LABELS, FEW_LABELS = 2, 30
MAX_COVARIATES = 16
# The denominator of lambda, and the significant digits of the coefficients of covariates.
_PARTS, _DIGITS = 1_000, 3
# Rounding several coefficients may change the differences by this share of their squares, 1 / _CONDITIONED.
_CONDITIONED = 10_000
# Coefficients are smaller, so that they are doubles.
_LARGEST = 10**300
STATISTIC = "mean_difference"
# Fitted seconds of a number of many digits, and of one more column for it; its first values show that it has many.
_LONG, _PRODUCT, _LOOKED_AT = 6e-7, 3e-8, 20


@dataclass(frozen=True, slots=True)
class Corrected:
    """The facts of a correction: its coefficients by name, and the uncorrected differences.

    Labels have the one coefficient lambda, and `labelled` counts them; None for covariates. `raw` is the
    uncorrected mean difference, the judge's for labels; `of_labels` is the mean difference of the labels.
    """

    coefficients: dict[str, Fraction]
    raw: Fraction
    labelled: int | None = None
    of_labels: Fraction | None = None


def refuse_correction(data: Scores, spec: StatisticSpec) -> None:
    """Refuse weighted items, and other statistics than means; raises InvalidTest."""
    assert data.correction is not None
    if spec.name != STATISTIC:
        what = "Covariates correct" if data.correction.labelled is None else "Labels correct"
        detail = (
            f"{what} a difference of means, not {spec.name}: leave them out, or set statistic to {STATISTIC}."
        )
        raise InvalidTest.at(pointer_of(data.correction), "correction_needs_means", detail)
    if k_of(spec) is not None:
        detail = (
            "Labels and covariates correct a difference of means, not of pass rates of k runs: leave k out."
        )
        raise InvalidTest.at("/statistic/k", "correction_needs_means", detail)
    if data.correction.labelled is not None and data.correction.labelled.sum() < LEAST_LABELS:
        detail = f"Labels of at least {LEAST_LABELS} items are needed: people judged {int(data.correction.labelled.sum())}."
        raise InvalidTest.at("/labels", "too_few_labels", detail)
    if len(data.correction.columns) > MAX_COVARIATES:
        detail = f"At most {MAX_COVARIATES} covariates are allowed: these are {len(data.correction.columns)}."
        raise InvalidTest.at("/covariates", "too_many_covariates", detail)
    if data.weights is not None:
        raise InvalidTest.at(
            "/weights", "no_weights", "Labels and covariates correct an unweighted mean: leave weights out."
        )


def pointer_of(correction: Correction) -> str:
    """Return the pointer to the member of a request."""
    return "/covariates" if correction.labelled is None else "/labels"


def correction_seconds(data: Paired) -> float:
    """Predict the seconds to correct scores of many digits, which are long integers; 0 for other data."""
    if not isinstance(data, Scores) or data.correction is None:
        return 0.0
    columns = [
        samples_in(side) for each in (data, *data.correction.columns.values()) for side in (each.u, each.v)
    ]
    long = [column for column in columns if needs_more_digits(column[:_LOOKED_AT].astype(np.float64)).any()]
    return sum((_LONG + _PRODUCT * len(columns)) * len(column) for column in long)


def reduce_corrected(data: Scores, spec: StatisticSpec) -> Additive:
    """Return the additive test of a corrected mean difference; raises InvalidTest."""
    assert data.correction is not None
    columns, labelled = data.correction.columns, data.correction.labelled
    scores = _on_lattice(data, unit_of(spec.parameters.get("unit")), "/u")
    raw = _mean(scores, 0) - _mean(scores, 1)
    if labelled is None:
        covariates = [
            _on_lattice(column, None, f"/covariates/{pointer_token(name)}")
            for name, column in columns.items()
        ]
        parts = [(lattice.unit, _difference(lattice)) for lattice in covariates]
        target, below = (scores.unit, _difference(scores)), len(data.u)
    else:
        labels = _on_lattice(columns["labels"], None, "/labels")
        items, n = len(labelled), int(labelled.sum())
        # N n times the contributions of the items, which are integers.
        d = _difference(scores)
        parts = [(scores.unit, times(items, d * labelled) - times(n, d))]
        target, below = (labels.unit, times(items, _difference(labels))), items * n
    units = [(unit, clustered(column, data.pairing)) for unit, column in (target, *parts)]
    chosen = _coefficients(units, data.correction, list(columns))
    unit, stay = _effects(units, chosen)
    if labelled is None:
        shares = [_mean(lattice, 0) - _mean(lattice, 1) for lattice in covariates]
        half = sum((b * x for b, x in zip(chosen, shares, strict=True)), Fraction(0)) / 2
        corrected = _mean(scores, 0) - half, _mean(scores, 1) + half
        facts = Corrected(dict(zip(columns, chosen, strict=True)), raw)
    else:
        of_people = [_mean(labels, side, labelled) for side in (0, 1)]
        of_judge = [_mean(scores, side) - _mean(scores, side, labelled) for side in (0, 1)]
        corrected = of_people[0] + chosen[0] * of_judge[0], of_people[1] + chosen[0] * of_judge[1]
        facts = Corrected({"lambda": chosen[0]}, raw, n, of_people[0] - of_people[1])
    unit, (stay,), rounding = effects_on(unit / below, stay)
    return Additive(
        name=spec.name, stay=stay, swap=None, unit=unit, items=len(data.u), clusters=data.pairing.n_clusters,
        score_u=corrected[0], score_v=corrected[1], samples=samples_of(data), rounding=rounding, corrected=facts,
    )  # fmt: skip


def _on_lattice(data: Scores, unit: Fraction | None, pointer: str) -> Lattice:
    def inside(flaw: str) -> str:
        return pointer if pointer != "/u" and not flaw else flaw

    lattice = mapped(inside, item_scores, data, unit, exactly=True)
    if lattice.error:
        detail = "The means of this many repeated samples are not exact here: give one number per item."
        raise InvalidTest.at(pointer, "not_exact", detail)
    return lattice


def _difference(lattice: Lattice) -> Whole:
    u, v = lattice.columns
    return u - v


def _mean(lattice: Lattice, side: int, chosen: NDArray[np.bool_] | None = None) -> Fraction:
    """Return the mean of a system, over the `chosen` items if given."""
    column = lattice.columns[side] if chosen is None else lattice.columns[side][chosen]
    return exact_total(column) * lattice.unit / len(column)


def _coefficients(
    units: Sequence[tuple[Fraction, Whole]], correction: Correction, names: Sequence[str]
) -> list[Fraction]:
    """Return the rounded coefficients from the first column (B) and the others (A); refuse collinear covariates."""
    if correction.share is not None:
        return [correction.share]
    (unit, target), *parts = units
    varying = [at for at, (_, column) in enumerate(parts) if column.any()]
    columns = [parts[at][1] for at in varying]
    products = [[_dot(row, column) for column in columns[: at + 1]] for at, row in enumerate(columns)]
    for at, products_of in enumerate(products):
        products_of += [below[at] for below in products[at + 1 :]]
    for size in range(2, len(varying) + 1):
        if flint.fmpz_mat([row[:size] for row in products[:size]]).rank() < size:
            name = names[varying[size - 1]]
            detail = f"The differences in the covariate {name[:40]} follow from those in the others: leave one of them out."
            raise InvalidTest.at("/covariates", "collinear_covariates", detail)
    chosen = [Fraction(0)] * len(parts)
    if varying:
        right = flint.fmpq_mat([[_dot(column, target)] for column in columns])
        solved = flint.fmpq_mat(products).solve(right)
        for row, at in enumerate(varying):
            value = solved[row, 0]
            chosen[at] = Fraction(int(value.p), int(value.q)) * unit / parts[at][0]
    if correction.labelled is None:
        for name, coefficient in zip(names, chosen, strict=True):
            if abs(coefficient) >= _LARGEST:
                detail = f"The covariate {name[:40]} is too small beside the scores: scale it up."
                raise InvalidTest.at(f"/covariates/{pointer_token(name)}", "number_too_large", detail)
        rounded = [_three_digits(value) for value in chosen]
        if len(varying) > 1:
            moved = [(rounded[at] - chosen[at]) * parts[at][0] / unit for at in varying]
            off = sum(a * b * products[r][s] for r, a in enumerate(moved) for s, b in enumerate(moved))
            if off * _CONDITIONED > _dot(target, target):
                detail = (
                    f"The differences in the covariate {names[varying[-1]][:40]} nearly follow from those in the others, so that coefficients "
                    f"of {_DIGITS} digits do not describe them: leave one of them out."
                )
                raise InvalidTest.at("/covariates", "collinear_covariates", detail)
        return rounded
    return [min(max(Fraction(round(value * _PARTS), _PARTS), Fraction(0)), Fraction(1)) for value in chosen]


def _three_digits(number: Fraction) -> Fraction:
    """Round to three significant digits, halves to even."""
    context = Context(prec=_DIGITS, rounding=ROUND_HALF_EVEN, Emin=MIN_EMIN, Emax=MAX_EMAX)
    return Fraction(context.divide(Decimal(number.numerator), Decimal(number.denominator)))


def _dot(left: Whole, right: Whole) -> int:
    """Return the exact scalar product of two columns, shape (M,) each."""
    if object not in (left.dtype, right.dtype):
        largest = int(np.abs(left).max()) * int(np.abs(right).max())
        if largest * len(left) < 1 << 62:
            return int(np.dot(left, right))
    return int(sum(map(operator.mul, left.tolist(), right.tolist())))


def _effects(units: Sequence[tuple[Fraction, Whole]], chosen: Sequence[Fraction]) -> tuple[Fraction, Whole]:
    """Return (unit, e) with e = B - sum b A, exactly; int64 where the sizes fit."""
    (unit, target), *parts = units
    used = [(b, scale, column) for b, (scale, column) in zip(chosen, parts, strict=True) if b]
    base, factors = common_unit([unit, *(abs(b) * scale for b, scale, _ in used)])
    columns = (target, *(column for _, _, column in used))
    terms = [times(factor, column) for factor, column in zip(factors, columns, strict=True)]
    if sum(exact_total(np.abs(term)) for term in terms) >= MAX_INTEGER:
        terms = [term.astype(object) for term in terms]
    effects = terms[0]
    for (b, _, _), term in zip(used, terms[1:], strict=True):
        effects = effects - term if b > 0 else effects + term
    return base, effects


def correction_warning(correction: Correction) -> DataWarning | None:
    """Warn about few labels, which hardly correct a judge that favours a system."""
    n = None if correction.labelled is None else int(correction.labelled.sum())
    if n is None or n >= FEW_LABELS:
        return None
    detail = (
        f"People judged only {n} items. Where the judge favours a system and people see no difference, so few labels report one too often: "
        f"give at least {FEW_LABELS}, of items drawn at random."
    )
    return DataWarning("/labels", "few_labels", detail, undecidable=False)
