"""Request and response schemas of disassembled functions."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from culprit.web.schemas import MessageRef


class DisassemblyCreate(BaseModel):
    """A function of a profile; without `module`, that of its module with the most samples."""

    model_config = ConfigDict(extra="forbid")

    function: Annotated[str, Field(min_length=1, max_length=4096)]
    module: Annotated[str, Field(max_length=4096)] = ""


class InstructionResponse(BaseModel):
    """One instruction. `offset` is from the begin of the function in bytes, `samples` are those whose address is in it.

    `target` is the offset that a branch within the function leads to, `callee` the function that one outside leads to.
    `file` is an index in `files`. Without code, there is one item for each sampled address, with `length` 0.
    """

    offset: int
    length: int
    text: str
    target: int | None
    callee: str | None
    file: int | None
    line: int | None
    samples: int


class SameNameResponse(BaseModel):
    """Another function of the same name, and its samples."""

    module: str
    samples: int


class DisassemblyListing(BaseModel):
    """The function and its instructions.

    `address`: that of the first instruction, hexadecimal, in the numbering of the file as objdump prints it; of the
    kernel, in memory. `size`: bytes. `samples`: all of the event; `function_samples`: those with an address in the
    function; `counted_samples`: those of the listed instructions. `code_reason` and `lines_reason` state why
    instructions or source lines are not at hand.
    """

    module: str
    address: str
    size: int
    samples: int
    function_samples: int
    counted_samples: int
    code_reason: MessageRef | None
    lines_reason: MessageRef | None
    cut: bool
    files: list[str]
    instructions: list[InstructionResponse]
    others: list[SameNameResponse]


class DisassemblyResponse(BaseModel):
    """A function of a profile; `listing` is there when `state` is `ready`.

    `fetch_state` is that of the session that fetches the code from the host, null if there was none. `can_fetch`: the
    host may have the code, and this account may request it.
    """

    id: UUID
    profile_id: UUID
    function: str
    state: str
    failure: MessageRef | None
    fetch_state: str | None
    fetch_failure: MessageRef | None
    can_fetch: bool
    listing: DisassemblyListing | None
