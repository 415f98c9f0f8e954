"""Words that people read: of entrances, and of pages."""

import json
import re
import shlex
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast, get_args, get_type_hints

import httpx
import numpy as np
import pytest

from exactperm.api.meta import meta_of
from exactperm.cli.options import RARE, option_of
from exactperm.cli.output import DIRECTIONS, INPUTS
from exactperm.client import (
    ExactpermError,
    ProblemError,
    compare_files,
    files as files_of,
    scores as scores_of,
)
from exactperm.inputs.formats.catalogue import FORMATS, KINDS
from exactperm.inputs.options import CHOICES, READER_OPTIONS
from exactperm.inputs.reader import DELIMITERS, OPTION_NAMES, ReaderOptions
from exactperm.local.run import compare, gate, power, test as run_test
from exactperm.local.transport import InProcess
from exactperm.settings import Settings
from tests.unit.cli_asking import run

# A question names its option as the entrance spells it, in no other spelling, and its first choice is enough.


Files = dict[str, str]
Choice = dict[str, str]
ROWS = range(12)


def lines(*rows: dict[str, Any]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def log(metric: str = "acc", filters: tuple[str, ...] = ("none",), shift: int = 0) -> str:
    """A log of lm-evaluation-harness with the metric and acc_norm."""
    return lines(
        *(
            {
                "doc_id": n, "doc": {"q": n}, "target": "A", "filter": one, "metrics": [metric, "acc_norm"],
                metric: (n + shift) % 2, "acc_norm": (n * 5 + shift) % 3 % 2,
            }
            for n in ROWS
            for one in filters
        )
    )  # fmt: skip


def table(header: str, *columns: Callable[[int], object]) -> str:
    rows = (",".join(str(column(n)) for column in columns) for n in ROWS)
    return header + "\n" + "\n".join(rows) + "\n"


def ids(prefix: str = "q") -> Callable[[int], object]:
    return lambda n: f"{prefix}{n}"


SHUFFLED = [7, 2, 9, 0, 11, 4, 1, 10, 3, 8, 5, 6]
# (what is asked, files by role, the code, options that are sent)
QUESTIONS: dict[str, tuple[str, Files, str, Choice]] = {
    "metric": ("test", {"u": log(), "v": log(shift=1)}, "choose_metric", {}),
    "filter": (
        "test",
        {"u": log(filters=("strict", "flexible")), "v": log(filters=("strict", "flexible"), shift=1)},
        "choose_filter",
        {"metric": "acc"},
    ),
    "roles": ("gate", {"file": table("id,left,right", ids(), lambda n: n % 2, lambda n: n % 3)}, "choose_roles", {}),
    "samples or items": (
        "gate",
        {
            "u": table("id,score", lambda n: f"q{n // 2}", lambda n: n % 2),
            "v": table("id,score", lambda n: f"q{n // 2}", lambda n: n % 3),
        },
        "choose_runs",
        {},
    ),
    "items worded differently": (
        "gate",
        {
            "u": table("id,question,score", ids(), lambda n: f"what {n}", lambda n: n % 2),
            "v": table("id,question,score", ids(), lambda n: f"what {n or 'else'}", lambda n: n % 3),
        },
        "item_mismatch",
        {},
    ),
    "two metrics": (
        "gate",
        {
            "u": table("id,f1,bleu", ids(), lambda n: n % 2, lambda n: n % 3),
            "v": table("id,f1,bleu", ids(), lambda n: n % 3, lambda n: n % 2),
        },
        "choose_score_column",
        {},
    ),
    "direction": (
        "gate",
        {"file": table("id,attack_new,attack_old", ids(), lambda n: n % 2, lambda n: n % 3)},
        "choose_direction",
        {},
    ),
    "ids": (
        "test",
        {
            "u": table("number,score", lambda n: 100 * SHUFFLED[n], lambda n: n % 2),
            "v": table("number,score", lambda n: 100 * n, lambda n: n % 3),
        },
        "choose_id_column",
        {},
    ),
    "unmatched": (
        "test",
        {
            "u": table("id,score", ids(), lambda n: n % 2),
            "v": table("id,score", lambda n: f"q{n + 1}", lambda n: n % 3),
        },
        "unmatched_ids",
        {},
    ),
    "no value": (
        "test",
        {"file": table("id,u,v", ids(), lambda n: "" if n == 3 else n % 2, lambda n: n % 3)},
        "missing_value",
        {},
    ),
    "labels or scores": (
        "test",
        {"file": table("id,gold,u,v", ids(), lambda n: n % 2, lambda n: n % 3 % 2, lambda n: n % 5 % 2)},
        "",
        {},
    ),
    "gaps of a board": (
        "compare",
        {"file": table("id,a,b,c", ids(), lambda n: "" if n == 3 else n % 2, lambda n: n % 3, lambda n: n % 5)},
        "unmatched_ids",
        {},
    ),
    "baseline": (
        "compare",
        {"file": table("id,a,b,c", ids(), lambda n: n % 2, lambda n: n % 3, lambda n: n % 5)},
        "missing",
        {"compare": "baseline"},
    ),
    "sides of all pairs": (
        "compare",
        {"file": table("id,a,b,c", ids(), lambda n: n % 2, lambda n: n % 3, lambda n: n % 5)},
        "one_sided_all_pairs",
        {"alternative": "greater"},
    ),
}  # fmt: skip


class Asked:
    """A question at one entrance: its text, and the request with a choice."""

    def __init__(self, kind: str, texts: Files, folder: Path) -> None:
        self.kind = kind
        self.paths = {
            role: folder / f"{role}.{'jsonl' if text.startswith('{') else 'csv'}"
            for role, text in texts.items()
        }
        for role, path in self.paths.items():
            path.write_text(texts[role])

    def form(self, options: Choice) -> tuple[int, dict[str, Any]]:
        """As curl sends it."""
        path = {"test": "/v1/tests/files", "gate": "/v1/gate?fail_status=200", "compare": "/v1/compare"}[
            self.kind
        ]
        parts = [(role, (path.name, path.read_bytes())) for role, path in self.paths.items()]
        request = httpx.Request("POST", "http://here" + path, data=options, files=parts)
        request.read()
        response = InProcess(Settings()).handle_request(request)
        return response.status_code, response.json()

    def python(self, options: Choice) -> str:
        """The message of the exception; empty for an answer."""
        given: dict[str, Any] = dict(options)
        try:
            if self.kind == "compare":
                compare(compare_files(self.paths["file"], **given))
            elif self.kind == "gate":
                terms = {name: given.pop(name) == "true" for name in ("higher_is_better",) if name in given}
                gate(files_of(**self.paths, **given), **terms) if not terms else self._gate(given, terms)
            else:
                run_test(files_of(**self.paths, **given))
        except ProblemError as error:
            return str(error)
        return ""

    def _gate(self, given: Any, terms: Any) -> None:
        from exactperm.client.requests import gate as gate_of

        gate(gate_of(files_of(**self.paths, **given), **terms))

    def typed(self, *more: str, spelling: str = "") -> str:
        """The standard error of the command line; empty for an answer."""
        arguments = [self.kind, *map(str, self.paths.values()), *more, "-f", "json"]
        result = run(*arguments, *(["--spelling", spelling] if spelling else []))
        return result.stderr if result.exit_code == 2 else ""

    def assistant(self, options: Choice) -> str:
        """The error text of an MCP tool; empty for an answer."""
        from exactperm.mcp_server.server import answer

        folder = next(iter(self.paths.values())).parent
        arguments = {role: path.name for role, path in self.paths.items()} | {"options": options}
        result = answer(f"{self.kind}_files", arguments, folder, Settings())
        return str(getattr(result.content[0], "text", "")) if result.is_error else ""


@pytest.fixture(params=QUESTIONS, ids=str)
def question(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Asked, Choice, Choice, str]:
    """The question, the options that are sent, its first choice, and its sentence as a form gets it."""
    kind, texts, code, options = QUESTIONS[request.param]
    asked = Asked(kind, texts, tmp_path)
    status, problem = asked.form(options)
    assert status == 422, problem
    flaw = problem["errors"][0]
    assert flaw["code"].startswith(code)
    choice = flaw["choices"][0]["fields"]
    return asked, options, choice, problem["detail"] + flaw["detail"]


Question = tuple[Asked, Choice, Choice, str]


def test_a_form_gets_fields(question: Question) -> None:
    asked, options, choice, said = question
    for name in choice:
        assert re.search(rf"`{name}[=`]", said), said
    assert "--" not in said
    status, answer = asked.form(options | choice)
    assert status == 200, answer


def test_python_gets_arguments(question: Question) -> None:
    asked, options, choice, _ = question
    said = asked.python(options)
    for name in choice:
        assert re.search(rf"\b{name}(=|\b)", said), said
    assert not re.search(
        r"`|--\w|\b(request|field of the form|query|422|send|sent|server)\b|/files|/options", said
    ), said
    assert asked.python(options | choice) == ""


def as_typed(options: Choice) -> list[str]:
    return [
        word
        for name, value in options.items()
        for word in (
            [DIRECTIONS[value]]
            if name == "higher_is_better"
            else ["-O", f"{name}={value}"]
            if name in RARE
            else [option_of(name), value]
        )
    ]


def test_the_command_line_gets_options(question: Question) -> None:
    asked, options, choice, _ = question
    said = asked.typed(*as_typed(options))
    first = as_typed(choice)
    assert all(word in said for word in first if word.startswith("--")), said
    assert not re.search(
        r"`|\b[a-z_]+=\w|[a-z]+_(column|missing|is_better)\b|\bsystem_[uv]\b",
        said.replace(str(tmp(asked)), ""),
    ), said
    assert asked.typed(*as_typed(options), *shlex.split(shlex.join(first))) == ""


def tmp(asked: Asked) -> Path:
    return next(iter(asked.paths.values())).parent


@pytest.mark.parametrize("spelling", ["github", "gitlab"])
def test_a_gate_of_continuous_integration_gets_inputs_or_variables(question: Question, spelling: str) -> None:
    asked, options, choice, _ = question
    if asked.kind != "gate":
        asked.kind = "gate"
        if asked.form(options)[0] == 200 or set(asked.paths) == {"file"}:
            pytest.skip("a gate does not ask this")
    fields = [f"--option={name}={value}" for name, value in options.items()]  # as .ci/gate/decide gives them
    said = asked.typed(*fields, spelling=spelling)
    for name in choice:
        spelt = f"GATE_{name.upper()}" if spelling == "gitlab" else name.replace("_", "-")
        assert spelt in said or (
            spelling == "github" and name not in INPUTS and f"options: {name}=" in said
        ), said
    assert not re.search(r"`|--\w", said.replace(str(tmp(asked)), "")), said
    chosen = [f"--option={name}={value}" for name, value in choice.items()]
    assert "choose_" not in asked.typed(*fields, *chosen, spelling=spelling)


def test_an_assistant_gets_members_of_options(question: Question) -> None:
    asked, options, choice, _ = question
    said = asked.assistant(options)
    for name in choice:
        assert f'"{name}"' in said, said
    assert not re.search(r"`|--\w|\b[a-z_]+=\w", said), said
    assert asked.assistant(options | choice) == ""


U, V = [1, 0, 1, 1, 0], [0, 0, 1, 0, 1]
untyped: Any = run_test  # types refuse some mistakes before they run
MISTAKES: dict[str, Callable[[], object]] = {
    "lengths": lambda: run_test([1, 0], [1]),
    "text": lambda: run_test([1, "x"], [1, 0]),
    "infinite": lambda: run_test([1, float("inf")], [1, 0]),
    "ids": lambda: run_test({"a": 1, "b": 0}, {"a": 1}),
    "a near statistic": lambda: run_test(U, V, statistic="mean_diference"),
    "a statistic of labels": lambda: run_test(U, V, statistic="f1"),
    "an option": lambda: untyped(U, V, alternativ="less"),
    "no option": lambda: untyped(U, V, zz=1),
    "a word": lambda: untyped(U, V, alternative="smaller"),
    "a level": lambda: run_test(U, V, alpha=2),
    "a method": lambda: run_test(list(range(99)), [2**0.5 * n for n in range(99)], method="enumeration"),
    "samples": lambda: run_test(U, V, method="monte_carlo", samples=10**12),
    "a deadline": lambda: run_test(U, V, timeout_s=-1),
    "weights": lambda: run_test(U, V, weights=[1, 2]),
    "missing": lambda: untyped(U, V, on_missing="intersect"),
    "gold": lambda: run_test(U, V, gold=[1, 0]),
    "an object": lambda: run_test([object()], [1]),
    "complex": lambda: run_test(np.array([1j]), np.array([1])),
    "a function": lambda: untyped(U, V, statistic=np.mean),
    "a policy": lambda: cast("Any", gate)(U, V, policy="best"),
    "a side": lambda: gate(U, V, alternative="less"),
    "a summary": lambda: gate({"accuracy": 0.7, "loss": 0.1}, {"accuracy": 0.9, "loss": 0.2}),
    "one system": lambda: compare({"A": U}),
    "a baseline": lambda: compare({"A": U, "B": V}, baseline="Z"),
    "an aggregate": lambda: compare({"A": U, "B": V}, aggregate="macro"),
    "a design": lambda: power({"kind": "binary", "p10": 2, "p01": 0.1}, "n"),
    "what to solve": lambda: cast("Any", power)({"kind": "binary", "p10": 0.1, "p01": 0.05}, "x"),
    "a made test": lambda: run_test(scores_of(U, V), V),
    "a format": lambda: run_test(files_of(file=("a.csv", b"id,u,v\na,1,0\n"), format="xyz")),
    "bytes": lambda: run_test(files_of(u=b"\x00\x01", v=b"\x00")),
}
OF_HTTP = re.compile(
    r"\b(HTTP|status|request|query|body|server|send|sent|4\d\d)\b|parameter|field of the form|/v1|`|At /|\n  /|--\w|line/\d"
)


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES)
def test_messages_in_process_do_not_mention_requests(mistake: Callable[[], object]) -> None:
    with pytest.raises((ExactpermError, TypeError)) as refused:
        mistake()
    said = str(refused.value)
    assert not OF_HTTP.search(said.replace("--log_samples", "")), said
    frames = traceback.extract_tb(refused.value.__traceback__)
    assert not isinstance(refused.value, ProblemError) or len(frames) <= 5, frames


JSON: dict[str, tuple[str, dict[str, Any], str]] = {
    "unmatched": ("/v1/tests/scores", {"u": {"a": 1, "b": 0}, "v": {"a": 0, "c": 1}}, "on_missing"),
    "gaps of a board": ("/v1/compare", {"kind": "scores", "systems": {"A": {"a": 1, "b": 0}, "B": {"a": 0}}}, "on_missing"),
    "side of all pairs": (
        "/v1/compare",
        {"kind": "scores", "systems": {"A": [1, 0], "B": [0, 0]}, "alternative": "less"},
        "compare",
    ),
    "direction": (
        "/v1/gate",
        {
            "kind": "counts",
            "request": {
                "u": [{"x": n, "y": 9} for n in ROWS],
                "v": [{"x": 1, "y": 9} for n in ROWS],
                "statistic": {"name": "ratio", "numerator": "x", "denominator": "y"},
            },
        },
        "higher_is_better",
    ),
    "baseline of no use": (
        "/v1/compare",
        {"kind": "scores", "systems": {"A": [1, 0], "B": [0, 0]}, "baseline": "A"},
        "compare",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("path", "body", "name"), JSON.values(), ids=JSON)
def test_json_gets_members(path: str, body: dict[str, Any], name: str) -> None:
    def answered(sent: Any) -> httpx.Response:
        headers = {"content-type": "application/json"}
        request = httpx.Request("POST", "http://here" + path, content=json.dumps(sent), headers=headers)
        return InProcess(Settings()).handle_request(request)

    problem = answered(body).json()
    assert f'`"{name}": ' in problem["detail"], problem
    assert f"`{name}=" not in problem["detail"]
    (choice,) = [flaw["choices"][0]["fields"] for flaw in problem["errors"] if "choices" in flaw][:1]
    values = {key: {"true": True, "false": False}.get(value, value) for key, value in choice.items()}
    assert answered({**body, **values}).status_code in {200, 409}


# The words of the page are those of the service: every statistic, role, option and choice has them in `/v1/meta`.


WORDS = (Path(__file__).parents[2] / "app" / "exactperm" / "web" / "page" / "words.js").read_text(
    encoding="utf-8"
)
META = meta_of(Settings())
OPTIONS = {option.name: option for option in READER_OPTIONS}
STATISTICS = [entry for entries in META["statistics"].values() for entry in entries]


def test_every_statistic_has_a_title_and_a_hint() -> None:
    described = {entry["name"] for entry in [*META["metrics"], *STATISTICS]}
    assert {name for format_ in FORMATS.values() for name in format_.statistics} <= described
    for entry in [*META["metrics"], *STATISTICS]:
        assert "_" not in entry["title"]
        assert not entry["title"][0].islower() or entry["title"].startswith(("chrF", "nDCG"))
        assert entry["hint"].endswith(".")


def test_every_statistic_has_its_data_and_question() -> None:
    """The page and the documentation group them so; a group without statistics would be a promise not kept."""
    data, questions = ([one["name"] for one in META[group]] for group in ("data", "questions"))
    for entry in STATISTICS:
        assert entry["data"], entry["name"]
        assert set(entry["data"]) <= set(data)
        assert entry["question"] in questions, entry["name"]
    assert set(data) - {of for entry in STATISTICS for of in entry["data"]} <= {"rankings"}


@pytest.mark.parametrize("name", sorted({name for entry in STATISTICS for name in entry["known_as"]}))
def test_a_name_elsewhere_is_one_there(name: str) -> None:
    module, _, attribute = name.rpartition(".")
    assert hasattr(pytest.importorskip(module), attribute)


def test_the_page_types_none_of_these_names_again() -> None:
    names = {entry["name"] for entry in [*META["metrics"], *STATISTICS]} | set(FORMATS) | set(OPTION_NAMES)
    names.remove("precision")  # an option of the engine as well
    assert {name for name in names if re.search(rf'"{name}"|\b{re.escape(name)}:', WORDS)} == set()


def test_every_format_says_the_kinds_of_its_data() -> None:
    kinds = {kind["name"] for kind in META["formats"]["kinds"]}
    assert kinds == set(KINDS) == {kind for format_ in FORMATS.values() for kind in format_.kinds}
    for format_ in FORMATS.values():
        assert format_.kinds or format_.statistics


def test_every_role_of_a_file_has_a_name() -> None:
    titles = {role["name"]: role["title"] for role in META["formats"]["roles"]}
    assert set(titles) == {role for format_ in FORMATS.values() for role in format_.roles}
    assert list(titles) == META["formats"]["files"]
    assert titles["gold"] == "Gold standard"
    assert len(set(titles.values())) == len(titles)


def test_every_option_of_the_readers_offers_the_values_of_the_reader() -> None:
    assert set(OPTIONS) == set(OPTION_NAMES) - {"statistic"}
    hints = get_type_hints(ReaderOptions)
    for name, option in OPTIONS.items():
        if name in CHOICES and option.type == "text":
            assert get_args(hints[name]) == tuple(option.choices), name
    assert set(OPTIONS["delimiter"].choices) < set(DELIMITERS)


def test_every_option_of_a_format_is_described() -> None:
    for format_ in FORMATS.values():
        assert format_.uses <= set(OPTION_NAMES)


@pytest.mark.parametrize("name", CHOICES)
def test_only_what_refuses_is_called_a_refusal(name: str) -> None:
    """reduce_epochs=none makes every epoch an item; it was called Refuse."""
    refusing = [value for value, title in OPTIONS[name].choices.items() if "refuse" in title.lower()]
    assert refusing == (["error"] if name == "on_missing" else [])


def test_the_engines_options_are_those_of_every_test() -> None:
    text: Any = re.search(r"const ENGINE_OPTIONS = \{(.*?)\n\};", WORDS, re.DOTALL)
    assert re.findall(r"^  (\w+): ", text[1], re.MULTILINE) == [
        "test", "exchange", "method", "samples", "seed", "precision", "significance", "timeout_s",
    ]  # fmt: skip
