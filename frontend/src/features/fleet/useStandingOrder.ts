import { useState } from "react";
import { keepOrder } from "../../core/fleet";

/**
 * Rows that stay where they are while news come in. They are put in order when `asked` changes, and when somebody
 * says so; `stale` tells that it would be another order by now.
 */
export function useStandingOrder<H extends { id: string }>(hosts: readonly H[], asked: string) {
  const [kept, setKept] = useState({ asked, ids: hosts.map((one) => one.id) });
  const renew = () => setKept({ asked, ids: hosts.map((one) => one.id) });
  if (kept.asked !== asked) renew();
  const ids = kept.asked === asked ? kept.ids : hosts.map((one) => one.id);
  return { ...keepOrder(ids, hosts), renew };
}
