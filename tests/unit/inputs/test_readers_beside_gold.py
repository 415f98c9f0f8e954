"""Scores beside gold: one table, lines of JSON, or a file each; damaged, too."""

import json
from pathlib import Path
from typing import Any

import pytest

from exactperm.errors import InputError
from exactperm.inputs import frame
from exactperm.inputs.formats import labels
from exactperm.inputs.number_text import plain_numbers
from exactperm.inputs.reader import ReaderOptions, Reading, Source

from .reading import ROOT, read_files, refusal, refuses

EXAMPLES = ROOT / "openapi" / "examples" / "files"
THREE = {
    "gold": EXAMPLES / "labels.csv",
    "u": EXAMPLES / "u.probabilities.jsonl",
    "v": EXAMPLES / "v.probabilities.jsonl",
}
GOLD = "id,label\na,1\nb,0\nc,1\n"
SCORES = "id,score\na,0.5\nb,0.25\nc,1\n"


def columns(reading: Reading) -> tuple[list[Any], list[float], list[float]]:
    data: Any = reading.data
    return list(data.gold), data.u.tolist(), data.v.tolist()


@pytest.mark.parametrize(
    ("header", "statistic"),
    [
        ("label,score_u,score_v", "auc"),
        ("y_true,y_score_u,y_score_v", "auc"),
        ("target,y_pred_u,y_pred_v", "auc"),
        ("Label,Score_U,Score_V", "auc"),
        ("gold,prob_u,prob_v", "auc"),
        ("labels,probability_u,probability_v", "auc"),
        ("human_score,pred_u,pred_v", "auc"),
    ],
)
@pytest.mark.parametrize("separator", [",", "\t", ";", "|"])
def test_headers_of_other_tools_are_known(header: str, statistic: str, separator: str) -> None:
    text = f"{header}\n1,0.5,0.25\n0,0.125,2\n".replace(",", separator)
    reading = read_files("auto", {"file": text})
    assert (reading.format, reading.default_statistic.name) == ("ranking", statistic)
    assert columns(reading) == ([1, 0], [0.5, 0.125], [0.25, 2.0])
    assert reading.names is None


@pytest.mark.parametrize("header", ["time,event,{},{}", "duration,observed,{},{}", "T,E,{},{}"])
def test_times_and_events_make_a_concordance(header: str) -> None:
    text = header.format("cox_new", "cox_old") + "\n3,1,0.5,1\n5,0,2,2\n5,True,4,1\n"
    reading = read_files("auto", {"file": text})
    data: Any = reading.data
    assert reading.default_statistic.name == "concordance"
    assert reading.names == ("cox_new", "cox_old")
    assert data.event.tolist() == [True, False, True]
    assert columns(reading) == ([3, 5, 5], [0.5, 2.0, 4.0], [1.0, 2.0, 1.0])


def test_two_systems_without_roles_are_a_question_of_a_gate() -> None:
    text = "id,y_true,gpt,bert\na,1,0.5,0.25\nb,0,0.75,1\n"
    reading = read_files("ranking", {"file": text})
    assert reading.names == ("gpt", "bert")
    assert "candidate" in str(reading.role_question)
    chosen = read_files("ranking", {"file": text}, system_u="bert", system_v="gpt")
    assert (chosen.names, chosen.role_question) == (("bert", "gpt"), None)
    assert columns(chosen)[1:] == (columns(reading)[2], columns(reading)[1])


def test_columns_are_chosen_by_options() -> None:
    text = "key,fold,died,days,a,b\nx,1,1,3,0.5,1\ny,1,0,4,2,2\nz,2,1,9,1,3\n"
    options = {
        "gold_column": "days", "event_column": "died", "groups": "fold", "clusters": "fold", "id_column": "key",
    }  # fmt: skip
    data: Any = read_files("ranking", {"file": text}, **options).data
    assert data.groups.tolist() == data.pairing.clusters.tolist() == [0, 0, 1]
    assert (list(data.gold), data.event.tolist(), data.pairing.ids) == (
        [3, 4, 9],
        [True, False, True],
        list("xyz"),
    )


def test_lines_of_json_are_the_table() -> None:
    rows = [
        {"id": 1, "label": True, "score_u": 0.5, "score_v": 1, "group": "x"},
        {"id": 2, "label": False, "score_u": 2, "score_v": 0.25, "group": 7},
    ]
    for text in ("\n".join(map(json.dumps, rows)), json.dumps(rows)):
        reading = read_files("ranking", {"file": text})
        data: Any = reading.data
        assert columns(reading) == ([1, 0], [0.5, 2.0], [1.0, 0.25])
        assert (data.groups.tolist(), data.pairing.ids) == ([0, 1], ["1", "2"])
    assert read_files("auto", {"file": "\n".join(map(json.dumps, rows))}).format == "ranking"


def test_true_and_false_are_one_and_zero() -> None:
    reading = read_files("auto", {"file": "label,score_u,score_v\nTrue,1,2\nFALSE,2,1\n"})
    assert columns(reading)[0] == [1, 0]
    reading = read_files("auto", {"file": "label,score_u,score_v\nTrue,1,2\nmaybe,2,1\n"})
    assert columns(reading)[0] == ["True", "maybe"]


def test_three_files_are_paired_by_id() -> None:
    reading = read_files("auto", THREE)
    assert (reading.format, reading.default_statistic.name) == ("ranking", "auc")
    gold = [line.split(",") for line in THREE["gold"].read_text(encoding="utf-8").split()[1:]]
    u, v = (
        {
            row["id"]: row["score"]
            for row in map(json.loads, THREE[role].read_text(encoding="utf-8").splitlines())
        }
        for role in ("u", "v")
    )
    ids = [row[0] for row in gold]
    data: Any = reading.data
    assert columns(reading) == ([int(row[1]) for row in gold], [u[i] for i in ids], [v[i] for i in ids])
    assert (data.pairing.ids, data.groups.tolist()) == (ids, [0] * 4 + [1] * 4)


def test_incomplete_items_are_dropped_on_request() -> None:
    files = {"gold": GOLD + "d,0\ne,\n", "u": SCORES + "d,NaN\ne,3\n", "v": SCORES + "f,1\nd,1\n"}
    refuses("missing_value", None, "ranking", files)
    reading = read_files("ranking", files, on_missing="drop")
    assert columns(reading) == ([1, 0, 1], [0.5, 0.25, 1.0], [0.5, 0.25, 1.0])
    assert sum("left out" in note for note in reading.notes) == 5
    text = "label,score_u,score_v\n1,0.5,1\n,1,1\n0,NA,2\n0,3,4\n"
    assert columns(read_files("ranking", {"file": text}, on_missing="drop")) == (
        [1, 0],
        [0.5, 3.0],
        [1.0, 4.0],
    )


ONE = "label,score_u,score_v\n"
DAMAGES: list[tuple[dict[str, str], str, str]] = [
    ({"file": ONE + "1,0.5,0.2\n,0.1,0.3\n"}, "missing_value", "/files/file/line/3/1"),
    ({"file": ONE + "1,0.5,\n"}, "missing_value", "/files/file/line/2/3"),
    ({"file": ONE + "1,high,0.2\n"}, "not_a_number", "/files/file/line/2/2"),
    ({"file": ONE + "1,0.5\n"}, "wrong_field_count", "/files/file/line/2"),
    ({"file": "1,0.5,0.2\n0,0.5,0.2\n"}, "missing_column", "/files/file/line/1"),
    ({"file": "a,b,c\n1,2,3\n"}, "missing_column", "/files/file/line/1"),
    ({"file": "label,a,b,c\n1,2,3,4\n"}, "choose_system_u", "/files/file"),
    ({"file": "id,label,score_u,score_v\na,1,2,3\na,0,2,3\n"}, "duplicate_id", "/files/file/line/3/1"),
    ({"file": "time,event,score_u,score_v\n3,2,1,1\n"}, "not_an_event", "/files/file/line/2/2"),
    ({"file": '{"label": [1], "score_u": 1, "score_v": 2}\n'}, "not_a_label", "/files/file/line/1/label"),
    ({"file": '{"label": 1, "score_u": "x", "score_v": 2}\n'}, "not_a_number", "/files/file/line/1/score_u"),
    ({"gold": GOLD, "u": SCORES, "v": SCORES.replace("c,", "a,")}, "duplicate_id", "/files/v/line/4/2"),
    ({"gold": GOLD, "u": SCORES.replace("c,", "d,"), "v": SCORES}, "unmatched_ids", "/files/gold"),
    ({"gold": GOLD, "u": SCORES.replace("0.25", "None"), "v": SCORES}, "missing_value", "/files/u/line/3/2"),
    ({"gold": GOLD, "u": "score\n1\n2\n3\n", "v": SCORES}, "choose_id_column", "/files/u/line/1"),
    ({"gold": GOLD, "u": "id,first,second\na,1,2\n", "v": SCORES}, "choose_score_column", "/files/u/line/1"),
    ({"gold": GOLD, "u": SCORES}, "missing_file", "/files/v"),
    ({"file": "group,label,score_u,score_v\nx,1,2,3\n ,0,2,3\n"}, "missing", "/files/file/line/3/1"),
    ({"file": '{"label": 1, "score_u": 1, "score_v": 2, "id": 0.5}\n'}, "not_a_key", "/files/file/line/1/id"),
    ({"gold": "id,label\na,\n", "u": SCORES, "v": SCORES}, "missing_value", "/files/gold/line/2/2"),
]  # fmt: skip


@pytest.mark.parametrize(("files", "code", "pointer"), DAMAGES)
def test_damaged_files_are_refused_at_their_place(
    files: dict[str, str | Path], code: str, pointer: str
) -> None:
    refuses(code, pointer, "ranking", files)


HEAD = "label,score_u,score_v\n"
ODD_TABLES = [
    HEAD + "1,0.5,2\n0,1,3\n",
    HEAD + "1,0.5,2\r\n0,1,3\r\n",
    HEAD + "1,0.5,2\n0,1,3",
    HEAD + "1,0.5,2\n\n0,1,3\n\n",
    HEAD + "1,0.5,2\n,,\n0,1,3\n",
    HEAD + " , ,\n1,0.5,2\n",
    HEAD + '"1",0.5,2\n0,"1",3\n',
    HEAD + "1,0.5,2\n0,1\n",
    HEAD + "1,0.5,2,7\n0,1\n",
    HEAD + "1,+0.5,2\n0,.5,3.\n",
    HEAD + "1,007,1e400\n0,-0,-0.0\n",
    HEAD + "1,1e400,2\n0,1,3\n",
    HEAD + "1,null,2\n0,1,3\n",
    HEAD + "1,true,2\n0,1,3\n",
    HEAD + "1,[1],2\n0,1,3\n",
    HEAD + "1,9223372036854775808,2\n0,1,3\n",
    HEAD + "1,9223372036854775807,0.5\n0,9007199254740993,1.5\n",
    HEAD + "1, 0.5 ,2\n0,\t1,3\n",
    HEAD + "yes,0.5,2\n no ,1,3\nyes,1,1\n",
    HEAD + "True,0.5,2\nfalse,1,3\n",
    HEAD + "1,0.5,2\nNA,1,3\n0,1,1\n",
    HEAD + "1e400,0.5,2\n0,1,3\n",
    HEAD + "caf\u00e9\u2028x,0.5,2\n\u0661,1,3\n",
    HEAD + "1,0_5,2\n0,1,3\n",
    HEAD + "1," + "0" * 500 + ",2\n0,1,3\n",
    HEAD + "x" * 140_000 + ",1,2\n0,1,3\n",
    HEAD + "1,0.5\0,2\n0,1,3\n",
    HEAD + "1,0.5,2\r0,1,3\n",
    HEAD,
    "# a comment\n" + HEAD + "1,0.5,2\n0,1,3\n",
    "\ufeff" + HEAD + "1,0.5,2\n0,1,3\n",
    "label,score_u,Label\n1,2,3\n",
    "1,0.5,2\n0,1,3\n",
    "id,label,score_u,score_v,group,event,cluster\na,1,0.5,2,g,1,c\nb,0,1,3,g,0,c\nc,1,1,1,h,TRUE,d\n",
    "id,label,score_u,score_v,event\na,1,0.5,2,1\nb,0,1,3,maybe\n",
    "id,label,score_u,score_v\na,1,0.5,2\na,0,1,3\n",
    "id,label,score_u,score_v,group\na,1,0.5,2, \nb,0,1,3,g\n",
]


@pytest.mark.parametrize("decimals", [None, 1])
@pytest.mark.parametrize("on_missing", ["error", "drop"])
@pytest.mark.parametrize("separator", [",", "\t", ";", "|"])
def test_quick_and_careful_readers_agree(
    separator: str, on_missing: str, decimals: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Odd tables give the same items, notes and refusals, at the same places."""

    def read(text: str) -> object:
        options = {"on_missing": on_missing} | ({} if decimals is None else {"decimals": decimals})
        try:
            reading = read_files("ranking", {"file": text.replace(",", separator)}, **options)
        except InputError as error:
            return type(error), str(error), getattr(error, "flaws", None)
        data: Any = reading.data
        kinds = [list(map(type, data.gold)), data.u.dtype, data.v.dtype]
        return repr(data), repr(reading.default_statistic), reading.notes, kinds

    quick = [read(text) for text in ODD_TABLES]
    monkeypatch.setattr(frame, "_plain", lambda *_: None)
    for module in (frame, labels):
        monkeypatch.setattr(module, "plain_numbers", lambda *_: None)
    for text, found in zip(ODD_TABLES, quick, strict=True):
        assert found == read(text), text[:80]


def test_the_usual_table_is_read_quickly() -> None:
    """Tables that both readers of the test above would leave to the careful one."""
    usual = Source("file", "", (HEAD + "1,0.5,2\r\n0,1e3,-3\r\n").encode())
    columns_: Any = frame._plain(usual, ReaderOptions())
    columns_of = {name: columns_.column(name) for name in columns_.names}
    assert columns_of == {"label": ["1", "0"], "score_u": ["0.5", "1e3"], "score_v": ["2", "-3"]}
    assert plain_numbers(columns_.column("score_u")) == [0.5, 1000.0]


@pytest.mark.parametrize(
    ("format_", "gold", "values"), [("labels", "xyxx", "xyyx"), ("ranking", "1011", "3142")]
)
def test_files_of_one_column_are_paired_by_their_order(format_: str, gold: str, values: str) -> None:
    files = {
        role: "\n".join([name, *column])
        for role, name, column in (("gold", "label", gold), ("u", "pred", values), ("v", "pred", gold[::-1]))
    }
    files |= {} if format_ == "labels" else {"v": files["u"]}
    data: Any = read_files(format_, files).data
    assert (len(data.gold), list(map(str, data.gold)), list(map(str, data.u))) == (
        4,
        list(gold),
        list(values),
    )
    assert refusal(format_, {**files, "v": files["v"] + "\nx"}).flaws[0].code in {
        "length_mismatch",
        "not_a_number",
    }


@pytest.mark.parametrize("format_", ["labels", "ranking"])
def test_the_index_of_pandas_names_the_items_of_a_table_beside_gold(format_: str) -> None:
    data: Any = read_files(format_, {"file": ",label,A,B\n7,1,1,0\n8,0,1,0\n9,1,0,1\n"}).data
    assert (data.pairing.ids, data.pairing.by_id, data.pairing.matched) == (["7", "8", "9"], True, 3)
    without: Any = read_files(format_, {"file": "label,A,B\n1,1,0\n0,1,0\n1,0,1\n"}).data
    assert (without.pairing.ids, without.pairing.by_id) == (None, False)


def test_files_of_systems_must_agree_about_clusters_and_groups_of_items() -> None:
    u, v = "id,label,score,group\na,1,1,x\nb,0,2,y\n", "id,label,score,group\na,1,1,x\nb,0,2,x\n"
    refuses("group_mismatch", None, "ranking", {"u": u, "v": v})
    refuses("mixed_forms", None, "ranking", {"u": u, "v": "id,label,score\na,1,1\nb,0,2\n"})
