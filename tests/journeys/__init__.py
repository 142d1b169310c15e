"""Stories of people, with real processes and a real browser. Nothing here imports a room's code: it looks from outside."""
