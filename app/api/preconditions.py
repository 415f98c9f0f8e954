"""`If-None-Match` (RFC 9110, section 13.1.2): a client that holds the answer need not be sent it again.

304 is for GET and HEAD alone; for every other method a precondition that fails is 412. A test is a POST, so a client that
names the ETag of the answer it would get receives a 412 without the answer. `*` asks whether there is any answer at
all; a test has none before it is computed, so `*` never fails.
"""

from __future__ import annotations

import re

from ..errors import AnswerKnown
from ..service import problems
from ..service.messages import RenderedResponse

TAG = re.compile(r'(?:W/)?("[\x21\x23-\x7e\x80-\xff]*")')
MAX_CHARS = 8_000
SAID_ANYWAY = frozenset({"etag", "age", "server-timing", "x-verdict", "x-p-value"})


def unless_known(rendered: RenderedResponse, if_none_match: str | None, request_id: str) -> RenderedResponse:
    """The answer, or 412 when its tag is among those that the client holds (compared weakly, section 8.8.3.2)."""
    if if_none_match is None or rendered.began_at is None:
        return rendered
    tag = next((value for name, value in rendered.headers if name == "etag"), None)
    if tag is None or tag.removeprefix("W/") not in TAG.findall(if_none_match[:MAX_CHARS]):
        return rendered
    detail = "This is the answer whose ETag you sent in If-None-Match; nothing has changed."
    headers = tuple(header for header in rendered.headers if header[0] in SAID_ANYWAY)
    return problems.render(problems.TYPES[AnswerKnown.code], detail, request_id, headers=headers)
