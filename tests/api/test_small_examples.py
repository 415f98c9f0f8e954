"""The examples of every statistic and every file format, against brute force over all swaps."""

from __future__ import annotations

import itertools
import json
import math
import re
import shlex
import statistics
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats
from sklearn import metrics

from exactperm.inputs.formats.catalogue import FORMATS
from exactperm.statistics.catalogue import STATISTICS as CATALOGUE
from openapi.make_examples import STATISTICS, rendered
from tests.oracles import by_swaps, counted_sums

ROOT = Path(__file__).resolve().parents[2]
SMALL = ROOT / "openapi" / "examples" / "small"
FILES_PAGE = (ROOT / "docs" / "files.md").read_text(encoding="utf-8")

Score = Callable[[list[Any], list[Any]], float]  # of a system's items and gold


def _counts(f: Callable[..., float]) -> Score:
    return lambda items, _: f(**{name: sum(item[name] for item in items) for name in items[0]})


def _fbeta(beta: float) -> Callable[..., float]:
    weight = beta * beta
    return lambda tp, fp, fn: (1 + weight) * tp / ((1 + weight) * tp + weight * fn + fp)


def _classes(of: Callable[..., float], **options: Any) -> Score:
    return lambda said, gold: of(gold, said, **options)


def _confused(of: Callable[..., float]) -> Score:
    """The score of labels that have these counts."""

    def score(tp: int, fp: int, fn: int, tn: int) -> float:
        gold, said = [1] * tp + [0] * fp + [1] * fn + [0] * tn, [1] * (tp + fp) + [0] * (fn + tn)
        return of(gold, said)

    return _counts(score)


def _g_mean(gold: list[int], said: list[int]) -> float:
    """The geometric mean of both recalls: Kubat & Matwin 1997."""
    return math.sqrt(math.prod(metrics.recall_score(gold, said, average=None)))


def _flat(items: list[list[str]]) -> list[str]:
    return [tag for item in items for tag in item]


def _spans(items: list[list[str]]) -> set[tuple[int, int, int, str]]:
    """Entities of well-formed IOB2 tags."""
    found = set()
    for number, tags in enumerate(items):
        for start, tag in enumerate(tags):
            if tag.startswith("B-"):
                end = start + 1
                while end < len(tags) and tags[end] == "I-" + tag[2:]:
                    end += 1
                found.add((number, start, end, tag[2:]))
    return found


def _entities(f: Callable[[int, int, int], float]) -> Score:
    def score(said: list[Any], gold: list[Any]) -> float:
        found, true = _spans(said), _spans(gold)
        return f(len(found & true), len(found), len(true))

    return score


def _corpus(name: str) -> Score:
    def score(said: list[Any], gold: list[Any]) -> float:
        sacrebleu = pytest.importorskip("sacrebleu")
        return float(getattr(sacrebleu, f"corpus_{name}")(said, [gold]).score)

    return score


def _bleu(sums: dict[str, int]) -> float:
    """Papineni et al. 2002, equation 3, none of the orders without a match."""
    precisions = [sums[f"correct_{n}"] / sums[f"total_{n}"] for n in range(1, 5)]
    brevity = min(1.0, math.exp(1 - sums["ref_len"] / sums["sys_len"]))
    return 100 * brevity * math.prod(precisions) ** 0.25


def _chrf(sums: dict[str, int]) -> float:
    """Popovic 2015: the F-score, beta = 2, of the precisions and recalls averaged over the orders."""
    precision = sum(sums[f"match_{n}"] / sums[f"hyp_{n}"] for n in (1, 2)) / 2
    recall = sum(sums[f"match_{n}"] / sums[f"ref_{n}"] for n in (1, 2)) / 2
    return 100 * 5 * precision * recall / (4 * precision + recall)


def _concordance(said: list[Any], times: list[Any]) -> float:
    """Harrell et al. 1982, with the events of the example."""
    events = STATISTICS["predictions-concordance.json"]["event"]
    pairs = [
        (said[i], said[j])
        for i, j in itertools.permutations(range(len(said)), 2)
        if events[j] and (times[i] > times[j] or (times[i] == times[j] and not events[i]))
    ]
    return sum(1.0 if a > b else 0.5 if a == b else 0.0 for a, b in pairs) / len(pairs)


def _signs(said: list[Any], gold: list[Any]) -> list[tuple[int, int]]:
    """The order of each pair of items by a system and by gold; swaps make ties."""

    def sign(x: list[Any], i: int, j: int) -> int:
        return int(x[i] > x[j]) - int(x[i] < x[j])

    pairs = itertools.combinations(range(len(said)), 2)
    return [(sign(said, i, j), sign(gold, i, j)) for i, j in pairs]


def _kendall(said: list[Any], gold: list[Any]) -> float:
    signs = _signs(said, gold)
    return sum(one * other for one, other in signs) / len(signs)


def _agreement(said: list[Any], gold: list[Any]) -> float:
    signs = _signs(said, gold)
    return sum(one == other for one, other in signs) / len(signs)


def _spearman(said: list[Any], gold: list[Any]) -> float:
    """Products of mid-ranks, over the value that they have without ties."""
    n, ranks = len(said), zip(stats.rankdata(said), stats.rankdata(gold), strict=True)
    return sum(float((x - (n + 1) / 2) * (g - (n + 1) / 2)) for x, g in ranks) * 12 / (n**3 - n)


ORACLES: dict[str, Score] = {
    "scores-mean-difference": lambda items, _: sum(items) / len(items),
    "scores-sum-difference": lambda items, _: sum(items),
    "scores-median-difference": lambda items, _: statistics.median(items),
    "scores-quantile-difference": lambda items, _: float(np.quantile(items, 0.9)),
    "counts-f1": _counts(_fbeta(1)),
    "counts-fbeta": _counts(_fbeta(2)),
    "counts-precision": _counts(lambda tp, fp, fn: tp / (tp + fp)),
    "counts-recall": _counts(lambda tp, fp, fn: tp / (tp + fn)),
    "counts-jaccard": _counts(lambda tp, fp, fn: tp / (tp + fp + fn)),
    "counts-expression": _counts(lambda tp, fp, fn: tp / (tp + fp + fn)),
    "counts-ratio": _counts(lambda errors, words: errors / words),
    "counts-accuracy": _counts(lambda correct, total: correct / total),
    "counts-mcc": _confused(metrics.matthews_corrcoef),
    "counts-kappa": _confused(metrics.cohen_kappa_score),
    "counts-balanced-accuracy": _confused(metrics.balanced_accuracy_score),
    "counts-g-mean": _confused(_g_mean),
    "counts-specificity": _counts(lambda tn, fp, **_: tn / (tn + fp)),
    "counts-npv": _counts(lambda tn, fn, **_: tn / (tn + fn)),
    "counts-ter": _counts(lambda edits, ref_len: 100 * edits / ref_len),
    "counts-bleu": _counts(lambda **sums: _bleu(sums)),
    "counts-chrf": _counts(lambda **sums: _chrf(sums)),
    "predictions-accuracy": _classes(metrics.accuracy_score),
    "predictions-f1": _classes(metrics.f1_score, zero_division=0),
    "predictions-f1-macro": _classes(metrics.f1_score, average="macro", zero_division=0),
    "predictions-f1-micro": _classes(metrics.f1_score, average="micro", zero_division=0),
    "predictions-precision": _classes(metrics.precision_score, zero_division=0),
    "predictions-recall": _classes(metrics.recall_score, zero_division=0),
    "predictions-mcc": _classes(metrics.matthews_corrcoef),
    "predictions-kappa": _classes(metrics.cohen_kappa_score),
    "predictions-balanced-accuracy": _classes(metrics.balanced_accuracy_score),
    "predictions-g-mean": _classes(_g_mean),
    "predictions-specificity": _classes(metrics.recall_score, pos_label=0),
    "predictions-npv": _classes(metrics.precision_score, pos_label=0),
    "predictions-f1-weighted": _classes(metrics.f1_score, average="weighted"),
    "predictions-exact-match": lambda said, gold: sum(a == b for a, b in zip(said, gold, strict=True)),
    "predictions-token-accuracy": lambda said, gold: metrics.accuracy_score(_flat(gold), _flat(said)),
    "predictions-span-f1": _entities(lambda tp, said, true: 2 * tp / (said + true)),
    "predictions-span-precision": _entities(lambda tp, said, true: tp / said),
    "predictions-span-recall": _entities(lambda tp, said, true: tp / true),
    "predictions-auc": lambda said, gold: metrics.roc_auc_score(gold, said),
    "predictions-concordance": _concordance,
    "predictions-kendall": _kendall,
    "predictions-pairwise-accuracy": _agreement,
    "predictions-spearman": _spearman,
    "predictions-bleu": _corpus("bleu"),
    "predictions-chrf": _corpus("chrf"),
    "predictions-ter": _corpus("ter"),
}
# Three wins and two losses. Ranks of |d| are 2.5 (four times) and 5: of +-1 +-1 +-1 +-1 +-2, 24 of 32 reach 2.
COUNTED_BY_HAND = {"scores-sign": 1.0, "scores-signed-rank": 0.75}


def _items(column: Any) -> list[Any]:
    if isinstance(column, list):
        return column
    return [dict(zip(column, row, strict=True)) for row in zip(*column.values(), strict=True)]


def swapped(body: dict[str, Any], score: Score) -> float:
    """The two-sided p-value by all 2^n swaps."""
    gold = body.get("gold", [])
    return float(by_swaps(_items(body["u"]), _items(body["v"]), lambda items: score(items, gold), near=1e-9))


@pytest.mark.parametrize("label", [name.removesuffix(".json") for name in STATISTICS])
def test_a_small_example_has_the_p_value_of_all_swaps(service: Any, label: str) -> None:
    body = json.loads((SMALL / f"{label}.json").read_bytes())
    assert (SMALL / f"{label}.json").read_text(encoding="utf-8") == rendered(STATISTICS[f"{label}.json"])
    wanted = COUNTED_BY_HAND[label] if label in COUNTED_BY_HAND else swapped(body, ORACLES[label])
    response = service.post(f"/v1/tests/{label.partition('-')[0]}", {**body, "method": "enumeration"})
    assert response.status_code == 200, response.text
    assert response.json()["p_value"] == pytest.approx(wanted, rel=1e-12)


def test_there_is_an_example_of_every_statistic_that_there_is() -> None:
    shown = {(name.partition("-")[0], body["statistic"]["name"]) for name, body in STATISTICS.items()}
    wanted = {
        (entry.kind if entry.kind != "segments" else "predictions", entry.name)
        for kind in CATALOGUE.values()
        for entry in kind
        if entry.kind != "effects"
    }
    assert wanted <= shown


# Exact p-values of the lines in docs/files.md; wins and losses of what each holds, or all swaps of its counts.
FILES = {
    "csv": 0.25, "tsv": 0.25, "jsonl": 0.25, "evalsig": 0.25, "every-eval-ever": 0.25,  # 3 wins of 3: 2 / 2^3
    "lm-eval": 0.0625,  # 0 wins, 5 losses: 2 / 2^5
    "inspect": 0.5,  # 2 losses: 2 / 2^2
    "promptfoo": 1.0,  # one difference
}  # fmt: skip


DATA = ROOT / "tests" / "data"


def _column(name: str, key: int, value: int, scale: int = 1, only: str = "") -> dict[str, int]:
    """One column of a file of plain lines by another, for the lines that begin as they should."""
    rows = [line.split() for line in (DATA / name).read_text(encoding="utf-8").splitlines()]
    kept = [row for row in rows if row and (row[0] == only if only else row[0][0].isdigit())]
    return {row[key]: round(float(row[value]) * scale) for row in kept if row[key] != "all"}


def _right_tags(name: str) -> list[int]:
    """Words of each sentence whose UPOS is gold's."""

    def tags(file: str) -> list[list[str]]:
        blocks = (DATA / "conllu" / file).read_text(encoding="utf-8").strip().split("\n\n")
        rows = [[line.split("\t") for line in block.split("\n") if line[0].isdigit()] for block in blocks]
        return [[row[3] for row in block if row[0].isdigit()] for block in rows]

    pairs = zip(tags(name), tags("gold.conllu"), strict=True)
    return [sum(a == b for a, b in zip(said, gold, strict=True)) for said, gold in pairs]


def _less(u: dict[str, int], v: dict[str, int]) -> list[int]:
    return [u[key] - v[key] for key in u]


def _times(name: str) -> list[int]:
    """Sums of five times each, as multiples of the finest decimal place."""
    keys = {"pytest-benchmark": ("benchmarks", "stats", "data"), "hyperfine": ("results", None, "times")}
    rows, inner, times = keys[name]
    sums = []
    for role in "uv":
        document = json.loads((DATA / "benchmarks" / f"{name.partition('-')[0]}_{role}.json").read_bytes())
        found = [row if inner is None else row[inner] for row in document[rows]]
        sums.append([sum(Fraction(repr(time)) for time in row[times]) for row in found])
    exact = [a - b for a, b in zip(*sums, strict=True)]
    common = math.lcm(*(value.denominator for value in exact))
    return [int(value * common) for value in exact]


def differences(name: str) -> list[int]:
    """What each item of a format's example adds to the statistic, as an integer."""
    if name in {"pytest-benchmark", "hyperfine"}:
        return _times(name)
    if name == "asr":
        return _less(_column("asr/google.tsv", 0, 7), _column("asr/amazon.tsv", 0, 7))
    if name == "mt-stats":
        return _less(_column("mt/sys1.tsv", 0, 12), _column("mt/sys2.tsv", 0, 12))
    if name == "trec":
        u, v = (f"trec/eval.{run}.txt" for run in ("aplrob03a", "uic0301"))
        return _less(_column(u, 1, 2, 10_000, "map"), _column(v, 1, 2, 10_000, "map"))
    if name == "mqm":
        u, v = "OPPO.1535", "Human-A.0"
        file = "mqm/newstest2020_ende.tsv"
        return _less(_column(file, 2, 1, 1_000_000, u), _column(file, 2, 1, 1_000_000, v))
    crf, perceptron = _right_tags("crf.conllu"), _right_tags("perceptron.conllu")
    return [a - b for a, b in zip(crf, perceptron, strict=True)]


@pytest.mark.parametrize(
    "name", ["asr", "mt-stats", "trec", "mqm", "conllu", "pytest-benchmark", "hyperfine"]
)
def test_files_have_the_p_value_of_all_signed_sums(service: Any, name: str) -> None:
    moved = differences(name)
    ways = counted_sums(moved, [-size for size in moved])
    reached = sum(count for total, count in ways.items() if abs(total) >= abs(sum(moved)))
    said = posted_form(service, form_lines()[name])
    assert said["items"]["n"] == len(moved)
    assert said["p_value"] == pytest.approx(reached / 2 ** len(moved), rel=1e-12)


def form_lines() -> dict[str, str]:
    return dict(re.findall(r"^\| `([\w-]+)` \| .* \| `(-F .*)` \|$", FILES_PAGE, flags=re.MULTILINE))


def test_every_format_has_its_line_in_the_guide() -> None:
    assert set(form_lines()) == set(FORMATS)


def posted_form(service: Any, line: str) -> dict[str, Any]:
    """The answer to `-F name=value -F role=@file ...`."""
    files, fields = {}, {}
    for pair in shlex.split(line)[1::2]:
        key, _, value = pair.partition("=")
        if value.startswith("@"):
            files[key] = (value[1:].rpartition("/")[2], (ROOT / value[1:]).read_bytes())
        else:
            fields[key] = value
    response = service.request("POST", "/v1/tests/files", files=files, data=fields)
    assert response.status_code == 200, response.text
    said: dict[str, Any] = response.json()
    return said


@pytest.mark.parametrize("name", FORMATS)
def test_a_line_of_files_in_the_guide_is_read_as_it_stands(service: Any, name: str) -> None:
    if name == "mt":
        pytest.importorskip("sacrebleu")
    said = posted_form(service, form_lines()[name])
    assert said["reading"]["format"] == name
    assert said["reading"]["notes"]
    assert said["method"]["exact"] is True
    if name in FILES:
        assert said["p_value"] == FILES[name]
