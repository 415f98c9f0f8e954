"""The formats and their options as a whole: guesses, bad options, damage, names of systems."""

import random
import subprocess
import sys
from dataclasses import fields

import pytest

from exactperm.errors import BodyTooLarge, InputError, MalformedBody
from exactperm.inputs.formats.catalogue import ALIASES, ALWAYS, FORMATS, read
from exactperm.inputs.formats.roles import by_names, role_of, role_question, roles_of, shared_words, words
from exactperm.inputs.reader import OPTION_NAMES, ReaderOptions, UploadedFile
from tests.refusals import refused

from .reading import EXCERPTS, noted, read_files, refusal, refuses

# The formats and their options as a whole: guesses, bad options, damage.


SCORES = "id,u,v\na,1,0\nb,0,1\n"


def test_every_option_is_used_by_some_format_and_every_use_is_an_option() -> None:
    used = {name for format_ in FORMATS.values() for name in format_.uses} | ALWAYS
    assert used == set(OPTION_NAMES)


def test_every_alias_leads_to_a_format() -> None:
    assert set(ALIASES.values()) <= set(FORMATS)
    assert not set(ALIASES) & set(FORMATS)


def test_an_option_that_the_format_has_no_use_for_is_refused() -> None:
    refuses("unused_option", "/options/filter", "csv", {"file": SCORES}, filter="strict-match")


def test_a_file_that_the_format_has_no_use_for_is_refused() -> None:
    refuses(None, "/files/gold", "csv", {"file": SCORES, "gold": SCORES})
    refuses("unused_file", None, "csv", {"file": SCORES, "u": SCORES})


def test_a_file_that_is_needed_is_named() -> None:
    refuses("not_a_log", None, "inspect", {"u": "{}"})
    refuses(None, "/files/gold", "conllu", {"u": "1", "v": "1"}, metric="upos")
    refuses(None, "/files", "csv", {})


def test_an_unknown_format_is_refused_with_the_near_or_the_first() -> None:
    error = refusal("xlsx", {"file": SCORES})
    assert error.flaws[0].code == "unknown_format"
    assert error.detail.endswith(f"and {len(FORMATS) + 1 - 8} more, which docs/files.md lists.")
    near = refusal("conlu", {"file": SCORES})
    assert near.detail == 'There is no format "conlu"; did you mean `format=conllu` or `format=conll`?'


def test_ambiguous_files_are_not_guessed() -> None:
    refuses("unknown_format", None, "auto", {"u": "hello world\n", "v": "hello\n"})
    refuses("unknown_format", None, "auto", {"u": "{]", "v": "{]"})
    refuses("unknown_format", None, "auto", {"file": "3 1\n"})
    refuses("unknown_format", None, "auto", {"u": "\x00", "v": "\x00"})


GUESSES = {
    "conllu": {"gold": "conllu/gold.conllu", "u": "conllu/crf.conllu", "v": "conllu/perceptron.conllu"},
    "conll": {"gold": "uner/gold.iob2", "u": "uner/crf_small.pred.tsv", "v": "uner/crf_large.pred.tsv"},
    "lm-eval": {"u": "lm_eval/tuned", "v": "lm_eval/base"},
    "jsonl": {"u": "eus_trivia/gpt-4-0613.jsonl", "v": "eus_trivia/gpt-3.5-turbo-0125.jsonl"},
    "inspect": {"u": "inspect/scored.eval", "v": "inspect/scored.eval"},
    "promptfoo": {"file": "promptfoo/results.json"},
    "mqm": {"file": "mqm/newstest2020_ende.tsv"},
}


@pytest.mark.parametrize("format_", GUESSES)
def test_auto_guesses_the_format_and_says_so(format_: str) -> None:
    needs = {"conllu": {"metric": "upos"}, "mqm": {"system_u": "OPPO.1535", "system_v": "Human-A.0"}}
    files = {}
    for role, name in GUESSES[format_].items():
        path = EXCERPTS / name
        files[role] = next(path.iterdir()) if path.is_dir() else path
    reading = read_files("auto", files, **needs.get(format_, {}))
    assert reading.guessed
    assert reading.format == format_
    assert format_ in reading.notes[0]


@pytest.mark.parametrize(
    ("files", "format_"),
    [
        ({"file": SCORES}, "csv"),
        ({"file": SCORES.replace(",", "\t")}, "tsv"),
        ({"file": "1,0\n0,1\n"}, "csv"),
        ({"u": "0.5\n0.25\n", "v": "1\n0\n"}, "csv"),
        ({"file": "id,system,score\n1,a,1\n1,b,0\n"}, "csv"),
        ({"file": '[{"id": 1, "u": 1, "v": 0}]'}, "jsonl"),
        ({"file": '{"id": 1, "u": 1, "v": 0}\n'}, "jsonl"),
        ({"u": "map \t1\t0.5\n", "v": "map \t1\t0.25\n"}, "trec"),
        ({"ref": "a house\n", "u": "a house\n", "v": "the house\n"}, "mt"),
        ({"ref": "a b (x-1)\n", "u": "a (x-1)\n", "v": "b (x-1)\n"}, "asr"),
        ({"u": "Ann B-PER B-PER\n", "v": "Ann B-PER O\n"}, "conll"),
    ],
    ids=str,
)
def test_auto_tells_small_files_apart(files: dict[str, str], format_: str) -> None:
    assert read_files("auto", files).format == format_


@pytest.mark.parametrize(
    "format_", ["csv", "jsonl", "trec", "conllu", "conll", "mt", "asr", "lm-eval", "mt-stats"]
)
def test_text_that_is_not_utf8_is_malformed_and_the_line_is_named(format_: str) -> None:
    content = UploadedFile("x", b"first\nsecond\nth\xefrd\n")
    files = dict.fromkeys(("u", "v", *({"gold"} & set(FORMATS[format_].roles))), content)
    if format_ == "mt":
        files["ref"] = files.pop("gold")
    options = ReaderOptions(metric="upos") if format_ == "conllu" else ReaderOptions()
    with pytest.raises(MalformedBody) as caught:
        read(files, format_, options)
    assert caught.value.flaws[0].pointer.endswith("/line/3")
    assert caught.value.flaws[0].code == "not_utf8"


def test_a_byte_order_mark_is_left_out_and_noted() -> None:
    reading = read_files("csv", {"file": "\ufeff" + SCORES})
    assert reading.kind == "scores"
    assert noted(reading, "byte order mark")


def test_utf16_and_nul_characters_are_malformed() -> None:
    refuses(None, None, "csv", {"file": SCORES.encode("utf-16")}, "UTF-16")
    refuses(None, "/files/file/line/2", "csv", {"file": "id,u,v\na,\0,1\n"})


def test_options_of_a_form_are_parsed_and_checked() -> None:
    options = ReaderOptions.of_form(
        {"decimals": "4", "allow_incomplete": "true", "metric": "acc", "filter": ""}
    )
    assert options == ReaderOptions(decimals=4, allow_incomplete=True, metric="acc")
    assert options.given() == {"decimals", "allow_incomplete", "metric"}


@pytest.mark.parametrize(
    "form",
    [
        {"decimals": "four"}, {"decimals": "99"}, {"tag_column": "0"}, {"allow_incomplete": "yes"},
        {"on_missing": "fill"}, {"ner_mode": "loose"}, {"items": "token"}, {"delimiter": "x"},
        {"max_inflated_bytes": "1"}, {"colour": "red"},
    ],
    ids=str,
)  # fmt: skip
def test_a_bad_option_is_refused_by_name(form: dict[str, str]) -> None:
    with refused(None, f"/options/{next(iter(form))}"):
        ReaderOptions.of_form(form)


def test_the_options_have_documented_names_only() -> None:
    assert {field.name for field in fields(ReaderOptions)} - set(OPTION_NAMES) == {
        "max_inflated_bytes",
        "max_items",
        "exchange",
    }


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
from exactperm.inputs.reader import ReaderOptions, UploadedFile
from exactperm.inputs.reader import Source
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
    for fault in refusals:
        assert fault.flaws or isinstance(refused, BodyTooLarge)
        assert all(flaw.pointer.startswith(("/files", "/options")) for flaw in fault.flaws)
        assert len(fault.detail) < 3_000


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
def test_an_integer_beyond_doubles_is_refused(format_: str, line: str) -> None:
    content = (line % ("9" * 400)).encode()
    with refused("integer_too_large"):
        read({role: UploadedFile(role, content) for role in ("u", "v")}, format_, ReaderOptions())


# What a name says of its system's role, and what it does not.


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("scoreBaseline", ["score", "baseline"]),
        ("SCORE-BASELINE", ["score", "baseline"]),
        ("score.base_line", ["score", "base", "line"]),
        ("HTTPNew2", ["http", "new", "2"]),
        ("новая модель", ["новая", "модель"]),
        ("", []),
    ],
)
def test_names_are_compared_by_words_in_any_case_and_separator(name: str, expected: list[str]) -> None:
    assert words(name) == expected


@pytest.mark.parametrize(
    "name",
    ["candidate", "Candidate", "CANDIDATE score", "llama3-candidate-v2", "new", "New_Model", "PR", "run pr"],
)
def test_names_of_candidates(name: str) -> None:
    assert role_of(name) == "u"


@pytest.mark.parametrize(
    "name", ["baseline", "gpt4.baseline", "base", "old", "OLD system", "reference", "main", "control_score"]
)
def test_names_of_baselines(name: str) -> None:
    assert role_of(name) == "v"


@pytest.mark.parametrize(
    "name",
    [
        "", "gpt4", "bert-base", "new-york", "renewal", "baselines", "mission control", "precision",
        "no_baseline", "vs baseline", "candidate_vs_baseline", "news",
    ],
)  # fmt: skip
def test_names_that_say_nothing(name: str) -> None:
    assert role_of(name) is None


def test_words_that_both_have_say_nothing() -> None:
    assert roles_of(["llama-new", "llama-base"]) == ["u", "v"]
    assert roles_of(["baseline_a", "baseline_b"]) == [None, None]
    assert shared_words(["wer_new", "wer_old"]) == ["wer"]


def test_two_systems_are_identified_by_both_names_or_one_clear_name() -> None:
    assert by_names(["old", "new"]) == ("new", "old")
    assert by_names(["new", "old"]) == ("new", "old")
    assert by_names(["baseline", "gpt4"]) == ("gpt4", "baseline")
    assert by_names(["gpt4", "candidate"]) == ("candidate", "gpt4")
    assert by_names(["base", "large"]) is None
    assert by_names(["main", "feature"]) is None
    assert by_names(["old", "base"]) is None
    assert by_names(["a", "new", "old"]) == ("new", "old")
    assert by_names(["baseline", "a", "b"]) is None
    assert by_names(["new", "old", "base"]) is None


def test_the_question_spells_out_both_ways() -> None:
    question = role_question(["a", "b"], ("0:a", "1:b"))
    assert '`system_u=0:a` and `system_v=1:b` (the candidate is "0:a")' in question.detail
    assert '`system_u=1:b` and `system_v=0:a` (it is "1:b")' in question.detail
    ways = [{"system_u": "0:a", "system_v": "1:b"}, {"system_u": "1:b", "system_v": "0:a"}]
    assert [choice.fields for choice in question.choices] == ways
