"""Preferences over HTTP, in files and in Python: against enumeration in fractions, mirrored, relabelled, and as an arena stores them."""

import itertools
import json
import math
import random
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import pytest
from click.testing import CliRunner
from scipy import stats

import exactperm
from exactperm.cli.commands import cli
from exactperm.client import InvalidTest
from tests.api.conftest import error_of, problem

PATH = "/v1/tests/preferences"
WINNERS = ("model_a", "model_b", "tie", "tie (bothbad)", "both_bad")
RESULTS = dict(zip(WINNERS, (1, -1, 0, 0, 0), strict=True))
Battle = dict[str, Any]


def battle(key: Any, *models_and_winner: Any) -> Battle:
    return dict(zip(("id", "model_a", "model_b", "winner"), (key, *models_and_winner), strict=True))


def made(chance: random.Random, models: str = "AB") -> list[Battle]:
    """Some battles of a few questions, in any order; at least one is between A and B."""
    keys = [f"q{number}" for number in range(chance.randint(1, 6))]
    found = [
        battle(chance.choice(keys), *chance.sample(models, 2), chance.choice(WINNERS))
        for _ in range(chance.randint(0, 11))
    ]
    return [battle(keys[0], *chance.sample("AB", 2), chance.choice(WINNERS)), *found]


def by_question(battles: Sequence[Battle], u: str = "A", v: str = "B") -> tuple[list[Fraction], list[int]]:
    """The mean of +1, 0 and -1 for U on each question, and the sum of +1 where the first won and -1 where the second did."""
    results: dict[Any, list[tuple[int, int]]] = {}
    for one in battles:
        if {one["model_a"], one["model_b"]} == {u, v}:
            result = RESULTS[one["winner"]]
            results.setdefault(one["id"], []).append((result if one["model_a"] == u else -result, result))
    means = [Fraction(sum(won for won, _ in own), len(own)) for own in results.values()]
    return means, [sum(result for _, result in own) for own in results.values()]


def p_values(values: Sequence[Fraction], side: str) -> tuple[Fraction, Fraction]:
    """The shares of sign flips whose mean is as extreme as the observed one, and with half of those that tie with it."""
    sums = [
        sum((s * value for s, value in zip(signs, values, strict=True)), Fraction(0))
        for signs in itertools.product((1, -1), repeat=len(values))
    ]
    turned: Any = {"two-sided": abs, "greater": lambda x: x, "less": lambda x: -x}[side]
    observed = turned(sum(values, Fraction(0)))
    above, tied = sum(turned(x) > observed for x in sums), sum(turned(x) == observed for x in sums)
    return Fraction(above + tied, len(sums)), Fraction(2 * above + tied, 2 * len(sums))


def ask(service: Any, battles: Sequence[Battle], **options: Any) -> Any:
    response = service.post(PATH, {"battles": battles, **options})
    assert response.status_code == 200, response.text
    return response.json()


def without(answer: Any, *names: str) -> dict[str, Any]:
    return {name: value for name, value in answer.items() if name not in {"runtime", *names}}


@pytest.mark.parametrize("seed", range(20))
def test_p_values_are_those_of_all_sign_flips(service: Any, seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(100):
        battles = made(chance, chance.choice(["AB", "AB", "ABC"]))
        side = chance.choice(["two-sided", "greater", "less"])
        answer = ask(service, battles, u="A", v="B", alternative=side, exact_fraction=True, pmf="none")
        means, sums = by_question(battles)
        p, mid = p_values(means, side)
        fraction = answer["p_value_fraction"]
        assert Fraction(int(fraction["numerator"]), 2 ** fraction["log2_denominator"]) == p
        assert answer["p_value"] == pytest.approx(float(p), rel=1e-12)
        assert answer["mid_p_value"] == pytest.approx(float(mid), rel=1e-12)
        assert answer["statistic"]["observed"] == pytest.approx(float(sum(means) / len(means)), abs=1e-15)
        counts = [sum(value > 0 for value in means), sum(value == 0 for value in means)]
        items = answer["items"]
        assert [items["n"], items["wins"], items["ties"]] == [len(means), *counts]
        both = [RESULTS[one["winner"]] for one in battles if {one["model_a"], one["model_b"]} == set("AB")]
        bias = answer["position_bias"]
        assert [bias["first"], bias["second"], bias["ties"]] == [both.count(1), both.count(-1), both.count(0)]
        expected = p_values(list(map(Fraction, sums)), "two-sided")[0]
        assert bias["p_value"] == pytest.approx(float(expected), rel=1e-12)


@pytest.mark.parametrize("seed", range(30))
def test_order_and_sides_of_battles_change_nothing_and_u_and_v_mirror(service: Any, seed: int) -> None:
    chance = random.Random(seed)
    battles = made(chance, "ABC")
    options = {"alternative": "greater", "confidence_level": 0.9, "alpha": 0.2}
    answer = ask(service, battles, u="A", v="B", **options)
    shuffled = chance.sample(battles, len(battles))
    assert without(ask(service, shuffled, u="A", v="B", **options)) == without(answer)
    other = {"model_a": "model_b", "model_b": "model_a"}
    turned = [
        {**battle(one["id"], one["model_b"], one["model_a"], other.get(one["winner"], one["winner"]))}
        for one in battles
    ]
    sides = ask(service, turned, u="A", v="B", **options)
    assert without(sides, "id", "signature", "position_bias") == without(
        answer, "id", "signature", "position_bias"
    )
    bias, of_sides = answer["position_bias"], sides["position_bias"]
    assert of_sides == {**bias, "first": bias["second"], "second": bias["first"]}
    mirrored = ask(service, battles, u="B", v="A", **{**options, "alternative": "less"})
    for name in ("p_value", "mid_p_value", "significant", "position_bias"):
        assert mirrored[name] == answer[name]
    assert mirrored["statistic"]["observed"] == -answer["statistic"]["observed"]
    assert mirrored["items"]["wins"] == answer["items"]["losses"]


def arena(chance: random.Random, n: int) -> list[Battle]:
    """Rows as Chatbot Arena stores them, of three models."""
    return [
        {
            "question_id": f"58210e39b3fd4441{number:04x}",
            "model_a": pair[0],
            "model_b": pair[1],
            "winner": chance.choice(["model_a", "model_a", "model_b", "tie", "tie (bothbad)"]),
            "judge": f"arena_user_{number % 7}",
            "conversation_a": [{"content": 'What is "it"?\nSay, so.', "role": "user"}],
            "conversation_b": [{"content": "…", "role": "user"}],
            "turn": 1,
            "anony": True,
            "language": "English",
            "tstamp": 1682351591.1322,
            "openai_moderation": {"flagged": False},
        }
        for number in range(n)
        for pair in [chance.sample(["vicuna-13b", "koala-13b", "gpt-4"], 2)]
    ]


def test_an_arena_has_the_p_value_of_the_sign_test(service: Any) -> None:
    battles = arena(random.Random(1), 400)
    answer = ask(service, battles, u="gpt-4", v="koala-13b")
    own = [one for one in battles if {one["model_a"], one["model_b"]} == {"gpt-4", "koala-13b"}]
    won = sum(one["winner"].startswith("model") and one[one["winner"]] == "gpt-4" for one in own)
    lost = sum(one["winner"].startswith("model") and one[one["winner"]] == "koala-13b" for one in own)
    assert answer["p_value"] == pytest.approx(stats.binomtest(won, won + lost).pvalue, rel=1e-9)
    assert (answer["items"]["wins"], answer["items"]["losses"]) == (won, lost)
    bias = answer["position_bias"]
    split = stats.binomtest(bias["first"], bias["first"] + bias["second"]).pvalue
    assert bias["p_value"] == pytest.approx(split, rel=1e-9)
    assert bias["p_value"] < 0.05


@pytest.mark.parametrize("form", ["csv", "tsv", "jsonl", "json"])
def test_a_table_has_the_answer_of_the_same_battles(service: Any, form: str, tmp_path: Any) -> None:
    columns = ("question_id", "model_a", "model_b", "winner", "judge")
    rows = [{name: one[name] for name in columns} for one in arena(random.Random(2), 60)]
    rows += [{**one, "winner": "model_b"} for one in rows[::5]]
    mark = {"csv": ",", "tsv": "\t"}.get(form)
    if mark is not None:
        text = (
            "\n".join(mark.join(map(str, row)) for row in (columns, *(one.values() for one in rows))) + "\n"
        )
    else:
        text = json.dumps(rows) if form == "json" else "".join(f"{json.dumps(one)}\n" for one in rows)
    path = tmp_path / f"battles.{form}"
    path.write_text(text, encoding="utf-8")
    told = ["--system-u", "gpt-4", "--system-v", "koala-13b", "--format", "json"]
    printed = CliRunner().invoke(cli, ["test", str(path), *told])
    assert printed.exit_code == 0, printed.output
    answer = ask(service, rows, u="gpt-4", v="koala-13b")
    assert without(json.loads(printed.stdout), "reading", "versions") == without(
        answer, "reading", "versions"
    )
    assert exactperm.preferences(path, "gpt-4", "koala-13b").id == answer["id"]
    assert exactperm.preferences(rows, "gpt-4", "koala-13b").id == answer["id"]


def test_a_table_of_battles_is_a_board_of_those_that_met(service: Any, tmp_path: Any) -> None:
    rows = arena(random.Random(5), 80)
    columns = ("question_id", "model_a", "model_b", "winner")
    path = tmp_path / "battles.csv"
    path.write_text(
        "\n".join(
            ",".join(str(one[name]) for name in columns)
            for one in [dict(zip(columns, columns, strict=True)), *rows]
        ),
        encoding="utf-8",
    )
    printed = CliRunner().invoke(cli, ["compare", str(path), "--format", "json"])
    assert printed.exit_code == 0, printed.output
    answer = service.post(
        "/v1/compare", {"kind": "preferences", "battles": rows, "compare": "all_pairs"}
    ).json()
    pairs = [
        {(one["u"], one["v"]): one["p_value"] for one in board["pairs"]}
        for board in (json.loads(printed.stdout), answer)
    ]
    assert pairs[0] == pairs[1] != {}
    explicit = CliRunner().invoke(cli, ["compare", str(path), "--on-missing", "error"])
    assert explicit.exit_code == 2


def test_two_models_need_no_names_and_more_ask_which(service: Any) -> None:
    battles = [battle(n, "new", "old", "model_a") for n in range(6)]
    assert ask(service, battles)["names"] == {"u": "new", "v": "old"}
    assert ask(service, battles[::-1], u="new", alternative="greater")["p_value"] == 1 / 64
    others = [battle(n, "b", "a", "model_a") for n in range(6)]
    assert ask(service, others)["names"] == {"u": "a", "v": "b"}
    assert ask(service, others, v="a", alternative="greater")["p_value"] == 1 / 64
    (asked,) = problem(service.post(PATH, {"battles": others, "alternative": "greater"}), 422)["errors"]
    assert (asked["pointer"], asked["code"]) == ("/u", "choose_u")
    assert asked["choices"][1]["fields"] == {"u": "b"}
    several = [*others, battle(7, "c", "a", "tie")]
    (asked,) = problem(service.post(PATH, {"battles": several}), 422)["errors"]
    assert (asked["pointer"], asked["code"]) == ("/u", "choose_u")
    assert [one["fields"] for one in asked["choices"]] == [{"u": "a"}, {"u": "b"}, {"u": "c"}]
    (asked,) = problem(service.post(PATH, {"battles": several, "u": "a"}), 422)["errors"]
    assert (asked["pointer"], asked["code"]) == ("/v", "choose_v")
    assert [one["fields"] for one in asked["choices"]] == [{"v": "b"}, {"v": "c"}]


def test_battles_without_ids_are_questions_of_their_own(service: Any) -> None:
    battles = [{"model_a": "A", "model_b": "B", "winner": "model_a"}] * 5
    answer = ask(service, battles)
    assert (answer["items"]["n"], answer["p_value"], answer["repeats"]) == (5, 1 / 16, None)


RIGHT = battle(1, "A", "B", "model_a")
REFUSED: list[tuple[Any, str, str]] = [
    ({"battles": [RIGHT, {**RIGHT, "winner": "A"}]}, "/battles/1/winner", "unknown_winner"),
    ({"battles": [{**RIGHT, "winner": None}]}, "/battles/0/winner", "unknown_winner"),
    ({"battles": [{**RIGHT, "winner": 1}]}, "/battles/0/winner", "unknown_winner"),
    ({"battles": [{"id": 1, "model_a": "A", "model_b": "B"}]}, "/battles/0/winner", "unknown_winner"),
    ({"battles": [RIGHT, {"model_a": "A", "model_b": "B", "winner": "tie"}]}, "/battles/1/id", "not_a_key"),
    ({"battles": [{**RIGHT, "id": 1.5}]}, "/battles/0/id", "not_a_key"),
    ({"battles": [{**RIGHT, "model_b": 7}]}, "/battles/0/model_b", "not_a_text"),
    ({"battles": [{**RIGHT, "model_b": "A"}]}, "/battles/0/model_b", "same_system"),
    ({"battles": [RIGHT, 5]}, "/battles/1/model_a", "not_a_text"),
    ({"battles": []}, "/battles", "not_a_list"),
    ({"battles": {"A": 1}}, "/battles", "not_a_list"),
    ({}, "/battles", "missing"),
    ({"battles": [RIGHT], "u": "C"}, "/u", "choose_u"),
    ({"battles": [RIGHT], "u": "A", "v": "A"}, "/v", "same_system"),
    ({"battles": [RIGHT, battle(2, "C", "B", "tie")], "u": "A", "v": "C"}, "/battles", "no_items"),
    ({"battles": [RIGHT], "exchange": "runs"}, "/exchange", "literal_error"),
    ({"votes": [RIGHT]}, "/votes", "unknown_field"),
    ({"battles": [RIGHT], "method": "grid"}, "/method", "method_not_applicable"),
]


@pytest.mark.parametrize(("body", "pointer", "code"), REFUSED)
def test_refusals_name_the_flaw(service: Any, body: Any, pointer: str, code: str) -> None:
    assert error_of(service.post(PATH, body)) == (pointer, code)
    inside = service.post("/v1/plan", {"kind": "preferences", "request": body})
    assert error_of(inside) == (f"/request{pointer}", code)


@pytest.mark.parametrize(
    ("named", "role", "models"),
    [
        ({"u": "D"}, "v", ["C"]),
        ({"v": "D"}, "u", ["C"]),
        ({"u": "X", "v": "A"}, "u", ["B", "C"]),
        ({"v": "X"}, "v", ["A", "B", "C", "D"]),
        ({"u": "A"}, "v", ["B", "C"]),
    ],
)
def test_only_models_that_can_be_tested_are_offered(
    service: Any, named: Any, role: str, models: list[str]
) -> None:
    battles = [RIGHT, battle(2, "C", "A", "tie"), battle(3, "D", "C", "model_a")]
    refused = service.post(PATH, {"battles": battles, **named})
    assert error_of(refused) == (f"/{role}", f"choose_{role}")
    choices = refused.json()["errors"][0]["choices"]
    assert [choice["fields"] for choice in choices] == [{role: name} for name in models]
    for choice in choices:
        again = service.post(PATH, {"battles": battles, **named, **choice["fields"]})
        assert again.status_code == 200 or error_of(again)[1] == "choose_u", again.text


HEADER = "id,model_a,model_b,winner\n"


def test_runs_of_battles_are_not_exchanged() -> None:
    # U's shares are 1 less V's: six wins on one question have p 1/2, while exchanging 12 shares would have p 1/924.
    table = (HEADER + "q,A,B,model_a\n" * 6).encode()
    assert exactperm.preferences(table, "A", "B", alternative="greater").p_value == 0.5
    for exchange in ("runs", "both"):
        with pytest.raises(InvalidTest) as caught:
            exactperm.preferences(table, "A", "B", alternative="greater", exchange=exchange)
        assert [error.code for error in caught.value.errors] == ["exchange_needs_means"]


def test_shares_of_a_battle_get_no_advice_of_independent_runs(service: Any) -> None:
    battles = [battle(at % 4, "A", "B", WINNERS[at % 3]) for at in range(16)]
    assert ask(service, battles)["repeats"]["advice"] is None


@pytest.mark.parametrize("at", [0, 1])
def test_a_vote_without_its_id_is_refused_as_in_json(at: int) -> None:
    keys = ["7", "7", "8"]
    keys[at] = ""
    table = HEADER + "".join(f"{key},A,B,model_a\n" for key in keys)
    lines = "".join(f"{json.dumps(battle(key or None, 'A', 'B', 'model_a'))}\n" for key in keys)
    for text, line in ((table, at + 2), (lines, at + 1)):
        with pytest.raises(InvalidTest) as caught:
            exactperm.preferences(text.encode(), "A", "B")
        assert [(error.pointer, error.code) for error in caught.value.errors] == [
            (f"/files/file/line/{line}/id", "no_id")
        ]


@pytest.mark.parametrize(
    ("rows", "u", "v"),
    [
        # The place wins, also where the other model has its name.
        ([(1, "model_b", "model_a", "model_a"), (2, "model_b", "model_a", "tie")], "model_b", "model_a"),
        # The battle of "x y" and z on question 1 is none of y and z on question "1 x".
        ([("1 x", "y", "z", "model_a"), (1, "x y", "z", "model_b"), (2, "y", "z", "model_a")], "y", "z"),
    ],
)
@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_odd_names_and_separators_read_as_in_json(
    service: Any, rows: list[Any], u: str, v: str, mark: str
) -> None:
    battles = [battle(str(key), *rest) for key, *rest in rows]
    lines = [mark.join(battles[0]), *(mark.join(one.values()) for one in battles)]
    table = exactperm.preferences("\n".join(lines).encode(), u, v)
    assert (table.p_value, table.id) == tuple(
        ask(service, battles, u=u, v=v)[name] for name in ("p_value", "id")
    )


def test_a_table_with_an_unknown_winner_is_refused_at_its_line() -> None:
    text = "question_id,model_a,model_b,winner\n1,A,B,model_a\n2,A,B,nobody\n"
    with pytest.raises(InvalidTest) as caught:
        exactperm.preferences(text.encode(), "A", "B")
    assert [(one.pointer, one.code) for one in caught.value.errors] == [
        ("/files/file/line/3/winner", "unknown_winner")
    ]


def test_plans_lists_and_reports_know_preferences(service: Any) -> None:
    request = {"battles": arena(random.Random(3), 50), "u": "gpt-4", "v": "koala-13b"}
    plan = service.post("/v1/plan", {"kind": "preferences", "request": request}).json()
    answer = service.post(PATH, request).json()
    assert (plan["kind"], plan["method"]) == ("preferences", answer["method"]["name"])
    listed = service.post("/v1/batch", {"tests": [{"kind": "preferences", "request": request}]}).json()
    assert without(listed["results"][0]["answer"]) == without(answer)
    bias = answer["position_bias"]
    line = service.post(f"{PATH}?format=text", request).text
    assert f"first={bias['first']} second={bias['second']} p_position=" in line
    for form in ("markdown", "html"):
        report = service.post(f"{PATH}?format={form}", request).text
        assert f"The model that was shown first won {bias['first']} battles" in report
    assert service.post("/v1/tests/scores", {"u": [1, 0], "v": [0, 0]}).json()["position_bias"] is None


# Boards


def asked_board(service: Any, battles: Sequence[Battle], **options: Any) -> Any:
    response = service.post("/v1/compare", {"kind": "preferences", "battles": battles, **options})
    assert response.status_code == 200, response.text
    return response.json()


def log_likelihood(strengths: dict[str, float], battles: Sequence[Battle]) -> float:
    total = 0.0
    for one in battles:
        gap = strengths[one["model_a"]] - strengths[one["model_b"]]
        share = (1 + RESULTS[one["winner"]]) / 2
        total -= share * math.log1p(math.exp(-gap)) + (1 - share) * math.log1p(math.exp(gap))
    return total


@pytest.mark.parametrize("seed", range(12))
def test_a_board_tests_each_pair_on_its_own_battles(service: Any, seed: int) -> None:
    chance = random.Random(seed)
    models = "ABCD"
    battles = [
        battle(chance.randint(0, 9), *chance.sample(models, 2), chance.choice(WINNERS)) for _ in range(40)
    ]
    battles = [one for one in battles if {one["model_a"], one["model_b"]} != {"A", "D"}]
    found = asked_board(service, battles)
    met = {frozenset((one["model_a"], one["model_b"])) for one in battles}
    assert {frozenset((pair["u"], pair["v"])) for pair in found["pairs"]} == met
    for pair in found["pairs"]:
        own = ask(service, battles, u=pair["u"], v=pair["v"])
        assert pair["p_value"] == pytest.approx(own["p_value"], rel=1e-9)
        assert pair["difference"] == pytest.approx(own["statistic"]["observed"], abs=1e-12)
        assert [pair[name] for name in ("n", "wins", "ties", "losses")] == [
            own["items"][name] for name in ("n", "wins", "ties", "losses")
        ]
    for system in found["systems"]:
        name = system["name"]
        shares: dict[Any, list[Fraction]] = {}
        for one in battles:
            for side, sign in (("model_a", 1), ("model_b", -1)):
                if one[side] == name:
                    other = one["model_b" if side == "model_a" else "model_a"]
                    share = Fraction(1 + sign * RESULTS[one["winner"]], 2)
                    shares.setdefault((one["id"], other), []).append(share)
        means = [sum(own, Fraction(0)) / len(own) for own in shares.values()]
        assert system["score"] == pytest.approx(float(sum(means) / len(means)), rel=1e-12)
    strengths = found["bradley_terry"]
    assert sum(strengths.values()) == pytest.approx(0, abs=1e-6)
    best = log_likelihood(strengths, battles)
    for name in models:
        for step in (1e-3, -1e-3):
            assert log_likelihood({**strengths, name: strengths[name] + step}, battles) < best
    shuffled = chance.sample(battles, len(battles))
    assert without(asked_board(service, shuffled)) == without(found)
    whole = asked_board(service, battles, compare="all_pairs")
    untested = next(pair for pair in whole["pairs"] if {pair["u"], pair["v"]} == {"A", "D"})
    assert (untested["n"], untested["p_value"], untested["relation"]) == (0, 1.0, "untestable")
    assert whole["bradley_terry"] == strengths


def test_two_models_have_the_log_odds_of_their_shares(service: Any) -> None:
    battles = [battle(n, "A", "B", winner) for n, winner in enumerate(["model_a"] * 5 + ["tie", "model_b"])]
    found = asked_board(service, battles)["bradley_terry"]
    assert found["A"] - found["B"] == pytest.approx(math.log(5.5 / 1.5), abs=1e-8)
    assert asked_board(service, battles)["compare"] == "all_pairs"


def test_a_board_says_why_it_has_no_strengths(service: Any) -> None:
    even = [battle(n, "A", "B", "tie") for n in range(3)]
    for more, why in (
        ([battle(4, "C", "A", "model_a")], "C never lost or tied against the other models"),
        ([battle(4, "C", "D", "tie")], "A, B had no battle with the other models"),
    ):
        found = asked_board(service, even + more)
        assert found["bradley_terry"] is None
        (warning,) = [one for one in found["warnings"] if one["code"] == "no_bradley_terry"]
        assert why in warning["detail"]
    far = [
        battle(f"{n} {i}", a, b, "model_a" if i else "model_b")
        for n, (a, b) in enumerate(itertools.pairwise("ABCDEFGHIJKLMNOPQRST"))
        for i in range(200)
    ]
    strengths = asked_board(service, far)["bradley_terry"]
    for a, b in itertools.pairwise("ABCDEFGHIJKLMNOPQRST"):
        assert strengths[a] - strengths[b] == pytest.approx(math.log(199), abs=1e-8)


def test_names_with_blanks_and_controls_do_not_mix_questions(service: Any) -> None:
    battles = [battle(f"q{mark}a", f"b{mark}c", "d", "model_a") for mark in (" ", "\x1f", "\n", "")] + [
        battle("q", f"a{mark}b{mark}c", "d", "model_b") for mark in (" ", "\x1f", "\n", "")
    ]
    found = asked_board(service, battles)
    assert {pair["n"] for pair in found["pairs"]} == {1}
    assert next(one["n"] for one in found["systems"] if one["name"] == "d") == 8


@pytest.mark.parametrize(
    ("body", "pointer", "code"),
    [
        ({"kind": "preferences"}, "/battles", "missing"),
        ({"kind": "scores", "battles": [RIGHT]}, "/battles", "superfluous"),
        ({"kind": "preferences", "battles": [RIGHT], "systems": {"A": [1], "B": [0]}}, "/systems", "superfluous"),
        ({"kind": "preferences", "battles": [RIGHT], "statistic": "sign"}, "/statistic", "superfluous"),
        ({"kind": "preferences", "battles": [{**RIGHT, "winner": "x"}]}, "/battles/0/winner", "unknown_winner"),
        ({"kind": "preferences", "battles": [RIGHT], "alternative": "less"}, "/alternative", "one_sided_all_pairs"),
        ({"kind": "preferences", "battles": [RIGHT], "compare": "baseline", "baseline": "C"}, "/baseline", "unknown_system"),
        ({"kind": "preferences", "battles": [{**RIGHT, "model_a": ""}]}, "/battles", "empty_name"),
    ],
)  # fmt: skip
def test_refusals_of_boards_name_the_flaw(service: Any, body: Any, pointer: str, code: str) -> None:
    assert error_of(service.post("/v1/compare", body)) == (pointer, code)


def test_reports_mark_strengths_as_no_test(service: Any) -> None:
    battles = [battle(n, "A", "B", winner) for n, winner in enumerate(["model_a"] * 5 + ["tie", "model_b"])]
    request = {"kind": "preferences", "battles": battles}
    assert "Bradley-Terry (no test)" in service.post("/v1/compare?format=markdown", request).text
    assert "Bradley-Terry (no test)" in service.post("/v1/compare?format=html", request).text
    head, first = service.post("/v1/compare?format=csv", request).text.splitlines()[:2]
    assert float(first.split(",")[head.split(",").index("bradley_terry")]) == pytest.approx(
        math.log(5.5 / 1.5) / 2, abs=1e-8
    )
    assert service.post("/v1/plan", {"kind": "compare", "request": request}).json()["kind"] == "compare"
