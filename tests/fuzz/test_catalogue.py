"""Every statistic with every option, in tests, gates, plans and boards: answered or refused, and never a number that lies."""

import json
from collections.abc import Callable
from typing import Any, get_args

from hypothesis import given, strategies as st

from exactperm.answers.gate import OnInconclusive, Policy
from exactperm.answers.test import Alternative, Method, Resampling
from exactperm.inference.options import PmfDetail, Significance
from exactperm.statistics.catalogue import ENTRIES, Parameter, Statistic
from exactperm.statistics.pairwise.data import PAIRWISE
from tests.fuzz.asgi import GENERATED, JSON, InProcess, examples, judge_answer, path_of

Draw = Callable[..., Any]
VALUES: dict[str, list[Any]] = {
    "text": ["x", "", None],
    "formula": ["x1", "x1 / (x1 + x2)", "abs(x1)", "x1 - x1", "sqrt(x1)", "max(x1, 2) / x2"],
    "number": [0, 0.5, 1, 2, 0.1, 1e-9, 1e300, -1],
    "integer": [0, 1, 2, 6, -1],
    "boolean": [True, False],
    "unit": [0.5, 1, "1/30", 0],
    "label": ["a", 1, 0, "b"],
    "labels": [["a"], ["a", "b"], [0, 1]],
}
NAMED: dict[str, list[Any]] = {
    "q": [0.5, 0.25, 0.95, 0.9, 1, 0, 0.99],
    "epsilon": [0, 0.1, 0.5, 1],
    "beta": [1, 2, 0.5, 3, 1e300, 0],
    "positive": ["a", 1, 1, 0],
    "numerator": ["tp", "tp", "words"],
    "denominator": ["incorrect", "incorrect", "tp"],
}
# Names of counts: those that a statistic asks for, and once in a while others.
_CONFUSION = ("tp", "fp", "fn", "tn")
COUNTED: dict[str, tuple[str, ...]] = {
    "accuracy": ("correct", "incorrect"),
    "ratio": ("tp", "incorrect"),
    "expression": ("x1", "x2"),
    "ter": ("edits", "ref_len"),
    "chrf": ("hyp_1", "ref_1", "match_1"),
    "bleu": ("sys_len", "ref_len", *(f"{what}_{n}" for what in ("correct", "total") for n in (1, 2, 3, 4))),
}
NUMBERS: list[list[Any]] = [
    [0, 1], [0, 1, 1, 1], [0, 100], [0, 0.5, 1], [0.1, 0.25, 0.3, 0.9], [1, 2, 3, 20], [0.1 + 0.2, 1 / 3, 1e-9],
    [1e300, -1e300, 5e-324], [3, 3],
]  # fmt: skip
LABELS: list[list[Any]] = [["a", "b"], [0, 1], ["a", "b", "c", "d"], ["O", "B-PER", "I-PER", "B-LOC"]]
TEXTS = ["the cat sat", "a cat sat down", "on the mat", "", "the"]


@st.composite
def statistics(draw: Draw, kinds: tuple[str, ...]) -> tuple[Statistic, dict[str, Any]]:
    """An entry of the catalogue, and the statistic with some of its parameters."""
    entry = draw(st.sampled_from([one for one in ENTRIES if one.kind in kinds]))
    needed = {"expression", "numerator", "denominator", "q"}
    given = {
        one.name: draw(_value(one)) for one in entry.parameters if one.name in needed or draw(st.booleans())
    }
    return entry, {"name": entry.name, **given}


def _value(parameter: Parameter) -> Any:
    if parameter.name in NAMED:
        return st.sampled_from(NAMED[parameter.name])
    if parameter.choices:
        return st.sampled_from([*parameter.choices * 4, "x"])
    return st.sampled_from(VALUES[parameter.type])


def _options(entry: Statistic, *, sided: bool) -> list[str]:
    """The options that a test of this kind has; those of scores alone are of scores, once in a while."""
    own = {"decimals", "missing_range"}
    left = set() if entry.kind == "scores" else own
    return [name for name in OPTIONS if name not in left and (sided or name != "alternative")]


def _list(draw: Draw, values: list[Any], n: int) -> list[Any]:
    drawn: list[Any] = draw(st.lists(st.sampled_from(values), min_size=n, max_size=n))
    return drawn


def _columns(draw: Draw, entry: Statistic, names: tuple[str, ...], n: int) -> dict[str, Any]:
    """Columns of systems by their names, of one form, and gold, groups and events where the statistic takes them."""
    if entry.kind == "scores":
        values = draw(st.sampled_from(NUMBERS))
        if draw(st.integers(0, 2)):
            return {name: _list(draw, values, n) for name in names}
        lengths = draw(st.lists(st.integers(1, 3), min_size=n, max_size=n))
        return {name: [_list(draw, values, k) for k in lengths] for name in names}
    if entry.kind == "counts":
        fitting = COUNTED.get(entry.name, _CONFUSION)
        counted = draw(st.sampled_from([fitting] * 7 + [("tp", "incorrect"), ("x1",)]))
        return {name: {one: _list(draw, [0, 1, 2, 3, 5], n) for one in counted} for name in names}
    if entry.kind == "segments":
        gold = {"gold": _list(draw, TEXTS, n)}
        return gold | {name: _list(draw, TEXTS, n) for name in names}
    if entry.name in PAIRWISE:
        own: dict[str, Any] = {name: _list(draw, draw(st.sampled_from(NUMBERS)), n) for name in names}
        golds = LABELS[:2] if entry.name == "auc" else [[1, 2, 2.5, 4], [0, 1]]
        own["gold"] = _list(draw, draw(st.sampled_from(golds)), n)
        for extra, choices in (("groups", ["g", "h", 1]), ("event", [0, 1, True])):
            if draw(st.booleans()) and (extra == "groups" or entry.name == "concordance"):
                own[extra] = _list(draw, choices, n)
        return own
    labels = draw(st.sampled_from(LABELS[3:] if entry.name.startswith("span_") else LABELS[:3]))
    tagged = entry.name.startswith("span_")
    lengths = draw(st.lists(st.integers(1, 4), min_size=n, max_size=n))

    def column() -> list[Any]:
        return [_list(draw, labels, k) for k in lengths] if tagged else _list(draw, labels, n)

    return {name: column() for name in (*names, "gold")}


OPTIONS: dict[str, list[Any]] = {
    "alternative": list(get_args(Alternative)),
    "method": ["auto", "auto", *get_args(Method)],
    "test": list(get_args(Resampling)),
    "significance": list(get_args(Significance)),
    "alpha": [0.05, 0.5, 0.999, 1e-300],
    "confidence_level": [0.9, 0.5],
    "pmf": list(get_args(PmfDetail)),
    "exact_fraction": [True],
    "precision": [0.1, 1e-9],
    "decimals": [0, 3],
    "on_missing": ["drop", "bounds"],
    "missing_range": [[0, 1], [-1e300, 1e300], [0, 100]],
}


@st.composite
def single(draw: Draw, *, sided: bool = True) -> tuple[str, dict[str, Any]]:
    """The kind of a test and its request; a gate's is not `sided`."""
    entry, statistic = draw(statistics(("effects", "scores", "scores", "counts", "predictions", "segments")))
    n = draw(st.integers(1, 8))
    if entry.kind == "effects":
        width = draw(st.integers(1, 2))
        rows = [_list(draw, [0, 1, 2, -3, 0.5], width) for _ in range(2 * n)]
        body: dict[str, Any] = {"stay": rows[:n], "swap": rows[n:]}
    else:
        body = _columns(draw, entry, ("u", "v"), n)
    names = draw(st.lists(st.sampled_from(_options(entry, sided=sided)), max_size=3, unique=True))
    body |= {name: draw(st.sampled_from(OPTIONS[name])) for name in names}
    if entry.kind == "scores" and draw(st.integers(0, 3)) == 0:
        body["on_missing"] = "bounds"
    if body.get("on_missing") == "bounds" and entry.kind == "scores":
        for role in "uv":
            gone = draw(st.lists(st.integers(0, n - 1), max_size=3))
            body[role] = [None if at in gone else one for at, one in enumerate(body[role])]
    elif draw(st.integers(0, 3)):
        body.pop("missing_range", None)
    if draw(st.integers(0, 2)) == 0:
        body["clusters"] = _list(draw, ["x", "y", "z", 0], n)
    elif entry.kind == "scores" and draw(st.integers(0, 3)) == 0:
        body["weights"] = _list(draw, [1, 2, "1/3", 0.5], n)
    kind = "predictions" if entry.kind == "segments" else entry.kind
    return kind, {**body, "statistic": statistic, "samples": 50}


@st.composite
def gates(draw: Draw) -> dict[str, Any]:
    """A gate of one metric or two."""
    metrics = []
    for name in ("one", "other")[: draw(st.integers(1, 2))]:
        kind, request = draw(single(sided=False))
        terms: dict[str, Any] = {"policy": draw(st.sampled_from(get_args(Policy)))}
        if terms["policy"] == "equivalent" or draw(st.integers(0, 3)) == 0:
            terms["margin"] = draw(st.sampled_from([0.1, 0.25, 1, 1e-9, 50, 0.3]))
        if kind in {"effects", "counts"} or draw(st.booleans()):
            terms["higher_is_better"] = draw(st.booleans())
        metrics.append({"name": name, "kind": kind, "request": request, **terms})
    shared = {"on_inconclusive": draw(st.sampled_from(get_args(OnInconclusive)))}
    if len(metrics) == 1:
        return {name: value for name, value in (metrics[0] | shared).items() if name != "name"}
    return {"metrics": metrics, **shared}


@st.composite
def many(draw: Draw) -> dict[str, Any]:
    """A board of two or three systems, on one data set or two."""
    entry, statistic = draw(statistics(("scores", "counts", "predictions", "segments")))
    names = ("A", "B", "C")[: draw(st.integers(2, 3))]

    def board() -> dict[str, Any]:
        n = draw(st.integers(1, 7))
        own = _columns(draw, entry, names, n)
        own["systems"] = {name: own.pop(name) for name in names}
        if draw(st.integers(0, 3)) == 0:
            own["clusters"] = _list(draw, ["x", "y", "z"], n)
        return own

    kind = "predictions" if entry.kind == "segments" else entry.kind
    request: dict[str, Any] = {"kind": kind, "statistic": statistic, "samples": 50}
    if draw(st.integers(0, 3)):
        request |= board()
    else:
        request["datasets"] = {name: board() for name in ("d1", "d2")}
        request["aggregate"] = draw(st.sampled_from([None, "macro", "micro"]))
        request["combine"] = draw(st.sampled_from([None, None, "stouffer", "fisher"]))
    request["adjust"] = draw(st.sampled_from(["holm", "none", "max_t", "holm_discrete", "bh"]))
    if draw(st.booleans()):
        request["confidence_level"] = 0.9
    return request


FORMS = st.sampled_from(["json", "json", "text", "markdown", "html", "csv"])


def said(service: InProcess, kind: str, request: Any, form: str = "json") -> Any:
    """The checked answer; None for refusals and other media types."""
    answered = service.ask(
        "POST", path_of(kind), f"format={form}".encode(), JSON, json.dumps(request).encode()
    )
    judge_answer(kind, *answered)
    if answered.media == "application/problem+json" or form != "json":
        return None
    return json.loads(answered.body)


@examples(300)
@given(single(), FORMS)
def test_a_test_is_answered_or_refused(
    service: InProcess, asked: tuple[str, dict[str, Any]], form: str
) -> None:
    kind, request = asked
    answer = said(service, kind, request, form)
    if answer is None:
        return
    GENERATED[f"answers of {request['statistic']['name']}"] += 1
    low, high = answer["p_value_bounds"]
    alpha = answer["alpha"]
    assert 0 <= low <= answer["p_value"] <= high <= 1
    missing = answer["missing"]
    by_mid_p = request.get("significance") == "mid_p"
    if missing is None:
        mid = answer["mid_p_value"] if by_mid_p else None
        decides = low if mid is None else mid
        assert not (answer["significant"] and decides > alpha), request
    else:
        least, greatest = missing["p_value"]
        assert 0 <= least <= greatest <= 1
        assert missing["difference"][0] <= missing["difference"][1]
        assert not (answer["significant"] and least > (2 * alpha if by_mid_p else alpha)), request
        if not by_mid_p:
            assert answer["significant"] == (greatest <= alpha), request
    if answer["mid_p_value"] is not None:
        assert 0 < answer["mid_p_value"] <= high


@examples(200)
@given(gates(), FORMS)
def test_a_gate_is_answered_or_refused(service: InProcess, request_: dict[str, Any], form: str) -> None:
    answer = said(service, "gate", request_, form)
    if answer is None:
        return
    for metric in answer["metrics"]:
        GENERATED[f"gates of {metric['policy']}, {metric['verdict']}"] += 1
        high = metric["decision"]["p_value_bounds"][1]
        shown = high <= metric["alpha"]
        if (
            len(answer["metrics"]) == 1
            and metric["policy"] != "no_regression"
            and metric["verdict"] == "pass"
        ):
            assert shown, request_  # nothing passes that is not proven
        if metric["policy"] == "equivalent" and metric["verdict"] == "pass":
            both = metric["decision"]["equivalence"]
            assert max(both["p_value_above"], both["p_value_below"]) <= metric["alpha"], request_


@examples(120)
@given(many())
def test_a_board_is_answered_or_refused(service: InProcess, request_: dict[str, Any]) -> None:
    answer = said(service, "compare", request_)
    if answer is not None:
        GENERATED[f"boards of {answer['statistic']}"] += 1


@examples(50)
@given(st.one_of(single(), many()))
def test_a_plan_is_answered_or_refused(service: InProcess, asked: Any) -> None:
    kind, request = asked if isinstance(asked, tuple) else ("compare", asked)
    said(service, "plan", {"kind": kind, "request": request})
