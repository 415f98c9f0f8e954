"""The examples beside the OpenAPI document, and in it: every one works and has the p-value that counting gives."""

import itertools
import json
import math
import re
import shlex
import statistics
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import jsonschema_rs
import numpy as np
import pytest
import sacrebleu
from scipy import stats
from sklearn import metrics

from exactperm.inputs.formats.catalogue import FORMATS
from exactperm.statistics.catalogue import STATISTICS as CATALOGUE
from openapi.make_examples import STATISTICS, WAYS, rendered
from tests.api.conftest import answer_to, error_of
from tests.enumeration import by_resamples, by_swaps, counted_sums, share, signed_sums

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "openapi" / "examples"
PACK = ROOT.parent / "shared" / "data"
MEDIA = {".json": "application/json", ".csv": "text/csv"}


@dataclass(frozen=True)
class Exact:
    """p = numerator / 2**denominator, `decimal` the same to 21 digits; n items and U's and V's scores."""

    decimal: str
    numerator: int
    denominator: int
    n: int
    u: float | None
    v: float | None


EWT_WORDS, TRIVIA_ITEMS = 25_094, 1_715
BY_SENTENCE = Exact(  # expected/conllu_en_ewt-ud.json: upos, perceptron against crf, sentence
    "1.79192898707173166777e-3",
    110799628945936234413216034940202086337448536630181759691423246531705872586607974106492514648761219731904913916806442924737842351396160196163713647866780237919577934662925,
    574, 2_077, 23_554 / EWT_WORDS, 23_662 / EWT_WORDS,
)  # fmt: skip
BY_DOCUMENT = Exact(  # the same, document (newdoc id)
    "9.04722637740472007213e-3", 27729668161153965609446595671657399389718458485462057,
    181, 2_077, 23_554 / EWT_WORDS, 23_662 / EWT_WORDS,
)  # fmt: skip
TRIVIA = Exact(  # expected/llm_eus_trivia.json: gpt-4-0613 against gpt-4-0125-preview, all categories
    "6.92004975175739162128e-6",
    61996580188429748506134946303969088540666642165466166308118147658809314344342663744902719060713581,
    342, TRIVIA_ITEMS, 1_170 / TRIVIA_ITEMS, 1_254 / TRIVIA_ITEMS,
)  # fmt: skip
AVERAGE_PRECISION = Exact(  # expected/trec_robust03.json: map, aplrob03a against uic0301
    "6.79081963899802954998e-4", 215209664785437506493298445, 98, 100, 0.299820, 0.240353,
)  # fmt: skip

ANSWERS: dict[str, Exact] = {
    "effects-small.json": Exact("0.5", 1, 1, 4, None, None),  # 4 of the 8 signed sums of 3, 1, 2 reach 4
    "predictions-small.json": Exact("0.21875", 7, 5, 8, 7 / 8, 3 / 8),  # 5 wins, 1 loss: 2 (1 + 6) / 2^6
    "scores-cs478.json": Exact("0.0625", 1, 4, 5, 0.866, 0.82),  # 5 wins of 5: 2 / 2^5
    "predictions-ewt-upos-by-sentence.json": BY_SENTENCE,
    "predictions-ewt-upos-by-document.json": BY_DOCUMENT,
    "scores-eus-trivia.json": TRIVIA,
    "scores-eus-trivia.csv": TRIVIA,
    "scores-robust03-map.json": AVERAGE_PRECISION,
}


def posted(service: Any, name: str, **more: Any) -> dict[str, Any]:
    """The answer to an example, with more options than it has itself."""
    content, media = (EXAMPLES / name).read_bytes(), MEDIA[Path(name).suffix]
    url = f"/v1/tests/{name.partition('-')[0]}"
    if media == "text/csv":
        url += "?" + "&".join(f"{option}={json.dumps(value)}" for option, value in more.items())
    elif more:
        content = json.dumps({**json.loads(content), **more}).encode()
    return answer_to(service.body(url, content, media))


def test_every_example_has_an_expected_answer_here() -> None:
    assert {path.name for path in EXAMPLES.iterdir() if path.suffix in MEDIA} == set(ANSWERS)


@pytest.mark.parametrize("name", ANSWERS)
def test_an_example_has_its_exact_p_value_and_a_certificate_that_holds(service: Any, name: str) -> None:
    said, exact = posted(service, name), ANSWERS[name]
    p = float(exact.decimal)
    assert said["method"]["exact"] is True
    assert said["p_value"] == pytest.approx(p, rel=1e-12, abs=0)
    assert said["log10_p_value"] == pytest.approx(math.log10(p), rel=0, abs=1e-12)
    assert said["p_value_bounds"][0] <= p <= said["p_value_bounds"][1]
    assert said["items"]["n"] == exact.n
    assert (said["statistic"]["u"], said["statistic"]["v"]) == (exact.u, exact.v)


@pytest.mark.parametrize("name", ANSWERS)
def test_the_exact_fraction_of_an_example_is_the_pack_s_digit_for_digit(service: Any, name: str) -> None:
    said, exact = posted(service, name, exact_fraction=True), ANSWERS[name]
    assert said["p_value_fraction"] == {
        "numerator": str(exact.numerator),
        "log2_denominator": exact.denominator,
    }
    assert exact.numerator / 2**exact.denominator == float(exact.decimal)


def test_documents_swap_as_a_whole(service: Any) -> None:
    said = posted(service, "predictions-ewt-upos-by-document.json")
    assert said["items"]["clusters"] == 316
    assert said["items"]["nonzero"] == 184


def test_the_table_and_the_json_are_the_same_test(service: Any) -> None:
    table = posted(service, "scores-eus-trivia.csv")
    keyed = posted(service, "scores-eus-trivia.json")
    for field in ("p_value", "p_value_bounds", "statistic", "null", "method"):
        assert table[field] == keyed[field]
    assert keyed["pairing"] == {"matched": TRIVIA_ITEMS, "only_u": 0, "only_v": 0}
    assert table["pairing"] is None


def test_every_example_has_its_source_and_terms_beside_it() -> None:
    notice = (EXAMPLES / "NOTICE.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `([^`]+)` \|.*\| ([\d.e-]+) \|[^|]+\|$", notice, flags=re.MULTILINE))
    assert set(rows) == set(ANSWERS)
    for name, said in rows.items():
        assert float(said) == float(f"{float(ANSWERS[name].decimal):.6g}"), name
    for needed in ("15d613d8447b3478787d4c278730a1e48a945efb", "CC BY-SA 4.0", "a25de15716d483eef2783778ec258e1d3b1c8be7",
                   "Copyright (c) 2024 HiTZ zentroa", "8a896def007e3d657eb29f820ee3de98e2f32691",
                   "Copyright (c) 2022, João Palotti"):  # fmt: skip
        assert needed in notice


@pytest.mark.parametrize("name", [name for name in ANSWERS if name.endswith(".json")])
def test_an_example_matches_its_schema_in_the_document(name: str) -> None:
    document = json.loads((ROOT / "openapi" / "openapi.json").read_text(encoding="utf-8"))
    operation = document["paths"][f"/v1/tests/{name.partition('-')[0]}"]["post"]
    schema = operation["requestBody"]["content"]["application/json"]["schema"]
    fits = jsonschema_rs.validator_for({"components": document["components"], **schema}).is_valid
    body = json.loads((EXAMPLES / name).read_bytes())
    assert fits(body)
    # What the service refuses must not match, or the check above checks nothing.
    assert not fits({**body, "no such field": 1})
    assert not fits({**body, "statistic": {"name": "no such statistic"}})
    column = "stay" if "stay" in body else "u"
    assert not fits({**body, column: [None]})
    assert not fits({key: value for key, value in body.items() if key != column})


@pytest.mark.pack
def test_the_examples_match_the_pack() -> None:
    from openapi.make_examples import examples

    made = examples(PACK)
    assert set(made) == set(ANSWERS)
    for name, text in made.items():
        assert (EXAMPLES / name).read_text(encoding="utf-8") == text, name


SMALL = Path(__file__).resolve().parents[2] / "openapi" / "examples" / "small"


def _way(service: Any, label: str) -> dict[str, Any]:
    body = json.loads((SMALL / f"{label}.json").read_bytes())
    assert (SMALL / f"{label}.json").read_text(encoding="utf-8") == rendered(WAYS[f"{label}.json"])
    return answer_to(service.post(f"/v1/tests/{label.partition('-')[0]}", body))


def test_the_example_of_tuples_is_f1_of_the_paper_s_four_sums(service: Any) -> None:
    body = WAYS["effects-tuples.json"]
    pairs = list(zip(body["stay"], body["swap"], strict=True))

    def t(chosen: Iterable[list[int]]) -> Fraction:
        a, b, c, d = (Fraction(sum(column)) for column in zip(*chosen, strict=True))
        return a / (a + b / 2) - c / (c + d / 2)

    wanted = float(share([t(chosen) for chosen in itertools.product(*pairs)]))
    assert _way(service, "effects-tuples")["p_value"] == pytest.approx(wanted, rel=1e-12)


def test_the_examples_of_repeated_samples_and_of_thirds_are_averaged_exactly(service: Any) -> None:
    body = WAYS["scores-repeated.json"]
    means = [[Fraction(sum(item), len(item)) for item in body[name]] for name in "uv"]
    effects = [u - v for u, v in zip(*means, strict=True)]
    assert _way(service, "scores-repeated")["p_value"] == pytest.approx(
        float(share(signed_sums(effects))), rel=1e-12
    )
    thirds = [[Fraction(round(3 * score), 3) for score in WAYS["scores-unit.json"][name]] for name in "uv"]
    effects = [u - v for u, v in zip(*thirds, strict=True)]
    assert _way(service, "scores-unit")["p_value"] == pytest.approx(
        float(share(signed_sums(effects))), rel=1e-12
    )


def test_the_example_of_bounds_holds_the_p_value_of_all_swaps(service: Any) -> None:
    body = WAYS["scores-bounds.json"]
    effects = [Fraction(u) - Fraction(v) for u, v in zip(body["u"], body["v"], strict=True)]
    said = _way(service, "scores-bounds")
    low, high = said["p_value_bounds"]
    assert low <= share(signed_sums(effects)) <= high
    assert (said["method"]["name"], said["method"]["exact"]) == ("bounds", False)


def test_the_example_of_the_bootstrap_is_that_of_all_resamples(service: Any) -> None:
    body = WAYS["scores-bootstrap.json"]
    effects = [u - v for u, v in zip(body["u"], body["v"], strict=True)]
    wanted = float(by_resamples(effects, sum))
    assert _way(service, "scores-bootstrap")["p_value"] == pytest.approx(wanted, rel=1e-10)


def test_the_example_of_clusters_has_clustered_and_item_level_p_values(service: Any) -> None:
    body = WAYS["scores-clusters.json"]
    effects = [Fraction(u) - Fraction(v) for u, v in zip(body["u"], body["v"], strict=True)]
    said = _way(service, "scores-clusters")
    pairs = [sum(effects[start : start + 2], Fraction(0)) for start in (0, 2, 4)]
    assert said["p_value"] == pytest.approx(float(share(signed_sums(pairs))), rel=1e-12)
    assert said["item_level"]["p_value"] == pytest.approx(float(share(signed_sums(effects))), rel=1e-12)


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
    """The words of each sentence whose UPOS equals gold."""

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
    """The contribution of each item of a format's example to the statistic, as an integer."""
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
    return answer_to(service.request("POST", "/v1/tests/files", files=files, data=fields))


@pytest.mark.parametrize("name", FORMATS)
def test_a_line_of_files_in_the_guide_is_read_as_it_stands(service: Any, name: str) -> None:
    said = posted_form(service, form_lines()[name])
    assert said["reading"]["format"] == name
    assert said["reading"]["notes"]
    assert said["method"]["exact"] is True
    if name in FILES:
        assert said["p_value"] == FILES[name]


OPENAPI = Path(__file__).parents[2] / "openapi"
# What is served is what this file says (test_discovery.py).
DOCUMENT = json.loads((OPENAPI / "openapi.json").read_text(encoding="utf-8"))
FILE = OPENAPI / "examples" / "files" / "scores.csv"
# Jobs are off unless there is a database for them (tests/process/test_jobs.py).
OF_JOBS = ("/v1/jobs", "/v1/results")
OPERATIONS = [
    (path, method)
    for path, methods in DOCUMENT["paths"].items()
    for method in methods
    if not path.startswith(OF_JOBS)
]
BODIES = [
    (path, media, name)
    for path, method in OPERATIONS
    for media, content in DOCUMENT["paths"][path][method].get("requestBody", {}).get("content", {}).items()
    for name in content.get("examples", {})
]
FORMS = [path for path, method in OPERATIONS if "multipart/form-data" in
         DOCUMENT["paths"][path][method].get("requestBody", {}).get("content", {})]  # fmt: skip


def filled_in(schema: Any) -> Any:
    """The default of a page for a parameter or a field, if any."""
    return schema.get("default", schema.get("example", schema.get("examples", [None])[0]))


def query_of(path: str, method: str) -> dict[str, Any]:
    parameters = DOCUMENT["paths"][path][method].get("parameters", [])
    found = {one["name"]: filled_in({**one, **one["schema"]}) for one in parameters if one["in"] == "query"}
    return {name: value for name, value in found.items() if value is not None}


def test_no_parameter_and_no_field_has_a_default_that_a_page_would_send() -> None:
    for path, method in OPERATIONS:
        assert query_of(path, method) == {}
    for path in FORMS:
        fields = DOCUMENT["paths"][path]["post"]["requestBody"]["content"]["multipart/form-data"]["schema"]
        assert all(filled_in(field) is None for field in fields["properties"].values())
        assert {field["type"] for field in fields["properties"].values() if isinstance(field["type"], str)} <= {
            "string", "integer", "number", "boolean", "array",
        }  # fmt: skip


@pytest.mark.parametrize(("path", "media", "name"), BODIES)
def test_every_example_is_answered(path: str, media: str, name: str, service: Any) -> None:
    value = DOCUMENT["paths"][path]["post"]["requestBody"]["content"][media]["examples"][name]["value"]
    content = value if isinstance(value, str) else json.dumps(value)
    response = service.body(path, content.encode(), media, params=query_of(path, "post"))
    assert response.status_code in ({200, 409} if path == "/v1/gate" else {200}), response.text
    assert response.headers["content-type"] == "application/json"


def test_another_type_of_body_starts_with_an_example_and_not_with_the_word_string() -> None:
    """Swagger UI uses the schema if the reader chooses another type than the first."""
    for path, media, _ in BODIES:
        content = DOCUMENT["paths"][path]["post"]["requestBody"]["content"][media]
        if content["schema"].get("type") == "string":
            assert content["schema"]["example"] == next(iter(content["examples"].values()))["value"]


def test_every_operation_with_a_body_has_an_example() -> None:
    posts = {path for path, method in OPERATIONS if method == "post"}
    assert {path for path, *_ in BODIES} | set(FORMS) == posts
    assert len(BODIES) > 10


@pytest.mark.parametrize("path", FORMS)
def test_a_form_only_needs_its_file(path: str, service: Any) -> None:
    files = {"file": (FILE.name, FILE.read_bytes())}
    data = {"statistic": "contrast", "weights": '{"u": 1, "v": -1}'} if path.endswith("/systems") else {}
    response = service.request("POST", path, files=files, data=data, params=query_of(path, "post"))
    assert response.status_code == 200, response.text


@pytest.mark.parametrize(("path", "method"), [one for one in OPERATIONS if one[1] == "get"])
def test_get_operations_need_no_parameters(path: str, method: str, service: Any) -> None:
    assert service.get(path, params=query_of(path, method)).status_code == 200


DEFAULTS = {"statistic": "mean_difference", "alternative": "two-sided", "method": "auto", "test": "permutation",
            "on_missing": "error", "pmf": "summary", "samples": "20000", "seed": "0", "precision": "0.001", "alpha": "0.05",
            "exact_fraction": "false", "name_u": "U", "name_v": "V", "theme": "light", "format": "json"}  # fmt: skip


@pytest.mark.parametrize("name", DEFAULTS)
def test_a_default_in_the_query_harms_no_body(name: str, service: Any) -> None:
    body = {"u": [1, 0, 1], "v": [0, 0, 1]}
    wanted = service.post("/v1/tests/scores", body).json()["id"]
    response = service.post("/v1/tests/scores", body, params={name: DEFAULTS[name]})
    assert response.json()["id"] == wanted
    assert service.post("/v1/tests/scores", body, params=DEFAULTS).json()["id"] == wanted


@pytest.mark.parametrize(
    ("query", "body", "pointer"),
    [
        ("alpha=0.01", {}, "/?alpha"),
        ("alpha=0.05", {"alpha": 0.01}, "/?alpha"),
        ("statistic=sign", {}, "/?statistic"),
        ("zero_method=pratt", {"statistic": {"name": "signed_rank"}}, "/?zero_method"),
        ("name_u=x", {"names": {"u": "y"}}, "/?name_u"),
        ("unit=1/3", {}, "/?unit"),
    ],
)
def test_a_query_that_contradicts_a_body_is_refused(
    query: str, body: dict[str, Any], pointer: str, service: Any
) -> None:
    assert error_of(service.post(f"/v1/tests/scores?{query}", {"u": [1, 0], "v": [0, 0], **body})) == (
        pointer,
        "given_twice",
    )


def test_a_query_that_agrees_with_a_body_is_harmless(service: Any) -> None:
    body = {
        "u": [1, 0],
        "v": [0, 0],
        "alpha": 0.01,
        "statistic": {"name": "signed_rank", "zero_method": "pratt"},
    }
    query = "alpha=0.01&statistic=signed_rank&zero_method=pratt"
    assert service.post(f"/v1/tests/scores?{query}", body).status_code == 200
    assert service.post("/v1/tests/scores?theme=dark", {"u": [1], "v": [0]}).status_code == 422
