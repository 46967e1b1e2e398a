"""Takes from this process what a solution does not need: time, memory, files, other processes.

Limits hold everywhere. On Linux, Landlock leaves only some folders to read
(https://docs.kernel.org/userspace-api/landlock.html), and seccomp refuses to start or to touch
processes, to open sockets, and to change a file by its path, as chmod does. Neither can be taken
back by the process. Not here: a limit on threads, of which a kernel may start as many as memory
allows.
"""

from __future__ import annotations

import ctypes
import os
import platform
import resource
import struct
import sysconfig
from collections.abc import Iterable
from pathlib import Path

# A system call, its number on x86_64, and on aarch64, which lacks some.
CALLS = """
fork 57 -, vfork 58 -, execve 59 221, execveat 322 281, clone 56 220, clone3 435 435,
ptrace 101 117, process_vm_readv 310 270, process_vm_writev 311 271, socket 41 198,
socketpair 53 199, kill 62 129, tgkill 234 131, tkill 200 130, pidfd_open 434 434,
rt_sigqueueinfo 129 138, rt_tgsigqueueinfo 297 240, prlimit64 302 261, io_uring_setup 425 425,
pidfd_send_signal 424 424, pidfd_getfd 438 438, process_madvise 440 440, fcntl 72 25,
setpriority 141 140, sched_setscheduler 144 119, sched_setattr 314 274, sched_setaffinity 203 122,
ioprio_set 251 30, shmget 29 194, semget 64 190, msgget 68 186, mq_open 240 180, truncate 76 45,
chmod 90 -, fchmod 91 52, fchmodat 268 53, fchmodat2 452 452, chown 92 -, fchown 93 55,
lchown 94 -, fchownat 260 54, utime 132 -, utimes 235 -, futimesat 261 -, utimensat 280 88,
setxattr 188 5, lsetxattr 189 6, fsetxattr 190 7, setxattrat 463 463, removexattr 197 14,
lremovexattr 198 15, fremovexattr 199 16, removexattrat 466 466, inotify_init 253 -,
inotify_init1 294 26, fanotify_init 300 262, unshare 272 97, setns 308 268, add_key 248 217,
request_key 249 218, keyctl 250 219, name_to_handle_at 303 264, open_by_handle_at 304 265,
userfaultfd 323 282, perf_event_open 298 241, bpf 321 280
"""


def numbers_of(column: int) -> dict[str, int]:
    """The calls that a machine has."""
    rows = [row.split() for row in CALLS.split(",")]
    return {row[0]: int(row[column]) for row in rows if row[column] != "-"}


# Its number for seccomp, and its system calls.
MACHINES = {"x86_64": (0xC000003E, numbers_of(1)), "aarch64": (0xC00000B7, numbers_of(2))}
CLONE_THREAD = 0x10000
EPERM, ENOSYS = 1, 38
ALLOW, ERRNO = 0x7FFF0000, 0x00050000
LOAD, EQUAL, AT_LEAST, ANY_BIT, ANSWER = 0x20, 0x15, 0x35, 0x45, 0x06  # BPF: load, jumps, return
X32 = 1 << 30  # the same calls by other numbers
READ_FILE, READ_DIR = 1 << 2, 1 << 3  # of Landlock
# {its version: (how many rights for files it knows, for connections, ways to other processes)}
EVERYTHING = dict(
    enumerate(zip((13, 14, 15, 15, 16, 16), (0, 0, 0, 2, 2, 2), (0, 0, 0, 0, 0, 2), strict=True), 1)
)
F_SETOWN, F_SETSIG, F_SETOWN_EX = 8, 10, 15  # who gets a signal when a pipe has something


def limit(seconds: int, memory: int | None) -> None:
    """Processor time, memory above what is taken, size of files, core dumps."""
    limits = [
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_FSIZE, 1 << 20),
        (resource.RLIMIT_CORE, 0),
    ]
    if memory is not None and Path("/proc/self/statm").exists():
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        limits.append((resource.RLIMIT_AS, pages * resource.getpagesize() + memory))
    for which, most in limits:
        hard = resource.getrlimit(which)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(which, (most, most))


def shut(folders: Iterable[Path]) -> list[str]:
    """Leaves only these folders, and Python's library, to read; tells what this system lacks."""
    if platform.system() != "Linux" or platform.machine() not in MACHINES:
        return [f"no sandbox on {platform.system()} {platform.machine()}: only limits"]
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS, which both need
    drop_capabilities(libc)
    missing = [] if hide_files(libc, [*library(), *folders]) else ["no Landlock: files can be read"]
    if not refuse_calls(libc):
        missing.append("no seccomp: processes can be started")
    return missing


def drop_capabilities(libc: ctypes.CDLL) -> None:
    """What the system's administrator may: the clock, the host's name, mounts. Files are opened as
    before, for they may be another's, and Landlock keeps them."""
    kept = 1 << 1 | 1 << 2  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
    head = ctypes.create_string_buffer(struct.pack("=Ii", 0x20080522, 0))
    data = (ctypes.c_uint32 * 6)()  # effective, permitted, inheritable, of 32 each, twice
    if libc.capget(head, data) == 0:
        left = data[1] & kept
        libc.capset(head, (ctypes.c_uint32 * 6)(left, left, 0, 0, 0, 0))


def library() -> list[Path]:
    """Python's own modules, without those of packages."""
    folder = Path(sysconfig.get_path("stdlib"))
    return [x for x in folder.iterdir() if x.name not in ("site-packages", "dist-packages")]


def hide_files(libc: ctypes.CDLL, readable: Iterable[Path]) -> bool:
    create, add, restrict = 444, 445, 446
    version = libc.syscall(create, None, 0, 1)
    if version < 1:
        return False
    rights = [(1 << count) - 1 for count in EVERYTHING[min(version, max(EVERYTHING))]]
    handled = ctypes.create_string_buffer(struct.pack("=QQQ", *rights))
    rules = libc.syscall(create, handled, 24, 0)  # an older version takes zeros that it knows not
    if rules < 0:
        return False
    for path in readable:
        try:
            place = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            continue
        allowed = READ_FILE | READ_DIR if path.is_dir() else READ_FILE
        rule = ctypes.create_string_buffer(struct.pack("=Qi", allowed, place))
        libc.syscall(add, rules, 1, rule, 0)
        os.close(place)
    done = libc.syscall(restrict, rules, 0) == 0
    os.close(rules)
    return done


def refuse_calls(libc: ctypes.CDLL) -> bool:
    """A filter in BPF: offsets 0, 4 and 16 + 8 i are the call's number, machine, argument i."""
    machine, numbers = MACHINES[platform.machine()]
    refuse = (ANSWER, 0, 0, ERRNO | EPERM)
    program = [
        (LOAD, 0, 0, 4),
        (EQUAL, 1, 0, machine),
        refuse,
        (LOAD, 0, 0, 0),
        (AT_LEAST, 0, 1, X32),
        refuse,
    ]
    for name, number in numbers.items():
        if name == "clone":  # threads are allowed
            block = [(LOAD, 0, 0, 16), (ANY_BIT, 1, 0, CLONE_THREAD), refuse, (LOAD, 0, 0, 0)]
        elif name == "clone3":  # its flags are in memory; without it, libc takes clone
            block = [(ANSWER, 0, 0, ERRNO | ENOSYS)]
        elif name == "tgkill":  # abort() signals its own process
            block = [(LOAD, 0, 0, 16), (EQUAL, 1, 0, os.getpid()), refuse, (LOAD, 0, 0, 0)]
        elif name == "fcntl":
            owners = (F_SETOWN, F_SETSIG, F_SETOWN_EX)
            tests = [(EQUAL, len(owners) - 1 - i, 0, value) for i, value in enumerate(owners)]
            tests[-1] = (EQUAL, 0, 1, owners[-1])
            block = [(LOAD, 0, 0, 24), *tests, refuse, (LOAD, 0, 0, 0)]
        else:
            block = [refuse]
        program += [(EQUAL, 0, len(block), number), *block]
    program.append((ANSWER, 0, 0, ALLOW))
    text = b"".join(struct.pack("=HBBI", *step) for step in program)
    steps = ctypes.create_string_buffer(text, len(text))
    header = ctypes.create_string_buffer(struct.pack("@HP", len(program), ctypes.addressof(steps)))
    return libc.prctl(22, 2, header, 0, 0) == 0  # PR_SET_SECCOMP, SECCOMP_MODE_FILTER
