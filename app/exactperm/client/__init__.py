"""The Python client: the service's tests as functions of arrays, lists and files, its answers as typed values.

The client is this folder, with answers/ and presentation/, httpx and numpy.

>>> from exactperm.client import Client, scores
>>> with Client("http://localhost:8000", transport=DOCTEST_TRANSPORT) as client:
...     test = scores([0.85, 0.90, 0.78, 0.92, 0.88], [0.80, 0.85, 0.75, 0.88, 0.82], names=("new", "old"))
...     result = client.test(test)
...     line = client.report(test, "text")
>>> result.p_value, result.significant, result.method.name
(0.0625, False, 'enumeration')
>>> line.startswith("p=0.0625 (exact, enumeration) two-sided mean_difference=0.046 new=0.866 old=0.82")
True
"""

from .clients import AsyncClient, Client, Retries
from .compare_requests import compare, compare_files, systems
from .errors import (
    DeadlineExceeded,
    ExactpermError,
    Flaw,
    InvalidData,
    InvalidTest,
    MalformedBody,
    NoAnswer,
    NoResult,
    NotAcceptable,
    NotAuthorised,
    NotFound,
    PlanTooLarge,
    ProblemError,
    ServiceFailed,
    TooLarge,
    TooSlow,
    Unavailable,
    UnreadableAnswer,
    UnsupportedMedia,
)
from .requests import counts, effects, files, gate, metric, power, predictions, preferences, scores
from .responses import Answers, Job
from .results import (
    Board,
    ComparePlan,
    CompareResult,
    GateResult,
    Interval,
    Meta,
    MetricResult,
    PairResult,
    Plan,
    PowerResult,
    SystemResult,
    TestResult,
)

__all__ = [
    "Answers",
    "AsyncClient",
    "Board",
    "Client",
    "ComparePlan",
    "CompareResult",
    "DeadlineExceeded",
    "ExactpermError",
    "Flaw",
    "GateResult",
    "Interval",
    "InvalidData",
    "InvalidTest",
    "Job",
    "MalformedBody",
    "Meta",
    "MetricResult",
    "NoAnswer",
    "NoResult",
    "NotAcceptable",
    "NotAuthorised",
    "NotFound",
    "PairResult",
    "Plan",
    "PlanTooLarge",
    "PowerResult",
    "ProblemError",
    "Retries",
    "ServiceFailed",
    "SystemResult",
    "TestResult",
    "TooLarge",
    "TooSlow",
    "Unavailable",
    "UnreadableAnswer",
    "UnsupportedMedia",
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
]
