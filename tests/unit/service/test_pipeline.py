"""The pipeline: parts of comparisons, pickles, tests in place, problems, baselines, the self-test."""

import itertools
import json
import pickle
import pkgutil
import random
import time
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, get_args

import httpx
import pytest
from hypothesis import given, strategies as st

from exactperm import errors
from exactperm.answers.test import Method, Runtime, decimal
from exactperm.errors import Flaw, InvalidTest
from exactperm.execution.ipc import UNBOUNDED, Unbounded
from exactperm.inference.compare.compare import finish_compare
from exactperm.reports.representations import BY_NAME
from exactperm.service import pipeline, problems
from exactperm.service.answers import render
from exactperm.service.compare.comparison import (
    Slice,
    Whole,
    joined,
    parse_compare,
    prepare_comparison,
    slices_of,
    solved,
    split_of,
)
from exactperm.service.kinds import CSV, JSON, Kind
from exactperm.service.messages import Body, Job, RenderedResponse, limits_of
from exactperm.service.pipeline import (
    COUNTS_IN_PLACE,
    KNOWN,
    Known,
    Later,
    handle,
    handle_in_place,
    self_test,
)
from exactperm.service.query import timeout_of_query
from exactperm.settings import Settings
from exactperm.statistics.catalogue import ENTRIES
from tests.settings_with import settings_with

LIMITS = limits_of(Settings(workers=1))
LONG = {"u": [0.5, 1.25, 3.0] * 50, "v": [0.25, 1.5, 2.0] * 50, "method": "monte_carlo", "samples": 5_000_000}


@pytest.mark.parametrize(
    ("body", "query", "timeout_s"),
    [({"timeout_s": 0.5}, (), 0.5), ({}, (("timeout_s", "2"),), 2.0), ({}, (), None)],
)
def test_a_small_request_for_a_worker_takes_the_deadline_of_its_body_along(
    body: dict[str, float], query: tuple[tuple[str, str], ...], timeout_s: float | None
) -> None:
    now = time.monotonic()
    job = Job("scores", Body(JSON), query, "json", "x", now, now, LIMITS, timeout_s=timeout_of_query(query))
    found = handle_in_place(job, json.dumps(LONG | body).encode(), 0.005, 100_000)
    assert isinstance(found, Later)
    assert found.timeout_s == timeout_s
    assert found.seconds > 0.005


def test_a_table_with_many_flaws_is_not_read_again() -> None:
    now = time.monotonic()
    job = Job("scores", Body(CSV), (), "json", "x", now, now, LIMITS)
    refused = handle(job, b"id,u,v\n" + b"x,1,2\n" * 50, Unbounded())
    assert [flaw["pointer"] for flaw in json.loads(refused.body)["errors"]] == [
        f"/line/{line}/1" for line in range(3, 8)
    ]


# A comparison in parts: they hold every pair once, and joined they are the whole, whatever the systems hand over.


RUNTIME = Runtime(0.0, 0.0, 0.0)
R = random.Random(5)


def bits(items: int) -> list[int]:
    return [R.randint(0, 1) for _ in range(items)]


def numbers(items: int, digits: int = 2) -> list[float]:
    return [round(R.random(), digits) for _ in range(items)]


def counts(items: int) -> dict[str, list[int]]:
    return {name: [R.randint(0, 4) for _ in range(items)] for name in ("tp", "incorrect")}


def systems(make: Any, k: int, items: int) -> dict[str, Any]:
    return {f"s{number:02}": make(items) for number in range(k)}


LACKING = {name: {f"q{item}": score for item, score in enumerate(own) if R.random() < 0.8} for name, own in systems(bits, 9, 30).items()}  # fmt: skip
REQUESTS: dict[str, dict[str, Any]] = {
    "right or wrong": {"kind": "scores", "systems": systems(bits, 40, 200)},
    "right or wrong, holm_discrete": {"kind": "scores", "systems": systems(bits, 9, 12), "adjust": "holm_discrete"},
    "decimals": {"kind": "scores", "systems": systems(numbers, 12, 60)},
    "noise": {"kind": "scores", "systems": systems(lambda n: numbers(n, 17), 5, 14)},
    "clusters": {"kind": "scores", "systems": systems(numbers, 8, 60), "clusters": [item // 4 for item in range(60)]},
    "items that lack": {"kind": "scores", "systems": LACKING, "on_missing": "pairwise"},
    "counts": {"kind": "counts", "systems": systems(counts, 5, 12), "statistic": {"name": "f1"}},
    "labels": {"kind": "predictions", "gold": bits(20), "systems": systems(bits, 6, 20)},
    "texts": {
        "kind": "predictions",
        "gold": ["a b c d e", "f g h i j", "k l m n o"],
        "systems": {"A": ["a b c d x", "f g", "k l m n o"], "B": ["a", "f g h i j", "k"], "C": ["b a", "j i h g", "o n"]},
        "statistic": {"name": "chrf"},
    },
    "a baseline": {"kind": "scores", "systems": systems(bits, 20, 50), "compare": "baseline", "baseline": "s03"},
    "data sets": {
        "kind": "scores",
        "datasets": {"a": {"systems": systems(bits, 7, 30)}, "b": {"systems": systems(numbers, 5, 30)}, "c": {"systems": systems(bits, 2, 9)}},
        "aggregate": None,
        "family": "all",
        "adjust": "by",
    },
}  # fmt: skip


def job(**settings: Any) -> Job:
    now = time.monotonic()
    limits = limits_of(settings_with(**settings))
    return Job("compare", Body("application/json"), (), "json", "id", now, now, limits)


@pytest.mark.parametrize("wanted", [2, 7])
@pytest.mark.parametrize("name", REQUESTS)
def test_joined_parts_are_the_whole(name: str, wanted: int) -> None:
    asked = job()
    parsed = parse_compare(asked, json.dumps(REQUESTS[name]).encode())
    prepared = prepare_comparison(asked, parsed)
    alone = render(finish_compare(prepared), RUNTIME)

    plan = pickle.dumps(prepare_comparison(asked, parsed))
    parts = slices_of([(board.tests, board.planned.seconds) for board in prepared.boards], wanted)
    results = [solved(slices, plan, UNBOUNDED) for slices in parts]
    passed_on = pickle.loads(pickle.dumps(Whole(asked, plan, parts, 0.0, 0.0)))
    there, tests = joined(passed_on, results)
    assert render(finish_compare(there, tests), RUNTIME) == alone


@given(
    st.lists(st.tuples(st.integers(0, 40), st.floats(0, 10)), min_size=1, max_size=6).filter(
        lambda boards: sum(tests for tests, _ in boards) > 0
    ),
    st.integers(1, 30),
)
def test_parts_hold_every_pair_once_and_in_order(boards: list[tuple[int, float]], wanted: int) -> None:
    parts = slices_of(boards, wanted)
    seen = [(each.board, pair) for part in parts for each in part for pair in range(each.start, each.stop)]
    assert seen == [(board, pair) for board, (tests, _) in enumerate(boards) for pair in range(tests)]
    assert all(parts)
    assert len(parts) <= wanted


def test_parts_are_about_equally_long() -> None:
    parts = slices_of([(1000, 2.0), (10, 0.5), (500, 2.5)], 10)
    each = {0: 0.002, 1: 0.05, 2: 0.005}
    seconds = [sum((one.stop - one.start) * each[one.board] for one in part) for part in parts]
    assert 9 <= len(parts) <= 11
    assert max(seconds) <= 0.6


def test_a_comparison_is_split_when_it_is_long_and_there_are_workers() -> None:
    request = {"kind": "scores", "systems": systems(numbers, 12, 60), "method": "dp"}
    asked = job(workers=4, long_test_seconds=0.02)
    parsed = parse_compare(asked, json.dumps(request).encode())
    prepared = prepare_comparison(asked, parsed)
    work: Any = len
    split: Any = split_of(asked, prepared, work, 0.0, 0.0)
    assert split.at_once == 4
    assert len(split.parts) >= 4
    assert all(part.seconds <= 0.02 for part in split.parts)
    for other in (job(workers=1, long_test_seconds=0.02), job(workers=4, long_test_seconds=60)):
        assert split_of(other, prepared, work, 0.0, 0.0) is None


def test_a_part_and_the_whole_are_refused_in_the_same_way() -> None:
    asked = job()
    parsed = parse_compare(asked, json.dumps(REQUESTS["right or wrong"]).encode())
    plan = pickle.dumps(prepare_comparison(asked, parsed))
    refusal = InvalidTest.at("/systems/s01", "some_code", "No.")
    parts = ((Slice(0, 0, 1),), (Slice(0, 1, 780),))
    with pytest.raises(InvalidTest) as caught:
        joined(Whole(asked, plan, parts, 0.0, 0.0), [solved(parts[0], plan, UNBOUNDED), refusal])
    assert caught.value.flaws == refusal.flaws


# Whatever is prepared may go to another process: it pickles, and what comes out of the pickle gives the same answer.


SMALL = Path(__file__).resolve().parents[3] / "openapi" / "examples" / "small"
EXAMPLES = sorted(path.stem for path in SMALL.glob("*.json"))
# Representations show the record, which is alike for all statistics of a kind of data: the first of each is shown in all.
SHOWN = {name.partition("-")[0]: name for name in reversed(EXAMPLES)}.values()
ROOTS = {"expression-of-a-root": ("counts", {"name": "expression", "expression": "sqrt(tp*fp)/(1+fn)"})}
GATE = {"policy": "improve", "higher_is_better": True}


def request_of(name: str) -> tuple[str, dict[str, Any]]:
    """The kind and the body of an example; a formula with a root takes the counts of another."""
    if name not in ROOTS:
        return name.partition("-")[0], json.loads((SMALL / f"{name}.json").read_bytes())
    kind, statistic = ROOTS[name]
    return kind, {**request_of("counts-mcc")[1], "statistic": statistic}


def asked(name: str) -> Iterator[tuple[Kind, dict[str, Any]]]:
    """The example as each kind of request, by each method."""
    kind, request = request_of(name)
    named: Any = kind
    for method in get_args(Method):
        few = {"samples": 500, "seed": 1} if method == "monte_carlo" else {}
        one = {**request, "method": method, **few}
        yield named, {**one, "confidence_level": 0.9, "power": 0.8}
        yield "gate", {"kind": kind, "request": one, **GATE}
    yield "gate", {"kind": kind, "request": request, **GATE, "margin": 0.01}
    yield "gate", {"kind": kind, "request": request, **GATE, "sequential": {"scale": 100}}
    yield "power", {"design": {"kind": "pilot", "request_kind": kind, "request": request}, "solve": "effect"}
    if "swap" in request or "stay" in request:
        return
    board = {
        key: value for key, value in request.items() if key in {"gold", "statistic", "clusters", "groups"}
    }
    systems = {"a": request["u"], "b": request["v"], "c": turned(request["u"])}
    board["higher_is_better"] = True
    for more in ({}, {"adjust": "max_t", "confidence_level": 0.9}, {"adjust": "holm_discrete"}):
        yield "compare", {"kind": kind, "systems": systems, **board, **more}


def reported(name: str) -> Iterator[tuple[Kind, dict[str, Any], str]]:
    """The same, of some examples the first request of each kind in every representation but pictures."""
    seen = set() if name in SHOWN or name in ROOTS else {"gate", "power", "compare", name.partition("-")[0]}
    for kind, request in asked(name):
        answers = kind if kind in {"gate", "power", "compare"} else "test"
        if kind not in seen:
            for each in BY_NAME.values():
                if getattr(each, answers) is not None and not each.is_drawn:
                    yield kind, request, each.name
        seen.add(kind)
        yield kind, request, "json"


def turned(column: Any) -> Any:
    """The same numbers, last item first."""
    if isinstance(column, dict):
        return {name: values[::-1] for name, values in column.items()}
    return column[::-1]


def answered(kind: Kind, body: bytes, representation: str) -> RenderedResponse:
    now = time.monotonic()
    asked = Job(kind, Body("application/json"), (), representation, "x", now, now, limits_of(Settings()))
    return pipeline.handle(pickle.loads(pickle.dumps(asked)), body, Unbounded())


@pytest.mark.parametrize("name", [*EXAMPLES, *ROOTS])
def test_prepared_tests_give_the_same_answer_after_pickling(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    prepare = pipeline._prepared

    def through_a_pickle(job: Job, parsed: pipeline.Parsed) -> Any:
        prepared = prepare(job, parsed)
        # Whoever splits a request has looked at its price: what this leaves behind has to pickle as well.
        assert prepared.seconds >= 0.0
        assert prepared.longest_seconds >= 0.0
        return pickle.loads(pickle.dumps(prepared))

    kinds = set()
    for kind, request, representation in reported(name):
        body = json.dumps(request).encode()
        expected = answered(kind, body, representation)
        kinds |= {kind} if expected.status in {200, 409} else set()
        with monkeypatch.context() as patched:
            patched.setattr(pipeline, "_prepared", through_a_pickle)
            found = answered(kind, body, representation)
        assert found.status == expected.status < 500, (kind, request, found.body)
        assert (found.before, found.after) == (expected.before, expected.after)
    assert len(kinds) >= 2, kinds


# What is never computed in the web process: whatever has a cost that its numbers decide.


U, V = [1.0, 2.0, 0.5, 4.0], [0.0, 1.0, 1.5, 1.0]
COUNTS = {"tp": [1, 0, 1, 1], "fp": [0, 1, 0, 0], "fn": [0, 1, 0, 1]}
LATER: list[tuple[Kind, dict[str, Any]]] = [
    ("effects", {"stay": [[1, 2]] * 3, "swap": [[2, 1]] * 3, "statistic": {"expression": "x1/x2"}}),
    ("effects", {"stay": [1, 2], "statistic": {"expression": "x1*1e300*1e300"}}),
    ("effects", {"stay": [5, -3, 2], "statistic": {"expression": "abs(x1)"}, "alternative": "less"}),
    ("effects", {"stay": [5, -3, 2], "statistic": {"expression": "abs(x1)"}, "pmf": "none"}),
    ("effects", {"stay": [[5], [-3]], "statistic": {"expression": "abs(x1) * 2"}}),
    ("counts", {"u": COUNTS, "v": COUNTS, "statistic": {"name": "expression", "expression": "tp/(tp+fp)"}}),
    ("counts", {"u": COUNTS, "v": COUNTS, "statistic": {"name": "fbeta", "beta": 0.5}}),
    ("counts", {"u": {"edits": [1], "ref_len": [2]}, "v": {"edits": [1], "ref_len": [2]}, "statistic": {"name": "ter"}}),
    ("counts", {"u": {name: column * 126 for name, column in COUNTS.items()},
                "v": {name: column * 126 for name, column in COUNTS.items()}, "statistic": {"name": "f1"}}),
    ("predictions", {"gold": ["a", "b"], "u": ["a", "a"], "v": ["b", "b"], "statistic": {"name": "f1"}}),
    ("predictions", {"gold": ["a b"], "u": ["a"], "v": ["b"], "statistic": {"name": "ter"}}),
    ("predictions", {"gold": [["B-X"]], "u": [["O"]], "v": [["B-X"]], "statistic": {"name": "span_f1"}}),
    ("scores", {"u": U, "v": V, "test": "bootstrap"}),
    ("scores", {"u": U, "v": V, "pmf": "full"}),
    ("scores", {"u": U, "v": V, "exact_fraction": True}),
    ("scores", {"u": U, "v": V, "method": "bounds", "precision": 1e-9}),
    ("scores", {"u": U * 126, "v": V * 126, "confidence_level": 0.9}),
    ("gate", {"metrics": [{"name": str(k), "kind": "scores", "request": {"u": U, "v": V}, "higher_is_better": True}
                          for k in range(5)]}),
]  # fmt: skip
NOW: list[tuple[Kind, dict[str, Any]]] = [
    ("effects", {"stay": [5, -3, 2]}),
    ("effects", {"stay": [5, -3, 2], "statistic": {"expression": "x1"}}),
    ("effects", {"stay": [5, -3, 2], "statistic": {"expression": "abs(x1)"}}),
    ("scores", {"u": U, "v": V, "confidence_level": 0.9}),
    ("counts", {"u": COUNTS, "v": COUNTS, "statistic": {"name": "f1"}}),
    (
        "predictions",
        {"gold": ["a", "b"], "u": ["a", "a"], "v": ["b", "b"], "statistic": {"name": "accuracy"}},
    ),
    (
        "gate",
        {"metrics": [{"kind": "scores", "request": {"u": U, "v": V}, "name": "m", "higher_is_better": True}]},
    ),
]


def in_place(kind: Kind, body: dict[str, Any], *, planned: bool = False) -> RenderedResponse | Later:
    now = time.monotonic()
    job = Job("plan" if planned else kind, Body(JSON), (), "json", "x", now, now, LIMITS)
    sent = {"kind": kind, "request": body} if planned else body
    return handle_in_place(job, json.dumps(sent).encode(), 10.0, 100_000)


@pytest.mark.parametrize(("kind", "body"), LATER)
def test_without_a_proven_small_price_nothing_is_prepared_in_place(
    kind: Kind, body: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object) -> None:
        raise AssertionError("prepared")

    monkeypatch.setattr("exactperm.service.pipeline._prepared", never)
    assert in_place(kind, body) == Later()
    if kind != "gate":
        assert in_place(kind, body, planned=True) == Later()


@pytest.mark.parametrize(("kind", "body"), NOW)
def test_small_tests_of_every_kind_are_answered_in_place(kind: Kind, body: dict[str, Any]) -> None:
    found = in_place(kind, body)
    assert isinstance(found, RenderedResponse)
    assert found.status in {200, 409}, found.body


def every_error() -> list[type[errors.ExactpermError]]:
    found, todo = [], [errors.ExactpermError]
    while todo:
        kind = todo.pop()
        found.append(kind)
        todo += kind.__subclasses__()
    return [kind for kind in found if not kind.__subclasses__()]


@pytest.mark.parametrize("kind", every_error())
def test_every_exception_has_a_problem_type_of_its_own(kind: type[errors.ExactpermError]) -> None:
    rendered = problems.of_error(kind("A sentence."), "id-1")
    said = json.loads(rendered.body)
    assert said["type"] == f"/docs/problems#{kind.code}"
    assert (said["status"], said["detail"], said["instance"]) == (rendered.status, "A sentence.", "id-1")
    assert rendered.status != 500
    assert (("retry-after", "1") in rendered.headers) == issubclass(kind, errors.CapacityError)


@given(st.lists(st.tuples(st.text(), st.text()), max_size=40), st.text())
def test_a_problem_is_never_larger_than_16_kilobytes(pairs: list[tuple[str, str]], detail: str) -> None:
    flaws = tuple(Flaw(pointer * 100, "code", text * 100) for pointer, text in pairs)
    rendered = problems.of_error(errors.InvalidTest(detail * 1000, flaws=flaws), "id-1")
    assert len(rendered.body) <= 16_000
    assert len(json.loads(rendered.body).get("errors", [])) <= 20


def test_the_worst_flaws_still_fit() -> None:
    flaws = tuple(Flaw("\U0001f600" * 10_000, "code", "\U0001f600" * 10_000) for _ in range(20))
    rendered = problems.of_error(errors.InvalidTest("\x00" * 10_000, flaws=flaws), "id-1")
    assert len(rendered.body) <= 16_000
    assert json.loads(rendered.body)["errors"]


def test_a_bug_does_not_reveal_its_data() -> None:
    rendered = problems.of_bug(ValueError("secret payload"), "id-1")
    assert rendered.status == 500
    assert b"secret" not in rendered.body


@given(st.integers(0, 10**50) | st.integers(2**9_990, 2**10_010))
def test_integers_of_any_length_are_written_in_decimal(number: int) -> None:
    text = decimal(number)
    assert text.isdigit()
    assert sum(int(digit) * pow(10, place, 2**61 - 1) for place, digit in enumerate(reversed(text))) % (
        2**61 - 1
    ) == number % (2**61 - 1)


def test_a_numerator_of_a_million_bits_is_written() -> None:
    assert len(decimal(2**1_000_000)) == 301_030


# A candidate's file that is compared with several baselines is parsed once.


SCORES = {name: [(7 * item + ord(name)) % 3 for item in range(8)] for name in "uabc"}


@pytest.mark.parametrize(
    ("parser", "row"),
    [
        ("exactperm.inputs.frame._plain", "{},{}\n"),
        ("exactperm.inputs.json_records._table", '{{"id": {}, "score": {}}}\n'),
    ],
)
def test_each_file_is_parsed_once(parser: str, row: str, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []
    real = pkgutil.resolve_name(parser)

    def counted(source: Any, *args: Any) -> Any:
        parsed.append(source.name)
        return real(source, *args)

    monkeypatch.setattr(parser, counted)
    head = "id,score\n" if row.startswith("{},") else ""
    files = [
        ("u" if name == "u" else "against", (f"{name}.txt", head + "".join(row.format(*each) for each in enumerate(own))))
        for name, own in SCORES.items()
    ]  # fmt: skip
    request = httpx.Request("POST", "http://test/", files=files, data={"higher_is_better": "true"})
    boundary = request.headers["content-type"].partition("boundary=")[2]
    body = Body("multipart/form-data", boundary=boundary)
    job = Job("gate", body, (("fail_status", "200"),), "json", "r", 0.0, 0.0, limits_of(Settings()))
    response = pipeline.handle(job, request.read(), UNBOUNDED)
    assert response.status == 200, response.body
    assert [metric["against"] for metric in json.loads(response.body)["metrics"]] == ["a", "b", "c"]
    assert sorted(parsed) == ["a.txt", "b.txt", "c.txt", "u.txt"]


# The three p-values known beforehand: counted here once more by brute force, and missed when they are wrong.


def test_they_come_out_right() -> None:
    assert self_test(KNOWN, b"", Unbounded()) == []


@pytest.mark.parametrize("known", [known for known in KNOWN if len(known.stay) <= 20])
def test_the_literals_are_what_counting_all_assignments_gives(known: Known) -> None:
    observed = abs(sum(known.stay))
    sums = (
        sum(sign * value for sign, value in zip(signs, known.stay, strict=True))
        for signs in itertools.product((1, -1), repeat=len(known.stay))
    )
    assert known.p_value == sum(abs(value) >= observed for value in sums) / 2 ** len(known.stay)


@pytest.mark.parametrize("number", range(len(KNOWN)))
def test_a_wrong_one_is_named(number: int) -> None:
    wrong = [*KNOWN]
    wrong[number] = replace(wrong[number], p_value=wrong[number].p_value * (1 + 1e-6))
    assert self_test(tuple(wrong), b"", Unbounded()) == [KNOWN[number].name]


# A job that is submitted later is the same job.


def test_only_the_time_of_submission_changes() -> None:
    limits = limits_of(Settings(workers=1))
    job = Job(
        kind="compare", body=Body("text/csv", "gzip", "b"), query=(("a", "b"),), representation="svg", request_id="id",
        received_at=1.0, submitted_at=2.0, limits=limits, theme="dark", picture="forest", table="pairs", timeout_s=3.0,
        with_line=True, keeps="off", store=True,
    )  # fmt: skip
    plain = Job("effects", Body("application/json"), (), "json", "id", 1.0, 2.0, limits)
    ours = [field.name for field in fields(Job) if field.name not in {"submitted_at", "limits"}]
    same = [name for name in ours if getattr(job, name) == getattr(plain, name)]
    assert same == ["request_id", "received_at"]
    assert job.submitted(9.0) == replace(job, submitted_at=9.0)


def test_a_statistic_of_counts_is_answered_in_place_or_waits_for_a_worker() -> None:
    """A new one is in one of both sets."""
    waiting = {
        "fbeta",
        "mcc",
        "kappa",
        "balanced_accuracy",
        "g_mean",
        "specificity",
        "npv",
        "expression",
        "bleu",
        "chrf",
        "ter",
    }
    assert {entry.name for entry in ENTRIES if entry.kind == "counts"} == COUNTS_IN_PLACE | waiting
