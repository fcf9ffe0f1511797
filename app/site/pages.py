"""The pages of the site: those that the application renders, as files that work in any folder of any host.

A page of the server is ``/lab/three-locks``; its file is ``lab/three-locks/index.html``, and ``zh/lab/...`` in Chinese.
Addresses become relative, and a policy in the page replaces the headers of a server.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterator

from werkzeug.test import Client

from app.articles.article_files import ARTICLE_NAMES
from app.lessons.lesson_files import lesson_names
from app.site.application import LICENCES, NEEDS_A_SERVER, SiteApplication
from app.web.flask_application import LANGUAGE_COOKIE
from engine.lab.scenario.scenario_files import scenario_names
from engine.texts import LANGUAGES

#: The script that keeps the site for use offline; only the scope of its own folder is its.
SERVICE_WORKER = "service_worker.js"
#: Modules of the page -> those of the site that take their place.
REPLACED_MODULES = {
    "static/common/addresses.js": "static/site/addresses.js",
    "static/common/transport.js": "static/site/transport.js",
    "static/lessons/done_steps.js": "static/site/done_steps.js",
}
#: WebAssembly is compiled in the worker, which has a policy of its own where the host sends one.
POLICY = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval' '{import_map}'; style-src 'self'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; worker-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'self'"
)
_ADDRESS = re.compile(r"""\b(href|src|action)="(/[^"]*)\"""")
_FILES_IN_DATA = re.compile(r'"/(static|modules)/')
_IMPORT_MAP = re.compile(r"""<script type="importmap"[^>]*>(.*?)</script>""", re.DOTALL)
_NONCE = re.compile(r""" nonce="[^"]*\"""")
#: Addresses that only a server answers.
_ABSENT = re.compile(r"/(live|pipeline|lab/wire|api/(live|faults))(?![\w-])")
_LAB_BODY = re.compile(r"""<body class="lab-page\b[^>]*>""")
_PRELOADED = re.compile(r"""\s*<link rel="preload" href="/api/[^>]*>""")


def page_addresses() -> list[str]:
    """Return the addresses of all pages, as the server has them."""
    return [
        "/",
        "/lab",
        "/lab/pair",
        "/tutorials",
        "/tutorials/articles",
        "/glossary",
        "/filters",
        "/storage",
        NEEDS_A_SERVER,
        LICENCES,
        *(f"/lab/{name}" for name in scenario_names()),
        *(f"/tutorials/{name}" for name in lesson_names()),
        *(f"/tutorials/articles/{name}" for name in ARTICLE_NAMES),
    ]


def render_pages(application: SiteApplication, addresses: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the path of each page's file and its content, in every language."""
    for language in LANGUAGES:
        client = Client(application.app)
        client.set_cookie(LANGUAGE_COOKIE, language)
        for address in addresses:
            answer = client.get(address)
            if answer.status_code != 200:
                raise RuntimeError(f"{address}: {answer.status}")
            folder = "" if language == LANGUAGES[0] else f"{language}/"
            path = f"{folder}{address.strip('/')}".rstrip("/")
            yield f"{path}/index.html".lstrip("/"), as_file(answer.get_data(as_text=True), path, folder)


def as_file(page: str, path: str, folder: str) -> str:
    """Return ``page`` as static HTML, with links relative to its folder ``path``.

    ``folder`` contains the pages of the language, relative to the site's root.
    """
    root = "../" * (path.count("/") + 1) if path else "./"
    page = _PRELOADED.sub("", _NONCE.sub("", page))
    page = _ADDRESS.sub(lambda found: f'{found[1]}="{_relative(found[2], root, folder)}"', page)
    page = page.replace("</head>", f'  <script type="module" src="{root}static/site/offline.js"></script>\n</head>', 1)
    page = _LAB_BODY.sub(rf'\g<0><script src="{root}static/site/embedded.js"></script>', page)
    page = _FILES_IN_DATA.sub(rf'"{root}\1/', page)
    import_map = _import_map(page, root)
    page = _IMPORT_MAP.sub(lambda _: f'<script type="importmap">{import_map}</script>', page)
    digest = base64.b64encode(hashlib.sha256(import_map.encode()).digest()).decode()
    policy = POLICY.format(import_map=f"sha256-{digest}")
    return page.replace("<head>", f'<head>\n  <meta http-equiv="Content-Security-Policy" content="{policy}">', 1)


def _relative(address: str, root: str, folder: str) -> str:
    """As ``addressOf`` in static/site/addresses.js."""
    # The pattern matches every text.
    path, mark, rest = re.fullmatch(r"([^?#]*)([?#]?)(.*)", address, re.DOTALL).groups()  # type: ignore[union-attr]
    if path.startswith("/static/"):
        return f"{root}{address[1:]}"
    if _ABSENT.match(path):
        return f"{root}{folder}{NEEDS_A_SERVER[1:]}/"
    if path.startswith("/api/"):
        return address  # static/site/transport.js asks the worker
    return f"{root}{folder}{path[1:]}{'' if path.endswith('/') else '/'}{mark}{rest}"


def _import_map(page: str, root: str) -> str:
    found = _IMPORT_MAP.search(page)
    imports = json.loads(found[1])["imports"] if found is not None else {}
    replaced = {f"{root}{old}": f"{root}{new}" for old, new in REPLACED_MODULES.items()}
    return json.dumps({"imports": {**imports, **replaced}})
