"""Over HTTP, with an engine that is broken: no representation prints its number, no gate passes by it (hostile C1)."""

import math
from collections.abc import Iterator
from typing import Any

import pytest

from exactperm.api import endpoint
from exactperm.engine.joint import methods as joint_methods
from exactperm.engine.one_sum import methods
from exactperm.engine.probability import Probability
from exactperm.execution.ipc import Unbounded
from exactperm.inference import additive, joint
from exactperm.inference.certificate import certified
from exactperm.service.pipeline import handle
from exactperm.settings import Settings
from tests.api.conftest import Service, problem as refused, running

UNSURE = Probability(math.log(1e-17), math.inf)
U = {"tp": [1, 0, 1, 1, 0, 1, 1, 0], "incorrect": [1, 2, 0, 1, 3, 0, 1, 2]}
V = {"tp": [1, 1, 1, 1, 1, 1, 0, 1], "incorrect": [0, 0, 1, 0, 1, 0, 1, 0]}
F1: dict[str, Any] = {"u": U, "v": V, "statistic": {"name": "f1"}}
SCORES: dict[str, Any] = {"u": [1, 5, 2, 8, 3], "v": [2, 1, 7, 9, 9]}
FORMATS = ["json", "text", "csv", "markdown", "html"]


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    """Everything in this process, where the engine can be broken."""
    settings = Settings(workers=1)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(endpoint.InPlace, "try_to", lambda _, job, body, **__: handle(job, body, Unbounded()))
        yield from running(settings)


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (methods, joint_methods):
        monkeypatch.setattr(module, "exact_probability", lambda *_: UNSURE)
    monkeypatch.setattr(methods, "with_ties", lambda *_: (UNSURE, UNSURE))


@pytest.mark.usefixtures("broken")
@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize(("kind", "body", "method"), [("counts", F1, "grid"), ("scores", SCORES, "fft")])
def test_a_method_that_cannot_prove_its_answer_is_refused_in_every_representation(
    service: Service, kind: str, body: dict[str, Any], method: str, format_: str
) -> None:
    asked = {**body, "method": method, "seed": 17}
    problem = refused(service.post(f"/v1/tests/{kind}?format={format_}", asked), 422)
    assert [(error["pointer"], error["code"]) for error in problem["errors"]] == [
        ("/method", "not_certified")
    ]


@pytest.mark.usefixtures("broken")
@pytest.mark.parametrize("format_", [*FORMATS, "junit"])
@pytest.mark.parametrize(
    ("kind", "body", "margin"), [("counts", F1, 0.0), ("scores", SCORES, 0.0), ("scores", SCORES, 0.25)]
)
def test_a_gate_without_a_certificate_is_an_error(
    service: Service, kind: str, body: dict[str, Any], margin: float, format_: str
) -> None:
    method = {"counts": "grid", "scores": "fft"}[kind]
    asked = {"kind": kind, "request": {**body, "method": method, "seed": 18}, "margin": margin}
    refused(service.post(f"/v1/gate?format={format_}", asked), 422)


@pytest.mark.usefixtures("broken")
@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize(
    ("kind", "body", "by", "word"), [("counts", F1, "sampled", "(sampled"), ("scores", SCORES, "bounds", "")]
)
def test_auto_falls_back_and_every_representation_says_so(
    service: Service, kind: str, body: dict[str, Any], by: str, word: str, format_: str
) -> None:
    response = service.post(f"/v1/tests/{kind}?format={format_}", {**body, "seed": 19})
    assert response.status_code == 200
    assert "1e-17" not in response.text
    if format_ == "json":
        answer = response.json()
        assert not answer["method"]["exact"]
        assert by in answer["method"]["reason"]
        assert 0 < answer["p_value_bounds"][0] <= answer["p_value"] <= answer["p_value_bounds"][1]
    elif format_ == "text":
        assert "(exact" not in response.text
        assert word in response.text


def test_when_the_answer_changes_between_method_and_record_it_is_a_fault_of_the_service(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last check before the response: nothing is printed, no gate passes."""
    for module in (additive, joint):
        monkeypatch.setattr(
            module,
            "certified_by",
            lambda methods, run, *, least_log10: (next(iter(methods)), certified(UNSURE)),
        )
    for format_ in FORMATS:
        refused(service.post(f"/v1/tests/counts?format={format_}", {**F1, "seed": 20}), 500)
        gate = {"kind": "counts", "request": {**F1, "seed": 21}}
        refused(service.post(f"/v1/gate?format={format_}", gate), 500)
