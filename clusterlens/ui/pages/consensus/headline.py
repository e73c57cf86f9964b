"""Headline: the answer in one or two sentences, with its caveats."""

from __future__ import annotations

from typing import Any

import numpy as np

from clusterlens.compute.ensemble.agreement import Agreement
from clusterlens.compute.ensemble.constraints import Constraints
from clusterlens.compute.ensemble.counting_cost import AgreementCost
from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.formatting import all_of, count, whole
from clusterlens.compute.pool.nulls import LEVEL
from clusterlens.compute.ranking.ranking import Ranking
from clusterlens.compute.ranking.voting import CHOSEN_VOTES, VOTES
from clusterlens.ui.components.card import Card
from clusterlens.ui.jobs.derived import Result
from clusterlens.ui.results.answers import Answers, Outlook
from clusterlens.ui.results.label_verdict import LIGHT_COLOURS
from clusterlens.ui.results.leading import (
    copies_words,
    doubt_words,
    enough_words,
    joined_words,
    leading,
)
from clusterlens.ui.results.links import links_broken
from clusterlens.ui.results.partition_verdict import COPIES_IN_WORDS
from clusterlens.ui.results.verdict_answers import weigh_copies
from clusterlens.ui.state.analysis import AnalysisResult, Run
from clusterlens.ui.widgets.scripted import Excerpt
from clusterlens.ui.widgets.toolkit import badge, card, excerpt, link, safe
from clusterlens.ui.widgets.words import duration, span, who_votes

# Near-copies of the leader that reach both limits decide the ranking.
FEWEST_COPIES = 3
DECIDING_SHARE = 1 / 3
# The leader where no other model was named since.
_ITSELF = "it"


class Headline(Card):
    """Model closest to the consensus of the pool, with caveats."""

    needs = ("ranking", "ensemble", "agreement", "cost", "run", "answers?")
    also = (
        "null_seconds",
        "robustness",
        "null_check",
        "constraints?",
        "copies_of_leader",
        "likeness_to_leader",
        "result?",
        "shared_with_leader",
        "outlook?",
        "joined?",
    )

    def build(self) -> Any:
        self._text = Excerpt(excerpt(""), does=self._do)
        return card("", self._text, note=self.status, css="cl-headline", fills=False)

    def show(
        self,
        ranking: Ranking,
        ensemble: Ensemble,
        agreement: Agreement,
        cost: AgreementCost,
        run: Run,
        answers: Answers | None,
        null_seconds: Result,
        robustness: Result,
        null_check: Result,
        constraints: Result,
        copies_of_leader: Result,
        likeness_to_leader: Result,
        result: Result,
        shared_with_leader: Result,
        outlook: Result,
        joined: Result,
    ) -> None:
        """Write the answer, its caveat and the chips."""
        chips = (
            _so_far(run),
            _equal_votes(run),
            _extent(agreement, cost, ranking),
            _gaps(ensemble),
            _kept(ranking, constraints.value, _first(answers, outlook.value)),
            _enough(answers, outlook.value),
            _null_chip(null_check, null_seconds),
        )
        near = copies_of_leader.value
        self._text.body = excerpt(
            f"{leading(ranking, answers, outlook.value, near)}"
            f"{joined_words(joined.value)}"
            f"{_result_note(result.value, shared_with_leader, run, ranking)}"
            f"{_decided(ranking)}"
            f"{_outvoted(copies_of_leader, ranking, run)}"
            f"{doubt_words(likeness_to_leader.value, ranking, run, answers)}"
            f"{stability(robustness, ranking, _first(answers, outlook.value))} "
            f"<span class='muted'>{_caveat(answers, ensemble)}</span>",
            *chips,
        )

    async def _do(self, what: str) -> None:
        if what == "exact":
            await self.session.act("count fully")
        elif what == "clusters":
            view_state = self.session.view_state
            view_state.param.update(page="clusters", model=None, partition="model")
        elif what in VOTES:
            await self.session.act("weigh models", by=what)
        else:
            self.session.derived.ask(what)


def _caveat(found: Answers | None, ensemble: Ensemble) -> str:
    """Write what being first does not mean."""
    if found is None:
        return "Most typical of this pool, not proven true."
    return f"Most likely yours among these {ensemble.n_partitions}, not proven true."


def _enough(answers: Answers | None, ahead: Outlook | None) -> str:
    """Write that one more answer would hardly change the result, and its scope."""
    if answers is None or ahead is None or not ahead.enough:
        return ""
    among = enough_words(answers)
    words = f"<b>enough?</b> One more answer would hardly change it, {among}"
    return link(words, "clusters", kind="pill", css="cl-enough-chip")


def _result_note(
    result: AnalysisResult | None, shared: Result, run: Run, ranking: Ranking
) -> str:
    """Name the partition that is the result, if it is not the leader."""
    if result is None or result.model_of(run.id) == int(ranking.order[0]):
        return ""
    text = f"Your result is <b>{safe(result.title)}</b>"
    if shared.ready:
        n = whole(ranking.ensemble.n_samples)
        first = safe(ranking.ensemble.names[ranking.order[0]])
        text += f"; it and {first} agree on {whole(shared.value)} of {n} samples"
    return f"<span class='cl-your-result'>{text}.</span> "


def _so_far(run: Run) -> str:
    """Write the number of models of a partial or stopped run."""
    n_models = run.ensemble.n_partitions
    if run.n_asked:
        text = f"{n_models} of {count(run.n_asked, 'model')} so far"
        return badge(text, kind="estimate cl-so-far") + " "
    if run.stopped_of:
        asked = count(run.stopped_of + run.n_added, "model")
        text = f"stopped and kept: {n_models} of {asked}"
        return badge(text, kind="estimate cl-stopped") + " "
    return ""


def _equal_votes(run: Run) -> str:
    """Write the voters if not every model votes equally.

    Offers equal votes, except for the usual rule.
    """
    if run.votes == "models":
        return ""
    if run.votes == CHOSEN_VOTES:
        voters = int(np.count_nonzero(run.ensemble.votes))
        text = f"{whole(voters)} of {whole(len(run.ensemble))} vote"
        return badge(text, kind="cl-equal-votes spare") + " "
    text = who_votes(run.votes, run.ensemble)
    back = link("one vote per model", "models", kind="pill", css="cl-vote-alike")
    return f"{badge(text, kind='estimate cl-equal-votes')} {back}"


def _outvoted(copies: Result, ranking: Ranking, run: Run) -> str:
    """Warn, as markup, that near-copies of the leader hold much of the votes."""
    ensemble = ranking.ensemble
    if not copies.ready or run.votes not in ("models", "typical") or run.n_asked:
        return ""
    alike = copies.value[ensemble.votes[copies.value] > 0]
    share = ensemble.votes[alike].sum() / ensemble.n_votes
    # Typical models are alike by definition, so most models must be near-copies.
    many = DECIDING_SHARE * np.count_nonzero(ensemble.weights)
    if len(alike) < max(FEWEST_COPIES, many):
        return ""
    name = safe(ensemble.names[ranking.order[0]])
    offer = link("count near-copies as one", "hubs", css="cl-vote-hubs")
    return (
        f"<span class='cl-near-copies'><b>{len(alike)} near-copies of {name} hold "
        f"{share:.0%} of the votes</b>; {offer}.</span> "
    )


def _decided(ranking: Ranking) -> str:
    """Warn, as markup, that the links alone decide the order."""
    if not ranking.decided_by_violations:
        return ""
    return (
        "<span class='warn cl-links-decide'>The links alone decide the order: fewer "
        "broken always ranks first.</span> "
    )


def _kept(ranking: Ranking, links: Constraints | None, name: str) -> str:
    """Write how many links the leader keeps, and the leader without links."""
    if links is None:
        return ""
    first = int(ranking.order[0])
    broken, counted = (of[first] for of in links_broken(ranking, links))
    sign = -1 if ranking.greater_is_better else 1
    alone = int(np.argmin(sign * ranking.unconstrained))
    subject = "" if name == _ITSELF else f"{name} "
    text = f"{subject}keeps {counted - broken} of {count(counted, 'link')}"
    if counted < links.n_pairs:
        text += f", {links.n_pairs - counted} not seen"
    if alone == first:
        return f"<span class='pill short cl-links-kept'>{text}</span>"
    before = safe(ranking.ensemble.names[alone])
    text += f" · without: <b>{before}</b>, now rank {ranking.ranks[alone]}"
    return f"<span class='pill cl-links-kept'>{text}</span>"


def _first(answers: Answers | None, outlook: Outlook | None) -> str:
    """Return a name for the leader that stays clear after another model was named."""
    if answers is not None and answers.posterior.none_fits:
        return "the first of the ranking"
    named = outlook is not None and outlook.safest_model is not None
    return "the likeliest model" if named else _ITSELF


def stability(result: Result, ranking: Ranking, first: str) -> str:
    """Describe, as markup, the leader's ranks without a family and by majority."""
    if result.state == "declined":
        return f"Not checked without each family; {link('check', 'robustness')}."
    if result.state == "failed":
        return (
            f"The check without each family failed: {safe(result.failure)} "
            f"{link('Try again', 'robustness')}."
        )
    if not result.ready:
        return f"<span class='muted'>Checking {first} without each family …</span>"
    return safe(result.value.sentence(int(ranking.order[0]), first))


def _extent(agreement: Agreement, cost: AgreementCost, ranking: Ranking) -> str:
    """Write the number of samples behind the ranking, and the cost of all."""
    n_samples = agreement.ensemble.n_samples
    if agreement.exact:
        return badge(f"{all_of(n_samples)} samples", kind="short") + " "
    total = whole(n_samples)
    some = whole(agreement.n_compared)
    low, high = ranking.rank_ranges[ranking.order[0]]
    text = (
        f"estimate from {some} of {total} samples; the first may be {span(low, high)}"
    )
    exact = f"make exact, {duration(cost.seconds)}"
    return (
        badge(text, kind="estimate")
        + " "
        + link(exact, "exact", kind="pill", css="cl-make-exact")
    )


def _gaps(ensemble: Ensemble) -> str:
    """Write how many models left samples out, and how pairs are counted then."""
    if not ensemble.is_partial:
        return ""
    gaps = ensemble.n_gaps[ensemble.n_gaps > 0]
    silent = span(int(gaps.min()), int(gaps.max()))
    does = "say nothing about" if ensemble.noise == "silent" else "left out"
    text = (
        f"{len(gaps)} of {count(ensemble.n_partitions, 'model')} {does} "
        f"{silent} of {count(ensemble.n_samples, 'sample')}: each pair is counted "
        "over the models that saw both"
    )
    return badge(text, kind="estimate cl-partial") + " "


def _null_chip(result: Result, seconds: Result) -> str:
    """Offer a comparison with copies without groups, or write its outcome."""
    css = "cl-null-check"
    if not seconds.ready:
        return "<span class='muted'>No pool was run, so none is run on copies.</span>"
    if result.ready:
        found = result.value
        colour = LIGHT_COLOURS[weigh_copies(found).light]
        dot = f"<span class='dot' style='background:{colour}'></span>"
        words = "more than by chance" if found.p_value <= LEVEL else "no evidence"
        title = f"{found.sentence} {copies_words(found)} {result.settings}."
        return (
            f"<span class='pill short {css}' title='{safe(title)}'>{dot} groups: "
            f"{words}, "
            f"p = {found.p_value:.2g}</span>"
        )
    if result.state == "pending":
        return f"<span class='pill {css}'>comparing with {COPIES_IN_WORDS} …</span>"
    if result.state == "failed":
        return (
            f"<span class='pill {css}'>{COPIES_IN_WORDS}: "
            f"{safe(result.failure)} "
            f"{link('try again', 'null_check')}</span>"
        )
    stopped, cost = result.stopped.capitalize(), result.cost(seconds.value)
    return link(
        f"{stopped}{'any' if stopped else 'Any'} groups at all? <b>{cost}</b>",
        "null_check",
        kind="pill",
        css=css,
    )
