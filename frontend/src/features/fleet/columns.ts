import type { Letter, Resource } from "../../core/fleet";

/** A column of the USE grid taken apart. */
export const partsOf = (column: string) => column.split(".") as [Resource, Letter];
