"""Run the examples of README.md and of every page of docs/ in new environments.

    python tests/support/run_documents.py [PAGE ...]

A page is run in an environment into which only what the page itself tells the reader to install is installed:
every `pip install ...` on it, or `pip install .` if there is none. Pages with the same requirements share an
environment. Command lines of `hedgerow` are run too; the tables that README.md names are written first.
Prints a line for every page; the exit code is 1 if an example fails or prints something else.
"""

import argparse
import os
import random
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from documents import PAGES, README, ROOT, blocks, name, read, run, shell_commands

_INSTALL = re.compile(r"pip install ([^`\n#]+)")


def requirements(page):
    """What the page installs; the package itself comes from this checkout."""
    found = {
        re.sub(r"^(hedgerow|\.)(?=\[|$)", str(ROOT), word)
        for line in _INSTALL.findall(read(page))
        for word in shlex.split(line)
    }
    return tuple(sorted(found | {str(ROOT)}))


def make_environment(folder, wanted):
    """Create an environment and return its Python."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    python = folder / "bin" / "python"
    pip = [python, "-m", "pip", "--quiet", "--disable-pip-version-check", "install"]
    subprocess.run([*pip, *wanted], check=True)
    return python


def run_here(page):
    """Run a page in this process and in the current folder; return the examples that differ."""
    write_tables()
    return [
        f"{name(page)}:{example.line} printed\n{example.printed}"
        for example in run(page, command_lines=True)
        if not example.agrees
    ]


def write_tables():
    """Write the tables that README.md and docs/index.md name: houses, and further ones that are not sold."""
    draw = random.Random(0)
    for file, n_rows, is_labelled in (("houses.csv", 300, True), ("new.csv", 20, False)):
        lines = ["rooms,area,colour" + (",sold" if is_labelled else "")]
        for _ in range(n_rows):
            rooms, area = draw.randint(1, 9), draw.uniform(20, 200)
            sold = ["no", "yes"][rooms * 20 + draw.gauss(0, 30) > area]
            line = f"{rooms},{area:.1f},{draw.choice(['red', 'white'])}"
            lines.append(f"{line},{sold}" if is_labelled else line)
        Path(file).write_text("\n".join(lines) + "\n")


def is_run(block):
    """Whether a block has examples."""
    return block.language in {"python", "console"} or bool(shell_commands(block))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("pages", nargs="*", type=Path, help="pages; all by default")
    parser.add_argument("--here", action="store_true", help="run in this environment")
    options = parser.parse_args()
    pages = [page.resolve() for page in options.pages] or [README, *PAGES]
    if options.here:
        failed = [text for page in pages for text in run_here(page)]
        sys.stdout.write("\n".join(failed))
        sys.exit(bool(failed))
    failed = False
    with tempfile.TemporaryDirectory() as temporary:
        environments = {}
        for number, page in enumerate(pages):
            if not any(map(is_run, blocks(page))):
                continue
            wanted = requirements(page)
            if wanted not in environments:
                environments[wanted] = make_environment(Path(temporary) / f"environment{number}", wanted)
            folder = Path(temporary) / f"page{number}"
            folder.mkdir()
            line = [environments[wanted], __file__, "--here", page]
            environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
            done = subprocess.run(
                line, cwd=folder, env=environment, capture_output=True, text=True, check=False
            )
            sys.stdout.write(f"{'FAILED' if done.returncode else 'ok    '} {name(page)}\n")
            sys.stdout.flush()
            if done.returncode:
                failed = True
                sys.stdout.write(f"{done.stdout[-2000:]}\n{done.stderr[-2000:]}\n")
    sys.exit(failed)


if __name__ == "__main__":
    main()
