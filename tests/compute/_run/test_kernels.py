"""Files of kernels: found again, never stale, never mixed up, never needed."""

import importlib.util
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from numba.core.errors import TypingError

from clusterlens.compute._run import kernels

CALLEE = """
from clusterlens.compute._run.kernels import kernel

@kernel()
def step(x):
    return x + 1
"""
CALLER = """
from clusterlens.compute._run.kernels import kernel
from {callee} import step

FACTOR = 10

@kernel()
def scaled(x):
    return FACTOR * step(x)
"""
# Prints the result of the kernel for each type, and the number of compiled types.
SCRIPT = """
import sys
import numpy as np
sys.path.insert(0, {folder!r})
from caller import scaled
for name in sys.argv[1:]:
    print(name, scaled(np.dtype(name).type(4)))
print(sum(scaled.stats.cache_misses.values()))
"""


@pytest.fixture
def places(monkeypatch, tmp_path):
    """Places for files, as a list to change; at first one empty folder."""
    found = [tmp_path / "first"]
    monkeypatch.setattr(kernels, "directories", lambda: found)
    return found


@pytest.fixture
def load(tmp_path, monkeypatch):
    """Return a function that reloads the two modules, as another process would."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def loaded(caller=CALLER, callee=CALLEE):
        for name, text in (("callee", callee), ("caller", caller)):
            path = tmp_path / f"{name}.py"
            path.write_text(text.format(callee="callee"))
            spec = importlib.util.spec_from_file_location(name, path)
            module = importlib.util.module_from_spec(spec)
            monkeypatch.setitem(sys.modules, name, module)
            exec(compile(path.read_text(), path, "exec"), vars(module))
        return module.scaled

    return loaded


def n_compiled(kernel):
    return sum(kernel.stats.cache_misses.values())


def test_a_compiled_kernel_is_found_again(places, load):
    first, second = load(), load()
    assert first(4) == second(4) == 50
    assert (n_compiled(first), n_compiled(second)) == (1, 0)


def test_other_types_are_kept_beside_the_first(places, load):
    first, second = load(), load()
    first(4), first(0.5)
    assert (second(0.5), second(4)) == (15.0, 50)
    assert n_compiled(second) == 0


@pytest.mark.parametrize(
    ("change", "result"),
    [
        ({"callee": CALLEE.replace("x + 1", "x + 2")}, 60),
        ({"callee": CALLEE.replace("x + 1", "x - 1")}, 30),
        ({"caller": CALLER.replace("= 10", "= 11")}, 55),
        ({"caller": CALLER.replace("FACTOR *", "3 *")}, 15),
        ({"caller": CALLER.replace("kernel()", "kernel(fast_sums=True)")}, 50),
    ],
    ids=["callee", "operator of callee", "constant", "code", "option"],
)
def test_a_change_anywhere_in_what_runs_is_compiled(places, load, change, result):
    load()(4)
    changed = load(**change)
    assert changed(4) == result
    assert n_compiled(changed) == 1


def test_a_change_elsewhere_in_the_file_is_not_compiled(places, load):
    load()(4)
    moved = load(CALLER + "\n\nOTHER = 1\n", "# A comment.\n" + CALLEE)
    assert moved(4) == 50
    assert n_compiled(moved) == 0


def test_another_version_of_a_library_is_compiled(places, load, monkeypatch):
    load()(4)
    monkeypatch.setattr(kernels, "VERSIONS", ("another",))
    newer = load()
    assert newer(4) == 50
    assert n_compiled(newer) == 1


@pytest.mark.parametrize("damage", [b"", b"\0" * 5000, b"cut"])
def test_a_damaged_file_is_compiled_anew(places, load, damage):
    load()(4)
    for path in places[0].iterdir():
        path.write_bytes(damage)
    assert load()(4) == 50
    healed = load()
    assert healed(4) == 50
    assert n_compiled(healed) == 0


def test_a_file_of_other_types_is_not_taken(places, load):
    load()(4)
    (integers,) = places[0].glob("caller.scaled-*")
    load()(0.5)
    (floats,) = set(places[0].glob("caller.scaled-*")) - {integers}
    floats.write_bytes(integers.read_bytes())
    assert load()(0.5) == 15.0


def test_kernels_work_where_nothing_can_be_written(places, load, tmp_path):
    (tmp_path / "file").write_text("not a folder")
    places[:] = [tmp_path / "file" / "below"]
    for _ in range(2):
        kernel = load()
        assert kernel(4) == 50
        assert n_compiled(kernel) == 1


def test_files_are_written_to_the_first_place_that_takes_them(places, load, tmp_path):
    (tmp_path / "file").write_text("not a folder")
    places.insert(0, tmp_path / "file" / "below")
    load()(4)
    assert len(list(places[1].glob("*.nbc"))) == 2  # caller and callee
    found = load()
    assert found(4) == 50
    assert n_compiled(found) == 0


def test_files_are_read_from_every_place(places, load, tmp_path):
    load()(4)
    places.insert(0, tmp_path / "empty")
    found = load()
    found(4)
    assert n_compiled(found) == 0
    assert not places[0].exists()


def test_files_unused_for_long_go_when_the_kernel_changes(places, load):
    load()(4)
    old = time.time() - (kernels.UNUSED_DAYS + 1) * 86400
    before = set(places[0].glob("caller.*"))
    for path in places[0].iterdir():
        os.utime(path, (old, old))
    load(CALLER.replace("= 10", "= 11"))(4)
    assert not before & set(places[0].iterdir())


def test_a_file_in_use_stays(places, load):
    load()(4)
    old = time.time() - (kernels.UNUSED_DAYS + 1) * 86400
    before = set(places[0].glob("caller.*"))
    for path in before:
        os.utime(path, (old, old))
    load()(4)
    load(CALLER.replace("= 10", "= 11"))(4)
    assert before <= set(places[0].iterdir())


def test_processes_that_compile_at_once_leave_the_right_files(tmp_path):
    types = ["int8", "int16", "int32", "int64", "float32", "float64"]
    orders = [types, types[::-1], types[3:] + types[:3]]
    (tmp_path / "callee.py").write_text(CALLEE)
    options = "kernel(fast_sums=True)"
    (tmp_path / "caller.py").write_text(
        CALLER.format(callee="callee").replace("kernel()", options)
    )
    script = SCRIPT.format(folder=str(tmp_path))
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "kernels")}

    def start(names):
        return subprocess.Popen(
            [sys.executable, "-c", script, *names],
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
        )

    for process in [start(names) for names in orders]:
        process.communicate()
        assert process.returncode == 0
    out, _ = start(types).communicate()
    *lines, compiled = out.splitlines()
    assert compiled == "0"
    for name, line in zip(types, lines, strict=True):
        assert line == f"{name} {10 * np.dtype(name).type(5)}"


def test_a_kernel_is_loaded_without_what_only_the_compiler_needs():
    script = """
import sys
import numpy as np, clusterlens as cl
distinct = np.tile(np.arange(50), (4, 1))
distinct[0] = 0
for labels in (distinct, np.repeat(distinct, 2, axis=1)):
    cl.count_agreements(cl.Ensemble(labels))
print("numba.np.arraymath" in sys.modules, "scipy.linalg" in sys.modules)
"""
    for _ in range(2):  # the first one may have to compile
        command = [sys.executable, "-c", script]
        ended = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ended.stdout == "False False\n"


def test_of_processes_that_need_a_kernel_at_once_one_compiles_it(tmp_path):
    (tmp_path / "callee.py").write_text(CALLEE)
    (tmp_path / "caller.py").write_text(CALLER.format(callee="callee"))
    # All begin when the last one is there.
    script = SCRIPT.replace(
        "for name", "print(flush=True)\nsys.stdin.readline()\nfor name", 1
    ).format(folder=str(tmp_path))
    started = [
        subprocess.Popen(
            [sys.executable, "-c", script, "int64"],
            env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "kernels")},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    for process in started:
        process.stdout.readline()
    for process in started:
        process.stdin.write("\n")
        process.stdin.flush()
    answers = [process.communicate()[0].split() for process in started]
    assert [value for _, value, _ in answers] == ["50"] * 3
    assert sorted(compiled for *_, compiled in answers) == ["0", "0", "1"]


def test_a_kernel_that_does_not_compile_keeps_nobody_waiting(places, load, monkeypatch):
    ended = []
    monkeypatch.setattr(
        kernels.ProcessLocks, "release", lambda locks, name: ended.append(name)
    )
    with pytest.raises(TypingError):
        load()("text")
    # numba 0.61 tries the inner one twice.
    tried = dict.fromkeys(name.partition("-")[0] for name in ended)
    assert list(tried) == ["callee.step", "caller.scaled"]


def test_all_kernels_are_on_disk_once_that_was_noted(places, monkeypatch):
    assert not kernels.all_on_disk()
    kernels.mark_all_on_disk()
    assert kernels.all_on_disk()
    monkeypatch.setattr(kernels, "VERSIONS", ("another",))
    kernels._mark.cache_clear()
    assert not kernels.all_on_disk()
    kernels._mark.cache_clear()


def test_the_folder_of_the_user_comes_after_that_of_the_sources(monkeypatch):
    monkeypatch.setattr(kernels.numba.config, "CACHE_DIR", "")
    monkeypatch.setenv("XDG_CACHE_HOME", "/of/the/user")
    beside, last = kernels.directories()
    assert beside.name == "__pycache__"
    assert last == Path("/of/the/user/clusterlens")


def test_a_chosen_folder_replaces_the_others(monkeypatch, tmp_path):
    monkeypatch.setattr(kernels.numba.config, "CACHE_DIR", str(tmp_path))
    assert kernels.directories() == [tmp_path]


def test_without_a_home_there_is_no_folder_of_the_user(monkeypatch):
    monkeypatch.setattr(Path, "expanduser", lambda path: path)
    monkeypatch.setattr(kernels.numba.config, "CACHE_DIR", "")
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    assert [place.name for place in kernels.directories()] == ["__pycache__"]


def test_a_kernel_that_reads_a_global_table_is_refused(places, load):
    with_table = CALLER.replace("= 10", "= [10]").replace("FACTOR *", "FACTOR[0] *")
    with pytest.raises(TypeError, match=r"scaled uses a global value of type list"):
        load(with_table)(4)
