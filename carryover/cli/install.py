"""Registering with hosts, and taking it back."""

from __future__ import annotations

import os

import click

from carryover.hosts.install import HOSTS, Plan, host
from carryover.messages import locale_language, say

NAMES = tuple(one.name for one in HOSTS)

hosts_argument = click.argument("hosts", metavar="[HOST]...", nargs=-1, type=click.Choice(NAMES))
dry_run_option = click.option("--dry-run", is_flag=True, help="Show what would be changed, and change nothing.")


@click.command()
@hosts_argument
@dry_run_option
def install(hosts: tuple[str, ...], dry_run: bool) -> None:
    """Register carryover with the hosts that are named, or with all that are known (pi)."""
    for name in hosts or NAMES:
        _carry_out(host(name).install(os.environ), "install", dry_run=dry_run)


@click.command()
@hosts_argument
@dry_run_option
def uninstall(hosts: tuple[str, ...], dry_run: bool) -> None:
    """Take carryover out of the hosts again. Notes and logs stay where they are."""
    for name in hosts or NAMES:
        _carry_out(host(name).uninstall(os.environ), "uninstall", dry_run=dry_run)


def _carry_out(plan: Plan, action: str, *, dry_run: bool) -> None:
    language = locale_language(os.environ)
    if dry_run:
        click.echo(plan.diff() or say(f"{action}.nothing", language, host=plan.host) + "\n", nl=False)
    else:
        plan.apply()
        outcome = "done" if plan.changes else "nothing"
        click.echo(say(f"{action}.{outcome}", language, host=plan.host))
    for note in plan.notes:
        click.echo(f"carryover: {note}", err=True)
