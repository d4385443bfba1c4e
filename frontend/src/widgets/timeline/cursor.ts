import { useEffect, useState } from "react";

/** Position of the pointer on the time axis. Tracks subscribe to it, so that moves do not render the timeline again. */
export interface Cursor {
  readonly t: number;
  /** Key of the row under the pointer; `share` is the position in its height, 0 at the top. */
  readonly row: string | undefined;
  readonly share: number;
}

export class CursorStore {
  private listeners = new Set<(cursor: Cursor | undefined) => void>();
  value: Cursor | undefined;

  set(next: Cursor | undefined): void {
    this.value = next;
    for (const listener of this.listeners) listener(next);
  }

  subscribe(listener: (cursor: Cursor | undefined) => void): () => void {
    this.listeners.add(listener);
    return () => {
      this.listeners.delete(listener);
    };
  }
}

export const useCursorStore = (): CursorStore => useState(() => new CursorStore())[0];

/** Return the cursor as React state, updated at most once per animation frame. */
export function useCursor(store: CursorStore): Cursor | undefined {
  const [cursor, setCursor] = useState(store.value);
  useEffect(() => {
    let frame = 0;
    const stop = store.subscribe(() => {
      if (frame) return;
      frame = requestAnimationFrame(() => {
        frame = 0;
        setCursor(store.value);
      });
    });
    return () => {
      stop();
      cancelAnimationFrame(frame);
    };
  }, [store]);
  return cursor;
}
