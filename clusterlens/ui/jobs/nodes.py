"""Nodes: definitions of derived results, marked by `@node`.

The name of the function is the name of the result. The names of its parameters are its
inputs: fields of the analysis, parameters of the view state (`view_model`) and other
nodes.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal, ParamSpec, Protocol, TypeAlias, TypeVar, cast

Lane = Literal["now", "live", "idle"]
T = TypeVar("T")
# Type of an input that a node does not wait for: None until it is ready.
Later: TypeAlias = T | None
_Inputs = ParamSpec("_Inputs")
_Found = TypeVar("_Found", covariant=True)


@dataclass(frozen=True)
class Node:
    """Definition of a result: its inputs, its function and its scheduling.

    Parameters
    ----------
    inputs : tuple of str
        Names of fields of the analysis, "view.<parameter>" or other nodes. A name that
        ends in "?" may be None; without it the result is empty if the input is. A node
        does not wait for an input with a name that ends in "~": it is None until ready.
    compute : callable
        Called with the inputs in order, in the lanes live and idle with the job first.
    lane : {"now", "live", "idle"}
        Scheduling. Functions of the lane "now" take milliseconds and run on the event
        loop.
    title : str
        Description of the work for the screen.
    keep : int
        Number of cached results, within the cache size of a session.
    asked_for : bool
        Whether it is computed only when the analyst requests it.
    debounced : bool
        Whether a computation in the lane live or idle is debounced by DEBOUNCE_SECONDS,
        which leaves the processor to the work for the screen.
    check : str
        Kind of check. Its result is stored with the analysis, under a key: the value
        of the first input. Empty for other nodes.
    fitted : callable, optional
        Returns the result, given the stored value and the inputs; ValueError if they
        do not belong together. Default: the value itself.
    cost : str
        Node with the estimated time of a check: seconds, or an object with `.seconds`.
    """

    inputs: tuple[str, ...]
    compute: Callable[..., Any]
    lane: Lane = "now"
    title: str = ""
    keep: int = 4
    asked_for: bool = False
    debounced: bool = False
    check: str = ""
    fitted: Callable[..., Any] = lambda value, *inputs: value
    cost: str = ""


class NodeFunction(Protocol[_Inputs, _Found]):
    """A function with its definition as a node."""

    node: Node

    def __call__(self, *given: _Inputs.args, **named: _Inputs.kwargs) -> _Found:
        """Compute the result."""


def node(
    lane: Lane = "now", title: str = "", **how: Any
) -> Callable[[Callable[_Inputs, _Found]], NodeFunction[_Inputs, _Found]]:
    """Mark a function as a node with the function's name and its parameters as inputs.

    Parameters of the view state begin with `view_`. A parameter of type `... | None`
    may be None; a node does not wait for a parameter of type `Later[...]`. In the lanes
    live and idle the first parameter is `job`. Other arguments are passed to `Node`.
    """

    def mark(compute: Callable[_Inputs, _Found]) -> NodeFunction[_Inputs, _Found]:
        given = list(inspect.signature(compute).parameters.values())
        if lane != "now" and given.pop(0).name != "job":
            raise TypeError(f"The first parameter of {compute.__name__} must be job.")
        inputs = tuple(map(_input_of, given))
        marked = cast(NodeFunction[_Inputs, _Found], compute)
        marked.node = Node(inputs, compute, lane, title, **how)
        return marked

    return mark


def _input_of(parameter: inspect.Parameter) -> str:
    name, kind = parameter.name, str(parameter.annotation)
    if name.startswith("view_"):
        name = f"view.{name.removeprefix('view_')}"
    if kind.startswith("Later["):
        return f"{name}~"
    return f"{name}?" if kind.endswith("| None") else name


def collect_nodes(files: Iterable[Any], fields: Iterable[str]) -> dict[str, Node]:
    """Collect the nodes of modules: marked functions and entries of `NODES`.

    `fields` are inputs that are no nodes: fields of the analysis and of the view state.
    """
    nodes: dict[str, Node] = {}
    for file in files:
        found = {
            name: thing.node
            for name, thing in vars(file).items()
            if isinstance(getattr(thing, "node", None), Node)
            and thing.__module__ == file.__name__
        } | getattr(file, "NODES", {})
        if twice := nodes.keys() & found:
            raise TypeError(f"Two nodes are named {min(twice)}; rename one.")
        nodes |= found
    known = nodes.keys() | set(fields)
    for name, one in nodes.items():
        for given in one.inputs:
            if (given := given.rstrip("?~")) not in known:
                parameter = given.replace("view.", "view_")
                raise TypeError(
                    f"The parameter {parameter} of the node {name} is no other node "
                    "and no field of the analysis or of the view state; name it as one."
                )
    return nodes
