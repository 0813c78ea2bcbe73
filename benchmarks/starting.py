"""What starting costs beside starting Python: the import, the command line, and the child that pi waits for.

All with the same interpreter, from the package as it is installed (not from the checkout), with 200 saves on record.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

from _child import PACKAGE, Child
from _measure import CHECKOUT, benchmark, in_turns, timed
from _scene import Scene

#: Saves on record.
SAVES = 200


def main() -> None:
    if PACKAGE.is_relative_to(CHECKOUT / "carryover"):
        sys.exit("this measures the package as it is installed: `make bench` has it so, or `pip install .`")
    command = shutil.which("carryover", path=str(Path(sys.executable).parent))
    if command is None:
        sys.exit(f"there is no command `carryover` beside {sys.executable}")
    with benchmark(__doc__, rounds=40) as (table, options):
        scene = Scene(options.folder)
        root = scene.project("project")
        scene.record(root, SAVES)
        scene.save(root)
        python, bare, importing, show, child = in_turns(
            options.rounds,
            partial(run, scene, root, sys.executable, "-c", "pass"),
            partial(run, scene, root, sys.executable, "-I", "-S", "-c", "pass"),
            partial(run, scene, root, sys.executable, "-c", "import carryover"),
            partial(run, scene, root, command, "show"),
            partial(first_reply, scene, root),
        )
        name = "python -c pass"
        table.ratio("import carryover", (importing, python), name, 2)
        table.ratio("carryover show", (show, python), name, 6)
        table.ratio("pi's child to its first reply", (child, python), name, 8)
        table.ratio("the same, beside how it is started", (child, bare), "python -I -S -c pass")


def run(scene: Scene, root: Path, *command: str) -> float:
    null = subprocess.DEVNULL
    quiet = partial(subprocess.run, cwd=root, env=scene.environ, check=True, stdin=null, stdout=null, stderr=null)
    return timed(partial(quiet, command))


def first_reply(scene: Scene, root: Path) -> float:
    """From starting the child to its reply; that it then finishes and ends is not waited for."""
    children: list[Child] = []

    def start() -> None:
        children.append(Child(scene.environ, root))
        children[0].start(root)

    seconds = timed(start)
    children[0].close()
    return seconds


if __name__ == "__main__":
    main()
