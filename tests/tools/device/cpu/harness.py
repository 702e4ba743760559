"""Runs libraries of the cpu device in a child process: `python harness.py JOB.json` prints one JSON object.

A job holds `runtime` (the runtime library) and `calls`: library, entry, arguments. An argument is an int, a float, or
an array, {"file": a .npy file}, with "out" if it is to come back, as a .npy file in the folder `keep`.
"""

from __future__ import annotations

import ctypes
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np


def run(job: dict[str, Any]) -> list[dict[str, Any]]:
    """Make each call and return status, outputs and counters of each."""
    runtime = ctypes.CDLL(job["runtime"], mode=ctypes.RTLD_GLOBAL)
    runtime.cpusim_counters_json.restype = ctypes.c_char_p
    runtime.cudaGetErrorString.restype = ctypes.c_char_p
    results = []
    for call in job["calls"]:
        library = ctypes.CDLL(call["library"])
        arguments: list[Any] = []
        buffers: list[tuple[ctypes.c_void_p, Any, bool]] = []
        for argument in call["arguments"]:
            if isinstance(argument, dict):
                array = np.ascontiguousarray(np.load(argument["file"]))
                pointer = ctypes.c_void_p()
                assert runtime.cudaMalloc(ctypes.byref(pointer), ctypes.c_size_t(array.nbytes)) == 0
                assert (
                    runtime.cudaMemcpy(pointer, ctypes.c_void_p(array.ctypes.data), ctypes.c_size_t(array.nbytes), 1)
                    == 0
                )
                buffers.append((pointer, array, bool(argument.get("out"))))
                arguments.append(pointer)
            elif isinstance(argument, float):
                arguments.append(ctypes.c_float(argument))
            else:
                arguments.append(ctypes.c_int(argument))
        runtime.cpusim_counters_reset()
        status = getattr(library, call["entry"])(*arguments, ctypes.c_void_p())
        status = status or runtime.cudaDeviceSynchronize() or runtime.cudaGetLastError()
        result: dict[str, Any] = {"status": status, "message": runtime.cudaGetErrorString(status).decode()}
        if status:
            runtime.cudaDeviceReset()  # a fault breaks the context for good
        result["counters"] = json.loads(runtime.cpusim_counters_json())
        outputs = []
        for pointer, array, out in buffers:
            if out:
                runtime.cudaMemcpy(ctypes.c_void_p(array.ctypes.data), pointer, ctypes.c_size_t(array.nbytes), 2)
                if call.get("keep"):
                    path = Path(call["keep"]) / f"{len(results)}-{len(outputs)}.npy"
                    np.save(path, array)
                    outputs.append(str(path))
            runtime.cudaFree(pointer)
        result["outputs"] = outputs
        results.append(result)
    return results


if __name__ == "__main__":
    print(json.dumps(run(json.loads(Path(sys.argv[1]).read_text()))))
