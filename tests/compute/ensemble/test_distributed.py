"""Facts about running on a Dask cluster, here of local worker processes."""

import contextlib
import functools
import os
import signal
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_blobs

from clusterlens.compute._run import cluster as transport
from clusterlens.compute._run.options import Cancelled
from clusterlens.compute.ensemble import _distributed as distributed
from clusterlens.compute.ensemble.agreement import count_agreements
from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.ensemble.pairs import pair_layout
from clusterlens.compute.pool.nulls import null_agreement
from clusterlens.compute.pool.pool import POOLS, run_pool
from clusterlens.compute.pool.resampling import resample_consensus
from clusterlens.compute.scale.run import run_at_scale
from tests.bad_estimators import (
    Constant,
    Dies,
    DiesOnce,
    Fails,
    Halves,
    WaitsForEvent,
)

dask = pytest.importorskip("distributed", reason="the extra 'dask' is not installed")
config = pytest.importorskip("dask.config")
# Time after which a cluster gives up a lost worker for good. The
# default of 15 seconds may be too short for a restart on a busy machine.
LONGER = {"distributed.deploy.lost-worker-timeout": "10 minutes"}


@pytest.fixture(scope="module")
def cluster():
    cluster = dask.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=True,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
    )
    with config.set(LONGER):
        yield cluster
    # Workers are given five seconds to end and then killed, and one more after that,
    # which on a busy machine is too short to see them gone.
    with contextlib.suppress(TimeoutError):
        cluster.close()


@pytest.fixture(scope="module")
def client(cluster):
    with dask.Client(cluster, set_as_default=False) as client:
        yield client


@pytest.fixture
def many_jobs(monkeypatch):
    """Cut the agreement pass finely, so that there is always work in flight."""
    monkeypatch.setattr(distributed, "_JOB_COMPARISONS", 1)
    monkeypatch.setattr(distributed, "_COMPARISONS_PER_CELL", 1)


@pytest.fixture(scope="module")
def X():
    return make_blobs(150, 3, centers=4, cluster_std=0.8, random_state=0)[0]


@pytest.fixture(autouse=True)
def patience(monkeypatch):
    """A busy machine may take longer than a minute to start killed workers again."""
    monkeypatch.setattr(transport, "_PATIENCE_SECONDS", 600)


def random_ensemble(n_partitions=20, n_samples=4000, n_clusters=5):
    rng = np.random.default_rng(0)
    return Ensemble(rng.integers(0, n_clusters, (n_partitions, n_samples)))


def kill(client, addresses):
    for pid in client.run(os.getpid, workers=list(addresses)).values():
        os.kill(pid, signal.SIGKILL)


def assert_same_tables(ours, theirs):
    np.testing.assert_array_equal(ours.pair_counts, theirs.pair_counts)
    np.testing.assert_array_equal(ours.joint_counts, theirs.joint_counts)


def assert_same_ensemble(ours, theirs):
    np.testing.assert_array_equal(ours.labels, theirs.labels)
    assert ours.names == theirs.names
    assert ours.families == theirs.families
    assert ours.specs == theirs.specs
    assert ours.notes == theirs.notes
    assert ours.memberships.keys() == theirs.memberships.keys()
    for t, membership in ours.memberships.items():
        np.testing.assert_array_equal(membership, theirs.memberships[t])


def assert_nothing_is_left(cluster, client):
    """The scheduler receives a cancel a little after the client has sent it."""
    for _ in range(1000):
        if not cluster.scheduler.tasks:
            return
        client.nthreads()
    raise AssertionError(f"left on the cluster: {cluster.scheduler.tasks}")


@pytest.mark.parametrize(
    ("n_partitions", "n_samples", "n_clusters"),
    [(20, 1500, 5), (4, 900, 300), (3, 900, 3), (5, 1, 2)],
    ids=["one byte", "two bytes", "merged samples", "one sample"],
)
def test_agreements_are_those_counted_here(
    client, many_jobs, n_partitions, n_samples, n_clusters
):
    ensemble = random_ensemble(n_partitions, n_samples, n_clusters)
    remote = count_agreements(ensemble, client=client)
    assert_same_tables(remote, count_agreements(ensemble))


def test_an_address_will_do(cluster, many_jobs):
    ensemble = random_ensemble(n_samples=600)
    remote = count_agreements(ensemble, client=cluster.scheduler_address)
    assert_same_tables(remote, count_agreements(ensemble))


def test_labels_are_sent_once(client, many_jobs, monkeypatch):
    sent, scatter = [], dask.Client.scatter

    def count(self, data, **options):
        sent.append(options["broadcast"])
        return scatter(self, data, **options)

    monkeypatch.setattr(dask.Client, "scatter", count)
    count_agreements(random_ensemble(n_samples=1500), client=client)
    assert sent == [True]


@pytest.mark.parametrize("n_samples", [2, 256, 257, 700, 5000])
@pytest.mark.parametrize("comparisons", [1, 10**6, 10**12])
def test_ranges_cover_the_columns_once_in_whole_tiles(
    monkeypatch, n_samples, comparisons
):
    monkeypatch.setattr(distributed, "_JOB_COMPARISONS", comparisons)
    monkeypatch.setattr(distributed, "_COMPARISONS_PER_CELL", 1)
    layout = pair_layout(random_ensemble(n_samples=n_samples), np.arange(n_samples))
    ranges = distributed._column_ranges(layout)
    columns = [column for start, stop in ranges for column in range(start, stop)]
    assert columns == list(range(n_samples))
    assert all(start % 256 == 0 for start, _ in ranges)


def test_ranges_are_of_about_equal_work():
    layout = pair_layout(random_ensemble(n_samples=60_000))
    ranges = distributed._column_ranges(layout)
    work = [(stop * (stop - 1) - start * (start - 1)) // 2 for start, stop in ranges]
    assert len(ranges) == 8
    assert max(work) < 1.2 * min(work)


def test_progress_counts_pairs_and_reaches_the_total(client, many_jobs):
    seen = []
    count_agreements(
        random_ensemble(n_samples=1500),
        client=client,
        progress=lambda *at: seen.append(at),
    )
    done, totals = zip(*seen, strict=True)
    assert len(seen) == 6
    assert sorted(done) == list(done)
    assert done[-1] == totals[-1] == 1500 * 1499 // 2


def test_a_pool_finds_what_it_finds_here(client, X):
    calls = []
    pool = [*POOLS["quick"], Fails(), Halves(), Constant()]
    remote = run_pool(X, pool, client=client, progress=lambda *at: calls.append(at))
    assert_same_ensemble(remote, run_pool(X, pool, n_jobs=1))
    done, totals = zip(*calls, strict=True)
    assert done[-1] == totals[-1] > remote.n_partitions
    assert sorted(done) == list(done)


def test_runs_of_many_pools_find_what_they_find_here(client, X):
    pool = [{"clusterer": "k-means", "n_clusters": [2, 3, 4]}]
    where = {"client": client}, {"n_jobs": 1}
    nulls = [null_agreement(X, pool, n_draws=1, **at) for at in where]
    assert nulls[0].to_frame().equals(nulls[1].to_frame())
    resampled = [resample_consensus(X, [2, 3], n_resamples=3, **at) for at in where]
    assert resampled[0].to_frame().equals(resampled[1].to_frame())


def test_threads_of_one_worker_take_turns(X):
    with (
        dask.LocalCluster(
            n_workers=1, threads_per_worker=4, processes=False, dashboard_address=":0"
        ) as cluster,
        dask.Client(cluster, set_as_default=False) as client,
    ):
        remote = run_pool(X, "quick", client=client)
    assert_same_ensemble(remote, run_pool(X, "quick", n_jobs=1))


def test_a_cancelled_count_leaves_nothing_on_the_cluster(cluster, client, many_jobs):
    seen = []
    with pytest.raises(Cancelled):
        count_agreements(
            random_ensemble(),
            client=client,
            progress=lambda *at: seen.append(at),
            cancel=lambda: len(seen) >= 2,
        )
    assert len(seen) == 2
    assert_nothing_is_left(cluster, client)


def test_a_cancel_does_not_wait_for_the_running_fit(cluster, client, X):
    started, go = (dask.Event(name, client=client) for name in ("started", "go"))
    try:
        with pytest.raises(Cancelled):
            run_pool(X, [WaitsForEvent()], client=client, cancel=started.is_set)
        assert_nothing_is_left(cluster, client)
    finally:
        go.set()


def test_what_cannot_be_used_as_a_cluster_is_refused(client, monkeypatch):
    ensemble = random_ensemble(n_samples=10)
    with pytest.raises(ValueError, match="client is 3; give a synchronous"):
        count_agreements(ensemble, client=3)
    with pytest.raises(ConnectionError, match="no Dask scheduler answers there"):
        count_agreements(ensemble, client="nowhere")
    monkeypatch.setattr(dask.versions, "_version_cached", lambda package: "0.0")
    with pytest.raises(RuntimeError, match=r"this process has 0\.0; give both"):
        count_agreements(ensemble, client=client)


def test_an_address_where_nobody_answers_is_refused(client, monkeypatch):
    # With no time left no address is tried, so the speed of the machine has no effect.
    # Uses a running loop: Dask gives up a loop that has not begun within ten seconds.
    monkeypatch.setattr(transport, "_CONNECT_SECONDS", 0)
    connect = functools.partial(dask.Client, loop=client.loop)
    monkeypatch.setattr(dask, "Client", connect)
    with pytest.raises(ConnectionError, match="no Dask scheduler answers there"):
        count_agreements(random_ensemble(n_samples=10), client="tcp://127.0.0.1:1")


def test_a_cluster_without_workers_is_not_waited_for_without_end(client, monkeypatch):
    monkeypatch.setattr(transport, "_PATIENCE_SECONDS", 0)
    # A running loop: Dask gives up a loop that has not begun within ten seconds.
    options = {"dashboard_address": ":0", "loop": client.loop}
    with (
        dask.LocalCluster(n_workers=0, processes=False, **options) as none,
        dask.Client(none, set_as_default=False) as client,
    ):
        with pytest.raises(TimeoutError, match="has had no worker for 0 seconds"):
            count_agreements(random_ensemble(n_samples=10), client=client)
        client.close()
        with pytest.raises(ConnectionError, match="client is closed"):
            count_agreements(random_ensemble(n_samples=10), client=client)


def test_dask_is_imported_only_where_it_is_asked_for(monkeypatch):
    code = (
        "import sys, clusterlens as cl\n"
        "cl.count_agreements, cl.run_pool\n"
        "print('distributed' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match=r"pip install '.\[dask\]'"):
        count_agreements(random_ensemble(n_samples=10), client="tcp://127.0.0.1:1")


def test_a_killed_worker_changes_nothing_in_the_agreement_pass(client, many_jobs):
    ensemble = random_ensemble()
    killed = []

    def kill_a_busy_one(done, total):
        if not killed:
            busy = [at for at, tasks in client.processing().items() if tasks]
            killed.extend(busy[:1])
            kill(client, killed)

    remote = count_agreements(ensemble, client=client, progress=kill_a_busy_one)
    assert killed
    assert not set(killed) & set(client.nthreads())
    assert_same_tables(remote, count_agreements(ensemble))


def test_data_that_died_with_all_workers_are_sent_again(client, many_jobs):
    client.wait_for_workers(2, timeout=60)
    ensemble = random_ensemble()
    killed = []

    def kill_all(done, total):
        if not killed:
            killed.extend(client.nthreads())
            kill(client, killed)

    remote = count_agreements(ensemble, client=client, progress=kill_all)
    assert len(killed) == 2
    assert_same_tables(remote, count_agreements(ensemble))


def test_a_killed_worker_changes_nothing_in_the_pool(client, X, tmp_path):
    mark = tmp_path / "died"
    pool = [DiesOnce(mark), {"clusterer": "k-means", "n_clusters": [2, 3, 4, 5]}]
    remote = run_pool(X, pool, client=client)
    assert mark.exists()
    assert remote.n_partitions == 5
    assert_same_ensemble(remote, run_pool(X, pool, n_jobs=1))


def test_a_fit_that_kills_its_workers_is_a_failed_model(
    cluster, client, X, monkeypatch
):
    monkeypatch.setattr(cluster.scheduler, "allowed_failures", 0)
    pool = [Dies(), {"clusterer": "k-means", "n_clusters": [2, 3, 4]}]
    ensemble = run_pool(X, pool, client=client)
    assert ensemble.n_partitions == 3
    assert ensemble.notes == (
        "Dies: failed, WorkerDied: workers died while they ran it, 1 in a row",
    )


def test_a_fit_that_is_lost_again_and_again_is_given_up(X):
    with (
        dask.LocalCluster(
            n_workers=1, threads_per_worker=4, processes=False, dashboard_address=":0"
        ) as cluster,
        dask.Client(cluster, set_as_default=False) as client,
    ):
        lost = []

        def lose():
            for key in list(client.futures):
                if "_fit_on_worker" in key and key not in lost and len(lost) < 3:
                    lost.append(key)
                    client.cancel([dask.Future(key, client=client)])
            if len(lost) == 3:
                dask.Event("go", client=client).set()

        ensemble = run_pool(X, [WaitsForEvent(), Halves()], client=client, cancel=lose)
    assert ensemble.names == ("Halves",)
    assert ensemble.notes == (
        "WaitsForEvent: failed, WorkerDied: lost with all workers, 3 times",
    )


def test_a_run_at_scale_ends_with_the_same_files_on_a_cluster(client, tmp_path):
    """Also if a worker is killed while rows are labelled."""
    (tmp_path / "in").mkdir()
    for part, X in enumerate(
        np.array_split(make_blobs(1_200, 3, random_state=0)[0], 6)
    ):
        frame = pd.DataFrame(X, columns=["x", "y", "z"])
        frame.to_parquet(tmp_path / f"in/{part}.parquet")
    pool = [{"clusterer": "k-means", "n_clusters": [2, 3, 4]}]
    killed = []

    def progress(done, total):
        if done >= 400 and not killed:
            killed.append(list(client.nthreads())[:1])
            kill(client, killed[0])

    def files(name, **options):
        made = run_at_scale(
            tmp_path / "in", tmp_path / name, pool, n_landmarks=200, **options
        )
        found = (path for path in (tmp_path / name).rglob("*") if path.is_file())
        assert len(made.files) == 6
        return {str(f.relative_to(tmp_path / name)): f.read_bytes() for f in found}

    assert files("cluster", client=client, progress=progress) == files("own", n_jobs=1)
    assert killed
