"""A file of each system for each task: one test of all, with an oracle that is one file; and a data set each in a comparison."""

import json
import random
from typing import Any

import pytest

from exactperm.inputs.formats import catalogue
from exactperm.inputs.formats.tasks import tasks_of
from exactperm.inputs.reader import ReaderOptions, UploadedFile
from tests.api.conftest import error_of, problem
from tests.fuzz.excerpts import Excerpt, excerpts

PATH, GATE, COMPARE = "/v1/tests/files", "/v1/gate", "/v1/compare"
TASKS = {"anatomy": 9, "law": 5, "virology": 7, "zoology": 6}
Parts = list[tuple[str, tuple[str, bytes]]]


def scores(task: str, system: int) -> list[float]:
    random_ = random.Random(f"{task} {system}")
    return [random_.choice([0, 0.25, 0.5, 1, 1]) for _ in range(TASKS[task])]


def parts(**missing: str) -> Parts:
    """Files of two systems with ids that repeat between tasks and names with dates."""
    dates = {"u": "2026-05-17T13-25-31.291152", "v": "2026-05-18T01-02-03.000001"}
    return [
        (role, (f"samples_mmlu_{task}_{dates[role]}.csv", rows(scores(task, system))))
        for system, role in enumerate("uv")
        for task in sorted(TASKS, reverse=role == "v")
        if missing.get(role) != task
    ]


def rows(values: list[float]) -> bytes:
    return "".join(["id,score\n", *(f"{i},{value}\n" for i, value in enumerate(values))]).encode()


def whole(cluster: bool, tasks: list[str] | None = None) -> bytes:
    """The same in one file."""
    lines = ["id,u,v" + (",cluster" if cluster else "")]
    for task in tasks or list(TASKS):
        for i, (u, v) in enumerate(zip(scores(task, 0), scores(task, 1), strict=True)):
            lines.append(f"{task}/{i},{u},{v}" + (f",{task}" if cluster else ""))
    return "\n".join(lines).encode()


def post(service: Any, path: str, files: Parts, **fields: str) -> Any:
    return service.request("POST", path, files=files, data=fields)


def same_numbers(said: dict[str, Any], expected: dict[str, Any]) -> None:
    for name in (
        "p_value",
        "p_value_bounds",
        "statistic",
        "items",
        "interval",
        "effect_size",
        "method",
        "missing",
    ):
        assert said.get(name) == expected.get(name), name


@pytest.mark.parametrize("clusters", ["", "task", "item"])
def test_many_tasks_are_one_test_with_the_tasks_as_clusters(service: Any, clusters: str) -> None:
    fields = {"clusters": clusters} if clusters else {}
    said = post(service, PATH, parts(), **fields).json()
    alone = [("file", ("all.csv", whole(clusters != "item")))]
    same_numbers(said, post(service, PATH, alone).json())
    assert said["items"]["n"] == sum(TASKS.values())
    assert said["items"]["clusters"] == (None if clusters == "item" else 4)
    notes = " ".join(said["reading"]["notes"])
    assert '4 tasks were read, each from a file of u and one of v: "mmlu_anatomy"' in notes
    assert f"u: {sum(TASKS.values())} items read from 4 files." in notes
    assert ("swaps by itself" if clusters == "item" else "tasks are the clusters") in notes


def test_the_order_of_the_files_does_not_matter(service: Any) -> None:
    answers = [post(service, PATH, files).json() for files in (parts(), parts()[::-1])]
    assert answers[0]["id"] == answers[1]["id"]


def test_a_task_of_one_system_is_refused_with_a_way_out(service: Any) -> None:
    files = parts(v="law")
    said = problem(post(service, PATH, files), 422)
    assert said["errors"][0]["pointer"] == "/files/v"
    assert said["errors"][0]["code"] == "unmatched_tasks"
    assert '"mmlu_law"' in said["detail"]
    assert "set `on_missing=drop` to" in said["detail"]
    dropped = post(service, PATH, files, on_missing="drop").json()
    rest = whole(True, [task for task in TASKS if task != "law"])
    same_numbers(dropped, post(service, PATH, [("file", ("all.csv", rest))]).json())
    assert any(
        'that not all systems have were left out (on_missing: drop): "mmlu_law".' in note
        for note in dropped["reading"]["notes"]
    )
    problem(post(service, GATE, files), 422)


def test_no_common_task_two_of_one_and_one_system_alone_are_refused(service: Any) -> None:
    one, other = rows([1, 0]), rows([0, 1])
    cases = {
        "unmatched_tasks": [("u", ("a.csv", one)), ("u", ("b.csv", one)), ("v", ("c.csv", other)), ("v", ("d.csv", other))],
        "duplicate_task": [("u", ("a.csv", one)), ("u", ("a.csv", one)), ("v", ("a.csv", other)), ("v", ("b.csv", other))],
        "missing_file": [("u", ("a.csv", one)), ("u", ("b.csv", one))],
        "duplicate_file": [("file", ("a.csv", one)), ("file", ("b.csv", one))],
    }  # fmt: skip
    for code, files in cases.items():
        for path in (PATH, GATE):
            assert error_of(post(service, path, files))[1] == code
    assert "drop" not in problem(post(service, PATH, cases["unmatched_tasks"]), 422)["detail"]


def test_files_without_names_are_refused(service: Any) -> None:
    for name in ("", "/", "//", ".csv"):
        files = [(role, (name, rows([1, 0]))) for role in ("u", "u", "v", "v")]
        assert error_of(post(service, PATH, files))[1] == "duplicate_task"


def test_errors_name_the_file(service: Any) -> None:
    files = parts()
    files[1] = ("u", (files[1][1][0], files[1][1][1].replace(b"\n2,", b"\n2,x")))
    flaw = problem(post(service, PATH, files), 422)["errors"][0]
    assert flaw["pointer"] == "/files/u/mmlu_law/line/4/2"
    assert flaw["code"] == "not_a_number"
    flaw = problem(post(service, PATH, files[:4] + parts()[5:]), 422)["errors"][0]
    assert flaw["pointer"] == "/files/v"


def test_tasks_that_measure_different_things_are_refused(service: Any) -> None:
    acc, f1 = b'{"id":1,"acc":1}\n{"id":2,"acc":0}\n', b'{"id":1,"toxicity":1}\n{"id":2,"toxicity":0}\n'
    files: Parts = [
        (role, (f"{task}.jsonl", content)) for role in "uv" for task, content in (("a", acc), ("b", f1))
    ]
    said = problem(post(service, PATH, files), 422)
    assert said["errors"][0]["pointer"] == "/files/u/b"
    assert said["errors"][0]["code"] == "tasks_differ"
    assert 'metric, "acc" and "toxicity"' in said["detail"]
    mixed: Parts = [
        (role, (name, content))
        for role in "uv"
        for name, content in (("a.jsonl", acc), ("b.csv", rows([1, 0])))
    ]
    assert error_of(post(service, PATH, mixed))[1] == "tasks_differ"


def test_a_gate_of_many_tasks_decides_as_that_of_one_file(service: Any) -> None:
    said = post(service, GATE, parts(), clusters="item")
    alone = post(service, GATE, [("file", ("all.csv", whole(False)))])
    assert (said.status_code, said.json()["verdict"]) == (alone.status_code, alone.json()["verdict"])
    assert said.json()["metrics"][0]["test"]["p_value"] == alone.json()["metrics"][0]["test"]["p_value"]


def test_missing_items_are_bounded_over_all_tasks(service: Any) -> None:
    u = {"a": [1, 1, 0, 1, 1], "b": [1, 1, 1, 0]}
    v = {"a": [0, 0, 0, 1], "b": [0, 0, 1, 0, 1, 1]}
    files: Parts = [
        (role, (f"{task}.csv", rows([float(x) for x in values])))
        for role, own in (("u", u), ("v", v))
        for task, values in own.items()
    ]
    lines = ["id,u,v,cluster"]
    for task, count in (("a", 5), ("b", 6)):
        for i in range(count):
            values = [str(own[task][i]) if i < len(own[task]) else "" for own in (u, v)]
            lines.append(f"{task}/{i},{values[0]},{values[1]},{task}")
    alone: Parts = [("file", ("all.csv", "\n".join(lines).encode()))]
    for clusters in ({}, {"clusters": "item"}):
        expected = (
            alone
            if not clusters
            else [("file", ("all.csv", "\n".join(line.rpartition(",")[0] for line in lines).encode()))]
        )
        said = post(service, PATH, files, on_missing="bounds", **clusters).json()
        same_numbers(said, post(service, PATH, expected, on_missing="bounds").json())
        assert said["missing"] is not None


def board(files: Parts, names: list[str]) -> tuple[Parts, str]:
    return [("system", file) for _, file in files], json.dumps(names)


def test_tasks_are_the_data_sets_of_a_comparison(service: Any) -> None:
    files, names = board(parts(), ["A"] * 4 + ["B"] * 4)
    said = post(service, COMPARE, files, names=names, family="all").json()
    datasets = {f"mmlu_{task}": {"systems": {"A": scores(task, 0), "B": scores(task, 1)}} for task in TASKS}
    expected = service.post(COMPARE, {"kind": "scores", "datasets": datasets, "family": "all"}).json()
    assert said["datasets"] is not None
    for name in ("datasets", "overall"):
        assert said.get(name) == expected.get(name), name
    assert '4 tasks were read as data sets: "mmlu_anatomy"' in said["reading"]["notes"][0]


def test_a_task_that_a_system_lacks_is_refused_in_a_comparison(service: Any) -> None:
    files, names = board(parts(v="law"), ["A"] * 4 + ["B"] * 3)
    said = problem(post(service, COMPARE, files, names=names), 422)
    assert said["errors"][0]["pointer"] == "/files/B"
    assert said["errors"][0]["code"] == "unmatched_tasks"
    dropped = post(service, COMPARE, files, names=names, on_missing="complete").json()
    assert list(dropped["datasets"]) == ["mmlu_anatomy", "mmlu_virology", "mmlu_zoology"]
    broken = [*files[:2], ("system", (files[2][1][0], b"id,score\n1,x\n")), *files[3:]]
    assert (
        error_of(post(service, COMPARE, broken, names=names, on_missing="complete"))[0]
        == "/files/A/mmlu_virology/line/2/2"
    )


OF_TASKS = [
    one for one in excerpts() if {"u", "v"} <= one.files.keys() and catalogue.FORMATS[one.format].several
]


@pytest.mark.parametrize("number", range(len(OF_TASKS)))
def test_every_format_may_have_a_file_for_each_task(number: int) -> None:
    """Twice the same files are twice the items, with the same scores."""
    excerpt: Excerpt = OF_TASKS[number]
    options = {name: value for name, value in excerpt.options.items() if name != "clusters"}
    files = {role: UploadedFile(role, content) for role, content in excerpt.files.items()}
    once = catalogue.read(files, excerpt.format, ReaderOptions.of_form(options)).data
    twice = {
        role: UploadedFile(role, b"", "", tuple(UploadedFile(task, file.content) for task in "ab"))
        for role, file in files.items()
    }
    said = catalogue.read(twice, excerpt.format, ReaderOptions.of_form({**options, "clusters": "item"}))
    assert type(said.data) is type(once)
    for role in ("u", "v"):
        mine, own = getattr(said.data, role), getattr(once, role)
        for column, expected in (
            zip(mine.values(), own.values(), strict=True) if isinstance(own, dict) else [(mine, own)]
        ):
            assert len(column) == 2 * len(expected)
    if said.data.pairing.ids is not None:
        assert list(said.data.pairing.ids) == [
            f"{task}/{key}" for task in "ab" for key in once.pairing.ids or ()
        ]
    assert said.data.pairing.clusters is None


def test_formats_that_compare_items_within_a_file_refuse_several(service: Any) -> None:
    own = next(one for one in excerpts() if one.format == "mt-metrics-eval")
    files: Parts = [(role, (f"{task}.seg", content)) for role, content in own.files.items() for task in "ab"]
    assert error_of(post(service, PATH, files, format=own.format))[1] == "several_files"


@pytest.mark.parametrize(
    ("names", "tasks"),
    [
        (["samples_a_b_2026-05-17T13-25-31.291152.jsonl.gz"], ["a_b"]),
        (["x/details_leaderboard|arc:challenge|25_2023-07-19T13-47-29.409121.parquet"], ["leaderboard|arc:challenge|25"]),
        (["logs/2024-11-05T13-32-37-05-00_input-task_hxs4q9azL3ySGkjJirypKZ.eval"], ["input-task"]),
        (["r/mmlu:subject=law,method=joint,model=a_b/per_instance_stats.json"], ["mmlu:subject=law,method=joint"]),
        (["r/de/out.csv", "r/fr/out.csv"], ["de", "fr"]),
        (["de.out.csv", "fr.out.csv"], ["de.out", "fr.out"]),
        (["a/x.csv", "a/x.json"], None),
    ],
)  # fmt: skip
def test_tasks_by_the_names_that_tools_give(names: list[str], tasks: list[str] | None) -> None:
    assert tasks_of(names) == tasks
