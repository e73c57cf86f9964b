import ast
import io
import subprocess
import sys
import threading
import warnings
from contextlib import contextmanager
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


def test_threads_record_their_warnings_at_the_same_time():
    messages = {}

    @contextmanager
    def record(name):
        with record_warnings() as caught:
            yield
            warnings.warn(name, stacklevel=1)
            messages[name] = [str(warning.message) for warning in caught]

    overlap(lambda: record("first"), lambda: record("second"))
    assert messages == {"first": ["first"], "second": ["second"]}


def test_recording_hears_what_the_filters_hide_and_what_was_said_before():
    def warn():
        warnings.warn("again", DeprecationWarning, stacklevel=1)

    with warnings.catch_warnings(record=True):
        warnings.simplefilter("default")
        warn()
        with record_warnings() as caught:
            warn()
            warnings.simplefilter("ignore")
        assert [str(w.message) for w in caught] == ["again"]
        with record_warnings() as caught:
            warn()
        assert [str(w.message) for w in caught] == ["again"]


def test_filters_hold_for_threads_that_do_not_record():
    def warn():
        for category in (UserWarning, FutureWarning):
            warnings.warn("of another thread", category, stacklevel=1)

    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", FutureWarning)
        with record_warnings() as caught:
            thread = threading.Thread(target=warn)
            thread.start()
            thread.join()
        warn()
    assert caught == []
    assert [w.category for w in shown] == [UserWarning, UserWarning]


def test_recording_nests():
    with record_warnings() as outer:
        with record_warnings() as inner:
            warnings.warn("inside", stacklevel=1)
        warnings.warn("outside", stacklevel=1)
    assert [str(w.message) for w in inner] == ["inside"]
    assert [str(w.message) for w in outer] == ["outside"]


def filters_but_of_pandas():
    """Filters of warnings without the filter that pandas moves in each thread.

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


def test_no_other_file_changes_a_setting_of_the_process():
    for path in PACKAGE.rglob("*.py"):
        names = {
            getattr(node, "attr", getattr(node, "id", None))
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        }
        if path.stem != "process_settings":
            assert not names & CHANGERS, path


@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited on Linux")
def test_a_worker_keeps_within_what_its_process_may_take():
    code = (
        "import resource\n"
        "from clusterlens.compute._run.process_settings import limit_memory\n"
        "most = 8 * 10**9\n"
        "resource.setrlimit(resource.RLIMIT_AS, (most, most))\n"
        "limit_memory(10**12)\n"
        "assert resource.getrlimit(resource.RLIMIT_AS) == (most, most)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
