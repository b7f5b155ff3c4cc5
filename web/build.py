"""Puts the page together: `make page` runs it after the core is compiled and npm has fetched its packages.

    python web/build.py [--out dist/page]

Copies the modules without their comments, writes the weights as the core reads them, and the facts that the page shows;
the service worker gets the list of files, and a version that is the hash of all their contents.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import re
import shutil
from pathlib import Path

import pic_uie
from pic_uie import weights

WEB = Path(__file__).parent
ROOT = WEB.parent
OWN = (
    "*.html",
    "*.css",
    "*.js",
    "*.svg",
    "*.png",
    "*.jpg",
    "*.webmanifest",
    "elements/*.js",
    "metadata/*.js",
    "worker/*.js",
)
LIBRARY = {  # fetched with the first video, or beforehand by the service worker; it is not counted
    "mediabunny/mediabunny.mjs": "node_modules/mediabunny/dist/bundles/mediabunny.min.mjs",
    "mediabunny/LICENSE": "node_modules/mediabunny/LICENSE",
}
LAZY = ("example.jpg", "service-worker.js", *LIBRARY)  # not fetched when the page is opened
COMMENT = re.compile(r"^\s*/\*\*.*?\*/", re.MULTILINE | re.DOTALL)
REMARK = re.compile(r"(?<=[;,{})\]]) // .*$")  # behind code, which ends with one of these
LIMIT = 200_000  # bytes, gzipped


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "dist" / "page")
    out: Path = parser.parse_args().out
    shutil.rmtree(out, ignore_errors=True)
    for pattern in OWN:
        for source in WEB.glob(pattern):
            copy(source, out / source.relative_to(WEB))
    for script in out.rglob("*.js"):
        script.write_text(without_comments(script.read_text()))
    for name, source in LIBRARY.items():
        copy(WEB / source, out / name)
    for name in ("pic_uie.wasm", "pic_uie.threads.wasm"):
        copy(ROOT / "build" / "wasm" / name, out / name)
    loaded = weights.load()
    (out / "weights.bin").write_bytes(weights.flatten(loaded))
    config = loaded.config
    facts = {
        "version": pic_uie.__version__,
        "weights": {
            "sha256": loaded.sha256,
            "width": config.width,
            "thumbnail": config.thumbnail,
            "grid": config.lut_grid,
        },
    }
    (out / "facts.js").write_text(f"export const facts = {json.dumps(facts)};\n")
    write_service_worker(out)
    sizes = {path.relative_to(out).as_posix(): zipped(path) for path in files(out)}
    library = sum(sizes.pop(name) for name in LIBRARY)
    size = sum(sizes.values())
    print(f"{out}: {size / 1000:.0f} KB gzipped, and {library / 1000:.0f} KB for video")
    if size > LIMIT:
        raise SystemExit(f"the page is larger than {LIMIT // 1000} KB: make it smaller")


def copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


def without_comments(script: str) -> str:
    """Leaves out comments and indentation: what readers want and browsers do not."""
    lines = (REMARK.sub("", line).strip() for line in COMMENT.sub("", script).splitlines())
    return "".join(f"{line}\n" for line in lines if line and not line.startswith("//"))


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def zipped(path: Path) -> int:
    return len(gzip.compress(path.read_bytes(), mtime=0))


def write_service_worker(out: Path) -> None:
    names = [path.relative_to(out).as_posix() for path in files(out)]
    contents = hashlib.sha256()
    for name in names:
        contents.update(name.encode() + (out / name).read_bytes())
    kept = ["./", *(name for name in names if not name.startswith(LAZY) and name != "index.html")]
    page = json.dumps({"version": contents.hexdigest()[:16], "files": kept, "later": list(LIBRARY)})
    script = without_comments((WEB / "service-worker.js").read_text())
    (out / "service-worker.js").write_text(script.replace("= PAGE;", f"= {page};"))


if __name__ == "__main__":
    main()
