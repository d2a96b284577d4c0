# SPDX-License-Identifier: MIT
"""neuron-fabric on two simulated chips with a port each."""


def run(tool):
    for name in ("status", "ports", "counters", "errors", "peers", "groups", "partitions"):
        tool.valid(name, "--json", definition=name)
        tool.valid("--device", "1", name, "--json", definition=name)
    rows = tool.valid("peers", "--json", "-d", "0", definition="peers")
    tool.ok(rows and len(rows) == 1 and rows[0]["peer"] == 1 and rows[0]["ports"] == [0],
            "peers tells who is there", rows)
    rows = tool.valid("counters", "--json", definition="counters")
    tool.ok(rows and rows[0]["tx_bytes"] == 100 and rows[0]["reductions"] == 111,
            "counters have their own names", rows)
    rows = tool.valid("groups", "--json", definition="groups", fake="groups")
    tool.ok(rows and [g["group"] for g in rows[0].get("groups", [])] == [3, 4]
            and rows[0]["groups"][0]["bound_slots"] == [0, 2] and rows[0]["groups"][1]["broken"]
            and "groups" not in rows[1], "groups that there are, where the driver tells", rows)
    tool.prints("|      0 |     3 | 0000:00:04.0 |       2 | 0,2", "groups", fake="groups")
    tool.prints(" 1/1 |", "status")
    tool.fails(1, "no way to chip 1: ", "path", "1", "--device", "0", fake="path-down")
    tool.prints("| up ", "ports")
    tool.prints("failed", "ports", fake="port-failed")
    tool.prints("CRC", "errors")
    tool.valid("path", "1", "--json", "--device", "0", definition="peers")
    tool.valid("path", "1", "--json", "--device", "0", definition="peers", status=1,
               fake="path-down")

    # Control: what cuts a chip off is refused, and says who would be hit.
    one = ("--device", "0")
    for verb in ("disable", "drain", "train", "reset"):
        tool.fails(1, "would be cut off from chip 1", *one, verb, "0")
        tool.prints("device 0 port 0: ", *one, "--force", verb, "0")
    tool.fails(1, "--force does it all the same", *one, "loopback", "all", "on")
    tool.fails(1, "process 42", *one, "drain", "0")
    tool.prints("drained", *one, "drain", "0", fake="path-down")
    tool.prints("already enabled", *one, "enable", "0")
    rows = tool.valid("enable", "0", "--json", *one, definition="control")
    tool.ok(rows and rows[0]["changed"] is False, "enable twice changes nothing", rows)
    tool.prints("cap lanes=2", *one, "cap", "0", "lanes=2", "rate=1000")
    tool.prints("not looped back", *one, "loopback", "0", "off")
    tool.prints("counters cleared", *one, "clear", "0", "counters")
    tool.prints("latch cleared", *one, "clear", "all", "latch")
    tool.fails(1, "is the last way", *one, "cap", "0", "lanes=1", fake="busy")
    tool.fails(1, "is failed", *one, "enable", "0", fake="port-failed")

    tool.fails(2, "no command")
    tool.fails(2, "there is no command 'x'", "x")
    tool.fails(2, "name one with --device", "enable", "0")
    tool.fails(2, "port '7' is no number below 1", *one, "enable", "7")
    tool.fails(2, "too few", *one, "cap", "0")
    tool.fails(2, "neither lanes", *one, "cap", "0", "speed=3")
    tool.fails(2, "chip '9'", *one, "path", "9")
    tool.fails(1, "no device", "status", fake="no-device")
    tool.fails(1, "is not loaded", "status", fake="no-device no-module")
    tool.fails(1, "permission denied", "status", fake="no-permission")
    tool.fails(1, "has a fabric", "status", fake="no-fabric")
