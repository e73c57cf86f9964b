"""Card that makes models for the answers."""

from __future__ import annotations

from clusterlens.compute.formatting import count
from clusterlens.ui.components.more_models import MoreModels
from clusterlens.ui.results.more_models import ModelsToMake
from clusterlens.ui.widgets.words import duration


class MadeModels(MoreModels):
    """Number of models to make, the time it takes, and how they are evaluated."""

    needs = ("models_to_make",)
    unanswered = (
        "<p class='muted'>If no model fits your answers, models can be made for them. "
        "Answer a pair first.</p>"
    )
    label, icon = "Make models for your answers", "add"
    css = "cl-models-to-make", "cl-make-models"

    def show(self, models_to_make: ModelsToMake) -> None:
        """Describe the planned models, or the reason why there are none."""
        plan = models_to_make
        if plan.refusal:
            self._planned(None, plan.refusal)
        else:
            self._planned(plan, _plan_words(plan))

    async def make(self, plan: ModelsToMake) -> None:
        """Make models with the planned numbers of clusters."""
        await self.session.act("make for answers", n_clusters=list(plan.n_clusters))


def _plan_words(plan: ModelsToMake) -> str:
    numbers = ", ".join(map(str, plan.n_clusters))
    return (
        f"Makes <b>{count(plan.n_models, 'model')}</b> of k = {numbers} for your "
        f"{count(plan.n_links, 'link')}, <b>{duration(plan.seconds)}</b>. Models "
        "made from the consensus obey every link, models made from the features most. "
        "They join the ranking, scored by held-out answers, so obeying a link is no "
        "advantage."
    )
