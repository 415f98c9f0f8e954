"""Test directions: they follow the metric, a gate asks if unknown, and all messages agree."""

import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.api.conftest import Service, codes_of, error_of, errors_of

Files = dict[str, tuple[str, bytes]]
N = 20


def lines(*texts: str) -> bytes:
    return ("\n".join(texts) + "\n").encode()


def table(header: str, row: Callable[[int], str]) -> bytes:
    return lines(header, *(row(n) for n in range(N)))


def trn(words: str) -> bytes:
    return lines(*(f"{words} (s-{n})" for n in range(N)))


# One system makes no error, the other one in four words.
TRN = {"good": trn("a b c d"), "bad": trn("a b x d"), "ref": trn("a b c d")}
MT = {"good": lines(*["a b c d"] * N), "bad": lines(*["a b x d"] * N), "ref": lines(*["a b c d"] * N)}
ASR = {
    "good": table("id,errors,ref_words", lambda n: f"{n},0,4"),
    "bad": table("id,errors,ref_words", lambda n: f"{n},1,4"),
}
TER = {
    "good": table("id,ter_edits,ter_ref_len", lambda n: f"{n},0,4"),
    "bad": table("id,ter_edits,ter_ref_len", lambda n: f"{n},1,4"),
}


def scored(name: str) -> dict[str, bytes]:
    """Files of one column; `good` has less of it."""
    return {
        "good": table(f"id,{name}", lambda n: f"{n},{n % 3}"),
        "bad": table(f"id,{name}", lambda n: f"{n},{n % 3 + 1}"),
    }


def json_lines(name: str) -> dict[str, bytes]:
    return {
        "good": lines(*(json.dumps({"id": str(n), name: n % 3}) for n in range(N))),
        "bad": lines(*(json.dumps({"id": str(n), name: n % 3 + 1}) for n in range(N))),
    }


def log(metric: str, **more: Any) -> dict[str, bytes]:
    """Samples of lm-evaluation-harness."""
    said = [
        [
            json.dumps({"doc_id": n, "filter": "none", "metrics": [metric], metric: n % 3 + bad, **more})
            for n in range(N)
        ]
        for bad in (0, 1)
    ]
    return {"good": lines(*said[0]), "bad": lines(*said[1])}


def frame(metric: str) -> dict[str, bytes]:
    """RunFrames."""
    made = [
        {
            "model_id": "m",
            "task_id": "t",
            "metric_name": metric,
            "items": [{"item_id": str(n), "score": n % 3 + bad} for n in range(N)],
        }
        for bad in (0, 1)
    ]
    return {"good": json.dumps(made[0]).encode(), "bad": json.dumps(made[1]).encode()}


LESS_IS_BETTER: dict[str, tuple[dict[str, bytes], dict[str, str]]] = {
    "asr transcripts": (TRN, {"format": "asr"}),
    "asr transcripts, statistic wer": (TRN, {"format": "asr", "statistic": "wer"}),
    "asr counts": (ASR, {"format": "asr"}),
    "mt ter": (MT, {"format": "mt", "statistic": "ter"}),
    "mt-stats metric": (TER, {"format": "mt-stats", "metric": "ter"}),
    "mt-stats statistic": (TER, {"format": "mt-stats", "statistic": "ter"}),
    "csv latency": (scored("latency_ms"), {"format": "csv"}),
    "csv errorRate": (scored("errorRate"), {"format": "csv"}),
    "csv word_perplexity": (scored("word_perplexity"), {"format": "csv"}),
    "jsonl loss": (json_lines("loss"), {"format": "jsonl", "metric": "loss"}),
    "lm-eval bits_per_byte": (log("bits_per_byte"), {"format": "lm-eval"}),
    "lm-eval that says it": (log("surprise", higher_is_better={"surprise": False}), {"format": "lm-eval"}),
    "evalsig cost": (frame("cost"), {"format": "evalsig"}),
}
MORE_IS_BETTER: dict[str, tuple[dict[str, bytes], dict[str, str]]] = {
    "csv score": (scored("score"), {"format": "csv"}),
    "csv accuracy": (scored("accuracy"), {"format": "csv"}),
    "csv chrF": (scored("chrF"), {"format": "csv"}),
    "jsonl score": (json_lines("score"), {"format": "jsonl"}),
    "lm-eval acc_norm": (log("acc_norm"), {"format": "lm-eval"}),
    "evalsig F1": (frame("F1"), {"format": "evalsig"}),
}
UNKNOWN = {
    "csv helpfulness": (scored("helpfulness"), {"format": "csv"}),
    "csv error_reduction": (scored("error_reduction"), {"format": "csv"}),
    "jsonl length": (json_lines("length"), {"format": "jsonl", "metric": "length"}),
    "lm-eval surprise": (log("surprise"), {"format": "lm-eval"}),
    "evalsig quality": (frame("quality"), {"format": "evalsig"}),
}


def files_of(files: dict[str, bytes], u: str, v: str) -> Files:
    more = {role: (role, content) for role, content in files.items() if role == "ref"}
    return {"u": ("u.txt", files[u]), "v": ("v.txt", files[v]), **more}


def gate(service: Service, files: Files, query: str = "", **fields: str) -> httpx.Response:
    return service.request("POST", f"/v1/gate{query}", files=files, data=fields)


def codes(said: dict[str, Any]) -> set[str]:
    return {warning["code"] for warning in said["metrics"][0]["test"]["warnings"]}


@pytest.mark.parametrize("case", LESS_IS_BETTER)
def test_fewer_errors_are_never_worse(service: Any, case: str) -> None:
    files, fields = LESS_IS_BETTER[case]
    for u, v, verdict in (("good", "bad", "pass"), ("bad", "good", "fail")):
        said = gate(service, files_of(files, u, v), **fields).json()
        assert (said.get("verdict"), said.get("higher_is_better")) == (verdict, False), said
        assert codes(said) == set()
        test = said["metrics"][0]["test"]
        wins, losses = (N, 0) if verdict == "pass" else (0, N)
        assert (test["items"]["wins"], test["items"]["losses"]) == (wins, losses)
        assert len(test["moved"]["toward_u"]) == min(wins, 10)
        assert len(test["moved"]["toward_v"]) == min(losses, 10)


@pytest.mark.parametrize("case", LESS_IS_BETTER)
def test_an_explicit_direction_wins_with_a_warning(service: Any, case: str) -> None:
    files, fields = LESS_IS_BETTER[case]
    said = gate(service, files_of(files, "good", "bad"), **fields, higher_is_better="true").json()
    assert (said["verdict"], said["higher_is_better"]) == ("fail", True)
    assert codes(said) == {"direction_contradicts_name"}
    assert said["metrics"][0]["test"]["items"]["wins"] == 0
    usual = gate(service, files_of(files, "good", "bad"), **fields, higher_is_better="false").json()
    assert (usual["verdict"], codes(usual)) == ("pass", set())


@pytest.mark.parametrize("case", MORE_IS_BETTER)
def test_higher_is_better_by_name_or_by_default(service: Any, case: str) -> None:
    files, fields = MORE_IS_BETTER[case]
    for u, v, verdict in (("good", "bad", "fail"), ("bad", "good", "pass")):
        said = gate(service, files_of(files, u, v), **fields).json()
        assert (said.get("verdict"), said.get("higher_is_better")) == (verdict, True), said


@pytest.mark.parametrize("case", UNKNOWN)
def test_a_gate_asks_for_an_unknown_direction(service: Any, case: str) -> None:
    files, fields = UNKNOWN[case]
    assert errors_of(gate(service, files_of(files, "good", "bad"), **fields)) == [
        ("/options/higher_is_better", "choose_direction")
    ]
    for higher, verdict in (("true", "fail"), ("false", "pass")):
        said = gate(service, files_of(files, "good", "bad"), **fields, higher_is_better=higher).json()
        assert (said["verdict"], codes(said)) == (verdict, set())


def test_columns_of_one_table_share_their_metric(service: Any) -> None:
    content = table("id,wer_candidate,wer_baseline", lambda n: f"{n},0.{n % 3},0.{n % 3 + 1}")
    said = gate(service, {"file": ("t.csv", content)}).json()
    assert (said["verdict"], said["higher_is_better"], said["metrics"][0]["name"]) == ("pass", False, "wer")
    content = table("id,system,latency", lambda n: f"{n // 2},{'new' if n % 2 else 'old'},{n % 2 + n}")
    said = gate(service, {"file": ("t.csv", content)}).json()
    assert (said["verdict"], said["higher_is_better"]) == ("fail", False)


def counted(good: bool, name: str = "errors") -> dict[str, list[int]]:
    return {name: [0 if good else 1] * N, "words": [4] * N}


def as_json(service: Service, kind: str, request: dict[str, Any], **gate: Any) -> httpx.Response:
    return service.post("/v1/gate", {"kind": kind, "request": request, **gate})


def test_the_direction_of_a_ratio_follows_its_counts(service: Any) -> None:
    for name, verdict in (("errors", "pass"), ("correct", "fail"), ("hits", None)):
        request = {
            "u": counted(True, name),
            "v": counted(False, name),
            "statistic": {"name": "ratio", "numerator": name, "denominator": "words"},
        }
        response = as_json(service, "counts", request)
        if verdict is not None:
            assert response.json()["verdict"] == verdict
            continue
        assert errors_of(response) == [("/higher_is_better", "choose_direction")]
        assert as_json(service, "counts", request, higher_is_better=False).json()["verdict"] == "pass"


def test_an_expression_has_no_known_direction(service: Any) -> None:
    counts = {
        "u": counted(True),
        "v": counted(False),
        "statistic": {"name": "expression", "expression": "errors / words"},
    }
    effects = {"stay": [[1, 2]] * 8, "statistic": {"expression": "x1 / x2"}}
    for kind, request in (("counts", counts), ("effects", effects)):
        assert error_of(as_json(service, kind, request))[1] == "choose_direction"
        metrics = [{"name": "a", "kind": kind, "request": request, "higher_is_better": False}]
        assert service.post("/v1/gate", {"metrics": metrics}).status_code in {200, 409}


def test_scores_without_a_name_and_effects_are_higher_where_they_are_better(service: Any) -> None:
    for kind, request in (("scores", {"u": [1] * 8, "v": [0] * 8}), ("effects", {"stay": [1] * 8})):
        said = as_json(service, kind, request, policy="improve").json()
        assert (said["verdict"], said["higher_is_better"]) == ("pass", True)


def test_ter_of_counts_and_texts_in_json_is_lower(service: Any) -> None:
    counts = {"u": {"edits": [0] * 8, "ref_len": [4] * 8}, "v": {"edits": [1] * 8, "ref_len": [4] * 8}}
    said = as_json(service, "counts", {**counts, "statistic": {"name": "ter"}}).json()
    assert (said["verdict"], said["higher_is_better"]) == ("pass", False)


@pytest.mark.parametrize("policy", ["no_regression", "non_inferior", "improve"])
def test_headline_scores_wins_and_moved_items_agree(service: Any, policy: str) -> None:
    """A7: fewer errors, "better by 0.25", and 20 wins, all for the same system."""
    files = files_of(TRN, "good", "bad")
    text = gate(service, files, "?format=markdown", policy=policy, format="asr").text
    assert "the candidate is better by 0.25" in text
    assert "| 20 / 0 / 0 |" in text
    assert "* toward `candidate`: " in text
    assert "toward `baseline`" not in text
    exchanged = gate(
        service, files_of(TRN, "bad", "good"), "?format=markdown", policy=policy, format="asr"
    ).text
    assert "the candidate is worse by 0.25" in exchanged
    assert "| 0 / 0 / 20 |" in exchanged
    assert "toward `candidate`" not in exchanged


def test_a_plain_test_of_a_known_metric_counts_wins_by_its_direction(service: Any) -> None:
    response = service.request(
        "POST", "/v1/tests/files", files=files_of(TRN, "good", "bad"), data={"format": "asr"}
    )
    said = response.json()
    assert said["statistic"]["observed"] == -0.25
    assert (said["statistic"]["metric"], said["statistic"]["higher_is_better"]) == ("wer", False)
    assert (said["items"]["wins"], said["items"]["losses"]) == (N, 0)
    plain = service.post("/v1/tests/scores", {"u": [0] * 5, "v": [1] * 5}).json()
    assert (plain["statistic"]["metric"], plain["statistic"]["higher_is_better"]) == (None, None)
    assert (plain["items"]["wins"], plain["items"]["losses"]) == (0, 5)


def test_right_by_one_system_only_is_the_better_one(service: Any) -> None:
    """0/1 errors: an item with u = 0, v = 1 is one that only U got right."""
    u, v = [0, 0, 0, 0, 1, 0], [1, 1, 1, 1, 0, 0]
    for higher, expected in ((True, (1, 4)), (False, (4, 1))):
        said = as_json(service, "scores", {"u": u, "v": v}, higher_is_better=higher).json()
        sizes = said["metrics"][0]["test"]["effect_size"]["discordant"]
        assert (sizes["only_u"], sizes["only_v"]) == expected
        assert sizes["odds"] == expected[0] / expected[1]
        assert sizes["odds_low"] < sizes["odds"] < sizes["odds_high"]


def test_mirrored_scores_and_direction_are_the_same_gate(service: Any) -> None:
    u, v = [3, 1, 4, 1, 5, 9, 2, 6], [2, 7, 1, 8, 2, 8, 1, 8]
    for policy in ("no_regression", "non_inferior", "improve"):
        plain = as_json(service, "scores", {"u": u, "v": v}, policy=policy).json()
        mirrored = {"u": [-x for x in u], "v": [-x for x in v]}
        turned = as_json(service, "scores", mirrored, policy=policy, higher_is_better=False).json()
        assert (plain["verdict"], plain["p_value"]) == (turned["verdict"], turned["p_value"])
        first, second = (said["metrics"][0]["test"] for said in (plain, turned))
        assert first["items"] == second["items"]
        assert first["moved"] == second["moved"]


def test_two_files_that_name_their_scores_differently(service: Any) -> None:
    """Systems may be the names of the columns; metrics of two directions are no comparison."""
    less = {"u": ("u.csv", scored("loss_a")["good"]), "v": ("v.csv", scored("loss_b")["bad"])}
    said = gate(service, less, format="csv").json()
    assert (said["verdict"], said["higher_is_better"], said["metrics"][0]["name"]) == ("pass", False, "loss")
    systems = {"u": ("u.csv", scored("gpt")["good"]), "v": ("v.csv", scored("llama")["bad"])}
    assert gate(service, systems, format="csv").json()["verdict"] == "fail"
    mixed = {"u": ("u.csv", scored("loss")["good"]), "v": ("v.csv", scored("f1")["bad"])}
    assert error_of(gate(service, mixed, format="csv"))[1] == "metric_mismatch"
    half = {"u": ("u", json_lines("score")["good"]), "v": ("v", json_lines("correct")["bad"])}
    said = gate(service, half, format="jsonl").json()
    assert (said["verdict"], said["metrics"][0]["name"]) == ("fail", "correct")
    notes = said["metrics"][0]["test"]["reading"]["notes"]
    assert 'u: the score of an item is its "score".' in notes
    assert 'v: the score of an item is its "correct".' in notes


OPEN_COLUMNS = [
    ("toxicity_new", "toxicity_old"),
    ("error_reduction_candidate", "error_reduction_baseline"),
    ("wer_candidate", "baseline"),
    ("candidate", "baseline_wer"),
    ("1-wer_new", "1-wer_old"),
    ("new -loss", "old -loss"),
]


@pytest.mark.parametrize("names", OPEN_COLUMNS, ids=" ".join)
def test_two_columns_whose_names_leave_the_direction_open_are_asked_about(
    service: Any, names: tuple[str, str]
) -> None:
    u, v = names
    rows = [json.dumps({"id": f"q{n}", u: n % 3 + 1, v: n % 3}) for n in range(N)]
    two = {"u": ("u", table(f"id,{u}", str_row(1))), "v": ("v", table(f"id,{v}", str_row(0)))}
    one = table(f"id,{u},{v}", lambda n: f"{n},{n % 3 + 1},{n % 3}")
    every: list[tuple[str, Files]] = [
        ("csv", {"file": ("scores", one)}),
        ("jsonl", {"file": ("scores", lines(*rows))}),
    ]
    if "wer" not in u + v:  # one file that names a known metric tells that of both
        every.append(("csv", two))
    for form, files in every:
        assert errors_of(gate(service, files, format=form)) == [
            ("/options/higher_is_better", "choose_direction")
        ]
        assert gate(service, files, format=form, higher_is_better="false").json()["verdict"] == "fail"
        assert gate(service, files, format=form, higher_is_better="true").json()["verdict"] == "pass"


@pytest.mark.parametrize("name", ["accuracy_baseline", "error_baseline"])
def test_columns_of_two_metrics_decide_only_where_they_are_chosen(service: Any, name: str) -> None:
    files = {"file": ("scores", table(f"id,wer_candidate,{name}", lambda n: f"{n},{n % 3 + 1},{n % 3}"))}
    assert codes_of(gate(service, files, format="csv")) == ["metric_mismatch"]
    chosen = {"format": "csv", "system_u": "wer_candidate", "system_v": name, "higher_is_better": "false"}
    assert gate(service, files, **chosen).json()["verdict"] == "fail"


def str_row(more: int) -> Callable[[int], str]:
    return lambda n: f"{n},{n % 3 + more}"


def test_words_in_capitals_are_a_metric_as_well(service: Any) -> None:
    files = {"file": ("scores", table("id,CandidateWER,BaselineWER", lambda n: f"{n},{n % 3 + 1},{n % 3}"))}
    answer = gate(service, files).json()
    assert (answer["verdict"], answer["higher_is_better"]) == ("fail", False)


def test_a_file_that_says_score_is_of_the_metric_that_the_other_names(service: Any) -> None:
    files = {"u": ("u", table("id,score", str_row(1))), "v": ("v", table("id,toxicity", str_row(0)))}
    assert codes_of(gate(service, files, format="csv")) == ["choose_direction"]


@pytest.mark.parametrize(
    "name", ["1-wer", "1 - word error rate", "100-cer", "1/ppl", "-loss", "exp(-nll)", "\u2212log loss"]
)
def test_a_negated_metric_is_not_taken_for_the_metric(service: Any, name: str) -> None:
    files = {"u": ("u", table(f"id,{name}", str_row(0))), "v": ("v", table(f"id,{name}", str_row(1)))}
    assert codes_of(gate(service, files, format="csv")) == ["choose_direction"]


@pytest.mark.parametrize(
    "expression",
    ["abs(x1)", "abs(x1) + 1", "abs(x1) / 2", "x1 * x1", "max(x1, -x1)", "sqrt(x1 * x1)", "1 - abs(x1)"],
)
def test_statistics_without_a_direction_decide_no_gate(service: Any, expression: str) -> None:
    request = {
        "stay": [-1] * N,
        "swap": [1] * N,
        "statistic": {"name": "expression", "expression": expression},
    }
    said = as_json(service, "effects", request, higher_is_better=True)
    assert codes_of(said) == ["no_direction"]


@pytest.mark.parametrize("expression", ["x1", "x1 / 3", "exp(x1 / 9)", "x1 * abs(x1)", "x1 + 5"])
def test_statistics_with_a_direction_decide_gates(service: Any, expression: str) -> None:
    request = {
        "stay": [-1] * N,
        "swap": [1] * N,
        "statistic": {"name": "expression", "expression": expression},
    }
    assert as_json(service, "effects", request, higher_is_better=True).json()["verdict"] == "fail"


def test_names_of_systems_that_speak_of_errors_are_asked_about(service: Any) -> None:
    names = {"u": "wer new", "v": "wer old"}
    body = {"kind": "scores", "request": {"u": [0.9, 0.8, 0.9], "v": [0.1, 0.2, 0.1], "names": names}}
    assert codes_of(service.post("/v1/gate", body)) == ["choose_direction"]
    assert service.post("/v1/gate", {**body, "higher_is_better": False}).status_code in {200, 409}
