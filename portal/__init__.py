"""The frame of the web application, shared by both workplaces.

What belongs here: settings, urls, the ASGI entry, Celery, access (who may see and press what), the mirror of the cluster in
the database, live nudges, wording of errors, health.

What must never be here: pages of the hoster (``catalog``) or of the tenant (``claims``); apps are named by string only.
"""
