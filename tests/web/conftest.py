"""The page in a real browser: Debian's Chromium, driven by playwright, against `pic-uie page`."""

import functools
import http.server
import shutil
import subprocess
import sys
import threading

import pytest

from helpers.building import make

CHROMIUM = shutil.which("chromium-headless-shell") or shutil.which("chromium")  # the former is the same without windows
TOOLS = ("clang++-22", "wasm-ld-22", "cmake", "make")
PACKAGES = "cmake make clang-22 lld-22 wasi-libc libc++-22-dev-wasm32 libc++abi-22-dev-wasm32 libclang-rt-22-dev-wasm32"


@pytest.fixture(scope="session")
def built(root):
    if missing := [tool for tool in TOOLS if shutil.which(tool) is None]:
        pytest.skip(f"{', '.join(missing)} not installed: apt install {PACKAGES}")
    npm(root)
    done = make(root, "page")
    assert done.returncode == 0, done.stdout + done.stderr
    return root / "dist" / "page"


def npm(root):
    """Fetches what the page and its tests take from npm."""
    if shutil.which("npm") is None:
        pytest.skip("npm not installed: apt install npm")
    done = make(root, "page-tools")
    if done.returncode:
        pytest.skip(f"npm cannot fetch its packages: {done.stderr[-200:]}")


@pytest.fixture(scope="session")
def axe(root):
    """The script of axe-core, which npm fetches."""
    npm(root)
    return (root / "web" / "node_modules" / "axe-core" / "axe.min.js").read_text()


@pytest.fixture(scope="session")
def address(built):
    command = [sys.executable, "-m", "pic_uie", "page", "--port", "0"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    yield server.stdout.readline().strip()
    server.terminate()
    server.wait()


@pytest.fixture
def plain_host(built):
    """A host that sets no headers, as many static hosts."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=built))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()


@pytest.fixture(scope="session")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright not installed: pip install playwright")
    if CHROMIUM is None:
        pytest.skip("chromium not installed: apt install chromium-headless-shell")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


class Visit:
    """An open page, with every request and every complaint that it made."""

    def __init__(self, browser, address, **options):
        self.address = address
        self.context = browser.new_context(**options)
        self.page = self.context.new_page()
        self.page.set_default_timeout(60_000)
        self.requests, self.complaints = [], []
        self.context.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda line: self.complaints.append(line.text) if line.type == "error" else None)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.load()

    def load(self):
        self.page.goto(self.address)
        self.page.wait_for_selector("body[data-ready]")

    def open(self, *paths):
        self.page.set_input_files("#files", [str(path) for path in paths])
        self.page.wait_for_selector("#status:has-text('is open.')")

    def message(self, words):
        self.page.wait_for_selector(f"#status:has-text({words!r})")

    def set(self, **percent):
        for name, value in percent.items():
            self.page.locator(f"#{name}").fill(str(value))

    def download(self, button, path):
        with self.page.expect_download() as caught:
            self.page.click(button)
        caught.value.save_as(path)
        return path, caught.value.suggested_filename

    def foreign(self):
        return [url for url in self.requests if not url.startswith((self.address, f"blob:{self.address}"))]


@pytest.fixture
def visit(browser, address):
    """A fresh page; fails where it complained or asked for a file that is not its own."""
    visits = []

    def start(where=address, **options):
        visits.append(Visit(browser, where, **options))
        return visits[-1]

    yield start
    for opened in visits:
        complaints, foreign = opened.complaints, opened.foreign()
        opened.context.close()
        assert not complaints
        assert not foreign
