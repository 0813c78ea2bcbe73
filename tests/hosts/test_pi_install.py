"""Real pi, both packages: what it does with our entry, and with ``pi install`` of this repository.

The extension is a stub here that leaves a mark when pi loads it. Nothing leaves the computer.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from carryover.hosts.install.pi import Pi

pytestmark = pytest.mark.hosts

ROOT = Path(__file__).parents[2]
CLI = {
    "0.73.1": "@mariozechner/pi-coding-agent/dist/cli.js",
    "1.6.0": "@earendil-works/pi-coding-agent/dist/bundle/cli.js",
}
STUB = """
import { appendFileSync } from "node:fs";
export default function () { appendFileSync(process.env.STUB_MARK as string, "loaded\\n"); }
"""
MODELS = {
    "providers": {
        "fake": {
            "baseUrl": "http://127.0.0.1:9/v1",
            "api": "openai-completions",
            "apiKey": "none",
            "models": [{"id": "fake-1", "contextWindow": 32000, "maxTokens": 4096}],
        }
    }
}


@dataclass(frozen=True, slots=True)
class Host:
    """A pi with a home folder of its own."""

    command: tuple[str, str]
    home: Path

    @property
    def environ(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT", "TEMP") if name in os.environ}
        return kept | {
            "HOME": str(self.home),
            "USERPROFILE": str(self.home),
            "PI_CODING_AGENT_DIR": str(self.agent),
            "PI_SKIP_VERSION_CHECK": "1",
            "PI_TELEMETRY": "0",
            "STUB_MARK": str(self.home / "mark"),
            "npm_config_offline": "true",
            "npm_config_update_notifier": "false",
            "npm_config_audit": "false",
        }

    @property
    def agent(self) -> Path:
        return self.home / "agent"

    @property
    def settings(self) -> Path:
        return self.agent / "settings.json"

    def packages(self) -> list[object]:
        found = json.loads(self.settings.read_text(encoding="utf-8"))["packages"]
        assert isinstance(found, list)
        return found

    def run(self, *arguments: str, stdin: str = "", offline: bool = True) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*self.command, *arguments],
            cwd=self.home / "project",
            env=self.environ | ({"PI_OFFLINE": "1"} if offline else {}),
            input=stdin,
            capture_output=True,
            encoding="utf-8",
            timeout=120,
        )

    def start(self) -> int:
        """How often is the stub loaded at a start? The start must be silent, and pi answer."""
        mark = self.home / "mark"
        mark.unlink(missing_ok=True)
        ended = self.run("--mode", "rpc", stdin='{"type":"get_state","id":"1"}\n')
        assert (ended.returncode, ended.stderr) == (0, "")
        assert '"command":"get_state","success":true' in ended.stdout
        return mark.read_text(encoding="utf-8").count("loaded") if mark.exists() else 0


def need(present: object, what: str) -> None:
    """Skip where the hosts are not installed; fail where they must be."""
    if not present:
        (pytest.fail if os.environ.get("CARRYOVER_REQUIRE_HOSTS") == "1" else pytest.skip)(f"needs {what}")


@pytest.fixture(params=list(CLI))
def host(request: pytest.FixtureRequest, tmp_path: Path) -> Host:
    folder = os.environ.get("CARRYOVER_PI_HOSTS", "")
    need(folder, "CARRYOVER_PI_HOSTS, the folder that `make hosts` fills")
    cli = Path(folder) / "node_modules" / CLI[request.param]
    need(cli.is_file(), str(cli))
    found = Host((str(Path(folder) / "node22"), str(cli)), tmp_path / "home")
    (found.home / "project").mkdir(parents=True)
    found.agent.mkdir()
    (found.agent / "models.json").write_text(json.dumps(MODELS), encoding="utf-8")
    found.settings.write_text(
        json.dumps({"defaultProvider": "fake", "defaultModel": "fake-1", "quietStartup": True}),
        encoding="utf-8",
    )
    return found


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """This repository as far as pi looks at it, with the stub as its extension."""
    folder = tmp_path / "pi-carryover"
    extension = folder / "carryover" / "hosts" / "pi" / "extension"
    extension.mkdir(parents=True)
    (extension / "index.ts").write_text(STUB, encoding="utf-8")
    shutil.copy(ROOT / "package.json", folder)
    return folder


@pytest.fixture
def installer(checkout: Path) -> Pi:
    return Pi(checkout / "carryover" / "hosts" / "pi" / "extension" / "index.ts")


def test_pi_loads_what_we_register_and_no_longer_after_uninstall(host: Host, installer: Pi) -> None:
    before = host.settings.read_bytes()

    installer.install(host.environ).apply()
    loaded = host.start()
    installer.uninstall(host.environ).apply()

    assert (loaded, host.start()) == (1, 0)
    assert host.settings.read_bytes() == before


def test_pi_starts_in_silence_when_the_package_is_gone(host: Host, installer: Pi, checkout: Path) -> None:
    installer.install(host.environ).apply()

    shutil.rmtree(checkout)

    assert host.start() == 0


def test_pi_starts_in_silence_when_only_the_folder_was_left_behind(host: Host, installer: Pi) -> None:
    installer.install(host.environ).apply()

    installer.extension.unlink()

    assert host.start() == 0


def test_pi_can_remove_our_entry_itself(host: Host, installer: Pi) -> None:
    installer.install(host.environ).apply()

    ended = host.run("remove", installer.extension.as_posix())

    assert ended.returncode == 0
    assert (host.packages(), host.start()) == ([], 0)


def test_pi_keeps_our_entry_when_it_rewrites_its_settings(host: Host, installer: Pi, tmp_path: Path) -> None:
    installer.install(host.environ).apply()
    (tmp_path / "other.ts").write_text("export default function () {}\n", encoding="utf-8")

    host.run("install", str(tmp_path / "other.ts"))
    loaded = host.start()
    installer.uninstall(host.environ).apply()

    assert loaded == 1
    assert len(host.packages()) == 1


def test_pi_passes_over_a_file_with_comments_as_our_note_says(host: Host, installer: Pi) -> None:
    host.settings.write_bytes(host.settings.read_bytes() + b" // mine")

    plan = installer.install(host.environ)
    plan.apply()
    ended = host.run("--mode", "rpc", stdin='{"type":"get_state","id":"1"}\n')

    assert "no comments" in plan.notes[0]
    assert "JSON" in ended.stderr
    assert not (host.home / "mark").exists()


def test_pi_installs_the_repositorys_folder(host: Host, checkout: Path, installer: Pi) -> None:
    ended = host.run("install", str(checkout))

    assert ended.returncode == 0
    assert host.start() == 1
    assert installer.install(host.environ).notes[0].startswith("pi loads carryover from ")
    assert host.run("remove", str(checkout)).returncode == 0
    assert (host.packages(), host.start()) == ([], 0)


def test_pi_installs_the_repository_from_git(host: Host, checkout: Path, installer: Pi, tmp_path: Path) -> None:
    need(shutil.which("npm"), "npm, which pi runs after cloning")
    publish(checkout, tmp_path / "remote" / "someone" / "pi-carryover.git", host)

    ended = host.run("install", "git:github.com/someone/pi-carryover", offline=False)

    assert ended.returncode == 0, ended.stderr
    assert host.packages() == ["git:github.com/someone/pi-carryover"]
    assert host.start() == 1
    assert "pi loads carryover from git:" in installer.install(host.environ).notes[0]


def publish(checkout: Path, bare: Path, host: Host) -> None:
    """Make *checkout* what git finds, for this host, at github.com."""

    def git(*arguments: str) -> None:
        subprocess.run(["git", *arguments], cwd=checkout, env=host.environ, check=True, capture_output=True)

    git("init", "--quiet", "--initial-branch", "main")
    git("add", ".")
    git("-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "--quiet", "--message", "one")
    git("clone", "--quiet", "--bare", ".", str(bare))
    remote = f"{bare.parent.parent.as_uri()}/"
    git("config", "--global", f"url.{remote}.insteadOf", "https://github.com/")
