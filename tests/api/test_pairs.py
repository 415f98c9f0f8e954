"""Statistics of pairs over HTTP: scikit-learn's and SciPy's values, refusals, gates, plans and boards."""

import json
import random
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from scipy import stats
from sklearn import metrics

from tests.api.conftest import answer_to, error_of

ROOT = Path(__file__).resolve().parents[2]
PREDICTIONS = "/v1/tests/predictions"
AUC: dict[str, Any] = {
    "gold": [1, 0, 1, 0, 1, 0],
    "u": [0.9, 0.2, 0.7, 0.4, 0.8, 0.1],
    "v": [0.6, 0.5, 0.8, 0.7, 0.3, 0.2],
    "statistic": {"name": "auc"},
}
TAU: dict[str, Any] = {**AUC, "gold": [1, 2, 3, 4, 5, 6], "statistic": {"name": "kendall"}}


def case(n: int, seed: int) -> tuple[list[int], list[float], list[float], list[float]]:
    """Labels, human scores without ties, and scores of two systems without ties."""
    source = random.Random(seed)
    gold = source.sample(range(10 * n), n)
    u, v = ([round(g + source.gauss(0, 8 * n), 6) for g in gold] for _ in range(2))
    return [source.randrange(2) for _ in range(n)], [float(g) for g in gold], u, v


@pytest.mark.parametrize("scale", ["ranks", "raw", "standardized"])
def test_observed_values_are_those_of_the_libraries(service: Any, scale: str) -> None:
    labels, gold, u, v = case(300, 1)
    wanted = {
        "auc": [metrics.roc_auc_score(labels, column) for column in (u, v)],
        "kendall": [stats.kendalltau(gold, column).statistic for column in (u, v)],
        "spearman": [stats.spearmanr(gold, column).statistic for column in (u, v)],
        "pairwise_accuracy": [(stats.kendalltau(gold, column).statistic + 1) / 2 for column in (u, v)],
        "concordance": [(stats.kendalltau(gold, column).statistic + 1) / 2 for column in (u, v)],
    }
    for name, values in wanted.items():
        body = {
            "gold": labels if name == "auc" else gold,
            "u": u,
            "v": v,
            "statistic": {"name": name, "scale": scale},
        }
        said = service.post(PREDICTIONS, body).json()
        assert [said["statistic"]["u"], said["statistic"]["v"]] == pytest.approx(values, abs=1e-12), name
        assert said["method"]["exact"] is True
        assert said["warnings"] == []


def test_tied_scores_have_sklearn_s_auc_and_scipy_s_rho_and_taus(service: Any) -> None:
    labels, gold, u, v = case(200, 2)
    u, v = ([float(round(x / 300)) for x in column] for column in (u, v))
    said = service.post(PREDICTIONS, {"gold": labels, "u": u, "v": v, "statistic": {"name": "auc"}}).json()
    wanted = [metrics.roc_auc_score(labels, column) for column in (u, v)]
    assert [said["statistic"]["u"], said["statistic"]["v"]] == pytest.approx(wanted, abs=1e-12)
    for statistic, score in (
        ({"name": "spearman"}, stats.spearmanr),
        ({"name": "kendall"}, stats.kendalltau),
        ({"name": "kendall", "variant": "c"}, partial(stats.kendalltau, variant="c")),
    ):
        said = service.post(PREDICTIONS, {"gold": gold, "u": u, "v": v, "statistic": statistic}).json()
        wanted = [score(gold, column).statistic for column in (u, v)]
        assert [said["statistic"]["u"], said["statistic"]["v"]] == pytest.approx(wanted, abs=1e-12)
        assert said["method"]["monte_carlo"]["control"] == "midpoint"


def test_an_epsilon_of_any_size_is_decided_at_once(service: Any) -> None:
    """The integers between which z-scores tie are computed, where they were looked for one by one up to 1e300."""
    body = {
        "gold": [1, 2, 2, 3, 4, 5, 5],
        "u": [10, 1, 4, 11, 12, 2, 6],
        "v": [0.5, 1e300, 1, 5e-324, 3, -7, 2],
    }
    statistic = {"name": "pairwise_accuracy", "scale": "standardized", "epsilon": 1e300}
    said = service.post(PREDICTIONS, {**body, "statistic": statistic}).json()
    everything_ties = pytest.approx(2 / 21)
    assert [said["p_value"], said["statistic"]["u"], said["statistic"]["v"]] == [
        1.0,
        everything_ties,
        everything_ties,
    ]


def test_columns_by_id_are_the_lists(service: Any) -> None:
    ids = list("abcdef")
    body = {**AUC, "groups": list("xxyyxy"), "statistic": {"name": "auc", "group_average": "sum"}}
    by_id = {
        key: dict(zip(ids, value, strict=True)) if key in ("gold", "u", "v", "groups") else value
        for key, value in body.items()
    }
    by_id["u"] = dict(reversed(by_id["u"].items()))
    said, other = (service.post(PREDICTIONS, each).json() for each in (body, by_id))
    assert said["p_value"] == other["p_value"]
    assert said["statistic"] == other["statistic"]
    assert said["id"] != service.post(PREDICTIONS, AUC).json()["id"]


def test_lines_have_groups_and_events(service: Any) -> None:
    body = {
        **TAU,
        "groups": list("xxyyxy"),
        "event": [1, 0, 1, 1, 1, 0],
        "statistic": {"name": "concordance"},
    }
    lines = [
        {"gold": g, "u": u, "v": v, "group": group, "event": event}
        for g, u, v, group, event in zip(
            *(body[key] for key in ("gold", "u", "v", "groups", "event")), strict=True
        )
    ]
    said = service.request(
        "POST", f"{PREDICTIONS}?statistic=concordance", content="\n".join(map(json.dumps, lines)),
        headers={"content-type": "application/x-ndjson"},
    ).json()  # fmt: skip
    assert said["id"] == service.post(PREDICTIONS, body).json()["id"]


STATISTIC: dict[str, Any] = AUC["statistic"]
REFUSED: dict[str, tuple[dict[str, Any], str, str]] = {
    "one class": ({**AUC, "gold": [1] * 6}, "/gold", "no_comparable_pair"),
    "a class in every group": ({**AUC, "groups": [1, 0, 1, 0, 1, 0]}, "/gold", "no_comparable_pair"),
    "equal gold": ({**TAU, "gold": [2.5] * 6}, "/gold", "no_comparable_pair"),
    "three labels": ({**AUC, "gold": [1, 0, 2, 0, 1, 0]}, "/gold", "not_binary"),
    "unknown positive": ({**AUC, "statistic": {**STATISTIC, "positive": "1"}}, "/statistic/positive", "unknown_positive"),
    "no positive": ({**AUC, "gold": list("ababab")}, "/statistic/positive", "unknown_positive"),
    "labels": ({**AUC, "v": list("ababab")}, "/v/0", "not_a_number"),
    "gold labels": ({**TAU, "gold": list("ababab")}, "/gold/0", "not_a_number"),
    "nan": ({**AUC, "u": [0.5, float("nan"), 0.5, 1, 1, 1]}, "/u/1", "not_finite"),
    "short": ({**AUC, "u": [0.5, 1]}, "/u", "length_mismatch"),
    "short groups": ({**AUC, "groups": [1, 2]}, "/groups", "length_mismatch"),
    "short event": ({**TAU, "event": [1], "statistic": {"name": "concordance"}}, "/event", "length_mismatch"),
    "event of two": ({**TAU, "event": [1, 0, 2, 0, 1, 1], "statistic": {"name": "concordance"}}, "/event/2", "not_an_event"),
    "no event": ({**TAU, "event": [0] * 6, "statistic": {"name": "concordance"}}, "/gold", "no_comparable_pair"),
    "event elsewhere": ({**TAU, "event": [1] * 6}, "/event", "superfluous"),
    "groups elsewhere": ({**AUC, "gold": list("ababab"), "u": list("ababab"), "v": list("ababab"), "groups": [1] * 6,
                          "statistic": {"name": "accuracy"}}, "/groups", "superfluous"),
    "scores as labels": ({**AUC, "statistic": {"name": "accuracy"}}, "/u/0", "not_a_label"),
    "epsilon": ({**TAU, "statistic": {"name": "pairwise_accuracy", "epsilon": -1}}, "/statistic/epsilon", "out_of_range"),
    "constant": ({**TAU, "u": [1] * 6, "statistic": {"name": "kendall", "scale": "standardized"}}, "/u", "constant_scores"),
    "bootstrap": ({**AUC, "test": "bootstrap"}, "/test", "not_bootstrapped"),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_a_refusal_says_where(service: Any, what: str) -> None:
    body, pointer, code = REFUSED[what]
    assert error_of(
        service.request(
            "POST", PREDICTIONS, content=json.dumps(body), headers={"content-type": "application/json"}
        )
    ) == (pointer, code)


def test_a_missing_interval_is_a_warning(service: Any) -> None:
    said = service.post(PREDICTIONS, {**AUC, "confidence_level": 0.95}).json()
    assert said["confidence_interval"] is None
    assert said["effect_size"]["cohens_d_z"] is None
    assert "compares pairs" in next(
        w["detail"] for w in said["warnings"] if w["code"] == "interval_not_available"
    )


def test_a_gate_decides_and_has_no_margin(service: Any) -> None:
    gate = {"kind": "predictions", "request": AUC, "policy": "no_regression"}
    said = service.post("/v1/gate", gate).json()
    assert said["verdict"] == "pass"
    assert error_of(service.post("/v1/gate", {**gate, "margin": 0.01}))[1] == "margin_not_available"


def test_a_plan_is_exact(service: Any) -> None:
    said = service.post("/v1/plan", {"kind": "predictions", "request": AUC})
    assert said.status_code == 200, said.text
    assert said.json()["exact"] is True
    assert said.json()["seconds"] >= 1e-3  # with what the effects take


def test_a_board_has_the_p_values_of_its_pairs(service: Any) -> None:
    _, gold, u, v = case(40, 3)
    *_, w = case(40, 4)
    groups, events = [k % 4 for k in range(40)], [k % 3 > 0 for k in range(40)]
    body = {"gold": gold, "groups": groups, "event": events, "statistic": {"name": "concordance"}}
    board = service.post("/v1/compare", {**body, "kind": "predictions", "systems": {"A": u, "B": v, "C": w}})
    assert board.status_code == 200, board.text
    columns = {"A": u, "B": v, "C": w}
    pairs = board.json()["pairs"]
    assert len(pairs) == 3
    for pair in pairs:
        single = service.post(PREDICTIONS, {**body, "u": columns[pair["u"]], "v": columns[pair["v"]]}).json()
        assert pair["p_value"] == pytest.approx(single["p_value"], rel=1e-12)
    other = service.post(
        "/v1/compare", {**body, "groups": [0] * 40, "kind": "predictions", "systems": columns}
    ).json()
    assert other["id"] != board.json()["id"]


def test_items_of_data_sets_are_not_compared(service: Any) -> None:
    one = {"gold": TAU["gold"], "systems": {"A": TAU["u"], "B": TAU["v"]}}
    body = {"kind": "predictions", "statistic": {"name": "kendall"}, "datasets": {"x": one, "y": one}}
    refused = service.post("/v1/compare", {**body, "aggregate": "micro"})
    assert (refused.status_code, refused.json()["errors"][0]["code"]) == (422, "no_micro")
    assert service.post("/v1/compare", {**body, "aggregate": "macro"}).status_code == 200


def test_a_column_that_lacks_items_keeps_its_groups(service: Any) -> None:
    ids = list("abcdef")
    groups = dict(zip(ids, "xxxyyy", strict=True))
    columns = {key: dict(zip(ids, TAU[key], strict=True)) for key in ("gold", "u", "v")}
    del columns["v"]["b"]
    board = service.post("/v1/compare", {
        "kind": "predictions", "statistic": {"name": "kendall"}, "gold": columns["gold"], "groups": groups,
        "systems": {"A": columns["u"], "B": columns["v"]}, "on_missing": "pairwise",
    })  # fmt: skip
    assert board.status_code == 200, board.text
    single = service.post(
        PREDICTIONS, {**columns, "groups": groups, "statistic": {"name": "kendall"}, "on_missing": "drop"}
    )
    assert single.status_code == 200, single.text
    pair = board.json()["pairs"][0]
    assert pair["p_value"] == pytest.approx(single.json()["p_value"], rel=1e-12)


RANKED = ROOT / "openapi" / "examples" / "files" / "ranking.csv"


def test_a_table_of_labels_and_scores_is_the_request(service: Any) -> None:
    rows = [line.split(",") for line in RANKED.read_text(encoding="utf-8").splitlines()[1:]]
    gold, u, v = ([float(row[k]) for row in rows] for k in range(3))
    body = {"gold": [int(g) for g in gold], "u": u, "v": v, "statistic": {"name": "auc"}}
    single = service.post(PREDICTIONS, body).json()
    said = answer_to(
        service.request(
            "POST", "/v1/tests/files", files={"file": ("scores.csv", RANKED.read_bytes())}, data={}
        )
    )
    assert said["reading"]["format"] == "ranking"
    assert (said["statistic"]["name"], said["p_value"]) == ("auc", single["p_value"])
    wanted = [metrics.roc_auc_score(gold, column) for column in (u, v)]
    assert [said["statistic"]["u"], said["statistic"]["v"]] == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize(
    ("text", "pointer", "code"),
    [
        ("label,score_u,score_v\n1,0.5,0.2\n,0.1,0.3\n", "/files/file/line/3/1", "missing_value"),
        ("label,score_u,score_v\n1,0.5,0.2\n0,high,0.3\n", "/files/file/line/3/2", "not_a_number"),
        ("label,score_u,score_v\n1,0.5,0.2\n0,0.5,\n", "/files/file/line/3/3", "missing_value"),
        ("time,event,score_u,score_v\n3,1,0.5,0.2\n4,2,0.5,1\n", "/files/file/line/3/2", "not_an_event"),
        ("label,score_u,score_v,event\n1,0.5,0.2,1\n0,1,2,1\n", "/files", "superfluous"),
        ("y_true,label,score_u,score_v\n1,0,0.5,0.2\n0,1,1,2\n", "/files/file/line/1", "choose_gold_column"),
    ],
)
def test_a_wrong_table_says_where(service: Any, text: str, pointer: str, code: str) -> None:
    data = {"statistic": "auc"} if code == "superfluous" else {}
    assert error_of(
        service.request("POST", "/v1/tests/files", files={"file": ("scores.csv", text.encode())}, data=data)
    ) == (pointer, code)


def test_times_and_groups_of_a_table_are_read(service: Any) -> None:
    text = "time,event,score_u,score_v,group\n" + "".join(
        f"{g},{e},{u},{v},{group}\n"
        for g, e, u, v, group in zip(
            TAU["gold"], [1, 0, 1, 1, 1, 0], TAU["u"], TAU["v"], "xxyyxy", strict=True
        )
    )
    answered = service.request("POST", "/v1/tests/files", files={"file": ("t.csv", text.encode())}, data={})
    assert answered.status_code == 200, answered.text
    body = {
        **TAU,
        "groups": list("xxyyxy"),
        "event": [1, 0, 1, 1, 1, 0],
        "statistic": {"name": "concordance"},
    }
    single = service.post(PREDICTIONS, body).json()
    assert answered.json()["statistic"] == single["statistic"]
    assert answered.json()["p_value"] == single["p_value"]
