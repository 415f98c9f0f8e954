"""Test that both sides of a test match: one metric, one unit, the same items, in tables and logs; and averages are not items."""

import json
import random
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from math import comb
from typing import Any

import httpx
import numpy as np
import pytest

import exactperm
from exactperm.client.errors import InvalidTest
from tests.api.conftest import Service, codes_of, error_of, errors_of, problem
from tests.enumeration import by_signs

U = [0.66, 0.56, 0.32, 0.48, 0.49, 0.47, 0.75]
V = [0.50, 0.40, 0.23, 0.39, 0.35, 0.33, 0.61]
ALL_AHEAD = 2 / 2**7  # two-sided, seven differences of one sign


def csv(header: str, *columns: Sequence[Any]) -> bytes:
    rows = [",".join([f"x{n}", *map(str, row)]) for n, row in enumerate(zip(*columns, strict=True))]
    return "\n".join([header, *rows, ""]).encode()


def lines(*rows: dict[str, Any]) -> bytes:
    return "\n".join(map(json.dumps, rows)).encode()


def send(service: Service, path: str, files: dict[str, tuple[str, bytes]], **fields: str) -> httpx.Response:
    return service.request("POST", path, files=files, data=fields)


def two(u: bytes, v: bytes, name: str = "t.csv") -> dict[str, tuple[str, bytes]]:
    return {"u": (f"u-{name}", u), "v": (f"v-{name}", v)}


def board(service: Service, u: bytes, v: bytes, name: str = "t.csv", **fields: str) -> httpx.Response:
    files = [("system", (f"p-{name}", u)), ("system", (f"q-{name}", v))]
    return service.request("POST", "/v1/compare", files=files, data=fields)


def warned(answer: dict[str, Any]) -> set[str]:
    return {warning["code"] for warning in answer["warnings"]}


# Names of one metric: case, separators, roles, other names of the same metric, and systems.
ONE_METRIC = [
    ("acc", "acc"), ("acc_norm", "ACC-norm"), ("chrF2++", "chrf2"), ("accuracy", "acc"), ("acc_new", "acc_old"), ("exact_match", "em"),
    ("f1_score", "f1"), ("macro_f1", "f1_macro"), ("candidate_bleu", "bleu_baseline"), ("acc_llama", "acc_gpt"), ("score", "acc"),
    ("value", "score"), ("u", "v"), ("gpt", "llama"), ("new", "old"), ("is_correct", "correct"), ("mean_acc", "acc"),
]  # fmt: skip
TWO_METRICS = [
    ("acc", "f1"), ("bleu", "chrf"), ("acc", "acc_norm"), ("f1_macro", "f1_micro"), ("rouge1", "rouge2"), ("precision", "recall"),
    ("ndcg_cut_10", "ndcg_cut_20"), ("wer", "cer"), ("success", "attack_success"), ("val_acc", "test_acc"), ("acc", "quality"),
]  # fmt: skip


@pytest.mark.parametrize("names", ONE_METRIC, ids=" ".join)
def test_names_of_one_metric_raise_no_question(service: Any, names: tuple[str, str]) -> None:
    u, v = csv(f"id,{names[0]}", U), csv(f"id,{names[1]}", V)
    answer = send(service, "/v1/tests/files", two(u, v)).json()
    assert (answer["p_value"], "metric_mismatch" in warned(answer)) == (ALL_AHEAD, False)
    assert send(service, "/v1/gate", two(u, v)).json()["verdict"] == "pass"
    assert "metric_mismatch" not in warned(board(service, u, v).json())


@pytest.mark.parametrize("names", TWO_METRICS, ids=" ".join)
def test_two_metrics_are_a_warning_and_no_gate(service: Any, names: tuple[str, str]) -> None:
    for name, u, v in (
        ("t.csv", csv(f"id,{names[0]}", U), csv(f"id,{names[1]}", V)),
        (
            "t.jsonl",
            lines(*({"id": n, names[0]: x} for n, x in enumerate(U))),
            lines(*({"id": n, names[1]: x} for n, x in enumerate(V))),
        ),
    ):
        answer = send(service, "/v1/tests/files", two(u, v, name)).json()
        assert (answer["p_value"], "metric_mismatch" in warned(answer)) == (ALL_AHEAD, True)
        assert codes_of(send(service, "/v1/gate", two(u, v, name))) == ["metric_mismatch"]
        of_board = board(service, u, v, name, higher_is_better="true").json()
        assert "metric_mismatch" in warned(of_board)


def test_a_gate_offers_the_metrics_that_both_files_have(service: Any) -> None:
    u = lines(*({"id": n, "score": 1, "f1": x} for n, x in enumerate(U)))
    v = lines(*({"id": n, "f1": x} for n, x in enumerate(V)))
    (flaw,) = problem(send(service, "/v1/gate", two(u, v, "t.jsonl")), 422)["errors"]
    assert (flaw["code"], [choice["fields"] for choice in flaw["choices"]]) == (
        "metric_mismatch",
        [{"metric": "f1"}],
    )
    said = send(service, "/v1/gate", two(u, v, "t.jsonl"), metric="f1").json()
    assert (said["verdict"], said["metrics"][0]["name"]) == ("pass", "f1")


def test_columns_of_one_table_named_after_metrics_are_a_warning(service: Any) -> None:
    table = {"file": ("t.csv", csv("id,precision,recall", U, V))}
    assert "metric_mismatch" in warned(send(service, "/v1/tests/files", table).json())
    assert "metric_mismatch" in warned(send(service, "/v1/compare", table).json())
    chosen = send(service, "/v1/gate", table, system_u="precision", system_v="recall").json()
    assert chosen["verdict"] == "pass"


def test_a_score_without_a_name_is_of_the_metric_that_the_other_names(service: Any) -> None:
    answer = send(service, "/v1/tests/files", two(csv("id,score", U), csv("id,wer", V))).json()
    assert (answer["statistic"]["metric"], answer["statistic"]["higher_is_better"]) == ("wer", False)
    assert any('"score"' in note and '"wer"' in note for note in answer["reading"]["notes"])


PERCENT = [50, 51, 52, 53, 54, 55, 56]
SHARES = [0.88, 0.89, 0.90, 0.91, 0.92, 0.93, 0.94]
RIGHT = [1, 0, 1, 1, 1, 0, 1]
# Which metric, u, v, and whether they have two units.
UNITS = {
    "acc": ("acc", PERCENT, SHARES, True),
    "score": ("score", SHARES, PERCENT, True),
    "right or wrong": ("acc", [100 * x for x in RIGHT], RIGHT[::-1], True),
    "bleu": ("bleu", [30.5, 28, 31, 25, 40, 29, 33], [0.3, 0.28, 0.31, 0.2, 0.4, 0.25, 0.3], True),
    "latency": ("latency_ms", PERCENT, SHARES, False),
    "loss": ("loss", SHARES, PERCENT, False),
    "zeros": ("acc", [0] * 7, PERCENT, False),
    "points": ("score", [5, 4, 3, 5, 4, 3, 2], [1, 0.5, 1, 0.5, 1, 1, 0.1], False),
    "one unit": ("acc", PERCENT, [1, 2, 3, 60, 70, 80, 90], False),
    "throughput": ("throughput", PERCENT, SHARES, False),
}


@pytest.mark.parametrize("case", UNITS)
def test_shares_against_percent_are_a_warning_and_no_gate(service: Any, case: str) -> None:
    row: Any = UNITS[case]
    name, u, v, differ = row
    files = two(csv(f"id,{name}", u), csv(f"id,{name}", v))
    answer = send(service, "/v1/tests/files", files).json()
    assert ("unit_mismatch" in warned(answer)) == differ
    assert (
        "unit_mismatch" in warned(board(service, csv(f"id,{name}", u), csv(f"id,{name}", v)).json())
    ) == differ
    gate = send(service, "/v1/gate", files)
    if differ:
        (flaw,) = problem(gate, 422)["errors"]
        assert (flaw["code"], "by 100" in flaw["detail"]) == ("unit_mismatch", True)
        assert flaw["pointer"].startswith("/files/" + ("u" if max(u) <= 1 else "v"))
    else:
        assert gate.status_code in {200, 409}


def test_units_of_json_and_of_the_body_of_a_board(service: Any) -> None:
    request = {"u": PERCENT, "v": SHARES}
    assert "unit_mismatch" in warned(service.post("/v1/tests/scores", request).json())
    assert errors_of(service.post("/v1/gate", {"kind": "scores", "request": request})) == [
        ("/request/v", "unit_mismatch")
    ]
    lower = {"kind": "scores", "request": request, "higher_is_better": False}
    assert service.post("/v1/gate", lower).json()["verdict"] == "fail"
    body = csv("id,A,B", PERCENT, SHARES)
    said = service.request("POST", "/v1/compare", content=body, headers={"content-type": "text/csv"}).json()
    assert "unit_mismatch" in warned(said)


N = 8
WINS, LOSSES = [1, 1, 1, 1, 1, 1, 1, 0], [0, 0, 0, 1, 0, 0, 0, 0]


def described(scores: Sequence[int], field: str, texts: Sequence[str], form: str) -> bytes:
    if form == "csv":
        return csv(f"id,{field},acc", texts, scores)
    return lines(
        *(
            {"id": f"x{n}", field: text, "correct": x}
            for n, (text, x) in enumerate(zip(texts, scores, strict=True))
        )
    )


@pytest.mark.parametrize("form", ["csv", "jsonl"])
@pytest.mark.parametrize(
    "field", ["question", "prompt", "Input", "target", "reference", "doc_hash", "task", "y_true", "src"]
)
def test_other_items_under_the_same_ids_are_refused(service: Any, field: str, form: str) -> None:
    texts = [[f"{n} of {name}" for n in range(N)] for name in ("arc", "mmlu")]
    files = two(described(WINS, field, texts[0], form), described(LOSSES, field, texts[1], form), f"t.{form}")
    for path in ("/v1/tests/files", "/v1/gate"):
        (flaw,) = problem(send(service, path, files), 422)["errors"]
        assert flaw["code"] == "item_mismatch"
        assert all(f'"x{n}"' in flaw["detail"] for n in range(3))
        assert '"x3"' not in flaw["detail"]
    refused = board(service, files["u"][1], files["v"][1], f"t.{form}")
    assert error_of(refused)[1] == "item_mismatch"
    kept = send(service, "/v1/tests/files", files, on_mismatch="keep").json()
    assert kept["p_value"] == float(by_signs(WINS, LOSSES))
    same = two(described(WINS, field, texts[0], form), described(LOSSES, field, texts[0], form), f"t.{form}")
    assert warned(send(service, "/v1/tests/files", same).json()) == warned(kept)
    assert send(service, "/v1/gate", same).json()["verdict"] == "pass"


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_some_other_items_are_a_warning_and_a_gate_asks(service: Any, form: str) -> None:
    texts = [f"question {n}" for n in range(N)]
    other = [*texts[:6], "another", "and another"]
    files = two(
        described(WINS, "question", texts, form), described(LOSSES, "question", other, form), f"t.{form}"
    )
    answer = send(service, "/v1/tests/files", files).json()
    (warning,) = [one for one in answer["warnings"] if one["code"] == "item_mismatch"]
    assert warning["detail"].startswith("2 of 8 items")
    assert answer["p_value"] == float(by_signs(WINS, LOSSES))
    (flaw,) = problem(send(service, "/v1/gate", files), 422)["errors"]
    assert flaw["code"] == "item_mismatch"
    assert [choice["fields"] for choice in flaw["choices"]] == [
        {"on_mismatch": "drop"},
        {"on_mismatch": "keep"},
    ]
    for way, n in (("drop", 6), ("keep", 8)):
        said = send(service, "/v1/gate", files, on_mismatch=way).json()
        assert (said["metrics"][0]["test"]["items"]["n"], warned(said["metrics"][0]["test"])) == (
            n,
            warned(said["metrics"][0]["test"]) - {"item_mismatch"},
        )
        tested = send(service, "/v1/tests/files", files, on_mismatch=way).json()
        assert tested["p_value"] == float(by_signs(WINS[:n], LOSSES[:n]))
    assert "item_mismatch" in warned(board(service, files["u"][1], files["v"][1], f"t.{form}").json())


def test_a_constant_that_names_the_system_is_not_an_item(service: Any) -> None:
    files = two(
        described(WINS, "source", ["new.py"] * N, "csv"), described(LOSSES, "source", ["old.py"] * N, "csv")
    )
    assert "item_mismatch" not in warned(send(service, "/v1/tests/files", files).json())


def test_differing_labels_may_be_outputs(service: Any) -> None:
    files = two(
        described(WINS, "label", list("abababab"), "csv"), described(LOSSES, "label", list("babababa"), "csv")
    )
    response = send(service, "/v1/tests/files", files)
    assert response.status_code == 422 or "item_mismatch" in warned(response.json())


# Averages over all items, as tools write them.
AVERAGES: dict[str, tuple[str, bytes, bytes]] = {
    "metrics.json": ("m.json", b'{"accuracy": 0.7}', b'{"accuracy": 0.95}'),
    "metrics.json of several": ("m.json", b'{"accuracy": 0.7, "loss": 0.9, "total": 1000}', b'{"accuracy": 0.95, "loss": 0.2, "total": 1000}'),
    "loss and a total": ("m.json", b'{"loss": 0.9, "total": 1000}', b'{"loss": 0.2, "total": 1000}'),
    "standard errors": ("m.json", b'{"f1": 0.9, "f1_stderr": 0.1}', b'{"f1": 0.2, "f1_stderr": 0.1}'),
    "sacrebleu": ("m.json", b'[{"name": "BLEU", "score": 30.5}, {"name": "chrF2", "score": 55.1}]', b'[{"name": "BLEU", "score": 28.5}, {"name": "chrF2", "score": 54}]'),
    "sacrebleu of one": ("m.json", b'{"name": "BLEU", "score": 30.5, "signature": "nrefs:1"}', b'{"name": "BLEU", "score": 28.5, "signature": "nrefs:1"}'),
    "one row": ("m.csv", b"accuracy\n0.7\n", b"accuracy\n0.95\n"),
    "one row of a model": ("m.csv", b"model,accuracy\nnew,0.7\n", b"model,accuracy\nold,0.95\n"),
    "a row for each metric": ("m.csv", b"metric,value\nbleu,30\nchrf,55\nter,40\n", b"metric,value\nbleu,31\nchrf,54\nter,41\n"),
    "lines of metrics": ("m.jsonl", b'{"metric": "bleu", "score": 30}\n{"metric": "ter", "score": 40}\n', b'{"metric": "bleu", "score": 31}\n{"metric": "ter", "score": 41}\n'),
}  # fmt: skip


@pytest.mark.parametrize("case", AVERAGES)
def test_averages_are_refused_by_every_entrance(service: Any, case: str) -> None:
    name, u, v = AVERAGES[case]
    for response in (
        send(service, "/v1/tests/files", two(u, v, name)),
        send(service, "/v1/gate", two(u, v, name)),
        board(service, u, v, name),
    ):
        refused = problem(response, 422)
        assert {flaw["code"] for flaw in refused["errors"]} <= {
            "averages_only",
            "choose_metric",
            "choose_system_u",
            "choose_score_column",
        }
    if case != "one row of a model":
        assert error_of(send(service, "/v1/tests/files", two(u, v, name)))[1] == "averages_only"


def test_scores_by_the_names_of_metrics_are_averages_in_json_as_well(service: Any) -> None:
    request = {"u": {"accuracy": 0.7, "f1": 0.6}, "v": {"accuracy": 0.8, "f1": 0.5}}
    assert error_of(service.post("/v1/tests/scores", request))[1] == "averages_only"
    by_query = {"u": {"map-1": 0.7, "q2": 0.6, "q3": 0.1}, "v": {"map-1": 0.8, "q2": 0.5, "q3": 0.2}}
    assert service.post("/v1/tests/scores", by_query).status_code == 200


@pytest.mark.parametrize(
    "row", [{"id": "a", "accuracy": 0.5}, {"prompt": "Who?", "accuracy": 0.5}, {"score": 0.5}], ids=str
)
def test_one_item_is_a_test_and_no_gate(service: Any, row: dict[str, Any]) -> None:
    files = two(lines(row), lines({**row, next(reversed(row)): 0.25}), "t.jsonl")
    assert send(service, "/v1/tests/files", files).json()["p_value"] == 1
    assert error_of(send(service, "/v1/gate", files))[1] == "one_item"


ONE_ITEM: dict[str, tuple[str, dict[str, Any], str]] = {
    "scores": ("scores", {"u": [0.7], "v": [0.95]}, "/request/u"),
    "scores by id": ("scores", {"u": {"a": 0.7}, "v": {"a": 0.95}}, "/request/u"),
    "effects": ("effects", {"stay": [1]}, "/request/stay"),
    "counts": ("counts", {"u": {"tp": [8], "fp": [1], "fn": [1]}, "v": {"tp": [7], "fp": [1], "fn": [1]}, "statistic": "f1"}, "/request/u"),
    "predictions": ("predictions", {"gold": ["a"], "u": ["a"], "v": ["b"]}, "/request/u"),
}  # fmt: skip


@pytest.mark.parametrize("case", ONE_ITEM)
def test_one_item_decides_no_gate_of_any_kind(service: Any, case: str) -> None:
    kind, request, pointer = ONE_ITEM[case]
    for policy in ("no_regression", "non_inferior", "improve"):
        assert errors_of(
            service.post("/v1/gate", {"kind": kind, "request": request, "policy": policy, "margin": 0.01})
        ) == [(pointer, "one_item")]
    metrics = [{"name": "a", "kind": kind, "request": request}]
    assert error_of(service.post("/v1/gate", {"metrics": metrics}))[1] == "one_item"


def test_a_gate_that_waits_for_items_goes_on_waiting(service: Any) -> None:
    body = {
        "kind": "scores",
        "request": {"u": [1], "v": [0]},
        "policy": "improve",
        "sequential": {"mode": "anytime"},
    }
    assert service.post("/v1/gate", body).json()["verdict"] in {"continue", "inconclusive"}


def long_table(questions: Sequence[Sequence[str]]) -> bytes:
    rows = [
        f"x{n},{system},{question},{score}"
        for system, own, scores in zip("ab", questions, (WINS, LOSSES), strict=True)
        for n, (question, score) in enumerate(zip(own, scores, strict=True))
    ]
    return "\n".join(["id,system,question,score", *rows, ""]).encode()


def test_long_tables_of_other_items_are_noticed_by_boards_and_tests(service: Any) -> None:
    texts = [f"question {n}" for n in range(N)]
    for other, refused in ((["other"] * 6 + texts[6:], True), ([*texts[:7], "other"], False)):
        table = {"file": ("t.csv", long_table([texts, other]))}
        for path in ("/v1/tests/files", "/v1/compare"):
            response = send(service, path, table)
            if refused:
                assert error_of(response)[1] == "item_mismatch"
            else:
                assert "item_mismatch" in warned(response.json())
    same = send(service, "/v1/compare", {"file": ("t.csv", long_table([texts, texts]))})
    assert "item_mismatch" not in warned(same.json())


def binomial(b: int, c: int) -> float:
    """The two-sided sign test of b against c discordant items."""
    n, k = b + c, min(b, c)
    tail = sum(Fraction(comb(n, i), 2**n) for i in range(k + 1))
    return float(min(Fraction(1), 2 * tail))


# Tables of outcomes, with items that only the one and only the other system gets right.
OUTCOMES: dict[str, tuple[str, bytes, int, int]] = {
    "2x2": ("t.csv", b",new right,new wrong\nold right,400,14\nold wrong,31,60\n", 14, 31),
    "2x2 of R": ("t.csv", b'"","correct","wrong"\n"correct",90,9\n"wrong",2,12\n', 9, 2),
    "2x2, wrong first": ("t.tsv", b"x\tB fails\tB no\tB yes\n".replace(b"B fails\t", b"") + b"A no\t12\t2\nA yes\t9\t90\n", 9, 2),
    "pass and fail": ("t.csv", b"A,B pass,B fail\nA pass,40,7\nA fail,1,3\n", 7, 1),
    "crosstab of pandas": ("t.csv", b"old,False,True\nFalse,12,9\nTrue,2,90\n", 2, 9),
    "crosstab of numbers": ("t.csv", b"old,0,1\n0,12,9\n1,2,90\n", 2, 9),
    "margins of pandas": ("t.csv", b"old,False,True,All\nFalse,12,9,21\nTrue,2,90,92\nAll,14,99,113\n", 2, 9),
    "margins of R": ("t.txt", b'"right" "wrong" "Sum"\n"right" 90 9 99\n"wrong" 2 12 14\n"Sum" 92 21 113\n', 9, 2),
    "sums of rows": ("t.csv", b",right,wrong,Sum\nright,90,9,99\nwrong,2,12,14\n", 9, 2),
    "sums of columns": ("t.csv", b",right,wrong\nright,90,9\nwrong,2,12\nTotal,92,21\n", 9, 2),
    "Freq": ("f.csv", b"sys_a,sys_b,Freq\n1,1,87\n1,0,30\n0,1,22\n0,0,74\n", 30, 22),
    "n": ("f.csv", b"sys_a,sys_b,n\n1,1,87\n1,0,12\n0,1,4\n0,0,74\n", 12, 4),
    "index of R": ("f.csv", b'"","a","b","Freq"\n"1",0,0,74\n"2",1,0,12\n"3",0,1,4\n', 12, 4),
    "words": ("f.csv", b"a,b,count\nright,right,87\nright,wrong,12\nwrong,right,4\n", 12, 4),
    "discordant alone": ("f.csv", b"a,b,freq\nTrue,False,12\nFalse,True,4\n", 12, 4),
}  # fmt: skip


@pytest.mark.parametrize("case", OUTCOMES)
def test_tables_of_outcomes_are_tested_as_their_items(service: Any, case: str) -> None:
    name, content, b, c = OUTCOMES[case]
    table = {"file": (name, content)}
    said = send(service, "/v1/tests/files", table).json()
    assert said["p_value"] == pytest.approx(binomial(b, c), rel=1e-12)
    assert (said["items"]["wins"], said["items"]["losses"]) == (b, c)
    (flaw,) = problem(send(service, "/v1/gate", table), 422)["errors"]
    assert flaw["code"] == "choose_roles"
    verdicts = ("pass", "fail") if b > c else ("fail", "pass")
    for choice, verdict in zip(flaw["choices"], verdicts, strict=True):
        gate = send(
            service, "/v1/gate", table, **choice["fields"], policy="no_regression", alpha="0.45"
        ).json()
        assert gate["verdict"] == verdict


@pytest.mark.parametrize("case", ["Freq", "n"])
def test_frequencies_are_not_a_system_of_a_board(service: Any, case: str) -> None:
    _, content, b, c = OUTCOMES[case]
    said = service.request(
        "POST", "/v1/compare", content=content, headers={"content-type": "text/csv"}
    ).json()
    assert [pair["p_value"] for pair in said["pairs"]] == [pytest.approx(binomial(b, c), rel=1e-12)]


@pytest.mark.parametrize(
    "table",
    [
        b"id,r,t\narc,31,27\npiqa,14,9\n",
        b"data,a,b\nright,31,27\nleft,14,9\n",
        b"a,b,n\n31,27,100\n14,9,200\n",
    ],
)
def test_other_small_tables_are_not_tables_of_outcomes(service: Any, table: bytes) -> None:
    said = send(service, "/v1/tests/files", {"file": ("t.csv", table)})
    assert said.status_code == 422 or said.json()["items"]["n"] == 2


UNCLEAR: dict[str, tuple[bytes, str]] = {
    "a without d": (b"a,b,c\n87,30,22\n", "missing_field"),
    "d without a": (b"b,c,d\n30,22,74\n", "missing_field"),
    "a without d in JSON": (b'{"a": 87, "b": 30, "c": 22}', "missing_field"),
    "other sums": (b",right,wrong,Sum\nright,90,9,98\nwrong,2,12,14\n", "inconsistent_counts"),
    "printed by R": (b"       right wrong\nright    90     9\nwrong     2    12\n", "unknown_format"),
    "printed by R with names": (b"       new\nold     right wrong\n  right    90     9\n  wrong     2    12\n", "unknown_format"),
    "printed by R with margins": (b"     0  1 Sum\n0   12  9  21\n1    2 90  92\nSum 14 99 113\n", "unknown_format"),
}  # fmt: skip


@pytest.mark.parametrize("format_", ["auto", "csv"])
@pytest.mark.parametrize("case", UNCLEAR)
def test_possible_tables_of_outcomes_are_never_read_as_items(service: Any, case: str, format_: str) -> None:
    content, code = UNCLEAR[case]
    for path in ("/v1/tests/files", "/v1/gate"):
        sent = send(service, path, {"file": ("t.txt", content)}, format=format_)
        (flaw,) = problem(sent, sent.status_code)["errors"]
        assert (sent.status_code // 100, flaw["code"]) == (4, code) or format_ == "csv", flaw


@pytest.mark.parametrize(
    "table",
    [
        b"metric,new,old\nzorp,0.81,0.78\nquux,0.5,0.4\nblib,0.3,0.2\nblab,0.4,0.3\nblob,0.7,0.5\n",
        b'{"metric": "zorp", "new": 0.81, "old": 0.78}\n{"metric": "quux", "new": 0.5, "old": 0.4}\n',
    ],
)
def test_rows_of_unknown_metrics_are_averages(service: Any, table: bytes) -> None:
    for more in ({}, {"id_column": "metric"}, {"system_u": "new", "system_v": "old"}):
        for path in ("/v1/tests/files", "/v1/gate"):
            sent = send(service, path, {"file": ("t.csv", table)}, **more)
            assert codes_of(sent) == ["averages_only"]
    lists = b'{"tags": ["a"], "u": 1, "v": 0}\n{"tags": ["b"], "u": 1, "v": 1}\n'
    numbers = b"measure,u,v\n1,1,0\n2,1,1\n"
    for items in (lists, numbers):
        assert send(service, "/v1/tests/files", {"file": ("t.csv", items)}).json()["items"]["n"] == 2
    constant = b"metric,new,old\nzorp,1,0\nzorp,0,0\nzorp,1,1\n"  # says what is measured of all items
    assert send(service, "/v1/tests/files", {"file": ("t.csv", constant)}).json()["items"]["n"] == 3


@pytest.mark.parametrize("more", [{}, {"a": 87, "d": 74}])
def test_counts_of_discordant_items_are_taken_by_every_entrance(service: Any, more: dict[str, int]) -> None:
    request = {"b": 30, "c": 22, **more}
    said = service.post("/v1/tests/scores", request).json()
    assert said["p_value"] == pytest.approx(binomial(30, 22), rel=1e-12)
    assert (said["items"]["n"], said["items"]["wins"]) == (52 + sum(more.values()), 30)
    named = service.post(
        "/v1/tests/scores", {**request, "statistic": "sign", "alternative": "greater"}
    ).json()
    assert named["p_value"] == pytest.approx(
        float(sum(Fraction(comb(52, i), 2**52) for i in range(30, 53))), rel=1e-12
    )
    gate = service.post("/v1/gate", {"kind": "scores", "request": request}).json()
    assert gate["verdict"] == "pass"
    content = json.dumps(request).encode()
    assert (
        send(service, "/v1/tests/files", {"file": ("t.json", content)}).json()["p_value"] == said["p_value"]
    )
    assert send(service, "/v1/gate", {"file": ("t.json", content)}).json()["verdict"] == "pass"


@pytest.mark.parametrize("more", [{}, {"a": 87, "d": 74}])
def test_counts_of_discordant_items_are_taken_in_python(more: dict[str, int]) -> None:
    cells = {"b": np.int64(30), "c": 22, **more}
    found = exactperm.test(cells)
    assert found.p_value == pytest.approx(binomial(30, 22), rel=1e-12)
    assert (found.items.n, found.items.wins) == (52 + sum(more.values()), 30)
    assert exactperm.gate(cells).verdict == "pass"
    for wrong in (-1, 2.5):
        with pytest.raises(InvalidTest) as refused:
            exactperm.test({"b": wrong, "c": 2})
        assert [flaw.code for flaw in refused.value.errors] == ["not_a_count"]
    with pytest.raises(InvalidTest, match="no d"):
        exactperm.test({"a": 87, "b": 30, "c": 22})
    items = exactperm.scores({"b": 1, "c": 0})  # with a baseline these are items by id
    against = exactperm.gate(items, against={"main": {"b": 0, "c": 0}, "old": {"b": 1, "c": 1}})
    assert [(one.against, one.test.items.n) for one in against.metrics] == [("main", 2), ("old", 2)]


@pytest.mark.parametrize(
    ("request_", "pointer", "code"),
    [({"a": 9, "b": 1, "c": 2}, "/d", "missing_field"), ({"b": 1, "c": 2, "d": 9}, "/a", "missing_field"), ({"b": -1, "c": 2}, "/b", "not_a_count"), ({"b": 1, "c": 2.5}, "/c", "not_a_count"), ({"b": 1, "c": True}, "/c", "not_a_count")],
)  # fmt: skip
def test_invalid_counts_of_items_are_refused(
    service: Any, request_: dict[str, Any], pointer: str, code: str
) -> None:
    assert errors_of(service.post("/v1/tests/scores", request_)) == [(pointer, code)]
    assert service.post("/v1/tests/scores", {"b": 10**9, "c": 1}).status_code == 413


FILES, GATE = "/v1/tests/files", "/v1/gate"
LOG_U, LOG_V = [1, 1, 1, 1, 0, 1, 1, 1], [0, 1, 0, 0, 0, 1, 0, 0]
Log = Callable[[Sequence[int], set[int]], str]


def log_lines(rows: Sequence[Mapping[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def reference(n: int, others: set[int]) -> str:
    return f"answer {n}" + (" of another" if n in others else "")


def lighteval(scores: Sequence[int], others: set[int]) -> str:
    def doc(n: int) -> dict[str, Any]:
        return {"query": f"Q{n}", "choices": [reference(n, others), "no"], "gold_index": 0, "id": str(n)}

    return log_lines(
        [
            {"doc": doc(n), "metric": {"acc": one}, "model_response": {"text": ["x"]}}
            for n, one in enumerate(scores)
        ]
    )


def openai_evals(scores: Sequence[int], others: set[int]) -> str:
    head: list[Any] = [
        {"spec": {"eval_name": "e", "completion_fns": ["m"], "run_id": "r"}},
        {"final_report": {}},
    ]
    return log_lines(head + [
        {"run_id": "r", "event_id": n, "sample_id": f"e.{n}", "type": "match", "data": {"correct": bool(one), "expected": reference(n, others)}}
        for n, one in enumerate(scores)
    ])  # fmt: skip


def openai_prompts(scores: Sequence[int], others: set[int]) -> str:
    head: list[Any] = [
        {"spec": {"eval_name": "e", "completion_fns": ["m"], "run_id": "r"}},
        {"final_report": {}},
    ]
    rows = [
        (n, kind, data)
        for n, one in enumerate(scores)
        for kind, data in (("sampling", {"prompt": reference(n, others)}), ("metrics", {"acc": one}))
    ]
    return log_lines(
        head + [{"run_id": "r", "sample_id": f"e.{n}", "type": kind, "data": data} for n, kind, data in rows]
    )


def promptfoo(scores: Sequence[int], others: set[int]) -> str:
    rows = [
        {"promptIdx": 0, "provider": {"id": "p"}, "vars": {"q": n}, "score": one, "success": bool(one),
         "testCase": {"vars": {"q": n}, "assert": [{"type": "equals", "value": reference(n, others)}]}}
        for n, one in enumerate(scores)
    ]  # fmt: skip
    return json.dumps({"evalId": "e", "results": {"version": 3, "results": rows}})


def every_eval_ever(scores: Sequence[int], others: set[int]) -> str:
    return log_lines(
        [
            {
                "evaluation_name": "e",
                "sample_id": str(n),
                "input": {"raw": reference(n, others)},
                "evaluation": {"score": one},
            }
            for n, one in enumerate(scores)
        ]
    )


def deepeval(scores: Sequence[int], others: set[int]) -> str:
    cases = [
        {
            "name": f"c{n}",
            "input": f"Q{n}",
            "expectedOutput": reference(n, others),
            "metricsData": [{"name": "m", "score": one}],
        }
        for n, one in enumerate(scores)
    ]
    return json.dumps({"testCases": cases})


LOGS: dict[str, Log] = {
    "lighteval": lighteval, "openai-evals": openai_evals, "prompts": openai_prompts, "promptfoo": promptfoo,
    "every-eval-ever": every_eval_ever, "deepeval": deepeval,
}  # fmt: skip


def logs_of(u: str, v: str, *names: str) -> dict[str, tuple[str, str]]:
    first, second = names or ("u.json", "v.json")
    return {"u": (first, u), "v": (second, v)}


@pytest.mark.parametrize("log", LOGS.values(), ids=list(LOGS))
def test_other_items_under_the_same_ids_are_noticed_by_their_description(log: Log, service: Service) -> None:
    same = service.post(FILES, files=logs_of(log(LOG_U, set()), log(LOG_V, set())))
    assert same.status_code == 200, same.text
    assert "item_mismatch" not in warned(same.json())
    some = logs_of(log(LOG_U, set()), log(LOG_V, {2}))
    said = service.post(FILES, files=some).json()
    assert "item_mismatch" in warned(said)
    assert said["items"]["n"] == N
    flaw = problem(service.post(GATE, files=some, data={"higher_is_better": "true"}), 422)["errors"][0]
    assert flaw["code"] == "item_mismatch"
    for choice in flaw["choices"]:
        chosen = service.post(FILES, files=some, data=choice["fields"]).json()
        assert "item_mismatch" not in warned(chosen)
        assert chosen["items"]["n"] == (7 if choice["fields"]["on_mismatch"] == "drop" else 8)
    most = logs_of(log(LOG_U, set()), log(LOG_V, set(range(5))))
    assert error_of(service.post(FILES, files=most))[1] == "item_mismatch"
    assert service.post(FILES, files=most, data={"on_mismatch": "keep"}).status_code == 200


def inspect(scores: Sequence[int], task: str, **about: str) -> str:
    samples = [
        {"id": n, "epoch": 1, "scores": {"match": {"value": "C" if one else "I"}}, **about}
        for n, one in enumerate(scores)
    ]
    return json.dumps(
        {"version": 2, "status": "success", "eval": {"task": task, "model": "m"}, "samples": samples}
    )


def harness(scores: Sequence[int], _: str) -> str:
    return log_lines(
        [
            {"doc_id": n, "filter": "none", "metrics": ["acc"], "acc": float(one)}
            for n, one in enumerate(scores)
        ]
    )


NAMES = [f"samples_{task}_2026-05-17T13-25-31.291152.jsonl" for task in ("arc", "mmlu")]


@pytest.mark.parametrize("form", ["inspect", "lm-eval"])
def test_logs_of_two_tasks_without_contents_are_a_warning_and_a_gate_asks(
    form: str, service: Service
) -> None:
    log = inspect if form == "inspect" else harness
    files = logs_of(log(LOG_U, "arc"), log(LOG_V, "mmlu"), *NAMES)
    said = service.post(FILES, files=files).json()
    assert "item_mismatch" in warned(said)
    assert any("two tasks" in warning["detail"] for warning in said["warnings"])
    flaw = problem(service.post(GATE, files=files), 422)["errors"][0]
    assert flaw["code"] == "item_mismatch"
    assert [choice["fields"] for choice in flaw["choices"]] == [{"on_mismatch": "keep"}]
    kept = service.post(GATE, files=files, data=flaw["choices"][0]["fields"])
    assert kept.json()["verdict"] == "pass", kept.text
    alike = logs_of(log(LOG_U, "arc"), log(LOG_V, "arc"), NAMES[0], NAMES[0])
    assert "item_mismatch" not in warned(service.post(FILES, files=alike).json())


def test_two_tasks_of_the_same_items_are_a_note(service: Service) -> None:
    files = logs_of(
        inspect(LOG_U, "arc", input="Q", target="A"), inspect(LOG_V, "arc_cot", input="Q", target="A")
    )
    said = service.post(FILES, files=files).json()
    assert "item_mismatch" not in warned(said)
    assert any("two tasks" in note for note in said["reading"]["notes"])


def test_differing_items_are_left_out_or_kept_by_option(service: Service) -> None:
    def comet(scores: Sequence[int], other: str) -> str:
        rows = [
            {"src": other if n == 3 else f"Satz {n}", "mt": "…", "COMET": one} for n, one in enumerate(scores)
        ]
        return json.dumps({"s.txt": rows})

    files = logs_of(comet(LOG_U, "Satz 3"), comet(LOG_V, "Ein anderer"))
    flaw = problem(service.post(FILES, files=files), 422)["errors"][0]
    assert flaw["code"] == "src_mismatch"
    found = [service.post(FILES, files=files, data=choice["fields"]).json() for choice in flaw["choices"]]
    assert [said["items"]["n"] for said in found] == [N - 1, N]


def runs(form: str, order: Sequence[tuple[int, int]], scores: Mapping[tuple[int, int], int]) -> str:
    if form == "helm":
        return json.dumps([
            {"instance_id": f"id{n}", "train_trial_index": run, "stats": [{"name": {"name": "em", "split": "test"}, "count": 1, "sum": scores[n, run]}]}
            for n, run in order
        ])  # fmt: skip
    if form == "inspect":
        samples = [
            {"id": n, "epoch": run + 1, "scores": {"match": {"value": scores[n, run]}}} for n, run in order
        ]
        return json.dumps(
            {"version": 2, "status": "success", "eval": {"task": "t", "model": "m"}, "samples": samples}
        )
    if form == "promptfoo":
        rows = [
            {"promptIdx": 0, "provider": "p", "vars": {"q": n}, "testIdx": run, "score": scores[n, run]}
            for n, run in order
        ]
        return json.dumps({"evalId": "e", "results": {"version": 3, "results": rows}})
    if form == "terminal-bench":
        trials = [
            {"id": f"x{n}{run}", "task_id": f"t{n}", "is_resolved": scores[n, run] > 1} for n, run in order
        ]
        return json.dumps({"results": trials})
    return log_lines([
        {"question_id": n, "model": "m", "judge": "j", "turn": run + 1, "score": scores[n, run]} for n, run in order
    ])  # fmt: skip


@pytest.mark.parametrize("form", ["helm", "inspect", "promptfoo", "terminal-bench", "mt-bench"])
def test_the_order_of_runs_in_a_file_does_not_change_the_answer(form: str, service: Service) -> None:
    keys = [(n, run) for n in range(5) for run in range(3)]
    draws = random.Random(form)
    u, v = ({key: draws.randint(0, 3) for key in keys} for _ in "uv")
    answers = []
    for order in (keys, keys[::-1], draws.sample(keys, len(keys))):
        said = service.post(FILES, files=logs_of(runs(form, order, u), runs(form, order, v)))
        assert said.status_code == 200, said.text
        answers.append((said.json()["id"], said.json()["p_value"]))
    assert len(set(answers)) == 1


def test_lists_of_right_and_wrong_are_compared_by_their_documents(service: Service) -> None:
    def log(scores: Sequence[int], others: set[int]) -> str:
        return log_lines([
            {"doc_id": n, "doc": {"prompt": reference(n, others)}, "filter": "none", "metrics": ["inst_level_acc"], "inst_level_acc": [bool(one), True]}
            for n, one in enumerate(scores)
        ])  # fmt: skip

    some = logs_of(log(LOG_U, set()), log(LOG_V, {2}))
    said = service.post(FILES, files=some).json()
    assert ("item_mismatch" in warned(said), said["statistic"]["name"]) == (True, "ratio")
    assert service.post(FILES, files=some, data={"on_mismatch": "drop"}).json()["items"]["n"] == N - 1
    most = logs_of(log(LOG_U, set()), log(LOG_V, set(range(5))))
    assert error_of(service.post(FILES, files=most))[1] == "item_mismatch"
