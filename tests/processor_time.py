"""A bound for work that must not take longer when a file is written by an attacker."""

import signal
from contextlib import contextmanager


@contextmanager
def at_most(seconds):
    """Fail after so many seconds of this process on a processor, however busy it is."""

    def stop(*_):
        raise AssertionError(f"it takes more than {seconds} s of processor time")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
