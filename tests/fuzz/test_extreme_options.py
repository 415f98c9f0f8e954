"""Extreme numbers as query parameters, form fields and options of the command line: answered or refused.

The walks follow the OpenAPI document and the command line itself, so that a new parameter is tried by being there.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import click
import pytest
from click.testing import CliRunner

from exactperm.cli.commands import cli
from tests.fuzz.asgi import GENERATED, TIMES, InProcess, judge_problem
from tests.fuzz.multipart_cases import disposition, joined
from tests.fuzz.number_bodies import BOARD, GATE, TESTS, bodies, document, node_at
from tests.fuzz.test_extreme_numbers import judge_numbers, no_number

TOKENS = ["NaN", "Infinity", "-Infinity", "1e400", "1e-400", "1e308", "9007199254740993", "7" * 400, "", "-1", "1e-310", "0"]  # fmt: skip
TABLE = b"id,gold,u,v\na,1,1,0\nb,0,0.5,0.25\nc,1,1,1\nd,0,0,0.5\ne,1,0.75,0\n"
LINES = {
    "effects": b'{"stay": 1}\n{"stay": -2, "swap": 1}\n{"stay": 3}\n',
    "scores": b'{"u": 1, "v": 0}\n{"u": 0.5, "v": 0.25}\n{"u": 0, "v": 1}\n',
    "counts": b'{"u": {"tp": 1, "fp": 0, "fn": 1}, "v": {"tp": 0, "fp": 1, "fn": 2}}\n' * 3,
    "predictions": b'{"gold": 1, "u": 1, "v": 0}\n{"gold": 0, "u": 0, "v": 1}\n{"gold": 1, "u": 0, "v": 1}\n',
    "compare": b'{"A": 1, "B": 0, "C": 0.5}\n{"A": 0.5, "B": 0.25, "C": 1}\n{"A": 0, "B": 1, "C": 1}\n',
}
COUNTS = b"tp_u,fp_u,fn_u,tp_v,fp_v,fn_v\n1,0,1,0,1,2\n2,1,0,1,1,1\n3,0,1,1,2,2\n"
SAMPLED = {"method": "monte_carlo", "samples": "200", "seed": "1"}
# What a number needs beside it to be looked at.
BESIDE: dict[str, dict[str, str]] = {
    "q": {"statistic": "quantile_difference"},
    "beta": {"statistic": "fbeta"},
    "epsilon": {"statistic": "pairwise_accuracy"},
    "word_order": {"statistic": "chrf"},
    "positive": {"statistic": "f1"},
    "unit": {"statistic": "mean_difference"},
    "missing_range": {"on_missing": "bounds"},
    **dict.fromkeys(("samples", "seed", "precision"), SAMPLED),
    "confidence_level": {"statistic": "mean_difference"},
}
# What takes JSON or a list has the number inside.
INSIDE = {
    "sequential": '{"mode": "anytime", "scale": %s}',
    "missing_range": "0,%s",
    "labels": "[1, %s]",
    "against": '{"difference": %s}',
}


def tokens(turn: int) -> list[str]:
    """All in the long form, one in the short form."""
    return TOKENS if TIMES > 1 else [TOKENS[turn % len(TOKENS)]]


def deref(node: Any) -> Any:
    return node_at(node["$ref"]) if "$ref" in node else node


def operations() -> Iterator[tuple[str, str, Any]]:
    for path, item in document()["paths"].items():
        for method, operation in item.items():
            if method in {"get", "post"} and "{" not in path:
                yield method.upper(), path, operation


def sent_to(path: str, media: str) -> bytes:
    """A small valid body."""
    kind = path.rpartition("/")[2]
    if media == "application/json":
        some = {"gate": {**GATE, "kind": "scores", "request": TESTS["scores"][1]}, "compare": BOARD}
        some["power"] = {"design": {"kind": "sd", "sd": 0.3}, "solve": "effect", "n": [50]}
        some["plan"] = some["jobs"] = {"kind": "scores", "request": TESTS["scores"][1]}
        some["batch"] = {"tests": [some["plan"]]}
        some |= {name: several[1] for name, several in TESTS.items()}
        return json.dumps({**dict(bodies()), **some}[kind]).encode()
    if media == "application/x-ndjson":
        inside = json.dumps({"kind": "scores", "request": TESTS["scores"][1]}).encode()
        return LINES.get(kind, inside)
    table = COUNTS if kind == "counts" else TABLE.replace(b"u,v", b"A,B" if kind == "compare" else b"u,v")
    table = table if kind != "scores" else b"\n".join(line.split(b",", 2)[2] for line in TABLE.splitlines())
    return table.replace(b",", b"\t") if media.endswith("tab-separated-values") else table


def judge(answered: tuple[int, str, bytes], said: object) -> None:
    status, media, body = answered
    off = status == 501 and b"#jobs-off" in body  # ?store=1, without a database
    late = status == 503 and b"#deadline-exceeded" in body and "timeout_s" in str(said)
    assert status < 500 or off or late, (said, body[:600])
    if media == "application/problem+json":
        judge_problem(body, status)
    elif media == "application/json":
        judge_numbers(json.loads(body, parse_constant=no_number), body)
    GENERATED["extreme numbers as parameters, fields and options"] += 1


def test_every_query_parameter_takes_or_refuses_any_number(service: InProcess) -> None:
    turn = 0
    for method, path, operation in operations():
        contents = list(operation.get("requestBody", {}).get("content", {})) or [""]
        names = [deref(one) for one in operation.get("parameters", [])]
        for name in [one["name"] for one in names if one["in"] == "query"]:
            for media in contents:
                if media in {"multipart/form-data", "application/x-npy"}:
                    continue
                body = sent_to(path, media) if media else b""
                for token in tokens(turn := turn + 1):
                    value = INSIDE.get(name, "%s").replace("%s", token)
                    beside = {} if media == "application/json" else BESIDE.get(name, {})
                    query = urlencode({**beside, name: value}).encode()
                    header = [(b"content-type", media.encode())] if media else []
                    answered = service.ask(method, path, query, header, body)
                    judge(answered, (path, media, query))
    assert turn > 100


def form(fields: dict[str, str], files: dict[str, bytes]) -> tuple[str, bytes]:
    parts = [
        disposition(name, f"{name}.csv") + b"Content-Type: text/csv\r\n\r\n" + data
        for name, data in files.items()
    ]
    return joined([*parts, *(disposition(name) + b"\r\n" + value.encode() for name, value in fields.items())])


FORMS: dict[str, dict[str, str]] = {
    "/v1/tests/files": {},
    "/v1/gate": {"policy": "improve", "higher_is_better": "true"},
    "/v1/power": {"solve": "effect", "power": "0.8"},
    "/v1/compare": {},
    "/v1/tests/systems": {"statistic": "friedman"},
}


def files_for(path: str, fields: dict[str, str]) -> tuple[dict[str, str], dict[str, bytes]]:
    """Two systems' scores; or one table with gold, where the statistic needs it."""
    if fields.get("statistic") in {"fbeta", "f1", "chrf", "pairwise_accuracy"}:
        more = {"system_u": "u", "system_v": "v"} if path != "/v1/compare" else {}
        return {"gold_column": "gold", **more}, {"file": TABLE}
    column = [b"id,score\na,1\nb,0.5\nc,1\nd,0\n", b"id,score\na,0\nb,0.25\nc,1\nd,1\n"]
    if path == "/v1/tests/systems":
        return {}, {"file": b"id,A,B,C\na,1,0,1\nb,0.5,0.25,1\nc,0,1,0\n"}
    if path == "/v1/compare":
        return {}, {"file": b"id,A,B\na,1,0\nb,0.5,0.25\nc,0,1\n"}
    return {}, dict(zip("uv", column, strict=True))


def test_every_form_field_takes_or_refuses_any_number(service: InProcess) -> None:
    turn = 0
    for _, path, operation in operations():
        content = operation.get("requestBody", {}).get("content", {}).get("multipart/form-data")
        if content is None:
            continue
        for name in deref(content["schema"])["properties"]:
            for token in tokens(turn := turn + 1):
                fields = {**FORMS[path], **BESIDE.get(name, {})}
                more, files = files_for(path, fields)
                fields |= more | {name: INSIDE.get(name, "%s").replace("%s", token)}
                boundary, body = form(fields, files)
                header = [(b"content-type", f"multipart/form-data; boundary={boundary}".encode())]
                judge(service.ask("POST", path, b"", header, body), (path, fields))
    assert turn > 200


# Each command on small files; those that run until they are stopped are left out, and so is what needs a server.
COMMANDS: dict[str, list[str]] = {
    "test": ["u.csv", "v.csv"],
    "plan": ["u.csv", "v.csv"],
    "gate": ["u.csv", "v.csv", "--policy=improve", "--higher-is-better"],
    "power": ["u.csv", "v.csv", "--solve=effect"],
    "compare": ["board.csv"],
    "systems": ["systems.csv", "--statistic=friedman"],
    "batch": ["lines.ndjson"],
}
ELSEWHERE = {"serve", "worker", "mcp", "jobs", "statistics", "openapi", "version"}
UNTRIED = {"--url", "--api-key", "-o", "--output", "--store"}


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_takes_or_refuses_any_number(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert set(cli.commands) == set(COMMANDS) | ELSEWHERE
    monkeypatch.chdir(tmp_path)
    more, files = files_for("/v1/gate", {})
    for name, data in {
        **files,
        "board": files_for("/v1/compare", more)[1]["file"],
        "table": TABLE,
        "systems": files_for("/v1/tests/systems", more)[1]["file"],
    }.items():
        Path(f"{name}.csv").write_bytes(data)
    Path("lines.ndjson").write_bytes(sent_to("/v1/batch", "application/x-ndjson"))
    turn = 0
    for option in cli.commands[command].params:
        if not isinstance(option, click.Option) or option.is_flag or UNTRIED & set(option.opts):
            continue
        name = option.opts[0].lstrip("-").replace("-", "_")
        for token in tokens(turn := turn + 1):
            beside = BESIDE.get(name, {})
            more, files = files_for(
                {"compare": "/v1/compare", "systems": "/v1/tests/systems"}.get(command, "/v1/gate"), beside
            )
            typed = COMMANDS[command]
            if "file" in files and command not in {"compare", "systems"}:
                typed = ["table.csv", *typed[2:]]
            fields = {**beside, **more}
            typed = [*typed, *(f"--{field.replace('_', '-')}={value}" for field, value in fields.items())]
            value = INSIDE.get(name, "%s").replace("%s", token)
            spelled = (
                f"{option.opts[0]}={value}" if option.opts[0].startswith("--") else option.opts[0] + value
            )
            result = CliRunner().invoke(cli, [command, *typed, spelled])
            said = (command, typed, spelled, result.output[-600:], result.exception)
            assert result.exception is None or isinstance(result.exception, SystemExit), said
            assert "Traceback" not in result.output, said
            assert "this is a bug" not in result.output, said
            assert result.exit_code in {0, 1, 2, 3, 4}, said
            GENERATED["extreme numbers as parameters, fields and options"] += 1
