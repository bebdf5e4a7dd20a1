"""A process that commits without end, for a test that kills it.

argv: KIND PATH RECORDS FOLDER. Generation after generation it writes the same number into `one`,
`two` and `linked` (a file of two names), makes and removes `deep/er/now`, and moves `here` to
`there` and back; it says so on stdout.
"""

import sys
from itertools import count
from pathlib import Path

import anyio

from hermes.ports.files import Change, Move, Remove, Write
from places import Place, sha


def content(generation: int) -> bytes:
    """What every file of one generation holds; long enough to take some time."""
    return b"%d\n" % generation * 20_000


def changes(place: Place, generation: int) -> list[Change]:
    """From the generation before to `generation`."""
    old, new = content(generation - 1), content(generation)
    writes = [
        Write(path=place.at(name), data=new, expect=sha(old)) for name in ("one", "linked", "two")
    ]
    deep = place.at("deep/er/now")
    ends = [place.at("here"), place.at("there")]
    if generation % 2:
        made: Change = Write(path=deep, data=new, expect=None, like=place.at("one"))
    else:
        made = Remove(path=deep, expect=sha(old))
        ends.reverse()
    return [writes[0], made, writes[1], Move(source=ends[0], target=ends[1]), writes[2]]


async def main() -> None:
    kind, path, records, folder = sys.argv[1:]
    place = Place(kind=kind, path=path, records=Path(records), folder=Path(folder))
    first = int(Path(place.at("one")).read_bytes().split(b"\n")[0])
    for generation in count(first + 1):
        await place.files.commit(changes(place, generation))
        print(generation, flush=True)


if __name__ == "__main__":
    anyio.run(main)
