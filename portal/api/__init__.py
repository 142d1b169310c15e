"""What every resource of the REST API shares: bodies, problems, pages, ETags, idempotent requests, logins, the OpenAPI document.

What must never be here: a resource of its own (``catalog.api``, ``claims.api``), or a word about why something failed
(``portal.errors``).
"""
