"""Several runs side by side in one event loop."""

import asyncio

from cudamaster import aoptimize


async def main() -> None:
    """Optimise two tasks at the same time."""
    tasks = ["dot_product", "relu"]
    for summary in await asyncio.gather(*(aoptimize(task, device="cpu", rounds=1) for task in tasks)):
        print(summary.unit, summary.status)


asyncio.run(main())
