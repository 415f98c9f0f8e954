"""Route templates as labels of metrics, spans and log lines: there are few, whatever clients request.

`scope["route"]` would not do: requests that are refused before routing (no key, too many connections) have none.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

UNMATCHED = "unmatched"


class Templates:
    """Looks up the route of a path by the path alone; a path without a route is `unmatched`."""

    def __init__(self, routes: Iterable[Any]) -> None:
        self._exact: dict[str, str] = {}
        self._prefixes: list[tuple[str, str]] = []
        self._add(routes)

    def _add(self, routes: Iterable[Any]) -> None:
        for route in routes:
            if not hasattr(route, "path"):  # FastAPI keeps included routers as one entry
                self._add(route.original_router.routes)
            elif hasattr(route, "methods") and "{" not in route.path:
                self._exact[route.path] = route.path
            else:  # with a parameter, or mounted
                self._prefixes.append((route.path.partition("{")[0].rstrip("/") + "/", route.path))

    def __iter__(self) -> Any:
        return iter([*self._exact.values(), *(template for _, template in self._prefixes), UNMATCHED])

    def of(self, path: str) -> str:
        """The template of a path."""
        exact = self._exact.get(path)
        if exact is not None:
            return exact
        return next((to for prefix, to in self._prefixes if path.startswith(prefix)), UNMATCHED)
