"""The inputs of mutations: the real files of tests/data and the examples, as complete requests."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from exactperm.inputs import encodings
from tests.binary import parquet_of, workbook

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data"
EXAMPLES = ROOT / "openapi" / "examples"
NEW, OLD = "2026-05-17T13-25-31.291152.jsonl", "2026-05-18T01-02-03.000001.jsonl"
LARGEST = 40_000  # bytes of one file: mutations are many, and a longer file says nothing new


# As pandas' to_csv, R's write.csv, write.csv2 and write.table, and spreadsheets of countries with decimal commas write them.
TABLES_OF_TOOLS = (
    b'"id","u","v"\n"a","1.0","0.5"\n"b","0.25","1"\n"c","0","1"\n',
    b",model_a,model_b\n0,True,False\n1,True,True\n2,False,True\n",
    b'"","score_a","score_b"\n"q7",1,0.5\n"q2",0.25,1\n"q9",0,0.75\n',
    b'"";"score_a";"score_b"\n"q7";1;0,5\n"q2";0,25;1\n"q9";0;0,75\n',
    b'"score_a" "score_b"\n"q7" 1 0.5\n"q2" 0.25 1\n"q9" 0 0.75\n',
    b"sep=;\r\nid;u;v\r\na;85,5%;90%\r\nb;7%;12,25%\r\nc;1%;0%\r\n",
    b"id|question|model_a|model_b\na|Why?|1|0\nb|When?|1|1\nc|Who|0|1\n",
)
BIOES = b"George S-PER\n\nGeorge B-PER\nWashington E-PER\nvisited O\nNew B-LOC\nYork I-LOC\nCity E-LOC\n. O\n"
LABELS = b"id,label\na,x\nb,y\nc,z\nd,none\n"
PREDICTED = b"".join(b'{"id": "%d", "gold": %d, "pred": %d}\n' % (k, k % 2, k % 3 == 1) for k in range(6))


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Files by role, their format, and the options that make a test of them."""

    format: str
    files: Mapping[str, bytes]
    options: Mapping[str, str] = field(default_factory=dict)


def _excerpt(format_: str, folder: Path, names: Mapping[str, str], **options: str) -> Excerpt:
    files = {
        role: encodings.inflated((folder / name).read_bytes(), max_bytes=10**8)
        for role, name in names.items()
    }
    return Excerpt(format_, files, options)


def _pair(format_: str, folder: Path, u: str, v: str, **options: str) -> Excerpt:
    return _excerpt(format_, folder, {"u": u, "v": v}, **options)


TABLE: dict[str, list[object]] = {"id": ["a", "b", "c"], "u": [0.5, 1.0, 0.25], "v": [True, False, True]}


@cache
def excerpts() -> tuple[Excerpt, ...]:
    """One set of files for every way of reading there is."""
    files = EXAMPLES / "files"
    table = next((DATA / "lm_eval" / "two_filters").iterdir()).name
    base, tuned = (next((DATA / "lm_eval" / name).iterdir()).read_bytes() for name in ("base", "tuned"))
    asr = {"ref": "ref.trn", "u": "amazon.trn", "v": "google.trn"}
    treebanks = {"gold": "gold.conllu", "u": "crf.conllu", "v": "perceptron.conllu"}
    uner = {"gold": "gold.iob2", "u": "crf_small.pred.tsv", "v": "crf_large.pred.tsv"}
    ranked = {"gold": "labels.csv", "u": "u.probabilities.jsonl", "v": "v.probabilities.jsonl"}
    metrics = {"gold": "en-de.mqm.seg.score", "u": "chrF-refA.seg.score", "v": "BLEU-refA.seg.score"}
    runs = {"u": "run.aplrob03a.txt", "v": "run.uic0301.txt", "qrels": "qrels.txt"}
    return (
        _excerpt("csv", files, {"file": "scores.csv"}),
        _excerpt("tsv", files, {"file": "scores.tsv"}),
        _excerpt("mqm", DATA / "mqm", {"file": "newstest2020_ende.tsv"}, system_u="Human-A.0", system_v="Tohoku-AIP-NTT.890"),
        _pair("jsonl", files, "u.jsonl", "v.jsonl"),
        Excerpt("lm-eval", {"u": base, "v": tuned}, {"filter": "strict-match"}),
        _excerpt("lm-eval", DATA / "lm_eval" / "two_filters", {"u": table, "v": table}, filter="strict-match"),
        _pair("jsonl", DATA / "eus_trivia", "gpt-4-0613.jsonl", "gpt-3.5-turbo-0125.jsonl", score_column="correct"),
        _pair("inspect", DATA / "inspect", "qwen.json", "sonnet.json", on_missing="drop"),
        _pair("inspect", DATA / "inspect", "scored.eval", "scored.eval"),
        _pair("every-eval-ever", files, "u.eee.jsonl", "v.eee.jsonl"),
        _pair("pytest-benchmark", DATA / "benchmarks", "pytest_u.json", "pytest_v.json"),
        _pair("hyperfine", DATA / "benchmarks", "hyperfine_u.json", "hyperfine_v.json"),
        _excerpt("promptfoo", DATA / "promptfoo", {"file": "results.json"}),
        _pair("evalsig", files, "u.runframe.json", "v.runframe.json"),
        _excerpt("conllu", DATA / "conllu", treebanks, statistic="upos"),
        _excerpt("conllu", DATA / "conllu", treebanks, statistic="las", items="word"),
        _excerpt("conll", DATA / "uner", uner),
        _excerpt("conll", DATA / "wnut17", {"gold": "gold.annotated", "u": "uh_ritual", "v": "spinningbytes.txt"}),
        Excerpt("conll", {"gold": BIOES, "u": BIOES.replace(b"E-", b"I-"), "v": BIOES.replace(b"E-", b"L-").replace(b"S-", b"U-")}),
        _pair("conll", DATA / "uner", "crf_small.token-gold-pred.conll", "crf_large.token-gold-pred.conll"),
        _pair("trec", DATA / "trec", "eval.aplrob03a.txt", "eval.uic0301.txt", measure="map"),
        _excerpt("trec", DATA / "trec", runs, measure="map"),
        _pair("asr", DATA / "asr", "amazon.tsv", "google.tsv"),
        _excerpt("asr", DATA / "asr", asr),
        _excerpt("mt", files, {"ref": "ref.txt", "u": "u.txt", "v": "v.txt"}, statistic="bleu"),
        _excerpt("ranking", files, {"file": "ranking.csv"}),
        _excerpt("ranking", files, ranked),
        _excerpt("ranking", files, ranked, groups="group", on_missing="drop"),
        *(Excerpt("csv", {"file": content}) for content in TABLES_OF_TOOLS),
        Excerpt("csv", {"u": b",score\n0,1\n2,0\n3,1\n", "v": b",score\n0,1\n2,1\n3,0\n"}),
        Excerpt("csv", {"file": workbook(Sheet=[list(TABLE), *zip(*TABLE.values(), strict=True)])}),
        Excerpt("csv", {"file": parquet_of(TABLE)}),
        Excerpt("labels", {"gold": LABELS, "u": LABELS.replace(b"x", b"y"), "v": LABELS}),
        Excerpt("labels", {"u": PREDICTED, "v": PREDICTED.replace(b'"pred": 1', b'"pred": 0')}),
        Excerpt("labels", {"file": b"id,gold,u,v,cluster\na,x,x,y,1\nb,y,y,y,1\nc,z,x,z,2\n"}),
        _excerpt("mt-metrics-eval", DATA / "mtme" / "small", metrics),
        _excerpt("mt-metrics-eval", DATA / "mtme" / "small", metrics, groups="system", clusters="segment"),
        _pair("lm-eval", DATA / "lm_eval" / "wikitext", f"new/samples_wikitext_{NEW}", f"old/samples_wikitext_{OLD}"),
        _pair("lm-eval", DATA / "lm_eval" / "ifeval", f"new/samples_ifeval_{NEW}", f"old/samples_ifeval_{OLD}", metric="inst_level_strict_acc"),
        _pair("helm", DATA / "helm", "new/per_instance_stats.json", "old/per_instance_stats.json", metric="exact_match"),
        _pair("lighteval", DATA / "lighteval", "new.details.jsonl", "old.details.jsonl", metric="acc"),
        _pair("lighteval", DATA / "lighteval", "new.documents.jsonl", "old.documents.jsonl"),
        _pair("openai-evals", DATA / "openai_evals", "new.jsonl", "old.jsonl"),
        _pair("json-object", DATA / "plain", "u.json", "v.json"),
        _pair("npy", DATA / "plain", "u.npy", "v.npy"),
        _excerpt("npy", DATA / "plain", {"file": "both.npz"}),
        _pair("mt-stats", DATA / "mt", "sys1.tsv", "sys2.tsv", metric="bleu"),
    )  # fmt: skip


@cache
def requests() -> tuple[tuple[str, bytes], ...]:
    """Kind and JSON body of the examples that are small."""
    paths = sorted([*EXAMPLES.glob("*.json"), *(EXAMPLES / "small").glob("*.json")])
    return tuple(
        (path.name.partition("-")[0], path.read_bytes()) for path in paths if path.stat().st_size <= LARGEST
    )
