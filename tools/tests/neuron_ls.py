# SPDX-License-Identifier: MIT
"""neuron-ls on two simulated devices."""


def run(tool):
    rows = tool.valid("--json")
    tool.ok(rows and [r["connected_to"] for r in rows] == [[1], [0]], "tells who is joined", rows)
    tool.ok(rows and rows[1]["neuroncore_ids"] == list(range(8, 16)),
            "numbers cores over all devices", rows)
    tool.ok(rows and rows[0]["neuron_processes"][0]["pid"] == 42, "tells who holds it", rows)
    tool.ok(rows and rows[0]["cpu_affinity"] == "0-3,8", "tells the near processors", rows)
    rows = tool.valid("--json-output", fake="no-fabric")
    tool.ok(rows and "fabric" not in rows[0], "without a fabric there is no key", rows)
    rows = tool.valid("--json", fake="no-permission", status=1)
    tool.ok(rows and "permission denied" in rows[0]["error"], "says what is wrong", rows)

    text = tool.prints("| 8-15 ", )
    tool.ok("CONNECTED" in text and "AFFINITY" in text and "| 0-3,8 " in text,
            "has the columns that people know", text)
    text = tool.prints("42 | xxx", "--wide")
    tool.ok("NVLink Fusion chip 1" in text, "--wide tells the place in the fabric", text)
    tool.ok(tool.run("-a").stdout == text, "-a is --wide")
    tool.prints("     0    X  SW1", "--topology")
    tool.prints("     0    X   DN", "--topology", fake="path-down")
    tool.prints("     1  SYS    X", "-t", fake="no-fabric")
    tool.prints("[  0] -- [  1]", "-t", fake="torus")
    tool.prints("[  0] xx [  1]", "-t", fake="torus path-down")

    tool.fails(2, "unexpected argument 'x'", "x")
    tool.fails(1, "no device", fake="no-device")
    tool.fails(1, "is not loaded", fake="no-device no-module")
    tool.fails(1, "permission denied", fake="no-permission")
