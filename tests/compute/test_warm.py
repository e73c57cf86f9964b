import importlib
import pkgutil

import numba
import numpy as np
import pytest

import clusterlens as cl
import clusterlens.compute
from clusterlens.compute import warm
from clusterlens.compute._run.kernels import kernel_digest, reached_kernels
from clusterlens.compute._run.options import Cancelled
from clusterlens.compute.consensus import tile_source, tiles
from clusterlens.compute.ensemble import overlaps, pairs
from clusterlens.compute.warm import compile_kernels

# Clusterers with kernels, in the pool and on their own.
OWN = (
    "Genie",
    "CNS",
    "Torque",
    "border peeling",
    "selective neighbours",
    "kNN mean shift",
    "SPUDS",
    "HDBSCAN by DBCV",
)


def kernels_of(module):
    return {
        f"{kernel.py_func.__module__}.{kernel.py_func.__name__}": kernel
        for kernel in vars(module).values()
        if isinstance(kernel, numba.core.registry.CPUDispatcher)
    }


def n_types(kernels):
    return {name: len(kernel.signatures) for name, kernel in kernels.items()}


@pytest.fixture(scope="module")
def kernels():
    """All kernels of the package, compiled or loaded."""
    compile_kernels()
    found = {}
    package = clusterlens.compute
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        found |= kernels_of(importlib.import_module(module.name))
    return found


def use_ensembles(rng):
    for n_clusters in (3, 30, 290):
        ensemble = cl.Ensemble(rng.integers(0, n_clusters, (6, 700)))
        cl.rank_partitions(cl.count_agreements(ensemble))
        cl.rank_robustness(ensemble)
        list(cl.rank_progressively(ensemble, first_size=500, max_comparisons=10**5))
        cl.suggest_pairs(ensemble)
        cl.find_hubs(ensemble)
        cl.sample_disagreement(ensemble)
        cl.agreement_tree(ensemble)
        cl.consensus_tree(ensemble, 5)
        cl.consensus_tile(ensemble, (10, 600), (0, 300), shape=(20, 30))
        cl.consensus_tile(ensemble, kind="binarised", shape=(20, 30))
        for method in ("kmeans", "bisecting-kmeans", "sec", "mcla", "average"):
            cl.consensus_partition(ensemble, 4, method)


def use_tables(rng):
    X, labels = rng.normal(size=(150, 5)), rng.integers(0, 4, 150)
    for name in ("CI", "DI", "McRao", "DBCV"):
        cl.internal_index(name, X, labels)
    cl.label_match(X, labels)
    for table in (X, rng.normal(size=(2500, 20))):
        graph = cl.CNSGraph(table, max_neighbors=9)
        for n_neighbors, alpha in ((4, 0.1), (9, 0.3)):
            graph.preview(n_neighbors, alpha)
            graph.fill(n_neighbors)
            _ = graph.preview(n_neighbors, alpha + 0.1).error_bound
            _ = graph.solve(n_neighbors, alpha).error_bound
    for solver in ("exact", "powers"):
        cl.CNS(solver=solver).fit(X).predict_proba(X[:7])
    for table in (X, cl.prepare(cl.make_dataset(X)).X):
        cl.run_pool(table, [{"clusterer": name} for name in OWN], n_jobs=1)
        cl.TorqueClustering().fit(table)
    cl.Segmentation(cl.prepare(cl.make_dataset(X)), labels).assign(X)


def use_memberships(rng):
    for n_samples in (50, 4000):
        U, V = (rng.dirichlet(np.ones(k), n_samples) for k in (2, 5))
        cl.ndc(U, V)
        cl.fit_dirichlet(U)
        for model in ("permutation", "fit", "sym", "flat"):
            cl.adjusted_ndc(U, V, model=model)


def test_every_kernel_is_ready(kernels):
    ready = [kernel for kernel in kernels.values() if kernel.signatures]
    within = {id(called) for kernel in ready for called in reached_kernels(kernel)}
    assert [name for name, kernel in kernels.items() if id(kernel) not in within] == []


def test_every_kernel_can_be_kept_on_disk(kernels):
    assert len({kernel_digest(kernel) for kernel in kernels.values()}) == len(kernels)


@pytest.mark.parametrize("use", [use_ensembles, use_tables, use_memberships])
def test_nothing_is_left_to_compile(kernels, use):
    before = n_types(kernels)
    use(np.random.default_rng(0))
    assert n_types(kernels) == before


def test_kernels_of_codes_are_compiled_for_one_and_two_bytes(kernels):
    # A kernel within another one is loaded from disk as a part of that.
    within = {
        id(called)
        for kernel in kernels.values()
        for called in reached_kernels(kernel)[1:]
    }
    for module in (pairs, overlaps, tile_source, tiles):
        for name, kernel in kernels_of(module).items():
            if id(kernel) in within:
                continue
            types = {
                argument.dtype.bitwidth
                for signature in kernel.signatures
                for argument in signature
                if isinstance(argument, numba.types.Array)
                and str(argument.dtype).startswith("uint")
            }
            assert {8, 16} <= types, name


def test_kernels_are_all_on_disk_once_they_were_all_compiled(monkeypatch):
    noted = []
    monkeypatch.setattr(warm, "mark_all_on_disk", lambda: noted.append(True))
    monkeypatch.setattr(warm, "STEPS", {"one": lambda: None})
    with pytest.raises(Cancelled):
        compile_kernels(cancel=lambda: True)
    assert not noted
    compile_kernels()
    assert noted
