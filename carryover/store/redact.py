"""Secrets are taken out of free text before its first byte reaches a disk.

The rules are data: a name and an expression whose first group, or whole match, is the secret. Each expression runs in
linear time. What no rule knows passes: a password in prose, a key of an unknown vendor without a telling name.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

_KEY_NAME = (
    r"(?:api[_-]?key|access[_-]?key|secret[_-]?key|private[_-]?key|client[_-]?secret|auth[_-]?token|access[_-]?token"
    r"|refresh[_-]?token|reset[_-]?token|bearer[_-]?token|password|passwd|passphrase|secret|token)"
)

#: Name and expression. Vendors' prefixes as their own documents give them.
RULES: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (name, re.compile(expression))
    for name, expression in (
        (
            "private-key",
            r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[^-]{0,20000}(?:-----END [A-Z ]{0,40}PRIVATE KEY-----)?",
        ),
        ("aws-key-id", r"(?<![A-Za-z0-9])(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])"),
        ("github-token", r"(?<![A-Za-z0-9])(?:gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{22,255})"),
        ("gitlab-token", r"(?<![A-Za-z0-9])glpat-[A-Za-z0-9_-]{20,255}"),
        ("slack-token", r"(?<![A-Za-z0-9])xox[abeoprs]-[A-Za-z0-9-]{10,255}"),
        ("google-key", r"(?<![A-Za-z0-9])AIza[A-Za-z0-9_-]{35}"),
        ("npm-token", r"(?<![A-Za-z0-9])npm_[A-Za-z0-9]{36}"),
        ("pypi-token", r"(?<![A-Za-z0-9])pypi-[A-Za-z0-9_-]{50,255}"),
        ("hugging-face-token", r"(?<![A-Za-z0-9])hf_[A-Za-z0-9]{30,255}"),
        ("stripe-key", r"(?<![A-Za-z0-9])[rs]k_(?:live|test)_[A-Za-z0-9]{16,255}"),
        ("model-api-key", r"(?<![A-Za-z0-9])sk-[A-Za-z0-9_-]{20,255}"),
        ("model-api-key", r"(?<![A-Za-z0-9])(?:nvapi-|gsk_|xai-|pplx-|r8_)[A-Za-z0-9_-]{20,255}"),
        (
            "json-web-token",
            r"(?<![A-Za-z0-9])eyJ[A-Za-z0-9_-]{8,2000}\.eyJ[A-Za-z0-9_-]{8,4000}\.[A-Za-z0-9_-]{8,2000}",
        ),
        ("url-password", r"(?<![A-Za-z0-9])[a-z][a-z0-9+.-]{1,20}://[^\s/:@\"']{0,100}:([^\s/@\"']{3,200})@"),
        (
            "bearer-token",
            r"(?i)\bauthorization[\"']?\s{0,3}[:=]\s{0,3}[\"']?(?:bearer|basic|token)\s{1,3}([A-Za-z0-9+/=._~-]{12,2000})",
        ),
        (
            "named-secret",
            rf"(?i){_KEY_NAME}[\"']?\s{{0,3}}(?:=>|:=|=|:)\s{{0,3}}[\"']?"
            r"((?=[^\s\"',;<>{}()\[\]]{0,200}\d)[^\s\"',;<>{}()\[\]]{8,200})",
        ),
    )
)

#: What stands, without regard to case, in every text that a rule finds something in. Most notes have none of it, and
#: to look for it costs a hundredth of what the expressions do.
HINTS: dict[str, tuple[str, ...]] = {
    "private-key": ("private key-----",),
    "aws-key-id": ("akia", "asia"),
    "github-token": ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
    "gitlab-token": ("glpat-",),
    "slack-token": ("xox",),
    "google-key": ("aiza",),
    "npm-token": ("npm_",),
    "pypi-token": ("pypi-",),
    "hugging-face-token": ("hf_",),
    "stripe-key": ("k_live_", "k_test_"),
    "model-api-key": ("sk-", "nvapi-", "gsk_", "xai-", "pplx-", "r8_"),
    "json-web-token": ("eyj",),
    "url-password": ("://",),
    "bearer-token": ("authorization",),
    "named-secret": ("key", "secret", "token", "password", "passwd", "passphrase"),
}


@dataclass(frozen=True, slots=True)
class Redacted:
    """Text without its secrets, and the names of the rules that found some."""

    text: str
    findings: tuple[str, ...]


def redact(text: str) -> Redacted:
    """Replace every secret by ``[redacted: RULE]``, whole; the text around it stays."""
    findings: list[str] = []
    folded = text.casefold()
    for name, expression in RULES:
        if any(hint in folded for hint in HINTS[name]):
            text = expression.sub(_eraser(name, findings), text)
    return Redacted(text, tuple(findings))


def _eraser(name: str, findings: list[str]) -> Callable[[re.Match[str]], str]:
    def erase(match: re.Match[str]) -> str:
        secret = 1 if match.re.groups else 0
        if match[secret].startswith("[redacted:"):
            return match[0]
        findings.append(name)
        start, end = match.start(secret) - match.start(), match.end(secret) - match.start()
        return f"{match[0][:start]}[redacted: {name}]{match[0][end:]}"

    return erase
