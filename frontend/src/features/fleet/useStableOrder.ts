import { useState } from "react";
import { keepOrder } from "../../core/hosts/fleet";

/**
 * Keep rows in place while new data arrives. They are sorted when `sortKey` changes and by `renew`; `stale` is true
 * when the order is out of date.
 */
export function useStableOrder<H extends { id: string }>(hosts: readonly H[], sortKey: string) {
  const [stored, setStored] = useState({ sortKey, ids: hosts.map((host) => host.id) });
  const renew = () => setStored({ sortKey, ids: hosts.map((host) => host.id) });
  if (stored.sortKey !== sortKey) renew();
  const ids = stored.sortKey === sortKey ? stored.ids : hosts.map((host) => host.id);
  return { ...keepOrder(ids, hosts), renew };
}
