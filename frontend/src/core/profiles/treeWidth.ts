/** Width of the tree that the server stores with each profile, and sends without reading the samples. */
const STORED_PX = 1200;
const GRID_PX = 300;

/**
 * Return the width in px for requests of trees in a window of `windowPx`. The server omits frames that are narrower than
 * half a pixel at this width. A drawing is at most as wide as the window and omits frames below one pixel, so 5/8 of the
 * window lose no frame that is drawn. The grid keeps requests few while a window is resized.
 */
export const treeWidth = (windowPx: number): number =>
  Math.max(STORED_PX, Math.ceil((windowPx * 5) / 8 / GRID_PX) * GRID_PX);
