"""Every way in which carryover can work less well than it could, in words, with the mend."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from platform import python_version

import click

from carryover import __version__
from carryover.cli import REFUSED
from carryover.cli.options import here_quietly, with_json, with_project
from carryover.cli.place import Place, show_json
from carryover.completion import available
from carryover.errors import InstallError, StoreError
from carryover.hosts.install import HOSTS
from carryover.messages import say
from carryover.settings import agent_dir, cache_dir
from carryover.store.views import Kind


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    #: ``ok``, ``note`` (works, but less than it could), ``fault`` (something is not kept or not read).
    level: str
    text: str
    mend: str = ""


@click.command()
@with_project
@with_json
def doctor() -> int:
    """Tell what does not work as it could, and what mends it. Status 1 when something is at fault."""
    place = here_quietly()
    findings = [finding for check in CHECKS for finding in check(place)]
    if place.as_json:
        show_json([asdict(finding) for finding in findings])
    else:
        for finding in findings:
            _show(place, finding)
    return REFUSED if any(finding.level == "fault" for finding in findings) else 0


def _show(place: Place, finding: Finding) -> None:
    mark = say(f"doctor.{finding.level}", place.language)
    print(f"{mark:<5}  {finding.text}")
    if finding.mend:
        print(f"       {finding.mend}")


def _program(place: Place) -> Iterator[Finding]:
    version = f"carryover {__version__}, Python {python_version()}"
    yield Finding("ok", version)
    if find_spec("watchfiles") is None:
        yield _finding(place, "note", "no_watchfiles")


def _project(place: Place) -> Iterator[Finding]:
    project = place.store.project
    yield _finding(place, "ok", "project", root=project.root, how=say(f"doctor.how.{project.how}", place.language))
    if project.log_folder != project.folder:
        yield _finding(place, "ok", "log_elsewhere", folder=project.log_folder)


def _settings(place: Place) -> Iterator[Finding]:
    for key, source in place.settings.sources.items():
        if source != "built in":
            yield _finding(place, "ok", "setting", key=key, source=source)
    for problem in place.settings.problems:
        yield Finding("fault", problem)
    if place.settings.secrets == "off":
        yield _finding(place, "note", "secrets_off")


def _log(place: Place) -> Iterator[Finding]:
    try:
        known = place.store.known()
    except StoreError as error:
        yield Finding("fault", str(error))
        return
    yield _finding(place, "ok", "log", n=known.state.events, path=place.store.log.path)
    if known.damaged:
        places = ", ".join(f"{damage.segment}:{damage.line} ({damage.reason})" for damage in known.damage)
        yield _finding(place, "fault", "damaged", n=known.damaged, places=places)
    if known.newer:
        yield _finding(place, "note", "newer", n=known.newer)


def _writing(place: Place) -> Iterator[Finding]:
    """Whether a save would work now. Where nothing was ever written, nothing is written to find out."""
    folder = place.store.project.folder
    if not folder.exists():
        if not os.access(folder.parent, os.W_OK):
            yield _finding(place, "fault", "read_only", folder=folder.parent)
        return
    try:
        with place.store.writing() as writer:
            pass
    except StoreError as error:
        yield Finding("fault", say("save.cannot", place.language, reason=error))
        return
    if writer.problem:
        yield Finding("fault", writer.problem)


def _view(place: Place) -> Iterator[Finding]:
    try:
        kind = place.store.view(place.store.known().state).kind
    except StoreError:
        return  # the log's and the writing's findings have said it
    if kind is Kind.CUT:
        yield _finding(place, "note", "cut", path=place.store.view_path)


def _signing(place: Place) -> Iterator[Finding]:
    if place.store.key() is None:
        yield _finding(place, "note", "unsigned")
    if cache_dir(place.environ) is None:
        yield _finding(place, "note", "no_cache")


def _sessions(place: Place) -> Iterator[Finding]:
    waiting = place.store.checkpoints().ended()
    if waiting:
        yield _finding(place, "note", "unsaved", n=len(waiting))
    missing = [one.file for one in waiting if not Path(one.file).exists()]
    for file in missing:
        yield _finding(place, "fault", "session_gone", path=file)


def _summaries(place: Place) -> Iterator[Finding]:
    if place.settings.summary_mode == "on":
        yield _finding(place, "ok", f"summary.{available(place.settings) or 'host'}")
    else:
        yield _finding(place, "note", "summary.off")


def _hosts(place: Place) -> Iterator[Finding]:
    """Whether the hosts of this machine know us. One that is not here is no degraded mode."""
    if not (folder := agent_dir(place.environ)) or not folder.is_dir():
        return
    for host in HOSTS:
        try:
            plan = host.install(place.environ)
        except InstallError as error:
            yield Finding("note", str(error))
            continue
        for note in plan.notes:
            yield Finding("note", note)
        if any(not change.private for change in plan.changes):
            yield _finding(place, "note", "unregistered", host=host.name)
        else:
            yield _finding(place, "ok", "registered", host=host.name)


def _finding(place: Place, level: str, key: str, /, **values: object) -> Finding:
    """A finding whose words stand in the messages: what it is, and, unless all is well, what mends it."""
    mend = "" if level == "ok" else say(f"doctor.{key}.mend", place.language)
    return Finding(level, say(f"doctor.{key}", place.language, **values), mend)


#: In this order.
CHECKS = (_program, _project, _settings, _log, _writing, _view, _signing, _sessions, _summaries, _hosts)
