"""Test choices of refusals: each fixes the request, and unknown names are answered with similar ones."""

import json
import pickle
from typing import Any

import httpx
import pytest

from exactperm.errors import MAX_CHOICE_CHARS, MAX_CHOICES, InvalidTest, choices_of
from exactperm.inputs.quoting import QUOTED_CHARS, quoted, quoted_apart
from exactperm.service.problems import MAX_PROBLEM_BYTES
from tests.api.conftest import Service, problem

TEST, GATE, BOARD = "/v1/tests/files", "/v1/gate?fail_status=200", "/v1/compare"
LONG = "id,system,acc,f1\n" + "".join(f"q{n},{name},{n % 2},{n % 3}\n" for n in range(8) for name in "AB")
THREE = "id,a,b,c\n" + "".join(f"q{n},{n % 2},{n % 3},{n % 5}\n" for n in range(8))
NAMELESS = "id,left,right\n" + "".join(f"q{n},{n % 2},{n % 3}\n" for n in range(8))
GAPS = "id,u,v\na,1,0\nb,1,\nc,0,1\nd,1,0\n"
NOTED = "".join(
    json.dumps({"id": f"q{n}", "new": n % 2, "old": n % 3, "note": f"x{n}"}) + "\n" for n in range(8)
)
FILTERS = "".join(
    json.dumps({"doc_id": n, "filter": f, "exact_match": n % 2, "metrics": ["exact_match"]}) + "\n"
    for n in range(4)
    for f in ("strict", "flexible")
)


def send(service: Service, path: str, files: dict[str, str], **fields: str) -> httpx.Response:
    parts = [(role, (f"{role}.txt", text)) for role, text in files.items()]
    return service.request("POST", path, files=parts, data=fields)


def choices(response: httpx.Response) -> list[dict[str, Any]]:
    assert response.status_code == 422, response.text
    return [choice for flaw in response.json()["errors"] for choice in flaw.get("choices", [])]


CASES = {
    "score column": (TEST, {"file": LONG}, {}, [{"score_column": "acc"}, {"score_column": "f1"}]),
    "roles": (
        GATE,
        {"file": NAMELESS},
        {},
        [{"system_u": "left", "system_v": "right"}, {"system_u": "right", "system_v": "left"}],
    ),
    "missing value": (TEST, {"file": GAPS}, {}, [{"on_missing": "drop"}]),
    "unmatched ids": (
        TEST,
        {"u": "id,score\na,1\nb,1\n", "v": "id,score\na,0\nc,1\n"},
        {},
        [{"on_missing": "drop"}],
    ),
    "no baseline": (
        BOARD,
        {"file": THREE},
        {"compare": "baseline"},
        [{"baseline": "a"}, {"baseline": "b"}, {"baseline": "c"}],
    ),
    "unknown baseline": (
        BOARD,
        {"file": THREE},
        {"compare": "baseline", "baseline": "d"},
        [{"baseline": "a"}, {"baseline": "b"}, {"baseline": "c"}],
    ),
    "baseline of no use": (BOARD, {"file": THREE}, {"baseline": "a"}, [{"compare": "baseline"}]),
    "one side of all pairs": (
        BOARD,
        {"file": THREE},
        {"alternative": "greater"},
        [{"alternative": "two-sided"}],
    ),
    "gaps of a board": (
        BOARD,
        {"file": "id,a,b\nq1,1,0\nq2,1,\nq3,0,1\n"},
        {},
        [{"on_missing": "pairwise"}, {"on_missing": "complete"}],
    ),
    "columns of text beside a score": (
        BOARD,
        {"file": NOTED.replace('"new"', '"score"')},
        {},
        [{"systems": '["score", "old"]'}],
    ),
    "filters": (TEST, {"u": FILTERS, "v": FILTERS}, {}, [{"filter": "strict"}, {"filter": "flexible"}]),
    "other filters": (
        TEST,
        {"u": "".join(FILTERS.splitlines(True)[::2]), "v": "".join(FILTERS.splitlines(True)[1::2])},
        {},
        [{"filter_u": "strict", "filter_v": "flexible"}],
    ),
}


@pytest.mark.parametrize(("path", "files", "fields", "expected"), CASES.values(), ids=CASES)
def test_every_choice_is_accepted_when_it_is_sent_with_the_request(
    service: Service, path: str, files: dict[str, str], fields: dict[str, str], expected: list[dict[str, str]]
) -> None:
    offered = choices(send(service, path, files, **fields))
    assert [choice["fields"] for choice in offered] == expected
    assert all(choice["title"] for choice in offered)
    for choice in offered:
        answer = send(service, path, files, **{**fields, **choice["fields"]})
        assert answer.status_code == 200, (choice, answer.text)


def test_of_three_systems_two_are_chosen_one_after_the_other(service: Service) -> None:
    first = choices(send(service, TEST, {"file": THREE}))
    assert [choice["fields"] for choice in first] == [{"system_u": name} for name in "abc"]
    second = choices(send(service, TEST, {"file": THREE}, system_u="b"))
    assert [choice["fields"] for choice in second] == [{"system_v": "a"}, {"system_v": "c"}]
    answer = send(service, TEST, {"file": THREE}, system_u="b", system_v="c").json()
    assert answer["names"] == {"u": "b", "v": "c"}


def test_the_direction_is_a_choice_and_decides_the_verdict(service: Service) -> None:
    table = "id,candidate,baseline\n" + "".join(f"q{n},1,{n % 2 / 4}\n" for n in range(40))
    fields = {"statistic": "ratio", "numerator": "hits", "denominator": "tokens"}
    counts = "id,hits_u,tokens_u,hits_v,tokens_v\n" + "".join(f"q{n},9,20,1,20\n" for n in range(30))
    offered = choices(send(service, GATE, {"file": counts}, **fields))
    verdicts = {
        choice["fields"]["higher_is_better"]: send(
            service, GATE, {"file": counts}, **fields, **choice["fields"]
        ).json()["verdict"]
        for choice in offered
    }
    assert verdicts == {"true": "pass", "false": "fail"}
    assert send(service, GATE, {"file": table}).status_code == 200  # nothing to choose


def test_values_too_long_to_repeat_are_not_choices() -> None:
    long = "x" * (MAX_CHOICE_CHARS + 1)
    assert choices_of("metric", {"": "empty", long: "long", "f1": "F1"})[0].fields == {"metric": "f1"}
    assert len(choices_of("metric", {str(n): str(n) for n in range(50)})) == MAX_CHOICES


def test_choices_give_way_to_the_size_of_a_problem(service: Service) -> None:
    """Twenty names of 390 characters that are six bytes each in JSON: 47 kB."""
    names = [f"{chr(0x3042 + n)}" * 390 for n in range(20)]
    header = ",".join(["id", *names])
    response = send(service, TEST, {"file": f"{header}\n" + "q," + ",".join("1" * 20) + "\n"})
    assert response.status_code == 422
    assert len(response.content) <= MAX_PROBLEM_BYTES
    assert "choices" not in response.json()["errors"][0]
    assert response.json()["errors"][0]["code"] == "choose_system_u"


def test_a_refusal_without_choices_has_no_such_member(service: Service) -> None:
    flaw = service.post("/v1/tests/scores", {"u": [1], "v": [1, 2]}).json()["errors"][0]
    assert set(flaw) == {"pointer", "code", "detail"}


def test_errors_with_choices_cross_processes_and_compare() -> None:
    error = InvalidTest.at("/baseline", "missing", "Name it.", choices_of("baseline", {"a": "a"}))
    again = pickle.loads(pickle.dumps(error))
    assert again.flaws == error.flaws
    assert len({*again.flaws, *error.flaws}) == 1


ONE: dict[str, Any] = {"u": [1, 0], "v": [0, 0]}


@pytest.mark.parametrize(
    ("kind", "request_", "meant"),
    [
        ("scores", {**ONE, "alternativ": "less"}, {"/alternativ": "alternative"}),
        ("scores", {"x": [1], "y": [0]}, {"/x": "u", "/y": "v"}),
        ("scores", {"candidate": [1], "baseline": [0]}, {"/candidate": "u", "/baseline": "v"}),
        ("scores", {**ONE, "n_resamples": 9}, {"/n_resamples": "samples"}),
        ("predictions", {**ONE, "y_true": [1, 1]}, {"/y_true": "gold"}),
        ("counts", {**ONE, "Statistic": {}}, {"/Statistic": "statistic"}),
    ],
)
def test_a_misspelled_field_is_answered_with_the_right_one(
    service: Any, kind: str, request_: dict[str, Any], meant: dict[str, str]
) -> None:
    said = problem(service.post(f"/v1/tests/{kind}", request_), 422)
    assert [(flaw["pointer"], flaw["code"]) for flaw in said["errors"]] == [
        (pointer, "unknown_field") for pointer in meant
    ]
    for flaw in said["errors"]:
        assert flaw["detail"].endswith(f'here; did you mean `"{meant[flaw["pointer"]]}"`?')


def test_a_field_that_is_like_none_and_one_of_other_data_are_not_guessed(service: Any) -> None:
    for name in ("magic", "y_true", "z" * 10_000):  # scores have no gold
        (flaw,) = problem(service.post("/v1/tests/scores", {**ONE, name: 1}), 422)["errors"]
        assert "did you mean" not in flaw["detail"]
        assert '; there are `"alternative"`, ' in flaw["detail"]
        assert flaw["detail"].endswith(" more.")


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("f1", 'is a statistic of counts and of predictions, which have `"gold"` beside them.'),
        ("bleu", 'is a statistic of counts and of predictions, which have `"gold"` beside them.'),
        ("span_f1", 'is a statistic of predictions, which have `"gold"` beside them.'),
        ("wer", "is read from files."),
        ("ndcg_cut_10", "is read from files."),
        ("mean_diference", "Did you mean mean_difference?"),
        ("wilcoxon", '"wilcoxon" is signed_rank here.'),
        ("scipy.stats.wilcoxon", '"scipy.stats.wilcoxon" is signed_rank here.'),
        ("mcnemar", '"mcnemar" is mean_difference here.'),
        ("median", '"median" is median_difference here.'),
        (
            "f1_score",
            '"f1_score" is f1 here, a statistic of counts and of predictions, which have `"gold"` beside them.',
        ),
        (
            "acuracy",
            'Did you mean accuracy? That is a statistic of counts and of predictions, which have `"gold"` beside them.',
        ),
    ],
)
def test_a_statistic_of_other_data_says_where_it_is(service: Any, name: str, told: str) -> None:
    request = {**ONE, "statistic": {"name": name}}
    (flaw,) = problem(service.post("/v1/tests/scores", request), 422)["errors"]
    assert (flaw["pointer"], flaw["code"]) == ("/statistic/name", "literal_error")
    assert "must be 'mean_difference'" in flaw["detail"]
    assert flaw["detail"].endswith(told)
    gated = {"kind": "scores", "request": request}
    (flaw,) = problem(service.post("/v1/gate", gated), 422)["errors"]
    assert flaw["detail"].endswith(told)


@pytest.mark.parametrize("name", ["magic", "", 7, None, "f1" * 5_000])
def test_an_unknown_statistic_is_refused_unchanged(service: Any, name: object) -> None:
    (flaw,) = problem(service.post("/v1/tests/scores", {**ONE, "statistic": {"name": name}}), 422)["errors"]
    assert "mean" not in flaw["detail"].partition("quantile_difference")[2]


STEM = "weblog-blogspot.com_marketview_20050511222700_ENG_"


def test_ids_that_begin_alike_are_cut_where_they_differ(service: Any) -> None:
    def bank(name: str) -> bytes:
        return f"# sent_id = {name}\n1\ta\ta\tX\t_\t_\t0\troot\t_\t_\n\n".encode()

    files = {
        "gold": ("gold.conllu", bank(f"{STEM}20050511-0001")),
        "u": ("u.conllu", bank(f"{STEM}20050512-0001")),
        "v": ("v.conllu", bank(f"{STEM}20050511-0001")),
    }
    said = problem(service.request("POST", "/v1/tests/files", files=files, data={"statistic": "upos"}), 422)
    assert "20050512-0001\\" in said["detail"].replace('"', "\\")
    assert "20050511-0001\\" in said["detail"].replace('"', "\\")


@pytest.mark.parametrize(
    ("one", "other"),
    [("a" * 50 + "x" * 50, "a" * 50 + "y" * 50), ("a" * 60, "a" * 61), ("a" * 41, "a" * 400), ("p", "q")],
)
def test_two_texts_that_differ_look_different_and_are_short(one: str, other: str) -> None:
    shown = quoted_apart(one, other)
    assert shown[0] != shown[1]
    assert all(len(text) <= len(quoted("x" * 99)) + len("\\u2026") for text in shown)
    assert quoted_apart(other, one) == shown[::-1]
    assert len(quoted("p" * 99)) <= QUOTED_CHARS + 8
