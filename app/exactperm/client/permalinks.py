"""Permalinks: where a server says that it keeps an answer, as an address that works from elsewhere."""

from __future__ import annotations

import re

import httpx

from .errors import InvalidData

PLACE = "/v1/results/"
NAME = re.compile(r"r_[0-9a-f]{32}")


def permalink_of(response: httpx.Response) -> str | None:
    """The absolute URL of an answer that is kept; None where it is not.

    The server names a path of its own. It may be behind a proxy that puts another before it, and rewrites the header or not: so
    only the name is taken, and goes where the request went.

    >>> request = httpx.Request("POST", "https://me:secret@stats.example.org/exact/v1/gate?store=1")
    >>> name = "r_0123456789abcdef0123456789abcdef"
    >>> permalink_of(httpx.Response(200, headers={"content-location": f"/v1/results/{name}"}, request=request))
    'https://stats.example.org/exact/v1/results/r_0123456789abcdef0123456789abcdef'
    """
    place, slash, name = response.headers.get("content-location", "").rpartition("/")
    if not slash or not f"{place}/".endswith(PLACE) or NAME.fullmatch(name) is None:
        return None
    before = response.url.path.rpartition("/v1/")[0]
    return address_of(response.url.copy_with(path=before + PLACE + name, query=None))


def address_of(url: httpx.URL) -> str:
    """A URL to show: without the name and the password that may be in it."""
    return str(url.copy_with(username="", password=""))


def name_of(permalink: str, server: httpx.URL) -> str:
    """The name of a stored answer, given that or its URL; raises InvalidData for one of another server, or what is neither."""
    own = address_of(server).rstrip("/") + PLACE
    name = permalink
    if "://" in permalink:
        try:
            address = address_of(httpx.URL(permalink))
        except httpx.InvalidURL:
            address = permalink
        name = address.removeprefix(own)
        # The key is for this server: another one is not asked.
        if name == address:
            raise InvalidData(f"{address} is no permalink of this client's server: those begin with {own}.")
    if NAME.fullmatch(name) is None:
        raise InvalidData(
            f"{permalink} is no permalink: give r_ and 32 digits, or a URL that ends with them."
        )
    return name
