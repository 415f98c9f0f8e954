"""A request for a plan becomes the test, or the comparison, that is wrapped in it."""

from __future__ import annotations

from dataclasses import replace

from ..errors import relocated
from ..inputs import json_body
from .body_decoders import DecodedBody
from .compare import json_request
from .compare.parse import ParsedCompare, comparison_of
from .messages import Job
from .parse import ParsedTest, parse_request
from .pointers import beside_statistic, chained, prefixed
from .query import ELSEWHERE, options_of_query
from .schema.fields import NO_BOOLEANS
from .schema.plan import PlanEnvelope
from .schema.requests import REQUEST_MODELS
from .storing import store_of
from .validation import validated

INSIDE = "/request"


def parse_plan(job: Job, body: bytes | bytearray) -> ParsedTest | ParsedCompare:
    """Decode and validate a JSON body; raises InputError."""
    read = json_body.decode(body)
    context = {NO_BOOLEANS: read.no_booleans}
    options_of_query(job.query, ELSEWHERE)
    envelope = validated(PlanEnvelope, read.value)
    pointer_map = prefixed(INSIDE)
    store = store_of(envelope)  # that of the request inside is for later, when it is sent
    if envelope.kind == "compare":
        with relocated(pointer_map):
            decoded = json_request.decoded(envelope.request, context)
        decoded = replace(decoded, pointer_map=chained(decoded.pointer_map, pointer_map))
        return replace(comparison_of(decoded, job), store=store)
    inner = validated(REQUEST_MODELS[envelope.kind], envelope.request, prefix=INSIDE, context=context)
    inside = chained(beside_statistic(envelope.request), pointer_map)
    return replace(parse_request(DecodedBody(envelope.kind, inner, inside), job), store=store)
