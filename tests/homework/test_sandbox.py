"""What a process can no longer do, and what it still can, once its sandbox is shut."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the sandbox is Linux's")
# {what: code}, of a file `path` and a pipe's `end`
REFUSED = {
    "read": "open(path).read()",
    "write": "open(path, 'w')",
    "truncate": "os.truncate(path, 0)",
    "chmod": "os.chmod(path, 0)",
    "chown": "os.chown(path, 1, 1)",
    "utime": "os.utime(path)",
    "setxattr": "os.setxattr(path, 'user.a', b'1')",
    "rename": "os.rename(path, path + '2')",
    "unlink": "os.unlink(path)",
    "link": "os.link(path, path + '2')",
    "symlink": "os.symlink(path, path + '2')",
    "mkdir": "os.mkdir(path + '2')",
    "list": "os.listdir('/proc')",
    "fork": "os.fork()",
    "exec": "os.execv('/bin/true', ['true'])",
    "kill": "os.kill(os.getppid(), 0)",
    "signals of a pipe": "fcntl.fcntl(end, fcntl.F_SETOWN, os.getppid())",
    "which signal": "fcntl.fcntl(end, 10, 9)",
    "signals of a pipe to a thread": "fcntl.fcntl(end, 15, bytes(8))",
    "priority": "os.setpriority(os.PRIO_PROCESS, os.getppid(), 9)",
    "processors": "os.sched_setaffinity(os.getppid(), {0})",
    "limits": "resource.prlimit(os.getppid(), resource.RLIMIT_CPU)",
    "root": "os.chroot('/')",
    "the host's name": "socket.sethostname(socket.gethostname())",
    "clock": "time.clock_settime(time.CLOCK_REALTIME, time.time())",
    "socket": "socket.socket()",
    "pair of sockets": "socket.socketpair()",
}
ALLOWED = {
    "a thread": "thread = threading.Thread(target=int); thread.start(); thread.join()",
    "a pipe": "os.pipe()",
    "a copy of a descriptor": "os.dup(end), fcntl.fcntl(end, fcntl.F_DUPFD, 0)",
    "a descriptor's flags": "fcntl.fcntl(end, fcntl.F_GETFL)",
    "a module of Python's": "import colorsys",
    "memory": "mmap.mmap(-1, 4096)",
}
PROGRAM = """
import fcntl, json, mmap, os, resource, socket, sys, threading, time
from tiny_torch.tools.homework import sandbox
path, codes = sys.argv[1], json.loads(sys.argv[2])
end = os.pipe()[0]
assert sandbox.shut([]) == []
for code in codes:
    try:
        exec(code)
    except PermissionError:
        print("refused")
    else:
        print("done")
"""


def done(codes, path):
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(path), json.dumps(codes)],
        capture_output=True, text=True,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.split()


def test_what_is_refused(tmp_path):
    path = tmp_path / "mine"
    path.write_text("mine")
    before = path.stat()
    assert dict(zip(REFUSED, done([*REFUSED.values()], path), strict=True)) == dict.fromkeys(
        REFUSED, "refused"
    )
    assert (path.stat(), path.read_text()) == (before, "mine")


def test_what_is_allowed(tmp_path):
    answers = done([*ALLOWED.values()], tmp_path)
    assert dict(zip(ALLOWED, answers, strict=True)) == dict.fromkeys(ALLOWED, "done")
