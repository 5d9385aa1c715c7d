"""Runs our command-line tools for lit without the start of Python and its imports.

A process that has imported everything forks for each command. In the tools' place stands a
client that imports nothing: it sends its command line, folder, environment and streams over
a socket, and ends as the tool does. The server ends with lit, whose pipe it reads.

`filecheck` has a small process of its own: to fork what has imported everything takes longer
than most checks.
"""

from __future__ import annotations

import gc
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

TOOLS = {
    "glow": "glow.tools.glow",
    "glow-opt": "glow.tools.glow_opt",
    "glow-reduce": "glow.tools.glow_reduce",
    "filecheck": "filecheck.main",
}
"""The module of each tool; its `main` takes `sys.argv` and exits."""
DRIVERS = "glow.backends.opencl."
SECONDS = 120
"""A command that takes longer is ended; lit has given up on it before."""
SMALL = ("filecheck",)
"""The tools that need no module of ours."""

CLIENT = """#!{python} -IS
import _socket, json, os, sys
server = _socket.socket(_socket.AF_UNIX)
server.connect({path!r})
call = json.dumps([{tool!r}, sys.argv[1:], os.getcwd(), dict(os.environ)]).encode()
streams = b"".join(n.to_bytes(4, sys.byteorder) for n in (0, 1, 2))
rights = [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, streams)]
server.sendmsg([len(call).to_bytes(4, "little")], rights)
server.sendall(call)
os._exit((server.recv(1) or b"\\xff")[0])
"""


def start() -> Path:
    """Start a server that ends with this process; the folder of its clients."""
    server = subprocess.Popen(
        [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert server.stdout is not None
    folder = server.stdout.readline().decode().strip()
    if not folder:
        raise RuntimeError("the server of the tools does not start")
    return Path(folder)


def write_clients(folder: Path) -> None:
    """A client for each tool."""
    for tool in TOOLS:
        path = str(folder / ("small" if tool in SMALL else "socket"))
        client = folder / tool
        client.write_text(CLIENT.format(python=sys.executable, path=path, tool=tool))
        client.chmod(0o755)


def preload() -> None:
    """Import what the tools may need, so that no command does.

    Not drivers of devices: they look at an environment that a command has not.
    """
    import glow

    for tool in TOOLS.values():
        import_module(tool)
    for found in walk_packages(glow.__path__, "glow."):
        if not found.name.startswith(DRIVERS):
            import_if_possible(found.name)


def import_if_possible(name: str) -> None:
    """Import a module of ours, unless it needs an optional library that is absent."""
    try:
        import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] == "glow":
            raise


def serve(folder: Path) -> None:
    """Serve all tools, the small ones from a process that has imported only them."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    small, large = listen(folder / "small"), listen(folder / "socket")
    for tool in SMALL:
        import_module(TOOLS[tool])
    if os.fork() == 0:
        large.close()
        fork_for_each(small)
        os._exit(0)  # The folder is the other's to remove.
    small.close()
    preload()
    write_clients(folder)
    print(folder, flush=True)
    fork_for_each(large)


def listen(path: Path) -> socket.socket:
    """A socket that clients find at a path."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen(64)
    return listener


def fork_for_each(listener: socket.socket) -> None:
    """Fork for each command, until the pipe that is our input closes."""
    gc.collect()
    gc.freeze()
    while True:
        ready, _, _ = select.select([listener, 0], [], [])
        if 0 in ready:
            return
        connection, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            answer(connection)
        connection.close()


def answer(connection: socket.socket) -> None:
    """Run the command of a connection in this process, and end."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.alarm(SECONDS)
    head, streams, _, _ = socket.recv_fds(connection, 4, 3)
    size, text = int.from_bytes(head, "little"), b""
    while len(text) < size:
        text += connection.recv(size - len(text))
    tool, arguments, folder, environment = json.loads(text)
    take_streams(streams)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = [tool, *arguments]
    status = status_of(import_module(TOOLS[tool]).main)
    connection.send(bytes([status]))
    os._exit(status)


def take_streams(streams: Sequence[int]) -> None:
    """Let a client's streams be ours: new files, since the server's may be of another kind."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdin = open(0, closefd=False)
    sys.stdout = open(1, "w", closefd=False)
    sys.stderr = open(2, "w", buffering=1, errors="backslashreplace", closefd=False)


def status_of(main: Callable[[], object]) -> int:
    """The exit code of a tool that runs in this process."""
    try:
        code: object = main()
    except SystemExit as stop:
        code = stop.code
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    if isinstance(code, str):
        print(code, file=sys.stderr, flush=True)
        return 1
    return int(code) & 255 if isinstance(code, int) else 0


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="glow-lit-") as temporary:
        serve(Path(temporary))
