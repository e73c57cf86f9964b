"""Saved pools: entries under a name, available to every analysis of the store."""

from __future__ import annotations

from clusterlens.compute.pool.presets import POOLS
from clusterlens.ui.server.memory.store import Store
from clusterlens.ui.state.drafts import Entries, read_entries, write_entries

LONGEST_NAME = 40


class OwnPools:
    """Named pools; without a store they end with the session.

    Parameters
    ----------
    store : Store or None
        Store of the pools.
    """

    def __init__(self, store: Store | None) -> None:
        self._store = store
        self._texts: dict[str, str] = {}

    def names(self) -> list[str]:
        """Return the names in alphabetical order."""
        return sorted(self._all(), key=str.casefold)

    def read(self, name: str) -> Entries:
        """Return a pool's entries; raise ValueError if it is gone or unreadable."""
        texts = self._all()
        if name not in texts:
            raise ValueError(f"the pool {name!r} is gone; choose another.")
        return read_entries(texts[name])

    def save(self, name: str, entries: Entries) -> str:
        """Save entries under a name, replacing earlier ones; return the name."""
        name = _checked(name)
        self._write(name, write_entries(entries))
        return name

    def rename(self, name: str, other: str) -> str:
        """Rename a pool to an unused name; return it."""
        other = _checked(other)
        if other in self._all():
            raise ValueError(
                f"there is a pool {other!r} already; give another name, or delete it."
            )
        text = write_entries(self.read(name))
        self._write(other, text)
        self._write(name, None)
        return other

    def delete(self, name: str) -> None:
        """Delete a pool."""
        self._write(name, None)

    def _all(self) -> dict[str, str]:
        return self._texts if self._store is None else self._store.pools()

    def _write(self, name: str, text: str | None) -> None:
        if self._store is not None:
            self._store.write_pool(name, text)
        elif text is None:
            self._texts.pop(name, None)
        else:
            self._texts[name] = text


def _checked(name: str) -> str:
    """Return a name without surrounding spaces; raise ValueError if it is invalid."""
    name = " ".join(name.split())
    if not 1 <= len(name) <= LONGEST_NAME:
        raise ValueError(
            f"a name of a pool has 1 to {LONGEST_NAME} characters, this one "
            f"{len(name)}; give a shorter one."
        )
    if name in POOLS:
        raise ValueError(
            f"{name!r} is a preset that comes with ClusterLens; give another name."
        )
    return name
