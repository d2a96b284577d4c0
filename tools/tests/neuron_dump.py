# SPDX-License-Identifier: MIT
"""neuron-dump on coredumps as the driver writes them, and on others."""
import os
import random
import tempfile

DUMP = """trainium device coredump, version 1
kernel: 6.12.0
time: 1700000000
device: 0000:00:04.0, trainium2, routing id 0, serial 1122334455667788, firmware API 7 build 0
failure: queue 3 job 77 aborted on engine 5 queue pair 2
ring: 1024 slots, 20 written, 20 rung, marker 9, done 8

engine:
  m2s-state        0x00200 = 0x00000003
  m2s-errors       0x3a000 = 0x00000100
  s2m-errors       0x3a040 = 0x00000000

m2s queue:
  head             0x01020 = 0x00000004

descriptors (> is where the engine stands):
      3:  4096 bytes hbm0+0x1000 -> hbm1+0x2000 id 1/1 first last [0 0]
>     4: 65536 bytes 0x123 -> done id 1/1 first last interrupt [0 0]
      5: 65536 bytes hbm0+0x0 -> hbm0+0x0 id 0/0 [0000000000000000 0000000000000000]
"""


def run(tool):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "dump")

        def write(data):
            with open(path, "wb") as file:
                file.write(data)

        write(DUMP.encode())
        o = tool.valid("--json", path)
        tool.ok(o and o["job"] == {"queue": 3, "seqno": 77, "how": "aborted", "engine": 5,
                                   "queue_pair": 2}, "knows the job", o)
        tool.ok(o and o["causes"] == [{"register": "m2s-errors", "bit": 8,
                                       "text": "reading the source was refused"}],
                "knows the cause", o)
        tool.ok(o and [d["slot"] for d in o["descriptors"] if d["stopped_here"]] == [4],
                "knows where the engine stands", o)
        tool.ok(o and o["registers"]["m2s queue"][0] == {"name": "head", "offset": 0x1020,
                                                         "value": 4}, "has registers", o)
        tool.prints("bit 8: reading the source was refused", path)
        tool.prints(">     4: 65536 bytes 0x123 -> done", path)
        tool.prints("1 slots have not been written yet.", path)
        with open(path, encoding="ascii") as file:
            done = tool.run("-", stdin=file)
        tool.ok(done.returncode == 0 and "queue 3 job 77" in done.stdout, "reads - as stdin", done)
        write(DUMP.replace("0x00000100", "0x00000000").replace("aborted", "timed out").encode())
        o = tool.valid("-j", path)
        tool.ok(o and o["job"]["how"] == "timed out" and o["causes"] == [], "a timeout", o)
        tool.prints("the engine made no progress", path)

        # Whatever is in it: no crash, and what comes is valid.
        rng = random.Random(7)
        whole = DUMP.encode()
        for _ in range(60):
            data = bytearray(whole)
            for _ in range(rng.randrange(1, 40)):
                data[rng.randrange(36, len(data))] = rng.randrange(256)
            write(bytes(data[:rng.randrange(40, len(data))]))
            tool.valid("--json", path)
        write(whole + b"causes: x\nregisters: y\njob: z\n" + b"engine:\n" * 5)
        tool.valid("--json", path)
        write(whole.split(b"\n")[0] + b"\ncauses: x\nregisters: y\nversion: z\n")
        tool.valid("--json", path)
        write(b"hello")
        tool.fails(1, "is no coredump of the driver", path)
        write(b"")
        tool.fails(1, "is no coredump of the driver", path)
    tool.fails(1, "No such file", "/nonexistent")
    tool.fails(1, "keeps no coredump")
    tool.fails(2, "unexpected", "a", "b")
    tool.fails(2, "unexpected", "--clear", "a")
