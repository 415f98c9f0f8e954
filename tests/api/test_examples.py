"""The examples beside the OpenAPI document: every one works and has the p-value its source has.

The exact p-values are written out here, so that the check is a real one without the data pack, too. They come from
the pack's `expected/` (exact integers from polynomial products, made without this program); the three small ones
can be counted by hand.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "openapi" / "examples"
PACK = ROOT.parent / "shared" / "data"
MEDIA = {".json": "application/json", ".csv": "text/csv"}


@dataclass(frozen=True)
class Exact:
    """p = numerator / 2**denominator, `decimal` the same to 21 digits; n items and U's and V's scores."""

    decimal: str
    numerator: int
    denominator: int
    n: int
    u: float | None
    v: float | None


EWT_WORDS, TRIVIA_ITEMS = 25_094, 1_715
BY_SENTENCE = Exact(  # expected/conllu_en_ewt-ud.json: upos, perceptron against crf, sentence
    "1.79192898707173166777e-3",
    110799628945936234413216034940202086337448536630181759691423246531705872586607974106492514648761219731904913916806442924737842351396160196163713647866780237919577934662925,
    574, 2_077, 23_554 / EWT_WORDS, 23_662 / EWT_WORDS,
)  # fmt: skip
BY_DOCUMENT = Exact(  # the same, document (newdoc id)
    "9.04722637740472007213e-3", 27729668161153965609446595671657399389718458485462057,
    181, 2_077, 23_554 / EWT_WORDS, 23_662 / EWT_WORDS,
)  # fmt: skip
TRIVIA = Exact(  # expected/llm_eus_trivia.json: gpt-4-0613 against gpt-4-0125-preview, all categories
    "6.92004975175739162128e-6",
    61996580188429748506134946303969088540666642165466166308118147658809314344342663744902719060713581,
    342, TRIVIA_ITEMS, 1_170 / TRIVIA_ITEMS, 1_254 / TRIVIA_ITEMS,
)  # fmt: skip
AVERAGE_PRECISION = Exact(  # expected/trec_robust03.json: map, aplrob03a against uic0301
    "6.79081963899802954998e-4", 215209664785437506493298445, 98, 100, 0.299820, 0.240353,
)  # fmt: skip

ANSWERS: dict[str, Exact] = {
    "effects-small.json": Exact("0.5", 1, 1, 4, None, None),  # 4 of the 8 signed sums of 3, 1, 2 reach 4
    "predictions-small.json": Exact("0.21875", 7, 5, 8, 7 / 8, 3 / 8),  # 5 wins, 1 loss: 2 (1 + 6) / 2^6
    "scores-cs478.json": Exact("0.0625", 1, 4, 5, 0.866, 0.82),  # 5 wins of 5: 2 / 2^5
    "predictions-ewt-upos-by-sentence.json": BY_SENTENCE,
    "predictions-ewt-upos-by-document.json": BY_DOCUMENT,
    "scores-eus-trivia.json": TRIVIA,
    "scores-eus-trivia.csv": TRIVIA,
    "scores-robust03-map.json": AVERAGE_PRECISION,
}


def posted(service: Any, name: str, **more: Any) -> dict[str, Any]:
    """The answer to an example, with more options than it has itself."""
    content, media = (EXAMPLES / name).read_bytes(), MEDIA[Path(name).suffix]
    url = f"/v1/tests/{name.partition('-')[0]}"
    if media == "text/csv":
        url += "?" + "&".join(f"{option}={json.dumps(value)}" for option, value in more.items())
    elif more:
        content = json.dumps({**json.loads(content), **more}).encode()
    response = service.body(url, content, media)
    assert response.status_code == 200, (name, response.text[:1000])
    said: dict[str, Any] = response.json()
    return said


def test_every_example_has_an_expected_answer_here() -> None:
    assert {path.name for path in EXAMPLES.iterdir() if path.suffix in MEDIA} == set(ANSWERS)


@pytest.mark.parametrize("name", ANSWERS)
def test_an_example_has_its_exact_p_value_and_a_certificate_that_holds(service: Any, name: str) -> None:
    said, exact = posted(service, name), ANSWERS[name]
    p = float(exact.decimal)
    assert said["method"]["exact"] is True
    assert said["p_value"] == pytest.approx(p, rel=1e-12, abs=0)
    assert said["log10_p_value"] == pytest.approx(math.log10(p), rel=0, abs=1e-12)
    assert said["p_value_bounds"][0] <= p <= said["p_value_bounds"][1]
    assert said["items"]["n"] == exact.n
    assert (said["statistic"]["u"], said["statistic"]["v"]) == (exact.u, exact.v)


@pytest.mark.parametrize("name", ANSWERS)
def test_the_exact_fraction_of_an_example_is_the_pack_s_digit_for_digit(service: Any, name: str) -> None:
    said, exact = posted(service, name, exact_fraction=True), ANSWERS[name]
    assert said["p_value_fraction"] == {
        "numerator": str(exact.numerator),
        "log2_denominator": exact.denominator,
    }
    assert exact.numerator / 2**exact.denominator == float(exact.decimal)


def test_documents_swap_as_a_whole(service: Any) -> None:
    said = posted(service, "predictions-ewt-upos-by-document.json")
    assert said["items"]["clusters"] == 316
    assert said["items"]["nonzero"] == 184


def test_the_table_and_the_json_are_the_same_test(service: Any) -> None:
    table = posted(service, "scores-eus-trivia.csv")
    keyed = posted(service, "scores-eus-trivia.json")
    for field in ("p_value", "p_value_bounds", "statistic", "null", "method"):
        assert table[field] == keyed[field]
    assert keyed["pairing"] == {"matched": TRIVIA_ITEMS, "only_u": 0, "only_v": 0}
    assert table["pairing"] is None


def test_every_example_has_its_source_and_terms_beside_it() -> None:
    notice = (EXAMPLES / "NOTICE.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `([^`]+)` \|.*\| ([\d.e-]+) \|[^|]+\|$", notice, flags=re.MULTILINE))
    assert set(rows) == set(ANSWERS)
    for name, said in rows.items():
        assert float(said) == float(f"{float(ANSWERS[name].decimal):.6g}"), name
    for needed in ("15d613d8447b3478787d4c278730a1e48a945efb", "CC BY-SA 4.0", "a25de15716d483eef2783778ec258e1d3b1c8be7",
                   "Copyright (c) 2024 HiTZ zentroa", "8a896def007e3d657eb29f820ee3de98e2f32691",
                   "Copyright (c) 2022, João Palotti"):  # fmt: skip
        assert needed in notice


@pytest.mark.parametrize("name", [name for name in ANSWERS if name.endswith(".json")])
def test_an_example_matches_its_schema_in_the_document(name: str) -> None:
    document = json.loads((ROOT / "openapi" / "openapi.json").read_text(encoding="utf-8"))
    operation = document["paths"][f"/v1/tests/{name.partition('-')[0]}"]["post"]
    schema = operation["requestBody"]["content"]["application/json"]["schema"]
    fits = jsonschema_rs.validator_for({"components": document["components"], **schema}).is_valid
    body = json.loads((EXAMPLES / name).read_bytes())
    assert fits(body)
    # What the service refuses must not match, or the check above checks nothing.
    assert not fits({**body, "no such field": 1})
    assert not fits({**body, "statistic": {"name": "no such statistic"}})
    column = "stay" if "stay" in body else "u"
    assert not fits({**body, column: [None]})
    assert not fits({key: value for key, value in body.items() if key != column})


@pytest.mark.pack
def test_the_examples_are_what_the_pack_makes_them() -> None:
    from openapi.make_examples import examples

    made = examples(PACK)
    assert set(made) == set(ANSWERS)
    for name, text in made.items():
        assert (EXAMPLES / name).read_text(encoding="utf-8") == text, name
