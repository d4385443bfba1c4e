import { useEffect, useRef } from "react";
import { pan, type Range, span, zoomAt } from "../core/time/range";
import { timeAction } from "../core/time/timekeys";

const TYPING = new Set(["INPUT", "TEXTAREA", "SELECT"]);

interface Hands {
  /** Time range of all charts of the page; undefined until it is loaded. */
  whole: Range | undefined;
  brush: Range | undefined;
  onBrush(range: Range | undefined): void;
  /** Clear the innermost filter of the page, such as search, zoom or time range. */
  onEscape(): void;
}

/** Handle keys of the time selection: W/S zoom, A/D pan, 0 selects the whole range, Esc calls `onEscape`. */
export function useSelectionKeys(hands: Hands): void {
  const now = useRef(hands);
  now.current = hands;
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const target = event.target instanceof HTMLElement ? event.target : undefined;
      if (event.defaultPrevented || (target && TYPING.has(target.tagName))) return;
      if (target?.closest("[role=dialog],[role=menu],[role=listbox]") || event.key.startsWith("Arrow"))
        return;
      const { whole, brush, onBrush, onEscape } = now.current;
      const act = timeAction(event);
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
          ? zoomAt(range, (range.from + range.to) / 2, act.factor, whole)
          : act.act === "pan"
            ? pan(range, act.share, whole)
            : range;
      onBrush(span(next) >= span(whole) ? undefined : next);
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, []);
}
