import { useComputedColorScheme } from "@mantine/core";
import { useElementSize } from "@mantine/hooks";
import { type KeyboardEvent, type PointerEvent, useEffect, useRef, useState } from "react";
import { hash01 } from "../../core/profiles/flame";
import { duration } from "../../core/text/format";
import { ordered, pan, type Range, span, toTime, toX, zoomAt } from "../../core/time/range";
import { useTimeFormat } from "../../lib/text/useFormat";
import classes from "./CpuTracks.module.css";

interface Tracks {
  t0_ns: number;
  cpus: { cpu: number; segments: number[][] }[];
  tasks: ({ task: string; pid: number } | string)[];
}
interface Props {
  tracks: Tracks;
  range: Range;
  whole: Range;
  label: string;
  /** While dragging; `onRange` receives the final range. */
  onLive(range: Range | undefined): void;
  onRange(range: Range): void;
}

const TRACK_PX = 16;
const GUTTER_PX = 56;
const MAX_PX = 480;

/** One track per CPU: a color per task, a gap where the CPU was idle. Drag zooms, W/S and A/D zoom and pan. */
export function CpuTracks({ tracks, range, whole, label, onLive, onRange }: Props) {
  const { ref, width } = useElementSize<HTMLDivElement>();
  const canvas = useRef<HTMLCanvasElement>(null);
  const scheme = useComputedColorScheme("dark");
  const time = useTimeFormat();
  const [drag, setDrag] = useState<{ from: number; to: number } | null>(null);
  const [hover, setHover] = useState("");
  const inner = Math.max(1, width - GUTTER_PX);
  const height = tracks.cpus.length * TRACK_PX;

  useEffect(() => {
    const element = canvas.current;
    const context = element?.getContext("2d");
    if (!element || !context || width < 1) return;
    const ratio = window.devicePixelRatio || 1;
    element.width = Math.round(inner * ratio);
    element.height = Math.round(height * ratio);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, inner, height);
    tracks.cpus.forEach((track, row) => {
      for (const [offset = 0, length = 0, task = 0] of track.segments) {
        const left = toX(tracks.t0_ns + offset, range, inner);
        const right = toX(tracks.t0_ns + offset + length, range, inner);
        if (right < 0 || left > inner) continue;
        context.fillStyle = taskColor(nameOf(tracks.tasks[task]), scheme === "dark");
        context.fillRect(left, row * TRACK_PX + 2, Math.max(0.5, right - left), TRACK_PX - 3);
      }
    });
  }, [tracks, range, inner, height, width, scheme]);

  const at = (event: PointerEvent) => {
    const box = event.currentTarget.getBoundingClientRect();
    return { t: toTime(event.clientX - box.left, range, inner), y: event.clientY - box.top };
  };
  const onPointerMove = (event: PointerEvent) => {
    const here = at(event);
    if (drag) {
      setDrag({ ...drag, to: here.t });
      return;
    }
    const track = tracks.cpus[Math.floor(here.y / TRACK_PX)];
    const hit = track?.segments.find(
      ([offset = 0, length = 0]) =>
        here.t >= tracks.t0_ns + offset && here.t < tracks.t0_ns + offset + length,
    );
    setHover(
      track
        ? `CPU ${track.cpu} · ${time.time(here.t, 1e3)}${hit ? ` · ${describe(tracks.tasks[hit[2] ?? 0])} · ${duration(hit[1] ?? 0)}` : ""}`
        : "",
    );
  };
  const onPointerUp = () => {
    if (!drag) return;
    const next = ordered(drag.from, drag.to);
    setDrag(null);
    onLive(undefined);
    if (span(next) > span(range) / 200) onRange(next);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const middle = (range.from + range.to) / 2;
    const next = {
      w: () => zoomAt(range, middle, 0.5, whole),
      s: () => zoomAt(range, middle, 2, whole),
      a: () => pan(range, -0.25, whole),
      d: () => pan(range, 0.25, whole),
      Escape: () => whole,
    }[event.key];
    if (!next) return;
    event.preventDefault();
    event.stopPropagation();
    onRange(next());
  };
  const brush = drag ? ordered(drag.from, drag.to) : null;
  return (
    <div className={classes.tracks}>
      <div ref={ref} className={classes.scroll} style={{ maxHeight: MAX_PX }}>
        <div className={classes.gutter} style={{ width: GUTTER_PX }} aria-hidden>
          {tracks.cpus.map((track) => (
            <div key={track.cpu} style={{ height: TRACK_PX }}>
              CPU {track.cpu}
            </div>
          ))}
        </div>
        {/* biome-ignore lint/a11y/useSemanticElements: a drawing with its own keys has no element of its own */}
        <div
          className={classes.surface}
          style={{ width: inner, height }}
          role="group"
          aria-label={label}
          // biome-ignore lint/a11y/noNoninteractiveTabindex: zoomed and panned by keys
          tabIndex={0}
          onPointerDown={(event) => {
            if (event.button !== 0) return;
            event.currentTarget.setPointerCapture(event.pointerId);
            const { t } = at(event);
            setDrag({ from: t, to: t });
          }}
          onPointerMove={onPointerMove}
          onPointerUp={onPointerUp}
          onPointerLeave={() => setHover("")}
          onDoubleClick={() => onRange(whole)}
          onKeyDown={onKeyDown}
        >
          <canvas ref={canvas} style={{ width: inner, height }} />
          {brush && (
            <div
              className={classes.brush}
              style={{
                left: toX(brush.from, range, inner),
                width: toX(brush.to, range, inner) - toX(brush.from, range, inner),
              }}
            />
          )}
        </div>
      </div>
      <div className={classes.detail}>
        <span className="mono">{hover || " "}</span>
        <span className="num dim">
          {time.time(range.from, 1e6)} + {duration(span(range))}
        </span>
      </div>
    </div>
  );
}

const nameOf = (task: Tracks["tasks"][number] | undefined): string =>
  typeof task === "string" ? task : (task?.task ?? "");
const describe = (task: Tracks["tasks"][number] | undefined): string =>
  typeof task === "object" ? `${task.task} ${task.pid}` : nameOf(task);

function taskColor(name: string, dark: boolean): string {
  const spread = hash01(name);
  return `hsl(${Math.round(spread * 360)} ${dark ? 48 : 55}% ${(dark ? 52 : 48) + Math.round(hash01(`${name}.`) * 12)}%)`;
}
