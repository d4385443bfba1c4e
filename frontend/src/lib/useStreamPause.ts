import { useCallback, useEffect, useState } from "react";

const RETRY_MS = 30_000;
const supported = () => typeof EventSource !== "undefined";

/**
 * Return whether live updates are paused, and a function that pauses them. They are paused if the server rejected the
 * stream or the browser lacks EventSource. A rejected stream is retried after 30 to 60 s.
 */
export function useStreamPause(): [boolean, () => void] {
  const [paused, setPaused] = useState(!supported());
  useEffect(() => {
    if (!paused || !supported()) return;
    const timer = setTimeout(() => setPaused(false), RETRY_MS * (1 + Math.random()));
    return () => clearTimeout(timer);
  }, [paused]);
  return [paused, useCallback(() => setPaused(true), [])];
}
