"""Settings from the environment."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from portal import env


@pytest.mark.parametrize(("text", "value"), [("1", True), ("Yes", True), ("off", False), ("", False)])
def test_a_flag_is_read(monkeypatch: pytest.MonkeyPatch, text: str, value: bool) -> None:
    monkeypatch.setenv("X", text)

    assert env.flag("X", default=not value) is value


@pytest.mark.parametrize(
    "read",
    [
        lambda: env.flag("X"),
        lambda: env.seconds("X", 1),
        lambda: env.whole("X", 1),
        lambda: env.choice("X", "a", among=("a", "b")),
    ],
)
def test_what_cannot_be_read_is_named(monkeypatch: pytest.MonkeyPatch, read: object) -> None:
    monkeypatch.setenv("X", "maybe")

    with pytest.raises(ImproperlyConfigured, match=r"X must be .*'maybe'"):
        read()  # type: ignore[operator]  # a parametrised callable


@pytest.mark.parametrize("text", ["0", "-1", "nan", "inf", "1e400"])
def test_a_duration_is_more_than_nothing_and_ends(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("X", text)

    with pytest.raises(ImproperlyConfigured):
        env.seconds("X", 1)


def test_a_secret_may_come_from_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("s3cret\n")
    monkeypatch.setenv("X_FILE", str(tmp_path / "key"))

    assert env.secret("X") == "s3cret"

    monkeypatch.setenv("X_FILE", str(tmp_path / "missing"))
    with pytest.raises(ImproperlyConfigured, match="X_FILE"):
        env.secret("X")


def test_what_is_not_set_has_its_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("X", raising=False)

    assert env.words("X", ("a", "b")) == ["a", "b"]
    assert (env.seconds("X", 2.5), env.whole("X", 3), env.secret("X"), env.text("X", "t")) == (
        2.5,
        3,
        "",
        "t",
    )
