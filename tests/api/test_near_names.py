"""A name that is none is answered with what was probably meant, and texts that differ are cut where they do."""

from __future__ import annotations

from typing import Any

import pytest

from exactperm.inputs.quoting import QUOTED_CHARS, quoted, quoted_apart
from tests.api.conftest import problem

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
def test_a_field_that_is_nearly_one_is_told(
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
def test_a_statistic_that_nobody_knows_is_refused_as_it_was(service: Any, name: object) -> None:
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
