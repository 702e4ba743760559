from __future__ import annotations

import json
from pathlib import Path

import pytest
from cudamaster.tools.device.gpu_model import DEFAULT_GPU, calibrated, calibration_file, gpu_model, gpu_models


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ("NVIDIA H200", "NVIDIA H200"),
        ("h200", "NVIDIA H200"),
        ("NVIDIA H100 PCIe", "NVIDIA H100 80GB HBM3"),
        ("NVIDIA A100-SXM4-80GB", "NVIDIA A100 80GB"),
        ("NVIDIA GeForce RTX 4090", "NVIDIA GeForce RTX 4090"),
        ("sm_89", "NVIDIA GeForce RTX 4090"),
        ("8.6", "NVIDIA GeForce RTX 3090"),
        ("sm_90a", "NVIDIA H200"),
        ("100", "NVIDIA B200"),
        ("sm_120", "NVIDIA GeForce RTX 5090"),
    ],
)
def test_a_gpu_is_found_by_name_or_architecture(asked: str, name: str) -> None:
    assert gpu_model(asked).name == name
    assert not gpu_model(asked).note


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ("sm_103", "NVIDIA B200"),
        ("sm_75", "NVIDIA A100 80GB"),
        ("Voodoo 2", DEFAULT_GPU),
        ("NVIDIA GeForce RTX 50901", DEFAULT_GPU),
    ],
)
def test_an_unlisted_gpu_gets_the_nearest_figures_and_says_so(asked: str, name: str) -> None:
    model = gpu_model(asked)
    assert model.name == name
    assert asked in model.note
    assert name in model.note


def test_the_figures_hang_together() -> None:
    for gpu in gpu_models():
        lanes = gpu.fp32_tflops * 1e12 / (2 * gpu.multiprocessors * gpu.sm_clock_mhz * 1e6)
        assert lanes == pytest.approx(64 if gpu.arch == "sm_80" else 128, rel=0.01), gpu.name
        assert gpu.bf16_tensor_tflops > gpu.bf16_tflops >= gpu.fp32_tflops > gpu.fp64_tflops, gpu.name
        assert gpu.threads_per_sm % 32 == 0
        assert gpu.shared_bytes_per_block < gpu.shared_bytes_per_sm
        assert gpu.comment, gpu.name


def test_a_calibration_replaces_what_was_measured_and_nothing_else(tmp_path: Path) -> None:
    datasheet = gpu_model("H200")
    assert calibrated(datasheet, tmp_path) is datasheet
    assert calibrated(datasheet, None) is datasheet
    path = calibration_file("NVIDIA H200", tmp_path)
    path.parent.mkdir()
    path.write_text(json.dumps({"dram_gbps": 4300.0, "empty_launch_us": 2.6, "multiprocessors": 7}))
    measured = calibrated(datasheet, tmp_path)
    assert (measured.dram_gbps, measured.empty_launch_us) == (4300.0, 2.6)
    assert measured.multiprocessors == 132
    assert "2 figures calibrated" in measured.note


@pytest.mark.parametrize("content", ["{", "[]", '{"dram_gbps": -1}', '{"dram_gbps": "fast"}'])
def test_a_broken_calibration_names_its_file(tmp_path: Path, content: str) -> None:
    path = calibration_file(DEFAULT_GPU, tmp_path)
    path.parent.mkdir()
    path.write_text(content)
    with pytest.raises(ValueError, match=r"nvidia-h200\.json.*calibrate again"):
        calibrated(gpu_model(), tmp_path)
