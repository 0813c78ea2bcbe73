"""Register with hosts and unregister, every file given back byte for byte.

``host("pi").install(os.environ)`` makes a plan and changes nothing: ``plan.diff()`` shows it, ``plan.notes``
are for the user to read, and ``plan.apply()`` carries it out. ``uninstall`` likewise.
"""

from __future__ import annotations

from carryover.errors import InstallError
from carryover.hosts.install.base import Change, Host, Plan
from carryover.hosts.install.pi import Pi

__all__ = ["HOSTS", "Change", "Host", "Plan", "host"]

HOSTS: tuple[Host, ...] = (Pi(),)


def host(name: str) -> Host:
    """The host called *name*. Raises InstallError when there is none."""
    for one in HOSTS:
        if one.name == name:
            return one
    raise InstallError(f"cannot install into {name}: it is not known; known are {', '.join(h.name for h in HOSTS)}")
