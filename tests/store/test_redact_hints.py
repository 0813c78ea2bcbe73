"""A rule is tried only where its hint stands in the text; so no secret may be without its rule's hint."""

from __future__ import annotations

import pytest

from carryover.store.redact import HINTS, RULES, redact

FILLER = "aB3dE6gH9kL2mN5pQ8sT1vW4yZ7bC0fJ" * 3
SECRETS = (
    ("private-key", "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----"),
    ("aws-key-id", "AKIA" + "ABCDEFGH12345678"),
    ("aws-key-id", "ASIA" + "ABCDEFGH12345678"),
    *(("github-token", f"gh{kind}_{FILLER[:36]}") for kind in "pousr"),
    ("github-token", f"github_pat_{FILLER[:40]}"),
    ("gitlab-token", f"glpat-{FILLER[:20]}"),
    *(("slack-token", f"xox{kind}-{FILLER[:20]}") for kind in "abeoprs"),
    ("google-key", f"AIza{FILLER[:35]}"),
    ("npm-token", f"npm_{FILLER[:36]}"),
    ("pypi-token", f"pypi-{FILLER[:60]}"),
    ("hugging-face-token", f"hf_{FILLER[:34]}"),
    *(("stripe-key", f"{kind}k_{mode}_{FILLER[:24]}") for kind in "rs" for mode in ("live", "test")),
    *(("model-api-key", prefix + FILLER[:40]) for prefix in ("sk-", "nvapi-", "gsk_", "xai-", "pplx-", "r8_")),
    ("json-web-token", f"eyJ{FILLER[:20]}.eyJ{FILLER[:20]}.{FILLER[:20]}"),
    ("url-password", "postgres://me:correct7horse@db.example/main"),
    ("bearer-token", f"Authorization: Bearer {FILLER[:20].lower()}"),
    ("bearer-token", f"AUTHORIZATION: TOKEN {FILLER[:20].lower()}"),
    *(
        ("named-secret", f"{name}=correct7horse9battery")
        for name in (
            "api_key", "ACCESS-KEY", "secretkey", "private_key", "client_secret", "auth_token", "accesstoken",
            "refresh-token", "reset_token", "bearer_token", "password", "PASSWD", "passphrase", "Secret", "TOKEN",
        )
    ),
)  # fmt: skip


@pytest.mark.parametrize(("rule", "secret"), SECRETS)
def test_what_a_rule_is_for_is_found(rule: str, secret: str) -> None:
    assert redact(f"use {secret} here").findings[:1] == (rule,)


def test_every_rule_has_its_hints_and_an_example_here() -> None:
    names = {name for name, _ in RULES}

    assert set(HINTS) == names == {rule for rule, _ in SECRETS}


@pytest.mark.parametrize("letter", ["ſ", "K"])
def test_a_letter_that_matches_without_regard_to_case_hides_nothing(letter: str) -> None:
    name = {"ſ": "ſecret", "K": "api_Key"}[letter]

    assert redact(f"{name}=correct7horse9battery").findings == ("named-secret",)
