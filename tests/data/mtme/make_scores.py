"""Segment scores of BLEU, chrF and TER beside MQM, as mt-metrics-eval keeps them, from WMT's MQM annotations.

    python make_scores.py mqm_ted_ende.tsv mqm_ted_ende.avg_seg_scores.tsv

Both files are of google/wmt-mqm-human-evaluation, `ted/ende/`. The reference is the system `ref` there, so that it is not
scored itself. Segments without a rating have no text there: they are `None`. Scores are rounded to four decimals; TER is
negated, so that more is better.
"""

import gzip
import re
import sys
from collections.abc import Callable
from pathlib import Path

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

SPAN = re.compile("</?v>")
HERE = Path(__file__).parent


def rows(path: str) -> list[list[str]]:
    """The lines of a file of tab-separated columns, without its header."""
    with Path(path).open(encoding="utf-8", newline="\n") as lines:
        return [line.rstrip("\n").split("\t") for line in lines][1:]


def written(name: str, lines: list[str]) -> None:
    """Write a compressed file that is the same every time."""
    content = "".join(f"{line}\n" for line in lines).encode()
    (HERE / f"{name}.seg.score.gz").write_bytes(gzip.compress(content, 9, mtime=0))


def main(annotations: str, averages: str) -> None:
    """Write the scores beside this file."""
    texts = {(row[0], int(row[3])): SPAN.sub("", row[6]) for row in rows(annotations)}
    human = [" ".join(row).split() for row in rows(averages)]
    human = [row for row in human if row[0] != "ref-A"]
    written("en-de.mqm", [f"{system}\t{score}" for system, score, _ in human])
    metrics: dict[str, Callable[[str, str], float]] = {
        "BLEU-refA": lambda hyp, ref: BLEU(effective_order=True).sentence_score(hyp, [ref]).score,
        "chrF-refA": lambda hyp, ref: CHRF().sentence_score(hyp, [ref]).score,
        "TER-refA": lambda hyp, ref: -TER().sentence_score(hyp, [ref]).score,
    }
    for name, score in metrics.items():
        lines = []
        for system, _, segment in human:
            hypothesis = texts.get((system, int(segment)))
            said = "None" if hypothesis is None else f"{score(hypothesis, texts['ref', int(segment)]):.4f}"
            lines.append(f"{system}\t{said}")
        written(name, lines)


if __name__ == "__main__":
    main(*sys.argv[1:])
