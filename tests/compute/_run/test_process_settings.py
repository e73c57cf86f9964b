import ast
import io
import threading
import warnings
from pathlib import Path

import pytest
import scipy.linalg
from threadpoolctl import threadpool_info, threadpool_limits

import clusterlens as cl
from clusterlens.compute._run.process_settings import one_thread, record_warnings

PACKAGE = Path(cl.__file__).parent
CHANGERS = {"catch_warnings", "simplefilter", "filterwarnings", "threadpool_limits"}


def blas_threads():
    return {p["num_threads"] for p in threadpool_info() if p["user_api"] == "blas"}


def openmp_threads():
    return {p["num_threads"] for p in threadpool_info() if p["user_api"] == "openmp"}


@pytest.fixture
def two_blas_threads():
    scipy.linalg.det([[1.0]])  # loads the BLAS
    with threadpool_limits(2, user_api="blas"):
        if blas_threads() != {2}:
            pytest.skip("the BLAS of this machine has one thread")
        yield


def overlap(first, second):
    """Enter first, enter second, leave first, leave second, each in its own thread."""
    entered, left = [threading.Event(), threading.Event()], threading.Event()

    def run_first():
        with first():
            entered[0].set()
            assert entered[1].wait(10)
        left.set()

    def run_second():
        assert entered[0].wait(10)
        with second():
            entered[1].set()
            assert left.wait(10)

    threads = [threading.Thread(target=run) for run in (run_first, run_second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert left.is_set()


def test_overlapping_limits_give_the_blas_threads_back(two_blas_threads):
    overlap(one_thread, one_thread)
    assert blas_threads() == {2}


def test_limit_holds_inside_and_nests(two_blas_threads):
    before = openmp_threads()
    with one_thread():
        with one_thread():
            assert blas_threads() == {1}
        assert blas_threads() == {1}
        assert openmp_threads() <= {1}
    assert blas_threads() == {2}
    assert openmp_threads() == before


def test_limit_ends_with_an_error(two_blas_threads):
    with pytest.raises(ZeroDivisionError), one_thread():
        raise ZeroDivisionError
    assert blas_threads() == {2}


def test_warnings_are_recorded_for_each_thread_and_filters_given_back():
    before = warnings.filters.copy()
    said = {}

    def work(name):
        with record_warnings() as caught:
            for _ in range(100):
                warnings.warn(name, stacklevel=1)
            said[name] = {str(warning.message) for warning in caught}

    threads = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert said == {name: {name} for name in "abcd"}
    assert warnings.filters == before


def test_recording_nests():
    with record_warnings() as outer:
        with record_warnings() as inner:
            warnings.warn("inside", stacklevel=1)
        warnings.warn("outside", stacklevel=1)
    assert [str(w.message) for w in inner] == ["inside"]
    assert [str(w.message) for w in outer] == ["outside"]


def filters_but_of_pandas():
    """Filters of warnings without those that pandas moves, in each thread on its own.

    `pandas_dtype` sets one for DeprecationWarning for a moment.
    """
    return [one for one in warnings.filters if one[2] is not DeprecationWarning]


def test_uploads_and_fits_at_once_leave_the_filters_as_they_were():
    table = b"a,b\n" + b"1,2\n3,4\n5,7\n" * 200

    def upload():
        for _ in range(5):
            cl.load_table(io.BytesIO(table))

    def fit():
        for seed in range(3):
            pool = [{"clusterer": "k-means", "n_clusters": [2], "n_init": [1]}]
            cl.run_pool([[0.0], [0.1], [5.0], [5.1]], pool, seed, n_jobs=1)

    # Libraries add filters of their own when they are first imported.
    upload()
    fit()
    before = filters_but_of_pandas()
    threads = [threading.Thread(target=run) for run in (upload, fit, upload, fit)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert filters_but_of_pandas() == before


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda p: p.stem)
def test_no_other_file_changes_a_setting_of_the_process(path):
    names = {
        getattr(node, "attr", getattr(node, "id", None))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    }
    if path.stem != "process_settings":
        assert not names & CHANGERS
