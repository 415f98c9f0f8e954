from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from exactperm.errors import InputError
from exactperm.statistics.paired import Counts, Scores

from .conftest import Read

Refusal = Callable[..., InputError]


def columns(data: object) -> tuple[list[float], list[float]]:
    assert isinstance(data, Scores)
    assert isinstance(data.u, np.ndarray)
    assert isinstance(data.v, np.ndarray)
    return data.u.tolist(), data.v.tolist()


@pytest.mark.parametrize("delimiter", [",", "\t", "|", ";", " "])
def test_wide_files_of_any_delimiter(delimiter: str, read_files: Read) -> None:
    text = "v,id,u\n0.1,a,0.85\n3,b,1e-3\n".replace(",", delimiter)
    reading = read_files("csv", {"file": text})
    assert columns(reading.data) == ([0.85, 0.001], [0.1, 3.0])
    assert reading.data.pairing.by_id


def test_columns_of_two_named_systems_of_many(read_files: Read) -> None:
    text = "id,Base,Big,Bigger\na,1,2,3\nb,4,5,6\n"
    reading = read_files("csv", {"file": text}, system_u="bigger", system_v="Base")
    assert columns(reading.data) == ([3, 6], [1, 4])
    assert reading.names == ("Bigger", "Base")


def test_two_columns_without_names_are_taken_in_order_and_noted(read_files: Read) -> None:
    reading = read_files("csv", {"file": "id,sysA,sysB\na,1,2\n"})
    assert columns(reading.data) == ([1], [2])
    assert any("u is sysA and v is sysB" in note for note in reading.notes)


def test_more_than_two_systems_must_be_chosen(refusal: Refusal) -> None:
    error = refusal("csv", {"file": "id,a,b,c\n1,1,2,3\n"})
    assert error.flaws[0].code == "choose_system_u"
    assert all(f'"{name}"' in error.detail for name in "abc")
    assert (
        refusal("csv", {"file": "id,a,b,c\n1,1,2,3\n"}, system_u="a", system_v="d").flaws[0].code
        == "choose_system_v"
    )


def test_long_files_pair_by_id_and_count_what_they_skip(read_files: Read) -> None:
    text = "system,score,id\nx,1,a\nx,2,b\ny,3,b\ny,4,a\nz,9,a\n"
    reading = read_files("csv", {"file": text}, system_u="x", system_v="y")
    assert columns(reading.data) == ([1, 2], [4, 3])
    assert any("1 lines of 1 other systems were skipped" in note for note in reading.notes)


def test_integers_stay_integers_and_decimals_the_nearest_double(read_files: Read) -> None:
    reading = read_files("csv", {"file": f"id,u,v\na,{2**53 + 1},0\nb,7,-0\n"})
    assert isinstance(reading.data, Scores)
    assert isinstance(reading.data.u, np.ndarray)
    assert reading.data.u.dtype == np.int64
    assert reading.data.u[0] == 2**53 + 1


def test_headerless_files_of_the_papers_authors(read_files: Read) -> None:
    assert columns(read_files("csv", {"file": "# correctA,correctB\n1,0\n0,1\n"}).data) == ([1, 0], [0, 1])
    reading = read_files("csv", {"file": "8|2|6|1\n3|3|5|2\n"})
    assert isinstance(reading.data, Counts)
    assert reading.default_statistic.name == "f1"
    assert reading.data.u["tp"].tolist() == [8, 3]
    assert reading.data.v["incorrect"].tolist() == [1, 2]


def test_counts_with_a_header_carry_ids_and_clusters(read_files: Read) -> None:
    text = "id,cluster,errors_u,ref_words_u,errors_v,ref_words_v\na,x,1,9,2,9\nb,x,0,4,1,4\n"
    reading = read_files("csv", {"file": text})
    assert reading.kind == "counts"
    assert reading.default_statistic.parameters == {"numerator": "errors", "denominator": "ref_words"}
    assert reading.data.pairing.n_clusters == 1


def test_clusters_are_a_column_by_name(read_files: Read) -> None:
    text = "id,u,v,cluster,topic\na,1,0,1,x\nb,1,0,1,y\nc,0,0,2,x\n"
    by_default = read_files("csv", {"file": text}, system_u="u", system_v="v")
    assert by_default.data.pairing.n_clusters == 2
    chosen = read_files(
        "csv", {"file": text}, clusters="topic", system_u="u", system_v="v"
    ).data.pairing.clusters
    assert chosen is not None
    assert chosen.tolist() == [0, 1, 0]


def test_two_files_pair_by_id_and_not_by_order(read_files: Read) -> None:
    reading = read_files("csv", {"u": "id,score\na,1\nb,2\n", "v": "id,score\nb,5\na,4\n"})
    assert columns(reading.data) == ([1, 2], [4, 5])


def test_two_files_of_one_column_pair_by_order_and_say_so(read_files: Read) -> None:
    reading = read_files("csv", {"u": "1\n0\n", "v": "0\n0\n"})
    assert columns(reading.data) == ([1, 0], [0, 0])
    assert any("paired by their order" in note for note in reading.notes)


def test_294_items_against_293_without_ids_are_refused(refusal: Refusal) -> None:
    error = refusal("csv", {"u": "1\n" * 293, "v": "1\n" * 294})
    assert error.flaws[0].code == "length_mismatch"
    assert "293" in error.detail
    assert "294" in error.detail


def test_294_items_against_293_with_ids_name_the_one(refusal: Refusal, read_files: Read) -> None:
    u = "id,score\n" + "".join(f"q{n},1\n" for n in range(294))
    v = u.replace("q17,1\n", "")
    error = refusal("csv", {"u": u, "v": v})
    assert [flaw.pointer for flaw in error.flaws] == ["/files/u"]
    assert '"q17"' in error.flaws[0].detail
    reading = read_files("csv", {"u": u, "v": v}, on_missing="drop")
    assert reading.data.pairing.matched == 293
    assert any("1 items that only u has were left out" in note for note in reading.notes)


@pytest.mark.parametrize("missing", ["", "NaN", "NA", "null", "None", "NOANSWER"])
def test_what_is_missing_is_never_zero(missing: str, read_files: Read, refusal: Refusal) -> None:
    text = f"id,u,v\na,1,0\nb,{missing},1\nc,0,0\n"
    error = refusal("csv", {"file": text})
    assert error.flaws[0].code == "missing_value"
    assert error.flaws[0].pointer == "/files/file/line/3"
    reading = read_files("csv", {"file": text}, on_missing="drop")
    assert columns(reading.data) == ([1, 0], [0, 0])
    assert any("1 items without a value were left out" in note for note in reading.notes)


@pytest.mark.parametrize(
    ("text", "pointer", "code"),
    [
        ("id,u,v\na,1,0\na,0,1\n", "/files/file/line/3", "duplicate_id"),
        ("id,u,v\na,1\n", "/files/file/line/2", "wrong_field_count"),
        ("id,u,v\na,1,x\n", "/files/file/line/2/3", "not_a_number"),
        ("id,u,v\na,1,inf\n", "/files/file/line/2/3", "not_a_number"),
        ("id,u,v\na,1,1_0\n", "/files/file/line/2/3", "not_a_number"),
        ("id,u,v\na,1,9223372036854775808\n", "/files/file/line/2/3", "integer_too_large"),
        ("id,u,U\na,1,2\n", "/files/file/line/1/3", "duplicate_column"),
        ("id,u,v\n", "/files/file", "no_items"),
        ("# nothing\n", "/files/file", "no_items"),
        ("1,2,3\n", "/files/file/line/1", "wrong_field_count"),
        ('id,u,v\n"a,1,2\n', "/files/file/line/2", "not_delimited"),
        ("id,tp_u,tp_v\na,1,2\na,1,2\n", "/files/file/line/3", "duplicate_id"),
        ("id,tp_u,tp_v\na,1,x\n", "/files/file/line/2/3", "not_a_number"),
    ],
)
def test_a_bad_line_is_named(text: str, pointer: str, code: str, refusal: Refusal) -> None:
    error = refusal("csv", {"file": text})
    assert [(flaw.pointer, flaw.code) for flaw in error.flaws] == [(pointer, code)]


def test_clusters_that_differ_between_the_files_are_refused(refusal: Refusal) -> None:
    error = refusal("csv", {"u": "id,score,cluster\na,1,x\n", "v": "id,score,cluster\na,1,y\n"})
    assert error.flaws[0].code == "cluster_mismatch"
    assert (
        refusal("csv", {"u": "id,score,cluster\na,1,x\n", "v": "id,score\na,1\n"}).flaws[0].code
        == "mixed_forms"
    )


def test_decimals_round_as_numpy_does(read_files: Read) -> None:
    generator = np.random.default_rng(1)
    values = [0.125, 0.375, 2.675, 68.305, 1e300, *(generator.integers(0, 10**6, 500) / 1000).tolist()]
    text = "id,u,v\n" + "".join(f"{n},{value},7\n" for n, value in enumerate(values))
    reading = read_files("csv", {"file": text}, decimals=2)
    assert columns(reading.data) == (np.round(values, 2).tolist(), [7] * len(values))
    assert any("rounded" in note for note in reading.notes)


def test_mqm_scores_separated_by_blanks(read_files: Read, refusal: Refusal, excerpts: Path) -> None:
    files = {"file": excerpts / "mqm" / "newstest2020_ende.tsv"}
    reading = read_files("mqm", files, system_u="OPPO.1535", system_v="Tohoku-AIP-NTT.890")
    u, v = columns(reading.data)
    assert (len(u), len(v)) == (8, 8)
    assert u[0] == float(
        (excerpts / "mqm" / "newstest2020_ende.tsv").read_text().split("OPPO.1535 ")[1].split()[0]
    )
    assert '"Human-A.0"' in refusal("mqm", files).detail


def test_the_quick_and_the_slow_way_read_the_same(read_files: Read) -> None:
    rows = [f"q{n},{n % 7},{n % 5 / 10},{n // 4}" for n in range(1_000)]
    quick = "\n".join(["id,u,v,cluster", *rows, ""])
    slow = "\n".join(["id,u,v,cluster", "", *rows, ""])
    one, other = (read_files("csv", {"file": text}) for text in (quick, slow))
    assert columns(one.data) == columns(other.data)
    for field in ("by_id", "matched", "n_clusters"):
        assert getattr(one.data.pairing, field) == getattr(other.data.pairing, field)
    assert one.data.pairing.clusters is not None
    assert other.data.pairing.clusters is not None
    assert one.data.pairing.clusters.tolist() == other.data.pairing.clusters.tolist()
    assert [note for note in other.notes if "empty lines" not in note] == list(one.notes)
