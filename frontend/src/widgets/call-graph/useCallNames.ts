import { useCallback } from "react";
import { useTranslation } from "react-i18next";
import type { Call } from "../../client/types";

/** What the two ends of a call are called. */
export function useCallNames() {
  const { t } = useTranslation();
  const process = useCallback(
    (comm: string, pids: readonly number[]): string => {
      const name = comm || t("calls.unknownProcess");
      if (pids.length === 0) return name;
      return pids.length === 1
        ? t("calls.process", { name, pid: pids[0] })
        : t("calls.processes", { name, count: pids.length });
    },
    [t],
  );
  const address = useCallback((one: Call): string => {
    if (one.protocol === "unix") return one.remote;
    if (one.direction === "in") return one.remote;
    return one.remote.includes(":") ? `[${one.remote}]:${one.port}` : `${one.remote}:${one.port}`;
  }, []);
  /** The other end in a few words: who it is, as far as anybody knows. */
  const other = useCallback(
    (one: Call): string => {
      const { place } = one;
      if (place.comm) return process(place.comm, place.pid === null ? [] : [place.pid]);
      return address(one);
    },
    [process, address],
  );
  const where = useCallback(
    (one: Call): string => {
      const { place } = one;
      if (place.kind === "process") return t("calls.where.process");
      if (place.kind === "unix") return t("calls.where.unix");
      if (place.kind === "host") return t("calls.where.host", { name: place.host?.name ?? "" });
      if (place.kind === "ambiguous")
        return t("calls.where.ambiguous", { names: place.among.map((host) => host.name).join(", ") });
      return t("calls.where.not_enrolled");
    },
    [t],
  );
  return { process, address, other, where };
}
