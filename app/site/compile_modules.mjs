// Compiles Python's modules with the Python that will run them: node compile_modules.mjs PYODIDE FOLDER UNUSED
// Each FOLDER/x.py becomes a FOLDER/x.pyc, which calls itself /glassmq/x.py. Pyodide brings Python's library as
// sources: what it needs to start becomes FOLDER/python_stdlib.zip, the rest FOLDER/stdlib, except what the pattern
// UNUSED matches. Docstrings, which nothing reads there, are left out; asserts stay. The tables of line numbers, a
// third of a packed module, stay in engine and app only: a traceback names functions of libraries without their lines.
// A dataclass writes its methods as source and compiles them, a quarter of the time of all imports:
// FOLDER/dataclasses.marshal has the compiled methods of each source.
import { pathToFileURL } from "node:url";

const [pyodide, folder, unused] = process.argv.slice(2);
const { loadPyodide } = await import(pathToFileURL(`${pyodide}/pyodide.mjs`));
const python = await loadPyodide();
python.mountNodeFS("/modules", folder);
python.globals.set("unused", unused);
python.runPython(`
from compression import zstd  # static/site/python.js unpacks with it
import sys

needed_to_start = {name.partition(".")[0] for name in sys.modules}

import ast, dataclasses, marshal, re
from types import CodeType
from importlib._bootstrap_external import _code_to_hash_pyc
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

def without_docstrings(tree):
    for node in ast.walk(tree):
        is_documented = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        if is_documented and ast.get_docstring(node, clean=False) is not None:
            [text, *rest] = node.body
            if isinstance(node, ast.ClassDef):
                # A dataclass without a docstring derives one from its signature, which takes as long as its methods.
                text.value = ast.copy_location(ast.Constant("-"), text.value)
            else:
                node.body = rest or [ast.copy_location(ast.Pass(), text)]
    return tree

def without_lines(code):
    constants = tuple(without_lines(each) if isinstance(each, CodeType) else each for each in code.co_consts)
    return code.replace(co_linetable=b"", co_consts=constants)

def compiled(source, name):
    code = compile(without_docstrings(ast.parse(source, name)), name, "exec", dont_inherit=True)
    is_own = name.startswith(("/glassmq/engine/", "/glassmq/app/"))
    return _code_to_hash_pyc(code if is_own else without_lines(code), bytes(8), False)

for file in list(Path("/modules").rglob("*.py")):
    file.with_suffix(".pyc").write_bytes(compiled(file.read_bytes(), f"/glassmq/{file.relative_to('/modules')}"))
    file.unlink()

library = next(path for path in sys.path if path.endswith(".zip"))
with ZipFile(library) as sources, ZipFile("/modules/python_stdlib.zip", "w") as start:
    for path in sources.namelist():
        if not path.endswith(".py") or re.match(unused, path):
            continue
        module = compiled(sources.read(path), f"{library}/{path}")
        if re.split("[/.]", path)[0] in needed_to_start:
            start.writestr(ZipInfo(f"{path}c"), module, ZIP_DEFLATED, 9)
        else:
            file = Path("/modules/stdlib", f"{path}c")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(module)

methods = {}

def compile_and_note(source, *names):
    methods[source] = without_lines(compile(source, "<dataclass>", "exec"))
    exec(methods[source], *names)

dataclasses.exec = compile_and_note
sys.path.insert(0, "/modules")
import app.site.worker
Path("/modules/dataclasses.marshal").write_bytes(marshal.dumps(methods))
`);
