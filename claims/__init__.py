"""The tenant's workplace: order, hold, release, budget, history.

What "placing an order" is lives in :mod:`claims.services`, asked by the pages and the REST API alike.

What must never be here: rules about fit (``gpu``), what the cluster allows (the API server's RBAC decides).
"""
