"""Test files of many systems against the readers of two, under the systems' names."""

import pkgutil
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exactperm.errors import InputError
from exactperm.inputs.formats import catalogue
from exactperm.inputs.formats.tasks import stem
from exactperm.inputs.reader import ReaderOptions, UploadedFile
from exactperm.statistics.paired import Counts, Scores
from tests.binary import npy

from .shorthands import CSV, NDJSON, NPY, TSV, Part, by_id, flaws, of_body, of_form, only

DATA = Path(__file__).resolve().parents[3] / "data"
PACK = Path(__file__).resolve().parents[5] / "shared" / "data"
EARLY, LATE = b"id,score\nx,1\ny,2\n", b"id,score\ny,1\nx,5\n"


def systems_of(*paths: Path) -> list[Part]:
    return [("system", path.name, path.read_bytes()) for path in paths]


def by_readers(u: Path, v: Path, others: dict[str, Path], **options: Any) -> Any:
    """The result of the reader of two files."""
    from exactperm.inputs import encodings

    files = {
        role: UploadedFile(path.name, encodings.inflated(path.read_bytes(), max_bytes=2**28))
        for role, path in {"u": u, "v": v, **others}.items()
    }
    return catalogue.read(files, "auto", ReaderOptions(**options)).data


def test_conllu_of_two_taggers() -> None:
    paths = [DATA / "conllu" / f"{name}.conllu" for name in ("perceptron", "crf")]
    gold = DATA / "conllu" / "gold.conllu"
    comparison: Any = of_form(
        [*systems_of(*paths), ("gold", "gold.conllu", gold.read_bytes())], statistic="upos"
    )
    systems = only(comparison)
    data = by_readers(paths[0], paths[1], {"gold": gold}, metric="upos")
    assert isinstance(data, Counts)
    for name, wanted in (("perceptron", data.u), ("crf", data.v)):
        own: Any = systems.columns[name]
        assert {count: column.tolist() for count, column in own.items()} == {
            count: column.tolist() for count, column in wanted.items()
        }
    assert comparison.comparison.spec.name == "accuracy"
    assert comparison.comparison.options.metric == "upos"
    assert comparison.reading.format == "conllu"
    assert any(str(note).startswith("crf: ") for note in comparison.reading.notes)
    assert not any(str(note).startswith(("u: ", "v: ")) for note in comparison.reading.notes)


def test_a_guessed_file_of_each_system_obeys_the_column_of_gold() -> None:
    parts = [
        ("system", f"{name}.csv", f"item,truth,guess\np,a,{first}\nq,b,b\n".encode())
        for name, first in (("good", "a"), ("bad", "b"))
    ]
    columns = {"gold_column": "truth", "score_column": "guess", "id_column": "item"}
    comparison: Any = of_form(parts, statistic="accuracy", **columns)
    systems: Any = only(comparison)
    assert comparison.reading.format == "labels"
    assert list(systems.gold) == ["a", "b"]
    assert {name: list(column) for name, column in systems.columns.items()} == {
        "good": ["a", "b"],
        "bad": ["b", "b"],
    }


def test_tables_in_any_order_of_files_and_rows() -> None:
    parts = [("system", "late.csv", LATE), ("system", "early.csv", EARLY), ("system", "c.csv", LATE)]
    comparison = of_form(parts, names="L,E,C", adjust="bh", higher_is_better="false")
    assert by_id(only(comparison)) == {"C": {"y": 1, "x": 5}, "E": {"x": 1, "y": 2}, "L": {"y": 1, "x": 5}}
    assert comparison.comparison.adjust == "bh"
    assert comparison.comparison.options.higher_is_better is False
    assert list(only(of_form(parts)).columns) == ["c", "early", "late"]


@pytest.mark.parametrize("missing", ["pairwise", "complete"])
def test_missing_items_of_files(missing: str) -> None:
    third = b"id,score\ny,3\nz,4\nw,\n"
    parts = [("system", "a.csv", EARLY), ("system", "b.csv", LATE), ("system", "c.csv", third)]
    own = {"a": {"x": 1, "y": 2}, "b": {"y": 1, "x": 5}, "c": {"y": 3, "z": 4}}
    systems = only(of_form(parts, on_missing=missing))
    if missing == "complete":
        own = {name: {"y": values["y"]} for name, values in own.items()}
    assert by_id(systems) == own
    with pytest.raises(InputError) as refused:
        of_form(parts)
    assert flaws(refused.value) == [(f"/files/{name}", "unmatched_ids") for name in "abc"]


def test_clusters_of_files() -> None:
    one, two = b"id,score,cluster\nx,1,k\ny,2,l\nz,3,k\n", b"id,score,cluster\nz,1,k\ny,2,l\nx,3,k\n"
    parts = [("system", "a.csv", one), ("system", "b.csv", two), ("system", "c.csv", two)]
    systems: Any = only(of_form(parts))
    assert dict(zip(systems.pairing.ids or (), systems.pairing.clusters.tolist(), strict=True)) in (
        {"x": 0, "y": 1, "z": 0}, {"x": 1, "y": 0, "z": 1},
    )  # fmt: skip
    other = b"id,score,cluster\nz,1,l\ny,2,l\nx,3,k\n"
    with pytest.raises(InputError) as refused:
        of_form([*parts, ("system", "d.csv", other)])
    assert [code for _, code in flaws(refused.value)] == ["cluster_mismatch"]
    less = b"id,score,cluster\nx,3,k\n"
    with pytest.raises(InputError) as unknown:
        of_form([*parts, ("system", "d.csv", less)], on_missing="pairwise")
    assert flaws(unknown.value) == [("/options/on_missing", "clusters_of_separate_files")]
    assert only(of_form([*parts, ("system", "d.csv", less)], on_missing="complete")).pairing.ids == ["x"]


WIDE = b"item_id;A;B;C\nx;1;0;2\ny;2;1;0\n"
LONG = b"item_id,model,correct\nx,A,1\nx,B,0\ny,B,1\ny,A,2\n"
LINES = b'{"id": "x", "model": "A", "correct": true}\n{"id": "x", "model": "B", "correct": false}\n'
WIDE_LINES = b'[{"id": "x", "text": "hm", "A": 1, "B": 0}, {"id": "y", "text": "ah", "A": 2, "B": 1}]'


def test_one_file_with_several_systems() -> None:
    assert by_id(only(of_form([("file", "w.csv", WIDE)])))["C"] == {"x": 2, "y": 0}
    assert by_id(only(of_form([("file", "w.csv", WIDE)], systems="C,A"))) == {
        "A": {"x": 1, "y": 2},
        "C": {"x": 2, "y": 0},
    }
    long = of_form([("file", "l.csv", LONG)], format="csv")
    assert by_id(only(long)) == {"A": {"x": 1, "y": 2}, "B": {"x": 0, "y": 1}}
    assert long.comparison.options.metric == "correct"
    assert by_id(only(of_form([("file", "l.jsonl", LINES)]))) == {"A": {"x": 1}, "B": {"x": 0}}
    wide_lines = of_form([("file", "l.json", WIDE_LINES)], systems='["A", "B"]')
    assert by_id(only(wide_lines)) == {"A": {"x": 1, "y": 2}, "B": {"x": 0, "y": 1}}
    plain = b"id,system,score,dataset\nx,A,1,d\nx,B,0,d\nx,A,3,e\nx,B,2,e\n"
    comparison = of_form([("file", "p.csv", plain)])
    assert list(comparison.comparison.datasets) == ["d", "e"]
    assert comparison.pointer_map("/datasets/e/systems/B/0") == "/files/file/line/5/3"
    lines = b'{"id": 1, "system": "A", "score": 1, "dataset": "d"}\n{"id": 1, "system": "B", "score": 1, "dataset": "d"}'
    assert list(of_form([("file", "p.jsonl", lines)]).comparison.datasets) == ["d"]
    request = b'{"kind": "scores", "systems": {"A": [1, 0], "B": [1, 1]}, "adjust": "by"}'
    read = of_form([("file", "r.json", request)])
    assert read.comparison.adjust == "by"
    assert read.pointer_map("/systems/B/1") == "/files/file/systems/B/1"


def test_promptfoo_and_mqm() -> None:
    foo = of_form([("file", "results.json", (DATA / "promptfoo/results.json").read_bytes())])
    systems = only(foo)
    path = DATA / "promptfoo/results.json"
    two: Any = catalogue.read(
        {"file": UploadedFile("r", path.read_bytes())},
        "promptfoo",
        ReaderOptions(**_columns_of(list(systems.columns))),
    )
    assert isinstance(two.data, Scores)
    for name, wanted in zip(two.names, (two.data.u, two.data.v), strict=True):
        assert np.asarray(systems.columns[name]).tolist() == np.asarray(wanted).tolist()
    mqm: Any = of_form(
        [("file", "m.tsv", (DATA / "mqm/newstest2020_ende.tsv").read_bytes())], higher_is_better="true"
    )
    assert mqm.reading.format == "mqm"
    assert len(only(mqm).columns) > 2


def _columns_of(names: list[str]) -> dict[str, Any]:
    return {"system_u": names[0], "system_v": names[1]}


REFUSED: dict[str, tuple[list[Part], dict[str, str], str, str]] = {
    "nothing": ([], {"adjust": "bh"}, "/files", "too_few_systems"),
    "one file": ([("system", "a.csv", EARLY)], {}, "/files", "too_few_systems"),
    "two of one name": ([("system", "a.csv", EARLY), ("system", "a.csv", LATE)], {}, "/options/names", "duplicate_name"),
    "too few names": (
        [("system", "a.csv", EARLY), ("system", "b.csv", LATE)], {"names": "A"}, "/options/names", "wrong_name_count"
    ),
    "no names": (
        [("system", "a.csv", EARLY), ("system", "b.csv", LATE)], {"names": "[1, 2]"}, "/options/names", "not_names"
    ),
    "both ways": ([("system", "a.csv", EARLY), ("file", "b.csv", WIDE)], {}, "/files/system", "unused_file"),
    "the files of two": ([("u", "a.csv", EARLY), ("v", "b.csv", LATE)], {}, "/files/u", "unused_file"),
    "an unused file": (
        [("system", "a.csv", EARLY), ("system", "b.csv", LATE), ("documents", "d.csv", LATE)], {}, "/files/documents", "unused_file"
    ),
    "an unused option": (
        [("system", "a.csv", EARLY), ("system", "b.csv", LATE)], {"measure": "map"}, "/options/measure", "unused_option"
    ),
    "an option of two": (
        [("system", "a.csv", EARLY), ("system", "b.csv", LATE)], {"system_u": "a"}, "/options/system_u", "unknown_parameter"
    ),
    "an option twice over": (
        [("system", "a.csv", EARLY), ("system", "b.csv", LATE)], {"adjust": "x"}, "/options/adjust", "literal_error"
    ),
    "a statistic of counts": (
        [("system", "a.csv", EARLY), ("system", "b.csv", LATE)], {"statistic": "f1"}, "/options/statistic", "unknown_statistic"
    ),
    "a text in one file": (
        [("system", "a.csv", EARLY), ("system", "b/c.csv", b"id,score\nx,1\ny,b\n")], {}, "/files/c/line/3/2", "not_a_number"
    ),
    "a text in a table": ([("file", "a.csv", b"id,A,B\nx,1,b\ny,1,1\n")], {}, "/files/file/line/2/3", "not_a_number"),
    "columns of texts": (
        [("file", "a.csv", b"item_id,text,score,B\nx,hm,1,0\n")], {}, "/files/file/line/1", "choose_systems"
    ),
    "a column of means": (
        [("file", "a.csv", b"item_id,mean,A,B\nx,1,1,0\n")], {}, "/files/file/line/1/2", "summary_column"
    ),
    "a row of means without ids": (
        [("file", "a.csv", b"which;A;B\nx;1;0\ny;1;1\nmean;1;0.5\n")], {"systems": "A,B"}, "/files/file/line/4/1", "summary_row"
    ),
    "an id twice": (
        [("file", "a.csv", b"item_id,A,B\nx,1,0\nx,1,0\n")], {}, "/files/file/line/3/1", "duplicate_id"
    ),
    "an id twice in lines": (
        [("file", "a.jsonl", LINES + LINES)], {}, "/files/file/line/3", "duplicate_value"
    ),
    "one system in a file": ([("file", "a.csv", b"id,A\nx,1\n")], {"format": "csv"}, "/files", "too_few_systems"),
    "a format that there is not": (
        [("file", "a.csv", b"id,A,B\nx,1,0\n")], {"format": "cvs"}, "/options/format", "unknown_format"
    ),
    "a file of one system": (
        [("file", "a.conllu", (DATA / "conllu/crf.conllu").read_bytes())], {}, "/files/file", "one_system"
    ),
    "a request with options": (
        [("file", "r.json", b'{"kind": "scores", "systems": {"A": [1], "B": [0]}}')], {"adjust": "bh"},
        "/options/adjust", "unused_option",
    ),
    "a flaw in a request": (
        [("file", "r.json", b'{"kind": "scores", "systems": {"A": [1], "B": ["0"]}}')], {},
        "/files/file/systems/B/0", "not_a_number",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_refused_with_a_pointer(case: str) -> None:
    parts, fields, pointer, code = REFUSED[case]
    with pytest.raises(InputError) as refused:
        of_form(parts, **fields) if parts else of_form([("system", "a.csv", EARLY)], **fields)
    assert flaws(refused.value)[0] == (pointer, code)


def test_names_of_files() -> None:
    names = ("gpt-4.jsonl.gz", "ud-test.crf.conllu", "llama-3.1", ".csv", "a.CSV")
    assert [stem(name) for name in names] == ["gpt-4", "ud-test.crf", "llama-3.1", ".csv", "a"]


@pytest.mark.slow
@pytest.mark.pack
def test_pack_conllu_of_three_taggers() -> None:
    folder = PACK / "conllu"
    paths = {name: folder / f"en_ewt-ud-test.{name}.conllu.gz" for name in ("crf", "ngram", "perceptron")}
    gold = folder / "en_ewt-ud-test.gold.conllu.gz"
    parts: list[Part] = [*systems_of(*paths.values()), ("gold", gold.name, gold.read_bytes())]
    comparison = of_form(parts, statistic="upos", names="crf,ngram,perceptron", clusters="document")
    systems = only(comparison)
    assert systems.pairing.n_clusters == 316
    for name in ("ngram", "perceptron"):
        data = by_readers(paths[name], paths["crf"], {"gold": gold}, metric="upos")
        own: Any = systems.columns[name]
        assert own["correct"].tolist() == data.u["correct"].tolist()
        assert own["total"].sum() == 25_094


@pytest.mark.pack
def test_pack_trec_of_four_runs() -> None:
    paths = sorted((PACK / "trec" / "robust03").glob("eval.*.txt"))
    comparison = of_form(systems_of(*paths), measure="map")
    systems = only(comparison)
    assert (len(systems.columns), comparison.comparison.options.metric) == (4, "map")
    assert comparison.comparison.options.higher_is_better is True
    data = by_readers(paths[3], paths[1], {}, measure="map")
    names = [stem(path.name) for path in paths]
    means = {name: float(np.mean(np.asarray(column))) for name, column in systems.columns.items()}
    assert means[names[3]] == pytest.approx(float(np.mean(data.u)))
    assert means[names[1]] == pytest.approx(float(np.mean(data.v)))


@pytest.mark.pack
def test_pack_lines_of_three_models() -> None:
    paths = sorted((PACK / "llm_jsonl" / "eus_trivia").glob("*.jsonl"))
    systems = only(of_form(systems_of(*paths)))
    assert len(systems.columns) == 3
    data = by_readers(paths[2], paths[0], {})
    assert np.asarray(systems.columns[paths[2].stem]).tolist() == data.u.tolist()
    assert np.asarray(systems.columns[paths[0].stem]).tolist() == data.v.tolist()


@pytest.mark.pack
def test_pack_mqm_of_ten_systems() -> None:
    path = PACK / "mqm" / "mqm_newstest2020_ende.avg_seg_scores.tsv"
    comparison = of_form([("file", path.name, path.read_bytes())], higher_is_better="true")
    systems = only(comparison)
    assert len(systems.columns) == 10
    names = list(systems.columns)
    two = catalogue.read(
        {"file": UploadedFile(path.name, path.read_bytes())},
        "mqm",
        ReaderOptions(system_u=names[3], system_v=names[7]),
    ).data
    assert isinstance(two, Scores)
    assert np.asarray(systems.columns[names[3]]).tolist() == np.asarray(two.u).tolist()
    assert np.asarray(systems.columns[names[7]]).tolist() == np.asarray(two.v).tolist()


def described(name: str, other: int | None = None, gone: int | None = None) -> Part:
    """Scores of eight items, one of which is another item, and one of which is missing."""
    rows = (
        f"{i},{(7 * i + ord(name)) % 5},{'other' if i == other else f'q{i}'}\n" for i in range(8) if i != gone
    )
    return "system", f"{name}.csv", ("id,score,question\n" + "".join(rows)).encode()


@pytest.mark.parametrize("missing", ["error", "pairwise", "complete"])
def test_items_that_files_describe_differently_are_left_out_of_all(missing: str) -> None:
    gone = None if missing == "error" else 5
    parts = [described("A"), described("B", other=3), described("C", gone=gone)]
    comparison: Any = of_form(parts, on_mismatch="drop", on_missing=missing)
    values = by_id(only(comparison))
    note = "1 items that B and A describe differently were left out (on_mismatch: drop)."
    assert note in map(str, comparison.reading.notes)
    left = {str(i) for i in range(8)} - {"3"}
    assert set(values["C"]) == left - {str(gone)}
    assert set(values["A"]) == set(values["B"]) == (left - {"5"} if missing == "complete" else left)
    assert not any(warning.code == "item_mismatch" for warning in comparison.warnings)
    warned = of_form(parts, on_missing=missing)
    assert [warning.code for warning in warned.warnings].count("item_mismatch") == 1


def test_rows_of_a_long_table_that_describe_other_items_are_left_out() -> None:
    rows = [
        f"{i},{s},{(7 * i + ord(s)) % 5},{'other' if (i, s) == (3, 'B') else f'q{i}'}\n"
        for s in "ABC"
        for i in range(8)
    ]
    part = ("file", "long.csv", ("id,system,score,question\n" + "".join(rows)).encode())
    comparison: Any = of_form([part], on_mismatch="drop")
    assert {tuple(own) for own in by_id(only(comparison)).values()} == {tuple("0124567")}
    assert comparison.pointer_map("/systems/B/3") == "/files/file/line/14/3"
    assert "1 items that their rows describe differently were left out (on_mismatch: drop)." in map(
        str, comparison.reading.notes
    )
    assert [warning.code for warning in of_form([part]).warnings] == ["item_mismatch"]


def test_repeats_says_what_several_rows_of_an_item_are() -> None:
    parts = [("system", f"{name}.csv", b"id,score\nx,1\nx,2\ny,3\ny,1\n") for name in "abc"]
    (warning,) = of_form(parts).warnings
    assert warning.code == "choose_runs"
    assert "repeats=mean" in warning.detail
    assert not of_form(parts, repeats="mean").warnings
    long = b"id,system,score\n" + b"".join(
        b"%s,%s,%d\n" % (i, s, n) for s in (b"A", b"B") for i in (b"x", b"y") for n in (0, 1)
    )
    assert [one.code for one in of_form([("file", "l.csv", long)]).warnings] == ["choose_runs"]
    assert not of_form([("file", "l.csv", long)], repeats="mean").warnings


READ_AS: dict[str, tuple[str, str, dict[str, str]]] = {
    "csv": ("exactperm.inputs.frame._plain", "id,score\n{rows}", {}),
    "jsonl": ("exactperm.inputs.json_records._table", "{lines}", {}),
    "lm-eval": ("exactperm.inputs.reader.Source.lines", "{logs}", {"metric": "acc"}),
}


@pytest.mark.parametrize("missing", ["error", "pairwise"])
@pytest.mark.parametrize("format_", READ_AS)
def test_each_file_is_parsed_once(format_: str, missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    parser, content, fields = READ_AS[format_]
    parsed: list[Any] = []
    real = pkgutil.resolve_name(parser)

    def counted(source: Any, *args: Any) -> Any:
        parsed.append(source.name)
        return real(source, *args)

    parts = []
    for name in "abcde":
        own = [(i, (i * ord(name)) % 3) for i in range(6) if missing == "error" or i != ord(name) % 5]
        text = content.format(
            rows="".join(f"{i},{score}\n" for i, score in own),
            lines="".join(f'{{"id": {i}, "score": {score}}}\n' for i, score in own),
            logs="".join(
                f'{{"doc_id": {i}, "filter": "none", "metrics": ["acc"], "acc": {score}}}\n'
                for i, score in own
            ),
        )
        parts.append(("system", f"{name}.txt", text.encode()))
    monkeypatch.setattr(parser, counted)
    values = by_id(only(of_form(parts, format=format_, on_missing=missing, **fields)))
    assert len(values) == 5
    assert len(values["e"]) == (6 if missing == "error" else 5)
    assert sorted(parsed) == [f"{name}.txt" for name in "abcde"]


# Damaged bodies of every media type are read or refused, and never fail in another way.


BODIES: dict[str, tuple[str, bytes, dict[str, str]]] = {
    "json": (
        "application/json",
        b'{"kind": "scores", "systems": {"A": {"p": 1, "q": 3}, "B": {"q": 0, "p": 4}}, "clusters": {"p": 1, "q": 2}}',
        {},
    ),
    "matrix": ("application/json", b'{"kind": "scores", "systems": ["A", "B"], "scores": [[1, 0.5], [0, 2e3]], "ids": [1, "2"]}', {}),
    "counts": (
        "application/json",
        b'{"kind": "counts", "systems": {"A": {"tp": [1, 2], "fn": [0, 1]}, "B": [{"tp": 1, "fn": 0}, {"tp": 1, "fn": 3}]}, "statistic": {"name": "recall"}}',
        {},
    ),
    "labels": (
        "application/json",
        b'{"kind": "predictions", "datasets": {"d": {"gold": ["a", "b"], "systems": {"A": ["a", "a"], "B": ["b", "b"]}}}}',
        {},
    ),
    "wide": (CSV, b'id,A,"B",cluster\nx,1,0,k\ny,,0.5,l\n"z",3,nan,k\n', {"on_missing": "pairwise"}),
    "long": (TSV, b"id\tsystem\tscore\tdataset\nx\tA\t1\td\nx\tB\t0\td\ny\tA\t1\te\ny\tB\t4\te\n", {}),
    "lines": (
        NDJSON, b'{"id": 1, "system": "A", "score": 1}\n{"id": 1, "system": "B", "score": 0.5}\n', {"on_missing": "complete"}
    ),
    "array": (NPY, npy(np.array([[1.5, 0], [np.nan, 1]], dtype=np.float32)), {"systems": "A,B", "on_missing": "pairwise"}),
}  # fmt: skip
PIECES = (
    b"",
    b"\0",
    b'"',
    b",",
    b"\n",
    b"\xff",
    b"{",
    b"]",
    b"-",
    b"1e999",
    b"null",
    b"true",
    b"mean",
    b"\t",
    b"id",
    b"9" * 40,
    b"\xef\xbb\xbf",
)


def damaged(body: bytes, chance: random.Random) -> bytes:
    for _ in range(chance.randint(1, 3)):
        start = chance.randrange(len(body) + 1)
        end = min(len(body), start + chance.choice((0, 1, 1, 2, 5)))
        piece = (
            chance.choice(PIECES)
            if chance.random() < 0.7
            else body[start : start + chance.randint(1, 30)] * 2
        )
        body = body[:start] + piece + body[end:]
    return body


@pytest.mark.slow
@pytest.mark.parametrize("case", BODIES)
def test_damaged_bodies(case: str) -> None:
    media_type, body, query = BODIES[case]
    of_body(media_type, body, **query)
    chance, details = random.Random(case), []
    for _ in range(600):
        try:
            comparison = of_body(media_type, damaged(body, chance), **query)
        except InputError as error:
            details.append(error.detail)
            continue
        for name, systems in comparison.comparison.datasets.items():
            prefix = "" if name is None else f"/datasets/{name}"
            for system in systems.columns:
                assert comparison.pointer_map(f"{prefix}/systems/{system}/0").startswith("/")
    assert 0 < len(details) < 600
    assert all(details)


@pytest.mark.parametrize(
    "path", ["mqm/newstest2020_ende.tsv", "promptfoo/results.json", "eus_trivia/gpt-4-0613.jsonl"]
)
def test_damaged_files(path: str) -> None:
    content = (DATA / path).read_bytes()[:6_000]
    chance, details = random.Random(path), [""]
    for _ in range(60):
        broken = damaged(content, chance)
        for parts in ([("file", path, broken)], [("system", "a", content), ("system", "b", broken)]):
            try:
                of_form(parts, on_missing=chance.choice(("error", "pairwise", "complete")))
            except InputError as error:
                details.append(error.detail)
    assert len(details) > 1
    assert all(details[1:])
