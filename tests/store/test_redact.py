from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carryover.store.redact import RULES, redact

# Spelt so that no scanner takes these for secrets; none of them ever was one.
LETTERS = "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY"
LONG = LETTERS * 4
JWT = f"ey{'J'}{LETTERS}.ey{'J'}{LETTERS}.{LETTERS}"
BODY = "\n".join([(LONG + "+/")[:64]] * 6 + ["abcd=="])


def pem(kind: str = "", body: str = BODY) -> str:
    return f"-----BEGIN {kind}PRIVATE KEY-----\n{body}\n-----END {kind}PRIVATE KEY-----"


SECRETS = {
    "private-key": [
        pem(),
        pem("RSA "),
        pem("OPENSSH "),
        pem("RSA ", f"Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0123\n\n{BODY}"),
        pem().replace("\n", "\\n"),
        pem().replace("\n", "\n> "),
        pem()[:300],
    ],
    "aws-key-id": ["AKIA" + "ABCDEFGH12345678", "ASIA" + "ABCDEFGH12345678"],
    "github-token": ["ghp_" + LETTERS + "abcd", "ghs_" + LONG * 3, "github_pat_" + LETTERS + "_" + LETTERS],
    "gitlab-token": ["glpat-" + LETTERS, "glpat-" + "abc_DEF-" * 50],
    "slack-token": ["xoxb-123456789012-" + LETTERS, "xoxp-" + "1-a" * 200],
    "google-key": ["AIza" + LETTERS + "abc", "AIza" + LONG],
    "npm-token": ["npm_" + LETTERS + "abcd"],
    "pypi-token": ["pypi-" + LETTERS + LETTERS],
    "hugging-face-token": ["hf_" + LETTERS],
    "stripe-key": ["sk_live_" + LETTERS, "rk_test_" + LETTERS],
    "model-api-key": [
        "sk-" + LETTERS,
        "sk-proj-" + LETTERS + "-" + LETTERS + "_" + LONG * 2,
        "sk-ant-api03-" + LETTERS,
        "nvapi-" + LETTERS,
        "gsk_" + LETTERS,
        "xai-" + LETTERS,
        "pplx-" + LETTERS,
        "r8_" + LETTERS,
    ],
    "json-web-token": [JWT, f"ey{'J'}{LONG * 20}.ey{'J'}{LONG * 40}.{LONG * 20}"],
    "url-password": [],
    "bearer-token": [],
    "named-secret": [],
}

WITHIN = {
    "url-password": [
        ("postgres://app:{}@db.example.org:5432/x", "hunter2hunter2"),
        ("https://user:{}@example.org", LONG * 3),
        ("redis://:{}@localhost", "p4ss"),
    ],
    "bearer-token": [
        ("Authorization: Bearer {}", LETTERS + ".x"),
        ("curl -H 'authorization: token {}'", LETTERS),
        ('"Authorization": "Basic {}"', "dXNlcjpwYXNzd29yZA=="),
        ('\\"authorization\\":\\"Bearer {}\\"', LETTERS),
    ],
    "named-secret": [
        ("password={}", "correct7horse"),
        ("secret: {}", LONG * 10),
        ("let token := {}", LETTERS),
        ("'token' => '{}'", "abc,def;(ghi)[jkl]{mno}1"),
    ],
}

INNOCENT = {
    "private-key": [
        "the header `-----BEGIN PRIVATE KEY-----` was missing\n- [ ] add it\n- [ ] and test",
        "-----BEGIN PUBLIC KEY-----\nabc\n-----END PUBLIC KEY-----",
    ],
    "aws-key-id": ["AKIA", "MAKIAABCDEFGH12345678", "AKIAABCDEFGH12345678901"],
    "github-token": ["ghp_short", "weighp_" + LETTERS + "abcd", "see github_pat_ in the docs"],
    "gitlab-token": ["glpat-short"],
    "slack-token": ["xoxb-", "xoxo-kisses"],
    "google-key": ["AIza", "AIzabella wrote this"],
    "npm-token": ["npm_config_cache", "npm_package_version"],
    "pypi-token": ["pypi-publish", "pypi-carryover"],
    "hugging-face-token": ["hf_hub_download", "hf_home"],
    "stripe-key": ["sk_live_", "task_live_" + LETTERS],
    "model-api-key": [
        "sk-learn",
        "task-" + LETTERS,
        "sk-some-very-long-kebab-case-class-name",
        "risk-assessment-2024-q3-final-v2",
    ],
    "json-web-token": ["eyJ", "eyJust.a.sentence"],
    "url-password": ["https://example.org:8080/path", "http://localhost:3000/@scope/name", "git@github.com:a/b.git"],
    "bearer-token": ["Authorization: none", "authorization is done with a bearer token"],
    "named-secret": [
        "token: see the docs",
        "- [ ] rotate the secret before 2026-12-01",
        "tokens: 40000",
        "block.tokens = 1200",
        "password reset 12345678 is broken",
        "the api key has 32 characters",
        "secrets: redact",
        "password: ********",
        "tokenizer=bpe-2024-v1",
    ],
}


@pytest.mark.parametrize(("name", "secret"), [(name, one) for name, ones in SECRETS.items() for one in ones])
def test_a_secret_goes_whole_and_the_text_around_it_stays(name: str, secret: str) -> None:
    redacted = redact(f"- [ ] use {secret}\n- [ ] then go on")

    assert redacted.text.startswith("- [ ] use ")
    assert redacted.text.endswith("\n- [ ] then go on")
    assert f"[redacted: {name}]" in redacted.text
    assert name in redacted.findings
    body = max(re.split(r"\s|\\n", secret), key=len)
    assert not any(body[start : start + 12] in redacted.text for start in range(0, max(1, len(body) - 12), 3))


@pytest.mark.parametrize(("name", "frame", "secret"), [(name, *one) for name, ones in WITHIN.items() for one in ones])
def test_of_a_secret_in_a_frame_the_frame_stays(name: str, frame: str, secret: str) -> None:
    redacted = redact(frame.replace("{}", secret))

    assert redacted.text == frame.replace("{}", f"[redacted: {name}]")
    assert redacted.findings == (name,)


@pytest.mark.parametrize("text", [one for ones in INNOCENT.values() for one in ones])
def test_what_is_no_secret_is_left_as_it_is(text: str) -> None:
    assert redact(text).text == text
    assert redact(text).findings == ()


def test_every_rule_has_something_that_it_finds_and_something_that_it_leaves() -> None:
    names = {rule.name for rule in RULES}

    assert names == set(INNOCENT)
    assert names == {name for name in SECRETS if SECRETS[name]} | set(WITHIN)


NAMES = [
    "api_key",
    "api-key",
    "apiKey",
    "API_KEY",
    "API key",
    "access_key",
    "AWS_SECRET_ACCESS_KEY",
    "secretKey",
    "private-key",
    "client_secret",
    "clientSecret",
    "auth_token",
    "accessToken",
    "refresh-token",
    "reset_token",
    "RESET_TOKEN",
    "bearer_token",
    "db_password",
    "dbPassword",
    "DATABASE_PASSWORD",
    "passwd",
    "passphrase",
    "my_secret",
    "GITHUB_TOKEN",
]
FORMS = [
    "{name}={value}",
    "export {name}={value}",
    "{name}: {value}",
    "  {name}:   '{value}'",
    '"{name}": "{value}",',
    "{{'{name}': '{value}'}}",
    '{{\\"{name}\\":\\"{value}\\"}}',
    '{name} = "{value}"',
    "{name} => '{value}'",
    "{name} := {value}",
    "--{name}={value}",
    "-e {name}={value} image",
    "{name}:{value}",
]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", NAMES)
def test_a_field_with_a_telling_name_is_redacted_in_every_form(name: str, form: str) -> None:
    value = "xK9-fj2.Lq_81/zz+3=="

    text = redact(form.format(name=name, value=value)).text

    assert text == form.format(name=name, value="[redacted: named-secret]")


@pytest.mark.parametrize(
    "text",
    [
        "01JDZZZZZZZZZZZZZZZZZZZZZZ",
        "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "0b9c1c1e-9d1c-4e5e-8a53-3c3f5f5d3a11",
        "src/auth/token_store.py:120",
        "/home/me/.pi/agent/sessions/2026-11-30T09-00-00_0b9c1c1e.jsonl",
        "C:\\Users\\me\\secret\\notes2.txt",
        "https://example.org/a/b?page=2#top",
        "- [ ] 把 token 的长度改成 40000",
        "[redacted: github-token]",
        "password=[redacted: named-secret]",
    ],
)
def test_ids_paths_hashes_and_marks_are_left_as_they_are(text: str) -> None:
    assert redact(text).text == text


@given(st.text())
def test_redacting_twice_is_redacting_once(text: str) -> None:
    once = redact(text)

    assert redact(once.text).text == once.text


BOMBS = [
    "x",
    " ",
    "-",
    "A0",
    "eyJ-",
    "eyJ.",
    "eyJaaaaaaaa.",
    "eyJaaaaaaaa.eyJaaaaaaaa",
    "sk-",
    "sk-a-",
    "xoxb-",
    "pypi-",
    "glpat-",
    "ghp_",
    "github_pat_",
    "AKIA",
    "AIza",
    "hf_",
    "npm_",
    "rk_live_",
    "gsk_",
    "-----BEGIN PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY-----\n",
    "-----BEGIN A ",
    "-----BEGIN PRIVATE KEY-----\nProc-Type: ",
    "-----BEGIN PRIVATE KEY-----\n" + "a" * 20 + "\n",
    "-----BEGIN PRIVATE KEY-----\n" + ("a" * 20 + "\n" + "a ") * 1000,
    "token=",
    "token: ",
    'token=\\"',
    "password=aaaaaaa",
    "api_key='",
    "secret_",
    "a://",
    "ab://cccc:",
    "authorization: bearer ",
    "authorization:",
    "aaa.",
]


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_megabyte_takes_under_a_second_whatever_is_in_it(bomb: str) -> None:
    text = (bomb * (1_000_000 // len(bomb) + 1))[:1_000_000]

    started = time.process_time()
    redact(text)

    assert time.process_time() - started < 1


def test_one_long_run_without_an_end_takes_under_a_second() -> None:
    for start in ("eyJ", "a://b:", "-----BEGIN PRIVATE KEY-----", "token=", "authorization: bearer "):
        started = time.process_time()
        redact(start + "aB" * 500_000)

        assert time.process_time() - started < 1
