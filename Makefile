# The commands of the project. `make` lists them.
.DEFAULT_GOAL := help
PY := .venv/bin/python
