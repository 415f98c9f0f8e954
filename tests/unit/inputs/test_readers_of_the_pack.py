"""Every data set of the pack is read as it stands and gives the sums its expected/ file has."""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from exactperm.inputs.formats.reader import Reading
from exactperm.statistics.paired import Counts, Pairing, Predictions, Scores

from .reading import PACK, noted, read_files, refuses

pytestmark = pytest.mark.pack

Numbers = Sequence[Fraction]


def expected(name: str) -> dict[str, Any]:
    path = PACK / "expected" / f"{name}.json"
    found: dict[str, Any] = json.loads(path.read_text()) if path.is_file() else {}
    return found


def entries(name: str) -> list[Any]:
    """The tests of an expected file as parameters; none, and so skipped, when the pack is not there."""
    found = []
    for entry in expected(name).get("tests", ()):
        what = (
            entry["statistic"] if "x 10" in entry["statistic"] else entry.get("metric") or entry["statistic"]
        )
        subset = entry.get("subset", "all")
        found.append(pytest.param(entry, id=f"{entry['a']}-{entry['b']}-{what}-{entry['unit']}-{subset}"))
    return found


def exact(column: object) -> list[Fraction]:
    """Numbers as the decimals that they print as."""
    assert isinstance(column, np.ndarray)
    return [Fraction(repr(value)) for value in column.tolist()]


def agrees(entry: dict[str, Any], u: Numbers, v: Numbers, pairing: Pairing, scale: int = 1) -> None:
    """The units, the sums and the differences are those of the expected entry."""
    codes = range(len(u)) if pairing.clusters is None else pairing.clusters.tolist()
    differences = [Fraction(0)] * (len(u) if pairing.n_clusters is None else pairing.n_clusters)
    for code, mine, other in zip(codes, u, v, strict=True):
        differences[code] += (mine - other) * scale
    found = {
        "n_units": len(differences),
        "n_nonzero_differences": sum(difference != 0 for difference in differences),
        "sum_a": sum(u) * scale,
        "sum_b": sum(v) * scale,
        "sum_abs_difference": sum(map(abs, differences)),
    }
    assert found == {name: entry[name] for name in found}


def score_columns(reading: Reading) -> tuple[Numbers, Numbers, Pairing]:
    assert isinstance(reading.data, Scores)
    return exact(reading.data.u), exact(reading.data.v), reading.data.pairing


def count_columns(reading: Reading, name: str) -> tuple[Numbers, Numbers, Pairing]:
    assert isinstance(reading.data, Counts)
    return exact(reading.data.u[name]), exact(reading.data.v[name]), reading.data.pairing


@pytest.mark.slow
@pytest.mark.parametrize("entry", entries("conllu_en_ewt-ud"))
def test_conllu(entry: dict[str, Any]) -> None:
    roles = {"gold": "gold", "u": entry["a"], "v": entry["b"]}
    files = {role: PACK / "conllu" / f"en_ewt-ud-test.{name}.conllu.gz" for role, name in roles.items()}
    if entry["metric"] == "upos sentence accuracy":
        agrees(entry, *score_columns(read_files("auto", files, metric="upos_sentence")))
        return
    reading = read_files(
        "auto",
        files,
        metric=entry["metric"],
        items="word" if entry["unit"] == "word" else "sentence",
        clusters="document" if entry["unit"].startswith("document") else None,
    )
    agrees(entry, *count_columns(reading, "correct"))


def test_conllu_traps() -> None:
    about = expected("conllu_en_ewt-ud")
    files = {
        role: PACK / about["files"][name] for role, name in (("gold", "gold"), ("u", "ngram"), ("v", "crf"))
    }
    reading = read_files("conllu", files, metric="las_full")
    assert noted(reading, "354 multiword tokens and 2 empty nodes")
    u, v, _ = count_columns(reading, "correct")
    wanted = [about["systems"][name]["las_full_deprel_correct"] for name in ("ngram", "crf")]
    assert [sum(u), sum(v)] == wanted
    assert (len(u), sum(count_columns(reading, "total")[0])) == (about["sentences"], about["words"])


NER = {
    "ner_wnut17": ({"gold": "gold", "u": "uh_ritual", "v": "spinningbytes"}, None),
    "ner_uner_en_ewt": ({"gold": "gold", "u": "crf_small", "v": "crf_large"}, "document"),
}
NER_TESTS = [
    pytest.param(name, entry, id=f"{name}-{entry['statistic']}-{entry['unit']}")
    for name in NER
    for entry in expected(name).get("tests", ())
    if not entry["statistic"].startswith("true-positive")
]


def tags_right(data: object, statistic: str) -> tuple[Numbers, Numbers]:
    assert isinstance(data, Predictions)
    sides = []
    for system in (data.u, data.v):
        pairs = [list(zip(g, s, strict=True)) for g, s in zip(data.gold, system, strict=True)]  # type: ignore[call-overload]
        counts = [sum(a == b for a, b in pair) for pair in pairs]
        whole = [count == len(pair) for count, pair in zip(counts, pairs, strict=True)]
        sides.append([Fraction(n) for n in (counts if statistic == "correct tags" else whole)])
    return sides[0], sides[1]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "entry"), NER_TESTS)
def test_ner(name: str, entry: dict[str, Any]) -> None:
    roles, _ = NER[name]
    files = {role: PACK / expected(name)["files"][key] for role, key in roles.items()}
    reading = read_files("auto", files, clusters="document" if entry["unit"] == "document" else None)
    agrees(entry, *tags_right(reading.data, entry["statistic"]), reading.data.pairing)


@pytest.mark.parametrize("name", NER)
def test_ner_entities_are_those_of_seqeval(name: str) -> None:
    entities = pytest.importorskip("seqeval.metrics.sequence_labeling").get_entities
    about, (roles, clusters) = expected(name), NER[name]
    files = {role: PACK / about["files"][key] for role, key in roles.items()}
    three = {
        role: PACK / about["files"][f"{key} (three columns)"] for role, key in roles.items() if role != "gold"
    }
    data = read_files("conll", files, clusters=clusters).data
    other = read_files("auto", three).data
    assert isinstance(data, Predictions)
    assert isinstance(other, Predictions)
    assert (data.gold, data.u, data.v) == (other.gold, other.u, other.v)
    assert len(data.gold) == about["sentences"]
    gold = set(entities(list(data.gold)))
    assert len(gold) == about["gold_entities"]
    for role, system in (("u", data.u), ("v", data.v)):
        said = set(entities(list(system)))
        wanted = about["systems"][roles[role]]
        assert (len(said & gold), len(said)) == (wanted["tp"], wanted["predicted"])
    assert data.pairing.n_clusters == (about["documents"] or None)


def test_ner_documents_from_the_table_of_sentences() -> None:
    about = expected("ner_uner_en_ewt")["files"]
    files = {
        role: PACK / about[f"{name} (three columns)"]
        for role, name in (("u", "crf_small"), ("v", "crf_large"))
    }
    reading = read_files("conll", {**files, "documents": PACK / about["documents"]}, clusters="document")
    assert reading.data.pairing.n_clusters == 316


@pytest.mark.parametrize("entry", entries("trec_robust03"))
def test_trec(entry: dict[str, Any]) -> None:
    files = expected("trec_robust03")["files"]
    outputs = {role: PACK / files[f"{entry[key]} per query"] for role, key in (("u", "a"), ("v", "b"))}
    u, v, pairing = score_columns(read_files("auto", outputs, measure=entry["metric"]))
    agrees(entry, u, v, pairing, _scale(entry))


def _scale(entry: dict[str, Any]) -> int:
    _, _, factor = entry["statistic"].partition(" x ")
    return int(factor or 1)


@pytest.mark.slow
@pytest.mark.parametrize(
    "measure", ["map", "Rprec", "bpref", "recip_rank", "P_5", "P_30", "ndcg", "ndcg_cut_10"]
)
def test_trec_runs_rounded_are_what_trec_eval_prints(measure: str) -> None:
    pytest.importorskip("pytrec_eval")
    about = expected("trec_robust03")
    files = {
        role: PACK / about["files"][name]
        for role, name in (("u", "aplrob03a"), ("v", "uic0301"), ("qrels", "qrels"))
    }
    u, v, _ = score_columns(read_files("trec", files, measure=measure, decimals=4))
    wanted = [
        about["runs"][name]["sum_of_printed_values_x10000"][measure] for name in ("aplrob03a", "uic0301")
    ]
    assert [sum(u) * 10_000, sum(v) * 10_000] == wanted


@pytest.mark.parametrize("measure", ["map", "ndcg", "recip_rank", "num_rel_ret", "P_10"])
def test_trec_evals_own_run_gives_its_own_output(measure: str) -> None:
    pytest.importorskip("pytrec_eval")
    folder = PACK / "trec" / "trec_eval_test"
    printed = dict.fromkeys("uv", folder / "out.test.aq")
    runs = {**dict.fromkeys("uv", folder / "results.test"), "qrels": folder / "qrels.test"}
    wanted = score_columns(read_files("auto", printed, measure=measure))
    assert score_columns(read_files("auto", runs, measure=measure, decimals=4))[:2] == wanted[:2]


def test_trec_averages_are_refused() -> None:
    for name in ("out.test", "out.test.a"):
        files = dict.fromkeys("uv", PACK / "trec" / "trec_eval_test" / name)
        refuses("averages_only", None, "auto", files, measure="map")


@pytest.mark.parametrize("entry", entries("llm_eus_trivia"))
def test_jsonl(entry: dict[str, Any]) -> None:
    files = expected("llm_eus_trivia")["files"]
    contents = {}
    for role, key in (("u", "a"), ("v", "b")):
        lines = (PACK / files[entry[key]]).read_text().splitlines()
        subset = entry.get("subset")
        contents[role] = "\n".join(line for line in lines if subset in (None, json.loads(line)["category"]))
    agrees(entry, *score_columns(read_files("auto", contents)))


def test_lm_eval_two_models() -> None:
    entry = expected("lm_eval")["pyfade_gsm8k"]
    reading = read_files("auto", {"u": PACK / entry["a"], "v": PACK / entry["b"]})
    agrees(entry["by_filter"]["strict-match"]["test"], *score_columns(reading))


@pytest.mark.parametrize("roles", [("file",), ("u", "v")], ids=["one-file", "twice"])
def test_lm_eval_two_filters(roles: tuple[str, ...]) -> None:
    entry = expected("lm_eval")["gpt_oss_gsm8k_two_filters"]
    files = dict.fromkeys(roles, PACK / entry["file"])
    refuses("choose_filter", None, "auto", files)
    reading = read_files("auto", files, filter_u="strict-match", filter_v="flexible-extract")
    agrees(entry["test"], *score_columns(reading))


def test_inspect() -> None:
    about = expected("inspect")
    entry = about["arc_paired"]
    files = {"u": PACK / "inspect" / entry["a"], "v": PACK / "inspect" / entry["b"]}
    refuses(None, None, "auto", files, '"4", "5"')
    reading = read_files("auto", files, on_missing="drop")
    agrees(entry["test_on_common_ids"], *score_columns(reading))
    for name, wanted in about["files"].items():
        path = PACK / "inspect" / name
        if wanted["status"] != "success":
            refuses("incomplete_log", None, "auto", dict.fromkeys("uv", path))
        if not wanted["metrics"]:
            refuses("unscored", None, "auto", dict.fromkeys("uv", path))
            continue
        scorer = next(iter(wanted["metrics"]))
        u, _, _ = score_columns(read_files("auto", dict.fromkeys("uv", path), allow_incomplete=True))
        assert [score[scorer] for score in wanted["scores"]].count("C") == sum(u)
        assert len(u) == wanted["samples"]


def test_promptfoo() -> None:
    about = expected("promptfoo")
    files = {"file": PACK / about["file"]}
    reading = read_files("auto", files)
    assert reading.names == (about["a"], about["b"])
    assert isinstance(reading.data, Scores)
    for column, key in ((reading.data.u, "score_a"), (reading.data.v, "score_b")):
        assert isinstance(column, np.ndarray)
        assert sorted(column.tolist()) == sorted(about[key].values())
    agrees(about["test_success"], *score_columns(read_files("auto", files, metric="success")))


@pytest.mark.slow
@pytest.mark.parametrize("entry", entries("asr_earnings21"))
@pytest.mark.parametrize("source", ["counts", "transcripts"])
def test_asr(source: str, entry: dict[str, Any]) -> None:
    files = expected("asr_earnings21")["files"]
    suffix = " counts" if source == "counts" else ""
    given = {role: PACK / files[entry[key] + suffix] for role, key in (("u", "a"), ("v", "b"))}
    if source == "transcripts":
        pytest.importorskip("jiwer")
        given["ref"] = PACK / files["ref"]
    clusters = "call" if entry["unit"] == "call" else None
    if entry["statistic"] == "utterances without error":
        agrees(
            entry, *score_columns(read_files("auto", given, metric="utterance_accuracy", clusters=clusters))
        )
        return
    reading = read_files("auto", given, clusters=clusters)
    agrees(entry, *count_columns(reading, "errors"))
    assert sum(count_columns(reading, "ref_words")[0]) == 121_554


MT_METRICS = {
    "TER edits (reference length is the same for both systems)": ("ter_edits", None),
    "clipped unigram matches": ("correct_1", None),
    "clipped 4-gram matches": ("correct_4", None),
    "segment chrF2 (4 printed decimals) rounded to 2 decimals, x 100": ("chrf2", 2),
}


@pytest.mark.parametrize("entry", entries("mt_ted_slk_eng"))
def test_mt(entry: dict[str, Any]) -> None:
    files = expected("mt_ted_slk_eng")["files"]
    given = {role: PACK / files[f"{entry[key]} segment statistics"] for role, key in (("u", "a"), ("v", "b"))}
    if entry["statistic"] not in MT_METRICS:
        pytest.skip("was rounded from more decimals of chrF2 than the files have")
    metric, decimals = MT_METRICS[entry["statistic"]]
    u, v, pairing = score_columns(read_files("auto", given, metric=metric, decimals=decimals))
    agrees(entry, u, v, pairing, 10 ** (decimals or 0))


def test_mt_sums_of_bleu_and_ter() -> None:
    about = expected("mt_ted_slk_eng")
    given = {
        role: PACK / about["files"][f"{name} segment statistics"]
        for role, name in (("u", "sys1"), ("v", "sys2"))
    }
    bleu = read_files("mt-stats", given, metric="bleu")
    ter = read_files("mt-stats", given, metric="ter")
    assert isinstance(bleu.data, Counts)
    assert isinstance(ter.data, Counts)
    for role, name in (("u", "sys1"), ("v", "sys2")):
        system, sums = about["systems"][name], about["systems"][name]["bleu_sums"]
        found = {count: int(column.sum()) for count, column in getattr(bleu.data, role).items()}
        assert found == {
            **{f"correct_{n}": value for n, value in enumerate(sums["correct"], 1)},
            **{f"total_{n}": value for n, value in enumerate(sums["total"], 1)},
            "sys_len": sums["sys_len"],
            "ref_len": sums["ref_len"],
        }
        edits = {count: int(column.sum()) for count, column in getattr(ter.data, role).items()}
        assert edits == {"ter_edits": system["ter_edits"], "ter_ref_len": system["ter_ref_len"]}


@pytest.mark.parametrize("entry", entries("mqm_newstest2020_ende"))
def test_mqm(entry: dict[str, Any]) -> None:
    files = {"file": PACK / expected("mqm_newstest2020_ende")["file"]}
    reading = read_files("auto", files, system_u=entry["a"], system_v=entry["b"])
    assert reading.names == (entry["a"], entry["b"])
    u, v, pairing = score_columns(reading)
    thirds = [[Fraction(round(value * 30)) for value in column] for column in (u, v)]
    agrees(entry, thirds[0], thirds[1], pairing)
