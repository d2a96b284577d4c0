#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares lines of neuron-bench with what they should be, as TAP (see test-fabric)."""

import json
import pathlib
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent
# A pattern may take so much longer than its busiest link, for latency and order.
SLACK = {"pair": 1.05, "ring": 1.05, "incast": 1.05, "all-to-all": 1.06}
# In a torus and behind two levels of switches copies of many ways meet.
SLACK_FAR = {"pair": 1.05, "ring": 1.06, "all-to-all": 1.15}
# An all_reduce of 1 GiB over its formula. In a ring all channels go on at the same
# time, so that links pause for the latency of a step.
SLACK_COLL = {"ring": 1.08, "in-network": 1.05}
CHIP_MB_PER_S = 36 * 2 * 25000
STEP_US = 1.25


def predict(kind, line):
    command = [sys.executable, str(TOP / "qemu-device/qtest/predict-fabric.py"), kind,
               line["pattern"], str(line["ranks"]), str(line["size"])]
    if line.get("half"):
        command += ["--half", "0.0"]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout) / 1000


def formula(line):
    n, size = line["ranks"], line["size"]
    if line["algorithm"] == "in-network":
        return (1 + 1 / n) * size / CHIP_MB_PER_S + 4 * STEP_US
    return 2 * (n - 1) / n * size / CHIP_MB_PER_S + 2 * (n - 1) * STEP_US


def main():
    kind, path = sys.argv[1:]
    bad = 0

    def check(good, what):
        nonlocal bad
        print(f"{'ok' if good else 'not ok'} - {kind}: {what}")
        bad |= not good

    with open(path, encoding="utf-8") as file:
        lines = [json.loads(line) for line in file if line.startswith("{")]
    copies = [line for line in lines if "pattern" in line]
    check(lines, f"{len(lines)} figures")
    biggest = max((line["size"] for line in copies), default=0)
    for line in copies:
        if line["size"] != biggest:
            continue
        name = line["pattern"] + (", one link at half its rate" if line.get("half") else "")
        slack = (SLACK if kind == "nvlink" else SLACK_FAR)[line["pattern"]]
        want = predict(kind, line)
        check(want <= line["time_us"] * 1.001 and line["time_us"] <= want * slack,
              f"{name}: {line['time_us']:.3f} us, at least {want:.3f}")
        for small in copies:
            if (small["pattern"], small["size"] * 4) == (line["pattern"], biggest):
                grown = line["links"] - small["links"]
                want = line["expected"] - small["expected"]
                check(grown == want, f"{name}: links have counted {grown} bytes, of {want}")
    for line in lines:
        if "errors" in line:
            check(not line["errors"],
                  f"{line['algorithm']}, {line['ranks']} ranks: {line['errors']} errors")
        elif "algorithm" in line:
            want = formula(line)
            check(line["time_us"] <= want * SLACK_COLL[line["algorithm"]],
                  f"{line['op']}, {line['algorithm']}: {line['time_us']:.1f} us, by formula {want:.1f}")
    sys.exit(bad)


if __name__ == "__main__":
    main()
