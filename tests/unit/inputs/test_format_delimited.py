from __future__ import annotations

import numpy as np
import pytest

from exactperm.statistics.paired import Counts, Scores

from .reading import EXCERPTS, columns, noted, read_files, refusal, refuses, refuses_alone


@pytest.mark.parametrize("delimiter", [",", "\t", "|", ";", " "])
def test_wide_files_of_any_delimiter(delimiter: str) -> None:
    text = "v,id,u\n0.1,a,0.85\n3,b,1e-3\n".replace(",", delimiter)
    reading = read_files("csv", {"file": text})
    assert columns(reading) == ([0.85, 0.001], [0.1, 3.0])
    assert reading.data.pairing.by_id


def test_columns_of_two_named_systems_of_many() -> None:
    text = "id,Base,Big,Bigger\na,1,2,3\nb,4,5,6\n"
    reading = read_files("csv", {"file": text}, system_u="bigger", system_v="Base")
    assert columns(reading) == ([3, 6], [1, 4])
    assert reading.names == ("Bigger", "Base")


def test_two_columns_without_names_are_taken_in_order_and_noted() -> None:
    reading = read_files("csv", {"file": "id,sysA,sysB\na,1,2\n"})
    assert columns(reading) == ([1], [2])
    assert noted(reading, "u is sysA and v is sysB")


def test_more_than_two_systems_must_be_chosen() -> None:
    error = refusal("csv", {"file": "id,a,b,c\n1,1,2,3\n"})
    assert error.flaws[0].code == "choose_system_u"
    assert all(f'"{name}"' in error.detail for name in "abc")
    refuses("choose_system_v", None, "csv", {"file": "id,a,b,c\n1,1,2,3\n"}, system_u="a", system_v="d")


def test_long_files_pair_by_id_and_count_what_they_skip() -> None:
    text = "system,score,id\nx,1,a\nx,2,b\ny,3,b\ny,4,a\nz,9,a\n"
    reading = read_files("csv", {"file": text}, system_u="x", system_v="y")
    assert columns(reading) == ([1, 2], [4, 3])
    assert noted(reading, "1 lines of 1 other systems were skipped")


def test_integers_stay_integers_and_decimals_the_nearest_double() -> None:
    reading = read_files("csv", {"file": f"id,u,v\na,{2**53 + 1},0\nb,7,-0\n"})
    assert isinstance(reading.data, Scores)
    assert isinstance(reading.data.u, np.ndarray)
    assert reading.data.u.dtype == np.int64
    assert reading.data.u[0] == 2**53 + 1


def test_headerless_files_of_the_papers_authors() -> None:
    assert columns(read_files("csv", {"file": "# correctA,correctB\n1,0\n0,1\n"})) == ([1, 0], [0, 1])
    reading = read_files("csv", {"file": "8|2|6|1\n3|3|5|2\n"})
    assert isinstance(reading.data, Counts)
    assert reading.default_statistic.name == "f1"
    assert reading.data.u["tp"].tolist() == [8, 3]
    assert reading.data.v["incorrect"].tolist() == [1, 2]


def test_counts_with_a_header_carry_ids_and_clusters() -> None:
    text = "id,cluster,errors_u,ref_words_u,errors_v,ref_words_v\na,x,1,9,2,9\nb,x,0,4,1,4\n"
    reading = read_files("csv", {"file": text})
    assert reading.kind == "counts"
    assert reading.default_statistic.parameters == {"numerator": "errors", "denominator": "ref_words"}
    assert reading.data.pairing.n_clusters == 1


def test_clusters_are_a_column_by_name() -> None:
    text = "id,u,v,cluster,topic\na,1,0,1,x\nb,1,0,1,y\nc,0,0,2,x\n"
    by_default = read_files("csv", {"file": text}, system_u="u", system_v="v")
    assert by_default.data.pairing.n_clusters == 2
    chosen = read_files(
        "csv", {"file": text}, clusters="topic", system_u="u", system_v="v"
    ).data.pairing.clusters
    assert chosen is not None
    assert chosen.tolist() == [0, 1, 0]


def test_two_files_pair_by_id_and_not_by_order() -> None:
    reading = read_files("csv", {"u": "id,score\na,1\nb,2\n", "v": "id,score\nb,5\na,4\n"})
    assert columns(reading) == ([1, 2], [4, 5])


def test_two_files_of_one_column_pair_by_order_and_say_so() -> None:
    reading = read_files("csv", {"u": "1\n0\n", "v": "0\n0\n"})
    assert columns(reading) == ([1, 0], [0, 0])
    assert noted(reading, "paired by their order")


def test_294_items_against_293_without_ids_are_refused() -> None:
    refuses("length_mismatch", None, "csv", {"u": "1\n" * 293, "v": "1\n" * 294}, "293", "294")


def test_294_items_against_293_with_ids_name_the_one() -> None:
    u = "id,score\n" + "".join(f"q{n},1\n" for n in range(294))
    v = u.replace("q17,1\n", "")
    refuses_alone(None, "/files/u", "csv", {"u": u, "v": v}, '"q17"')
    reading = read_files("csv", {"u": u, "v": v}, on_missing="drop")
    assert reading.data.pairing.matched == 293
    assert noted(reading, "1 items that only u has were left out")


@pytest.mark.parametrize("missing", ["", "NaN", "NA", "null", "None", "NOANSWER"])
def test_what_is_missing_is_never_zero(missing: str) -> None:
    text = f"id,u,v\na,1,0\nb,{missing},1\nc,0,0\n"
    refuses("missing_value", "/files/file/line/3", "csv", {"file": text})
    reading = read_files("csv", {"file": text}, on_missing="drop")
    assert columns(reading) == ([1, 0], [0, 0])
    assert noted(reading, "1 items without a value were left out")


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
def test_a_bad_line_is_named(text: str, pointer: str, code: str) -> None:
    refuses_alone(code, pointer, "csv", {"file": text})


def test_clusters_that_differ_between_the_files_are_refused() -> None:
    refuses(
        "cluster_mismatch", None, "csv", {"u": "id,score,cluster\na,1,x\n", "v": "id,score,cluster\na,1,y\n"}
    )
    refuses("mixed_forms", None, "csv", {"u": "id,score,cluster\na,1,x\n", "v": "id,score\na,1\n"})


def test_decimals_round_as_numpy_does() -> None:
    generator = np.random.default_rng(1)
    values = [0.125, 0.375, 2.675, 68.305, 1e300, *(generator.integers(0, 10**6, 500) / 1000).tolist()]
    text = "id,u,v\n" + "".join(f"{n},{value},7\n" for n, value in enumerate(values))
    reading = read_files("csv", {"file": text}, decimals=2)
    assert columns(reading) == (np.round(values, 2).tolist(), [7] * len(values))
    assert noted(reading, "rounded")


def test_mqm_scores_separated_by_blanks() -> None:
    files = {"file": EXCERPTS / "mqm" / "newstest2020_ende.tsv"}
    reading = read_files("mqm", files, system_u="OPPO.1535", system_v="Tohoku-AIP-NTT.890")
    u, v = columns(reading)
    assert (len(u), len(v)) == (8, 8)
    assert u[0] == float(
        (EXCERPTS / "mqm" / "newstest2020_ende.tsv").read_text().split("OPPO.1535 ")[1].split()[0]
    )
    refuses(None, None, "mqm", files, '"Human-A.0"')


def test_the_quick_and_the_slow_way_read_the_same() -> None:
    rows = [f"q{n},{n % 7},{n % 5 / 10},{n // 4}" for n in range(1_000)]
    quick = "\n".join(["id,u,v,cluster", *rows, ""])
    slow = "\n".join(["id,u,v,cluster", "", *rows, ""])
    one, other = (read_files("csv", {"file": text}) for text in (quick, slow))
    assert columns(one) == columns(other)
    for field in ("by_id", "matched", "n_clusters"):
        assert getattr(one.data.pairing, field) == getattr(other.data.pairing, field)
    assert one.data.pairing.clusters is not None
    assert other.data.pairing.clusters is not None
    assert one.data.pairing.clusters.tolist() == other.data.pairing.clusters.tolist()
    assert [note for note in other.notes if "empty lines" not in note] == list(one.notes)
