import { type RefObject, useEffect, useState } from "react";

/** Whether an element is on the screen or nearly so: what is far away is not drawn. */
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
