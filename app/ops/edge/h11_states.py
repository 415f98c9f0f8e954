"""Where h11's state machine stands after plain events, without the events: to make and check them costs more than a test.

Every other event goes through h11 itself, before and after these. tests/unit/ops/test_plain_head.py compares what h11 knows
after either way; a version of h11 that changes it fails there.
"""

from __future__ import annotations

from typing import Any

import h11
from h11._readers import READERS, ContentLengthReader
from h11._writers import WRITERS, ContentLengthWriter

IDLE_READER: Any = READERS[h11.CLIENT, h11.IDLE]
DONE_READER: Any = READERS[h11.CLIENT, h11.DONE]
IDLE_WRITER: Any = WRITERS[h11.SERVER, h11.IDLE]


class PlainConnection(h11.Connection):
    """A server's connection that can be told of plain requests and responses."""

    @property
    def _is_idle(self) -> bool:
        states = self._cstate.states
        return states[h11.CLIENT] is h11.IDLE and states[h11.SERVER] is h11.IDLE

    def take_head(self, method: bytes, head_bytes: int, length: int) -> None:
        """The head of a request in HTTP/1.1 was parsed, which asks for nothing of its connection; its body follows."""
        self._take(method, h11.SEND_BODY)
        self._reader = ContentLengthReader(length)
        self._receive_buffer.maybe_extract_at_most(head_bytes)

    def take_whole(self, method: bytes) -> None:
        """Such a request was parsed with its body, and the buffer holds nothing else."""
        self._take(method, h11.DONE)
        self._reader = DONE_READER
        self._receive_buffer.maybe_extract_at_most(len(self._receive_buffer))

    def _take(self, method: bytes, their_state: Any) -> None:
        self._request_method = method
        self.their_http_version = b"1.1"
        self._cstate.states[h11.CLIENT] = their_state
        self._cstate.states[h11.SERVER] = h11.SEND_RESPONSE  # its writer is that of IDLE

    def may_answer_plainly(self) -> bool:
        """Whether a response with a Content-Length changes nothing but the state of the server."""
        state = self._cstate
        return (
            state.states[h11.SERVER] is h11.SEND_RESPONSE
            and state.states[h11.CLIENT] in (h11.DONE, h11.SEND_BODY)
            and state.keep_alive
            and not state.pending_switch_proposals
            and not self.client_is_waiting_for_100_continue
            and self._request_method != b"HEAD"
        )

    def head_sent(self, length: int) -> None:
        """The head of a response with a body of `length` bytes was sent, where `may_answer_plainly`."""
        self._cstate.states[h11.SERVER] = h11.SEND_BODY
        self._writer = ContentLengthWriter(length)

    def body_sent(self) -> None:
        """The whole body was sent directly after its head."""
        self._cstate.states[h11.SERVER] = h11.DONE
        self._writer = None

    def start_next_cycle(self) -> None:
        """Prepare for the next request."""
        states = self._cstate.states
        if states[h11.CLIENT] is not h11.DONE or states[h11.SERVER] is not h11.DONE:
            super().start_next_cycle()  # an error
            return
        states[h11.CLIENT] = states[h11.SERVER] = h11.IDLE
        self._request_method = None
        self._reader, self._writer = IDLE_READER, IDLE_WRITER
