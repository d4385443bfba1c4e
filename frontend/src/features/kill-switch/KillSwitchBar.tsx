import { Button } from "@mantine/core";
import { queryOptions, useQuery } from "@tanstack/react-query";
import { OctagonX } from "lucide-react";
import { ErrorLine } from "../../components/EmptyState";
import { RelativeTime } from "../../components/text/RelativeTime";
import { get, queryKeys, remove, useAction, usePermission } from "../../lib/queries";
import { useTranslation } from "../../lib/text/useTranslation";
import type { KillSwitch } from "./api";
import classes from "./KillSwitch.module.css";

/** Polling interval in ms. It affects only the display: the server enforces a kill switch immediately. */
const POLL_MS = 5_000;
export const KILL_SWITCHES = ["kill-switches"] as const;

export const killSwitchesQuery = queryOptions({
  queryKey: KILL_SWITCHES,
  queryFn: () => get("/kill-switches"),
});

export const useKillSwitches = () => useQuery({ ...killSwitchesQuery, refetchInterval: POLL_MS });

/** Return a function that names the target of a kill switch: a host, labels, or all hosts. */
export function useKillSwitchTarget(): (killSwitch: KillSwitch) => string {
  const { t } = useTranslation();
  return ({ kind, host, label }) => {
    if (kind === "host") return host?.name ?? "–";
    if (kind === "label")
      return Object.entries(label ?? {})
        .map(([name, value]) => `${name}=${value}`)
        .join(", ");
    return t("killSwitch.everywhere");
  };
}

/** Bar below the header of every screen while a kill switch is active: target, reason, user, deactivation. */
export function KillSwitchBar() {
  const { t } = useTranslation();
  const can = usePermission();
  const place = useKillSwitchTarget();
  const { data = [] } = useKillSwitches();
  const deactivate = useAction(
    (id: string) => remove(`/kill-switches/${id}`),
    [KILL_SWITCHES, queryKeys.captures],
  );
  if (data.length === 0) return null;
  return (
    <div className={classes.band} role="alert">
      <OctagonX size={16} aria-hidden />
      <strong>{t("killSwitch.isActive")}</strong>
      {data.map((killSwitch) => (
        <span key={killSwitch.id} className={classes.item}>
          <span>
            {place(killSwitch)}
            {killSwitch.reason && `: ${killSwitch.reason}`}{" "}
            <span className="dim">
              {killSwitch.activated_by?.name} <RelativeTime at={killSwitch.created_at} />
            </span>
          </span>
          {can("kill_switch.manage") && (
            <Button
              size="compact-xs"
              variant="default"
              loading={deactivate.isPending && deactivate.variables === killSwitch.id}
              onClick={() => deactivate.mutate(killSwitch.id)}
              aria-label={t("killSwitch.deactivateOne", { place: place(killSwitch) })}
            >
              {t("killSwitch.deactivate")}
            </Button>
          )}
        </span>
      ))}
      <ErrorLine error={deactivate.error} />
    </div>
  );
}
