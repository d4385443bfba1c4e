import { type KeyboardEvent, type PointerEvent, useEffect, useRef, useState } from "react";
import {
  clampRange,
  orderRange,
  panRange,
  type Range,
  spanOf,
  toTime,
  zoomRange,
} from "../../core/time/range";
import { findTimeAction } from "../../core/time/timekeys";
import { rangeField, useUrlState } from "../../lib/urlState";

/** Horizontal position of the time axis in a chart, in px from its left edge. */
export interface Plot {
  readonly left: number;
  readonly width: number;
}

const FIELDS = { span: rangeField };
/** A shorter drag counts as a click. */
const LEAST_DRAG_PX = 4;
const REST_MS = 250;

/**
 * Zoom a chart with a time axis: drag and Ctrl-wheel zoom, Shift-wheel pans, and the keys of a timeline work while the
 * chart has the focus. The range is written to the URL REST_MS after the last change. Times are ns since the start.
 * Returns the visible range, the brush, and the event handlers (`handlers`) for the element with the ref `box`.
 */
export function useZoom(whole: Range, plot: Plot) {
  const [url, setUrl] = useUrlState(FIELDS);
  const [live, setLive] = useState<Range>();
  const [drag, setDrag] = useState<{ from: number; to: number }>();
  const box = useRef<HTMLDivElement>(null);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const requested = live ?? url.span;
  const range =
    requested && requested.from < whole.to && requested.to > whole.from
      ? clampRange(requested, whole)
      : whole;
  const zoomed = range.from > whole.from || range.to < whole.to;
  const go = (next: Range) => {
    setLive(next);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      const all = next.from <= whole.from && next.to >= whole.to;
      setUrl({ span: all ? undefined : next });
      setLive(undefined);
    }, REST_MS);
  };
  useEffect(() => () => clearTimeout(timer.current), []);

  const now = useRef({ range, plot, go, whole });
  now.current = { range, plot, go, whole };
  const at = (clientX: number) => {
    const { left, width } = now.current.plot;
    return toTime(
      clientX - (box.current?.getBoundingClientRect().left ?? 0) - left,
      now.current.range,
      width,
    );
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: the handler reads current values from a ref
  useEffect(() => {
    const node = box.current;
    if (!node) return;
    const wheel = (event: WheelEvent) => {
      const h = now.current;
      if (event.ctrlKey || event.metaKey)
        h.go(zoomRange(h.range, at(event.clientX), Math.exp(event.deltaY * 0.0022), h.whole));
      else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY))
        h.go(panRange(h.range, (event.deltaX || event.deltaY) / h.plot.width, h.whole));
      else return;
      event.preventDefault();
    };
    node.addEventListener("wheel", wheel, { passive: false });
    return () => node.removeEventListener("wheel", wheel);
  }, []);

  const onKeyDown = (event: KeyboardEvent) => {
    const act = findTimeAction(event);
    const middle = (range.from + range.to) / 2;
    if (act?.act === "zoom") go(zoomRange(range, middle, act.factor, whole));
    else if (act?.act === "pan") go(panRange(range, act.share, whole));
    else if (act?.act === "all" || (act?.act === "clear" && zoomed)) go(whole);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const pressed = useRef<number>(undefined);
  const handlers = {
    tabIndex: 0,
    onKeyDown,
    onPointerDown: (event: PointerEvent) => {
      if (event.button === 0) pressed.current = event.clientX;
    },
    onPointerMove: (event: PointerEvent) => {
      const from = pressed.current;
      if (from === undefined || (!drag && Math.abs(event.clientX - from) < LEAST_DRAG_PX)) return;
      // Capture the pointer only during a drag, so that marks receive clicks.
      if (!drag) event.currentTarget.setPointerCapture?.(event.pointerId);
      setDrag({ from: at(from), to: at(event.clientX) });
    },
    onPointerUp: () => {
      pressed.current = undefined;
      if (!drag) return;
      setDrag(undefined);
      const next = clampRange(orderRange(drag.from, drag.to), whole);
      if (spanOf(next) > 0) go(next);
    },
    onPointerCancel: () => {
      pressed.current = undefined;
      setDrag(undefined);
    },
    onDoubleClick: () => go(whole),
    // Disable the drag and drop of links.
    onDragStart: (event: { preventDefault: () => void }) => event.preventDefault(),
  };
  return {
    box,
    range,
    zoomed,
    all: () => go(whole),
    handlers,
    brush: drag && orderRange(drag.from, drag.to),
  };
}
