/** Tracks of samples over time, by thread, process or CPU: positions, peak and labels. */
import { type Range, toX } from "../time/range";

export interface SampleTrack {
  cpu: number;
  pid: number;
  tid: number;
  comm: string;
  weight: number;
  counts: readonly number[];
}

export interface TracksData {
  t0_ns: number;
  bin_ns: number;
  tracks: readonly SampleTrack[];
}

/** Return the position of a bin on the shared time axis, in px. */
export function computeBinBox(
  data: TracksData,
  bin: number,
  whole: Range,
  width: number,
): { left: number; right: number } {
  return {
    left: toX(data.t0_ns + bin * data.bin_ns, whole, width),
    right: toX(data.t0_ns + (bin + 1) * data.bin_ns, whole, width),
  };
}

/** Return the largest count of all bins, at least 1. All tracks use this scale, so that they are comparable. */
export function findPeakBinCount(data: TracksData): number {
  let peak = 1;
  for (const track of data.tracks) for (const value of track.counts) if (value > peak) peak = value;
  return peak;
}

export function trackLabel(track: SampleTrack, by: "thread" | "process" | "cpu"): string {
  if (by === "cpu") return `CPU ${track.cpu}`;
  return by === "thread" ? `${track.comm} ${track.tid}` : `${track.comm} ${track.pid}`;
}
