"""Tests of replayed scripts: no network, no home, no settings, limited resources."""

import os
import socket
import sys
from contextlib import suppress

import numpy as np
import pytest

import clusterlens as cl
from clusterlens.compute._run.options import Cancelled
from clusterlens.ui.exports import guard
from clusterlens.ui.exports.replay import replay

RANKING = cl.rank_partitions(cl.Ensemble([[0, 1], [0, 0], [1, 1]], names=list("abc")))
SAME = f"""
import numpy as np
from types import SimpleNamespace as Some
ens = Some(names=list("abc"), labels=np.array([[0, 1], [0, 0], [1, 1]]))
values = np.frombuffer(bytes.fromhex({RANKING.values.tobytes().hex()!r}))
def analyse():
    return dict(ensemble=ens, ranking=Some(values=values), clusters=[1, -1])
"""
CLUSTERS = np.array([0, -1])
linux = pytest.mark.skipif(sys.platform != "linux", reason="a limit of Linux")


def run_script(script: str, *, limited: bool = True):
    return replay(
        script + SAME, [], {}, RANKING, CLUSTERS, lambda: False, limited=limited
    )


@pytest.mark.parametrize(
    "call",
    [
        "socket.create_connection(('127.0.0.1', {port}), 5)",
        "socket.getaddrinfo('localhost', {port})",
        "socket.socket().bind(('127.0.0.1', 0))",
        "socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', {port}))",
        "__import__('urllib.request').request.urlopen('http://127.0.0.1:{port}')",
    ],
)
def test_a_script_reaches_no_machine(call):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with pytest.raises(ValueError, match="no network"):
            run_script(f"import socket\n{call.format(port=port)}\n", limited=False)


@linux
def test_a_network_of_its_own_has_no_way_out():
    if not run_script("").left_network:
        pytest.skip("this system gives a script no network of its own")
    names = "[name for _, name in socket.if_nameindex()]"
    run_script(f"import socket\nassert {names} == ['lo'], {names}\n")


def test_a_script_sees_no_home_and_no_settings_of_the_server(monkeypatch):
    monkeypatch.setenv("CLUSTERLENS_SECRET", "s3cret")
    found = run_script(
        "import os, tempfile\n"
        "assert 's3cret' not in str(os.environ)\n"
        "home = os.path.expanduser('~')\n"
        "assert home.startswith(os.getcwd()) and os.listdir(home) == []\n"
        "assert tempfile.gettempdir() == home\n"
    )
    assert found.difference == ""


@linux
@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (f"bytearray({20 * guard.MEMORY_GB} * 10**8)", "MemoryError"),
        (f"open('a', 'wb').truncate({guard.FILE_GB} * 10**9 + 1)", "File too large"),
    ],
)
def test_a_script_of_a_file_takes_so_much_and_no_more(script, reason):
    with pytest.raises(ValueError, match=reason):
        run_script(script)


@linux
def test_processor_time_is_limited_only_for_a_script_of_a_file():
    ask = "import resource\nmost = resource.getrlimit(resource.RLIMIT_CPU)[1]\n"
    run_script(f"{ask}assert most == {guard.PROCESSOR_SECONDS}\n")
    run_script(f"{ask}assert most != {guard.PROCESSOR_SECONDS}\n", limited=False)


@linux
def test_what_ended_a_silent_script_is_named():
    with pytest.raises(ValueError, match="CPU time limit"):
        run_script("import os, signal\nos.kill(os.getpid(), signal.SIGXCPU)\n")


@linux
def test_what_a_script_started_ends_with_it(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    end = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    call = "subprocess.run('echo x; sleep 600', shell=True, stdout=file)"
    script = f"import subprocess\nwith open({str(pipe)!r}, 'wb') as file:\n    {call}"
    received = bytearray()

    def has_begun() -> bool:
        with suppress(BlockingIOError):
            received.extend(os.read(end, 1))
        return bool(received)

    with pytest.raises(Cancelled):
        replay(script, [], {}, RANKING, CLUSTERS, has_begun, limited=True)
    os.set_blocking(end, True)
    assert os.read(end, 10) == b"\n"
    assert os.read(end, 10) == b""  # all other holders of the pipe have ended
    os.close(end)
