#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the tools print and how they end, on a simulated driver, as TAP.

test-tools.py NAME PROGRAM SOURCE-ROOT
"""
import importlib.util
import json
import os
import pathlib
import subprocess
import sys

import jsonschema


class Tool:
    """A tool under test, and the count of what was found."""

    def __init__(self, name, program, top):
        self.name = name
        self.program = program
        self.top = pathlib.Path(top)
        self.count = 0
        self.failed = 0

    def run(self, *args, fake="", env=None, **kwargs):
        full = dict(os.environ, FAKE=fake, **(env or {}))
        return subprocess.run([self.program, *args], env=full, text=True, timeout=60,
                              capture_output=True, check=False, **kwargs)

    def ok(self, good, what, *notes):
        self.count += 1
        if not good:
            self.failed += 1
        print(f"{'' if good else 'not '}ok {self.count} - {self.name} {what}", flush=True)
        if not good:
            for note in notes:
                print("\n".join("# " + line for line in str(note).splitlines()))

    def prints(self, text, *args, **kwargs):
        """It ends well and prints the text."""
        done = self.run(*args, **kwargs)
        self.ok(done.returncode == 0 and text in done.stdout and not done.stderr,
                f"{' '.join(args)} prints '{text}'", done)
        return done.stdout

    def fails(self, status, text, *args, **kwargs):
        """It ends with the status, one sentence on stderr and nothing like a crash."""
        done = self.run(*args, **kwargs)
        self.ok(done.returncode == status and text in done.stderr,
                f"{' '.join(args)} {kwargs.get('fake', '')} ends with {status} and '{text}'", done)
        return done

    def schema(self):
        path = self.top / "tools" / self.name / (self.name + ".schema.json")
        return json.loads(path.read_text(encoding="utf-8"))

    def valid(self, *args, definition=None, status=0, **kwargs):
        """The JSON is as the schema says. Returns it."""
        schema = self.schema()
        if definition:
            schema = dict(schema, **{"$ref": "#/$defs/" + definition})
        done = self.run(*args, **kwargs)
        what = f"{' '.join(args)} {kwargs.get('fake', '')} is valid"
        try:
            value = json.loads(done.stdout)
            jsonschema.Draft202012Validator(schema).validate(value)
        except (ValueError, jsonschema.ValidationError) as error:
            self.ok(False, what, error, done)
            return None
        self.ok(done.returncode == status, what, done)
        return value

    def common(self):
        """What holds for every tool."""
        self.prints("usage: " + self.name, "--help")
        self.prints("(libneuron ", "--version")
        self.fails(2, "Try '", "--no-such-option")
        page = (self.top / "tools" / self.name / (self.name + ".1")).read_text(encoding="utf-8")
        text = self.run("--help").stdout
        for word in sorted({w.strip(",.()") for w in text.split() if w.startswith("--")}):
            self.ok("Fl " + word[2:].split("=")[0].split("[")[0] in page, f"{word} is in the man page")


def main():
    name, program, top = sys.argv[1:4]
    tool = Tool(name, program, top)
    path = pathlib.Path(__file__).parent / (name.replace("-", "_") + ".py")
    spec = importlib.util.spec_from_file_location("cases", path)
    cases = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(cases)
    tool.common()
    cases.run(tool)
    print(f"1..{tool.count}")
    sys.exit(1 if tool.failed else 0)


main()
