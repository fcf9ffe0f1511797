"""What engine code may not do, because the same seed must give the same run, and who does it.

Time, chance, files and the network come from the ``Runtime`` port. Sets are for membership: their order depends
on addresses and on PYTHONHASHSEED, so code that walks one runs differently each time. The checks read the syntax
tree; a set that reaches a loop through a function call goes unseen, a run under several hash seeds finds it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

FORBIDDEN_MODULES = {
    "glob": "runtime.disk",
    "mmap": "runtime.disk",
    "multiprocessing": "asyncio tasks",
    "os": "runtime.disk",
    "secrets": "runtime.random_for",
    "shutil": "runtime.disk",
    "socket": "runtime.network",
    "subprocess": "nothing: the engine starts no programs",
    "tempfile": "runtime.disk",
    "threading": "asyncio tasks",
    "time": "runtime.clock",
    "uuid": "runtime.random_for",
}
#: From these modules only the named things may be used.
ALLOWED_NAMES = {
    "random": {"Random"},
    "pathlib": {"PurePath", "PurePosixPath"},
    "concurrent.futures": set[str](),
}
FORBIDDEN_CALLS = {
    "open": "runtime.disk",
    "asyncio.as_completed": "future_waits.all_ended: it hands results out in the order of a set",
    "asyncio.open_connection": "runtime.network",
    "asyncio.start_server": "runtime.network",
    "asyncio.to_thread": "runtime.call_listener",
    "asyncio.gather": "future_waits.all_ended: gather runs another number of callbacks in each Python version",
    "asyncio.shield": "future_waits.shield: shield runs another number of callbacks from Python 3.14 on",
    "asyncio.wait": "future_waits.all_ended: it walks a set of tasks",
    "asyncio.wait_for": "asyncio.timeout: wait_for takes a different number of steps in each Python version",
}
#: Methods that are wrong whatever they are called on.
FORBIDDEN_METHODS = {
    "call_soon_threadsafe": "call_soon: the engine has one thread",
    "run_in_executor": "runtime.call_listener",
    "today": "runtime.clock",
    "utcnow": "runtime.clock",
}
DATE_CLASSES = {"datetime", "date"}

SET_TYPES = {"set", "frozenset", "Set", "AbstractSet", "MutableSet", "FrozenSet"}
SET_METHODS = {"union", "intersection", "difference", "symmetric_difference", "copy"}
SET_OPERATORS = (ast.BitOr, ast.BitAnd, ast.Sub, ast.BitXor)
#: Callables that keep the order in which they meet the elements.
ORDER_KEEPING_CALLS = {"list", "tuple", "enumerate", "iter", "zip", "map", "filter", "reversed", "deque"}
ORDER_KEEPING_METHODS = {"join", "extend", "fromkeys"}
#: Callables whose result does not depend on that order.
ORDER_FREE_CALLS = {"sorted", "min", "max", "any", "all", "len", "set", "frozenset"}

Function = ast.FunctionDef | ast.AsyncFunctionDef


def broken_rules(source: str, name: str) -> list[str]:
    """One line, ``name:line what (what to use instead)``, for each place in ``source`` that breaks a rule."""
    checker = _RuleChecker()
    checker.visit(ast.parse(source))
    return [f"{name}:{line} {what}" for line, what in sorted(set(checker.findings))]


def _dotted_name(node: ast.expr) -> str:
    """``a.b.c`` for such an expression, else an empty string."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        base = _dotted_name(node.value)
        return f"{base}.{node.attr}" if base else ""
    return ""


def _is_set_annotation(annotation: ast.expr | None) -> bool:
    """True for ``set``, ``set[str]``, ``AbstractSet[str]``, ``set[str] | None``."""
    if isinstance(annotation, ast.Subscript):
        return _is_set_annotation(annotation.value)
    if isinstance(annotation, ast.BinOp):
        return _is_set_annotation(annotation.left) or _is_set_annotation(annotation.right)
    return annotation is not None and _dotted_name(annotation).rpartition(".")[2] in SET_TYPES


def _own_nodes(scope: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a scope without those of the functions and classes inside it."""
    for child in ast.iter_child_nodes(scope):
        yield child
        if not isinstance(child, Function | ast.ClassDef | ast.Lambda):
            yield from _own_nodes(child)


class _SetNames:
    """The names (``x``, ``self.x``) that hold sets wherever they are assigned."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self.names = set(names)

    def learn(self, nodes: list[ast.AST]) -> None:
        """Add what the annotations and assignments in ``nodes`` tell."""
        values: dict[str, list[ast.expr]] = {}
        annotated: set[str] = set()
        for node in nodes:
            if isinstance(node, ast.arg):
                self._decide(node.arg, _is_set_annotation(node.annotation))
            elif isinstance(node, ast.AnnAssign) and (name := _dotted_name(node.target)):
                annotated.add(name)
                self._decide(name, _is_set_annotation(node.annotation))
            elif isinstance(node, ast.Assign):
                for target in node.targets:
                    values.setdefault(_dotted_name(target), []).append(node.value)
        for name, assigned in values.items():
            if name and name not in annotated:
                self._decide(name, all(self.is_set(value) for value in assigned))

    def _decide(self, name: str, holds_set: bool) -> None:
        if holds_set:
            self.names.add(name)
        else:
            self.names.discard(name)

    def is_set(self, node: ast.expr) -> bool:
        """True when the value of ``node`` is known to be a set."""
        match node:
            case ast.Set() | ast.SetComp():
                return True
            case ast.Call(func=ast.Name(id=name)):
                return name in ("set", "frozenset")
            case ast.Call(func=ast.Attribute(value=value, attr=attribute)):
                return attribute in SET_METHODS and self.is_set(value)
            case ast.BinOp(left=left, op=operator, right=right) if isinstance(operator, SET_OPERATORS):
                return any(self.is_set(side) or self._is_keys_view(side) for side in (left, right))
            case ast.IfExp(body=body, orelse=otherwise):
                return self.is_set(body) or self.is_set(otherwise)
            case ast.NamedExpr(value=value):
                return self.is_set(value)
        return _dotted_name(node) in self.names

    @staticmethod
    def _is_keys_view(node: ast.expr) -> bool:
        return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "keys"


class _RuleChecker(ast.NodeVisitor):
    """Walks a module and collects ``(line, what is wrong)`` in ``findings``."""

    def __init__(self) -> None:
        self.findings: list[tuple[int, str]] = []
        self._scopes: list[_SetNames] = [_SetNames()]
        self._functions: list[str] = []
        self._imported_modules: set[str] = set()
        self._order_free: list[ast.expr] = []

    def _report(self, node: ast.expr | ast.stmt, what: str) -> None:
        self.findings.append((node.lineno, what))

    # ------------------------------------------------------------------------------------------------- scopes

    def visit_Module(self, node: ast.Module) -> None:
        self._visit_scope(node, list(_own_nodes(node)))

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        fields = [child for child in _own_nodes(node) if isinstance(child, ast.AnnAssign)]
        attributes = [child for child in ast.walk(node) if isinstance(child, ast.Assign | ast.AnnAssign)]
        on_self = [child for child in attributes if "self." in ast.unparse(child)]
        inside = _SetNames(self._scopes[-1].names)
        inside.names |= {
            f"self.{_dotted_name(field.target)}" for field in fields if _is_set_annotation(field.annotation)
        }
        inside.learn([*on_self])
        self._scopes.append(inside)
        self.generic_visit(node)
        self._scopes.pop()

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._functions.append(node.name)
        self._visit_scope(node, list(_own_nodes(node)))
        self._functions.pop()

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self._functions.append(node.name)
        self._visit_scope(node, list(_own_nodes(node)))
        self._functions.pop()

    def _visit_scope(self, node: ast.AST, nodes: list[ast.AST]) -> None:
        names = _SetNames(self._scopes[-1].names)
        names.learn([child for child in nodes if not (isinstance(child, ast.Assign) and self._on_self(child))])
        self._scopes.append(names)
        self.generic_visit(node)
        self._scopes.pop()

    @staticmethod
    def _on_self(node: ast.Assign) -> bool:
        """``self.x = ...`` was weighed with the whole class already."""
        return any(_dotted_name(target).startswith("self.") for target in node.targets)

    # ------------------------------------------------------------------------------------ modules and functions

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self._imported_modules.add(alias.name)
            top = alias.name.partition(".")[0]
            if top in FORBIDDEN_MODULES:
                self._report(node, f"imports {top} (use {FORBIDDEN_MODULES[top]})")
            elif alias.asname and alias.name in ALLOWED_NAMES:
                self._report(node, f"imports {alias.name} under another name (hides what is used of it)")

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        module = node.module or ""
        top = module.partition(".")[0]
        if top in FORBIDDEN_MODULES:
            self._report(node, f"imports from {top} (use {FORBIDDEN_MODULES[top]})")
        for alias in node.names:
            full_name = f"{module}.{alias.name}"
            if module in ALLOWED_NAMES and alias.name not in ALLOWED_NAMES[module]:
                self._report(node, f"uses {full_name}")
            if full_name in FORBIDDEN_CALLS:
                self._report(node, f"imports {full_name} (use {FORBIDDEN_CALLS[full_name]})")

    def visit_Attribute(self, node: ast.Attribute) -> None:
        module, _, name = _dotted_name(node).rpartition(".")
        is_restricted = module in ALLOWED_NAMES and name not in ALLOWED_NAMES[module]
        if is_restricted and module in self._imported_modules:  # not a variable that is called like the module
            self._report(node, f"uses {module}.{name}")
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        name = _dotted_name(node.func)
        last = node.func.attr if isinstance(node.func, ast.Attribute) else name
        if name in FORBIDDEN_CALLS:
            self._report(node, f"calls {name} (use {FORBIDDEN_CALLS[name]})")
        elif isinstance(node.func, ast.Attribute) and last in FORBIDDEN_METHODS:
            self._report(node, f"calls .{last} (use {FORBIDDEN_METHODS[last]})")
        elif last == "now" and name.rpartition(".")[0].rpartition(".")[2] in DATE_CLASSES:
            self._report(node, f"calls {name} (use runtime.clock)")
        elif name == "hash" and self._functions[-1:] != ["__hash__"]:
            self._report(node, "calls hash (it differs from process to process; use a digest)")
        elif name in ("Random", "random.Random") and not node.args:
            self._report(node, "makes an unseeded Random (use runtime.random_for)")
        self._check_order_of_arguments(node, name, last)
        if name in ORDER_FREE_CALLS:
            self._order_free += [argument for argument in node.args if isinstance(argument, ast.GeneratorExp)]
        self.generic_visit(node)

    # ------------------------------------------------------------------------------------------ order of sets

    def _check_walk(self, node: ast.expr) -> None:
        if self._scopes[-1].is_set(node):
            self._report(node, f"walks the set `{ast.unparse(node)}` (use a dict, or sorted)")

    def _check_order_of_arguments(self, node: ast.Call, name: str, last: str) -> None:
        is_method = isinstance(node.func, ast.Attribute)
        if name in ORDER_KEEPING_CALLS or (is_method and last in ORDER_KEEPING_METHODS):
            for argument in node.args:
                self._check_walk(argument)
        if isinstance(node.func, ast.Attribute) and last == "pop" and not node.args:
            self._check_walk(node.func.value)

    def visit_For(self, node: ast.For) -> None:
        self._check_walk(node.iter)
        self.generic_visit(node)

    def visit_Starred(self, node: ast.Starred) -> None:
        self._check_walk(node.value)
        self.generic_visit(node)

    def visit_YieldFrom(self, node: ast.YieldFrom) -> None:
        self._check_walk(node.value)
        self.generic_visit(node)

    def visit_ListComp(self, node: ast.ListComp) -> None:
        self._visit_comprehension(node)

    def visit_DictComp(self, node: ast.DictComp) -> None:
        self._visit_comprehension(node)

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> None:
        if any(node is argument for argument in self._order_free):
            self.generic_visit(node)
        else:
            self._visit_comprehension(node)

    def _visit_comprehension(self, node: ast.ListComp | ast.DictComp | ast.GeneratorExp) -> None:
        for generator in node.generators:
            self._check_walk(generator.iter)
        self.generic_visit(node)
