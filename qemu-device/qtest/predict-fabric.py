#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What a pattern of copies takes in a fabric at least, by topology and rates
alone: the busiest of all links between two nodes, in ns. Written from
Documentation/model/fabric.rst; knows nothing of the model's code, of time or
of order."""

import argparse
from collections import defaultdict

# Links between two nodes, and MB/s of one: lanes x rate
TORUS = (1, 32 * 4000)
SERVER = (4, 8 * 8000)
RACK = (5, 8 * 8000)
NVLINK = (4, 2 * 25000)
NVLINK_SWITCHES = 9


class Fabric:
    """Ways between nodes: each is a list of steps (from, to)"""

    def __init__(self, kind, chips, half, rate):
        self.kind, self.chips, self.half = kind, chips, half
        self.rate = rate

    def links(self, a, b):
        """Rates of the links from a to b, one each, and of which chip's ports"""
        chip = a if isinstance(a, int) else b
        other = b if isinstance(a, int) else a
        if self.kind == "neuronlink":
            count, rate = TORUS
            # Port n leads over the n-th dimension; both ends have the cap.
            first = (a ^ b).bit_length() - 1
            ports = [(a, first), (b, first)]
            return [self.capped(rate, ports)]
        if self.kind == "nvlink":
            count, rate = NVLINK
            first = other[1] * count
        else:
            count, rate = SERVER if other[0] == "server" else RACK
            first = 0 if other[0] == "server" else SERVER[0]
        return [self.capped(rate, [(chip, first + n)]) for n in range(count)]

    def capped(self, rate, ports):
        rate = self.rate or rate
        return rate / 2 if self.half in ports else rate

    def steps(self, src, dst):
        """(a, b, share of the bytes) of a copy"""
        if self.kind == "neuronlink":
            at = src
            while at != dst:
                to = at ^ ((at ^ dst) & -(at ^ dst))
                yield at, to, 1
                at = to
        elif self.kind == "nvlink":
            switches = [("switch", n) for n in range(NVLINK_SWITCHES)]
            total = sum(sum(self.links(src, s)) for s in switches)
            for switch in switches:
                share = sum(self.links(src, switch)) / total
                yield src, switch, share
                yield switch, dst, share
        else:
            same = src // 4 == dst // 4
            switch = ("server", src // 4) if same else ("rack", 0)
            yield src, switch, 1
            yield switch, dst, 1


def pattern(name, chips):
    if name == "pair":
        return [(0, 1)]
    if name == "ring":
        return [(i, (i + 1) % chips) for i in range(chips)]
    if name == "incast":
        return [(i, 0) for i in range(1, chips)]
    return [(a, b) for a in range(chips) for b in range(chips) if a != b]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=["neuronlink", "neuronswitch", "nvlink"])
    parser.add_argument("pattern", choices=["pair", "ring", "incast", "all-to-all"])
    parser.add_argument("chips", type=int)
    parser.add_argument("bytes", type=int, help="of each copy")
    parser.add_argument("--half", metavar="CHIP.PORT",
                        help="a port at half of its rate")
    parser.add_argument("--rate", type=int, help="MB/s of a link")
    args = parser.parse_args()
    half = tuple(map(int, args.half.split("."))) if args.half else None
    fabric = Fabric(args.kind, args.chips, half, args.rate)

    load = defaultdict(float)
    for src, dst in pattern(args.pattern, args.chips):
        for a, b, share in fabric.steps(src, dst):
            load[a, b] += share * args.bytes
    # MB/s are bytes a microsecond.
    print(round(max(n * 1000 / sum(fabric.links(a, b))
                    for (a, b), n in load.items())))


if __name__ == "__main__":
    main()
