"""An event loop for a test, even while the browser's loop is running."""

import asyncio
from concurrent.futures import ThreadPoolExecutor


def run(coroutine, seconds=120):
    """Run a coroutine on a loop of its own; fail if it takes too long."""

    def work():
        return asyncio.run(asyncio.wait_for(coroutine, seconds))

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(work).result()


def taking(make):
    """Return a runner of scenarios, coroutine functions, with the output of `make`."""

    def take(scenario):
        async def main():
            await scenario(make())

        run(main())

    return take


async def wait_until_idle(owner):
    """Return when no job of a session, or of another owner of jobs, is running."""
    await asyncio.sleep(0)
    while not owner.jobs.at_rest:
        await asyncio.sleep(0.01)
