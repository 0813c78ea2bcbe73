"""Which folder a project is, and where its log lives, for every layout that git can make.

Git builds the layouts here; the code under test only reads them.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from carryover import project
from carryover.errors import ProjectError
from carryover.project import Project

Find = Callable[..., Project]

posix = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX modes and links")


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A folder under a home folder of its own."""
    folder = tmp_path.resolve() / "home" / "work"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def find(here: Path) -> Find:
    def _find(start: Path, named: Path | None = None, **environ: str) -> Project:
        return project.find(start, {"HOME": str(here.parent), **environ}, named)

    return _find


def git(folder: Path, *arguments: str) -> None:
    environ = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environ |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    for role in ("AUTHOR", "COMMITTER"):
        environ |= {f"GIT_{role}_NAME": "A", f"GIT_{role}_EMAIL": "a@example.org"}
    subprocess.run(["git", *arguments], cwd=folder, env=environ, check=True, capture_output=True)


def repository(folder: Path, *options: str) -> Path:
    folder.mkdir(parents=True)
    git(folder, "init", "--quiet", "--initial-branch", "main", *options)
    git(folder, "commit", "--quiet", "--allow-empty", "--message", "one")
    return folder


def linked(main: Path, tree: Path, branch: str) -> Path:
    git(main, "worktree", "add", "--quiet", "-b", branch, str(tree))
    return tree


def remember(folder: Path, name: str = "CARRYOVER.md") -> Path:
    (folder / ".pi").mkdir(parents=True, exist_ok=True)
    (folder / ".pi" / name).write_text("", encoding="utf-8")
    return folder


def below(folder: Path, *parts: str) -> Path:
    folder = folder.joinpath(*parts)
    folder.mkdir(parents=True)
    return folder


# ----------------------------------------------------------------------------------------- the rules


def test_a_named_folder_is_the_project_whatever_is_around_it(here: Path, find: Find) -> None:
    inner = below(remember(repository(here / "app")), "inner")

    found = find(here, named=inner)

    assert (found.root, found.how, found.folder) == (inner, "named", inner / ".pi")


def test_the_environment_names_a_folder_relative_to_the_start(here: Path, find: Find) -> None:
    app = below(here, "app")

    found = find(here, CARRYOVER_PROJECT="app")

    assert (found.root, found.how) == (app, "named")


def test_an_argument_outranks_the_environment(here: Path, find: Find) -> None:
    app, other = below(here, "app"), below(here, "other")

    found = find(here, named=app, CARRYOVER_PROJECT=str(other))

    assert found.root == app


def test_the_nearest_folder_with_memory_is_the_project(here: Path, find: Find) -> None:
    app = remember(repository(here / "app"))
    package = remember(below(app, "packages", "one"), "carryover.log")

    found = find(below(package, "src"))

    assert (found.root, found.how, found.log_folder) == (package, "found", package / ".pi")


def test_memory_above_the_work_tree_is_not_looked_for(here: Path, find: Find) -> None:
    app = repository(remember(here) / "app")

    found = find(app)

    assert (found.root, found.how) == (app, "git")


def test_a_folder_inside_a_work_tree_belongs_to_its_root(here: Path, find: Find) -> None:
    app = repository(here / "app")

    found = find(below(app, "src", "deep"))

    assert found == Project(app, "git", app / ".pi", app / ".pi", "", "main", app / ".git")


def test_two_folders_without_git_are_two_projects(here: Path, find: Find) -> None:
    one, other = below(here, "a", "app"), below(here, "b", "app")

    assert find(one) == Project(one, "folder", one / ".pi", one / ".pi", "", "", None)
    assert find(other).root == other


def test_memory_is_found_upwards_without_git(here: Path, find: Find) -> None:
    book = remember(below(here, "book"))

    assert find(below(book, "chapters")).root == book


# ----------------------------------------------------------------------------------------- refusals


def test_the_home_folder_is_refused_unless_named(here: Path, find: Find) -> None:
    with pytest.raises(ProjectError, match="--project"):
        find(here.parent)

    assert find(here.parent, named=here.parent).root == here.parent


def test_the_root_of_the_file_system_is_refused_unless_named(here: Path, find: Find) -> None:
    root = Path(here.anchor)

    with pytest.raises(ProjectError, match="--project"):
        find(root)

    assert find(root, named=root).root == root


@posix
def test_the_home_of_the_account_is_refused_when_home_is_unset(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import pwd

    account = pwd.struct_passwd(("me", "x", 1, 1, "", str(here), ""))
    monkeypatch.setattr(pwd, "getpwuid", lambda _uid: account)

    with pytest.raises(ProjectError):
        project.find(here, {})


@posix
def test_a_uid_without_a_name_has_no_home_to_refuse(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import pwd

    def unknown(uid: int) -> pwd.struct_passwd:
        raise KeyError(uid)

    monkeypatch.setattr(pwd, "getpwuid", unknown)

    assert project.find(here, {}).root == here


def test_a_home_folder_under_git_or_with_memory_does_not_take_in_what_is_below(here: Path, find: Find) -> None:
    git(here.parent, "init", "--quiet")
    remember(here.parent)

    assert find(here).root == here


@posix
def test_a_folder_open_to_all_does_not_lend_its_memory(here: Path, find: Find) -> None:
    shared = remember(below(here, "tmp"))
    git(shared, "init", "--quiet")
    shared.chmod(0o1777)
    mine = below(shared, "mine")

    assert find(mine).root == mine


@pytest.mark.parametrize("name", ["missing", "file", "nul\0"])
def test_what_is_no_folder_is_refused(here: Path, find: Find, name: str) -> None:
    (here / "file").write_text("", encoding="utf-8")

    with pytest.raises(ProjectError, match="cannot use"):
        find(here / name)


# ----------------------------------------------------------------------------------------- layouts


def test_a_linked_tree_has_its_own_note_and_the_main_checkouts_log(here: Path, find: Find) -> None:
    app = repository(here / "app")
    tree = linked(app, here / "feature-tree", "feature/x")

    found = find(tree)

    assert found == Project(tree, "git", tree / ".pi", app / ".pi", "feature-tree", "feature/x", app / ".git")


def test_a_linked_tree_keeps_the_same_relative_folder(here: Path, find: Find) -> None:
    app = repository(here / "app")
    remember(below(app, "packages", "one"), "carryover.log")
    tree = linked(app, here / "tree", "feature")

    found = find(below(tree, "packages", "one", "src"))

    assert found.root == tree / "packages" / "one"
    assert found.log_folder == app / "packages" / "one" / ".pi"


def test_a_linked_tree_inside_the_main_checkout_is_its_own_tree(here: Path, find: Find) -> None:
    app = remember(repository(here / "app"))
    tree = linked(app, app / ".trees" / "x", "x")

    assert (find(tree).root, find(tree).log_folder) == (tree, app / ".pi")


def test_the_log_outlives_the_linked_tree(here: Path, find: Find) -> None:
    app = repository(here / "app")
    tree = linked(app, here / "tree", "feature")
    log = find(tree).log_folder
    remember(log.parent, "carryover.log")

    git(app, "worktree", "remove", str(tree))

    assert find(app).log_folder == log
    assert (log / "carryover.log").exists()


def test_the_trees_of_a_bare_repository_share_a_log_inside_it(here: Path, find: Find) -> None:
    seed = repository(here / "seed")
    git(here, "clone", "--quiet", "--bare", str(seed), "bare.git")
    one = linked(here / "bare.git", here / "one", "one")
    two = linked(here / "bare.git", here / "two", "two")

    logs = {find(one).log_folder, find(two).log_folder, find(here / "bare.git").log_folder}

    assert logs == {here / "bare.git" / "carryover"}
    assert (find(one).tree, find(two).tree) == ("one", "two")


def test_a_bare_git_folder_has_no_checkout_beside_it(here: Path, find: Find) -> None:
    """What people do who keep nothing but work trees: the main checkout is emptied and made bare."""
    app = repository(here / "app")
    git(app, "config", "core.bare", "true")
    tree = linked(app, app / "feature", "feature")

    assert find(tree).log_folder == app / ".git" / "carryover"
    assert find(app).log_folder == app / ".git" / "carryover"


def test_a_git_folder_is_bare_when_its_work_tree_configuration_says_so(here: Path, find: Find) -> None:
    """Where ``git sparse-checkout`` moves ``core.bare`` to."""
    app = repository(here / "app")
    (app / ".git" / "config.worktree").write_text("[core]\n\tbare = true\n", encoding="utf-8")

    assert find(app).log_folder == app / ".git" / "carryover"


def test_a_separate_git_directory_holds_the_log(here: Path, find: Find) -> None:
    common = here / "app.git"
    app = repository(here / "app", "--separate-git-dir", str(common))
    tree = linked(app, here / "tree", "feature")

    assert (find(app).log_folder, find(app).tree, find(app).git) == (common / "carryover", "", common)
    assert find(below(app, "src")).root == app
    assert (find(tree).log_folder, find(tree).tree) == (common / "carryover", "tree")


def test_a_folder_with_its_own_memory_has_its_own_log_in_every_layout(here: Path, find: Find) -> None:
    app = repository(here / "app", "--separate-git-dir", str(here / "app.git"))
    package = remember(below(app, "packages", "one"))

    assert find(package).log_folder == here / "app.git" / "carryover" / "packages" / "one"


def test_a_git_folder_whose_checkout_is_elsewhere_holds_the_log(here: Path, find: Find) -> None:
    app = repository(here / "app")
    git(app, "config", "core.worktree", str(below(here, "checkout")))

    assert find(app).log_folder == app / ".git" / "carryover"


def test_a_submodule_is_its_own_project_with_the_log_in_its_git_directory(here: Path, find: Find) -> None:
    library, app = repository(here / "library"), remember(repository(here / "app"))
    git(app, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library), "lib")

    found = find(app / "lib")

    assert (found.root, found.how, found.tree) == (app / "lib", "git", "")
    assert found.log_folder == app / ".git" / "modules" / "lib" / "carryover"


def test_a_nested_repository_is_its_own_project(here: Path, find: Find) -> None:
    inner = repository(remember(repository(here / "app")) / "vendor" / "inner")

    assert (find(inner).root, find(inner).log_folder) == (inner, inner / ".pi")


def test_variables_that_git_sets_for_its_hooks_are_ignored(here: Path, find: Find) -> None:
    app, other = repository(here / "app"), repository(here / "other")

    found = find(app, GIT_DIR=str(other / ".git"), GIT_WORK_TREE=str(other), GIT_COMMON_DIR=str(other))

    assert (found.root, found.git) == (app, app / ".git")


@posix
def test_a_start_through_a_link_is_the_place_it_leads_to(here: Path, find: Find) -> None:
    app = repository(here / "app")
    below(app, "src")
    (here / "link").symlink_to(app / "src")

    assert find(here / "link").root == app


@posix
def test_a_git_folder_that_is_a_link_shares_the_log_of_its_checkout(here: Path, find: Find) -> None:
    app, other = repository(here / "app"), below(here, "other")
    (other / ".git").symlink_to(app / ".git")

    assert (find(other).root, find(other).log_folder) == (other, app / ".pi")


def test_a_start_inside_the_git_folder_belongs_to_its_checkout(here: Path, find: Find) -> None:
    app = repository(here / "app")

    assert find(app / ".git" / "refs").root == app


# ----------------------------------------------------------------------------------------- broken layouts


def test_a_tree_whose_administration_was_pruned_still_reaches_the_log(here: Path, find: Find) -> None:
    app = repository(here / "app")
    tree = linked(app, here / "tree", "feature")
    for file in (app / ".git" / "worktrees" / "tree").iterdir():
        if file.is_file():
            file.unlink()

    found = find(tree)

    assert (found.log_folder, found.tree, found.branch) == (app / ".pi", "tree", "")


def test_a_tree_whose_repository_is_gone_keeps_its_log_beside_the_note(here: Path, find: Find) -> None:
    app = repository(here / "app")
    tree = linked(app, here / "tree", "feature")
    app.rename(here / "moved")

    assert find(below(tree, "src")) == Project(tree, "git", tree / ".pi", tree / ".pi", "", "", None)


@pytest.mark.parametrize("pointer", ["gitdir: {}\n", "gitdir: {}\r\n", "gitdir:{}", "gitdir:   {}  \n\n"])
@pytest.mark.parametrize("relative", [False, True])
def test_a_pointer_file_is_read_as_any_git_or_editor_wrote_it(
    here: Path, find: Find, pointer: str, relative: bool
) -> None:
    app = repository(here / "app")
    tree = linked(app, here / "tree", "feature")
    target = "../app/.git/worktrees/tree" if relative else str(app / ".git" / "worktrees" / "tree")

    (tree / ".git").write_bytes(pointer.format(target).encode())

    assert (find(tree).log_folder, find(tree).tree) == (app / ".pi", "tree")


@pytest.mark.parametrize(
    "pointer",
    [
        b"",
        b"gitdir:",
        b"gitdir: \0",
        b"gitdir: ../nowhere",
        b"gitdir: ..",
        b"gitdir: .git",
        b"gitdir: " + b"a" * 5000,
        b"\xff\xfe",
        b"gitdir: ../.git" + b"\n" * 2_000_000,
    ],
)
def test_a_pointer_file_of_garbage_ends_the_project_and_nothing_is_written_elsewhere(
    here: Path, find: Find, pointer: bytes
) -> None:
    inner = below(remember(repository(here / "app")), "inner")

    (inner / ".git").write_bytes(pointer)

    assert find(inner) == Project(inner, "git", inner / ".pi", inner / ".pi", "", "", None)


def test_an_empty_git_folder_is_passed_over_as_git_does(here: Path, find: Find) -> None:
    app = repository(here / "app")
    inner = below(app, "inner")
    below(inner, ".git")

    assert find(inner).root == app


@pytest.mark.parametrize(
    ("head", "branch"),
    [
        ("ref: refs/heads/main\n", "main"),
        ("ref: refs/heads/功能/一\r\n", "功能/一"),
        ("ref: refs/remotes/origin/main\n", "remotes/origin/main"),
        ("0123456789abcdef0123456789abcdef01234567\n", "0123456789ab"),
        ("0123456789abcdef" * 4 + "\n", "0123456789ab"),
        ("ref: refs/heads/.invalid\n", ""),
        ("ref: refs/heads/a\x1b[31mb\n", ""),
        ("ref: refs/heads/" + "x" * 5000, ""),
        ("garbage", ""),
        ("", ""),
    ],
)
def test_the_branch_is_what_head_says_when_it_says_something_lawful(
    here: Path, find: Find, head: str, branch: str
) -> None:
    app = repository(here / "app")

    (app / ".git" / "HEAD").write_bytes(head.encode())

    assert find(app).branch == branch


def test_a_packed_branch_is_still_the_branch(here: Path, find: Find) -> None:
    app = repository(here / "app")
    git(app, "pack-refs", "--all")

    assert find(app).branch == "main"


@posix
def test_a_head_that_is_a_link_names_its_branch(here: Path, find: Find) -> None:
    app = repository(here / "app")
    (app / ".git" / "HEAD").unlink()
    (app / ".git" / "HEAD").symlink_to("refs/heads/old-style")

    assert find(app).branch == "old-style"


def test_a_configuration_of_garbage_does_not_hide_the_checkout(here: Path, find: Find) -> None:
    app = repository(here / "app")
    (app / ".git" / "config").write_bytes(b"[core\n[" + b"a" * 500_000 + b"\n[other]\nbare = true\n\xff")

    assert find(app).log_folder == app / ".pi"


def test_finding_a_project_starts_no_process(here: Path, find: Find, monkeypatch: pytest.MonkeyPatch) -> None:
    app = repository(here / "app")

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a process was started")

    monkeypatch.setattr(subprocess, "Popen", refuse)

    assert find(app).branch == "main"


# ----------------------------------------------------------------------------------------- live trees


def test_live_trees_are_the_main_one_and_those_whose_folder_exists(here: Path, find: Find) -> None:
    app = repository(here / "app")
    linked(app, here / "kept", "kept")
    linked(app, here / "gone", "gone").rename(here / "moved")
    linked(app, here / "usb", "usb").rename(here / "unplugged")
    git(app, "worktree", "lock", str(here / "usb"))

    assert project.live_trees(find(app)) == frozenset({"", "kept", "usb"})
    assert project.live_trees(find(here / "kept")) == frozenset({"", "kept", "usb"})


def test_a_project_without_linked_trees_has_only_the_main_one(here: Path, find: Find) -> None:
    assert project.live_trees(find(here)) == frozenset({""})
    assert project.live_trees(find(repository(here / "app"))) == frozenset({""})


def test_nothing_is_known_about_trees_that_cannot_be_listed(here: Path, find: Find) -> None:
    app = repository(here / "app")
    (app / ".git" / "worktrees").write_text("", encoding="utf-8")

    assert project.live_trees(find(app)) is None


@posix
def test_a_link_in_the_main_checkout_leads_no_log_out_of_the_repository(here: Path, find: Find) -> None:
    app = repository(here / "app")
    tree = linked(app, here / "tree", "feature")
    (tree / "packages" / "a" / ".pi").mkdir(parents=True)
    (tree / "packages" / "a" / ".pi" / "CARRYOVER.md").write_text("- [ ] note\n", encoding="utf-8")
    (here / "outside").mkdir()
    (app / "packages").symlink_to(here / "outside")

    found = find(tree / "packages" / "a")

    assert found.log_folder == app / ".git" / "carryover" / "packages" / "a"
