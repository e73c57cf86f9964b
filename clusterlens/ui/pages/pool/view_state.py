"""View state of the page Pool."""

from __future__ import annotations

import param

from clusterlens.ui.state.drafts import PoolDraft


class ViewState(param.Parameterized):
    """View parameters of this page, which other pages may read."""

    pool_draft = param.ClassSelector(
        class_=PoolDraft, default=PoolDraft(), doc="What the next run shall be."
    )
    pool_as_text = param.Boolean(False, doc="Whether the pool is edited as text.")
