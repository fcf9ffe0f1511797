"""The pages of the site as files: their addresses lead to files, from any folder of any host."""

from __future__ import annotations

import json
import posixpath
import re

import pytest

from app.site.application import NEEDS_A_SERVER, create_site_application
from app.site.build import NoPages
from app.site.pages import REPLACED_MODULES, as_file, page_addresses, render_pages
from scripts.fetch_page_packages import PROJECT

#: Addresses that the worker answers.
OF_THE_WORKER = {"/api/lessons/progress"}
PAGES = ["/", "/storage", "/glossary", "/tutorials", NEEDS_A_SERVER, "/lab/three-locks"]
LINK = re.compile(r'\b(?:href|src|action)="([^"#?]+)')


@pytest.fixture(scope="module")
def files():
    application = create_site_application(NoPages())
    yield dict(render_pages(application, PAGES))
    application.close()


def test_each_page_is_a_file_in_a_folder_of_its_language(files):
    expected = {f"{page.strip('/')}/index.html".lstrip("/") for page in PAGES}
    assert set(files) == expected | {f"zh/{path}" for path in expected}
    assert 'lang="en"' in files["lab/three-locks/index.html"]
    assert 'lang="zh-CN"' in files["zh/lab/three-locks/index.html"]


def test_links_are_relative_and_lead_to_a_page_or_file_of_the_site(files):
    known = {f"{page.strip('/')}/index.html".lstrip("/") for page in page_addresses()}
    known |= {f"zh/{path}" for path in known}
    for path, page in files.items():
        for link in LINK.findall(page):
            if link in OF_THE_WORKER:
                continue
            assert not link.startswith("/"), f"{path}: {link}"
            target = posixpath.normpath(posixpath.join(posixpath.dirname(path), link))
            assert not target.startswith(".."), f"{path}: {link}"
            if target.startswith("static/"):
                assert (PROJECT / target).is_file(), f"{path}: {link}"
            else:
                assert posixpath.join(target, "index.html").removeprefix("./") in known, f"{path}: {link}"


def test_pages_do_not_carry_the_texts_that_all_of_them_share(files):
    for page in files.values():
        found = re.search(r'<script type="application/json" id="page-data">(.*?)</script>', page)
        assert list(json.loads(found[1])) == ["language"]


def test_modules_that_reach_a_server_have_others_in_their_place(files):
    for path, page in files.items():
        imports = json.loads(re.search(r'<script type="importmap">(.*?)</script>', page)[1])["imports"]
        inside = {
            posixpath.normpath(posixpath.join(posixpath.dirname(path), old)): posixpath.normpath(
                posixpath.join(posixpath.dirname(path), new)
            )
            for old, new in imports.items()
            if old.startswith(".")
        }
        assert inside == REPLACED_MODULES
    assert all((PROJECT / file).is_file() for pair in REPLACED_MODULES.items() for file in pair)


@pytest.mark.parametrize("page", ["/live", "/pipeline", "/lab/wire", "/api/live/state", "/live#faults"])
def test_a_link_to_a_page_of_a_server_leads_to_the_page_that_says_so(page):
    file = as_file(f'<a href="{page}">x</a>', "zh/lab/three-locks", "zh/")
    assert 'href="../../../zh/needs-a-server/"' in file


def test_pages_of_a_server_are_not_in_the_navigation(files):
    navigation = re.search(r'<nav class="site-parts.*?</nav>', files["index.html"], re.DOTALL)[0]
    assert re.findall(r'href="([^"]+)"', navigation) == ["./tutorials/", "./lab/", "./storage/", "./filters/"]


def test_the_import_map_is_the_only_script_in_a_page_that_its_policy_allows(files):
    for page in files.values():
        policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]+)"', page)[1]
        assert "'unsafe-eval'" not in policy and "nonce" not in page
        assert len(re.findall(r"'sha256-[^']+'", policy)) == 1


def test_a_stage_knows_before_it_is_drawn_whether_another_page_holds_it_in_a_frame(files):
    for path, page in files.items():
        scripts = re.findall(r'<body[^>]*><script src="([^"]+)"></script>', page)
        assert len(scripts) == ("lab/three-locks" in path)
