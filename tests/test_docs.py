"""The pages: every file that they name exists, and the check of the built site notices what it is for."""

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
NAMED = re.compile(
    r"`((?:src|native|configs|benchmarks|docs|tests|web|measurements|requirements)/[\w./-]*\w|\w+/[\w/]+\.py)`"
)
LINK = re.compile(r"\]\((?![a-z]+:|#)([^)#\s]+)")
CONFINED = "<meta http-equiv='Content-Security-Policy' content=\"default-src 'self' data:\">"


@pytest.fixture(scope="module")
def check_site():
    spec = importlib.util.spec_from_file_location("check_site", ROOT / "docs" / "check_site.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_a_page_names_exists(page):
    text = page.read_text(encoding="utf-8")
    gone = [name for name in NAMED.findall(text) if not any((place / name).exists() for place in places())]
    assert not gone, f"{page.name} names what does not exist: {gone}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_its_links_lead_somewhere(page):
    gone = [link for link in LINK.findall(page.read_text(encoding="utf-8")) if not (page.parent / link).exists()]
    assert not gone, f"{page.name} links to what does not exist: {gone}"


def places():
    return ROOT, ROOT / "src" / "pic_uie"


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ("<a href='https://example.org'>a link is for the reader to follow</a><img src='a.png'>", None),
        ("<script src='https://example.org/x.js'></script>", "loads https://example.org/x.js"),
        ("<link rel='preconnect' href='//example.org'>", "loads //example.org"),
        ("<img src='HTTP://example.org/a.png'>", "loads HTTP://example.org/a.png"),
        ("<style>@import 'https://example.org/a.css'</style>", "loads https://example.org/a.css"),
        ("<p style='background:url(https://example.org/a.png)'></p>", "loads https://example.org/a.png"),
    ],
)
def test_the_check_of_the_site(check_site, tmp_path, body, complaint):
    (tmp_path / "index.html").write_text(f"<html><head>{CONFINED}</head><body>{body}</body></html>")
    found = list(check_site.problems(tmp_path))
    assert len(found) == (complaint is not None)
    assert not found or complaint in found[0]


def test_a_page_without_a_policy_and_a_site_without_pages(check_site, tmp_path):
    assert "no pages" in next(check_site.problems(tmp_path))
    (tmp_path / "index.html").write_text("<html><head></head></html>")
    assert "Content-Security-Policy" in next(check_site.problems(tmp_path))
