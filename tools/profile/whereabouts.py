"""Where the time of a profiled call goes: plain facts beside the findings, which say what to do about it."""

from __future__ import annotations

from typing import Final

from .roofline import roofline
from .subject import Subject

_KERNELS: Final = 4
"""Told of one by one."""


def whereabouts(subject: Subject) -> tuple[str, ...]:
    """Return a line on the call (size, time, floor) and one for each kernel (time, share of both ceilings).

    Nothing where the profile has no times. Times of the cpu device are estimates and called so.
    """
    if subject.call_us is None:
        return ()
    about = "about " if subject.profile.device == "cuda" else "an estimated "
    bound = subject.floor
    lines = [
        f"At {subject.case.name} the call takes {about}{subject.call_us:.3g} us, launches included; "
        f"its floor is {bound.time_us:.3g} us ({bound.limiter})."
    ]
    roofs = roofline(subject.profile, subject.gpu)
    for kernel in subject.kernels[:_KERNELS]:
        mine = [roof for roof in roofs if roof.kernel == kernel.name]
        time_us = sum(roof.time_us for roof in mine)
        parts = [f"`{kernel.name}`: {time_us:.3g} us in {len(mine)} launch{'es' if len(mine) > 1 else ''}"]
        for what, shares in (
            ("device memory", [(roof.dram_pct, roof.time_us) for roof in mine]),
            ("arithmetic", [(roof.compute_pct, roof.time_us) for roof in mine]),
        ):
            known = [(pct, us) for pct, us in shares if pct is not None]
            if known and time_us:
                parts.append(f"{what} {sum(pct * us for pct, us in known) / time_us:.0f} % of peak")
        lines.append(", ".join(parts))
    return tuple(lines)
