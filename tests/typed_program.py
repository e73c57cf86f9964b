"""A user's program as a type checker sees it: mypy reads it with the library."""

from collections.abc import Generator
from typing import assert_type

import clusterlens as cl


def program() -> None:
    ensemble = cl.run_pool([[0.0], [1.0], [5.0]], "quick", n_jobs=1)
    assert_type(ensemble, cl.Ensemble)
    assert_type(cl.rank_partitions(ensemble), cl.ranking.Ranking)
    assert_type(cl.pool.iter_pool([[0.0], [1.0]]), Generator[cl.pool.PoolModel])
    with cl.running(n_jobs=2):
        cl.count_agreements(ensemble, n_jobs="two")  # type: ignore[arg-type]
    cl.nowhere  # type: ignore[attr-defined]  # noqa: B018
