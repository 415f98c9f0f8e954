"""Write `openapi/examples/` from the evaluation data: `python -m openapi.make_examples [--pack ../shared/data]`.

The part of an example's name before the first hyphen is the endpoint it is for: `scores-cs478.json` is a body for
`POST /v1/tests/scores`. The same data gives the same bytes. Sources and licences: `examples/NOTICE.md`.
"""
# ruff: noqa: INP001 - a script beside what it writes, not a package

from __future__ import annotations

import argparse
import gzip
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "openapi" / "examples"
PACK = ROOT.parent / "shared" / "data"

TAGGERS = {"u": "perceptron", "v": "crf"}
MODELS = {"u": "gpt-4-0613", "v": "gpt-4-0125-preview"}
RUNS = {"u": "aplrob03a", "v": "uic0301"}
UPOS = 3  # the column of a CoNLL-U line, counted from zero

SMALL: Mapping[str, dict[str, Any]] = {
    "effects-small.json": {"stay": [3, -1, 0, 2]},
    "scores-cs478.json": {
        "u": [0.85, 0.90, 0.78, 0.92, 0.88],
        "v": [0.80, 0.85, 0.75, 0.88, 0.82],
        "statistic": {"name": "mean_difference"},
    },
    "predictions-small.json": {
        "gold": ["N", "V", "N", "D", "N", "V", "A", "N"],
        "u": ["N", "V", "N", "D", "N", "V", "A", "V"],
        "v": ["V", "V", "V", "D", "V", "N", "N", "N"],
        "statistic": {"name": "accuracy"},
    },
}

COUNTED = {
    "u": {"tp": [8, 3, 7, 5, 2], "fp": [2, 3, 1, 0, 1], "fn": [1, 2, 0, 1, 4]},
    "v": {"tp": [6, 3, 7, 4, 2], "fp": [3, 1, 1, 2, 1], "fn": [2, 2, 1, 2, 3]},
}
CONFUSED = {
    "u": {"tp": [5, 3, 4, 2, 3], "fp": [1, 0, 2, 1, 0], "fn": [0, 1, 1, 0, 2], "tn": [4, 6, 3, 7, 5]},
    "v": {"tp": [4, 3, 2, 2, 4], "fp": [2, 1, 1, 3, 0], "fn": [1, 1, 3, 0, 1], "tn": [3, 5, 4, 5, 5]},
}
WORDS = {
    "u": {"errors": [3, 0, 5, 1, 2], "words": [40, 12, 33, 20, 25]},
    "v": {"errors": [5, 1, 4, 4, 2], "words": [40, 12, 33, 20, 25]},
}
CLASSES = {
    "gold": [1, 0, 1, 1, 0, 0, 1, 0],
    "u": [1, 0, 1, 1, 0, 1, 1, 0],
    "v": [0, 0, 1, 0, 1, 1, 1, 0],
}
ENTITIES = {
    "gold": [["B-PER", "I-PER", "O"], ["O", "B-LOC"], ["B-ORG", "O", "B-PER"], ["O", "B-PER"]],
    "u": [["B-PER", "I-PER", "O"], ["O", "B-LOC"], ["B-ORG", "O", "O"], ["O", "B-PER"]],
    "v": [["B-PER", "O", "O"], ["O", "B-LOC"], ["B-ORG", "O", "B-PER"], ["B-PER", "B-PER"]],
}
TEXTS = {
    "gold": [
        "the cat sat on the mat",
        "a dog barks at night",
        "it rains all day today",
        "we go home by bus now",
    ],
    "u": ["the cat sat on the mat", "a dog barks at the night", "it rains all day today", "we go by bus"],
    "v": [
        "the cat sits on a mat",
        "a cat barks at night",
        "it rained all day today",
        "we go home by bus now",
    ],
}
LABELLED = {
    "gold": [1, 0, 1, 1, 0, 0, 1, 0],
    "u": [0.9, 0.2, 0.7, 0.4, 0.4, 0.1, 0.8, 0.3],
    "v": [0.6, 0.5, 0.8, 0.3, 0.7, 0.2, 0.6, 0.4],
}
# The same number of points for both systems, no two alike, so that ranks are the points.
JUDGED = {
    "gold": [3.5, 1.0, 4.0, 2.5, 2.0, 5.0, 3.0],
    "u": [3, 1, 5, 4, 2, 7, 6],
    "v": [5, 2, 3, 1, 4, 6, 7],
}
SURVIVED = {
    "gold": [5, 12, 12, 3, 8, 20, 15],
    "event": [1, 0, 1, 1, 1, 0, 1],
    "u": JUDGED["u"],
    "v": JUDGED["v"],
}
DECIMALS = {"u": [0.5, 0.25, 0.75, 1.0, 0.5, 0.0], "v": [0.25, 0.25, 0.5, 0.5, 0.75, 0.25]}

RIGHT = {
    "u": {"correct": [8, 3, 7, 5], "total": [9, 4, 7, 6]},
    "v": {"correct": [6, 4, 7, 5], "total": [9, 4, 7, 6]},
}
# Segment statistics: what sacrebleu counts of four short segments against their references, of orders up to 4 or 2.
BLEU_ROWS = {
    "u": {
        "sys_len": [6, 6, 5, 7], "ref_len": [6, 5, 5, 6],
        "correct_1": [6, 5, 5, 5], "correct_2": [5, 3, 4, 4], "correct_3": [4, 2, 3, 3], "correct_4": [3, 1, 2, 2],
        "total_1": [6, 6, 5, 7], "total_2": [5, 5, 4, 6], "total_3": [4, 4, 3, 5], "total_4": [3, 3, 2, 4],
    },
    "v": {
        "sys_len": [6, 5, 5, 6], "ref_len": [6, 5, 5, 6],
        "correct_1": [4, 4, 4, 6], "correct_2": [2, 2, 2, 5], "correct_3": [1, 1, 1, 4], "correct_4": [1, 0, 1, 3],
        "total_1": [6, 5, 5, 6], "total_2": [5, 4, 4, 5], "total_3": [4, 3, 3, 4], "total_4": [3, 2, 2, 3],
    },
}  # fmt: skip
CHRF_ROWS = {
    "u": {"hyp_1": [9, 7, 8], "ref_1": [9, 8, 8], "match_1": [9, 6, 8], "hyp_2": [8, 6, 7], "ref_2": [8, 7, 7], "match_2": [8, 4, 6]},
    "v": {"hyp_1": [9, 8, 8], "ref_1": [9, 8, 8], "match_1": [7, 8, 6], "hyp_2": [8, 7, 7], "ref_2": [8, 7, 7], "match_2": [5, 7, 4]},
}  # fmt: skip
EDITS = {
    "u": {"edits": [3, 0, 5, 1], "ref_len": [20, 12, 15, 9]},
    "v": {"edits": [5, 1, 4, 4], "ref_len": [20, 12, 15, 9]},
}
TUPLES = {
    "stay": [[8, 2, 6, 1], [3, 3, 5, 2], [7, 1, 7, 1], [4, 0, 2, 2]],
    "swap": [[6, 1, 8, 2], [5, 2, 3, 3], [7, 1, 7, 1], [2, 2, 4, 0]],
    "statistic": {"expression": "x1 / (x1 + x2 / 2) - x3 / (x3 + x4 / 2)"},
}
REPEATED = {"u": [[1, 0, 1], [1, 1], [0, 0, 1], [1]], "v": [[0, 0, 1], [1, 0], [0, 1, 1], [0]]}
THIRDS = {"u": [0.333333, 1.0, 0.666667, 0.0], "v": [0.0, 0.666667, 0.666667, 0.333333]}
REALS = {
    "u": [0.8147236863931789, 0.9057919370756192, 0.1269868162935061, 0.9133758561390194, 0.6323592462254095],
    "v": [0.0975404049994095, 0.2784982188670484, 0.5468815192049838, 0.9575068354342976, 0.4648885351992766],
}


def _each(kind: str, data: dict[str, Any], statistics: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    return {
        f"{kind}-{label}.json": {**data, "statistic": statistic} for label, statistic in statistics.items()
    }


def _named(*names: str) -> dict[str, dict[str, Any]]:
    return {name.replace("_", "-"): {"name": name} for name in names}


# One of every statistic that needs no other package: `examples/small/`, where tests/api/test_examples.py looks.
STATISTICS: Mapping[str, dict[str, Any]] = {
    **_each("scores", DECIMALS, _named("mean_difference", "sum_difference", "sign", "signed_rank", "median_difference")),
    **_each("scores", DECIMALS, {"quantile-difference": {"name": "quantile_difference", "q": 0.9}}),
    **_each("counts", COUNTED, _named("f1", "precision", "recall", "jaccard")),
    **_each("counts", COUNTED, {"fbeta": {"name": "fbeta", "beta": 2}}),
    **_each("counts", COUNTED, {"expression": {"name": "expression", "expression": "tp / (tp + fp + fn)"}}),
    **_each("counts", WORDS, {"ratio": {"name": "ratio", "numerator": "errors", "denominator": "words"}}),
    **_each("counts", CONFUSED, _named("mcc", "kappa", "balanced_accuracy", "g_mean", "specificity", "npv")),
    **_each("predictions", CLASSES, _named("accuracy", "f1", "precision", "recall", "mcc")),
    **_each(
        "predictions", CLASSES, _named("kappa", "balanced_accuracy", "g_mean", "specificity", "npv")
    ),
    **_each("predictions", CLASSES, {"f1-weighted": {"name": "f1", "average": "weighted"}}),
    **_each("predictions", CLASSES, {"f1-macro": {"name": "f1", "average": "macro"}}),
    **_each("predictions", CLASSES, {"f1-micro": {"name": "f1", "average": "micro"}}),
    **_each(
        "predictions", ENTITIES,
        _named("exact_match", "token_accuracy", "span_f1", "span_precision", "span_recall"),
    ),
    **_each("predictions", TEXTS, _named("bleu", "chrf", "ter")),
    **_each("predictions", LABELLED, {"auc": {"name": "auc", "scale": "raw"}}),
    **_each("predictions", JUDGED, _named("kendall", "pairwise_accuracy", "spearman")),
    **_each("predictions", SURVIVED, _named("concordance")),
    **_each("counts", RIGHT, _named("accuracy")),
    **_each("counts", BLEU_ROWS, _named("bleu")),
    **_each("counts", CHRF_ROWS, _named("chrf")),
    **_each("counts", EDITS, _named("ter")),
}  # fmt: skip
# One of every way to ask that is no statistic of its own, beside them.
WAYS: Mapping[str, dict[str, Any]] = {
    "effects-tuples.json": TUPLES,
    "scores-repeated.json": {**REPEATED, "statistic": {"name": "mean_difference"}},
    "scores-unit.json": {**THIRDS, "statistic": {"name": "mean_difference", "unit": "1/3"}},
    "scores-bounds.json": {**REALS, "method": "bounds", "precision": 1e-4},
    "scores-bootstrap.json": {**DECIMALS, "test": "bootstrap"},
    "scores-clusters.json": {**DECIMALS, "clusters": ["a", "a", "b", "b", "c", "c"]},
}


@dataclass(frozen=True, slots=True)
class Sentences:
    """The UPOS tags of a CoNLL-U file, a list per sentence, and the `newdoc id` each sentence is below."""

    tags: list[list[str]]
    documents: list[str]


def sentences(path: Path) -> Sentences:
    """Read a gzipped CoNLL-U file; multiword-token lines (`1-2`) and empty nodes (`1.1`) are not words."""
    tags: list[list[str]] = []
    documents: list[str] = []
    document = ""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            if line.startswith("# newdoc id = "):
                document = line.partition("=")[2].strip()
            elif line.startswith("# sent_id"):
                tags.append([])
                documents.append(document)
            elif line[0].isdigit():
                fields = line.split("\t")
                if fields[0].isdigit():
                    tags[-1].append(fields[UPOS])
    return Sentences(tags, documents)


def tagging(pack: Path) -> dict[str, Any]:
    """English EWT, test part: gold UPOS and two taggers', sentences as items."""
    files = {"gold": "gold", **TAGGERS}
    read = {
        name: sentences(pack / "conllu" / f"en_ewt-ud-test.{file}.conllu.gz") for name, file in files.items()
    }
    return {
        **{name: one.tags for name, one in read.items()},
        "clusters": read["gold"].documents,
        "statistic": {"name": "token_accuracy"},
        "names": TAGGERS,
    }


def answers(pack: Path) -> dict[str, Any]:
    """EusTrivia: 1 where the model chose the right candidate, by the question's id."""
    systems = {}
    for name, model in MODELS.items():
        lines = (
            (pack / "llm_jsonl" / "eus_trivia" / f"{model}.jsonl").read_text(encoding="utf-8").splitlines()
        )
        items = [json.loads(line) for line in lines]
        systems[name] = {str(item["id"]): int(item["correct"]) for item in items}
    return {**systems, "statistic": {"name": "mean_difference"}, "names": MODELS}


def average_precision(pack: Path) -> dict[str, Any]:
    """TREC 2003 Robust track: average precision with the four decimals trec_eval prints, by topic."""
    systems: dict[str, dict[str, float]] = {}
    for name, run in RUNS.items():
        text = (pack / "trec" / "robust03" / f"eval.{run}.trec_eval.txt").read_text(encoding="utf-8")
        rows = [line.split() for line in text.splitlines()]
        systems[name] = {
            topic: float(value) for measure, topic, value in rows if measure == "map" and topic != "all"
        }
    return {**systems, "statistic": {"name": "mean_difference"}, "names": RUNS}


def rendered(body: Mapping[str, Any]) -> str:
    """Compact JSON with a line per field, and a line per item where items are lists."""
    fields = [f'"{name}":{_value(value)}' for name, value in body.items()]
    return "{" + ",\n".join(fields) + "}\n"


def _value(value: Any) -> str:
    if isinstance(value, list) and isinstance(value[0], list):
        return "[\n" + ",\n".join(map(_value, value)) + "]"
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def examples(pack: Path) -> dict[str, str]:
    """Every example by file name, as text."""
    by_document, trivia = tagging(pack), answers(pack)
    by_sentence = {name: value for name, value in by_document.items() if name != "clusters"}
    bodies = {
        **SMALL,
        "predictions-ewt-upos-by-sentence.json": by_sentence,
        "predictions-ewt-upos-by-document.json": by_document,
        "scores-eus-trivia.json": trivia,
        "scores-robust03-map.json": average_precision(pack),
    }
    pairs = zip(trivia["u"].values(), trivia["v"].values(), strict=True)
    table = "".join(f"{u},{v}\n" for u, v in pairs)
    return {**{name: rendered(body) for name, body in bodies.items()}, "scores-eus-trivia.csv": table}


def main() -> None:
    """Write them all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pack", type=Path, default=PACK, help="folder of the evaluation data")
    written = examples(parser.parse_args().pack)
    EXAMPLES.mkdir(parents=True, exist_ok=True)
    for name, text in written.items():
        (EXAMPLES / name).write_text(text, encoding="utf-8", newline="\n")
    write_small()


def write_small() -> None:
    """Write those that need no data."""
    (EXAMPLES / "small").mkdir(exist_ok=True)
    for name, body in {**STATISTICS, **WAYS}.items():
        (EXAMPLES / "small" / name).write_text(rendered(body), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
