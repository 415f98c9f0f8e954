"""Flow control of a connection: reading pauses while the application or the parser is behind."""

from __future__ import annotations

from uvicorn.protocols.http.flow_control import FlowControl


class Flow(FlowControl):
    """Pauses reading while the application or the parser is behind."""

    held = False

    def hold(self) -> None:
        """The parser is behind."""
        self.held = True
        self._transport.pause_reading()

    def release(self) -> None:
        """The parser has caught up."""
        if self.held:
            self.held = False
            if not self.read_paused:
                self._transport.resume_reading()

    def resume_reading(self) -> None:
        """The application reads."""
        if self.held:
            self.read_paused = False
        else:
            super().resume_reading()
