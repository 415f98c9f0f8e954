"""Files that tools for evaluation write, each a shape of its own: what marks it, and its rows.

Sources: SWE-bench/SWE-bench, harness/reporting.py; evalplus/evalplus, evaluate.py; bigcode-project/bigcodebench; Unbabel/COMET,
cli/score.py; open-compass/opencompass, tasks/openicl_eval.py (format_details); confident-ai/deepeval, test_run/api.py;
laude-institute/terminal-bench, harness/models.py; lm-sys/FastChat, llm_judge/common.py; tatsu-lab/alpaca_eval, metrics/winrate.py; rajpurkar/SQuAD-explorer, evaluate-v2.0.py;
google-research/mt-metrics-eval, data.py.
"""

from __future__ import annotations

import csv
import io
import re
import string
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from ...errors import InvalidTest
from .. import ndjson
from ..quoting import escaped, quoted
from .format import FirstLook
from .json_records import Record, key_of, read_records
from .number_text import parsed
from .reader import ReaderOptions
from .roles import needed
from .shapes import OF_ONE_FILE, USES, Row, Rows, Shape, installed
from .source import Source

Object = dict[str, Any]
Files = Mapping[str, Source]


def document(source: Source, notes: list[str]) -> Object:
    """The one JSON object of a file; raises MalformedBody, or InvalidTest where it is none."""
    value = ndjson.decoded(source.text(notes), source.pointer, source.label)
    if not isinstance(value, dict):
        raise InvalidTest.at(source.pointer, "not_an_object", f"{source.label}: this is not one JSON object.")
    return value


def objects(source: Source, value: Any, path: str) -> list[Object]:
    """A list of objects; raises InvalidTest where it is another thing."""
    if isinstance(value, list) and all(isinstance(one, dict) for one in value):
        return value
    raise InvalidTest.at(
        f"{source.pointer}/{path}", "not_a_list", f"{source.label}: {path} is not a list of objects."
    )


def inside(source: Source, value: Any, path: str) -> Object:
    """An object; raises InvalidTest where it is another thing."""
    if isinstance(value, dict):
        return value
    raise InvalidTest.at(
        f"{source.pointer}/{path}", "not_an_object", f"{source.label}: {path} is not an object."
    )


# SWE-bench: ids of what was resolved, of what was submitted.

OTHER_IDS = ("submitted_ids", "completed_ids", "unresolved_ids", "error_ids", "empty_patch_ids")
OLDER_IDS = ("no_generation", "no_logs", "generated", "applied", "no_apply", "with_logs")


def _is_swe(look: FirstLook) -> bool:
    names = look.whole.keys()
    return ("resolved_ids" in names and not names.isdisjoint(OTHER_IDS)) or (
        isinstance(look.whole.get("resolved"), list) and not names.isdisjoint(OLDER_IDS)
    )


def _swe(source: Source, options: ReaderOptions, notes: list[str], files: Files) -> Rows:
    report = document(source, notes)
    newer = "resolved_ids" in report
    resolved = "resolved_ids" if newer else "resolved"
    lists = ("submitted_ids",) if report.get("submitted_ids") else OTHER_IDS[1:] if newer else OLDER_IDS
    rows: dict[str, Row] = {}
    for name in (resolved, *lists):
        ids = report.get(name) or []
        if not isinstance(ids, list):
            raise InvalidTest.at(
                source.at(name), "not_a_list", f"{source.label}: {name} is not a list of ids."
            )
        for index, key in enumerate(ids):
            text = key_of(key, source, f"{name}/{index}", "id")
            rows.setdefault(text, Row(text, {"resolved": int(name == resolved)}, f"{name}/{index}", None))
    if not rows:
        raise source.empty()
    said = (
        ()
        if newer
        else ("An instance that a file does not name was not resolved; what neither names is left out.",)
    )
    return Rows(
        source,
        list(rows.values()),
        metric="resolved",
        higher_is_better=True,
        absent=None if newer else 0,
        notes=said,
    )


# EvalPlus and BigCodeBench: a list of samples of each task.


def _is_evalplus(look: FirstLook) -> bool:
    tasks = look.whole.get("eval")
    first = next(iter(tasks.values()), None) if isinstance(tasks, dict) else None
    samples = first if isinstance(first, list) else []
    return (
        bool(samples)
        and isinstance(samples[0], dict)
        and not {"base_status", "status"}.isdisjoint(samples[0])
    )


def _evalplus(source: Source, options: ReaderOptions, notes: list[str], files: Files) -> Rows:
    rows = []
    for task, samples in inside(source, document(source, notes).get("eval"), "eval").items():
        for index, sample in enumerate(objects(source, samples, f"eval/{escaped(task)}")):
            path = f"eval/{escaped(task)}/{index}"
            passed = {
                name.removesuffix("_status"): sample[name] == "pass"
                for name in ("base_status", "plus_status", "status")
                if sample.get(name) is not None
            }
            if "plus" in passed:
                passed["plus"] = passed["plus"] and passed["base"]  # as EvalPlus counts it
            if "status" in passed:
                passed = {"passed": passed["status"]}
            rows.append(Row(task, passed, path, None))
    only = "passed" if rows and "passed" in rows[0].values else None
    return Rows(source, rows, metric=only, higher_is_better=True, repeats=True)


# COMET: --to_json, or what it prints.

SEGMENT = re.compile(r"(?P<system>[^\t]+)\tSegment (?P<segment>\d+)\tscore: (?P<score>\S+)")
TOTAL = re.compile(r"[^\t]+\tscore: \S+")


def _is_comet(look: FirstLook) -> bool:
    if look.is_json:
        lists = list(look.whole.values())
        firsts = [one[0] for one in lists if isinstance(one, list) and one and isinstance(one[0], dict)]
        return 0 < len(lists) == len(firsts) and all({"src", "mt"} <= first.keys() for first in firsts)
    return bool(look.rows) and SEGMENT.fullmatch(look.rows[0]) is not None


def _comet(source: Source, options: ReaderOptions, notes: list[str], files: Files) -> Rows:
    rows: list[Row] = []
    if source.text([]).lstrip().startswith("{"):
        for system, segments in document(source, notes).items():
            for index, segment in enumerate(objects(source, segments, escaped(system))):
                path = f"{escaped(system)}/{index}"
                numbers = {name: value for name, value in segment.items() if isinstance(value, int | float)}
                same = {"src": (segment.get("src"), f"{path}/src")}
                rows.append(Row(str(index), numbers, path, system=system, same=same))
        return Rows(source, rows, higher_is_better=True)
    for line, text in enumerate(source.lines(notes), 1):
        found = SEGMENT.fullmatch(text)
        if found is not None:
            value = parsed(found["score"])
            rows.append(Row(found["segment"], {"COMET": value}, f"line/{line}", None, found["system"]))
        elif text.strip() and not TOTAL.fullmatch(text):
            raise source.refused(
                line, "wrong_field_count", "this is no score of a segment as comet-score prints it."
            )
    return Rows(source, rows, higher_is_better=True)


# OpenCompass: details of a result, or details alone.


def _opencompass_details(value: Object) -> tuple[Object, str]:
    inner = value.get("details")
    details, below = (inner, "details/") if isinstance(inner, dict) else (value, "")
    return {key: one for key, one in details.items() if isinstance(one, dict) and key.isdigit()}, below


def _is_opencompass(look: FirstLook) -> bool:
    details, _ = _opencompass_details(look.whole)
    first: Object = next(iter(details.values()), {})
    return "correct" in first and not {"prediction", "predictions", "pred", "origin_prediction"}.isdisjoint(
        first
    )


def _opencompass(source: Source, options: ReaderOptions, notes: list[str], files: Files) -> Rows:
    details, below = _opencompass_details(document(source, notes))
    rows = []
    for key, one in details.items():
        numbers = {name: value for name, value in one.items() if isinstance(value, int | float)}
        gold = next((name for name in ("references", "gold", "answer", "refr") if name in one), None)
        path = f"{below}{key}"
        same = {} if gold is None else {"gold": (one[gold], f"{path}/{gold}")}
        rows.append(Row(key, numbers, path, same=same))
    return Rows(source, rows, metric="correct", higher_is_better=True)


# DeepEval: metrics of test cases.


def _is_deepeval(look: FirstLook) -> bool:
    return isinstance(_deepeval_run(look.whole)[0].get("testCases"), list)


def _deepeval_run(whole: Object) -> tuple[Object, str]:
    """The test run, which the temporary file holds below `testRunData`."""
    inner = whole.get("testRunData")
    return (inner, "testRunData/") if isinstance(inner, dict) else (whole, "")


def _deepeval(source: Source, options: ReaderOptions, notes: list[str], files: Files) -> Rows:
    run, below = _deepeval_run(document(source, notes))
    rows = []
    cases = objects(source, run.get("testCases"), f"{below}testCases")
    names = Counter(str(case.get("name")) for case in cases)
    for index, case in enumerate(cases):
        path = f"{below}testCases/{index}"
        numbers = {
            str(one.get("name")): None if one.get("error") is not None else one.get("score")
            for one in objects(source, case.get("metricsData") or [], f"{path}/metricsData")
        }  # fmt: skip
        asked = case.get("input")
        # evaluate() numbers its cases (test_case_0), so that a name may be there twice, and the input tells them apart.
        name = str(case.get("name"))
        key = str(asked) if asked is not None and names[name] > 1 else name
        same = {"input": (asked, f"{path}/input")}
        rows.append(Row(key, numbers, path, None, same=same))
    return Rows(source, rows)


# Terminal-Bench: trials of tasks, whose ids are new in each run.


def _is_terminal_bench(look: FirstLook) -> bool:
    trials = look.whole.get("results")
    first = trials[0] if isinstance(trials, list) and trials else None
    return isinstance(first, dict) and {"task_id", "is_resolved"} <= first.keys()


def _terminal_bench(source: Source, options: ReaderOptions, notes: list[str], files: Files) -> Rows:
    rows = []
    for index, trial in enumerate(objects(source, document(source, notes).get("results"), "results")):
        path = f"results/{index}"
        key = key_of(trial.get("task_id"), source, path, "task_id")
        rows.append(Row(key, {"is_resolved": trial.get("is_resolved")}, path))
    return Rows(source, rows, metric="is_resolved", higher_is_better=True, repeats=True)


# MT-Bench: a judge's grade of each turn.


def _is_mt_bench(look: FirstLook) -> bool:
    return {"question_id", "model", "judge", "score", "turn"} <= look.first_object.keys()


def _mt_bench(source: Source, options: ReaderOptions, notes: list[str], files: Files) -> Rows:
    rows, failed = [], 0
    for path, row in read_records(source, notes, flat=False).records:
        key = key_of(row.get("question_id"), source, path, "question_id")
        score = row.get("score")
        failed += score == -1
        rows.append(Row(key, {"score": None if score == -1 else score}, path, system=str(row.get("model"))))
    said = ["The turns of a question are averaged, and swap as a whole."]
    if failed:
        said.append(f"{source.label}: {failed:,} judgments failed (-1) and are missing.")
    return Rows(source, rows, metric="score", higher_is_better=True, repeats=True, notes=tuple(said))


# Votes: who of two won, or by how much.

VOTES = (
    ("model_a", "model_b", "winner"),
    ("generator_1", "generator_2", "preference"),
    ("model_1", "model_2", "g1_winner"),
)
IDS = ("question_id", "qid", "uid", "id", "instruction_id", "instruction", "conversation_id")
COUNTED = {"wins": 1.0, "losses": 0.0, "ties": 0.5}
TIES = frozenset(("tie", "tie (bothbad)", "bothbad", "both_bad", "draw"))


def _votes_in(names: Any) -> tuple[str, str, str] | None:
    return next((each for each in VOTES if set(each) <= set(names)), None)


def _are_votes(look: FirstLook) -> bool:
    if {"wins", "losses"} <= look.whole.keys() and all(
        type(look.whole[name]) is int for name in COUNTED if name in look.whole
    ):
        return True
    return _votes_in(look.first_object if look.is_json else look.columns) is not None


def _vote_rows(source: Source, notes: list[str]) -> Iterator[Record]:
    text = source.text(notes)
    if text.lstrip().startswith(("{", "[")):
        yield from read_records(source, [], flat=False).records
        return
    table = csv.reader(
        io.StringIO(text, newline=""), delimiter="\t" if "\t" in text.partition("\n")[0] else ","
    )
    header = [name.strip() for name in next(table)]
    for cells in table:
        if cells:
            yield Record(
                f"line/{table.line_num}", dict(zip(header, (cell.strip() for cell in cells), strict=False))
            )


def _share(row: Object, form: tuple[str, str, str]) -> float | None:
    """What the first of both gets of one vote: 1, 0, or 1/2 of a tie; None where there is no vote."""
    vote = row.get(form[2])
    if form[2] == "preference":
        number = vote if isinstance(vote, int | float) else parsed(str(vote))
        if number is None or not 0 <= number <= 2 or 0 < number < 1:
            return None
        return 0.5 if number == 0 else 2 - number
    first, second = str(vote), str(row.get("g2_winner", vote))
    if vote is None or "error" in (first, second):
        return None
    if first != second or first.lower() in TIES:
        return 0.5
    return {form[0]: 1.0, form[1]: 0.0, str(row.get(form[0])): 1.0, str(row.get(form[1])): 0.0}.get(first)


def _counted_votes(source: Source, counts: Object, options: ReaderOptions) -> Rows:
    """A row for each vote of `{"wins": 30, "ties": 5, "losses": 12}`, which is of U against V."""
    rows: list[Row] = []
    for name, won in COUNTED.items():
        n = counts.get(name, 0)
        if type(n) is not int or n < 0:
            raise InvalidTest.at(
                source.at(name), "not_a_count", f"{source.label}: {name} is not a whole number from 0."
            )
        source.refuse_more(len(rows) // 2 + n, options.max_items)
        for system, share in (("u", won), ("v", 1 - won)):
            rows += [Row(f"{name} {index}", {"win rate": share}, name, None, system) for index in range(n)]
    said = (
        "The file counts votes, and its wins are those of U: give the votes of each item, where they are known.",
    )
    return Rows(source, rows, metric="win rate", higher_is_better=True, notes=said)


def _votes(source: Source, options: ReaderOptions, notes: list[str], files: Files) -> Rows:
    rows: list[Row] = []
    counts = (
        ndjson.decoded(source.text([]), source.pointer, source.label)
        if b'"wins"' in source.content[:1000]
        else None
    )
    if isinstance(counts, dict) and {"wins", "losses"} <= counts.keys():
        return _counted_votes(source, counts, options)
    form = None
    for index, (path, row) in enumerate(_vote_rows(source, notes)):
        form = form or _votes_in(row)
        if form is None:
            raise InvalidTest.at(
                f"{source.pointer}/{path}", "missing_field", f"{source.label}, {path}: this is no vote."
            )
        share = _share(row, form)
        id_ = next((row[name] for name in IDS if isinstance(row.get(name), str | int)), index)
        if share is None and row.get(form[2]) not in (None, "", "error"):
            detail = f"{source.label}, {path}: {quoted(row[form[2]])} says not who won: it is {form[0]}, {form[1]} or tie."
            raise InvalidTest.at(f"{source.pointer}/{path}/{form[2]}", "not_a_vote", detail)
        names = str(row.get(form[0])), str(row.get(form[1]))
        for name, other, won in ((*names, share), (*names[::-1], None if share is None else 1 - share)):
            key = str(id_) if len(files) > 1 else f"{id_} {' '.join(sorted((name, other)))}"
            rows.append(Row(key, {"win rate": won}, path, None, name))
    if not rows:
        raise source.empty()
    said = (
        "A vote is an item: 1 for who won, 0 for who lost, 1/2 each of a tie; p is that of the sign test.",
    )
    table = Rows(source, rows, metric="win rate", higher_is_better=True, repeats=True, notes=said)
    return _between(table, options) if "file" in files else table


def _between(table: Rows, options: ReaderOptions) -> Rows:
    """Votes of one file between the two systems that are compared, where these are chosen."""
    chosen = {options.system_u, options.system_v}
    if None in chosen:
        return table
    keys = Counter(
        row.key for row in {(row.key, row.system): row for row in table.rows if row.system in chosen}.values()
    )
    table.rows = [row for row in table.rows if row.system not in chosen or keys[row.key] == 2]
    return table


# SQuAD: answers of each question, with its gold.

ARTICLES = re.compile(r"\b(a|an|the)\b")
NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


def _is_squad(look: FirstLook) -> bool:
    values = list(look.whole.values())
    return (
        len(values) > 0
        and all(isinstance(value, str) for value in values)
        and not look.roles.isdisjoint(("u", "v"))
    )


def _squad_words(text: str) -> list[str]:
    return ARTICLES.sub(" ", text.lower().translate(NO_PUNCTUATION)).split()


def _squad_scores(answer: str, golds: list[str]) -> dict[str, float]:
    """Exact match and F1 of an answer, the best over the references."""
    words = _squad_words(answer)
    exact = f1 = 0.0
    for gold in golds or [""]:
        reference = _squad_words(gold)
        shared = sum((Counter(words) & Counter(reference)).values())
        exact = max(exact, float(words == reference))
        both_empty = not words and not reference
        f1 = max(
            f1,
            1.0 if both_empty else 2 * shared / (len(words) + len(reference)) if words and reference else 0.0,
        )
    return {"exact": exact, "f1": f1}


def _squad_gold(source: Source, notes: list[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for article in objects(source, document(source, notes).get("data") or [], "data"):
        for paragraph in objects(source, article.get("paragraphs") or [], "data/paragraphs"):
            for question in objects(source, paragraph.get("qas") or [], "data/paragraphs/qas"):
                answers = objects(source, question.get("answers") or [], "data/paragraphs/qas/answers")
                texts = [str(answer.get("text", "")) for answer in answers]
                found[str(question.get("id"))] = [text for text in texts if _squad_words(text)]
    if not found:
        detail = f"{source.label}: there are no questions in data, paragraphs, qas; give the file of SQuAD's form as gold."
        raise InvalidTest.at(source.at("data"), "missing_field", detail)
    return found


def _squad(source: Source, options: ReaderOptions, notes: list[str], files: Files) -> Rows:
    gold = _squad_gold(needed(files, "gold", "squad"), [])
    rows = []
    for key, answer in document(source, notes).items():
        if key not in gold:
            detail = f"{source.label}: the question {quoted(key)} is not in gold."
            raise InvalidTest.at(source.at(key), "unmatched_ids", detail)
        if not isinstance(answer, str):
            raise InvalidTest.at(source.at(key), "not_a_text", f"{source.label}: an answer is a text.")
        rows.append(Row(key, _squad_scores(answer, gold[key]), escaped(key), None))
    return Rows(source, rows, higher_is_better=True)


# mt-metrics-eval: a metric's scores of the segments of many systems.

SEG_SCORE = re.compile(r"\.seg\.score(\.gz|\.zst)?\Z")


def _is_seg_score(look: FirstLook) -> bool:
    return (
        "gold" not in look.roles
        and SEG_SCORE.search(look.source.name) is not None
        and all(len(row.split()) == 2 for row in look.rows[:-1])
    )


def _seg_scores(source: Source, options: ReaderOptions, notes: list[str], files: Files) -> Rows:
    rows: list[Row] = []
    seen: Counter[str] = Counter()
    for line, text in enumerate(source.lines(notes), 1):
        fields = text.split()
        if not fields:
            continue
        if len(fields) != 2:
            raise source.refused(
                line, "wrong_field_count", "a line is a system and its score, as in a .seg.score file."
            )
        value = parsed(fields[1])
        if value is None and fields[1] != "None":
            raise source.refused(line, "not_a_number", f"{quoted(fields[1])} is no score.", 2)
        seen[fields[0]] += 1
        rows.append(Row(str(seen[fields[0]]), {"score": value}, f"line/{line}", None, fields[0]))
    if len(set(seen.values())) > 1:
        (few, least), (many, most) = (
            min(seen.items(), key=lambda one: one[1]),
            max(seen.items(), key=lambda one: one[1]),
        )
        detail = f"{source.label}: {quoted(few)} has {least:,} segments and {quoted(many)} has {most:,}; segments have no ids."
        raise InvalidTest.at(source.pointer, "length_mismatch", detail)
    metric = SEG_SCORE.sub("", source.name).partition("-")[0]
    return Rows(source, rows, metric="score", measured=metric or None)


SHAPES: tuple[Shape, ...] = (
    Shape("swe-bench", "SWE-bench, the report of a run: what was resolved", _is_swe, _swe),
    Shape("evalplus", "EvalPlus and BigCodeBench, eval_results.json", _is_evalplus, _evalplus),
    Shape("comet", "COMET, comet-score --to_json or its output", _is_comet, _comet, ("u", "v", "file"), OF_ONE_FILE),
    Shape("opencompass", "OpenCompass, details of a data set", _is_opencompass, _opencompass),
    Shape("deepeval", "DeepEval, a test run", _is_deepeval, _deepeval),
    Shape("terminal-bench", "Terminal-Bench, results.json of a run", _is_terminal_bench, _terminal_bench),
    Shape("mt-bench", "MT-Bench, single grades of a judge", _is_mt_bench, _mt_bench, ("u", "v", "file"), OF_ONE_FILE),
    Shape("votes", "Votes between two systems: arena, AlpacaEval, MT-Bench pairs", _are_votes, _votes, ("u", "v", "file"), OF_ONE_FILE),
    Shape("squad", "SQuAD, predictions with the data set as gold", _is_squad, _squad, ("u", "v", "gold"), USES),
    Shape("seg-score", "mt-metrics-eval, a metric's scores of many systems (SYSTEM SCORE per line)", _is_seg_score, _seg_scores, ("u", "v", "file"), OF_ONE_FILE),
    *installed(),
)  # fmt: skip
