"""``python -m carryover``: the command, where it is not on the path."""

from __future__ import annotations

import sys

from carryover.cli import main

sys.exit(main())
