# SPDX-License-Identifier: MIT
# Sphinx: "make docs" builds the pages.
project = 'The open Trainium stack'
exclude_patterns = []
html_theme = 'alabaster'
html_show_copyright = False
