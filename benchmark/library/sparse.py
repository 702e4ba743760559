"""Products of sparse matrices: cuSPARSE's generic interface, called in the C library that PyTorch has loaded."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache, partial
from typing import Any, Final

from ..task import Case
from .arm import Arm, Call, Tensors

_INDEX_32I: Final = 2
_ROW_MAJOR: Final = 2
_FLOAT: Final = 0
_BF16: Final = 14


@cache
def _library() -> ctypes.CDLL:
    """Return the library that this process has mapped.

    Raises:
        OSError: there is none.
    """
    import torch

    torch.zeros(1, device="cuda")
    with open("/proc/self/maps") as maps:
        found = {line.split()[-1] for line in maps if "libcusparse.so" in line}
    return ctypes.CDLL(min(found) if found else "libcusparse.so.12")


def _do(function: str, *arguments: Any) -> None:
    status = getattr(_library(), function)(*arguments)
    if status:
        raise RuntimeError(f"{function}: cuSPARSE status {status}")


class _Descriptor:
    """An object of the library, ended with the plan that holds it."""

    def __init__(self, create: str, destroy: str, *arguments: Any) -> None:
        self.value, self._destroy = ctypes.c_void_p(), destroy
        _do(create, ctypes.byref(self.value), *arguments)

    def __del__(self) -> None:
        if self.value:
            getattr(_library(), self._destroy)(self.value)


def _address(tensor: Any) -> ctypes.c_void_p:
    return ctypes.c_void_p(tensor.data_ptr())


def _type(tensor: Any) -> int:
    import torch

    return _BF16 if tensor.dtype is torch.bfloat16 else _FLOAT


def _compressed(kind: str, offsets: str, indices: str, t: Tensors, case: Case) -> tuple[_Descriptor, list[Any]]:
    sizes = (ctypes.c_int64(case.sizes[name]) for name in ("rows", "cols", "nnz"))
    arrays = (_address(t[name]) for name in (offsets, indices, "values"))
    types = (_INDEX_32I, _INDEX_32I, 0, _type(t["values"]))
    return _Descriptor(f"cusparseCreate{kind}", "cusparseDestroySpMat", *sizes, *arrays, *types), []


def _coordinates(t: Tensors, case: Case) -> tuple[_Descriptor, list[Any]]:
    import torch

    # The library wants entries in the order of their rows: sorting them is part of the plan.
    row_idx, order = torch.sort(t["row_idx"], stable=True)
    kept = [row_idx, t["col_idx"][order].contiguous(), t["values"][order].contiguous()]
    sizes = (ctypes.c_int64(case.sizes[name]) for name in ("rows", "cols", "nnz"))
    types = (_INDEX_32I, 0, _type(kept[2]))
    return _Descriptor("cusparseCreateCoo", "cusparseDestroySpMat", *sizes, *map(_address, kept), *types), kept


def _sliced_rows(t: Tensors, case: Case) -> tuple[_Descriptor, list[Any]]:
    import torch

    # Slices of one row: their padded entries lie next to each other, as in the task.
    rows, cols, width, nnz = (case.sizes[name] for name in ("rows", "cols", "max_nnz", "nnz"))
    offsets = torch.arange(0, rows * width + 1, width, dtype=torch.int32, device="cuda")
    sizes = (ctypes.c_int64(n) for n in (rows, cols, nnz, rows * width, 1))
    arrays = map(_address, (offsets, t["col_ids"], t["values"]))
    types = (_INDEX_32I, _INDEX_32I, 0, _type(t["values"]))
    return _Descriptor("cusparseCreateSlicedEll", "cusparseDestroySpMat", *sizes, *arrays, *types), [offsets]


def _rows_without_padding(t: Tensors, case: Case) -> tuple[_Descriptor, list[Any]]:
    import torch

    # Blocked ELL, the library's own, multiplies floats in TF32: padding is taken out as part of the plan.
    entries = t["col_ids"] >= 0
    offsets = torch.zeros(case.sizes["rows"] + 1, dtype=torch.int32, device="cuda")
    offsets[1:] = entries.sum(dim=1).cumsum(dim=0)
    plain = {"row_offsets": offsets, "col_idx": t["col_ids"][entries], "values": t["values"][entries]}
    matrix, _ = _compressed("Csr", "row_offsets", "col_idx", plain, case)
    return matrix, list(plain.values())


Matrix = Callable[[Tensors, Case], tuple[_Descriptor, list[Any]]]


def _product(matrix: Matrix, output: str, t: Tensors, case: Case) -> Call:
    """Plan Y = A·X, with a vector `x` or a row-major matrix `X` on the right.

    Raises:
        ValueError: so many entries are duplicates that the library refuses the matrix.
    """
    import torch

    x = t["x"] if "x" in t else t["X"]
    rows, columns = case.sizes["rows"], case.sizes.get("K")
    if case.sizes["nnz"] > rows * case.sizes["cols"]:
        raise ValueError("cuSPARSE refuses a matrix with more entries than places")
    # Rows of a matrix are added up in parts, which must not be rounded to bf16.
    shape, kind = ((rows,), x.dtype) if columns is None else ((rows, columns), torch.float32)
    out = torch.empty(shape, dtype=kind, device="cuda")
    handle = _Descriptor("cusparseCreate", "cusparseDestroy")
    _do("cusparseSetStream", handle.value, ctypes.c_void_p(torch.cuda.current_stream().cuda_stream))
    sparse, kept = matrix(t, case)
    right, left = (_dense(tensor) for tensor in (x, out))
    one, zero = ctypes.c_float(1.0), ctypes.c_float(0.0)
    operations = (0,) if columns is None else (0, 0)
    name = "cusparseSpMV" if columns is None else "cusparseSpMM"
    arguments = (
        handle.value, *operations, ctypes.byref(one), sparse.value, right.value, ctypes.byref(zero), left.value,
        _FLOAT, 0,
    )  # fmt: skip
    wanted = ctypes.c_size_t()
    _do(f"{name}_bufferSize", *arguments, ctypes.byref(wanted))
    buffer = torch.empty(max(1, wanted.value), dtype=torch.uint8, device="cuda")
    if matrix in (_CSR, _rows_without_padding):
        _do(f"{name}_preprocess", *arguments, _address(buffer))

    def call(held: Any = (handle, sparse, right, left, kept)) -> Tensors:
        _do(name, *arguments, _address(buffer))
        return {output: out.to(x.dtype)}

    return call


def _dense(tensor: Any) -> _Descriptor:
    sizes = [ctypes.c_int64(n) for n in tensor.shape]
    if len(sizes) == 1:
        kind = ("cusparseCreateDnVec", "cusparseDestroyDnVec")
        return _Descriptor(*kind, *sizes, _address(tensor), _type(tensor))
    leading = ctypes.c_int64(tensor.shape[1])
    kind = ("cusparseCreateDnMat", "cusparseDestroyDnMat")
    return _Descriptor(*kind, *sizes, leading, _address(tensor), _type(tensor), _ROW_MAJOR)


_CSR: Final = partial(_compressed, "Csr", "row_offsets", "col_idx")
_CSC: Final = partial(_compressed, "Csc", "col_offsets", "row_idx")

ARMS: dict[str, tuple[Arm, ...]] = {
    "spmv_csr": (Arm("cuSPARSE SpMV", partial(_product, _CSR, "y")),),
    "spmv_csc": (Arm("cuSPARSE SpMV", partial(_product, _CSC, "y")),),
    "spmv_coo": (Arm("cuSPARSE SpMV", partial(_product, _coordinates, "y")),),
    "spmv_ell": (Arm("cuSPARSE SpMV, sliced ELL", partial(_product, _sliced_rows, "y")),),
    "spmm_csr": (Arm("cuSPARSE SpMM", partial(_product, _CSR, "Y")),),
    "spmm_csc": (Arm("cuSPARSE SpMM", partial(_product, _CSC, "Y")),),
    "spmm_coo": (Arm("cuSPARSE SpMM", partial(_product, _coordinates, "Y")),),
    "spmm_ell": (Arm("cuSPARSE SpMM, as CSR", partial(_product, _rows_without_padding, "Y")),),
}
