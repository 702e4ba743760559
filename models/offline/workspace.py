"""Room in the workspace that an entry point is given."""

from __future__ import annotations

from dataclasses import dataclass, field

from tree_sitter import Node

from .syntax import Launch, Source, declared_name, statements, text, walk


@dataclass(frozen=True)
class Workspace:
    """A workspace that nothing uses yet."""

    name: str
    """The parameter of the entry point."""
    size: Node = field(repr=False)
    """The statement `return 0;` of the function that says how many bytes are needed."""
    known: frozenset[str] = frozenset()
    """The names that this function knows: the sizes."""


def free_workspace(source: Source, launch: Launch) -> Workspace | None:
    """Return the workspace of the entry point that launches; None if it is in use already."""
    declarator = launch.host.child_by_field_name("declarator") if launch.host is not None else None
    listed = declarator.child_by_field_name("parameters") if declarator is not None else None
    if launch.host is None or declarator is None or listed is None:
        return None
    pointers = [n for n in listed.named_children if text(n).replace(" ", "").startswith("void*")]
    sizes = source.functions.get(f"{text(declarator.child_by_field_name('declarator'))}_workspace_bytes")
    if len(pointers) != 1 or sizes is None:
        return None
    name = declared_name(pointers[0])
    if sum(1 for n in walk(launch.host) if n.type == "identifier" and text(n) == name) != 1:
        return None
    body = statements(sizes.child_by_field_name("body"))
    own = sizes.child_by_field_name("declarator")
    parameters = own.child_by_field_name("parameters") if own is not None else None
    known = frozenset(declared_name(n) for n in (parameters.named_children if parameters is not None else []))
    return Workspace(name, body[0], known) if [text(n) for n in body] == ["return 0;"] else None
