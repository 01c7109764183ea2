"""Hooks of mkdocs, which turn the pages of docs/ into a site. The pages are also read in the repository."""

import os
import pathlib
import posixpath
import re
import shutil

REPOSITORY = "https://github.com/tfprof/tfprof/blob/main/"


def on_page_markdown(markdown, page, **_):
    # The words behind the language of a block are for the tests.
    markdown = re.sub(r"^(```[a-z]+) .*$", r"\1", markdown, flags=re.MULTILINE)
    return re.sub(r"\]\(([^)\s]+)\)", lambda link: outward(link, page.file.src_uri), markdown)


def outward(link, page):
    """A link to a file outside docs/ leads to the repository."""
    target = link[1]
    if "://" in target or target.startswith("#"):
        return link[0]
    path = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page), target))
    return link[0] if path.startswith("docs/") else f"]({REPOSITORY}{path})"


def on_post_page(output, page, **_):
    # The theme would take this script, which searches from file://, from another host.
    up = "../" * page.file.dest_uri.count("/")
    return output.replace("https://unpkg.com/iframe-worker/shim", f"{up}assets/iframe-worker.js")


def on_post_build(config, **_):
    shim = (
        pathlib.Path(config["config_file_path"]).parent
        / os.environ["SITE_TOOLS"]
        / "node_modules"
        / "iframe-worker"
        / "shim"
        / "index.js"
    )
    shutil.copy(shim, pathlib.Path(config["site_dir"]) / "assets" / "iframe-worker.js")
