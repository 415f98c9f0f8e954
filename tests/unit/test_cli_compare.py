"""Test `exactperm compare`: files of many systems to tables, reports and pictures; the exit status is not a verdict."""

import csv
import io
import json
import random
from fractions import Fraction
from itertools import product
from math import comb
from pathlib import Path
from typing import Any, get_args

import click
import pytest
from click.testing import CliRunner

import exactperm
from exactperm.answers.board import Adjust
from exactperm.cli import options as cli_options
from exactperm.cli.arguments import _names_by_folder
from exactperm.cli.commands import cli
from exactperm.cli.run import board_text
from exactperm.client.errors import InvalidData
from exactperm.client.folders import several
from exactperm.client.requests import files
from exactperm.client.responses import decode
from exactperm.client.results import CompareResult
from exactperm.inputs.alignment import OnMissingOnBoard
from exactperm.reports.representations import BY_NAME, OF_A_COMPARISON
from exactperm.service.compare.board import OF_QUERY, READER_OPTIONS
from exactperm.service.query import parameters_of
from tests.unit.cli_asking import refuses, run

# 12 items: A wins them all, B the first 5, C none.
WINS = {"A": 12, "B": 5, "C": 0}
HOSTILE = ['=cmd|"/C calc"', "<script>alert(1)</script>", "a,b", "日本\x1b[31m", "--gold"]


def rows(wins: dict[str, int] = WINS, n: int = 12) -> dict[str, list[int]]:
    return {name: [int(item < won) for item in range(n)] for name, won in wins.items()}


def wide(path: Path, columns: dict[str, list[int]]) -> str:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", *columns])
        writer.writerows([f"q{n}", *row] for n, row in enumerate(zip(*columns.values(), strict=True)))
    return str(path)


@pytest.fixture
def board(tmp_path: Path) -> str:
    return wide(tmp_path / "board.csv", rows())


@pytest.fixture
def folders(tmp_path: Path) -> list[str]:
    """One file for each system, all of one name."""
    paths = []
    for name, column in rows().items():
        (tmp_path / name).mkdir()
        paths.append(wide(tmp_path / name / "scores.csv", {"score": column}))
    return paths


def quiet(*arguments: str, stdin: bytes | None = None) -> Any:
    return run("compare", *arguments, "--quiet", stdin=stdin)


def answer(*arguments: str, stdin: bytes | None = None) -> Any:
    result = quiet(*arguments, "-f", "json", stdin=stdin)
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def binomial(wins: int, losses: int) -> Fraction:
    """The two-sided p-value of a sign test, by its definition."""
    n, far = wins + losses, max(wins, losses)
    return min(Fraction(1), Fraction(2 * sum(comb(n, k) for k in range(far, n + 1)), 2**n))


def test_every_field_of_the_form_has_an_option() -> None:
    fields = {field.name for section in cli_options.BOARD_SECTIONS.values() for field in section}
    parameters = {name for kind in ("scores", "counts", "predictions") for name in parameters_of(kind)}
    known = {*OF_QUERY, *READER_OPTIONS, *parameters, "statistic", "systems", "names", "format"}
    assert known - fields - {"kind"} == {
        "higher_is_better",
        "store",
    }  # --lower-is-better; an answer is kept by a server, which a pipeline asks over HTTP
    assert fields <= known


def test_choices_are_those_of_the_service() -> None:
    by_name = {
        field.name: field.choices for section in cli_options.BOARD_SECTIONS.values() for field in section
    }
    assert by_name["adjust"] == get_args(Adjust)
    assert by_name["on_missing"] == get_args(OnMissingOnBoard)
    (format_,) = (one for one in cli.commands["compare"].params if one.name == "format_")
    assert isinstance(format_.type, click.Choice)
    assert tuple(format_.type.choices) == OF_A_COMPARISON


def test_a_board_is_a_table_of_systems_best_first(board: str) -> None:
    result = quiet(board)
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert (
        lines[0]
        == "by mean_difference (higher is better): A in the best set of 3 systems (holm, 3 pairs, exact, alpha 0.05)"
    )
    assert lines[2].split() == [
        "rank", "system", "score", "rank", "range", "letters", "cluster", "best", "set",
    ]  # fmt: skip
    assert [line.split()[:3] for line in lines[3:6]] == [
        ["1", "A", "1"],
        ["2", "B", "0.4167"],
        ["3", "C", "0"],
    ]
    assert (
        len({line.index(cell) for line, cell in zip(lines[2:6], ["system", "A", "B", "C"], strict=True)}) == 1
    )


def test_p_values_are_those_of_sign_tests_adjusted_by_holm(board: str) -> None:
    pairs = {(one["u"], one["v"]): one for one in answer(board)["pairs"]}
    raw = {(u, v): binomial(WINS[u] - WINS[v], 0) for u, v in pairs}
    assert {pair: one["p_value"] for pair, one in pairs.items()} == raw
    in_order, highest = sorted(raw, key=raw.__getitem__), Fraction(0)
    for place, pair in enumerate(in_order):
        highest = max(highest, min(Fraction(1), (len(raw) - place) * raw[pair]))
        assert pairs[pair]["p_adjusted"] == pytest.approx(float(highest), rel=1e-14)


def test_one_file_for_each_system_is_the_same_board(board: str, folders: list[str]) -> None:
    one, several = answer(board), answer(*folders)
    assert [system["name"] for system in several["systems"]] == ["A", "B", "C"]  # after their folders
    for part in ("systems", "pairs", "groups", "family"):
        assert several[part] == one[part]
    named = answer(*folders, "--names", '["x,y", "B", "C"]')
    assert [system["name"] for system in named["systems"]] == ["x,y", "B", "C"]
    assert answer("-", stdin=Path(board).read_bytes())["systems"] == one["systems"]


def test_several_data_sets_come_from_a_long_table(tmp_path: Path) -> None:
    path = tmp_path / "long.csv"
    lines = ["dataset,id,system,score"]
    for name, dataset in product(WINS, ("x", "y")):
        lines += [f"{dataset},q{n},{name},{value}" for n, value in enumerate(rows()[name])]
    path.write_text("\n".join(lines) + "\n")
    found = answer(str(path), "--aggregate", "null")
    assert (list(found["datasets"]), found["overall"], found["systems"]) == (["x", "y"], None, None)
    shown = quiet(str(path), "--aggregate", "null").stdout
    assert shown.startswith(
        "on x of 2 data sets, by mean_difference (higher is better): A in the best set of 3 systems"
    )
    assert "\non y: A in the best set of 3 systems" in shown
    assert shown.count("rank range") == 2


@pytest.mark.parametrize("design", ["baseline", "pair"])
def test_a_baseline_and_pairs(board: str, design: str) -> None:
    chosen = ["--baseline", "B"] if design == "baseline" else ["--pair", "A", "B", "--pair", "B", "C"]
    found = answer(board, *chosen, "--alternative", "greater")
    expected = {("A", "B"), ("C", "B")} if design == "baseline" else {("A", "B"), ("B", "C")}
    assert {(one["u"], one["v"]) for one in found["pairs"]} == expected
    assert found["groups"] is None
    a_over_b = next(one for one in found["pairs"] if (one["u"], one["v"]) == ("A", "B"))
    assert a_over_b["p_value"] == 2.0**-7  # A wins 7 items that B loses
    shown = quiet(board, *chosen).stdout
    assert "difference  p adjusted  relation" in shown
    assert "better" in shown


@pytest.mark.parametrize("format_", OF_A_COMPARISON)
def test_every_representation_goes_to_a_file_by_its_ending(board: str, tmp_path: Path, format_: str) -> None:
    path = tmp_path / f"board{BY_NAME[format_].suffixes[0]}"
    result = quiet(board, "-o", str(path))
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == f"exactperm: compared; see {path}\n"
    assert path.stat().st_size > 50


def test_tables_and_pictures_are_chosen(board: str) -> None:
    pairs = list(csv.DictReader(io.StringIO(quiet(board, "-f", "csv", "--table", "pairs").stdout)))
    assert [(one["u"], one["v"]) for one in pairs] == [("A", "B"), ("A", "C"), ("B", "C")]
    pictures = {
        name: quiet(board, "-f", "svg", "--picture", name).stdout for name in ("leaderboard", "heatmap")
    }
    assert all(text.startswith(("<?xml", "<svg")) for text in pictures.values())
    assert len(set(pictures.values())) == 2


def test_names_that_would_do_harm_stay_inert(tmp_path: Path) -> None:
    path = wide(
        tmp_path / "hostile.csv", dict(zip(HOSTILE, rows(dict.fromkeys(HOSTILE, 3)).values(), strict=True))
    )
    assert sorted(one["name"] for one in answer(path)["systems"]) == sorted(HOSTILE)
    shown = quiet(path).stdout
    assert "\x1b" not in shown
    assert "日本" in shown
    found = answer(path, "--baseline", "--gold")
    assert {pair["v"] for pair in found["pairs"]} == {"--gold"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--baseline", "Z"], ['There is no system "Z"', "at --baseline"]),
        (["--alternative", "greater"], ["Set --alternative two-sided"]),
        (["--pair", "A", "B", "--compare", "all_pairs"], ["--pair and --compare set the same option"]),
        (["--systems", "A"], ["at least two systems"]),
        (["--compare", "all_pairs", "--baseline", "A"], ["--baseline needs --compare baseline"]),
        (["--system-u", "A"], ["No such option"]),
        (["-O", "fail_status=200"], ["fail_status"]),
        (["-f", "csv", "--picture", "heatmap"], ["at --picture"]),
        (["-o", "board.xml"], ["format is one of json, text"]),
        (["--alpha", "5%"], ["Write 0.05", "at --alpha"]),
    ],
)  # fmt: skip
def test_impossible_options_are_refused_with_status_2(
    board: str, arguments: list[str], said: list[str]
) -> None:
    result = quiet(board, *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    for text in said:
        assert text in result.stderr, result.stderr


def test_errors_name_the_file_and_the_line(folders: list[str]) -> None:
    path = Path(folders[1])
    path.write_text(path.read_text(encoding="utf-8").replace("q3,1", "q3,often"))
    result = quiet(*folders)
    assert result.exit_code == 2
    assert f"at {path}, line 5" in result.stderr
    assert json.loads(quiet(*folders, "-f", "json").stdout)["status"] == 422


def test_without_files_and_with_one_of_two_systems() -> None:
    assert "Give one file with all systems, or a file for each." in quiet().stderr
    assert quiet("-", "-").exit_code == 2


def test_a_missing_value_is_refused_or_left_out(board: str) -> None:
    path = Path(board)
    path.write_text(path.read_text(encoding="utf-8").replace("q11,1,0,0", "q11,1,,0"))
    assert quiet(board).exit_code == 2
    sizes = {
        rule: [one["n"] for one in answer(board, "--on-missing", rule)["systems"]]
        for rule in ("pairwise", "complete")
    }
    assert sizes == {"pairwise": [12, 11, 12], "complete": [11, 11, 11]}


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        (["a/x/out.csv", "b/x/out.csv"], ["a", "b"]),
        (["r/a/out.csv", "r/b/out.csv"], ["a", "b"]),
        (["r/a/1.csv", "r/b/1.csv", "r/b/2.csv"], ["a/1", "b/1", "b/2"]),
        (["out.csv", "b/out.csv"], ["out", "b/out"]),
        (["a.csv", "b.csv"], None),
        (["a.csv", "a.csv"], None),
    ],
)
def test_names_of_files_that_are_called_the_same(paths: list[str], names: list[str] | None) -> None:
    assert _names_by_folder(paths, [path.rpartition("/")[2] for path in paths]) == names


def test_a_board_that_is_not_exact_does_not_say_so(board: str) -> None:
    raw = answer(board)
    counted = raw["family"]["certainty"]
    raw["family"]["certainty"] = {"exact": counted["exact"] - 1, "bracketed": 1, "sampled": 0}
    shown = board_text(decode(CompareResult, raw))
    assert "2 exact, 1 bracketed" in shown.splitlines()[0]
    assert ", exact" not in shown


def test_help_shows_sections_and_its_examples_are_possible() -> None:
    shown = CliRunner().invoke(cli, ["compare", "--help"])
    assert shown.exit_code == 0
    for section in (
        "Files:",
        "Compare:",
        "Test:",
        "Statistic:",
        "Reading the files:",
        "Output:",
        "Server:",
        "Examples:",
    ):
        assert section in shown.stdout


# Folders and patterns on the command line and in Python: which files are taken, in which order, and what is never followed.


DATES = {"a": "2026-05-17T13-25-31.291152", "b": "2026-05-18T01-02-03.000001"}


def sample(task: int, doc: int, right: bool) -> str:
    return json.dumps(
        {
            "doc_id": doc, "doc": {"question": f"{task} {doc}"}, "target": "A", "filter": "none", "metrics": ["acc"],
            "doc_hash": f"d{task}-{doc}", "prompt_hash": "p", "target_hash": "t", "acc": float(right),
        }
    )  # fmt: skip


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """The logs of two models on 57 tasks, as lm-evaluation-harness writes them."""
    for model, date in DATES.items():
        folder = tmp_path / "runs" / model / f"org__{model}"
        folder.mkdir(parents=True)
        (folder / f"results_{date}.json").write_text('{"results": {}}')
        for task in range(57):
            chance = random.Random(f"{model} {task}")
            lines = [sample(task, doc, chance.random() < 0.6) for doc in range(3 + task % 4)]
            (folder / f"samples_mmlu_t{task:02}_{date}.jsonl").write_text("\n".join(lines) + "\n")
    return tmp_path / "runs"


def test_two_folders_of_57_logs_are_one_command(runs: Path) -> None:
    a, b = str(runs / "a"), str(runs / "b")
    for command in (["test"], ["gate"], ["plan"], ["test", "--clusters", "item"]):
        done = run(*command, a, b, "-f", "json")
        assert done.exit_code in ({0, 1} if command == ["gate"] else {0}), done.stderr
        said = json.loads(done.stdout)
        if command[0] == "test":
            assert said["items"]["n"] == sum(3 + task % 4 for task in range(57))
            assert said["items"]["clusters"] == (57 if len(command) == 1 else None)
    said = json.loads(run("compare", a, b, "-f", "json").stdout)
    assert len(said["datasets"]) == 57
    assert set(said["datasets"]["mmlu_t00"]["systems"][0]) >= {"name"}
    assert {one["name"] for one in said["datasets"]["mmlu_t56"]["systems"]} == {"a", "b"}
    assert "reads 57 files of " + a + "; skips org__a/results_" in run("test", a, b).stderr


def test_python_reads_the_same_folders(runs: Path) -> None:
    folders = exactperm.test(files(u=runs / "a", v=runs / "b"))
    listed = exactperm.test(
        files(u=sorted(runs.glob("a/*/samples*")), v=sorted(runs.glob("b/*/samples*"), reverse=True))
    )
    pattern = exactperm.test(
        files(u=f"{runs}/a/**/samples_*.jsonl", v=f"{runs}/b/*/samples_*_t[0-9]?_*.jsonl")
    )
    assert folders.p_value == listed.p_value == pattern.p_value
    assert folders.items.clusters == 57


def test_a_task_that_one_folder_lacks_is_named_with_its_folder(runs: Path) -> None:
    next((runs / "b").glob("*/samples_mmlu_t03_*")).unlink()
    refuses(
        [
            'There is no file of v for 1 of the tasks: "mmlu_t03"',
            "--on-missing drop to leave",
            f"at {runs / 'b'}",
        ],
        "test",
        str(runs / "a"),
        str(runs / "b"),
    )
    assert run("test", str(runs / "a"), str(runs / "b"), "--on-missing", "drop").exit_code == 0
    assert run("gate", str(runs / "a"), str(runs / "b")).exit_code == 2


def test_one_folder_and_a_folder_for_gold_alone_are_refused(runs: Path, tmp_path: Path) -> None:
    assert "give two folders" in run("test", str(runs / "a")).stderr
    assert "for each system" in run("compare", str(runs / "a")).stderr
    empty = tmp_path / "empty"
    empty.mkdir()
    for path in (str(empty), f"{empty}/*.jsonl", f"{tmp_path}/nowhere/*.jsonl"):
        refuses(["names no file"], "test", path, str(runs / "b"))


def names(path: Path | str) -> list[str]:
    found: Any = several(path)
    return [name for name, _ in found.files]


def test_files_are_taken_in_the_order_of_their_names_without_hidden_ones(tmp_path: Path) -> None:
    for name in ("z.csv", "a/b.csv", "a/.hidden", ".git/x.csv", "B.csv", "a.csv"):
        path = tmp_path / "run" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("1")
    assert names(tmp_path / "run") == ["run/B.csv", "run/a.csv", "run/a/b.csv", "run/z.csv"]
    assert names(f"{tmp_path}/run/*.csv") == ["run/B.csv", "run/a.csv", "run/z.csv"]
    assert names(f"{tmp_path}/run/**/*.csv") == ["run/B.csv", "run/a.csv", "run/a/b.csv", "run/z.csv"]
    assert names(f"{tmp_path}/run/[!aB]*") == ["run/z.csv"]
    assert names(f"{tmp_path}/r?n/a/b.csv") == [f"{tmp_path.name}/run/a/b.csv"]


def test_a_file_whose_name_is_a_pattern_is_that_file(tmp_path: Path) -> None:
    path = tmp_path / "mmlu[1].csv"
    path.write_text("1")
    assert several(path) is None


def test_no_link_is_followed_out_of_a_folder(tmp_path: Path) -> None:
    outside, home = tmp_path / "outside", tmp_path / "run"
    outside.mkdir()
    home.mkdir()
    (outside / "secret.csv").write_text("1")
    (home / "own.csv").write_text("1")
    (home / "link.csv").symlink_to(home / "own.csv")
    assert names(home) == ["run/link.csv", "run/own.csv"]
    for target, link in (
        (outside / "secret.csv", "out.csv"),
        (outside, "folder"),
        (home / ".." / "outside", "up"),
    ):
        (home / link).symlink_to(target)
        for path in (home, f"{home}/**/*", f"{home}/**/*.csv"):
            with pytest.raises(InvalidData, match="leads out of"):
                several(path)
        assert names(f"{home}/own*") == ["run/own.csv"]
        (home / link).unlink()
    (home / "loop").symlink_to(home)
    assert names(home) == ["run/link.csv", "run/own.csv"]


def test_a_folder_of_too_many_files_is_refused(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("exactperm.client.folders.MAX_FILES", 3)
    for number in range(4):
        (tmp_path / f"{number}.csv").write_text("1")
    with pytest.raises(InvalidData, match="more than 3 files"):
        several(tmp_path)
    assert len(names(f"{tmp_path}/[012].csv")) == 3


def test_a_folder_of_helm_is_its_per_instance_stats(tmp_path: Path) -> None:
    helm = tmp_path / "mmlu:subject=law,model=a_b"
    helm.mkdir()
    for name in ("per_instance_stats.json", "stats.json", "run_spec.json"):
        (helm / name).write_text("[]")
    found: Any = several(tmp_path)
    assert names(tmp_path) == [f"{tmp_path.name}/mmlu:subject=law,model=a_b/per_instance_stats.json"]
    assert len(found.left_out) == 2
