"""CoNLL columns with several columns of tags: the right one, the one that was chosen, or a refusal that lists them."""

import random
from pathlib import Path
from typing import Any

import pytest
from seqeval import metrics

from tests.api.conftest import answer_to, problem

FILES = "/v1/tests/files"
PACK = Path(__file__).resolve().parents[3] / "shared" / "data" / "ner" / "uner_en_ewt"
INDEXED = b"1\tAnna\tB-PER\tB-OTH\t-\n2\tsleeps\tO\tO\t-\n"
PLAIN = b"Anna\tB-PER\nsleeps\tO\n"
MISSED = b"Anna\tO\nsleeps\tO\n"


def send(service: Any, files: dict[str, bytes], **fields: str) -> Any:
    parts = {role: (f"{role}.conll", content) for role, content in files.items()}
    return service.request("POST", FILES, files=parts, data={"format": "conll", **fields})


def f1(service: Any, files: dict[str, bytes], **fields: str) -> tuple[float, float]:
    response = send(service, files, **fields)
    assert response.status_code == 200, response.text
    said = response.json()["statistic"]
    return said["u"], said["v"]


def refused(service: Any, files: dict[str, bytes], **fields: str) -> tuple[str, str]:
    error = problem(send(service, files, **fields), 422)["errors"][0]
    return error["pointer"], error["code"]


def test_behind_an_index_the_tag_follows_the_token(service: Any) -> None:
    files = {"gold": INDEXED, "u": PLAIN, "v": MISSED}
    assert f1(service, files) == (1.0, 0.0)
    assert f1(service, files, tag_column_gold="3") == (1.0, 0.0)
    assert f1(service, files, tag_column="2", tag_column_gold="3") == (1.0, 0.0)


def test_columns_that_differ_must_be_chosen_and_those_that_agree_need_not(service: Any) -> None:
    chunks = b"Anna NNP B-NP B-PER\nsleeps VBZ B-VP O\n"
    files = {"gold": chunks, "u": PLAIN, "v": MISSED}
    assert refused(service, files) == ("/files/gold", "choose_tag_column")
    detail = problem(send(service, files), 422)["detail"]
    assert '"3 (B-NP)", "4 (B-PER)"' in detail
    assert "`tag_column_gold`" in detail
    assert f1(service, files, tag_column_gold="4") == (1.0, 0.0)
    assert refused(service, {**files, "v": chunks}, tag_column_gold="4") == ("/files/v", "choose_tag_column")
    assert f1(service, {**files, "v": chunks}, tag_column_gold="4", tag_column_v="3") == (1.0, 0.0)
    twice = b"Anna B-PER B-PER\nsleeps O O\n"
    assert f1(service, {"gold": twice, "u": PLAIN, "v": MISSED}) == (1.0, 0.0)


def test_gold_and_predictions_beside_each_other_are_the_last_columns_or_chosen(service: Any) -> None:
    u = b"Anna B-NP B-PER B-PER\nsleeps B-VP O O\n"
    v = b"Anna B-NP B-PER O\nsleeps B-VP O O\n"
    assert f1(service, {"u": u, "v": v}) == (1.0, 0.0)
    scored = {role: content.replace(b"\n", b" 0.5\n") for role, content in (("u", u), ("v", v))}
    assert refused(service, scored) == ("/files/u", "choose_tag_column")
    columns = {"tag_column_gold": "3", "tag_column_u": "4", "tag_column_v": "4"}
    assert f1(service, scored, **columns) == (1.0, 0.0)
    both = b"Anna B-NP B-PER B-PER O x\nsleeps B-VP O O O x\n"
    assert refused(service, {"file": both}) == ("/files/file", "choose_tag_column")
    assert f1(service, {"file": both}, tag_column_gold="3", tag_column_u="4", tag_column_v="5") == (1.0, 0.0)
    for wrong in (
        {"tag_column_gold": "3"},
        {"tag_column_gold": "4", "tag_column_u": "4", "tag_column_v": "5"},
    ):
        assert refused(service, {"file": both}, **wrong) == ("/options/tag_column_gold", "invalid_option")


def test_a_damaged_tag_never_moves_the_choice_to_another_column(service: Any) -> None:
    tagged = "Anna B-NP B-PER\nsleeps B-VP O\nin B-PP O\nOslo B-NP {}\n"
    files = {"gold": PLAIN + b"in\tO\nOslo\tB-LOC\n", "u": tagged.format("LOC").encode(), "v": b""}
    files["v"] = files["gold"]
    assert refused(service, files) == ("/files/u/line/4/3", "no_tags")
    files["u"] = tagged.format("B-LOC").encode()
    assert refused(service, files) == ("/files/u", "choose_tag_column")


@pytest.mark.pack
@pytest.mark.parametrize("with_options", [False, True])
def test_the_files_of_uner_have_the_f1_of_seqeval(with_options: bool, service: Any) -> None:
    paths = {
        "gold": PACK / "en_ewt-ud-test.iob2",
        "u": PACK / "uner_en_ewt-test.crf_small.pred.tsv",
        "v": PACK / "uner_en_ewt-test.crf_large.pred.tsv",
    }
    said = f1(
        service,
        {role: path.read_bytes() for role, path in paths.items()},
        **({"tag_column_gold": "3"} if with_options else {}),
    )
    columns = {role: column(path, 2 if role == "gold" else -1) for role, path in paths.items()}
    assert sum(map(len, columns["gold"])) == 25_097
    wanted = tuple(metrics.f1_score(columns["gold"], columns[role]) for role in "uv")
    assert said == pytest.approx(wanted, rel=1e-12)


def column(path: Path, place: int) -> list[list[str]]:
    blocks = path.read_text(encoding="utf-8").split("\n\n")
    rows = [
        [line.split("\t") for line in block.split("\n") if line and not line.startswith("# ")]
        for block in blocks
    ]
    return [[row[place] for row in block] for block in rows if block]


NAMES = {"g": "gold", "u": "u", "v": "v"}
Tags = list[list[str]]


def file_of(rng: random.Random, role: str, tokens: Tags, tags: Tags, options: dict[str, str]) -> bytes:
    """Tags in a file with an index, a chunk, annotators, scores or other tags around them; perhaps chosen."""
    index, chunk = rng.random() < 0.5, rng.random() < 0.4
    after = rng.choice([None, "-", "0.5", "B-OTH"])
    lines = []
    for sentence, labels in zip(tokens, tags, strict=True):
        for place, (token, tag) in enumerate(zip(sentence, labels, strict=True), 1):
            row = [str(place) if index else None, token, "B-NP" if chunk else None, tag, after]
            lines.append("\t".join(cell for cell in row if cell is not None))
        lines.append("")
    # Behind an index the first tag counts; elsewhere nobody knows.
    if (index and chunk) or ((chunk or after == "B-OTH") and rng.random() < 0.7):
        options[f"tag_column_{NAMES[role]}"] = str(2 + index + chunk)
    return "\n".join(lines).encode()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(3))
def test_random_columns_have_the_f1_of_seqeval_or_are_refused(seed: int, service: Any) -> None:
    rng = random.Random(seed)
    seen = {200: 0, 422: 0}
    for _ in range(60):
        lengths = [rng.randint(1, 5) for _ in range(rng.randint(2, 6))]
        tokens = [[rng.choice(["Anna", "in", "Oslo", "#", "1"]) for _ in range(n)] for n in lengths]
        tags = {
            role: [[rng.choice(["O", "O", "B-PER", "I-PER", "B-LOC"]) for _ in range(n)] for n in lengths]
            for role in NAMES
        }
        options: dict[str, str] = {}
        files = {NAMES[role]: file_of(rng, role, tokens, tags[role], options) for role in NAMES}
        response = send(service, files, **options)
        seen[response.status_code] += 1
        if response.status_code != 200:
            code = response.json()["errors"][0]["code"]
            assert code in {"choose_tag_column", "token_mismatch"}, response.text
            continue
        for role in "uv":
            wanted = metrics.f1_score(tags["g"], tags[role], zero_division=0)
            assert response.json()["statistic"][role] == pytest.approx(wanted, rel=1e-12)
    assert min(seen.values()) > 5


SENTENCES = b"Anna B-PER B-PER\n\nBob B-PER O\n\nhi O O\n"


@pytest.mark.parametrize(
    "documents",
    [b"a\nb\nb\n", b"document\na\nb\nb\n", b"s\tdocument\n1\ta\n2\tb\n3\tb\n", b"1,a\n2,b\n3,b\n", b"1\n2\n2\n",
     b"A 1\nB 1\nB 1", b"# by hand\na\n\nb\nb\n", b"\xef\xbb\xbfa\r\nb\r\nb\r\n"],
)  # fmt: skip
@pytest.mark.parametrize("format_", ["conll", "mt"])
def test_a_file_of_documents_needs_no_header(documents: bytes, format_: str, service: Any) -> None:
    files = {"u": SENTENCES, "v": SENTENCES, "documents": documents}
    if format_ == "mt":
        files = dict.fromkeys(("u", "v", "ref"), b"a b c\nd e f\ng h i\n") | {"documents": documents}
    assert answer_to(send(service, files, format=format_, clusters="document"))["items"]["clusters"] == 2


@pytest.mark.parametrize("documents", [b"a\nb\n", b"a\nb\nc\nd\ne\n"])
def test_documents_of_other_sentences_are_refused(documents: bytes, service: Any) -> None:
    files = {"u": SENTENCES, "v": SENTENCES, "documents": documents}
    assert refused(service, files, clusters="document") == ("/files/documents", "length_mismatch")
