import type { components } from "../../../client/schema";
import { nestUnderAncestors } from "../../../core/profiles/flame";
import { treeWidth } from "../../../core/profiles/treeWidth";
import { parseSearch } from "../../../core/search";
import { requestEarly } from "../../../lib/requests/earlyAnswers";
import { parseFields } from "../../../lib/urlFields";
import { drawEarlyFlame } from "../../../widgets/flame-graph/earlyFlame";
import { isTreeView, PROFILE_FIELDS, toSelection, toTreeQuery, toTreeView } from "../filter";

const PAGE = /^\/profiles\/([0-9a-f-]{36})$/;
/** Views whose whole area is one flame graph. */
const FLAME_VIEWS: readonly string[] = ["flame", "icicle", "callers"];

/**
 * Request the tree and the profile of an address, and draw the tree as soon as it is here, before the application has
 * started. Returns undefined for other pages, else a promise that resolves after the drawing was painted.
 */
export function openProfileEarly({ pathname, search }: Location): Promise<void> | undefined {
  const id = PAGE.exec(pathname)?.[1];
  if (!id) return undefined;
  const state = parseFields(PROFILE_FIELDS, parseSearch(search));
  const address = `/profiles/${id}`;
  const view = toTreeView(state, treeWidth(window.innerWidth));
  const tree = isTreeView(state.view)
    ? requestEarly(`${address}/tree`, toTreeQuery(toSelection(state), view))
    : undefined;
  // The frames that a search matches have other colors, which may need another request.
  if (!tree || !FLAME_VIEWS.includes(state.view) || state.q) {
    void requestEarly(address);
    return undefined;
  }
  return tree.then(async (answer) => {
    // Not before: the server would answer both at the same time, and the drawing would be later.
    void requestEarly(address);
    const data = answer?.data as components["schemas"]["ProfileTreeResponse"] | undefined;
    if (!data || data.total === 0) return;
    await waitForBody();
    const inverted = state.view !== "flame";
    drawEarlyFlame(nestUnderAncestors(data.path ?? [], data.tree), { inverted, colorBy: state.color });
    await waitForPaint();
  });
}

/** Resolve when the page is parsed. The script runs as soon as it is loaded, which can be earlier. */
const waitForBody = (): Promise<void> =>
  new Promise((resolve) => {
    if (document.readyState !== "loading") resolve();
    else document.addEventListener("DOMContentLoaded", () => resolve(), { once: true });
  });

/** Resolve after the next frame was painted: a message that a frame callback sends is delivered after its frame. */
const waitForPaint = (): Promise<void> =>
  new Promise((resolve) => {
    requestAnimationFrame(() => {
      const channel = new MessageChannel();
      channel.port1.onmessage = () => resolve();
      channel.port2.postMessage(undefined);
    });
  });
