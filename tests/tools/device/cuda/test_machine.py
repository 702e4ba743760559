"""Lock, probe, doctor, calibration and choice of the device, on a machine without a GPU."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import sys
import types
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from cudamaster.benchmark.contract import Precision
from cudamaster.benchmark.registry import load_task
from cudamaster.tools.device import select
from cudamaster.tools.device.cuda import calibrate as calibrate_module
from cudamaster.tools.device.cuda import device, doctor, gpu_lock, nvml, probe, toolkit
from cudamaster.tools.device.cuda.device import CudaDevice
from cudamaster.tools.device.cuda.probe import GpuFacts
from cudamaster.tools.device.gpu_model import calibrated, gpu_model
from cudamaster.tools.device.port import DeviceUnavailable
from cudamaster.tools.records import Build

FACTS = GpuFacts(
    gpu="NVIDIA H200", arch="sm_90", multiprocessors=132, gpus=1, driver_cuda="13.0", runtime="13.0", clock_mhz=1980,
    memory_bytes=140 << 30, l2_bytes=60 << 20, uuid="ab12",
)  # fmt: skip


@pytest.fixture
def lock_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(gpu_lock.tempfile, "gettempdir", lambda: str(tmp_path))
    return tmp_path


def hold(folder: str, ready: Any, until: Any) -> None:
    gpu_lock.tempfile.gettempdir = lambda: folder  # type: ignore[assignment]
    with gpu_lock.gpu_lock("u", "timing in another process"):
        ready.set()
        until.wait(60)


def test_the_lock_names_its_owner_and_dies_with_it(lock_folder: Path) -> None:
    spawn = multiprocessing.get_context("fork")
    ready, until = spawn.Event(), spawn.Event()
    other = spawn.Process(target=hold, args=(str(lock_folder), ready, until))
    other.start()
    try:
        assert ready.wait(30)
        with pytest.raises(DeviceUnavailable, match=rf"process {other.pid} on .* \(timing in another process\)"):
            with gpu_lock.gpu_lock("u", "me", wait_s=0.05):
                pass
        assert other.pid is not None
        os.kill(other.pid, signal.SIGKILL)
        other.join()
        with gpu_lock.gpu_lock("u", "me", wait_s=10):
            assert "(me)" in gpu_lock.owner_of(gpu_lock.lock_path("u"))
    finally:
        other.kill()
        other.join()


def test_each_gpu_of_the_first_ones_name_is_an_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = "00112233445566778899aabbccddeeff", "ffeeddccbbaa99887766554433221100"
    monkeypatch.setattr(CudaDevice, "facts", FACTS.model_copy(update={"uuid": first, "alike": (first, second)}))
    assert CudaDevice().environments() == (
        {"CUDA_VISIBLE_DEVICES": "GPU-00112233-4455-6677-8899-aabbccddeeff"},
        {"CUDA_VISIBLE_DEVICES": "GPU-ffeeddcc-bbaa-9988-7766-554433221100"},
    )
    monkeypatch.setattr(CudaDevice, "facts", FACTS.model_copy(update={"uuid": first, "alike": (first,)}))
    assert CudaDevice().environments() == ({},)


def test_without_a_gpu_processes_share_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> CudaDevice:
        raise DeviceUnavailable("no GPU")

    monkeypatch.setattr(select, "_cuda", none)
    assert select.gpu_environments() == ({},)


def test_processes_start_one_after_another_while_somebody_else_measures(
    lock_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    free: list[bool] = []

    def starts(*_: object, **__: object) -> str:
        """Look from another thread, since a thread's own locks do not stop it."""
        with ThreadPoolExecutor(1) as other:
            free.append(other.submit(is_free).result())
        return "a process"

    def is_free() -> bool:
        try:
            with gpu_lock.gpu_lock("ab12-start", "look", wait_s=0):
                return True
        except DeviceUnavailable:
            return False

    monkeypatch.setattr(CudaDevice, "facts", FACTS)
    monkeypatch.setattr(CudaDevice, "host_program", Path("runner"))
    monkeypatch.setattr(device, "RunnerProcess", starts)
    task = load_task("relu")
    with ThreadPoolExecutor(1) as other, gpu_lock.gpu_lock("ab12", "measuring"):
        assert other.submit(CudaDevice().open, Build(ok=True, log=""), task, Precision.FP32).result() == "a process"
    assert free == [False]
    assert is_free()


def test_gpus_do_not_share_a_lock(lock_folder: Path) -> None:
    with gpu_lock.gpu_lock("a", "one"), gpu_lock.gpu_lock("b", "two", wait_s=0):
        pass


def test_an_unreadable_record_is_no_trouble(lock_folder: Path) -> None:
    gpu_lock.lock_path("u").write_text("nonsense")
    assert gpu_lock.owner_of(gpu_lock.lock_path("u")) == "an unknown process"
    with gpu_lock.gpu_lock("u", "me", wait_s=0):
        pass


def test_a_program_that_cannot_use_the_gpu_says_so(tmp_path: Path) -> None:
    def answering(script: str) -> list[str]:
        path = tmp_path / "program"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return [str(path)]

    with pytest.raises(DeviceUnavailable, match="no GPU answers"):
        probe.run_json(answering("""echo '{"error": "no GPU answers: insufficient driver"}'; exit 1"""), 10)
    with pytest.raises(DeviceUnavailable, match="failed"):
        probe.run_json(answering("exit 1"), 10)
    with pytest.raises(DeviceUnavailable, match=r"within 0\.1 s"):
        probe.run_json(answering("exec sleep 100"), 0.1)
    assert probe.run_json(answering("""echo note; echo '{"gpu": "x"}'"""), 10) == {"gpu": "x"}


@pytest.fixture
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (probe, doctor):
        monkeypatch.setattr(module, "driver_library", lambda: False)
    probe.probe_gpu.cache_clear()
    monkeypatch.setattr(select, "_cuda", select._cuda.__wrapped__)


def test_without_a_driver_the_reason_and_the_fix_are_told(no_gpu: None) -> None:
    with pytest.raises(DeviceUnavailable, match=r"no NVIDIA driver.*--gpus all.*--device cpu"):
        CudaDevice().info()
    with pytest.raises(DeviceUnavailable, match="no NVIDIA driver"):
        select.get_device("cuda")


def test_auto_falls_back_to_the_cpu(no_gpu: None, monkeypatch: pytest.MonkeyPatch) -> None:
    cpu = object()
    monkeypatch.setattr(select, "_cpu", lambda: cpu)
    assert select.get_device() is cpu

    def none() -> Any:
        raise DeviceUnavailable("no g++")

    monkeypatch.setattr(select, "_cpu", none)
    with pytest.raises(DeviceUnavailable, match=r"cuda: no NVIDIA driver.*cpu: no g\+\+"):
        select.get_device("auto")
    with pytest.raises(ValueError, match="unknown device 'tpu': choose one of auto, cuda, cpu"):
        select.get_device("tpu")


def test_auto_takes_a_gpu_that_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = object()
    monkeypatch.setattr(select, "_cuda", lambda: gpu)
    assert select.get_device("auto") is gpu


def test_doctor_tells_everything_without_a_gpu(no_gpu: None) -> None:
    findings = {f.topic: f for f in doctor.diagnose_machine()}
    assert set(findings) >= {"host compiler", "driver", "nvcc", "GPU", "Nsight Compute", "sanitizers", "clocks"}
    assert findings["host compiler"].ok
    assert not findings["GPU"].ok
    assert all(f.fix for f in findings.values() if not f.ok)


def test_doctor_without_nvcc(no_gpu: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "find_nvcc", lambda: None)
    nvcc = next(f for f in doctor.diagnose_machine() if f.topic == "nvcc")
    assert "pip install 'cudamaster[cuda]'" in nvcc.fix


def test_nvcc_from_cuda_home_and_the_wheels_missing_lib64(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "nvidia" / "cu13"
    for folder in ("bin", "include", "lib"):
        (root / folder).mkdir(parents=True)
    (root / "include" / "cuda_runtime.h").touch()
    (root / "bin" / "nvcc").write_text("#!/bin/sh\necho 'Cuda compilation tools, release 13.0, V13.0.88'\n")
    (root / "bin" / "nvcc").chmod(0o755)
    monkeypatch.setenv("CUDA_HOME", str(root))
    found = toolkit.find_nvcc.__wrapped__()
    assert (found.nvcc, found.version, found.library_flags) == (root / "bin" / "nvcc", "13.0", (f"-L{root / 'lib'}",))
    monkeypatch.delenv("CUDA_HOME")
    monkeypatch.setattr(toolkit.shutil, "which", lambda _: None)
    monkeypatch.setattr(toolkit.site, "getsitepackages", lambda: [str(tmp_path)])
    monkeypatch.setattr(toolkit, "_USUAL", ())
    assert toolkit.find_nvcc.__wrapped__().root == root
    monkeypatch.setattr(toolkit, "_roots", lambda: iter(()))
    monkeypatch.setattr(toolkit, "find_nvcc", lambda: None)
    with pytest.raises(DeviceUnavailable, match=r"pip install 'cudamaster\[cuda\]'"):
        toolkit.require_nvcc()


def test_clocks_from_nvml(monkeypatch: pytest.MonkeyPatch) -> None:
    process = types.SimpleNamespace
    fake = types.SimpleNamespace(
        NVMLError=RuntimeError, NVML_CLOCK_SM=1, NVML_CLOCK_MEM=2, NVML_TEMPERATURE_GPU=0,
        nvmlInit=lambda: None, nvmlDeviceGetCount=lambda: 2,
        nvmlDeviceGetHandleByIndex=lambda i: i, nvmlDeviceGetUUID=lambda i: ["GPU-00-11", "GPU-ab-12"][i],
        nvmlDeviceGetComputeRunningProcesses=lambda i: [process(pid=7), process(pid=8)],
        nvmlDeviceGetClockInfo=lambda i, c: {1: 1980, 2: 3201}[c] if i == 1 else 0,
        nvmlDeviceGetTemperature=lambda *_: 40,
        nvmlDeviceGetCurrentClocksThrottleReasons=lambda _: 0x4 | 0x1 | 0x40,
        nvmlSystemGetDriverVersion=lambda: "580.159.04",
    )  # fmt: skip
    monkeypatch.setitem(sys.modules, "pynvml", fake)
    nvml._nvml.cache_clear()
    clocks = nvml.read_clocks("ab12", ours=(7,))
    assert clocks is not None
    assert (clocks.sm_mhz, clocks.memory_mhz, clocks.other_processes) == (1980, 3201, (8,))
    assert clocks.throttles == ("software power cap", "hardware thermal slowdown")
    unknown = nvml.read_clocks("ab12", ours=(99,))
    assert unknown is not None
    assert unknown.other_processes == ()
    assert nvml.driver_version() == "580.159.04"
    monkeypatch.setitem(sys.modules, "pynvml", None)
    nvml._nvml.cache_clear()
    assert nvml.read_clocks() is None
    assert nvml.driver_version() == ""


def test_calibration_is_kept_and_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lock_folder: Path) -> None:
    measured = {"gpu": "NVIDIA H200", "dram_gbps": 4300.0, "fp32_tflops": 58.0}
    monkeypatch.setattr(calibrate_module, "build_program", lambda *a, **k: Path("calibrate"))
    monkeypatch.setattr(calibrate_module, "run_json", lambda *a: dict(measured))
    monkeypatch.setattr(calibrate_module, "empty_launch_us", lambda *a: 2.7)
    monkeypatch.setattr(calibrate_module, "nvcc_build", lambda *a, **k: types.SimpleNamespace(ok=True))
    tools = toolkit.Toolkit(Path("nvcc"), "13.0", tmp_path)
    calibrate_module.calibrate(FACTS, tools, Path("runner"), {}, tmp_path)
    (stored,) = (tmp_path / "calibration").iterdir()
    assert json.loads(stored.read_text())["empty_launch_us"] == 2.7
    model = calibrated(gpu_model("NVIDIA H200"), tmp_path, "NVIDIA H200")
    assert (model.dram_gbps, model.fp32_tflops, model.empty_launch_us) == (4300, 58, 2.7)


def test_calibration_lies_where_the_device_looks_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from cudamaster.cli import app
    from typer.testing import CliRunner

    asked = []

    def calibrate(device: CudaDevice) -> dict[str, Any]:
        asked.append(device._home)
        return {"gpu": "x"}

    monkeypatch.setenv("CUDAMASTER_HOME", str(tmp_path / "other"))
    monkeypatch.setattr(CudaDevice, "calibrate", calibrate)
    monkeypatch.setattr("cudamaster.graph.doctor.examine", lambda home: [])
    CliRunner().invoke(app, ["doctor", "--calibrate", "--home", str(tmp_path / "home")])
    assert asked == [tmp_path / "home"]
    assert CudaDevice()._home == tmp_path / "home"  # what get_device makes
