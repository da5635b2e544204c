"""The expression languages: one lexer, one tree, one parser, one evaluator; the legacy forms translate into
the same.

    text ── lexer, parser ──▶ tree ── parsed ──▶ cached, checked by its text
                                                   │
    names, values ── placeholders ─────────────────┤ checks that need them
                                                   ▼
                        Condition, KeyCondition, Update, Projection ── applied to items

A request makes one `Placeholders` of its names and values, compiles its expressions in the service's order
(update, condition, key condition, filter, projection), then calls `Placeholders.require_all_used()`:

    require_one_style(expressions, legacy, names, values)
    placeholders = Placeholders(request.names, request.values)
    update = expressions.update(request.update_expression, placeholders)
    condition = expressions.condition(request.condition_expression, placeholders)
    placeholders.require_all_used()

Every refusal is a `ValidationException`; those the service reports behind `1 validation error detected: `
from PutItem and UpdateItem are of its subclass `RequestFault`.
"""

from torusdb.expressions.comparisons import Comparison
from torusdb.expressions.conditions import Condition, condition
from torusdb.expressions.key_conditions import KeyCondition, KeyMatch, UnboundKeyCondition, key_condition
from torusdb.expressions.legacy import (
    AttributeUpdates,
    check_conditional_operator,
    expected_condition,
    filter_condition,
    legacy_key_condition,
)
from torusdb.expressions.paths import require_scalar_keys
from torusdb.expressions.placeholders import Placeholders, require_one_style
from torusdb.expressions.projections import Projection, attributes_to_get, projection
from torusdb.expressions.updates import Update, update

__all__ = [
    "AttributeUpdates",
    "Comparison",
    "Condition",
    "KeyCondition",
    "KeyMatch",
    "Placeholders",
    "Projection",
    "UnboundKeyCondition",
    "Update",
    "attributes_to_get",
    "check_conditional_operator",
    "condition",
    "expected_condition",
    "filter_condition",
    "key_condition",
    "legacy_key_condition",
    "projection",
    "require_one_style",
    "require_scalar_keys",
    "update",
]
