"""Test evaluation files as multipart: one curl line each, errors with file, line and field, and rows in another order."""

import gzip
import json
import sys
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from exactperm.api.openapi.schemas import TestAnswer
from exactperm.inputs.formats import catalogue
from exactperm.inputs.formats.roles import ROLES
from exactperm.service.parse_files import FIELDS
from tests.api.conftest import answer_to, codes_of, error_of, problem

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

PATH = "/v1/tests/files"
DATA = Path(__file__).parents[1] / "data"
Files = dict[str, tuple[str, bytes]]

WIDE = b"id,u,v\na,1,0\nb,1,1\nc,0,0\nd,1,0\ne,1,0\n"
U_LINES = b'{"id":"a","score":1}\n{"id":"b","score":1}\n{"id":"c","score":0.5}\n'
V_LINES = b'{"id":"c","score":0.5}\n{"id":"b","score":0}\n{"id":"a","score":0}\n'


def post(service: Any, files: Files, path: str = PATH, **fields: str) -> Any:
    return service.request("POST", path, files=files, data=fields)


def of_lines(u: bytes = U_LINES, v: bytes = V_LINES) -> Files:
    return {"u": ("u.jsonl", u), "v": ("v.jsonl", v)}


def word(index: int, form: str, upos: str) -> str:
    return "\t".join((str(index), form, "_", upos, "_", "_", "0", "root", "_", "_"))


def conllu(*sentences: str) -> bytes:
    """Sentences of `form/UPOS` words."""
    blocks = []
    for sentence in sentences:
        words = [part.split("/") for part in sentence.split()]
        blocks.append("\n".join(word(i, *pair) for i, pair in enumerate(words, 1)) + "\n\n")
    return "".join(blocks).encode()


GOLD = conllu("the/DET cat/NOUN sat/VERB", "dogs/NOUN bark/VERB")


def treebanks(u: bytes = GOLD, v: bytes | None = None) -> Files:
    wrong = conllu("the/DET cat/VERB sat/VERB", "dogs/NOUN bark/NOUN") if v is None else v
    return {"gold": ("gold.conllu", GOLD), "u": ("u.conllu", u), "v": ("v.conllu", wrong)}


def lm_eval(*filters: str, score: int = 1) -> bytes:
    record = {
        "doc_id": 0,
        "doc_hash": "h",
        "target_hash": "t",
        "metrics": ["exact_match"],
        "exact_match": score,
    }
    return b"".join(json.dumps({**record, "filter": name}).encode() + b"\n" for name in filters)


def test_files_are_the_same_test_as_the_numbers_in_them(service: Any) -> None:
    wanted = service.post(
        "/v1/tests/scores", {"u": [1, 1, 0, 1, 1], "v": [0, 1, 0, 0, 0], "alternative": "greater"}
    ).json()
    response = post(service, {"file": ("scores.csv", WIDE)}, format="csv", alternative="greater")
    assert response.status_code == 200, response.text
    said = response.json()
    TestAnswer.model_validate_json(response.content)
    assert (said["p_value"], said["statistic"]) == (wanted["p_value"], wanted["statistic"])
    assert said["reading"]["format"] == "csv"
    assert said["reading"]["guessed"] is False
    assert any("5 items" in note for note in said["reading"]["notes"])


def test_a_guessed_format_says_so_and_systems_are_paired_by_id(service: Any) -> None:
    said = post(service, of_lines()).json()
    assert (said["reading"]["format"], said["reading"]["guessed"]) == ("jsonl", True)
    assert said["pairing"] == {"matched": 3, "only_u": 0, "only_v": 0}
    assert (said["items"]["wins"], said["items"]["ties"]) == (2, 1)


def test_every_common_option_is_a_field(service: Any) -> None:
    said = answer_to(
        post(
            service,
            of_lines(),
            format="jsonl",
            statistic="signed_rank",
            zero_method="pratt",
            alternative="less",
            method="monte_carlo",
            test="permutation",
            pmf="none",
            samples="500",
            seed="7",
            precision="0.01",
            alpha="0.1",
            exact_fraction="false",
            timeout_s="5",
            name_u="A",
            name_v="B",
            on_missing="drop",
        )
    )
    assert (said["statistic"]["name"], said["alternative"], said["alpha"]) == ("signed_rank", "less", 0.1)
    assert said["method"]["monte_carlo"]["seed"] == 7


@pytest.mark.parametrize("compress", [gzip.compress, zstd.compress], ids=["gzip", "zstd"])
def test_files_may_be_compressed(service: Any, compress: Any) -> None:
    plain = post(service, of_lines()).json()
    packed = post(service, of_lines(compress(U_LINES), compress(V_LINES))).json()
    assert (packed["id"], packed["p_value"]) == (plain["id"], plain["p_value"])


def test_a_whole_form_may_be_compressed(service: Any) -> None:
    body, media = form([("file", "s.csv", WIDE), ("format", None, b"csv")])
    headers = {"content-encoding": "gzip"}
    assert service.body(PATH, gzip.compress(body), media, headers=headers).status_code == 200


def test_a_treebank_can_be_tested_by_sentence_and_by_word(service: Any) -> None:
    said = post(service, treebanks(), format="conllu", statistic="upos").json()
    assert (said["statistic"]["u"], said["statistic"]["v"]) == (1.0, 0.6)
    assert said["items"]["n"] == 2
    assert post(service, treebanks(), statistic="upos", items="word").json()["items"]["n"] == 5


def test_parameters_go_to_the_statistic_and_the_readers_own_are_passed_on(service: Any) -> None:
    tags = {"gold": "B-X O I-X", "u": "B-X O O", "v": "O O I-X"}
    files = {
        role: (f"{role}.conll", "".join(f"w {tag}\n" for tag in tagged.split()).encode() + b"\n")
        for role, tagged in tags.items()
    }
    lenient = post(service, files, format="conll", statistic="span_recall").json()["statistic"]
    strict = post(service, files, format="conll", scheme="IOB2", statistic="span_recall").json()["statistic"]
    assert (lenient["name"], lenient["u"], lenient["v"]) == ("span_recall", 0.5, 0.5)
    assert (strict["name"], strict["u"], strict["v"]) == ("span_recall", 1.0, 0.0)
    labelled = post(service, files, format="conll", labels="X").json()
    assert labelled["statistic"]["name"] == "span_f1"


def test_texts_are_tested_by_corpus_scores(service: Any) -> None:
    files = {
        "u": ("u.txt", b"the cat sat on the mat\na dog\n"),
        "v": ("v.txt", b"the cat sat on a mat\na cat\n"),
        "ref": ("ref.txt", b"the cat sat on the mat\na dog barks\n"),
    }
    said = post(service, files, format="mt", statistic="chrf").json()
    assert said["statistic"]["name"] == "chrf"
    assert said["statistic"]["u"] > said["statistic"]["v"]
    same = {"u": ["the cat sat on the mat", "a dog"], "v": ["the cat sat on a mat", "a cat"]}
    gold = ["the cat sat on the mat", "a dog barks"]
    request = {**same, "gold": gold, "statistic": {"name": "chrf"}}
    wanted = service.post("/v1/tests/predictions", request).json()
    assert (said["p_value"], said["statistic"]) == (wanted["p_value"], wanted["statistic"])


def test_the_answer_can_be_had_in_other_representations(service: Any) -> None:
    response = post(service, of_lines(), path=f"{PATH}?format=markdown")
    assert response.headers["content-type"].startswith("text/markdown")
    assert "\n| statistic | " in response.text


EXCERPTS: list[tuple[str, dict[str, str], dict[str, str]]] = [
    (
        "conllu",
        {"gold": "conllu/gold.conllu", "u": "conllu/crf.conllu", "v": "conllu/perceptron.conllu"},
        {"statistic": "las", "clusters": "document"},
    ),
    (
        "lm-eval",
        {
            "u": "lm_eval/tuned/samples_gsm8k_2025-09-09T13-31-53.431753.jsonl",
            "v": "lm_eval/base/samples_gsm8k_2025-09-09T13-42-42.857006.jsonl",
        },
        {},
    ),
    ("inspect", {"u": "inspect/qwen.json", "v": "inspect/sonnet.json"}, {"on_missing": "drop"}),
    (
        "trec",
        {"u": "trec/run.aplrob03a.txt", "v": "trec/run.uic0301.txt", "qrels": "trec/qrels.txt"},
        {"measure": "map"},
    ),
    ("asr", {"u": "asr/google.trn", "v": "asr/amazon.trn", "ref": "asr/ref.trn"}, {}),
    ("promptfoo", {"file": "promptfoo/results.json"}, {}),
    ("mqm", {"file": "mqm/newstest2020_ende.tsv"}, {"system_u": "OPPO.1535", "system_v": "Human-A.0"}),
]


@pytest.mark.parametrize(("format_", "names", "fields"), EXCERPTS, ids=[case[0] for case in EXCERPTS])
def test_excerpts_of_real_files_are_read_as_they_are(
    service: Any, format_: str, names: dict[str, str], fields: dict[str, str]
) -> None:
    files = {role: (name, (DATA / name).read_bytes()) for role, name in names.items()}
    said = answer_to(post(service, files, format=format_, **fields))
    assert said["reading"]["format"] == format_
    assert said["reading"]["notes"]


# -- what is wrong with files -------------------------------------------------------------------------------

FLAWED: list[tuple[str, Files, dict[str, str], int, str, str]] = [
    ("no files", {}, {"format": "csv"}, 422, "/files", "missing_file"),
    ("no v", {"u": ("u", U_LINES)}, {"format": "jsonl"}, 422, "/files/v", "missing_file"),
    ("unused file", {**of_lines(), "qrels": ("q", b"x")}, {"format": "jsonl"}, 422, "/files/qrels", "unused_file"),
    ("format", of_lines(), {"format": "xml"}, 422, "/options/format", "unknown_format"),
    ("unknown field", of_lines(), {"formt": "csv"}, 422, "/options/formt", "unknown_parameter"),
    ("unused option", of_lines(), {"format": "jsonl", "measure": "map"}, 422, "/options/measure", "unused_option"),
    ("option", of_lines(), {"on_missing": "ignore"}, 422, "/options/on_missing", "invalid_option"),
    ("alpha", of_lines(), {"alpha": "2"}, 422, "/options/alpha", "less_than"),
    ("alpha of text", of_lines(), {"alpha": "x"}, 422, "/options/alpha", "float_type"),
    ("method", of_lines(), {"method": "magic"}, 422, "/options/method", "literal_error"),
    ("samples", of_lines(), {"samples": "1000000000"}, 422, "/options/samples", "too_many_samples"),
    ("name", of_lines(), {"name_u": "x" * 201}, 422, "/options/name_u", "name_too_long"),
    ("long field", of_lines(), {"name_u": "x" * 10_001}, 422, "/options/name_u", "field_too_long"),
    ("long field of a slash", of_lines(), {"a/b~": "x" * 10_001}, 422, "/options/a~1b~0", "field_too_long"),
    ("statistic", of_lines(), {"statistic": "f1"}, 422, "/options/statistic", "unknown_statistic"),
    (
        "parameter", of_lines(), {"statistic": "sign", "zero_method": "pratt"}, 422, "/options/zero_method",
        "unknown_parameter",
    ),
    ("parameter of others", of_lines(), {"beta": "2"}, 422, "/options/beta", "unknown_field"),
    (
        "beta", {"file": ("c.csv", b"8,2,6,1\n3,3,5,2\n")}, {"statistic": "fbeta", "beta": "two"}, 422, "/options/beta",
        "float_type",
    ),
    (
        "fewer items", {"u": ("u", b"1\n0\n1\n"), "v": ("v", b"1\n0\n")}, {"format": "csv"}, 422, "/files/v",
        "length_mismatch",
    ),
    ("ids differ", of_lines(v=V_LINES[: V_LINES.rindex(b"{")]), {}, 422, "/files/u", "unmatched_ids"),
    ("duplicated id", of_lines(v=V_LINES + V_LINES), {}, 422, "/files/v/line/4", "duplicate_id"),
    ("a value that is none", of_lines(v=V_LINES.replace(b"0}", b'"x"}')), {}, 422, "/files/v/line/2/score", "not_a_number"),
    ("missing value", of_lines(v=V_LINES.replace(b"0}", b"null}")), {}, 422, "/files/v/line/2", "missing_value"),
    ("not json", of_lines(v=V_LINES + b"{"), {}, 400, "/files/v/line/4", "not_json"),
    ("key twice", of_lines(v=b'{"id":1,"id":2,"score":1}\n'), {}, 422, "/files/v/line/1", "duplicate_key"),
    ("not utf-8", of_lines(v=V_LINES + b"\xff\n"), {"format": "jsonl"}, 400, "/files/v/line/4", "not_utf8"),
    ("truncated gzip", of_lines(v=gzip.compress(V_LINES)[:-6]), {}, 400, "/files/v", "damaged_file"),
    (
        "other tokens", treebanks(v=conllu("the/DET hat/NOUN sat/VERB", "dogs/NOUN bark/VERB")), {"statistic": "upos"}, 422,
        "/files/v/line/2/FORM", "token_mismatch",
    ),
    (
        "two filters", {"u": ("u", lm_eval("strict", "flexible")), "v": ("v", lm_eval("strict", "flexible"))},
        {"format": "lm-eval"}, 422, "/files/u", "choose_filter",
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("files", "fields", "status", "pointer", "code"),
    [case[1:] for case in FLAWED],
    ids=[case[0] for case in FLAWED],
)
def test_an_invalid_form_is_refused_with_file_line_and_field(
    service: Any, files: Files, fields: dict[str, str], status: int, pointer: str, code: str
) -> None:
    body, media = form(
        [(role, name, content) for role, (name, content) in files.items()]
        + [(name, None, text.encode()) for name, text in fields.items()]
    )
    said = problem(service.body(PATH, body, media), status)
    assert said["errors"], said
    assert (said["errors"][0]["pointer"], said["errors"][0]["code"]) == (pointer, code)


def form(parts: list[tuple[str, str | None, bytes]], boundary: str = "b0") -> tuple[bytes, str]:
    """A form by hand: names, filenames (None for a field), contents."""
    body = bytearray()
    for name, filename, content in parts:
        disposition = f'form-data; name="{name}"' + ("" if filename is None else f'; filename="{filename}"')
        body += f"--{boundary}\r\nContent-Disposition: {disposition}\r\n\r\n".encode() + content + b"\r\n"
    return bytes(body) + f"--{boundary}--\r\n".encode(), f"multipart/form-data; boundary={boundary}"


def test_a_file_without_a_filename_is_known_by_its_role(service: Any) -> None:
    body, media = form([("u", None, U_LINES), ("v", None, V_LINES)])
    assert service.body(PATH, body, media).status_code == 200


@pytest.mark.parametrize(
    ("parts", "pointer"),
    [
        ([("u", "a", U_LINES), ("u", "b", U_LINES), ("v", "c", V_LINES)], "/files/u"),
        ([("u", "a", U_LINES), ("v", "c", V_LINES), ("alpha", None, b"0.1"), ("alpha", None, b"0.2")], "/options/alpha"),
    ],
)  # fmt: skip
def test_a_name_that_stands_twice_is_refused(service: Any, parts: Any, pointer: str) -> None:
    assert error_of(service.body(PATH, *form(parts)))[0] == pointer


WHOLE, MEDIA = form([("u", "u", U_LINES), ("v", "v", V_LINES)])


@pytest.mark.parametrize(
    ("body", "media"),
    [
        (b"", MEDIA),
        (WHOLE[:-6], MEDIA),
        (WHOLE[:60], MEDIA),
        (WHOLE, MEDIA + "x"),
        (WHOLE, "multipart/form-data"),
        (WHOLE.replace(b'name="u"', b""), MEDIA),
        (WHOLE.replace(b"form-data;", b"attachment;"), MEDIA),
        (WHOLE.replace(b'name="u"', b'name="\xff"'), MEDIA),
        (WHOLE.replace(b"\r\n\r\n", b"\r\nContent-Transfer-Encoding: base64\r\n\r\n"), MEDIA),
        (WHOLE.replace(b"\r\n\r\n", b"\r\nx: y" * 50 + b"\r\n\r\n"), MEDIA),
        (WHOLE.replace(b"\r\n\r\n", b"\r\nx: " + b"y" * 10_000 + b"\r\n\r\n"), MEDIA),
    ],
    ids=[
        "empty",
        "no last boundary",
        "cut",
        "other boundary",
        "no boundary",
        "no name",
        "no form data",
        "name",
        "base64",
        "many headers",
        "a long header",
    ],
)
def test_an_incomplete_form_is_a_400(service: Any, body: bytes, media: str) -> None:
    problem(service.body(PATH, body, media), 400)


def test_other_media_types_than_forms_are_a_415(service: Any) -> None:
    problem(service.post(PATH, {"u": [1], "v": [0]}), 415)
    problem(service.body("/v1/tests/scores", WHOLE, MEDIA), 415)


def test_the_limits_of_bodies_are_those_of_files(service: Any) -> None:
    limits = service.app.state.settings
    bomb = gzip.compress(b" " * (limits.max_body_bytes + 1))
    assert error_of(post(service, of_lines(v=bomb)), 413)[0] == "/files/v"
    half = gzip.compress(b"1\n" * (limits.max_body_bytes // 4 + 1))
    problem(post(service, of_lines(half, half), format="csv"), 413)
    many = b"".join(b"%d,1,0\n" % n for n in range(limits.max_items + 1))
    problem(post(service, {"file": ("s.csv", b"id,u,v\n" + many)}, format="csv"), 413)
    problem(service.body(PATH, *form([("seed", None, b"1")] * (limits.max_form_parts + 1))), 413)
    problem(post(service, of_lines(v=b" " * (limits.max_body_bytes + 1))), 413)


def test_hostile_names_of_files_stay_inert(service: Any) -> None:
    name = "../../etc/=cmd()<script>\u202e|`"
    for media in ("application/json", "text/plain", "text/markdown", "text/csv"):
        body, kind = form([("u", name, U_LINES), ("v", name, V_LINES)])
        response = service.body(PATH, body, kind, headers={"accept": media})
        assert response.status_code == 200
        assert "etc" not in response.text


def test_the_document_and_meta_know_every_field_file_and_format(service: Any) -> None:
    operation = service.get("/openapi.json").json()["paths"][PATH]["post"]
    parts = operation["requestBody"]["content"]["multipart/form-data"]["schema"]["properties"]
    assert set(parts) == {*ROLES, *FIELDS}
    assert not set(ROLES) & set(FIELDS)
    assert all(part.get("description") for part in parts.values())
    said = service.get("/v1/meta").json()["formats"]
    assert [entry["name"] for entry in said["known"]] == list(catalogue.FORMATS)
    assert all(entry["summary"] and entry["files"] for entry in said["known"])


Rows = list[tuple[str, float]]
ROWS: Rows = [(f"k{n}", n / 20) for n in range(20)]


def table(rows: Rows) -> bytes:
    return "".join(["ticket,score\n", *(f"{key},{score}\n" for key, score in rows)]).encode()


def json_lines(rows: Rows) -> bytes:
    return "".join(json.dumps({"ticket": key, "score": score}) + "\n" for key, score in rows).encode()


@pytest.mark.parametrize("form", ["csv", "jsonl"])
@pytest.mark.parametrize("route", ["/v1/tests/files", "/v1/gate"])
def test_files_in_another_order_are_not_paired_by_it(service: Any, form: str, route: str) -> None:
    written = table if form == "csv" else json_lines

    def sent(u: Rows, v: Rows, **fields: str) -> Any:
        files = {"u": ("u", written(u)), "v": ("v", written(v))}
        return service.request("POST", route, files=files, data={"format": form, **fields})

    others = [(f"{key}?", score) for key, score in ROWS]
    for v in (ROWS[::-1], ROWS[1:] + ROWS[:1]):  # the same set of texts in both, each once
        assert sent(ROWS, v).json()["p_value"] == 1.0
    for u, v in ((ROWS, [*ROWS[1:], ("k20", 1.0)]), (ROWS[:4], ROWS[3::-1])):
        assert codes_of(sent(u, v)) == ["choose_id_column"]
    assert sent(ROWS, ROWS[::-1], id_column="ticket").json()["p_value"] == 1.0
    assert sent(ROWS, ROWS).status_code == 200
    assert sent(ROWS, others).status_code == 200  # texts, of which no two are the same


@pytest.mark.parametrize(
    ("written", "number"), [(".05", 0.05), ("+.5", 0.5), ("5.e-2", 0.05), ("00.10", 0.1)]
)
def test_options_are_numbers_as_people_write_them(service: Any, written: str, number: float) -> None:
    of_form = service.post("/v1/tests/files", files=of_lines(), data={"alpha": written})
    of_query = service.post(
        f"/v1/tests/scores?alpha={quote(written)}",
        content=b"1,0\n0,1\n",
        headers={"content-type": "text/csv"},
    )
    if written.startswith("00"):
        assert {answered.status_code for answered in (of_form, of_query)} == {422}
        return
    for answered in (of_form, of_query):
        assert answered.json()["alpha"] == number
    for other in (".", "-", "+-1", "1..5", ".e5", "0x1", "1_0"):
        assert service.post("/v1/tests/files", files=of_lines(), data={"alpha": other}).status_code == 422
