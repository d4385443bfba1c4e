import { useCallback, useEffect, useState } from "react";

const RETRY_MS = 30_000;
const supported = () => typeof EventSource !== "undefined";

/**
 * Whether live updates are paused: the server refused the stream, or the browser has none. After half a minute to a
 * minute the stream is tried again.
 */
export function usePaused(): [boolean, () => void] {
  const [paused, setPaused] = useState(!supported());
  useEffect(() => {
    if (!paused || !supported()) return;
    const timer = setTimeout(() => setPaused(false), RETRY_MS * (1 + Math.random()));
    return () => clearTimeout(timer);
  }, [paused]);
  return [paused, useCallback(() => setPaused(true), [])];
}
