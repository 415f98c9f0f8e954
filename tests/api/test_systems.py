"""Several systems in one test, over HTTP: against enumeration in fractions, SciPy, statsmodels and tests of two systems."""

import itertools
import random
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.contingency_tables import cochrans_q

import exactperm
from tests.api.conftest import errors_of

PATH = "/v1/tests/systems"
NAMES = "ABCD"
Row = Sequence[Any]


def ask(service: Any, table: Any, statistic: Any, **options: Any) -> Any:
    columns = {
        name: [row[index] for row in table] for index, name in zip(range(len(table[0])), NAMES, strict=False)
    }
    return service.post(PATH, {"systems": columns, "statistic": statistic, **options})


def mid_ranks(row: Row) -> list[Fraction]:
    return [Fraction(2 * sum(x < y for x in row) + sum(x == y for x in row) + 1, 2) for y in row]


def omnibus(rows: Sequence[Row], systems: int) -> Fraction:
    """(K - 1) times the sum of squares between columns over that of all, of rows less their means."""
    centred = [[value - sum(row) / systems for value in row] for row in rows]
    whole = sum(value * value for row in centred for value in row)
    totals = [sum(row[index] for row in centred) for index in range(systems)]
    return Fraction((systems - 1) * sum(total * total for total in totals)) / whole if whole else Fraction(0)


def p_by_enumeration(table: Sequence[Row], value: Any, side: str) -> Fraction:
    """The share of all ways to hand out each row's scores whose value is as extreme."""
    values = [
        value(ways) for ways in itertools.product(*(list(itertools.permutations(row)) for row in table))
    ]
    observed, mean = value(table), sum(values) / Fraction(len(values))
    if side == "two-sided":
        extreme = sum(abs(one - mean) >= abs(observed - mean) for one in values)
    else:
        extreme = sum(one >= observed if side == "greater" else one <= observed for one in values)
    return Fraction(extreme, len(values))


def made(chance: random.Random) -> tuple[list[list[int]], dict[str, Any], Any, bool]:
    """A table of a few items, a statistic, its value of a table, and whether it has sides."""
    name = chance.choice(["contrast", "page", "cochran_q", "friedman"])
    systems = chance.choice([3, 3, 4] if name in {"cochran_q", "friedman"} else [2, 3, 3])
    items = chance.randint(1, 1 if systems == 4 else 3)
    top = 1 if name == "cochran_q" else chance.choice([1, 2, 9])
    table = [[chance.randint(0, top) for _ in range(systems)] for _ in range(items)]
    if name == "contrast":
        weights = [chance.randint(-2, 2) for _ in range(systems - 1)]
        weights = [1, *weights[1:]] if not any(weights) else weights
        weights.append(-sum(weights))
        weights = weights if any(weights) else [1, -1] + [0] * (systems - 2)

        def contrast(rows: Sequence[Row]) -> Fraction:
            return (
                sum((Fraction(w * x) for row in rows for w, x in zip(weights, row, strict=True)), Fraction(0))
                / items
            )

        return table, {"name": name, "weights": dict(zip(NAMES, weights, strict=False))}, contrast, True
    if name == "page":
        order = chance.sample(NAMES[:systems], systems)
        places = [order.index(one) + 1 for one in NAMES[:systems]]

        def page(rows: Sequence[Row]) -> Fraction:
            ranks = (zip(places, mid_ranks(row), strict=True) for row in rows)
            return sum((place * rank for row in ranks for place, rank in row), Fraction(0))

        return table, {"name": name, "order": order}, page, True

    def chi(rows: Sequence[Row]) -> Fraction:
        scored = [mid_ranks(row) if name == "friedman" else [Fraction(x) for x in row] for row in rows]
        return omnibus(scored, systems)

    return table, {"name": name}, chi, False


@pytest.mark.parametrize("seed", range(20))
def test_every_statistic_has_the_p_value_of_all_ways(service: Any, seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(100):
        table, statistic, value, sided = made(chance)
        side = chance.choice(["two-sided", "greater", "less"]) if sided else "greater"
        answer = ask(service, table, statistic, pmf="none", **({"alternative": side} if sided else {})).json()
        expected = p_by_enumeration(table, value, side)
        assert answer["statistic"]["observed"] == pytest.approx(float(value(table)), abs=1e-12)
        assert answer["method"]["exact"]
        assert answer["p_value"] == pytest.approx(float(expected), rel=1e-9), (table, statistic, side)
        assert answer["p_value"] >= answer["min_attainable_p"] * (1 - 1e-9)


def test_two_ways_to_compute_agree_down_to_deep_tails(service: Any) -> None:
    chance = np.random.default_rng(3)
    for shift in (0.0, 0.1, 0.3, 0.45):
        table = (chance.random((150, 3)) < [0.5 - shift, 0.5, 0.5 + shift]).astype(int).tolist()
        transform, counted = (
            ask(service, table, "cochran_q", method=method, pmf="none").json()
            for method in ("fft", "rational")
        )
        assert transform["p_value"] == pytest.approx(counted["p_value"], rel=1e-9)
        assert transform["method"]["relative_error_bound"] < 1e-6
        assert transform["mid_p_value"] == pytest.approx(counted["mid_p_value"], rel=1e-6)


def test_ranks_with_and_without_ties_agree_by_both_methods(service: Any) -> None:
    chance = np.random.default_rng(4)
    for top in (2, 4, 100):
        table = chance.integers(0, top, (60, 3)).tolist()
        transform, counted = (
            ask(service, table, "friedman", method=method, pmf="none").json()
            for method in ("fft", "rational")
        )
        assert transform["p_value"] == pytest.approx(counted["p_value"], rel=1e-8)


def test_values_are_those_of_scipy_and_statsmodels(service: Any) -> None:
    chance = np.random.default_rng(5)
    for systems in (3, 4):
        scores = chance.integers(0, 4, (40, systems))
        answer = ask(service, scores.tolist(), "friedman", pmf="none").json()
        assert answer["statistic"]["observed"] == pytest.approx(stats.friedmanchisquare(*scores.T).statistic)
        right = chance.integers(0, 2, (40, systems))
        answer = ask(service, right.tolist(), "cochran_q", pmf="none").json()
        assert answer["statistic"]["observed"] == pytest.approx(cochrans_q(right).statistic)
    distinct = np.array([chance.permutation(4) for _ in range(7)])
    trend = stats.page_trend_test(distinct, method="exact")
    statistic = {"name": "page", "order": list(NAMES)}
    answer = ask(service, distinct.tolist(), statistic, alternative="greater").json()
    assert answer["statistic"]["observed"] == trend.statistic
    assert answer["p_value"] == pytest.approx(trend.pvalue, rel=1e-9)


def test_many_items_are_near_the_law_of_chi_squared(service: Any) -> None:
    chance = np.random.default_rng(6)
    table = (chance.random((2_000, 3)) < [0.5, 0.53, 0.56]).astype(int)
    answer = ask(service, table.tolist(), "cochran_q").json()
    assert answer["method"]["name"] == "fft"
    assert answer["p_value"] == pytest.approx(cochrans_q(table).pvalue, rel=0.02)
    assert answer["null"]["mean"] == pytest.approx(2.0, rel=1e-9)


def test_a_contrast_of_two_systems_is_the_test_of_their_scores(service: Any) -> None:
    chance = np.random.default_rng(7)
    u, v = chance.integers(0, 11, (2, 50)).tolist()
    statistic = {"name": "contrast", "weights": {"A": 1, "B": -1}}
    for side in ("two-sided", "greater", "less"):
        options = {"alternative": side, "pmf": "none"}
        answer = ask(service, list(zip(u, v, strict=True)), statistic, **options).json()
        pair = service.post("/v1/tests/scores", {"u": u, "v": v, **options}).json()
        for name in ("p_value", "mid_p_value", "min_attainable_p"):
            assert answer[name] == pytest.approx(pair[name], rel=1e-9)


def test_an_interaction_flips_the_signs_of_differences_of_differences(service: Any) -> None:
    chance = np.random.default_rng(8)
    table = chance.integers(0, 5, (12, 4))
    a, b = table[:, 0] - table[:, 1], table[:, 2] - table[:, 3]
    statistic = {"name": "interaction", "pairs": [["A", "B"], ["C", "D"]]}
    answer = ask(service, table.tolist(), statistic).json()
    pair = service.post("/v1/tests/scores", {"u": a.tolist(), "v": b.tolist()}).json()
    assert answer["p_value"] == pair["p_value"]
    assert answer["statistic"]["observed"] == pytest.approx(pair["statistic"]["observed"])


def test_many_systems_are_sampled_and_say_so(service: Any) -> None:
    chance = np.random.default_rng(9)
    scores = chance.normal(size=(60, 4)).round(3).tolist()
    answer = ask(service, scores, "friedman", samples=2_000).json()
    assert (answer["method"]["name"], answer["method"]["exact"]) == ("monte_carlo", False)
    low, high = answer["p_value_bounds"]
    assert low <= stats.friedmanchisquare(*np.array(scores).T).pvalue <= high


def test_items_without_a_difference_change_nothing(service: Any) -> None:
    table = [[1, 0, 0], [1, 1, 0], [1, 0, 1], [1, 0, 0]]
    for statistic in ("cochran_q", "friedman", {"name": "page", "order": ["C", "B", "A"]}):
        first, more = (
            ask(service, rows, statistic, pmf="none").json()
            for rows in (table, [*table, [1, 1, 1], [0, 0, 0]])
        )
        assert first["p_value"] == pytest.approx(more["p_value"], rel=1e-12)


@pytest.mark.parametrize("method", ["auto", "monte_carlo"])
@pytest.mark.parametrize("systems", [3, 4])
def test_equal_scores_everywhere_have_p_one(service: Any, systems: int, method: str) -> None:
    for name in ("friedman", "cochran_q"):
        answer = ask(service, [[1] * systems] * 3, name, method=method).json()
        assert (answer["p_value"], answer["statistic"]["observed"]) == (1.0, 0.0)


def test_items_that_lack_a_score_are_left_out(service: Any) -> None:
    rows: list[list[int | None]] = [[1, 0, 0], [None, 1, 0], [1, 0, 1], [1, 0, None]]
    there = [row for row in rows if None not in row]
    answers = [ask(service, table, "friedman", on_missing="complete").json() for table in (rows, there)]
    assert answers[0]["p_value"] == answers[1]["p_value"]
    assert answers[0]["items"]["n"] == 2
    assert answers[0]["warnings"][0]["code"] == "items_left_out"


@pytest.mark.parametrize("statistic", ["friedman", "cochran_q", {"name": "page", "order": ["B", "A", "C"]}])
def test_several_runs_of_an_item_are_refused(service: Any, statistic: Any) -> None:
    columns = {"A": [[1, 0], [1, 1]], "B": [[1, 0], [0, 1]], "C": [[0, 0], [1, 1]]}
    response = service.post(PATH, {"systems": columns, "statistic": statistic})
    assert response.status_code == 422
    assert [tuple(error)[:2] for error in errors_of(response)] == [("/systems/A", "not_available")]


def test_scores_with_too_many_orders_are_refused_at_once(service: Any) -> None:
    columns = {f"s{index:02}": [index * index, 7 * index % 31] for index in range(20)}
    response = service.post(PATH, {"systems": columns, "statistic": {"name": "page", "order": list(columns)}})
    assert [tuple(error)[1] for error in errors_of(response)] == ["too_many_ways"]
    pair = {"name": "contrast", "weights": {"s00": 1, "s01": -1}}
    some = dict(list(columns.items())[:9])
    assert service.post(PATH, {"systems": some, "statistic": pair}).status_code == 200


def test_unequal_runs_offer_no_option_that_is_not_there(service: Any) -> None:
    response = ask(service, [[[1, 0], [1], [0]]], "friedman")
    (flaw,) = response.json()["errors"]
    assert (flaw["pointer"], flaw["code"]) == ("/systems/B/0", "unequal_repeats")
    assert "choices" not in flaw


def test_the_order_of_systems_and_items_changes_no_byte(service: Any) -> None:
    columns = {"B": [1, 0, 1, 1], "A": [0, 0, 1, 0], "C": [1, 1, 1, 0]}
    body = {"systems": columns, "statistic": "cochran_q"}
    turned = {"systems": dict(sorted(columns.items())), "statistic": "cochran_q"}
    answers = [service.post(PATH, one).json() for one in (body, turned)]
    assert [one.pop("runtime") for one in answers]
    assert answers[0] == answers[1]


@pytest.mark.parametrize(
    ("body", "pointer", "code"),
    [
        ({"statistic": {"name": "contrast", "weights": {"A": 1, "X": -1}}}, "/statistic/weights/X", "unknown_system"),
        ({"statistic": {"name": "contrast", "weights": {"A": 1, "B": 1}}}, "/statistic/weights", "weights_not_zero_sum"),
        ({"statistic": {"name": "page", "order": ["A", "X", "B"]}}, "/statistic/order/1", "unknown_system"),
        ({"statistic": {"name": "page", "order": ["A", "B"]}}, "/statistic/order", "incomplete"),
        ({"statistic": "page"}, "/statistic/order", "missing"),
        ({"statistic": {"name": "friedman", "order": ["A", "B"]}}, "/statistic/order", "superfluous"),
        ({"statistic": "cochran_q", "alternative": "less"}, "/alternative", "no_alternative"),
        ({"statistic": "cochran_q", "systems": {"A": [1, 2], "B": [0, 1], "C": [0, 0]}}, "/systems/A/1", "not_right_or_wrong"),
        ({"statistic": "cochran_q", "systems": {"a/b~": [1, 2], "B": [0, 1], "C": [0, 0]}}, "/systems/a~1b~0/1", "not_right_or_wrong"),
        ({"statistic": {"name": "contrast", "weights": {"A": 1, "a/~": -1}}}, "/statistic/weights/a~1~0", "unknown_system"),
        ({"statistic": "friedman", "systems": {"A": [1, None], "B": [0, 1], "C": [0, 0]}}, "/systems/A/1", "not_a_number"),
        ({"statistic": "friedman", "systems": {"A": [1, 2], "B": [0, 1]}}, "/systems", "too_few_systems"),
        ({"statistic": "friedman", "systems": {"A": [1, 2]}}, "/systems", "too_few_systems"),
    ],
)  # fmt: skip
def test_refusals_name_the_place(service: Any, body: dict[str, Any], pointer: str, code: str) -> None:
    given = {"systems": {"A": [1, 0], "B": [0, 1], "C": [0, 0]}, **body}
    response = service.post(PATH, given)
    assert response.status_code == 422
    assert [tuple(error)[:2] for error in errors_of(response)] == [(pointer, code)]


def test_a_table_the_package_and_json_agree(service: Any) -> None:
    columns = {"A": [1, 0, 1, 1, 0], "B": [0, 0, 1, 0, 0], "C": [1, 1, 1, 0, 1]}
    rows = zip(range(5), *columns.values(), strict=True)
    text = "id,A,B,C\n" + "".join(f"q{row[0]},{row[1]},{row[2]},{row[3]}\n" for row in rows)
    form = {"statistic": "page", "order": "B,A,C", "alternative": "greater"}
    of_file = service.post(PATH, data=form, files={"file": ("t.csv", text.encode())}).json()
    statistic = {"name": "page", "order": ["B", "A", "C"]}
    of_json = service.post(
        PATH, {"systems": columns, "statistic": statistic, "alternative": "greater"}
    ).json()
    here = exactperm.systems(columns, statistic, alternative="greater")
    assert of_file["p_value"] == of_json["p_value"] == here.p_value
    assert of_file["id"] == of_json["id"] == here.id


def test_a_plan_and_a_list_have_it(service: Any) -> None:
    request = {"systems": {"A": [1, 0, 1], "B": [0, 0, 1], "C": [1, 1, 1]}, "statistic": "cochran_q"}
    plan = service.post("/v1/plan", {"kind": "systems", "request": request}).json()
    answer = service.post(PATH, request).json()
    assert (plan["kind"], plan["method"]) == ("systems", answer["method"]["name"])
    listed = service.post("/v1/batch", {"tests": [{"kind": "systems", "request": request}]}).json()
    assert answer["id"] in str(listed)


def test_an_exact_fraction_is_there_or_refused(service: Any) -> None:
    table = [[1, 0, 0]] * 300 + [[0, 1, 1]] * 260
    assert ask(service, table, "cochran_q", pmf="none").json()["method"]["name"] == "fft"
    counted = ask(service, table, "cochran_q", pmf="none", exact_fraction=True).json()
    assert counted["p_value_fraction"] is not None
    refused = ask(service, table, "cochran_q", method="fft", exact_fraction=True)
    assert errors_of(refused) == [("/exact_fraction", "fraction_not_available")]


def test_scores_of_many_digits_have_a_contrast(service: Any) -> None:
    chance = np.random.default_rng(11)
    u, v, w = chance.random((3, 30)).tolist()
    pair = ask(service, list(zip(u, v, strict=True)), {"name": "contrast", "weights": {"A": 1, "B": -1}})
    assert pair.json()["p_value"] == service.post("/v1/tests/scores", {"u": u, "v": v}).json()["p_value"]
    three = {"name": "contrast", "weights": {"A": 1, "B": 1, "C": -2}}
    table = list(zip(u, v, w, strict=True))
    low, high = ask(service, table, three).json()["p_value_bounds"]
    assert high < low * 1.002
    sample = ask(service, table, three, method="monte_carlo").json()["p_value_bounds"]
    assert sample[0] < low < high < sample[1]


def test_missing_items_offer_no_pairs(service: Any) -> None:
    columns = {"A": {"q1": 1, "q2": 0}, "B": {"q1": 0}, "C": {"q1": 1, "q2": 1}}
    response = service.post(PATH, {"systems": columns, "statistic": "friedman"})
    (flaw,) = response.json()["errors"]
    assert (flaw["pointer"], flaw["code"]) == ("/systems/B", "unmatched_ids")
    assert [choice["fields"] for choice in flaw["choices"]] == [{"on_missing": "complete"}]
    assert "pairwise" not in response.text


@pytest.mark.parametrize("media", ["text/plain", "text/markdown", "text/html"])
def test_reports_speak_of_the_systems_that_there_are(service: Any, media: str) -> None:
    columns = {"A": [1, 1, 1, 0], "B": [0, 1, 0, 0], "C": [0, 0, 1, 0], "D": [1, 0, 0, 1]}
    for name, title in {"cochran_q": "Cochran", "friedman": "Friedman"}.items():
        report = service.post(PATH, {"systems": columns, "statistic": name}, headers={"accept": media}).text
        assert not any(word in report for word in ("wins", "Wins", "U above V", ">against<"))
        assert title in report or media == "text/plain"
    pairs = {"name": "interaction", "pairs": [["A", "B"], ["C", "D"]]}
    report = service.post(PATH, {"systems": columns, "statistic": pairs}, headers={"accept": media}).text
    assert "A - B" in report
    assert "C - D" in report


def test_many_items_of_many_systems_can_be_sampled(service: Any) -> None:
    chance = np.random.default_rng(12)
    table = chance.permuted(np.tile(np.arange(8), (50_000, 1)), axis=1)
    columns = {name: table[:, index].tolist() for index, name in enumerate("ABCDEFGH")}
    request = {"systems": columns, "statistic": "friedman"}
    plan = service.post("/v1/plan", {"kind": "systems", "request": request}).json()
    assert plan["method"] == "monte_carlo"


def test_rows_that_are_handed_out_together_have_the_law_of_shuffles(service: Any) -> None:
    """Of 40 items with one order of four scores each, and 3 with another one."""
    table = [[1, 2, 3, 4]] * 14 + [[2, 1, 4, 3]] * 13 + [[4, 3, 1, 2]] * 13 + [[5, 5, 6, 6]] * 3
    drawn = ask(service, table, "friedman", method="monte_carlo", samples=20_000).json()
    p = stats.chi2.sf(drawn["statistic"]["observed"], 3)
    assert drawn["p_value_bounds"][0] * 0.9 < p < drawn["p_value_bounds"][1] * 1.1
    assert drawn["null"]["mean"] == pytest.approx(3, abs=0.15)
