import { useComputedColorScheme } from "@mantine/core";
import { useElementSize } from "@mantine/hooks";
import { type PointerEvent, useEffect, useRef, useState } from "react";
import type { Profile } from "../../../client/models";
import { toColorStrength } from "../../../core/charts/heat";
import { cx } from "../../../core/cx";
import { computeBinBox, findPeakBinCount, trackLabel } from "../../../core/profiles/sampleTracks";
import { formatPercent } from "../../../core/text/format";
import { orderRange, type Range, spanOf, toTime, toX } from "../../../core/time/range";
import { useTimeFormat } from "../../../lib/text/useFormat";
import { useTranslation } from "../../../lib/text/useTranslation";
import type { SampleTracks as Tracks } from "../api";
import { weightText } from "../FrameDetails";
import classes from "../panel/Panel.module.css";

const ROW_PX = 16;
/** Width of the track names, in px. Other charts on the same time axis use the same left padding. */
export const GUTTER_PX = 156;

interface Props {
  data: Tracks;
  by: "thread" | "process" | "cpu";
  unit: Profile["unit"];
  /** Time axis of all charts in the panel. */
  whole: Range;
  brush: Range | undefined;
  /** TID, PID or CPU number of the current filter. */
  chosen: number | undefined;
  onBrush(range: Range | undefined): void;
  onChoose(id: number | undefined): void;
}

/** Samples of each thread, process or CPU over time; drag to select time, click a name to filter by it. */
export function SampleTracks({ data, by, unit, whole, brush, chosen, onBrush, onChoose }: Props) {
  const { t } = useTranslation();
  const time = useTimeFormat();
  const scheme = useComputedColorScheme("dark");
  const { ref, width } = useElementSize<HTMLDivElement>();
  const canvas = useRef<HTMLCanvasElement>(null);
  const [drag, setDrag] = useState<{ from: number; to: number } | null>(null);
  const [hover, setHover] = useState("");
  const inner = Math.max(1, width - GUTTER_PX);
  const height = data.tracks.length * ROW_PX;
  const all = data.weight_total;

  useEffect(() => {
    const element = canvas.current;
    const context = element?.getContext("2d");
    if (!element || !context || width < 1) return;
    const ratio = window.devicePixelRatio || 1;
    element.width = Math.round(inner * ratio);
    element.height = Math.round(height * ratio);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const peak = findPeakBinCount(data);
    const dark = scheme === "dark";
    data.tracks.forEach((track, row) => {
      track.counts.forEach((value, bin) => {
        if (value <= 0) return;
        const { left, right } = computeBinBox(data, bin, whole, inner);
        const high = toColorStrength(value, peak) * (ROW_PX - 3);
        context.fillStyle = dark ? "hsl(26 66% 52%)" : "hsl(24 78% 55%)";
        context.fillRect(left, (row + 1) * ROW_PX - 1 - high, Math.max(0.7, right - left), high);
      });
    });
  }, [data, whole, inner, height, width, scheme]);

  const at = (event: PointerEvent) => {
    const box = event.currentTarget.getBoundingClientRect();
    return { t: toTime(event.clientX - box.left, whole, inner), y: event.clientY - box.top };
  };
  const onPointerMove = (event: PointerEvent) => {
    const here = at(event);
    if (drag) setDrag({ ...drag, to: here.t });
    const track = data.tracks[Math.floor(here.y / ROW_PX)];
    const value = track?.counts[Math.floor((here.t - data.t0_ns) / Math.max(1, data.bin_ns))] ?? 0;
    setHover(
      track ? `${trackLabel(track, by)} · ${time.time(here.t, 1e6)} · ${weightText(value, unit)}` : "",
    );
  };
  const onPointerUp = () => {
    if (!drag) return;
    setDrag(null);
    const range = orderRange(drag.from, drag.to);
    onBrush(spanOf(range) < (3 / inner) * spanOf(whole) ? undefined : range);
  };
  const visible = drag ? orderRange(drag.from, drag.to) : brush;
  return (
    <section className={classes.tracks} aria-label={t(`profile.tracks.${by}`)} data-testid="tracks">
      <div ref={ref} className={classes.rows}>
        <div style={{ width: GUTTER_PX }}>
          {data.tracks.map((track) => {
            const id = by === "thread" ? track.tid : by === "process" ? track.pid : track.cpu;
            return (
              <button
                key={id}
                type="button"
                className={cx(classes.trackName, id === chosen && classes.chosen)}
                style={{ height: ROW_PX }}
                aria-pressed={id === chosen}
                title={`${trackLabel(track, by)} · ${weightText(track.weight, unit)}`}
                onClick={() => onChoose(id === chosen ? undefined : id)}
              >
                <span>{trackLabel(track, by)}</span>
                <span className="num">{formatPercent(all > 0 ? track.weight / all : 0)}</span>
              </button>
            );
          })}
        </div>
        <div
          className={classes.area}
          style={{ width: inner, height }}
          onPointerDown={(event) => {
            if (event.button !== 0) return;
            event.currentTarget.setPointerCapture(event.pointerId);
            const { t: start } = at(event);
            setDrag({ from: start, to: start });
          }}
          onPointerMove={onPointerMove}
          onPointerUp={onPointerUp}
          onPointerLeave={() => setHover("")}
          data-testid="track-area"
        >
          <canvas ref={canvas} style={{ width: inner, height }} aria-hidden />
          {visible && (
            <div
              className={classes.brush}
              style={{
                left: Math.max(0, toX(visible.from, whole, inner)),
                width: Math.max(
                  2,
                  Math.min(inner, toX(visible.to, whole, inner)) -
                    Math.max(0, toX(visible.from, whole, inner)),
                ),
              }}
            />
          )}
        </div>
      </div>
      <p className={classes.trackLine}>
        <span className="mono">{hover || t("profile.tracks.hint")}</span>
        {data.tracks_total > data.tracks.length && (
          <span>{t("profile.tracks.rest", { visible: data.tracks.length, all: data.tracks_total })}</span>
        )}
      </p>
    </section>
  );
}
