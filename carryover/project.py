"""Which project is this, and where do its files live?

A project is a folder. In order: the one that was named; the nearest folder from the start upwards, inside
the git work tree, that already has memory; the root of the work tree; the start itself. The home folder
and ``/`` become a project only when named. Nobody is led up to them, nor to a folder like ``/tmp``, where
anyone can plant memory.

The *note* belongs to the work tree (``<root>/.pi``). The *log* belongs to the repository, so that it outlives
``git worktree remove``; where it is follows from the git directory that all its work trees share:

===================================================  =========================================================
the common git directory                             the log's folder
===================================================  =========================================================
a ``.git`` folder beside its checkout                ``.pi`` of that checkout, in the same relative folder
bare, of ``--separate-git-dir``, a submodule's       ``<common directory>/carryover/<relative folder>``
none, or one that is gone or cannot be read          ``<root>/.pi``
===================================================  =========================================================

A submodule is a project of its own. Its git directory lies within its parent's (``.git/modules/NAME``),
beside no checkout, so its log is kept there and outlives ``git submodule deinit``. (A linked tree has
submodule directories of its own, which git deletes with the tree, though only when forced to.)

Git is never run. ``GIT_DIR`` and its kin are ignored: git sets them for its own hooks, and a project's
memory must not move with whoever happens to start the agent. A project is a place, not an environment.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from carryover import worktree
from carryover.errors import ProjectError
from carryover.worktree import WorkTree

_STICKY_AND_OPEN = stat.S_ISVTX | stat.S_IWOTH


@dataclass(frozen=True, slots=True)
class Project:
    """One project, as seen from one of its work trees."""

    root: Path
    #: The rule that found it: "named", "found" (it had memory), "git" (a work tree's root) or "folder".
    how: str
    #: Where the note is.
    folder: Path
    #: Where ``carryover.log`` is.
    log_folder: Path
    #: The linked work tree's name in git's administration; empty for the main one.
    tree: str
    #: Short name; twelve digits of the commit when HEAD is detached; empty when HEAD does not tell.
    branch: str
    #: The git directory that all work trees share.
    git: Path | None


def find(start: Path, environ: Mapping[str, str], named: Path | None = None) -> Project:
    """The project that *start* is in, or the one that *named* or else ``CARRYOVER_PROJECT`` says.

    A relative name starts from *start*.
    Raises ProjectError when the folder does not exist, or is one that only a name can choose.
    """
    if wanted := named or environ.get("CARRYOVER_PROJECT"):
        root = _folder(start / wanted)
        return _project(root, "named", _work_tree([root, *_ancestors(root, environ)]))
    here = _folder(start)
    if _holds_projects(here, _homes(environ)):
        raise ProjectError(
            f"cannot keep a project's memory in {here}: it would mix with that of everything below it; "
            "start in a project's own folder, or name this one with --project"
        )
    folders = [here, *_ancestors(here, environ)]
    tree = _work_tree(folders)
    inside = folders[: folders.index(tree.top) + 1] if tree else folders
    remembered = next((folder for folder in inside if _has_memory(folder, tree)), None)
    if remembered:
        return _project(remembered, "found", tree)
    return _project(tree.top, "git", tree) if tree else _project(here, "folder", None)


def live_trees(project: Project) -> frozenset[str] | None:
    """The names of the repository's work trees that still exist, the main one's empty name among them.

    None when git's administration cannot be read: then nothing is known about any tree.
    """
    try:
        administered = list((project.git / "worktrees").iterdir()) if project.git else []
    except FileNotFoundError:
        administered = []
    except OSError:
        return None
    return frozenset({"", *(tree.name for tree in administered if worktree.is_live(tree))})


def _project(root: Path, how: str, tree: WorkTree | None) -> Project:
    return Project(
        root=root,
        how=how,
        folder=root / ".pi",
        log_folder=_log_folder(root, tree),
        tree=tree.name if tree else "",
        branch=tree.branch if tree else "",
        git=tree.common if tree else None,
    )


def _log_folder(root: Path, tree: WorkTree | None) -> Path:
    if tree is None or tree.common is None:
        return root / ".pi"
    relative = root.relative_to(tree.top)
    if tree.checkout is None or _leads_out(tree.checkout, relative):
        return tree.common / "carryover" / relative
    return tree.checkout / relative / ".pi"


def _leads_out(checkout: Path, relative: Path) -> bool:
    """Whether that folder of another checkout is, there, a link to elsewhere: it is committed by whoever likes."""
    try:
        return (checkout / relative).resolve() != checkout.resolve() / relative
    except (OSError, RuntimeError):
        return True


def _has_memory(folder: Path, tree: WorkTree | None) -> bool:
    """Has it a note here or, from any of the repository's trees, a log?"""
    log = _log_folder(folder, tree) / "carryover.log"
    return worktree.is_file(folder / ".pi" / "CARRYOVER.md") or worktree.is_file(log)


def _work_tree(folders: list[Path]) -> WorkTree | None:
    return next((tree for tree in map(worktree.at, folders) if tree), None)


# ----------------------------------------------------------------------------------------- folders


def _folder(path: Path) -> Path:
    try:
        resolved = path.resolve(strict=True)
        reason = None if resolved.is_dir() else "it is not a folder"
    except (OSError, RuntimeError, ValueError) as error:  # RuntimeError: a loop of links; ValueError: a NUL
        reason = getattr(error, "strerror", None) or str(error)
    if reason:
        raise ProjectError(f"cannot use {path} as a project: {reason}; name a folder that exists")
    return resolved


def _ancestors(folder: Path, environ: Mapping[str, str]) -> Iterator[Path]:
    """The folders above, nearest first, below the first that is nobody's project."""
    homes = _homes(environ)
    for parent in folder.parents:
        if _holds_projects(parent, homes) or _is_open_to_all(parent):
            return
        yield parent


def _homes(environ: Mapping[str, str]) -> tuple[Path, ...]:
    named = tuple(Path(environ[name]) for name in ("HOME", "USERPROFILE") if environ.get(name))
    return named or _home_of_account()


def _home_of_account() -> tuple[Path, ...]:
    """HOME is unset in some containers and services; the home folder is no better a project for it."""
    if sys.platform == "win32":
        return ()
    import pwd

    try:
        return (Path(pwd.getpwuid(os.getuid()).pw_dir),)
    except KeyError:  # a uid without a name has no home
        return ()


def _holds_projects(folder: Path, homes: tuple[Path, ...]) -> bool:
    return folder == folder.parent or any(_is_same(folder, home) for home in homes)


def _is_open_to_all(folder: Path) -> bool:
    """Sticky and writable by everybody, as ``/tmp`` is. (Writable alone: a Windows drive seen from WSL.)"""
    try:
        return folder.stat().st_mode & _STICKY_AND_OPEN == _STICKY_AND_OPEN
    except OSError:
        return False


def _is_same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except (OSError, ValueError):
        return False
