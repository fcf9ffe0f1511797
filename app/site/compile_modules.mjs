// Compiles Python's modules with the Python that will run them: node compile_modules.mjs PYODIDE FOLDER
// Each FOLDER/x.py gets a FOLDER/x.pyc next to it, which calls itself /glassmq/x.py. Docstrings, which nothing reads
// there, are left out; asserts stay.
import { pathToFileURL } from "node:url";

const [pyodide, folder] = process.argv.slice(2);
const { loadPyodide } = await import(pathToFileURL(`${pyodide}/pyodide.mjs`));
const python = await loadPyodide();
python.mountNodeFS("/modules", folder);
python.runPython(`
import ast
from importlib._bootstrap_external import _code_to_hash_pyc
from pathlib import Path

def without_docstrings(tree):
    for node in ast.walk(tree):
        is_documented = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        if is_documented and ast.get_docstring(node, clean=False) is not None:
            [text, *rest] = node.body
            node.body = rest or [ast.copy_location(ast.Pass(), text)]
    return tree

for file in Path("/modules").rglob("*.py"):
    name = f"/glassmq/{file.relative_to('/modules')}"
    code = compile(without_docstrings(ast.parse(file.read_bytes(), name)), name, "exec", dont_inherit=True)
    file.with_suffix(".pyc").write_bytes(_code_to_hash_pyc(code, bytes(8), False))
`);
