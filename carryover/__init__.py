"""carryover keeps what a coding agent must not forget."""

__version__ = "0.1.0"
