"""`running`: options of a block apply to the calls within it, and to no others."""

import contextvars
import inspect
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from weakref import WeakKeyDictionary

import numpy as np
import pytest
from sklearn.cluster import KMeans

import clusterlens as cl
from clusterlens.compute._run.options import RunOptions
from clusterlens.compute.ensemble import overlaps
from tests.right_calls import (
    POOL,
    X,
    call,
    ensemble,
    public_callables,
    right_arguments,
)

OPTIONS = {field.name for field in fields(RunOptions)}
# They ask between blocks of samples, and few samples are one.
AT_ONCE = {
    "adjusted_brouwer",
    "adjusted_ndc",
    "compare_fuzzy",
    "internal_index",
    "ndc",
    "running",
}
# scikit-learn says what an estimator's __init__ holds.
KEPT = {"ConsensusClusterer.__init__", "running"}


class Heard(list):
    """A progress callback that lists the reported steps."""

    def __call__(self, done, total):
        self.append((done, total))


def options_of(function):
    return OPTIONS & set(inspect.signature(function).parameters)


def doors():
    """Every public function and method that has an option, by its name."""
    for name in cl.__all__:
        thing = getattr(cl, name)
        if inspect.isclass(thing):
            for method, function in vars(thing).items():
                if inspect.isfunction(function) and (
                    method == "__init__" or not method.startswith("_")
                ):
                    yield f"{name}.{method}", function
        elif inspect.isfunction(thing):
            yield name, thing


def test_every_public_function_with_such_an_argument_takes_the_block():
    have = {name: function for name, function in doors() if options_of(function)}
    assert len(have) > 50
    taking = {name for name, f in have.items() if inspect.unwrap(f) is not f}
    assert set(have) - taking == KEPT


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in sorted({*public_callables()} - AT_ONCE)
        if "cancel" in options_of(getattr(cl, name))
    ],
)
def test_a_cancel_of_the_block_is_the_cancel_of_the_call(name, monkeypatch):
    monkeypatch.setattr(overlaps, "_KNOWN", WeakKeyDictionary())  # what tests compared
    right_arguments(name)  # what they are made of is computed outside the block
    with cl.running(cancel=lambda: True), pytest.raises(cl.Cancelled):
        call(name)


def test_progress_is_heard_as_from_the_argument():
    reported, inherited = Heard(), Heard()
    cl.count_agreements(ensemble(), progress=reported)
    with cl.running(progress=inherited):
        cl.count_agreements(ensemble())
    assert inherited == reported
    assert inherited


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in sorted({*public_callables()} - {"running"})
        if "progress" in options_of(getattr(cl, name))
    ],
)
def test_progress_leads_once_from_the_first_step_to_the_last(name):
    reported = Heard()
    call(name, progress=reported)
    done = [n for n, _ in reported]
    assert done == sorted(done)
    assert reported[-1:] == [
        (total, total) for total in {total for _, total in reported}
    ]


@pytest.mark.parametrize("name", ["null_agreement", "merge_gains", "prepare"])
def test_what_a_function_computes_with_others_is_told_by_itself_alone(name):
    # All three call functions that are public, too, and tell nothing by themselves.
    reported, inherited = Heard(), Heard()
    call(name, progress=reported)
    with cl.running(progress=inherited):
        call(name)
    assert inherited == reported


def test_an_argument_wins_and_none_leaves_it_to_the_block():
    block, own = Heard(), Heard()
    with cl.running(progress=block):
        cl.count_agreements(ensemble(), progress=own)
        assert block == []
        cl.count_agreements(ensemble(), progress=None)
        assert block == own


def test_a_block_within_another_adds_to_it_and_ends():
    outer, inner = Heard(), Heard()
    with cl.running(progress=outer):
        with pytest.raises(cl.Cancelled), cl.running(cancel=lambda: True):
            cl.count_agreements(ensemble())
        reported = len(outer)
        with cl.running(progress=inner):
            cl.count_agreements(ensemble())
        assert inner
        assert len(outer) == reported
        cl.count_agreements(ensemble())
        assert outer[reported:] == inner
    n_told = len(outer)
    cl.count_agreements(ensemble())
    assert len(outer) == n_told


def test_a_block_ends_with_an_error_too():
    inherited = Heard()
    with pytest.raises(ValueError, match="exactly"), cl.running(progress=inherited):
        raise ValueError("exactly")
    cl.count_agreements(ensemble())
    assert inherited == []


def test_a_block_is_in_force_in_its_thread_unless_taken_along():
    inherited = Heard()
    with cl.running(progress=inherited), ThreadPoolExecutor(1) as other:
        other.submit(cl.count_agreements, ensemble()).result()
        assert inherited == []
        run = contextvars.copy_context().run
        other.submit(run, cl.count_agreements, ensemble()).result()
        assert inherited


def test_looks_that_are_asked_for_later_keep_the_block_of_their_call():
    labels = np.random.default_rng(0).integers(0, 20, (4, 2_000))
    ensemble, limits = cl.Ensemble(labels), {"first_size": 500, "max_comparisons": 1e6}
    reported, inherited, other = Heard(), Heard(), Heard()
    list(cl.rank_progressively(ensemble, progress=reported, **limits))
    with cl.running(progress=inherited):
        looks = cl.rank_progressively(ensemble, **limits)
    with cl.running(progress=other):
        assert list(looks)
    assert inherited == reported
    assert other == []


class Asking(KMeans):
    """A clusterer whose fit calls a public function."""

    def fit(self, X, y=None):
        cl.count_agreements(ensemble())
        return super().fit(X)


def test_what_runs_between_the_models_of_a_pool_is_silent():
    inherited = Heard()
    with cl.running(n_jobs=1, progress=inherited):
        assert len(list(cl.iter_pool(X, [Asking(2, random_state=0)]))) == 1
    assert inherited == []


def test_a_generator_that_is_left_ends_its_work():
    with cl.running(n_jobs=1):
        models = cl.iter_pool(X, POOL)
        next(models)
        models.close()
        assert list(models) == []


def test_the_steps_of_a_fit_are_heard_one_after_the_other():
    inherited = Heard()
    with cl.running(n_jobs=1, progress=inherited):
        cl.ConsensusClusterer(POOL).fit(X)
    assert (3, 3) in inherited  # the models of the pool


def test_options_are_checked_where_the_block_is_made():
    with pytest.raises(ValueError, match=r"^n_jobs is 0"):
        cl.running(n_jobs=0)


def test_a_wrong_call_within_a_block_is_a_type_error():
    with cl.running(n_jobs=1), pytest.raises(TypeError, match="ensemble"):
        cl.count_agreements()


def test_a_warning_names_the_line_that_called():
    two = cl.Ensemble([[0, 0, 1], [0, 1, 1]])
    for block in (cl.running(), cl.running(n_jobs=1)):
        with warnings.catch_warnings(record=True) as caught, block:
            warnings.simplefilter("always")
            cl.average_ari(two)
        assert [entry.filename for entry in caught] == [__file__]
