"""Transcripts, translations, segment scores of metrics, and lines with ids in front."""

import gzip
import random
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from exactperm.engine.plan import Budget
from exactperm.inference.options import Options
from exactperm.inference.paired import run_test
from exactperm.inputs.formats.asr import word_errors
from exactperm.service.parse import typed
from exactperm.statistics.paired import Counts, Scores, Segments, StatisticSpec

from .reading import EXCERPTS, noted, read_files, refusal, refuses

HEADER = "utterance\tcall\tref_words\tsubstitutions\tdeletions\tinsertions\terrors\n"


@pytest.fixture
def tables() -> dict[str, Path]:
    return {"u": EXCERPTS / "asr" / "google.tsv", "v": EXCERPTS / "asr" / "amazon.tsv"}


@pytest.fixture
def transcripts() -> dict[str, Path]:
    return {
        "ref": EXCERPTS / "asr" / "ref.trn",
        "u": EXCERPTS / "asr" / "google.trn",
        "v": EXCERPTS / "asr" / "amazon.trn",
    }


def counts(data: object) -> Counts:
    assert isinstance(data, Counts)
    return data


def distance(a: list[str], b: list[str]) -> int:
    """Levenshtein's, by the textbook."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        previous, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            previous, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, previous + (x != y))
    return row[-1]


def test_counts_are_the_columns_of_the_table(tables: dict[str, Path]) -> None:
    reading = read_files("asr", tables)
    data = counts(reading.data)
    rows = [line.split("\t") for line in tables["u"].read_text().splitlines()]
    place = {name: n for n, name in enumerate(rows[0])}
    assert data.u["errors"].tolist() == [int(row[place["errors"]]) for row in rows[1:]]
    assert data.u["ref_words"].tolist() == [int(row[place["ref_words"]]) for row in rows[1:]]
    assert reading.default_statistic.parameters == {"numerator": "errors", "denominator": "ref_words"}
    assert noted(reading, '"call" has 2 values')


def test_transcripts_give_the_counts_of_the_tables(
    tables: dict[str, Path], transcripts: dict[str, Path]
) -> None:
    for clusters in (None, "call"):
        counted = counts(read_files("asr", tables, clusters=clusters).data)
        aligned = counts(read_files("asr", transcripts, clusters=clusters).data)
        for name in ("errors", "ref_words"):
            assert counted.u[name].tolist() == aligned.u[name].tolist()
            assert counted.v[name].tolist() == aligned.v[name].tolist()
        assert counted.pairing.n_clusters == aligned.pairing.n_clusters == (2 if clusters else None)


def test_word_errors_are_edit_distances() -> None:
    generator = np.random.default_rng(0)
    texts = [
        [[str(w) for w in generator.integers(0, 4, size=generator.integers(0, 9))] for _ in range(200)]
        for _ in "rh"
    ]
    assert word_errors(*texts) == [distance(a, b) for a, b in zip(*texts, strict=True)]


def test_an_empty_hypothesis_is_all_deletions() -> None:
    files = {"ref": "a b c (x-1)\n", "u": "(x-1)\n", "v": "a b c (x-1)\n"}
    reading = read_files("asr", files)
    assert counts(reading.data).u["errors"].tolist() == [3]
    assert noted(reading, "1 utterances have an empty hypothesis")


def test_whole_utterances_can_be_scored(tables: dict[str, Path]) -> None:
    reading = read_files("asr", tables, statistic="utterance_accuracy")
    errors = counts(read_files("asr", tables).data).u["errors"]
    assert isinstance(reading.data, Scores)
    assert reading.statistic_read
    assert isinstance(reading.data.u, np.ndarray)
    assert reading.data.u.tolist() == (errors == 0).tolist()


@pytest.mark.parametrize(
    ("row", "pointer", "code"),
    [
        ("x-1\tx\t5\t1\t0\t0\t2", "/files/u/line/2/errors", "inconsistent_counts"),
        ("x-1\tx\t5\t1.5\t0\t0\t1.5", "/files/u/line/2/errors", "not_a_count"),
        ("x-1\tx\t5\t-1\t0\t1\t0", "/files/u/line/2/substitutions", "not_a_count"),
        ("x-1\tx\t6\t1\t0\t0\t1", "/files/v/line/2/ref_words", "ref_words_mismatch"),
        ("x-1\tx\t5\t1\t0\t0\t", "/files/u/line/2", "missing_value"),
        ("x-2\tx\t5\t1\t0\t0\t1", "/files/u", "unmatched_ids"),
        ("x-1\tx\t5\t1\t0\t0", "/files/u/line/2", "wrong_field_count"),
    ],
)
def test_a_bad_row_is_named(row: str, pointer: str, code: str) -> None:
    refuses(code, pointer, "asr", {"u": HEADER + row + "\n", "v": HEADER + "x-1\tx\t5\t1\t0\t0\t1\n"})


@pytest.mark.parametrize(
    ("text", "pointer", "code"),
    [
        ("a b\n", "/files/u/line/1", "no_id"),
        ("a (x-1)\na (x-1)\n", "/files/u/line/2", "duplicate_id"),
        ("a (x-1)\nb (x-3)\n", "/files/u/line/2", "unmatched_ids"),
        ("a (x-1)\n", "/files/u/utterance/x-2", "missing_value"),
    ],
)
def test_a_bad_transcript_is_named(text: str, pointer: str, code: str) -> None:
    good = "a (x-1)\nb (x-2)\n"
    refuses(code, pointer, "asr", {"ref": good, "u": text, "v": good})


def test_a_table_without_the_columns_is_refused() -> None:
    refuses("missing_column", None, "asr", {"u": "utterance\twer\na\t0.5\n", "v": "x"})


def test_without_jiwer_the_extra_is_named(
    transcripts: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "jiwer", None)
    refuses("missing_extra", None, "asr", transcripts)


@pytest.fixture
def tables_of_mt() -> dict[str, Path]:
    return {"u": EXCERPTS / "mt" / "sys1.tsv", "v": EXCERPTS / "mt" / "sys2.tsv"}


def column(path: Path, name: str) -> list[str]:
    rows = [line.split("\t") for line in path.read_text().splitlines()]
    return [row[rows[0].index(name)] for row in rows[1:]]


def test_lines_are_segments_and_unicode_line_marks_do_not_break_them() -> None:
    files = {"u": "a\u2028b\nc\x85d\n", "v": "a\r\nb\r\n", "ref": "a\nb", "ref2": "x\ny\n"}
    reading = read_files("mt", files)
    data = reading.data
    assert isinstance(data, Segments)
    assert data.u == ["a\u2028b", "c\x85d"]
    assert data.v == ["a", "b"]
    assert data.references == [["a", "x"], ["b", "y"]]
    assert reading.default_statistic.name == "bleu"


def test_empty_lines_are_segments_too() -> None:
    reading = read_files("mt", {"u": "a\n\nb\n", "v": "a\nx\n\n", "ref": "a\nx\nb\n"})
    assert isinstance(reading.data, Segments)
    assert reading.data.v == ["a", "x", ""]
    assert noted(reading, "u: 1 empty lines were kept")


def test_files_of_other_lengths_are_refused() -> None:
    refuses("length_mismatch", "/files/ref", "mt", {"u": "a\nb\n", "v": "a\nb\n", "ref": "a\n"})


def test_documents_come_from_a_table() -> None:
    files = {"u": "a\nb\nc\n", "v": "a\nb\nc\n", "ref": "a\nb\nc\n"}
    data: Any = read_files("mt", {**files, "documents": "doc\nx\nx\ny\n"}, clusters="document").data
    assert data.pairing.clusters.tolist() == [0, 0, 1]
    refuses(None, "/options/clusters", "mt", files, clusters="document")
    refuses("length_mismatch", None, "mt", {**files, "documents": "doc\nx\n"}, clusters="document")


def test_bleu_and_ter_are_counts(tables_of_mt: dict[str, Path]) -> None:
    bleu = read_files("mt-stats", tables_of_mt, statistic="bleu")
    assert isinstance(bleu.data, Counts)
    assert bleu.statistic_read
    assert bleu.data.u["correct_4"].tolist() == [
        int(value) for value in column(tables_of_mt["u"], "correct_4")
    ]
    ter = read_files("mt-stats", tables_of_mt, metric="ter")
    assert isinstance(ter.data, Counts)
    assert ter.data.v["ter_edits"].tolist() == [
        int(value) for value in column(tables_of_mt["v"], "ter_edits")
    ]
    assert ter.default_statistic.parameters == {"numerator": "ter_edits", "denominator": "ter_ref_len"}


def test_any_column_can_be_the_score(tables_of_mt: dict[str, Path]) -> None:
    data = read_files("mt-stats", tables_of_mt, metric="chrf2").data
    assert isinstance(data, Scores)
    assert isinstance(data.u, np.ndarray)
    assert data.u.tolist() == [float(value) for value in column(tables_of_mt["u"], "chrf2")]
    rounded = read_files("mt-stats", tables_of_mt, metric="chrF2", decimals=1).data
    assert isinstance(rounded, Scores)
    assert isinstance(rounded.u, np.ndarray)
    assert np.abs(rounded.u - data.u).max() <= 0.05
    assert all(len(repr(value).partition(".")[2]) == 1 for value in rounded.u.tolist())


def test_tables_with_counts_and_scores_ask_for_the_metric(tables_of_mt: dict[str, Path]) -> None:
    error = refusal("mt-stats", tables_of_mt)
    assert error.flaws[0].code == "choose_metric"
    assert '"bleu", "ter", "sys_len"' in error.detail  # "document" is _ throughout, and no number
    assert '"chrf2"' in error.detail
    refuses("choose_metric", None, "mt-stats", tables_of_mt, metric="comet")
    refuses("invalid_option", None, "mt-stats", tables_of_mt, metric="ter", decimals=2)


def test_unmarked_documents_cannot_be_clusters(tables_of_mt: dict[str, Path]) -> None:
    refuses("no_cluster", None, "mt-stats", tables_of_mt, metric="ter", clusters="document")


def test_an_invalid_count_is_named(tables_of_mt: dict[str, Path]) -> None:
    text = tables_of_mt["u"].read_text().split("\n")
    place = text[0].split("\t").index("ter_edits")
    fields = text[3].split("\t")
    fields[place] = "2.5"
    refuses(
        "not_a_count",
        "/files/u/line/4",
        "mt-stats",
        {**tables_of_mt, "u": "\n".join([*text[:3], "\t".join(fields), *text[4:]])},
        metric="ter",
    )


# mt-metrics-eval's segment scores: real ones of BLEU, chrF and MQM, and damaged.


Scores_of_metric_scores = dict[str, list[float | None]]
GOLD = "A\t-1.0\nA\tNone\nA\t0\nB\t-3\nB\tNone\nB\t-1\n"
KENDALL = StatisticSpec("kendall")
ONE = "A 1.5\nA 2\nA 3\nB 0.5\nB 1e-3\nB -1\n"
TWO = ONE.replace(" ", "\t").replace("1.5", "7")


@pytest.fixture
def files() -> dict[str, Path]:
    folder = EXCERPTS / "mtme"
    names = {"u": "chrF-refA", "v": "BLEU-refA", "gold": "en-de.mqm"}
    return {role: folder / f"{name}.seg.score.gz" for role, name in names.items()}


def as_mt_metrics_eval_reads(path: Path) -> Scores_of_metric_scores:
    """data.py, ReadScoreFile."""
    scores: Scores_of_metric_scores = defaultdict(list)
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


def test_unrated_systems_are_named() -> None:
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
def test_damaged_files_are_refused_at_their_place(
    changed: dict[str, str], options: dict[str, str], code: str, pointer: str
) -> None:
    files = {"gold": GOLD, "u": ONE, "v": TWO, **changed}
    refuses(code, pointer, "mt-metrics-eval", files, **options)


# Lines of text with ids in front, as Kaldi, fast_align and spreadsheets write them: paired by id, and never by line.


TEXTS = [
    "the quick brown fox jumps over the dog",
    "she sells sea shells by the shore",
    "peter piper picked a peck of peppers",
    "how much wood would a woodchuck chuck",
]
WORSE = [text.replace("the", "a") for text in TEXTS]


def lines(texts: list[str], mark: str, seed: int | None = None, prefix: str = "utt-") -> str:
    rows = [f"{prefix}{number}{mark}{text}\n" for number, text in enumerate(texts)]
    if seed is not None:
        random.Random(seed).shuffle(rows)
    return "".join(rows)


@pytest.mark.parametrize("mark", ["\t", " ||| ", ";"])
def test_lines_are_paired_by_ids_in_front_which_are_cut_off(mark: str) -> None:
    files = {"u": lines(TEXTS, mark, 1), "v": lines(WORSE, mark, 2), "ref": lines(TEXTS, mark, 3)}
    reading = read_files("auto", files)
    data: Any = reading.data
    assert reading.format == "mt"
    assert [[text] for text in data.u] == data.references
    assert sorted(data.u) == sorted(TEXTS)
    assert [text.replace("the", "a") for text in data.u] == list(data.v)
    assert noted(reading, "paired by the ids in front of their lines")


def test_ids_before_a_blank_are_of_transcripts_or_of_translations() -> None:
    files = {"u": lines(TEXTS, " ", 1), "v": lines(WORSE, " ", 2), "ref": lines(TEXTS, " ")}
    asked = refusal("auto", files)
    assert [flaw.code for flaw in asked.flaws] == ["choose_format"]
    assert [choice.fields for choice in asked.flaws[0].choices] == [{"format": "asr"}, {"format": "mt"}]
    transcripts: Any = read_files("asr", files).data
    assert transcripts.u["errors"].tolist() == [0, 0, 0, 0]
    by_id = dict(zip(transcripts.pairing.ids, transcripts.v["errors"].tolist(), strict=True))
    assert by_id == {"utt-0": 2, "utt-1": 1, "utt-2": 0, "utt-3": 0}
    translations: Any = read_files("mt", files).data
    assert sorted(translations.u) == sorted(TEXTS)


def test_files_with_other_ids_are_not_paired() -> None:
    many = [f"a sentence of words {number}" for number in range(20)]
    files = {"u": lines(many, "\t"), "v": lines(many[:-1], "\t"), "ref": lines(many, "\t", 1)}
    error = refusal("mt", files)
    assert {flaw.code for flaw in error.flaws} == {"unmatched_ids"}
    assert not any(flaw.choices for flaw in error.flaws)


@pytest.mark.parametrize(
    "texts",
    [
        TEXTS,  # words without digits
        ["1 a", "2 b"],  # too few lines to tell
        ["3 dogs bark", "3 cats sleep", "4 birds sing"],  # not unique
        ["", "1 a", "2 b", "3 c"],  # an empty segment
    ],
)
def test_words_are_texts(texts: list[str]) -> None:
    files = dict.fromkeys(("u", "v", "ref"), "".join(f"{text}\n" for text in texts))
    data: Any = read_files("mt", files).data
    assert list(data.u) == texts
    assert data.pairing.ids is None
