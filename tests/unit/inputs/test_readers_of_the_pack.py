"""Test readers on the pack's files beyond the p-values of tests/api/test_data_pack.py: single measures and logs."""

import json
from fractions import Fraction
from typing import Any

import pytest

from .reading import PACK, columns, read_files, refuses

pytestmark = pytest.mark.pack


def expected(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((PACK / "expected" / f"{name}.json").read_text())
    return found


@pytest.mark.slow
@pytest.mark.parametrize("measure", ["Rprec", "bpref", "recip_rank", "P_5", "P_30", "ndcg", "ndcg_cut_10"])
def test_trec_runs_rounded_are_what_trec_eval_prints(measure: str) -> None:
    about = expected("trec_robust03")
    runs = ("aplrob03a", "uic0301")
    names = dict(zip(("u", "v", "qrels"), (*runs, "qrels"), strict=True))
    files = {role: PACK / about["files"][name] for role, name in names.items()}
    found = columns(read_files("trec", files, measure=measure, decimals=4))
    for column, run in zip(found, runs, strict=True):
        exact = sum(Fraction(repr(value)) for value in column) * 10_000
        assert exact == about["runs"][run]["sum_of_printed_values_x10000"][measure]


@pytest.mark.parametrize("measure", ["map", "ndcg", "recip_rank", "num_rel_ret", "P_10"])
def test_trec_evals_own_run_gives_its_own_output(measure: str) -> None:
    folder = PACK / "trec" / "trec_eval_test"
    printed = dict.fromkeys("uv", folder / "out.test.aq")
    runs = {**dict.fromkeys("uv", folder / "results.test"), "qrels": folder / "qrels.test"}
    wanted = columns(read_files("auto", printed, measure=measure))
    assert columns(read_files("auto", runs, measure=measure, decimals=4)) == wanted


def test_inspect() -> None:
    for name, wanted in expected("inspect")["files"].items():
        files = dict.fromkeys("uv", PACK / "inspect" / name)
        if wanted["status"] != "success":
            refuses("incomplete_log", None, "auto", files)
        if not wanted["metrics"]:
            refuses("unscored", None, "auto", files)
            continue
        scorer = next(iter(wanted["metrics"]))
        u, _ = columns(read_files("auto", files, allow_incomplete=True))
        assert [score[scorer] for score in wanted["scores"]].count("C") == sum(u)
        assert len(u) == wanted["samples"]
