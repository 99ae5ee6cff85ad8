"""Command-line options generated from `MachConfig`: the options that say what to train."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Annotated, Any, Literal, TypeVar

import typer

from xmach.cli.arguments import whole_numbers
from xmach.cli.progress import with_flags
from xmach.config import AUTO, DEFAULTS, MachConfig, options
from xmach.errors import ParameterError

Command = TypeVar("Command", bound=Callable[..., None])


def with_model_options(
    names: Sequence[str] = tuple(options()), *, after: str, proposed: Sequence[str] = ()
) -> Callable[[Command], Command]:
    """Give a command that takes `**given` these options of `MachConfig`, listed after the parameter `after`.

    Their default is None, because what is not given may come from a preset, or be `proposed` by the command.
    """

    def decorate(command: Command) -> Command:
        signature = inspect.signature(command, eval_str=True)
        parameters: list[inspect.Parameter] = []
        for parameter in signature.parameters.values():
            if parameter.kind is inspect.Parameter.VAR_KEYWORD:
                continue
            parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))
            if parameter.name == after:
                parameters += [_parameter(name, name in proposed) for name in names if options()[name].flag]
        command.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        return command

    return decorate


def _parameter(name: str, proposed: bool) -> inspect.Parameter:
    option, default = options()[name], getattr(DEFAULTS, name)
    kind: Any = Literal[option.choices] if option.choices else option.type
    shown = "proposed" if proposed else str(default)
    metavar = {"hidden": "WIDTHS", "ranker_bytes": "SIZE"}.get(name)
    info = typer.Option(option.flag, help=option.help, show_default=shown, metavar=metavar)
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[kind | None, info]
    )


def _widths(text: str) -> Any:
    """`500,500` as widths of layers; `none` means no layers."""
    if text == AUTO:
        return AUTO
    return () if text == "none" else whole_numbers(text, "--hidden", "500,500, or none")


def _number(text: str) -> Any:
    """The number that a text is; the text itself, such as `auto`, if it is not one."""
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return text


def checked_options(given: dict[str, Any]) -> dict[str, Any]:
    """What was given, without the rest and as values of `MachConfig`; an error names the flag."""
    from xmach.planning import parse_bytes

    checked = {}
    for name, value in given.items():
        if value is None:
            continue
        option = options()[name]
        if name == "hidden":
            value = _widths(value)
        elif name == "ranker_bytes":
            value = parse_bytes(str(value), "--ranker-bytes")
        elif option.type is str and not option.choices:
            value = _number(value)
        checked[name] = option.check(option.flag or name, value)
    return checked


def config_of(given: dict[str, Any], preset: str | None = None) -> MachConfig:
    """The configuration of a command: what was given, then what the preset says, then the defaults."""
    from xmach.planning.presets import preset_config

    checked = checked_options(given)
    try:
        return replace(DEFAULTS, **checked) if preset is None else preset_config(preset, checked)
    except ParameterError as error:  # options that do not go together
        raise ParameterError(with_flags(str(error))) from None
