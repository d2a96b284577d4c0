# SPDX-License-Identifier: MIT
"""neuron-doctor on simulated devices, well and ill."""


def run(tool):
    rows = tool.valid("--json")
    tool.ok(rows and [r["check"] for r in rows] ==
            ["pci", "driver"] * 2 + ["firmware", "memory", "engines", "links", "permissions"] * 2,
            "walks from PCI to permissions", rows)
    tool.prints("engines     ok       device 1: all of 132 are fine")
    tool.ok("\x1b" not in tool.run().stdout, "has no colours in a pipe")
    for fake, status, check, text in (
            ("no-device", 1, "pci", "no Trainium on the PCI bus"),
            ("no-device no-module", 1, "driver", "is not loaded"),
            ("other-driver", 1, "driver", "driver neuron has 0000:00:04.0"),
            ("no-permission", 1, "permissions", "permission denied"),
            ("unhealthy", 1, "firmware", "health word 0x00000008"),
            ("repair-pending", 3, "memory", "waits for repair"),
            ("aborted", 1, "engines", "1 of 132 are stopped"),
            ("out-of-service", 1, "engines", "engine 5 is out of service"),
            ("port-failed", 1, "links", "1 of 1 ports should be up")):
        rows = tool.valid("--json", fake=fake, status=status) or []
        bad = [r for r in rows if r["status"] != "ok" and r["check"] == check]
        tool.ok(bad and text in bad[0]["text"] and bad[0].get("advice"),
                f"{fake}: '{text}', and what to do", rows)
    tool.valid("--json", fake="no-fabric")
    tool.fails(1, "2 problems", fake="aborted")
    tool.fails(2, "unexpected", "x")
