# SPDX-License-Identifier: MIT
"""neuron-monitor on two simulated devices: the stream, and Prometheus."""
import configparser
import json
import os
import re
import signal
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

import jsonschema

ONCE = ("--count", "1", "--period", "0.1")
LINE = re.compile(r'^([a-z_]+)(\{([a-z_]+="[^"]*",?)+\})? -?[0-9.]+(e[+-]?[0-9]+)?$')


def get(port, path="/metrics", method="GET"):
    """Status, headers and text."""
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", method=method)
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, answer.headers, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read().decode()


def check_metrics(tool, text):
    """The format: HELP and TYPE before the values, each family in one piece."""
    types, closed, current, bad = {}, set(), None, []
    for line in text.splitlines():
        words = line.split(" ", 3)
        if line.startswith("# TYPE"):
            types[words[2]] = words[3]
            if words[2] in closed or words[2] != current:
                bad.append(line)
        elif line.startswith("# HELP"):
            closed.add(current)
            current = words[2]
            if not line.endswith("."):
                bad.append(line)
        elif not LINE.match(line) or line.split("{")[0] != current:
            bad.append(line)
    for name, kind in types.items():
        if (kind == "counter") != name.endswith("_total"):
            bad.append(name)
    tool.ok(types and not bad, "metrics are well formed", *bad)


def prometheus(tool, args, fake):
    """Starts it and tells its port."""
    child = subprocess.Popen([tool.program, *args], env=dict(os.environ, FAKE=fake), text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    line = child.stderr.readline()
    found = re.search(r"metrics at port ([0-9]+)", line)
    tool.ok(found, "says its port", line)
    return child, int(found.group(1)) if found else 0


def run(tool):
    report = tool.valid(*ONCE, fake="at-work")
    tool.ok(report and len(report["neuron_runtime_data"]) == 1 and
            report["neuron_runtime_data"][0]["pid"] == 42, "a process is there once", report)
    memory = report["neuron_runtime_data"][0]["report"]["memory_used"]
    tool.ok(memory["neuron_runtime_used_bytes"]["neuron_device"] == 4 << 33,
            "with all that it holds", memory)
    cores = report["neuron_runtime_data"][0]["report"]["neuroncore_counters"]
    tool.ok(cores["neuroncores_in_use"]["15"]["neuroncore_utilization"] == 87.5,
            "and its cores", cores)
    links = report["system_data"]["neuron_link_counters"]["neuron_devices"]
    tool.ok(links[1]["ports"][0]["tx_bytes_per_second"] > 0, "links have rates", links)
    tool.valid(*ONCE, "--json", fake="no-fabric")
    done = tool.run("--count", "3", "--period", "0.1")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    for line in lines:
        jsonschema.Draft202012Validator(tool.schema()).validate(line)
    tool.ok(len(lines) == 3, "--count 3 prints three lines", done)

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "config")

        def config(text):
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)

        config('{"period": "0.1s", "system_metrics": [{"type": "fabric_info"}],'
               ' "neuron_runtimes": [{"metrics": [{"type": "memory_used"}]}]}')
        report = tool.valid("-n", "1", "-c", path)
        tool.ok(report and list(report["system_data"]) == ["fabric_info"] and
                list(report["neuron_runtime_data"][0]["report"]) == ["memory_used"],
                "a config chooses groups", report)
        config('{"period": "0.1s", "system_metrics": [{"type": "nonsense"}]}')
        done = tool.run("-n", "1", "-c", path)
        tool.ok(done.returncode == 0 and "no group 'nonsense'" in done.stderr,
                "an unknown group is told of", done)
        for text in ("{", "[]", '{"system_metrics": 3}', '{"system_metrics": [{}]}',
                     '{"neuron_runtimes": 3}'):
            config(text)
            tool.fails(1, path, "-n", "1", "-c", path)
        config('{"period": "x"}')
        tool.fails(2, "period 'x'", "-c", path)

    child, port = prometheus(tool, ["-p", "0.1", "--prometheus", "127.0.0.1:0"], "at-work")
    status, headers, text = get(port)
    tool.ok(status == 200 and headers["Content-Type"].startswith("text/plain; version=0.0.4"),
            "serves text of version 0.0.4", status, headers)
    check_metrics(tool, text)
    for series in ('neuron_device_up{neuron_device="1",bdf="0000:00:05.0"} 1',
                   'neuron_memory_size_bytes{neuron_device="0"} 268435456',
                   'memory="hbm3",kind="corrected"} 7', 'neuron_port_up{neuron_device="0"',
                   'pid="42",command="xxx'):
        tool.ok(series in text, f"has {series}", text)
    tool.ok(get(port, "/")[0] == 200 and get(port, "/x")[0] == 404, "knows its pages")
    tool.ok(get(port, method="POST")[0] == 405, "only GET is known")
    tool.ok(get(port, method="HEAD")[:1] == (200,), "and HEAD")
    done = tool.run("--prometheus", f"127.0.0.1:{port}", *ONCE)
    tool.ok(done.returncode == 1 and "cannot listen there" in done.stderr,
            "a port in use is told of", done)
    child.send_signal(signal.SIGTERM)
    tool.ok(child.wait(20) == 0, "SIGTERM ends it well")
    # A device that is gone has no series, but for the one that says so.
    child, port = prometheus(tool, ["-p", "0.1", "-P", ":0"], "gone-later")
    end = time.monotonic() + 30
    while time.monotonic() < end:
        text = get(port)[2]
        if 'neuron_device_up{neuron_device="0",bdf="0000:00:04.0"} 0' in text:
            break
    tool.ok('neuron_memory_used_bytes{neuron_device="0"}' not in text and
            'neuron_device_up{neuron_device="0",bdf="0000:00:04.0"} 0' in text,
            "stale series are removed", text)
    check_metrics(tool, text)
    child.kill()
    child.wait()

    # The unit's command line is one that the tool takes.
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str
    unit.read(tool.top / "tools/neuron-monitor/neuron-monitor.service.in")
    words = unit["Service"]["ExecStart"].split()
    words = [":0" if word.startswith(":") else word for word in words]
    done = tool.run(*words[1:], "--count", "1", "--period", "0.1")
    tool.ok(words[0] == "@bindir@/neuron-monitor" and done.returncode == 0, "its unit works", done)

    tool.fails(2, "from 0.1", "-p", "0")
    tool.fails(2, "no number", "-n", "0")
    tool.fails(2, "is not ADDRESS:PORT", "-P", "x")
    tool.fails(2, "unexpected", "x")
    tool.fails(1, "no device", fake="no-device")
    tool.fails(1, "is not loaded", fake="no-device no-module")
    tool.fails(1, "permission denied", fake="no-permission")
