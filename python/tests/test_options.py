"""Options: help, Python signature and defaults are those of the command line."""

from __future__ import annotations

import inspect
import typing
from typing import Any, Literal

import lookalike
from lookalike import Recipe, _native

#: Options that differ in Python: input, messages, and ``verify``.
ONLY_COMMAND_LINE = {"json", "quiet", "no_verify"}

#: What a command line has another way for.
ONLY_PYTHON = {"data", "verify", "changes"}


class Option(typing.NamedTuple):
    name: str
    help: str
    default: str | None
    choices: list[str]
    is_switch: bool
    is_hidden: bool


def options() -> dict[str, Option]:
    known = [Option(*option) for option in _native.options("dedup")]
    return {option.name: option for option in known if not option.is_hidden}


def parameters() -> dict[str, inspect.Parameter]:
    """The options of ``dedup`` and those it passes to ``Recipe``."""
    own = inspect.signature(lookalike.dedup).parameters
    changes = inspect.signature(Recipe.__init__).parameters
    recipe = {name: changes[name] for name in ("features", "stop_words", "weights", "model")}
    return own | recipe | {name: changes[name] for name in ("top", "hash", "seed", "bits")}


def choices(annotation: Any) -> list[str] | None:
    """The values of a literal or optional literal."""
    kinds = [annotation, *typing.get_args(annotation)]
    found = [typing.get_args(kind) for kind in kinds if typing.get_origin(kind) is Literal]
    return list(found[0]) if found else None


def test_every_option_of_the_command_line_is_a_keyword() -> None:
    assert set(options()) - ONLY_COMMAND_LINE == set(parameters()) - ONLY_PYTHON


def test_defaults_are_those_of_the_command_line() -> None:
    for name, parameter in parameters().items():
        if name in ONLY_PYTHON:
            continue
        option, default = options()[name], parameter.default
        if option.is_switch:
            assert default is False, name
        elif name == "recipe":
            # The default for images differs and depends on the files.
            assert (option.default, default) == (None, "words")
        else:
            assert option.default == (None if default is None else str(default)), name


def test_choices_are_those_of_the_command_line() -> None:
    types = typing.get_type_hints(lookalike.dedup)
    for name, option in options().items():
        if name in types:
            assert (choices(types[name]) or []) == option.choices, name


def test_every_option_has_help() -> None:
    for option in options().values():
        assert option.help, option.name
