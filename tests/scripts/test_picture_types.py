"""The types of the pictures for the page's modules, and how many modules are not checked against them yet."""

from __future__ import annotations

import ast
import re

import pytest

from scripts.fetch_page_packages import PROJECT
from scripts.picture_types import declarations_of, picture_types, type_of


def test_each_typed_dict_of_the_schema_has_an_interface():
    sources = [path.read_text(encoding="utf-8") for path in (PROJECT / "app" / "picture").rglob("*.py")]
    classes = {name for source in sources for name in re.findall(r"^class (\w+)", source, re.MULTILINE)}
    assert len(classes) > 100
    assert set(re.findall(r"interface (\w+)", picture_types())) >= classes


@pytest.mark.parametrize(
    ("python", "typescript"),
    [
        ("str", "string"),
        ("int | None", "number | null"),
        ("list[int | None]", "(number | null)[]"),
        ("dict[str, list[Lock]]", "Record<string, Lock[]>"),
        ('Literal["a", "b"]', '"a" | "b"'),
        ('"Node | None"', "Node | null"),
        ('TypedDict("Entries", {"from": int, "rows": list[str]})', "{ from: number; rows: string[] }"),
    ],
)
def test_a_type_of_the_schema_has_its_equivalent(python, typescript):
    assert type_of(ast.parse(python, mode="eval").body) == typescript


def test_a_type_without_equivalent_is_refused():
    with pytest.raises(TypeError, match="set"):
        type_of(ast.parse("set[int]", mode="eval").body)


def test_a_key_carries_its_comment_and_whether_it_may_be_missing():
    keys = "    #: Who\n    #: has it.\n    owner: NotRequired[str]\n    on: bool\n"
    source = f'class Lock(Base):\n    """A lock."""\n\n{keys}'
    (declared,) = declarations_of(source)
    assert declared == (
        "  /** A lock. */\n  interface Lock extends Base {\n"
        "    /** Who has it. */\n    owner?: string;\n    on: boolean;\n  }\n"
    )


def test_the_types_of_every_module_are_checked():
    modules = [path for path in (PROJECT / "static").rglob("*.js") if "vendor" not in path.parts]
    assert len(modules) > 200
    assert [path.name for path in modules if not path.read_text(encoding="utf-8").startswith("// @ts-check\n")] == [], (
        "begin a module with // @ts-check, and run make types"
    )
