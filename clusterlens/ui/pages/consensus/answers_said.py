"""Summary of the answers: error rate, fit of the models, open questions."""

from __future__ import annotations

from typing import Any

from clusterlens.compute.formatting import count, percent, with_capital
from clusterlens.ui.components.card import Card
from clusterlens.ui.jobs.derived import Result
from clusterlens.ui.results.answers import Answers, Outlook
from clusterlens.ui.results.leading import enough_words, joined_words
from clusterlens.ui.widgets.scripted import Text
from clusterlens.ui.widgets.toolkit import link, pn, safe
from clusterlens.ui.widgets.words import fixed

# With fewer answers an error rate is a guess.
FEWEST = 4
# Largest odds that are written.
_MANY = 1000


class AnswerSummary(Card):
    """Error rate, and whether one more answer would change the result."""

    needs = ("answers",)
    also = ("outlook", "joined?")

    def build(self) -> Any:
        self._rate = Text(css_classes=["cl-error-rate"])
        self._enough = Text(does=self._do, css_classes=["cl-enough"])
        self._column = pn.Column(
            self._rate, self._enough, margin=0, sizing_mode="stretch_width"
        )
        return self._column

    def prepare(self, results: Any) -> None:
        """Show nothing if there is no answer, or links are no evidence."""
        self._column.visible = results["answers"].state != "empty"

    def show(self, answers: Answers, outlook: Result, joined: Result) -> None:
        """Describe the errors and the open questions."""
        self._rate.body = _rate(answers)
        moved = joined_words(joined.value)
        self._enough.body = _enough(answers, outlook) + (moved and f"<p>{moved}</p>")

    def _do(self, what: str) -> None:
        """Handle a button: "pool", "look 7" to show a model, or "clusters"."""
        view_state, (verb, _, model) = self.session.view_state, what.partition(" ")
        if verb == "pool":
            view_state.page = "pool"
        elif verb == "look":
            view_state.param.update(model=int(model), tab="model")
        else:
            view_state.param.update(page="clusters", model=None, partition="model")


def _rate(found: Answers) -> str:
    """Write how many answers the best model contradicts, and the error rate."""
    n = found.n_answers
    text = f"You and the best model differ in <b>{found.broken} of {n}</b>"
    if n < FEWEST:
        return f"<p>{text}. <span class='muted'>Too few for an error rate.</span></p>"
    rate = percent(found.posterior.error_rate)
    return (
        f"<p title='mean of the posterior of the error rate'>{text}; about "
        f"<b>{rate}</b> of such answers are counted as mistakes. <span class='muted'>"
        "The questions are about contested pairs, which even the best model often gets "
        "wrong.</span></p>"
    )


def _times(odds: float) -> str:
    """Format odds."""
    return f"{odds:.0f} times" if odds < _MANY else f"more than {_MANY} times"


def _enough(found: Answers, outlook: Result) -> str:
    """Write whether to go on answering, with the reason."""
    if found.posterior.none_fits:
        return (
            "<p class='warn cl-none-fits'><b>No model of this pool fits your answers"
            f"</b>: coin tosses explain them {_times(found.posterior.odds_of_chance)} "
            "better. Look again at the links below, or "
            f"{link('add other models on Pool', 'pool')}.</p>"
        )
    if not outlook.ready or not isinstance(outlook.value, Outlook):
        return "<p class='muted'>Looking at what one more answer may change …</p>"
    ahead: Outlook = outlook.value
    reason = (
        f"one more answer changes the leader with a chance of up to "
        f"{percent(ahead.leader_change)}, and the consensus by up to "
        f"{ahead.consensus_change:.3f} on average"
    )
    if ahead.enough:
        text = (
            f"<p><b>{count(found.n_answers, 'answer')}: enough.</b> "
            f"{with_capital(reason)}, {enough_words(found)}. "
            f"{link('Open the leader on Clusters', 'clusters', kind='pill')}</p>"
        )
    else:
        text = f"<p class='muted'><b>Not settled:</b> {reason}.</p>"
    return text + _safest_model(found, ahead)


def _safest_model(found: Answers, ahead: Outlook) -> str:
    """Name the model that is a safer choice than the leader."""
    if ahead.safest_model is None:
        return ""
    name = safe(found.posterior.ensemble.names[ahead.safest_model])
    return (
        f"<p class='cl-likest'><b>{name}</b> is expected to be most like yours "
        f"<span class='muted'>(adjusted Rand index {fixed(ahead.likeness)})</span>: "
        "a safer choice than the first of the ranking while answers are few or some "
        "may mislead. "
        f"{link('Look at it', f'look {ahead.safest_model}', kind='pill')}</p>"
    )
