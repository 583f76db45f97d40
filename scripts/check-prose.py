#!/usr/bin/env python3
"""Finds the turns of phrase of scripts/prose.txt in sources and documents, and exits with 1 if there are any.

    scripts/check-prose.py

The records in docs/experiments stay as they were written.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
ENDINGS = (".rs", ".md", ".py", ".sh", ".toml", ".c", ".h")
LEFT_OUT = ("docs/experiments/", "scripts/prose.txt")


def phrases():
    """The expressions, each with what to write instead."""
    lines = (ROOT / "scripts/prose.txt").read_text(encoding="utf-8").splitlines()
    pairs = [line.split("\t") for line in lines if line and not line.startswith("#")]
    return [(re.compile(pattern), instead) for pattern, instead in pairs]


def main():
    names = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    names = [name for name in names if name.endswith(ENDINGS) and not name.startswith(LEFT_OUT)]
    known = phrases()
    found = 0
    for name in names:
        text = (ROOT / name).read_text(encoding="utf-8")
        for number, line in enumerate(text.splitlines(), 1):
            for pattern, instead in known:
                if match := pattern.search(line):
                    print(f"{name}:{number}: '{match[0]}': {instead}")
                    found += 1
    if found:
        sys.exit(f"check-prose.py: {found} in {len(names)} files")


if __name__ == "__main__":
    main()
