import { useEffect, useRef } from "react";
import { NS_PER_S, orderRange, padRange, type Range, spanOf } from "../../core/time/range";
import { findTimeAction } from "../../core/time/timekeys";
import type { CaptureBlock } from "./api";
import type { CursorStore } from "./cursor";

interface TimeKeyOptions {
  view: Range | undefined;
  limit: Range | undefined;
  brush: Range | undefined;
  baseline: Range | undefined;
  runs: readonly CaptureBlock[];
  cursor: CursorStore;
  go: (range: Range) => void;
  zoom: (factor: number, at?: number) => void;
  move: (share: number) => void;
  setBrush: (range: Range | undefined) => void;
  setBaseline: (range: Range | undefined) => void;
}

const TYPING = new Set(["INPUT", "TEXTAREA", "SELECT"]);

/** Return whether the timeline handles a key: not while the user types, in a dialog, or in a control with keys. */
function isTimelineKey(event: KeyboardEvent): boolean {
  if (event.defaultPrevented) return false;
  const target = event.target instanceof HTMLElement ? event.target : undefined;
  if (target && (TYPING.has(target.tagName) || target.isContentEditable)) return false;
  if (target?.closest("[role=dialog],[role=menu],[role=listbox]")) return false;
  if (event.key === "Enter" && target?.closest("a,button")) return false;
  return !(
    event.key.startsWith("Arrow") && target?.closest("[role=tablist],[role=radiogroup],[data-keys=own]")
  );
}

/**
 * Handle the keys of a timeline: W/S and + − zoom, A/D and arrows pan, 0 selects the whole range, [ ] jump between
 * captures, Enter zooms to the brush, Esc clears, `,` `.` move the cursor, `b` and `B` set the ends of a brush.
 */
export function useTimeKeys(options: TimeKeyOptions): void {
  const latest = useRef(options);
  latest.current = options;
  const mark = useRef<{ kind: "brush" | "baseline"; t: number } | undefined>(undefined);
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const h = latest.current;
      const act = findTimeAction(event);
      if (!act || !h.view || !isTimelineKey(event)) return;
      const view = h.view;
      const at = h.cursor.value?.t;
      const middle = at !== undefined && at >= view.from && at <= view.to ? at : (view.from + view.to) / 2;
      switch (act.act) {
        case "zoom":
          h.zoom(act.factor, middle);
          break;
        case "pan":
          h.move(act.share);
          break;
        case "cursor":
          h.cursor.set({
            t: Math.min(view.to, Math.max(view.from, middle + spanOf(view) * act.share)),
            row: h.cursor.value?.row,
            share: h.cursor.value?.share ?? 0,
          });
          break;
        case "all":
          if (h.limit) h.go(h.limit);
          break;
        case "clear":
          mark.current = undefined;
          if (h.baseline) h.setBaseline(undefined);
          else if (h.brush) h.setBrush(undefined);
          else return;
          break;
        case "enter":
          if (!h.brush) return;
          h.go(padRange(h.brush, 0.02));
          break;
        case "previous":
        case "next":
          goToCapture(h, act.act);
          break;
        case "markBrush":
        case "markBaseline": {
          const kind = act.act === "markBrush" ? "brush" : "baseline";
          const begun = mark.current;
          if (begun?.kind !== kind) mark.current = { kind, t: middle };
          else {
            mark.current = undefined;
            const range = orderRange(begun.t, middle);
            if (range.to > range.from) (kind === "brush" ? h.setBrush : h.setBaseline)(range);
          }
          break;
        }
      }
      event.preventDefault();
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, []);
}

function goToCapture(h: TimeKeyOptions, direction: "previous" | "next"): void {
  const view = h.view as Range;
  const middle = (view.from + view.to) / 2;
  const centre = (run: CaptureBlock) => (run.from_ns + run.to_ns) / 2;
  const sorted = [...h.runs].sort((a, b) => a.from_ns - b.from_ns);
  const tolerance = spanOf(view) * 0.02;
  const match =
    direction === "next"
      ? sorted.find((run) => centre(run) > middle + tolerance)
      : sorted.reverse().find((run) => centre(run) < middle - tolerance);
  if (match) h.go(padRange({ from: match.from_ns, to: match.to_ns }, 0.08, NS_PER_S));
}
