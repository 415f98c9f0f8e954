"""Which format files are of, from their first bytes and their roles. What is not certain is refused, not tried."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from ...errors import InvalidTest
from .inspect_archive import ZIP_MAGIC
from .number_text import is_missing, parsed
from .source import UTF8_BOM, Source
from .table import GUESSED_DELIMITERS
from .tag_columns import TAG
from .transcripts import UTTERANCE

START_BYTES = 65_536
MAX_LINES = 50
TREC_MEASURE = re.compile(
    r"runid|num_(?:q|ret|rel|rel_ret)|(?:gm_)?map|Rprec|bpref|recip_rank|(?:ndcg|P|recall|success|map_cut|ndcg_cut|"
    r"iprec_at_recall)(?:_[\d.]+)?|set_\w+|infAP|utility|Rndcg|11pt_avg"
)
LM_EVAL_MARKS = ("filter", "doc_hash", "filtered_resps", "metrics")


def guess(files: Mapping[str, Source]) -> str:
    """The name of the format; raises InvalidTest when nothing certain can be said."""
    source = files.get("u") or files.get("file") or next(iter(files.values()))
    if source.content.startswith(ZIP_MAGIC):
        return "inspect"
    if "qrels" in files:
        return "trec"
    start = source.content.removeprefix(UTF8_BOM)[:START_BYTES]
    text = start.decode("utf-8", "replace")
    found = _json(source, text) if text.lstrip()[:1] in ("{", "[") else _text(text, files)
    if found is None:
        detail = f"{source.label}: the format cannot be told from its first bytes; say format=."
        raise InvalidTest.at("/options/format", "unknown_format", detail)
    return found


def _json(source: Source, text: str) -> str | None:
    if text.lstrip().startswith("["):
        return "jsonl"
    first = _object(text.lstrip().partition("\n")[0])
    if first is not None and not _is_document(first):
        if "doc_id" in first and any(mark in first for mark in LM_EVAL_MARKS):
            return "lm-eval"
        if "evaluation" in first and "sample_id" in first:
            return "every-eval-ever"
        return "jsonl"
    whole = first if first is not None else _object(source.content.decode("utf-8", "replace"))
    if whole is None:
        return None
    if isinstance(whole.get("eval"), dict) and "status" in whole:
        return "inspect"
    if isinstance(whole.get("items"), list):
        return "evalsig"
    return "promptfoo" if "results" in whole else None


def _object(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _is_document(value: dict[str, Any]) -> bool:
    """Whether an object that fits on one line is a whole document and not a record."""
    return any(isinstance(value.get(name), dict | list) for name in ("eval", "results", "items"))


def _text(text: str, files: Mapping[str, Source]) -> str | None:
    lines = [line.rstrip("\r") for line in text.split("\n")][:MAX_LINES]
    rows = [
        line for line in lines if line.strip() and not re.match(r"#\s*(?:newdoc|newpar|[\w.]+\s*=)", line)
    ]
    if not rows:
        return None
    fields = rows[0].split("\t")
    if len(fields) == 10 and fields[0][:1].isdigit():
        return "conllu"
    if any(len(row.split()) == 3 and TREC_MEASURE.fullmatch(row.split()[0]) for row in rows[:1]):
        return "trec"
    by_header = _header(rows[0])
    if by_header is not None:
        return by_header
    has_reference = any(role in files for role in ("ref", "gold"))
    if has_reference and all(UTTERANCE.fullmatch(row) for row in rows[:-1] or rows):
        return "asr"
    if _are_tags(rows):
        return "conll"
    if _are_numbers(rows[0]):
        return "csv"
    return "mt" if "ref" in files else None


def _header(line: str) -> str | None:
    """The format whose header this line is."""
    delimiter = next((d for d in GUESSED_DELIMITERS if d in line.strip()), ",")
    names = {name.strip().lower() for name in line.split(delimiter)}
    if {"ref_words"} < names:
        return "asr"
    if {"ter_edits", "ter_ref_len"} <= names or {"correct_1", "total_1"} <= names:
        return "mt-stats"
    if "system" in names and "seg_id" in names and delimiter == " ":
        return "mqm"
    known = {"u", "v"} <= names or {"system", "score"} <= names or {"id", "score"} <= names
    counted = any(name.endswith("_u") and f"{name[:-2]}_v" in names for name in names)
    if known or counted or ("id" in names and len(names) >= 3):
        return "tsv" if delimiter == "\t" else "csv"
    return None


def _are_tags(rows: list[str]) -> bool:
    """Whether the last column, or the one after the token, is of BIO tags in every line."""
    split = [row.split("\t") if "\t" in rows[0] else row.split() for row in rows[:-1] or rows]
    if min(map(len, split)) < 2:
        return False
    width = min(map(len, split))
    return any(all(TAG.fullmatch(row[place]) for row in split) for place in range(1, width))


def _are_numbers(line: str) -> bool:
    for delimiter in GUESSED_DELIMITERS[:4]:
        values = [value.strip() for value in line.split(delimiter)]
        if len(values) in (2, 4) and all(parsed(v) is not None or is_missing(v) for v in values):
            return True
    return parsed(line.strip()) is not None
