import { useMutation } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { post } from "../api";

const SECONDS = 20;

/** Start demo load on this host for 20 s, so that a first flame graph has content. `left` is the rest in seconds. */
export function useDemoLoad() {
  const [until, setUntil] = useState(0);
  const [left, setLeft] = useState(0);
  const send = useMutation({
    mutationFn: () => post("/demo/load", { seconds: SECONDS }),
    onSuccess: () => setUntil(Date.now() + SECONDS * 1000),
  });
  useEffect(() => {
    if (until === 0) return;
    const tick = () => setLeft(Math.max(0, Math.ceil((until - Date.now()) / 1000)));
    tick();
    const timer = setInterval(tick, 500);
    return () => clearInterval(timer);
  }, [until]);
  return { start: () => send.mutate(), left, pending: send.isPending, error: send.error };
}
