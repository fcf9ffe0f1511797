"""Write the stores of the storage laboratory in the Python that runs this: arguments ``PROJECT PACKAGES``.

The digest of each file, by its path, goes to the standard output as a JSON object.
"""

from __future__ import annotations

import json
import sys


def main(project: str, packages: str) -> None:
    """Run as a script."""
    sys.path[:0] = [project]
    sys.path.append(packages)
    from tests.support.pythons.without_compiled_packages import hide_compiled_packages

    hide_compiled_packages()
    from tests.app.storage.file_digests import digests_of_stores

    print(json.dumps(digests_of_stores()), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
