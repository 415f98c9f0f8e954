"""Test roles: a gate identifies the candidate by names or options, and else refuses."""

import json
from collections.abc import Sequence
from typing import Any

import httpx
import pytest

from tests.api.conftest import Service, answer_to, codes_of, problem

Rows = list[tuple[str, int, int]]

# The first system is right on 90 of 100 items, the second on 50 of them.
GOOD, BAD = [int(n % 10 > 0) for n in range(100)], [n % 2 for n in range(100)]
IDS = [f"q{n}" for n in range(100)]

PAIRS = [
    ("candidate", "baseline"),
    ("new", "old"),
    ("treatment", "control"),
    ("pr", "main"),
    ("New Model", "BASE"),
    ("score_new", "score_reference"),
    ("candidate_score", "baseline_score"),
    ("scoreCandidate", "scoreBaseline"),
    ("acc-pr", "acc-main"),
    ("my-candidate-v2", "gpt4-baseline"),
    ("u", "v"),
]


def wide(names: Sequence[str], scores: Sequence[Sequence[int]]) -> bytes:
    """`id,first,second` in this order of the columns."""
    lines = [",".join(["id", *names])]
    lines += [
        ",".join([key, *map(str, row)]) for key, row in zip(IDS, zip(*scores, strict=True), strict=True)
    ]
    return ("\n".join(lines) + "\n").encode()


def long(names: Sequence[str], scores: Sequence[Sequence[int]]) -> bytes:
    """`id,system,score`, the first system's rows on top."""
    lines = ["id,system,score"]
    for name, column in zip(names, scores, strict=True):
        lines += [f"{key},{name},{score}" for key, score in zip(IDS, column, strict=True)]
    return ("\n".join(lines) + "\n").encode()


def json_lines(names: Sequence[str], scores: Sequence[Sequence[int]]) -> bytes:
    """Lines `{id, system, score}`."""
    rows = [
        {"id": key, "system": name, "score": score}
        for name, column in zip(names, scores, strict=True)
        for key, score in zip(IDS, column, strict=True)
    ]
    return "\n".join(map(json.dumps, rows)).encode()


def json_fields(names: Sequence[str], scores: Sequence[Sequence[int]]) -> bytes:
    """Lines `{id, first, second}`."""
    rows = [
        {"id": key, **dict(zip(names, row, strict=True))}
        for key, row in zip(IDS, zip(*scores, strict=True), strict=True)
    ]
    return "\n".join(map(json.dumps, rows)).encode()


def promptfoo(names: Sequence[str], scores: Sequence[Sequence[int]]) -> bytes:
    """An export with a column for each provider, in this order."""
    rows = [
        {
            "promptIdx": column,
            "provider": {"id": name},
            "vars": {"q": key},
            "score": score,
            "success": bool(score),
        }
        for column, (name, values) in enumerate(zip(names, scores, strict=True))
        for key, score in zip(IDS, values, strict=True)
    ]
    return json.dumps({"results": {"version": 3, "results": rows}}).encode()


def labelled_prompts(names: Sequence[str], scores: Sequence[Sequence[int]]) -> bytes:
    """An export of one provider with two prompts that have labels."""
    rows = [
        {
            "promptIdx": column,
            "provider": {"id": "openai:gpt"},
            "prompt": {"raw": f"Say {column}: {{{{q}}}}", "label": name},
            "vars": {"q": key},
            "score": score,
        }
        for column, (name, values) in enumerate(zip(names, scores, strict=True))
        for key, score in zip(IDS, values, strict=True)
    ]
    return json.dumps({"results": {"version": 3, "results": rows}}).encode()


FORMS = {
    "csv": wide,
    "csv long": long,
    "jsonl": json_lines,
    "jsonl wide": json_fields,
    "promptfoo": promptfoo,
    "promptfoo labels": labelled_prompts,
}


def gate(service: Service, form: str, content: bytes, **fields: str) -> httpx.Response:
    return service.request(
        "POST",
        "/v1/gate",
        files={"file": ("scores", content)},
        data={"format": form.partition(" ")[0], **fields},
    )


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("names", PAIRS, ids=" ".join)
@pytest.mark.parametrize("first", ["candidate", "baseline"])
def test_names_show_the_candidate_in_any_order_of_systems(
    service: Any, form: str, names: tuple[str, str], first: str
) -> None:
    if form.startswith("promptfoo") and names == ("u", "v"):
        return  # no contract of theirs
    for candidate, baseline, verdict in ((BAD, GOOD, "fail"), (GOOD, BAD, "pass")):
        columns = [(names[0], candidate), (names[1], baseline)]
        if first == "baseline":
            columns.reverse()
        content = FORMS[form]([name for name, _ in columns], [scores for _, scores in columns])
        for policy in ("no_regression", "improve"):
            response = gate(service, form, content, policy=policy)
            said = response.json()
            assert (response.status_code, said.get("verdict")) == (
                409 if verdict == "fail" else 200,
                verdict,
            ), said
            assert said["metrics"][0]["test"]["statistic"]["u"] == sum(candidate) / 100


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("names", "why"),
    [
        (("gpt-4", "llama"), "Nothing says which of "),
        (("base", "large"), "Nothing says which of "),
        (("ControlNet", "adapter"), "Nothing says which of "),
        (("new-york", "boston"), "Nothing says which of "),
        (("baseline_1", "baseline_2"), "Nothing says which of "),
        (("candidate_baseline", "x"), "Nothing says which of "),
        (("not_baseline", "x"), "Nothing says which of "),
        (("base", "old"), "are called a baseline"),
        (("new", "candidate"), "are called a candidate"),
    ],
    ids=str,
)
def test_unknown_roles_are_refused_with_both_choices_and_either_decides(
    service: Any, form: str, names: tuple[str, str], why: str
) -> None:
    content = FORMS[form](names, (GOOD, BAD))
    response = gate(service, form, content)
    (flaw,) = problem(response, 422)["errors"]
    assert (flaw["pointer"], flaw["code"]) == ("/options/system_u", "choose_roles")
    assert why in flaw["detail"]
    assert "x-verdict" not in response.headers
    options = [f"{n}:{'openai:gpt' if 'labels' in form else name}" for n, name in enumerate(names)]
    first, second = options if form.startswith("promptfoo") else names
    for u, v, verdict in ((first, second, "pass"), (second, first, "fail")):
        assert f"`system_u={u}` and `system_v={v}`" in flaw["detail"]
        assert gate(service, form, content, system_u=u, system_v=v).json()["verdict"] == verdict


def test_one_clear_name_of_two_is_enough(service: Any) -> None:
    for names, scores, verdict in (
        (("baseline", "gpt-4"), (GOOD, BAD), "fail"),
        (("gpt-4", "baseline"), (GOOD, BAD), "pass"),
        (("mine", "candidate"), (GOOD, BAD), "fail"),
    ):
        assert gate(service, "csv", wide(names, scores)).json()["verdict"] == verdict


@pytest.mark.parametrize("form", ["csv", "csv long", "jsonl", "jsonl wide"])
def test_of_two_systems_one_option_is_enough(service: Any, form: str) -> None:
    content = FORMS[form](("gpt-4", "llama"), (GOOD, BAD))
    for name, verdict in (("gpt-4", "pass"), ("llama", "fail")):
        assert gate(service, form, content, system_u=name).json()["verdict"] == verdict
    assert gate(service, form, content, system_v="gpt-4").json()["verdict"] == "fail"


def test_two_known_roles_are_found_among_more_columns_and_the_others_are_named(service: Any) -> None:
    content = wide(("length", "baseline", "candidate"), ([7] * 100, GOOD, BAD))
    said = gate(service, "csv", content).json()
    assert said["verdict"] == "fail"
    notes = " ".join(said["metrics"][0]["test"]["reading"]["notes"])
    assert "u is candidate and v is baseline, by their names." in notes
    assert 'were skipped: "length"' in notes


def test_explicit_roles_win_over_names_with_a_warning(service: Any) -> None:
    content = wide(("baseline", "candidate"), (GOOD, BAD))
    said = gate(service, "csv", content, system_u="baseline", system_v="candidate").json()
    assert said["verdict"] == "pass"
    assert [warning["code"] for warning in said["metrics"][0]["test"]["warnings"]] == [
        "roles_contradict_names"
    ]


def files_of(u: str, v: str) -> dict[str, tuple[str, bytes]]:
    first, second = (
        "\n".join(["id,score", *(f"{k},{s}" for k, s in zip(IDS, c, strict=True))]) for c in (BAD, GOOD)
    )
    return {"u": (u, first.encode()), "v": (v, second.encode())}


def test_two_files_show_the_roles_and_contrary_names_are_a_warning(service: Any) -> None:
    for u, v, codes in (
        ("old.csv", "new.csv", ["roles_contradict_names"]),
        ("new.csv", "old.csv", []),
        ("a", "b", []),
    ):
        said = service.request("POST", "/v1/gate", files=files_of(u, v)).json()
        assert said["verdict"] == "fail"
        assert [warning["code"] for warning in said["metrics"][0]["test"]["warnings"]] == codes


def test_columns_of_two_files_against_their_roles_are_a_warning(service: Any) -> None:
    for u, v, codes in (
        ("Baseline", "Candidate", ["roles_contradict_names"]),
        ("score_old", "score_new", ["roles_contradict_names"]),
        ("Candidate", "Baseline", []),
        ("score", "score", []),
    ):
        files = {}
        for role, name, scores in (("u", u, BAD), ("v", v, GOOD)):
            rows = (f"{k},{s}" for k, s in zip(IDS, scores, strict=True))
            files[role] = (f"{role}.csv", "\n".join([f"id,{name}", *rows]).encode())
        twins = {}
        for role, name, scores in (("u", u, BAD), ("v", v, GOOD)):
            rows = (json.dumps({"id": k, name: s}) for k, s in zip(IDS, scores, strict=True))
            twins[role] = (f"{role}.jsonl", "\n".join(rows).encode())
        for form, sent in (("csv", files), ("jsonl", twins)):
            said = service.request("POST", "/v1/gate", files=sent, data={"format": form}).json()
            assert said.get("verdict") == "fail", (form, u, said)
            assert [warning["code"] for warning in said["metrics"][0]["test"]["warnings"]] == codes


def test_columns_without_a_header_are_u_and_v_by_contract(service: Any) -> None:
    content = "".join(f"{a},{b}\n" for a, b in zip(BAD, GOOD, strict=True)).encode()
    assert gate(service, "csv", content).json()["verdict"] == "fail"


def test_every_metric_of_a_gate_needs_its_roles(service: Any) -> None:
    content = wide(("gpt-4", "llama"), (GOOD, BAD))
    metrics = json.dumps([{"name": "mean"}, {"statistic": "sign"}])
    problem(gate(service, "csv", content, metrics=metrics), 422)
    both = {"system_u": "llama", "system_v": "gpt-4"}
    assert gate(service, "csv", content, metrics=metrics, **both).json()["verdict"] == "fail"


def a_test(service: Any, content: bytes, **fields: str) -> dict[str, Any]:
    return answer_to(
        service.request(
            "POST", "/v1/tests/files", files={"file": ("scores", content)}, data={"format": "csv", **fields}
        )
    )


def test_a_plain_test_takes_the_order_says_so_and_warns_where_it_matters(service: Any) -> None:
    for form in ("csv", "jsonl wide"):
        asked: dict[str, str] = {"format": form.partition(" ")[0]}
        content = FORMS[form](("gpt-4", "llama"), (GOOD, BAD))
        said = a_test(service, content, **asked)
        assert said["names"] == {"u": "gpt-4", "v": "llama"}
        assert "u is gpt-4 and v is llama, in the order of the file." in said["reading"]["notes"]
        assert said["warnings"] == []
        (warning,) = a_test(service, content, **asked, alternative="greater")["warnings"]
        assert warning["code"] == "roles_by_order"
        asked |= {"alternative": "greater", "system_u": "gpt-4", "system_v": "llama"}
        assert a_test(service, content, **asked)["warnings"] == []


def test_a_plain_test_of_the_same_file_has_the_sign_of_its_gate(service: Any) -> None:
    content = wide(("baseline", "candidate"), (GOOD, BAD))
    said = a_test(service, content, alternative="less")
    assert said["names"] == {"u": "candidate", "v": "baseline"}
    assert said["statistic"]["observed"] == pytest.approx(-0.4)
    assert said["warnings"] == []


@pytest.mark.parametrize("names", [("baseline-base", "baseline-large"), ("candidate_old", "candidate_tuned")])
def test_a_brief_word_beside_a_clear_one_that_both_have_tells_nothing(
    service: Any, names: tuple[str, str]
) -> None:
    for form in ("csv", "csv long", "jsonl", "jsonl wide", "promptfoo"):
        assert codes_of(gate(service, form, FORMS[form](names, [GOOD, BAD]))) == ["choose_roles"]


@pytest.mark.parametrize("form", FORMS)
def test_a_system_is_not_compared_with_itself(service: Any, form: str) -> None:
    content = FORMS[form](("a", "b"), [BAD, GOOD])
    same = "0" if form.startswith("promptfoo") else "a"
    assert codes_of(gate(service, form, content, system_u=same, system_v=same)) == ["same_system"]
