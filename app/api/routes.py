"""The routes of version 1: three ways to hand over a test, and the plan of one."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from app.api.desk import Desk
from app.api.operations import plan_operation, test_operation


def test_router(desk: Desk) -> APIRouter:
    """`POST /v1/tests/{effects,scores,predictions}` and `POST /v1/plan`."""
    router = APIRouter(prefix="/v1")

    async def effects(request: Request) -> Response:
        """The paper's own form: what each item contributes as observed, and with the systems exchanged."""
        return await desk.answer(request, "effects")

    async def scores(request: Request) -> Response:
        """One number per item and system: mean or sum of differences, sign test, signed ranks."""
        return await desk.answer(request, "scores")

    async def predictions(request: Request) -> Response:
        """Raw outputs of both systems and gold: accuracy, exact match, token accuracy."""
        return await desk.answer(request, "predictions")

    async def plan(request: Request) -> Response:
        """What a test would do and cost, without doing it: method, operations, bytes, seconds, and why."""
        return await desk.answer(request, "plan")

    router.add_api_route("/tests/effects", effects, **test_operation("effects", "Test effects"))
    router.add_api_route("/tests/scores", scores, **test_operation("scores", "Test scores"))
    router.add_api_route(
        "/tests/predictions", predictions, **test_operation("predictions", "Test predictions")
    )
    router.add_api_route("/plan", plan, **plan_operation())
    return router
