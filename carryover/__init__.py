"""carryover keeps what a coding agent must not forget.

For programs: `Memory` is the memory of one project. For hosts: `Carryover` is the plugin, with a method for each moment
of a `Session`. Everything is imported when it is first named, so that ``import carryover`` costs next to nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as type checkers know it; to import `typing` would take longer than all of this

if TYPE_CHECKING:
    from carryover.errors import CarryoverError as CarryoverError
    from carryover.library import Memory as Memory
    from carryover.memory.brief import Brief as Brief
    from carryover.memory.events import Event as Event
    from carryover.memory.state import State as State
    from carryover.project import Project as Project
    from carryover.session.exchange import Ask as Ask
    from carryover.session.exchange import Delivery as Delivery
    from carryover.session.exchange import Outcome as Outcome
    from carryover.session.exchange import Session as Session
    from carryover.session.lifecycle import Carryover as Carryover

__version__ = "0.1.0"

_HOMES = {
    "Ask": "session.exchange",
    "Brief": "memory.brief",
    "Carryover": "session.lifecycle",
    "CarryoverError": "errors",
    "Delivery": "session.exchange",
    "Event": "memory.events",
    "Memory": "library",
    "Outcome": "session.exchange",
    "Project": "project",
    "Session": "session.exchange",
    "State": "memory.state",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
