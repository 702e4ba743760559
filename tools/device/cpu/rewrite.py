"""Turn CUDA C++ into C++ for the host: launches and `__shared__` become runtime calls; lines keep their numbers."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tree_sitter import Node

from ...cuda_syntax import parse, walk

_HEADERS = Path(__file__).parent / "include"

_REFUSED_INCLUDE: Final = re.compile(
    r"^(cub|thrust|cuda|cutlass|cute|nvtx3|cudnn|nccl|nvshmem)/"
    r"|^(mma|cublas\w*|cusparse\w*|cusolver\w*|cufft\w*|curand\w*|cudnn\w*|nccl|nvToolsExt|cuda_\w+|texture_\w+|surface_\w+|crt/.*|cooperative_groups/.*)\.h(pp)?$"
)
_REFUSED_NAME: Final = (
    (re.compile(r"\b(?:nvcuda|wmma)\s*::"), "wmma (tensor core fragments)"),
    (re.compile(r"\bcub\s*::"), "CUB"),
    (re.compile(r"\bthrust\s*::"), "Thrust"),
    (re.compile(r"\bcuda\s*::\s*(?!std\b)\w+"), "libcu++ (cuda::)"),
    (re.compile(r"__cluster_dims__|\bthis_cluster\b|\bcluster_group\b"), "thread block clusters"),
    (
        re.compile(r"\b(?:texture\s*<|tex[123]D\w*|tex1Dfetch|cudaTextureObject_t|surf[123]D\w*|cudaSurfaceObject_t)"),
        "textures and surfaces",
    ),
    (re.compile(r"\bcuda(?:Graph\w*|StreamBeginCapture|StreamEndCapture)\b"), "CUDA graphs"),
    (re.compile(r"\b__pipeline_\w+"), "asynchronous copies (__pipeline_*)"),
    (re.compile(r"\b__nv_fp8\w*|\b__nv_fp4\w*|\b__nv_fp6\w*"), "fp8, fp6 and fp4 types"),
)


@dataclass(frozen=True)
class Refusal:
    """A construct that the cpu device can't run."""

    line: int
    construct: str


@dataclass(frozen=True)
class HostSource:
    """The rewritten source, and what was learned on the way."""

    text: str
    kernels: dict[str, int]
    """Name of each `__global__` function → the line of its name."""
    unaliased: frozenset[str]
    """Kernels that say `__restrict__` of their pointers."""
    rolled: frozenset[str]
    """Kernels of which every `for` loop that counts up steps by what is known at run time alone."""
    refusals: tuple[Refusal, ...]


def rewrite(source: str) -> HostSource:
    """Rewrite a whole `.cu` file. With refusals the text is empty: there is nothing to compile."""
    return _Rewriter(source).run()


def mask(source: str, *, keep_strings: bool = False) -> str:
    """Return the source with comments, and strings unless kept, blanked out: same length, same lines."""
    out: list[str] = []
    position = 0
    for match in _TEXT.finditer(source):
        out.append(source[position : match.start()])
        text = match.group()
        if text[0] != "/" and keep_strings:
            out.append(text)
        elif text[0] == "/":
            out.append(re.sub(r"[^\n]", " ", text))
        else:
            out.append(text[0] + re.sub(r"[^\n]", " ", text[1:-1]) + text[-1])
        position = match.end()
    out.append(source[position:])
    return "".join(out)


_TEXT: Final = re.compile(
    r"""//(?:\\\n|[^\n])*|/\*.*?\*/|R"(?P<d>[^()\\\s]{0,16})\(.*?\)(?P=d)"|"(?:\\.|[^"\\\n])*"|(?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])*'""",
    re.DOTALL,
)
_OPEN, _CLOSE = "([{", ")]}"


@dataclass(frozen=True)
class _Kernel:
    line: int
    parameters: int
    """Template parameters; 0: not a template."""
    restrict: bool
    rolled: bool


class _Rewriter:
    def __init__(self, source: str) -> None:
        self.source = source
        self.code = mask(source)
        self.starts = [0, *(m.end() for m in re.finditer("\n", source))]
        self.edits: list[tuple[int, int, str]] = []
        self.refusals: list[Refusal] = []
        self.kernels: dict[str, list[_Kernel]] = {}
        self.device_ranges: list[tuple[int, int]] = []
        self.function_ranges: list[tuple[int, int]] = []

    def run(self) -> HostSource:
        self._read_tree()
        live = self._without_device_branches()
        self._refuse(live)
        for match in re.finditer("<<<", live):
            self._launch(match.start())
        for match in re.finditer(r"\bcudaLaunch(?:CooperativeKernel|KernelExC?|Kernel)\b(?=\s*\()", live):
            self._launch_call(match)
        for match in re.finditer(r"\b__shared__\b", self.code):
            self._shared(match.start())
        for match in re.finditer(
            r"(?<!\()\b__noinline__\b", self.code
        ):  # no macro: the C++ library uses the name itself
            self.edits.append((*match.span(), "__attribute__((noinline))"))
        kernels = {name: found[0].line for name, found in self.kernels.items()}
        unaliased = frozenset(name for name, found in self.kernels.items() if found[0].restrict)
        rolled = frozenset(name for name, found in self.kernels.items() if found[0].rolled)
        if self.refusals:
            return HostSource("", kernels, unaliased, rolled, tuple(sorted(self.refusals, key=lambda r: r.line)))
        out: list[str] = ['#line 1 "candidate.cu"\n']
        position = 0
        for start, end, text in sorted(self.edits):
            out += [self.source[position:start], text]
            position = end
        out.append(self.source[position:])
        return HostSource("".join(out), kernels, unaliased, rolled, ())

    def _line(self, position: int) -> int:
        return bisect_right(self.starts, position)

    # --- what the tree tells -----------------------------------------------------------------------------------------

    def _read_tree(self) -> None:
        data, root = self.source.encode(), parse(self.source)
        ascii_only = len(data) == len(self.source)

        def at(byte: int) -> int:
            return byte if ascii_only else len(data[:byte].decode())

        for node in walk(root):
            if node.type in ("function_definition", "lambda_expression"):
                self.function_ranges.append((at(node.start_byte), at(node.end_byte)))
            if node.type not in ("function_definition", "declaration"):
                continue
            body = node.child_by_field_name("body")
            head_end = at(body.start_byte if body is not None else node.end_byte)
            head = self.code[at(node.start_byte) : head_end]
            if re.search(r"\b__(?:global|device)__\b", head) and body is not None and "__host__" not in head:
                self.device_ranges.append((at(body.start_byte), at(body.end_byte)))
            named = re.search(r"\b__global__\b", head)
            if named is None:
                continue
            name = re.search(
                r"([A-Za-z_]\w*)\s*\((?!.*\b__launch_bounds__)",
                re.sub(
                    r"__launch_bounds__\s*\([^()]*(?:\([^()]*\)[^()]*)*\)",
                    lambda m: " " * len(m.group()),
                    head[named.end() :],
                ),
                re.DOTALL,
            )
            if name is None:
                continue
            parameters = 0
            parent = node.parent
            if parent is not None and parent.type == "template_declaration":
                listed = parent.child_by_field_name("parameters")
                parameters = len(listed.named_children) if listed is not None else 0
            steps = [step for n in _loop_steps(node) if "+" in (step := self.code[at(n.start_byte) : at(n.end_byte)])]
            kernel = _Kernel(
                self._line(at(node.start_byte) + named.end() + name.start(1)), parameters, "__restrict" in head,
                bool(steps) and all(_RUNTIME_STEP.search(step) for step in steps),
            )  # fmt: skip
            if body is not None:
                self.kernels.setdefault(name.group(1), []).append(kernel)

    def _without_device_branches(self) -> str:
        """Blank the branches that are compiled for a GPU only: here `__CUDA_ARCH__` is not defined."""
        lines = self.code.split("\n")
        stack: list[bool] = []
        for number, line in enumerate(lines):
            directive = re.match(r"\s*#\s*(if|ifdef|ifndef|elif|else|endif)\b(.*)", line)
            if directive:
                word, condition = directive.groups()
                if word in ("if", "ifdef", "ifndef"):
                    stack.append(_for_gpu_only(word, condition))
                elif word == "endif" and stack:
                    stack.pop()
                elif stack:
                    stack[-1] = word == "elif" and _for_gpu_only("if", condition)
            elif any(stack):
                lines[number] = " " * len(line)
        return "\n".join(lines)

    def _refuse(self, live: str) -> None:
        with_strings = mask(self.source, keep_strings=True)
        for match in re.finditer(r"^[ \t]*#[ \t]*include[ \t]*[<\"]([^>\"\n]+)[>\"]", with_strings, re.MULTILINE):
            name = match.group(1)
            if (
                live[match.start() : match.end()].strip()
                and _REFUSED_INCLUDE.search(name)
                and not (_HEADERS / name).is_file()
            ):
                self.refusals.append(Refusal(self._line(match.start(1)), f"header <{name}>"))
        for match in re.finditer(r"\b(?:asm|__asm__|__asm)\b\s*(?:volatile|__volatile__|\s)*\(\s*", live):
            if not with_strings.startswith('""', match.end()):
                self.refusals.append(Refusal(self._line(match.start()), "inline PTX (asm)"))
        for pattern, construct in _REFUSED_NAME:
            named = pattern.search(live)
            if named:
                self.refusals.append(Refusal(self._line(named.start()), construct))

    # --- launches ----------------------------------------------------------------------------------------------------

    def _launch(self, at: int) -> None:
        line = self._line(at)
        if any(start < at < end for start, end in self.device_ranges):
            self.refusals.append(Refusal(line, "a kernel launch inside a kernel (dynamic parallelism)"))
            return
        start = self._callee_start(at)
        close = self._find(at + 3, ">>>")
        if start is None or close is None:
            self.refusals.append(Refusal(line, "a launch that can't be read (<<<)"))
            return
        opening = close + 3 + len(self.code[close + 3 :]) - len(self.code[close + 3 :].lstrip(" \t\n\\"))
        end = self._match(opening) if self.code[opening : opening + 1] == "(" else None
        if end is None:
            self.refusals.append(Refusal(line, "a launch without arguments (<<<…>>>)"))
            return
        kernel = _one_line(self.source[start:at])
        # A macro's parameter may not be pasted into a string before it is expanded; CPUSIM_TEXT expands it first.
        head = (
            f"::cpusim::configure(CPUSIM_TEXT({kernel}), __LINE__, {self._address(kernel)}, "
            f"{self.source[at + 3 : close]})"
            f"([&](auto&&... cpusim_p) {{ return {kernel}(cpusim_p...); }}"
        )
        self.edits.append(
            (start, opening + 1, head + self._moved_newlines(start, at) + ("" if self._empty(opening, end) else ", "))
        )
        for first, last in self._arguments(opening, end):
            literal = self.code[first:last].strip()
            if literal in ("0", "NULL"):
                place = self.code.index(literal, first)
                self.edits.append((place, place + len(literal), "::cpusim::Zero{}"))

    def _launch_call(self, match: re.Match[str]) -> None:
        opening = self.code.index("(", match.end())
        end = self._match(opening)
        if end is None:
            return
        arguments = list(self._arguments(opening, end))
        extended = "Ex" in match.group()
        place = 1 if extended else 0
        if match.group().endswith("ExC") or len(arguments) <= place:
            self.refusals.append(Refusal(self._line(match.start()), match.group()))
            return
        first, last = arguments[place]
        kernel = _one_line(_without_cast(self.source[first:last]))
        name = f"CPUSIM_TEXT({kernel.lstrip('& ')}), __LINE__, "
        if extended:
            self.edits.append((match.start(), opening + 1, f"::cpusim::launch_extended({name}"))
        else:
            cooperative = "true" if "Cooperative" in match.group() else "false"
            self.edits.append((match.start(), opening + 1, f"::cpusim::launch_packed({name}{cooperative}, "))
        self.edits.append((first, last, kernel))

    def _address(self, kernel: str) -> str:
        name, _, template = kernel.partition("<")
        found = self.kernels.get(name.split("::")[-1].strip(), [])
        if len(found) != 1:
            return "nullptr"
        given = len(_split(template[:-1])) if template else 0
        return f"::cpusim::address_of({kernel})" if given == found[0].parameters else "nullptr"

    def _callee_start(self, at: int) -> int | None:
        """Where the expression before `<<<` begins: a name, with template arguments, or an indexed or bracketed one."""
        i = at
        while i > 0 and self.code[i - 1] in " \t\n\\":
            i -= 1
        if i > 0 and self.code[i - 1] == ">":
            depth = nested = 0
            while i > 0:
                i -= 1
                nested += 1 if self.code[i] in _CLOSE else -1 if self.code[i] in _OPEN else 0
                depth += {">": 1, "<": -1}.get(self.code[i], 0) if nested == 0 else 0
                if depth == 0 and nested == 0:
                    break
                if self.code[i] in ";{}":
                    return None
        elif i > 0 and self.code[i - 1] in ")]":
            depth = 0
            while i > 0:
                i -= 1
                depth += 1 if self.code[i] in _CLOSE else -1 if self.code[i] in _OPEN else 0
                if depth == 0:
                    break
        end = i
        while i > 0 and (self.code[i - 1].isalnum() or self.code[i - 1] in "_:."):
            i -= 1
        bracketed = end < at and self.code[end] in "(["
        return i if i < end or bracketed else None

    # --- shared memory -----------------------------------------------------------------------------------------------

    def _shared(self, at: int) -> None:
        start = max(self.code.rfind(c, 0, at) for c in ";{}") + 1
        directive = self._directive(at)
        if directive:
            start = max(start, directive[0])
        else:
            hashed = self.code.rfind("\n", 0, at)
            # A preprocessor line, or a label, between the last statement and this one.
            while hashed > start:
                line_start = self.code.rfind("\n", 0, hashed) + 1
                if self.code[line_start:hashed].lstrip().startswith("#"):
                    start = max(start, hashed + 1)
                    break
                hashed = self.code.rfind("\n", 0, hashed)
        end = self._find(at, ";")
        if end is None or (directive and end > directive[1]):
            end = directive[1] if directive else None
        line = self._line(at)
        if end is None:
            self.refusals.append(Refusal(line, "a __shared__ declaration that can't be read"))
            return
        text = self.source[start:at] + self.source[at + len("__shared__") : end]
        text = mask(text, keep_strings=True)
        lead = text[: len(text) - len(text.lstrip())]
        newlines = text.count("\n") - lead.count("\n")
        alignments: list[str] = []

        def take(match: re.Match[str]) -> str:
            alignments.append(match.group(1))
            return " "

        text = re.sub(r"(?:__align__|alignas)\s*\(((?:[^()]|\([^()]*\))*)\)", take, text)
        text = re.sub(r"__attribute__\s*\(\(\s*aligned\s*\(((?:[^()]|\([^()]*\))*)\)\s*\)\)", take, text)
        dynamic = re.search(r"\bextern\b", text) is not None
        text = re.sub(r"\b(?:extern|static)\b", " ", text).strip()
        parts = _declarators(text)
        inside = any(first < at < last for first, last in self.function_ranges) or directive is not None
        if not parts or (not inside and not dynamic):
            self.refusals.append(Refusal(line, "a __shared__ array outside a function"))
            return
        kind, declared = parts
        out: list[str] = []
        for name, dimensions in declared:
            out.append(f"typedef {kind} {name}__t{dimensions};")
            if dynamic:
                storage = "" if inside else "static "
                out.append(f"{storage}{name}__t& {name} = *({name}__t*)::cpusim::dynamic_shared();")
            else:
                align = f"alignof({name}__t)"
                for given in alignments:
                    align = f"(({given}) > {align} ? ({given}) : {align})"
                out.append(
                    f"static ::cpusim::Slot {name}__s{{(unsigned)sizeof({name}__t), (unsigned)({align}), "
                    f'"{name}", __LINE__, 0, 0}};'
                    f" {name}__t& {name} = *({name}__t*)::cpusim::shared_at({name}__s);"
                )
        joined = " ".join(out).rstrip(";") if self.code[end : end + 1] == ";" else " ".join(out)
        self.edits.append((start, end, lead + joined + "\n" * newlines))

    def _directive(self, at: int) -> tuple[int, int] | None:
        """The extent of the `#define` that holds this position."""
        start = self.code.rfind("\n", 0, at) + 1
        while start > 0 and self.code[: start - 1].endswith("\\"):
            start = self.code.rfind("\n", 0, start - 1) + 1
        if not self.code[start:at].lstrip().startswith("#"):
            return None
        end = self.code.find("\n", at)
        while end > 0 and self.code[end - 1] == "\\":
            end = self.code.find("\n", end + 1)
        return self.code.find(")", start, at) + 1 or start, len(self.code) if end < 0 else end

    # --- brackets ----------------------------------------------------------------------------------------------------

    def _find(self, start: int, text: str) -> int | None:
        depth = 0
        for i in range(start, len(self.code)):
            if depth == 0 and self.code.startswith(text, i):
                return i
            depth += 1 if self.code[i] in _OPEN else -1 if self.code[i] in _CLOSE else 0
            if depth < 0:
                return None
        return None

    def _match(self, opening: int) -> int | None:
        depth = 0
        for i in range(opening, len(self.code)):
            depth += 1 if self.code[i] in _OPEN else -1 if self.code[i] in _CLOSE else 0
            if depth == 0:
                return i
        return None

    def _arguments(self, opening: int, end: int) -> Iterator[tuple[int, int]]:
        depth, start = 0, opening + 1
        for i in range(opening + 1, end):
            depth += 1 if self.code[i] in _OPEN else -1 if self.code[i] in _CLOSE else 0
            if depth == 0 and self.code[i] == ",":
                yield start, i
                start = i + 1
        yield start, end

    def _empty(self, opening: int, end: int) -> bool:
        return not self.code[opening + 1 : end].strip()

    def _moved_newlines(self, start: int, at: int) -> str:
        return "\n" * self.source[start:at].count("\n")


_RUNTIME_STEP: Final = re.compile(r"\+=.*(?:\b(?:blockDim|gridDim)\b|\b[a-z][a-z_0-9]*\b)")
"""A step by a variable; constants and template parameters are in capitals, or numbers."""


def _loop_steps(kernel: Node) -> Iterator[Node]:
    for node in walk(kernel):
        step = node.child_by_field_name("update") if node.type == "for_statement" else None
        if step is not None:
            yield step


def _for_gpu_only(word: str, condition: str) -> bool:
    """Whether a preprocessor branch is taken only where `__CUDA_ARCH__` is defined (or never)."""
    if word == "if" and condition.strip() == "0":
        return True
    if "__CUDA_ARCH__" not in condition or word == "ifndef":
        return False
    if word == "ifdef":
        return True
    return not re.search(r"!\s*defined|__CUDA_ARCH__\s*(?:<|==\s*0)|\|\|", condition)


def _one_line(text: str) -> str:
    return " ".join(mask(text, keep_strings=True).replace("\\\n", " ").split())


def _without_cast(text: str) -> str:
    text = text.strip()
    text = re.sub(r"^\(\s*(?:const\s+)?void\s*(?:const\s*)?\*\s*\)\s*", "", text)
    cast = re.match(
        r"^(?:reinterpret_cast|static_cast)\s*<\s*(?:const\s+)?void\s*(?:const\s*)?\*\s*>\s*\((.*)\)$", text, re.DOTALL
    )
    return cast.group(1).strip() if cast else text


def _split(text: str) -> list[str]:
    parts, depth = [""], 0
    for c in text:
        depth += 1 if c in "([{<" else -1 if c in ")]}>" else 0
        if depth == 0 and c == ",":
            parts.append("")
        else:
            parts[-1] += c
    return parts if text.strip() else []


def _declarators(text: str) -> tuple[str, list[tuple[str, str]]] | None:
    """Split `float a[2][3], b` into its type and its names with dimensions."""
    pieces = _split(text)
    if not pieces:
        return None
    first = re.match(r"^(.*[\s*&>}])([A-Za-z_]\w*)\s*((?:\[[^\]]*\]\s*)*)$", pieces[0].strip(), re.DOTALL)
    if first is None:
        return None
    declared = [(first.group(2), _one_line(first.group(3)))]
    for piece in pieces[1:]:
        other = re.match(r"^([A-Za-z_]\w*)\s*((?:\[[^\]]*\]\s*)*)$", piece.strip(), re.DOTALL)
        if other is None:
            return None
        declared.append((other.group(1), _one_line(other.group(2))))
    return _one_line(first.group(1)), declared
