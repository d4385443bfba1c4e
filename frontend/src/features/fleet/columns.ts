import type { Resource, UseCategory } from "../../core/hosts/fleet";

/** Split a column ID of the USE grid, such as `cpu.saturation`, into resource and category. */
export const splitColumnId = (column: string) => column.split(".") as [Resource, UseCategory];
