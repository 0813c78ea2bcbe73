"""The border of the command line: exit status, one line for an error, streams of every kind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import carryover
from carryover.cli import main


def run(
    *words: str, cwd: Path, stdout: int = subprocess.PIPE, feed: bytes = b"", **environ: str
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "carryover", *words],
        cwd=cwd,
        env={**os.environ, **environ},
        input=feed,
        stdout=stdout,
        stderr=subprocess.PIPE,
        check=False,
    )


def test_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"carryover {carryover.__version__}\n"


@pytest.mark.parametrize("words", [["shwo"], ["completion"], ["completion", "tcsh"], ["--colour"]])
def test_wrong_use_is_one_line_and_status_2(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    status = main(words)

    shown = capsys.readouterr()
    assert (status, shown.out) == (2, "")
    assert shown.err.startswith("carryover: ")
    assert shown.err.count("\n") == 1


def test_wrong_use_is_explained_in_the_users_language(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LANG", "zh_CN.UTF-8")

    main(["shwo"])

    assert "请看 `carryover --help`" in capsys.readouterr().err


def test_a_stream_without_the_characters_shows_escapes(tmp_path: Path) -> None:
    done = run("shwo", cwd=tmp_path, LANG="zh_CN.UTF-8", PYTHONIOENCODING="ascii")

    assert done.returncode == 2
    assert rb"\u8bf7\u770b" in done.stderr


def test_show_without_options_is_the_same_command_as_with_them(project: Path) -> None:
    run("note", "--set", "-", cwd=project, feed=b"- [ ] first\n")

    plain = [run(*words, cwd=project).stdout for words in ([], ["show"])]
    parsed = [run(*words, cwd=project).stdout for words in (["--project", "."], ["show", "--project", "."])]

    assert len({*plain, *parsed}) == 1


@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "gb2312"])
def test_json_is_whole_on_every_stream(project: Path, encoding: str) -> None:
    (project / "note.md").write_text("- [ ] 解析器 \U0001f600\n", "utf-8")
    run("note", "--set", "note.md", cwd=project)

    done = run("note", "--json", cwd=project, PYTHONIOENCODING=encoding)

    assert json.loads(done.stdout.decode(encoding)) == {"text": "- [ ] 解析器 \U0001f600"}


@pytest.mark.parametrize("mode", ["1", "0"])
def test_a_c_locale_is_no_hindrance(project: Path, mode: str) -> None:
    (project / "note.md").write_text("- [ ] 解析器\n", "utf-8")

    done = [
        run(*words, cwd=project, LC_ALL="C", PYTHONCOERCECLOCALE=mode, PYTHONUTF8=mode)
        for words in (["note", "--set", "note.md"], ["show"], ["log"])
    ]

    assert [one.returncode for one in done] == [0, 0, 0]
    assert done[1].stdout.partition(b"- [ ] ")[2].startswith(("解析器".encode(), rb"\u89e3\u6790\u5668"))


def test_a_note_is_shown_on_a_stream_without_its_characters(project: Path) -> None:
    (project / "note.md").write_text("- [ ] 解析器\n", "utf-8")
    run("note", "--set", "note.md", cwd=project)

    done = run("show", cwd=project, PYTHONIOENCODING="latin-1")

    assert done.returncode == 0
    assert rb"- [ ] \u89e3\u6790\u5668" in done.stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_completion_script_asks_us(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    assert f"_CARRYOVER_COMPLETE={shell}_complete" in capsys.readouterr().out


def test_commands_are_completed(tmp_path: Path) -> None:
    done = run(cwd=tmp_path, _CARRYOVER_COMPLETE="bash_complete", COMP_WORDS="carryover compl", COMP_CWORD="1")

    assert done.stdout.split() == [b"plain,completion"]


@pytest.mark.parametrize("words", [["show"], ["show", "--json"], ["completion", "fish"]])
def test_a_reader_that_leaves_early_is_no_error(project: Path, words: list[str]) -> None:
    run("note", "--set", "-", cwd=project, feed=b"- [ ] first\n")
    reading, writing = os.pipe()
    os.close(reading)

    done = run(*words, cwd=project, stdout=writing)
    os.close(writing)

    assert done.stderr == b""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("words", [["show"], ["completion", "fish"]])
def test_output_that_cannot_be_written_is_said(project: Path, words: list[str]) -> None:
    run("note", "--set", "-", cwd=project, feed=b"- [ ] first\n")
    with Path("/dev/full").open("wb") as full:
        done = run(*words, cwd=project, stdout=full.fileno())

    assert (done.returncode, done.stderr) == (1, b"carryover: output: No space left on device\n")
