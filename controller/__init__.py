"""The process that decides: admission, binding, statuses, leadership.

What belongs here: feeding watched objects to the ledger, answering the admission webhook, writing what the ledger decided,
each write preceded by a check that the lease is still ours and carrying the resourceVersion it was computed from.

What must never be here: rules about fit, eligibility or budgets (ask ``gpu``), Django, a database.
"""
