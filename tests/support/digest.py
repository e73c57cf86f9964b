"""A digest of an analysis."""

from __future__ import annotations

import hashlib
import json

from clusterlens.ui.session import Session


def digest(session: Session) -> str:
    """Return a hash of all decisions and results and of the position of the cursor."""
    parts = hashlib.sha256(str(session.history.cursor).encode())
    for step in session.history.steps:
        analysis = step.analysis
        plain = [step.kind, step.at, step.values, analysis.score, analysis.link_weight]
        links = [(link.kind, link.a, link.b) for link in analysis.links]
        runs = [(run.id, run.name, run.random_state) for run in analysis.runs]
        parts.update(json.dumps([plain, links, runs, analysis.run_id]).encode())
        for run in analysis.runs:
            parts.update(run.ensemble.labels.tobytes())
        if analysis.dataset is not None:
            parts.update(analysis.dataset.X.tobytes())
    return parts.hexdigest()
