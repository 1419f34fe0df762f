"""Write the project's address into its package: `python assets/name_repository.py URL`.

The sources do not say it, so that whoever carries a copy publishes with the address of that copy.
The workflow of the wheels calls it with the address of the repository in which it runs.
"""

import argparse
import re
from pathlib import Path

URLS = """[project.urls]
Homepage = "{0}"
Documentation = "{0}/tree/main/assets/handbook"
Issues = "{0}/issues"
Changelog = "{0}/blob/main/CHANGELOG.md"

"""


def name_repository(url: str, folder: Path) -> None:
    """Add the addresses below `url` to pyproject.toml and CITATION.cff of `folder`.

    Raises:
        ValueError: if it is no https address, or a file has an address already.
    """
    if not re.fullmatch(r"https://[\w.-]+(/[\w.-]+)+", url):
        raise ValueError(f"{url!r} is no address like https://HOST/OWNER/NAME")
    project, citation = folder / "pyproject.toml", folder / "CITATION.cff"
    told, cited = project.read_text("utf-8"), citation.read_text("utf-8")
    if "[project.urls]" in told or "repository-code:" in cited:
        raise ValueError(f"{folder} has an address already")
    scripts = "[project.scripts]"
    project.write_text(told.replace(scripts, URLS.format(url) + scripts, 1), "utf-8")
    citation.write_text(cited.replace("license:", f"repository-code: {url}\nlicense:", 1), "utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("url", help="https://HOST/OWNER/NAME")
    parser.add_argument("--folder", type=Path, default=Path(__file__).resolve().parents[1])
    arguments = parser.parse_args()
    try:
        name_repository(arguments.url, arguments.folder)
    except ValueError as error:
        parser.error(str(error))
