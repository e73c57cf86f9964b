"""Guard: keep a script from the network, and from taking more than it may.

`replay` puts a copy of this file beside the script, which imports it first in each of
its processes; so it uses the standard library alone. What a system does not offer is
left out, and what is in force is said.
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
# Calls of a Python process that reach another machine, or let one reach it.
_REACHING = ("connect", "bind", "sendto", "sendmsg", "getaddrinfo", "gethostbyname")
# Of Linux: namespaces of users and of networks, and no more rights than now.
_NEW_USERS, _NEW_NETWORK, _NO_NEW_RIGHTS = 0x10000000, 0x40000000, 38


def limits() -> list[str]:
    """Say which limits `take_limits` sets here."""
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
    """Limit this process and those it starts, each by itself, for good."""
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
    """Whether processes are counted for this script alone: in a namespace, no root."""
    return sys.platform == "linux" and os.getuid() != 0


def _most_processes() -> int:
    return 256 + 2 * (os.cpu_count() or 1) ** 2


def leave_network() -> bool:
    """Give this process and those it starts a network without any machine in it.

    Returns
    -------
    left : bool
        Whether the system did that; else only `refuse_sockets` stands in the way.
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
    """Let no Python code of this process reach a machine by name or number."""

    def refuse(event: str, arguments: tuple[Any, ...]) -> None:
        module, _, call = event.partition(".")
        if module != "socket" or call not in _REACHING:
            return
        # Processes of one machine reach each other by the name of a file.
        if call in _REACHING[:4] and not isinstance(arguments[1], tuple):
            return
        raise PermissionError("there is no network for a script that is checked")

    sys.addaudithook(refuse)
