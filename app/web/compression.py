"""Texts are sent compressed (gzip) to browsers that take them so: a page with its scripts is four times shorter."""

from __future__ import annotations

import gzip
from functools import lru_cache

from flask import Flask, Response, request

#: Below this many bytes it is not worth the header.
SHORTEST_BYTES = 1_000
#: Results that are kept: every script is compressed once, not once for each visitor.
_KEPT = 512
_TEXTS = ("text/", "application/json", "image/svg+xml")


def add_compression(app: Flask) -> None:
    """Let ``app`` compress its answers."""
    app.after_request(_compress)


def _compress(response: Response) -> Response:
    if not (response.mimetype or "").startswith(_TEXTS):
        return response
    response.vary.add("Accept-Encoding")
    takes = request.accept_encodings.quality("gzip") > 0
    if not takes or response.status_code != 200 or (response.is_streamed and not response.direct_passthrough):
        return response
    if "Content-Encoding" in response.headers or (response.content_length or SHORTEST_BYTES) < SHORTEST_BYTES:
        return response
    response.direct_passthrough = False
    content = response.get_data()
    is_kept = "immutable" in response.headers.get("Cache-Control", "")
    response.set_data(_compressed(content) if is_kept else gzip.compress(content, compresslevel=5, mtime=0))
    response.headers["Content-Encoding"] = "gzip"
    if "ETag" in response.headers:  # the same content in other bytes
        response.set_etag(response.get_etag()[0] or "", weak=True)
    return response


@lru_cache(maxsize=_KEPT)
def _compressed(content: bytes) -> bytes:
    return gzip.compress(content, compresslevel=9, mtime=0)
