import { useComputedColorScheme } from "@mantine/core";
import { useElementSize } from "@mantine/hooks";
import { type KeyboardEvent, type PointerEvent, useEffect, useRef, useState } from "react";
import {
  countColumns,
  findPeakCount,
  type Heat,
  heatRange,
  snapBrush,
  toColorStrength,
} from "../../core/charts/heat";
import { type Range, spanOf, toX } from "../../core/time/range";
import classes from "./SampleHeatmap.module.css";

interface Props {
  heat: Heat;
  brush: Range | undefined;
  baseline: Range | undefined;
  label: string;
  /** Height of a row. */
  rowPx?: number;
  /** `baseline` is true if Shift was pressed. */
  onBrush(range: Range | undefined, baseline: boolean): void;
}

const ROW_PX = 4;

/** Render samples over time as a heat map. Drag selects the brush, Shift-drag the baseline, Esc clears the brush. */
export function SampleHeatmap({ heat, brush, baseline, label, rowPx = ROW_PX, onBrush }: Props) {
  const { ref, width } = useElementSize<HTMLDivElement>();
  const canvas = useRef<HTMLCanvasElement>(null);
  const scheme = useComputedColorScheme("dark");
  const [drag, setDrag] = useState<{ from: number; to: number; baseline: boolean } | null>(null);
  const height = heat.rows * rowPx;
  const whole = heatRange(heat);

  useEffect(() => {
    const element = canvas.current;
    const context = element?.getContext("2d");
    if (!element || !context || width < 1) return;
    const ratio = window.devicePixelRatio || 1;
    element.width = Math.round(width * ratio);
    element.height = Math.round(height * ratio);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    paintHeat(context, heat, { width, rowPx, dark: scheme === "dark" });
  }, [heat, width, height, rowPx, scheme]);

  const share = (event: PointerEvent) => {
    const box = event.currentTarget.getBoundingClientRect();
    return (event.clientX - box.left) / Math.max(box.width, 1);
  };
  const onPointerDown = (event: PointerEvent) => {
    if (event.button !== 0) return;
    event.currentTarget.setPointerCapture(event.pointerId);
    setDrag({ from: share(event), to: share(event), baseline: event.shiftKey });
  };
  const onPointerUp = () => {
    if (!drag) return;
    setDrag(null);
    const still = Math.abs(drag.to - drag.from) * width < 3;
    onBrush(still ? undefined : snapBrush(heat, drag.from, drag.to), drag.baseline);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Escape") {
      event.preventDefault();
      onBrush(undefined, event.shiftKey);
      return;
    }
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (step === 0) return;
    event.preventDefault();
    const now = brush ?? { from: whole.from, to: whole.from + Math.max(spanOf(whole) / 10, heat.colNs) };
    const by = step * heat.colNs;
    const next = event.shiftKey
      ? { from: now.from, to: now.to + by }
      : { from: now.from + by, to: now.to + by };
    if (next.from >= whole.from && next.to <= whole.to && next.to > next.from) onBrush(next, false);
  };

  const visibleBrush = drag && !drag.baseline ? snapBrush(heat, drag.from, drag.to) : brush;
  const visibleBaseline = drag?.baseline ? snapBrush(heat, drag.from, drag.to) : baseline;
  return (
    <div ref={ref} className={classes.strip} style={{ height }}>
      <canvas ref={canvas} className={classes.canvas} style={{ width: "100%", height }} />
      {visibleBaseline && width > 0 && (
        <Brush range={visibleBaseline} whole={whole} width={width} name="baseline" />
      )}
      {visibleBrush && width > 0 && <Brush range={visibleBrush} whole={whole} width={width} name="brush" />}
      {/* biome-ignore lint/a11y/useSemanticElements: no HTML element fits a brush over a chart */}
      <div
        className={classes.surface}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: arrow keys move the brush
        tabIndex={0}
        role="group"
        aria-label={label}
        onPointerDown={onPointerDown}
        onPointerMove={(event) => drag && setDrag({ ...drag, to: share(event) })}
        onPointerUp={onPointerUp}
        onKeyDown={onKeyDown}
        data-testid="heat"
      />
    </div>
  );
}

function Brush(props: { range: Range; whole: Range; width: number; name: "brush" | "baseline" }) {
  const left = toX(props.range.from, props.whole, props.width);
  const right = toX(props.range.to, props.whole, props.width);
  return (
    <div
      className={props.name === "brush" ? classes.brush : classes.baseline}
      style={{ left, width: Math.max(2, right - left) }}
      aria-hidden
    />
  );
}

interface Surface {
  width: number;
  rowPx: number;
  dark: boolean;
}

/** Paint the counts of a heat map. NaN is no data and is striped. */
function paintHeat(context: CanvasRenderingContext2D, heat: Heat, { width, rowPx, dark }: Surface): void {
  const n = countColumns(heat);
  const max = findPeakCount(heat);
  const cell = width / Math.max(n, 1);
  for (let row = 0; row < heat.rows; row += 1)
    for (let col = 0; col < n; col += 1) {
      const count = heat.counts[row]?.[col] ?? 0;
      const left = Math.floor(col * cell);
      const right = Math.ceil((col + 1) * cell);
      const top = (heat.rows - 1 - row) * rowPx;
      if (Number.isNaN(count)) {
        context.fillStyle = dark ? "#2b343e" : "#cfd6dd";
        for (let x = left - (left % 4); x < right; x += 4) context.fillRect(x, top, 1, rowPx);
        continue;
      }
      const value = toColorStrength(count, max);
      if (value === 0) continue;
      context.fillStyle = dark
        ? `hsl(${30 - value * 12} ${58 + value * 14}% ${14 + value * 36}%)`
        : `hsl(${32 - value * 16} 82% ${95 - value * 33}%)`;
      context.fillRect(left, top, Math.max(1, right - left), rowPx);
    }
}
