"""The one place with the version number."""

from typing import Final

VERSION: Final = "0.1.0"
