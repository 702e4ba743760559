"""Compare the extension with PyTorch's own arithmetic in float64."""

import torch
from rms_norm_extension import rms_norm

for dtype, tolerance in ((torch.float32, 1e-5), (torch.bfloat16, 2e-2)):
    x = torch.randn(1000, 777, device="cuda", dtype=dtype)
    weight = torch.randn(777, device="cuda", dtype=dtype)
    exact = x.double() * torch.rsqrt(x.double().square().mean(-1, keepdim=True) + 1e-5) * weight.double()
    error = (rms_norm(x, weight, 1e-5).double() - exact).abs().max().item()
    print(f"{dtype}: largest error {error:.2g}")
    assert error < tolerance * exact.abs().max().item()
