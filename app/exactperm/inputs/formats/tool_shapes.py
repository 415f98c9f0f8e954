"""Read files of evaluation tools, each a `Shape` with its marks and rows.

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
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from ...answers.reading import Remark
from ...errors import InvalidTest
from ...statistics.runs import WITHOUT_RUNS
from ..battles import IDS, SHARE
from ..delimited import guessed_delimiter
from ..format import FirstLook, Sign
from ..json_records import Record, key_of, read_records
from ..names import ID, SCORE, SYSTEM, find
from ..number_text import parsed
from ..outcomes import refuse_metrics_for_ids
from ..quoting import escaped, quoted
from ..reader import Finding, ReaderOptions, Source
from . import shapes
from .outputs_by_id import SystemOutputs
from .roles import needed
from .shapes import PAIR_OPTIONS, PAIR_ROLES, USES, Files, Object, Row, Rows, Shape, has, numbers_in

# SWE-bench: ids of resolved and of submitted instances. Older files do not name all unresolved ones.

OTHER_IDS = ("submitted_ids", "completed_ids", "unresolved_ids", "error_ids", "empty_patch_ids")
OLDER_IDS = ("no_generation", "no_logs", "generated", "applied", "no_apply", "with_logs")
OLDER = "An instance that a file does not name was not resolved; instances in neither file are left out."


def _is_swe(look: FirstLook) -> bool:
    names, lists = look.whole.keys(), isinstance(look.whole.get("resolved"), list)
    newer = (
        "resolved_ids" in names and "results" not in names
    )  # Terminal-Bench lists these beside its results
    return (newer and bool(names & set(OTHER_IDS))) or (lists and bool(names & set(OLDER_IDS)))


def _swe(source: Source, options: ReaderOptions, notes: list[Any], files: Files) -> Rows:
    report = source.document(notes)
    newer = "resolved_ids" in report
    lists = ("submitted_ids",) if report.get("submitted_ids") else OTHER_IDS[1:] if newer else OLDER_IDS
    rows: dict[str, Row] = {}
    for at, name in enumerate(("resolved_ids" if newer else "resolved", *lists)):
        ids = report.get(name) or []
        if not isinstance(ids, list):
            raise source.refused("", "not_a_list", f"{name} is not a list of ids.", name)
        for index, key in enumerate(ids):
            text = key_of(key, source, f"{name}/{index}", "id")
            rows.setdefault(text, Row(text, {"resolved": int(at == 0)}, f"{name}/{index}", None))
    notes_read = () if newer else (OLDER,)
    return Rows(source, [*rows.values()], metric="resolved", higher_is_better=True, notes=notes_read)


def _count_absent(
    u: Rows, v: Rows, systems: Sequence[SystemOutputs], notes: list[Any]
) -> tuple[Finding, ...]:
    """Add instances that only the other file names, as not resolved, if a file is an older one."""
    for table, mine, other in zip((u, v), systems, systems[::-1], strict=True):
        absent = [key for key in other.ids if key not in mine.index] if OLDER in table.notes else []
        for key in absent:
            mine.add(key, 0, "")
        if absent:
            note = f"{len(absent):,} items that only the other file names count 0."
            notes.append(Remark(mine.source.role, note))
    return ()


# EvalPlus and BigCodeBench: a list of samples for each task.


def _is_evalplus(look: FirstLook) -> bool:
    tasks = look.whole.get("eval")
    samples = next(iter(tasks.values()), None) if isinstance(tasks, dict) else None
    first = samples[0] if isinstance(samples, list) and samples else None
    return isinstance(first, dict) and not {"base_status", "status"}.isdisjoint(first)


def _evalplus(source: Source, options: ReaderOptions, notes: list[Any], files: Files) -> Rows:
    rows, tasks = [], source.document(notes).get("eval")
    if not isinstance(tasks, dict):
        raise source.refused("eval", "not_an_object", "this is not an object.")
    for task, samples in tasks.items():
        for path, sample in source.objects(samples, f"eval/{escaped(task)}"):
            status = ("base_status", "plus_status", "status")
            passed = {name: sample[name] == "pass" for name in status if sample.get(name) is not None}
            if "status" in passed:
                passed = {"passed": passed["status"]}
            elif "plus_status" in passed:
                passed["plus_status"] &= passed["base_status"]  # as in EvalPlus
            numbers = {name.removesuffix("_status"): one for name, one in passed.items()}
            rows.append(Row(task, numbers, path, None))
    only = "passed" if rows and "passed" in rows[0].values else None
    return Rows(source, rows, metric=only, higher_is_better=True, repeats=True)


# COMET: --to_json, or its printed output.

SEGMENT = re.compile(r"(?P<system>[^\t]+)\tSegment (?P<key>\d+)\tscore: (?P<COMET>\S+)")
TOTAL = re.compile(r"[^\t]+\tscore: \S+")


def _is_comet(look: FirstLook) -> bool:
    if look.is_json:
        firsts = [one[0] if isinstance(one, list) and one else None for one in look.whole.values()]
        known = [isinstance(first, dict) and {"src", "mt"} <= first.keys() for first in firsts]
        return bool(known) and all(known)
    return bool(look.rows) and SEGMENT.fullmatch(look.rows[0]) is not None


def _comet(source: Source, options: ReaderOptions, notes: list[Any], files: Files) -> Rows:
    rows: list[Row] = []
    if source.text([]).lstrip().startswith("{"):
        for system, segments in source.document(notes).items():
            for index, (path, segment) in enumerate(source.objects(segments, escaped(system))):
                same = {"src": (segment.get("src"), f"{path}/src")}
                rows.append(Row(str(index), numbers_in(segment), path, system=system, same=same))
        return Rows(source, rows, higher_is_better=True)
    return Rows(source, _score_lines(source, notes, SEGMENT, TOTAL), higher_is_better=True)


# Scores of sentences, one per line, between other lines: patterns of a first line without a score, and of the lines of scores.

PRINTED = tuple(
    (re.compile(first), re.compile(line))
    for first, line in (
        # mjpost/sacrebleu, --sentence-level
        ("", r"(?P<metric>BLEU|TER|chrF\d\+*)\|\S+ = (?P<score>\S+)(?: .*)?"),
        # m-popovic/chrF, chrF++.py -s
        ("", r"(?P<key>\d+)::(?P<metric>\S+)\t(?P<score>\S+)"),
        # cmu-mtlab/meteor
        ("Meteor version.*", r"Segment (?P<key>\d+) score:\s+(?P<METEOR>\S+)"),
        # Tiiiger/bert_score, -s
        (r"\S+_L\d+_\S+ P: \S+ R: \S+ F1: \S+", r"(?P<P>\S+)\t(?P<R>\S+)\t(?P<F1>\S+)"),
    )
)


def _printed_as(row: str) -> re.Pattern[str] | None:
    return next((line for first, line in PRINTED if (first if first.pattern else line).fullmatch(row)), None)


def _printed(source: Source, options: ReaderOptions, notes: list[Any], files: Files) -> Rows:
    first = next(filter(str.strip, source.lines([])), "")
    form = _printed_as(first) or PRINTED[0][1]
    rows = _score_lines(source, notes, form, at_ends=True)
    higher = "TER" not in rows[0].values
    return Rows(source, rows, higher_is_better=higher, by_order="key" not in form.groupindex)


def _score_lines(
    source: Source, notes: list[Any], form: re.Pattern[str], other: re.Pattern[str] | None = None, *, at_ends: bool = False
) -> list[Row]:  # fmt: skip
    """A row for each line that matches `form`, with its key, or its number within the system; `other` lines, or those `at_ends`, are skipped."""
    lines = [(at, text) for at, text in enumerate(source.lines(notes), 1) if text.strip()]
    lines = [(at, text) for at, text in lines if other is None or not other.fullmatch(text)]
    fit = [form.fullmatch(text) is not None for _, text in lines]
    if True not in fit and (at_ends or not lines):
        raise source.empty()
    ends = (fit.index(True), len(fit) - fit[::-1].index(True)) if at_ends else (0, len(fit))
    rows: list[Row] = []
    seen: Counter[str] = Counter()
    for line, text in lines[slice(*ends)]:
        match = form.fullmatch(text)
        if match is None:
            raise source.refused(
                line, "wrong_field_count", ("this is not a line of scores, unlike the others.")
            )
        groups = match.groupdict()
        system, metric = groups.pop("system", ""), groups.pop("metric", "score")
        seen[system] += 1
        key = groups.pop("key", None) or str(seen[system])
        numbers = {metric if name == "score" else name: parsed(value) for name, value in groups.items()}
        if None in numbers.values() and "None" not in groups.values():
            raise source.refused(line, "not_a_number", "this is not a score.")
        rows.append(Row(key, numbers, f"line/{line}", None, system))
    return rows


# OpenCompass: details of a result, or only details.


def _opencompass_details(value: Object) -> tuple[Object, str]:
    inner = value.get("details")
    details, below = (inner, "details/") if isinstance(inner, dict) else (value, "")
    return {key: one for key, one in details.items() if isinstance(one, dict) and key.isdigit()}, below


def _is_opencompass(look: FirstLook) -> bool:
    first: Object = next(iter(_opencompass_details(look.whole)[0].values()), {})
    predictions = {"prediction", "predictions", "pred", "origin_prediction"}
    return "correct" in first and not predictions.isdisjoint(first)


def _opencompass(source: Source, options: ReaderOptions, notes: list[Any], files: Files) -> Rows:
    details, below = _opencompass_details(source.document(notes))
    rows = []
    for key, one in details.items():
        same = {"gold": shapes.first_of(one, below + key, "references", "gold", "answer", "refr")}
        rows.append(Row(key, numbers_in(one), below + key, same=same))
    return Rows(source, rows, metric="correct", higher_is_better=True)


# DeepEval: metrics of test cases, in a file of a run, or below `testRunData` of its temporary file.


def _is_deepeval(look: FirstLook) -> bool:
    inner = look.whole.get("testRunData", look.whole)
    return isinstance(inner, dict) and isinstance(inner.get("testCases"), list)


def _deepeval(source: Source, options: ReaderOptions, notes: list[Any], files: Files) -> Rows:
    run = source.document(notes)
    inner = run.get("testRunData")
    run, below = (inner, "testRunData/") if isinstance(inner, dict) else (run, "")
    cases = source.objects(run.get("testCases"), f"{below}testCases")
    names, rows = Counter(str(case.get("name")) for _, case in cases), []
    for path, case in cases:
        numbers = {
            str(one.get("name")): None if one.get("error") is not None else one.get("score")
            for _, one in source.objects(case.get("metricsData") or [], f"{path}/metricsData")
        }
        # evaluate() numbers its cases (test_case_0), so a name may repeat, and the input distinguishes them.
        name, prompt = str(case.get("name")), case.get("input")
        key = str(prompt) if prompt is not None and names[name] > 1 else name
        gold = {"expected output": case.get("expectedOutput")}
        rows.append(Row(key, numbers, path, None, same={"input": (prompt, f"{path}/input")}, context=gold))
    return Rows(source, rows)


# Terminal-Bench: trials of tasks; the ids of trials are new in each run.


def _terminal_bench(source: Source, options: ReaderOptions, notes: list[Any], files: Files) -> Rows:
    rows = []
    for path, trial in source.objects(source.document(notes).get("results"), "results"):
        key = key_of(trial.get("task_id"), source, path, "task_id")
        rows.append(Row(key, {"is_resolved": trial.get("is_resolved")}, path))
    return Rows(source, rows, metric="is_resolved", higher_is_better=True, repeats=True)


# MT-Bench: a judge's grade of each turn.


def _mt_bench(source: Source, options: ReaderOptions, notes: list[Any], files: Files) -> Rows:
    rows, failed = [], 0
    for path, row in read_records(source, notes, flat=False).records:
        key, turn = key_of(row.get("question_id"), source, path, "question_id"), row.get("turn")
        failed += row.get("score") == -1
        numbers = {"score": None if row.get("score") == -1 else row.get("score")}
        run = turn if isinstance(turn, int | str) else None
        rows.append(Row(key, numbers, path, system=str(row.get("model")), run=run))
    remarks = ["The turns of a question are averaged, and swap as a whole."]
    if failed:
        remarks.append(f"{source.label}: {failed:,} judgments failed (-1) and are missing.")
    return Rows(source, rows, metric="score", higher_is_better=True, repeats=True, notes=tuple(remarks))


# Votes: the winner of a pair, or by how much it won.

VOTES = (
    ("model_a", "model_b", "winner"),
    ("generator_1", "generator_2", "preference"),
    ("model_1", "model_2", "g1_winner"),
)
COUNTED = {"wins": 1.0, "losses": 0.0, "ties": 0.5}
TIES = frozenset(("tie", "tie (bothbad)", "bothbad", "both_bad", "draw"))
OF_COUNTS = (
    "The file counts votes, and its wins are those of U: give the votes of each item, if they are known."
)
OF_VOTES = (
    "A vote is an item: 1 for the winner, 0 for the loser, 1/2 each for a tie; p is that of the sign test."
)
OF_QUESTIONS = "A vote counts 1 for the winner, 0 for the loser, 1/2 each for a tie; the votes of a question are averaged, and swap as a whole."


# lmarena/arena-hard-auto, gen_judgment.py: the baseline is A in the first game, and B in the second.
GAMES = frozenset(("games", "model", "baseline"))
VERDICT = re.compile(r"([AB])(?:>>?|(=)|(<<?))([AB])")


def _votes_in(names: Any) -> tuple[str, str, str] | None:
    known = VOTES[0] if set(names) >= GAMES else None
    return next((each for each in VOTES if set(each) <= set(names)), known)


def _of_games(records: list[Record]) -> Iterator[Record]:
    """Yield two votes for a record with two games; every verdict counts once, clear or not."""
    for path, row in records:
        if not row.keys() >= GAMES:
            yield Record(path, row)
            continue
        first, second = str(row["baseline"]), str(row["model"])
        for a, b, game in zip((first, second), (second, first), row["games"] or (), strict=False):
            verdict = VERDICT.fullmatch(str((game or {}).get("score")))
            winner = verdict and ("tie" if verdict[2] else f"model_{verdict[4 if verdict[3] else 1].lower()}")
            yield Record(path, {"uid": row.get("uid"), "model_a": a, "model_b": b, "winner": winner})


def _are_votes(look: FirstLook) -> bool:
    counted = [type(look.whole[name]) is int for name in COUNTED if name in look.whole]
    if {"wins", "losses"} <= look.whole.keys() and all(counted):
        return True
    return _votes_in(look.first_object if look.is_json else look.columns) is not None


def _table_rows(text: str) -> Iterator[Record]:
    delimiter = guessed_delimiter(text[:10_000].splitlines())
    table = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    header = [name.strip() for name in next(table, [])]
    for cells in filter(None, table):
        yield Record(f"line/{table.line_num}", dict(zip(header, map(str.strip, cells), strict=False)))


def _share(row: Object, form: tuple[str, str, str]) -> float | None:
    """The first system's share of one vote: 1, 0, or 1/2 for a tie; None if there is no vote."""
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
    # A model may be called model_b.
    by_name = {str(row.get(form[0])): 1.0, str(row.get(form[1])): 0.0}
    return {**by_name, form[0]: 1.0, form[1]: 0.0}.get(first)


def _counted_votes(source: Source, counts: Object, options: ReaderOptions) -> Rows:
    """A row for each vote of `{"wins": 30, "ties": 5, "losses": 12}`, of U against V."""
    rows: list[Row] = []
    for name, won in COUNTED.items():
        n = counts.get(name, 0)
        if type(n) is not int or n < 0:
            raise source.refused("", "not_a_count", f"{name} is not a whole number from 0.", name)
        source.refuse_more(len(rows) // 2 + n, options.max_items)
        for system, share in (("u", won), ("v", 1 - won)):
            rows += [Row(f"{name} {index}", {SHARE: share}, name, None, system) for index in range(n)]
    return Rows(source, rows, metric=SHARE, higher_is_better=True, notes=(OF_COUNTS,))


def _id_of_vote(source: Source, path: str, row: Object, index: int) -> str | int:
    """The question of a vote, its number where the file has no ids; raises InvalidTest for an empty id."""
    names = [name for name in IDS if name in row]
    if not names:
        return index
    for key in map(row.get, names):
        if isinstance(key, str | int) and key != "":
            return key
    detail = f"this vote has no {names[0]}: give it that of its question, or leave the ids of all votes out."
    raise source.refused(path, "no_id", detail, names[0])


def _votes(source: Source, options: ReaderOptions, notes: list[Any], files: Files) -> Rows:
    if options.exchange != "items" and len(files) == 1:
        detail = "The shares of a vote add up to 1, so that they are not runs of one law: exchange items, the questions."
        raise InvalidTest.at("/options/exchange", "exchange_needs_means", detail, WITHOUT_RUNS)
    if b'"wins"' in source.content[:1000]:
        counts = source.decoded([])
        if isinstance(counts, dict) and {"wins", "losses"} <= counts.keys():
            return _counted_votes(source, counts, options)
    text, form = source.text(notes), None
    is_json = text.lstrip().startswith(("{", "["))
    records = _of_games(read_records(source, [], flat=False).records) if is_json else _table_rows(text)
    rows: list[Row] = []
    positions: dict[str, list[int]] = {}
    chosen = {options.system_u, options.system_v} if "file" in files else {None}
    for index, (path, row) in enumerate(records):
        form = form or _votes_in(row)
        if form is None:
            raise source.refused(path, "missing_field", "this is not a vote.")
        share = _share(row, form)
        id_ = _id_of_vote(source, path, row, index)
        if share is None and row.get(form[2]) not in (None, "", "error"):
            detail = f"{quoted(row[form[2]])} does not name the winner: give {form[0]}, {form[1]} or tie."
            code = "unknown_winner" if form is VOTES[0] else "not_a_vote"
            raise source.refused(path, code, detail, form[2])
        names = str(row.get(form[0])), str(row.get(form[1]))
        for name, other, won in ((*names, share), (*names[::-1], None if share is None else 1 - share)):
            if None not in chosen and name in chosen and chosen != {name, other}:
                continue  # of two chosen systems only the votes between them
            key = str(id_) if len(files) > 1 else f"{id_} {' '.join(sorted((name, other)))}"
            rows.append(Row(key, {SHARE: won}, path, None, name))
        if (
            form is VOTES[0]
            and share is not None
            and "file" in files
            and (None in chosen or chosen == set(names))
        ):
            positions.setdefault(rows[-1].key, [0, 0, 0])[int(2 * share)] += 1
    return Rows(
        source, rows, metric=SHARE, higher_is_better=True, repeats=True,
        notes=(OF_VOTES if len({(row.key, row.system) for row in rows}) == len(rows) else OF_QUESTIONS,), positions=positions,
    )  # fmt: skip


# PyTerrier: a line for each measure of each query of each system (pyterrier/_evaluation/_experiment.py, perquery.csv).

PER_QUERY = frozenset(("name", "qid", "measure", "value"))


def _per_query(source: Source, options: ReaderOptions, notes: list[Any], files: Files) -> Rows:
    rows = []
    for path, row in _table_rows(source.text(notes)):
        for name in sorted(PER_QUERY - row.keys()):
            raise source.refused(path, "missing_field", f"there is no column {name} here.")
        value = parsed(row["value"])
        if value is None:
            raise source.refused(path, "not_a_number", "there is no value of a query.")
        rows.append(Row(row["qid"], {row["measure"]: value}, path, None, row["name"]))
    return Rows(source, rows)


# SQuAD: an answer to each question, with gold.

WHOLLY = frozenset(("yes", "no", "noanswer"))
ARTICLES = re.compile(r"\b(a|an|the)\b")
NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


def _is_squad(look: FirstLook) -> bool:
    texts = all(isinstance(value, str) for value in _answers(look.whole).values())
    return len(look.whole) > 0 and texts and not look.roles.isdisjoint(("u", "v"))


def _answers(value: Object) -> Object:
    """The answers by question, which HotpotQA stores beside supporting facts."""
    inner = value.get("answer")
    return inner if isinstance(inner, dict) and "sp" in value else value


def _squad_words(text: str) -> list[str]:
    return ARTICLES.sub(" ", text.lower().translate(NO_PUNCTUATION)).split()


def _squad_scores(answer: str, golds: list[str]) -> dict[str, float]:
    """Exact match and F1 of an answer, the best over the references."""
    words = _squad_words(answer)
    exact = f1 = 0.0
    for reference in map(_squad_words, golds or [""]):
        shared = sum((Counter(words) & Counter(reference)).values())
        exact = max(exact, float(words == reference))
        f1 = max(f1, 2 * shared / (len(words) + len(reference)) if words or reference else 1.0)
    return {"exact": exact, "f1": f1}


def _squad_gold(source: Source, notes: list[Any]) -> dict[str, list[str]]:
    texts_of: dict[str, list[str]] = {}
    if source.text([]).lstrip().startswith("["):  # HotpotQA
        rows = source.objects(source.decoded(notes))
        return {str(row.get("_id")): [str(row.get("answer", ""))] for _, row in rows}

    def each(value: Object, *path: str) -> list[Object]:
        return [one for _, one in source.objects(value.get(path[-1]) or [], "/".join(path))]

    for article in each(source.document(notes), "data"):
        for paragraph in each(article, "data", "paragraphs"):
            for question in each(paragraph, "data", "paragraphs", "qas"):
                answers = each(question, "data", "paragraphs", "qas", "answers")
                texts = [str(answer.get("text", "")) for answer in answers]
                texts_of[str(question.get("id"))] = [text for text in texts if _squad_words(text)]
    if not texts_of:
        detail = "there are no questions in data, paragraphs, qas; give the file of SQuAD's form as gold."
        raise source.refused("", "missing_field", detail, "data")
    return texts_of


def _squad(source: Source, options: ReaderOptions, notes: list[Any], files: Files) -> Rows:
    gold = _squad_gold(needed(files, "gold", "squad"), [])
    rows, whole = [], source.document(notes)
    for key, answer in _answers(whole).items():
        if key not in gold:
            detail = f"the question {quoted(key)} is not in gold."
            raise source.refused("", "unmatched_ids", detail, key)
        if not isinstance(answer, str):
            raise source.refused("", "not_a_text", "an answer is a text.", key)
        scores = _squad_scores(answer, gold[key])
        if _answers(whole) is not whole and not WHOLLY.isdisjoint(
            " ".join(_squad_words(text)) for text in (answer, *gold[key])
        ):
            scores["f1"] = scores["exact"]  # as in HotpotQA
        rows.append(Row(key, scores, escaped(key), None))
    return Rows(source, rows, higher_is_better=True)


# mt-metrics-eval: a metric's scores of the segments of many systems.

SEG_SCORE = re.compile(r"\.seg\.score(\.gz|\.zst)?\Z")
SYSTEM_SCORE = re.compile(r"\s*(?P<system>\S+)\s+(?P<score>\S+)\s*")


def _is_seg_score(look: FirstLook) -> bool:
    named = "gold" not in look.roles and SEG_SCORE.search(look.source.name) is not None
    return named and all(len(row.split()) == 2 for row in look.rows[:-1])


def _seg_scores(source: Source, options: ReaderOptions, notes: list[Any], files: Files) -> Rows:
    rows = _score_lines(source, notes, SYSTEM_SCORE)
    seen = Counter(row.system for row in rows)
    for (few, least), (many, most) in pairwise(sorted(seen.items(), key=lambda one: one[1])):
        if least < most:
            detail = f"{quoted(few)} has {least:,} segments, {quoted(many)} has {most:,}; they have no ids."
            raise source.refused("", "length_mismatch", detail)
    metric = SEG_SCORE.sub("", source.name).partition("-")[0]
    return Rows(source, rows, metric="score", measured=metric or None)


# One object per system, `{"id": score}`, which is the whole file and holds only scores; a line with fields such as id and score belongs to
# JSON lines.

OF_A_LINE = (*ID, *SCORE, *SYSTEM, "run", "u", "v")


def _is_json_object(look: FirstLook) -> bool:
    whole = look.whole if look.text.lstrip().startswith("{") and {"u", "v"} <= look.roles else {}
    each = [
        one
        for value in whole.values()
        for one in (value if isinstance(value, list) else [0 if value is None else value])
    ]
    return (
        len(whole) > 0
        and all(isinstance(one, int | float) for one in each)
        and find(whole, OF_A_LINE) is None
    )


def _json_object(source: Source, options: ReaderOptions, notes: list[Any], files: Files) -> Rows:
    scores = source.document(notes)
    if not scores:
        raise source.empty()
    refuse_metrics_for_ids(scores, source.at(next(iter(scores))), f"{source.label}: ")
    rows = [Row(key, {"score": score}, escaped(key), None) for key, score in scores.items()]
    return Rows(source, rows, metric="score", called="")


JSON_OBJECT = Shape(
    "json-object", 'one object {"id": score} for each system', _is_json_object, _json_object,
    uses=USES - {"metric"}, aliases=("json-scores",), sign=Sign.SHAPE,
)  # fmt: skip
SHAPES: tuple[Shape, ...] = (
    Shape("swe-bench", "SWE-bench, the report of a run: what was resolved", _is_swe, _swe, uses=USES, join=_count_absent),
    Shape("evalplus", "EvalPlus and BigCodeBench, eval_results.json", _is_evalplus, _evalplus, uses=USES),
    Shape("comet", "COMET, comet-score --to_json or its output", _is_comet, _comet, PAIR_ROLES, PAIR_OPTIONS | {"on_mismatch"}),
    Shape("sentence-scores", "Scores of sentences as sacreBLEU -sl, BERTScore -s, chrF++ and METEOR print them", lambda look: bool(look.rows) and _printed_as(look.rows[0]) is not None, _printed, uses=USES),
    Shape("opencompass", "OpenCompass, details of a data set", _is_opencompass, _opencompass),
    Shape("deepeval", "DeepEval, a test run", _is_deepeval, _deepeval),
    Shape("terminal-bench", "Terminal-Bench, results.json of a run", has("results", "task_id", "is_resolved"), _terminal_bench, uses=USES),
    Shape("mt-bench", "MT-Bench, single grades of a judge", has("", "question_id", "model", "judge", "score", "turn"), _mt_bench, PAIR_ROLES, PAIR_OPTIONS),
    Shape("votes", "Votes between two systems: arena, Arena-Hard, AlpacaEval, MT-Bench pairs", _are_votes, _votes, PAIR_ROLES, PAIR_OPTIONS),
    Shape("pyterrier", "PyTerrier, perquery.csv of an experiment: name,qid,measure,value", lambda look: look.columns == PER_QUERY, _per_query, PAIR_ROLES, PAIR_OPTIONS),
    Shape("squad", "SQuAD and HotpotQA, predictions with the data set as gold", _is_squad, _squad, ("u", "v", "gold"), USES),
    Shape("seg-score", "mt-metrics-eval, a metric's scores of many systems (SYSTEM SCORE per line)", _is_seg_score, _seg_scores, PAIR_ROLES, PAIR_OPTIONS),
    *shapes.installed(),
)  # fmt: skip
