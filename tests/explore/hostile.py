"""What code in a sandbox may try. The tests copy this module into a project; each function answers what it did."""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path


def harm_files(folder):
    """Try each way to change the files in `folder`; return those that raised nothing."""
    there, other = f"{folder}/kept.txt", f"{folder}/deep/other.txt"

    def change_by_map():
        with open(there, "r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
            mapped[:4] = b"gone"

    def change_mode_of_open_file():
        descriptor = os.open(there, os.O_RDONLY)
        os.fchmod(descriptor, 0)
        os.fchown(descriptor, os.getuid() + 1, -1)

    def leave_home_by_link():
        os.symlink(folder, f"{os.environ['TMPDIR']}/link")
        Path(os.environ["TMPDIR"], "link", "kept.txt").write_text("gone")

    def write_through_second_name():
        os.link(there, f"{os.environ['TMPDIR']}/second")
        Path(os.environ["TMPDIR"], "second").write_text("gone")

    attacks = [
        lambda: Path(there).write_text("gone"),
        lambda: open(there, "a").write("gone"),
        lambda: os.truncate(there, 0),
        lambda: os.remove(there),
        lambda: os.rename(other, there),
        lambda: os.rename(there, f"{os.environ['TMPDIR']}/taken"),
        lambda: shutil.rmtree(folder),
        lambda: subprocess.run(["rm", "-rf", folder], check=True, stderr=subprocess.DEVNULL),
        lambda: subprocess.run(["sh", "-c", f"echo gone > {there}"], check=True, stderr=subprocess.DEVNULL),
        lambda: os.mkdir(f"{folder}/new"),
        lambda: os.mkfifo(f"{folder}/pipe"),
        lambda: os.symlink("/", f"{folder}/root"),
        lambda: os.link(there, f"{folder}/second"),
        lambda: os.chmod(there, 0),
        lambda: os.chmod(folder, 0o777),
        lambda: os.utime(there, (0, 0)),
        lambda: os.setxattr(there, "user.mark", b"gone"),
        change_by_map,
        change_mode_of_open_file,
        leave_home_by_link,
        write_through_second_name,
    ]
    return _try(*attacks)


def write_devices(_):
    """Try to open each device and file of the kernel's that may be written by some user; return those opened."""
    opened = []
    for folder in ("/dev", "/proc/sys/kernel", "/sys/class"):
        for place, _folders, names in os.walk(folder):
            for name in names:
                path = f"{place}/{name}"
                if os.path.islink(path):
                    continue
                with contextlib.suppress(OSError):
                    os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY))
                    opened.append(path)
    return [path for path in opened if not path.startswith("/dev/shm/")]


def connect(addresses):
    """Try to reach each address; return the errors."""
    said = []
    for address in addresses:
        try:
            with socket.socket(socket.AF_UNIX if isinstance(address, str) else socket.AF_INET) as made:
                made.settimeout(20)
                made.connect(address if isinstance(address, str) else tuple(address))
                made.sendall(b"secret")
            said.append("")
        except OSError as error:
            said.append(type(error).__name__)
    return said


def harm_process(process):
    """Try each way to reach another process, and everything that could be its parent."""

    def trace():
        if ctypes.CDLL(None).ptrace(16, process, 0, 0) == -1:
            raise PermissionError

    return _try(
        lambda: os.kill(process, signal.SIGKILL),
        lambda: os.killpg(process, signal.SIGKILL),
        lambda: os.setpriority(os.PRIO_PROCESS, process, 19),
        lambda: resource.prlimit(process, resource.RLIMIT_CPU, (0, 0)),
        lambda: os.sched_setaffinity(process, {0}),
        trace,
    )


def kill_everyone(_):
    """Send signals to the parent, and to every process there is."""
    with contextlib.suppress(OSError):
        os.kill(os.getppid(), signal.SIGKILL)
    os.kill(-1, signal.SIGKILL)
    return "survived"


def leave_daemons(name):
    """Start a program that is nobody's child, in a session of its own."""
    if not os.fork():
        os.setsid()
        if not os.fork():
            os.execvp(sys.executable, [sys.executable, "-c", "import time; time.sleep(3600)", name])
        os._exit(0)
    time.sleep(0.5)
    return "left"


def never_return(_):
    """Ignore every request to end."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPROF, signal.SIGALRM):
        signal.signal(number, signal.SIG_IGN)
    while True:
        time.sleep(60)


def fork_without_end(_):
    """Start processes that start processes."""
    while True:
        with contextlib.suppress(OSError):
            os.fork()


def allocate(size):
    """Take and touch memory."""
    taken = bytearray(size)
    return len(taken)


def write_without_end(_):
    """Fill the disk, with files of every size that is let through."""
    number = 0
    while True:
        number += 1
        with contextlib.suppress(OSError), open(f"{os.environ['TMPDIR']}/{number}", "wb") as file:
            while True:
                file.write(bytes(1 << 20))


def write_one_file(size):
    """Write a file of `size` bytes; return how many were written."""
    written = 0
    with contextlib.suppress(OSError), open(f"{os.environ['TMPDIR']}/large", "wb", buffering=0) as file:
        while written < size:
            written += file.write(bytes(1 << 20))
    return written


def print_much(_):
    """Print more than a pipe holds, to every descriptor that takes it."""
    for _number in range(2000):
        os.write(1, b"x" * 4000)
        os.write(2, b"y" * 4000)
    return "printed"


def close_everything(_):
    """Close every descriptor."""
    os.closerange(0, 4096)
    return "closed"


def end_at_once(status):
    """End without a word."""
    os._exit(status)


def crash(_):
    """Read address 0."""
    ctypes.string_at(0)


def raise_error(_):
    """Raise what nobody expects."""
    raise SystemExit("I am leaving")


def leave_hard_folders(_):
    """Make folders that cannot be entered, and deep ones."""
    os.mkdir(f"{os.environ['TMPDIR']}/closed")
    Path(os.environ["TMPDIR"], "closed", "file").write_text("x")
    os.chmod(f"{os.environ['TMPDIR']}/closed", 0)
    os.umask(0o777)
    os.mkdir(f"{os.environ['TMPDIR']}/masked")
    os.umask(0)
    os.chdir(os.environ["TMPDIR"])
    for _number in range(1500):
        os.mkdir("deeper")
        os.chdir("deeper")
    return os.environ["TMPDIR"]


def forge_by_link(path):
    """Put a link where the answer is read, and end."""
    os.symlink(path, f"{os.environ['TMPDIR']}/../answer.json")
    os._exit(0)


def forge_by_pipe(_):
    """Put a pipe where the answer is read, and end."""
    os.mkfifo(f"{os.environ['TMPDIR']}/../answer.json")
    os._exit(0)


def forge_by_text(text):
    """Write something else as the answer, and end."""
    Path(os.environ["TMPDIR"], "..", "answer.json").write_text(text)
    os._exit(0)


def tell(_):
    """Tell what this process sees of itself."""
    home = os.path.expanduser("~")
    return {"environment": dict(os.environ), "folder": os.getcwd(), "home": home, "path": sys.path[0]}


def _try(*attacks):
    through = []
    for number, attack in enumerate(attacks):
        with contextlib.suppress(Exception):
            attack()
            through.append(number)
    return through
