"""What axe-core finds on every page, in both themes."""

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from clusterlens.ui.shell import PAGES
from tests.ui.conftest import IDLE
from tests.ui.test_main_job import COUNT_CLICKS, LONG, picture

GRAVE = ("serious", "critical")
ASKED = {"resultTypes": ["violations"], "preload": False, "iframes": False}
LOOKS = 6
COLOURS = {"runOnly": ["color-contrast"]}


def grave_findings(app: Page, where: str, options: dict[str, list[str]]) -> list[str]:
    """What axe-core holds to be serious or critical, a line for each element.

    Colours fade into those of another theme: what is found is looked for again.
    """
    for _ in range(LOOKS):
        violations = Axe().run(app, options={**ASKED, **options}).response["violations"]
        found = [
            f"{where}: {rule['id']}: {node['html'][:200]}"
            for rule in violations
            if rule["impact"] in GRAVE
            for node in rule["nodes"]
        ]
        if not found:
            break
    return found


def test_no_page_has_a_serious_finding_in_either_theme(app):
    app.set_default_timeout(LONG)
    found = grave_findings(app, "start", {})
    app.evaluate(COUNT_CLICKS)
    app.locator(".cl-gallery .card", has_text="Iris").locator(".cl-open-run").click()
    picture(app, ".cl-consensus-matrix")
    assert app.evaluate("clicks") <= 2
    expect(app.locator(".cl-job")).to_be_hidden(timeout=LONG)
    for theme, options in (("first", {}), ("other", COLOURS)):
        for key, *_ in PAGES:
            app.locator(f".cl-nav-{key} button").click()
            page = app.locator(f".cl-page-{key}").first
            expect(page).to_be_visible(timeout=LONG)
            expect(page.locator(".skeleton")).to_have_count(0, timeout=LONG)
            app.wait_for_function(IDLE, timeout=LONG)
            found += grave_findings(app, f"{key}, {theme} theme", options)
        app.get_by_role("button", name="Toggle theme").click()
    assert not found, "\n".join(found)
