import { useEffect, useRef } from "react";
import { panRange, type Range, spanOf, zoomRange } from "../core/time/range";
import { findTimeAction } from "../core/time/timekeys";

const TYPING = new Set(["INPUT", "TEXTAREA", "SELECT"]);

interface SelectionKeyOptions {
  /** Time range of all charts of the page; undefined until it is loaded. */
  whole: Range | undefined;
  brush: Range | undefined;
  onBrush(range: Range | undefined): void;
  /** Clear the innermost filter of the page, such as search, zoom or time range. */
  onEscape(): void;
}

/** Handle keys of the time selection: W/S zoom, A/D pan, 0 selects the whole range, Esc calls `onEscape`. */
export function useSelectionKeys(options: SelectionKeyOptions): void {
  const latest = useRef(options);
  latest.current = options;
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const target = event.target instanceof HTMLElement ? event.target : undefined;
      if (event.defaultPrevented || (target && TYPING.has(target.tagName))) return;
      if (target?.closest("[role=dialog],[role=menu],[role=listbox]") || event.key.startsWith("Arrow"))
        return;
      const { whole, brush, onBrush, onEscape } = latest.current;
      const act = findTimeAction(event);
      if (act?.act === "clear") {
        onEscape();
        return;
      }
      if (!whole || !act || !["zoom", "pan", "all"].includes(act.act)) return;
      event.preventDefault();
      if (act.act === "all") {
        onBrush(undefined);
        return;
      }
      const range = brush ?? whole;
      const next =
        act.act === "zoom"
          ? zoomRange(range, (range.from + range.to) / 2, act.factor, whole)
          : act.act === "pan"
            ? panRange(range, act.share, whole)
            : range;
      onBrush(spanOf(next) >= spanOf(whole) ? undefined : next);
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, []);
}
