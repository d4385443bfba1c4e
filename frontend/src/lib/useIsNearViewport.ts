import { type RefObject, useEffect, useState } from "react";

/** Return whether an element is within `margin` of the viewport; other elements need no rendering. */
export function useIsNearViewport(target: RefObject<Element | null>, margin = "400px"): boolean {
  const [near, setNear] = useState(typeof IntersectionObserver === "undefined");
  useEffect(() => {
    const node = target.current;
    if (!node || typeof IntersectionObserver === "undefined") return;
    const observer = new IntersectionObserver(
      (entries) => setNear(entries.some((entry) => entry.isIntersecting)),
      { rootMargin: margin },
    );
    observer.observe(node);
    return () => observer.disconnect();
  }, [target, margin]);
  return near;
}
