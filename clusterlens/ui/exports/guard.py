"""Guard: keep a script off the network and within limits of time and memory.

`replay` puts a copy of this file beside the script, which imports it first in each of
its processes, so this file uses the standard library alone. Measures that a system does
not offer are skipped, and the measures in force are reported.
"""

from __future__ import annotations

import ctypes
import os
import sys
from typing import Any

try:
    import resource
except ImportError:  # Windows has none
    resource = None  # type: ignore[assignment]

PROCESSOR_SECONDS = 1800
MEMORY_GB = 8
FILE_GB = 2
_GB = 10**9
# Socket calls that reach another machine, or let another machine reach this one.
_REACHING = ("connect", "bind", "sendto", "sendmsg", "getaddrinfo", "gethostbyname")
# Linux constants: user and network namespaces, and no additional privileges.
_NEW_USERS, _NEW_NETWORK, _NO_NEW_RIGHTS = 0x10000000, 0x40000000, 38


def limits() -> list[str]:
    """Return the limits that `take_limits` sets here, in words."""
    if resource is None:
        return []
    memory = [f"{MEMORY_GB} GB of memory"] if sys.platform == "linux" else []
    return [
        f"{PROCESSOR_SECONDS // 60} minutes of processor time",
        *memory,
        f"files of {FILE_GB} GB",
        *([f"{_most_processes()} processes and threads"] if _counts() else []),
    ]


def take_limits() -> None:
    """Limit this process and each process that it starts, irrevocably."""
    if resource is None:
        return
    values = {
        "RLIMIT_CPU": PROCESSOR_SECONDS,
        "RLIMIT_FSIZE": FILE_GB * _GB,
        "RLIMIT_CORE": 0,
    }
    if sys.platform == "linux":
        values["RLIMIT_AS"] = MEMORY_GB * _GB
    if _counts():
        values["RLIMIT_NPROC"] = _most_processes()
    for name, value in values.items():
        which = getattr(resource, name)
        hard = resource.getrlimit(which)[1]
        most = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(which, (most, most))


def _counts() -> bool:
    """Return whether the system counts the processes of this script alone."""
    return sys.platform == "linux" and os.getuid() != 0


def _most_processes() -> int:
    return 256 + 2 * (os.cpu_count() or 1) ** 2


def leave_network() -> bool:
    """Give this process and its children a network without any machine in it.

    Returns
    -------
    left : bool
        Whether the system did that; otherwise only `refuse_sockets` blocks the network.
    """
    if sys.platform != "linux":
        return False
    system = ctypes.CDLL(None)
    system.prctl(_NO_NEW_RIGHTS, 1, 0, 0, 0)
    user, group = os.getuid(), os.getgid()
    if system.unshare(_NEW_USERS | _NEW_NETWORK) != 0:
        return False
    for name, line in (
        ("setgroups", "deny"),
        ("uid_map", f"{user} {user} 1"),
        ("gid_map", f"{group} {group} 1"),
    ):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(line)
    return True


def refuse_sockets() -> None:
    """Prevent Python code of this process from reaching machines by name or number."""

    def refuse(event: str, arguments: tuple[Any, ...]) -> None:
        module, _, call = event.partition(".")
        if module != "socket" or call not in _REACHING:
            return
        # Processes of one machine reach each other by the name of a file.
        if call in _REACHING[:4] and not isinstance(arguments[1], tuple):
            return
        raise PermissionError("there is no network for a script that is checked")

    sys.addaudithook(refuse)
