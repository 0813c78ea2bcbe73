"""``python -m carryover``: the command, where it is not on the path."""

from __future__ import annotations

from carryover.cli import run

run()
