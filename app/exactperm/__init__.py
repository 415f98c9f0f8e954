"""exactperm: exact paired-permutation tests, in this process, on the command line and over HTTP.

`from exactperm import test, gate, compare, power` computes here; `exactperm.client` asks a server. Names are imported when they are
first used, so that importing the package costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .version import __version__ as __version__

if TYPE_CHECKING:
    from .client.clients import Client
    from .client.compare_requests import compare_files
    from .client.requests import counts, effects, files, metric, predictions, scores
    from .client.results import CompareResult, GateResult, PowerResult, TestResult
    from .local.run import compare, gate, power, preferences, systems, test

__all__ = [
    "Client",
    "CompareResult",
    "GateResult",
    "PowerResult",
    "TestResult",
    "compare",
    "compare_files",
    "counts",
    "effects",
    "files",
    "gate",
    "metric",
    "power",
    "predictions",
    "preferences",
    "scores",
    "systems",
    "test",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    local = name in {"compare", "gate", "power", "preferences", "systems", "test"}
    value = getattr(import_module(".local.run" if local else ".client", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({"__all__", "__doc__", "__name__", "__version__", *__all__})
