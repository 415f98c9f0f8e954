"""Tables in files: delimited text, and as pandas, R and spreadsheets of many countries write it."""

import contextlib
import itertools
import json
import random
from typing import Any

import numpy as np
import pytest

from exactperm.client import errors as client_errors
from exactperm.errors import ExactpermError, InvalidTest
from exactperm.inputs.alignment import ById, align
from exactperm.inputs.formats import catalogue
from exactperm.inputs.formats.catalogue import read
from exactperm.inputs.reader import ReaderOptions, Reading, UploadedFile
from exactperm.local.run import test as paired_test
from exactperm.statistics.paired import Counts, Repeated, Scores

from .reading import EXCERPTS, columns, noted, read_files, refusal, refuses, refuses_alone


def one(text: str) -> dict[str, str]:
    return {"file": text}


WIDE = "v,id,u\n0.1,a,0.85\n3,b,1e-3\n"
# Files, options, the scores of both systems, and words of a note.
READ: dict[str, tuple[dict[str, str], dict[str, str], tuple[list[float], list[float]], str]] = {
    **{f"between {mark!r}": (one(WIDE.replace(",", mark)), {}, ([0.85, 0.001], [0.1, 3.0]), "") for mark in ",\t|; "},
    "two of many systems by name": (
        one("id,Base,Big,Bigger\na,1,2,3\nb,4,5,6\n"), {"system_u": "bigger", "system_v": "Base"}, ([3, 6], [1, 4]), "",
    ),
    "two columns without names in order": (one("id,sysA,sysB\na,1,2\n"), {}, ([1], [2]), "u is sysA and v is sysB"),
    "long, paired by id": (
        one("system,score,id\nx,1,a\nx,2,b\ny,3,b\ny,4,a\nz,9,a\n"), {"system_u": "x", "system_v": "y"},
        ([1, 2], [4, 3]), "1 lines of 1 other systems were skipped",
    ),
    "the papers' authors, with a comment": (one("# correctA,correctB\n1,0\n0,1\n"), {}, ([1, 0], [0, 1]), ""),
    "two files by id and not by order": (
        {"u": "id,score\na,1\nb,2\n", "v": "id,score\nb,5\na,4\n"}, {}, ([1, 2], [4, 5]), "",
    ),
    "two files of one column by order": ({"u": "1\n0\n", "v": "0\n0\n"}, {}, ([1, 0], [0, 0]), "paired by their order"),
}  # fmt: skip


@pytest.mark.parametrize("name", READ)
def test_scores_of_tables_are_read_with_notes(name: str) -> None:
    files, options, wanted, note = READ[name]
    reading = read_files("csv", files, **options)
    assert columns(reading) == wanted
    assert not note or noted(reading, note)
    assert reading.data.pairing.by_id or "between" not in name
    assert reading.names == ("Bigger", "Base") or "of many" not in name


def test_more_than_two_systems_must_be_chosen() -> None:
    error = refusal("csv", {"file": "id,a,b,c\n1,1,2,3\n"})
    assert error.flaws[0].code == "choose_system_u"
    assert all(f'"{name}"' in error.detail for name in "abc")
    refuses("choose_system_v", None, "csv", {"file": "id,a,b,c\n1,1,2,3\n"}, system_u="a", system_v="d")


def test_integers_stay_integers_and_decimals_the_nearest_double() -> None:
    reading = read_files("csv", {"file": f"id,u,v\na,{2**53 + 1},0\nb,7,-0\n"})
    assert isinstance(reading.data, Scores)
    assert isinstance(reading.data.u, np.ndarray)
    assert reading.data.u.dtype == np.int64
    assert reading.data.u[0] == 2**53 + 1


def test_headerless_files_of_the_papers_authors() -> None:
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
    chosen: Any = read_files(
        "csv", {"file": text}, clusters="topic", system_u="u", system_v="v"
    ).data.pairing.clusters
    assert chosen.tolist() == [0, 1, 0]


def test_294_items_against_293_with_ids_name_the_one() -> None:
    u = "id,score\n" + "".join(f"q{n},1\n" for n in range(294))
    v = u.replace("q17,1\n", "")
    refuses_alone(None, "/files/u", "csv", {"u": u, "v": v}, '"q17"')
    reading = read_files("csv", {"u": u, "v": v}, on_missing="drop")
    assert reading.data.pairing.matched == 293
    assert noted(reading, "1 items that only u has were left out")


@pytest.mark.parametrize("missing", ["", "NaN", "NA", "null", "None", "NOANSWER"])
def test_missing_values_are_never_0(missing: str) -> None:
    text = f"id,u,v\na,1,0\nb,{missing},1\nc,0,0\n"
    refuses("missing_value", "/files/file/line/3", "csv", {"file": text})
    reading = read_files("csv", {"file": text}, on_missing="drop")
    assert columns(reading) == ([1, 0], [0, 0])
    assert noted(reading, "1 items without a value were left out")


SPELLINGS = ("#N/A", "<NA>", "-NaN", "1.#QNAN", "#NA", "n/a", "NULL")
U_OF_X = "id,score,cluster\na,1,x\n"
# Files, the pointer, the code, and words of the text.
REFUSED: list[tuple[dict[str, str], str | None, str, tuple[str, ...]]] = [
    (one("id,u,v\na,1,0\na,0,1\n"), "/files/file/line/3", "duplicate_id", ()),
    (one("id,u,v\na,1\n"), "/files/file/line/2", "wrong_field_count", ()),
    (one("id,u,v\na,1,x\n"), "/files/file/line/2/3", "not_a_number", ()),
    (one("id,u,v\na,1,inf\n"), "/files/file/line/2/3", "not_a_number", ()),
    (one("id,u,v\na,1,1_0\n"), "/files/file/line/2/3", "not_a_number", ()),
    (one("id,u,v\na,1,9223372036854775808\n"), "/files/file/line/2/3", "integer_too_large", ()),
    (one("id,u,U\na,1,2\n"), "/files/file/line/1/3", "duplicate_column", ()),
    (one("id,u,v\n"), "/files/file", "no_items", ()),
    (one("# nothing\n"), "/files/file", "no_items", ()),
    (one("1,2,3\n"), "/files/file/line/1", "wrong_field_count", ()),
    (one('id,u,v\n"a,1,2\n'), "/files/file/line/2", "not_delimited", ()),
    (one("id,tp_u,tp_v\na,1,2\na,1,2\n"), "/files/file/line/3", "duplicate_id", ()),
    (one("id,tp_u,tp_v\na,1,x\n"), "/files/file/line/2/3", "not_a_number", ()),
    ({"u": "1\n" * 293, "v": "1\n" * 294}, None, "length_mismatch", ("293", "294")),
    ({"u": U_OF_X, "v": "id,score,cluster\na,1,y\n"}, None, "cluster_mismatch", ()),
    ({"u": U_OF_X, "v": "id,score\na,1\n"}, None, "mixed_forms", ()),
    ({"u": "id,score\na,85%\n", "v": "id,score\na,0.85\n"}, None, "percent_mismatch", ()),
    (one("id,u,v\na,85%,90%\nb,0.5,90%\n"), None, "not_a_number", ()),  # one without a sign
    (one('id,u,v\na,"0,5",1\nb,0.5,1\n'), None, "not_a_number", ()),  # a comma and a point
    (one('id;u;v\na;0,5;1\nb;"1.234,5";1\n'), None, "not_a_number", ()),
    # An index that repeats and differs pairs nothing by order.
    ({"u": ",score\n0,1\n1,0\n0,1\n", "v": ",score\n1,1\n0,0\n0,1\n"}, "/files/v/line/1/1", "choose_id_column", ()),
    (one("id,a,b\n1,1,0\n2,oops,0\n"), "/files/file/line/3/2", "not_a_number", ()),  # no column of texts
    (one("id,a,b\n1,yes,no\n2,no,no\n"), None, "not_a_number", ('"a", "b" hold texts, such as "yes"',)),
    *((one(f"id,u,v\na,1,0\nb,{spelling},1\n"), "/files/file/line/3", "missing_value", ()) for spelling in SPELLINGS),
]  # fmt: skip


@pytest.mark.parametrize(("files", "pointer", "code", "words"), REFUSED)
def test_errors_of_tables_are_refused_at_their_place(
    files: dict[str, str], pointer: str | None, code: str, words: tuple[str, ...]
) -> None:
    refuses_alone(code, pointer, "csv", files, *words)


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


# Tables as pandas, R and spreadsheets of many countries write them, with `format=csv` and by guess alike.


U, V = [1, 0, 1, 1], [0, 0, 1, 0]
IDS = ["q7", "q2", "q9", "q4"]


ROWS = list(zip(IDS, U, V, strict=True))
PANDAS_QUOTING = '"id","u","v"\n' + "".join(f'"{key}","{u}","{v}"\n' for key, u, v in ROWS)
R_WRITE_CSV = '"","score_a","score_b"\n' + "".join(f'"{key}",{u},{v}\n' for key, u, v in ROWS)
R_NUMBERED = '"","score_a","score_b"\n' + "".join(f'"{n}",{u},{v}\n' for n, (_, u, v) in enumerate(ROWS, 1))
R_WRITE_TABLE = '"score_a" "score_b"\n' + "".join(f'"{key}" {u} {v}\n' for key, u, v in ROWS)
R_TABS = R_WRITE_TABLE.replace(" ", "\t")
PANDAS_INDEX = ",model_a,model_b\n" + "".join(f"{n},{u},{v}\n" for n, (_, u, v) in enumerate(ROWS))
PANDAS_BOTH = ",id,u,v\n" + "".join(f"{n},{key},{u},{v}\n" for n, (key, u, v) in enumerate(ROWS))
PANDAS_BOOLEANS = "id,u,v\n" + "".join(f"{key},{bool(u)},{bool(v)}\n" for key, u, v in ROWS)
R_LOGICAL = PANDAS_BOOLEANS.replace("True", "TRUE").replace("False", "FALSE")
EXCEL_GERMAN = "sep=;\r\nid;u;v\r\n" + "".join(f"{key};{u},0;{v},0\r\n" for key, u, v in ROWS)
PIPES = "id|u|v\n" + "".join(f"{key}|{u}|{v}\n" for key, u, v in ROWS)
TWO_COLUMNS = "model_a,model_b\n" + "".join(f"{u},{v}\n" for _, u, v in ROWS)
WITH_TEXT = "id,question,model_a,model_b\n" + "".join(f'{key},"Why, {key}?",{u},{v}\n' for key, u, v in ROWS)


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        (PANDAS_QUOTING, IDS), (R_WRITE_CSV, IDS), (R_NUMBERED, None), (R_WRITE_TABLE, IDS), (R_TABS, IDS), (PANDAS_INDEX, None),
        (PANDAS_BOTH, IDS), (PANDAS_BOOLEANS, IDS), (R_LOGICAL, IDS), (EXCEL_GERMAN, IDS), (PIPES, IDS), (TWO_COLUMNS, None),
        (WITH_TEXT, IDS), ("\ufeff" + EXCEL_GERMAN, IDS),
    ],
)  # fmt: skip
@pytest.mark.parametrize("format_", ["csv", "auto"])
def test_a_table_is_read_as_it_is_meant(format_: str, text: str, ids: list[str] | None) -> None:
    reading = read_files(format_, {"file": text})
    assert columns(reading) == (U, V)
    assert reading.data.pairing.ids == (ids or ["0", "1", "2", "3"])
    assert noted(reading, "paired by their order") == (ids is None)


@pytest.mark.parametrize(
    ("header", "line"),
    [
        ("id,bleu", "{0},{1}"), ("score", "{1}"), ("acc", "{1}"), ("my score", "{1}"),
        ("id;score", "{0};{1},0"),
    ],
)  # fmt: skip
def test_one_column_of_scores_in_two_files(header: str, line: str) -> None:
    u, v = (
        "\n".join([header, *(line.format(key, value) for key, value in zip(IDS, side, strict=True)), ""])
        for side in (U, V)
    )
    assert columns(read_files("auto", {"u": u, "v": v})) == (U, V)


def test_indices_that_differ_are_ids_and_indices_that_count_are_order() -> None:
    filtered = ",score\n0,1\n2,5\n3,7\n"
    whole = ",score\n0,0\n1,9\n2,4\n3,8\n"
    reading = read_files("csv", {"u": filtered, "v": whole}, on_missing="drop")
    assert columns(reading) == ([1, 5, 7], [0, 4, 8])
    reading = read_files("csv", {"u": whole, "v": whole})
    assert noted(reading, "which counts the rows, was left out")
    assert reading.data.pairing.by_id is False or noted(reading, "paired by their order")


def test_ids_in_another_order_are_found_beside_an_index_that_counts() -> None:
    one = ",question,score\n" + "".join(f"{n},{key},{u}\n" for n, (key, u, _) in enumerate(ROWS))
    other = ",question,score\n" + "".join(f"{n},{key},{v}\n" for n, (key, _, v) in enumerate(ROWS[::-1]))
    refuses("choose_id_column", None, "csv", {"u": one, "v": other})


@pytest.mark.parametrize(
    ("text", "u", "v", "note"),
    [
        ("id;u;v\na;0,5;1\nb;-0,25;1,5e-1\n", [0.5, -0.25], [1, 0.15], "commas were read as decimal points"),
        ("0,5;0,6\n0,75;0,25\n", [0.5, 0.75], [0.6, 0.25], "commas were read as decimal points"),
        ('id,u,v\na,"0,5","1"\nb,"2,25","0,125"\n', [0.5, 2.25], [1, 0.125], "decimal points (0,125)"),
        ("id\tu\tv\na\t1,234\t0,5\n", [1.234], [0.5], "decimal points (0,5)"),
        ("id,u,v\na,85%,90 %\nb,7.5%,0%\n", [85, 7.5], [90, 0], "percent signs were left out"),
        ("id;u;v\na;85,5%;90%\nb;7%;0%\n", [85.5, 7], [90, 0], "percent signs were left out"),
        ("id,u,v\na,True,0\nb,false,1\n", [1, 0], [0, 1], "true is 1 and false is 0"),
        ("True,False\nTrue,True\n", [1, 1], [0, 1], "true is 1 and false is 0"),
    ],
)
def test_numbers_as_people_write_them(text: str, u: list[float], v: list[float], note: str) -> None:
    for format_ in ("csv", "auto"):
        reading = read_files(format_, {"file": text})
        assert columns(reading) == (u, v)
        assert noted(reading, note)


def test_a_comma_that_may_be_either_is_asked_for() -> None:
    text = "id;u;v;weight\na;1,234;2;1\nb;5,678;3;0,5\n"
    refuses("not_a_number", None, "csv", {"file": text}, "decimal=comma")
    for mark in (",", "comma"):
        reading = read_files("csv", {"file": text}, decimal=mark)
        assert columns(reading) == ([1.234, 5.678], [2, 3])
    refuses(None, None, "csv", {"file": text.replace("1,234", "0,5")}, "decimal=comma", decimal=".")


@pytest.mark.parametrize(
    ("field", "says"),
    [
        ("1,234.5", "Thousands separators"), ("1.234.567", "Thousands separators"), ("1 234", "Thousands separators"),
        ("1'234", "Thousands separators"), ("1,234,567", "Thousands separators"), ("#DIV/0!", "spreadsheet"), ("-", "NA"),
        ("pass", "1 and 0"), ("−1", "hyphen"), ("inf", "no mean"),
    ],
)  # fmt: skip
def test_invalid_numbers_are_named_with_line_and_correction(field: str, says: str) -> None:
    error = refusal("csv", {"file": f'id,u,v\na,1.5,0\nb,"{field}",1\n'})
    assert [(flaw.pointer, flaw.code) for flaw in error.flaws] == [("/files/file/line/3/2", "not_a_number")]
    assert error.detail.startswith("file, line 3, field 2: ")
    assert says in error.detail
    assert field.replace("−", "\\u2212") in error.detail


def test_columns_of_texts_are_not_systems() -> None:
    three = "\n".join(line + (",1" if row else ",model_c") for row, line in enumerate(WITH_TEXT.splitlines()))
    error = refusal("csv", {"file": three})
    assert error.flaws[0].code == "choose_system_u"
    assert "question" not in error.detail
    assert noted(read_files("csv", {"file": WITH_TEXT}), 'not systems and were left out: "question"')


def named(format_: str, name: str, content: str, **options: Any) -> Reading:
    return read({"file": UploadedFile(name, content.encode())}, format_, ReaderOptions(**options))


def test_the_guess_looks_at_the_name_and_at_options_and_says_so() -> None:
    text = "3 1\n2 1\n"
    for name in ("x.csv", "X.CSV.gz"):
        reading = named("auto", name, text)
        assert columns(reading) == ([3, 2], [1, 1])
        assert reading.notes[0].startswith("The format was guessed from the name of a file: csv (")
    reading = named("auto", "x", text, delimiter="blank")
    assert reading.notes[0].startswith("The format was guessed from the option delimiter: csv (")


def test_an_empty_file_is_refused_as_empty_at_once() -> None:
    for content in ("", "\ufeff", "\n\n"):
        refuses("no_items", "/files/file", "auto", {"file": content})
    refuses(None, "/files/v", "auto", {"u": "id,score\na,1\n", "v": ""})


@pytest.mark.parametrize("format_", catalogue.FORMATS)
def test_a_file_of_a_few_bytes_is_read_or_refused_in_every_format(format_: str) -> None:
    """Formats that have a header took the first line of a file without lines."""
    roles = (("file",), ("u", "v"), ("u", "v", "references"), ("u", "v", "gold"), ("u", "v", "qrels"))
    for content, names in itertools.product(FEW_BYTES, roles):
        files = {name: UploadedFile(f"{name}.txt", content) for name in names}
        with contextlib.suppress(ExactpermError):
            catalogue.read(files, format_, ReaderOptions())


# What an item is in a table: keys beside runs and data sets, indexes of long tables, and ids in two forms.


FEW_BYTES = [
    b"",
    b"\n",
    b" ",
    b"\xef\xbb\xbf",
    b"\r\n\r\n",
    b"\t",
    b",",
    b"{}",
    b"[]",
    b"null",
    b"0",
    b"\x00",
    b'"',
    b"{",
    b"a",
]
FEW_BYTES += [
    b"a\n",
    b"a,b\n",
    b"a\tb\n",
    b"[[]]",
    b"[{}]",
    b"{}\n{}",
    b'{"wins":0,"losses":0}',
    b"-",
    b"1e999",
    b"#",
    b"//",
]
CELLS = list(itertools.product(range(4), (1, 2), ("de", "fr")))


def read_of_keys_of_tables(**files: str) -> Reading:
    given = {role: UploadedFile(f"{role}.csv", text.encode()) for role, text in files.items()}
    return catalogue.read(given, "auto", ReaderOptions())


def by_item(reading: Reading) -> dict[str, tuple[float, float]]:
    data = reading.data
    assert isinstance(data, Scores)
    assert data.pairing.ids is not None
    assert isinstance(data.u, Repeated)
    assert isinstance(data.v, Repeated)
    means = [side.values.reshape(-1, 2).mean(axis=1).tolist() for side in (data.u, data.v)]
    return dict(zip(map(str, data.pairing.ids), zip(*means, strict=True), strict=True))


def test_a_data_set_beside_runs_is_part_of_the_key() -> None:
    wide = "id,run,lang,new,old\n" + "".join(f"q{i},{run},{lang},{i + run},{i}\n" for i, run, lang in CELLS)
    found = by_item(read_of_keys_of_tables(file=wide))
    assert set(found) == {f"{lang}/q{i}" for i, _, lang in CELLS}

    rows = [
        (i, run, lang, name, i + run * (name == "new")) for i, run, lang in CELLS for name in ("new", "old")
    ]
    for seed in range(3):
        random.Random(seed).shuffle(rows)
        long = "id,run,lang,system,score\n" + "".join(
            ",".join(map(str, (f"q{row[0]}", *row[1:]))) + "\n" for row in rows
        )
        reading = read_of_keys_of_tables(file=long)
        assert by_item(reading) == found
        assert reading.findings == ()


def test_an_index_may_be_the_key_of_a_long_table() -> None:
    text = "index,system,score\n" + "".join(
        f"{i},{name},{i % 3}\n" for name in ("new", "old") for i in range(6)
    )
    assert list(read_of_keys_of_tables(file=text).data.pairing.ids or ()) == list("012345")


@pytest.mark.parametrize("form", ["{}.0", "0{}"])
def test_ids_in_two_forms_are_named(form: str) -> None:
    u = "id,score\n" + "".join(f"{i},{i}\n" for i in range(1, 6))
    v = "id,score\n" + "".join(f"{form.format(i)},{i}\n" for i in range(1, 6))
    with pytest.raises(InvalidTest, match=f'"1" and "{form.format(1)}" may be one id in two forms'):
        read_of_keys_of_tables(u=u, v=v)


@pytest.mark.parametrize(
    "data", [({"b": True, "c": 5},), ([{"tp": True, "incorrect": 1}] * 2, [{"tp": 1, "incorrect": 2}] * 2)]
)
def test_true_is_not_a_count(data: tuple[object, ...]) -> None:
    with pytest.raises(client_errors.InvalidTest, match="whole number"):
        paired_test(*data)


CSV = "id,u,v\nfirst,1,0\nsecond,0.5,1\nthird,1,1\n"


def ids(u: Any, v: Any, **options: Any) -> Any:
    return align({"/u": u, "/v": v}, **options).pairing.ids


def test_ids_are_kept_and_missing_without_a_column() -> None:
    u, v = np.array([1, 2, 3]), np.array([3, 2, 1])
    assert ids(u, v) is None
    given = ["x", 5, "z"]
    assert ids(u, v, ids=given) is given


def test_keyed_columns_have_the_ids_that_both_have_in_the_order_of_the_first() -> None:
    u, v = ById(["a", "b", "c"], np.arange(3)), ById(["c", "x", "a"], np.arange(3))
    assert ids(u, v, on_missing="drop") == ["a", "c"]
    same = ById(["a", "b", "c"], np.arange(3))
    assert ids(u, same) is u.ids  # nothing is copied


@pytest.mark.parametrize("content", [CSV, CSV.replace(",", "\t"), CSV.replace("first", '"first"')])
def test_tables_hand_their_ids_on(content: str) -> None:
    reading = read_files("tsv" if "\t" in content else "csv", {"file": content})
    assert list(reading.data.pairing.ids or ()) == ["first", "second", "third"]


def test_counts_in_tables_hand_their_ids_on() -> None:
    content = "id,tp_u,incorrect_u,tp_v,incorrect_v\na,1,0,1,1\nb,2,0,1,1\n"
    assert list(read_files("csv", {"file": content}).data.pairing.ids or ()) == ["a", "b"]


def test_records_hand_their_ids_on() -> None:
    lines = "".join(json.dumps({"id": f"q{k}", "score": k}) + "\n" for k in range(3))
    reversed_lines = "".join(json.dumps({"id": f"q{k}", "score": 1}) + "\n" for k in (2, 0, 1))
    reading = read_files("jsonl", {"u": lines, "v": reversed_lines})
    assert list(reading.data.pairing.ids or ()) == ["q0", "q1", "q2"]


def test_sentences_hand_their_ids_on_where_all_have_one() -> None:
    word = "1\ta\ta\tNOUN\t_\t_\t0\troot\t_\t_\n\n"
    files = dict.fromkeys(("gold", "u", "v"), f"# sent_id = s1\n{word}# sent_id = s2\n{word}")
    assert read_files("conllu", files, metric="upos").data.pairing.ids == ["s1", "s2"]
    assert read_files("conllu", files, metric="upos", items="word").data.pairing.ids is None
    some = dict.fromkeys(("gold", "u", "v"), f"# sent_id = s1\n{word}{word}")
    assert read_files("conllu", some, metric="upos").data.pairing.ids is None
