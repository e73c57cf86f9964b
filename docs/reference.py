"""Write the reference: one page per room of the library, from its docstrings.

What is public is read from the groups of `clusterlens`.
"""

from types import FunctionType

from sphinx.application import Sphinx
from written import written

import clusterlens

ROOMS = {
    "table": ("Tables", "Reading a table, what its columns are, preparing it."),
    "pool": ("Pools", "Running many clusterings, and what their agreement is worth."),
    "ensemble": ("Partitions", "Partitions of one table, and what they agree on."),
    "ranking": ("Ranking", "Scores of the models of a pool, and how firm they are."),
    "consensus": ("Consensus", "Consensus partitions, trees and matrices."),
    "indices": ("Indices", "Indices, and what speaks for class labels."),
    "fuzzy": ("Fuzzy partitions", "Agreement of memberships under random models."),
    "estimators": ("Estimators", "Clustering methods with scikit-learn's interface."),
    "assigning": ("New rows", "Clusters that outlive their table."),
    "plots": ("Notebooks", "Figures, and the page itself, in a notebook."),
    "run": ("Errors and kernels", "What stops a computation, and compiling ahead."),
}
GROUPS = set(ROOMS) - {"plots", "run"}


def setup(app: Sphinx) -> dict:
    """Write a page per room, and the one that lists them, before sources are read."""
    return written(app, "reference", pages)


def pages() -> dict[str, str]:
    """Return the text of each page by its file name."""
    names = names_by_room()
    texts = {}
    for room, (title, sentence) in ROOMS.items():
        parts = [heading(title), sentence, summary(names[room])]
        parts += [entry(name) for name in names[room]]
        texts[f"{room}.rst"] = "\n\n".join(parts) + "\n"
    toctree = ".. toctree::\n\n" + "".join(f"   {room}\n" for room in ROOMS)
    intro = (
        "All public names by their group, as ``import clusterlens as cl`` gives them: "
        "``cl.consensus_partition`` and ``cl.consensus.consensus_partition`` are the "
        "same. Every computation in the browser is a call of one of them."
    )
    lists = [f"**{ROOMS[room][0]}**\n\n{summary(names[room])}" for room in ROOMS]
    index = [heading("Reference"), intro, toctree, *lists]
    return {**texts, "index.rst": "\n\n".join(index) + "\n"}


def names_by_room() -> dict[str, list[str]]:
    """Return the public names of every room."""
    found = {
        room: list(getattr(clusterlens, room).__all__)
        for room in ROOMS
        if room in GROUPS
    }
    grouped = {name for names in found.values() for name in names}
    for name in sorted({*clusterlens.__all__} - grouped):
        of_ui = getattr(clusterlens, name).__module__.startswith("clusterlens.ui")
        found.setdefault("plots" if of_ui else "run", []).append(name)
    return found


def heading(title: str) -> str:
    return f"{title}\n{'=' * len(title)}"


def summary(names: list[str]) -> str:
    lines = "".join(f"   ~clusterlens.{name}\n" for name in names if callable_(name))
    lists = [f"``{name}``" for name in names if not callable_(name)]
    also = f"\nLists to look into: {', '.join(lists)}.\n" if lists else ""
    return f".. autosummary::\n\n{lines}{also}"


def callable_(name: str) -> bool:
    return callable(getattr(clusterlens, name))


def entry(name: str) -> str:
    """Return the directive that documents one name."""
    value = getattr(clusterlens, name)
    if isinstance(value, type):
        kind = "exception" if issubclass(value, BaseException) else "class"
        members = ", ".join(own_members(value))
        asked = f"\n   :members: {members}" if members else ""
        return f".. auto{kind}:: clusterlens.{name}{asked}"
    if callable(value):
        return f".. autofunction:: clusterlens.{name}"
    return f".. data:: clusterlens.{name}\n\n   {listing(name)}"


def own_members(kind: type) -> list[str]:
    """Return the public methods and properties that a class defines itself."""
    return [
        name
        for name, value in vars(kind).items()
        if not name.startswith("_")
        and isinstance(value, FunctionType | property | classmethod | staticmethod)
        and value.__doc__
    ]


def listing(name: str) -> str:
    """Say what a list holds, and where the manual shows it."""
    count = len(getattr(clusterlens, name))
    return f"{count} entries: see :doc:`/lists`."
