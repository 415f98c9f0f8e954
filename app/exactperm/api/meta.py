"""`GET /v1/meta`: the capabilities and limits of this server."""

from __future__ import annotations

from typing import Any, get_args

from fastapi import APIRouter
from starlette.responses import JSONResponse, Response

from ..answers.board import Adjust, Aggregate, Combine, Design, Family, ListedPairs
from ..answers.test import Alternative, Method
from ..extras import EXTRAS, is_installed
from ..inference.options import PmfDetail
from ..inputs.alignment import OnMissingOnBoard
from ..inputs.encodings import CODINGS
from ..inputs.formats import catalogue
from ..inputs.formats.roles import ROLES, role_label
from ..inputs.options import READER_OPTIONS
from ..reports.representations import REPRESENTATIONS, BoardPicture, BoardTable, Noun
from ..service import problems
from ..service.answers import versions
from ..service.kinds import KINDS, OF_JOBS
from ..service.parse import AVAILABLE_TESTS
from ..service.schema.compare import CompareKind
from ..service.schema.fields import STATISTIC_MODELS, entries
from ..settings import Settings
from ..statistics import names
from ..statistics.catalogue import DATA, QUESTIONS

PUBLIC_LIMITS = (
    "max_body_bytes",
    "max_form_parts",
    "max_gate_metrics",
    "max_comparisons",
    "max_items",
    "max_name_chars",
    "max_samples",
    "max_systems",
    "default_timeout_s",
    "max_timeout_s",
    "engine_budget_operations",
    "engine_budget_bytes",
    "inplace_body_bytes",
    "workers",
    "web_processes",
    "queue_depth",
)
LIMITS_OF_JOBS = (
    "job_max_tests",
    "job_max_seconds",
    "job_result_bytes",
    "jobs_key_jobs",
    "jobs_key_seconds",
    "jobs_key_bytes",
    "retention_s",
)


def meta_of(settings: Settings) -> dict[str, Any]:
    """The description of a server with these settings."""
    return {
        "versions": versions(),
        "limits": {name: getattr(settings, name) for name in PUBLIC_LIMITS},
        "tests": list(AVAILABLE_TESTS),
        "methods": list(get_args(Method)),
        "alternatives": list(get_args(Alternative)),
        "pmf": list(get_args(PmfDetail)),
        "statistics": {kind: [entry.described() for entry in entries(kind)] for kind in STATISTIC_MODELS},
        "data": [{"name": name, "title": title} for name, title in DATA.items()],
        "questions": [{"name": name, "title": title} for name, title in QUESTIONS.items()],
        "comparison": {
            "kinds": list(get_args(CompareKind)),
            "designs": list(get_args(Design)),
            "adjustments": list(get_args(Adjust)),
            "families": list(get_args(Family)),
            "aggregates": list(get_args(Aggregate)),
            "combines": list(get_args(Combine)),
            "on_missing": list(get_args(OnMissingOnBoard)),
            "listed_pairs": list(get_args(ListedPairs)),
            "pictures": list(get_args(BoardPicture)),
            "tables": list(get_args(BoardTable)),
        },
        "jobs": jobs_of(settings),
        "metrics": names.described(),
        "formats": formats(),
        "extras": {name: is_installed(name) for name in EXTRAS},
        "media_types": {
            "consumes": {kind: list(row.consumed) for kind, row in KINDS.items()},
            "produces": {one.name: one.media_type for one in REPRESENTATIONS},
            "codings": list(CODINGS),
        },
        "representations": [
            {
                "name": one.name,
                "title": one.title,
                "suffix": one.suffixes[0],
                **{f"of_{noun}": one.answers(noun) for noun in get_args(Noun)},
            }
            for one in REPRESENTATIONS
        ],
        "problems": [
            {"type": problems.TYPE_PREFIX + kind.code, "status": kind.status, "title": kind.title}
            for kind in problems.all_types()
        ],
    }


def jobs_of(settings: Settings) -> dict[str, Any]:
    """Whether jobs and stored answers are available, their paths and limits; never the database's address."""
    database, colon, _ = settings.jobs_url.partition(":")
    return {
        "enabled": bool(colon),
        "database": database.partition("+")[0] or None,
        "kinds": list(OF_JOBS),
        "limits": {name: getattr(settings, name) for name in LIMITS_OF_JOBS},
    }


def formats() -> dict[str, Any]:
    """The formats: the files of each by role, and its options."""
    known = [
        {
            "name": name,
            "aliases": [alias for alias, of in catalogue.ALIASES.items() if of == name],
            "summary": entry.summary,
            "kinds": list(entry.kinds),
            "files": list(entry.roles),
            "options": sorted(entry.uses),
            "statistics": list(entry.statistics),
        }
        for name, entry in catalogue.FORMATS.items()
    ]
    return {
        "default": catalogue.AUTO,
        "files": list(ROLES),
        "known": known,
        "roles": [{"name": role, "title": role_label(role)} for role in ROLES],
        "kinds": [{"name": kind, "title": title} for kind, title in catalogue.KINDS.items()],
        "options": [option.described() for option in READER_OPTIONS],
    }


def meta_router(settings: Settings) -> APIRouter:
    """The route; its answer never changes while the server runs."""
    router = APIRouter(prefix="/v1", tags=["meta"])
    content = meta_of(settings)

    async def meta() -> Response:
        """Versions, limits, methods, statistics and formats with their parameters, media types, problem types."""
        return JSONResponse(content)

    router.add_api_route("/meta", meta, response_class=Response, summary="Describe this server")
    return router
