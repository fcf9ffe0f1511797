"""The digests of the files that the storage laboratory writes."""

from __future__ import annotations

import hashlib

from app.storage.laboratory.laboratory import BuiltStores
from app.storage.laboratory.traffic import LaboratoryTraffic

#: These contain the id of the process.
OF_THE_PROCESS = ("abort", "lock")


def digests_of_stores() -> dict[str, str]:
    """Write the default traffic; return path -> digest."""
    stores = BuiltStores(LaboratoryTraffic())
    folder = stores.sides["kafka"].runtime.folder.parent
    digests = {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in OF_THE_PROCESS
    }
    stores.close()
    return digests
