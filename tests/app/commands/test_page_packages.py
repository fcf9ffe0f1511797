"""``glassmq serve`` where the packages of the page are not installed."""

import importlib.util

from click.testing import CliRunner

from app.command_line import main
from app.server import missing_page_package


def test_a_missing_package_of_the_page_names_what_to_install(monkeypatch, tmp_path):
    assert missing_page_package() is None
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "flask_socketio" else find_spec(name))
    result = CliRunner().invoke(main, ["serve", "--data", str(tmp_path)])
    assert result.exit_code == 1
    assert "flask_socketio: pip install 'glassmq[page]', or serve without it: --no-page" in result.output
