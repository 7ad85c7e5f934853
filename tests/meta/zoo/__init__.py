"""A zoo of real bugs: kernels of the upstream form with one bug each, by the classes of the field notes."""

from __future__ import annotations

from tests.meta.zoo import metadata, padding, sizes, windows
from tests.meta.zoo.animal import Animal

ZOO: dict[str, Animal] = {
    animal.name: animal
    for animal in sorted(
        windows.ANIMALS + padding.ANIMALS + sizes.ANIMALS + metadata.ANIMALS, key=lambda animal: animal.bug_class
    )
}
