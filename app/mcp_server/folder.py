"""Files below one folder, and nothing else: an assistant may be told by anyone what to open."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

from ..errors import BodyTooLarge, InvalidTest

OPEN = (
    os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
)  # a pipe does not wait for its writer


class Folder:
    """The files that one call reads below `root`, of at most `most_bytes` together."""

    def __init__(self, root: Path, most_bytes: int) -> None:
        self._root = root.resolve(strict=True)
        self._most = self._left = most_bytes

    def read(self, path: Any, pointer: str) -> tuple[str, bytes]:
        """The name and the bytes of a file.

        Raises
        ------
            InvalidTest: it is no path below the root, or no regular file that can be read; links may not lead out.
            BodyTooLarge: the files of the call have too many bytes.
        """
        if not isinstance(path, str) or not path:
            raise InvalidTest.at(
                pointer, "not_a_path", 'Give the path of a file below the root: "runs/new.jsonl".'
            )
        if path.startswith("/") or ".." in path.split("/"):
            detail = 'Only files below the root are read: give the path from there, with no "/" before it and no ".." in it.'
            raise InvalidTest.at(pointer, "outside", detail)
        try:
            inside = (self._root / path).resolve().relative_to(self._root)
        except (ValueError, OSError, RuntimeError):  # another folder; a NUL; a loop of links
            raise InvalidTest.at(
                pointer,
                "outside",
                "This leads out of the root, or nowhere: only files below the root are read.",
            ) from None
        try:
            return Path(path).name, self._content(inside.parts, pointer)
        except OSError as error:
            raise InvalidTest.at(
                pointer, "unreadable", f"This file cannot be read below the root: {error.strerror}."
            ) from None

    def _content(self, parts: tuple[str, ...], pointer: str) -> bytes:
        """The bytes; opened part by part without following links, so that none can be put there since it was resolved."""
        at = os.open(self._root, OPEN | os.O_DIRECTORY)
        try:
            for index, part in enumerate(parts):
                within, at = (
                    at,
                    os.open(part, OPEN | (os.O_DIRECTORY if parts[index + 1 :] else 0), dir_fd=at),
                )
                os.close(within)
            found = os.fstat(at)
            if not stat.S_ISREG(found.st_mode):
                detail = "This is no regular file: folders, pipes and devices are not read."
                raise InvalidTest.at(pointer, "not_a_file", detail)
            content = b""
            if found.st_size <= self._left:  # it may grow, and those of /proc have no size
                with os.fdopen(os.dup(at), "rb") as file:
                    content = file.read(self._left + 1)
        finally:
            os.close(at)
        self._left -= max(found.st_size, len(content))
        if self._left < 0:
            detail = (
                f"The files of one call have more than {self._most:,} bytes together, the most that is read"
            )
            raise BodyTooLarge(f"{detail} (EXACTPERM_MAX_BODY_BYTES).")
        return content
