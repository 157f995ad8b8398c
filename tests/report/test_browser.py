"""A real browser shows a report: no errors, no requests, nothing wider than the window, light and dark."""

import functools
import http.server
import re
import shutil
import subprocess
import threading

import pytest

from report_cases import report

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None
)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium or Chrome is on the PATH")

# A frame is as narrow as we like, while the window of a headless browser is not. The page itself has no
# scripts, so one beside it measures it, and writes what it finds into its own document: --dump-dom prints it.
WATCHER = """<!doctype html><title>x</title><body>
<iframe id="f" src="report.html" style="border:0;width:{width}px;height:900px"></iframe>
<pre id="out"></pre><script>
document.getElementById("f").onload = (event) => {{
  const page = event.target.contentDocument, root = page.documentElement, found = [];
  const wide = (element) => element.closest(".wide, .drawing, pre, .skip") === null
    && element.getBoundingClientRect().right > root.clientWidth + 0.5;
  found.push("inner=" + event.target.contentWindow.innerWidth);
  found.push("scroll=" + root.scrollWidth);
  found.push("outside=" + [...page.body.querySelectorAll("*")].filter(wide).length);
  found.push("paper=" + event.target.contentWindow.getComputedStyle(page.body).backgroundColor);
  found.push("ink=" + event.target.contentWindow.getComputedStyle(page.body).color);
  found.push("text=" + event.target.contentWindow.getComputedStyle(page.querySelector(".drawing text")).fill);
  found.push("figures=" + [...page.querySelectorAll("figure svg")].filter((e) => e.clientHeight > 50).length);
  found.push("resources=" + event.target.contentWindow.performance.getEntriesByType("resource").length);
  document.getElementById("out").textContent = found.join(";");
}};
</script>"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves a folder and records the requests."""

    requests: list[str] = []  # noqa: RUF012 - one server a test

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.requests.append(self.path)
        super().do_GET()


@pytest.fixture
def folder(tmp_path):
    """A folder with the report, served on this machine: a script may look into a frame of its own origin."""
    report("mixed").save(tmp_path / "report.html")
    handler = type("Handler", (Quiet,), {"requests": []})
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(handler, directory=str(tmp_path))
    )
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield tmp_path, f"http://127.0.0.1:{server.server_port}", handler.requests
    server.shutdown()
    thread.join()
    server.server_close()


def browse(url, profile, *more):
    command = [
        CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
        "--disable-background-networking", "--disable-component-update", "--disable-sync",
        "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1", "--enable-logging=stderr", "--v=0",
        f"--user-data-dir={profile}", "--virtual-time-budget=4000", *more, url,
    ]  # fmt: skip
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)


def measured(folder, width, *more):
    path, address, requests = folder
    (path / "watcher.html").write_text(WATCHER.format(width=width), encoding="utf-8")
    done = browse(f"{address}/watcher.html", path / "profile", "--window-size=1400,1000", "--dump-dom", *more)
    found = re.search(r'<pre id="out">([^<]+)</pre>', done.stdout)
    assert found, done.stdout[-500:] + done.stderr[-2000:]
    console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    return dict(pair.split("=") for pair in found[1].split(";")), console, requests


LIGHT = ("1", "rgb(255, 255, 255)", "rgb(51, 51, 51)")
DARK = ("0", "rgb(21, 24, 28)", "rgb(227, 230, 234)")


@pytest.mark.parametrize(("width", "scheme"), [(390, DARK), (1280, LIGHT)])
def test_report_fits_its_window_and_makes_no_requests(folder, width, scheme):
    setting, paper, ink = scheme
    found, console, requests = measured(folder, width, f"--blink-settings=preferredColorScheme={setting}")
    assert found["inner"] == str(width)
    assert int(found["scroll"]) <= width
    assert found["outside"] == "0"
    assert (found["paper"], found["ink"], found["text"]) == (paper, ink, ink)
    assert int(found["figures"]) == len(report("mixed").figures)
    assert console == []
    assert found["resources"] == "0"
    assert sorted(set(requests) - {"/favicon.ico"}) == ["/report.html", "/watcher.html"]


def test_width_check_finds_wide_elements(folder):
    page = folder[0] / "report.html"
    html = page.read_text(encoding="utf-8").replace("<main", '<div style="width:2000px">wide</div><main', 1)
    page.write_text(html, encoding="utf-8")
    found, _, _ = measured(folder, 390)
    assert int(found["scroll"]) > 390
    assert int(found["outside"]) > 0


def test_report_can_be_printed(folder):
    path, address, _ = folder
    browse(f"{address}/report.html", path / "profile", f"--print-to-pdf={path / 'report.pdf'}")
    assert (path / "report.pdf").read_bytes().startswith(b"%PDF-")
