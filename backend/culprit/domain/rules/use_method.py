"""Categories of Brendan Gregg's USE method: a resource, and utilization, saturation or errors.

Utilization is how much of a resource is used; saturation is work that waits for it or is rejected because it is full;
errors are its failures. https://www.brendangregg.com/usemethod.html
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Resource = Literal["cpu", "memory", "disk", "network", "application", "kernel"]
UseType = Literal["utilization", "saturation", "errors"]

#: In the order of the grid. `kernel` is the kernel and the hardware.
RESOURCES: tuple[Resource, ...] = ("cpu", "memory", "disk", "network", "application", "kernel")
USE_TYPES: tuple[UseType, ...] = ("utilization", "saturation", "errors")


@dataclass(frozen=True, slots=True)
class Use:
    """One column of the USE grid."""

    resource: Resource
    use_category: UseType
