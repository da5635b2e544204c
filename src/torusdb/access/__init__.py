"""Who asks, and what they may do: SigV4 signatures, the file of access keys, IAM policies.

    headers, target ── credentials ──▶ Credential ──┐
    method, path, query, headers, body ─ signatures ┤
    the file of keys ── keyring ──▶ Key, Identity ──┤
                                                    ▼  gate.admit
                                    Caller ── require(operation, request, tables)
                                                    │
    permissions: what an operation needs ───────────┤
    facts: what the request says (condition keys) ──┤
    policies, conditions: what is allowed ──────────┘

It knows requests as plain values: no sockets, no storage; the clock comes in. Without `--auth` only `credentials` is
used, for the form of what clients send.
"""
