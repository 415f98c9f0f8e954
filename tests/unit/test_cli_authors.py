"""The command line of the paper's authors: their files and options, against brute force over all swaps."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from exactperm.cli.commands import cli

ACC = [(8, 6), (3, 5), (7, 7)]
F1 = [(8, 2, 6, 1), (3, 3, 5, 2), (7, 1, 7, 1)]
Rows = Sequence[tuple[int, ...]]


def write(tmp_path: Path, rows: Rows, delim: str = ",", name: str = "data.csv") -> str:
    path = tmp_path / name
    path.write_text("".join(delim.join(map(str, row)) + "\n" for row in rows))
    return str(path)


def answer(*arguments: str) -> dict[str, Any]:
    result = CliRunner().invoke(cli, ["test", *arguments, "-f", "json"])
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def f1(tp: int, incorrect: int) -> Fraction:
    return Fraction(2 * tp, 2 * tp + incorrect) if tp + incorrect else Fraction(0)


def acc_statistic(rows: Rows) -> Fraction:
    return abs(Fraction(sum(u - v for u, v in rows), len(rows)))


def f1_statistic(rows: Rows) -> Fraction:
    tp_u, in_u, tp_v, in_v = (sum(column) for column in zip(*rows, strict=True))
    return abs(f1(tp_u, in_u) - f1(tp_v, in_v))


def brute_force(rows: Rows, statistic: Callable[[Rows], Fraction]) -> float:
    """The share of all 2^N swaps whose statistic is at least the observed one; in fractions."""
    half = len(rows[0]) // 2
    observed = statistic(rows)
    swaps = product((False, True), repeat=len(rows))
    hits = sum(
        statistic([row[half:] + row[:half] if swap else row for row, swap in zip(rows, swapped, strict=True)])
        >= observed
        for swapped in swaps
    )
    return float(hits / 2 ** len(rows))


def test_the_examples_of_their_readme(tmp_path: Path) -> None:
    assert answer(write(tmp_path, ACC), "--metric", "acc")["p_value"] == 1.0
    assert answer(write(tmp_path, F1), "--metric", "F1")["p_value"] == 0.5


@pytest.mark.parametrize("seed", range(5))
def test_accuracy_is_that_of_all_swaps(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    rows = [(draw.randint(0, 9), draw.randint(0, 9)) for _ in range(10)]
    found = answer(write(tmp_path, rows), "--metric", "acc")
    assert found["p_value"] == pytest.approx(brute_force(rows, acc_statistic), rel=1e-12)
    assert found["statistic"]["observed"] == sum(u - v for u, v in rows)


@pytest.mark.parametrize("seed", range(5))
def test_f1_is_that_of_all_swaps(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    rows = [tuple(draw.randint(0, 3) for _ in range(4)) for _ in range(9)]
    found = answer(write(tmp_path, rows), "--metric", "F1")
    assert found["p_value"] == pytest.approx(brute_force(rows, f1_statistic), rel=1e-12)
    assert abs(found["statistic"]["observed"]) == pytest.approx(float(f1_statistic(rows)), rel=1e-12)


def test_a_tab_may_be_said_or_found_and_a_metric_may_be_small(tmp_path: Path) -> None:
    path = write(tmp_path, F1, "\t", "data.tsv")
    said = answer(path, "--metric", "f1", "--delim", "tab")
    assert (said["p_value"], said["reading"]["format"]) == (0.5, "tsv")
    assert answer("--input", path, "--metric", "F1")["p_value"] == 0.5
    assert answer(write(tmp_path, ACC), "--metric", "acc", "--delim", ",")["p_value"] == 1.0


def test_mc_samples_and_is_never_nought(tmp_path: Path) -> None:
    rows = [(1, 0)] * 30
    found = answer(write(tmp_path, rows), "--metric", "acc", "--MC", "1000")
    sampled = found["method"]["monte_carlo"]
    assert (found["method"]["name"], sampled["samples"], sampled["exceedances"]) == ("monte_carlo", 1000, 0)
    assert found["p_value"] == pytest.approx(1 / 1001)
    low, high = found["p_value_bounds"]
    assert low <= 2 / 2**30 <= high
    assert answer(write(tmp_path, rows), "--metric", "acc", "--MC", "1000")["id"] == found["id"]


def test_nothing_is_deleted_where_theirs_answers_nought(tmp_path: Path) -> None:
    """Their perm_test_polymul says 0.0 for 40 items that one system wins: it deletes probabilities below 1e-8."""
    found = answer(write(tmp_path, [(1, 0)] * 40), "--metric", "acc", "--MC", "0")
    assert found["p_value"] == pytest.approx(2 / 2**40, rel=1e-12)


def test_no_difference_is_one_where_theirs_fails(tmp_path: Path) -> None:
    assert answer(write(tmp_path, [(3, 3)] * 5), "--metric", "acc")["p_value"] == 1.0


def test_f1_of_equal_systems_and_of_nothing_found_is_one(tmp_path: Path) -> None:
    assert answer(write(tmp_path, [(0, 2, 0, 2)] * 4), "--metric", "F1")["p_value"] == 1.0


@pytest.mark.parametrize(
    ("rows", "options", "said"),
    [
        (ACC, ["--metric", "F1"], "needs 4 columns, tp_u,incorrect_u,tp_v,incorrect_v"),
        (F1, ["--metric", "acc"], "needs 2 columns, correct_u,correct_v"),
        (ACC, ["--metric", "acc", "--statistic", "sign"], "say the same thing"),
        (ACC, ["--metric", "acc", "--MC", "10", "--samples", "10"], "say the same thing"),
        (ACC, ["--metric", "acc", "--delim", "tab", "--delimiter", "comma"], "say the same thing"),
        (ACC, ["--metric", "acc", "--MC", "-1"], "Invalid value for '--MC'"),
        (ACC, ["--metric", "bleu"], "no header"),
    ],
    ids=["two for F1", "four for acc", "statistic", "samples", "delimiter", "minus one", "another"],
)
def test_what_cannot_be_is_refused(tmp_path: Path, rows: Rows, options: list[str], said: str) -> None:
    result = CliRunner().invoke(cli, ["test", write(tmp_path, rows), *options])
    assert (result.exit_code, result.stdout) == (2, "")
    assert said in result.stderr


def test_the_metric_acc_of_a_harness_is_not_mistaken_for_theirs(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    path.write_text("id,u,v\n1,1,0\n2,1,1\n")
    result = CliRunner().invoke(cli, ["test", str(path), "--metric", "acc"])
    assert "sum_difference" not in result.output
