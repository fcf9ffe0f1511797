"""Writes the schema of app/picture as types for the page's modules: ``static/types/picture.d.ts``.

One interface for each TypedDict, with its docstring, and the ``#:`` comment of each key; one type for each name of a
type. All are in the namespace ``Picture``, so that a module needs no import: ``@param {Picture.ProcessQueue} queue``.
``make types`` writes the file, which no commit holds.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path

from engine.client.queues.message_tree import TreeNode

ROOT = Path(__file__).parent.parent
TYPES = ROOT / "static" / "types" / "picture.d.ts"
_PLAIN = {"str": "string", "int": "number", "float": "number", "bool": "boolean"}
_HEAD = """\
// The schema of what the pages show, as types for checked modules. Generated from app/picture by
// `make types`.

declare namespace Picture {
  type JsonValue = null | boolean | number | string | JsonValue[] | { [key: string]: JsonValue };
"""


def picture_types() -> str:
    """Return the content of the file."""
    modules = [path.read_text(encoding="utf-8") for path in sorted((ROOT / "app" / "picture").rglob("*.py"))]
    declarations = [text for source in (*modules, inspect.getsource(TreeNode)) for text in declarations_of(source)]
    names = [re.findall(r"(?:interface|type) (\w+)", text)[0] for text in declarations]
    assert len(set(names)) == len(names), sorted(name for name in set(names) if names.count(name) > 1)
    return "\n".join([_HEAD, *declarations, "}\n"])


def declarations_of(source: str) -> Iterator[str]:
    """Yield the declaration of each class and each name of a type in a module of the schema."""
    lines = source.splitlines()
    for node in ast.parse(source).body:
        if isinstance(node, ast.ClassDef):
            yield _interface(node, lines)
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            comment = _comment(" ".join(_words_above(node.lineno, lines)), "  ")
            yield f"{comment}  type {node.targets[0].id} = {type_of(node.value)};\n"


def _interface(node: ast.ClassDef, lines: list[str]) -> str:
    bases = [base.id for base in node.bases if isinstance(base, ast.Name) and base.id != "TypedDict"]
    head = f"interface {node.name}" + (f" extends {', '.join(bases)}" if bases else "")
    keys = [_key(item, lines) for item in node.body if isinstance(item, ast.AnnAssign)]
    docstring = " ".join((ast.get_docstring(node) or "").split())
    return f"{_comment(docstring, '  ')}  {head} {{\n{''.join(keys)}  }}\n"


def _key(item: ast.AnnAssign, lines: list[str]) -> str:
    assert isinstance(item.target, ast.Name)
    annotation, mark = item.annotation, ""
    if isinstance(annotation, ast.Subscript) and ast.unparse(annotation.value) == "NotRequired":
        annotation, mark = annotation.slice, "?"
    comment = _comment(" ".join(_words_above(item.lineno, lines)), "    ")
    return f"{comment}    {item.target.id}{mark}: {type_of(annotation)};\n"


def _words_above(line: int, lines: list[str]) -> list[str]:
    """Return the ``#:`` comment that ends above ``line``."""
    words: list[str] = []
    while (text := lines[line - 2].strip()).startswith("#:"):
        words.insert(0, text.removeprefix("#:").strip())
        line -= 1
    return words


def _comment(text: str, indent: str) -> str:
    return f"{indent}/** {text} */\n" if text else ""


def type_of(node: ast.expr) -> str:
    """Return the equivalent of an annotation. Raises TypeError for one that has no equivalent."""
    match node:
        case ast.Constant(value=None):
            return "null"
        case ast.Constant(value=str(name)):
            return type_of(ast.parse(name, mode="eval").body)
        case ast.Name(id=name):
            return _PLAIN.get(name, name)
        case ast.BinOp(left=left, right=right):
            return f"{type_of(left)} | {type_of(right)}"
        case ast.Subscript(value=ast.Name(id="list"), slice=item):
            inside = type_of(item)
            return f"({inside})[]" if "|" in inside else f"{inside}[]"
        case ast.Subscript(value=ast.Name(id="dict"), slice=ast.Tuple(elts=[_, item])):
            return f"Record<string, {type_of(item)}>"
        case ast.Subscript(value=ast.Name(id="Literal"), slice=words):
            constants = words.elts if isinstance(words, ast.Tuple) else [words]
            return " | ".join(json.dumps(ast.literal_eval(one)) for one in constants)
        case ast.Call(func=ast.Name(id="TypedDict"), args=[_, ast.Dict(keys=keys, values=values)]):
            # For a key that is a word of Python, such as "from".
            parts = [
                f"{ast.literal_eval(key)}: {type_of(value)}" for key, value in zip(keys, values, strict=True) if key
            ]
            return f"{{ {'; '.join(parts)} }}"
    raise TypeError(f"{ast.unparse(node)} has no equivalent in TypeScript")


if __name__ == "__main__":
    TYPES.write_text(picture_types(), encoding="utf-8")
