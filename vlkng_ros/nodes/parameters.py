"""ROS parameters of a node, made from its configuration: names, types, defaults, ranges and what may change."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import Generic, TypeVar

from rcl_interfaces.msg import (
    FloatingPointRange,
    IntegerRange,
    ParameterDescriptor,
    ParameterType,
    SetParametersResult,
)
from rclpy.node import Node
from rclpy.parameter import Parameter as RosParameter

from vlkng_ros.config import CONFIGURATIONS, Parameter, from_values, parameters_of
from vlkng_ros.errors import ConfigError

ConfigT = TypeVar("ConfigT")

_TYPES = {
    bool: ParameterType.PARAMETER_BOOL,
    int: ParameterType.PARAMETER_INTEGER,
    float: ParameterType.PARAMETER_DOUBLE,
    str: ParameterType.PARAMETER_STRING,
}


def descriptor_of(parameter: Parameter) -> ParameterDescriptor:
    """What ``ros2 param describe`` shows."""
    unit = f" [{parameter.unit}]" if parameter.unit else ""
    descriptor = ParameterDescriptor(
        name=parameter.name,
        type=_TYPES[parameter.type],
        description=parameter.doc + unit,
        read_only=not parameter.live,
        additional_constraints=f"one of: {', '.join(parameter.choices)}" if parameter.choices else "",
    )
    if parameter.low is not None and parameter.high is not None:
        # Without a step every value between the bounds is allowed.
        if parameter.type is int:
            bounds = IntegerRange(from_value=int(parameter.low), to_value=int(parameter.high), step=0)
            descriptor.integer_range = [bounds]
        elif parameter.type is float:
            bounds = FloatingPointRange(from_value=float(parameter.low), to_value=float(parameter.high), step=0.0)
            descriptor.floating_point_range = [bounds]
    return descriptor


class NodeParameters(Generic[ConfigT]):
    """Declares a configuration's parameters and keeps ``config`` up to date with the live ones.

    Args:
        node: the node whose parameters they are.
        kind: the configuration's class.
        on_change: called after a live parameter changed.

    Raises:
        ConfigError: a value given at the start is out of range or of the wrong type.
    """

    def __init__(self, node: Node, kind: type[ConfigT], on_change: Callable[[], None] = lambda: None) -> None:
        self._kind = kind
        self._known = parameters_of(kind)
        self._on_change = on_change
        values = {}
        # What was given at the start: ROS would refuse it too, in its own words.
        given = getattr(node, "_parameter_overrides", {})
        for parameter in self._known.values():
            if parameter.name in given:
                parameter.check(given[parameter.name].value)
            descriptor = descriptor_of(parameter)
            # A whole number in a YAML file is meant for a float too, which only dynamic typing lets through.
            descriptor.dynamic_typing = parameter.type is float
            try:
                declared = node.declare_parameter(parameter.name, parameter.default, descriptor)
            except Exception as error:  # rclpy's own several; each says what was wrong with the value
                raise ConfigError(f"parameter '{parameter.name}': {error}") from error
            values[parameter.name] = parameter.check(declared.value)
        self._values = values
        self.config: ConfigT = from_values(kind, values)
        node.add_on_set_parameters_callback(self._check)
        self._warn_of_misspelt(node)

    def _warn_of_misspelt(self, node: Node) -> None:
        # A file may be written for both nodes, and what is of the other's is no mistake.
        known = {name for kind in CONFIGURATIONS for name in parameters_of(kind)}
        # rclpy ignores what is not declared, and offers what was given at the start under this name alone.
        for name in getattr(node, "_parameter_overrides", {}):
            if name in known or node.has_parameter(name) or name.startswith("qos_overrides."):
                continue
            near = difflib.get_close_matches(name, known, n=1, cutoff=0.7)
            hint = f"; did you mean {near[0]}?" if near else ""
            node.get_logger().warning(f"unknown parameter '{name}' has no effect{hint}")

    def _check(self, parameters: list[RosParameter]) -> SetParametersResult:
        changed = {}
        for parameter in parameters:
            known = self._known.get(parameter.name)
            if known is None:
                continue
            if not known.live:
                reason = f"parameter '{known.name}' is set at the start only; restart the node with the new value"
                return SetParametersResult(successful=False, reason=reason)
            try:
                changed[known.name] = known.check(parameter.value)
            except ConfigError as error:
                return SetParametersResult(successful=False, reason=str(error))
        if changed:
            self._values.update(changed)
            self.config = from_values(self._kind, self._values)
            self._on_change()
        return SetParametersResult(successful=True)
