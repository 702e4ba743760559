"""The vocabulary of strategies: what a finding may recommend, and a plan may name."""

from __future__ import annotations

from typing import Final

STRATEGIES: Final[dict[str, str]] = {
    # algorithm
    "better_algorithm": "Use an algorithm whose work grows no faster than the task's lower bound.",
    "scan": "Replace repeated sums over prefixes by a scan within blocks, then over blocks.",
    "square_and_multiply": "Compute powers by squaring, in a number of products that grows with the logarithm.",
    "online_algorithm": "Go over the data once, with running maximum and sum, instead of once per intermediate result.",
    "recompute_instead_of_store": "Compute a cheap intermediate result again instead of storing and loading it.",
    # parallelism
    "grid_stride_full_grid": "Spread the work over enough blocks to fill the GPU, with a grid-stride loop for more.",
    "split_reduction": "Split long sums over several blocks and add up their partial results.",
    "smaller_blocks": "Use smaller blocks, so that more of them share the work evenly.",
    "larger_blocks": "Use larger blocks, so that the limit of blocks per multiprocessor leaves no warp slots empty.",
    "persistent_blocks": "Launch as many blocks as fit at once and let each take work until there is none.",
    "use_all_threads": "Give every thread and every axis of the grid work of its own.",
    "warp_per_item": "Let a whole warp work on one item (a row, a list) instead of one thread each.",
    "balance_work": "Split items of very different length, so that all threads have about the same to do.",
    "sort_by_length": "Order items so that the threads of a warp have items of similar length.",
    "predicate_instead_of_branch": "Replace short branches by selects, so that warps stay together.",
    # launches
    "fuse_launches": "Do the work of several launches in one, with intermediate results kept on the chip.",
    "remove_host_sync": "Take allocations, copies and synchronisations out of the call.",
    # global memory
    "coalesce": "Let neighbouring threads touch neighbouring addresses: swap loops or indices.",
    "transpose_through_shared": "Load coalesced into a shared tile, and store from it coalesced in the other order.",
    "structure_of_arrays": "Keep fields that are read together in arrays of their own.",
    "vectorize": "Access 128 bits per instruction where data are contiguous and aligned, with a correct tail.",
    "restrict_readonly": "Mark pointers `__restrict__` and inputs `const`, so that loads may be reordered and cached.",
    "unroll": "Unroll loops so that several independent loads or operations are in flight.",
    "more_loads_in_flight": "Issue several independent loads before the first is used.",
    "prefetch": "Load the next tile (registers or cp.async) while the current one is being used.",
    "tile_shared": "Keep a tile of the inputs in shared memory and use each element many times.",
    "tile_registers": "Let each thread compute several outputs, so that values in registers are used several times.",
    # shared memory
    "pad_shared": "Pad rows of shared tiles by one element, so that columns fall into different banks.",
    "swizzle_shared": "Permute the columns of shared tiles by the row, so that no bank is hit twice.",
    "wider_shared_accesses": "Load 64 or 128 bits per shared-memory instruction.",
    "less_shared_memory": "Use smaller or reused shared buffers, so that more blocks fit.",
    "fewer_barriers": "Synchronise warps instead of blocks, or let fewer steps need a barrier or fence.",
    # reductions and atomics
    "block_reduce": "Add up within each block first, then do one atomic per block.",
    "warp_shuffle_reduce": "Reduce within a warp by shuffles, without shared memory or barriers.",
    "privatize_histogram": "Count in shared memory per block, and merge at the end.",
    # registers
    "fewer_registers": "Keep fewer values alive at once: smaller arrays, shorter unrolling, values recomputed.",
    "launch_bounds": "State the block size with `__launch_bounds__`, or change the register limit of the build.",
    "smaller_tile": "Compute fewer outputs per thread or block.",
    "smaller_code": "Unroll less, so that the code fits the instruction cache.",
    # arithmetic
    "tensor_cores": "Do matrix products on tensor cores (wmma or mma), accumulated in FP32.",
    "warpgroup_products": "Do them by whole warpgroups from shared memory (wgmma, arch sm_90a), with copies ahead.",
    "float_literals": "Write literals and functions in float (`1.0f`, `expf`), so that nothing is promoted to double.",
    "cheaper_function": "Use an algebraic identity or an intrinsic that needs fewer special functions.",
    "polynomial_instead_of_special": "Evaluate a polynomial on the multiply-add pipes in place of special functions.",
    "hoist": "Move what does not change out of the loop.",
    "fast_math": "Build with fast math where the error bound allows it.",
    "more_independent_work": "Give each thread several independent chains of operations.",
    # the end
    "stop": "Stop: the call is as fast as it can be shown to get.",
}
"""One sentence for each name."""
