"""Files of tools that write runs: `exactperm test … --exchange runs` answers as the same runs do in JSON."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli_asking import run

DATA = Path(__file__).parents[1] / "data"
# The runs of four items of both systems; the last item of the second has fewer.
RUNS = {
    "new": [[1, 1, 0], [1, 1, 1], [0, 1, 0], [1, 1, 1]],
    "old": [[0, 1, 0], [0, 0, 1], [0, 0, 0], [1, 0]],
}
EQUAL = {name: [runs[:2] for runs in side] for name, side in RUNS.items()}
Made = Callable[[Path, dict[str, list[list[int]]]], list[str]]


def inspect(folder: Path, sides: dict[str, list[list[int]]]) -> list[str]:
    """Epochs of a log, in the order in which they ended."""
    paths = []
    for name, log in zip(sides, ("sonnet", "qwen"), strict=True):
        value = json.loads((DATA / "inspect" / f"{log}.json").read_text(encoding="utf-8"))
        first = value["samples"][0]
        (scorer,) = first["scores"]
        value["samples"] = [
            {**first, "id": item, "epoch": epoch, "scores": {scorer: {**first["scores"][scorer], "value": "C" if right else "I"}}}
            for item, runs in enumerate(sides[name]) for epoch, right in reversed([*enumerate(runs, 1)])
        ]  # fmt: skip
        value["eval"]["model"] = f"made-up/{name}"
        paths.append(folder / f"{name}.json")
        paths[-1].write_text(json.dumps(value), encoding="utf-8")
    return list(map(str, paths))


def lm_eval(folder: Path, sides: dict[str, list[list[int]]]) -> list[str]:
    """A sample log for each run of the harness, which tells them apart by their dates."""
    (log,) = (DATA / "lm_eval" / "two_filters").iterdir()
    rows = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    documents = [row for row in rows if row["filter"] == rows[0]["filter"]]
    for name, side in sides.items():
        (folder / name).mkdir()
        for at in range(max(map(len, side))):
            own = [
                {**row, "exact_match": float(runs[at])}
                for row, runs in zip(documents, side, strict=False)
                if at < len(runs)
            ]
            text = "".join(json.dumps(row) + "\n" for row in own)
            (folder / name / f"samples_gsm8k_2026-05-1{at}T13-25-31.29115{len(name)}.jsonl").write_text(
                text, encoding="utf-8"
            )
        (folder / name / "results_2026-05-10T13-25-31.291152.json").write_text("{}", encoding="utf-8")
    return [str(folder / name) for name in sides]


def promptfoo(folder: Path, sides: dict[str, list[list[int]]]) -> list[str]:
    """One file with both providers; `--repeat` counts the runs in `testIdx`."""
    value = json.loads((DATA / "promptfoo" / "results.json").read_text(encoding="utf-8"))
    first = value["results"]["results"][0]
    value["results"]["results"] = [
        {**first, "promptIdx": prompt, "provider": {"id": name, "label": name}, "testIdx": 4 * repeat + item, "score": score,
         "success": bool(score), "vars": {"riddle": f"riddle {item}"}, "failureReason": 0}
        for prompt, (name, side) in enumerate(sides.items()) for item, runs in enumerate(side) for repeat, score in enumerate(runs)
    ]  # fmt: skip
    (folder / "results.json").write_text(json.dumps(value), encoding="utf-8")
    return [str(folder / "results.json")]


def long_table(folder: Path, sides: dict[str, list[list[int]]]) -> list[str]:
    rows = [f"q{item},{seed},{name},{score}\n" for name, side in sides.items()
            for item, runs in enumerate(side) for seed, score in enumerate(runs)]  # fmt: skip
    (folder / "runs.csv").write_text("id,seed,system,score\n" + "".join(sorted(rows)), encoding="utf-8")
    return [str(folder / "runs.csv")]


@pytest.mark.parametrize("exchange", ["runs", "both"])
@pytest.mark.parametrize("made", [inspect, lm_eval, promptfoo, long_table])
def test_one_command_answers_as_the_runs_in_json(
    service: Any, made: Made, exchange: str, tmp_path: Path
) -> None:
    sides = EQUAL if exchange == "both" or made is lm_eval else RUNS
    done = run("test", *made(tmp_path, sides), "--exchange", exchange, "-f", "json")
    assert done.exit_code == 0, done.stderr
    read = json.loads(done.stdout)
    request = {"u": sides["new"], "v": sides["old"], "exchange": exchange}
    alone = service.post("/v1/tests/scores", request).json()
    for name in ("p_value", "p_value_bounds", "exchange", "generalises_to", "exchanges", "items", "null"):
        assert read[name] == alone[name]
    assert read["statistic"]["observed"] == alone["statistic"]["observed"]
    assert "averaged" not in " ".join(read["reading"]["notes"])


def test_a_run_that_the_harness_did_not_finish(tmp_path: Path) -> None:
    """A log that lacks documents is refused by its name, or drops them."""
    paths = lm_eval(tmp_path, RUNS)
    done = run("test", *paths, "--exchange", "runs")
    assert done.exit_code == 2
    assert "old, samples_gsm8k_2026-05-12T13-25-31.291153.jsonl: " in done.stderr
    assert 'lacks ids of u: "3"' in done.stderr
    done = run("test", *paths, "--exchange", "runs", "--on-missing", "drop", "-f", "json")
    assert json.loads(done.stdout)["items"]["n"] == 3


def test_one_number_for_several_answers_of_the_harness_is_no_run(tmp_path: Path) -> None:
    """With `repeats` of its tasks the harness logs all answers, and one number for them."""
    paths = lm_eval(tmp_path, {name: [runs[:1] for runs in side] for name, side in RUNS.items()})
    for path in paths:
        (log,) = Path(path).glob("samples*")
        rows = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
        text = "".join(json.dumps({**row, "resps": [["a", "b"]]}) + "\n" for row in rows)
        log.write_text(text, encoding="utf-8")
    done = run("test", *paths, "--exchange", "runs", "-f", "json")
    assert done.exit_code == 2
    assert "one number for 2 runs" in done.stderr
