# SPDX-License-Identifier: MIT
"""neuron-bench on simulated devices: what it prints; the figures mean nothing."""
import csv
import io
import json
import os
import re
import tempfile
import xml.etree.ElementTree

import jsonschema

SVG = "{http://www.w3.org/2000/svg}"


def lines(tool, definition, *args, **kwargs):
    """JSON lines, each as the schema says."""
    validator = jsonschema.Draft202012Validator(
        dict(tool.schema(), **{"$ref": "#/$defs/" + definition}))
    done = tool.run(*args, **kwargs)
    try:
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        for row in rows:
            validator.validate(row)
    except (ValueError, jsonschema.ValidationError) as error:
        tool.ok(False, f"{' '.join(args)} is valid", error, done)
        return []
    tool.ok(rows and done.returncode == 0, f"{' '.join(args)} is valid", done)
    return rows


def plot(tool, path):
    """What is in the picture: curves of the legend, and labels."""
    args = ("sweep", "h2d", "d2d", "--max", "1M", "--rounds", "3", "--plot", path)
    done = tool.run(*args)
    root = xml.etree.ElementTree.parse(path).getroot()
    text = [t.text for t in root.iter(SVG + "text")]
    tool.ok(done.returncode == 0 and {"h2d", "d2d", "4 KiB", "1 MiB", "bandwidth, GB/s"} <= set(text),
            "plots the curves that were measured, with labels", text)
    curves = [p.get("points").split() for p in root.iter(SVG + "polyline")]
    tool.ok(sorted(len(c) for c in curves) == [2, 2, 5, 5], "with a point for each size", curves)
    width, height = (float(root.get(k)) for k in ("width", "height"))
    points = [tuple(map(float, p.split(","))) for c in curves for p in c]
    tool.ok(all(0 < x < width and 0 < y < height for x, y in points), "all within it", points)
    steps = {round(float(b.split(",")[0]) - float(a.split(",")[0]), 0)
             for c in curves if len(c) == 5 for a, b in zip(c, c[1:])}
    tool.ok(len(steps) == 1, "sizes are equally far apart", steps)


def run(tool):
    rows = lines(tool, "figure", "--json", "--only", "stack.d2d.64m", "--only", "stack.copy.4k.insns",
                 "--against", "stack.d2d.64m=10")
    tool.ok(len(rows) == 2 and all(r["low"] <= r["value"] <= r["high"] for r in rows),
            "a value is within its spread", rows)
    tool.ok(rows and rows[0]["against"] == 10 and abs(rows[0]["ratio"] - rows[0]["value"] / 10) < 1e-3,
            "compares", rows)
    tool.prints("stack.copy.4k.latency", "--only", "stack.copy.4k.latency")

    rows = lines(tool, "sweep", "sweep", "--json", "--max", "256K", "--rounds", "5")
    tool.ok({r["name"] for r in rows} == {"h2d", "d2h", "d2d", "h2d-user", "d2h-user", "rate"},
            "sweeps all", rows)
    tool.ok(sorted({r["size"] for r in rows}) == [4 << 10, 16 << 10, 64 << 10, 256 << 10],
            "of all sizes", rows)
    tool.ok(all(r["samples"] == 5 and r["time_us_low"] <= r["time_us"] <= r["time_us_high"]
                and abs(r["gb_per_s"] * r["time_us"] * 1e3 / r["size"] - 1) < 1e-3 for r in rows),
            "rates and times fit", rows)

    rows = lines(tool, "sweep", "sweep", "--json", "--max", "16K", "--clock", "model")
    # The simulated driver counts timestamps instead of nanoseconds.
    tool.ok([r["name"] for r in rows] == ["h2d", "h2d", "d2h", "d2h", "d2d", "d2d"]
            and all(r["clock"] == "model" and r["time_us"] == 0.001 for r in rows),
            "measures in the time of the model", rows)

    done = tool.run("sweep", "d2h", "--csv", "--min", "100", "--max", "1600")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    tool.ok([r["size"] for r in rows] == ["100", "400", "1600"]
            and all(float(r["gb_per_s"]) > 0 and r["name"] == "d2h" for r in rows), "CSV", done)
    done = tool.run("--csv", "--only", "stack.copy.4k.latency")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    tool.ok(len(rows) == 1 and rows[0]["unit"] == "us" and rows[0]["against"] == "", "CSV of rows", done)
    tool.ok(re.search(r"^benchmark +size\(B\)", tool.run("sweep", "h2d", "--max", "4K").stdout),
            "a table has headings")

    with tempfile.TemporaryDirectory() as folder:
        plot(tool, os.path.join(folder, "plot.svg"))
        tool.fails(1, "Is a directory", "sweep", "h2d", "--max", "4K", "--plot", folder)
    tool.fails(1, "permission denied", "sweep", fake="no-permission")
    tool.fails(1, "no device", fake="no-device")
    tool.fails(1, "no semaphores", "coll")
    tool.fails(2, "pattern 'x' is not known", "p2p", "--pattern", "x")
    tool.fails(2, "sizes from 2097152 to 1048576", "p2p", "--min", "2M")
    tool.fails(2, "only the clock of the host", "sweep", "--clock", "model", "rate")
    tool.fails(2, "host or model", "sweep", "--clock", "x")
    tool.fails(2, "no benchmark 'x'", "sweep", "x")
    tool.fails(2, "sizes from 2097152 to 1048576", "sweep", "--min", "2M", "--max", "1M")
    tool.fails(2, "1 to 1073741824", "sweep", "--max", "0")
    tool.fails(2, "is that of one", "sweep", "--clock", "model", "--engines", "2")
    tool.fails(2, "no row", "--only", "x")
    for command in ("sweep", "coll", "p2p"):
        text = tool.prints("usage: neuron-bench " + command, command, "--help")
        page = (tool.top / "tools/neuron-bench/neuron-bench.1").read_text(encoding="utf-8")
        missing = [w for w in re.findall(r"--([a-z]+)", text) if w != "help" and "Fl " + w not in page]
        tool.ok(not missing, f"options of {command} are in the man page", missing)
