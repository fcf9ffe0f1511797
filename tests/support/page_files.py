"""Modules of a page's server, as its scripts get them."""

from __future__ import annotations

import json
import re

from werkzeug.test import Client


def import_map(page: str) -> dict[str, str]:
    """The import map of a page's HTML: name -> address."""
    return json.loads(re.search(r'<script type="importmap"[^>]*>(.*?)</script>', page, re.DOTALL)[1])["imports"]


def module_at(http: Client, address: str) -> object:
    """The default export of the module at an address, which is JSON."""
    answer = http.get(address)
    assert (answer.status_code, answer.mimetype) == (200, "text/javascript"), answer.status
    return json.loads(answer.text.removeprefix("export default ").removesuffix(";\n"))
