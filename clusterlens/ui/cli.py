"""The console command: serve the page on this machine and open a browser on it.

    clusterlens [TABLE] [--landmarks N | --run FOLDER] [--port N] [--address HOST]
        [--origin HOST:PORT] [--no-browser]
    clusterlens assign SEGMENTATION TABLE -o FILE
    clusterlens run SOURCE --out FOLDER

Nothing heavy is imported before the arguments have been checked.
"""

from __future__ import annotations

import argparse
import atexit
import errno
import gc
import signal
import socket
import sys
import threading
import webbrowser
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from clusterlens import __version__

PORT = 5006
# Kernels are compiled after the first page, or after so long without one.
LONELY_SECONDS = 20
LOOPBACK = ("127.0.0.1", "localhost")
SERVER_SETTINGS = {
    # A page may stay open overnight before it connects again.
    "session_token_expiration": 86_400,
    # Files come in pieces of 5 MB; a lasso over many samples comes in one message.
    "websocket_max_message_size": 100_000_000,
    # An idle connection makes room for others. Files come by websocket.
    "http_server_kwargs": {
        "idle_connection_timeout": 20,
        "body_timeout": 20,
        "max_body_size": 1_000_000,
        "max_header_size": 65_536,
    },
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve the page until Ctrl-C; return the exit status.

    Parameters
    ----------
    arguments : sequence of str, optional
        Arguments. Default: the command line.

    Returns
    -------
    status : int
        0 after Ctrl-C, 2 if the arguments or the port cannot be used.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments and arguments[0] == "assign":
        from clusterlens.compute.assigning.console import main as assign

        return assign(arguments[1:])
    if arguments and arguments[0] == "run":
        from clusterlens.compute.scale.console import main as run_pool_at_scale

        return run_pool_at_scale(arguments[1:])
    given = _parser().parse_args(arguments)
    try:
        landmarks = _check_file(given.file, given.landmarks, given.run)
        server = make_server(
            given.port, given.address, given.origin, given.file, landmarks, given.run
        )
    except (ValueError, OSError) as error:
        print(f"clusterlens: {error}", file=sys.stderr)
        return 2
    from clusterlens.ui.server.hardening import raise_file_limit, shorten_logs

    host = given.address if given.address in LOOPBACK else "localhost"
    address = f"http://{host}:{server.port}/"
    print(f"ClusterLens is at {address} (Ctrl-C stops it)", flush=True)
    if given.address not in LOOPBACK:
        print("Whoever reaches this port can use it and read what is loaded.")
    if given.browser:  # starts while the page is imported
        threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
    shorten_logs()
    raise_file_limit()
    run(server)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="clusterlens",
        description="See what many clusterings of one table agree on, in the browser.",
        epilog="clusterlens assign --help: where the rows of another table belong. "
        "clusterlens run --help: tables that are too large for memory.",
    )
    parser.add_argument(
        "file",
        nargs="?",
        type=Path,
        help="a table to begin with: CSV, Parquet, Excel…; or a folder of Parquet",
    )
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument(
        "--landmarks",
        type=int,
        metavar="N",
        help="draw so many rows of a Parquet table, and label the others later "
        "(default: of a folder, or a file that is too large for memory)",
    )
    shown.add_argument(
        "--run",
        type=Path,
        metavar="FOLDER",
        help="show what `clusterlens run TABLE --out FOLDER` found",
    )
    parser.add_argument(
        "--port", type=_port, help=f"default {PORT}, or another where that is taken"
    )
    parser.add_argument(
        "--address",
        default=LOOPBACK[0],
        help="network interface to listen on (default: this machine only)",
    )
    parser.add_argument(
        "--origin",
        action="append",
        default=[],
        metavar="HOST:PORT",
        help="a further name under which browsers reach the page; may be repeated",
    )
    parser.add_argument(
        "--no-browser",
        dest="browser",
        action="store_false",
        help="print the address, open nothing",
    )
    parser.add_argument("--version", action="version", version=__version__)
    return parser


def _port(text: str) -> int:
    """Return a port number; 0 stands for any free one."""
    if text.isdecimal() and int(text) < 65536:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is no port; give 0 to 65535")


def _check_file(path: Path | None, landmarks: int | None, run: Path | None) -> int:
    """Report errors in table and run before the start; return the landmarks to draw.

    Landmarks are drawn of a table that is too large for memory, or on request; 0 is
    none.
    """
    if path is None and run is not None:
        raise ValueError(
            f"Give the table of the run as well: clusterlens TABLE --run {run}"
        )
    if path is None:
        return 0
    if not path.exists():
        raise FileNotFoundError(f"There is no file {path}.")
    if run is not None:
        from clusterlens.compute.scale.run_landmarks import open_table_of_run

        open_table_of_run(run, path)
        return 0
    from clusterlens import load_table
    from clusterlens.compute.scale.landmark_table import check_n_landmarks, is_too_large
    from clusterlens.compute.scale.run import N_LANDMARKS
    from clusterlens.compute.scale.source import is_run, open_source

    if is_run(path):
        raise ValueError(
            f"{path} is the folder of a run; give the table of the run as well: "
            f"clusterlens TABLE --run {path}"
        )
    if landmarks is None and not is_too_large(path):
        load_table(path)
        return 0
    open_source(path)
    return check_n_landmarks(N_LANDMARKS if landmarks is None else landmarks)


def open_page() -> None:
    """Show the page to the newly connected browser, if its host is known."""
    shared = the_server()
    from panel import state

    from clusterlens.ui.server.ending import end_with_application
    from clusterlens.ui.server.hosts import refuses_page
    from clusterlens.ui.serving import serve_page

    if not refuses_page():
        end_with_application(shared, state.curdoc)
        serve_page(shared)


@cache
def the_server() -> Any:
    """Make the server of this process, and import everything for the page.

    Garbage collection pauses during the imports, which saves a quarter of the time.
    Imported objects stay forever, so later collections skip them.
    """
    gc.disable()
    try:
        import clusterlens.ui.serving  # noqa: F401
        from clusterlens.ui.server.server import Server
    finally:
        gc.enable()
    gc.freeze()
    server = Server.at_home()
    atexit.register(server.close)
    return server


def make_server(
    port: int | None,
    address: str,
    origins: Sequence[str] = (),
    file: Path | None = None,
    landmarks: int = 0,
    run: Path | None = None,
) -> Any:
    """Return a server of the page that listens but does not answer yet.

    Parameters
    ----------
    port : int or None
        Port to listen on, 0 for any free one; None for 5006, or any if it is taken.
    address : str
        Network interface.
    origins : sequence of str
        Further names, host:port, under which browsers reach the page.
    file : Path, optional
        Table that every new page begins with.
    landmarks : int, default 0
        Number of landmarks to draw from the table; 0 if it is read as a whole.
    run : Path, optional
        Folder of a complete run of the table, which every new page shows.

    Raises
    ------
    OSError
        If the port is taken or the address is not of this machine.
    """
    from panel.io.server import get_server
    from tornado.httpserver import HTTPServer

    from clusterlens.ui.server.hardening import LimitedServer, harden, signed_sessions
    from clusterlens.ui.server.hosts import guard, local_hosts
    from clusterlens.ui.server.manual import served_folders
    from clusterlens.ui.server.one_thread import keep_on

    port = _choose_port(port, address)
    # A further name belongs to a proxy, so other people can connect.
    alone = address in LOOPBACK and not origins
    folders = served_folders()

    def page() -> None:
        shared = the_server()
        shared.alone, shared.has_manual = alone, bool(folders)
        if landmarks or run:
            shared.tables.own, shared.tables.n_landmarks = file, landmarks
            shared.tables.own_run = run.resolve() if run else None
        from clusterlens.ui.serving import serve_page

        serve_page(shared, file)

    def empty_page(resources: Any, token: str) -> str:
        the_server()
        from clusterlens.ui import opening

        return opening.empty_page(resources, token)

    HTTPServer.configure(LimitedServer)
    server = get_server(
        page,
        port=port,
        address=address,
        websocket_origin=[f"{LOOPBACK[0]}:{port}", *map(str.lower, origins)],
        title="ClusterLens",
        liveness=True,
        static_dirs=folders,
        **SERVER_SETTINGS,
        **signed_sessions(),
    )
    keep_on(server.io_loop.asyncio_loop)
    harden(server, empty_page)
    guard(server, local_hosts(address, port))
    return server


def _choose_port(port: int | None, address: str) -> int:
    """Return a port that is free now; the server must know its number beforehand."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        wanted = PORT if port is None else port
        with socket.create_server((address, wanted), family=family) as probe:
            return int(probe.getsockname()[1])
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise OSError(f"Cannot listen on {address}: {error}.") from error
        if port is None:
            return _choose_port(0, address)
        raise OSError(
            f"Port {port} is taken; give another with --port, or 0 for any."
        ) from error


def run(server: Any) -> None:
    """Answer until Ctrl-C or SIGTERM, then end the work of the sessions."""
    from clusterlens.ui.server.ending import end_process

    loop = server.io_loop
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, lambda *_: loop.add_callback_from_signal(loop.stop))
    server.start()
    # In case no visitor comes to trigger it.
    loop.call_later(LONELY_SECONDS, the_server().warming.start)
    loop.start()
    end_process(the_server(), server.get_sessions())
    server.stop()
