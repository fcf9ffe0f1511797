"""Converts screenshots to small WebP files: Chromium itself encodes them, so no image library is needed."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

#: Scales that are tried one after the other until a picture is small enough, each with decreasing quality.
_SCALES = (1.0, 0.85, 0.72, 0.6, 0.5, 0.42)
_QUALITIES = (0.85, 0.72, 0.6, 0.48, 0.36, 0.24)
_ENCODE = """async ([png, scale, quality]) => {
    const picture = new Image();
    picture.src = `data:image/png;base64,${png}`;
    await picture.decode();
    const canvas = new OffscreenCanvas(Math.round(picture.width * scale), Math.round(picture.height * scale));
    const context = canvas.getContext("2d");
    context.imageSmoothingQuality = "high";
    context.drawImage(picture, 0, 0, canvas.width, canvas.height);
    const blob = await canvas.convertToBlob({ type: "image/webp", quality });
    const bytes = new Uint8Array(await blob.arrayBuffer());
    let text = "";
    for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192));
    return btoa(text);
}"""


class WebpEncoder:
    """Encodes in an empty page of its own."""

    def __init__(self, browser: Browser) -> None:
        self._page: Page = browser.new_page()

    def encode(self, png: bytes, max_bytes: int, scales: tuple[float, ...] = _SCALES) -> bytes:
        """Return the sharpest WebP of the screenshot that is no larger than ``max_bytes``, or the smallest possible."""
        source = base64.b64encode(png).decode()
        data = b""
        for scale in scales:
            for quality in _QUALITIES:
                data = base64.b64decode(self._page.evaluate(_ENCODE, [source, scale, quality]))
                if len(data) <= max_bytes:
                    return data
        return data
