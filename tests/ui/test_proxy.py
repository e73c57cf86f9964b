"""Tests of the page behind nginx, with the settings of the manual."""

import re
import shutil
import socket
import subprocess
import time
from contextlib import contextmanager

import pytest

from tests.folders import ROOT
from tests.support.visitor import Visitor
from tests.ui.loop import run
from tests.ui.test_cli import console
from tests.ui.test_hosts import asked

NGINX = shutil.which("nginx")
pytestmark = pytest.mark.skipif(NGINX is None, reason="nginx is not installed")
SETTINGS = """
daemon off; pid {folder}/pid; error_log {folder}/error.log; worker_processes 1;
events {{ }}
http {{
  access_log off;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
  {server}
}}
"""


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


@contextmanager
def proxy(folder, port, target):
    """Run nginx on a port with the file of the manual, for a server."""
    manual = (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8")
    block = re.search(r"```nginx\n(.*?)```", manual, re.DOTALL)[1]
    block = block.replace("http://127.0.0.1:5006", target.rstrip("/"))
    block = block.replace("listen 80", f"listen 127.0.0.1:{port}")
    settings = folder / "nginx.conf"
    settings.write_text(SETTINGS.format(folder=folder, server=block))
    process = subprocess.Popen([NGINX, "-p", folder, "-c", settings])
    try:
        while True:
            assert process.poll() is None
            try:
                socket.create_connection(("127.0.0.1", port), timeout=5).close()
                break
            except OSError:
                time.sleep(0.05)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


async def connects(address):
    """Open the page, load its contents, and get an answer to a question."""
    visitor = await Visitor.open(address)
    try:
        await visitor.load()
        return await visitor.ping() > 0
    finally:
        visitor.close()


def test_the_page_works_behind_the_documented_proxy(tmp_path):
    port = free_port()
    name = f"127.0.0.1:{port}"
    with (
        console("--origin", name, folder=tmp_path) as (_, target),
        proxy(tmp_path, port, target) as address,
    ):
        assert run(connects(address))
        status, page = asked(address, "/", name)
        assert status == 200
        assert b"token" in page
        assert asked(address, "/", "elsewhere.example")[0] == 421
        assert asked(address, f"/?x={'y' * 20_000}", name)[0] == 414
