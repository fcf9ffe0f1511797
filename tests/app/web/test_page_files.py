"""What browsers keep of a page and what they get compressed: modules of data, versions of static files, gzip."""

from __future__ import annotations

import gzip
import os
import shutil

import pytest

from app.foundation.page_folders import PageFolders
from app.foundation.translator import texts
from app.lab.routes.routes import page_tables
from app.web.compression import SHORTEST_BYTES, add_compression
from app.web.flask_application import create_flask
from app.web.page_modules import page_modules
from app.web_application import WebSettings, create_app
from tests.support.live.fixture_server import FixtureSource
from tests.support.page_files import import_map, module_at

KEPT = "max-age=31536000, immutable"
GZIP = {"Accept-Encoding": "gzip, deflate, br"}


@pytest.fixture
def folders(tmp_path):
    """The page's folders, with static files that a test may change."""
    static = tmp_path / "static"
    (static / "vendor").mkdir(parents=True)
    shutil.copy(PageFolders.find().static / "vendor" / "import-map.json", static / "vendor")
    (static / "entry.js").write_text("import './other.js';")
    (static / "other.js").write_text("export const one = 1;")
    return PageFolders(PageFolders.find().templates, static)


@pytest.fixture
def client(folders):
    server = create_app(FixtureSource(0), WebSettings(folders=folders))
    yield server.app.test_client()
    server.stop()


@pytest.fixture(scope="module")
def real_client():
    server = create_app(FixtureSource(0))
    yield server.app.test_client()
    server.stop()


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_page_names_the_module_of_the_texts_of_its_language(real_client, language):
    address = import_map(real_client.get(f"/?lang={language}").text)["glassmq/texts"]
    assert module_at(real_client, address) == texts(language)
    assert KEPT in real_client.get(address).headers["Cache-Control"]


def test_the_tables_of_the_lab_are_one_module_for_all_its_pages(real_client):
    addresses = {
        import_map(real_client.get(page).text)["glassmq/lab-tables"]
        for page in ("/lab/hello", "/lab/three-locks", "/lab/pair", "/tutorials/01-first-message")
    }
    [address] = addresses
    tables = module_at(real_client, address)
    assert set(tables) == set(page_tables())
    assert set(tables["commands"]) >= {"crash", "restart"}


def test_the_address_of_a_module_changes_with_what_it_holds(folders):
    app = create_flask(folders)
    held = {"a": 1}
    modules = page_modules(app)
    modules.add("numbers", lambda: held)
    before, http = modules.address("numbers"), app.test_client()
    assert module_at(http, before) == {"a": 1}
    held["a"] = 2
    assert modules.address("numbers") != before
    # The page that was loaded before the change still gets numbers, and does not keep them.
    assert module_at(http, before) == {"a": 2}
    assert http.get(before).headers["Cache-Control"] == "no-cache"


@pytest.mark.parametrize(
    "file", ["texts.js", "texts-fr.0123456789ab.js", "texts-en.0123456789ag.js", "texts-en.0123456789ab.js.map", ".js"]
)
def test_an_unknown_module_is_not_found(real_client, file):
    assert real_client.get(f"/modules/{file}").status_code == 404


def test_scripts_are_imported_from_the_address_of_their_version(client):
    imports = import_map(client.get("/").text)
    version = imports["/static/"]
    assert all(address.startswith((version, "/modules/")) for address in imports.values())
    answer = client.get(f"{version}other.js")
    assert answer.text == "export const one = 1;"
    assert KEPT in answer.headers["Cache-Control"]
    assert f'src="{version}common/theme.js"' in client.get("/").text


@pytest.mark.parametrize("change", ["content", "new", "removed", "renamed"])
def test_the_version_changes_with_the_files(client, folders, change):
    before = import_map(client.get("/").text)["/static/"]
    other = folders.static / "other.js"
    match change:
        case "content":
            other.write_text("export const one = 2;")
            os.utime(other, ns=(1, 1))  # a change within the clock's tick
        case "new":
            (folders.static / "new.js").touch()
        case "removed":
            other.unlink()
        case "renamed":
            other.rename(folders.static / "another.js")
    after = import_map(client.get("/").text)["/static/"]
    assert after != before
    # A page that was loaded before the change may go on, but its browser does not keep what it gets.
    assert client.get(f"{before}entry.js").headers["Cache-Control"] == "no-cache"
    assert KEPT in client.get(f"{after}entry.js").headers["Cache-Control"]


@pytest.mark.parametrize("path", ["../templates/base.html", "%2e%2e/templates/base.html", "nothing.js", "vendor"])
def test_versions_hold_nothing_but_the_static_files(client, path):
    version = import_map(client.get("/").text)["/static/"]
    assert client.get(f"{version}{path}").status_code == 404


@pytest.mark.parametrize(
    "path",
    ["/", "/lab", "/tutorials/04-three-locks", "/static/common/theme.js", "/api/live/state", "/static/favicon.svg"],
)
def test_texts_are_compressed_for_browsers_that_take_them_so(real_client, path):
    plain = real_client.get(path)
    answer = real_client.get(path, headers=GZIP)
    assert "Accept-Encoding" in plain.headers["Vary"] and "Content-Encoding" not in plain.headers
    if len(plain.data) < SHORTEST_BYTES:
        assert answer.data == plain.data
        return
    assert answer.headers["Content-Encoding"] == "gzip"
    assert int(answer.headers["Content-Length"]) == len(answer.data) < len(plain.data) / 1.5
    if "nonce" not in plain.text:
        assert gzip.decompress(answer.data) == plain.data
    else:
        assert b"</html>" in gzip.decompress(answer.data)


@pytest.mark.parametrize("header", ["", "identity", "br", "gzip;q=0"])
def test_whoever_does_not_take_gzip_gets_plain_text(real_client, header):
    answer = real_client.get("/", headers={"Accept-Encoding": header})
    assert "Content-Encoding" not in answer.headers
    assert "</html>" in answer.text


def test_a_picture_is_not_compressed_again(real_client):
    answer = real_client.get("/static/lab/pictures/order/three-locks.webp", headers=GZIP)
    assert answer.status_code == 200
    assert "Content-Encoding" not in answer.headers


def test_a_compressed_file_that_did_not_change_is_not_sent_again(real_client):
    tag = real_client.get("/static/common/theme.js", headers=GZIP).headers["ETag"]
    again = real_client.get("/static/common/theme.js", headers={**GZIP, "If-None-Match": tag})
    assert (again.status_code, again.data) == (304, b"")


def test_an_answer_that_is_compressed_already_stays_as_it_is(folders):
    app = create_flask(folders)
    add_compression(app)
    packed = gzip.compress(b"x" * 5000)

    @app.get("/packed")
    def packed_answer():
        return packed, {"Content-Encoding": "gzip", "Content-Type": "text/plain"}

    assert app.test_client().get("/packed", headers=GZIP).data == packed


@pytest.mark.parametrize(
    "page", ["/", "/lab/three-locks", "/tutorials", "/tutorials/04-three-locks", "/live", "/storage"]
)
def test_the_html_of_a_page_is_short(real_client, page):
    assert len(real_client.get(page).data) < 60_000


@pytest.mark.parametrize("page", ["/lab", "/glossary"])
def test_the_html_of_a_long_list_is_short_when_it_is_compressed(real_client, page):
    assert len(real_client.get(page, headers=GZIP).data) < 60_000
