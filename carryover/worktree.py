"""The git work tree around a folder, read from its files. Git is never run.

A work tree has its own git directory, and one that all trees of the repository share: the *common* one.
They are the same for the main tree. A linked tree's own lies in ``<common>/worktrees/NAME`` and is called
its administration.

Whatever git itself would call broken (a pointer to nowhere, a file that is too large, a HEAD without a
reference) reads as absent, here as there.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

#: More than this is no path, no HEAD and no configuration that git wrote.
_READ_LIMIT = 1_000_000

_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
#: With reftable, HEAD names "refs/heads/.invalid" and the branch is in a binary table. No name starts so.
_REFERENCE = re.compile(r"refs/(?:heads/)?+((?!\.)[^\x00-\x20\x7f~^:?*\[\\\ud800-\udfff]{1,250})")
_SECTION = re.compile(r"\s*\[\s*([^\]\s\"]++)[^\]]*+\]")
_SETTING = re.compile(r"\s*([A-Za-z][\w-]*)\s*(?:=([^#;]*))?")


@dataclass(frozen=True, slots=True)
class WorkTree:
    """One work tree. Only its top is known when ``.git`` is a file that leads nowhere: git stops too."""

    top: Path
    #: Its own git directory.
    git: Path | None = None
    common: Path | None = None
    #: The repository's main checkout, when the common directory is a ``.git`` folder beside it.
    checkout: Path | None = None

    @property
    def name(self) -> str:
        """The name of a linked tree's administration; empty for the main tree."""
        return self.git.name if self.git and self.git != self.common else ""

    @property
    def branch(self) -> str:
        """Short name; twelve digits of a detached commit; empty when HEAD does not tell."""
        return _branch(self.git / "HEAD") if self.git else ""


def at(folder: Path) -> WorkTree | None:
    """The work tree, or bare repository, whose top is exactly *folder*, which must be resolved."""
    entry = folder / ".git"
    if _is_git_directory(entry):
        return _tree(folder, entry.resolve())
    if is_file(entry):
        label, _, path = _read(entry).partition(":")
        git = _join(folder, path.strip()) if label == "gitdir" else None
        return _tree(folder, git) if git else WorkTree(folder)
    if folder.name != ".git" and _is_git_directory(folder):
        return WorkTree(folder, folder, folder)
    return None


def is_live(administration: Path) -> bool:
    """Does this linked tree still exist? A locked one may lie on a drive that is not plugged in."""
    pointer = _join(administration, _read(administration / "gitdir").strip())
    try:
        return bool(pointer and pointer.exists()) or (administration / "locked").exists()
    except OSError:
        return False


def is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a folder we may not look into; a name no file can have
        return False


def _tree(top: Path, git: Path) -> WorkTree:
    common = _common(git)
    return WorkTree(top, git, common, _checkout(common)) if common else WorkTree(top)


def _common(git: Path) -> Path | None:
    """The common directory of *git*.

    A tree's administration may have been pruned while the tree is still there; then its path says where
    it was.
    """
    shared = _join(git, _read(git / "commondir").strip())
    if shared is None and _is_git_directory(git):
        return git
    above = git.parent.parent if git.parent.name == "worktrees" else None
    return next((path for path in (shared, above) if path and _is_git_directory(path)), None)


def _checkout(common: Path) -> Path | None:
    if common.name != ".git":
        return None
    core = _core(_read(common / "config")) | _core(_read(common / "config.worktree"))
    if core.get("bare", "").lower() in ("true", "yes", "on", "1"):
        return None
    elsewhere = core.get("worktree")
    return common.parent if not elsewhere or _join(common, elsewhere) == common.parent else None


def _core(config: str) -> dict[str, str]:
    """The section ``[core]`` of a git configuration, with names in lower case. The last value counts."""
    values: dict[str, str] = {}
    section = ""
    for line in config.splitlines():
        header = _SECTION.match(line)
        if header:
            section = header[1].lower()
        setting = _SETTING.match(line, header.end() if header else 0)
        if section == "core" and setting:
            values[setting[1].lower()] = "true" if setting[2] is None else setting[2].strip().strip('"')
    return values


def _branch(head: Path) -> str:
    try:
        text = str(head.readlink()) if head.is_symlink() else _read(head)  # old git made HEAD a link
    except OSError:
        return ""
    name = text.removeprefix("ref:").strip()
    if _COMMIT.fullmatch(name):
        return name[:12]
    legal = _REFERENCE.fullmatch(name)
    return legal[1] if legal else ""


def _is_git_directory(path: Path) -> bool:
    head = path / "HEAD"
    try:
        return (is_file(head) or head.is_symlink()) and (path / "objects").is_dir() and (path / "refs").is_dir()
    except (OSError, ValueError):
        return False


def _join(base: Path, path: str) -> Path | None:
    """*path* as one of git's files gives it, made absolute; None when it is empty or no path."""
    try:
        return (base / path).resolve() if path else None
    except (OSError, RuntimeError, ValueError):  # RuntimeError: a loop of links
        return None


def _read(path: Path) -> str:
    try:
        small = is_file(path) and path.stat().st_size <= _READ_LIMIT
        return os.fsdecode(path.read_bytes()) if small else ""
    except OSError:
        return ""
