from __future__ import annotations

from pathlib import Path

import cudamaster
import pytest

EXAMPLES = Path(cudamaster.__file__).parent / "examples"

LAUNCH_SAXPY = """
void launch_saxpy(const float* x, float* y, float a, int count, int piece, cudaStream_t stream) {
    int threads = 256;
    int blocks = (count + threads * piece - 1) / (threads * piece);
    saxpy<<<blocks, threads, 0, stream>>>(x, y, a, count, piece);
}
"""
"""What `init` says is to be added to the single-file example."""


@pytest.fixture
def saxpy(tmp_path: Path) -> Path:
    """The single-file example with the launcher that `init` asks for."""
    text = (EXAMPLES / "single_file/saxpy.cu").read_text().replace("int main(", f"{LAUNCH_SAXPY.strip()}\n\nint main(")
    file = tmp_path / "saxpy.cu"
    file.write_text(text)
    return file
