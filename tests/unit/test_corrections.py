"""A judge corrected by people's labels, and covariates: against all swaps in fractions, coefficients computed anew in each.

FUZZ_TIMES=20 draws so many times as many cases.
"""

import json
import os
import random
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from exactperm import files, gate, power, test as run_test
from exactperm.client import Client, InvalidData, InvalidTest, metric, scores
from exactperm.local.transport import InProcess
from exactperm.settings import Settings
from tests.enumeration import SIDES, share
from tests.unit.cli_asking import answer, refuses

Pairs = Sequence[tuple[Fraction, Fraction]]


def rounded(number: Fraction) -> Fraction:
    """Three significant digits, halves to even, by the text of a decimal."""
    if not number:
        return number
    power = next(k for k in range(9, -9, -1) if abs(number) >= Fraction(10) ** k)
    step = Fraction(10) ** (power - 2)
    return round(number / step) * step


def of_labels(
    judge: Pairs, people: Pairs, labelled: Sequence[int], codes: Sequence[int], given: Fraction | None
) -> tuple[Fraction, Fraction]:
    """(T, lambda) as the formulas of the definition have them."""
    n_all, n = len(judge), len(labelled)
    dj = [a - b for a, b in judge]
    dh = {i: people[at][0] - people[at][1] for at, i in enumerate(labelled)}
    lam = given
    if lam is None:
        above, below = Fraction(0), Fraction(0)
        for code in set(codes):
            own = [i for i in range(n_all) if codes[i] == code]
            fixed = sum((dh[i] for i in own if i in dh), Fraction(0)) / n
            moving = sum((dj[i] / n_all - (dj[i] / n if i in dh else 0) for i in own), Fraction(0))
            above, below = above - fixed * moving, below + moving * moving
        lam = above / below if below else Fraction(0)
        lam = min(max(Fraction(round(lam * 1000), 1000), Fraction(0)), Fraction(1))
    of_people = sum((dh[i] - lam * dj[i] for i in labelled), Fraction(0))
    return lam * sum(dj, Fraction(0)) / n_all + of_people / n, lam


def exchanged(pairs: Pairs, chosen: Sequence[bool]) -> list[tuple[Fraction, Fraction]]:
    return [(b, a) if swap else (a, b) for (a, b), swap in zip(pairs, chosen, strict=True)]


def drawn(rng: random.Random, n: int) -> list[tuple[Fraction, Fraction]]:
    values = rng.choice([(0, 1), (0, 1, 2, 3), (Fraction(1, 10), Fraction(1, 4), 0, Fraction(-7, 20))])
    return [(Fraction(rng.choice(values)), Fraction(rng.choice(values))) for _ in range(n)]


def numbers(pairs: Pairs, side: int) -> list[float | int]:
    return [int(one[side]) if one[side].denominator == 1 else float(one[side]) for one in pairs]


def decimal(number: Fraction) -> Fraction:
    return Fraction(str(float(number)))


def judged(rng: random.Random) -> None:
    n_all = rng.randint(2, 6)
    labelled = sorted(rng.sample(range(n_all), rng.randint(2, n_all)))
    judge, people = drawn(rng, n_all), drawn(rng, len(labelled))
    codes = [rng.randrange(n_all) for _ in range(n_all)] if rng.random() < 0.3 else list(range(n_all))
    given = rng.choice([None, None, Fraction(1, 2), Fraction(0), Fraction(1)])
    side = rng.choice(SIDES)
    units = sorted(set(codes))
    values, shares = [], set()
    for mask in range(2 ** len(units)):
        swap = [bool(mask >> units.index(codes[i]) & 1) for i in range(n_all)]
        value, lam = of_labels(
            exchanged(judge, swap), exchanged(people, [swap[i] for i in labelled]), labelled, codes, given
        )
        values.append(value)
        shares.add(lam)
    labels: list[list[Any]] = [[None] * n_all, [None] * n_all]
    for at, i in enumerate(labelled):
        labels[0][i], labels[1][i] = (numbers(people, k)[at] for k in (0, 1))
    options: dict[str, Any] = {"alternative": side, "clusters": list(map(str, codes)), "exact_fraction": True}
    if given is not None:
        options["correction"] = {"lambda": float(given)}
    answer = run_test(
        numbers(judge, 0), numbers(judge, 1), labels={"u": labels[0], "v": labels[1]}, **options
    )
    assert len(shares) == 1
    assert answer.p_value_fraction is not None
    assert answer.p_value_fraction.value == share(values, side)
    assert answer.statistic.observed == pytest.approx(float(values[0]), abs=1e-15)
    assert answer.statistic.u is not None
    assert answer.statistic.v is not None
    assert answer.statistic.u - answer.statistic.v == pytest.approx(float(values[0]), abs=1e-14)


CASES = 1_000 * int(os.environ.get("FUZZ_TIMES", "1"))


def test_every_swap_with_labels() -> None:
    rng = random.Random(7)
    for _ in range(CASES):
        judged(rng)


def solved(rows: list[list[Fraction]]) -> list[Fraction]:
    """Cramer's rule, of at most two equations; the right side is last."""
    if len(rows) == 1:
        return [rows[0][1] / rows[0][0]]
    (a, b, y), (c, d, z) = rows
    return [(y * d - b * z) / (a * d - b * c), (a * z - y * c) / (a * d - b * c)]


def of_covariates(given: Pairs, covariates: Sequence[Pairs], codes: Sequence[int]) -> Any:
    """(T, coefficients) by the normal equations of the clusters' sums; None where they are singular."""

    def sums(pairs: Pairs) -> list[Fraction]:
        return [
            sum((a - b for (a, b), own in zip(pairs, codes, strict=True) if own == code), Fraction(0))
            for code in sorted(set(codes))
        ]

    d, xs = sums(given), [sums(pairs) for pairs in covariates]
    varying = [x for x in xs if any(x)]
    dot = [
        [sum((a * b for a, b in zip(x, y, strict=True)), Fraction(0)) for y in [*varying, d]] for x in varying
    ]
    if len(varying) == 2 and dot[0][0] * dot[1][1] == dot[0][1] ** 2:
        return None
    found = iter(map(rounded, solved(dot)) if varying else ())
    chosen = [next(found) if any(x) else Fraction(0) for x in xs]
    left = [value - sum(b * x[at] for b, x in zip(chosen, xs, strict=True)) for at, value in enumerate(d)]
    return sum(left) / len(given), tuple(chosen)


def covaried(rng: random.Random) -> bool:
    n = rng.randint(2, 6)
    given, covariates = drawn(rng, n), [drawn(rng, n) for _ in range(rng.choice([1, 1, 2]))]
    codes = [rng.randrange(n) for _ in range(n)] if rng.random() < 0.3 else list(range(n))
    side, units = rng.choice(SIDES), sorted(set(codes))
    found = []
    for mask in range(2 ** len(units)):
        swap = [bool(mask >> units.index(codes[i]) & 1) for i in range(n)]
        found.append(
            of_covariates(exchanged(given, swap), [exchanged(one, swap) for one in covariates], codes)
        )
    named = {f"x{at}": {"u": numbers(one, 0), "v": numbers(one, 1)} for at, one in enumerate(covariates)}

    def asked() -> Any:
        options: dict[str, Any] = {"alternative": side, "clusters": list(map(str, codes))}
        return run_test(
            numbers(given, 0), numbers(given, 1), covariates=named, exact_fraction=True, **options
        )

    if None in found:
        assert set(found) == {None}
        with pytest.raises(InvalidTest) as refused:
            asked()
        assert [flaw.code for flaw in refused.value.errors] == ["collinear_covariates"]
        return False
    try:
        got = asked()
    except InvalidTest as refused:
        # Three digits of several coefficients do not describe covariates that are nearly collinear.
        if len(covariates) > 1 and "nearly follow" in str(refused):
            return False
        raise
    assert len({chosen for _, chosen in found}) == 1
    assert got.p_value_fraction.value == share([value for value, _ in found], side)
    assert got.statistic.observed == pytest.approx(float(found[0][0]), abs=1e-14)
    assert got.statistic.u - got.statistic.v == pytest.approx(float(found[0][0]), abs=1e-13)
    assert tuple(got.correction.coefficients.values()) == tuple(map(float, found[0][1]))
    return True


def test_every_swap_with_covariates() -> None:
    rng = random.Random(11)
    assert sum(covaried(rng) for _ in range(CASES)) > 0.9 * CASES


# Coefficients


def test_the_worked_example() -> None:
    judge = [1, 0, 1, 1], [0, 1, 0, 1]
    got = run_test(*judge, labels={"u": [1, 0, None, None], "v": [0, 0, None, None]})
    assert (got.statistic.observed, got.p_value) == (0.66675, 0.25)
    assert got.raw["correction"] == {
        "kind": "labels", "lambda": 0.667, "labelled": 2, "judge_difference": 0.25, "labelled_difference": 0.5,
        "coefficients": None, "difference": None,
    }  # fmt: skip
    got = run_test(*judge, covariates={"length": {"u": [5, 1, 4, 2], "v": [3, 2, 4, 2]}})
    # d = (1, -1, 1, 0), x = (2, -1, 0, 0): beta = 3 / 5, T = (1 - 0.6) / 4
    assert got.statistic.observed == 0.1
    assert got.raw["correction"] == {
        "kind": "covariates", "lambda": None, "labelled": None, "judge_difference": None, "labelled_difference": None,
        "coefficients": {"length": 0.6}, "difference": 0.25,
    }  # fmt: skip


def sample(rng: np.random.Generator, n_all: int, n: int) -> dict[str, Any]:
    """A judge that agrees with people on most items, and labels of some of these."""
    people = rng.random((2, n_all)) < 0.6
    judge = np.where(rng.random((2, n_all)) < 0.85, people, ~people).astype(int)
    labels = people.astype(float)
    labels[:, rng.permutation(n_all)[n:]] = np.nan
    return {"u": judge[0], "v": judge[1], "labels": {"u": labels[0], "v": labels[1]}}


def variance(dj: Sequence[Fraction], dh: Mapping[int, Fraction], lam: Fraction) -> Fraction:
    n_all, n = len(dj), len(dh)
    effects = [lam * d / n_all + ((dh[i] - lam * d) / n if i in dh else 0) for i, d in enumerate(dj)]
    return Fraction(sum(e * e for e in effects))


def test_lambda_is_the_formula_and_has_the_least_variance() -> None:
    rng = np.random.default_rng(5)
    inside = 0
    for _ in range(30):
        n_all = int(rng.integers(20, 80))
        n = int(rng.integers(5, n_all + 1))
        data = sample(rng, n_all, n)
        made = run_test(**data).correction
        assert made is not None
        assert made.lambda_ is not None
        dj = [Fraction(int(x)) for x in data["u"] - data["v"]]
        labels = zip(data["labels"]["u"].tolist(), data["labels"]["v"].tolist(), strict=True)
        dh = {i: Fraction(int(a - b)) for i, (a, b) in enumerate(labels) if not np.isnan(a)}
        # As in the definition: b = 1/n - 1/N.
        b = Fraction(1, n) - Fraction(1, n_all)
        above = b / n * sum(dh[i] * dj[i] for i in dh)
        below = sum(d * d for i, d in enumerate(dj) if i not in dh) / n_all**2 + b * b * sum(
            dj[i] ** 2 for i in dh
        )
        lam = above / below if below else Fraction(0)
        chosen = min(max(Fraction(round(lam * 1000), 1000), Fraction(0)), Fraction(1))
        assert made.lambda_ == float(chosen)
        if 0 < chosen < 1:
            inside += 1
            beside = (chosen - Fraction(1, 1000), chosen + Fraction(1, 1000))
            assert all(variance(dj, dh, other) >= variance(dj, dh, chosen) for other in beside)
    assert inside > 20


def test_coefficients_are_those_of_least_squares_through_the_origin() -> None:
    rng = np.random.default_rng(9)
    for k in (1, 2, 5):
        x = rng.normal(size=(2, 200, k)).round(3)
        noise = rng.normal(size=(2, 200)).round(3)
        y = (noise + x @ np.arange(1, k + 1)).round(6)
        named = {f"x{at}": {"u": x[0][:, at], "v": x[1][:, at]} for at in range(k)}
        made = run_test(y[0], y[1], covariates=named).correction
        assert made is not None
        assert made.coefficients is not None
        known = np.linalg.lstsq(x[0] - x[1], y[0] - y[1], rcond=None)[0]
        assert list(made.coefficients.values()) == pytest.approx(known, rel=5.1e-3)
        assert list(made.coefficients.values()) == [float(f"{value:.2e}") for value in known]


def test_lambda_one_over_all_labels_and_zero() -> None:
    data = sample(np.random.default_rng(1), 40, 40)
    people = {side: column.astype(int) for side, column in data["labels"].items()}
    alone = run_test(people["u"], people["v"])
    for share_of_judge in (0, 0.25, 1):
        got = run_test(**data, correction={"lambda": share_of_judge})
        # With a label of every item the judge cancels out.
        assert (got.p_value, got.statistic.observed) == (alone.p_value, alone.statistic.observed)


@pytest.mark.parametrize("kind", ["labels", "covariates"])
def test_exchanged_systems_mirror_the_sides(kind: str) -> None:
    data = sample(np.random.default_rng(3), 60, 20)
    if kind == "covariates":
        rng = np.random.default_rng(4)
        data = {
            "u": data["u"],
            "v": data["v"],
            "covariates": {"length": {side: rng.integers(5, 99, 60) for side in "uv"}},
        }
    turned = {
        "u": data["v"], "v": data["u"],
        **({"labels": {"u": data["labels"]["v"], "v": data["labels"]["u"]}} if kind == "labels" else
           {"covariates": {"length": {"u": data["covariates"]["length"]["v"], "v": data["covariates"]["length"]["u"]}}}),
    }  # fmt: skip
    sides: Any = (("greater", "less"), ("less", "greater"), ("two-sided", "two-sided"))
    for side, other in sides:
        one, mirrored = run_test(**data, alternative=side), run_test(**turned, alternative=other)
        assert one.p_value == mirrored.p_value
        assert one.statistic.observed == -mirrored.statistic.observed
        assert (one.statistic.u, one.statistic.v) == (mirrored.statistic.v, mirrored.statistic.u)
    assert (
        run_test(**data).raw["id"] == run_test(**data).raw["id"] != run_test(data["u"], data["v"]).raw["id"]
    )


def test_many_digits_stay_exact() -> None:
    rng = random.Random(2)
    u, v, h, g = ([rng.random() for _ in range(6)] for _ in range(4))
    labels = {"u": [*h[:4], None, None], "v": [*g[:4], None, None]}
    got = run_test(u, v, labels=labels, exact_fraction=True)
    pairs, people = (
        [(Fraction(a), Fraction(b)) for a, b in zip(x, y, strict=True)] for x, y in ((u, v), (h[:4], g[:4]))
    )
    values = []
    for mask in range(64):
        swap = [bool(mask >> i & 1) for i in range(6)]
        values.append(
            of_labels(exchanged(pairs, swap), exchanged(people, swap[:4]), range(4), range(6), None)[0]
        )
    assert got.p_value_fraction is not None
    assert got.p_value_fraction.value == share(values)


def test_more_than_ten_thousand_items_of_many_digits() -> None:
    rng = np.random.default_rng(8)
    u, v = rng.random((2, 10_001))
    labels = {side: np.where(np.arange(10_001) < 500, rng.random(10_001), np.nan) for side in "uv"}
    got = run_test(u, v, labels=labels)
    assert got.correction is not None
    d, h = u - v, (labels["u"] - labels["v"])[:500]
    lam = got.correction.lambda_
    assert lam is not None
    assert got.statistic.observed == pytest.approx(lam * d.mean() + (h - lam * d[:500]).mean(), abs=1e-12)


# Labels in many shapes


IDS = list("abcdefgh")
U, V = [1, 0, 1, 1, 0, 1, 1, 0], [0, 1, 0, 1, 0, 1, 0, 0]
LABELS: dict[str, list[float | None]] = {
    "u": [1, 0, None, None, 1, None, 1, None],
    "v": [0, 0, None, None, 1, None, 0, None],
}
LENGTHS = {"u": [10, 12, 9, 30, 22, 17, 40, 3], "v": [11, 7, 12, 28, 20, 12, 33, 9]}
BOTH: dict[str, Any] = {"labels": {"labels": LABELS}, "covariates": {"covariates": {"length": LENGTHS}}}
ORDER = [4, 2, 6, 0, 1, 5, 3, 7]
KNOWN = {name: run_test(U, V, **given) for name, given in BOTH.items()}


def by_id(values: Sequence[Any]) -> dict[str, Any]:
    return {key: value for key, value in zip(IDS, values, strict=True) if value is not None}


def test_labels_by_id_in_arrays_and_in_pandas() -> None:
    keyed = {side: dict(reversed(list(by_id(values).items()))) for side, values in LABELS.items()}
    series = {side: pd.Series(values, index=IDS).iloc[ORDER] for side, values in LABELS.items()}
    arrays = {side: np.array(values, dtype=float) for side, values in LABELS.items()}
    truths = {side: [None if x is None else bool(x) for x in values] for side, values in LABELS.items()}
    frame = pd.DataFrame({"u": U, "v": V}, index=IDS)
    answers = [
        run_test(U, V, labels=arrays),
        run_test(U, V, labels=truths),
        run_test(U, V, ids=IDS, labels=keyed),
        run_test(by_id(U), by_id(V), labels=keyed),
        run_test(frame["u"], frame["v"], labels=series),
        run_test(frame["u"].iloc[ORDER], frame["v"], labels=series),
    ]
    assert {(one.p_value, one.statistic.observed) for one in answers} == {
        (KNOWN["labels"].p_value, KNOWN["labels"].statistic.observed)
    }
    lengths = {side: by_id(values) for side, values in LENGTHS.items()}
    got = run_test(by_id(U), by_id(V), covariates={"length": lengths})
    assert got.correction == KNOWN["covariates"].correction


def test_items_without_a_score_leave_their_labels() -> None:
    u = [None if at in (1, 2) else score for at, score in enumerate(U)]
    kept = [at for at in range(8) if at not in (1, 2)]
    got = run_test(u, V, labels=LABELS, on_missing="drop")
    known = run_test(
        [U[at] for at in kept], [V[at] for at in kept],
        labels={side: [values[at] for at in kept] for side, values in LABELS.items()},
    )  # fmt: skip
    assert (got.p_value, got.correction) == (known.p_value, known.correction)


def test_several_people_and_several_runs_are_averaged_exactly() -> None:
    several = {
        "u": [[1, 1, 0], [0, 0, 0], None, None, [1, 1, 1], None, None, None],
        "v": [[0, 1, 0], [0, 1, 1], None, None, [1, 0, 1], None, None, None],
    }
    thirds = [(Fraction(2, 3), Fraction(1, 3)), (Fraction(0), Fraction(2, 3)), (Fraction(1), Fraction(2, 3))]
    pairs = [(Fraction(a), Fraction(b)) for a, b in zip(U, V, strict=True)]
    values = []
    for mask in range(256):
        swap = [bool(mask >> i & 1) for i in range(8)]
        people = exchanged(thirds, [swap[i] for i in (0, 1, 4)])
        values.append(of_labels(exchanged(pairs, swap), people, [0, 1, 4], range(8), None)[0])
    got = run_test(U, V, labels=several, exact_fraction=True)
    assert got.p_value_fraction is not None
    assert got.p_value_fraction.value == share(values)
    runs = run_test([[x, x] for x in U], [[x, x] for x in V], labels=LABELS)
    assert (runs.p_value, runs.correction) == (KNOWN["labels"].p_value, KNOWN["labels"].correction)


# Files


def cell(value: Any) -> str:
    return "" if value is None else str(value)


def wide(names: Mapping[str, str], order: Sequence[int] = range(8)) -> str:
    """A table whose columns of both systems are called as these, u and v in braces."""
    heads = [names[what].format(side) for what in ("score", "label", "length") for side in ("u", "v")]
    columns: list[Any] = [U, V, LABELS["u"], LABELS["v"], LENGTHS["u"], LENGTHS["v"]]
    rows = [",".join([IDS[at], *(cell(column[at]) for column in columns)]) for at in order]
    return "\n".join([",".join(["id", *heads]), *rows, ""])


def one_system(side: str, order: Sequence[int] = range(8), names: str = "id,score,human,length") -> str:
    score = {"u": U, "v": V}[side]
    rows = [
        ",".join([IDS[at], cell(score[at]), cell(LABELS[side][at]), cell(LENGTHS[side][at])]) for at in order
    ]
    return "\n".join([names, *rows, ""])


def lines(side: str) -> str:
    score = {"u": U, "v": V}[side]
    made = []
    for at in ORDER if side == "v" else range(8):
        label = LABELS[side][at]
        made.append(
            {
                "id": IDS[at],
                "score": score[at],
                **({} if label is None else {"human": label}),
                "length": LENGTHS[side][at],
            }
        )
    return "\n".join(map(json.dumps, made))


def long() -> str:
    rows = []
    for side in "uv":
        for line in one_system(side, ORDER).splitlines()[1:]:
            key, rest = line.split(",", 1)
            rows.append(f"{key},{side},{rest}")
    return "\n".join(["id,system,score,human,length", *rows, ""])


FILES: dict[str, tuple[Mapping[str, str], dict[str, str]]] = {
    "wide": ({"a.csv": wide({"score": "{}", "label": "human_{}", "length": "length_{}"})}, {}),
    "wide, other order": ({"a.csv": wide({"score": "{}", "label": "human_{}", "length": "length_{}"}, ORDER)}, {}),
    "wide, systems first": ({"a.csv": wide({"score": "judge_{}", "label": "{} human", "length": "{}-length"})}, {"system_u": "judge_u", "system_v": "judge_v"}),
    "wide, each named": (
        {"a.csv": wide({"score": "{}", "label": "gold{}", "length": "n{}"})},
        {"label_column": "goldu:goldv", "covariates": "nu : nv"},
    ),
    "two files": ({"a.csv": one_system("u"), "b.csv": one_system("v", ORDER)}, {}),
    "two files, two names": (
        {"a.csv": one_system("u"), "b.csv": one_system("v", ORDER, "id,score,annotator,chars")},
        {"label_column": "human:annotator", "covariates": "length:chars"},
    ),
    "long": ({"a.csv": long()}, {"system_u": "u", "system_v": "v"}),
    "lines": ({"a.jsonl": lines("u"), "b.jsonl": lines("v")}, {}),
}  # fmt: skip


@pytest.mark.parametrize("kind", ["labels", "covariates"])
@pytest.mark.parametrize("way", FILES)
def test_columns_of_files(way: str, kind: str, tmp_path: Path) -> None:
    content, more = FILES[way]
    for name, text in content.items():
        (tmp_path / name).write_text(text)
    usual = {"labels": ("label_column", "human"), "covariates": ("covariates", "length")}[kind]
    options = {name: value for name, value in more.items() if name.startswith("system_")}
    options[usual[0]] = more.get(usual[0], usual[1])
    typed = [word for name, value in options.items() for word in ("--" + name.replace("_", "-"), value)]
    found = answer("test", *(str(tmp_path / name) for name in content), *typed)
    known = KNOWN[kind].raw
    assert (found["p_value"], found["statistic"]["observed"]) == (
        known["p_value"],
        known["statistic"]["observed"],
    )
    if kind == "labels":
        assert found["correction"] == known["correction"]
        assert any(note.startswith("People judged 4 of 8 items") for note in found["reading"]["notes"])
    else:
        assert list(found["correction"]["coefficients"].values()) == list(
            known["correction"]["coefficients"].values()
        )


def test_tables_in_python_and_lambda_beside_files(tmp_path: Path) -> None:
    frame = pd.DataFrame({"id": IDS, "u": U, "v": V, "human_u": LABELS["u"], "human_v": LABELS["v"]})
    half = run_test(U, V, labels=LABELS, correction={"lambda": 0.5})
    assert run_test(frame, label_column="human").correction == KNOWN["labels"].correction
    assert run_test(frame, label_column="human", correction={"lambda": 0.5}).correction == half.correction
    (tmp_path / "a.csv").write_text(frame.to_csv(index=False))
    typed = answer("test", str(tmp_path / "a.csv"), "--label-column", "human", "-O", "correction=0.5")
    assert typed["correction"] == half.raw["correction"]
    with pytest.raises(InvalidData) as refused:
        run_test(frame, labels=LABELS)
    assert refused.value.pointer == "/labels"


def test_a_file_for_each_task(tmp_path: Path) -> None:
    for side in "uv":
        (tmp_path / side).mkdir()
        for task, rows in (("x", range(4)), ("y", range(4, 8))):
            (tmp_path / side / f"{task}.csv").write_text(one_system(side, rows))
    found = answer(
        "test", str(tmp_path / "u"), str(tmp_path / "v"), "--label-column", "human", "--clusters", "item"
    )
    assert found["correction"] == KNOWN["labels"].raw["correction"]
    assert found["p_value"] == KNOWN["labels"].p_value


# What is refused


def changed(side: str, at: int, value: Any) -> dict[str, list[Any]]:
    return {
        name: [value if (name, i) == (side, at) else one for i, one in enumerate(values)]
        for name, values in LABELS.items()
    }


REFUSED: dict[str, tuple[dict[str, Any], str, str]] = {
    "a label of u alone": ({"labels": changed("v", 4, None)}, "/labels/v/4", "labels_not_paired"),
    "a label of v alone": ({"labels": changed("u", 0, None)}, "/labels/u/0", "labels_not_paired"),
    "one label": ({"labels": {side: [1, *[None] * 7] for side in "uv"}}, "/labels", "too_few_labels"),
    "no labels": ({"labels": {side: [None] * 8 for side in "uv"}}, "/labels", "too_few_labels"),
    "too short": ({"labels": {"u": [1, 0], "v": LABELS["v"]}}, "/labels/u", "length_mismatch"),
    "a word": ({"labels": changed("u", 1, "good")}, "/labels/u/1", "not_a_number"),
    "a label of nothing": ({"ids": IDS, "labels": {"u": {"zz": 1}, "v": {"a": 1}}}, "/labels/u", "unmatched_ids"),
    "by id without ids": ({"labels": {side: by_id(values) for side, values in LABELS.items()}}, "/labels/u", "no_ids"),
    "lambda above one": ({"labels": LABELS, "correction": {"lambda": 1.5}}, "/correction/lambda", "out_of_range"),
    "lambda without labels": ({"correction": {"lambda": 0.5}}, "/correction", "redundant"),
    "both": ({"labels": LABELS, "covariates": {"length": LENGTHS}}, "/covariates", "redundant"),
    "signs": ({"labels": LABELS, "statistic": "sign"}, "/labels", "correction_needs_means"),
    "a median": ({"covariates": {"length": LENGTHS}, "statistic": "median_difference"}, "/covariates", "correction_needs_means"),
    "a sum": ({"labels": LABELS, "statistic": "sum_difference"}, "/labels", "correction_needs_means"),
    "weights": ({"labels": LABELS, "weights": [1] * 8}, "/weights", "no_weights"),
    "the bootstrap": ({"labels": LABELS, "test": "bootstrap"}, "/test", "correction_needs_permutation"),
    "e-values": ({"labels": LABELS, "sequential": {}}, "/sequential", "not_available"),
    "runs": ({"labels": LABELS, "exchange": "runs"}, "/exchange", "correction_needs_items"),
    "items and runs": ({"covariates": {"length": LENGTHS}, "exchange": "both"}, "/exchange", "correction_needs_items"),
    "bounds": ({"labels": LABELS, "on_missing": "bounds"}, "/on_missing", "no_missing_bounds"),
    "no covariate": ({"covariates": {"length": {"u": [*LENGTHS["u"][:7], None], "v": LENGTHS["v"]}}}, "/covariates/length/u/7", "not_a_number"),
    "a covariate of some": ({"ids": IDS, "covariates": {"n": {"u": {"a": 1}, "v": dict.fromkeys(IDS, 1)}}}, "/covariates/n/u/b", "missing_covariate"),
    "collinear": ({"covariates": {"length": LENGTHS, "twice": {side: [2 * x for x in own] for side, own in LENGTHS.items()}}}, "/covariates", "collinear_covariates"),
    "a tiny covariate": ({"covariates": {"a/b": {"u": [5e-324, *[0] * 7], "v": [0] * 8}}}, "/covariates/a~1b", "number_too_large"),
    "a huge covariate": ({"covariates": {"length": {"u": [1e308] * 8, "v": [-1e308] * 8}}}, "/covariates/length", "number_too_large"),
    "huge labels": ({"labels": {"u": [1e308] * 8, "v": [-1e308] * 8}}, "/labels", "number_too_large"),
    "many": ({"covariates": {str(at): LENGTHS for at in range(17)}}, "/covariates", "too_many_covariates"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_refusals(case: str) -> None:
    given, pointer, code = REFUSED[case]
    u: list[Any] = [None, *U[1:]] if case == "bounds" else U
    with pytest.raises(InvalidTest) as refused:
        run_test(u, V, **given)
    assert [(flaw.pointer, flaw.code) for flaw in refused.value.errors] == [(pointer, code)]


OF_FILES: dict[str, tuple[list[str], str]] = {
    "--label-column humane": (["human_u", "--label-column"], "there is no such column"),
    "--label-column human --covariates length": (["--covariates", "not both"], "both"),
    "-O correction=0.5": (["--label-column"], "lambda alone"),
    "--label-column human -O correction=2": (["0 to 1"], "lambda above one"),
    "--label-column human --statistic sign": (["--label-column", "mean_difference"], "signs"),
    "--covariates length --statistic sign": (["--covariates", "mean_difference"], "signs"),
}


@pytest.mark.parametrize("typed", OF_FILES)
def test_refusals_of_files(typed: str, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(wide({"score": "{}", "label": "human_{}", "length": "length_{}"}))
    refuses(OF_FILES[typed][0], "test", str(path), *typed.split())


def test_a_label_of_one_system_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("id,u,v,human_u,human_v\na,1,0,1,0\nb,0,0,,1\nc,0,1,1,1\n")
    with pytest.raises(InvalidTest) as refused:
        run_test(files(file=str(path), label_column="human"))
    assert [(flaw.pointer, flaw.code) for flaw in refused.value.errors] == [
        ("/files/file/line/3/4", "labels_not_paired")
    ]
    path.write_text("id,u,v,human_new,human_old,human_x\na,1,0,1,0,1\n")
    with pytest.raises(InvalidTest) as refused:
        run_test(files(file=str(path), label_column="human"))
    assert refused.value.errors[0].code == "choose_label_column"
    chosen = refused.value.errors[0].choices[0]
    assert chosen == {"label_column": "human_new:human_old"}


def test_a_judge_that_never_differs_beside_labels_of_many_digits() -> None:
    u = [0, 0, 0, 0, 1, 0, 1, 0]
    labels = {"u": [3.0000000000000004e-09, 2e-9, 5e-9, 1e-9], "v": [2e-9, 5e-9, 7.000000000000001e-09, 0]}
    alone = run_test(labels["u"], labels["v"])
    both = {side: [*own, *[None] * 4] for side, own in labels.items()}
    same = run_test(u, u, labels=both, correction={"lambda": 0.123})
    assert (same.p_value, same.statistic.observed) == (alone.p_value, alone.statistic.observed)


# Around the p-value


def test_few_labels_warn_and_intervals_are_left_out() -> None:
    rng = np.random.default_rng(6)
    few, enough = (run_test(**sample(rng, 200, n)) for n in (29, 30))
    assert [warning.code for warning in few.warnings] == ["few_labels"]
    assert enough.warnings == ()
    data = sample(rng, 200, 60)
    shown = run_test(**data, confidence_level=0.95)
    assert shown.confidence_interval is None
    assert [warning.code for warning in shown.warnings] == ["interval_not_available"]
    assert shown.effect_size is None
    assert shown.moved is not None
    assert run_test(**data, power=0.8).sensitivity is not None


def test_clusters_have_a_level_of_items_beside_them() -> None:
    got = run_test(U, V, labels=LABELS, clusters=list("aabbccdd"))
    assert got.item_level is not None
    assert got.item_level.p_value == KNOWN["labels"].p_value


def test_gates() -> None:
    data = sample(np.random.default_rng(12), 300, 100)
    worse = {**data, "u": data["u"] & (np.arange(300) % 3 != 0)}
    worse["labels"] = {
        "u": np.where(np.isnan(data["labels"]["u"]), np.nan, worse["u"]),
        "v": data["labels"]["v"],
    }
    request = scores(**worse)
    got = gate(request)
    assert got.verdict == "fail"
    assert got.metrics[0].decision.p_value == run_test(**worse, alternative="less").p_value
    assert gate([metric("judge", request), metric("raw", scores(worse["u"], worse["v"]))]).verdict == "fail"
    with pytest.raises(InvalidTest) as refused:
        gate(request, margin=0.1)
    assert refused.value.errors[0].code == "margin_not_available"
    with pytest.raises(InvalidTest) as refused:
        gate(scores(worse["u"], labels=worse["labels"]), against={"a": worse["v"]})
    assert refused.value.errors[0].code == "no_baseline"


def test_plans_power_and_reports() -> None:
    data = sample(np.random.default_rng(13), 100, 40)
    request = scores(**data, names=("new", "old"))
    assert (power(request, "power", effect=0.1, n=100).solution.power or 0.0) > 0.05
    with Client("http://test", transport=InProcess(Settings())) as client:
        assert client.plan(request).method
        said = str(client.report(request, "markdown"))
        assert "labels of 40 of 100 items" in said
        assert "Where the judge favours a system" in said
        assert 'corrected="lambda ' in str(client.report(request, "text"))
        assert "40 of 100 items labelled" in str(client.report(request, "html"))
        lengths = scores(U, V, covariates={"length": LENGTHS})
        assert "corrected for `length`" in str(client.report(lengths, "markdown"))
        (answer_of_batch,) = client.batch([request])
        assert answer_of_batch.raw["id"] == run_test(request).raw["id"]


def test_slices_are_corrected_each() -> None:
    labels = {side: [1, 0, None, None, 1, None, 1, None] for side in "uv"} | {
        "v": [0, 0, None, None, 1, None, 0, None]
    }
    got = run_test(U, V, labels=labels, slices=list("xxxxyyyy"))
    assert got.slices is not None
    alone = {
        name: run_test(U[cut], V[cut], labels={side: own[cut] for side, own in labels.items()}).p_value
        for name, cut in (("x", slice(4)), ("y", slice(4, 8)))
    }
    assert {one.slice: one.p_value for one in got.slices.items} == alone


def test_long_lists_of_integers_in_bodies() -> None:
    rng = np.random.default_rng(14)
    u, v, length_u, length_v = rng.integers(0, 100, (4, 2_000)).tolist()
    got = run_test(u, v, covariates={"length": {"u": length_u, "v": length_v}})
    arrays = run_test(
        np.array(u), np.array(v), covariates={"length": {"u": np.array(length_u), "v": length_v}}
    )
    assert got.raw["id"] == arrays.raw["id"]


def test_covariates_that_are_nearly_collinear_are_refused() -> None:
    chance = random.Random(3)
    chars = [[chance.randint(50, 900) for _ in range(200)] for _ in "uv"]
    u, v = ([int(chance.random() < share) for _ in range(200)] for share in (0.7, 0.5))
    for noise in (0.01, 3.0):
        tokens = [[round(n / 3.7 + chance.gauss(0, noise), 3) for n in side] for side in chars]
        covariates: Any = {
            "chars": {"u": chars[0], "v": chars[1]},
            "tokens": {"u": tokens[0], "v": tokens[1]},
        }
        if noise < 1:
            with pytest.raises(InvalidTest, match="nearly follow"):
                run_test(u, v, covariates=covariates)
            continue
        differences = np.array([np.array(one[0]) - np.array(one[1]) for one in (chars, tokens)]).T
        best = np.linalg.lstsq(differences, np.array(u) - np.array(v), rcond=None)[0]
        exact = float((np.array(u) - np.array(v) - differences @ best).mean())
        assert run_test(u, v, covariates=covariates).statistic.observed == pytest.approx(exact, abs=2e-3)
