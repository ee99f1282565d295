"""A picture of a Superset page by headless Chromium; runs in Superset's environment, which has selenium."""

from __future__ import annotations

import sys
import time

from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

WAIT_S = 120
SETTLE_S = 3.0  # charts are drawn with an animation
OPTIONS = ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--window-size=1400,900")


def browser() -> webdriver.Chrome:
    """Debian's Chromium without a window."""
    options = webdriver.ChromeOptions()
    for option in OPTIONS:
        options.add_argument(option)
    options.binary_location = "/usr/bin/chromium"
    return webdriver.Chrome(service=webdriver.ChromeService("/usr/bin/chromedriver"), options=options)


def log_in(page: webdriver.Chrome, url: str, user: str, password: str) -> None:
    """Log in by the form."""
    page.get(f"{url}/login/")
    field = WebDriverWait(page, WAIT_S).until(lambda p: p.find_element(By.CSS_SELECTOR, "#username"))
    field.send_keys(user)
    field = page.find_element(By.CSS_SELECTOR, "#password")
    field.send_keys(password)
    field.submit()
    WebDriverWait(page, WAIT_S).until(lambda p: "/login" not in p.current_url)


def main(url: str, user: str, password: str, path: str, into: str, num_charts: str) -> None:
    """Save the picture once so many charts are drawn."""
    page = browser()
    try:
        log_in(page, url, user, password)
        page.get(url + path)
        WebDriverWait(page, WAIT_S).until(
            lambda p: len(p.find_elements(By.CSS_SELECTOR, "canvas")) >= int(num_charts)
        )
        time.sleep(SETTLE_S)
        page.save_screenshot(into)
    finally:
        page.quit()


if __name__ == "__main__":
    main(*sys.argv[1:])
