"""The optional dependencies of pyproject.toml: which are installed, and how to install the others."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec

from .errors import InvalidTest


@dataclass(frozen=True, slots=True)
class Extra:
    """One of `[project.optional-dependencies]`: the modules that show it is installed, and the first words of
    `missing`.
    """

    modules: tuple[str, ...]
    needed_by: str


EXTRAS = {
    "server": Extra(
        ("fastapi", "httptools", "markdown_it", "prometheus_client", "structlog", "uvicorn"),
        "The HTTP service needs",
    ),
    "pictures": Extra(("jinja2", "resvg_py"), "PNG pictures and HTML reports need"),
    "asr": Extra(("jiwer",), "Transcripts need"),
    "mt": Extra(("sacrebleu",), "BLEU, chrF and TER of texts need"),
    "trec": Extra(("pytrec_eval",), "Runs with qrels need"),
    "mcp": Extra(("mcp",), "Assistants (exactperm mcp) need"),
    "tables": Extra(("openpyxl", "pyarrow"), "Spreadsheets and Parquet files need"),
    "jobs": Extra(("dbos", "psycopg", "sqlalchemy"), "Jobs need"),
    "otel": Extra(("opentelemetry.exporter.otlp.proto.http", "opentelemetry.sdk"), "Spans need"),
}


def is_installed(name: str) -> bool:
    """Whether every module of an extra is installed. Only parent packages are imported."""
    return all(map(_is_there, EXTRAS[name].modules))


def missing(name: str) -> str:
    """Name the missing extra and the command that installs it: BLEU, chrF and TER of texts need the extra mt
    (sacrebleu), which is not installed here: pip install "exactperm[mt]".
    """
    extra = EXTRAS[name]
    packages = dict.fromkeys(module.partition(".")[0] for module in extra.modules)
    return (
        f"{extra.needed_by} the extra {name} ({', '.join(packages)}), which is not installed here: "
        f'pip install "exactperm[{name}]"'
    )


def require(name: str, pointer: str) -> None:
    """Refuse a request that needs a missing extra; raises InvalidTest at `pointer`."""
    if not is_installed(name):
        raise InvalidTest.at(pointer, "not_installed", missing(name))


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ImportError:  # of the package that it is in
        return False
