"""The package as it is shipped: what the wheel holds, and what it shows to programs."""

from __future__ import annotations

import os
import re
from importlib.metadata import Distribution, distribution
from inspect import ismodule
from pathlib import Path

import pytest

import carryover

CHECKOUT = Path(__file__).parent.parent / "carryover"

wheel = pytest.mark.skipif(
    os.environ.get("CARRYOVER_TEST_WHEEL") != "1", reason="not run against the wheel: `make test` is"
)


@pytest.fixture
def installed() -> Distribution:
    return distribution("pi-carryover")


@wheel
def test_the_tests_run_against_the_installed_wheel() -> None:
    package = Path(carryover.__file__).parent

    assert package.parent.name == "site-packages"
    assert package != CHECKOUT


@wheel
def test_the_wheel_holds_every_file_of_the_package(installed: Distribution) -> None:
    ours = {
        path.relative_to(CHECKOUT.parent).as_posix()
        for path in CHECKOUT.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    shipped = {file.as_posix() for file in installed.files or ()}

    assert ours - shipped == set()
    assert "carryover/py.typed" in shipped


@wheel
def test_the_wheel_holds_the_licence(installed: Distribution) -> None:
    assert any(file.name == "LICENSE" for file in installed.files or ())


def test_the_version_is_the_one_of_the_distribution(installed: Distribution) -> None:
    assert installed.version == carryover.__version__


def test_the_change_log_has_a_section_for_what_is_next() -> None:
    text = (CHECKOUT.parent / "CHANGELOG.md").read_text(encoding="utf-8")

    assert re.findall(r"^## (.+)$", text, re.MULTILINE)[0].startswith(("Unreleased", carryover.__version__))


def test_the_public_face_is_exactly_all() -> None:
    shown = {name for name in dir(carryover) if not name.startswith("_") and name != "annotations"}
    public = {name for name in shown if not ismodule(getattr(carryover, name))}

    assert sorted(public) == list(getattr(carryover, "__all__", []))
