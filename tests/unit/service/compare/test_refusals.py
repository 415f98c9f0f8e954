"""What is not a comparison is refused with a pointer, and a sentence that says what to do."""

from __future__ import annotations

from typing import Any

import pytest

from exactperm.errors import BodyTooLarge, InvalidTest
from exactperm.settings import Settings
from tests.unit.service.compare.shorthands import flaws, parsed

A, B, C = [1, 0, 1], [1, 1, 0], [0, 0, 0]
TWO = {"A": A, "B": B}
THREE = {**TWO, "C": C}
COUNTS = {"A": {"tp": [1], "fp": [0]}, "B": {"tp": [1], "fp": [1]}}
LABELS = {"A": ["x", "y"], "B": ["x", "x"]}


def scores(**members: Any) -> dict[str, Any]:
    return {"kind": "scores", "systems": TWO, **members}


def datasets(**boards: Any) -> dict[str, Any]:
    return {"kind": "scores", "datasets": boards}


MATRIX: dict[str, Any] = {"kind": "scores", "systems": ["A", "B"], "scores": [[1, 0], [0, 1]]}

REFUSED: dict[str, tuple[Any, str, str]] = {
    "no kind": ({"systems": TWO}, "/kind", "missing"),
    "other kind": (scores(kind="effects"), "/kind", "literal_error"),
    "unknown field": (scores(u=[1]), "/u", "unknown_field"),
    "no systems": ({"kind": "scores"}, "/systems", "missing"),
    "systems are a number": (scores(systems=3), "/systems", "systems"),
    "one system": (scores(systems={"A": A}), "/systems", "too_few_systems"),
    "no system": (scores(systems={}), "/systems", "too_few_systems"),
    "a column that is a number": (scores(systems={"A": A, "B": 1}), "/systems/B", "not_a_column"),
    "a boolean": (scores(systems={"A": A, "B": [1, True, 0]}), "/systems/B/1", "not_a_number"),
    "null": (scores(systems={"A": A, "B": [1, None, 0]}), "/systems/B/1", "not_a_number"),
    "NaN": (scores(systems={"A": A, "B": [1, float("nan"), 0]}), "/systems/B/1", "not_finite"),
    "NaN by id": (
        scores(systems={"A": {"q": 1}, "B": {"q": float("inf")}}), "/systems/B/q", "not_finite"
    ),
    "a name to escape": (scores(systems={"A": A, "a/b~c": [1, "x", 0]}), "/systems/a~1b~0c/1", "not_a_number"),
    "no items": (scores(systems={"A": [], "B": []}), "/systems/A", "no_items"),
    "other lengths": (scores(systems={"A": A, "B": [1]}), "/systems/B", "length_mismatch"),
    "lists and objects": (scores(systems={"A": A, "B": {"q": 1}}), "/systems/A", "mixed_forms"),
    "ids that do not match": (
        scores(systems={"A": {"p": 1, "q": 1}, "B": {"q": 1}}), "/systems/B", "unmatched_ids"
    ),
    "no common id": (
        scores(systems={"A": {"p": 1}, "B": {"q": 1}}, on_missing="complete"), "/systems/A", "no_common_ids"
    ),
    "ids twice": (scores(systems={"A": {"p": 1}, "B": {"p": 1}}, ids=["p"]), "/ids", "redundant_ids"),
    "repeated ids": (scores(ids=["p", "q", "p"]), "/ids/2", "duplicate_id"),
    "too few clusters": (scores(clusters=["k"]), "/clusters", "length_mismatch"),
    "clusters by id without ids": (scores(clusters={"p": 1}), "/clusters", "no_ids"),
    "clusters without an id": (
        scores(systems={"A": {"p": 1}, "B": {"p": 1}}, clusters={"q": 1}), "/clusters", "unmatched_ids"
    ),
    "clusters by order": (
        scores(systems={"A": {"p": 1}, "B": {"p": 1}}, clusters=["k"]), "/clusters", "mixed_forms"
    ),
    "empty name": (scores(systems={"": A, "B": B}), "/systems/", "empty_name"),
    "blank name": (scores(systems={" \u200b": A, "B": B}), "/systems/ \u200b", "empty_name"),
    "long name": (scores(systems={"A" * 201: A, "B": B}), "/systems/" + "A" * 40, "name_too_long"),
    "blanks around a name": (scores(systems={"A": A, "A ": B}), "/systems/A ", "similar_names"),
    "another Unicode form": (
        scores(systems={"\u00e9": A, "e\u0301": B}), "/systems/\u00e9", "similar_names"
    ),
    "scores without names": (scores(scores=[[1, 0]]), "/scores", "redundant"),
    "names without scores": (scores(systems=["A", "B"]), "/scores", "missing"),
    "a name twice": ({**MATRIX, "systems": ["A", "A"]}, "/systems/1", "duplicate_name"),
    "one column": ({**MATRIX, "systems": ["A"], "scores": [[1]]}, "/systems", "too_few_systems"),
    "an empty name of a column": ({**MATRIX, "systems": ["A", ""]}, "/systems/1", "empty_name"),
    "a ragged matrix": ({**MATRIX, "scores": [[1, 0], [1]]}, "/scores/1", "ragged"),
    "too wide a matrix": ({**MATRIX, "scores": [[1, 0, 1]]}, "/scores/0", "ragged"),
    "a row that is a number": ({**MATRIX, "scores": [[1, 0], 3]}, "/scores/1", "not_a_row"),
    "no rows": ({**MATRIX, "scores": []}, "/scores", "no_items"),
    "a text in a matrix": ({**MATRIX, "scores": [[1, 0], [1, "0"]]}, "/scores/1/1", "not_a_number"),
    "a boolean in a matrix": ({**MATRIX, "scores": [[1, 0], [True, 0]]}, "/scores/1/0", "not_a_number"),
    "NaN in a matrix": ({**MATRIX, "scores": [[1, float("nan")]]}, "/scores/0/1", "not_finite"),
    "a matrix of counts": ({**MATRIX, "kind": "counts"}, "/systems", "matrix_of_scores_only"),
    "no baseline": (scores(compare="baseline"), "/baseline", "missing"),
    "an unknown baseline": (scores(compare="baseline", baseline="D"), "/baseline", "unknown_system"),
    "a superfluous baseline": (scores(baseline="A"), "/baseline", "superfluous"),
    "a baseline beside pairs": (scores(compare=[["A", "B"]], baseline="A"), "/baseline", "superfluous"),
    "an unknown design": (scores(compare="some"), "/compare", "compare"),
    "no pairs": (scores(compare=[]), "/compare", "no_pairs"),
    "three of a pair": (scores(compare=[["A", "B", "C"]]), "/compare", "compare"),
    "an unknown name in a pair": (scores(compare=[["A", "B"], ["A", "D"]]), "/compare/1/1", "unknown_system"),
    "a pair with itself": (scores(compare=[["A", "A"]]), "/compare/0", "same_system"),
    "a pair twice": (scores(compare=[["A", "B"], ["A", "B"]]), "/compare/1", "duplicate_pair"),
    "a pair and its reverse": (scores(compare=[["A", "B"], ["B", "A"]]), "/compare/1", "duplicate_pair"),
    "all pairs, one-sided": (scores(alternative="greater"), "/alternative", "one_sided_all_pairs"),
    "sampled tests of holm_discrete": (
        scores(adjust="holm_discrete", method="monte_carlo"), "/adjust", "adjust_needs_exact_tests"
    ),
    "an unknown adjustment": (scores(adjust="tukey"), "/adjust", "literal_error"),
    "alpha of 0": (scores(alpha=0), "/alpha", "greater_than"),
    "confidence of 1": (scores(confidence_level=1), "/confidence_level", "less_than"),
    "confidence in per cent": (scores(confidence_level=95), "/confidence_level", "less_than"),
    "family of one data set": (scores(family="all"), "/family", "superfluous"),
    "aggregate of one data set": (scores(aggregate="macro"), "/aggregate", "superfluous"),
    "combine of one data set": (scores(combine="fisher"), "/combine", "superfluous"),
    "combine without an overall board": (
        {**datasets(d={"systems": TWO}), "aggregate": None, "combine": "fisher"}, "/combine", "superfluous"
    ),
    "gold of scores": (scores(gold=["x", "y", "x"]), "/gold", "superfluous"),
    "predictions without gold": ({"kind": "predictions", "systems": LABELS}, "/gold", "missing"),
    "gold of another length": (
        {"kind": "predictions", "systems": LABELS, "gold": ["x"]}, "/gold", "length_mismatch"
    ),
    "labels of another type": (
        {"kind": "predictions", "systems": {"A": ["1"], "B": [1]}, "gold": [1]}, "/systems/A", "other_label_type"
    ),
    "lists for labels": (
        {"kind": "predictions", "systems": {"A": [["x"], ["y"]], "B": ["x", "y"]}, "gold": ["x", "y"]},
        "/systems/A", "mixed_forms",
    ),
    "numbers for texts": (
        {"kind": "predictions", "systems": {"A": ["a"], "B": [1]}, "gold": ["a"], "statistic": {"name": "chrf"}},
        "/systems/B/0", "not_a_text",
    ),
    "no references": (
        {"kind": "predictions", "systems": {"A": [["a"]], "B": [["b"]]}, "gold": [[]], "statistic": {"name": "bleu"}},
        "/systems/A/0", "not_a_text",
    ),
    "other counts": (
        {"kind": "counts", "systems": {**COUNTS, "C": {"tp": [1], "fn": [0]}}, "statistic": {"name": "precision"}},
        "/systems/C", "different_counts",
    ),
    "a negative count": (
        {"kind": "counts", "systems": {**COUNTS, "C": {"tp": [-1], "fp": [0]}}}, "/systems/C/tp/0", "not_a_count"
    ),
    "a statistic of another kind": (scores(statistic={"name": "f1"}), "/statistic/name", "literal_error"),
    "a statistic that is a number": (scores(statistic=5), "/statistic", "model_type"),
    "decimals of counts": ({"kind": "counts", "systems": COUNTS, "decimals": 2}, "/decimals", "superfluous"),
    "an unknown direction": (
        {"kind": "counts", "systems": COUNTS, "statistic": {"name": "ratio", "numerator": "tp", "denominator": "fp"}},
        "/higher_is_better", "choose_direction",
    ),
    "systems named after a metric of unknown direction": (
        scores(systems={"wer old": A, "loss": B}), "/higher_is_better", "choose_direction"
    ),
    "too many samples": (scores(samples=10**9, method="monte_carlo"), "/samples", "too_many_samples"),
    "systems and datasets": (scores(datasets={"d": {"systems": TWO}}), "/systems", "redundant"),
    "no datasets": ({"kind": "scores", "datasets": {}}, "/datasets", "datasets"),
    "gold beside datasets": ({**datasets(d={"systems": TWO}), "gold": ["x"]}, "/gold", "superfluous"),
    "ids beside datasets": ({**datasets(d={"systems": TWO}), "ids": ["x"]}, "/ids", "superfluous"),
    "a data set without systems": (datasets(d={}), "/datasets/d/systems", "missing"),
    "a data set with one system": (
        datasets(d={"systems": {"A": A}}), "/datasets/d/systems", "too_few_systems"
    ),
    "an unknown field of a data set": (
        datasets(d={"systems": TWO, "weight": [1]}), "/datasets/d/weight", "unknown_field"
    ),
    "a flaw in a data set": (
        datasets(**{"a/b": {"systems": {"A": A, "B": [1, "x", 0]}}}), "/datasets/a~1b/systems/B/1", "not_a_number"
    ),
    "other lengths in a data set": (
        datasets(d={"systems": {"A": A, "B": [1]}}), "/datasets/d/systems/B", "length_mismatch"
    ),
    "a data set without a name": (datasets(**{" ": {"systems": TWO}}), "/datasets/ ", "empty_name"),
    "data sets without common systems": (
        datasets(d={"systems": TWO}, e={"systems": {"A": A, "C": C}}) | {"aggregate": "macro"},
        "/datasets", "no_common_systems",
    ),
    "a name written in two ways": (
        datasets(d={"systems": THREE}, e={"systems": {**TWO, "C ": C}}), "/datasets/e/systems/C ", "similar_names"
    ),
    "a baseline that is not everywhere": (
        {**datasets(d={"systems": THREE}, e={"systems": TWO}), "compare": "baseline", "baseline": "C"},
        "/baseline", "system_not_everywhere",
    ),
    "a pair that is not everywhere": (
        {**datasets(d={"systems": THREE}, e={"systems": TWO}), "compare": [["A", "C"]]},
        "/compare/0/1", "system_not_everywhere",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_refused_with_a_pointer(case: str) -> None:
    request, pointer, code = REFUSED[case]
    with pytest.raises(InvalidTest) as refused:
        parsed(request)
    assert flaws(refused.value)[0] == (pointer, code)
    assert refused.value.detail.endswith((".", ")", "?"))


def test_two_keys_of_one_name_are_refused() -> None:
    from exactperm.service.compare.parse import parse_compare
    from tests.unit.service.compare.shorthands import job

    with pytest.raises(InvalidTest, match='"A" occurs twice'):
        parse_compare(job(), b'{"kind": "scores", "systems": {"A": [1], "A": [0], "B": [1]}}')
    many = b", ".join(b'"s%d": {"q": 1}' % index for index in range(100))
    with pytest.raises(InvalidTest, match='"s7" occurs twice'):
        parse_compare(job(), b'{"kind": "scores", "systems": {"s7": {"q": 1}, ' + many + b"}}")
    inner = b", ".join(b'"s%d": {"q": 1, "r": 0}' % index for index in range(100))
    with pytest.raises(InvalidTest, match='"q" occurs twice'):
        parse_compare(job(), b'{"kind": "scores", "systems": {"x": {"q": 1, "q": 1}, ' + inner + b"}}")


def test_limits() -> None:
    settings = Settings(max_systems=2, max_comparisons=2, max_items=3)
    with pytest.raises(InvalidTest) as many:
        parsed(scores(systems=THREE), settings)
    assert flaws(many.value) == [("/systems", "too_many_systems")]
    settings = Settings(max_comparisons=2, max_items=3)
    with pytest.raises(InvalidTest) as pairs:
        parsed(scores(systems=THREE), settings)
    assert flaws(pairs.value) == [("/compare", "too_many_comparisons")]
    parsed(scores(systems=THREE, compare="baseline", baseline="A"), settings)
    with pytest.raises(InvalidTest) as overall:  # one of each data set, and the overall board's
        parsed(datasets(d={"systems": TWO}, e={"systems": TWO}), settings)
    assert flaws(overall.value) == [("/compare", "too_many_comparisons")]
    parsed({**datasets(d={"systems": TWO}, e={"systems": TWO}), "aggregate": None}, settings)
    with pytest.raises(BodyTooLarge):
        parsed(scores(systems={"A": [1] * 4, "B": [1] * 4}), settings)


def test_what_is_missing_is_named() -> None:
    ids = [f"q{index}" for index in range(12)]
    request = scores(
        systems={"A": dict.fromkeys(ids, 1), "B": dict.fromkeys(ids[7:], 1), "C": dict.fromkeys(ids[1:], 1)}
    )
    with pytest.raises(InvalidTest) as refused:
        parsed(request)
    assert flaws(refused.value) == [("/systems/B", "unmatched_ids"), ("/systems/C", "unmatched_ids")]
    assert '"q0", "q1", "q2", "q3", "q4" and 2 more' in refused.value.flaws[0].detail
    assert refused.value.flaws[1].detail == '"C" lacks 1 of 12 items: "q0".'
