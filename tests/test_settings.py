"""Where each setting comes from, what a project may not do, and what is said of what cannot be used."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import pytest

from carryover import settings
from carryover.errors import SettingsError
from carryover.settings import Settings

posix = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX folders")
Write = Callable[[object], Path]


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    home = tmp_path / "home"
    return {"HOME": str(home), "USERPROFILE": str(home)}


@pytest.fixture
def user(environ: dict[str, str]) -> Write:
    """Write the user's settings of pi."""
    return lambda content: write(Path(environ["HOME"]) / ".pi" / "agent" / "settings.json", content)


@pytest.fixture
def chosen(environ: dict[str, str]) -> Write:
    """Write the choices made by command."""
    folder = settings.state_dir(environ)
    assert folder
    return lambda content: write(folder / "settings.json", content)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "app").mkdir()
    return tmp_path / "app"


@pytest.fixture
def project(root: Path) -> Write:
    """Write the project's settings."""
    return lambda content: write(root / ".pi" / "settings.json", content)


def write(path: Path, content: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return path


# ----------------------------------------------------------------------------------------- layers


def test_everything_has_a_built_in_value(environ: dict[str, str]) -> None:
    loaded = settings.load(None, environ)

    assert loaded == Settings(sources=dict.fromkeys(loaded.sources, "built in"))
    assert {name.replace(".", "_") for name in loaded.sources} == {
        field.name for field in fields(Settings) if field.name not in ("sources", "problems")
    }


def test_each_layer_outranks_the_one_before(environ: dict[str, str], user: Write, chosen: Write) -> None:
    def seconds(**overrides: object) -> tuple[int, str]:
        loaded = settings.load(None, environ, {"summary.seconds": 5} if overrides else {})
        return loaded.summary_seconds, loaded.sources["summary.seconds"]

    seen = [seconds()]
    path = user({"carryover": {"summary": {"seconds": 11}}})
    seen.append(seconds())
    choice = chosen({"summary": {"seconds": 12}})
    seen.append(seconds())
    environ["CARRYOVER_SUMMARY_SECONDS"] = "13"
    seen.append(seconds())
    seen.append(seconds(override=True))

    assert seen == [
        (30, "built in"),
        (11, str(path)),
        (12, str(choice)),
        (13, "environment"),
        (5, "command line"),
    ]


def test_pis_folder_can_be_elsewhere(environ: dict[str, str], tmp_path: Path) -> None:
    write(tmp_path / "agent" / "settings.json", {"carryover": {"secrets": "reject"}})

    assert settings.load(None, environ | {"PI_CODING_AGENT_DIR": str(tmp_path / "agent")}).secrets == "reject"


def test_keys_may_be_nested_or_dotted(environ: dict[str, str], user: Write) -> None:
    user({"carryover": {"summary.mode": "off", "summary": {"words": 100}, "block.tokens": 500}})

    loaded = settings.load(None, environ)

    assert (loaded.summary_mode, loaded.summary_words, loaded.block_tokens) == ("off", 100, 500)
    assert loaded.problems == ()


def test_a_file_may_have_comments_trailing_commas_and_a_byte_order_mark(environ: dict[str, str], user: Write) -> None:
    user(b'\xef\xbb\xbf{ // mine\r\n "carryover": {"summary": {"mode": "off",},},\r\n}')

    assert settings.load(None, environ).summary_mode == "off"


@pytest.mark.parametrize("content", [b"", b"\xef\xbb\xbf", b" \n", b"{}", b'{"packages": []}'])
def test_a_file_that_says_nothing_of_us_changes_nothing(environ: dict[str, str], user: Write, content: bytes) -> None:
    user(content)

    assert settings.load(None, environ) == settings.load(None, {})


@pytest.mark.parametrize(
    ("variable", "text", "field", "value"),
    [
        ("CARRYOVER_SUMMARY_MODE", "off", "summary_mode", "off"),
        ("CARRYOVER_SUMMARY_MODEL", "fake/one", "summary_model", "fake/one"),
        ("CARRYOVER_SUMMARY_WORDS", "200", "summary_words", 200),
        ("CARRYOVER_SUMMARY_ENDPOINT", "http://127.0.0.1:1/v1", "summary_endpoint", "http://127.0.0.1:1/v1"),
        ("CARRYOVER_SUMMARY_COMMAND", "ask --model 'a b'", "summary_command", ("ask", "--model", "a b")),
        ("CARRYOVER_BLOCK_TOKENS", "700", "block_tokens", 700),
        ("CARRYOVER_SECRETS", "off", "secrets", "off"),
    ],
)
def test_every_setting_has_a_variable(
    environ: dict[str, str], variable: str, text: str, field: str, value: object
) -> None:
    loaded = settings.load(None, environ | {variable: text})

    assert (getattr(loaded, field), loaded.problems) == (value, ())


def test_an_empty_variable_is_an_unset_one(environ: dict[str, str]) -> None:
    assert settings.load(None, environ | {"CARRYOVER_SECRETS": ""}) == settings.load(None, environ)


# ----------------------------------------------------------------------------------------- the project


@pytest.mark.parametrize(
    ("key", "user_value", "project_value", "value"),
    [
        ("summary.mode", "on", "off", "off"),
        ("summary.mode", "off", "on", "off"),
        ("summary.seconds", 20, 10, 10),
        ("summary.seconds", 20, 30, 20),
        ("summary.words", 200, 100, 100),
        ("summary.words", 200, 300, 200),
        ("block.tokens", 800, 400, 400),
        ("block.tokens", 800, 2000, 800),
        ("secrets", "off", "redact", "redact"),
        ("secrets", "redact", "reject", "reject"),
        ("secrets", "reject", "redact", "reject"),
        ("secrets", "redact", "off", "redact"),
    ],
)
def test_a_project_can_only_switch_off_or_tighten(
    *,
    environ: dict[str, str],
    user: Write,
    root: Path,
    project: Write,
    key: str,
    user_value: object,
    project_value: object,
    value: object,
) -> None:
    user_file, project_file = (
        user({"carryover": {key: user_value}}),
        project({"carryover": {key: project_value}}),
    )

    loaded = settings.load(root, environ)

    tightened = value == project_value
    assert getattr(loaded, key.replace(".", "_")) == value
    assert loaded.sources[key] == str(project_file if tightened else user_file)
    assert [f"may not loosen {key}" in problem for problem in loaded.problems] == [True] * (not tightened)


def test_a_project_tightens_even_the_command_line(environ: dict[str, str], root: Path, project: Write) -> None:
    project({"carryover": {"secrets": "reject"}})

    assert settings.load(root, environ, {"secrets": "off"}).secrets == "reject"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("summary.endpoint", "https://evil.example"),
        ("summary.command", ["sh", "-c", "evil"]),
        ("summary.model", "x"),
    ],
)
def test_a_project_names_no_endpoint_command_or_model(
    environ: dict[str, str], root: Path, project: Write, key: str, value: object
) -> None:
    path = project({"carryover": {key: value}})

    loaded = settings.load(root, environ)

    assert getattr(loaded, key.replace(".", "_")) is None
    assert loaded.problems == (f"{path} may not set {key}: a project can only switch off or tighten",)


def test_a_project_that_repeats_the_users_value_is_no_problem(
    environ: dict[str, str], root: Path, project: Write
) -> None:
    project({"carryover": {"secrets": "redact", "summary": {"words": 300}}})

    assert settings.load(root, environ).problems == ()


# ----------------------------------------------------------------------------------------- problems


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b'{"carryover": ', "line 1 column"),
        (b"\xff\xfe{\x00}\x00", "utf-8"),
        (b'{"carryover": 5}', "no object"),
        (b"[]", "no object"),
        (b"[" * 100_000, "Nested too deeply"),
        (b" " * 1_000_001, "larger than"),
    ],
)
def test_a_file_that_cannot_be_read_is_a_sentence_and_not_an_error(
    environ: dict[str, str], user: Write, content: bytes, reason: str
) -> None:
    path = user(content)

    loaded = settings.load(None, environ)

    assert len(loaded.problems) == 1
    assert loaded.problems[0].startswith(f"cannot read the settings in {path}: ")
    assert reason in loaded.problems[0]


@posix
def test_a_settings_file_that_is_a_pipe_is_not_waited_for(environ: dict[str, str]) -> None:
    folder = Path(environ["HOME"]) / ".pi" / "agent"
    folder.mkdir(parents=True)
    os.mkfifo(folder / "settings.json")

    assert "it is no file" in settings.load(None, environ).problems[0]


def test_a_settings_file_that_is_a_folder_is_a_problem(environ: dict[str, str]) -> None:
    (Path(environ["HOME"]) / ".pi" / "agent" / "settings.json").mkdir(parents=True)

    assert "it is no file" in settings.load(None, environ).problems[0]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("summary.mode", "maybe"),
        ("summary.mode", False),
        ("summary.model", ""),
        ("summary.model", "\ud83d"),
        ("summary.seconds", "30"),
        ("summary.seconds", True),
        ("summary.seconds", 0),
        ("block.tokens", 1e9),
        ("summary.endpoint", "file:///etc/passwd"),
        ("summary.endpoint", "http://a\nb"),
        ("summary.command", []),
        ("summary.command", ["ask", 1]),
        ("summary.command", ["ask", "\0"]),
        ("summary.command", ["", "x"]),
        ("summary.command", "ask 'open"),
        ("summary.command", {"ask": 1}),
        ("block.tokens", 2001),
        ("block.tokens", None),
        ("secrets", "REDACT"),
        ("secrets", {}),
    ],
)
def test_a_value_that_cannot_be_used_is_left_out_and_said(
    environ: dict[str, str], user: Write, key: str, value: object
) -> None:
    path = user({"carryover": {key: value, "summary": {"words": 99}}})

    loaded = settings.load(None, environ)

    assert loaded.sources[key] == "built in"
    assert loaded.summary_words == 99
    assert [problem.startswith(f"{key} in {path} is ignored: it must be ") for problem in loaded.problems] == [True]


def test_a_variable_that_cannot_be_used_is_left_out_and_said(environ: dict[str, str]) -> None:
    loaded = settings.load(None, environ | {"CARRYOVER_BLOCK_TOKENS": "many"})

    assert loaded.block_tokens == 600
    assert loaded.problems == (
        "CARRYOVER_BLOCK_TOKENS in the environment is ignored: it must be a whole number from 150 to 2000",
    )


def test_unknown_keys_are_named_in_one_short_sentence(environ: dict[str, str], user: Write) -> None:
    path = user({"carryover": {"secrts": 1, "summary": {"\u202eevil" * 100: 1}, "a": 1, "b": 1, "block.size": 2}})

    (problem,) = settings.load(None, environ).problems

    assert problem.startswith(f"{path} sets 'secrts', 'summary.")
    assert problem.endswith("' , 'a' and 2 more: there is no such setting".replace("' ,", "',"))
    assert problem.isascii()
    assert len(problem) < 600


def test_an_unknown_variable_of_ours_is_said(environ: dict[str, str]) -> None:
    loaded = settings.load(None, environ | {"CARRYOVER_SUMMARY_MODUS": "off", "CARRYOVER_PROJECT": "x"})

    assert loaded.problems == ("the environment sets 'CARRYOVER_SUMMARY_MODUS': there is no such setting",)


def test_the_keys_of_other_features_are_left_alone(environ: dict[str, str], user: Write) -> None:
    user(
        {
            "carryover": {
                "topicCompact": {"mode": "auto", "embed": {"choice": "zh"}},
                "topicCompact.archive": 1,
            }
        }
    )

    assert settings.load(None, environ).problems == ()


@pytest.mark.parametrize(("key", "value"), [("summary.mode", "maybe"), ("nonsense", 1)])
def test_a_wrong_override_is_an_error(environ: dict[str, str], key: str, value: object) -> None:
    with pytest.raises(SettingsError, match=key):
        settings.load(None, environ, {key: value})


# ----------------------------------------------------------------------------------------- folders


@posix
@pytest.mark.parametrize("home", [None, "", "/", "relative"])
def test_without_a_home_folder_there_are_no_folders_of_ours(home: str | None) -> None:
    environ = {} if home is None else {"HOME": home}

    assert settings.state_dir(environ) is None
    assert settings.cache_dir(environ) is None
    assert settings.agent_dir(environ) is None
    assert settings.load(None, environ).problems == ()


@pytest.mark.parametrize(
    ("platform", "environ", "state", "cache"),
    [
        ("linux", {"HOME": "/h"}, "/h/.local/state/carryover", "/h/.cache/carryover"),
        (
            "linux",
            {"HOME": "/h", "XDG_STATE_HOME": "/s", "XDG_CACHE_HOME": "/c"},
            "/s/carryover",
            "/c/carryover",
        ),
        ("linux", {"HOME": "/h", "XDG_STATE_HOME": "s"}, "/h/.local/state/carryover", "/h/.cache/carryover"),
        (
            "darwin",
            {"HOME": "/h"},
            "/h/Library/Application Support/carryover",
            "/h/Library/Caches/carryover",
        ),
        ("win32", {"LOCALAPPDATA": "/l"}, "/l/carryover/state", "/l/carryover/cache"),
        (
            "win32",
            {"USERPROFILE": "/u"},
            "/u/AppData/Local/carryover/state",
            "/u/AppData/Local/carryover/cache",
        ),
    ],
)
@posix
def test_folders_are_where_the_platform_keeps_such_things(
    monkeypatch: pytest.MonkeyPatch, platform: str, environ: dict[str, str], state: str, cache: str
) -> None:
    monkeypatch.setattr(sys, "platform", platform)

    assert settings.state_dir(environ) == Path(state)
    assert settings.cache_dir(environ) == Path(cache)


@posix
@pytest.mark.parametrize(
    ("named", "folder"), [("", "/h/.pi/agent"), ("~", "/h"), ("~/pi", "/h/pi"), ("/agent", "/agent")]
)
def test_pis_folder_is_where_pi_looks_for_it(named: str, folder: str) -> None:
    assert settings.agent_dir({"HOME": "/h", "PI_CODING_AGENT_DIR": named}) == Path(folder)
