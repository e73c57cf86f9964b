from concurrent.futures import ThreadPoolExecutor
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from clusterlens.compute._run.options import Cancelled, RunOptions


@pytest.mark.parametrize("n_jobs", [2, np.int64(2), np.uint8(2), np.array(2)])
def test_whole_numbers_of_any_kind_count_jobs(n_jobs):
    run = RunOptions(n_jobs)
    assert run == RunOptions(2)
    assert run.n_workers == 2


@pytest.mark.parametrize(
    ("wrong", "fix"),
    [
        ({"n_jobs": n_jobs}, "-1 or None for all cores")
        for n_jobs in (0, np.int64(0), 1.0, "2", True, np.nan, [2], np.array([2]))
    ]
    + [({"progress": 3}, r"progress\(done, total\)"), ({"cancel": True}, r"cancel\(\)")]
    + [({"executor": 4}, "concurrent.futures"), ({"client": 7}, "address of a")]
    + [
        ({"memory_limit": limit}, "positive number of bytes")
        for limit in (0, -1, np.nan, "1e9", True, [1])
    ],
)
def test_an_option_of_another_kind_is_refused_by_name(wrong, fix):
    (name,) = wrong
    with pytest.raises(ValueError, match=rf"^{name} is .*{fix}"):
        RunOptions(**wrong)


def test_options_cannot_change():
    with pytest.raises(FrozenInstanceError):
        RunOptions().n_jobs = 3


def test_a_quiet_run_still_stops():
    seen = []
    run = RunOptions(
        progress=lambda *step: seen.append(step), cancel=lambda: bool(seen)
    )
    run.quiet.report(1, 2)
    run.quiet.raise_if_cancelled()
    run.report(1, 2)
    assert seen == [(1, 2)]
    with pytest.raises(Cancelled):
        run.quiet.raise_if_cancelled()


def test_threads_are_the_keywords_of_public_functions():
    with ThreadPoolExecutor(1) as executor:
        run = RunOptions(2, executor=executor, memory_limit=5)
        assert run.threads == {
            "n_jobs": 2,
            "progress": None,
            "cancel": None,
            "executor": executor,
        }
