"""Kernels: compiled by numba, without the GIL, and kept on disk between processes.

The name of the file of a compiled kernel is a digest of everything that its machine
code depends on: its own code and the code of every kernel it calls, in any file, the
constants of both, the types of the arguments, the versions of Python, NumPy, numba and
llvmlite, and the processor. So no file is ever outdated. If several processes need the
same file, one compiles it while the others wait; each write replaces the whole file
atomically. (numba's own cache knows only the file of the kernel itself, and two
processes that compile different types can leave one with the machine code of the
other.)

Files are read from `__pycache__` beside the sources and from `clusterlens` in the cache
directory of the user (`XDG_CACHE_HOME`, `LOCALAPPDATA` or `~/.cache`), and written to
the first of these that is writable. `NUMBA_CACHE_DIR` replaces both if it is set. If no
directory is writable, kernels are compiled in every process, with the same results. A
read-only installation can include its kernels: call `compile_kernels` once while it is
still writable, on the kind of processor that it will run on.
"""

from __future__ import annotations

import dis
import hashlib
import inspect
import os
import pickle
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from types import BuiltinFunctionType, CodeType, ModuleType
from typing import Any

import numba
import numpy as np
from numba.core import sigutils
from numba.core.caching import NullCache
from numba.core.compiler import CompileResult
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import CPUDispatcher, cpu_target
from numba.core.runtime import rtsys
from numba.core.serialize import dumps
from numba.extending import _Intrinsic

from clusterlens.compute._run.process_locks import ProcessLocks

SOURCES = Path(__file__).parents[1]
# Remove files of earlier versions of a kernel that were not used for this time.
UNUSED_DAYS = 30.0
# Seconds to wait for a kernel that another process compiles; most take one or two.
PATIENCE = 60.0
VERSIONS = (
    sys.implementation.cache_tag,
    np.__version__,
    numba.__version__,
    version("llvmlite"),
)


def kernel(*, fast_sums: bool = False) -> Callable[[Any], Any]:
    """Return the decorator of a kernel.

    Parameters
    ----------
    fast_sums : bool, default False
        Permit sums in another order, and products added without rounding in between, so
        that loops over features vectorise. Values change only by rounding; NaN and
        infinities keep their meaning.

    Returns
    -------
    decorator : callable
        Makes a function compile at its first call with each combination of types.

    Notes
    -----
    A kernel may use modules, kernels, functions of NumPy and plain constants.
    Everything else must be an argument, because the file of a kernel must change with
    its constants.
    """

    def decorate(function: Any) -> Any:
        fastmath = {"reassoc", "contract"} if fast_sums else False
        made = numba.njit(nogil=True, fastmath=fastmath)(function)
        if isinstance(made, CPUDispatcher):  # not so under NUMBA_DISABLE_JIT
            made._cache = files = _KernelFiles(made)
            made.compile = files.release_after(made.compile)
        return made

    return decorate


class _KernelFiles(NullCache):
    """The files of one kernel, with the interface that numba expects."""

    def __init__(self, made: Any) -> None:
        self._kernel = made
        self._held: tuple[ProcessLocks, str] | None = None

    def release_after(self, compiled: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Release the lock for compiling after the method that loads or compiles."""

        def compiled_and_released(sig: Any) -> Any:
            with global_compiler_lock:  # no thread may release the lock of another
                try:
                    return compiled(sig)
                finally:
                    if self._held is not None:
                        locks, name = self._held
                        locks.release(name)
                        self._held = None

        return compiled_and_released

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the kernel compiled for the types, or None if it must be compiled."""
        # Imports everything that machine code needs. The declarations for the compiler
        # take half a second to import, and it imports them itself.
        rtsys.initialize(target_context)
        name = self._name(sig)
        found = self._find(name, sig, target_context)
        if found is None and (locks := _compile_locks()) is not None:
            self._held = locks, name
            locks.acquire(name, PATIENCE)
            found = self._find(name, sig, target_context)
        return found

    def _find(self, name: str, sig: Any, target_context: Any) -> Any:
        """Return the kernel in the file of that name, or None if there is none."""
        for directory in directories():
            with suppress(Exception):  # no file or a damaged one: compile
                data = _read(directory / name)
                found = CompileResult._rebuild(target_context, *pickle.loads(data))
                if found.signature.args == _argument_types(sig):
                    return found
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Write the kernel compiled for the types, if any directory is writable."""
        if data.library.has_dynamic_globals:  # addresses of this process
            return
        name = self._name(sig)
        content = dumps(data._reduce())
        for directory in directories():
            with suppress(OSError):
                _write(directory / name, content)
                _remove_unused(directory, self._stem())
                return

    def _stem(self) -> str:
        """Beginning of the names of all files of the kernel."""
        function = self._kernel.py_func
        return f"{function.__module__.rpartition('.')[2]}.{function.__qualname__}-"

    def _name(self, sig: Any) -> str:
        """Name of the file: the kernel, and a digest of all it depends on."""
        types = _argument_types(sig)
        key = (kernel_digest(self._kernel), types, VERSIONS, _settings())
        return f"{self._stem()}{_digest(repr(key))}.nbc"


def directories() -> list[Path]:
    """Return the directories for files of kernels, in the order of use."""
    if numba.config.CACHE_DIR:
        return [Path(numba.config.CACHE_DIR)]
    home = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    user = Path(home or "~/.cache").expanduser() / "clusterlens"
    return [SOURCES / "__pycache__", *([user] if user.is_absolute() else [])]


def all_on_disk() -> bool:
    """Whether all kernels of this version were compiled for this machine before."""
    return any((place / _mark()).exists() for place in directories())


def mark_all_on_disk() -> None:
    """Note that all kernels of this version have been compiled."""
    for directory in directories():
        with suppress(OSError):
            _write(directory / _mark(), b"")
            _remove_unused(directory, "all-")
            return


@cache
def _mark() -> str:
    """Name of the marker file for all kernels of this version on this machine."""
    sources = sorted(SOURCES.rglob("*.py"))
    codes = [hashlib.sha256(path.read_bytes()).hexdigest() for path in sources]
    return f"all-{_digest(repr((codes, VERSIONS, _settings())))}.nbc"


def _settings() -> tuple[Any, ...]:
    """What machine code depends on apart from the sources: processor and options."""
    processor = cpu_target.target_context.codegen().magic_tuple()
    return processor, numba.config.BOUNDSCHECK, numba.config.OPT


def _compile_locks() -> ProcessLocks | None:
    """Return the lock for compiling, in the first writable directory."""
    return next(filter(None, map(_locks_in, directories())), None)


@cache
def _locks_in(directory: Path) -> ProcessLocks | None:
    """Return the lock in a directory, None if it is not writable."""
    try:
        return ProcessLocks(directory / "compiling")
    except OSError:
        return None


@cache
def kernel_digest(made: Any) -> str:
    """Digest of the code and the constants of a kernel and of all it calls."""
    parts = []
    for called in reached_kernels(made):
        function = called.py_func
        used = sorted(_globals_used(function).items())
        parts += [
            function.__qualname__,
            repr(_code_parts(function.__code__)),
            repr(function.__defaults__),
            repr(bool(called.targetoptions["fastmath"])),  # sets have no fixed order
            repr([(name, _identity(value, function)) for name, value in used]),
        ]
    return _digest("\n".join(parts))


def reached_kernels(made: Any) -> list[Any]:
    """Return the kernel and all kernels that it calls, directly or through others."""
    reached = [made]
    for called in reached:
        used = _globals_used(called.py_func).values()
        new = [value for value in used if isinstance(value, CPUDispatcher)]
        reached += [value for value in new if value not in reached]
    return reached


def _globals_used(function: Any) -> dict[str, Any]:
    """Global names that a function reads, with their values; builtins left out."""
    names = set(_global_names(function.__code__))
    return {k: v for k, v in function.__globals__.items() if k in names}


def _global_names(code: CodeType) -> Iterator[str]:
    """Global names read in a code object and in those within it."""
    for step in dis.get_instructions(code):
        if step.opname == "LOAD_GLOBAL":
            yield step.argval
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _global_names(constant)


def _code_parts(code: CodeType) -> tuple[Any, ...]:
    """Return the behaviour of a code object, independent of its file and line."""
    constants = [
        _code_parts(constant) if isinstance(constant, CodeType) else constant
        for constant in code.co_consts
    ]
    return code.co_code, constants, code.co_names, code.co_varnames


def _identity(value: Any, function: Any) -> str:
    """Return a text that identifies a global value of a kernel."""
    if isinstance(value, CPUDispatcher):
        return str(value.py_func.__qualname__)
    if isinstance(value, _Intrinsic):  # its instructions, and what makes them
        return inspect.getsource(sys.modules[value._defn.__module__])
    if isinstance(value, bool | int | float | str | np.generic):
        return repr(value)
    if isinstance(value, ModuleType | type | BuiltinFunctionType):
        name = f"{getattr(value, '__module__', '')}:{value.__name__}"
        if "clusterlens" not in name:
            return name
    raise TypeError(
        f"The kernel {function.__qualname__} uses a global value of type "
        f"{type(value).__name__}, found {value!r:.60}; make it a plain constant or an "
        "argument."
    )


def _argument_types(sig: Any) -> tuple[Any, ...]:
    """Types of the arguments in a signature, whether or not it has a return type."""
    return tuple(sigutils.normalize_signature(sig)[0])


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:40]


def _read(path: Path) -> bytes:
    """Return the content of a file, marked as used; ValueError if it is damaged."""
    content = path.read_bytes()
    check, data = content[:32], content[32:]
    if hashlib.sha256(data).digest() != check:
        raise ValueError(f"{path.name} is damaged.")
    with suppress(OSError):
        os.utime(path)
    return data


def _write(path: Path, data: bytes) -> None:
    """Write a file that `_read` can check."""
    write_atomically(path, hashlib.sha256(data).digest() + data)


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that no other process reads a part of it.

    Parameters
    ----------
    path : Path
        The file; missing folders are created.
    content : bytes
        Its content.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{uuid.uuid4().hex[:12]}")
    try:
        draft.write_bytes(content)
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)


def _remove_unused(directory: Path, stem: str) -> None:
    """Remove files of a kernel that have not been used for long."""
    oldest = time.time() - UNUSED_DAYS * 86400
    for path in directory.glob(f"{stem}*"):
        with suppress(OSError):
            if path.stat().st_mtime < oldest:
                path.unlink()
