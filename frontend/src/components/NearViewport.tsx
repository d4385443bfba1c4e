import { type ReactNode, Suspense, useEffect, useRef, useState } from "react";
import { useIsNearViewport } from "../lib/useIsNearViewport";
import { BlockSkeleton } from "./EmptyState";

interface NearViewportProps {
  /** Height of the content in px, approximately. */
  height: number;
  /** Distance from the edge of the viewport at which the content is rendered; negative: the part that must be in it. */
  margin?: string;
  /** Whether the parts above have their data: before that, the content is higher than it will be. */
  ready?: boolean;
  children: ReactNode;
}

/** Time in ms that a part must stay near: the parts above it grow while they are rendered. */
const SETTLE_MS = 100;

/**
 * Render a part below the first view when the reader comes near it, and keep it. Its code and data are loaded then, so
 * that they do not delay what is visible.
 */
export function NearViewport({ height, margin = "200px", ready = true, children }: NearViewportProps) {
  const place = useRef<HTMLDivElement>(null);
  const isNear = useIsNearViewport(place, margin);
  const [isReached, setReached] = useState(isNear && typeof IntersectionObserver === "undefined");
  useEffect(() => {
    if (!isNear || !ready) return;
    const timer = setTimeout(() => setReached(true), SETTLE_MS);
    return () => clearTimeout(timer);
  }, [isNear, ready]);
  const skeleton = <BlockSkeleton height={height} />;
  return isReached ? <Suspense fallback={skeleton}>{children}</Suspense> : <div ref={place}>{skeleton}</div>;
}
