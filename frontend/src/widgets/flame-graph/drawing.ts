import type { FlameNode } from "../../core/profiles/flame";

/** Narrower frames are not rendered. The server prunes frames narrower than half of it. */
export const MIN_FRAME_PX = 1;
export const CELL_PX = 18;
/** Height of the line of details below a flame graph. */
export const DETAILS_PX = 36;
/** Minimum height. With less room the element keeps its own height, and the user scrolls to it. */
export const LEAST_PX = 260;

export interface Point {
  x: number;
  y: number;
}

/** Options and pointer callbacks of a flame graph, common to both renderers. */
export interface FlameOptions {
  width: number;
  /** Whether the root is at the top (icicle graph). */
  inverted: boolean;
  fill(node: FlameNode): string;
  label(node: FlameNode): string;
  title(node: FlameNode): string;
  onPick(node: FlameNode): void;
  onHover(node: FlameNode | null): void;
  /** Open the context menu of a frame at window coordinates. Returns false if the frame has no menu. */
  onMenu?(node: FlameNode, at: Point): boolean;
}

/** Handle of a rendered flame graph. */
export interface Drawing {
  /** Outline a frame and return its top left corner in px, or undefined if it is not rendered. null clears. */
  mark(id: FlameNode["id"] | null): Point | undefined;
  /** Repaint the visible frames. undefined if the renderer does not need it. */
  repaint?(): void;
  destroy(): void;
}
