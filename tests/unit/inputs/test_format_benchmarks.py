"""pytest-benchmark's and hyperfine's files, as the tools wrote them and damaged."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from exactperm.statistics.paired import Repeated

from .reading import EXCERPTS, noted, read_files, refuses

HYPERFINE: dict[str, Any] = {
    "results": [{"command": "a", "mean": 2.0, "times": [1.0, 3.0], "exit_codes": [0, 1]}]
}
PYTEST: dict[str, Any] = {
    "machine_info": {},
    "benchmarks": [{"name": "a", "fullname": "t.py::a", "stats": {"mean": 2.0, "median": 1.5}}],
}


@pytest.mark.parametrize(
    ("format_", "stem", "key"),
    [("pytest-benchmark", "pytest", "fullname"), ("hyperfine", "hyperfine", "command")],
)
def test_times_of_benchmarks_pair_by_name(format_: str, stem: str, key: str) -> None:
    files = {role: EXCERPTS / "benchmarks" / f"{stem}_{role}.json" for role in "uv"}
    reading = read_files("auto", files)
    assert (reading.format, reading.metric, reading.higher_is_better) == (format_, "seconds", False)
    assert noted(reading, "the mean of its times")
    for role in "uv":
        document = json.loads(files[role].read_bytes())
        rows = document["benchmarks" if format_ == "pytest-benchmark" else "results"]
        assert list(reading.data.pairing.ids or ()) == [row[key] for row in rows]
        times = [row["stats"]["data"] if format_ == "pytest-benchmark" else row["times"] for row in rows]
        side = getattr(reading.data, role)
        assert isinstance(side, Repeated)
        assert np.array_equal(side.lengths, [5] * len(rows))
        assert side.values.tolist() == [time for row in times for time in row]


@pytest.mark.parametrize("stem", ["pytest", "hyperfine"])
def test_another_number_of_a_benchmark_is_taken_as_it_is_written(stem: str) -> None:
    files = {role: EXCERPTS / "benchmarks" / f"{stem}_{role}.json" for role in "uv"}
    reading = read_files("auto", files, metric="median")
    document = json.loads(files["u"].read_bytes())
    rows = [row["stats"] for row in document["benchmarks"]] if stem == "pytest" else document["results"]
    data: Any = reading.data
    assert data.u.tolist() == [row["median"] for row in rows]


def test_without_times_their_mean_is_taken() -> None:
    text = json.dumps(PYTEST, indent=4)
    reading = read_files("auto", {"u": text, "v": text})
    assert reading.format == "pytest-benchmark"
    data: Any = reading.data
    assert data.u.tolist() == [2.0]
    # On one line, too.
    assert read_files("auto", {"u": json.dumps(PYTEST), "v": text}).format == "pytest-benchmark"


def test_of_more_times_in_one_file_the_first_count() -> None:
    rows = [
        {"command": name, "mean": 2.0, "times": times} for name, times in (("a", [1, 3]), ("b", [4, 5, 6]))
    ]
    others = [
        {"command": name, "mean": 2.0, "times": times} for name, times in (("b", [7, 8]), ("a", [9, 2, 1]))
    ]
    texts = {role: json.dumps({"results": own}) for role, own in (("u", rows), ("v", others))}
    reading = read_files("hyperfine", texts)
    data: Any = reading.data
    assert (data.u.values.tolist(), data.u.lengths.tolist()) == ([1, 3, 4, 5], [2, 2])
    assert (data.v.values.tolist(), data.v.lengths.tolist()) == ([9, 2, 7, 8], [2, 2])
    assert noted(reading, "2 benchmarks have more times in one file")


def test_numbers_of_another_number_of_times_are_refused() -> None:
    """The least of more times is less; only a number of rounds that the same rule chose is part of the result."""
    rows = [{"command": "a", "mean": 2.0, "min": 1.0, "times": times} for times in ([1, 3], [1, 2, 3])]
    texts = {role: json.dumps({"results": [row]}) for role, row in zip("uv", rows, strict=True)}
    refuses("unequal_repeats", "/files/v/results/0", "hyperfine", texts, metric="min")

    def pytest_file(rounds: int, most_s: float) -> str:
        row = {"fullname": "a", "options": {"max_time": most_s}, "stats": {"mean": 2.0, "rounds": rounds}}
        return json.dumps({"machine_info": {}, "benchmarks": [row]})

    data: Any = read_files("pytest-benchmark", {"u": pytest_file(5, 1.0), "v": pytest_file(7, 1.0)}).data
    assert data.u.tolist() == data.v.tolist() == [2.0]
    files = {"u": pytest_file(5, 1.0), "v": pytest_file(7, 2.0)}
    refuses("unequal_repeats", None, "pytest-benchmark", files)


def test_failed_runs_are_noted() -> None:
    text = json.dumps(HYPERFINE)
    notes = read_files("hyperfine", {"u": text, "v": text}).notes
    assert any("1 runs ended with another exit code" in note for note in notes)


def test_parameters_are_part_of_the_name() -> None:
    rows = [{"command": "a", "mean": float(n), "parameters": {"n": str(n)}} for n in (1, 2)]
    texts = {role: json.dumps({"results": order}) for role, order in (("u", rows), ("v", rows[::-1]))}
    data: Any = read_files("hyperfine", texts).data
    assert data.u.tolist() == data.v.tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("format_", "document", "code", "pointer"),
    [
        ("hyperfine", {}, "missing_field", "/files/u/results"),
        ("hyperfine", {"results": []}, "no_items", "/files/u"),
        ("hyperfine", {"results": [1]}, "missing_field", "/files/u/results"),
        ("hyperfine", {"results": [{"mean": 1.0}]}, "missing_field", "/files/u/results/0"),
        ("hyperfine", {"results": [{"command": "a"}]}, "missing_field", "/files/u/results/0/mean"),
        ("hyperfine", {"results": [{"command": "a", "mean": None}]}, "missing_value", "/files/u/results/0"),
        ("hyperfine", {"results": HYPERFINE["results"] * 2}, "duplicate_id", "/files/u/results/1"),
        (
            "hyperfine",
            {"results": [{"command": "a", "times": [1, True]}]},
            "not_a_number",
            "/files/u/results/0/times/1",
        ),
        ("pytest-benchmark", {"benchmarks": {}}, "missing_field", "/files/u/benchmarks"),
        ("pytest-benchmark", {"benchmarks": [{"name": "a"}]}, "missing_value", "/files/u/benchmarks/0/stats"),
    ],
)
def test_what_is_no_benchmark_is_refused(
    format_: str, document: dict[str, Any], code: str, pointer: str
) -> None:
    text = json.dumps(document)
    refuses(code, pointer, format_, {"u": text, "v": text})


def test_a_number_that_no_benchmark_has_is_refused_with_those_there_are() -> None:
    text = json.dumps(HYPERFINE)
    refuses(None, None, "hyperfine", {"u": text, "v": text}, "median", metric="stddev")
