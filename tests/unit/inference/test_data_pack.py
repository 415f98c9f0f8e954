"""The exact answers of the data pack, from files simple enough to be read here in a few lines."""

import csv
import gzip
import json
import math
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from exactperm.answers.test import TestRecord
from tests.unit.inference.run_shorthands import Numbers, score

pytestmark = pytest.mark.pack

PACK = Path(__file__).resolve().parents[4] / "shared" / "data"
CLOSE = 1e-12
# Made from chrF2 before it was printed with four decimals; from the file it cannot be had.
UNPRINTED = "segment chrF2 rounded to 1 decimal, x 10"
Columns = tuple[Numbers, Numbers, list[int] | None]


@cache
def expected_of(name: str) -> list[dict[str, Any]]:
    path = PACK / "expected" / f"{name}.json"
    return json.loads(path.read_text()).get("tests", []) if path.exists() else []


def entries(*names: str) -> list[Any]:
    return [
        pytest.param(name, entry, id=f"{name} {number}: {entry['a']} {entry['b']} by {entry['unit']}")
        for name in names
        for number, entry in enumerate(expected_of(name))
        if entry["statistic"] != UNPRINTED
    ]


@cache
def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as lines:
        return list(csv.DictReader(lines, delimiter="\t"))


def pair(a: dict[Any, Any], b: dict[Any, Any]) -> tuple[list[Any], list[Any]]:
    assert list(a) == list(b), "both files list the same items in the same order"
    return list(a.values()), list(b.values())


def eus_trivia(entry: dict[str, Any]) -> Columns:
    def correct(model: str) -> dict[int, int]:
        lines = (PACK / "llm_jsonl" / "eus_trivia" / f"{model}.jsonl").read_text().splitlines()
        items = [json.loads(line) for line in lines]
        wanted = entry.get("subset")
        return {item["id"]: int(item["correct"]) for item in items if wanted in {None, item["category"]}}

    return (*pair(correct(entry["a"]), correct(entry["b"])), None)


def trec(entry: dict[str, Any]) -> Columns:
    def per_topic(run: str) -> dict[str, float]:
        lines = (PACK / "trec" / "robust03" / f"eval.{run}.trec_eval.txt").read_text().splitlines()
        values = [[part.strip() for part in line.split("\t")] for line in lines]
        return {
            topic: float(value) for name, topic, value in values if name == entry["metric"] and topic != "all"
        }

    return (*pair(per_topic(entry["a"]), per_topic(entry["b"])), None)


def asr(entry: dict[str, Any]) -> Columns:
    wanted = entry["statistic"]

    def counts(system: str) -> dict[str, int]:
        found = rows(PACK / "asr" / "earnings21" / f"{system}.utterance-counts.tsv")
        errors = {row["utterance"]: int(row["errors"]) for row in found}
        return errors if wanted == "word errors" else {key: int(n == 0) for key, n in errors.items()}

    a, b = counts(entry["a"]), counts(entry["b"])
    calls = {call: index for index, call in enumerate(dict.fromkeys(key.split("-")[0] for key in a))}
    codes = [calls[key.split("-")[0]] for key in a] if entry["unit"] == "call" else None
    return (*pair(a, b), codes)


def ted(entry: dict[str, Any]) -> Columns:
    columns = {"TER": "ter_edits", "clipped unigram": "correct_1", "clipped 4-gram": "correct_4"}
    name = next(
        (column for start, column in columns.items() if entry["statistic"].startswith(start)), "chrf2"
    )

    def segments(system: str) -> dict[str, float]:
        found = rows(PACK / "mt" / "ted_slk_eng" / f"ted.{system}.segment-stats.tsv")
        if name == "chrf2":
            return {row["segment"]: round(100 * float(row[name])) / 100 for row in found}
        return {row["segment"]: int(row[name]) for row in found}

    return (*pair(segments(entry["a"]), segments(entry["b"])), None)


def mqm(entry: dict[str, Any]) -> Columns:
    lines = (PACK / "mqm" / "mqm_newstest2020_ende.avg_seg_scores.tsv").read_text().splitlines()[1:]

    def thirtieths(system: str) -> dict[str, int]:
        found = (line.split(" ") for line in lines)
        return {item: round(Decimal(value) * 30) for name, value, item in found if name == system}

    return (*pair(thirtieths(entry["a"]), thirtieths(entry["b"])), None)


@cache
def words(system: str) -> list[tuple[int, int, list[str]]]:
    """(document, sentence, columns) of every syntactic word of a CoNLL-U file."""
    found, document, sentence = [], -1, 0
    with gzip.open(PACK / "conllu" / f"en_ewt-ud-test.{system}.conllu.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            document += line.startswith("# newdoc")
            sentence += line == "\n"
            columns = line.split("\t")
            if columns[0].isdigit():  # neither a multiword token, 3-4, nor an empty node, 3.1
                found.append((document, sentence, columns))
    return found


def right(metric: str, gold: list[str], said: list[str]) -> bool:
    if metric.startswith("upos"):
        return gold[3] == said[3]
    label = metric == "uas" or gold[7].split(":")[0] == said[7].split(":")[0]
    return gold[6] == said[6] and label


def conllu(entry: dict[str, Any]) -> Columns:
    """0 or 1 for every word; sentences and documents are clusters of words."""
    gold, metric = words("gold"), entry["metric"]
    sides = [
        [int(right(metric, g[2], s[2])) for g, s in zip(gold, words(entry[side]), strict=True)]
        for side in "ab"
    ]
    unit = entry["unit"].split()[0]
    codes = [word[0] if unit == "document" else word[1] for word in gold]
    if metric == "upos sentence accuracy":
        sentences = range(codes[-1] + 1)
        wrong = [{code for code, ok in zip(codes, side, strict=True) if not ok} for side in sides]
        return [int(k not in wrong[0]) for k in sentences], [int(k not in wrong[1]) for k in sentences], None
    return sides[0], sides[1], None if unit == "word" else codes


READERS: dict[str, Callable[[dict[str, Any]], Columns]] = {
    "llm_eus_trivia": eus_trivia,
    "trec_robust03": trec,
    "asr_earnings21": asr,
    "mt_ted_slk_eng": ted,
    "mqm_newstest2020_ende": mqm,
    "conllu_en_ewt-ud": conllu,
}


def units_of(entry: dict[str, Any]) -> int:
    """The pack's integers are our scores times this; MQM is fed as the integers."""
    factor = entry["statistic"].rpartition(" x ")[2]
    return int(factor) if factor.isdigit() and not entry["statistic"].startswith("MQM") else 1


def check(record: TestRecord, entry: dict[str, Any]) -> None:
    told = entry["p_two_sided"]
    truth = Fraction(int(told["numerator"]), 2 ** told["denominator_power_of_two"])
    assert record.method.exact
    low, high = record.p_value_bounds
    assert Fraction(low) <= truth <= Fraction(high)
    with localcontext() as context:
        context.prec = 40
        digits = Decimal(told["decimal"])
        off = abs(Decimal(record.log10_p_value) - digits.log10())
        assert off <= Decimal("4e-13") + abs(digits.log10()) * Decimal(2) ** -51
    if told["float"] > 0.0:
        assert abs(Fraction(record.p_value) / truth - 1) <= CLOSE
        assert abs(Fraction(record.p_value) / Fraction(told["decimal"]) - 1) <= CLOSE
    else:
        assert record.p_value == math.ulp(0.0)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "entry"), entries(*READERS))
@pytest.mark.parametrize("method", ["auto", "fft"])
def test_real_systems_get_the_exact_p_value_of_the_pack(
    name: str, entry: dict[str, Any], method: str
) -> None:
    u, v, codes = READERS[name](entry)
    assert (len(u) if codes is None else len(set(codes))) == entry["n_units"]
    record = score(u, v, "sum_difference", codes=codes, method=method)
    assert record.statistic.observed == entry["observed_sum_difference"] / units_of(entry)
    assert record.items.nonzero == entry["n_nonzero_differences"]
    check(record, entry)


@pytest.mark.parametrize(("name", "entry"), entries("asr_earnings21", "mqm_newstest2020_ende"))
def test_the_shift_algorithm_gives_the_same_on_real_counts(name: str, entry: dict[str, Any]) -> None:
    u, v, codes = READERS[name](entry)
    check(score(u, v, codes=codes, method="dp"), entry)


@pytest.mark.parametrize(("name", "entry"), entries("llm_eus_trivia"))
def test_mcnemars_test_of_right_and_wrong_answers_gives_the_same(name: str, entry: dict[str, Any]) -> None:
    u, v, _ = READERS[name](entry)
    check(score(u, v, "sign"), entry)


@pytest.mark.parametrize(("name", "entry"), entries("llm_eus_trivia", "trec_robust03"))
def test_the_fraction_is_that_of_the_pack_in_lowest_terms(name: str, entry: dict[str, Any]) -> None:
    if entry["sum_abs_difference"] > 20_000:
        return  # seconds of big-integer polynomials
    u, v, _ = READERS[name](entry)
    fraction: Any = score(u, v, exact_fraction=True).p_value_fraction
    told = entry["p_two_sided"]
    assert (str(fraction.numerator), fraction.log2_denominator) == (
        told["numerator"],
        told["denominator_power_of_two"],
    )


@pytest.mark.parametrize(
    ("name", "entry"), entries("llm_eus_trivia", "trec_robust03", "mqm_newstest2020_ende")
)
def test_a_constant_and_a_factor_do_not_change_p_of_real_scores(name: str, entry: dict[str, Any]) -> None:
    u, v, _ = READERS[name](entry)
    plain = score(u, v)
    scaled = score([round(float(x) * 10**4) + 12345 for x in u], [round(float(x) * 10**4) + 12345 for x in v])
    assert (plain.p_value, plain.log10_p_value) == (scaled.p_value, scaled.log10_p_value)
