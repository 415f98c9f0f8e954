"""Tables as pandas, R and spreadsheets of many countries write them, with `format=csv` and by guess alike."""

from __future__ import annotations

import pytest

from exactperm.inputs.formats.catalogue import read
from exactperm.inputs.formats.reader import ReaderOptions, Reading, UploadedFile

from .reading import columns, noted, read_files, refusal, refuses

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
        ("id,bleu", "{0},{1}"),
        ("score", "{1}"),
        ("acc", "{1}"),
        ("my score", "{1}"),
        ("id;score", "{0};{1},0"),
    ],
)
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


def test_indices_that_repeat_and_differ_cannot_be_paired_by_order() -> None:
    one, other = ",score\n0,1\n1,0\n0,1\n", ",score\n1,1\n0,0\n0,1\n"
    refuses("choose_id_column", "/files/v/line/1/1", "csv", {"u": one, "v": other})


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
def test_what_is_no_number_is_named_with_its_line_and_what_to_write(field: str, says: str) -> None:
    error = refusal("csv", {"file": f'id,u,v\na,1.5,0\nb,"{field}",1\n'})
    assert [(flaw.pointer, flaw.code) for flaw in error.flaws] == [("/files/file/line/3/2", "not_a_number")]
    assert error.detail.startswith("file, line 3, field 2: ")
    assert says in error.detail
    assert field.replace("−", "\\u2212") in error.detail


@pytest.mark.parametrize(
    "text",
    [
        "id,u,v\na,85%,90%\nb,0.5,90%\n",  # one without a sign
        'id,u,v\na,"0,5",1\nb,0.5,1\n',  # a comma and a point
        'id;u;v\na;0,5;1\nb;"1.234,5";1\n',
    ],
)
def test_numbers_that_are_not_written_alike_are_refused(text: str) -> None:
    refuses("not_a_number", None, "csv", {"file": text})


def test_percent_signs_in_one_file_only_are_refused() -> None:
    refuses("percent_mismatch", None, "csv", {"u": "id,score\na,85%\n", "v": "id,score\na,0.85\n"})


@pytest.mark.parametrize("spelling", ["#N/A", "<NA>", "-NaN", "1.#QNAN", "#NA", "n/a", "NULL"])
def test_every_spelling_of_missing_is_missing(spelling: str) -> None:
    refuses("missing_value", None, "csv", {"file": f"id,u,v\na,1,0\nb,{spelling},1\n"})


def test_texts_are_no_systems() -> None:
    three = "\n".join(line + (",1" if row else ",model_c") for row, line in enumerate(WITH_TEXT.splitlines()))
    error = refusal("csv", {"file": three})
    assert error.flaws[0].code == "choose_system_u"
    assert "question" not in error.detail
    assert noted(read_files("csv", {"file": WITH_TEXT}), 'no systems and were left out: "question"')
    refuses(
        "not_a_number",
        None,
        "csv",
        {"file": "id,a,b\n1,yes,no\n2,no,no\n"},
        '"a", "b" hold texts, such as "yes"',
    )


def test_a_column_with_one_number_is_no_column_of_texts() -> None:
    refuses(None, "/files/file/line/3/2", "csv", {"file": "id,a,b\n1,1,0\n2,oops,0\n"})


def named(format_: str, name: str, content: str, **options: str) -> Reading:
    return read({"file": UploadedFile(name, content.encode())}, format_, ReaderOptions(**options))  # type: ignore[arg-type]


def test_the_guess_looks_at_the_name_and_at_options_and_says_so() -> None:
    text = "3 1\n2 1\n"
    for name in ("x.csv", "X.CSV.gz"):
        reading = named("auto", name, text)
        assert columns(reading) == ([3, 2], [1, 1])
        assert reading.notes[0].startswith("The format was guessed from the name of a file: csv (")
    reading = named("auto", "x", text, delimiter="blank")
    assert reading.notes[0].startswith("The format was guessed from the option delimiter: csv (")


def test_an_empty_file_is_said_to_be_empty_at_once() -> None:
    for content in ("", "\ufeff", "\n\n"):
        refuses("no_items", "/files/file", "auto", {"file": content})
    refuses(None, "/files/v", "auto", {"u": "id,score\na,1\n", "v": ""})
