"""Rules on the syntax tree: what they change, what they leave alone, and that names do not matter."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from cudamaster.benchmark.contract import Precision
from cudamaster.benchmark.registry import load_task, task_names
from cudamaster.models.offline.catalog import RULES, rule_named
from cudamaster.models.offline.chain import apply_all
from cudamaster.models.offline.rule import Rule, Setting
from cudamaster.models.offline.syntax import PURE, Source, text, walk

KERNELS = Path(__file__).parent / "kernels"
NAMES = sorted(p.parent.name for p in KERNELS.glob("*/task.py"))


def foreign(name: str, precision: str) -> str:
    return load_task(str(KERNELS / name)).source(Precision(precision))


def applied(source: str, setting: Setting) -> tuple[tuple[str, ...], str]:
    """Apply every rule once, best first, as a long run would."""
    changed, done = apply_all(source, setting, passes=1)
    return done, changed


def rule(name: str) -> Rule:
    found = rule_named(name)
    assert found is not None
    return found


EXPECTED = {
    "blend": {"grid_stride_full_grid", "vectorize"},
    "count_above": {"block_reduce", "vectorize"},
    "luma": {"flatten_block", "vectorize"},
    "planes": {"transpose_tile"},
    "row_logsumexp": {"warp_per_item"},
    "row_unit": {"warp_per_item", "vectorize"},
    "running_max": {"block_scan"},
    "similarity": {"tile_shared"},
    "smooth": {"join_border", "point_patches"},
    "tone_curve": {"grid_stride_full_grid", "float_literals", "vectorize"},
    "weighted_distance": {"block_reduce", "vectorize"},
}
"""Which rules must find something in kernels that they were not written for."""


def test_every_foreign_kernel_is_expected() -> None:
    assert set(EXPECTED) == set(NAMES)


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("name", NAMES)
def test_rules_reach_kernels_that_they_were_not_written_for(name: str, precision: str) -> None:
    done, source = applied(foreign(name, precision), Setting(precision=precision))
    assert EXPECTED[name] <= set(done)
    assert not Source(source).root.has_error


@pytest.mark.parametrize("name", NAMES)
def test_a_rule_that_was_applied_finds_nothing_more_to_do(name: str) -> None:
    for each in RULES:
        changed = each.changes(Source(foreign(name, "fp32")), Setting())
        if changed is not None:
            assert each.changes(Source(changed), Setting()) is None, each.name


def renamed(source: str) -> tuple[str, dict[str, str]]:
    """Give every identifier of a source another name; return also what leads back."""
    parsed = Source(source)
    own = set()
    for node in walk(parsed.root):
        if node.type in ("identifier", "type_identifier", "field_identifier", "namespace_identifier"):
            own.add(text(node))
    macros = set(re.findall(r"#\s*define\s+\w+\(([^)]*)\)", source))
    own |= {p.strip() for listed in macros for p in listed.split(",")}
    kept = set(PURE) | {
        "blockIdx", "threadIdx", "blockDim", "gridDim", "x", "y", "z", "dim3", "stream", "workspace", "size_t", "main",
        "__nv_bfloat16", "nv_bfloat16", "atomicAdd", "FLT_MAX", "INFINITY", "nullptr", "volatile", "static_cast",
        "reinterpret_cast", "std",
    }  # fmt: skip
    kept |= {n for n in own if n.startswith(("cuda", "__"))}
    entries = set(re.findall(r"extern\s+\"C\"\s+[\w:]+\s+(\w+)\(", source))
    table: dict[str, str] = {}
    for index, name in enumerate(sorted(own - kept - entries)):
        table[name] = f"q{index}zz"
    # The entry's two names must stay a pair.
    for entry in sorted(e for e in entries if not e.endswith("_workspace_bytes")):
        table[entry], table[f"{entry}_workspace_bytes"] = "entry0zz", "entry0zz_workspace_bytes"
    pattern = rf"(?<![\w.])({'|'.join(map(re.escape, sorted(table, key=len, reverse=True)))})(?!\w)"
    code = re.sub(r"//[^\n]*", "", source)
    fields = {n for n in own if re.search(rf"[A-Za-z_)\]]\.{n}\b", source)} & set(table)
    for name in fields:
        code = re.sub(rf"(?<=[A-Za-z_)\]]\.){name}\b", table[name], code)
    return re.sub(pattern, lambda m: table[m[1]], code), {v: k for k, v in table.items()}


def shape(source: str) -> str:
    """A source with its names and white space taken out: what is left when names do not matter."""
    code = re.sub(r"//[^\n]*", "", source)
    return " ".join(re.sub(r"[A-Za-z_]\w*", "n", code).split())


@pytest.mark.parametrize("precision", ["fp32", pytest.param("bf16", marks=pytest.mark.slow)])
@pytest.mark.parametrize("index", range(4))
def test_names_do_not_matter(index: int, precision: str) -> None:
    sources = {f"{n}-{precision}": load_task(n).source(Precision(precision)) for n in task_names()[index::4]}
    sources |= {f"{n}-{precision}": foreign(n, precision) for n in NAMES[index::4]}
    for name, source in sources.items():
        other, _ = renamed(re.sub(r"//[^\n]*", "", source))
        assert shape(other) == shape(source), name
        setting = Setting(precision=name.rsplit("-", 1)[1], on_gpu=True)
        mine, theirs = Source(re.sub(r"//[^\n]*", "", source)), Source(other)
        for each in RULES:
            first, second = each.changes(mine, setting), each.changes(theirs, setting)
            assert (first is None) == (second is None), (name, each.name)
            if first is not None and second is not None:
                assert len(Source(first).launches) == len(Source(second).launches), (name, each.name)
                assert sorted(shape(first)) == sorted(shape(second)), (name, each.name)


# --- what no rule may touch ------------------------------------------------------------------------------------------

HOST = """
extern "C" size_t f_workspace_bytes(int n) { return 0; }
extern "C" cudaError_t f(const float* a, float* b, int n, void* workspace, size_t bytes, cudaStream_t stream) {
    k<<<1, 256, 0, stream>>>(a, b, n);
    return cudaGetLastError();
}
"""


def kernel(body: str, launch: str = "<<<1, 256, 0, stream>>>(a, b, n)") -> Source:
    head = "#include <cuda_runtime.h>\n__global__ void k(const float* a, float* b, int n) {\n"
    return Source(head + body + "\n}\n" + HOST.replace("<<<1, 256, 0, stream>>>(a, b, n)", launch))


@pytest.mark.parametrize(
    "body",
    [
        # Each turn reads what the turn before wrote.
        "for (int i = threadIdx.x; i < n; i += blockDim.x) b[i] = a[i] + (i > 0 ? b[i - 1] : 0.0f);",
        # Threads meet at a barrier.
        "for (int i = threadIdx.x; i < n; i += blockDim.x) b[i] = a[i];\n__syncthreads();\nb[0] = b[n - 1];",
        # Two turns write one place.
        "for (int i = threadIdx.x; i < n; i += blockDim.x) b[i / 2] = a[i];",
        # A value is carried from turn to turn.
        "float last = 0.0f;\nfor (int i = threadIdx.x; i < n; i += blockDim.x) { b[i] = last; last = a[i]; }",
        # The block's number is used already.
        "for (int i = threadIdx.x; i < n; i += blockDim.x) b[i + n * blockIdx.x] = a[i];",
        # An unknown function is called.
        "for (int i = threadIdx.x; i < n; i += blockDim.x) b[i] = elsewhere(a, i);",
        # It may leave early.
        "for (int i = threadIdx.x; i < n; i += blockDim.x) { if (a[i] < 0.0f) break; b[i] = a[i]; }",
    ],
)
def test_dependent_work_is_not_spread(body: str) -> None:
    assert rule("grid_stride_full_grid").changes(kernel(body), Setting()) is None


@pytest.mark.parametrize(
    "body",
    [
        # Stores that not every element gets.
        "int i = blockIdx.x * blockDim.x + threadIdx.x;\nif (i < n) { if (a[i] > 0.0f) b[i] = a[i]; }",
        # Reads and writes of different places of one array.
        "int i = blockIdx.x * blockDim.x + threadIdx.x;\nif (i < n) { b[i] = a[i] + b[n - 1 - i]; }",
        # A stride of two.
        "int i = blockIdx.x * blockDim.x + threadIdx.x;\nif (i < n) { b[2 * i] = a[2 * i]; }",
        # A skipped turn leaves its place as it was.
        "for (int i = threadIdx.x; i < n; i += blockDim.x) { if (a[i] < 0.0f) continue; b[i] = a[i]; }",
    ],
)
def test_partial_stores_are_not_vectorized(body: str) -> None:
    assert rule("vectorize").changes(kernel(body), Setting()) is None


@pytest.mark.parametrize(
    ("body", "restricted"),
    [
        ("b[i] = a[i];", True),
        ("b[i] = a[i] + b[i];", False),
        ("b[i] = a[i]; __syncthreads(); b[i + 1] += 1.0f;", False),
        ("if (threadIdx.x == 0) b[0] = a[0]; __syncthreads(); float first = b[0]; b[i + 1] = first;", False),
        ("float* row = b + i; row[0] = a[i];", True),
        ("float* row = b + i; row[0] = a[i]; __syncthreads(); row[1] = row[-1];", False),
        ("other(b, a);", False),
    ],
)
def test_what_a_kernel_writes_and_reads_is_not_restricted(body: str, restricted: bool) -> None:
    changed = rule("restrict_readonly").changes(
        kernel(f"int i = blockIdx.x * blockDim.x + threadIdx.x;\n{body}"), Setting()
    )
    assert changed is not None
    assert "const float* __restrict__ a" in changed
    assert ("float* __restrict__ b" in changed) is restricted


def test_the_same_array_under_two_names_is_neither_restricted_nor_vectorized() -> None:
    body = "int i = blockIdx.x * blockDim.x + threadIdx.x;\nif (i < n) b[i] = a[i];"
    aliased = kernel(body, "<<<1, 256, 0, stream>>>(b, b, n)")
    assert rule("restrict_readonly").changes(aliased, Setting()) is None
    assert rule("vectorize").changes(aliased, Setting()) is None
    assert rule("restrict_readonly").changes(kernel(body), Setting()) is not None


def test_vector_loads_keep_a_path_for_tails_and_unaligned_arrays() -> None:
    body = "int i = blockIdx.x * blockDim.x + threadIdx.x;\nif (i < n) b[i] = 2.0f * a[i];"
    changed = rule("vectorize").changes(kernel(body), Setting())
    assert changed is not None
    assert "% 16 == 0" in changed
    assert "b[i] = 2.0f * a[i];" in changed


def test_an_atomic_whose_result_is_used_is_left_alone() -> None:
    body = "int i = blockIdx.x * blockDim.x + threadIdx.x;\nif (i < n) b[i] = atomicAdd(b + n, a[i]);"
    assert rule("block_reduce").changes(kernel(body), Setting()) is None


def test_atomics_on_addresses_of_their_own_are_left_alone() -> None:
    body = "int i = blockIdx.x * blockDim.x + threadIdx.x;\nif (i < n) { atomicAdd(&b[i], a[i]); }"
    assert rule("block_reduce").changes(kernel(body), Setting()) is None


def test_a_double_that_is_meant_stays() -> None:
    meant = "double s = 0.1;\nint i = blockIdx.x * blockDim.x + threadIdx.x;\nif (i < n) b[i] = a[i] * s;"
    assert rule("float_literals").changes(kernel(meant), Setting()) is None


def test_a_loop_whose_turns_depend_on_one_another_is_not_shared_by_a_warp() -> None:
    body = (
        "int i = blockIdx.x * blockDim.x + threadIdx.x;\nif (i >= n) return;\nfloat s = 0.0f;\n"
        "for (int j = 0; j < n; ++j) { s = 0.5f * s + a[i * n + j]; }\nb[i] = s;"
    )
    assert rule("warp_per_item").changes(kernel(body), Setting()) is None
    sums = body.replace("s = 0.5f * s +", "s +=")
    assert rule("warp_per_item").changes(kernel(sums), Setting()) is not None


def test_a_row_that_is_written_and_read_by_other_threads_is_not_shared() -> None:
    body = (
        "int i = blockIdx.x * blockDim.x + threadIdx.x;\nif (i >= n) return;\n"
        "for (int j = 0; j < n; ++j) b[i * n + j] = a[i * n + j];\n"
        "for (int j = 1; j < n; ++j) b[i * n + j] = b[i * n + j] * 2.0f;"
    )
    assert rule("warp_per_item").changes(kernel(body), Setting()) is None


def test_macros_of_kernels_are_looked_into() -> None:
    source = foreign("similarity", "fp32")
    changed = rule("tile_shared").changes(Source(source), Setting())
    assert changed is not None
    assert "left_tile" in changed


def test_kernels_that_share_columns_between_threads_are_fused_with_a_barrier() -> None:
    source = load_task("batch_norm").source(Precision.FP32)
    shared = rule("warp_per_item").changes(Source(source), Setting())
    assert shared is not None
    assert "column_sum" in shared
    fused = rule("fuse_launches").changes(Source(shared), Setting())
    assert fused is not None
    assert "__syncthreads();" in fused[fused.index("fused_kernel(") :]


def test_vectors_are_loaded_two_at_a_time_unless_dear_calls_have_a_thread_each() -> None:
    head = "int i = blockIdx.x * blockDim.x + threadIdx.x;\nif (i < n) "
    cheap = rule("vectorize").changes(kernel(f"{head}b[i] = a[i];"), Setting(multiprocessors=78))
    assert cheap is not None
    assert "if (place < whole)" in cheap
    assert "4 * 78" in cheap
    dear = rule("vectorize").changes(kernel(f"{head}b[i] = expf(a[i]);"), Setting())
    assert dear is not None
    assert "place" not in dear


def test_a_wide_scalar_is_narrowed_where_its_value_fits() -> None:
    body = "long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;\nif (i < total) b[i / n] = a[i];"
    source = kernel(body).text.replace("int n)", "int n, long long total)").replace("n);", "n, (long long)n * n);")
    changed = rule("narrow_index").changes(Source(source), Setting())
    assert changed is not None
    assert "i < (Index)total" in changed
    assert "(double)((long long)n * n) < 2147483648.0" in changed


@pytest.mark.parametrize(
    ("value", "branch"),
    [
        ("logf(a[i])", False),
        ("logf(a[i]) * a[i]", False),
        ("logf(a[n - i])", True),  # not loaded yet
        ("logf(a[i]) / n", True),  # it may fault
        ("2.0f", True),  # cheap
    ],
)
def test_a_dear_term_behind_a_test_is_computed_in_any_case(value: str, branch: bool) -> None:
    body = "float sum = 0.0f;\nfor (int i = threadIdx.x; i < n; i += blockDim.x) { if (a[i] > 0.0f) sum += VALUE; }\n"
    source = kernel(body.replace("VALUE", value) + "atomicAdd(b, sum);", "<<<1, 256, 0, stream>>>(a, b, n)")
    changed = rule("vectorize").changes(source, Setting())
    assert changed is not None
    assert ("? term : 0;" in changed) is not branch


def test_elements_of_unaligned_rows_are_loaded_ahead() -> None:
    body = "float sum = 0.0f;\nfor (int i = threadIdx.x; i < n; i += blockDim.x) sum += a[blockIdx.x * n + i];\n"
    changed = rule("vectorize").changes(
        kernel(body + "b[blockIdx.x] = sum;", "<<<9, 256, 0, stream>>>(a, b, n)"), Setting()
    )
    assert changed is not None
    assert "a_ahead[turn] = a[blockIdx.x * n + i];" in changed
    assert "sum += a_ahead[turn];" in changed
    local = body.replace("sum += a[blockIdx.x * n + i];", "{ const int p = blockIdx.x * n + i; sum += a[p]; }")
    changed = rule("vectorize").changes(
        kernel(local + "b[blockIdx.x] = sum;", "<<<9, 256, 0, stream>>>(a, b, n)"), Setting()
    )
    assert changed is not None
    assert "a_ahead" not in changed


ROWS = """
for (int r = blockIdx.x; r < n; r += gridDim.x) {
    const float* x = a + r * n;
    float* y = b + r * n;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < n; i += blockDim.x) { y[i] = x[i] * x[i]; sum += y[i]; }
    sum = total_of(sum);
    for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = y[i] / sum;
}
"""


def test_a_row_of_several_loops_is_kept_in_registers() -> None:
    changed = rule("keep_rows").changes(kernel(ROWS, "<<<n, 256, 0, stream>>>(a, b, n)"), Setting())
    assert changed is not None
    kept, plain = changed.split("} else {", 1)
    assert kept.count("reinterpret_cast<const Vector<float, 4>*>(a + (long long)n * r)[place];") == 1  # one load
    assert kept.count("reinterpret_cast<Vector<float, 4>*>(b + (long long)n * r)[place] = kept_0[turn];") == 1
    assert kept.index("= kept_0[turn];") > kept.index("/ sum")  # what the first loop wrote was not the last
    assert "n % 4 == 0 && whole <= 4 * (long long)blockDim.x" in kept
    assert "y[i] = y[i] / sum;" in plain


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("y[i] = y[i] / sum;", "y[i] = y[n - 1 - i] / sum;"),  # another thread's element
        ("y[i] = y[i] / sum;", "if (sum > 0.0f) y[i] = y[i] / sum;"),  # perhaps not written
        ("y[i] = y[i] / sum;", "{ if (i == 3) continue; y[i] = y[i] / sum; }"),
        ("i < n; i += blockDim.x) y", "i < n - 1; i += blockDim.x) y"),  # another range
        ("sum = total_of(sum);", "sum = total_of(sum) + y[0];"),  # read in between
        ("r = blockIdx.x; r < n", "r = blockIdx.x + threadIdx.x / 32; r < n"),  # not one row for the whole block
        ("{ y[i] = x[i] * x[i]; sum += y[i]; }", "if (i < 9) sum += x[i];"),  # not read beyond
        ("float sum = 0.0f;", "float sum = 0.0f; if (n > 99) return;"),  # not all come to a barrier
    ],
)
def test_other_rows_are_read_again(old: str, new: str) -> None:
    assert old in ROWS
    changed = kernel(ROWS.replace(old, new, 1), "<<<n, 256, 0, stream>>>(a, b, n)")
    assert rule("keep_rows").changes(changed, Setting()) is None


def test_a_kernel_of_large_blocks_keeps_to_their_registers() -> None:
    body = "float sum = 0.0f;\nfor (int i = threadIdx.x; i < n; i += blockDim.x) sum += a[i];\natomicAdd(b, sum);"
    for threads in ("n", "1024", "512"):
        changed = rule("vectorize").changes(kernel(body, f"<<<1, {threads}, 0, stream>>>(a, b, n)"), Setting())
        assert changed is not None
        # Without the number of blocks the compiler saves registers, and loads one vector after another.
        assert "__launch_bounds__(1024, 1) k(" in changed, threads


def test_loops_over_the_grid_are_narrowed_unless_they_stay_rolled() -> None:
    loop = (
        "for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n; "
        "i += (long long)gridDim.x * blockDim.x) b[i] = a[i];"
    )
    changed = rule("narrow_index").changes(kernel(loop), Setting())
    assert changed is not None
    assert "for (Index i" in changed
    assert rule("narrow_index").changes(kernel(f"#pragma unroll 1\n{loop}"), Setting()) is None


def test_a_bound_that_is_a_sum_is_divided_whole() -> None:
    body = "int i = blockIdx.x * blockDim.x + threadIdx.x;\nif (i < n - 3) b[i] = a[i];"
    changed = rule("vectorize").changes(kernel(body), Setting())
    assert changed is not None
    assert "(n - 3) / 4" in changed
