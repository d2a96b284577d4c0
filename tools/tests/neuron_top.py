# SPDX-License-Identifier: MIT
"""neuron-top on two simulated devices: plain, JSON, and on a terminal."""
import fcntl
import os
import pty
import re
import select
import struct
import termios
import time

FAST = ("--delay", "0.1")


class Terminal:
    """The tool on a terminal of its own; what it writes is kept, not interpreted."""

    def __init__(self, tool, columns, lines, *args, fake="at-work", env=None):
        self.pid, self.fd = pty.fork()
        if not self.pid:
            os.environ.update({"TERM": "vt100", "FAKE": fake, **(env or {})})
            os.execv(tool.program, [tool.program, *args])
        self.resize(columns, lines)

    def resize(self, columns, lines):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def until(self, text, keys=""):
        """What is written up to the text, or None when it does not come."""
        os.write(self.fd, keys.encode())
        seen, end = b"", time.monotonic() + 20
        while time.monotonic() < end:
            if not select.select([self.fd], [], [], 0.1)[0]:
                continue
            try:
                seen += os.read(self.fd, 65536)
            except OSError:
                break
            if text.encode() in re.sub(rb"\x1b[\[(][0-9;?]*[A-Za-z]|\x1b[=>]|\x0f|\x0e", b"", seen):
                return seen
        return None

    def end(self):
        os.write(self.fd, b"q")
        end = time.monotonic() + 20
        while time.monotonic() < end:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                os.close(self.fd)
                return status
            if select.select([self.fd], [], [], 0.1)[0]:
                try:
                    os.read(self.fd, 65536)
                except OSError:
                    pass
        os.kill(self.pid, 9)
        return os.waitpid(self.pid, 0)[1]


def run(tool):
    rows = tool.valid("--json", *FAST, fake="at-work")
    tool.ok(rows and rows[0]["dma_bytes_per_second"] > 0 and
            rows[0]["cores"][7]["tensor_percent"] == 87.5 and
            rows[0]["links"][0]["tx_bytes_per_second"] > 0, "has rates", rows)
    rows = tool.valid("--json", *FAST)
    tool.ok(rows and rows[0]["dma_bytes_per_second"] == 0 and rows[0]["dma_percent"] == 0,
            "has none when nothing is done", rows)
    rows = tool.valid("--json", *FAST, fake="no-fabric")
    tool.ok(rows and rows[0]["links"] == [], "has no links without a fabric", rows)
    tool.prints("PE%", "--once", *FAST)
    tool.prints(" 42 ", "-b", "--view", "processes", *FAST)
    tool.prints("of 132 engines are idle.", "--view", "device", "-i", "1", *FAST)
    tool.prints("1/1 ports up", "--view", "Links", *FAST)
    tool.prints("no fabric", "--view", "Links", *FAST, fake="no-fabric")
    text = tool.prints("Overview", "-n", "2", *FAST, env={"COLUMNS": "80"}, fake="at-work")
    tool.ok(text.count("Overview") == 2, "-n 2 looks twice", text)
    tool.ok(max(map(len, text.splitlines())) <= 80, "COLUMNS is kept to", text)
    tool.ok("\x1b" not in text and "\x01" not in text, "plain text is plain", text)

    term = Terminal(tool, 80, 24, *FAST)
    for keys, text in (("", "Overview"), ("2", "engines"), ("3", "ports up"), ("4", "COMMAND"),
                       ("h", "sort processes"), ("x1", "DMA%"), ("d", "Device 1"),
                       (" ", "PAUSED")):
        tool.ok(term.until(text, keys), f"key '{keys}' shows '{text}'")
    term.resize(132, 40)
    tool.ok(term.until("Overview", " 1"), "draws anew in another size")
    tool.ok(term.end() == 0, "q ends it well")
    term = Terminal(tool, 80, 24, *FAST, env={"TERM": "xterm", "NO_COLOR": "1"})
    tool.ok(term.until("Overview"), "works without colours")
    tool.ok(term.end() == 0, "and ends")
    term = Terminal(tool, 20, 3, *FAST)
    tool.ok(term.until("neuron-top"), "does not mind a tiny terminal")
    tool.ok(term.end() == 0, "and ends")
    term = Terminal(tool, 80, 24, env={"TERM": "nonsense"})
    tool.ok(term.until("--once prints plain text"), "says when it does not know the terminal")

    tool.fails(2, "not from 0.1 to 60", "-d", "0")
    tool.fails(2, "there is no view", "-v", "x")
    tool.fails(2, "unexpected argument", "x")
    tool.fails(1, "does not exist: there are 2", "-i", "2")
    tool.fails(1, "no device", fake="no-device")
    tool.fails(1, "is not loaded", fake="no-device no-module")
    tool.fails(1, "permission denied", fake="no-permission")
