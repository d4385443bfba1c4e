import type { Resource, UseCategory } from "../../core/hosts/fleet";

/** A column of the USE grid taken apart. */
export const splitColumnId = (column: string) => column.split(".") as [Resource, UseCategory];
