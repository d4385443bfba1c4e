import { useCallback } from "react";
import { useTranslation } from "../../lib/text/useTranslation";
import type { Call } from "./api";

/** Return functions for display names of both ends of a call. */
export function useCallNames() {
  const { t } = useTranslation();
  const process = useCallback(
    (comm: string, pids: readonly number[]): string => {
      const name = comm || t("calls.unknownProcess");
      const [pid] = pids;
      if (pid === undefined) return name;
      return pids.length === 1
        ? t("calls.process", { name, pid })
        : t("calls.processes", { name, count: pids.length });
    },
    [t],
  );
  const address = useCallback((call: Call): string => {
    if (call.protocol === "unix") return call.remote;
    if (call.direction === "in") return call.remote;
    return call.remote.includes(":") ? `[${call.remote}]:${call.port}` : `${call.remote}:${call.port}`;
  }, []);
  /** Return the name of the other end: its process if known, else its address. */
  const other = useCallback(
    (call: Call): string => {
      const { endpoint } = call;
      if (endpoint.comm) return process(endpoint.comm, endpoint.pid == null ? [] : [endpoint.pid]);
      return address(call);
    },
    [process, address],
  );
  const where = useCallback(
    (call: Call): string => {
      const { endpoint } = call;
      if (endpoint.kind === "process") return t("calls.location.process");
      if (endpoint.kind === "unix") return t("calls.location.unix");
      if (endpoint.kind === "host") return t("calls.location.host", { name: endpoint.host?.name ?? "" });
      if (endpoint.kind === "ambiguous")
        return t("calls.location.ambiguous", {
          names: endpoint.candidates.map((host) => host.name).join(", "),
        });
      return t("calls.location.not_added");
    },
    [t],
  );
  return { process, address, other, where };
}
