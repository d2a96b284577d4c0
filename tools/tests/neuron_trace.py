# SPDX-License-Identifier: MIT
"""neuron-trace on stored traces: as it writes them, of the kernel, perf and the model."""
import json
import os
import random
import tempfile

DRIVER = """neuron-bench-156 [000] 5.737568492: trn_submit: 0000:01:00.0 queue 0 seqno 1 ops 1 bytes 65536
neuron-bench-156 [000] 5.737600000: trn_submit: 0000:01:00.0 queue 0 seqno 2 ops 3 bytes 4096
neuron-bench-156 [000] 5.737610000: trn_doorbell: 0000:01:00.0 engine 4 ring 0 count 5 head 5 marker 1
<idle>-0 [001] 5.740341334: trn_irq: 0000:01:00.0 vector 1 engine 4 pending 0x1
<idle>-0 [001] 5.740736117: trn_complete: 0000:01:00.0 queue 0 seqno 1 error 0
<idle>-0 [001] 5.740800000: trn_complete: 0000:01:00.0 queue 0 seqno 2 error -125
my prog-7 [001] 5.741000000: trn_submit: 0000:02:00.0 queue 3 seqno 9 ops 1 bytes 100
kworker/0:1-9 [000] 5.742000000: trn_engine_error: 0000:02:00.0 engine 5 m2s 0x100 s2m 0x0
kworker/0:1-9 [000] 5.743000000: trn_reset: 0000:02:00.0 engine 5: timeout, result 0
kworker/0:1-9 [000] 5.744000000: trn_event: 0000:02:00.0 event 1 type 5 data 0x1 0x2 0x3 0x4
my prog-7 [001] 5.745000000: trn_list: 0000:02:00.0 queue 3 seqno 10 ring ids 4 markers 1 irq 1
my prog-7 [001] 5.745100000: trn_wait: 0000:02:00.0 queue 3 seqno 10 bytes 100 expected 900 ns slept 0
"""
OTHERS = {
    "the kernel": """# tracer: nop
#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION
    neuron-bench-156     [000] d.h1.     5.737568: trn_submit: 0000:01:00.0 queue 0 seqno 1 ops 1 bytes 65536
          <idle>-0       [001] d.h2.     5.740736: trn_complete: 0000:01:00.0 queue 0 seqno 1 error 0
""",
    "perf": """neuron-bench   156 [000]     5.737568:    trainium:trn_submit: 0000:01:00.0 queue 0 seqno 1 ops 1 bytes 65536
swapper     0 [001]     5.740736:  trainium:trn_complete: 0000:01:00.0 queue 0 seqno 1 error 0
""",
}
MODEL = """trn_time_packet chip 0 engine 4 queue 1 bytes 16384 start 1000 end 1729
trn_time_packet chip 1 engine 4 queue 0 bytes 16384 start 1729 end 2458
trn_time_link chip 1 port 0 links 4 bytes 1024 start 1598 end 1600
trn_time_link switch 3 port 7 links 1 bytes 1024 start 1598 end 1600
"""


def events(o, **wanted):
    return [e for e in (o or {}).get("traceEvents", [])
            if all(e.get(k) == v for k, v in wanted.items())]


def check_driver(tool, o):
    jobs = {e["args"]["seqno"]: e for e in events(o, ph="X", cat="job")}
    tool.ok(sorted(jobs) == [1, 2, 9], "a span for each submit", o)
    first, second, third = (jobs.get(n, {}) for n in (1, 2, 9))
    tool.ok(first.get("ts") == 0 and first.get("dur") == 3167.625
            and first["args"] == {"queue": 0, "seqno": 1, "ops": 1, "bytes": 65536,
                                  "process": "neuron-bench-156", "waited_us": 0, "error": 0},
            "from submit to completion", first)
    tool.ok(second.get("ts") == 3167.625 and second.get("args", {}).get("waited_us") == 3136.117
            and second["args"]["error"] == -125, "one job of a queue after the other", second)
    tool.ok(third.get("args", {}).get("unfinished") and third["args"]["process"] == "my prog-7"
            and third["pid"] != first["pid"], "what has not ended goes to the end", third)
    names = {e["name"] for e in events(o, ph="i")}
    tool.ok(names == {"submit", "doorbell", "interrupt", "engine error", "reset of engine 5",
                      "fault", "start of a list", "wait"}, "moments", names)
    reset = events(o, name="reset of engine 5")
    tool.ok(reset and reset[0]["args"] == {"why": "timeout", "error": 0}, "why a reset", reset)
    flight = [e["args"]["bytes"] for e in events(o, ph="C")]
    tool.ok(flight == [65536, 69632, 4096, 0, 100], "bytes in flight", flight)
    labels = {e["args"]["name"] for e in events(o, ph="M")}
    tool.ok({"0000:01:00.0", "0000:02:00.0", "queue 0", "queue 3", "engine 4"} <= labels,
            "names of tracks", labels)


def check_model(tool, o):
    packets = events(o, ph="X", cat="packet")
    tool.ok([(e["ts"], e["dur"], e["args"]["bytes"]) for e in packets] ==
            [(0, 0.729, 16384), (0.729, 0.729, 16384)], "packets in modelled time", packets)
    links = events(o, ph="X", cat="link")
    tool.ok([(e["ts"], e["dur"]) for e in links] == [(0.598, 0.002)] * 2, "links", links)
    labels = {e["args"]["name"] for e in events(o, ph="M")}
    tool.ok({"chip 0, modelled time", "engine 4 queue 1", "chip 1 ports 0-3",
             "switch 3 port 7"} <= labels, "names of chips and links", labels)


def run(tool):
    with tempfile.TemporaryDirectory() as folder:
        def write(name, text):
            path = os.path.join(folder, name)
            with open(path, "w", encoding="utf-8", errors="surrogateescape") as file:
                file.write(text)
            return path

        driver, model = write("driver.txt", DRIVER), write("model.log", MODEL)
        check_driver(tool, tool.valid("convert", "-o", "-", driver))
        check_model(tool, tool.valid("convert", "-o", "-", model))
        both = tool.valid("convert", "-o", "-", driver, model)
        tool.ok(len(events(both, ph="X")) == 7, "two files make one timeline", both)
        for name, text in OTHERS.items():
            o = tool.valid("convert", "-o", "-", write("other", text))
            jobs = events(o, ph="X")
            tool.ok(len(jobs) == 1 and jobs[0]["dur"] == 3168, f"reads what {name} writes", o)

        out = os.path.join(folder, "trace.json")
        tool.prints("12 events are in " + out, "convert", "--output", out, driver)
        with open(out, encoding="utf-8") as file:
            tool.ok(len(json.load(file)["traceEvents"]) > 12, "the file is JSON")
        with open(driver, encoding="utf-8") as file:
            done = tool.run("convert", "-o", "-", "-", stdin=file)
        tool.ok('"job 1"' in done.stdout, "reads - as stdin", done)

        # Whatever is in it: no crash, and what comes is valid.
        rng = random.Random(7)
        whole = (DRIVER + MODEL).encode()
        for _ in range(60):
            data = bytearray(whole)
            for _ in range(rng.randrange(1, 60)):
                data[rng.randrange(len(data))] = rng.choice(b"0123456789-x: \n\xff")
            path = os.path.join(folder, "random")
            with open(path, "wb") as file:
                file.write(data + b"\n" + whole)
            tool.valid("convert", "-o", "-", path)
        tool.valid("convert", "-o", "-", write("large", DRIVER.replace("5.7", "9" * 19 + "5.7") + DRIVER))
        tool.fails(1, "no line is an event", "convert", "-o", "-", write("none", "hello\n"))
        tool.fails(1, "Is a directory", "convert", "-o", folder, driver)
    tool.fails(1, "No such file", "convert", "-o", "-", "/nonexistent")
    tool.fails(2, "no file", "convert")
    tool.fails(2, "is missing")
    tool.fails(2, "neither record nor convert", "x")
    tool.fails(2, "are for record", "convert", "--text", "x")
    tool.fails(2, "above 0", "record", "--seconds", "0")
    tool.fails(2, "KiB", "record", "--buffer", "x")
