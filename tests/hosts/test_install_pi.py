"""``carryover install pi`` and its way back, for every settings file that a user may have."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from carryover import jsonc, settings
from carryover.errors import InstallError
from carryover.hosts import install
from carryover.hosts.install import files
from carryover.hosts.install.pi import Pi

posix = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX modes and links")
unprivileged = pytest.mark.skipif(getattr(os, "geteuid", int)() == 0, reason="root may read all")

#: What can be edited. The first is no file at all.
STARTS = [
    None,
    b"",
    b"\n",
    b"\xef\xbb\xbf",
    b"{}",
    b"{}\n",
    b"{ }",
    b"{\n}\n",
    b"{\r\n}\r\n",
    b"{ // nothing yet\n}\n",
    b'{"theme": "dark"}',
    b'{"theme": "dark",}',
    b'{\n  "theme": "dark"\n}',
    b'{\n  "theme": "dark"\n}\n',
    b'{\n\t"theme": "dark"\n}\n',
    b'{\r\n    "theme": "dark"\r\n}\r\n',
    b'\xef\xbb\xbf{\r\n  "theme": "dark"\r\n}',
    b'{\n  "theme": "dark", // at night\n}\n',
    b'// of mine\n{\n  "theme": "dark" /* at\n  night */\n}\n// end',
    b'{\n  "packages": []\n}',
    b'{\n  "packages": [\n  ]\n}',
    b'{"packages": ["npm:one"]}',
    b'{\n  "packages": [\n    "npm:one",\n    {"source": "npm:two", "skills": []}\n  ],\n  "b": 1\n}',
    b'{\n  "packages": [\n    "npm:one", // first\n    "npm:two" // second\n  ]\n}',
    b'{\n  "packages": [\n    "npm:one",\n  ],\n}',
    '{\n  "名字": "值 🎈", "packages": ["npm:一"]\n}\n'.encode(),
    b'{"packages": ["npm:one"], "packages": ["npm:two"]}',
    b'{"theme": "a // b /* c */ ,]}", "packages": ["x,]"]}',
]

#: What cannot, and the reason that is given.
REFUSED = [
    (b'{"theme": "dark"', "line 1 column"),
    (b"theme: dark", "Expecting"),
    (b"[]", "it holds no object"),
    (b'"text"', "it holds no object"),
    (b'{"packages": "npm:one"}', 'its "packages" is no list'),
    (b'{"packages": null}', 'its "packages" is no list'),
    (b'{"packages": {}}', 'its "packages" is no list'),
    (b'{\n  "packages": [ // open\n', "line"),
    (b"[" * 100_000, "Nested too deeply"),
    (b"{/* open", "Comment without an end"),
    (b"\xff\xfe{\x00}\x00", "utf-8"),
    (b'{"a": "\xe9"}', "utf-8"),
    (b'{"a": 1}\x00', "Extra data"),
    (b"{}" + b" " * 1_000_000, "larger than"),
    (b"// nothing but a comment", "Expecting value"),
]


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    home = tmp_path / "home"
    home.mkdir()
    return {"HOME": str(home), "USERPROFILE": str(home)}


@pytest.fixture
def file(environ: dict[str, str]) -> Path:
    """pi's settings file, in a folder that is there."""
    folder = settings.agent_dir(environ)
    assert folder
    folder.mkdir(parents=True)
    return folder / "settings.json"


@pytest.fixture
def state(environ: dict[str, str]) -> Path:
    folder = settings.state_dir(environ)
    assert folder
    return folder / "pi.json"


@pytest.fixture
def pi(tmp_path: Path) -> Pi:
    return installation(tmp_path / "venv")


def installation(prefix: Path) -> Pi:
    extension = prefix / "carryover" / "hosts" / "pi" / "extension" / "index.ts"
    extension.parent.mkdir(parents=True)
    extension.write_text("export default function () {}\n", encoding="utf-8")
    return Pi(extension, python=str(prefix / "bin" / "python"))


def put(file: Path, start: bytes | None) -> None:
    if start is not None:
        file.write_bytes(start)


def content(file: Path) -> bytes | None:
    return file.read_bytes() if file.exists() else None


def entries(file: Path) -> list[object]:
    found = jsonc.loads(file.read_text(encoding="utf-8"))
    assert isinstance(found, dict)
    listed = found["packages"]
    assert isinstance(listed, list)
    return listed


# ----------------------------------------------------------------------------------------- there and back


@pytest.mark.parametrize("start", STARTS)
def test_uninstall_gives_the_file_back_byte_for_byte(
    pi: Pi, environ: dict[str, str], file: Path, state: Path, start: bytes | None
) -> None:
    put(file, start)

    pi.install(environ).apply()
    installed = entries(file)
    pi.uninstall(environ).apply()

    assert installed[-1] == pi.extension.as_posix()
    assert content(file) == start
    assert not state.exists()
    assert sorted(file.parent.iterdir()) == ([] if start is None else [file])


@pytest.mark.parametrize("start", STARTS)
def test_installing_twice_leaves_one_entry(pi: Pi, environ: dict[str, str], file: Path, start: bytes | None) -> None:
    put(file, start)
    pi.install(environ).apply()
    once = content(file)

    again = pi.install(environ)
    again.apply()
    pi.uninstall(environ).apply()

    assert once is not None
    assert once.count(b"carryover/hosts/pi/extension") == 1
    assert again.changes == ()
    assert content(file) == start


@pytest.mark.parametrize("start", STARTS)
def test_a_newer_version_takes_the_place_of_an_older_one(
    pi: Pi, environ: dict[str, str], file: Path, tmp_path: Path, start: bytes | None
) -> None:
    put(file, start)
    pi.install(environ).apply()
    newer = installation(tmp_path / "other venv")

    newer.install(environ).apply()
    listed = entries(file)
    newer.uninstall(environ).apply()

    assert [entry for entry in listed if "carryover/hosts" in str(entry)] == [newer.extension.as_posix()]
    assert content(file) == start


@pytest.mark.parametrize("start", STARTS)
def test_pi_may_rewrite_the_file_in_between(pi: Pi, environ: dict[str, str], file: Path, start: bytes | None) -> None:
    """pi writes the whole file anew, without comments, whenever one of its settings changes."""
    put(file, start)
    pi.install(environ).apply()
    installed = jsonc.loads(file.read_text(encoding="utf-8"))
    assert isinstance(installed, dict)
    others = [entry for entry in installed["packages"] if entry != pi.extension.as_posix()]
    installed["defaultModel"] = "new"
    file.write_text(json.dumps(installed, indent=2), encoding="utf-8")

    pi.uninstall(environ).apply()

    left = json.loads(file.read_text(encoding="utf-8"))
    assert left.pop("packages", []) == others
    assert left == {key: value for key, value in installed.items() if key != "packages"}


def test_a_file_that_we_made_goes_when_there_is_nothing_else_in_it(pi: Pi, environ: dict[str, str], file: Path) -> None:
    pi.install(environ).apply()
    file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))

    pi.uninstall(environ).apply()

    assert not file.exists()


def test_a_file_that_we_made_stays_when_something_was_added(pi: Pi, environ: dict[str, str], file: Path) -> None:
    pi.install(environ).apply()
    file.write_bytes(file.read_bytes().replace(b"  ]\n", b'  ],\n  "theme": "dark"\n'))

    pi.uninstall(environ).apply()

    assert content(file) == b'{\n  "theme": "dark"\n}\n'


def test_a_list_that_was_the_users_stays_though_it_is_empty(pi: Pi, environ: dict[str, str], file: Path) -> None:
    file.write_bytes(b'{"packages": []}')
    pi.install(environ).apply()
    file.write_bytes(file.read_bytes() + b"\n")

    pi.uninstall(environ).apply()

    assert content(file) == b'{"packages": []}\n'


def test_a_users_edit_stays_to_the_byte(pi: Pi, environ: dict[str, str], file: Path) -> None:
    file.write_bytes(b'{\n  "packages": [\n    "npm:one"\n  ]\n}\n')
    pi.install(environ).apply()
    file.write_bytes(file.read_bytes().replace(b'"npm:one",', b'"npm:one", // kept\n    "npm:two",'))

    pi.uninstall(environ).apply()

    assert content(file) == b'{\n  "packages": [\n    "npm:one", // kept\n    "npm:two"\n  ]\n}\n'


def test_an_entry_from_an_unknown_installation_goes_too(pi: Pi, environ: dict[str, str], file: Path) -> None:
    file.write_bytes(b'{"packages": ["npm:one", "../../old/carryover/hosts/pi/extension"]}')

    pi.install(environ).apply()
    listed = entries(file)
    pi.uninstall(environ).apply()

    assert listed == ["npm:one", pi.extension.as_posix()]
    assert content(file) == b'{"packages": ["npm:one"]}'


def test_a_filter_that_the_user_put_on_our_entry_stays(pi: Pi, environ: dict[str, str], file: Path) -> None:
    file.write_bytes(b'{"packages": [{"source": "/old/carryover/hosts/pi/extension", "extensions": []}]}')

    pi.install(environ).apply()

    assert entries(file) == [{"source": pi.extension.as_posix(), "extensions": []}]


@pytest.mark.parametrize("start", [None, b"{}", b'{"packages": ["npm:one"]}', b"not json"])
def test_uninstalling_what_is_not_installed_changes_nothing(
    pi: Pi, environ: dict[str, str], file: Path, start: bytes | None
) -> None:
    put(file, start)

    assert pi.uninstall(environ).changes == ()


def test_uninstall_works_without_the_memory_of_the_installation(
    pi: Pi, environ: dict[str, str], file: Path, state: Path
) -> None:
    file.write_bytes(b'{"packages": ["npm:one"]}')
    pi.install(environ).apply()
    state.write_bytes(b'{"settings": {"x": 5}, "python": [')

    pi.uninstall(environ).apply()

    assert content(file) == b'{"packages": ["npm:one"]}'


def test_two_folders_of_pi_are_remembered_apart(
    pi: Pi, environ: dict[str, str], file: Path, state: Path, tmp_path: Path
) -> None:
    other = environ | {"PI_CODING_AGENT_DIR": str(tmp_path / "agent")}
    file.write_bytes(b"{ }")
    pi.install(environ).apply()
    pi.install(other).apply()

    pi.uninstall(environ).apply()
    first_left = content(file), state.exists()
    pi.uninstall(other).apply()

    assert first_left == (b"{ }", True)
    assert not state.exists()
    assert not (tmp_path / "agent" / "settings.json").exists()


# ----------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(("start", "reason"), REFUSED)
def test_what_cannot_be_edited_is_refused_with_the_text_to_paste(
    pi: Pi, environ: dict[str, str], file: Path, state: Path, start: bytes, reason: str
) -> None:
    file.write_bytes(start)

    with pytest.raises(InstallError) as refusal:
        pi.install(environ)

    assert reason in str(refusal.value)
    assert str(file) in str(refusal.value)
    assert f'"{pi.extension.as_posix()}"' in str(refusal.value)
    assert content(file) == start
    assert not state.exists()


def test_uninstall_says_what_to_take_out_of_a_file_it_cannot_edit(pi: Pi, environ: dict[str, str], file: Path) -> None:
    pi.install(environ).apply()
    file.write_bytes(broken := file.read_bytes().replace(b"]", b""))

    with pytest.raises(InstallError, match="take the entry with carryover/hosts/pi/extension out"):
        pi.uninstall(environ)

    assert content(file) == broken


@posix
def test_a_read_only_file_is_refused(pi: Pi, environ: dict[str, str], file: Path) -> None:
    file.write_bytes(b"{}")
    file.chmod(0o444)

    with pytest.raises(InstallError, match="read-only"):
        pi.install(environ)

    assert content(file) == b"{}"


@posix
@unprivileged
def test_an_unreadable_file_is_refused(pi: Pi, environ: dict[str, str], file: Path) -> None:
    file.write_bytes(b"{}")
    file.chmod(0)

    with pytest.raises(InstallError, match="Permission denied"):
        pi.install(environ)


def test_a_file_that_the_system_will_not_read_is_refused(
    pi: Pi, environ: dict[str, str], file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_bytes(b"{}")

    def refuse(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "read_bytes", refuse)

    with pytest.raises(InstallError, match=r"Permission denied; add to \"packages\""):
        pi.install(environ)


@posix
def test_a_pipe_in_place_of_the_file_is_not_waited_for(pi: Pi, environ: dict[str, str], file: Path) -> None:
    os.mkfifo(file)

    with pytest.raises(InstallError, match="no regular file"):
        pi.install(environ)


@posix
def test_a_hard_link_is_refused_because_replacing_would_part_it(
    pi: Pi, environ: dict[str, str], file: Path, tmp_path: Path
) -> None:
    file.write_bytes(b"{}")
    (tmp_path / "dotfiles.json").hardlink_to(file)

    with pytest.raises(InstallError, match="hard link"):
        pi.install(environ)


@posix
def test_without_a_home_folder_nothing_can_be_installed(pi: Pi) -> None:
    with pytest.raises(InstallError, match="HOME"):
        pi.install({})


def test_an_installation_without_the_extension_is_said(pi: Pi, environ: dict[str, str]) -> None:
    missing = replace(pi, extension=pi.extension.with_name("gone.ts"))

    with pytest.raises(InstallError, match="install carryover again"):
        missing.install(environ)


def test_an_unknown_host_is_refused_and_the_known_are_named() -> None:
    with pytest.raises(InstallError, match="known are pi"):
        install.host("emacs")


# ----------------------------------------------------------------------------------------- links and races


@posix
def test_a_link_stays_a_link_and_its_target_is_edited(
    pi: Pi, environ: dict[str, str], file: Path, tmp_path: Path
) -> None:
    (tmp_path / "dotfiles").mkdir()
    target = tmp_path / "dotfiles" / "pi.json"
    target.write_bytes(b"{\n}")
    file.symlink_to("../../../dotfiles/pi.json")

    pi.install(environ).apply()
    installed = target.read_bytes()
    pi.uninstall(environ).apply()

    assert pi.extension.as_posix().encode() in installed
    assert file.is_symlink()
    assert target.read_bytes() == b"{\n}"


@posix
@pytest.mark.parametrize("target", ["nowhere.json", "settings.json"])
def test_a_link_that_leads_nowhere_is_refused(pi: Pi, environ: dict[str, str], file: Path, target: str) -> None:
    file.symlink_to(target)

    with pytest.raises(InstallError, match="add to"):
        pi.install(environ)


@posix
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664])
def test_the_mode_of_the_file_stays(pi: Pi, environ: dict[str, str], file: Path, mode: int) -> None:
    file.write_bytes(b"{}")
    file.chmod(mode)

    pi.install(environ).apply()
    installed = stat.S_IMODE(file.stat().st_mode)
    pi.uninstall(environ).apply()

    assert (installed, stat.S_IMODE(file.stat().st_mode)) == (mode, mode)


@posix
def test_our_memory_of_the_settings_is_for_the_users_eyes_only(pi: Pi, environ: dict[str, str], state: Path) -> None:
    pi.install(environ).apply()

    assert stat.S_IMODE(state.stat().st_mode) == 0o600


def test_a_file_that_changes_after_the_plan_is_left_alone(pi: Pi, environ: dict[str, str], file: Path) -> None:
    file.write_bytes(b"{}")
    plan = pi.install(environ)
    file.write_bytes(b'{"theme": "dark"}')

    with pytest.raises(InstallError, match="run this again"):
        plan.apply()

    assert content(file) == b'{"theme": "dark"}'


def test_a_failed_write_leaves_the_file_whole_and_nothing_beside_it(
    pi: Pi, environ: dict[str, str], file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_bytes(b"{}")
    plan = pi.install(environ)
    real = os.replace

    def fail(source: Path, target: Path) -> None:
        if Path(target).name == "settings.json":
            raise OSError(28, "No space left on device")
        real(source, target)

    monkeypatch.setattr(os, "replace", fail)

    with pytest.raises(InstallError, match="No space left on device; add to"):
        plan.apply()

    assert content(file) == b"{}"
    assert list(file.parent.iterdir()) == [file]


def test_the_bytes_are_on_the_disk_before_the_name_leads_to_them(
    pi: Pi, environ: dict[str, str], file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_bytes(b"{}")
    plan = pi.install(environ)
    calls: list[str] = []
    sync, rename = os.fsync, os.replace

    def note_sync(descriptor: int) -> None:
        sync(descriptor)
        calls.append("folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")

    def note_rename(source: Path, target: Path) -> None:
        rename(source, target)
        calls.append("rename")

    monkeypatch.setattr(os, "fsync", note_sync)
    monkeypatch.setattr(os, "replace", note_rename)
    plan.apply()

    each = ["file", "rename"] if sys.platform == "win32" else ["file", "rename", "folder"]
    assert calls == each * len(plan.changes)


def test_pis_own_lock_is_respected_while_it_is_fresh(
    pi: Pi, environ: dict[str, str], file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_bytes(b"{}")
    lock = file.with_name("settings.json.lock")
    lock.mkdir()
    monkeypatch.setattr(files, "_LOCK_PATIENCE", 0.05)

    with pytest.raises(InstallError, match="holds its lock"):
        pi.install(environ).apply()

    assert (content(file), lock.is_dir()) == (b"{}", True)


def test_a_lock_that_was_left_behind_does_not_stop_us(pi: Pi, environ: dict[str, str], file: Path) -> None:
    file.write_bytes(b"{}")
    lock = file.with_name("settings.json.lock")
    lock.mkdir()
    os.utime(lock, (1, 1))

    pi.install(environ).apply()

    assert entries(file) == [pi.extension.as_posix()]
    assert not lock.exists()


# ----------------------------------------------------------------------------------------- what is said


def test_a_plan_changes_nothing_until_it_is_applied(pi: Pi, environ: dict[str, str], file: Path, state: Path) -> None:
    file.write_bytes(b'{\n  "theme": "dark"\n}')

    diff = pi.install(environ).diff()

    assert f'+  "packages": ["{pi.extension.as_posix()}"]\n' in diff
    assert '-  "theme": "dark"\n+  "theme": "dark",\n' in diff
    assert (content(file), state.exists()) == (b'{\n  "theme": "dark"\n}', False)


def test_the_extension_is_told_which_python_has_the_package(
    pi: Pi, environ: dict[str, str], file: Path, state: Path
) -> None:
    pi.install(environ).apply()

    kept = json.loads(state.read_text(encoding="utf-8"))
    assert (kept["python"], kept["extension"]) == (pi.python, str(pi.extension))
    assert kept["settings"][str(file)]["written"] == hashlib.sha256(file.read_bytes()).hexdigest()


def test_no_text_of_the_users_is_kept(pi: Pi, environ: dict[str, str], file: Path, state: Path) -> None:
    file.write_bytes(b'{"apiKey": "secret-1", "packages": ["npm:one"], "other": "secret-2"}')

    pi.install(environ).apply()

    assert b"secret" not in state.read_bytes()


@pytest.mark.parametrize(
    ("start", "said"),
    [
        (b'{"theme": "dark"}', ""),
        (b'{"theme": "dark",}', "no comments and no trailing commas"),
        (b"{} // mine", "no comments and no trailing commas"),
        (b"\xef\xbb\xbf{}", "byte order mark"),
        (b'{"packages": ["npm:pi-carryover@1.2.1"]}', "`pi remove npm:pi-carryover@1.2.1`"),
        (b'{"packages": ["git:github.com/Feng-H/pi-carryover"]}', "puts a note before the agent as well"),
        (b'{"packages": ["npm:pi-carryover-themes"]}', ""),
    ],
)
def test_what_would_keep_it_from_working_is_said(
    pi: Pi, environ: dict[str, str], file: Path, start: bytes, said: str
) -> None:
    file.write_bytes(start)

    notes = pi.install(environ).notes

    assert len(notes) == (1 if said else 0)
    assert said in "".join(notes)


def test_a_user_without_a_folder_of_pi_is_told(pi: Pi, environ: dict[str, str]) -> None:
    (note,) = pi.install(environ).notes

    assert "pi has not been started" in note


@pytest.mark.parametrize(
    ("source", "folder"),
    [
        ("../../src/carryover", "../../src/carryover"),
        ("git:github.com/someone/pi-carryover@v1", "git/github.com/someone/pi-carryover"),
        ("git:git@github.com:someone/pi-carryover.git", "git/github.com/someone/pi-carryover"),
        ("https://github.com/someone/pi-carryover", "git/github.com/someone/pi-carryover"),
    ],
)
def test_what_pi_install_has_registered_is_not_registered_again(
    *, pi: Pi, environ: dict[str, str], file: Path, state: Path, source: str, folder: str
) -> None:
    installation(file.parent / folder)
    file.write_bytes(start := json.dumps({"packages": [source]}).encode())

    plan = pi.install(environ)
    plan.apply()

    assert content(file) == start
    assert plan.notes == (f"pi loads carryover from {source} already; to change that, `pi remove` it first",)
    assert json.loads(state.read_text(encoding="utf-8"))["python"] == pi.python
