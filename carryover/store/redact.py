"""Secrets are taken out of free text before its first byte reaches a disk.

The rules are data: a name, the words without which the rule is not tried, and an expression whose first group, or
whole match, is the secret. Each expression runs in linear time: what may be long either ends the match or is possessive
and has one beginning. What no rule knows passes: a password in prose, an unknown vendor's key without a telling name.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

_KEY_NAME = (
    r"(?:api[_ -]?key|access[_ -]?key|secret[_-]?key|private[_-]?key|client[_-]?secret|auth[_-]?token"
    r"|access[_-]?token|refresh[_-]?token|reset[_-]?token|bearer[_-]?token|password|passwd|passphrase|secret|token)"
)
#: A quote, perhaps escaped because it stands in a string itself.
_QUOTE = r"\\{0,3}[\"']"
_BEGIN = r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----"
_END = r"-----END [A-Z ]{0,40}PRIVATE KEY-----"
#: What stands between the lines of a key, in a quoted mail or a string as well.
_BETWEEN = r"\s|\\[nr]|>|(?:Proc-Type|DEK-Info):(?:[^\n\\-]|-(?!-)){0,100}"


@dataclass(frozen=True, slots=True)
class Rule:
    name: str
    #: Parts in small letters; a text without any of them holds nothing for this rule.
    parts: tuple[str, ...]
    expression: re.Pattern[str]


def _rule(name: str, parts: str, expression: str) -> Rule:
    return Rule(name, tuple(parts.split()), re.compile(expression))


#: Vendors' prefixes are as their own documents give them.
RULES: tuple[Rule, ...] = (
    _rule("private-key", "-----begin", rf"{_BEGIN}(?:[^-]|-(?!----))*+{_END}"),
    _rule(
        "private-key",  # cut off: only what looks like one, not the text behind it
        "-----begin",
        rf"{_BEGIN}(?:{_BETWEEN})*+[A-Za-z0-9+/=]{{20,}}+"
        rf"(?:(?:{_BETWEEN})++(?:[A-Za-z0-9+/=]{{20,}}+|[A-Za-z0-9+/=]{{1,19}}+(?=\s*(?:\n|\Z))))*+",
    ),
    _rule("aws-key-id", "akia asia", r"(?<![A-Za-z0-9])(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])"),
    _rule("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", r"(?<![A-Za-z0-9])gh[pousr]_[A-Za-z0-9]{36,}"),
    _rule("github-token", "github_pat_", r"(?<![A-Za-z0-9])github_pat_[A-Za-z0-9_]{22,}"),
    _rule("gitlab-token", "glpat-", r"(?<![A-Za-z0-9])glpat-[A-Za-z0-9_-]{20,}"),
    _rule("slack-token", "xox", r"(?<![A-Za-z0-9])xox[abeoprs]-[A-Za-z0-9-]{10,}"),
    _rule("google-key", "aiza", r"(?<![A-Za-z0-9])AIza[A-Za-z0-9_-]{35,}"),
    _rule("npm-token", "npm_", r"(?<![A-Za-z0-9])npm_[A-Za-z0-9]{36,}"),
    _rule("pypi-token", "pypi-", r"(?<![A-Za-z0-9])pypi-[A-Za-z0-9_-]{50,}"),
    _rule("hugging-face-token", "hf_", r"(?<![A-Za-z0-9])hf_[A-Za-z0-9]{30,}"),
    _rule("stripe-key", "k_live_ k_test_", r"(?<![A-Za-z0-9])[rs]k_(?:live|test)_[A-Za-z0-9]{16,}"),
    _rule("model-api-key", "sk-", r"(?<![A-Za-z0-9])sk-(?=[A-Za-z_-]{0,60}[0-9])[A-Za-z0-9_-]{20,}"),
    _rule(
        "model-api-key",
        "nvapi- gsk_ xai- pplx- r8_",
        r"(?<![A-Za-z0-9])(?:nvapi-|gsk_|xai-|pplx-|r8_)[A-Za-z0-9_-]{20,}",
    ),
    _rule(
        "json-web-token",
        "eyj",
        r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}+\.eyJ[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{8,}",
    ),
    _rule("url-password", "://", r"(?<![A-Za-z0-9])[a-z][a-z0-9+.-]{1,20}://[^\s/:@\"']{0,100}:([^\s/@\"']{3,}+)@"),
    _rule(
        "bearer-token",
        "authorization",
        rf"(?i)authorization(?:{_QUOTE})?\s{{0,3}}[:=]\s{{0,3}}(?:{_QUOTE})?"
        r"(?:bearer|basic|token)\s{1,3}([A-Za-z0-9+/=._~-]{12,})",
    ),
    _rule(
        "named-secret",
        "key passw passphrase secret token",
        rf"(?i){_KEY_NAME}(?:{_QUOTE})?\s{{0,3}}(?:=>|:=|=|:)\s{{0,3}}(?:"
        rf"{_QUOTE}((?=[^\s\"'\\]{{0,64}}[0-9])[^\s\"'\\]{{8,}})"
        r"|((?=[^\s\"',;<>{}()\[\]]{0,64}[0-9])[^\s\"',;<>{}()\[\]]{8,}))",
    ),
)


@dataclass(frozen=True, slots=True)
class Redacted:
    """Text without its secrets, and the names of the rules that found some."""

    text: str
    findings: tuple[str, ...]


def redact(text: str) -> Redacted:
    """Replace every secret by ``[redacted: RULE]``, whole; the text around it stays."""
    findings: list[str] = []
    small = text.lower()
    for rule in RULES:
        if any(part in small for part in rule.parts):
            text = rule.expression.sub(_eraser(rule.name, findings), text)
    return Redacted(text, tuple(findings))


def _eraser(name: str, findings: list[str]) -> Callable[[re.Match[str]], str]:
    def erase(match: re.Match[str]) -> str:
        secret = match.lastindex or 0
        if match[secret].startswith("[redacted:"):
            return match[0]
        findings.append(name)
        start, end = match.start(secret) - match.start(), match.end(secret) - match.start()
        return f"{match[0][:start]}[redacted: {name}]{match[0][end:]}"

    return erase
