import { type PointerEvent as ReactPointerEvent, useEffect, useRef, useState } from "react";
import { formatDuration } from "../../core/text/format";
import { orderRange, type Range, toTime, toX } from "../../core/time/range";
import { useTimeFormat } from "../../lib/text/useFormat";
import { type CursorStore, useCursor } from "./cursor";
import classes from "./Timeline.module.css";

export interface TimeSelection {
  readonly t: number;
  readonly row: string;
  readonly share: number;
  readonly x: number;
  readonly y: number;
}

interface Props {
  range: Range;
  width: number;
  cursor: CursorStore;
  brush: Range | undefined;
  baseline: Range | undefined;
  onBrush: (range: Range) => void;
  onBaseline: (range: Range) => void;
  /** Without onZoom and onPan, the time axis is fixed. */
  onZoom?: (factor: number, at: number) => void;
  onPan?: (share: number) => void;
  onPick: (picked: TimeSelection) => void;
  onEnter?: (t: number) => void;
}

interface Drag {
  readonly kind: "brush" | "baseline" | "pan";
  readonly x: number;
  last: number;
}

/** Cover all tracks with an overlay that renders cursor, brush and baseline, and handles wheel and pointer. */
export function BrushOverlay(props: Props) {
  const { range, width, cursor, brush, baseline } = props;
  const layer = useRef<HTMLDivElement>(null);
  const drag = useRef<Drag | undefined>(undefined);
  const [drawing, setDrawing] = useState<{ kind: "brush" | "baseline"; range: Range }>();
  const xOf = (event: { clientX: number }) =>
    event.clientX - (layer.current?.getBoundingClientRect().left ?? 0);

  const { onZoom, onPan } = props;
  useEffect(() => {
    const node = layer.current;
    if (!node || !onZoom || !onPan) return;
    const wheel = (event: WheelEvent) => {
      const box = node.getBoundingClientRect();
      if (event.ctrlKey || event.metaKey) {
        event.preventDefault();
        onZoom(Math.exp(event.deltaY * 0.0022), toTime(event.clientX - box.left, range, width));
      } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        event.preventDefault();
        onPan((event.deltaX || event.deltaY) / width);
      }
    };
    node.addEventListener("wheel", wheel, { passive: false });
    return () => node.removeEventListener("wheel", wheel);
  }, [range, width, onZoom, onPan]);

  const rowAt = (event: ReactPointerEvent) => {
    for (const node of document.elementsFromPoint(event.clientX, event.clientY)) {
      const track = node.closest<HTMLElement>("[data-row]");
      if (!track) continue;
      const box = track.getBoundingClientRect();
      return {
        row: track.dataset.row as string,
        share: Math.min(0.999, Math.max(0, (event.clientY - box.top) / box.height)),
      };
    }
    return undefined;
  };

  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: useTimeKeys provides keyboard control
    <div
      ref={layer}
      className={classes.overlay}
      style={{ width }}
      onPointerDown={(event) => {
        if (event.button > 1) return;
        const kind = event.button === 1 || event.altKey ? "pan" : event.shiftKey ? "baseline" : "brush";
        drag.current = { kind, x: xOf(event), last: event.clientX };
        event.currentTarget.setPointerCapture(event.pointerId);
      }}
      onPointerMove={(event) => {
        const x = xOf(event);
        const under = rowAt(event);
        cursor.set({ t: toTime(x, range, width), row: under?.row, share: under?.share ?? 0 });
        const now = drag.current;
        if (!now) return;
        if (now.kind === "pan") {
          props.onPan?.((now.last - event.clientX) / width);
          now.last = event.clientX;
        } else if (Math.abs(x - now.x) > 3)
          setDrawing({
            kind: now.kind,
            range: orderRange(toTime(now.x, range, width), toTime(x, range, width)),
          });
      }}
      onPointerUp={(event) => {
        const now = drag.current;
        drag.current = undefined;
        if (drawing) {
          if (drawing.kind === "baseline") props.onBaseline(drawing.range);
          else props.onBrush(drawing.range);
          setDrawing(undefined);
          return;
        }
        const under = rowAt(event);
        if (now?.kind === "brush" && under)
          props.onPick({ t: toTime(xOf(event), range, width), ...under, x: event.clientX, y: event.clientY });
      }}
      onPointerCancel={() => {
        drag.current = undefined;
        setDrawing(undefined);
      }}
      onPointerLeave={() => cursor.set(undefined)}
      onDoubleClick={(event) => props.onEnter?.(toTime(xOf(event), range, width))}
    >
      <Band
        kind="baseline"
        span={drawing?.kind === "baseline" ? drawing.range : baseline}
        range={range}
        width={width}
      />
      <Band
        kind="brush"
        span={drawing?.kind === "brush" ? drawing.range : brush}
        range={range}
        width={width}
      />
      <Crosshair cursor={cursor} range={range} width={width} />
    </div>
  );
}

interface BandProps {
  kind: "brush" | "baseline";
  span: Range | undefined;
  range: Range;
  width: number;
}

function Band({ kind, span, range, width }: BandProps) {
  if (!span || span.to < range.from || span.from > range.to) return null;
  const x0 = Math.max(-2, toX(span.from, range, width));
  const x1 = Math.min(width + 2, toX(span.to, range, width));
  return (
    <div className={classes[kind]} style={{ left: x0, width: Math.max(1, x1 - x0) }}>
      <span className={classes.bandName}>
        {kind === "brush" ? "B" : "A"} {formatDuration(span.to - span.from)}
      </span>
    </div>
  );
}

function Crosshair({ cursor, range, width }: { cursor: CursorStore; range: Range; width: number }) {
  const at = useCursor(cursor);
  const time = useTimeFormat();
  if (!at || at.t < range.from || at.t > range.to) return null;
  const x = toX(at.t, range, width);
  return (
    <div className={classes.crosshair} style={{ transform: `translateX(${Math.round(x)}px)` }}>
      <span className={x > width - 150 ? classes.crossLabelLeft : classes.crossLabel}>
        {time.instant(at.t, (range.to - range.from) / width)}
      </span>
    </div>
  );
}
