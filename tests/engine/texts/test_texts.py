"""What the engine says stands once, in a catalogue, in every language."""

import ast
import json
import pickle
import re
from functools import cache
from pathlib import Path
from string import Formatter

import pytest

from engine.lab.scenario.command import parse_command
from engine.lab.scenario.errors import CommandRefused
from engine.texts import LANGUAGES, Text, catalogue, joined

ROOT = Path(__file__).parents[3]
FILES = sorted(path for folder in ("engine", "app") for path in (ROOT / folder).rglob("*.py"))


@cache
def nodes():
    """(file, node) of all calls and texts."""
    wanted = (ast.Call, ast.Constant, ast.JoinedStr)
    trees = ((path, ast.parse(path.read_text(encoding="utf-8"))) for path in FILES)
    return [(path, node) for path, tree in trees for node in ast.walk(tree) if isinstance(node, wanted)]


CHINESE = re.compile(r"[\u3000-\u303f\u4e00-\u9fff\uff00-\uffef]")


def placeholders(text):
    return {(name, spec, conversion) for _, name, spec, conversion in Formatter().parse(text) if name is not None}


def names_of(key):
    return {re.split(r"\W", name)[0] for language in LANGUAGES for name, _, _ in placeholders(catalogue(language)[key])}


def test_no_file_of_the_engine_holds_chinese():
    engine = [path for path in FILES if path.is_relative_to(ROOT / "engine")]
    assert [path.name for path in engine if CHINESE.search(path.read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_keys_are_sorted_and_no_sentence_is_empty(language):
    assert list(catalogue(language)) == sorted(catalogue(language))
    assert all(text.strip() for text in catalogue(language).values())


def test_every_language_has_the_same_keys_with_the_same_placeholders():
    english, chinese = catalogue("en"), catalogue("zh")
    assert list(english) == list(chinese)
    assert {key for key in english if placeholders(english[key]) != placeholders(chinese[key])} == set()


def test_chinese_sentences_are_chinese():
    untranslated = [
        key
        for key, text in catalogue("zh").items()
        if text == catalogue("en")[key] and re.search(r"[a-z]{3,} [a-z]{3,} [a-z]{3,}", text)
    ]
    assert untranslated == []


def test_whoever_names_a_key_gives_what_its_sentence_needs():
    wrong = []
    for path, node in nodes():
        if not isinstance(node, ast.Call) or not node.args or any(word.arg is None for word in node.keywords):
            continue
        key = node.args[0]
        if not isinstance(key, ast.Constant) or key.value not in catalogue("en"):
            continue
        if not (isinstance(node.func, ast.Name) and node.func.id == "joined"):
            given = {word.arg for word in node.keywords}
            if names_of(key.value) != given:
                wrong.append(f"{path.name}:{node.lineno} {key.value!r}: {sorted(names_of(key.value) ^ given)}")
    assert wrong == []


def test_every_key_that_is_named_exists():
    rooms = sorted({key.partition(".")[0] for key in catalogue("en")})
    a_key = re.compile(rf"({'|'.join(rooms)})\.[a-z0-9_.-]+(?<!\.)")
    unknown = [
        f"{path.name}:{node.lineno} {node.value!r}"
        for path, node in nodes()
        if isinstance(node, ast.Constant)
        and a_key.fullmatch(str(node.value))
        and node.value not in catalogue("en")
        and path.is_relative_to(ROOT / "engine")
    ]
    assert unknown == []


def test_every_key_that_exists_is_used():
    composed = [node.values for _, node in nodes() if isinstance(node, ast.JoinedStr)]
    parts = {id(part) for values in composed for part in values}
    used = {str(node.value) for _, node in nodes() if isinstance(node, ast.Constant) and id(node) not in parts}
    patterns = {
        "".join(re.escape(str(part.value)) if isinstance(part, ast.Constant) else ".+" for part in values)
        for values in composed
        if isinstance(values[0], ast.Constant)
    }
    # A room whose keys come from elsewhere: `room="job.fault."`.
    patterns |= {re.escape(text) + ".+" for text in used if re.fullmatch(r"[a-z_]+(\.[a-z_-]+)*\.", text)}
    of_keys = re.compile("|".join(sorted(patterns)))
    assert [key for key in catalogue("en") if key not in used and not of_keys.fullmatch(key)] == []


def test_a_text_says_what_it_says_in_every_language():
    text = Text("refusal.scenario_error", where=Text("refusal.line", line=3), message="no")
    assert text == {"en": "line 3: no", "zh": "第 3 行：no"}
    assert str(text) == "line 3: no"
    assert pickle.loads(pickle.dumps(text)) == text
    assert json.loads(json.dumps(dict(text))) == text


@pytest.mark.parametrize("written", [{}, {"a": 1}, {"en": 1}])
def test_a_json_object_that_somebody_wrote_is_quoted_and_not_taken_for_words(written):
    with pytest.raises(CommandRefused) as refused:
        parse_command({"kind": "crash-power", "target": "B1", "torn": written})
    assert f" {written}；" in refused.value.text["zh"]
    with pytest.raises(CommandRefused):
        parse_command(written)


def test_an_unknown_key_is_an_error():
    with pytest.raises(KeyError):
        str(Text("no.such.key"))


def test_several_texts_become_one():
    states = [Text("status.running"), Text("status.paused"), Text("status.off")]
    assert joined("words.or", states) == {"en": "running or paused or off", "zh": "运行中或已暂停或未启动"}
