"""Looks at the machine and says what is there, what is missing, and what to do about it."""

from __future__ import annotations

import glob
import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from ....benchmark.contract import Contract, size
from ...profile.ncu_errors import explain_ncu
from ...records import Candidate, Record
from ..port import DeviceUnavailable
from .ncu import ncu_version
from .nvcc import nvcc_build
from .nvml import driver_version, read_clocks
from .probe import GpuFacts, build_program, driver_library, probe_gpu
from .toolkit import Toolkit, find_nvcc, find_tool


class MachineFinding(Record):
    """One line of `doctor`."""

    topic: str
    ok: bool
    found: str
    fix: str = ""
    """What to do; empty where nothing need be done."""


def diagnose_machine(profile: bool = True) -> list[MachineFinding]:
    """Return what was found: compiler, driver, GPU, nvcc, architecture, Nsight Compute, sanitizer, clocks, memory.

    `profile=False` skips the trial of Nsight Compute, which takes some seconds. Never raises.
    """
    findings = [_host_compiler(), _driver()]
    toolkit = find_nvcc()
    findings.append(_nvcc(toolkit))
    facts: GpuFacts | None = None
    if toolkit and driver_library():
        try:
            facts = probe_gpu()
            found = (
                f"{facts.gpu}, {facts.arch}, {facts.multiprocessors} multiprocessors, {facts.memory_bytes >> 30} GiB"
            )
            findings.append(MachineFinding(topic="GPU", ok=True, found=f"{found}; a launch ran"))
        except DeviceUnavailable as error:
            findings.append(MachineFinding(topic="GPU", ok=False, found=str(error), fix=_gpu_fix(str(error))))
    else:
        missing = "the driver" if toolkit else "nvcc"
        found = f"not tried: {missing} is missing"
        findings.append(MachineFinding(topic="GPU", ok=False, found=found, fix="--device cpu works without a GPU"))
    if toolkit and facts:
        findings.append(_architecture(toolkit, facts))
    findings.append(_ncu(toolkit, facts, profile))
    findings.append(_tool("compute-sanitizer", "sanitizers", "install the CUDA toolkit; winners go unsanitized"))
    findings.append(_tool("cuobjdump", "disassembler", "pip install nvidia-cuda-cuobjdump nvidia-cuda-nvdisasm"))
    findings.append(_nvml(facts))
    findings.append(_scratch())
    return findings


def _host_compiler() -> MachineFinding:
    path = shutil.which("g++") or shutil.which("c++")
    if path is None:
        return MachineFinding(
            topic="host compiler", ok=False, found="no g++", fix="install g++ 9 or newer (package g++)"
        )
    said = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=30).stdout
    return MachineFinding(topic="host compiler", ok=True, found=said.splitlines()[0] if said else path)


def _driver() -> MachineFinding:
    if driver_library():
        return MachineFinding(topic="driver", ok=True, found=driver_version() or "libcuda.so.1 loads")
    if glob.glob("/dev/nvidia[0-9]*"):
        found, fix = (
            "a GPU's device file is there, but libcuda.so.1 is not",
            "start the container with the NVIDIA runtime",
        )
    else:
        found = "no NVIDIA driver (libcuda.so.1 can't be loaded)"
        fix = "install the driver, or start the container with GPU access (docker: --gpus all)"
    return MachineFinding(topic="driver", ok=False, found=found, fix=fix)


def _nvcc(toolkit: Toolkit | None) -> MachineFinding:
    if toolkit is None:
        fix = "install the CUDA toolkit, or `pip install 'cudamaster[cuda]'`"
        return MachineFinding(topic="nvcc", ok=False, found="not on PATH, in CUDA_HOME or among pip packages", fix=fix)
    return MachineFinding(topic="nvcc", ok=True, found=f"{toolkit.version}: {toolkit.nvcc}")


def _gpu_fix(error: str) -> str:
    if "driver version is insufficient" in error:
        return "the driver is older than the toolkit: install a newer driver, or a toolkit of the driver's CUDA version"
    if "busy" in error or "unavailable" in error:
        return "another process holds the GPU in exclusive mode: end it"
    return "see `nvidia-smi`; --device cpu works without a GPU"


_TRIAL: Final = """__global__ void trial(float* x) { x[threadIdx.x] = threadIdx.x; }
extern "C" size_t trial_run_workspace_bytes(int n) { return n * sizeof(float); }
extern "C" cudaError_t trial_run(int n, void* workspace, size_t, cudaStream_t stream) {
  trial<<<1, n, 0, stream>>>(static_cast<float*>(workspace));
  return cudaGetLastError();
}
"""


def _architecture(toolkit: Toolkit, facts: GpuFacts) -> MachineFinding:
    contract = Contract(entry="trial_run", arguments=(size("N"),))
    build = nvcc_build(Candidate(source=_TRIAL), contract, facts.arch, toolkit=toolkit)
    if build.ok:
        return MachineFinding(topic="architecture", ok=True, found=f"nvcc {toolkit.version} compiles for {facts.arch}")
    fix = {"arch": f"nvcc {toolkit.version} doesn't know {facts.arch}: install a newer toolkit"}.get(
        build.failure, "read the compiler's words"
    )
    return MachineFinding(topic="architecture", ok=False, found=build.log[-400:], fix=fix)


def _ncu(toolkit: Toolkit | None, facts: GpuFacts | None, trial: bool) -> MachineFinding:
    topic, ncu = "Nsight Compute", find_tool("ncu")
    if ncu is None:
        fix = "install Nsight Compute; runs go on without profiles"
        return MachineFinding(topic=topic, ok=False, found="ncu was not found", fix=fix)
    version = ncu_version(ncu)
    if not (trial and facts and toolkit):
        return MachineFinding(topic=topic, ok=True, found=f"{version}: {ncu}")
    program = build_program("probe", toolkit)
    with tempfile.TemporaryDirectory() as folder:
        command = [str(ncu), "--clock-control", "none", "--metrics", "gpu__time_duration.sum", str(program)]
        environment = {**os.environ, "TMPDIR": folder, "LC_ALL": "C"}
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)
            text = done.stdout + done.stderr
        except subprocess.TimeoutExpired:
            text = "==ERROR== no answer within 120 s"
    problem = explain_ncu(text)
    if problem:
        return MachineFinding(topic=topic, ok=False, found=f"{version}: {problem.explanation}", fix=problem.fix)
    if not re.search(r"gpu__time_duration\.sum", text):
        return MachineFinding(
            topic=topic, ok=False, found=f"{version}: no counters came: {text[-300:]}", fix="run ncu by hand"
        )
    return MachineFinding(topic=topic, ok=True, found=f"{version}: counters can be read")


def _tool(name: str, topic: str, fix: str) -> MachineFinding:
    path = find_tool(name)
    return MachineFinding(
        topic=topic, ok=path is not None, found=str(path or f"{name} was not found"), fix="" if path else fix
    )


def _nvml(facts: GpuFacts | None) -> MachineFinding:
    if importlib.util.find_spec("pynvml") is None:
        found, fix = "nvidia-ml-py is not installed", "pip install nvidia-ml-py"
        return MachineFinding(topic="clocks", ok=False, found=found, fix=fix)
    clocks = read_clocks(facts.uuid if facts else "")
    if clocks is None:
        fix = "without a driver clocks are not recorded"
        return MachineFinding(topic="clocks", ok=False, found="NVML doesn't answer", fix=fix)
    held = f", held back by {', '.join(clocks.throttles)}" if clocks.throttles else ""
    found = f"SM {clocks.sm_mhz} MHz, memory {clocks.memory_mhz} MHz, {clocks.temperature_c} C{held}"
    fix = "cool or unload the GPU" if held else ""
    return MachineFinding(topic="clocks", ok=not held, found=found, fix=fix)


def _scratch() -> MachineFinding:
    shared = Path("/dev/shm")
    free = shutil.disk_usage(shared).free if shared.is_dir() else 0
    found = f"/dev/shm has {free >> 20} MiB free"
    if free > 2 << 30:
        return MachineFinding(topic="shared memory", ok=True, found=found)
    return MachineFinding(
        topic="shared memory", ok=False, found=f"{found}: the disk is used instead", fix="docker: --shm-size=8g"
    )
