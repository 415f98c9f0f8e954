from __future__ import annotations

import random
import subprocess
import sys

import pytest

from exactperm.errors import BodyTooLarge, InputError
from exactperm.inputs.formats.catalogue import FORMATS, read
from exactperm.inputs.formats.reader import ReaderOptions, UploadedFile
from tests.refusals import refused

from .reading import EXCERPTS

EXAMPLES = "../../openapi/examples/files"
FILES = {
    "conllu": {"gold": "conllu/gold.conllu", "u": "conllu/crf.conllu", "v": "conllu/perceptron.conllu"},
    "conll": {"gold": "uner/gold.iob2", "u": "uner/crf_small.pred.tsv", "v": "uner/crf_large.pred.tsv"},
    "trec": {"u": "trec/run.aplrob03a.txt", "v": "trec/run.uic0301.txt", "qrels": "trec/qrels.txt"},
    "jsonl": {"u": "eus_trivia/gpt-4-0613.jsonl", "v": "eus_trivia/gpt-3.5-turbo-0125.jsonl"},
    "inspect": {"u": "inspect/scored.eval", "v": "inspect/qwen.json"},
    "helm": {"u": "helm/new/per_instance_stats.json", "v": "helm/old/per_instance_stats.json"},
    "lighteval": {"u": "lighteval/new.documents.jsonl", "v": "lighteval/old.documents.jsonl"},
    "openai-evals": {"u": "openai_evals/new.jsonl", "v": "openai_evals/old.jsonl"},
    "json-object": {"u": "plain/u.json", "v": "plain/v.json"},
    "npy": {"file": "plain/both.npz"},
    "lm-eval": {
        "u": "lm_eval/wikitext/new/samples_wikitext_2026-05-17T13-25-31.291152.jsonl",
        "v": "lm_eval/wikitext/old/samples_wikitext_2026-05-18T01-02-03.000001.jsonl",
    },
    "promptfoo": {"file": "promptfoo/results.json"},
    "asr": {"ref": "asr/ref.trn", "u": "asr/google.trn", "v": "asr/amazon.trn"},
    "mt-stats": {"u": "mt/sys1.tsv", "v": "mt/sys2.tsv"},
    "mqm": {"file": "mqm/newstest2020_ende.tsv"},
    "ranking": {
        "gold": f"{EXAMPLES}/labels.csv",
        "u": f"{EXAMPLES}/u.probabilities.jsonl",
        "v": f"{EXAMPLES}/v.probabilities.jsonl",
    },
    "mt-metrics-eval": {
        "gold": "mtme/small/en-de.mqm.seg.score",
        "u": "mtme/small/chrF-refA.seg.score",
        "v": "mtme/small/BLEU-refA.seg.score",
    },
}
SHARDS = (
    b'\n|\t| |,|"|{|}|[|null|NaN|1e999|-1|99999999999999999999|true|\xff|\0|\r|#|1.5|1-2\t|_|{}|I-|all'.split(
        b"|"
    )
)
OPTIONS = {
    "helm": ReaderOptions(metric="exact_match"),
    "conllu": ReaderOptions(metric="las", clusters="document"),
    "mt-stats": ReaderOptions(metric="bleu"),
    "mqm": ReaderOptions(system_u="OPPO.1535", system_v="Human-A.0", decimals=2),
}
ROUNDS = 150


def damaged(content: bytes, chance: random.Random) -> bytes:
    """Cut, doubled, or with a shard of something else in it."""
    place = chance.randrange(len(content) + 1)
    if chance.random() < 0.5:
        return content[:place] + chance.choice(SHARDS) + content[place + chance.choice((0, 1, 5)) :]
    lines = content.split(b"\n")
    number = chance.randrange(len(lines))
    return chance.choice(
        (
            content[:place],
            content[:place] + content[place + chance.randrange(200) :],
            b"\n".join(lines[:number] + lines[number + 1 :]),
            b"\n".join([*lines[:number], lines[number], *lines[number:]]),
        )
    )


# Reads a Parquet file once for each byte of its footer, with one bit of it flipped.
FLIPS = """
import io, sys
import pyarrow as pa
from pyarrow import parquet
from exactperm.errors import InputError
from exactperm.inputs.formats import catalogue, price
from exactperm.inputs.formats.reader import ReaderOptions, UploadedFile
from exactperm.inputs.formats.reader import Source
stream = io.BytesIO()
table = {"id": ["a", "b"], "u": [1.5, None], "v": [[0], [1]]}
parquet.write_table(pa.table(table), stream, store_schema=False)
whole = stream.getvalue()
footer = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
for at in range(footer, len(whole)):
    content = bytearray(whole)
    content[at] ^= 1 << at % 8
    try:
        price.seconds(Source("file", "x", bytes(content)), ReaderOptions())
        catalogue.read({"file": UploadedFile("x", bytes(content))}, "csv", ReaderOptions())
    except InputError:
        pass
print(len(whole) - footer)
"""


def test_no_damage_of_a_parquet_file_ends_the_process() -> None:
    """pyarrow does, where it is asked for the parts of a column and a level histogram has another length."""
    done = subprocess.run([sys.executable, "-c", FLIPS], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2_000:]
    assert int(done.stdout) > 300


@pytest.mark.parametrize("format_", FILES)
def test_a_damaged_file_is_read_or_refused_with_a_pointer_and_nothing_else(format_: str) -> None:
    chance = random.Random(format_)
    contents = {role: (EXCERPTS / name).read_bytes() for role, name in FILES[format_].items()}
    refusals: list[InputError] = []
    for _ in range(ROUNDS):
        hit = chance.choice(list(contents))
        files = {
            role: UploadedFile(role, damaged(content, chance) if role == hit else content)
            for role, content in contents.items()
        }
        name = chance.choice((format_, format_, "auto", chance.choice(list(FORMATS))))
        try:
            read(files, name, OPTIONS.get(format_, ReaderOptions()))
        except InputError as error:
            refusals.append(error)
    assert len(refusals) > ROUNDS // 4, "the damage is real"
    for refusal in refusals:
        assert refusal.flaws or isinstance(refusal, BodyTooLarge)
        assert all(flaw.pointer.startswith(("/files", "/options")) for flaw in refusal.flaws)
        assert len(refusal.detail) < 3_000


@pytest.mark.parametrize(
    ("format_", "line"),
    [
        ("jsonl", '{"id":"a","score":%s}\n{"id":"b","score":1}\n'),
        (
            "evalsig",
            '{"run_id":"r","model_id":"m","task_id":"t","metric_name":"accuracy","items":[{"item_id":"a","score":%s}]}\n',
        ),
    ],
)
def test_an_integer_that_is_no_double_either_is_refused(format_: str, line: str) -> None:
    content = (line % ("9" * 400)).encode()
    with refused("integer_too_large"):
        read({role: UploadedFile(role, content) for role in ("u", "v")}, format_, ReaderOptions())
