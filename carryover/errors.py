"""What can go wrong, as one tree.

CarryoverError
  ProjectError            no usable project folder: the home folder, "/", or not a folder at all
  SettingsError           a setting was given that cannot be used
  StoreError
    StoreUnavailable      the store cannot be written or locked: read-only, full, no locks, a link
    EventRefused          the event may not follow what is on record; the sentence says why
    SecretFound           a secret was found and ``secrets`` is set to ``reject``
    NotFound              no event, note or time of that name
  TranscriptError
    TranscriptMissing     there is no session file at that path
    TranscriptUnreadable  it is there and cannot be read
    TranscriptMalformed   it can be read and is no session of that host
  CompletionError         a completion cannot be asked for at all (not: a model that failed)
  InstallError            a host's settings could not be edited safely; the text says what to paste

The text of each error is shown to people as it stands: what was attempted, on what, why not, and what to do.
"""

from __future__ import annotations


class CarryoverError(Exception):
    """The root: everything this package raises on purpose."""


class ProjectError(CarryoverError):
    """There is no project here that may be written to."""


class SettingsError(CarryoverError):
    """A setting has a value that cannot be used."""


class StoreError(CarryoverError):
    """The store could not do what was asked. Nothing was half done."""


class StoreUnavailable(StoreError):
    """The store cannot be written or locked here and now."""


class EventRefused(StoreError):
    """The event may not follow what is on record."""


class SecretFound(StoreError):
    """The text holds a secret and ``secrets`` is ``reject``; nothing was written."""


class NotFound(StoreError):
    """Nothing on record answers to that name or time."""


class TranscriptError(CarryoverError):
    """A session file could not be used."""


class TranscriptMissing(TranscriptError):
    """There is no session file at that path."""


class TranscriptUnreadable(TranscriptError):
    """The session file is there and cannot be read."""


class TranscriptMalformed(TranscriptError):
    """The file can be read and is no session of that host."""


class CompletionError(CarryoverError):
    """A completion cannot be asked for with these settings."""


class InstallError(CarryoverError):
    """A host's settings could not be edited without a risk; the text says what to paste by hand."""
