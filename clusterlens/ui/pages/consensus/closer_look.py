"""Card that fits models with finer settings near the safest choice."""

from __future__ import annotations

from typing import Any

from clusterlens.compute.formatting import count
from clusterlens.ui.components.more_models import MoreModels
from clusterlens.ui.results import more_models
from clusterlens.ui.widgets.words import duration


class CloserLook(MoreModels):
    """Number of models to fit and to keep, and the time it takes."""

    needs = ("closer_look", "constraints")
    unanswered = (
        "<p class='muted'>Finer settings can be fitted near the models that fit your "
        "answers. Answer a pair first.</p>"
    )
    label, icon = "Look closer", "zoom_in"
    css = "cl-closer-models", "cl-look-closer"

    def show(self, closer_look: more_models.CloserLook, constraints: Any) -> None:
        """Describe the planned models."""
        self._planned(closer_look, _plan_words(closer_look))

    async def make(self, plan: more_models.CloserLook) -> None:
        """Fit the planned models and keep the best."""
        await self.session.act("look closer", kept=plan.n_kept)


def _plan_words(plan: more_models.CloserLook) -> str:
    return (
        f"Fits <b>{count(plan.n_fitted, 'model')}</b> with settings between those of "
        f"the pool, <b>{duration(plan.seconds)}</b>, and keeps the {plan.n_kept} most "
        "like the model that is expected to be most like yours. They join the ranking "
        "and share the probability of "
        "the likeliest model: <b>enough</b> and its percentage hold among the models "
        "there are now only, and may be gone. The next pairs tell them apart."
    )
