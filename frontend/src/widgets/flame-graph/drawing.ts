import type { FlameNode } from "../../core/profiles/flame";

/** Frames narrower than this are not drawn; the server has pruned below half of it. */
export const MIN_FRAME_PX = 1;
export const CELL_PX = 18;

export interface Point {
  x: number;
  y: number;
}

/** How a tree is drawn, and who learns of the pointer; the same for both renderers. */
export interface FlameOptions {
  width: number;
  /** Root on top, as an icicle. */
  inverted: boolean;
  fill(node: FlameNode): string;
  label(node: FlameNode): string;
  title(node: FlameNode): string;
  onPick(node: FlameNode): void;
  onHover(node: FlameNode | null): void;
  /** A request for the menu of a frame, at a point of the window; true where there is one. */
  onMenu?(node: FlameNode, at: Point): boolean;
}

/** A tree that is drawn. */
export interface Drawing {
  /** Outlines a frame and returns where it begins, in px of the drawing. */
  mark(id: FlameNode["id"] | null): Point | undefined;
  /** Draws again with other colors; undefined where the whole tree must be drawn again. */
  repaint?(): void;
  destroy(): void;
}
