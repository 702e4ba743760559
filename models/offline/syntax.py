"""A CUDA source as a syntax tree: its kernels, launches, index expressions and who reads and writes what."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from tree_sitter import Node

from ...tools.cuda_syntax import parse
from ...tools.cuda_syntax import text as text
from ...tools.cuda_syntax import walk as walk
from ...tools.polynomial import Poly as Poly
from ...tools.polynomial import add as add
from ...tools.polynomial import multiply as multiply

SIZES = {
    "float": 4, "int": 4, "unsigned": 4, "unsigned int": 4, "int32_t": 4, "uint32_t": 4,
    "__nv_bfloat16": 2, "nv_bfloat16": 2, "unsigned short": 2, "short": 2, "uint16_t": 2, "__half": 2,
    "double": 8, "long long": 8,
}  # fmt: skip
"""Bytes of the element types that rules know."""

BF16 = {"__nv_bfloat16", "nv_bfloat16"}

PURE = {
    "__bfloat162float", "__float2bfloat16", "__float2bfloat16_rn", "__bfloat16_as_ushort", "__ushort_as_bfloat16",
    "abs", "fabs", "fabsf", "fmax", "fmaxf", "fmin", "fminf", "max", "min", "sqrt", "sqrtf", "rsqrt", "rsqrtf", "exp",
    "expf", "__expf", "exp2f", "log", "logf", "__logf", "log2f", "log1p", "log1pf", "pow", "powf", "sin", "sinf", "cos",
    "cosf", "tan", "tanf", "tanh", "tanhf", "erf", "erff", "isinf", "isnan", "isfinite", "fma", "fmaf", "floorf",
    "floor", "ceil", "__ldg", "__fdividef", "cbrtf", "expm1f", "expm1", "copysignf", "float", "int", "double",
    "__low2float", "__high2float", "round", "roundf", "ceilf",
}  # fmt: skip
"""Functions that touch no memory but their arguments."""


def squeezed(node: Node | None) -> str:
    """Return a node's source text without white space."""
    return re.sub(r"\s+", "", text(node))


def edited(source: str, edits: Iterable[tuple[int, int, str]]) -> str:
    """Replace byte ranges of a source. Ranges must not overlap."""
    data = source.encode()
    for start, end, new in sorted(edits, key=lambda e: (e[0], e[1]), reverse=True):
        data = data[:start] + new.encode() + data[end:]
    return data.decode()


def substitute(source: str, names: dict[str, str]) -> str:
    """Replace whole identifiers in a piece of code (never after `.` or `->`, nor in strings)."""
    if not names:
        return source
    pattern = rf"(?<![\w.])(?<!->)({'|'.join(map(re.escape, sorted(names, key=len, reverse=True)))})(?!\w)"
    return re.sub(pattern, lambda m: names[m[1]], source)


@dataclass(frozen=True)
class Parameter:
    """A kernel's parameter."""

    name: str
    type: str
    """Element type of a pointer, else the type; qualifiers left out."""
    pointer: bool
    const: bool
    volatile: bool
    restrict: bool
    node: Node = field(compare=False, repr=False)


@dataclass(frozen=True)
class Access:
    """One subscript of an array that can be traced to a parameter: `root[index]`."""

    root: str
    index: Poly = field(compare=False)
    node: Node = field(compare=False, repr=False)
    written: bool = False
    read: bool = False


class Kernel:
    """A `__global__` function."""

    def __init__(self, source: Source, node: Node) -> None:
        self.source = source
        self.node = node
        declarator = node.child_by_field_name("declarator")
        assert declarator is not None
        self.declarator = declarator
        self.name = text(declarator.child_by_field_name("declarator"))
        body = node.child_by_field_name("body")
        assert body is not None
        self.body = body
        parent = node.parent
        self.template = parent if parent is not None and parent.type == "template_declaration" else None
        self.outer = self.template or node
        """The definition with its template line."""

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters, in order."""
        listed = self.declarator.child_by_field_name("parameters")
        found = []
        for node in listed.named_children if listed is not None else []:
            if node.type != "parameter_declaration":
                continue
            declarator = node.child_by_field_name("declarator")
            names = list(walk(declarator)) if declarator is not None else []
            name = next((text(n) for n in names if n.type == "identifier"), "")
            whole = text(node)
            found.append(
                Parameter(
                    name=name,
                    type=self.source.plain_type(text(node.child_by_field_name("type"))),
                    pointer="*" in whole,
                    const=bool(re.search(r"\bconst\b[^*]*\*", whole)),
                    volatile=bool(re.search(r"\bvolatile\b", whole)),
                    restrict="restrict" in whole,
                    node=node,
                )
            )
        return tuple(found)

    def parameter(self, name: str) -> Parameter | None:
        """Return a parameter by name."""
        return next((p for p in self.parameters if p.name == name), None)

    @cached_property
    def statements(self) -> tuple[Node, ...]:
        """The statements of the body."""
        return statements(self.body)

    @cached_property
    def assigned(self) -> frozenset[str]:
        """Names that are assigned, incremented or have their address taken after their declaration."""
        return assigned_names(self.body)

    @cached_property
    def locals(self) -> dict[str, Node]:
        """Local variables declared once with a value and never changed: name → value."""
        found: dict[str, Node] = {}
        twice: set[str] = set()
        for node in walk(self.body):
            if node.type == "init_declarator":
                name = declared_name(node)
                value = node.child_by_field_name("value")
                if name in found or value is None:
                    twice.add(name)
                else:
                    found[name] = value
        return {n: v for n, v in found.items() if n not in twice and n not in self.assigned}

    @cached_property
    def declared(self) -> dict[str, str]:
        """Local variables and their types (the first declaration of each name)."""
        found: dict[str, str] = {}
        for node in walk(self.body):
            if node.type == "declaration":
                kind = self.source.plain_type(text(node.child_by_field_name("type")))
                for child in node.children_by_field_name("declarator"):
                    name = declared_name(child)
                    pointer = "*" if "*" in text(child).split("=")[0] else ""
                    found.setdefault(name, kind + pointer)
        return found

    def poly(self, node: Node | None, kept: str = "") -> Poly:
        """Return an expression as a polynomial, constant locals (but `kept`) replaced by their values."""
        scope = {name: value for name, value in self.locals.items() if name != kept} if kept else self.locals
        return polynomial(node, scope)

    @cached_property
    def accesses(self) -> tuple[Access, ...]:
        """All subscripts whose array is a parameter, or a local pointer into one."""
        return tuple(self.accesses_in(self.body))

    def accesses_in(self, node: Node, kept: str = "") -> list[Access]:
        """Return the traced subscripts below a node; their indices name `kept` even if it has a known value."""
        found = []
        pointers = {p.name for p in self.parameters if p.pointer}
        for sub in walk(node):
            place = None
            if sub.type == "subscript_expression":
                place = self.poly(sub.child_by_field_name("argument"), kept), self.poly(subscript_index(sub), kept)
            elif sub.type == "pointer_expression" and text(sub).startswith("*"):
                place = self.poly(sub.child_by_field_name("argument"), kept), {}
            if place is None:
                continue
            base, index = place
            roots = [a for a in base if len(a) == 1 and a[0] in pointers]
            if len(roots) != 1 or base[roots[0]] != 1:
                continue
            offset = {k: v for k, v in base.items() if k != roots[0]}
            written, read = how_used(sub)
            found.append(Access(roots[0][0], add(offset, index), sub, written, read))
        return found

    @cached_property
    def written_roots(self) -> frozenset[str]:
        """Pointer parameters through which the kernel may write (atomics and unknown uses included)."""
        roots = set()
        pointers = {p.name: p for p in self.parameters if p.pointer}
        traced = {id_of(n) for a in self.accesses for n in walk(a.node) if n.type == "identifier"}
        for access in self.accesses:
            if access.written:
                roots.add(access.root)
        for node in walk(self.body):
            named = node.type == "identifier" and text(node) in pointers and not pointers[text(node)].const
            if named and id_of(node) not in traced and not self.only_offset(node):
                roots.add(text(node))
            if node.type == "call_expression" and text(node.child_by_field_name("function")).startswith("atomic"):
                listed = node.child_by_field_name("arguments")
                target = listed.named_children[0] if listed is not None and listed.named_children else None
                roots |= {text(n) for n in _outside_subscripts(target) if text(n) in pointers}
        return frozenset(roots)

    def only_offset(self, node: Node) -> bool:
        """Return whether a pointer is named only to make a traced local pointer from it."""
        up: Node | None = node
        while up is not None and up.type != "init_declarator":
            up = up.parent
        return up is not None and declared_name(up) in self.locals

    def uses(self, *words: str) -> bool:
        """Return whether the kernel names one of these identifiers or fields (`threadIdx.y`)."""
        code = re.sub(r"\s+", "", code_only(text(self.node)))
        return any(re.search(rf"(?<!\w){re.escape(w)}(?!\w)", code) for w in words)

    @cached_property
    def cooperates(self) -> bool:
        """Threads depend on one another: shared memory, barriers, warp operations, atomics."""
        code = code_only(text(self.node))
        return bool(
            re.search(r"__shared__|__sync|__shfl|__ballot|__any|__all|atomic[A-Z]|cooperative_groups|\bcg::", code)
        )

    @cached_property
    def meets(self) -> bool:
        """Threads meet or trade values: shared memory, barriers, warp operations (atomics do not count)."""
        code = code_only(text(self.node))
        return bool(re.search(r"__shared__|__sync|__shfl|__ballot|__any|__all|cooperative_groups|\bcg::", code))

    @cached_property
    def launches(self) -> tuple[Launch, ...]:
        """Where it is launched."""
        return tuple(launch for launch in self.source.launches if launch.kernel == self.name)


@dataclass(frozen=True)
class Launch:
    """One `kernel<<<grid, block, shared, stream>>>(arguments)`."""

    kernel: str
    node: Node = field(repr=False)
    function: Node = field(repr=False)
    configuration: tuple[Node, ...] = field(repr=False)
    arguments: tuple[Node, ...] = field(repr=False)
    host: Node | None = field(repr=False)
    """The function that launches."""

    @property
    def statement(self) -> Node:
        """The whole statement."""
        node = self.node
        while node.parent is not None and not node.type.endswith("statement"):
            node = node.parent
        return node

    def argument(self, kernel: Kernel, name: str) -> str:
        """Return what is passed for a parameter, as text."""
        for parameter, node in zip(kernel.parameters, self.arguments, strict=False):
            if parameter.name == name:
                return text(node)
        return ""

    @property
    def stream(self) -> str:
        """The stream argument, `0` if there is none."""
        return text(self.configuration[3]) if len(self.configuration) > 3 else "0"


class Source:
    """A parsed `.cu` file."""

    def __init__(self, source: str) -> None:
        self.text = source
        self.root = parse(source)

    @cached_property
    def functions(self) -> dict[str, Node]:
        """All function definitions by name."""
        found = {}
        todo = [self.root]
        while todo:
            node = todo.pop()
            if node.type != "function_definition":
                todo.extend(reversed(node.named_children))
                continue
            declarator = node.child_by_field_name("declarator")
            while declarator is not None and declarator.type != "function_declarator":
                declarator = declarator.child_by_field_name("declarator")
            if declarator is not None:
                found[text(declarator.child_by_field_name("declarator"))] = node
        return found

    @cached_property
    def kernels(self) -> tuple[Kernel, ...]:
        """The `__global__` functions, in order."""
        return tuple(
            Kernel(self, node) for node in self.functions.values() if any(c.type == "__global__" for c in node.children)
        )

    def kernel(self, name: str) -> Kernel | None:
        """Return a kernel by name."""
        return next((k for k in self.kernels if k.name == name), None)

    @cached_property
    def launches(self) -> tuple[Launch, ...]:
        """All kernel launches, in source order."""
        found = []
        for node in walk(self.root):
            if node.type != "call_expression":
                continue
            setup = next((c for c in node.children if c.type == "kernel_call_syntax"), None)
            function = node.child_by_field_name("function")
            arguments = node.child_by_field_name("arguments")
            if setup is None or function is None or arguments is None:
                continue
            name = text(function.child_by_field_name("name")) or text(function)
            host: Node | None = node
            while host is not None and host.type != "function_definition":
                host = host.parent
            found.append(
                Launch(
                    name, node, function, tuple(real(setup.named_children)), tuple(real(arguments.named_children)), host
                )
            )
        return tuple(found)

    @cached_property
    def aliases(self) -> dict[str, str]:
        """Type aliases of the file: name → type."""
        found = {}
        for match in re.finditer(r"\btypedef\s+([\w\s:]+?)\s+(\w+)\s*;", self.text):
            found[match[2]] = " ".join(match[1].split())
        for match in re.finditer(r"\busing\s+(\w+)\s*=\s*([\w\s:]+?)\s*;", self.text):
            found[match[1]] = " ".join(match[2].split())
        return found

    def plain_type(self, name: str) -> str:
        """Return a type without aliases and qualifiers."""
        name = " ".join(re.sub(r"\b(const|volatile)\b", "", name).split())
        return self.aliases.get(name, name)

    def pure(self, name: str, seen: frozenset[str] = frozenset()) -> bool:
        """Return whether a function has no effect and reads no memory but its arguments'."""
        if name in PURE:
            return True
        node = self.functions.get(name) or self.functions.get(name.split("::")[-1])
        if node is None or name in seen:
            return False
        code = code_only(text(node)).removeprefix("static ")
        if re.search(
            r"\batomic|__shared__|__sync|__shfl|\bstatic\b|\basm\b|threadIdx|blockIdx|&|\*\s*\w+\s*=[^=]", code
        ):
            return False
        return all(self.pure(called, seen | {name}) for called in calls(node.child_by_field_name("body")))

    @cached_property
    def _code(self) -> str:
        return code_only(self.text)

    def unique(self, name: str) -> str:
        """Return a name that the file does not use: this one, or this one with a number."""
        candidate, number = name, 2
        while re.search(rf"\b{candidate}\b", self._code):
            candidate, number = f"{name}{number}", number + 1
        return candidate

    def constant(self, node: Node | None, host: Node | None) -> int | None:
        """Return the value of a host expression that is a whole number, or a constant of its function or file."""
        if node is None:
            return None
        scope = {}
        for place in (self.root, host):
            for n in walk(place) if place is not None else ():
                value = n.child_by_field_name("value") if n.type == "init_declarator" else None
                if value is not None and (place is host or at_file_level(n)):
                    scope[declared_name(n)] = value
        for name in assigned_names(host) if host is not None else ():
            scope.pop(name, None)
        result = polynomial(node, scope)
        if not result:
            return 0
        return result[()] if set(result) == {()} else None

    def block_of(self, launch: Launch) -> tuple[int | None, int | None, int | None]:
        """Return a launch's block dimensions, as far as they are constants."""
        return self._dimensions(launch, 1)

    def grid_of(self, launch: Launch) -> tuple[int | None, int | None, int | None]:
        """Return a launch's grid dimensions, as far as they are constants."""
        return self._dimensions(launch, 0)

    def _dimensions(self, launch: Launch, which: int) -> tuple[int | None, int | None, int | None]:
        node: Node | None = launch.configuration[which]
        parts = dim3_parts(node, launch.host)
        if parts is None:
            return self.constant(node, launch.host), 1, 1
        values = [self.constant(part, launch.host) for part in parts]
        filled = [*values, 1, 1, 1][:3]
        return filled[0], filled[1], filled[2]


@lru_cache(maxsize=64)
def parsed(code: str) -> Source:
    """Return the source of a text: rules look at the same few texts over and over."""
    return Source(code)


def reread(source: Source, code: str) -> Source:
    """Return a source of this text: the same one, with all that it knows, if the text is the same."""
    return source if code == source.text else parsed(code)


# --- small readers ---------------------------------------------------------------------------------------------------


def code_only(source: str) -> str:
    """Blank out comments and strings."""
    return re.sub(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"", lambda m: " " * len(m[0]), source, flags=re.S)


def real(nodes: Iterable[Node]) -> list[Node]:
    """Leave comments out."""
    return [n for n in nodes if n.type != "comment"]


def statements(node: Node | None) -> tuple[Node, ...]:
    """Return the statements of a block, or the one statement itself."""
    if node is None:
        return ()
    return tuple(real(node.named_children)) if node.type == "compound_statement" else (node,)


def id_of(node: Node) -> tuple[int, int]:
    """Return a node's place: nodes are made anew at each look."""
    return node.start_byte, node.end_byte


def within(node: Node, outer: Node) -> bool:
    """Return whether a node lies inside another."""
    return outer.start_byte <= node.start_byte and node.end_byte <= outer.end_byte


def at_file_level(node: Node) -> bool:
    """Return whether a node is outside all functions."""
    up: Node | None = node
    while up is not None:
        if up.type == "function_definition":
            return False
        up = up.parent
    return True


def declared_name(node: Node) -> str:
    """Return the name that a declarator declares."""
    inner: Node | None = node
    while inner is not None and inner.type not in ("identifier", "field_identifier"):
        step = inner.child_by_field_name("declarator")
        if step is None:
            step = next(
                (c for c in inner.named_children if c.type.endswith("declarator") or c.type == "identifier"), None
            )
        inner = step
    return text(inner)


@lru_cache(maxsize=4096)
def assigned_names(node: Node) -> frozenset[str]:
    """Return names changed after their declaration: assigned, incremented, or with their address taken."""
    found: set[str] = set()
    for sub in walk(node):
        target: Node | None = None
        if sub.type == "assignment_expression":
            target = sub.child_by_field_name("left")
        elif sub.type == "update_expression" or (sub.type == "pointer_expression" and text(sub).startswith("&")):
            target = sub.child_by_field_name("argument")
        while target is not None and target.type in ("parenthesized_expression", "field_expression"):
            inner = target.child_by_field_name("argument")
            target = inner if inner is not None else (target.named_children[0] if target.named_children else None)
        if target is not None and target.type == "identifier":
            found.add(text(target))
    return frozenset(found)


def subscript_index(node: Node) -> Node | None:
    """Return the index of a subscript."""
    listed = node.child_by_field_name("indices")
    return listed.named_children[0] if listed is not None and len(listed.named_children) == 1 else None


def _outside_subscripts(node: Node | None) -> Iterator[Node]:
    """Yield the identifiers below a node but for those that only say where in an array."""
    if node is None:
        return
    if node.type == "identifier":
        yield node
    for child in node.named_children:
        if child.type != "subscript_argument_list":
            yield from _outside_subscripts(child)


def how_used(node: Node) -> tuple[bool, bool]:
    """Return whether an lvalue expression is written, and whether it is read."""
    parent = node.parent
    while parent is not None and parent.type == "parenthesized_expression":
        node, parent = parent, parent.parent
    if parent is None:
        return False, True
    if parent.type == "assignment_expression":
        left = parent.child_by_field_name("left")
        if left is not None and id_of(left) == id_of(node):
            return True, text(parent.child_by_field_name("operator")) != "="
    if parent.type == "update_expression":
        return True, True
    if parent.type == "pointer_expression" and text(parent).startswith("&"):
        return True, True
    return False, True


def comparisons(condition: Node | None, joint: str) -> list[Node] | None:
    """Return the parts that `joint` (`&&` or `||`) ties together; None if one has no operator."""
    if condition is not None and condition.type == "condition_clause":
        condition = condition.child_by_field_name("value")
    while condition is not None and condition.type == "parenthesized_expression":
        condition = condition.named_children[0]
    if condition is None or condition.type != "binary_expression":
        return None
    if text(condition.child_by_field_name("operator")) != joint:
        return [condition]
    sides = [comparisons(condition.child_by_field_name(side), joint) for side in ("left", "right")]
    return None if None in sides else [part for parts in sides for part in parts or ()]


def summed_product(statement: Node) -> tuple[str, Node, Node] | None:
    """Read `total += left * right;`: the total's text and the two factors."""
    added = real(statement.named_children)[0] if statement.type == "expression_statement" else None
    if added is None or added.type != "assignment_expression" or text(added.child_by_field_name("operator")) != "+=":
        return None
    value = added.child_by_field_name("right")
    if value is None or value.type != "binary_expression" or text(value.child_by_field_name("operator")) != "*":
        return None
    left, right = value.child_by_field_name("left"), value.child_by_field_name("right")
    return (text(added.child_by_field_name("left")), left, right) if left is not None and right is not None else None


def calls(node: Node | None) -> set[str]:
    """Return the names of the functions called below a node (casts written as calls included)."""
    found = set()
    for sub in walk(node) if node is not None else ():
        if sub.type == "call_expression":
            function = sub.child_by_field_name("function")
            if function is not None and function.type == "template_function":
                name = text(function.child_by_field_name("name"))
                if name not in ("static_cast", "reinterpret_cast"):
                    found.add(name)
            elif function is not None and function.type != "primitive_type":
                found.add(text(function))
    return found


def dim3_parts(node: Node | None, host: Node | None) -> list[Node] | None:
    """Return the arguments of a `dim3` (written in place, or a local variable of the host function)."""
    if node is None:
        return None
    if node.type == "identifier" and host is not None:
        for sub in walk(host):
            if sub.type == "declaration" and text(sub.child_by_field_name("type")) == "dim3":
                for child in sub.children_by_field_name("declarator"):
                    if declared_name(child) == text(node) and (value := child.child_by_field_name("value")) is not None:
                        return real(value.named_children) if value.type != "call_expression" else _arguments(value)
        return None
    if node.type == "call_expression" and text(node.child_by_field_name("function")) == "dim3":
        return _arguments(node)
    return None


def _arguments(call: Node) -> list[Node]:
    listed = call.child_by_field_name("arguments")
    return real(listed.named_children) if listed is not None else []


# --- polynomials -----------------------------------------------------------------------------------------------------


def polynomial(node: Node | None, scope: dict[str, Node], depth: int = 0) -> Poly:
    """Return an integer (or pointer) expression as a polynomial; what is not + - * becomes an opaque atom."""
    if node is None:
        return {("?",): 1}

    def again(child: Node | None) -> Poly:
        return polynomial(child, scope, depth + 1)

    match node.type:
        case "number_literal":
            digits = re.sub(r"(?i)[ul]+$", "", text(node))
            if re.fullmatch(r"\d+", digits):
                return {(): int(digits)} if int(digits) else {}
        case "identifier":
            if text(node) in scope and depth < 20:
                return again(scope[text(node)])
            return {(text(node),): 1}
        case "parenthesized_expression" if len(node.named_children) == 1:
            return again(node.named_children[0])
        case "cast_expression":
            return again(node.child_by_field_name("value"))
        case "call_expression":
            function = node.child_by_field_name("function")
            arguments = _arguments(node)
            casts = function is not None and (
                function.type == "primitive_type"
                or text(function) in ("size_t", "unsigned", "int")
                or text(function).startswith("static_cast<")
            )
            if casts and len(arguments) == 1:
                return again(arguments[0])
        case "unary_expression" if text(node).startswith("-"):
            return add({}, again(node.child_by_field_name("argument")), -1)
        case "binary_expression":
            left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
            match text(node.child_by_field_name("operator")):
                case "+":
                    return add(again(left), again(right))
                case "-":
                    return add(again(left), again(right), -1)
                case "*":
                    return multiply(again(left), again(right))
    return {(_opaque(node, scope, depth),): 1}


def _opaque(node: Node, scope: dict[str, Node], depth: int) -> str:
    """Return an expression as text, constant locals replaced by their values."""
    names = {text(n) for n in walk(node) if n.type == "identifier" and text(n) in scope}
    if depth > 8 or not names:
        return squeezed(node)
    return substitute(squeezed(node), {n: f"({_opaque(scope[n], scope, depth + 2)})" for n in names})


def shows(poly: Poly, name: str) -> bool:
    """Return whether a polynomial contains an atom, also inside an opaque one."""
    return any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", atom) for key in poly for atom in key)


def coefficient(poly: Poly, name: str) -> Poly:
    """Return what a polynomial's atom is multiplied by (linear terms only)."""
    return {tuple(a for a in key if a != name): v for key, v in poly.items() if key.count(name) == 1}


def without(poly: Poly, name: str) -> Poly:
    """Return the terms that do not hold an atom."""
    return {key: v for key, v in poly.items() if name not in key}
