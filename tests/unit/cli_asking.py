"""Run the command line in tests, with example data."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from exactperm.cli.commands import cli

DATA = Path(__file__).parents[1] / "data"
CONLLU = ["conllu/crf.conllu", "conllu/perceptron.conllu", "--gold", str(DATA / "conllu/gold.conllu")]
TREC = ["trec/eval.aplrob03a.txt", "trec/eval.uic0301.txt", "--measure", "map"]
ASR = ["asr/google.tsv", "asr/amazon.tsv"]
LM_EVAL = [
    "lm_eval/base/samples_gsm8k_2025-09-09T13-42-42.857006.jsonl",
    "lm_eval/tuned/samples_gsm8k_2025-09-09T13-31-53.431753.jsonl",
]


def run(*arguments: str, stdin: bytes | None = None) -> Result:
    """Run a command; names of files in tests/data are those."""
    typed = [str(DATA / one) if "/" in one and (DATA / one).is_file() else one for one in arguments]
    # Progress depends on how busy the machine is; tests of its own look at it.
    quiet = ["--quiet"] if typed[0] in {"test", "gate", "plan"} else []
    result = CliRunner().invoke(cli, [*typed, *quiet], input=stdin)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert "Traceback" not in result.output
    return result


def answer(*arguments: str, stdin: bytes | None = None) -> Any:
    result = run(*arguments, "-f", "json", stdin=stdin)
    assert result.exit_code in {0, 1}, result.stderr
    return json.loads(result.stdout)


@pytest.fixture
def scores(tmp_path: Path) -> str:
    """Ten items that U wins, and two that are tied."""
    path = tmp_path / "scores.csv"
    path.write_text("id,u,v\n" + "".join(f"i{n},{n + 1},{n if n < 10 else n + 1}\n" for n in range(12)))
    return str(path)


@pytest.fixture
def turned(tmp_path: Path) -> str:
    """Ten items that U loses."""
    path = tmp_path / "turned.csv"
    path.write_text("id,u,v\n" + "".join(f"i{n},{n},{n + 1}\n" for n in range(10)))
    return str(path)


def refuses(said: Sequence[str], *arguments: str, stdin: bytes | None = None) -> None:
    """Check that it ends with status 2, prints all of these words, and no answer."""
    result = run(*arguments, stdin=stdin)
    assert (result.exit_code, result.stdout) == (2, ""), result.stderr
    for words in said:
        assert words in result.stderr
