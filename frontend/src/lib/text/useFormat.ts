import { useMemo } from "react";
import * as clock from "../../core/time/clock";
import { usePrefs } from "../prefs";

/** Return functions that format times in the time zone that the user selected. */
export function useTimeFormat() {
  const { zone } = usePrefs();
  return useMemo(
    () => ({
      zone,
      zoneName: zone === "utc" ? "UTC" : Intl.DateTimeFormat().resolvedOptions().timeZone,
      /** Date and time of UTC nanoseconds. */
      instant: (ns: number | null | undefined, stepNs?: number) =>
        ns === null || ns === undefined ? "–" : clock.formatInstant(ns, zone, stepNs),
      /** Time of day of UTC nanoseconds. */
      time: (ns: number, stepNs?: number) => clock.formatTimeOfDay(ns, zone, stepNs),
      /** Date and time of an ISO 8601 text. */
      iso: (text: string | null | undefined) => {
        const ns = clock.isoToNs(text);
        return ns === undefined ? "–" : clock.formatInstant(ns, zone);
      },
      ticks: (from: number, to: number, width: number, apart?: number) =>
        clock.createTimeTicks(from, to, width, zone, apart),
    }),
    [zone],
  );
}
