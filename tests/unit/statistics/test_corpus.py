"""BLEU, chrF and TER are sacrebleu's, after every swap, from texts and from posted statistics."""

import csv
import importlib
import itertools
import json
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given, settings, strategies as st
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from exactperm.engine.probability import Alternative
from exactperm.errors import InvalidTest
from exactperm.statistics.corpus import Bleu, Chrf
from exactperm.statistics.effects import Additive, Joint
from exactperm.statistics.evaluation import ball
from exactperm.statistics.paired import Counts, Pairing, Segments, StatisticSpec
from tests.refusals import refused
from tests.unit.statistics.of_sums import reduce

PACK = Path(__file__).parents[4] / "shared" / "data"
SIDES: tuple[Alternative, ...] = ("greater", "less", "two-sided")

REFERENCE = [
    "the cat sat on the mat today",
    "a dog barked at the moon all night",
    "it rains",
    "no one came to the party",
]
U = ["the cat sat on a mat", "a dog barked at the moon", "it is raining here now", "no one came"]
V = [
    "a cat is on the mat", "the dog was barking at a moon all night long", "rain", "nobody came to the party",
]  # fmt: skip
OTHER = [
    "the cat was sitting there on the mat", "a dog was barking all night", "it is raining", "nobody came",
]  # fmt: skip


def scorer(name: str, **options: Any) -> Any:
    found = {"bleu": BLEU, "chrf": CHRF, "ter": TER}[name]
    return found(**options, **({"force": True} if name == "bleu" else {}))


def segments(
    u: Sequence[str], v: Sequence[str], *documents: Sequence[str], pairing: Pairing | None = None
) -> Segments:
    """Items with one reference from each document."""
    return Segments(u, v, list(zip(*documents, strict=True)), pairing or Pairing())


def states(problem: Joint | Additive) -> np.ndarray[Any, Any]:
    swap = -problem.stay if problem.swap is None else problem.swap
    return np.array([np.sum(c, axis=0) for c in itertools.product(*zip(problem.stay, swap, strict=True))])


CASES: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("bleu", {}, {}),
    ("bleu", {"tokenize": "char", "lowercase": True}, {"tokenize": "char", "lowercase": True}),
    ("chrf", {}, {}),
    ("chrf", {"word_order": 2, "beta": 1}, {"word_order": 2, "beta": 1}),
    ("ter", {}, {}),
    ("ter", {"normalized": True, "case_sensitive": True}, {"normalized": True, "case_sensitive": True}),
]


@pytest.mark.parametrize(
    "references", [[REFERENCE], [REFERENCE, OTHER]], ids=["one reference", "two references"]
)
@pytest.mark.parametrize(("name", "parameters", "options"), CASES, ids=str)
def test_every_swap_scores_as_sacrebleu_scores_it(
    name: str, parameters: dict[str, Any], options: dict[str, Any], references: list[list[str]]
) -> None:
    problem = reduce(segments(U, V, *references), StatisticSpec(name, parameters))
    oracle = scorer(name, **options)
    truth = []
    for swaps in itertools.product([False, True], repeat=len(U)):
        sides = [(b, a) if swapped else (a, b) for a, b, swapped in zip(U, V, swaps, strict=True)]
        first, second = (list(side) for side in zip(*sides, strict=True))
        truth.append(
            oracle.corpus_score(first, references).score - oracle.corpus_score(second, references).score
        )
    assert float(problem.score_u or 0) == pytest.approx(oracle.corpus_score(U, references).score, abs=1e-9)
    assert float(problem.score_v or 0) == pytest.approx(oracle.corpus_score(V, references).score, abs=1e-9)
    found = states(problem)
    if isinstance(problem, Joint):
        assert problem.function.values(list(found.T)) == pytest.approx(np.array(truth), abs=1e-9)
    else:
        assert [float(int(x) * problem.unit) for x in found] == pytest.approx(truth, abs=1e-9)


@pytest.mark.parametrize("name", ["bleu", "chrf", "ter"])
def test_items_may_have_different_numbers_of_references(name: str) -> None:
    references = [REFERENCE[:1], [REFERENCE[1], OTHER[1]], [REFERENCE[2]], [REFERENCE[3], OTHER[3], U[3]]]
    documents = [[item[r] if r < len(item) else None for item in references] for r in range(3)]
    problem = reduce(Segments(U, V, references), StatisticSpec(name))
    assert float(problem.score_u or 0) == pytest.approx(
        scorer(name).corpus_score(U, documents).score, abs=1e-9
    )
    assert float(problem.score_v or 0) == pytest.approx(
        scorer(name).corpus_score(V, documents).score, abs=1e-9
    )


def test_ter_with_shared_references_is_additive() -> None:
    assert isinstance(reduce(segments(U, V, REFERENCE), StatisticSpec("ter")), Additive)


@pytest.mark.parametrize("name", ["bleu", "chrf"])
def test_identical_systems_are_extreme_everywhere(name: str) -> None:
    problem = reduce(segments(U, U, REFERENCE), StatisticSpec(name))
    assert isinstance(problem, Joint)
    found = states(problem)
    for side in SIDES:
        assert problem.function.extreme(list(found.T), found[0], side).all()


def test_exchanged_halves_tie_exactly() -> None:
    # Every state's mirror image has minus its value: a tie of |t| that rounding must not break.
    problem = reduce(segments(U, V, REFERENCE), StatisticSpec("bleu"))
    assert isinstance(problem, Joint)
    found = states(problem)
    mirrored = np.hstack([found[:, 10:], found[:, :10]])
    for row, mirror in zip(found, mirrored, strict=True):
        assert problem.function.extreme(list(mirror[:, None]), row, "two-sided").all()


rows = st.lists(st.integers(0, 9), min_size=4, max_size=4)


def test_sums_that_no_corpus_has_need_no_exact_value() -> None:
    """The law of a test looks at whole boxes of sums; one state after another was worked out where counts are negative."""
    rows = np.random.default_rng(0).integers(-2, 6, (300, 10))
    found = Bleu().approximate(list(rows.T))
    assert np.isfinite(found.error).all()
    for row, value, error in zip(rows.tolist(), found.value, found.error, strict=True):
        exact: Any = Bleu().value_at(row, last=True)
        assert abs(value - float(exact if isinstance(exact, Fraction) else exact.mid())) <= error + 1e-12


@given(rows, rows, st.integers(0, 40), st.integers(1, 40))
@settings(deadline=None, max_examples=300)
def test_bleu_of_any_sums_is_sacrebleu_s_and_inside_its_error_bound(
    correct: list[int], more: list[int], system: int, reference: int
) -> None:
    total = [c + m for c, m in zip(correct, more, strict=True)]
    row = [system, reference, *correct, *total]
    truth = BLEU.compute_bleu(list(correct), list(total), system, reference, smooth_method="exp").score
    found = Bleu().approximate([np.array([x]) for x in row])
    assert float(found.value[0]) == pytest.approx(truth, rel=1e-12, abs=1e-12)
    with ctx.workprec(256):
        # At 256 bits the ball is far narrower than any double's error.
        exact = Bleu().value_at(row, last=False)
        assert exact is not None
        gap = abs(arb(float(found.value[0])) - ball(exact))
    assert bool(gap <= arb(float(found.error[0])))


@given(st.lists(st.integers(0, 9), min_size=18, max_size=18))
@settings(deadline=None, max_examples=300)
def test_chrf_of_any_sums_is_sacrebleu_s_and_inside_its_error_bound(row: list[int]) -> None:
    said, true, match = (
        row[:6],
        row[6:12],
        [min(parts) for parts in zip(row[:6], row[6:12], row[12:], strict=True)],
    )
    flat = [x for triple in zip(said, true, match, strict=True) for x in triple]
    found = Chrf(6).approximate([np.array([x]) for x in [*said, *true, *match]])
    assert float(found.value[0]) == pytest.approx(CHRF()._compute_f_score(flat), rel=1e-12)
    exact: Any = Chrf(6).value_at([*said, *true, *match], last=False)
    assert abs(float(found.value[0]) - float(exact)) <= float(found.error[0]) + 1e-15 * float(exact)


def test_documents_swap_as_a_whole() -> None:
    pairing = Pairing(np.array([0, 0, 1, 1]), 2)
    problem = reduce(segments(U, V, REFERENCE, pairing=pairing), StatisticSpec("bleu"))
    assert problem.stay.shape == (2, 20)
    assert (problem.items, problem.clusters) == (4, 2)


def posted(columns: Mapping[str, Sequence[int]], other: Mapping[str, Sequence[int]]) -> Counts:
    return Counts(
        {name: np.array(column) for name, column in columns.items()},
        {name: np.array(column) for name, column in other.items()},
    )


def posted_statistics(name: str, names: Sequence[str]) -> Counts:
    """The counts of both systems' segments, as a client would post them."""
    rows = [scorer(name)._extract_corpus_statistics(side, [REFERENCE]) for side in (U, V)]
    u, v = (dict(zip(names, zip(*of_side, strict=True), strict=True)) for of_side in rows)
    return posted(u, v)


def test_posted_statistics_give_the_scores_of_the_texts() -> None:
    names = ["sys_len", "ref_len", *(f"{kind}_{n}" for kind in ("correct", "total") for n in (1, 2, 3, 4))]
    from_rows = reduce(posted_statistics("bleu", names), StatisticSpec("bleu"))
    from_texts = reduce(segments(U, V, REFERENCE), StatisticSpec("bleu"))
    assert np.array_equal(from_rows.stay, from_texts.stay)
    assert (from_rows.score_u, from_rows.score_v) == (from_texts.score_u, from_texts.score_v)


def test_posted_chrf_statistics_give_the_scores_of_the_texts() -> None:
    names = [f"{kind}_{n}" for n in range(1, 7) for kind in ("hyp", "ref", "match")]
    from_rows = reduce(posted_statistics("chrf", names), StatisticSpec("chrf"))
    expected = scorer("chrf").corpus_score(U, [REFERENCE]).score
    assert float(from_rows.score_u or 0) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("data", "name", "parameters", "pointer", "code"),
    [
        (segments(U, V[:3], REFERENCE), "bleu", {}, "/v", "length_mismatch"),
        (segments(U, V, REFERENCE[:3]), "bleu", {}, "/references", "length_mismatch"),
        (Segments(U[:1], V[:1], [[]]), "bleu", {}, "/references/0", "no_reference"),
        (Segments([], [], []), "ter", {}, "/u", "empty"),
        (segments(U, V, REFERENCE), "bleu", {"tokenize": "spm"}, "/statistic/tokenize", "unknown_tokenize"),
        (segments(U, V, REFERENCE), "bleu", {"lowercase": "yes"}, "/statistic/lowercase", "not_a_boolean"),
        (segments(U, V, REFERENCE), "chrf", {"word_order": 9}, "/statistic/word_order", "out_of_range"),
        (segments(U, V, REFERENCE), "chrf", {"tokenize": "13a"}, "/statistic/tokenize", "unknown_parameter"),
        (segments(U, V, REFERENCE), "comet", {}, "/statistic/name", "unknown_statistic"),
        (posted({"edits": [1]}, {"edits": [1]}), "ter", {}, "/u", "missing_counts"),
        (
            posted({"edits": [1], "ref_len": [0]}, {"edits": [1], "ref_len": [0]}),
            "ter",
            {},
            "/u",
            "undefined_statistic",
        ),
        (
            posted({"hyp_1": [1], "ref_1": [1]}, {"hyp_1": [1], "ref_1": [1]}),
            "chrf",
            {},
            "/u",
            "missing_counts",
        ),
    ],
)
def test_invalid_tests_are_refused_at_their_place(
    data: Segments | Counts, name: str, parameters: dict[str, Any], pointer: str, code: str
) -> None:
    with refused(code, pointer):
        reduce(data, StatisticSpec(name, parameters))


def test_more_matches_than_n_grams_are_refused() -> None:
    row = {
        "sys_len": [5],
        "ref_len": [5],
        **{f"{kind}_{n}": [5 - n] for kind in ("correct", "total") for n in (1, 2, 3, 4)},
    }
    with refused("inconsistent_counts", "/u/correct_2/0"):
        reduce(posted({**row, "correct_2": [4]}, row), StatisticSpec("bleu"))


def test_without_sacrebleu_the_refusal_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(InvalidTest, match=r"pip install \"exactperm\[mt\]\""):
        reduce(segments(U, V, REFERENCE), StatisticSpec("bleu"))


def ted(system: str) -> dict[str, list[int]]:
    with (PACK / f"mt/ted_slk_eng/ted.{system}.segment-stats.tsv").open(encoding="utf-8") as lines:
        table = list(csv.DictReader(lines, delimiter="\t"))
    whole = [name for name in table[0] if name not in {"segment", "document", "chrf2"}]
    return {name: [int(row[name]) for row in table] for name in whole}


@pytest.mark.pack
def test_real_systems_have_their_published_scores() -> None:
    truth = json.loads((PACK / "expected/mt_ted_slk_eng.json").read_text())
    u, v = ted("sys1"), ted("sys2")
    bleu = reduce(posted(u, v), StatisticSpec("bleu"))
    systems = truth["systems"]
    assert float(bleu.score_u or 0) == pytest.approx(systems["sys1"]["bleu"], abs=1e-9)
    assert float(bleu.score_v or 0) == pytest.approx(systems["sys2"]["bleu"], abs=1e-9)
    sides = [{"edits": side["ter_edits"], "ref_len": side["ter_ref_len"]} for side in (u, v)]
    ter = reduce(posted(sides[0], sides[1]), StatisticSpec("ter"))
    assert isinstance(ter, Additive)
    assert float(ter.score_u or 0) == pytest.approx(systems["sys1"]["ter"], abs=1e-9)
    assert int((ter.stay != 0).sum()) == truth["tests"][0]["n_nonzero_differences"]
