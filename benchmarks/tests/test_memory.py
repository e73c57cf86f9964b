"""The benchmark of memory on a small analysis."""

import asyncio

from benchmarks import memory
from tests.ui.loop import run


def test_what_the_benchmark_keeps_can_be_opened(tmp_path):
    async def main():
        await memory.reopen(await asyncio.to_thread(memory.kept, tmp_path, 60, 4))

    run(main())
