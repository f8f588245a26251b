"""The reference of the package as pages, made of what help() shows: `sphinx-build -W crates/egret-python/reference FOLDER`."""

import re

project = "egret"
extensions = ["sphinx.ext.autodoc", "sphinx.ext.viewcode"]
autodoc_member_order = "bysource"
autodoc_typehints = "none"
html_title = "egret for Python"
html_copy_source = False


def escape(app, what, name, obj, options, lines):
    """What docstrings say is text: model_ is no link, and *others no emphasis. Examples stay as they are."""
    for place, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...")):
            lines[place] = re.sub(r"(\w)_(?!\w)", r"\1\\_", line).replace("*", r"\*")


def setup(app):
    app.connect("autodoc-process-docstring", escape)
