"""Test how items of a table are identified: keys, runs, data sets, samples; in text and JSON, as files, bodies and boards."""

import itertools
import json
import random
import time
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import pytest

from exactperm.execution.ipc import Unbounded
from exactperm.service.kinds import CSV, MULTIPART, NDJSON, Kind
from exactperm.service.messages import Body, Job, limits_of
from exactperm.service.pipeline import handle
from exactperm.settings import Settings
from tests.enumeration import share, signed_sums

LIMITS = limits_of(Settings(workers=1))
Row = dict[str, Any]
U, V = [1, 1, 0, 1, 1, 1, 0, 1], [0, 1, 0, 0, 1, 0, 1, 0]
# Words that a key begins with: none of them can be taken for a number.
NAMES = [f"q{n}" for n in range(len(U))]


def sign_flip_p(differences: Sequence[Fraction]) -> Fraction:
    """The two-sided p-value by every assignment of signs."""
    return share(signed_sums(differences))


def csv_of(rows: Sequence[Row]) -> bytes:
    return "".join(
        ",".join(map(str, line)) + "\n" for line in [list(rows[0]), *(row.values() for row in rows)]
    ).encode()


def lines_of(rows: Sequence[Row]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


WRITERS: dict[str, Callable[[Sequence[Row]], bytes]] = {"csv": csv_of, "jsonl": lines_of}


def sent(kind: Kind, body: Body, content: bytes) -> tuple[int, dict[str, Any]]:
    now = time.monotonic()
    answer = handle(Job(kind, body, (), "json", "x", now, now, LIMITS), content, Unbounded())
    return answer.status, json.loads(answer.body)


def form(kind: Kind, files: Mapping[str, bytes], suffix: str, **fields: str) -> tuple[int, dict[str, Any]]:
    parts = [
        f'--x\r\nContent-Disposition: form-data; name="{role}"; filename="{role}.{suffix}"\r\n\r\n'.encode()
        + content
        + b"\r\n"
        for role, content in files.items()
    ]
    parts += [
        f'--x\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{text}\r\n'.encode()
        for name, text in fields.items()
    ]
    return sent(kind, Body(MULTIPART, None, "x"), b"".join(parts) + b"--x--\r\n")


def shuffled(rows: list[Row], seed: int = 3) -> list[Row]:
    return random.Random(seed).sample(rows, len(rows))


def of_system(key: Callable[[int], Row], scores: Sequence[float], metric: str = "acc") -> list[Row]:
    return [{**key(n), metric: score} for n, score in enumerate(scores)]


P = sign_flip_p([Fraction(u - v) for u, v in zip(U, V, strict=True)])
KEYS: dict[str, Callable[[int], Row]] = {
    "a key of the list": lambda n: {"problem_id": 40 + 4 * n},
    "camel case": lambda n: {"questionID": NAMES[n]},
    "any other id": lambda n: {"ticket_id": NAMES[n]},
    "two keys": lambda n: {"doc_id": "d", "seg_id": n},
    "a name that is unique": lambda n: {"speaker": NAMES[n]},
    "seeds": lambda n: {"seed": 100 + n},
    "texts that nobody knows": lambda n: {"recording": f"{NAMES[n]}.wav"},
    "texts together": lambda n: {"part": "ab"[n % 2], "place": f"p{n // 2}"},
    "a key for each language": lambda n: {"lang": "de" if n % 2 else "en", "id": n // 2},
    "a constant run beside a key": lambda n: {"id": NAMES[n], "seed": 7},
}


@pytest.mark.parametrize("suffix", WRITERS)
@pytest.mark.parametrize("name", KEYS)
def test_files_are_paired_by_their_keys_in_any_order(name: str, suffix: str) -> None:
    u, v = of_system(KEYS[name], U), shuffled(of_system(KEYS[name], V))
    status, said = form("files", {"u": WRITERS[suffix](u), "v": WRITERS[suffix](v)}, suffix)
    assert status == 200, said
    assert (said["p_value"], said["items"]["n"]) == (float(P), len(U))


@pytest.mark.parametrize("suffix", WRITERS)
@pytest.mark.parametrize(
    ("run", "key"),
    [
        ("run", "id"), ("seed", "id"), ("Epoch", "id"), ("repeat", "id"), ("seed", "document"),
        ("seed", "index"), ("rep", "file"),
    ],
)  # fmt: skip
def test_runs_are_samples_of_their_items(run: str, key: str, suffix: str) -> None:
    """Three runs of each item: the mean of each item swaps as a whole."""
    chance = random.Random(run)
    scores = {role: [[chance.randint(0, 1) for _ in range(3)] for _ in range(6)] for role in "uv"}
    rows = {
        role: [
            {key: f"q{n}", run: k + 1, "correct": one}
            for n, each in enumerate(own)
            for k, one in enumerate(each)
        ]
        for role, own in scores.items()
    }
    wanted = sign_flip_p(
        [Fraction(sum(u) - sum(v), 3) for u, v in zip(scores["u"], scores["v"], strict=True)]
    )
    status, said = form("files", {role: WRITERS[suffix](shuffled(own)) for role, own in rows.items()}, suffix)
    assert status == 200, said
    assert (said["p_value"], said["items"]["n"]) == (pytest.approx(float(wanted), rel=1e-12), 6)
    long = [{"model": f"m-{role}", **row} for role, own in rows.items() for row in own]
    status, said = form(
        "files", {"file": WRITERS[suffix](shuffled(long))}, suffix, system_u="m-u", system_v="m-v"
    )
    assert (status, said["p_value"]) == (200, pytest.approx(float(wanted), rel=1e-12))
    status, said = sent("compare", Body(CSV if suffix == "csv" else NDJSON), WRITERS[suffix](shuffled(long)))
    assert (status, said["pairs"][0]["p_value"]) == (200, pytest.approx(float(wanted), rel=1e-12))
    wide = [
        {
            **{name: each for name, each in u.items() if name != "correct"},
            "u": u["correct"],
            "v": v["correct"],
        }
        for u, v in zip(rows["u"], rows["v"], strict=True)
    ]
    status, said = form("files", {"file": WRITERS[suffix](wide)}, suffix)
    assert (status, said["items"]["n"]) == (200, 6)
    assert said["p_value"] == pytest.approx(float(wanted), rel=1e-12)


@pytest.mark.parametrize("suffix", WRITERS)
def test_whole_numbers_that_every_run_has_are_asked_about(suffix: str) -> None:
    rows = [
        {"image": n % 4, "seed": n // 4, "u": u, "v": v} for n, (u, v) in enumerate(zip(U, V, strict=True))
    ]
    status, said = form("files", {"file": WRITERS[suffix](rows)}, suffix)
    assert (status, said["errors"][0]["code"]) == (422, "choose_id_column")
    status, said = form(
        "files", {"file": WRITERS[suffix](rows)}, suffix, **said["errors"][0]["choices"][0]["fields"]
    )
    assert (status, said["items"]["n"]) == (200, 4)


@pytest.mark.parametrize("suffix", WRITERS)
@pytest.mark.parametrize("system", ["model_name", "System Name", "method_name"])
@pytest.mark.parametrize("key", ["index", "Unnamed: 0", "task_name", "subset"])
def test_a_long_table_may_have_its_index_anywhere(key: str, system: str, suffix: str) -> None:
    """The name of an index or a data set alone also identifies items of a long table."""
    rows = [
        {system: name, key: n, "acc": one} for name, own in (("a", U), ("b", V)) for n, one in enumerate(own)
    ]
    status, said = form(
        "files", {"file": WRITERS[suffix](shuffled(rows))}, suffix, system_u="a", system_v="b"
    )
    assert status == 200, said
    assert (said["p_value"], said["items"]["n"]) == (float(P), len(U))


def test_a_long_table_without_keys_offers_what_tells_its_rows_apart() -> None:
    rows = [
        {"model": name, "nr": 3 * n, "acc": one, "kind": n % 2}
        for name, own in (("a", U), ("b", V))
        for n, one in enumerate(own)
    ]
    status, said = form("files", {"file": csv_of(rows)}, "csv", score_column="acc")
    (choice,) = said["errors"][0]["choices"]
    assert (status, choice["fields"]) == (422, {"id_column": "nr"})
    assert form("files", {"file": csv_of(rows)}, "csv", score_column="acc", id_column="nr")[0] == 200


def test_fields_between_tabs_may_be_quoted_over_lines() -> None:
    """As pandas writes them: quotes only where needed, so none in the header."""
    files = {
        role: b"id\ttext\tscore\n"
        + b"".join(b'%d\t"one,\ttwo\nand ""three"""\t%d\n' % (n, one) for n, one in enumerate(own))
        for role, own in (("u", U), ("v", V))
    }
    status, said = form("files", files, "tsv")
    assert (status, said["p_value"]) == (200, float(P))


@pytest.mark.parametrize("on_missing", ["error", "pairwise", "complete"])
@pytest.mark.parametrize("moved", [(0,), (1,), (2,), (1, 2)])
@pytest.mark.parametrize("suffix", WRITERS)
def test_files_of_a_board_are_paired_alike(suffix: str, moved: Sequence[int], on_missing: str) -> None:
    """One file in another order shows the keys, which then also apply to files in one order."""
    three = {"a": U, "b": V, "c": [*U[3:], *V[:3]]}
    parts = b""
    for at, (name, own) in enumerate(three.items()):
        rows = of_system(KEYS["texts that nobody knows"], own)
        content = WRITERS[suffix](shuffled(rows, at) if at in moved else rows)
        parts += f'--x\r\nContent-Disposition: form-data; name="system"; filename="{name}.{suffix}"\r\n\r\n'.encode()
        parts += content + b"\r\n"
    parts += (
        f'--x\r\nContent-Disposition: form-data; name="on_missing"\r\n\r\n{on_missing}\r\n--x--\r\n'.encode()
    )
    status, said = sent("compare", Body(MULTIPART, None, "x"), parts)
    assert status == 200, said
    found = {frozenset((pair["u"], pair["v"])): pair["p_value"] for pair in said["pairs"]}
    assert found == {
        frozenset((u, v)): float(
            sign_flip_p([Fraction(one - other) for one, other in zip(three[u], three[v], strict=True)])
        )
        for u, v in itertools.combinations(three, 2)
    }


NO_SCORES = {"notes": "", "remark": "NA", "question": 7, "doc": 3}


@pytest.mark.parametrize("suffix", WRITERS)
@pytest.mark.parametrize("name", NO_SCORES)
def test_columns_without_scores_are_not_systems(name: str, suffix: str) -> None:
    """Nothing in any row, or a number of what was asked."""
    value = NO_SCORES[name] if suffix == "csv" or not isinstance(NO_SCORES[name], str) else None
    rows = [{"id": NAMES[n], "A": u, "B": v, name: value} for n, (u, v) in enumerate(zip(U, V, strict=True))]
    status, said = form("files", {"file": WRITERS[suffix](rows)}, suffix)
    assert (status, said["p_value"]) == (200, float(P))
    status, said = form("compare", {"file": WRITERS[suffix](rows)}, suffix)
    assert (status, [one["name"] for one in said["systems"]]) == (200, ["A", "B"])
    files = {
        role: WRITERS[suffix]([{"id": NAMES[n], name: value, "gain": one} for n, one in enumerate(own)])
        for role, own in (("u", U), ("v", V))
    }
    status, said = form("files", files, suffix)
    assert (status, said["p_value"]) == (200, float(P))


@pytest.mark.parametrize("roles", ["uv", "vu"])
def test_a_table_may_stand_beside_lines_of_json(roles: str) -> None:
    one, other = tuple(roles)
    sides = {"u": of_system(KEYS["camel case"], U), "v": shuffled(of_system(KEYS["camel case"], V))}
    files = {one: csv_of(sides[one]), other: lines_of(sides[other])}
    status, said = form("files", {role: files[role] for role in "uv"}, "txt")
    assert (status, said["p_value"]) == (200, float(P))


@pytest.mark.parametrize(("one", "other"), [("Q{}", "q{}"), ("\u00e9{}", "e\u0301{}"), ("0{}", "{}.0")])
def test_ids_in_two_forms_are_shown(one: str, other: str) -> None:
    files = {
        role: lines_of([{"id": form_.format(n), "acc": score} for n, score in enumerate(own)])
        for role, own, form_ in (("u", U, one), ("v", V, other))
    }
    status, said = form("files", files, "jsonl")
    assert (status, said["errors"][0]["code"]) == (422, "unmatched_ids")
    assert "may be one id in two forms" in said["detail"]


@pytest.mark.parametrize("suffix", WRITERS)
@pytest.mark.parametrize("scale", [1, 0.25])
@pytest.mark.parametrize(
    "names", [("baseline", "model"), ("method", "control"), ("2023", "2024"), ("1", "2")]
)
def test_numbers_of_one_row_for_each_item_are_scores(
    names: tuple[str, str], scale: float, suffix: str
) -> None:
    """They are not systems, with any name of their column; and a header may have numbers beside `id`."""
    rows = [
        {"id": NAMES[n], names[0]: u * scale, names[1]: v * scale}
        for n, (u, v) in enumerate(zip(U, V, strict=True))
    ]
    content = WRITERS[suffix](rows)
    status, said = form("files", {"file": content}, suffix, system_u=names[0], system_v=names[1])
    assert (status, said["p_value"]) == (200, float(P))
    assert form("files", {"file": content}, suffix)[1]["p_value"] == float(P)
    status, said = form("compare", {"file": content}, suffix)
    assert (status, sorted(one["name"] for one in said["systems"])) == (200, sorted(names))


@pytest.mark.parametrize("suffix", WRITERS)
def test_numbers_that_items_have_rows_of_name_systems(suffix: str) -> None:
    rows = [
        {"id": NAMES[n], "model": name, "acc": one}
        for name, own in ((1, U), (2, V))
        for n, one in enumerate(own)
    ]
    status, said = form("files", {"file": WRITERS[suffix](rows)}, suffix)
    assert (status, said["p_value"], said["names"]) == (200, float(P), {"u": "1", "v": "2"})


@pytest.mark.parametrize("changed", [1, 7])
def test_items_of_other_logs_are_left_out_only_where_that_is_enough(changed: int) -> None:
    def log(own: Sequence[int], other: int) -> bytes:
        return lines_of(
            [
                {"doc_id": n, "doc": {}, "target": "", "filter": "none", "metrics": ["acc"], "doc_hash": n + 50 * (n < other), "acc": one}
                for n, one in enumerate(own)
            ]
        )  # fmt: skip

    files = {"u": log(U, 0), "v": log(V, changed)}
    status, said = form("files", files, "jsonl")
    assert (status, said["errors"][0]["code"]) == (422, "doc_hash_mismatch")
    choices = [choice["fields"] for choice in said["errors"][0]["choices"]]
    assert choices == [{"on_mismatch": "drop"}, {"on_mismatch": "keep"}][changed > 1 :]
    assert all(form("files", files, "jsonl", **choice)[0] == 200 for choice in choices)


def test_a_column_of_systems_by_another_name_is_offered() -> None:
    rows = [
        {"engine": name, "id": NAMES[n], "gain": one}
        for name, own in (("a", U), ("b", V))
        for n, one in enumerate(own)
    ]
    status, said = form("files", {"file": csv_of(rows)}, "csv")
    assert (status, said["errors"][0]["code"]) == (422, "choose_system_column")
    (choice,) = said["errors"][0]["choices"]
    status, said = form("files", {"file": csv_of(rows)}, "csv", **choice["fields"])
    assert (status, said["p_value"]) == (200, float(P))


def test_differing_weights_are_refused_in_words() -> None:
    files = {
        role: b"id,weight,acc\n" + b"".join(b"q%d,%d,%d\n" % (n, weight, one) for n, one in enumerate(own))
        for role, own, weight in (("u", U, 1), ("v", V, 2))
    }
    status, said = form("files", files, "csv")
    assert (status, said["errors"][0]["pointer"]) == (422, "/files/v/line/2")
    assert said["detail"].endswith('"2" here and "1" at line 2 of u (u.csv): an item has one weight.')


def test_costs_are_not_systems_of_a_board() -> None:
    rows = [
        {"id": NAMES[n], "A": u, "B": v, "latency_ms": 90 + n}
        for n, (u, v) in enumerate(zip(U, V, strict=True))
    ]
    status, said = form("compare", {"file": csv_of(rows)}, "csv")
    assert (status, [one["name"] for one in said["systems"]]) == (200, ["A", "B"])
    assert 'Costs are not systems and were left out: "latency_ms".' in said["reading"]["notes"]


@pytest.mark.parametrize("suffix", WRITERS)
def test_rows_that_nothing_tells_apart_are_warned_of_and_asked_about(suffix: str) -> None:
    rows = {
        role: [{"task_id": f"t{n // 2}", "passed": one} for n, one in enumerate(own)]
        for role, own in (("u", U), ("v", V))
    }
    files = {role: WRITERS[suffix](shuffled(own, len(role))) for role, own in rows.items()}
    status, said = form("files", files, suffix)
    assert (status, said["items"]["n"]) == (200, len(U) // 2)
    assert "choose_runs" in [one["code"] for one in said["warnings"]]
    status, said = form("gate", files, suffix)
    assert (status, said["errors"][0]["code"]) == (422, "choose_runs")
    for choice in (said["errors"][0]["choices"][0]["fields"], {"clusters": "task_id"}):
        assert form("gate", files, suffix, **choice)[0] in (200, 409)


ASKED: dict[str, tuple[Callable[[int], Row], str]] = {
    "numbers": (lambda n: {"nr": 3 * n}, "nr"),
    "a category": (lambda n: {"kind": "abcd"[n % 4]}, "kind"),
    "numbers of each part": (lambda n: {"part": "ab"[n % 2], "nr": n // 2}, "part,nr"),
}


@pytest.mark.parametrize("suffix", WRITERS)
@pytest.mark.parametrize("route", ["files", "gate"])
@pytest.mark.parametrize("name", ASKED)
def test_another_order_is_asked_about_where_nothing_is_certain(name: str, route: Kind, suffix: str) -> None:
    key, column = ASKED[name]
    files = {"u": WRITERS[suffix](of_system(key, U)), "v": WRITERS[suffix](shuffled(of_system(key, V)))}
    status, said = form(route, files, suffix)
    assert (status, said["errors"][0]["code"]) == (422, "choose_id_column")
    assert said["errors"][0]["choices"][0]["fields"] == {"id_column": column}
    same = {"u": files["u"], "v": WRITERS[suffix](of_system(key, V))}
    assert form("files", same, suffix)[1]["p_value"] == float(P)  # in one order nothing is asked


def test_a_choice_of_several_columns_is_enough() -> None:
    key, column = ASKED["numbers of each part"]
    files = {"u": csv_of(of_system(key, U)), "v": csv_of(shuffled(of_system(key, V)))}
    status, said = form("files", files, "csv", id_column=column)
    assert (status, said["p_value"]) == (200, float(P))


def test_a_repeated_id_is_an_error_and_names_its_lines() -> None:
    rows = of_system(lambda n: {"id": NAMES[n]}, U)
    status, said = form("files", {"u": csv_of([*rows, rows[0]]), "v": csv_of(rows)}, "csv")
    assert (status, said["errors"][0]["code"]) == (422, "duplicate_id")
    assert said["errors"][0]["pointer"] == f"/files/u/line/{len(rows) + 2}"
    assert "line 2" in said["detail"]


@pytest.mark.parametrize(
    "beside", [{"id": NAMES}, {"Unnamed: 0": range(8)}, {"fold": range(1, 9)}, {"seed": range(5, 13)}, {}]
)
def test_a_table_is_read_alike_as_a_file_a_body_and_a_board(beside: dict[str, Sequence[Any]]) -> None:
    rows = [
        {**{name: own[n] for name, own in beside.items()}, "new": u, "old": v}
        for n, (u, v) in enumerate(zip(U, V, strict=True))
    ]
    for suffix, media in (("csv", CSV), ("jsonl", NDJSON)):
        if "Unnamed: 0" in beside and suffix == "jsonl":
            continue
        content = WRITERS[suffix](rows)
        answers = [form("files", {"file": content}, suffix), sent("scores", Body(media), content)]
        boards = [form("compare", {"file": content}, suffix), sent("compare", Body(media), content)]
        assert [(status, said["p_value"], said["names"]) for status, said in answers] == [
            (200, float(P), {"u": "new", "v": "old"})
        ] * 2
        assert [(status, said["pairs"][0]["p_value"]) for status, said in boards] == [(200, float(P))] * 2


def test_outcomes_with_frequencies_are_as_many_items() -> None:
    table = b"sys_a,sys_b,Freq\n1,1,5\n1,0,6\n0,1,2\n0,0,4\n"
    wanted = float(sign_flip_p([Fraction(1)] * 6 + [Fraction(-1)] * 2))
    chosen = {"system_u": "sys_a", "system_v": "sys_b"}
    status, said = form("files", {"file": table}, "csv", **chosen)
    assert (status, said["p_value"], said["items"]["n"]) == (200, wanted, 17)
    assert sent("compare", Body(CSV), table)[1]["pairs"][0]["p_value"] == wanted


GOLD = [1, 0, 1, 1, 0, 0, 1, 0]
BESIDE_GOLD = {
    "one system": ("y_true,y_pred", "one_system"),
    "actual and predicted": ("actual,predicted", "one_system"),
    "whole numbers of systems": ("label,xgb,rf", "choose_format"),
}


@pytest.mark.parametrize("route", ["files", "gate"])
@pytest.mark.parametrize("name", BESIDE_GOLD)
def test_gold_is_not_a_system_and_labels_are_not_scores_by_default(name: str, route: Kind) -> None:
    header, code = BESIDE_GOLD[name]
    columns = [GOLD, U, V][: header.count(",") + 1]
    table = (
        header + "\n" + "".join(",".join(map(str, row)) + "\n" for row in zip(*columns, strict=True))
    ).encode()
    status, said = form(route, {"file": table}, "csv")
    assert (status, said["errors"][0]["code"]) == (422, code)
    if code == "choose_format":
        chosen = {"system_u": "xgb", "system_v": "rf"}
        assert form(route, {"file": table}, "csv", **chosen)[1]["errors"][0]["code"] == code
        right = [Fraction(int(u == g)) - int(v == g) for g, u, v in zip(GOLD, U, V, strict=True)]
        for choice in said["errors"][0]["choices"]:
            status, said = form("files", {"file": table}, "csv", **choice["fields"], **chosen)
            wanted = sign_flip_p(right) if choice["fields"]["format"] == "labels" else P
            assert (status, said["p_value"]) == (200, float(wanted))


@pytest.mark.parametrize(
    "gold", ["gold", "labels", "human", "actual", "expected", "reference", "answer", "y_true"]
)
def test_gold_of_any_name_is_asked_about_by_files_bodies_and_boards(gold: str) -> None:
    rows = [
        {"id": f"q{at}", gold: g, "new": u, "old": v}
        for at, (g, u, v) in enumerate(zip(GOLD, U, V, strict=True))
    ]
    three = [{**row, "third": row["old"]} for row in rows]
    for write, media, suffix in ((csv_of, CSV, "csv"), (lines_of, NDJSON, "jsonl")):
        routes: tuple[Kind, ...] = ("files", "gate")
        for route in routes:
            status, said = form(route, {"file": write(rows)}, suffix)
            assert (status, said["errors"][0]["code"]) == (422, "choose_format"), (route, said)
        status, said = sent("scores", Body(media), write(rows))
        assert (status, said["errors"][0]["code"]) == (422, "choose_format"), said
        for status, said in (
            form("compare", {"file": write(three)}, suffix),
            sent("compare", Body(media), write(three)),
        ):
            assert (status, said["errors"][0]["code"] in {"choose_format", "gold_column"}) == (422, True), (
                said
            )


def test_whole_numbers_named_as_predictions_are_labels() -> None:
    table = (
        "y_true,y_pred_new,y_pred_old\n"
        + "".join(f"{g},{u},{v}\n" for g, u, v in zip(GOLD, U, V, strict=True))
    ).encode()
    right = [Fraction(int(u == g)) - int(v == g) for g, u, v in zip(GOLD, U, V, strict=True)]
    status, said = form("files", {"file": table}, "csv")
    assert (status, said["p_value"], said["statistic"]["name"]) == (
        200,
        float(sign_flip_p(right)),
        "accuracy",
    )


def test_a_score_beside_labels_in_each_file_is_asked_about() -> None:
    files = {
        role: b"id,label,score\n"
        + b"".join(b"%d,%d,0.%d\n" % (n, g, (n * by) % 9 + 1) for n, g in enumerate(GOLD))
        for role, by in (("u", 2), ("v", 5))
    }
    status, said = form("files", files, "csv")
    assert (status, said["errors"][0]["code"]) == (422, "choose_statistic")
    named = {
        form("files", files, "csv", **choice["fields"])[1]["statistic"]["name"]
        for choice in said["errors"][0]["choices"]
    }
    assert named == {"auc", "mean_difference"}


@pytest.mark.parametrize("path", ["files", "compare"])
def test_a_long_table_in_another_language_is_asked_which_column_names_the_systems(path: Kind) -> None:
    rows = [
        f"2026-11-{n + 1:02d} 10:00\tF{n}\t{topic}\t{name}\t{value}\t\n"
        for n, topic in enumerate(("Mathe", "Text", "Text", "Mathe", "Text", "Mathe"))
        for name, value in (("gpt-neu", 4 + n % 2), ("gpt-alt", 3))
    ]
    table = "Zeitstempel\tFrage-Nr.\tKategorie\tModell\tBewertung (1-5)\tKommentar\n" + "".join(rows)
    files = {"file": table.encode()}
    status, said = form(path, files, "tsv")
    assert (status, said["errors"][0]["code"]) == (422, "choose_system_column")
    assert [choice["fields"] for choice in said["errors"][0]["choices"]] == [{"system_column": "Modell"}]
    direction = {"higher_is_better": "true"} if path == "compare" else {}
    status, said = form(path, files, "tsv", system_column="Modell", **direction)
    assert status == 200, said
