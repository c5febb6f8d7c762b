"""The addresses of the project in the metadata of a release, from the variables that the release workflow sets.

A clone that is installed has none: its links lead to its own files, and never to another repository.
"""

import os
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface


class Addresses(MetadataHookInterface):
    """Fills `urls`."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the address of the site, which rules link to, and those below the repository."""
        urls = {"Documentation": os.environ.get("PROJECT_DOCUMENTATION")}
        if repository := os.environ.get("PROJECT_REPOSITORY"):
            urls |= {
                "Source": repository,
                "Issues": f"{repository}/issues",
                "Changelog": f"{repository}/blob/main/CHANGELOG.md",
            }
        metadata["urls"] = {label: url for label, url in urls.items() if url}
