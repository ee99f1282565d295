"""Every regular expression of the tree, read from its source without importing it."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOTS = ("relserve", "duckdb_ext/relserve_duckdb", "kernels/relserve_kernels", "lab", "training")
CALLS = ("match", "fullmatch", "search", "findall", "finditer", "sub", "subn", "split")
PUT_IN = "put_in"  # in the place of what only a run tells


class Unknown(Exception):
    """The text of a pattern cannot be told from the source."""


@dataclass(frozen=True)
class Pattern:
    """A pattern where it stands.

    Attributes:
        methods: the ways in which it is used; all of them where that cannot be told.
    """

    place: str
    text: str | bytes
    flags: int
    methods: tuple[str, ...]


class Tree:
    """The sources below some folders."""

    def __init__(self, root: Path) -> None:
        files = [path for each in ROOTS for path in sorted((root / each).rglob("*.py"))]
        trees = {str(path.relative_to(root)): ast.parse(path.read_text("utf-8")) for path in files}
        self._nodes = {place: list(ast.walk(tree)) for place, tree in trees.items()}  # a walk takes a second
        self._constants = {place: _constants(tree) for place, tree in trees.items()}
        self._methods = {place: _used(nodes) for place, nodes in self._nodes.items()}

    def patterns(self) -> tuple[list[Pattern], list[str]]:
        """All patterns, and the places of those whose text only a run tells."""
        found, unknown = [], []
        for place, nodes in self._nodes.items():
            for node in nodes:
                if (called := _function(node)) is None or not isinstance(node, ast.Call):
                    continue
                where = f"{place}:{node.lineno}"
                try:
                    text, flags = self._text(node.args[0], place), self._flags(called, node)
                except Unknown:
                    unknown.append(where)
                    continue
                methods = (called,) if called != "compile" else self._methods_of(node, place)
                found.append(Pattern(where, text, flags, methods))
        return found, unknown

    def _text(self, node: ast.expr, place: str) -> Any:
        match node:
            case ast.Constant(value=(str() | bytes()) as value):
                return value
            case ast.JoinedStr():
                return "".join(self._part(each, place) for each in node.values)
            case ast.BinOp(op=ast.Add()):
                return self._text(node.left, place) + self._text(node.right, place)
            case ast.Name():
                module, name = self._defined(node.id, place)
                return self._text(self._constants[module][name], module)
            case ast.Call(func=ast.Attribute(attr="replace", value=text), args=[old, new]):
                given = [self._text(each, place) for each in (text, old, new)]
                return given[0].replace(given[1], given[2])
            case ast.Call(func=ast.Attribute(attr="join", value=between), args=[each]):
                return self._text(between, place).join(self._items(each, place))
        raise Unknown(ast.dump(node))

    def _part(self, node: ast.expr, place: str) -> str:
        """A part of an f-string; what is escaped or a local's becomes a word."""
        if isinstance(node, ast.FormattedValue):
            try:
                return str(self._text(node.value, place))
            except Unknown:
                return PUT_IN
        return str(self._text(node, place))

    def _items(self, node: ast.expr, place: str) -> list[str]:
        try:
            if isinstance(node, ast.Name):
                module, name = self._defined(node.id, place)
                node, place = self._constants[module][name], module
            if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
                return [self._text(each, place) for each in node.elts]
        except Unknown:
            pass
        return [PUT_IN, PUT_IN + "2"]

    def _defined(self, name: str, place: str) -> tuple[str, str]:
        """The module and name of a module's constant, which may come from another one."""
        if name in self._constants[place]:
            return place, name
        for node in self._nodes[place]:
            if isinstance(node, ast.ImportFrom) and node.module:
                for each in node.names:
                    if (each.asname or each.name) == name:
                        for prefix in ("", "duckdb_ext/", "kernels/"):
                            module = f"{prefix}{node.module.replace('.', '/')}.py"
                            if module in self._constants:
                                return self._defined(each.name, module)
        raise Unknown(name)

    def _flags(self, called: str, node: ast.Call) -> int:
        at = {"compile": 1, "sub": 4, "subn": 4, "split": 3}.get(called, 2)
        given = [each.value for each in node.keywords if each.arg == "flags"] or node.args[at : at + 1]
        names = [each.attr for part in given for each in ast.walk(part) if isinstance(each, ast.Attribute)]
        return int(sum({getattr(re, name) for name in names}))

    def _methods_of(self, call: ast.Call, place: str) -> tuple[str, ...]:
        for node in self._nodes[place]:
            if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is call:
                target = node.targets[0] if isinstance(node, ast.Assign) else node.target
                name = getattr(target, "id", None) or getattr(target, "attr", "")
                places = [place] if name.startswith("_") else self._methods
                return tuple(sorted(set().union(*(self._methods[each][name] for each in places)))) or CALLS
        return CALLS


def _function(node: ast.AST) -> str | None:
    """The function of `re` that a node calls."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
        owner = node.func.value
        if isinstance(owner, ast.Name) and owner.id == "re" and node.func.attr in (*CALLS, "compile"):
            return node.func.attr
    return None


def _used(nodes: list[ast.AST]) -> dict[str, set[str]]:
    """By the names of compiled patterns, the methods that a module calls on them."""
    used: dict[str, set[str]] = defaultdict(set)
    for node in nodes:
        if isinstance(node, ast.Attribute) and node.attr in CALLS:
            if isinstance(node.value, ast.Name):
                used[node.value.id].add(node.attr)
            elif isinstance(node.value, ast.Attribute):
                used[node.value.attr].add(node.attr)
    return used


def _constants(tree: ast.Module) -> dict[str, ast.expr]:
    return dict(_assigned(tree))


def _assigned(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    for node in tree.body:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    yield target.id, node.value
                elif isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                    yield from (
                        (each.id, value)
                        for each, value in zip(target.elts, node.value.elts, strict=False)
                        if isinstance(each, ast.Name)
                    )
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            yield node.target.id, node.value
