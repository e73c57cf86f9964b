"""Estimators of an importable module that behave badly, for worker processes."""

import os
import signal
import time
from pathlib import Path

import numpy as np
from sklearn.base import BaseEstimator


class Halves:
    """Splits the samples in two by position; only fit_predict."""

    def fit(self, X):
        return self

    def fit_predict(self, X):
        return (np.arange(len(X)) >= len(X) // 2).astype(int)


class Gaps:
    """Gives the first sample no label."""

    def fit(self, X):
        self.labels_ = np.arange(len(X)) % 3 + 0.0
        self.labels_[0] = np.nan
        return self


class Dies:
    """Ends its process in the middle of a fit."""

    def fit(self, X):
        os._exit(3)


class DiesOnce(BaseEstimator):
    """An estimator killed in the middle of its first fit, which leaves a mark."""

    def __init__(self, mark):
        self.mark = mark

    def fit(self, X):
        if not Path(self.mark).exists():
            Path(self.mark).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        self.labels_ = np.arange(len(X)) % 5
        return self


class WaitsForEvent(Halves):
    """Fits on a Dask worker until the event "go" is set."""

    def fit_predict(self, X):
        from distributed import Event

        Event("started").set()
        Event("go").wait()
        return super().fit_predict(X)


class Sleeps:
    """Fits for a minute."""

    def fit(self, X):
        time.sleep(60)


class Fails:
    """Raises in fit."""

    def fit(self, X):
        raise RuntimeError("no luck\nat all")


class Constant(BaseEstimator):
    """Gives every sample the label of `labels`: "one" or "all"."""

    def __init__(self, labels="one"):
        self.labels = labels

    def fit(self, X):
        one = np.zeros(len(X), dtype=int)
        self.labels_ = one if self.labels == "one" else np.arange(len(X))
        return self


class WrongMemberships(Halves):
    """Has memberships of one sample only."""

    memberships_ = ((0.5, 0.5),)


class Stays(Halves):
    """Cannot be sent to another process."""

    def __getstate__(self):
        raise RuntimeError("stay here")


class ManyLabels:
    """Puts pairs of samples together."""

    def fit(self, X):
        return self

    def predict(self, X):
        return np.arange(len(X)) // 2


class Hungry:
    """Asks for more memory than a limit allows."""

    def fit(self, X):
        np.empty(10**9)
