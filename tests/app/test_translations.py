"""Every text of the page exists in both languages, and no text exists that nobody uses."""

import re
from pathlib import Path
from string import Formatter

import pytest

from app.foundation.translator import Number, texts, translate
from engine.lab.checkers import Anomaly
from engine.texts import LANGUAGES

ROOT = Path(__file__).parents[2]
#: A quoted key: in t("key") of pages and modules, in translate(language, "key"), in tables of keys.
QUOTED_KEY = re.compile(r"""["'`]([a-z][a-z0-9_]*(?:\.[a-z0-9_]+)+)["'`](?!\s*[~+])""")
#: The beginning of a key that is made from a value: `fault.${kind}`, "fault." + kind, 'page.theme_' ~ theme.
BUILT_KEY = re.compile(r"""(?:`([a-z][a-z0-9_]*\.[a-z0-9_.]*)\$\{|["']([a-z][a-z0-9_]*\.[a-z0-9_.]*)["']\s*[~+])""")
#: A key in a call.
CALLED_KEY = re.compile(r"""\bt\(\s*["'`]([a-z][a-z0-9_.]*)["'`]\s*[,)]""")


def sources():
    for folder, suffixes in (("templates", {".html"}), ("static", {".js"}), ("app", {".py"})):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in suffixes and "vendor" not in path.parts:
                yield path


def placeholders(text):
    """The names that the text shows: what only chooses a word, ``{n:one|several}``, may be missing in a translation."""
    return {name for _, name, words, _ in Formatter().parse(text) if name and "|" not in (words or "")}


def test_both_languages_have_the_same_keys():
    assert set(texts("en")) == set(texts("zh"))


@pytest.mark.parametrize("language", LANGUAGES)
def test_keys_are_sorted_and_no_text_is_empty(language):
    assert list(texts(language)) == sorted(texts(language))
    assert all(text.strip() for text in texts(language).values())


def test_translations_have_the_same_placeholders():
    for key, english in texts("en").items():
        assert placeholders(english) == placeholders(texts("zh")[key]), key


def test_chinese_texts_are_chinese():
    untranslated = [
        key
        for key, text in texts("zh").items()
        if text == texts("en")[key] and re.search(r"[a-z]{3,} [a-z]{3,} [a-z]{3,}", text)
    ]
    assert untranslated == []


def test_english_texts_have_straight_apostrophes():
    assert [key for key, text in texts("en").items() if "’" in text] == []  # a Chinese font would draw it wide


def test_every_key_that_is_used_exists():
    known = texts("en")
    missing = []
    for path in sources():
        content = path.read_text(encoding="utf-8")
        missing += [f"{path.relative_to(ROOT)}: {key}" for key in CALLED_KEY.findall(content) if key not in known]
    assert missing == []


def test_every_key_that_exists_is_used():
    used, prefixes = set(), set()
    for path in sources():
        content = path.read_text(encoding="utf-8")
        used.update(QUOTED_KEY.findall(content))
        prefixes.update(first or second for first, second in BUILT_KEY.findall(content))
    unused = [
        key
        for key in texts("en")
        if key not in used
        and re.sub(r"\.(one|other)$", "", key) not in used
        and not any(key.startswith(prefix) for prefix in prefixes)
    ]
    assert unused == []


def test_every_anomaly_has_a_name():
    names = {f"lab.anomaly.{anomaly.value.replace(' ', '_')}" for anomaly in Anomaly}
    assert {key for key in texts("en") if key.startswith("lab.anomaly.")} == names


def test_placeholders_are_filled():
    assert translate("en", "error.not_found", path="/x") == "404: there is nothing at /x"


@pytest.mark.parametrize(("number", "text"), [(0, "0 clients"), (1, "1 client"), (1_234, "1,234 clients")])
def test_a_number_chooses_the_word_for_one_or_for_several(number, text):
    assert translate("en", "verdict.clients", n=Number(number)) == text


def test_an_unknown_key_is_an_error():
    with pytest.raises(KeyError):
        translate("en", "no.such.key")
