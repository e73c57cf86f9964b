"""Write the reference: one page per group of public names, from their docstrings.

The groups come from `clusterlens`.
"""

from types import FunctionType

from sphinx.application import Sphinx
from written import written

import clusterlens

TITLES = {
    "table": ("Tables", "Reading a table, roles of its columns, preparation."),
    "pool": ("Pools", "Running many clusterings, and testing their agreement."),
    "ensemble": ("Partitions", "Partitions of one table, and their agreement."),
    "ranking": ("Ranking", "Scores of the models of a pool, and their robustness."),
    "consensus": ("Consensus", "Consensus partitions, trees and matrices."),
    "indices": ("Indices", "Indices, and evidence for class labels."),
    "fuzzy": ("Fuzzy partitions", "Agreement of memberships under random models."),
    "estimators": ("Estimators", "Clustering methods with scikit-learn's interface."),
    "assigning": ("New rows", "Clusters applied to new tables."),
    "scale": ("Large tables", "Pool and labels of tables beyond memory."),
    "plots": ("Notebooks", "Figures, and the page itself, in a notebook."),
    "run": ("Errors and kernels", "Errors of a computation, and compiling ahead."),
}
GROUPS = set(TITLES) - {"plots", "run"}


def setup(app: Sphinx) -> dict:
    """Write a page per group, and their index, before Sphinx reads the sources."""
    return written(app, "reference", pages)


def pages() -> dict[str, str]:
    """Return the text of each page by its file name."""
    names = names_by_group()
    texts = {}
    for group, (title, sentence) in TITLES.items():
        parts = [heading(title), sentence, summary(names[group])]
        parts += [entry(name) for name in names[group]]
        texts[f"{group}.rst"] = "\n\n".join(parts) + "\n"
    toctree = ".. toctree::\n\n" + "".join(f"   {group}\n" for group in TITLES)
    intro = (
        "All public names by their group, as ``import clusterlens as cl`` gives them: "
        "``cl.consensus_partition`` and ``cl.consensus.consensus_partition`` are the "
        "same. Every computation in the browser is a call of one of them."
    )
    lists = [f"**{TITLES[group][0]}**\n\n{summary(names[group])}" for group in TITLES]
    index = [heading("Reference"), intro, toctree, *lists]
    return {**texts, "index.rst": "\n\n".join(index) + "\n"}


def names_by_group() -> dict[str, list[str]]:
    """Return the public names of every group."""
    found = {
        group: list(getattr(clusterlens, group).__all__)
        for group in TITLES
        if group in GROUPS
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
    """Describe a list by its length and its place in the manual."""
    count = len(getattr(clusterlens, name))
    return f"{count} entries: see :doc:`/lists`."
