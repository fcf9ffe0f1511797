"""The page of licences names every third-party part that the site contains."""

from __future__ import annotations

import html

import pytest

from app.foundation.page_folders import PageFolders
from app.site.application import LICENCES, create_site_application
from app.site.build import NoPages
from app.site.licences import third_parties
from app.site.pages import page_addresses
from app.site.python_files import MODULES, PACKAGES


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    pyodide = tmp_path_factory.mktemp("pyodide")
    (pyodide / "package.json").write_text('{"version": "1.2.3", "license": "MPL-2.0"}')
    return third_parties(PageFolders.find().static, pyodide)


def test_each_part_has_a_licence_and_each_package_its_text(parts):
    by_name = {part.name: part for part in parts}
    assert (by_name["Pyodide"].version, by_name["Pyodide"].licence) == ("1.2.3", "MPL-2.0")
    assert {"Flask", "Werkzeug", "lark", "PyYAML", "preact", "@preact/signals", "uplot"} <= set(by_name)
    assert len(parts) >= len(PACKAGES) + len(MODULES)
    assert [part.name for part in parts if not part.licence] == []
    assert [part.name for part in parts if not part.text] == ["Pyodide", "CPython"]


def test_the_page_shows_them(parts):
    application = create_site_application(NoPages(), third_parties=parts)
    page = html.unescape(application.app.test_client().get(LICENCES).text)
    application.close()
    assert LICENCES in page_addresses()
    for part in parts:
        assert f"<td>{part.name}</td>" in page
        assert part.text.split("\n")[0] in page
