"""Makes the film of the start page, for ``make install`` and ``make wheel``; does nothing when there is one already.

The film is a function of the sources (see :mod:`app.lab.routes.film_file`): it has the same bytes every time.
"""

from __future__ import annotations

from concurrent.futures import Future

from app.lab.routes.demonstration import DemonstrationMaker
from app.lab.routes.film_file import built_film, write_built_film


def main() -> None:
    """Make it."""
    if built_film() is not None:
        return
    maker = DemonstrationMaker(Future())
    while not maker.advance(lambda: False):
        pass
    maker.close()
    write_built_film(maker.answer.result())


if __name__ == "__main__":
    main()
