"""The page in a browser: charts are drawn, tables sort, a phone shows all of it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from test_report import HARDWARE, NETWORK, QUICK

from maestro_env.experiments.network.networks import map_network

pytestmark = pytest.mark.slow
pytest.importorskip("vl_convert")
webdriver = pytest.importorskip("selenium.webdriver")
BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
if not BROWSER or not DRIVER:
    pytest.skip("needs chromium and chromium-driver", allow_module_level=True)

PHONE, NARROW_DESK, DESK = 390, 1100, 1200


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    map_network(NETWORK, hardware=HARDWARE, settings=QUICK).report(path)
    return path


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options, webdriver.ChromeService(DRIVER))
    # Whatever the page asked of a network would fail, and be in the log.
    driver.execute_cdp_cmd("Network.enable", {})
    driver.execute_cdp_cmd(
        "Network.emulateNetworkConditions",
        {"offline": True, "latency": 0, "downloadThroughput": 0, "uploadThroughput": 0},
    )
    yield driver
    driver.quit()


def show(browser: Any, page: Path, width: int, scheme: str = "light") -> None:
    """Open the page and wait until all is drawn."""
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width == PHONE}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    preferred = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": preferred})
    browser.get(page.as_uri())
    waiter = pytest.importorskip("selenium.webdriver.support.ui").WebDriverWait(browser, 60)
    waiter.until(
        lambda each: each.execute_script("return 'ready' in document.documentElement.dataset")
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [PHONE, DESK])
def test_the_page_is_readable(browser: Any, page: Path, width: int, scheme: str) -> None:
    show(browser, page, width, scheme)
    assert browser.get_log("browser") == []
    assert browser.execute_script("return document.scrollingElement.scrollWidth") <= width
    # Nothing but tables and programs scrolls, and no chart is cut.
    assert browser.execute_script(
        "return [...document.querySelectorAll('svg')].every("
        "svg => svg.getBoundingClientRect().right <= window.innerWidth)"
    )
    colours = browser.execute_script(
        "const style = element => getComputedStyle(element);"
        "const label = document.querySelector('.role-axis-label text');"
        "return [style(document.body).backgroundColor, style(label).fill]"
    )
    brightness = [sum(map(int, colour[4:-1].split(","))) for colour in colours]
    assert (brightness[0] > brightness[1]) == (scheme == "light")


def test_no_table_is_cut_on_a_desk(browser: Any, page: Path) -> None:
    show(browser, page, NARROW_DESK)
    cut = "each => each.scrollWidth > each.clientWidth"
    tables = f"[...document.querySelectorAll('.scroll')].filter({cut})"
    assert browser.execute_script(f"return {tables}.map(each => each.ariaLabel)") == []


def test_every_series_is_drawn(browser: Any, page: Path) -> None:
    show(browser, page, DESK)
    marks = browser.execute_script(
        "return [...document.querySelectorAll('figure')].map(figure =>"
        "['symbol', 'rect', 'line'].map(kind =>"
        "figure.querySelectorAll(`.role-mark.mark-${kind} > path`).length))"
    )
    layers, memories = len(NETWORK.layers), 5
    roofline, by_layer, by_memory, convergence = marks
    assert roofline == [layers, 0, 1]
    assert by_layer[1] == layers * memories
    assert by_memory[1] == 1 + 4 * 3
    assert convergence[2] == layers
    assert convergence[0] >= layers


@pytest.mark.parametrize("key", [None, "ENTER", "SPACE"])
def test_tables_sort_by_click_and_by_key(browser: Any, page: Path, key: str | None) -> None:
    show(browser, page, DESK)
    keys = pytest.importorskip("selenium.webdriver.common.keys").Keys
    table = browser.find_elements("css selector", "table")[1]
    headings = table.find_elements("css selector", "thead th")
    shares = [heading.text for heading in headings]
    column = next(i for i, text in enumerate(shares) if text.startswith("latency\ncycles"))

    def figures() -> list[float]:
        cells = table.find_elements("css selector", f"tbody tr > :nth-child({column + 1})")
        return [float(cell.text.replace(",", "")) for cell in cells]

    before = figures()
    assert before not in (sorted(before), sorted(before, reverse=True))
    for order in ("ascending", "descending"):
        button = headings[column].find_element("css selector", "button")
        if key is None:
            button.click()
        else:
            button.send_keys(getattr(keys, key))
        assert headings[column].get_attribute("aria-sort") == order
        assert figures() == sorted(before, reverse=order == "descending")


def test_names_are_text(browser: Any, page: Path) -> None:
    show(browser, page, DESK)
    chains = pytest.importorskip("selenium.webdriver.common.action_chains").ActionChains
    bar = browser.find_elements("css selector", "figure .mark-rect.role-mark > path")[1]
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", bar)
    chains(browser).move_to_element(bar).perform()
    tip = browser.find_element("id", "vg-tooltip-element")
    assert NETWORK.layers[0].name in tip.text
    assert browser.execute_script("return window.broken") is None
    cells = browser.find_elements("css selector", "table tbody th")
    names = {cell.text for cell in cells}
    assert {layer.name for layer in NETWORK.layers} <= names
