"""Labels, spans, and pairs of items."""

import itertools
import json
import random
import warnings
from collections.abc import Iterator
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from seqeval.metrics import f1_score, precision_score, recall_score
from seqeval.metrics.sequence_labeling import get_entities
from seqeval.scheme import BILOU, IOB2, IOBES, Entities
from sklearn.metrics import accuracy_score

from exactperm.engine.plan import Budget
from exactperm.errors import InvalidTest
from exactperm.inference.options import Options
from exactperm.inference.paired import run_test
from exactperm.statistics.effects import Additive, Joint
from exactperm.statistics.labels import entities, reduce_predictions
from exactperm.statistics.paired import Pairing, Predictions, StatisticSpec
from exactperm.statistics.pairwise import blocks, reduce as module
from exactperm.statistics.pairwise.kernels import Gold, prefix_counts
from exactperm.statistics.pairwise.order import Placed, placed, sign_of
from exactperm.statistics.pairwise.reduce import worth_of
from exactperm.statistics.reducers import reduce as reduce_problem
from tests.refusals import refused, refused_alone

from .of_sums import reduce

# Entities are seqeval's, in its lenient and its strict mode, and the counts of real systems are the published ones.


def predictions(gold: Any, u: Any, v: Any, pairing: Pairing | None = None) -> Predictions:
    return Predictions(gold, u, v, pairing or Pairing())


PACK = Path(__file__).parents[4] / "shared" / "data"
TAGS = ["O", "B-X", "I-X", "B-Y", "I-Y", "B", "I", "B-A-B", "I-A-B"]
sequences = st.lists(st.sampled_from(TAGS), max_size=12)


@given(sequences)
@settings(deadline=None, max_examples=150)
def test_lenient_entities_are_seqeval_s(tags: list[str]) -> None:
    assert [(kind, start, end) for start, end, kind in entities(tags, "BIO")] == get_entities(list(tags))


@given(sequences)
@settings(deadline=None, max_examples=150)
def test_strict_entities_are_seqeval_s(tags: list[str]) -> None:
    strict = [(e.start, e.end - 1, e.tag) for e in Entities([tags], IOB2).entities[0]]
    assert entities(tags, "IOB2") == strict


def tagged(letters: str) -> st.SearchStrategy[list[str]]:
    tags = ["O", *(f"{letter}-{kind}" for letter in letters for kind in "XY"), *letters]
    return st.lists(st.sampled_from(tags), max_size=12)


@given(tagged("BIES"))
@settings(deadline=None, max_examples=150)
def test_lenient_entities_of_bioes_are_seqeval_s(tags: list[str]) -> None:
    assert [(kind, start, end) for start, end, kind in entities(tags, "BIO")] == get_entities(list(tags))


@given(tagged("BILU"))
@settings(deadline=None, max_examples=200)
def test_bilou_is_bioes_with_other_letters(tags: list[str]) -> None:
    bioes = [{"L": "E", "U": "S"}.get(tag[0], tag[0]) + tag[1:] for tag in tags]
    assert entities(tags, "BIO") == entities(bioes, "BIO")
    assert entities(tags, "BILOU") == entities(bioes, "IOBES")


@pytest.mark.parametrize(("scheme", "known", "letters"), [("IOBES", IOBES, "BIES"), ("BILOU", BILOU, "BILU")])
def test_strict_entities_of_bioes_and_bilou_are_seqeval_s(scheme: Any, known: Any, letters: str) -> None:
    @given(tagged(letters))
    @settings(deadline=None, max_examples=150)
    def check(tags: list[str]) -> None:
        strict = [(e.start, e.end - 1, e.tag) for e in Entities([tags], known).entities[0]]
        assert entities(tags, scheme) == strict

    check()


@pytest.mark.parametrize(
    ("scheme", "tag"),
    [("IOB2", "S-X"), ("IOBES", "U-X"), ("BILOU", "E-X"), ("BIO", "X-B"), ("BIO", "BX"), ("BIO", "")],
)
def test_a_tag_of_another_scheme_is_refused(scheme: str, tag: str) -> None:
    with refused_alone("not_a_tag", "/u/0/0"):
        reduce(predictions([["O"]], [[tag]], [["O"]]), StatisticSpec("span_f1", {"scheme": scheme}))


@given(st.lists(st.integers(0, 6), min_size=1, max_size=6), st.data(), st.sampled_from(["BIO", "IOB2"]))
@settings(deadline=None, max_examples=100)
def test_scores_are_seqeval_s(lengths: list[int], data: st.DataObject, scheme: str) -> None:
    tag = st.sampled_from(TAGS[:5])
    gold, u, v = (
        [data.draw(st.lists(tag, min_size=length, max_size=length)) for length in lengths] for _ in range(3)
    )
    options = {"mode": "strict", "scheme": IOB2} if scheme == "IOB2" else {}
    for name, score in (
        ("span_f1", f1_score),
        ("span_precision", precision_score),
        ("span_recall", recall_score),
    ):
        problem = reduce(predictions(gold, u, v), StatisticSpec(name, {"scheme": scheme}))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            truth = [score(gold, said, zero_division=0, **options) for said in (u, v)]
        assert [float(problem.score_u or 0), float(problem.score_v or 0)] == pytest.approx(truth, abs=1e-14)


def test_labels_restrict_the_types_that_count() -> None:
    gold = [["B-X", "O", "B-Y"]]
    problem = reduce(
        predictions(gold, [["B-X", "O", "O"]], [["O", "O", "B-Y"]]),
        StatisticSpec("span_f1", {"labels": ["X"]}),
    )
    assert (problem.score_u, problem.score_v) == (1, 0)


def test_span_recall_is_additive_because_gold_is_shared() -> None:
    data = predictions([["B-X", "O"]], [["B-X", "B-X"]], [["O", "O"]])
    assert isinstance(reduce(data, StatisticSpec("span_recall")), Additive)
    assert isinstance(reduce(data, StatisticSpec("span_f1")), Joint)


@pytest.mark.parametrize(
    ("data", "parameters", "pointer", "code"),
    [
        (predictions([["O"]], [["X"]], [["O"]]), {}, "/u/0/0", "not_a_tag"),
        (predictions([["O"]], [["O"]], [["X-X"]]), {}, "/v/0/0", "not_a_tag"),
        (predictions([["O"]], [["O"]], [["O"]]), {"labels": "PER"}, "/statistic/labels", "not_labels"),
        (predictions(["O"], ["O"], ["O"]), {}, "/gold/0", "not_a_sequence"),
        (predictions([["O"]], [["O", "O"]], [["O"]]), {}, "/u/0", "length_mismatch"),
        (predictions([["O"]], [["O"]], [["O"]]), {"scheme": "IOE2"}, "/statistic/scheme", "unknown_scheme"),
    ],
)
def test_invalid_tests_are_refused_at_their_place(
    data: Predictions, parameters: dict[str, Any], pointer: str, code: str
) -> None:
    with refused(code, pointer):
        reduce(data, StatisticSpec("span_f1", parameters))


def columns(path: Path) -> tuple[list[list[str]], list[list[str]]]:
    """(gold, predicted) tags of each sentence of a token-gold-pred file."""

    def sentences() -> Iterator[list[list[str]]]:
        for block in path.read_text(encoding="utf-8").split("\n\n"):
            rows = [line.split(" ") for line in block.split("\n") if line]
            if rows:
                yield rows

    found = list(sentences())
    return [[row[-2] for row in rows] for rows in found], [[row[-1] for row in rows] for rows in found]


REAL = [
    ("ner_wnut17.json", "wnut17/wnut17-test.{}.token-gold-pred.conll", ("uh_ritual", "spinningbytes")),
    (
        "ner_uner_en_ewt.json",
        "uner_en_ewt/uner_en_ewt-test.{}.token-gold-pred.conll",
        ("crf_small", "crf_large"),
    ),
]


@pytest.mark.pack
@pytest.mark.parametrize(("expected", "files", "systems"), REAL, ids=["wnut17", "uner"])
def test_real_taggers_have_their_published_f1(expected: str, files: str, systems: tuple[str, str]) -> None:
    truth = json.loads((PACK / "expected" / expected).read_text())["f1_tests"][0]
    gold, u = columns(PACK / "ner" / files.format(systems[0]))
    same, v = columns(PACK / "ner" / files.format(systems[1]))
    assert gold == same
    problem = reduce(predictions(gold, u, v), StatisticSpec("span_f1"))
    assert isinstance(problem, Joint)
    assert problem.stay.sum(axis=0).tolist() == [
        truth["tp_a"], truth["pred_a"], truth["gold"], truth["tp_b"], truth["pred_b"], truth["gold"],
    ]  # fmt: skip
    assert (problem.score_u, problem.score_v) == (
        Fraction(truth["f1_a"]["fraction"]),
        Fraction(truth["f1_b"]["fraction"]),
    )
    assert int((problem.stay != problem.swap).any(axis=1).sum()) == truth["n_nonzero_differences"]


@pytest.mark.pack
def test_documents_are_clusters_of_their_sentences() -> None:
    gold, u = columns(PACK / "ner" / REAL[1][1].format("crf_small"))
    _, v = columns(PACK / "ner" / REAL[1][1].format("crf_large"))
    lines = (PACK / "ner/uner_en_ewt/uner_en_ewt-test.sentence-documents.tsv").read_text().splitlines()[1:]
    documents = [line.split("\t")[1] for line in lines]
    codes = {name: code for code, name in enumerate(dict.fromkeys(documents))}
    pairing = Pairing(np.array([codes[name] for name in documents]), len(codes))
    problem = reduce(predictions(gold, u, v, pairing), StatisticSpec("span_f1"))
    truth = json.loads((PACK / "expected" / REAL[1][0]).read_text())["f1_tests"][1]
    assert len(problem.stay) == truth["n_units"]
    assert problem.swap is not None
    assert int((problem.stay != problem.swap).any(axis=1).sum()) == truth["n_nonzero_differences"]


# Predictions against gold: what counts as right, by item and by token.


tags = st.sampled_from(["N", "V", "ADJ"])
sentences = st.lists(
    st.integers(0, 6).flatmap(lambda n: st.tuples(*[st.lists(tags, min_size=n, max_size=n)] * 3)),
    min_size=1,
    max_size=10,
)
ACCURACY = StatisticSpec("accuracy")
Triples = list[tuple[list[str], list[str], list[str]]]


@given(st.lists(st.tuples(tags, tags, tags), min_size=1, max_size=30))
def test_accuracy_of_labels_is_scikit_learns(rows: list[tuple[str, str, str]]) -> None:
    gold, u, v = (list(column) for column in zip(*rows, strict=True))
    problem: Any = reduce_predictions(Predictions(gold, u, v), ACCURACY)
    assert float(problem.score_u) == pytest.approx(accuracy_score(gold, u), rel=1e-15)
    assert float(problem.score_v) == pytest.approx(accuracy_score(gold, v), rel=1e-15)
    assert problem.stay.tolist() == [(a == g) - (b == g) for g, a, b in rows]
    assert problem.unit == Fraction(1, len(rows))


@pytest.mark.parametrize("name", ["accuracy", "token_accuracy"])
@given(rows=sentences)
def test_accuracy_of_sequences_is_that_of_their_tokens(name: str, rows: Triples) -> None:
    gold, u, v = (list(column) for column in zip(*rows, strict=True))
    tokens = sum(map(len, gold))
    if tokens == 0:
        with pytest.raises(InvalidTest):
            reduce_predictions(Predictions(gold, u, v), StatisticSpec(name))
        return
    problem = reduce_predictions(Predictions(gold, u, v), StatisticSpec(name))
    flat = [[tag for item in column for tag in item] for column in (gold, u, v)]
    assert problem.score_u == Fraction(sum(g == s for g, s in zip(flat[0], flat[1], strict=True)), tokens)
    assert problem.score_v == Fraction(sum(g == s for g, s in zip(flat[0], flat[2], strict=True)), tokens)
    for index, (truth, one, other) in enumerate(rows):
        right = [sum(g == s for g, s in zip(truth, said, strict=True)) for said in (one, other)]
        assert problem.stay[index] == right[0] - right[1]
    assert (problem.items, problem.unit) == (len(rows), Fraction(1, tokens))


@given(sentences)
def test_exact_match_asks_for_the_whole_sequence(rows: Triples) -> None:
    gold, u, v = (list(column) for column in zip(*rows, strict=True))
    problem = reduce_predictions(Predictions(gold, u, v), StatisticSpec("exact_match"))
    assert problem.stay.tolist() == [int(a == g) - int(b == g) for g, a, b in rows]
    assert problem.unit == Fraction(1, len(rows))


def test_documents_are_clusters_of_sentences() -> None:
    gold = [("N", "V"), ("N",), ("V", "V")]
    data = Predictions(gold, gold, [("N", "N"), ("V",), ("V", "N")], Pairing(np.array([0, 1, 0]), 2))
    problem = reduce_predictions(data, ACCURACY)
    assert problem.stay.tolist() == [2, 1]
    assert (problem.items, problem.clusters) == (3, 2)


@pytest.mark.parametrize(
    ("gold", "u", "v", "pointer"),
    [
        ([], [], [], "/gold"),
        (["N"], ["N", "V"], ["N"], "/u"),
        (["N"], ["N"], [], "/v"),
        ([["N", "V"]], [["N"]], [["N", "V"]], "/u/0"),
        ([["N"], ["N", "V"]], [["N"], ["N", "V"]], [["N"], ["N"]], "/v/1"),
        ([[], []], [[], []], [[], []], "/gold"),
    ],
)
def test_predictions_that_do_not_line_up_are_refused_where_they_stand(
    gold: list[object], u: list[object], v: list[object], pointer: str
) -> None:
    with refused_alone(None, pointer):
        reduce_predictions(Predictions(gold, u, v), ACCURACY)


# Parts of statistics of pairs against counting, and what small requests never reach: large common denominators.


def test_prefixes_are_counted() -> None:
    source = np.random.default_rng(0)
    for m, top in ((1, 1), (5, 3), (64, 1), (200, 37), (200, 1_000)):
        points, bounds = source.integers(0, top, m), source.integers(0, top, 50)
        prefixes = source.integers(0, m + 1, (3, 50))
        less, same = prefix_counts(points, prefixes, bounds)
        for row, column in itertools.product((1, 2), range(50)):
            first, other = (points[: prefixes[k, column]] for k in (0, row))
            wanted = (other < bounds[column]).sum() - (first < bounds[column]).sum()
            assert less[row, column] - less[0, column] == wanted
            wanted = (other == bounds[column]).sum() - (first == bounds[column]).sum()
            assert same[row, column] - same[0, column] == wanted


def test_signs_of_two_roots_are_decided() -> None:
    source = random.Random(0)
    with localcontext() as context:
        context.prec = 200
        for _ in range(3_000):
            x, y = (source.randint(-9, 9) for _ in range(2))
            p, q = (source.choice((1, 2, 4, 8, 9, 18, 50)) for _ in range(2))
            z = source.randint(-30, 30)
            value = x * Decimal(p).sqrt() + y * Decimal(q).sqrt() + z
            sign = 0 if abs(value) < Decimal(10) ** -150 else 1 if value > 0 else -1
            assert sign_of(x, p, y, q, z) == sign, (x, p, y, q, z)


def test_standardized_values_of_equal_shape_tie_and_their_neighbours_do_not() -> None:
    u = np.array([1.0, 2.0, 4.0, 7.0, 7.0])
    one, other = placed(u, u * 3.0 - 5.0, "standardized", Fraction(0))
    assert np.array_equal(one.code, other.code)
    # One part in 10^14 of one score: beyond what doubles of z-scores tell.
    near = (u * 3.0 - 5.0) + np.array([0.0, 0.0, 0.0, 0.0, 1e-14])
    one, other = placed(u, near, "standardized", Fraction(0))
    assert not np.array_equal(one.code, other.code)
    with localcontext() as context:
        context.prec = 100
        z = [_z(column) for column in (u, near)]
        for own, code in zip(z, (one.code, other.code), strict=True):
            for theirs, codes in zip(z, (one.code, other.code), strict=True):
                for (x, a), (y, b) in itertools.product(
                    zip(own, code, strict=True), zip(theirs, codes, strict=True)
                ):
                    assert (x > y) == (a > b)


def _z(column: Any) -> list[Decimal]:
    exact = [Fraction(repr(x)) for x in column.tolist()]
    mean = sum(exact, Fraction(0)) / len(exact)
    variance = sum(((x - mean) ** 2 for x in exact), Fraction(0)) / len(exact)
    root = (Decimal(variance.numerator) / variance.denominator).sqrt()
    return [Decimal((x - mean).numerator) / (x - mean).denominator / root for x in exact]


def many_sizes(seed: int, units: int) -> Predictions:
    """Groups of 2 to 45 items, whose numbers of pairs have a common denominator of more than 60 bits."""
    source = np.random.default_rng(seed)
    groups = np.repeat(np.arange(15), np.arange(2, 47, 3))
    n = len(groups)
    gold, u, v = (cast("Any", source.integers(0, 6, n)) for _ in range(3))
    clusters = np.concatenate([np.arange(units), source.integers(0, units, n - units)])
    return Predictions(gold, u, v, Pairing(clusters=clusters, n_clusters=units), groups)


def kendall_by_groups(data: Predictions, system: Any) -> Fraction:
    """The mean over groups of concordant less discordant pairs, over all of the group's pairs."""
    values = []
    for group in range(15):
        own = np.flatnonzero(np.asarray(data.groups) == group)
        x, g = system[own], np.asarray(data.gold)[own]
        if len(set(g.tolist())) > 1:
            signs = np.sign(x[:, None] - x[None]) * np.sign(g[:, None] - g[None])
            values.append(Fraction(int(signs.sum()), len(own) * (len(own) - 1)))
    return sum(values, Fraction(0)) / len(values)


@pytest.mark.parametrize("seed", range(3))
def test_the_mean_over_groups_of_many_sizes_is_exact(seed: int) -> None:
    data, units = many_sizes(seed, 8), 8
    problem = reduce_problem(data, StatisticSpec("kendall", {"scale": "raw", "variant": "a"}))
    assert isinstance(problem, Additive)
    assert problem.unit.denominator > 2**58
    u, v, clusters = np.asarray(data.u), np.asarray(data.v), data.pairing.clusters
    values = {}
    for swaps in itertools.product((False, True), repeat=units):
        swapped = np.array(swaps)[clusters]
        values[swaps] = kendall_by_groups(data, np.where(swapped, v, u))
    differences = [value - values[tuple(not s for s in swaps)] for swaps, value in values.items()]
    reached = sum(abs(t) >= abs(differences[0]) for t in differences)
    record = run_test(
        data,
        StatisticSpec("kendall", {"scale": "raw", "variant": "a"}),
        Options(exact_fraction=False),
        Budget(10**10, 2**30),
    )
    assert record.p_value_bounds[0] <= reached / 2**units <= record.p_value_bounds[1] * (1 + 1e-15)
    assert record.p_value == pytest.approx(reached / 2**units, rel=1e-9)
    assert record.statistic.observed == pytest.approx(float(differences[0]), rel=1e-12)


def test_denominators_beyond_memory_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_BITS", 10_000)
    with refused("too_many_group_sizes", "/groups"):
        reduce_problem(many_sizes(0, 8), StatisticSpec("kendall", {"variant": "a"}))
    summed = reduce_problem(
        many_sizes(0, 8), StatisticSpec("kendall", {"group_average": "sum", "variant": "a"})
    )
    assert summed.clusters == 8


def test_decimals_compare_as_written_beside_longer_ones() -> None:
    """0.3 and 0.2 are 0.1 apart as decimals, and not as doubles; 1/3 has 16 digits."""
    u, v = np.array([0.1, 0.2, 0.3, 1 / 3]), np.array([0.2, 0.3, 0.4, 0.9])
    one, _ = placed(u, v, "raw", Fraction("0.1"))
    assert one.upto[0] > one.code[1]
    assert one.upto[1] > one.code[2]
    assert one.upto[0] <= one.code[2]


def _worth_of_pair(name: str, signs: Any, gold: Gold) -> Any:
    """The value of each item i of a row against each y of a column, by the kernel's definition; shape (n, n)."""
    rank, event = gold.rank, np.zeros(len(gold.rank), dtype=bool) if gold.event is None else gold.event
    order = np.sign(rank[:, None] - rank[None])
    if name == "kendall":
        return signs * order
    if name == "pairwise_accuracy":
        return (signs == order).astype(int)
    if name == "spearman":
        twice = np.array([2 * (rank < own).sum() + (rank == own).sum() + 1 for own in rank])
        return (twice[:, None] - twice[None]) * signs
    if name == "auc":
        better, worse = event[:, None] & ~event[None], ~event[:, None] & event[None]
    else:
        better, worse = (order > 0) & event[None], (order < 0) & event[:, None]
    return better * (signs + 1) + worse * (1 - signs)


@pytest.mark.parametrize("most", [0, 20, blocks.MOST])
@pytest.mark.parametrize("within", [0, 3])
def test_items_are_worth_what_pairs_of_their_group_say(
    monkeypatch: pytest.MonkeyPatch, most: int, within: int
) -> None:
    """Groups of 1 to 70 items in blocks, by counting, and each where it is meant."""
    monkeypatch.setattr(blocks, "MOST", most)
    source = np.random.default_rng(most + within)
    sizes = np.concatenate([np.arange(1, 71, 3), [64, 2, 2]])
    group = source.permutation(np.repeat(np.arange(len(sizes)), sizes))
    n = len(group)
    codes = source.integers(0, n // 4, (2, n))
    u, v = (Placed(code, np.maximum(code - within, 0), code + within + 1) for code in codes)
    rank = np.zeros(n, dtype=np.int64)
    for own in range(len(sizes)):
        at = np.flatnonzero(group == own)
        rank[at] = np.unique(source.integers(0, len(at), len(at)), return_inverse=True)[1]
    gold = Gold(group, len(sizes), rank, source.random(n) < 0.5)
    for name, definition in module._DEFINITIONS.items():
        found = worth_of(definition.kernel, definition.pairs, u, v, gold)
        for own in range(len(sizes)):
            at = np.flatnonzero(group == own)
            some = gold.take(at)
            wanted = []
            for system in codes[:, at]:
                against = []
                for other in codes[:, at]:
                    apart = system[:, None] - other[None]
                    signs = np.where(np.abs(apart) <= within, 0, np.sign(apart))
                    against.append(_worth_of_pair(name, signs, some).sum(axis=1))
                wanted.append(against)
            assert np.array_equal(found.of_u[at], wanted[0][0] + wanted[0][1]), name
            assert np.array_equal(found.of_v[at], wanted[1][0] + wanted[1][1]), name
            assert np.array_equal(found.diagonal_u[at], wanted[0][0]), name
            assert np.array_equal(found.diagonal_v[at], wanted[1][1]), name
