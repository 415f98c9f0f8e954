"""mt-metrics-eval's segment scores: real ones of BLEU, chrF and MQM, and damaged."""

from __future__ import annotations

import gzip
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from scipy import stats

from exactperm.engine.plan import Budget
from exactperm.inference.options import Options
from exactperm.inference.paired_test import run_test
from exactperm.service.item_columns import typed
from exactperm.statistics.paired import StatisticSpec

from .reading import EXCERPTS, noted, read_files, refuses

Scores = dict[str, list[float | None]]
GOLD = "A\t-1.0\nA\tNone\nA\t0\nB\t-3\nB\tNone\nB\t-1\n"
KENDALL = StatisticSpec("kendall")
ONE = "A 1.5\nA 2\nA 3\nB 0.5\nB 1e-3\nB -1\n"
TWO = ONE.replace(" ", "\t").replace("1.5", "7")


@pytest.fixture
def files() -> dict[str, Path]:
    folder = EXCERPTS / "mtme"
    names = {"u": "chrF-refA", "v": "BLEU-refA", "gold": "en-de.mqm"}
    return {role: folder / f"{name}.seg.score.gz" for role, name in names.items()}


def as_mt_metrics_eval_reads(path: Path) -> Scores:
    """data.py, ReadScoreFile."""
    scores: Scores = defaultdict(list)
    for line in gzip.decompress(path.read_bytes()).decode().splitlines():
        name, score = line.split()
        scores[name].append(None if score == "None" else float(score))
    return scores


def test_real_scores_are_those_of_mt_metrics_eval(files: dict[str, Path]) -> None:
    reading = read_files("auto", files)
    assert (reading.format, reading.default_statistic.name) == ("mt-metrics-eval", "kendall")
    assert reading.names == ("chrF-refA", "BLEU-refA")
    assert noted(reading, "1,001 of 7,878 segments of 13 systems have no human score")
    scores = {role: as_mt_metrics_eval_reads(path) for role, path in files.items()}
    kept = [
        (name, segment)
        for name, own in scores["gold"].items()
        for segment, value in enumerate(own)
        if value is not None
    ]
    data: Any = reading.data
    assert data.pairing.ids == [f"{name}/{segment + 1}" for name, segment in kept]
    for role, column in (("gold", data.gold), ("u", data.u.tolist()), ("v", data.v.tolist())):
        assert list(column) == [scores[role][name][segment] for name, segment in kept]


@pytest.mark.parametrize("groups", ["segment", "system"])
def test_the_average_over_groups_is_that_of_each_group_by_itself(groups: str, files: dict[str, Path]) -> None:
    scores = {role: as_mt_metrics_eval_reads(path) for role, path in files.items()}
    rows: dict[object, list[tuple[float, float, float]]] = defaultdict(list)
    for name, own in scores["gold"].items():
        for segment, human in enumerate(own[:150]):
            u, v = scores["u"][name][segment], scores["v"][name][segment]
            if human is not None and u is not None and v is not None:
                rows[segment if groups == "segment" else name].append((human, u, v))
    texts = {
        role: "".join(f"{name} {score}\n" for name, own in scores[role].items() for score in own[:150])
        for role in ("gold", "u", "v")
    }
    reading = read_files("mt-metrics-eval", texts, groups=groups)
    data: Any = reading.data
    assert len(data.gold) == sum(map(len, rows.values()))
    comparable = [group for group in rows.values() if len({row[0] for row in group}) > 1]
    record = run_test(typed(data, KENDALL), KENDALL, Options(samples=100), Budget())
    for side, value in ((1, record.statistic.u), (2, record.statistic.v)):
        # A group whose scores all tie counts as 0, where SciPy has no value.
        own_values = [
            stats.kendalltau([row[0] for row in group], [row[side] for row in group]).statistic
            if len({row[side] for row in group}) > 1
            else 0.0
            for group in comparable
        ]
        assert value == pytest.approx(sum(own_values) / len(own_values), abs=1e-12)


def test_an_untied_segment_has_scipy_s_tau() -> None:
    files = {"gold": "A 3\nB 1\nC 2\nD 4\n", "u": "A 3\nB 2\nC 1\nD 4\n", "v": "A 1\nB 2\nC 3\nD 4\n"}
    data: Any = read_files("auto", files).data
    record = run_test(typed(data, KENDALL), KENDALL, Options(), Budget())
    wanted = [stats.kendalltau(data.gold, column).statistic for column in (data.u, data.v)]
    assert [record.statistic.u, record.statistic.v] == pytest.approx(wanted, abs=1e-12)


def test_groups_and_clusters_are_of_segments_systems_or_documents() -> None:
    files = {"gold": GOLD, "u": ONE, "v": TWO}
    wanted = {"segment": [0, 1, 0, 1], "system": [0, 0, 1, 1]}
    for groups, codes in wanted.items():
        for clusters, own in wanted.items():
            data: Any = read_files("mt-metrics-eval", files, groups=groups, clusters=clusters).data
            assert (data.groups.tolist(), data.pairing.clusters.tolist()) == (codes, own)
    data = read_files("mt-metrics-eval", files, groups="none").data
    assert (data.groups, data.pairing.clusters) == (None, None)
    documents = {**files, "documents": "news d1\nnews d1\nted d2\n"}
    data = read_files("mt-metrics-eval", documents, clusters="document").data
    assert data.pairing.clusters.tolist() == [0, 1, 0, 1]


def test_systems_that_are_not_rated_are_said() -> None:
    files = {"gold": GOLD + "refB 1\nrefB 1\nrefB 0\n", "u": ONE + "C 1\n", "v": TWO}
    notes = read_files("mt-metrics-eval", files).notes
    assert any("1 systems without human scores were left out" in note and '"C"' in note for note in notes)
    assert any("1 systems that no metric scored" in note and '"refB"' in note for note in notes)
    said = "Scores of systems are compared within each segment (groups: segment)."
    assert said in notes


def test_a_metric_that_lacks_scores_is_refused_or_they_are_dropped() -> None:
    files = {"gold": GOLD, "u": ONE.replace("A 3", "A None"), "v": TWO}
    refuses("missing_value", "/files/u/line/3/2", "mt-metrics-eval", files)
    data: Any = read_files("mt-metrics-eval", files, on_missing="drop").data
    assert data.pairing.ids == ["A/1", "B/1", "B/3"]
    # Where nobody rated the segment, nobody misses its score.
    unrated = {**files, "u": ONE.replace("A 2", "A None")}
    assert len(read_files("mt-metrics-eval", unrated).data.pairing.ids or ()) == 4


DAMAGES: list[tuple[dict[str, str], dict[str, str], str, str]] = [
    ({"u": ONE.replace("A 2", "A 2 3")}, {}, "wrong_field_count", "/files/u/line/2"),
    ({"u": ONE.replace("A 2", "A")}, {}, "wrong_field_count", "/files/u/line/2"),
    ({"u": ONE.replace("A 2", "A two")}, {}, "not_a_number", "/files/u/line/2/2"),
    ({"v": TWO.replace("A\t3", "A\tinf")}, {}, "not_a_number", "/files/v/line/3/2"),
    ({"v": TWO + "B\t5\n"}, {}, "length_mismatch", "/files/v/line/7"),
    ({"gold": GOLD + "A\t1\n"}, {}, "length_mismatch", "/files/u/line/3"),
    ({"u": ONE[: ONE.index("B")]}, {}, "missing_system", "/files/u"),
    ({"u": "C 1\n", "v": "D 2\n"}, {}, "no_common_ids", "/files/u"),
    ({"u": ""}, {}, "no_items", "/files/u"),
    ({"gold": "A None\nA None\nA None\n"}, {}, "no_items", "/files/gold"),
    ({"gold": GOLD.replace("-3", "-3,0")}, {}, "not_a_number", "/files/gold/line/4/2"),
    ({}, {"groups": "sentence"}, "invalid_option", "/options/groups"),
    ({}, {"clusters": "document"}, "invalid_option", "/options/clusters"),
    ({"documents": "ted d1\n"}, {"clusters": "document"}, "length_mismatch", "/files/documents"),
    # One system has more segments than the first one, and than there are lines.
    (
        {"gold": GOLD + "B 9\n", "u": ONE + "B 9\n", "v": TWO + "B 9\n", "documents": "d 1\nd 1\nd 2\n"},
        {"clusters": "document"}, "length_mismatch", "/files/documents",
    ),
    ({"documents": "ted d1\n"}, {}, "invalid_option", "/options/clusters"),
    ({"documents": "ted d1\n\nted d2\n"}, {"clusters": "document"}, "wrong_field_count", "/files/documents/line/2"),
]  # fmt: skip


@pytest.mark.parametrize(("changed", "options", "code", "pointer"), DAMAGES)
def test_what_is_damaged_is_refused_where_it_is(
    changed: dict[str, str], options: dict[str, str], code: str, pointer: str
) -> None:
    files = {"gold": GOLD, "u": ONE, "v": TWO, **changed}
    refuses(code, pointer, "mt-metrics-eval", files, **options)
