"""A small sum is one block's work: it stores the sum, and nothing is cleared in a launch before."""

from __future__ import annotations

from typing import ClassVar

from ..rule import KernelRule, Setting
from ..syntax import Kernel, Launch, assigned_names, declared_name, edited, squeezed, text, walk
from .partial_sums import added_by_blocks, any_shape, cleared_before, items_alone, items_of, plain_launch


class OneBlock(KernelRule):
    """Clear, then add from every block: two launches. A small case is stored by one block in one."""

    name: ClassVar[str] = "one_block_if_small"
    answers: ClassVar[tuple[str, ...]] = ("launch_or_sync_bound", "same_address_atomics")
    worth: ClassVar[float] = 1.41
    metric: ClassVar[str] = "duration_us"
    why: ClassVar[str] = (
        "the result is cleared in a launch of its own only because several blocks add to it: where the data are few, "
        "one block of 1024 threads sums them sooner than a second launch starts, and simply stores the sum"
    )
    effect: ClassVar[str] = "a launch less for a small case"

    def rewrite(self, kernel: Kernel, setting: Setting) -> str | None:
        """Launch one block where the host sees few items; the clearing is for the other cases."""
        source = kernel.source
        launch = kernel.launches[0] if len(kernel.launches) == 1 else None
        added = added_by_blocks(kernel)
        loop = any_shape(kernel)
        if launch is None or added is None or loop is None or not plain_launch(source, launch):
            return None
        target = kernel.parameter(added[0])
        items = items_of(launch)
        name = kernel.declarator.child_by_field_name("declarator")
        if target is None or items is None or name is None or not _known_at_once(launch):
            return None
        cleared = cleared_before(launch, squeezed(launch.arguments[kernel.parameters.index(target)]), target.type)
        if cleared is None:
            return None
        clearing = cleared[0]
        statement = clearing
        while statement.parent is not None and statement.parent.type != "compound_statement":
            statement = statement.parent
        place, value = added
        alone = source.unique("alone")
        tail = f"""\
if (threadIdx.x == 0 && gridDim.x > 1) atomicAdd({place}, {value});
    if (threadIdx.x == 0 && gridDim.x == 1) *{place} = {value};"""
        first = f"""\
// A few items are one block's work, which stores the sum.
    const bool {alone} = {items} <= {items_alone(kernel, loop, budget_ns=400)};
    """
        grid, block = launch.configuration[:2]
        last = kernel.statements[-1]
        edits = [
            (name.start_byte, name.start_byte, "__launch_bounds__(1024, 1) "),
            (last.start_byte, last.end_byte, tail),
            (statement.start_byte, statement.start_byte, first),
            (clearing.start_byte, clearing.start_byte, f"{alone} ? cudaSuccess : "),
            (grid.start_byte, grid.end_byte, f"{alone} ? 1 : {text(grid)}"),
            (block.start_byte, block.end_byte, f"{alone} ? 1024 : {text(block)}"),
        ]
        return edited(source.text, edits)


def _known_at_once(launch: Launch) -> bool:
    """Return whether the number of items depends on nothing but what the host function is given."""
    declarator = launch.host.child_by_field_name("declarator") if launch.host is not None else None
    listed = declarator.child_by_field_name("parameters") if declarator is not None else None
    if launch.host is None or listed is None:
        return False
    given = {declared_name(n) for n in listed.named_children if n.type == "parameter_declaration"}
    count = launch.configuration[0].child_by_field_name("arguments")
    items = count.named_children[0] if count is not None and count.named_children else None
    named = {text(n) for n in walk(items) if n.type == "identifier"} if items is not None else {""}
    return named <= given - assigned_names(launch.host)
