"""Places where something is missing: it starts, it reads, and where it cannot save it says so in one sentence."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="limits, users and mounts of POSIX")

root_only = pytest.mark.skipif(hasattr(os, "getuid") and os.getuid() != 0, reason="only root may become somebody else")

NOBODY = 54_321  # a number without a name
PROGRAM = """
import os, sys, tempfile
from pathlib import Path
from carryover import settings
from carryover.errors import StoreUnavailable
from carryover.project import Project
from carryover.store.store import Store

def open_store(root):
    project = Project(root, "folder", root / ".pi", root / ".pi", "", "main", None)
    return Store(project, settings.load(root, os.environ), os.environ)

def save(root, text):
    store = open_store(root)
    with store.writing() as writer:
        writer.append("note", by="agent", source="agent", base=writer.base, text=text)
    return store, writer.problem

def shown(store):
    note = store.delivered()[0].note()
    return ascii(note.text[:40] if note else None)

root, text = Path(sys.argv[1]), {text}
{before}
try:
    print("read", shown(open_store(root)))
    try:
        store, problem = save(root, text)
        print("saved", shown(store))
        print(*["problem " + ascii(problem)] * bool(problem))
    except StoreUnavailable as error:
        print("cannot save:", ascii(str(error)))
    print("then", shown(open_store(root)))
except StoreUnavailable as error:
    print("cannot read:", ascii(str(error)))
"""


def run(root: Path, before: str = "", text: str = "'- [ ] new'", /, **environ: str | None) -> list[str]:
    """What a program prints that reads, saves and reads again, after *before*; None takes a variable away."""
    program = PROGRAM.format(before=before, text=text)
    there = {name: value for name, value in ({**os.environ, **environ}).items() if value is not None}
    done = subprocess.run(
        [sys.executable, "-c", program, str(root)], env=there, capture_output=True, check=False, timeout=60
    )
    assert done.stderr.decode() == ""
    assert done.returncode == 0
    return [line for line in done.stdout.decode("ascii").splitlines() if line]


@pytest.fixture
def saved(project: Path) -> Path:
    """A project with a note on record."""
    assert run(project, "", "'- [ ] old'")[-1] == "then '- [ ] old'"
    return project


def everything(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


# ---------------------------------------------------------------- no room


LIMIT = """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))
"""


@pytest.mark.parametrize("more", [0, 1, 100])
def test_on_a_full_disk_nothing_is_half_written(saved: Path, more: int) -> None:
    log = saved / ".pi" / "carryover.log"
    limit = log.stat().st_size + more
    before = everything(saved)

    said = run(saved, LIMIT.format(limit=limit))

    assert said == [
        "read '- [ ] old'",
        f"cannot save: 'cannot write to {saved / '.pi'}: {os.strerror(errno.EFBIG)}'",
        "then '- [ ] old'",
    ]
    assert everything(saved) == before
    assert run(saved)[-1] == "then '- [ ] new'"


def test_a_disk_that_is_full_after_the_log_was_written_keeps_the_save(saved: Path) -> None:
    """The log fits, the view does not: the save stands, and what could not be written is said."""
    view = saved / ".pi" / "CARRYOVER.md"
    old = view.read_bytes()
    larger = """
from carryover.store import views
encode = views.encode
views.encode = lambda *arguments: encode(*arguments) * 3
"""

    said = run(saved, LIMIT.format(limit="len(text) + 3000") + larger, "'- [ ] new ' * 400")

    assert said[1].startswith("saved '- [ ] new")
    assert said[2] == f"problem '{view} could not be written: {os.strerror(errno.EFBIG)}'"
    assert view.read_bytes() == old
    assert not list((saved / ".pi").glob(".carryover.*.tmp"))


def test_a_first_save_on_a_full_disk_leaves_an_empty_project(project: Path) -> None:
    said = run(project, LIMIT.format(limit=10))

    assert said[0] == "read None"
    assert said[1].startswith("cannot save:")
    assert said[2] == "then None"
    assert run(project)[-1] == "then '- [ ] new'"


# ---------------------------------------------------------------- no right


BECOME = f"""
shown(save(Path(tempfile.mkdtemp()), text)[0])  # to import all, from folders that somebody else may not see
os.setgroups([]); os.setgid({NOBODY}); os.setuid({NOBODY})
"""


@root_only
def test_somebody_who_may_only_read_reads_and_is_told(saved: Path, tmp_path: Path) -> None:
    _open_to_all(tmp_path)
    before = everything(saved)

    said = run(saved, BECOME)

    assert said == [
        "read '- [ ] old'",
        f"cannot save: 'cannot write to {saved / '.pi'}: {os.strerror(errno.EACCES)}'",
        "then '- [ ] old'",
    ]
    assert everything(saved) == before


@root_only
def test_a_user_without_a_name_saves_where_they_may(project: Path, tmp_path: Path) -> None:
    _open_to_all(tmp_path)
    project.chmod(0o777)
    (tmp_path / "home").mkdir(mode=0o777)
    (tmp_path / "home").chmod(0o777)

    said = run(
        project,
        BECOME,
        HOME=str(tmp_path / "home"),
        XDG_STATE_HOME=None,
        XDG_CACHE_HOME=None,
        XDG_CONFIG_HOME=None,
        USER=None,
        LOGNAME=None,
    )

    assert said == ["read None", "saved '- [ ] new'", "then '- [ ] new'"]
    assert (tmp_path / "home" / ".local" / "state" / "carryover" / "key").exists()


@root_only
def test_somebody_who_may_not_even_read_is_told_so(saved: Path, tmp_path: Path) -> None:
    _open_to_all(tmp_path)
    (saved / ".pi" / "carryover.log").chmod(0o600)

    said = run(saved, BECOME)

    assert said == [f"cannot read: 'cannot read {saved / '.pi' / 'carryover.log'}: {os.strerror(errno.EACCES)}'"]


def test_a_folder_without_the_right_to_write_is_read(saved: Path, tmp_path: Path) -> None:
    before = ""
    if os.getuid() == 0:  # who may write everywhere
        _open_to_all(tmp_path)
        for path in (saved, *saved.rglob("*")):
            os.chown(path, NOBODY, NOBODY)
        before = BECOME
    (saved / ".pi" / "carryover.log").chmod(0o400)
    (saved / ".pi").chmod(0o500)

    said = run(saved, before)
    (saved / ".pi").chmod(0o700)

    assert said == [
        "read '- [ ] old'",
        f"cannot save: 'cannot write to {saved / '.pi'}: {os.strerror(errno.EACCES)}'",
        "then '- [ ] old'",
    ]


def _open_to_all(folder: Path) -> None:
    """Let everybody pass through the folders above the tests' own, and read what is there."""
    for one in folder.parents:
        if one.stat().st_uid == os.getuid() and not one.stat().st_mode & 0o001:
            one.chmod(one.stat().st_mode | 0o011)
    for path in (folder, *folder.rglob("*")):
        path.chmod(path.stat().st_mode | (0o055 if path.is_dir() else 0o044))


@root_only
@pytest.mark.skipif(sys.platform != "linux", reason="mount namespaces")
def test_on_a_read_only_mount_it_reads_and_says_that_it_cannot_save(saved: Path) -> None:
    command = f'mount --bind {saved} {saved} && mount -o remount,ro,bind {saved} && exec "$@"'
    program = PROGRAM.format(before="", text="'- [ ] new'")
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", command, "sh", sys.executable, "-c", program, str(saved)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode and "permitted" in done.stderr + done.stdout:
        pytest.skip("no mounts may be made here")

    assert done.stdout.splitlines() == [
        "read '- [ ] old'",
        f"cannot save: 'cannot write to {saved / '.pi'}: {os.strerror(errno.EROFS)}'",
        "then '- [ ] old'",
    ]


# ---------------------------------------------------------------- no home, no language


HOMELESS: dict[str, str | None] = {
    "XDG_STATE_HOME": None,
    "XDG_CACHE_HOME": None,
    "XDG_CONFIG_HOME": None,
    "XDG_DATA_HOME": None,
    "PI_CODING_AGENT_DIR": None,
}


@pytest.mark.parametrize("home", [None, "", "/", "/dev/null"])
def test_without_a_home_it_saves_unsigned_and_without_a_snapshot(project: Path, home: str | None) -> None:
    said = run(project, **{**HOMELESS, "HOME": home})

    assert said == ["read None", "saved '- [ ] new'", "then '- [ ] new'"]


@pytest.mark.parametrize(
    "environ",
    [
        {"LC_ALL": "C", "PYTHONUTF8": "0"},
        {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"LC_ALL": "C", "LANG": "zh_CN.GBK", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"},
    ],
)
@pytest.mark.parametrize("name", ["project", "проект", "项目 👩‍👩‍👧"])
def test_in_a_c_locale_text_and_names_of_every_language_are_kept(
    tmp_path: Path, environ: dict[str, str], name: str
) -> None:
    root = tmp_path / name
    root.mkdir(exist_ok=True)
    text = "'- [ ] \\u9879\\u76ee \\U0001f469\\u200d\\U0001f467 caf\\xe9'"

    said = run(root, "", text, **environ)
    again = run(root, "", text, LC_ALL="C.UTF-8", PYTHONUTF8="1")

    expected = ascii("- [ ] 项目 👩‍👧 café")
    assert said == ["read None", f"saved {expected}", f"then {expected}"]
    assert again[0] == f"read {expected}"
    assert "项目 👩‍👧 café" in (root / ".pi" / "CARRYOVER.md").read_text(encoding="utf-8")


def test_a_folder_whose_name_is_no_text_at_all_is_saved_to(tmp_path: Path) -> None:
    root = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff\xfe"))
    try:
        root.mkdir()
    except OSError:
        pytest.skip("this file system has no such names")

    assert run(root)[-1] == "then '- [ ] new'"


# ---------------------------------------------------------------- no locks


def test_a_lock_call_that_answers_enolck_is_said_and_nothing_is_written(saved: Path) -> None:
    before = everything(saved)
    no_locks = """
import errno, fcntl
def refuse(*arguments):
    raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))
fcntl.flock = refuse
"""

    said = run(saved, no_locks)

    lock = saved / ".pi" / "carryover.lock"
    reason = f"cannot lock {lock}: {os.strerror(errno.ENOLCK)}; this file system may have no locks"
    assert said == ["read '- [ ] old'", f"cannot save: {reason!r}", "then '- [ ] old'"]
    assert everything(saved) == before
