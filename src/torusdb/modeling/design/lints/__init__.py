"""What may go wrong with a design, though it works: each rule is a function of the design's facts.

The rules, their reasons and their remedies: docs/modeling/capacity.md."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from torusdb.modeling.design.facts import Facts
from torusdb.modeling.design.lints import heat, indexes, keys, patterns, sizes
from torusdb.modeling.design.lints.findings import SEVERITIES, Finding, Remark, Remarks, Severity, subject_of
from torusdb.modeling.design.loading import Design
from torusdb.modeling.design.workload import Accepted
from torusdb.modeling.errors import ModelError

__all__ = ["RULES", "SEVERITIES", "Finding", "Severity", "lint"]

Rule: TypeAlias = Callable[[Facts], Remarks]

_FUNCTIONS: Final[Sequence[Rule]] = (*keys.RULES, *indexes.RULES, *patterns.RULES, *sizes.RULES, *heat.RULES)
RULES: Final[dict[str, Rule]] = {rule.__name__.replace("_", "-"): rule for rule in _FUNCTIONS}
"""By the name under which they are accepted."""
NOTHING_ACCEPTED: Final = "nothing-to-accept"


def lint(design: Design) -> list[Finding]:
    """All findings, the worst first; those that the author accepts come last."""
    facts = Facts(design)
    accepted = design.workload.accepted
    for each in accepted:
        if each.rule not in RULES:
            raise ModelError(f"Accepted({each.rule!r}): there is no such rule; there are {', '.join(RULES)}")
    findings: list[Finding] = []
    used: set[int] = set()
    for name, rule in RULES.items():
        for remark in rule(facts):
            number = _accepting(accepted, name, remark)
            reason = None if number is None else accepted[number].reason
            if number is not None:
                used.add(number)
            subject = subject_of(remark.about, facts)
            findings.append(Finding(remark.severity, name, subject, remark.message, reason))
    findings += [_in_vain(each, facts) for number, each in enumerate(accepted) if number not in used]
    return sorted(findings, key=lambda each: (each.accepted is not None, SEVERITIES.index(each.severity)))


def _accepting(accepted: list[Accepted], rule: str, remark: Remark) -> int | None:
    about = _thing(remark.about)
    return next(
        (number for number, each in enumerate(accepted) if each.rule == rule and _thing(each.about) is about), None
    )


def _thing(about: object) -> object:
    """An entity is known by its class to its author, and by its model to the rules."""
    return getattr(about, "__model__", None) or about


def _in_vain(each: Accepted, facts: Facts) -> Finding:
    message = f"nothing is found by {each.rule} that could be accepted; remove this Accepted(…)"
    return Finding("note", NOTHING_ACCEPTED, subject_of(_thing(each.about), facts), message)
