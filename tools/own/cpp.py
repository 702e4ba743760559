"""A CUDA source as top-level items: functions with their parameters, types, macros, and who uses whom."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from tree_sitter import Node

from ..cuda_syntax import parse
from ..cuda_syntax import text as text
from ..cuda_syntax import walk as walk
from ..judge.code import code_only

WORD = re.compile(r"[A-Za-z_]\w*")
_SCOPES = frozenset({"namespace_definition", "linkage_specification"})
_CONDITIONAL = frozenset({"preproc_ifdef", "preproc_if"})


def line(node: Node) -> int:
    """Return the 1-based line on which a node begins."""
    return node.start_point[0] + 1


Edit = tuple[int, int, str]
"""Start and end in bytes, and the new text."""


def edited(source: str, edits: Iterable[Edit]) -> str:
    """Replace byte ranges of a source. A range inside one that is replaced as a whole is left out."""
    data = source.encode()
    pieces: list[bytes] = []
    at = 0
    for start, end, new in sorted(edits, key=lambda e: (e[0], -e[1])):
        if start < at:
            continue
        pieces += [data[at:start], new.encode()]
        at = end
    return b"".join([*pieces, data[at:]]).decode()


@dataclass(frozen=True)
class Parameter:
    """One parameter of a function."""

    name: str
    type: str
    """Without qualifiers; of a pointer, the element's type."""
    pointer: bool
    const: bool
    written: str
    """As it stands in the source."""


@dataclass(frozen=True)
class TemplateParameter:
    """One parameter of a template."""

    name: str
    kind: str
    """`typename`, or the type of a value."""
    default: str = ""


@dataclass(frozen=True)
class Function:
    """A function with a body at the top level or in a namespace."""

    name: str
    scope: tuple[str, ...]
    """Namespaces around it, outermost first."""
    kind: Literal["kernel", "device", "host"]
    returns: str
    parameters: tuple[Parameter, ...]
    template: tuple[TemplateParameter, ...]
    node: Node = field(compare=False, repr=False)
    outer: Node = field(compare=False, repr=False)
    """With its template line."""

    @property
    def qualified(self) -> str:
        """The name with its namespaces."""
        return "::".join((*self.scope, self.name))

    @property
    def body(self) -> Node:
        """The compound statement."""
        body = self.node.child_by_field_name("body")
        assert body is not None
        return body

    @property
    def signature(self) -> str:
        """The declaration in one line, for people."""
        head = self.node.text[: self.body.start_byte - self.node.start_byte].decode() if self.node.text else ""
        return " ".join(head.split())


@dataclass(frozen=True, eq=False)
class Item:
    """One thing at the top level or in a namespace."""

    node: Node = field(compare=False, repr=False)
    defines: frozenset[str]
    scope: tuple[str, ...] = ()


class Source:
    """A parsed file."""

    def __init__(self, source: str) -> None:
        self.text = source
        self.root = parse(source)

    @cached_property
    def items(self) -> tuple[Item, ...]:
        """Everything at the top level and in namespaces, in order."""
        return tuple(_items(self.root, ()))

    @cached_property
    def functions(self) -> tuple[Function, ...]:
        """All functions with a body, in order."""
        found = []
        for item in self.items:
            inner = list(walk(item.node)) if item.node.type in _CONDITIONAL else [item.node]
            found += [f for node in inner if (f := _function(node, item.scope))]
        return tuple(found)

    def named(self, name: str) -> list[Function]:
        """Return the functions of a name, with or without its namespaces."""
        return [f for f in self.functions if name in (f.name, f.qualified)]


def _items(node: Node, scope: tuple[str, ...]) -> Iterator[Item]:
    for child in node.named_children:
        body = child.child_by_field_name("body")
        if child.type in _SCOPES and body is not None and body.type == "declaration_list":
            name = text(child.child_by_field_name("name")) if child.type == "namespace_definition" else ""
            yield from _items(body, (*scope, *filter(None, name.split("::"))))
        elif child.type != "comment":
            yield Item(child, frozenset(_defined(child)), scope)


def _defined(node: Node) -> Iterator[str]:
    """Yield the names that an item defines."""
    match node.type:
        case "preproc_def" | "preproc_function_def":
            yield text(node.child_by_field_name("name"))
        case "preproc_ifdef" | "preproc_if" | "preproc_else" | "preproc_elif" | "declaration_list":
            for child in node.named_children:
                yield from _defined(child)
        case "linkage_specification" | "namespace_definition":
            if (body := node.child_by_field_name("body")) is not None:
                yield from _defined(body)
        case "template_declaration":
            for child in node.named_children:
                if child.type != "template_parameter_list":
                    yield from _defined(child)
        case "function_definition":
            yield _declared(node.child_by_field_name("declarator"))
        case "declaration" | "type_definition" | "alias_declaration" | "field_declaration":
            if node.type == "alias_declaration":
                yield text(node.child_by_field_name("name"))
            for child in node.children_by_field_name("declarator"):
                yield _declared(child)
            if (kind := node.child_by_field_name("type")) is not None:
                yield from _defined(kind)
        case "struct_specifier" | "class_specifier" | "union_specifier" | "enum_specifier":
            if node.child_by_field_name("body") is not None:
                yield text(node.child_by_field_name("name")).partition("<")[0]
                yield from (text(n.child_by_field_name("name")) for n in walk(node) if n.type == "enumerator")
        case "concept_definition" | "namespace_alias_definition":
            yield text(node.child_by_field_name("name"))


def _declared(node: Node | None) -> str:
    """Return the name inside a declarator."""
    while node is not None and node.type not in ("identifier", "type_identifier", "field_identifier"):
        if node.type in ("template_function", "qualified_identifier"):
            node = node.child_by_field_name("name")
        else:
            inner = node.child_by_field_name("declarator")
            node = inner if inner is not None else next(
                (c for c in node.named_children if "declarator" in c.type or "identifier" in c.type), None
            )  # fmt: skip
    return text(node)


def _function(node: Node, scope: tuple[str, ...]) -> Function | None:
    """Return the function that an item is."""
    outer = node
    template: tuple[TemplateParameter, ...] = ()
    if node.type == "linkage_specification" and (body := node.child_by_field_name("body")) is not None:
        node = outer = body
    if node.type == "template_declaration":
        template = _template(node.child_by_field_name("parameters"))
        node = next((c for c in node.named_children if c.type == "function_definition"), node)
    declarator = node.child_by_field_name("declarator")
    pointer = declarator is not None and declarator.type == "pointer_declarator"
    if pointer:
        declarator = declarator.child_by_field_name("declarator") if declarator is not None else None
    body = node.child_by_field_name("body")
    if (
        node.type != "function_definition"
        or declarator is None
        or declarator.type != "function_declarator"
        or body is None
        or body.type != "compound_statement"
    ):
        return None
    head = (outer.text or b"")[: declarator.start_byte - outer.start_byte].decode()
    kind: Literal["kernel", "device", "host"] = (
        "kernel" if "__global__" in head else "device" if "__device__" in head else "host"
    )
    listed = declarator.child_by_field_name("parameters")
    return Function(
        name=_declared(declarator),
        scope=scope,
        kind=kind,
        returns=text(node.child_by_field_name("type")) + ("*" if pointer else ""),
        parameters=tuple(
            _parameter(p)
            for p in (listed.named_children if listed is not None else ())
            if p.type in ("parameter_declaration", "optional_parameter_declaration") and text(p) != "void"
        ),
        template=template,
        node=node,
        outer=outer,
    )


_QUALIFIERS = re.compile(r"\b(const|volatile|__restrict__|__restrict|restrict|struct|typename)\b")


def _parameter(node: Node) -> Parameter:
    kind = node.child_by_field_name("type")
    declarator = node.child_by_field_name("declarator")
    name = _declared(declarator) if declarator is not None else ""
    default = node.child_by_field_name("default_value")
    written = (node.text or b"")[: default.start_byte - node.start_byte].decode() if default is not None else text(node)
    written = " ".join(written.rstrip(" =\n").split())
    marks = written[: written.rfind(name)] if name else written
    marks += "[" if declarator is not None and "[" in text(declarator) else ""
    # `__restrict__` confuses the grammar in places: the type is what is left when qualifiers and marks are gone.
    plain = " ".join(_QUALIFIERS.sub(" ", re.sub(r"[*&\[\]]", " ", marks)).split())
    pointer = "*" in marks or "[" in marks
    return Parameter(
        name=name,
        type=plain or text(kind),
        pointer=pointer,
        const=bool(re.search(r"\bconst\b", marks.partition("*")[0])),
        written=written,
    )


def _template(node: Node | None) -> tuple[TemplateParameter, ...]:
    found = []
    for child in node.named_children if node is not None else ():
        written = text(child)
        declared, _, default = written.partition("=")
        words = WORD.findall(declared)
        if not words or child.type == "comment":
            continue
        kind = "typename" if words[0] in ("typename", "class") else " ".join(words[:-1])
        found.append(TemplateParameter(name=words[-1], kind=kind, default=default.strip()))
    return tuple(found)


def words(source: str) -> set[str]:
    """Return the identifiers in a piece of code."""
    return set(WORD.findall(code_only(source)))


@dataclass(frozen=True)
class Launch:
    """`kernel<<<grid, block, shared, stream>>>(arguments)`."""

    kernel: str
    """Its name without namespaces and template arguments."""
    configuration: tuple[str, ...]
    arguments: tuple[str, ...]
    node: Node = field(compare=False, repr=False)
    syntax: Node = field(compare=False, repr=False)
    """What stands in triple brackets."""


def launches(node: Node) -> list[Launch]:
    """Return the kernel launches below a node."""
    found = []
    for call in walk(node):
        syntax = next((c for c in call.named_children if c.type == "kernel_call_syntax"), None)
        if call.type != "call_expression" or syntax is None:
            continue
        function = call.child_by_field_name("function")
        if function is None:
            function = call.named_children[0]
        arguments = call.child_by_field_name("arguments")
        found.append(
            Launch(
                kernel=text(function).partition("<")[0].rpartition("::")[2].strip(),
                configuration=tuple(text(n) for n in syntax.named_children if n.type != "comment"),
                arguments=tuple(
                    text(n) for n in (arguments.named_children if arguments is not None else ()) if n.type != "comment"
                ),
                node=call,
                syntax=syntax,
            )
        )
    return found


def calls(node: Node) -> list[tuple[str, Node]]:
    """Return the plain calls below a node: the name without namespaces and template arguments, and the call."""
    found = []
    for call in walk(node):
        if call.type == "call_expression" and not any(c.type == "kernel_call_syntax" for c in call.named_children):
            name = text(call.child_by_field_name("function"))
            found.append((name.partition("<")[0].rpartition("::")[2].strip(), call))
    return found
