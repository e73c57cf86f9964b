"""Formulas as MathML: browsers draw it themselves, without script, font or request."""

import re

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict:
    """Register the renderer of formulas."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    app.config.html_math_renderer = "mathml"
    return {"parallel_read_safe": True}


def to_mathml(tex: str, as_block: bool = False) -> str:
    """Return a formula as MathML.

    TeX takes one digit as an argument without braces; docutils takes all digits that
    follow. So each digit gets the braces that TeX implies.
    """
    tex = re.sub(r"(\\[dt]?frac)\s*(\d)\s*(\d)", r"\1{\2}{\3}", tex)
    tex = re.sub(r"([\^_])(\d)(?=\d)", r"\1{\2}", tex)
    return tex2mathml(tex, as_block=as_block)


def _inline(translator, node: nodes.math) -> None:
    translator.body.append(to_mathml(node.astext()))
    raise nodes.SkipNode


def _block(translator, node: nodes.math_block) -> None:
    formula = to_mathml(node.astext(), as_block=True)
    translator.body.append(f'<div class="formula">{formula}</div>\n')
    raise nodes.SkipNode
