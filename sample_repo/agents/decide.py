#!/usr/bin/env python3
"""A worker for one kind of task: write a decision into the specification, and commit it.

    agents/decide.py TASK

TASK says "Section N leaves open ... Decide it: such a product ...", as jobs.yaml does. Works in the current folder, which
is the project. Exit status: 0 done, 1 the section does not leave anything open, 2 this is another kind of task.
"""

import pathlib
import re
import subprocess
import sys
import textwrap

PAGE = pathlib.Path("docs/specification.md")


def main(task):
    words = " ".join(task.split())
    found = re.search(r"Section (\d+) leaves open .*?Decide it: such (a product) (.*?)\.", words)
    if not found:
        print(f"decide: this task leaves nothing to decide: {words or 'nothing'}", file=sys.stderr)
        return 2
    number, _, decision = found.groups()
    text = PAGE.read_text("utf-8")
    section = re.search(rf"^## {number}\. .*?(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    is_open = section and re.search(r"^(A product that .*?) is not treated yet.*?\n(?=\n)", section[0], re.MULTILINE | re.DOTALL)
    if not is_open:
        print(f"decide: section {number} leaves nothing open", file=sys.stderr)
        return 1
    decided = f"{is_open[1]} {decision.replace('oven_places', '`oven_places`')}. Each part is a load of its own and has its own times."
    start, end = section.start() + is_open.start(), section.start() + is_open.end()
    PAGE.write_text(text[:start] + textwrap.fill(decided, 118) + "\n" + text[end:], "utf-8")
    print(f"decide: section {number}: {decided}")
    author = ["-c", "user.name=decide", "-c", "user.email=decide@example.invalid"]
    message = f"Decide what section {number} left open"
    return subprocess.run(["git", *author, "commit", "-q", "-m", message, "--", str(PAGE)]).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else ""))
